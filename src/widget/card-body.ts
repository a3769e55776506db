import { isUtf8 } from "node:buffer";
import {
  brandOf,
  type CardBrand,
  CardCells,
  type Cell,
  cvvLengthOf,
  isCompleteNumber,
  isUnexpired,
  LONGEST_NAME,
} from "#src/kernel/card.ts";
import { type CardField, scanCard, type Span, unescaped } from "./card-scan.ts";

/** What is wrong with one value of a charge's body. Never what was sent. */
export type CardFaultKind =
  | "missing"
  | "not JSON"
  | "not an object"
  | "not a string"
  | "not a string or number"
  | "not a card number"
  | "not an accepted brand"
  | "not a month"
  | "not a year"
  | "expired"
  | "not a security code"
  | "not a postal code"
  | "not a name";

export interface CardFault {
  /** Below `body`: `["card", "number"]`, or the byte where JSON stops being JSON. */
  loc: (string | number)[];
  kind: CardFaultKind;
}

const DIGITS_IN_A_NAME = 5;
const MAX_POSTAL_CODE_LENGTH = 10;
const ZERO = 0x30;
const SEPARATORS: ReadonlySet<number> = new Set([0x20, 0x2d]);

interface CardRules {
  nowMs: number;
  cvvNeeded: boolean;
  acceptedBrands: readonly CardBrand[];
}

/**
 * A charge's body as a card, read straight from its bytes; `cvvNeeded`: the project's form asks for the security code;
 * `acceptedBrands`: those that the project restricts itself to, empty for all. The caller wipes the bytes, and the card once it was used. With faults no card is left behind.
 */
export function readCardBody(bytes: Uint8Array, { nowMs, cvvNeeded, acceptedBrands }: CardRules): CardCells | CardFault[] {
  if (!isUtf8(bytes)) return [{ loc: [0], kind: "not JSON" }];
  const scan = scanCard(bytes);
  if (scan.kind === "broken") return [{ loc: [scan.offset], kind: "not JSON" }];
  if (scan.kind === "no object") {
    return [{ loc: scan.at === "card" ? ["card"] : [], kind: scan.missing ? "missing" : "not an object" }];
  }

  const { fields } = scan;
  const card = new CardCells();
  const faults: CardFault[] = [];
  const addFault = (field: CardField, kind: CardFaultKind | null) => {
    if (kind !== null) faults.push({ loc: ["card", field], kind });
  };
  addFault("number", readNumber(bytes, fields.number, card.number, acceptedBrands));
  const month = readInteger(bytes, fields.exp_month, "not a month");
  const year = readInteger(bytes, fields.exp_year, "not a year");
  addFault("exp_month", typeof month === "number" ? null : month);
  addFault("exp_year", typeof year === "number" ? null : year);
  if (typeof month === "number" && typeof year === "number") addFault(...setExpiry(card, month, year, nowMs));
  addFault("cvv", readCvv(bytes, fields.cvv, card, cvvNeeded));
  const name = readText(bytes, fields.cardholder_name, isName);
  const postalCode = readText(bytes, fields.postal_code, isPostalCode);
  addFault("cardholder_name", name.fits ? null : fields.cardholder_name?.kind === "string" ? "not a name" : "not a string");
  addFault("postal_code", postalCode.fits ? null : fields.postal_code?.kind === "string" ? "not a postal code" : "not a string");
  if (faults.length > 0) {
    card.wipe();
    return faults;
  }
  card.cardholderName = name.text;
  card.postalCode = postalCode.text;
  return card;
}

function readNumber(bytes: Uint8Array, span: Span | undefined, into: Cell, accepted: readonly CardBrand[]): CardFaultKind | null {
  if (!span || span.kind === "null") return "missing";
  if (span.kind !== "string") return "not a string";
  for (const character of unescaped(bytes, span)) {
    if (!SEPARATORS.has(character) && !pushDigit(into, character)) return "not a card number";
  }
  if (!isCompleteNumber(into)) return "not a card number";
  return accepted.length === 0 || accepted.includes(brandOf(into)) ? null : "not an accepted brand";
}

/** One or two digits, or four: a string or a number. */
function readInteger(bytes: Uint8Array, span: Span | undefined, kind: CardFaultKind): number | CardFaultKind {
  if (!span || span.kind === "null") return "missing";
  if (span.kind === "other") return "not a string or number";
  let [value, length] = [0, 0];
  for (const character of unescaped(bytes, span)) {
    if (character < ZERO || character > ZERO + 9 || ++length > 4) return kind;
    value = value * 10 + character - ZERO;
  }
  return length === 0 ? kind : value;
}

/** Puts a year of two digits into this century (R-366 leaves its form open). */
function setExpiry(card: CardCells, month: number, year: number, nowMs: number): [CardField, CardFaultKind | null] {
  const whole = year < 100 ? 2000 + year : year;
  if (month < 1 || month > 12) return ["exp_month", "not a month"];
  if (whole < 2000 || whole > 2099) return ["exp_year", "not a year"];
  if (!isUnexpired(month, whole, nowMs)) return ["exp_year", "expired"];
  fill(card.expMonth, month, 2);
  fill(card.expYear, whole, 4);
  return ["exp_month", null];
}

function fill(cell: Cell, value: number, width: number): void {
  for (let place = width - 1; place >= 0; place--) cell.push(Math.floor(value / 10 ** place) % 10);
}

function readCvv(bytes: Uint8Array, span: Span | undefined, card: CardCells, needed: boolean): CardFaultKind | null {
  if (!span || span.kind === "null") return needed ? "missing" : null;
  if (span.kind !== "string") return "not a string";
  for (const character of unescaped(bytes, span)) {
    if (!pushDigit(card.cvv, character)) return "not a security code";
  }
  if (card.cvv.length === 0 && !needed) return null;
  // Which length is right depends on the brand, which a wrong number does not tell.
  const lengths: number[] = isCompleteNumber(card.number) ? [cvvLengthOf(card.number)] : [3, 4];
  return lengths.includes(card.cvv.length) ? null : "not a security code";
}

/** `Cell.push` takes a digit as its value too, which is no character of a text. */
function pushDigit(cell: Cell, character: number): boolean {
  return character >= ZERO && cell.push(character);
}

/**
 * A field that is no secret, as a string; but not before its bytes show that no card number was typed into it. An empty one
 * counts as left out.
 */
function readText(
  bytes: Uint8Array,
  span: Span | undefined,
  fits: (characters: readonly number[]) => boolean,
): { fits: boolean; text: string | null } {
  if (!span || span.kind === "null") return { fits: true, text: null };
  if (span.kind !== "string") return { fits: false, text: null };
  const characters = [...unescaped(bytes, span)];
  if (characters.length === 0) return { fits: true, text: null };
  if (!fits(characters)) {
    characters.fill(0);
    return { fits: false, text: null };
  }
  const text = JSON.parse(`"${new TextDecoder().decode(bytes.subarray(span.start, span.end))}"`) as string;
  const trimmed = text.trim();
  return { fits: text.isWellFormed(), text: trimmed === "" ? null : trimmed };
}

const isDigit = (character: number) => character >= ZERO && character <= ZERO + 9;

function isName(characters: readonly number[]): boolean {
  const hasControls = characters.some((character) => character < 0x20 || character === 0x7f);
  return characters.length <= LONGEST_NAME && !hasControls && characters.filter(isDigitOfAnyScript).length < DIGITS_IN_A_NAME;
}

/** A telephone set to Arabic or a full-width keyboard writes a card number without one ASCII digit. */
const isDigitOfAnyScript = (character: number) => /\p{Nd}/u.test(String.fromCodePoint(character));

/** Shorter than any card number; letters, digits, space and hyphen. */
function isPostalCode(characters: readonly number[]): boolean {
  const isPlain = (character: number) =>
    isDigit(character) || SEPARATORS.has(character) || /[A-Za-z]/.test(String.fromCodePoint(character));
  return characters.length <= MAX_POSTAL_CODE_LENGTH && characters.every(isPlain);
}
