import { isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { addressedNumber, parseE164 } from "#src/kernel/phone.ts";

/**
 * The number that a platform means, in E.164: as it stands, of a `tel:` or `sip:` address, or without its plus where in the project's country it can be
 * nothing but an international one. National numbers are not guessed at: the payment would be somebody else's.
 */
export function readCaller(text: string, country: string | null): string | null {
  const number = addressedNumber(text);
  const exact = parseE164(number);
  if (exact !== null || country === null || !isSupportedCountry(country)) return exact;
  const international = parseE164(`+${number}`);
  const read = parsePhoneNumberFromString(number, country);
  return read?.isPossible() && read.number === international ? international : null;
}
