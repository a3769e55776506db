import type { CardCells, Cell } from "#src/kernel/card.ts";

/** Twelve digits or more, also when blanks, dashes or dots stand between them: it could be a card number. */
const DIGIT_RUN = /\p{Nd}(?:[ .-]?\p{Nd}){11,}/gu;
const CONTROL = /\p{Cc}+/gu;
const WORD = /[\p{L}\p{N}]+/gu;
/** The form of many ids, ours among them: its parts are no words. */
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** Longest text of a vendor or merchant that is kept. */
const LONGEST_KEPT = 255;

/**
 * Whether a text may be kept as it is, as an id or a note: well-formed Unicode (half a surrogate pair, like a NUL, is refused by
 * PostgreSQL), no control characters, at most 255, not the card number, not the security code as a word of its own (ids of
 * digits and letters hold its three digits by chance). Cut or mended, it would name something else.
 */
export function isKeepable(text: string, card?: Pick<CardCells, "number" | "cvv">, longest = LONGEST_KEPT): boolean {
  if (text.length > longest || !text.isWellFormed() || /\p{Cc}/u.test(text)) return false;
  return card === undefined || !(holdsNumber(text, card.number) || holdsCode(text.replace(UUID, " "), card.cvv, WORD));
}

/** A vendor's words fit for a merchant: long digit runs and control characters removed, at most `limit` code points; null when nothing is left. */
export function words(text: string | undefined, limit = LONGEST_KEPT): string | null {
  if (text === undefined) return null;
  const clean = text.toWellFormed().replace(CONTROL, " ").replace(DIGIT_RUN, "").trim();
  return Array.from(clean).slice(0, limit).join("") || null;
}

/** True when the digits of `text`, whatever stands between them, contain the card number. The number never becomes a string. */
export function holdsNumber(text: string, number: Cell): boolean {
  if (number.length === 0) return false;
  const digits: number[] = [];
  const plain = text.normalize("NFKC");
  for (let index = 0; index < plain.length; index++) {
    const digit = plain.charCodeAt(index) - 0x30;
    if (digit >= 0 && digit <= 9) digits.push(digit);
  }
  for (let start = 0; start + number.length <= digits.length; start++) {
    let index = 0;
    while (index < number.length && digits[start + index] === number.digit(index)) index++;
    if (index === number.length) return true;
  }
  return false;
}

/** True when a number in `text`, or a `word` of it, is the security code. A longer one that contains it is another. */
export function holdsCode(text: string, code: Cell, word = /\d+/g): boolean {
  if (code.length === 0) return false;
  const plain = text.normalize("NFKC");
  const isCode = (start: number) => {
    for (let index = 0; index < code.length; index++) if (plain.charCodeAt(start + index) - 0x30 !== code.digit(index)) return false;
    return true;
  };
  return Array.from(plain.matchAll(word)).some(({ index, 0: run }) => run.length === code.length && isCode(index));
}
