import { isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { parseE164, telNumber } from "#src/kernel/phone.ts";

/**
 * The number that a platform means, in E.164: as it stands, of a `tel:` or `sip:` address, or without its plus where in the project's country it can be
 * nothing but an international one. National numbers are not guessed at: the payment would be somebody else's.
 */
export function readCaller(text: string, country: string | null): string | null {
  const tel = /^tel:(.{1,200})$/i.exec(text.trim())?.[1];
  const user = tel === undefined ? (/^sips?:([^@:;?]{1,64})/i.exec(text.trim())?.[1] ?? text) : telNumber(tel);
  const number = user.trim().replace(/^%2B/i, "+");
  const exact = parseE164(number);
  if (exact !== null || country === null || !isSupportedCountry(country)) return exact;
  const international = parseE164(`+${number}`);
  const read = parsePhoneNumberFromString(number, country);
  return read?.isPossible() && read.number === international ? international : null;
}
