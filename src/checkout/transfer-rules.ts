import { getCountryCallingCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/max";
import type { Callback } from "./callback.ts";

/** Kinds of number that cost whoever dials them more than a call: the way of toll fraud. */
const DEAR = new Set<string | undefined>(["PREMIUM_RATE", "SHARED_COST"]);

/**
 * Whether a project lets its callers be handed to this destination. `allow` is the project's list, of number prefixes (`+44`) and
 * host patterns (`sip:*.merchant.example`); without one, numbers of the project's own country and any SIP host. Premium
 * numbers are never allowed. Which network addresses may be reached is decided when the call is placed.
 */
export function callbackAllowed(
  target: Callback,
  project: { country: string; voice: { transfer: { allow: readonly string[] } } },
): boolean {
  const { allow } = project.voice.transfer;
  if (target.kind === "sip") return allow.length === 0 || allow.some((rule) => hostMatches(rule, target.host));
  const number = parsePhoneNumberFromString(target.number);
  if (!number || DEAR.has(number.getType())) return false;
  if (allow.length > 0) return allow.some((rule) => rule.startsWith("+") && target.number.startsWith(rule));
  // A number that no country's plan has (a fictitious one) belongs to whoever has the calling code.
  return number.country ? number.country === project.country : number.countryCallingCode === callingCodeOf(project.country);
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
