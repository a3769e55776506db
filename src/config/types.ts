import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
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
  /** Undefined: the text is none. Written out, because to load a library of schemas is a third of what a short command takes. */
  read(text: string): T | undefined;
  /** What is wrong with a text that is none: follows "<SETTING>: ". `shown` is the text, masked if secret. */
  complaint: (shown: string) => string;
}

const isNot = (noun: string) => (shown: string) => `${shown} is not ${noun}`;

/** A text as it is, if it is one of these. */
const only = (isOne: (text: string) => boolean) => (text: string) => (isOne(text) ? text : undefined);

function wholeNumber(noun: string, least: number, most: number): Kind<number> {
  const read = (text: string) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    return value >= least && value <= most ? value : undefined;
  };
  return { complaint: isNot(noun), read };
}

export const port = wholeNumber("a port from 0 to 65535", 0, 65_535);
export const count = wholeNumber("a whole number from 0 to 1000000", 0, 1_000_000);
export const atLeastOne = wholeNumber("a whole number from 1 to 1000000", 1, 1_000_000);
export const days = wholeNumber("a number of days from 0 to 36500", 0, 36_500);
export const ttl = wholeNumber("a number of seconds from 10 to 86400", 10, 86_400);

export const host: Kind<string> = {
  complaint: isNot("a host name or address, without a port"),
  // As part of a URL 999.1.1.1 would be refused, and only by what serves it.
  read: only((text) => /^[A-Za-z0-9.:_-]+$/.test(text) && (text.includes(":") ? isIP(text) === 6 : URL.canParse(`http://${text}`))),
};

export const folder: Kind<string> = { complaint: isNot("a folder"), read: only((text) => text !== "") };

export const file: Kind<string> = {
  complaint: isNot("the path of a file"),
  read: only((text) => /^[^\r\n]+$/.test(text)),
};

export const phone: Kind<string> = {
  complaint: isNot("a telephone number such as +15550001111"),
  read: only((text) => /^\+[1-9][0-9]{6,14}$/.test(text)),
};

/** Without a trailing slash. */
export const baseUrl: Kind<string> = {
  complaint: isNot("an http or https address without user name, query and fragment"),
  read: (text) => {
    const url = URL.parse(text);
    const isOne = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && !/[#?@]/.test(text);
    return isOne ? text.replace(/\/+$/, "") : undefined;
  },
};

/** `embedded`, or the address of an endpoint. */
export const voice: Kind<string> = {
  complaint: isNot("embedded, or the http or https address of a text-to-speech endpoint such as http://127.0.0.1:8880/v1/audio/speech"),
  read: only((text) => {
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
  read: only((text) => {
    const url = /[\s#@]/.test(text) ? null : URL.parse(text);
    return SPEECH_WORDS.includes(text) || url?.protocol === "wss:" || (url?.protocol === "ws:" && isLoopbackHost(url.hostname));
  }),
};

/** `host` as in a URL: a name that stands for this machine (RFC 6761 section 6.3), or one of its own addresses. */
export function isLoopbackHost(host: string): boolean {
  const bare = unbracketed(host);
  return bare === "localhost" || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === "loopback");
}

export const word: Kind<string> = {
  complaint: isNot("a name without spaces and commas"),
  read: only((text) => /^[^\s,=]{1,200}$/.test(text)),
};

interface VoiceNames {
  all: string;
  of: Partial<Record<LanguageTag, string>>;
}

/** One name for all languages, and others for some: `nova,es-US=lola`. */
export const voiceNames: Kind<VoiceNames> = {
  complaint: isNot(`a voice's name, with others behind it for some languages (${LANGUAGE_TAGS.join(", ")}) such as nova,es-US=lola`),
  read: (text) => {
    const [all = "", ...others] = splitList(text);
    const of = others.map((item) => item.split("="));
    const isRight = of.every(([tag, name, ...more]) => LANGUAGE_TAGS.includes(tag as LanguageTag) && name && more.length === 0);
    return /^[^\s=]+$/.test(all) && isRight ? { all, of: Object.fromEntries(of) } : undefined;
  },
};

export const cidrs: Kind<string[]> = {
  complaint: isNot("a list of address ranges such as 10.0.0.0/8,::1/128"),
  read: (text) => allRanges(splitList(text)),
};

/** Address ranges, and names of presets, which become their ranges. */
export const trunks: Kind<string[]> = {
  complaint: isNot(`a list of address ranges such as 10.0.0.0/8 and of names: ${Object.keys(TRUNK_PRESETS).join(", ")}`),
  read: (text) => allRanges(splitList(text).flatMap((item) => (Object.hasOwn(TRUNK_PRESETS, item) ? TRUNK_PRESETS[item]!.ranges : [item]))),
};

function allRanges(items: string[]): string[] | undefined {
  return items.every(isAddressRange) ? items : undefined;
}

interface PortRange {
  first: number;
  last: number;
}

export const portRange: Kind<PortRange> = {
  complaint: isNot("a range of ports such as 20000-29999, with an even one and the next in it"),
  read: (text) => {
    const [first = 0, last = 0] = /^[0-9]{1,5}-[0-9]{1,5}$/.test(text) ? text.split("-").map(Number) : [];
    return first >= 1024 && last <= 65_535 && rtpPairs(first, last).count > 0 ? { first, last } : undefined;
  },
};

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
  return { complaint: isNot(`one of ${values.join(", ")}`), read: (text) => values.find((value) => value === text) };
}

/** A setting of what this version does not have: to ask for it stops the start instead of being passed over in silence. */
export const dashboard: Kind<"off"> = {
  complaint: (shown) => `${shown} cannot be had: this version has no dashboard; leave it unset, or off`,
  read: (text) => (text === "off" ? text : undefined),
};

export function someOf<const T extends string>(...values: readonly T[]): Kind<T[]> {
  return {
    complaint: isNot(`a list of ${values.join(", ")}`),
    read: (text) => {
      const items = splitList(text);
      return items.length > 0 && items.every((item) => values.includes(item as T)) ? (items as T[]) : undefined;
    },
  };
}

export function secret(noun: string, pattern: RegExp): Kind<Secret> {
  return {
    complaint: isNot(noun),
    read: (text) => (pattern.test(text) ? new Secret(text) : undefined),
  };
}

/** What `parseTrunk` reads; it stays whole, for it holds a password. */
export const sipTrunk: Kind<Secret> = {
  complaint: isNot("a trunk's address such as sip:user:password@host:port;transport=udp"),
  read: (text) => (!/\s/.test(text) && parseTrunk(text) !== null ? new Secret(text) : undefined),
};

/** Nothing but address, name, password and number of the database: what the client would read otherwise is refused here. */
export const redisUrl: Kind<Secret> = {
  complaint: isNot("a Redis address such as redis://user:password@host:6379/0, or rediss://"),
  read: (text) => {
    const url = URL.parse(text);
    const known = url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "" && /^(\/[0-9]{0,4})?$/.test(url.pathname);
    return known && !/[\s?#]|%(?![0-9a-f]{2})/i.test(text) ? new Secret(text) : undefined;
  },
};

const SIP_USER = /^(?<name>[^:@,;\s]+):(?<password>[^:@,;\s]+)(?<md5>;digest=md5)?$/i;

/** Names and passwords with their reserved signs escaped as in a URI. */
export const sipUsers: Kind<SipUser[]> = {
  complaint: isNot("a list such as name:password,name:password;digest=md5"),
  read: (text) => {
    try {
      return splitList(text).map((item) => {
        const { name, password, md5 } = SIP_USER.exec(item)!.groups!;
        return { name: decodeURIComponent(name!), password: new Secret(decodeURIComponent(password!)), md5: md5 !== undefined };
      });
    } catch {
      return undefined;
    }
  },
};

/** Where a test wants the process killed: a point, `point.name` for one of its names, with `:3` the third time it is reached. */
export const crashAt: Kind<CrashAt> = {
  complaint: isNot("a crash point such as response_read:3 or transition_written.charge"),
  read: (text) => {
    const [, point = "", name = null, times = "1"] = /^(\w+)(?:\.(\w+))?(?::([1-9][0-9]{0,5}))?$/.exec(text) ?? [];
    return Object.hasOwn(CRASH_POINTS, point) ? { point: point as CrashPoint, name, times: Number(times) } : undefined;
  },
};

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
