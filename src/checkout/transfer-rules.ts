import {
  getCountryCallingCode,
  isSupportedCountry,
  isValidPhoneNumber,
  parsePhoneNumberFromString,
  type PhoneNumber,
} from "libphonenumber-js/max";
import type { Callback } from "./callback.ts";

/** Kinds of number that cost whoever dials them more than a call: the way of toll fraud. */
const PREMIUM_TYPES: ReadonlySet<string | undefined> = new Set(["PREMIUM_RATE", "SHARED_COST", "PERSONAL_NUMBER"]);

/**
 * Calling codes that belong to no country, but for +800, which is free (ITU-T E.164, list of assigned codes): shared cost (808),
 * satellite networks (870 and what Inmarsat had before, 881), personal numbers (878), international networks (882, 883), trials (888,
 * 991), premium rate (979).
 */
const PREMIUM_CODES = /^\+(?:808|87\d|881|882|883|888|979|991)/;

/**
 * Numbers of emergency services, operators, directories and carriers, shorter than any subscriber's, by calling code. Numbering plans keep what begins with 1
 * for them (ITU-T E.129; the emergency numbers of libphonenumber's ShortNumberMetadata.xml); that of +1 has N11 (411, 911) and few others.
 */
const SHORT_NUMBERS: Readonly<Record<"1" | "other", string>> = {
  "1": "00?|11[0-9]|[2-8]11|9[0-9]{2}",
  other: "[019][0-9]{0,2}|[2-8]11|118[0-9]{1,3}",
};

/** The digits that take an outside line at most switchboards. */
const OUTSIDE_LINE = "[09]";
const BEGINS_OUTSIDE = new RegExp(`^${OUTSIDE_LINE}`);
/**
 * What a switchboard dials behind them, by calling code: emergency services, operators and directories. Not all short numbers: four digits may
 * be an extension, and those of a switchboard without such a prefix may begin so.
 */
const BEHIND_PREFIX: Readonly<Record<"1" | "other", string>> = {
  "1": "[2-9]11|112|988",
  other: "1[0-39][0-9]|911|99[0-9]|000|118[0-9]{1,3}",
};

/** The shortest telephone number that anything is said of, calling code included. */
const SHORTEST = "+1".length + 4;

/** A project's say on transfers. */
export interface TransferPolicy {
  /** ISO 3166-1 alpha-2. */
  country: string;
  voice: { transfer: { allow: readonly string[] } };
}

/**
 * Whether a project lets its callers be transferred to this destination. `allow` is the project's list, of number prefixes
 * (`+44`) and host patterns (`sip:*.merchant.example`); without one, numbers of the project's own country and any SIP host.
 * Numbers that cost extra are never allowed, nor emergency and other short numbers. A SIP host that is a trunk's turns a user part that reads as a number into a telephone
 * call, so such a number obeys the rules for numbers besides. Which network addresses may be reached is decided when the call is placed.
 */
export function callbackAllowed(target: Callback, project: TransferPolicy, isTrunkHost: (host: string) => boolean): boolean {
  if (target.kind === "phone") return numberAllowed(target.number, project);
  const { allow } = project.voice.transfer;
  if (allow.length > 0 && !allow.some((rule) => hostMatches(rule, target.host))) return false;
  return !isTrunkHost(target.host) || userAllowed(target.user, project);
}

/**
 * Whether a trunk may be given this user part of a SIP URI: what does not read as a number, an extension, or allowed numbers. Digits behind a semicolon may be
 * the prefix of a local number or where it was ported to (RFC 3966, RFC 4694), and nobody can say what a trunk makes of them; an extension is none.
 */
export function userAllowed(user: string | null, project: TransferPolicy): boolean {
  const [dialled = "", ...parameters] = decoded(user ?? "").split(";");
  if (parameters.some((parameter) => /\p{N}/u.test(parameter) && !/^ext=/i.test(parameter))) return false;
  return dialled.split(",").every((part) => {
    const digits = digitsOf(part);
    if (digits !== null && isShortNumber(digits, project.country)) return false;
    if (digits === null || digits.replace(/[^0-9]/g, "").length < LEAST_DIGITS) return true;
    const numbers = numbersMeant(digits, project.country);
    return numbers.length > 0 && numbers.every((number) => numberAllowed(number, project));
  });
}

/** `number` in E.164 form. */
function numberAllowed(number: string, { country, voice: { transfer } }: TransferPolicy): boolean {
  const complete = completeIn(number);
  if (PREMIUM_CODES.test(number) || complete.some((parsed) => PREMIUM_TYPES.has(parsed.getType()))) return false;
  if (transfer.allow.length > 0) return transfer.allow.some((rule) => rule.startsWith("+") && number.startsWith(rule));
  const callingCode = parsePhoneNumberFromString(number)?.countryCallingCode;
  const countries = complete.flatMap((parsed) => parsed.country ?? []);
  // A number that no country's plan has (a fictitious one) belongs to whoever has the calling code.
  return countries.length > 0
    ? countries.every((of) => of === country)
    : callingCode !== undefined && callingCode === callingCodeOf(country);
}

/** The number, if it is a valid one, else all that it may be with digits behind: exchanges ignore those after a complete number. */
function completeIn(number: string): PhoneNumber[] {
  const whole = parsePhoneNumberFromString(number);
  if (whole?.isValid()) return [whole];
  const lengths = Array.from({ length: Math.max(0, number.length + 1 - SHORTEST) }, (_, index) => SHORTEST + index);
  return lengths.flatMap((length) => parsePhoneNumberFromString(number.slice(0, length)) ?? []);
}

/** What has fewer is an extension of the operator's own switchboard, unless it is a short number. */
const LEAST_DIGITS = 6;
const NOT_DIALLED = /[^\p{L}\p{N}+*#]/gu;

/** What would be dialled for this text, without separators: digits with or without a plus, or with the signs * and #; null when it is no number. */
function digitsOf(text: string): string | null {
  const bare = text.normalize("NFKC").replace(NOT_DIALLED, "");
  return /^[+*#0-9]*$/.test(bare) ? bare : null;
}

/** Whether a trunk may take the digits for a short number in this country, also behind an outside-line prefix or a service code such as *67, or before a #. */
function isShortNumber(digits: string, country: string): boolean {
  const plan = callingCodeOf(country) === "1" ? "1" : "other";
  return new RegExp(`^(?:[*#][0-9]{2}[*#]?)?(?:\\+?(?:${SHORT_NUMBERS[plan]})|${OUTSIDE_LINE}(?:${BEHIND_PREFIX[plan]}))#?$`).test(digits);
}

/**
 * The E.164 numbers that a trunk may take the digits for: as they are, national in this country, behind an international prefix. Of
 * several the possible ones. What is no valid number of the country may have an outside-line prefix: what begins with a valid number behind that is meant too.
 * Empty for service codes, which do something before they dial.
 */
function numbersMeant(digits: string, country: string): string[] {
  if (/[*#]|.\+/.test(digits)) return [];
  if (digits.startsWith("+")) return [digits];
  const meant = readings(digits, country);
  const possible = meant.filter((number) => parsePhoneNumberFromString(number)?.isPossible());
  const isOutside = BEGINS_OUTSIDE.test(digits) && !(isSupportedCountry(country) && isValidPhoneNumber(digits, country));
  const behind = isOutside ? readings(digits.slice(1), country).filter((number) => completeIn(number).some((one) => one.isValid())) : [];
  return [...new Set([...(possible.length > 0 ? possible : meant), ...behind])];
}

function readings(digits: string, country: string): string[] {
  const national = isSupportedCountry(country) ? parsePhoneNumberFromString(digits, country)?.number : undefined;
  return [national, `+${digits.replace(/^(?:00|011)/, "")}`].filter((number) => number !== undefined);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function callingCodeOf(country: string): string | null {
  return isSupportedCountry(country) ? getCountryCallingCode(country) : null;
}

/** `sip:pbx.example`, or `sip:*.example` for any host below; `sips:` as well. */
function hostMatches(rule: string, host: string): boolean {
  const pattern = /^sips?:(?<host>.+)$/i.exec(rule)?.groups?.["host"]?.toLowerCase();
  if (pattern === undefined) return false;
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) && host.length >= pattern.length : host === pattern;
}
