import { isNumberWord } from "./spoken-numbers.ts";

/** Words before an answer that are no part of it. A caller who starts over after one of `corrections` means what follows. */
export interface Prelude {
  /** Any number of them. */
  fillers: readonly string[];
  /** Fillers that sound like "oh", with which one answer in twenty begins. */
  rareFillers: readonly string[];
  /** Right before the answer. */
  introductions: readonly string[];
  /** Between an answer that was broken off and the one that counts. */
  corrections: readonly string[];
  /** Those that sound like digits: "nine oh" has a "no" in it, and "two eight" a "wait". They count after a pause alone. */
  correctionsAfterPause: readonly string[];
}

const list = (phrases: string) => phrases.split(", ");

const CORRECTIONS = list(
  "no wait, sorry, no sorry, oh sorry, let me start over, let me start again, start over, actually, i mean, hold on",
);
const CORRECTIONS_AFTER_PAUSE = list("no, no no, wait");
const FILLERS = list("um, uh, er, okay, yes, sure, well, alright, wait, sorry");
const RARE_FILLERS = list("so, no");
const INTRODUCTIONS = list("it's, it is, that's, that is, is");

export const NUMBER_PRELUDE: Prelude = {
  fillers: FILLERS,
  rareFillers: RARE_FILLERS,
  introductions: [
    ...INTRODUCTIONS,
    ...list("my number is, the number is, number is, my card number is, the card number is, my card is, the code is"),
    ...list("the security code is, my zip is, my zip code is, the zip code is"),
  ],
  corrections: CORRECTIONS,
  correctionsAfterPause: CORRECTIONS_AFTER_PAUSE,
};

export const DATE_PRELUDE: Prelude = {
  fillers: FILLERS,
  rareFillers: RARE_FILLERS,
  introductions: [
    ...INTRODUCTIONS,
    ...list("expires, expires in, it expires, it expires in, expires on, the date is, the expiration date is"),
  ],
  corrections: CORRECTIONS,
  correctionsAfterPause: CORRECTIONS_AFTER_PAUSE,
};

const PRELUDE_WORDS: ReadonlySet<string> = new Set(
  [NUMBER_PRELUDE, DATE_PRELUDE]
    .flatMap(({ fillers, rareFillers, introductions, corrections }) => [...fillers, ...rareFillers, ...introductions, ...corrections])
    .flatMap((phrase) => phrase.split(" "))
    .filter((word) => !isNumberWord(word)),
);

/** The answer in `words`: what follows the last word that can be no part of one. */
export const withoutPrelude = (words: readonly string[]): string[] =>
  words.slice(words.findLastIndex((word) => PRELUDE_WORDS.has(word)) + 1);
