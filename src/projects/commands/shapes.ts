import { z } from "zod";
import { parseUuid } from "#src/kernel/ids.ts";
import { GATEWAYS } from "#src/kernel/payment.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import type { GatewayDescriptor, Gateways } from "../gateway-descriptor.ts";
import { CommandFault } from "./change.ts";
import { ALL_SCOPES, modeOfApiKey } from "../api-key-authentication.ts";
import { voiceBlock, widgetBlock } from "../settings.ts";

/**
 * What the values of commands look like: the blocks of the apply file (docs/operations.md, Apply file). The gateways' part is made from what the
 * gateways declare about themselves.
 */

const LONGEST_SECRET = 16_384;

const slug = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, "must be 1 to 63 letters, digits, - or _")
  .refine((text) => parseUuid(text) === null, "must not look like a UUID");
const name = z.string().min(1, "must have 1 to 100 characters").max(100, "must have 1 to 100 characters");
const secretText = z.string().min(1).max(LONGEST_SECRET);

const wholeNumberText = z.preprocess((value) => (Number.isSafeInteger(value) ? String(value) : value), secretText);

/** A secret, or `[new, old]` while it is rolled; always read as a list. */
const oneOrTwo = (secret: z.ZodString) => z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(secret).min(1).max(2));

const apiKey = z.strictObject({
  name,
  mode: z.enum(["test", "live"]),
  key: z
    .string()
    .refine((text) => modeOfApiKey(text) !== null, "must be svc_test_ or svc_live_ and 32 letters or digits")
    .optional(),
  scopes: z
    .array(
      z.enum(ALL_SCOPES, { error: ({ input }) => `there is no scope ${JSON.stringify(input)}; the scopes are ${ALL_SCOPES.join(", ")}` }),
    )
    .optional(),
  expires_at: z.iso.datetime({ offset: true }).nullable().optional(),
});

/** Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes. */
const webhookSecret = z.string().refine((text) => {
  const bytes = /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text.slice(6), "base64").length : 0;
  return bytes >= 24 && bytes <= 64;
}, "must be whsec_ and the base64 of 24 to 64 bytes");

const webhookEndpoint = z.strictObject({
  url: z.string().refine(isWebAddress, "must be an http or https address without user name or fragment"),
  secret: oneOrTwo(webhookSecret).optional(),
  amount_unit: z.enum(["dollars", "cents"]).optional(),
});

const isHttps = (url: string) => url.startsWith("https:");
const liveWebhookEndpoint = webhookEndpoint.extend({
  url: webhookEndpoint.shape.url.refine(isHttps, "must be an https address for live payments"),
});

const webhookEndpoints = z.strictObject({
  test: webhookEndpoint.nullable().optional(),
  live: liveWebhookEndpoint.nullable().optional(),
});

/** One endpoint for both environments, or one for each. Told apart by their keys, so that a fault is one of the form meant. */
const statusWebhook = z.unknown().transform((value, context): EndpointBlock | z.infer<typeof webhookEndpoints> => {
  const isPair = typeof value === "object" && value !== null && ("test" in value || "live" in value);
  const result = (isPair ? webhookEndpoints : webhookEndpoint).safeParse(value);
  if (result.success) return result.data;
  context.issues.push(...result.error.issues.map((issue) => ({ ...issue, input: value }) as (typeof context.issues)[number]));
  return z.NEVER;
});

const integrations = z
  .strictObject({
    alpha: z.strictObject({ secret: secretText }).partial(),
    beta: z.strictObject({ api_key: secretText }).partial(),
  })
  .partial();

/** A mode's block: credential fields, option fields, and in test mode the address that replaces the vendor's. */
function environmentBlock(gateway: GatewayDescriptor, environment: Environment) {
  const fields = Object.fromEntries(
    gateway.credentialFields.map((field) => {
      const text = field.wholeNumber ? wholeNumberText : secretText;
      return [field.name, (field.previous === undefined ? text : oneOrTwo(secretText)).optional()];
    }),
  );
  const endpoint =
    environment === "test"
      ? z.string().refine(isWebAddress, "must be an http or https address").nullable().optional()
      : z.never({ error: "is for test mode only" }).optional();
  return z.strictObject({
    ...(gateway.credentialsIn === "block" ? fields : { credentials: z.strictObject(fields).optional() }),
    ...optionShape(gateway),
    endpoint,
  });
}

function optionShape(gateway: GatewayDescriptor) {
  return Object.fromEntries(gateway.optionFields.map((field) => [field.name, z.literal(field.values).optional()]));
}

function gatewayBlock(gateway: GatewayDescriptor | undefined) {
  if (!gateway) return z.never({ error: "this gateway is not available in this version" }).optional();
  return z
    .strictObject({
      ...optionShape(gateway),
      test: environmentBlock(gateway, "test").optional(),
      live: environmentBlock(gateway, "live").optional(),
    })
    .optional();
}

/** The shape of each command's values. */
export function shapesFor(gateways: Gateways) {
  const gatewayBlocks = Object.fromEntries(GATEWAYS.map((gateway) => [gateway, gatewayBlock(gateways[gateway])]));
  const project = z.strictObject({
    slug,
    name: name.optional(),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, "must be a currency code such as USD")
      .optional(),
    language: z.string().refine(isLanguage, "must be a language tag such as en-US").optional(),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, "must be a country code such as US")
      .optional(),
    archived: z.boolean().optional(),
    phone_numbers: z.array(z.string().refine((text) => parseE164(text) !== null, 'must be a number such as "+15550001111"')).optional(),
    status_webhook: statusWebhook.nullable().optional(),
    gateways: z.strictObject(gatewayBlocks).optional(),
    voice: voiceBlock.optional(),
    widget: widgetBlock.optional(),
    integrations: integrations.optional(),
  });
  return { organization: z.strictObject({ slug, name: name.optional() }), apiKey, project };
}

/** `values` as their shape has them; throws CommandFault for the first that does not fit. */
export function checked<T>(shape: z.ZodType<T>, values: unknown): T {
  const result = shape.safeParse(values);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path ?? [];
  if (issue?.code !== "unrecognized_keys") throw new CommandFault(path, `${path.map(String).join(".")}: ${issue?.message ?? "invalid"}`);
  const [key = ""] = issue.keys;
  throw new CommandFault([...path, key], `unknown key "${key}"`);
}

export type Shapes = ReturnType<typeof shapesFor>;
export type OrganizationValues = z.infer<Shapes["organization"]>;
export type ApiKeyValues = z.infer<typeof apiKey>;
export type ProjectValues = z.infer<Shapes["project"]>;
export type EndpointBlock = z.infer<typeof webhookEndpoint>;
export type StatusWebhookBlock = z.infer<typeof statusWebhook>;

/** The `gateways` block after validation: what the declared fields allow. */
export type GatewayBlocks = Partial<Record<GatewayName, GatewayBlock>>;
export type GatewayBlock = { test?: EnvironmentBlock; live?: EnvironmentBlock } & Record<string, unknown>;
export type EnvironmentBlock = Record<string, unknown> & {
  credentials?: Record<string, CredentialValue>;
  endpoint?: string | null;
};
/** A list where the field may be rolled: new first. */
export type CredentialValue = string | readonly string[];

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "" && url.hash === "";
}

function isLanguage(text: string): boolean {
  try {
    return new Intl.Locale(text).language !== undefined;
  } catch {
    return false;
  }
}
