import { holdsLuhn } from "#src/kernel/card.ts";
import { unescape } from "./unescape.ts";

/** Longest line written, in characters; what is longer is cut before it is looked at. */
export const LONGEST_LINE = 8_192;
/** Read beyond the cut, so that a card number that the cut would halve is seen whole: longer than any spelling of one below. */
const BEYOND_THE_CUT = 1_024;

/**
 * The last filter every log line passes (S-70). Nothing should be left for it to find: fields are allow-listed and card digits
 * are never strings. It is here for the day that one of those fails.
 */
export function filterLine(line: string, longest = LONGEST_LINE): string {
  return maskSecrets(line, longest).replace(CONTROL, escapeCharacter);
}

/** The first `longest` characters of `text`, card numbers in every usual spelling, API keys and webhook secrets masked. */
export function maskSecrets(text: string, longest: number): string {
  const head = text.slice(0, longest + BEYOND_THE_CUT);
  let masked = "";
  let at = 0;
  for (const [start, end] of cardNumbers(head)) {
    if (start >= longest) break;
    if (start >= at) masked += `${head.slice(at, start)}[pan]`;
    at = Math.max(at, end);
  }
  masked += head.slice(at, Math.max(at, longest));
  return masked.replace(API_KEY, "[key]").replace(WEBHOOK_SECRET, "[secret]");
}

const API_KEY = /svc_(?:test|live)_[A-Za-z0-9]+/g;
/** Standard Webhooks' form: base64 behind a prefix, perhaps escaped by JSON or for a URL. */
const WEBHOOK_SECRET = /whsec_(?:[A-Za-z0-9+/=_-]|\\{1,16}\/|%2[BbFf]|%3[Dd])+/g;

/** What JSON leaves as it is and a terminal or a reader of lines may obey. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

type Span = readonly [start: number, end: number];

/** Where card numbers stand in `text`, in order; spans may overlap. */
function cardNumbers(text: string): Span[] {
  const plain = unescape(text);
  const found = spansIn(plain.text).concat(encodedSpans(plain.text));
  return found.map(([start, end]): Span => [plain.starts[start]!, plain.starts[end]!]).sort((one, other) => one[0] - other[0]);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const onlyDigits = (match: string) => match.replace(/[^0-9]/g, "");

/**
 * How a card number may be written in unescaped text, and the digits that a match says. No two parts of an expression that repeat can
 * take the same character, and what may fail is bounded: each is linear in the text's length.
 */
const FORMS: readonly { form: RegExp; digitsOf: (match: string) => readonly string[] }[] = [
  {
    // A UUID, which is passed over, or twelve and more digits with at most three spaces, dashes or brackets between each.
    form: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9](?:[\s+()\u2010-\u2015-]{0,3}[0-9]){11,}/g,
    digitsOf: (match) => (UUID.test(match) ? [] : [onlyDigits(match)]),
  },
  {
    form: /(?<!\d)(?:\d{4}([./_,:|])\d{4}\1\d{4}\1\d{4}|\d{4}([./_,:|])\d{6}\2\d{5})(?!\d)/g,
    digitsOf: (match) => [onlyDigits(match)],
  },
  // A list of digits or of the bytes of their characters, as arrays, Buffers and their JSON print.
  {
    form: /(?<!\w)(?:0x)?\d{1,4}(?:[^\w]{1,16}(?:0x)?\d{1,4}(?!\w)){11,}/g,
    digitsOf: (match) => digitsOfList(match.replaceAll("0x", "").match(/\d+/g)!),
  },
  { form: /(?:3[0-9]){12,}/g, digitsOf: (match) => [match.replace(/3([0-9])/g, "$1")] },
];

/** The digits that a list of numbers may mean: digits, decimal bytes, hexadecimal bytes; of `{"0":52,"1":50}` the values count alone. */
function digitsOfList(numbers: readonly string[]): string[] {
  const isIndexed = numbers.every((number, index) => index % 2 === 1 || Number(number) === Number(numbers[0]) + index / 2);
  const values = isIndexed ? numbers.filter((_, index) => index % 2 === 1) : numbers;
  const read = (meaning: (number: string) => string) => values.map(meaning).join("");
  return [
    read((number) => (number.length === 1 ? number : "x")),
    read((number) => (/^(?:4[89]|5[0-7])$/.test(number) ? String(Number(number) - 48) : "x")),
    read((number) => (/^3[0-9]$/.test(number) ? number.slice(1) : "x")),
  ].flatMap((digits) => digits.split(/x+/));
}

function spansIn(text: string): Span[] {
  return FORMS.flatMap(({ form, digitsOf }) => spansOf(text, form, (match) => digitsOf(match).some(holdsCard)));
}

const BASE64 = /[A-Za-z0-9+/_-]{16,}/g;

/** Runs of base64 that hold a card number, wherever in the run the encoding begins. */
function encodedSpans(text: string): Span[] {
  const decoded = (run: string, skipped: number) => Buffer.from(run.slice(skipped), "base64url").toString("latin1");
  return spansOf(text, BASE64, (run) => [0, 1, 2, 3].some((skipped) => spansIn(decoded(run, skipped)).length > 0));
}

function spansOf(text: string, form: RegExp, holds: (match: string) => boolean): Span[] {
  const spans: Span[] = [];
  for (const { 0: match, index } of text.matchAll(form)) if (holds(match)) spans.push([index, index + match.length]);
  return spans;
}

/**
 * True when the whole run passes the Luhn check, or a part of it does that is as long as a card number and begins like one:
 * other digits may stand before or behind it (an expiry date, a security code).
 */
function holdsCard(digits: string): boolean {
  if (digits.length < 12) return false;
  if (digits.length <= 19 && passesLuhn(digits)) return true;
  for (let start = 0; start + 13 <= digits.length; start++) {
    if (digits[start]! < "2" || digits[start]! > "6") continue;
    for (let length = 13; length <= 19 && start + length <= digits.length; length++) {
      if (passesLuhn(digits.slice(start, start + length))) return true;
    }
  }
  return false;
}

const passesLuhn = (digits: string) => holdsLuhn(digits.length, (fromEnd) => digits.charCodeAt(digits.length - fromEnd) - 48);
