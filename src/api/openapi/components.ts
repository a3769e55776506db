import { z } from "zod";
import { MODES } from "#src/kernel/payment.ts";
import { isTerminal, STATUSES, STEPS } from "#src/sessions/index.ts";
import { AMOUNT_PATTERN } from "../schemas/amount.ts";
import { DESCRIBED_GATEWAYS } from "../schemas/gateway.ts";
import { processorFieldsOf } from "../schemas/processor.ts";
import { billingAddress, sessionCreate } from "../schemas/session.ts";
import { widgetSessionCreate } from "../schemas/widget-session.ts";
import { WORDS } from "./words.ts";

/**
 * The schemas under their published names. Requests are the very ones that validate; answers and what the service
 * sends are described here, and the tests hold real ones against them. Fields that may be left out of an answer are those
 * that the interface does not require.
 */

const uuid = z.string().meta({ format: "uuid" });
const time = z.string().meta({ format: "date-time" });
const text = z.string().nullish();
const payUrl = z.string().meta({ format: "uri" });
const mode = z.enum(MODES);
const amount = z.string().meta({ pattern: AMOUNT_PATTERN });

const FINAL = STATUSES.filter(isTerminal);

const processorFields = [...new Set(DESCRIBED_GATEWAYS.flatMap(processorFieldsOf))];
const processor = z.object(Object.fromEntries(processorFields.map((name) => [name, name === "test_skip" ? z.boolean().optional() : text])));

const errorDetail = z.object({ code: z.string(), message: text });

const validationError = z.object({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string(), type: z.string() });

const card = z.object({
  number: z.string(),
  exp_month: z.string().meta({ pattern: "^[0-9]{2}$" }),
  exp_year: z.string().meta({ pattern: "^[0-9]{4}$" }),
  cvv: z.string().nullable(),
  cardholder_name: z.string().nullable(),
  postal_code: z.string().nullable(),
  brand: z.string(),
  last4: z.string().meta({ pattern: "^[0-9]{4}$" }),
});

const widgetFields = z.array(z.enum(["number", "expiry", "cvv", "zip", "name"]));

const check = z.enum(["ok", "failed", "off"]);

const COMPONENTS = {
  SessionCreate: sessionCreate,
  BillingAddress: billingAddress,
  SessionCreateResponse: z.object({
    session_id: uuid,
    status: z.literal("created"),
    phone_number: text,
    sip_uri: text,
    pay_url: payUrl.optional(),
    short_code: z
      .string()
      .regex(/^[0-9]{8}$/)
      .optional(),
    created_at: time,
  }),
  SessionGetResponse: z.object({
    session_id: uuid,
    status: z.enum(STATUSES),
    is_terminal: z.boolean(),
    processor: processor.nullish(),
    error: errorDetail.nullish(),
    amount,
    currency: z.string(),
    mode,
    description: text,
    caller: text,
    project_slug: z.string(),
    gateway: z.enum(DESCRIBED_GATEWAYS),
    callback: text,
    memory: text,
    transfer_status: text,
    created_at: time,
    updated_at: time,
    expires_at: time.nullish(),
    completed_at: time.nullish(),
    step: z.enum(STEPS).nullish(),
    pay_url: payUrl.optional(),
  }),
  Processor: processor,
  ErrorDetail: errorDetail,
  CreateWidgetSession: widgetSessionCreate,
  WidgetSessionCreateResponse: z.object({
    session_id: uuid,
    status: z.literal("created"),
    expires_at: time,
    widget_url: z.string().meta({ format: "uri" }),
    created_at: time,
  }),
  WidgetSession: z.object({
    session_id: uuid,
    status: z.enum(["PENDING", "COLLECTING"]),
    amount_cents: z.int(),
    currency: z.string(),
    mode,
    description: z.string().nullable(),
    project_name: z.string(),
    appearance: z.object({
      theme: z.enum(["light", "dark", "auto"]),
      variables: z.record(z.string(), z.string()),
      labels: z.enum(["above", "floating", "hidden"]),
      fields: widgetFields,
    }),
    required_fields: widgetFields,
    processing: z.boolean(),
    attempts_left: z.int(),
    expires_at: time,
  }),
  WidgetCharge: z.object({
    card: z.object({
      number: z.string(),
      exp_month: z.union([z.string(), z.int()]),
      exp_year: z.union([z.string(), z.int()]),
      cvv: text,
      cardholder_name: text,
      postal_code: text,
    }),
  }),
  WidgetChargeResponse: z.object({
    status: z.enum(["payment-success", "payment-authorized"]),
    card_brand: z.string(),
    card_last4: z.string().meta({ pattern: "^[0-9]{4}$" }),
  }),
  WidgetDecline: z.object({
    detail: z.string(),
    error: z.object({ code: z.string(), message: z.string() }),
    retryable: z.boolean(),
    attempts_left: z.int(),
  }),
  AuthCheckResponse: z.object({ authenticated: z.boolean(), org_id: z.string(), mode: z.string(), message: z.string() }),
  Project: z.object({
    id: uuid,
    slug: z.string(),
    name: z.string(),
    currency: z.string(),
    gateways: z.array(z.string()),
    created_at: time,
  }),
  Health: z.object({
    status: z.enum(["ok", "unavailable"]),
    version: z.string(),
    checks: z.object({ database: check, sip: check, worker: check }),
  }),
  Alive: z.object({ status: z.literal("ok") }),
  HTTPValidationError: z.object({ detail: z.array(validationError) }),
  ValidationError: validationError,
  Error: z.object({ detail: z.string() }),
  StatusWebhook: z.object({
    id: z.string(),
    event: z.enum(FINAL.map((status) => `payment.${status.replace(/^payment-/, "")}`)),
    session_id: uuid,
    status: z.enum(FINAL),
    amount: z.number(),
    amount_cents: z.int(),
    currency: z.string(),
    mode,
    environment: z.enum(["test", "live"]),
    gateway: z.enum(DESCRIBED_GATEWAYS),
    project: z.string(),
    caller: z.string().nullable(),
    description: z.string().nullable(),
    memory: z.string().nullable(),
    card_brand: z.string().nullable(),
    card_last4: z.string().nullable(),
    processor: z.record(z.string(), z.union([z.string(), z.boolean(), z.null()])).nullable(),
    error: errorDetail.nullable(),
    created_at: time,
    completed_at: time.nullable(),
  }),
  CardForwarding: z.object({
    type: z.literal("payment_method.collected"),
    session_id: uuid,
    environment: z.enum(["test", "live"]),
    mode,
    amount: z.int(),
    currency: z.string(),
    description: z.string().nullable(),
    caller: z.string().nullable(),
    card,
  }),
  AlphaMessage: z.looseObject({ message: z.looseObject({ type: z.string() }) }),
  BetaCall: z.looseObject({ name: z.string().optional(), args: z.looseObject({}).optional(), call: z.looseObject({}).optional() }),
  CardForwardingAnswer: z.object({
    success: z.boolean(),
    transaction_id: z.string().optional(),
    token: z.string().optional(),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
  }),
} as const;

export type ComponentName = keyof typeof COMPONENTS;

export const ref = (name: ComponentName) => ({ $ref: `#/components/schemas/${name}` });

interface Shown {
  properties?: Record<string, object>;
  [key: string]: unknown;
}

/** A schema with its words, and without its own `$id`: in the document it is found by its place. */
function shown(name: string, { properties, ...schema }: Shown): object {
  const { _: meaning, ...words } = WORDS[name] ?? {};
  const rest = Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id");
  const fields = Object.entries(properties ?? {}).map(([field, of]) => [
    field,
    { ...of, ...(words[field] && { description: words[field] }) },
  ]);
  return {
    ...Object.fromEntries(rest),
    ...(meaning && { description: meaning }),
    ...(properties && { properties: Object.fromEntries(fields) }),
  };
}

/** All of them as JSON Schema (draft 2020-12, that of OpenAPI 3.1). */
export function componentSchemas(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // JavaScript's own bounds say nothing about the field.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, shown(id, schema as Shown)]));
}
