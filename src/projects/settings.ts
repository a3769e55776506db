import { isIP } from "node:net";
import { z } from "zod";
import { variablesFault } from "./appearance.ts";

/**
 * A project's settings for its calls and its widget: the shapes of the apply file (docs/operations.md, Apply file), stored as they
 * were written. What was never written has the default of this file when it is read, so a default can improve.
 */

const VOICE_FIELDS = ["number", "expiry", "cvv", "zip", "name"] as const;
export type VoiceField = (typeof VOICE_FIELDS)[number];

/** How a project's calls run. */
export interface VoiceSettings {
  /** Fields the caller is asked for, in this order. */
  collect: readonly VoiceField[];
  /** Cards that may be tried in one call. */
  attempts: number;
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
}

export interface WidgetSettings {
  /** Origins of the merchant's pages that may embed the frame. */
  origins: readonly string[];
  appearance: {
    theme: "light" | "dark" | "auto";
    variables: Readonly<Record<string, string>>;
    labels: "above" | "floating" | "hidden";
    fields: readonly VoiceField[];
  };
}

const DEFAULT_VOICE = {
  collect: ["number", "expiry", "cvv", "zip"],
  attempts: 3,
  transfer: { mode: "bridge", allow: [] },
  trunks: [],
  test_word: true,
  pay_url: false,
} as const;

const DEFAULT_WIDGET: WidgetSettings = {
  origins: [],
  appearance: { theme: "auto", variables: {}, labels: "above", fields: ["number", "expiry", "cvv", "zip"] },
};

const fieldList = z
  .array(z.enum(VOICE_FIELDS))
  .refine((fields) => fields.includes("number") && fields.includes("expiry"), "must name number and expiry")
  .refine((fields) => new Set(fields).size === fields.length, "must name each field once");

/** The `voice` block of the apply file. */
export const voiceBlock = z
  .strictObject({
    collect: fieldList,
    attempts: z.int().min(1).max(5),
    transfer: z.strictObject({ mode: z.enum(["bridge", "refer"]), allow: z.array(z.string().min(1).max(256)) }).partial(),
    trunks: z.array(z.string().refine(isAddressRange, "must be an IP address or a range such as 203.0.113.0/28")).max(64),
    test_word: z.boolean(),
    pay_url: z.boolean(),
  })
  .partial();

/** The `widget` block of the apply file. */
export const widgetBlock = z
  .strictObject({
    origins: z.array(z.string().refine(isOrigin, "must be an origin such as https://shop.example")),
    appearance: z
      .strictObject({
        theme: z.enum(["light", "dark", "auto"]),
        variables: z.record(z.string(), z.string().max(128)),
        labels: z.enum(["above", "floating", "hidden"]),
        fields: fieldList,
      })
      .partial()
      .superRefine(({ variables = {}, theme = "auto" }, context) => {
        const fault = variablesFault(variables, theme);
        if (fault !== null) context.addIssue({ code: "custom", path: ["variables"], message: fault });
      }),
  })
  .partial();

export function readVoice(stored: unknown): VoiceSettings {
  type Stored = Omit<VoiceSettings, "testWord" | "payUrl"> & { test_word: boolean; pay_url: boolean };
  const { test_word: testWord, pay_url: payUrl, ...voice } = merge(DEFAULT_VOICE, stored) as Stored;
  return { ...voice, testWord, payUrl };
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
function isAddressRange(text: string): boolean {
  const [, address = "", prefix = "0"] = /^([0-9a-f:.]+)(?:\/(0|[1-9][0-9]{0,2}))?$/i.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
