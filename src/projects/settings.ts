import { isIP } from "node:net";
import { z } from "zod";
import type { CardBrand } from "#src/kernel/card.ts";
import { isOrigin } from "#src/kernel/origin.ts";
import { ERRORS, RECORDABLE, type Recordings, SENTENCE_IDS, type Wording, wordingFault } from "#src/conversation/index.ts";
import { VARIABLE_FORMS } from "./appearance.ts";
import { logoFault } from "./logo.ts";
import { allowRuleFault } from "./transfer-allow.ts";

/**
 * A project's settings for its calls and its widget: the shapes of the apply file (docs/operations.md, Apply file), stored as they
 * were written. What was never written has the default of this file when it is read, so a default can improve.
 */

/** What can be asked for, on the telephone and in the card form. */
const FIELDS = ["number", "expiry", "cvv", "zip", "name"] as const;
export type WidgetField = (typeof FIELDS)[number];

/** How a project's calls run. */
export interface VoiceSettings {
  /** Fields the caller is asked for, in this order. */
  collect: readonly WidgetField[];
  /** Cards that may be tried in one call. */
  attempts: number;
  /** Faulty answers to one question with one card. */
  tries: number;
  /** The merchant's name as the greeting says it; null: it names nobody. */
  name: string | null;
  /** Whether the last four digits are read back before the card is used. */
  readBack: boolean;
  /** Sentences in the project's own words. */
  prompts: readonly Wording[];
  /** Sentences that are recorded, each by the digest of its sound. */
  recordings: Recordings;
  /** How long a caller is waited for, ms; null: as docs/conversation.md says. */
  timeouts: { firstDigitMs: number; betweenDigitsMs: number | null };
  transfer: {
    /** How the caller goes back: a second leg bridged by us, or REFER to the trunk. */
    mode: "bridge" | "refer";
    /** Where callbacks may go: number prefixes and `sip:` host patterns. Empty: numbers of the project's own country, and any SIP host. */
    allow: readonly string[];
  };
  /** Address ranges of this project's own trunks: a call from one is for this project, unless it dialled another's number. */
  trunks: readonly string[];
  /** Whether a test key's caller may say the test word (docs/interface.md, States and transitions). */
  testWord: boolean;
  /** Whether a voice session can also be paid in a browser, by the link in its detail (docs/widget.md, A link for a caller). */
  payUrl: boolean;
  /** Whether a voice session has a short code, to be dialled behind the project's number or keyed in a call (docs/interface.md, Matching calls). */
  shortCode: boolean;
}

export interface WidgetSettings {
  /** Origins of the merchant's pages that may embed the frame. */
  origins: readonly string[];
  /** Picture above the form, as a `data:` address (src/projects/logo.ts). */
  logo: string | null;
  appearance: {
    theme: "light" | "dark" | "auto";
    variables: Readonly<Record<string, string>>;
    labels: "above" | "floating" | "hidden";
    fields: readonly WidgetField[];
  };
}

const DEFAULT_VOICE = {
  collect: ["number", "expiry", "cvv", "zip"],
  attempts: 3,
  name: null,
  read_back: true,
  prompts: [],
  recordings: {},
  timeouts: { first_digit_ms: 10_000, between_digits_ms: null },
  transfer: { mode: "bridge", allow: [] },
  trunks: [],
  test_word: true,
  pay_url: false,
  short_code: false,
} as const;

const DEFAULT_WIDGET: WidgetSettings = {
  origins: [],
  logo: null,
  appearance: { theme: "auto", variables: {}, labels: "above", fields: ["number", "expiry", "cvv", "zip"] },
};

const LONGEST_WORD = 60;

/** A word of the apply file as a fault repeats it: in one line, and not the whole of a long one. */
export const quoted = (word: string): string => JSON.stringify(word.length > LONGEST_WORD ? `${word.slice(0, LONGEST_WORD)}…` : word);

/** For `superRefine`: `faultOf` says in words what is wrong, null when nothing is. `path`: of the member at fault. */
export function inWords<T>(faultOf: (value: T) => string | null, ...path: string[]) {
  return (value: T, context: z.RefinementCtx): void => {
    const fault = faultOf(value);
    // A copy: zod puts the place of the value before it.
    if (fault !== null) context.addIssue({ code: "custom", path: [...path], message: fault });
  };
}

/** The variables of an appearance, each with its own form, so that each fault is told. */
const variables = Object.fromEntries(
  Object.entries(VARIABLE_FORMS).map(([name, [form, words]]) => {
    const meaning = `${words.charAt(0).toUpperCase()}${words.slice(1)} (docs/widget.md); null takes it away.`;
    return [name, z.string().max(128).regex(form, `must be ${words}`).nullable().exactOptional().describe(meaning)];
  }),
);

const fieldList = z
  .array(z.enum(FIELDS))
  .refine((fields) => (["number", "expiry"] as const).every((field) => fields.includes(field)), "must name number and expiry")
  .refine((fields) => new Set(fields).size === fields.length, "must name each field once");

const allowRule = z.string().max(256).superRefine(inWords(allowRuleFault));

/** What a project may restrict its cards to. */
const BRANDS = ["visa", "mastercard", "amex", "discover", "diners", "jcb", "unionpay", "maestro", "elo"] as const satisfies CardBrand[];

/** The `accepted_brands` of the apply file. */
export const acceptedBrands = z
  .array(z.enum(BRANDS))
  .refine((brands) => new Set(brands).size === brands.length, "must name each brand once")
  .describe(
    "Brands of cards that are taken, on the telephone and in the card form; a card of another one is refused before it is sent anywhere. Default, and when empty: whatever the gateway takes.",
  );

/** One of `voice.prompts`. */
const wording = z
  .strictObject({
    sentence: z.enum(SENTENCE_IDS, {
      error: ({ input }) =>
        typeof input === "string" ? `there is no sentence ${quoted(input)}; docs/conversation.md has them all` : undefined,
    }),
    attempt: z.int().min(1).max(10).optional(),
    error: z.enum(ERRORS).optional(),
    brand: z.enum(BRANDS).optional(),
    text: z.string().max(500, "must have at most 500 characters"),
  })
  .superRefine(inWords(({ sentence, text }) => wordingFault(sentence, text), "text"));

/** The `voice` block of the apply file. */
export const voiceBlock = z
  .strictObject({
    collect: fieldList.describe(
      "What the caller is asked for, in this order. Default: number, expiry, cvv, zip. `name` is spelled on the keypad, or said where the recogniser understands names (docs/conversation.md).",
    ),
    attempts: z.int().min(1).max(5).describe("Cards that may be tried in one call. Default: 3."),
    tries: z
      .int()
      .min(1)
      .max(5)
      .describe("Faulty answers that one question may get with one card; the last of them ends the call. Default: as `attempts`."),
    name: z
      .string()
      .max(100, "must have at most 100 characters")
      .regex(/^[^{}\p{C}]*\p{L}[^{}\p{C}]*$/u, "must hold a letter, and neither braces nor control characters")
      .nullable()
      .describe(
        'The merchant\'s name as it is spoken: `Acme Flowers` makes the greeting "This is the secure payment line of Acme Flowers.", and callers are connected back to Acme Flowers. null, and by default: it names nobody.',
      ),
    read_back: z
      .boolean()
      .describe("Whether the last four digits are read back, and a yes is waited for, before the card is used. Default: true."),
    prompts: z
      .array(wording)
      .max(200)
      .describe(
        "Sentences in words of the project's own, each with `sentence` (its name in docs/conversation.md), `text`, and where it is for some situations alone `attempt`, `error` and `brand`; the first that fits is said. Default: none.",
      ),
    recordings: z
      .record(z.string(), z.string().min(1).max(1000).nullable())
      .superRefine((recordings, context) => {
        for (const id of Object.keys(recordings)) {
          if ((RECORDABLE as readonly string[]).includes(id)) continue;
          context.addIssue({
            code: "custom",
            path: [id],
            message: `there is no sentence ${quoted(id)} that is the same in every call`,
          });
        }
      })
      .describe(
        "Sentences as recorded, by their names in docs/conversation.md: WAV or FLAC files, named as they are found from the folder of this file; null takes one away. Default: none.",
      ),
    timeouts: z
      .strictObject({
        first_digit_ms: z
          .int()
          .min(3_000)
          .max(60_000)
          .describe("After a question, for the answer to begin, ms; then it is asked again, three times. Default: 10000."),
        between_digits_ms: z
          .int()
          .min(1_000)
          .max(15_000)
          .nullable()
          .describe(
            "For an answer that has begun to go on, ms. null, and by default: 3000, and 5000 in a card number. A name has 10000 at least.",
          ),
      })
      .partial(),
    transfer: z
      .strictObject({
        mode: z
          .enum(["bridge", "refer"])
          .describe("How the caller goes back: a second leg that we bridge, or REFER to the trunk. Default: bridge."),
        allow: z
          .array(allowRule)
          .describe(
            'Where callbacks may go: beginnings of numbers (`"+44"`), hosts (`"sip:pbx.example"`) and every host below one (`"sip:*.example"`). Default, and when empty: numbers of the project\'s own country, and any SIP host.',
          ),
      })
      .partial(),
    trunks: z
      .array(z.string().refine(isInet, "must be an IP address or a range such as 203.0.113.0/28"))
      .max(64)
      .describe(
        "Address ranges of a trunk that is this project's alone, among those of `SIP_TRUNKS`: a call from there is for this project, unless the number that was dialled is another's.",
      ),
    test_word: z.boolean().describe("Whether a test key's caller may say the test word instead of a card. Default: true."),
    pay_url: z.boolean().describe("Whether a voice session has a link to pay by in a browser (docs/widget.md). Default: false."),
    short_code: z
      .boolean()
      .describe(
        "Whether a caller may name the session by eight digits, dialled behind the project's number or keyed when nothing else names it (docs/interface.md, Matching calls). Default: false.",
      ),
  })
  .partial();

/** The `widget` block of the apply file. */
export const widgetBlock = z
  .strictObject({
    origins: z
      .array(z.string().refine(isOrigin, "must be an origin such as https://shop.example"))
      .describe("Origins of the merchant's pages that may embed the card form, each in full, without a path and without *. Default: none."),
    logo: z
      .string()
      .superRefine(inWords(logoFault))
      .nullable()
      .describe("A picture above the card form, as a data: address (docs/widget.md); null: none."),
    appearance: z
      .strictObject({
        theme: z.enum(["light", "dark", "auto"]).describe("Default: auto, as the browser's user has it."),
        variables: z.strictObject(variables),
        labels: z.enum(["above", "floating", "hidden"]).describe("Where a field's label stands. Default: above."),
        fields: fieldList.describe("What the form asks for, in this order. Default: number, expiry, cvv, zip."),
      })
      .partial(),
  })
  .partial();

type StoredVoice = Pick<VoiceSettings, "collect" | "attempts" | "name" | "prompts" | "transfer" | "trunks"> & {
  tries?: number;
  read_back: boolean;
  recordings: StoredRecordings;
  timeouts: { first_digit_ms: number; between_digits_ms: number | null };
  test_word: boolean;
  pay_url: boolean;
  short_code: boolean;
};

/** By the sentence: the file as the apply file names it, and the digest of its sound; null: taken away. */
export type StoredRecordings = Readonly<Record<string, { file: string; digest: string } | null>>;

export function readVoice(stored: unknown): VoiceSettings {
  const { test_word, pay_url, short_code, read_back, timeouts, tries, recordings, ...voice } = merge(DEFAULT_VOICE, stored) as StoredVoice;
  return {
    ...voice,
    tries: tries ?? voice.attempts,
    readBack: read_back,
    recordings: Object.fromEntries(Object.entries(recordings).flatMap(([id, stored]) => (stored ? [[id, stored.digest]] : []))),
    timeouts: { firstDigitMs: timeouts.first_digit_ms, betweenDigitsMs: timeouts.between_digits_ms },
    testWord: test_word,
    payUrl: pay_url,
    shortCode: short_code,
  };
}

/** `changes` over what is stored; a variable of the appearance that is null is taken away. */
export function mergeWidget(stored: unknown, changes: unknown): unknown {
  return JSON.parse(JSON.stringify(merge(stored, changes)), (key, value: unknown) =>
    key === "variables" ? Object.fromEntries(Object.entries(value as object).filter(([, text]) => text !== null)) : value,
  );
}

export function readWidget(stored: unknown): WidgetSettings {
  return merge(DEFAULT_WIDGET, stored) as WidgetSettings;
}

/** `changes` over `base`: maps are merged key by key, everything else is replaced whole; undefined changes nothing. */
export function merge(base: unknown, changes: unknown): unknown {
  if (changes === undefined) return base;
  if (!isMap(base) || !isMap(changes)) return changes;
  const keys = new Set([...Object.keys(base), ...Object.keys(changes)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(base[key], changes[key])]));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As PostgreSQL reads an `inet`: no short, octal or scoped forms. */
function isInet(text: string): boolean {
  const [, address = "", prefix = "0"] = /^([0-9a-f:.]+)(?:\/(0|[1-9][0-9]{0,2}))?$/i.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}
