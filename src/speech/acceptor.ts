import { TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";
import { isSingleDigit, wordsOfDigit } from "./spoken-numbers.ts";

/** A finite-state grammar. An arc without a word is taken silently. */
export interface Acceptor {
  states: number;
  start: number;
  final: number;
  arcs: readonly Arc[];
  /** How freely words are added: the engine's word insertion penalty, a probability. */
  wordInsertion: number;
  /** How unlikely a path may become before it is given up; without it the engine's own measure. */
  beam?: number;
}

export interface Arc {
  from: number;
  to: number;
  word: string | null;
  /** Probability of the word beside the others; 1 for most. */
  weight: number;
}

export interface DigitRules {
  /** Lengths accepted, in digits. */
  lengths: readonly number[];
  /** Only numbers that pass the Luhn check (ISO/IEC 7812-1 annex B), with the first digit of a payment card. */
  card: boolean;
  /** Also "double four", "triple four", "forty two", "fifteen". */
  groups: boolean;
}

/** The engine's own word insertion penalty. Drawn-out digits are heard twice with it. */
export const WORD_INSERTION = 0.65;
/** For strings of digits: the best of 0.65 to 1e-5 on synthetic speech. */
export const DIGIT_INSERTION = 0.1;

/** How much likelier a digit is than "double", "forty" or "fifteen": without it, "four two" of some voices is heard as "four ten". */
export const GROUP_WEIGHT = 0.05;

const START = 0;
const FINAL = 1;

const REPEATS = [
  ["double", 2],
  ["triple", 3],
] as const;

/** First digits of cards by length: 15 digits are American Express, 16 begin with 2 to 6. */
export const startsCard = (length: number, digit: number) => (length === 15 ? digit === 3 : digit >= 2 && digit <= 6);

/** What a digit adds to the Luhn sum with `left` digits to come, itself included: every second one from the right is doubled. */
function luhnTerm(digit: number, left: number): number {
  const term = left % 2 === 0 ? digit * 2 : digit;
  return term > 9 ? term - 9 : term;
}

/** The grammar of whole phrases, all as likely. */
export function phraseAcceptor(phrases: readonly string[], beam?: number): Acceptor {
  let states = FINAL + 1;
  const arcs = phrases.flatMap((phrase) => {
    const words = phrase.split(" ");
    let from = START;
    return words.map((word, at): Arc => {
      const to = at === words.length - 1 ? FINAL : states++;
      const arc = { from, to, word, weight: 1 };
      from = to;
      return arc;
    });
  });
  return { states, start: START, final: FINAL, arcs, wordInsertion: WORD_INSERTION, ...(beam !== undefined && { beam }) };
}

/** The grammar of any words in any order, one or more. */
export function loopAcceptor(words: readonly string[]): Acceptor {
  const arcs = words.flatMap((word) => [START, FINAL].map((from): Arc => ({ from, to: FINAL, word, weight: 1 })));
  return { states: FINAL + 1, start: START, final: FINAL, arcs, wordInsertion: WORD_INSERTION };
}

/**
 * The grammar of digit strings of given lengths. A state is (length, digits so far, Luhn sum mod 10): each length is a chain of its own,
 * because it decides which digits are doubled. With `card` only numbers of sum 0 reach the end; a wrong result of one digit then costs
 * the recogniser a second wrong digit, which takes whole-card accuracy from about 70 % to 95 % on clean speech.
 */
export function digitAcceptor({ lengths, card, groups }: DigitRules): Acceptor {
  const ids = new Map<string, number>();
  const arcs = new Map<string, Arc>();
  const state = (length: number, done: number, sum: number, expecting = "") => {
    if (expecting === "" && done === 0) return START;
    if (expecting === "" && done === length) return FINAL;
    const key = `${length} ${done} ${sum} ${expecting}`;
    const id = ids.get(key) ?? ids.size + 2;
    ids.set(key, id);
    return id;
  };
  const add = (from: number, to: number, word: string | null) =>
    arcs.set(`${from} ${to} ${word}`, { from, to, word, weight: word === null || isSingleDigit(word) ? 1 : GROUP_WEIGHT });

  for (const length of lengths) {
    /** Where `digits` lead from (done, sum); null when no accepted number has them there. */
    const after = (done: number, sum: number, digits: readonly number[]): [done: number, sum: number] | null => {
      for (const digit of digits) {
        if (done >= length || (card && done === 0 && !startsCard(length, digit))) return null;
        if (card) sum = (sum + luhnTerm(digit, length - done)) % 10;
        done++;
      }
      return done === length && sum !== 0 ? null : [done, sum];
    };
    const digitArcs = (from: number, done: number, sum: number, digit: number, times = 1) => {
      const end = after(
        done,
        sum,
        Array.from({ length: times }, () => digit),
      );
      if (end) for (const word of wordsOfDigit(digit)) add(from, state(length, ...end), word);
      return end !== null;
    };
    /** Words that can come after (done, sum) from a state; `units`: one to nine among them. */
    const arcsFrom = (from: number, done: number, sum: number, units = true) => {
      for (let digit = 0; digit < 10; digit++) {
        if (units || digit === 0) digitArcs(from, done, sum, digit);
        if (!groups) continue;
        for (const [word, times] of REPEATS) {
          const middle = state(length, done, sum, word);
          if (digitArcs(middle, done, sum, digit, times)) add(from, middle, word);
        }
        const teen = after(done, sum, [1, digit]);
        if (teen) add(from, state(length, ...teen), TEEN_WORDS[digit] ?? "");
        const ten = digit >= 2 && done + 1 < length ? after(done, sum, [digit]) : null;
        if (ten) add(from, state(length, ...ten, "unit"), TENS_WORDS[digit] ?? "");
      }
    };
    /** After "forty": a unit, or else it was 40, and what follows cannot begin with a unit, because that would be heard as 42. */
    const arcsAfterTen = (from: number, done: number, sum: number) => {
      for (let unit = 1; unit < 10; unit++) digitArcs(from, done, sum, unit);
      const round = after(done, sum, [0]);
      if (!round) return;
      if (round[0] === length) add(from, FINAL, null);
      else arcsFrom(from, ...round, false);
    };

    for (let done = 0; done < length; done++) {
      for (let sum = 0; sum < (card && done > 0 ? 10 : 1); sum++) {
        arcsFrom(state(length, done, sum), done, sum);
        if (groups && done > 0) arcsAfterTen(state(length, done, sum, "unit"), done, sum);
      }
    }
  }
  return { states: ids.size + 2, start: START, final: FINAL, arcs: [...arcs.values()], wordInsertion: DIGIT_INSERTION };
}
