import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { webhookBody } from "#src/webhooks/index.ts";
import { FAULTS } from "../schemas/faults.ts";
import { detailView } from "../presenter.ts";
import type { ComponentName } from "./components.ts";
import { COLLECTING, SAMPLES, WAITING } from "./samples.ts";

/** Examples of the schemas that travel, by what they show; answers and webhooks are made by the code that makes real ones. */

const { charged, stored, held, declined, expired } = SAMPLES;
const event = (session: typeof charged) =>
  JSON.parse(webhookBody("evt_0123456789abcdefghijABCD", session, "dollars", GATEWAYS_BUILT)) as object;

const PAY_URL = `https://pay.merchant.example/widget/${WAITING.id}?t=0123456789abcdefghijABCDEFGHIJ0123456789abc`;
/** That of every new installation: the page's requests work there with the key that the start printed. */
const PROJECT = "demo";
const CREATE = { project: PROJECT, caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
const CARD = { number: "4242424242424242", exp_month: "12", exp_year: "2030", cvv: "123", cardholder_name: null, postal_code: "94105" };
const missing = { type: FAULTS.missing.type, loc: ["body", "amount"], msg: FAULTS.missing.msg };
const health = (status: "ok" | "unavailable", database: "ok" | "failed") => ({
  status,
  version: "0.1.0",
  checks: { database, sip: "ok", worker: "ok" },
});

export const EXAMPLES: Partial<Record<ComponentName, Readonly<Record<string, object>>>> = {
  SessionCreate: {
    charge: { ...CREATE, description: "Invoice 1001" },
    "store a card": { ...CREATE, amount: 0, mode: "tokenize" },
    "with a way back": { ...CREATE, callback: "sip:agent@pbx.merchant.example", memory: "order 1001, asked for a receipt" },
    "with an address": {
      ...CREATE,
      gateway: "authorizenet",
      billing_address: { street: "14 Main Street", city: "San Francisco", state: "CA", zip: "94105" },
    },
  },
  SessionCreateResponse: {
    created: {
      session_id: WAITING.id,
      status: "created",
      phone_number: "+15550001111",
      sip_uri: `sip:${WAITING.id}@pay.merchant.example`,
      created_at: WAITING.createdAt.toISOString(),
    },
    "with a link to pay and a short code": {
      session_id: WAITING.id,
      status: "created",
      phone_number: "+15550001111",
      sip_uri: `sip:${WAITING.id}@pay.merchant.example`,
      pay_url: PAY_URL,
      short_code: "26731904",
      created_at: WAITING.createdAt.toISOString(),
    },
  },
  SessionGetResponse: {
    waiting: detailView(WAITING, null),
    "waiting, with a link to pay": detailView(WAITING, null, PAY_URL),
    "being asked for the security code": detailView(COLLECTING, "asking_cvv"),
    charged: detailView(charged, null),
    stored: detailView(stored, null),
    held: detailView(held, null),
    declined: detailView(declined, null),
  },
  CreateWidgetSession: { charge: { project: PROJECT, amount_cents: 4995, gateway: "stripe", description: "Invoice 1001" } },
  WidgetSessionCreateResponse: {
    created: {
      session_id: WAITING.id,
      status: "created",
      expires_at: new Date(WAITING.createdAt.getTime() + 1_800_000).toISOString(),
      widget_url: `https://pay.merchant.example/widget/${WAITING.id}`,
      created_at: WAITING.createdAt.toISOString(),
    },
  },
  WidgetSession: {
    open: {
      session_id: WAITING.id,
      status: "PENDING",
      amount_cents: 4995,
      currency: "USD",
      mode: "charge",
      description: "Invoice 1001",
      project_name: "Shop",
      appearance: { theme: "auto", variables: {}, labels: "above", fields: ["number", "expiry", "cvv", "zip"] },
      required_fields: ["number", "expiry", "cvv", "zip"],
      processing: false,
      attempts_left: 5,
      expires_at: new Date(WAITING.createdAt.getTime() + 1_800_000).toISOString(),
    },
  },
  WidgetCharge: { charge: { card: CARD } },
  WidgetChargeResponse: { paid: { status: "payment-success", card_brand: "visa", card_last4: "4242" } },
  WidgetDecline: {
    declined: {
      detail: DECLINES.card_declined.message,
      error: { code: "card_declined", message: DECLINES.card_declined.message },
      retryable: true,
      attempts_left: 4,
    },
  },
  AuthCheckResponse: {
    valid: { authenticated: true, org_id: charged.organizationId, mode: "test", message: "API key is valid" },
  },
  Project: {
    shop: {
      id: charged.projectId,
      slug: "shop",
      name: "Shop",
      currency: "USD",
      gateways: ["stripe", "authorizenet"],
      created_at: "2026-11-01T09:00:00.000Z",
    },
  },
  Health: { healthy: health("ok", "ok"), "no database": health("unavailable", "failed") },
  Alive: { alive: { status: "ok" } },
  HTTPValidationError: { "a field is missing": { detail: [missing] } },
  StatusWebhook: { charged: event(charged), stored: event(stored), held: event(held), declined: event(declined), expired: event(expired) },
  CardForwarding: {
    charge: {
      type: "payment_method.collected",
      session_id: charged.id,
      environment: "test",
      mode: "charge",
      amount: 4995,
      currency: "USD",
      description: "Invoice 1001",
      caller: "+14155550100",
      card: { ...CARD, brand: "visa", last4: "4242" },
    },
  },
  AlphaMessage: {
    "a tool call": {
      message: {
        type: "tool-calls",
        toolCallList: [{ id: "call_1", type: "function", function: { name: "collect_payment", arguments: { amount: 42.5 } } }],
        call: { id: "c0ffee00-0000-4000-8000-000000000001", customer: { number: "+14155550100" } },
      },
    },
    "where does the call go": { message: { type: "transfer-destination-request", call: { id: "c0ffee00-0000-4000-8000-000000000001" } } },
  },
  BetaCall: {
    "collect a payment": {
      name: "collect_payment",
      args: { amount: 42.5, description: "Order 118" },
      call: { call_id: "call_1", direction: "inbound", from_number: "+14155550100", to_number: "+15550001111" },
    },
    "arguments alone": { amount: "42.50", caller: "+14155550100" },
  },
  CardForwardingAnswer: {
    taken: { success: true, transaction_id: "tx_1001" },
    stored: { success: true, token: "tok_1001" },
    declined: { success: false, error_code: "insufficient_funds", error_message: "The balance is too low." },
  },
};

/** The `examples` member of a media type with this schema, all of them or those in `only`; empty when it has none. */
export function examplesOf(
  name: ComponentName,
  wrap: (value: object) => object = (value) => value,
  only?: readonly string[],
): { examples?: object } {
  const chosen = Object.entries(EXAMPLES[name] ?? {}).filter(([what]) => only?.includes(what) ?? true);
  if (chosen.length === 0) return {};
  return {
    examples: Object.fromEntries(chosen.map(([what, value]) => [what.replaceAll(" ", "_"), { summary: what, value: wrap(value) }])),
  };
}
