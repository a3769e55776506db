import { inspect } from "node:util";
import { MASK } from "./secret.ts";

/** Brands as the API spells them (REQUIREMENTS R-402). */
export type CardBrand = "visa" | "mastercard" | "amex" | "discover" | "diners" | "jcb" | "unionpay" | "maestro" | "elo" | "unknown";

const ZERO = 0x30;

/**
 * Digits of a card in memory of their own: a fixed ArrayBuffer that `wipe` overwrites, never a JavaScript string,
 * because V8 frees strings without overwriting them (SECURITY section 7). Bytes are ASCII digits, as gateways want them.
 */
export class Cell {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity: number) {
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

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** One collected card. It lives in the process that collected it, from the last field to the end of the gateway request. */
export class CardCells {
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

  /** Overwrites every cell. Called in `finally` by whoever created the card. */
  wipe(): void {
    for (const cell of [this.number, this.expMonth, this.expYear, this.cvv]) cell.wipe();
    this.postalCode = null;
    this.cardholderName = null;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Luhn check over a cell (ISO/IEC 7812-1 annex B). */
export function passesLuhn(number: Cell): boolean {
  let sum = 0;
  for (let index = 1; index <= number.length; index++) {
    const digit = number.digit(-index);
    const doubled = index % 2 === 0 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return number.length > 0 && sum % 10 === 0;
}

interface BrandRule {
  brand: CardBrand;
  /** Inclusive ranges of leading digits; both ends of a range have the same number of digits. */
  prefixes: readonly (readonly [number, number])[];
  lengths: readonly number[];
  cvvLength: 3 | 4;
}

/**
 * Brand ranges as the networks publish them. The first rule that fits wins, so narrow ranges stand before wide ones
 * (Elo has ranges inside Visa's, UnionPay's 62 overlaps Discover's 622126-622925).
 */
const BRANDS: readonly BrandRule[] = [
  {
    brand: "elo",
    prefixes: [
      [401178, 401179],
      [438935, 438935],
      [451416, 451416],
      [457631, 457632],
      [504175, 504175],
      [506699, 506778],
      [509000, 509999],
      [627780, 627780],
      [636297, 636297],
      [636368, 636368],
    ],
    lengths: [16],
    cvvLength: 3,
  },
  {
    brand: "amex",
    prefixes: [
      [34, 34],
      [37, 37],
    ],
    lengths: [15],
    cvvLength: 4,
  },
  {
    brand: "diners",
    prefixes: [
      [300, 305],
      [36, 36],
      [38, 39],
    ],
    lengths: [14, 16, 19],
    cvvLength: 3,
  },
  { brand: "jcb", prefixes: [[3528, 3589]], lengths: [16, 17, 18, 19], cvvLength: 3 },
  {
    brand: "discover",
    prefixes: [
      [6011, 6011],
      [622126, 622925],
      [644, 649],
      [65, 65],
    ],
    lengths: [16, 19],
    cvvLength: 3,
  },
  {
    brand: "unionpay",
    prefixes: [
      [62, 62],
      [81, 81],
    ],
    lengths: [16, 17, 18, 19],
    cvvLength: 3,
  },
  {
    brand: "mastercard",
    prefixes: [
      [51, 55],
      [2221, 2720],
    ],
    lengths: [16],
    cvvLength: 3,
  },
  { brand: "visa", prefixes: [[4, 4]], lengths: [13, 16, 19], cvvLength: 3 },
  {
    brand: "maestro",
    prefixes: [
      [50, 50],
      [56, 59],
      [61, 61],
      [63, 63],
      [66, 69],
    ],
    lengths: [12, 13, 14, 15, 16, 17, 18, 19],
    cvvLength: 3,
  },
];

const UNKNOWN: BrandRule = { brand: "unknown", prefixes: [], lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvvLength: 3 };

function ruleOf(number: Cell): BrandRule {
  for (const rule of BRANDS) {
    for (const [low, high] of rule.prefixes) {
      const width = String(low).length;
      if (number.length < width) continue;
      let lead = 0;
      for (let index = 0; index < width; index++) lead = lead * 10 + number.digit(index);
      if (lead >= low && lead <= high) return rule;
    }
  }
  return UNKNOWN;
}

/** Brand by the leading digits; `unknown` when no published range fits. */
export function brandOf(number: Cell): CardBrand {
  return ruleOf(number).brand;
}

/** Lengths the brand issues, ascending. */
export function lengthsOf(number: Cell): readonly number[] {
  return ruleOf(number).lengths;
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
 * time zone on Earth (UTC-12): a caller is never refused for living west of the server (REQUIREMENTS R-229).
 */
export function isUnexpired(month: number, year: number, nowMs: number): boolean {
  const endOfMonthAnywhere = Date.UTC(year, month, 1) + 12 * 3_600_000;
  return month >= 1 && month <= 12 && nowMs < endOfMonthAnywhere;
}
