/**
 * The last filter every log line passes (SECURITY section 8). Nothing should be left for it to find: fields are
 * allow-listed and card digits are never strings. It is here for the day that one of those fails.
 */
export function filterLine(line: string): string {
  const masked = CARD_FORMS.reduce((text, { form, digitsOf }) => text.replace(form, (match) => maskCards(match, digitsOf(match))), line);
  return masked.replace(API_KEY, "[key]").replace(CONTROL, escapeCharacter);
}

const API_KEY = /svc_(?:test|live)_[A-Za-z0-9]+/g;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const onlyDigits = (match: string) => match.replace(/[^0-9]/g, "");

/** How a card number may be written, and how its digits are read out of a match; null: no digits. */
const CARD_FORMS: readonly { form: RegExp; digitsOf: (match: string) => string | null }[] = [
  {
    // A UUID, which is passed over, or twelve and more digits with at most three spaces, dashes or brackets between each, as they are,
    // in a URL or escaped by JSON.
    form: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9](?:(?:[\s+()\u2010-\u2015-]|%20|%2[Dd]|\\+[nrt]|\\+u00a0){0,3}[0-9]){11,}/g,
    digitsOf: (match) => (UUID.test(match) ? null : onlyDigits(match.replace(/%2[0-9D]|\\+u00a0/gi, ""))),
  },
  { form: /(?<!\d)(?:\d{4}([./_,:|])\d{4}\1\d{4}\1\d{4}|\d{4}([./_,:|])\d{6}\2\d{5})(?!\d)/g, digitsOf: onlyDigits },
  // One digit at a time: a list of them.
  { form: /(?<!\w)\d(?:[^\w\r\n]{1,7}\d(?!\w)){11,}/g, digitsOf: onlyDigits },
  // Every digit escaped: %34, \u0034, \x34, &#x34;
  { form: /(?:(?:%|\\+u00|\\+x|&#x)3[0-9];?){12,}/gi, digitsOf: (match) => match.replace(/[^3]+3([0-9]);?/g, "$1") },
  { form: /[A-Za-z0-9+/_-]{16,}/g, digitsOf: (match) => cardIn(Buffer.from(match, "base64url").toString("latin1")) },
];

/** The first run of twelve and more digits, which may be a card's; null when there is none. */
function cardIn(text: string): string | null {
  return /[0-9](?:[ -]?[0-9]){11,}/.exec(text)?.[0].replace(/[ -]/g, "") ?? null;
}

/** What JSON leaves as it is and a terminal or a reader of lines may obey. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function maskCards(match: string, digits: string | null): string {
  return digits !== null && holdsCard(digits) ? "[pan]" : match;
}

/**
 * True when the whole run passes the Luhn check, or a part of it does that is as long as a card number and begins like one:
 * other digits may stand before or behind it (an expiry date, a security code).
 */
function holdsCard(digits: string): boolean {
  if (digits.length <= 19 && passesLuhn(digits)) return true;
  for (let start = 0; start + 13 <= digits.length; start++) {
    if (digits[start]! < "2" || digits[start]! > "6") continue;
    for (let length = 13; length <= 19 && start + length <= digits.length; length++) {
      if (passesLuhn(digits.slice(start, start + length))) return true;
    }
  }
  return false;
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 1; index <= digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - index) - 48;
    const value = index % 2 === 0 ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
