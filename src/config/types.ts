import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { isAddressRange } from "#src/kernel/address-range.ts";
import { CRASH_POINTS, type CrashAt, type CrashPoint } from "#src/kernel/crash-points.ts";
import { unbracketed } from "#src/kernel/host-port.ts";
import { LANGUAGE_TAGS, type LanguageTag } from "#src/kernel/language.ts";
import { rtpPairs } from "#src/kernel/rtp-ports.ts";
import { Secret } from "#src/kernel/secret.ts";
import { parseTrunk, type SipUser } from "#src/kernel/sip-trunk.ts";
import { TRUNK_PRESETS } from "./trunk-presets.ts";

/** How the text of a setting is read. */
export interface Kind<T> {
  schema: z.ZodType<T, string>;
  /** What is wrong with a text that the schema refuses: follows "<SETTING>: ". `shown` is the text, masked if secret. */
  complaint: (shown: string) => string;
}

const isNot = (noun: string) => (shown: string) => `${shown} is not ${noun}`;

function wholeNumber(noun: string, least: number, most: number): Kind<number> {
  const schema = z
    .string()
    .regex(/^[0-9]{1,9}$/)
    .transform(Number)
    .refine((value) => value >= least && value <= most);
  return { complaint: isNot(noun), schema };
}

export const port = wholeNumber("a port from 0 to 65535", 0, 65_535);
export const count = wholeNumber("a whole number from 0 to 1000000", 0, 1_000_000);
export const atLeastOne = wholeNumber("a whole number from 1 to 1000000", 1, 1_000_000);
export const days = wholeNumber("a number of days from 0 to 36500", 0, 36_500);
export const ttl = wholeNumber("a number of seconds from 10 to 86400", 10, 86_400);

export const host: Kind<string> = {
  complaint: isNot("a host name or address, without a port"),
  schema: z
    .string()
    .regex(/^[A-Za-z0-9.:_-]+$/)
    // As part of a URL 999.1.1.1 would be refused, and only by what serves it.
    .refine((text) => (text.includes(":") ? isIP(text) === 6 : URL.canParse(`http://${text}`))),
};

export const folder: Kind<string> = { complaint: isNot("a folder"), schema: z.string().min(1) };

export const file: Kind<string> = {
  complaint: isNot("the path of a file"),
  schema: z
    .string()
    .min(1)
    .regex(/^[^\r\n]+$/),
};

export const phone: Kind<string> = {
  complaint: isNot("a telephone number such as +15550001111"),
  schema: z.string().regex(/^\+[1-9][0-9]{6,14}$/),
};

/** Without a trailing slash. */
export const baseUrl: Kind<string> = {
  complaint: isNot("an http or https address without query and fragment"),
  schema: z
    .string()
    .refine((text) => {
      const url = URL.parse(text);
      return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && !/[#?@]/.test(text);
    })
    .transform((text) => text.replace(/\/+$/, "")),
};

/** `embedded`, or the address of an endpoint. */
export const voice: Kind<string> = {
  complaint: isNot("embedded, or the http or https address of a text-to-speech endpoint such as http://127.0.0.1:8880/v1/audio/speech"),
  schema: z.string().refine((text) => {
    const url = URL.parse(text);
    return text === "embedded" || (url !== null && /^https?:$/.test(url.protocol) && !/[#@]/.test(text));
  }),
};

const SPEECH_WORDS: readonly string[] = ["embedded", "sherpa", "off"];

/** One of `SPEECH_WORDS`, or the address of a recogniser: what callers say of their cards leaves this machine encrypted or not at all. */
export const speech: Kind<string> = {
  complaint: isNot(
    `one of ${SPEECH_WORDS.join(", ")}, or the address of a recogniser: ws:// on this machine such as ws://127.0.0.1:2700, wss:// on any (what callers say of their cards goes there)`,
  ),
  schema: z.string().refine((text) => {
    const url = /[\s#@]/.test(text) ? null : URL.parse(text);
    return SPEECH_WORDS.includes(text) || url?.protocol === "wss:" || (url?.protocol === "ws:" && isLoopbackHost(url.hostname));
  }),
};

/** `host` as in a URL: a name that stands for this machine (RFC 6761 section 6.3), or one of its own addresses. */
export function isLoopbackHost(host: string): boolean {
  const bare = unbracketed(host);
  return bare === "localhost" || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === "loopback");
}

export const word: Kind<string> = { complaint: isNot("a name without spaces and commas"), schema: z.string().regex(/^[^\s,=]{1,200}$/) };

interface VoiceNames {
  all: string;
  of: Partial<Record<LanguageTag, string>>;
}

/** One name for all languages, and others for some: `nova,es-US=lola`. */
export const voiceNames: Kind<VoiceNames> = {
  complaint: isNot(`a voice's name, with others behind it for some languages (${LANGUAGE_TAGS.join(", ")}) such as nova,es-US=lola`),
  schema: z.string().transform((text, context): VoiceNames => {
    const [all = "", ...others] = splitList(text);
    const of = others.map((item) => item.split("="));
    const isRight = of.every(([tag, name, ...more]) => LANGUAGE_TAGS.includes(tag as LanguageTag) && name && more.length === 0);
    if (/^[^\s=]+$/.test(all) && isRight) return { all, of: Object.fromEntries(of) };
    context.addIssue("no names of voices");
    return z.NEVER;
  }),
};

export const cidrs: Kind<string[]> = {
  complaint: isNot("a list of address ranges such as 10.0.0.0/8,::1/128"),
  schema: z
    .string()
    .transform(splitList)
    .refine((items) => items.every(isAddressRange)),
};

/** Address ranges, and names of presets, which become their ranges. */
export const trunks: Kind<string[]> = {
  complaint: isNot(`a list of address ranges such as 10.0.0.0/8 and of names: ${Object.keys(TRUNK_PRESETS).join(", ")}`),
  schema: z
    .string()
    .transform((text) => splitList(text).flatMap((item) => (Object.hasOwn(TRUNK_PRESETS, item) ? TRUNK_PRESETS[item]!.ranges : [item])))
    .refine((items) => items.every(isAddressRange)),
};

interface PortRange {
  first: number;
  last: number;
}

export const portRange: Kind<PortRange> = {
  complaint: isNot("a range of ports such as 20000-29999, with an even one and the next in it"),
  schema: z
    .string()
    .regex(/^[0-9]{1,5}-[0-9]{1,5}$/)
    .transform((text) => {
      const [first = 0, last = 0] = text.split("-").map(Number);
      return { first, last };
    })
    .refine(({ first, last }) => first >= 1024 && last <= 65_535 && rtpPairs(first, last).count > 0),
};

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
  return { complaint: isNot(`one of ${values.join(", ")}`), schema: z.string().pipe(z.enum(values as [T, ...T[]])) };
}

/** A setting of what this version does not have: to ask for it stops the start instead of being passed over in silence. */
export const dashboard: Kind<"off"> = {
  complaint: (shown) => `${shown} cannot be had: this version has no dashboard; leave it unset, or off`,
  schema: z.string().pipe(z.literal("off")),
};

export function someOf<const T extends string>(...values: readonly T[]): Kind<T[]> {
  return {
    complaint: isNot(`a list of ${values.join(", ")}`),
    schema: z
      .string()
      .transform(splitList)
      .pipe(z.array(z.enum(values as [T, ...T[]])).min(1)),
  };
}

export function secret(noun: string, pattern: RegExp): Kind<Secret> {
  return {
    complaint: isNot(noun),
    schema: z
      .string()
      .regex(pattern)
      .transform((text) => new Secret(text)),
  };
}

/** What `parseTrunk` reads; it stays whole, for it holds a password. */
export const sipTrunk: Kind<Secret> = {
  complaint: isNot("a trunk's address such as sip:user:password@host:port;transport=udp"),
  schema: z
    .string()
    .refine((text) => !/\s/.test(text) && parseTrunk(text) !== null)
    .transform((text) => new Secret(text)),
};

/** Nothing but address, name, password and number of the database: what the client would read otherwise is refused here. */
export const redisUrl: Kind<Secret> = {
  complaint: isNot("a Redis address such as redis://user:password@host:6379/0, or rediss://"),
  schema: z
    .string()
    .refine((text) => {
      const url = URL.parse(text);
      const known = url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "" && /^(\/[0-9]{0,4})?$/.test(url.pathname);
      return known && !/[\s?#]|%(?![0-9a-f]{2})/i.test(text);
    })
    .transform((text) => new Secret(text)),
};

const SIP_USER = /^(?<name>[^:@,;\s]+):(?<password>[^:@,;\s]+)(?<md5>;digest=md5)?$/i;

/** Names and passwords with their reserved signs escaped as in a URI. */
export const sipUsers: Kind<SipUser[]> = {
  complaint: isNot("a list such as name:password,name:password;digest=md5"),
  schema: z.string().transform((text, context): SipUser[] => {
    try {
      return splitList(text).map((item) => {
        const { name, password, md5 } = SIP_USER.exec(item)!.groups!;
        return { name: decodeURIComponent(name!), password: new Secret(decodeURIComponent(password!)), md5: md5 !== undefined };
      });
    } catch {
      context.addIssue("no list of users");
      return z.NEVER;
    }
  }),
};

/** Where a test wants the process killed: a point, `point.name` for one of its names, with `:3` the third time it is reached. */
export const crashAt: Kind<CrashAt> = {
  complaint: isNot("a crash point such as response_read:3 or transition_written.charge"),
  schema: z.string().transform((text, context): CrashAt => {
    const [, point = "", name = null, times = "1"] = /^(\w+)(?:\.(\w+))?(?::([1-9][0-9]{0,5}))?$/.exec(text) ?? [];
    if (Object.hasOwn(CRASH_POINTS, point)) return { point: point as CrashPoint, name, times: Number(times) };
    context.addIssue("no crash point");
    return z.NEVER;
  }),
};

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
