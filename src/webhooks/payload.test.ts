import assert from "node:assert/strict";
import { test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { eventName, webhookBody } from "./payload.ts";

const SESSION: Session = {
  id: "11111111-2222-4333-8444-555555555555",
  organizationId: "o",
  projectId: "p",
  projectSlug: "shop",
  environment: "test",
  channel: "voice",
  status: "payment-success",
  phase: null,
  mode: "charge",
  gateway: "stripe",
  amountMinor: 4999,
  currency: "USD",
  caller: "+14155550100",
  description: "Invoice 1001",
  callback: null,
  memory: "m",
  connectedAccount: null,
  billingAddress: null,
  processor: { stripe_charge_id: "ch_1", receipt_url: "https://r.example", card_brand: "visa", card_last4: "4242" },
  webhookProcessor: {},
  cardBrand: "visa",
  cardLast4: "4242",
  errorCode: null,
  errorMessage: null,
  transferStatus: null,
  claimedBy: null,
  callId: null,
  offersLink: false,
  revision: 4,
  createdAt: new Date("2026-11-20T10:00:00.000Z"),
  updatedAt: new Date("2026-11-20T10:01:00.000Z"),
  expiresAt: new Date("2026-11-20T10:05:00.000Z"),
  completedAt: new Date("2026-11-20T10:01:00.000Z"),
};
/** As docs/interface.md lists fiserv's fields. */
const FISERV = Object.fromEntries(
  ["fiserv_transaction_id", "fiserv_order_id", "fiserv_payment_token", "fiserv_state"].map((name) => [name, [name]]),
);
const GATEWAYS = { ...GATEWAYS_BUILT, fiserv: { capabilities: { processorFields: { inWebhook: FISERV } } } };
const bodyOf = (changes: Partial<Session>, unit: "dollars" | "cents" = "dollars") =>
  webhookBody("evt_1", { ...SESSION, ...changes }, unit, GATEWAYS);
const parsed = (changes: Partial<Session>) => JSON.parse(bodyOf(changes)) as Record<string, unknown>;

test("the body has the fields of the interface and the additive ones (R-341, R-343)", () => {
  assert.deepEqual(parsed({}), {
    id: "evt_1",
    event: "payment.success",
    session_id: SESSION.id,
    status: "payment-success",
    amount: 49.99,
    amount_cents: 4999,
    currency: "USD",
    mode: "charge",
    environment: "test",
    gateway: "stripe",
    project: "shop",
    caller: "+14155550100",
    description: "Invoice 1001",
    memory: "m",
    card_brand: "visa",
    card_last4: "4242",
    processor: { stripe_charge_id: "ch_1", charge_id: "ch_1", receipt_url: "https://r.example", card_brand: "visa", card_last4: "4242" },
    error: null,
    created_at: "2026-11-20T10:00:00.000Z",
    completed_at: "2026-11-20T10:01:00.000Z",
  });
});

test("the body names the environment of its session (R-430)", () => {
  for (const environment of ["test", "live"] as const) {
    for (const status of ["payment-success", "payment-failed", "payment-authorized", "expired", "cancelled", "abandoned"] as const) {
      assert.equal(parsed({ environment, status })["environment"], environment);
    }
  }
});

test("the event is payment. and the last word of the status (R-342)", () => {
  const statuses = ["payment-success", "payment-failed", "payment-authorized", "expired", "cancelled", "abandoned"];
  assert.deepEqual(statuses.map(eventName), [
    "payment.success",
    "payment.failed",
    "payment.authorized",
    "payment.expired",
    "payment.cancelled",
    "payment.abandoned",
  ]);
});

const amounts: readonly (readonly [number, string, string])[] = [
  [5000, "USD", "50"],
  [4999, "USD", "49.99"],
  [4990, "USD", "49.9"],
  [7, "USD", "0.07"],
  [0, "USD", "0"],
  [10_000, "USD", "100"],
  [99_999_999, "USD", "999999.99"],
  [5000, "JPY", "5000"],
  [1500, "KWD", "1.5"],
];
for (const [amountMinor, currency, text] of amounts) {
  test(`${amountMinor} minor units of ${currency} are written as ${text} (R-344)`, () => {
    assert.ok(bodyOf({ amountMinor, currency }).includes(`"amount":${text},"amount_cents":${amountMinor},`));
  });
}

test("a project may ask for cents (R-344)", () => {
  assert.ok(bodyOf({ amountMinor: 5000 }, "cents").includes('"amount":5000,"amount_cents":5000,'));
});

/** What a gateway reported, and the keys that the webhook then has beside the card's: the lists of docs/interface.md, Processor object. */
const PROCESSOR_KEYS: readonly (readonly [what: string, Partial<Session>, keys: string])[] = [
  [
    "a charge by authorizenet: unprefixed",
    {
      gateway: "authorizenet",
      processor: {
        authnet_transaction_id: "1",
        authnet_auth_code: "A",
        authnet_response_code: "1",
        authnet_avs_result_code: "Y",
        authnet_cvv_result_code: "M",
        authnet_cavv_result_code: "2",
        authnet_network_trans_id: "N",
        authnet_capture_status: "captured",
      },
    },
    "transaction_id auth_code response_code avs_result_code cvv_result_code cavv_result_code network_trans_id",
  ],
  [
    "a hold by authorizenet: with auth_only",
    {
      gateway: "authorizenet",
      status: "payment-authorized",
      processor: { authnet_transaction_id: "1", authnet_capture_status: "authorized" },
    },
    "transaction_id auth_only",
  ],
  [
    "a card stored by authorizenet: its tokens keep their prefix",
    { gateway: "authorizenet", mode: "tokenize", processor: { authnet_customer_profile_id: "9", authnet_payment_profile_id: "8" } },
    "authnet_customer_profile_id authnet_payment_profile_id",
  ],
  [
    "fiserv: prefixed, with what only the webhook has",
    {
      gateway: "fiserv",
      processor: { fiserv_transaction_id: "1", fiserv_order_id: "2", fiserv_payment_token: "3", fiserv_state: "CAPTURED" },
      webhookProcessor: { fiserv_status: "APPROVED", approval_code: "OK1", response_code: "00", response_message: "ok" },
    },
    "fiserv_transaction_id fiserv_order_id fiserv_payment_token fiserv_state fiserv_status approval_code response_code response_message",
  ],
  [
    "card forwarding: prefixed",
    { gateway: "webhook", mode: "tokenize", processor: { webhook_transaction_id: "t", webhook_token: "k" } },
    "webhook_transaction_id webhook_token",
  ],
  [
    "another gateway: both names",
    { gateway: "nmi", processor: { nmi_transaction_id: "1" }, webhookProcessor: { auth_code: "A" } },
    "nmi_transaction_id transaction_id auth_code",
  ],
  [
    "the test word: the synthetic transaction, marked",
    {
      gateway: "authorizenet",
      processor: { authnet_transaction_id: "test_skip_1", authnet_auth_code: "TESTOK", test_skip: true },
      webhookProcessor: { transaction_id: "test_skip_1", auth_code: "TESTOK" },
    },
    "transaction_id auth_code test_skip",
  ],
];
for (const [what, changes, keys] of PROCESSOR_KEYS) {
  test(`the processor of ${what} (R-345, R-346)`, () => {
    const card = { card_brand: "visa", card_last4: "4242" };
    const processor = parsed({ ...changes, processor: { ...changes.processor, ...card } })["processor"] as Record<string, unknown>;
    assert.deepEqual(Object.keys(processor).toSorted(), [...keys.split(" "), "card_brand", "card_last4"].toSorted());
    assert.equal(processor["auth_only"], keys.includes("auth_only") ? true : undefined);
    assert.equal(processor["test_skip"], keys.includes("test_skip") ? true : undefined);
  });
}

test("a session that met no gateway has neither card nor processor, and a failed one says why (R-347)", () => {
  const expired = parsed({ status: "expired", processor: null, webhookProcessor: null, cardBrand: null, cardLast4: null, caller: null });
  assert.deepEqual([expired["processor"], expired["card_brand"], expired["card_last4"], expired["caller"]], [null, null, null, null]);
  const failed = parsed({ status: "payment-failed", errorCode: "card_declined", errorMessage: "The card was declined." });
  assert.deepEqual(failed["error"], { code: "card_declined", message: "The card was declined." });
});
