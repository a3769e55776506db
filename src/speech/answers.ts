import { isDeepStrictEqual } from "node:util";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { DIGIT_WORDS, TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";
import { phraseAcceptor } from "./acceptor.ts";
import { LEAST_MARGIN, opinion } from "./certainty.ts";
import type { Decoder } from "./decoder.ts";
import { COMMANDS } from "./phrases.ts";
import type { RecognitionResult } from "./recognition-result.ts";
import { isVoice } from "./voicing.ts";
import { SMALLER_SPEAKER, warp } from "./warp.ts";

/**
 * Yes or no, where a wrong yes takes money. A grammar of answers finds one in anything that is said, so an answer counts when it
 * beats every phrase that sounds like one and two opinions agree on it (`certainty.ts`). Whatever fails is nothing: the question is asked
 * again, then the key. The figures are in docs/conversation.md.
 */

const list = (phrases: string) => phrases.split(", ");

const YES = list(
  "yes, yes yes, yes please, yes it is, yes i agree, yes go ahead, yes that's right, yes that's correct, yeah that's right, yeah that's correct",
);
const NO = list("no, no no, no thank you, no it isn't, no it's not, no that's wrong, no that's not right");

/** What a phrase answers. Every yes begins with "yes" or "yeah", every no with "no": "okay" and "that's right" are said to other people too. */
export const MEANING: ReadonlyMap<string, RecognitionResult> = new Map<string, RecognitionResult>([
  ...YES.map((phrase): [string, RecognitionResult] => [phrase, { kind: "yes" }]),
  ...NO.map((phrase): [string, RecognitionResult] => [phrase, { kind: "no" }]),
  ...Object.entries(COMMANDS).flatMap(([phrase, command]) =>
    ["", " please"].map((rest): [string, RecognitionResult] => [phrase + rest, { kind: "command", command }]),
  ),
]);

/** What is heard in the place of an answer: the nearest words that callers say, and phrases that share a beginning or an end with one. */
const LIKE_YES = list("guess, i guess, chess, less, bless, press, dress, best, desk, jess, jeff, this, says");
const LIKE_NO = list("oh, so, go, hello");
const LIKE_ANSWERS = [
  ...list("please, wait please, this please, police, it is, it isn't, i agree, go ahead, thank you, well thank you, and thank you"),
  ...list("that's right, that's correct, is that right, is that correct, that's it, what's that, what was that"),
  ...list("that's wrong, that's not right, that's not it, not right, not correct"),
  ...list("yes but, yes or no, yes that's wrong, yes it isn't, no that's right, no it is"),
  ...list("yep, yeah, yet, yen, yell, yacht, gas, okay, right, wrong, sure, yesterday, years, use, jazz"),
  ...list("nope, nose, note, snow, now, low, toe, mow, known, i know, nobody, nothing, not, not now, north, november"),
  ...list("help me, open, who, what, well, uh, um"),
];
const ALTERNATIVES = [
  ...LIKE_YES,
  ...list("it is, that's right, that's correct, so").map((rest) => `i guess ${rest}`),
  ...LIKE_NO.flatMap((word) => ["", " thank you", " it isn't"].map((rest) => word + rest)),
  ...LIKE_ANSWERS,
  ...[...DIGIT_WORDS, ...TEEN_WORDS, ...TENS_WORDS].filter((word) => word !== ""),
];

/** Answers and what is heard in their place: no path of so small a grammar is given up, or short words would reach no end. */
export const ANSWERS = phraseAcceptor([...new Set([...MEANING.keys(), ...ALTERNATIVES])], 1e-100);
/** One syllable is soon found in another ("jeff" was "yep" at -5): a lone "no" has to fit better than the rest. */
const LEAST_MARGIN_ALONE = -4;
/** Where the line loses the first sound of "guess", what is left is a better "yes" than most: it confirms nothing by itself. */
const UNSURE = "yes";
/** The slowest answer takes four seconds. */
const LONGEST_SECONDS = 5;

const NOTHING: RecognitionResult = { kind: "nothing" };

/** What `samples` answer. `decoder` must be one whose scores can be compared. */
export function understandAnswer(decoder: Decoder, samples: Float32Array): RecognitionResult {
  const meaningOf = (words: readonly string[]) => (words.join(" ") === UNSURE ? null : (MEANING.get(words.join(" ")) ?? null));
  const leastMargin = (words: readonly string[]) =>
    words.length === 1 && !Object.hasOwn(COMMANDS, words.join()) ? LEAST_MARGIN_ALONE : LEAST_MARGIN;
  const question = { grammar: ANSWERS, meaningOf, leastMargin };
  if (samples.length > LONGEST_SECONDS * SAMPLE_RATE_HZ || !isVoice(samples)) return NOTHING;
  const own = opinion(decoder, samples, question);
  const other = own && opinion(decoder, warp(samples, SMALLER_SPEAKER), question);
  return own && isDeepStrictEqual(own.meaning, other?.meaning) ? own.meaning : NOTHING;
}
