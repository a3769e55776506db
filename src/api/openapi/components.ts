import { z } from "zod";
import { GATEWAYS, MODES } from "#src/kernel/payment.ts";
import { AMOUNT_PATTERN } from "../schemas/amount.ts";
import { processorFieldsOf } from "../schemas/processor.ts";
import { billingAddress, sessionCreate } from "../schemas/session.ts";

/**
 * The schemas under their published names. Requests are the very ones that validate; answers and what the service
 * sends are described here, and the tests hold real ones against them. Fields that may be left out of an answer are those
 * that SPEC does not require.
 */

const uuid = z.string().meta({ format: "uuid" });
const time = z.string().meta({ format: "date-time" });
const text = z.string().nullish();
const mode = z.enum(MODES);
const amount = z.string().meta({ pattern: AMOUNT_PATTERN });

const STATUSES = [
  "PENDING",
  "COLLECTING",
  "payment-success",
  "payment-failed",
  "payment-authorized",
  "expired",
  "cancelled",
  "abandoned",
] as const;
const FINAL = STATUSES.slice(2) as [string, ...string[]];

const processorFields = [...new Set(GATEWAYS.flatMap(processorFieldsOf))];
const processor = z
  .object(Object.fromEntries(processorFields.map((name) => [name, name === "test_skip" ? z.boolean().optional() : text])))
  .meta({ description: "What the gateway answered: its own fields, and the card's brand and last four digits." });

const errorDetail = z.object({ code: z.string().meta({ description: "See docs/errors.md." }), message: text });

const validationError = z.object({
  loc: z.array(z.union([z.string(), z.int()])).meta({ description: "Where: part of the request, then the path to the field." }),
  msg: z.string(),
  type: z.string(),
});

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

const check = z.enum(["ok", "failed", "off"]);

export const COMPONENTS = {
  SessionCreate: sessionCreate,
  BillingAddress: billingAddress,
  SessionCreateResponse: z.object({
    session_id: uuid,
    status: z.literal("created"),
    phone_number: text,
    sip_uri: text,
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
    gateway: z.enum(GATEWAYS),
    callback: text,
    memory: text,
    transfer_status: text,
    created_at: time,
    updated_at: time,
    expires_at: time.nullish(),
    completed_at: time.nullish(),
  }),
  Processor: processor,
  ErrorDetail: errorDetail,
  CreateWidgetSession: z.object({
    project: z.string(),
    amount_cents: z.int().min(0),
    gateway: z.enum(GATEWAYS),
    mode: mode.optional().meta({ default: "charge" }),
    description: text,
    stripe_account: text,
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
  Error: z.object({ detail: z.string() }).meta({ description: "Every error that is no 422." }),
  StatusWebhook: z.object({
    id: z.string().meta({ description: "The event's id, the same on every try." }),
    event: z.enum(FINAL.map((status) => `payment.${status.replace(/^payment-/, "")}`)),
    session_id: uuid,
    status: z.enum(FINAL),
    amount: z.number().meta({ description: "In dollars, 49.99; in cents where the project asked for it." }),
    amount_cents: z.int(),
    currency: z.string(),
    mode,
    gateway: z.enum(GATEWAYS),
    project: z.string(),
    caller: z.string().nullable(),
    description: z.string().nullable(),
    memory: z.string().nullable(),
    card_brand: z.string().nullable(),
    card_last4: z.string().nullable(),
    processor: z
      .record(z.string(), z.union([z.string(), z.boolean(), z.null()]))
      .nullable()
      .meta({ description: "The names of Processor, and the same without the gateway's prefix." }),
    error: errorDetail.nullable(),
    created_at: time,
    completed_at: time.nullable(),
  }),
  CardForwarding: z.object({
    type: z.literal("payment_method.collected"),
    session_id: uuid.meta({ format: "uuid", description: "For use as idempotency key." }),
    environment: z.enum(["test", "live"]),
    mode,
    amount: z.int().meta({ description: "In minor units (cents)." }),
    currency: z.string(),
    description: z.string().nullable(),
    caller: z.string().nullable(),
    card,
  }),
  CardForwardingAnswer: z.object({
    success: z.boolean(),
    transaction_id: z.string().optional(),
    token: z.string().optional().meta({ description: "Kept in tokenize mode only." }),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
  }),
} as const;

export type ComponentName = keyof typeof COMPONENTS;

export const ref = (name: ComponentName) => ({ $ref: `#/components/schemas/${name}` });

/** In the document a schema is found by its place; its own `$id` would change what its references are relative to. */
const withoutAddress = (schema: object) => Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id"));

/** All of them as JSON Schema (draft 2020-12, that of OpenAPI 3.1). */
export function componentSchemas(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io: "input", unrepresentable: "any", uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutAddress(schema)]));
}
