import creditCardType from "credit-card-type";
import { Masked } from "./secret.ts";

/** Brands as the API spells them. */
export type CardBrand = "visa" | "mastercard" | "amex" | "discover" | "diners" | "jcb" | "unionpay" | "maestro" | "elo" | "unknown";

const ZERO = 0x30;

/**
 * Digits of a card in memory of their own: a fixed ArrayBuffer that `wipe` overwrites, never a JavaScript string,
 * because V8 frees strings without overwriting them (docs/security.md, Memory). Bytes are ASCII digits, as gateways want them.
 */
export class Cell extends Masked {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity: number) {
    super();
    this.#bytes = new Uint8Array(new ArrayBuffer(capacity));
  }

  /** A cell holding `digits` (0-9 each, or their ASCII codes). */
  static from(digits: Iterable<number>, capacity = 32): Cell {
    const cell = new Cell(capacity);
    for (const digit of digits) cell.push(digit);
    return cell;
  }

  /** A cell from text. For tests and for values that were never secret, such as a scripted test card. */
  static fromText(text: string): Cell {
    const cell = new Cell(Math.max(32, text.length));
    for (const character of text) cell.push(character.charCodeAt(0));
    return cell;
  }

  /** Appends one digit, 0-9 or its ASCII code. Anything else, and a digit past the capacity, is refused with false. */
  push(digit: number): boolean {
    const value = digit >= ZERO ? digit - ZERO : digit;
    if (value < 0 || value > 9 || !Number.isInteger(value) || this.#length >= this.#bytes.length) return false;
    this.#bytes[this.#length++] = ZERO + value;
    return true;
  }

  /** Overwrites and empties the cell. Safe to call again; the cell can be filled anew. */
  wipe(): void {
    this.#bytes.fill(0);
    this.#length = 0;
  }

  get length(): number {
    return this.#length;
  }

  /** The digit at `index` as a number 0-9; a negative index counts from the end. */
  digit(index: number): number {
    const at = index < 0 ? this.#length + index : index;
    if (at < 0 || at >= this.#length) throw new RangeError("no digit there");
    return (this.#bytes[at] ?? ZERO) - ZERO;
  }

  /** The ASCII bytes themselves: a view, not a copy, empty after `wipe`. For the body of a gateway request only. */
  bytes(start = 0, end = this.#length): Uint8Array {
    return this.#bytes.subarray(start, Math.min(end, this.#length));
  }

  /** True when both hold the same digits. */
  equals(other: Cell): boolean {
    if (other.length !== this.length) return false;
    for (let index = 0; index < this.length; index++) if (this.digit(index) !== other.digit(index)) return false;
    return true;
  }
}

/** Characters of a cardholder's name. */
export const LONGEST_NAME = 100;

/** One collected card. It stays in the process that collected it, from the last field to the end of the gateway request. */
export class CardCells extends Masked {
  /** Primary account number, 12 to 19 digits. */
  readonly number = new Cell(19);
  /** Month, two digits. */
  readonly expMonth = new Cell(2);
  /** Year, four digits. */
  readonly expYear = new Cell(4);
  /** Security code, 3 or 4 digits; empty when it was not collected. */
  readonly cvv = new Cell(4);
  /** ZIP or postal code; null when it was not collected. */
  postalCode: string | null = null;
  /** Name on the card; null when it was not collected. */
  cardholderName: string | null = null;

  get brand(): CardBrand {
    return brandOf(this.number);
  }

  /** The last four digits, leading zeros kept. */
  get last4(): string {
    return String.fromCharCode(...this.number.bytes(Math.max(0, this.number.length - 4)));
  }

  /** The same card in cells of its own, for a second owner, who wipes it. */
  copy(): CardCells {
    const copied = new CardCells();
    for (const cell of ["number", "expMonth", "expYear", "cvv"] as const) {
      for (const digit of this[cell].bytes()) copied[cell].push(digit);
    }
    copied.postalCode = this.postalCode;
    copied.cardholderName = this.cardholderName;
    return copied;
  }

  /** Overwrites every cell. Called in `finally` by whoever created the card. */
  wipe(): void {
    for (const cell of [this.number, this.expMonth, this.expYear, this.cvv]) cell.wipe();
    this.postalCode = null;
    this.cardholderName = null;
  }
}

/** Luhn check over a cell. */
export const passesLuhn = (number: Cell): boolean => holdsLuhn(number.length, (index) => number.digit(-index));

/** Luhn check (ISO/IEC 7812-1 annex B) of `length` digits; `digit(1)` is the last one. */
export function holdsLuhn(length: number, digit: (fromEnd: number) => number): boolean {
  let sum = 0;
  for (let index = 1; index <= length; index++) {
    const doubled = digit(index) * (index % 2 === 0 ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return length > 0 && sum % 10 === 0;
}

interface BrandRule {
  brand: CardBrand;
  /** Inclusive range of leading digits; both ends have `width` digits. */
  low: number;
  high: number;
  width: number;
  lengths: readonly number[];
  cvvLength: 3 | 4;
}

/** The library's names where they differ from the interface's; brands that the interface does not list are `unknown`. */
const BRAND_NAMES: Readonly<Record<string, CardBrand>> = {
  visa: "visa",
  mastercard: "mastercard",
  "american-express": "amex",
  discover: "discover",
  "diners-club": "diners",
  jcb: "jcb",
  unionpay: "unionpay",
  maestro: "maestro",
  elo: "elo",
};

const UNKNOWN = { brand: "unknown", lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvvLength: 3 } as const;

/** Every published range, the longest prefix first: narrow ranges lie inside wide ones (Elo has some inside Visa's 4). */
const BRAND_RULES: readonly BrandRule[] = Object.values(creditCardType.types)
  .flatMap((type) => {
    const info = creditCardType.getTypeInfo(type);
    return info.patterns.map((pattern): BrandRule => {
      const [low, high] = Array.isArray(pattern) ? [Number(pattern[0]), Number(pattern[1])] : [pattern, pattern];
      const cvvLength = info.code.size === 4 ? 4 : 3;
      return { brand: BRAND_NAMES[type] ?? "unknown", low, high, width: String(low).length, lengths: info.lengths, cvvLength };
    });
  })
  .sort((a, b) => b.width - a.width);

/** Digits of the longest prefix that a range has. */
const WIDEST = 8;

function ruleOf(number: Cell): Pick<BrandRule, "brand" | "lengths" | "cvvLength"> {
  const leads: number[] = [0];
  for (let index = 0; index < Math.min(WIDEST, number.length); index++) leads.push((leads[index] ?? 0) * 10 + number.digit(index));
  const fits = ({ width, low, high }: BrandRule) => width < leads.length && (leads[width] ?? 0) >= low && (leads[width] ?? 0) <= high;
  return BRAND_RULES.find(fits) ?? UNKNOWN;
}

/** Brand by the leading digits; `unknown` when no published range fits. */
export function brandOf(number: Cell): CardBrand {
  return ruleOf(number).brand;
}

/** Lengths the brand issues, ascending. */
export function lengthsOf(number: Cell): readonly number[] {
  return ruleOf(number).lengths;
}

/**
 * The lengths of all numbers, for whoever has to judge them elsewhere as `lengthsOf` does here: each entry is of those that begin with its
 * digits or come after them, up to the next entry, when numbers are compared as text.
 */
export function lengthsByBeginning(): readonly (readonly [beginning: string, lengths: readonly number[]])[] {
  const bounds = BRAND_RULES.flatMap(({ width, low, high }) => [low, high + 1].map((end) => end * 10 ** (WIDEST - width)));
  const beginnings = [...new Set([0, ...bounds])]
    .filter((bound) => bound < 10 ** WIDEST)
    .sort((a, b) => a - b)
    .map((bound) => String(bound).padStart(WIDEST, "0"));
  const found = beginnings.map((digits) => [digits.replace(/0+$/, ""), lengthsOf(Cell.fromText(digits))] as const);
  return found.filter(([, lengths], index) => lengths.join() !== found[index - 1]?.[1].join());
}

/** Digits of the security code for this number's brand: 4 for American Express, else 3. */
export function cvvLengthOf(number: Cell): 3 | 4 {
  return ruleOf(number).cvvLength;
}

/** True when brand length and Luhn check both hold. */
export function isCompleteNumber(number: Cell): boolean {
  return lengthsOf(number).includes(number.length) && passesLuhn(number);
}

/**
 * True when a card with this month and year can still be used at `nowMs`. Valid through the end of its month in the last
 * time zone on Earth (UTC-12): a caller is never refused for living west of the server.
 */
export function isUnexpired(month: number, year: number, nowMs: number): boolean {
  const endOfMonthAnywhere = Date.UTC(year, month, 1) + 12 * 3_600_000;
  return month >= 1 && month <= 12 && nowMs < endOfMonthAnywhere;
}
