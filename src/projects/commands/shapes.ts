import { z } from "zod";
import { isSupportedCountry } from "libphonenumber-js/max";
import { parseUuid } from "#src/kernel/ids.ts";
import { type LanguageTag, languageFault } from "#src/kernel/language.ts";
import { CURRENCIES } from "#src/kernel/money.ts";
import { nearest } from "#src/kernel/nearest.ts";
import { outgoingPortFault } from "#src/kernel/outgoing-port.ts";
import { GATEWAYS, type Environment, type GatewayName } from "#src/kernel/payment.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import type { GatewayDescriptor, Gateways } from "../gateway-descriptor.ts";
import { CommandFault, type Path } from "./change.ts";
import { ALL_SCOPES } from "#src/kernel/scopes.ts";
import { modeOfApiKey } from "../api-key-authentication.ts";
import { isWebhookSecret } from "../webhook-secret.ts";
import { acceptedBrands, inWords, quoted, voiceBlock, widgetBlock } from "../settings.ts";

/**
 * What the values of commands look like: the blocks of the apply file (docs/operations.md, Apply file). The gateways' part is made from what the
 * gateways declare about themselves.
 */

const LONGEST_SECRET = 16_384;

const slug = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, "must be 1 to 63 letters, digits, - or _")
  .refine((text) => parseUuid(text) === null, "must not look like a UUID");
const UNPRINTED = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** It stands in tables, audit rows and logs: nothing that ends a line or turns its direction. */
const name = z
  .string()
  .min(1, "must have 1 to 100 characters")
  .max(100, "must have 1 to 100 characters")
  .refine((text) => text.trim() !== "" && !UNPRINTED.test(text), "must be of visible characters, in one line");
const secretText = z.string().min(1).max(LONGEST_SECRET);
/** One that stands in a header, whose value has no line ends, and no space around it. */
const headerSecret = secretText.refine(
  (text) => text.trim() === text && !UNPRINTED.test(text),
  "must be of visible characters, in one line, without space at its ends",
);

const wholeNumberText = z.preprocess((value) => (Number.isSafeInteger(value) ? String(value) : value), secretText);

/** What is written in one of several forms is read by the form's own schema, so that a fault is one of the form meant. */
const byForm = <T>(schemaOf: (value: unknown) => z.ZodType<T>) =>
  z.unknown().transform((value, context): T => {
    const result = schemaOf(value).safeParse(value, { error: explain });
    if (result.success) return result.data;
    context.issues.push(...result.error.issues.map((issue) => ({ ...issue, input: value }) as (typeof context.issues)[number]));
    return z.NEVER;
  });

/** A secret, or `[new, old]` while it is rolled; always read as a list. */
const oneOrTwo = (secret: z.ZodString) => {
  const [one, two] = [secret.transform((text) => [text]), z.array(secret).min(1).max(2)];
  return byForm<string[]>((value) => (Array.isArray(value) ? two : one)).meta({ values: "text, or list of two" });
};

const apiKey = z.strictObject({
  name: name.describe("By which it is known. A name is used once: that of a revoked key is refused, unless `key` is another."),
  mode: z.enum(["test", "live"]).describe("live needs PostgreSQL."),
  key: z
    .string()
    .refine((text) => modeOfApiKey(text) !== null, "must be svc_test_ or svc_live_ and 32 letters or digits")
    .optional()
    .describe("`svc_test_` or `svc_live_` and 32 letters or digits. Left out: made, and printed once."),
  scopes: z
    .array(
      z.enum(ALL_SCOPES, {
        error: ({ input }) =>
          typeof input === "string" ? `there is no scope ${quoted(input)}; the scopes are ${ALL_SCOPES.join(", ")}` : undefined,
      }),
    )
    .min(1)
    .optional()
    .describe("Left out: all but `integrations:use`, which is for the key in a voice platform's settings."),
  expires_at: z.iso
    .datetime({ offset: true, error: "must be a time with its zone such as 2030-01-31T12:00:00Z" })
    .nullable()
    .optional()
    .describe(
      "Such as 2030-01-31T12:00:00Z; null: never, as when left out. A key that is not there yet is not made when its time is over.",
    ),
});

const webhookSecret = z.string().refine(isWebhookSecret, "must be whsec_ and the base64 of 24 to 64 bytes");

const webhookUrl = z
  .string()
  .refine(isWebAddress, "must be an http or https address without user name or fragment")
  .describe("Where outcomes are sent. Outcomes of live sessions go to https alone (docs/webhooks.md).");

export const webhookEndpoint = z.strictObject({
  url: webhookUrl.superRefine(inWords(portFaultOf)),
  secret: oneOrTwo(webhookSecret).optional().describe("`whsec_...`, or [new, old] while it is rolled. Left out: made, and printed once."),
  amount_unit: z.enum(["dollars", "cents"]).optional().describe("How amounts are written. Default: dollars."),
});

const isHttps = (url: string) => url.startsWith("https:");
const liveWebhookEndpoint = webhookEndpoint.extend({
  url: webhookUrl.refine(isHttps, "must be an https address for live payments").superRefine(inWords(portFaultOf)),
});

const webhookEndpoints = z.strictObject({
  test: webhookEndpoint.nullable().optional(),
  live: liveWebhookEndpoint.nullable().optional(),
});

/** One endpoint for both environments, or one for each (R-431), told apart by their keys. */
const statusWebhook = byForm<EndpointBlock | z.infer<typeof webhookEndpoints>>((value) => {
  const isPair = typeof value === "object" && value !== null && ("test" in value || "live" in value);
  return isPair ? webhookEndpoints : webhookEndpoint;
});

const integrations = z
  .strictObject({
    alpha: z
      .strictObject({
        secret: headerSecret.nullable().describe("What Vapi shows as `X-Vapi-Secret`; null: nothing is asked for, as without it."),
      })
      .partial(),
    beta: z
      .strictObject({
        api_key: headerSecret
          .nullable()
          .describe("The Retell account's API key, with which it signs; null: no signature is asked for, as without it."),
      })
      .partial(),
  })
  .partial();

/** A mode's block: credential fields, option fields, and in test mode the address that replaces the vendor's. */
function environmentBlock(gateway: GatewayDescriptor, environment: Environment) {
  const fields = Object.fromEntries(
    gateway.credentialFields.map((field) => {
      const text = field.wholeNumber ? wholeNumberText : secretText;
      const value = field.previous === undefined ? text : oneOrTwo(secretText);
      return [field.name, (field.required ? value : value.nullable()).optional()];
    }),
  );
  const endpoint =
    environment === "test"
      ? z
          .string()
          .refine(isWebAddress, "must be an http or https address")
          .superRefine(inWords(portFaultOf))
          .nullable()
          .optional()
          .describe("The base address that replaces the vendor's host.")
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
      test: environmentBlock(gateway, "test").nullable().optional(),
      live: environmentBlock(gateway, "live").nullable().optional(),
    })
    .nullable()
    .optional();
}

/** The shape of each command's values. `languages`: what calls can be spoken in. */
export function shapesFor(gateways: Gateways, languages: readonly LanguageTag[]) {
  const gatewayBlocks = Object.fromEntries(GATEWAYS.map((gateway) => [gateway, gatewayBlock(gateways[gateway])]));
  const project = z.strictObject({
    slug: slug.describe("By which requests name it, and this file knows it again."),
    name: name.optional().describe("What is shown to people. Default: the slug."),
    currency: z
      .string()
      .refine((text) => CURRENCIES.includes(text), `is no currency of today, which are ${CURRENCIES.join(" ")}`)
      .optional()
      .describe("ISO 4217, of every session of the project. Default: USD."),
    language: z
      .string()
      .refine(isLanguage, "must be a language tag such as en-US")
      .superRefine(inWords((tag) => (isLanguage(tag) ? languageFault(tag, languages) : null)))
      .optional()
      .describe(
        "Of the call: en-US, or where `VOICE` names an endpoint also es-US and fr-CA, by keypad alone ([conversation.md](conversation.md)). Default: en-US.",
      ),
    country: z
      .string()
      .refine(isSupportedCountry, "must be a country code of two capital letters such as US (ISO 3166-1)")
      .optional()
      .describe("How national numbers are read, and where callbacks may go. Default: of the language."),
    accepted_brands: acceptedBrands.optional(),
    archived: z.boolean().optional().describe("Whether it is closed: no new sessions. Default: false."),
    phone_numbers: z
      .array(z.string().refine((text) => parseE164(text) !== null, 'must be a number such as "+15550001111"'))
      .optional()
      .describe("Service numbers of its own, in quotes; a number belongs to one project."),
    status_webhook: statusWebhook.nullable().optional(),
    gateways: z.strictObject(gatewayBlocks).optional(),
    voice: voiceBlock.optional(),
    widget: widgetBlock.optional(),
    integrations: integrations.optional(),
  });
  return {
    organization: z.strictObject({
      slug: slug.describe("By which this file and the commands know it again."),
      name: name.optional().describe("For people, as `voicetill export` shows it; commands name the slug. Default: the slug."),
    }),
    apiKey,
    project,
  };
}

/** `values` as their shape has them; throws CommandFault for the first that does not fit. */
export function checked<T>(shape: z.ZodType<T>, values: unknown): T {
  const result = shape.safeParse(values, { error: explain });
  if (result.success) return result.data;
  const [fault] = faultsOf(result.error);
  throw new CommandFault(fault?.path ?? [], fault?.reason ?? "invalid");
}

/** Everything that is wrong, each with the path of the value or key at fault: of one value the first fault alone. */
export function faultsOf(error: z.ZodError): { path: Path; reason: string }[] {
  const seen = new Set<string>();
  return error.issues.flatMap((issue) => {
    const where = issue.path.map(String).join(".");
    if (issue.code !== "unrecognized_keys" && seen.has(where)) return [];
    seen.add(where);
    if (issue.code !== "unrecognized_keys")
      return { path: issue.path, reason: where === "" ? issue.message : `${where}: ${issue.message}` };
    return issue.keys.map((key) => {
      const known = issue.message.split(" ");
      const meant = nearest(key, known);
      const hint = meant === null ? `; there are ${known.join(", ")}` : `; did you mean "${meant}"? There are ${known.join(", ")}`;
      return { path: [...issue.path, key], reason: `unknown key ${quoted(key)}${where === "" ? "" : ` in ${where}`}${hint}` };
    });
  });
}

/** For `safeParse`: faults in words. Where a key is unknown, the known ones are the message, for `faultsOf`. */
export const explain: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return "is missing";
  if (issue.code === "unrecognized_keys") return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(" ") : undefined;
  if (issue.code === "invalid_type") return `must be ${nounOf(issue.expected, issue.input)}`;
  if (issue.code === "invalid_value") return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
  if (issue.code === "too_small") return boundOf(issue.origin, "least", Number(issue.minimum));
  if (issue.code === "too_big") return boundOf(issue.origin, "most", Number(issue.maximum));
  return "cannot be read";
};

function nounOf(expected: string, input: unknown): string {
  if (expected === "string") return `a text${["number", "boolean"].includes(typeof input) ? ", in quotes" : ""}`;
  return NOUNS[expected] ?? `of the type ${expected}`;
}

const NOUNS: Readonly<Record<string, string>> = {
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  array: "a list",
  object: "a map of keys and values",
  record: "a map of keys and values",
};

function boundOf(origin: string, word: "least" | "most", bound: number): string {
  const unit = { string: "character", array: "entry" }[origin];
  if (unit === undefined) return `must be at ${word} ${bound}`;
  const units = { character: "characters", entry: "entries" }[unit];
  return `must have at ${word} ${bound === 1 ? `one ${unit}` : `${bound} ${units}`}`;
}

export type Shapes = ReturnType<typeof shapesFor>;
export type OrganizationValues = z.infer<Shapes["organization"]>;
export type ApiKeyValues = z.infer<typeof apiKey>;
export type ProjectValues = z.infer<Shapes["project"]>;
export type EndpointBlock = z.infer<typeof webhookEndpoint>;
export type StatusWebhookBlock = z.infer<typeof statusWebhook>;

/** The `gateways` block after validation: what the declared fields allow. null takes away. */
export type GatewayBlocks = Partial<Record<GatewayName, GatewayBlock | null>>;
export type GatewayBlock = { test?: EnvironmentBlock | null; live?: EnvironmentBlock | null } & Record<string, unknown>;
export type EnvironmentBlock = Record<string, unknown> & {
  credentials?: Record<string, CredentialValue | null>;
  endpoint?: string | null;
};
/** A list where the field may be rolled: new first. */
export type CredentialValue = string | readonly string[];

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "" && url.hash === "";
}

/** Nothing is ever sent there: told now, not by outcomes that nobody hears of. */
function portFaultOf(text: string): string | null {
  const url = URL.parse(text);
  return url && outgoingPortFault(url);
}

function isLanguage(text: string): boolean {
  try {
    return new Intl.Locale(text).language !== undefined;
  } catch {
    return false;
  }
}
