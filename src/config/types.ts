import ipaddr from "ipaddr.js";
import { z } from "zod";
import { CRASH_POINTS, type CrashAt, type CrashPoint } from "#src/kernel/crash-points.ts";
import { Secret } from "#src/kernel/secret.ts";

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
export const perMinute = wholeNumber("a whole number from 0 to 1000000", 0, 1_000_000);
export const count = wholeNumber("a whole number from 0 to 1000000", 0, 1_000_000);
export const days = wholeNumber("a number of days from 0 to 36500", 0, 36_500);
export const ttl = wholeNumber("a number of seconds from 10 to 86400", 10, 86_400);

export const host: Kind<string> = {
  complaint: isNot("a host name or address"),
  schema: z.string().regex(/^[A-Za-z0-9.:_-]+$/),
};

export const folder: Kind<string> = { complaint: isNot("a folder"), schema: z.string().min(1) };

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
      const url = URL.canParse(text) ? new URL(text) : null;
      return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && !/[#?@]/.test(text);
    })
    .transform((text) => text.replace(/\/+$/, "")),
};

export const cidrs: Kind<string[]> = {
  complaint: isNot("a list of address ranges such as 10.0.0.0/8,::1/128"),
  schema: z
    .string()
    .transform(splitList)
    .refine((items) => items.every((item) => ipaddr.isValidCIDR(item) || ipaddr.isValid(item))),
};

export interface PortRange {
  first: number;
  last: number;
}

export const portRange: Kind<PortRange> = {
  complaint: isNot("a range of ports such as 20000-29999"),
  schema: z
    .string()
    .regex(/^[0-9]{1,5}-[0-9]{1,5}$/)
    .transform((text) => {
      const [first = 0, last = 0] = text.split("-").map(Number);
      return { first, last };
    })
    // RTP takes an even port and RTCP the next (RFC 3550 section 11).
    .refine(({ first, last }) => first >= 1024 && last <= 65_535 && last > first),
};

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
  return { complaint: isNot(`one of ${values.join(", ")}`), schema: z.string().pipe(z.enum(values as [T, ...T[]])) };
}

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

/** A setting of the contract that this version cannot honour: to ignore it would be worse than to stop. */
export function refused(why: string): Kind<never> {
  return { complaint: () => `it must be left unset: ${why}`, schema: z.never() };
}

/** Where a test wants the process killed: a point's name, or `name:3` for the third time it is reached. */
export const crashAt: Kind<CrashAt> = {
  complaint: isNot("a crash point such as intent_committed or intent_committed:3"),
  schema: z.string().transform((text, context): CrashAt => {
    const [point = "", times = "1", ...more] = text.split(":");
    if (Object.hasOwn(CRASH_POINTS, point) && /^[1-9][0-9]{0,5}$/.test(times) && more.length === 0) {
      return { point: point as CrashPoint, times: Number(times) };
    }
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
