import { Cell, isCompleteNumber } from "#src/kernel/card.ts";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { ANY_DIGITS, type Acceptor, type DigitRule, cardRule, digitAcceptor, exceptRule, lengthRule, onlyRule } from "./acceptor.ts";
import { ANSWERS, understandAnswer } from "./answers.ts";
import { ANYTHING } from "./certainty.ts";
import type { Decoder, Decoders, Scored, UtteranceAudio } from "./decoder.ts";
import { byLeftContext } from "./left-context.ts";
import { understandDate } from "./dates.ts";
import { COMMAND_PHRASES, EXPIRY } from "./phrases.ts";
import { NUMBER_PRELUDE, withoutPrelude } from "./prelude.ts";
import { type ListenFor, type ListenTask, type RecognitionResult, isWhole } from "./recognition-result.ts";
import { rescore } from "./rescoring.ts";
import { digitsOf, hasRegularPairs } from "./spoken-numbers.ts";

type Understand = (decoders: Decoders, utterance: UtteranceAudio, options: Pick<ListenTask, "have" | "lengths">) => RecognitionResult;

const NOTHING: RecognitionResult = { kind: "nothing" };

/** Lengths of a whole answer. */
export const LENGTHS: Readonly<Record<"number" | "cvv" | "zip", readonly number[]>> = { number: [15, 16], cvv: [3, 4], zip: [5, 9] };
export const LONGEST_CARD = 19;
/** Digits that the free grammar may miss where a number is whole. */
const MISCOUNT = 2;
/** Digits by the free grammar from which on a whole number may have been said: in noise it loses some. */
const LEAST_HEARD = 10;

/**
 * By how much, in the engine's unit, a part of an answer must be more likely than any other digits of that length or shorter, on a quiet
 * line and on a noisy one.
 */
const LEAST_LEAD = { quiet: 220, noisy: 330 };
/**
 * Without the second recogniser, by how much a whole answer must lead that was heard alike while it was spoken. Wrong codes led by up to 487;
 * a card has its check digit besides.
 */
const LEAD_ALONE = { code: 500, card: 220 };
/** How much less likely, natural logarithm, a caller is to have said more digits than were asked for, or fewer so far, or digits that are no card's. */
const ODDITY = { longer: 4, shorter: 2, card: 5 };

const spokenDigits = (rule: DigitRule, phrases: readonly string[] = []) =>
  byLeftContext(digitAcceptor(rule, { groups: true, prelude: NUMBER_PRELUDE, phrases }));

/** Any string of digits, groups and what comes before an answer included. */
export const FREE_DIGITS = spokenDigits(ANY_DIGITS);

const isSame = (a: readonly number[], b: readonly number[] | null): boolean =>
  b !== null && a.length === b.length && a.every((digit, at) => digit === b[at]);

const acceptors = new Map<string, Acceptor>();

function acceptor(lengths: readonly number[]): Acceptor {
  const key = lengths.join(" ");
  const known = acceptors.get(key) ?? spokenDigits(lengthRule(lengths));
  acceptors.set(key, known);
  return known;
}

function digitsIn(words: readonly string[]): number[] | null {
  const digits = digitsOf(withoutPrelude(words));
  return digits && digits.length > 0 ? digits : null;
}

interface ScoredDigits extends Scored {
  digits: number[];
}

function scoreDigits(decoder: Decoder, samples: Float32Array, grammar: Acceptor): ScoredDigits | null {
  decoder.use(grammar);
  const scored = decoder.score(samples);
  const digits = scored && digitsIn(scored.words);
  return digits && { ...scored, digits };
}

/** Any digits of these lengths but these, or a command: three of ten voices said "say again" like a code. */
const othersThan = (digits: readonly number[], lengths: readonly number[]) =>
  spokenDigits(exceptRule(lengthRule(lengths), digits), COMMAND_PHRASES);

/** How far `best` leads any other digits of these lengths, and the commands: infinitely where those were given up on the way. */
function leadOf(decoder: Decoder, samples: Float32Array, best: ScoredDigits, lengths: readonly number[]): number {
  decoder.use(othersThan(best.digits, lengths));
  const other = decoder.score(samples);
  return other ? best.score - other.score : Infinity;
}

/** So many digits and fewer: what was asked for and is not all there has a shorter alternative. */
const upTo = (length: number): number[] => Array.from({ length }, (_, at) => at + 1);

export const digitsResult = (digits: readonly number[], final: boolean, certain: boolean): RecognitionResult => ({
  kind: "digits",
  digits: Uint8Array.from(digits),
  final,
  certain,
});

/** How many digits may be missing of an answer of these lengths, or of those that the conversation knows. */
export const missingDigits = (usual: readonly number[], { have, lengths }: Pick<ListenTask, "have" | "lengths">): number[] =>
  (lengths ?? usual).map((length) => length - have).filter((length) => length > 0);

/** Where digits were heard, how many fewer than the shortest answer has. */
export function missingOf(task: ListenTask, free: readonly number[] | null): number {
  if (!free || free.length === 0 || (task.what !== "number" && task.what !== "cvv" && task.what !== "zip")) return 0;
  return Math.max(0, Math.min(...missingDigits(LENGTHS[task.what], task)) - free.length);
}

/** Nothing can come behind this answer: it is certain and has all the digits that it can have. "Thirty" may be the beginning of "thirty one". */
export function isFull(task: ListenTask, result: RecognitionResult): boolean {
  if (!isWhole(result)) return false;
  if (result.kind === "expiry") return result.year % 10 !== 0;
  if (result.kind !== "digits" || (task.what !== "number" && task.what !== "cvv" && task.what !== "zip")) return false;
  const missing = missingDigits(LENGTHS[task.what], task);
  return result.digits.length === Math.max(...missing) || (task.what === "number" && missing.includes(result.digits.length));
}

const exactly = (digits: readonly number[]): Acceptor => spokenDigits(onlyRule(digits));
const keyOf = (digits: readonly number[]): string => digits.join("");

/** The likeliest digits of these lengths: certain when both recognisers together hold nothing else for nearly as likely. */
function likeliestDigits({ scoring, verifier }: Decoders, utterance: UtteranceAudio, lengths: readonly number[]): RecognitionResult {
  const { free, line } = utterance;
  const longest = Math.max(...lengths);
  const heard = rescore(verifier, utterance, {
    rule: { what: "digits", lengths },
    decoder: scoring,
    grammar: acceptor(lengths),
    // As many, or fewer: what was asked for and is not all there has a shorter alternative.
    others: (digits) => othersThan(digits, upTo(digits.length)),
    exactly,
    hasCheckDigit: false,
    meaningOf: digitsIn,
    keyOf,
    oddityOf: ({ length }) => (lengths.includes(length) ? 0 : length > longest ? ODDITY.longer : ODDITY.shorter),
    clear: { likelihood: -1, lead: 4 },
    leastLikelihood: -5,
    isSureAlone: (_, digits, lead) => isSame(digits, free) && lead >= LEAD_ALONE.code,
  });
  if (!heard || heard.meaning.length > longest) return NOTHING;
  return digitsResult(heard.meaning, lengths.includes(heard.meaning.length), heard.isCertain && line !== "bad");
}

/** A whole answer of one of `usual` lengths or those that the conversation knows: certain when other digits are much less likely. Or a part of one: certain when two decodings agree as well. */
function understandDigits(usual: readonly number[]): Understand {
  return (decoders, utterance, options) => {
    const { samples, free, line } = utterance;
    const missing = missingDigits(usual, options);
    if (!free || missing.length === 0) return NOTHING;
    if (free.length < Math.min(...missing) - 1) {
      const part = scoreDigits(decoders.batch, samples, FREE_DIGITS);
      if (!part) return NOTHING;
      const isAgreed = line !== "bad" && isSame(part.digits, free);
      return digitsResult(
        part.digits,
        false,
        isAgreed && leadOf(decoders.batch, samples, part, upTo(part.digits.length)) >= LEAST_LEAD[line],
      );
    }
    return likeliestDigits(decoders, utterance, missing);
  };
}

/** Digits in the groups that cards of that length are printed in. */
const PRINTED_GROUPS: ReadonlyMap<number, readonly number[]> = new Map([
  [15, [4, 6, 5]],
  [16, [4, 4, 4, 4]],
]);

/** Numbers that begin like a card of their length, by which "three seven" has fifteen digits; their check digit is left to judge them. */
const CARD_RULE = cardRule(LENGTHS.number);
const CARDS = spokenDigits(CARD_RULE);

const isCard = (digits: readonly number[]): boolean => isCompleteNumber(Cell.from(digits));

/** Digits read as people read a card's; null where no card is read so. */
function cardDigitsIn(words: readonly string[]): number[] | null {
  const digits = digitsIn(words);
  return digits && hasRegularPairs(withoutPrelude(words), PRINTED_GROUPS.get(digits.length) ?? []) ? digits : null;
}

/** A whole card number: nine of ten wrong ones are found by the check digit, the others by what both recognisers together hold for likely. */
const understandNumber: Understand = (decoders, utterance, options) => {
  const { batch, verifier } = decoders;
  const { free, line } = utterance;
  if (options.have > 0 || !free || free.length < LEAST_HEARD) return understandDigits(LENGTHS.number)(decoders, utterance, options);
  const heard = rescore(verifier, utterance, {
    rule: { what: "card" },
    decoder: batch,
    grammar: CARDS,
    others: (digits) => spokenDigits(exceptRule(CARD_RULE, digits), COMMAND_PHRASES),
    exactly,
    hasCheckDigit: true,
    meaningOf: cardDigitsIn,
    keyOf,
    oddityOf: (digits) => (isCard(digits) ? 0 : ODDITY.card),
    clear: { likelihood: -6, lead: 3 },
    leastLikelihood: -9,
    isSureAlone: (_, digits, lead) => isSame(digits, free) && lead >= LEAD_ALONE.card,
  });
  if (heard?.isCertain && line !== "bad") return digitsResult(heard.meaning, true, true);
  if (free.length < Math.min(...LENGTHS.number) - MISCOUNT) return understandDigits(LENGTHS.number)(decoders, utterance, options);
  return heard ? digitsResult(heard.meaning, true, false) : NOTHING;
};

/** How each question's answer is understood. */
export const UNDERSTAND: Readonly<Record<ListenFor, Understand>> = {
  number: understandNumber,
  expiry: understandDate,
  cvv: understandDigits(LENGTHS.cvv),
  zip: understandDigits(LENGTHS.zip),
  // No model knows names: commands alone are understood.
  name: () => NOTHING,
  yes_no: ({ scoring }, { samples }) => understandAnswer(scoring, samples),
};

/** Takes up the grammar that an answer is decoded with first: while the caller speaks nobody waits for it. */
export function expectAnswer({ batch, scoring }: Pick<Decoders, "batch" | "scoring">, task: ListenTask): void {
  if (task.what === "number" && task.have === 0) batch.use(CARDS);
  if (task.what === "expiry") scoring.use(EXPIRY);
  const missing = task.what === "cvv" || task.what === "zip" ? missingDigits(LENGTHS[task.what], task) : [];
  if (missing.length > 0) scoring.use(acceptor(missing));
}

/** Builds the grammars and runs the decoders once, which no caller should wait for. */
export function prepare({ streaming, batch, scoring }: Decoders): void {
  batch.use(CARDS);
  batch.decode(new Float32Array(SAMPLE_RATE_HZ / 2));
  // The one that follows speech has heard no silence: it would take the first words for louder than they are.
  streaming.use(FREE_DIGITS);
  for (const grammar of [EXPIRY, ANSWERS, ANYTHING]) scoring.use(grammar);
}
