import { Cell, isCompleteNumber } from "#src/kernel/card.ts";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { ANY_DIGITS, type Acceptor, type DigitRule, cardRule, digitAcceptor, exceptRule, lengthRule } from "./acceptor.ts";
import { ANSWERS, understandAnswer } from "./answers.ts";
import { ANYTHING, marginOf } from "./certainty.ts";
import type { Decoder, Decoders, Scored } from "./decoder.ts";
import { byLeftContext } from "./left-context.ts";
import { understandDate } from "./dates.ts";
import { COMMAND_PHRASES, EXPIRY } from "./phrases.ts";
import { NUMBER_PRELUDE, withoutPrelude } from "./prelude.ts";
import { type ListenFor, type ListenTask, type RecognitionResult, isWhole } from "./recognition-result.ts";
import { digitsOf, hasRegularPairs } from "./spoken-numbers.ts";
import { LEAST_SHARE } from "./verifier-thread.ts";
import { LARGER_SPEAKER, SMALLER_SPEAKER, warp } from "./warp.ts";

/** An utterance and what the decoder that followed it made of it. */
export interface UtteranceAudio {
  samples: Float32Array;
  /** Digits by the free grammar; null when it had none. */
  free: number[] | null;
  /** Its words. */
  followed?: readonly string[];
  /** On a bad one no decoding is trusted. */
  line: "quiet" | "noisy" | "bad";
}

type Understand = (decoders: Decoders, utterance: UtteranceAudio, options: Pick<ListenTask, "have" | "lengths">) => RecognitionResult;

const NOTHING: RecognitionResult = { kind: "nothing" };

/** Lengths of a whole answer. */
export const LENGTHS: Readonly<Record<"number" | "cvv" | "zip", readonly number[]>> = { number: [15, 16], cvv: [3, 4], zip: [5, 9] };
/** Card lengths heard by the free grammar: Diners, and the long ones of Visa, UnionPay and others. Those not here are for the keypad. */
const OTHER_LENGTHS: readonly number[] = [14, 19];
export const LONGEST_CARD = 19;
/** Digits by which the free grammar may miscount a number that is whole, and those that it may miss where it counts: it inserts some, and seldom loses one. */
const MISCOUNT = 2;
const MISSED = 1;
/** Digits by the free grammar from which on a whole number may have been said: in noise it loses some. */
const LEAST_HEARD = 10;

/**
 * By how much, in the engine's unit, a part of an answer must be more likely than any other digits of that length or shorter, on a quiet
 * line and on a noisy one.
 */
const LEAST_LEAD = { quiet: 220, noisy: 330 };
/**
 * By how much a whole answer must lead to be certain: in the caller's own voice, when the decoding that followed the speech heard the same
 * digits, or in his and the better of two others together. Wrong ones led by up to 487 and 858.
 */
const CERTAIN_LEAD = { own: 500, two: 850 };
/** Where no other digits were found, and as much as any lead counts. */
const LARGEST_LEAD = 500;
/** As `LEAST_LEAD`, for a card number that was not followed, over others of its length: wrong ones led by up to 181 and 372 where they were heard alike in two voices. */
const LEAST_LEAD_CARD = { quiet: 220, noisy: 400 };
/** Least probability of every word of a code by the second recogniser, where the first one heard the same: wrong ones had up to 0.56. */
const LEAST_SHARE_CODE = 0.7;
/** Less likely than phones by more than this in each frame, it was no digits. */
const LEAST_MARGIN_DIGITS = -12;

const spokenDigits = (rule: DigitRule, phrases: readonly string[] = []) =>
  byLeftContext(digitAcceptor(rule, { groups: true, prelude: NUMBER_PRELUDE, phrases }));

/** Any string of digits, groups and what comes before an answer included. */
export const FREE_DIGITS = spokenDigits(ANY_DIGITS);

const isSame = (a: readonly number[], b: readonly number[] | null): boolean =>
  b !== null && a.length === b.length && a.every((digit, at) => digit === b[at]);

const isBeginning = (part: readonly number[], whole: readonly number[]): boolean => isSame(part, whole.slice(0, part.length));

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

function withDigits(scored: Scored | null): ScoredDigits | null {
  const digits = scored && digitsIn(scored.words);
  return digits && { ...scored, digits };
}

function scoreDigits(decoder: Decoder, samples: Float32Array, grammar: Acceptor): ScoredDigits | null {
  decoder.use(grammar);
  return withDigits(decoder.score(samples));
}

/** Any digits of these lengths but these, or a command: three of ten voices said "say again" like a code. */
const othersThan = (digits: readonly number[], lengths: readonly number[]) =>
  spokenDigits(exceptRule(lengthRule(lengths), digits), COMMAND_PHRASES);

/** How far `best` leads the second likeliest: infinitely where that was given up on the way. */
const leadOver = (alternative: Scored | null, best: Scored): number => (alternative ? best.score - alternative.score : Infinity);

/** The likeliest digits but these, as many or fewer, or a command. */
function scoreOthers(decoder: Decoder, samples: Float32Array, digits: readonly number[]): Scored | null {
  decoder.use(othersThan(digits, upTo(digits.length)));
  return decoder.score(samples);
}

/** How far `best` leads any other digits of these lengths, and the commands. */
function leadOf(decoder: Decoder, samples: Float32Array, best: ScoredDigits, lengths: readonly number[]): number {
  decoder.use(othersThan(best.digits, lengths));
  return leadOver(decoder.score(samples), best);
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

/** By how much `digits` lead, up to `LARGEST_LEAD`, when a smaller or a larger person says them; 0 where other digits are heard. */
function leadAs(
  speaker: number,
  { scoring, aside }: Decoders,
  samples: Float32Array,
  digits: readonly number[],
  lengths: readonly number[],
): number {
  const voice = warp(samples, speaker);
  const alternative = aside("scoring", othersThan(digits, upTo(digits.length)), voice);
  const best = scoreDigits(scoring, voice, acceptor(lengths));
  return best && isSame(digits, best.digits) ? Math.min(leadOver(alternative(), best), LARGEST_LEAD) : 0;
}

/** Whether the lead in a smaller or a larger person's voice makes up for that in the caller's own. The caller waits: none is decoded in vain. */
const isCertainInOthers = (own: number, leadOf: (speaker: number) => number): boolean =>
  own + LARGEST_LEAD >= CERTAIN_LEAD.two && [SMALLER_SPEAKER, LARGER_SPEAKER].some((speaker) => own + leadOf(speaker) >= CERTAIN_LEAD.two);

/**
 * The likeliest digits of these lengths, certain when all others and all shorter ones are much less likely, in the caller's voice or as a
 * smaller and a larger person would say it too: two decodings for each voice. Or, before that, when the second recogniser hears them.
 */
function likeliestDigits(decoders: Decoders, { samples, free, line }: UtteranceAudio, lengths: readonly number[]): RecognitionResult {
  const { scoring, verifier } = decoders;
  if (line !== "bad") verifier?.hear(samples);
  const best = scoreDigits(scoring, samples, acceptor(lengths));
  if (!best) return NOTHING;
  const { digits } = best;
  if (line === "bad") return digitsResult(digits, true, false);
  const verified = verifier?.verify(best.words, { lengths, isCard: false }) ?? null;
  const heard = verified && verified.least >= LEAST_SHARE_CODE ? digitsIn(verified.words) : null;
  // Two recognisers that have nothing in common heard it, the first in its own grammar or while it was spoken.
  if (heard && (isSame(heard, digits) || isSame(heard, free))) return digitsResult(heard, true, true);
  const isFollowed = isSame(digits, free);
  const alternative = scoreOthers(scoring, samples, digits);
  const lead = leadOver(alternative, best);
  if (alternative && lead < 0) {
    const others = digitsIn(alternative.words);
    if (!others) return NOTHING;
    if (others.length < digits.length) return digitsResult(others, false, false);
  }
  const own = Math.min(lead, LARGEST_LEAD);
  const isLeading = isFollowed && own >= CERTAIN_LEAD.own;
  if (!isLeading && !isCertainInOthers(own, (speaker) => leadAs(speaker, decoders, samples, digits, lengths)))
    return digitsResult(digits, true, false);
  if (isFollowed) return digitsResult(digits, true, true);
  return digitsResult(digits, true, marginOf(scoring, samples, best) >= LEAST_MARGIN_DIGITS);
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
const CARDS = spokenDigits(cardRule(LENGTHS.number));

/** A card's number by its check digit, read as people read one. */
const isCard = ({ digits, words }: { digits: readonly number[]; words: readonly string[] }): boolean =>
  isCompleteNumber(Cell.from(digits)) && hasRegularPairs(withoutPrelude(words), PRINTED_GROUPS.get(digits.length) ?? []);

function isCardIn(words: readonly string[]): boolean {
  const digits = digitsIn(words);
  return digits !== null && isCard({ digits, words });
}

/** What is heard in one voice. */
interface Voice {
  factor: number;
  samples: Float32Array;
  best: ScoredDigits | null;
  /** By how much it leads all others of its length; null until that is decoded. */
  lead: number | null;
}

/** How many of its opinions take a number. */
const CONFIRMED = 3;

interface HeardCard {
  digits: number[];
  heardIn: Voice[];
  /** How many confirm it: these voices, the decoding that followed the speech, and that in one voice no other digits of its length are nearly as likely. */
  opinions: number;
  isConfirmed: boolean;
}

/** The one card's number that voices hear; null when none hears one, or one hears another. The first voice is the caller's own. */
function cardIn(voices: readonly Voice[], free: readonly number[], leastLead: number): HeardCard | null {
  const heardIn = voices.filter(({ best }) => best && isCard(best) && free.length >= best.digits.length - MISSED);
  const digits = heardIn[0]?.best?.digits;
  if (!digits || !heardIn.every(({ best }) => isSame(digits, best?.digits ?? null))) return null;
  const isFollowed = isSame(digits, free);
  const isLeading = heardIn.some(({ lead }) => lead !== null && lead >= leastLead);
  // It inserts a digit, and seldom mistakes one: as many others, or two more, are an opinion against these.
  const isContradicted = !isFollowed && Math.abs(free.length - digits.length) !== 1;
  const opinions = heardIn.length + Number(isFollowed) + Number(isLeading) - Number(isContradicted);
  const isHeard = isFollowed || (heardIn[0] === voices[0] && isLeading);
  return { digits, heardIn, opinions, isConfirmed: isHeard && opinions >= CONFIRMED };
}

interface SecondOpinion {
  card: readonly number[] | null;
  /** It is as sure of digits that are no card's. */
  isContradicted: boolean;
}

/** The card's number that the second recogniser hears, word for word or by going on from the first one's mistake: of `own` words, else of the followed ones. */
function secondOpinion(verifier: Decoders["verifier"], own: readonly string[] | null, followed: readonly string[]): SecondOpinion {
  const second: SecondOpinion = { card: null, isContradicted: false };
  const isOther = own?.join(" ") !== followed.join(" ") && isCardIn(followed);
  for (const words of [...(own ? [own] : []), ...(isOther ? [followed] : [])]) {
    const verified = verifier?.verify(words, { lengths: [], isCard: true });
    const digits = verified && verified.least >= LEAST_SHARE ? digitsIn(verified.words) : null;
    if (!verified || !digits) continue;
    if (isCardIn(verified.words)) return { card: digits, isContradicted: false };
    second.isContradicted = true;
  }
  return second;
}

/** How well a voice fits what was said: people's mouths differ, and so does the voice in which their words are likeliest. */
const fitOf = ({ best, samples }: Voice): number => (best ? best.score / samples.length : -Infinity);

/**
 * A whole card number, decoded by its length and first digits: where that makes a valid number, nine of ten wrong ones are found. It counts
 * when three opinions confirm it and no voice that was asked hears another. Most are heard alike in the caller's own voice, in that of a
 * smaller person and by the decoding that followed the speech. One that was not followed must be heard in the caller's own voice, and lead.
 * Where that leaves doubt, a larger person's voice is asked, and a still smaller or larger one's where that way the words become likelier.
 */
const understandNumber: Understand = (decoders, utterance, options) => {
  const { batch, aside, verifier } = decoders;
  const { samples, free, followed = [], line } = utterance;
  const [shortest = 0] = LENGTHS.number;
  const count = free?.length ?? 0;
  if (options.have > 0 || !free || count < LEAST_HEARD) return understandDigits(LENGTHS.number)(decoders, utterance, options);
  if (line !== "bad") verifier?.hear(samples);
  const leadOfCard = (voice: Float32Array, best: ScoredDigits) => leadOf(batch, voice, best, [best.digits.length]);
  const hear = (factor: number) => {
    const voice = warp(samples, factor);
    const outcome = aside("batch", CARDS, voice);
    return (): Voice => ({ factor, samples: voice, best: withDigits(outcome()), lead: null });
  };
  const measure = (voice: Voice | undefined) => {
    if (voice?.best) voice.lead = leadOfCard(voice.samples, voice.best);
  };
  const own: Voice = { factor: 1, samples, best: scoreDigits(batch, samples, CARDS), lead: null };
  const doubt = own.best ? digitsResult(own.best.digits, true, false) : NOTHING;
  if (line === "bad") return doubt;
  const second = secondOpinion(verifier, own.best?.words ?? null, followed);
  if (second.card) return digitsResult(second.card, true, true);
  if (count < shortest - MISCOUNT || count > LONGEST_CARD + MISCOUNT) return understandDigits(LENGTHS.number)(decoders, utterance, options);
  // No voice can hear a card where so many digits are missing.
  if (second.isContradicted || count < shortest - MISSED) return doubt;
  const leastLead = LEAST_LEAD_CARD[line];

  // Neither in the caller's own voice nor by what was followed is it a card: no other voice makes it count.
  const isFollowedValid = isCompleteNumber(Cell.from(free));
  if (!(own.best && isCard(own.best)) && !isFollowedValid) return doubt;
  const smallerVoice = hear(SMALLER_SPEAKER)();
  const voices = [own, smallerVoice];
  if (OTHER_LENGTHS.includes(count) && isFollowedValid) {
    // Three digits too many hold the check digit once in ten times, and lead any others of their length. Where they were said, nothing else fits.
    if (voices.some(({ best }) => best && (isCard(best) || !isBeginning(best.digits, free)))) return doubt;
    const inSmaller = aside("batch", FREE_DIGITS, smallerVoice.samples);
    const again = scoreDigits(batch, samples, FREE_DIGITS);
    if (again && isSame(again.digits, free)) {
      const isLeading = leadOfCard(samples, again) >= leastLead;
      return digitsResult(free, true, isLeading && isSame(free, withDigits(inSmaller())?.digits ?? null));
    }
  }
  let card = cardIn(voices, free, leastLead);
  if (card?.opinions === CONFIRMED - 1 && card.heardIn[0] === own) {
    measure(own);
    card = cardIn(voices, free, leastLead);
  }
  if (!card?.isConfirmed) {
    const larger = hear(LARGER_SPEAKER);
    measure(card?.heardIn.find(({ lead }) => lead === null));
    voices.push(larger());
    card = cardIn(voices, free, leastLead);
  }
  const unmeasured = card?.heardIn.find(({ lead }) => lead === null);
  // No decoding in vain: a voice and a lead add two opinions, a voice alone one.
  if (card && !card.isConfirmed && (unmeasured || card.opinions === CONFIRMED - 1)) {
    const [fitting = own] = voices.toSorted((a, b) => fitOf(b) - fitOf(a));
    const further = fitting === own ? null : hear(fitting.factor ** 2);
    measure(unmeasured);
    if (further) voices.push(further());
    card = cardIn(voices, free, leastLead);
  }
  return card?.isConfirmed ? digitsResult(card.digits, true, true) : doubt;
};

/** How each question's answer is understood. */
export const UNDERSTAND: Readonly<Record<ListenFor, Understand>> = {
  number: understandNumber,
  expiry: (decoders, { samples, line }) => understandDate(decoders, samples, line),
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
export function prepare({ streaming, batch, scoring, aside }: Decoders): void {
  batch.use(CARDS);
  batch.decode(new Float32Array(SAMPLE_RATE_HZ / 2));
  // The one that follows speech has heard no silence: it would take the first words for louder than they are.
  streaming.use(FREE_DIGITS);
  for (const grammar of [EXPIRY, ANSWERS, ANYTHING]) scoring.use(grammar);
  // What comes a second time is kept there: the first answer would have to send it once more.
  for (let time = 0; time < 2; time++) {
    aside("batch", CARDS, new Float32Array(SAMPLE_RATE_HZ / 2))();
    aside("scoring", EXPIRY, new Float32Array(SAMPLE_RATE_HZ / 2))();
  }
}
