import { isIP } from "node:net";
import { getCountries, getCountryCallingCode } from "libphonenumber-js/max";

/** Codes of no country that may be dialled; the others of their kind cost extra, and no project may dial them. */
const GLOBAL_CODES = ["800"];
const HOST = /^(?:\*\.)?(?:[a-z0-9-]+\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?$/i;

/**
 * Why no callback can ever fit this rule of `voice.transfer.allow`, or null. A rule is the beginning of a number (`+44`), or `sip:` and a
 * host, or `sip:*.` and the end of one: without user part, port and parameters, which are not compared.
 */
export function allowRuleFault(rule: string): string | null {
  const host = /^sips?:(.*)$/i.exec(rule)?.[1];
  if (host !== undefined) return isHost(host) ? null : "names no host: sip:pbx.example, or sip:*.example for every host below";
  if (!/^\+[0-9]{0,15}$/.test(rule)) return "must be the beginning of a number such as +44, or a host such as sip:*.merchant.example";
  const codes = [...getCountries().map((country) => getCountryCallingCode(country)), ...GLOBAL_CODES];
  const isDialled = codes.some((code) => `+${code}`.startsWith(rule) || rule.startsWith(`+${code}`));
  return isDialled ? null : "begins no number that may be dialled";
}

function isHost(text: string): boolean {
  return HOST.test(text) || isIP(text) === 4 || (/^\[.*\]$/.test(text) && isIP(text.slice(1, -1)) === 6);
}
