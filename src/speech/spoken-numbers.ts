import { DIGIT_WORDS, MONTH_WORDS, TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";

/** Words of numbers and dates to digits. The recogniser's words are strings; they live in its worker only. */

/** Ways to say one digit. */
export function wordsOfDigit(digit: number): readonly string[] {
  return digit === 0 ? ["zero", "oh"] : [DIGIT_WORDS[digit] ?? ""];
}

const REPEATS: Readonly<Record<string, number>> = { double: 2, triple: 3 };

function digitOf(word: string | undefined): number {
  return word === "oh" ? 0 : (DIGIT_WORDS as readonly (string | undefined)[]).indexOf(word);
}

/** "four", "oh", but not "forty" or "double". */
export const isSingleDigit = (word: string): boolean => digitOf(word) >= 0;

/** A word that can stand in a number read aloud. */
export const isNumberWord = (word: string): boolean =>
  isSingleDigit(word) || word in REPEATS || [...TEEN_WORDS, ...TENS_WORDS].includes(word as never);

/** These words with one of them in place of its like in sound: "seventeen" and "seventy". */
export function soundAlikes(words: readonly string[]): string[][] {
  const likes = TEEN_WORDS.map((teen, units) => [teen, TENS_WORDS[units] ?? ""] as const).slice(3);
  return words.flatMap((word, at) => {
    const like = likes.find((pair) => pair.includes(word as never))?.find((each) => each !== word);
    return like === undefined ? [] : [words.with(at, like)];
  });
}

/** What is said in one breath of a number: "four", "forty two", "double four". */
interface Reading {
  digits: readonly number[];
  /** A number of two digits: "fifteen", "forty", "forty two". */
  isPair: boolean;
}

function readingsOf(words: readonly string[]): Reading[] | null {
  const readings: Reading[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const single = digitOf(word);
    const teen = (TEEN_WORDS as readonly string[]).indexOf(word);
    const ten = (TENS_WORDS as readonly string[]).indexOf(word);
    const next = digitOf(words[at + 1]);
    if (single >= 0) readings.push({ digits: [single], isPair: false });
    else if (teen >= 0) readings.push({ digits: [1, teen], isPair: true });
    else if (ten >= 2) {
      readings.push({ digits: [ten, Math.max(0, next)], isPair: true });
      if (next > 0) at++;
    } else if (word in REPEATS && next >= 0) {
      readings.push({ digits: Array.from({ length: REPEATS[word] ?? 0 }, () => next), isPair: false });
      at++;
    } else return null;
  }
  return readings;
}

/**
 * Digits of a number read aloud: single digits, "double four", "triple oh", "forty two", "fifteen". Null when a word has no place in one.
 */
export const digitsOf = (words: readonly string[]): number[] | null => readingsOf(words)?.flatMap(({ digits }) => digits) ?? null;

/**
 * False when the words are no way to read a number printed in `groups` of so many digits: who reads a group in pairs reads all of it so, "oh
 * three" and a first odd digit aside, and no pair spans two groups. "Oh nine two nine" misheard as "oh ninety nine" is none.
 */
export function hasRegularPairs(words: readonly string[], groups: readonly number[]): boolean {
  let end = 0;
  const placed = (readingsOf(words) ?? []).map((reading) => ({ ...reading, start: end, end: (end += reading.digits.length) }));
  let from = 0;
  return groups.every((length) => {
    const [begin, close] = [from, (from += length)];
    const inside = placed.filter((reading) => reading.start < close && reading.end > begin);
    if (!inside.some(({ isPair }) => isPair)) return true;
    if (inside.some((reading) => reading.start < begin || reading.end > close)) return false;
    const sizes = inside.map(({ digits }) => digits.length);
    for (let at = length % 2 === 1 && sizes[0] === 1 ? 1 : 0; at < inside.length; at++) {
      const [first] = inside[at]?.digits ?? [];
      if (sizes[at] === 2) continue;
      if (sizes[at] !== 1 || first !== 0 || sizes[at + 1] !== 1) return false;
      at++;
    }
    return true;
  });
}

const JOINTS: ReadonlySet<string> = new Set(["slash", "of", "and", "thousand"]);

/** Month 1-12, year in four digits. */
export interface Expiry {
  month: number;
  year: number;
}

/**
 * Month and four-digit year of a spoken expiry date: "march twenty thirty", "oh three thirty", "three slash thirty",
 * "zero three two zero three zero", "december two thousand thirty one". Null when it is none.
 */
export function expiryOf(words: readonly string[]): Expiry | null {
  const [first = "", ...rest] = words;
  const named = (MONTH_WORDS as readonly string[]).indexOf(first) + 1;
  const thousand = words.includes("thousand");
  const digits = digitsOf((named > 0 ? rest : words).filter((word) => !JOINTS.has(word)));
  if (!digits) return null;
  const value = (part: readonly number[]) => part.reduce((sum, digit) => sum * 10 + digit, 0);

  for (const monthLength of named > 0 ? [0] : [2, 1]) {
    const month = named > 0 ? named : value(digits.slice(0, monthLength));
    const year = digits.slice(monthLength);
    if (month < 1 || month > 12) continue;
    if (year.length === 2) return { month, year: 2000 + value(year) };
    // "two thousand thirty" is 2 and 30; "two thousand six" is 2 and 6.
    if (thousand && year[0] === 2 && year.length === 3) return { month, year: 2000 + value(year.slice(1)) };
    if (year.length === 4 && year[0] === 2 && year[1] === 0) return { month, year: value(year) };
  }
  return null;
}
