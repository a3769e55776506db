import { Cell, isCompleteNumber } from "#src/kernel/card.ts";
import { DIGIT_WORDS } from "#src/kernel/number-words.ts";
import { MEANING } from "./answers.ts";
import { LENGTHS, LONGEST_CARD, digitsResult, missingDigits } from "./fields.ts";
import { COMMANDS, TEST_WORD, commandOf } from "./phrases.ts";
import { withoutPrelude } from "./prelude.ts";
import type { ListenFor, ListenTask, RecognitionResult } from "./recognition-result.ts";
import { digitsOf, expiryOf, isNumberWord } from "./spoken-numbers.ts";
import type { HeardWord } from "./streaming-recogniser.ts";

/**
 * What a transcript of the operator's own recogniser answers. A card number counts by its check digit, and by its last four being read
 * back; whatever has no check digit counts when the recogniser is sure of every word of it, or, where it does not say how sure it is, when
 * nothing but the answer was said.
 */

/** Least confidence in each word of what has no check digit: codes, dates, yes and no. */
const LEAST_CONFIDENCE = 0.9;
/** In each digit of a card number. */
const LEAST_CONFIDENCE_CARD = 0.5;

/** How a model of whole English writes the digits that it takes for other words. */
const HOMOPHONES: Readonly<Record<string, string>> = { o: "oh", to: "two", too: "two", for: "four", ate: "eight" };

/** The words of a text in any spelling: small letters, no punctuation, a word for each digit. Marks such as [unk] stay words. */
export function wordsOf(text: string, confidence: number | null = null): HeardWord[] {
  const words =
    text
      .toLowerCase()
      .replaceAll("’", "'")
      .match(/\[[^\]]*\]|<[^>]*>|[0-9]|\p{L}+(?:'\p{L}+)*/gu) ?? [];
  return words.map((word) => ({ word: DIGIT_WORDS[/^[0-9]$/.test(word) ? Number(word) : -1] ?? word, confidence }));
}

/** The part of a transcript that answers, and whether the rest of it, or a guess, is in the way of certainty. */
interface Answer {
  words: string[];
  /** The least of its words'; null when one has none. */
  confidence: number | null;
  /** It is all that was said, word for word. */
  isPlain: boolean;
}

function answerIn(heard: readonly HeardWord[], meant = (word: string) => HOMOPHONES[word] ?? word): Answer {
  const said = heard.map(({ word }) => word);
  const words = withoutPrelude(said.map(meant));
  const part = heard.slice(heard.length - words.length);
  return { words, confidence: confidenceOf(part), isPlain: words.length === said.length && words.every((word, at) => word === said[at]) };
}

function confidenceOf(heard: readonly HeardWord[]): number | null {
  return heard.reduce<number | null>(
    (least, { confidence }) => (least === null || confidence === null ? null : Math.min(least, confidence)),
    1,
  );
}

const isSure = ({ confidence, isPlain }: Answer): boolean => (confidence === null ? isPlain : confidence >= LEAST_CONFIDENCE);

const NOTHING: RecognitionResult = { kind: "nothing" };

type Understand = (heard: readonly HeardWord[], task: ListenTask) => RecognitionResult;

/** A whole number must pass its check; the parts of one are checked once they are all there. */
const understandNumber: Understand = (heard, { have }) => {
  const { words, confidence } = answerIn(heard);
  const digits = digitsOf(words);
  if (!digits || digits.length === 0) return NOTHING;
  const [shortest = 0] = LENGTHS.number;
  const total = have + digits.length;
  const isHeard = (confidence ?? 1) >= LEAST_CONFIDENCE_CARD && total <= LONGEST_CARD;
  const isComplete = have === 0 && isCompleteNumber(Cell.from(digits));
  if (have === 0 && (isComplete || total >= shortest)) return digitsResult(digits, true, isHeard && isComplete);
  return digitsResult(digits, total > shortest, isHeard);
};

const understandDigits =
  (usual: readonly number[]): Understand =>
  (heard, task) => {
    const answer = answerIn(heard);
    const digits = digitsOf(answer.words);
    if (!digits || digits.length === 0) return NOTHING;
    const missing = missingDigits(usual, task);
    const isTooLong = digits.length > Math.max(0, ...missing);
    return digitsResult(digits, isTooLong || missing.includes(digits.length), !isTooLong && isSure(answer));
  };

const understandExpiry: Understand = (heard) => {
  const answer = answerIn(heard);
  const date = expiryOf(answer.words);
  return date ? { kind: "expiry", ...date, certain: isSure(answer) } : NOTHING;
};

/** Nothing but the whole transcript is a yes or a no; a single syllable only where the recogniser is sure of it. */
const understandAnswer: Understand = (heard) => {
  const confidence = confidenceOf(heard);
  const meaning = MEANING.get(heard.map(({ word }) => word).join(" ")) ?? NOTHING;
  if (meaning.kind !== "yes" && meaning.kind !== "no") return meaning;
  return confidence === null ? (heard.length > 1 ? meaning : NOTHING) : confidence >= LEAST_CONFIDENCE ? meaning : NOTHING;
};

/** From a first and a last name on; what is longer was said to somebody else. */
const NAME_WORDS = { least: 2, most: 5 };
/** No part of a name. */
const COMMAND_WORDS: ReadonlySet<string> = new Set(Object.keys(COMMANDS).flatMap((phrase) => phrase.split(" ")));

const isNameWord = (word: string): boolean => /^[a-z]+(?:'[a-z]+)*$/.test(word) && !isNumberWord(word) && !COMMAND_WORDS.has(word);

/** Letters without their accents, as cards bear them. */
const unaccented = (word: string): string => word.normalize("NFD").replaceAll(/\p{M}/gu, "");

/** A name in words; letters that were said one by one may be other words. */
const understandName: Understand = (heard) => {
  const { words, confidence } = answerIn(heard, unaccented);
  const isCount = words.length >= NAME_WORDS.least && words.length <= NAME_WORDS.most;
  if (!isCount || !words.every(isNameWord) || words.every(({ length }) => length === 1)) return NOTHING;
  return { kind: "name", name: words.join(" ").toUpperCase(), certain: (confidence ?? 1) >= LEAST_CONFIDENCE };
};

const UNDERSTAND: Readonly<Record<ListenFor, Understand>> = {
  number: understandNumber,
  expiry: understandExpiry,
  cvv: understandDigits(LENGTHS.cvv),
  zip: understandDigits(LENGTHS.zip),
  name: understandName,
  yes_no: understandAnswer,
};

/** What these words answer. */
export function understandTranscript(heard: readonly HeardWord[], task: ListenTask): RecognitionResult {
  const words = heard.map(({ word }) => word);
  if (task.testWord && words.includes(TEST_WORD)) return { kind: "test_word" };
  const command = (confidenceOf(heard) ?? 1) >= LEAST_CONFIDENCE_CARD ? commandOf(words) : null;
  return command ? { kind: "command", command } : UNDERSTAND[task.what](heard, task);
}
