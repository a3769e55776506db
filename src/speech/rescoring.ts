import type { Acceptor } from "./acceptor.ts";
import type { Decoder, Decoders, Scored, UtteranceAudio } from "./decoder.ts";
import type { AnswerRule, Weighed } from "./verifier-thread.ts";

/**
 * What was said, by two recognisers that have nothing in common: what one mistakes, the other mostly does not. Each names what it hears, both score
 * all of it, and the likeliest by both together counts when nothing else is nearly as likely.
 */

/** How much of the engine's unit counts as much as one of a natural logarithm: it takes its frames for independent, which they are not. */
const UNITS_PER_NAT = 50;
/** By how much the likeliest must lead all else that was heard, natural logarithm by both. */
const LEAST_LEAD = 3;
/** By how much, natural logarithm, the likeliest may stand behind what either recogniser by itself holds for likelier. */
const MOST_BEHIND = { second: 4, first: 8 };
/** How much less likely by the second one it may be where the first one alone would be sure. */
const SURE_ALONE = 3;

/** A question, as its answers are decoded and scored. */
export interface Scoring<Meaning> {
  rule: AnswerRule;
  /** One whose scores can be compared. */
  decoder: Decoder;
  /** Answers; all but one of them, or what else is heard in its place; and one alone. */
  grammar: Acceptor;
  others: (meaning: Meaning) => Acceptor;
  exactly: (meaning: Meaning) => Acceptor;
  /**
   * One that was heard while it was spoken, and that the second recogniser holds for clear, needs no further decoding: half of the work of most
   * numbers. Without one the first one's best counts only when compared with `others`; with one these are heard in doubt alone.
   */
  hasCheckDigit: boolean;
  /** Null: words that answer nothing. */
  meaningOf: (words: readonly string[]) => Meaning | null;
  /** Meanings with the same one are the same. */
  keyOf: (meaning: Meaning) => string;
  /** By how much, natural logarithm, callers are less likely to mean this than an answer; 0: it is one. */
  oddityOf: (meaning: Meaning) => number;
  /** How likely by the second recogniser, and how far before all else, the first one's best need not be compared with what that hears besides. */
  clear: { likelihood: number; lead: number };
  /** How likely the second recogniser must hold an answer for. */
  leastLikelihood: number;
  /** Without the second recogniser: whether the first one's best counts, by its lead over all else, in the engine's unit. */
  isSureAlone: (best: Scored, meaning: Meaning, lead: number) => boolean;
}

export interface Rescored<Meaning> {
  meaning: Meaning;
  /** An answer, beyond doubt. */
  isCertain: boolean;
}

interface Hypothesis<Meaning> {
  meaning: Meaning;
  /** By the second recogniser, natural logarithm, less what is odd about it. */
  likelihood: number;
  /** By the first one, in the engine's unit; null until it is asked. */
  score: number | null;
}

/** The likeliest meaning of an utterance; null when it is none. On a bad line, where nothing is certain anyway, the second recogniser is not asked. */
export function rescore<Meaning>(
  second: Decoders["verifier"],
  { samples, followed = [], line }: UtteranceAudio,
  scoring: Scoring<Meaning>,
): Rescored<Meaning> | null {
  const verifier = line === "bad" ? null : second;
  const { decoder, meaningOf, keyOf, oddityOf, clear } = scoring;
  const score = (grammar: Acceptor) => {
    decoder.use(grammar);
    return decoder.score(samples);
  };
  const hypotheses = new Map<string, Hypothesis<Meaning>>();
  /** What the second one was asked about or heard itself. */
  const texts = new Set<string>();
  /** Of several readings of one meaning the likeliest counts. */
  const add = (weighed: readonly Weighed[]) => {
    for (const { words, likelihood } of weighed) {
      texts.add(words.join(" "));
      const meaning = meaningOf(words);
      if (meaning === null) continue;
      const known = hypotheses.get(keyOf(meaning));
      const whole = likelihood - oddityOf(meaning);
      if (!known) hypotheses.set(keyOf(meaning), { meaning, likelihood: whole, score: null });
      else known.likelihood = Math.max(known.likelihood, whole);
    }
  };
  /** Begins to weigh a text; whether the second recogniser was there, once it is done. */
  const beginToWeigh = (words: readonly string[]): (() => boolean) => {
    const outcome = verifier?.weigh({ words, rule: scoring.rule });
    return () => {
      const weighed = outcome?.() ?? null;
      add(weighed ?? []);
      return weighed !== null;
    };
  };
  const weigh = (words: readonly string[]): boolean => texts.has(words.join(" ")) || beginToWeigh(words)();
  const setScore = ({ words, score: value }: Scored) => {
    const meaning = meaningOf(words);
    const known = meaning === null ? undefined : hypotheses.get(keyOf(meaning));
    if (known) known.score = Math.max(known.score ?? -Infinity, value);
  };
  const rankedBy = (value: (hypothesis: Hypothesis<Meaning>) => number) =>
    Array.from(hypotheses.values()).toSorted((a, b) => value(b) - value(a));
  const likelihoodOf = ({ likelihood }: Hypothesis<Meaning>) => likelihood;

  /** What the second recogniser is sure of. */
  const clearMeaning = (): Hypothesis<Meaning> | null => {
    const [likely, lessLikely] = rankedBy(likelihoodOf);
    const isClear =
      likely &&
      oddityOf(likely.meaning) === 0 &&
      likely.likelihood >= clear.likelihood &&
      likely.likelihood - (lessLikely?.likelihood ?? -Infinity) >= clear.lead;
    return isClear ? likely : null;
  };

  verifier?.hear(samples);
  let meanwhile = followed.length > 0 ? beginToWeigh(followed) : null;
  const followedMeaning = meaningOf(followed);
  if (scoring.hasCheckDigit && followedMeaning !== null && oddityOf(followedMeaning) === 0) {
    meanwhile?.();
    meanwhile = null;
    const likely = clearMeaning();
    if (likely && keyOf(likely.meaning) === keyOf(followedMeaning)) return { meaning: followedMeaning, isCertain: true };
  }
  const best = score(scoring.grammar);
  meanwhile?.();
  if (!best) return null;
  const own = meaningOf(best.words);
  const isWeighed = weigh(best.words);
  setScore(best);
  const likely = clearMeaning();
  if (likely && likely.score !== null) return { meaning: likely.meaning, isCertain: true };

  const hearOther = (other: Scored | null) => {
    if (!other || meaningOf(other.words) === null) return;
    weigh(other.words);
    setScore(other);
  };
  let isSureAlone = false;
  if (own !== null && (!isWeighed || !scoring.hasCheckDigit)) {
    const other = score(scoring.others(own));
    const otherMeaning = other && meaningOf(other.words);
    const lead = other ? best.score - other.score : Infinity;
    // A command, say.
    if (lead < 0 && otherMeaning === null) return null;
    if (!isWeighed && lead < 0 && otherMeaning !== null) return { meaning: otherMeaning, isCertain: false };
    isSureAlone = oddityOf(own) === 0 && scoring.isSureAlone(best, own, lead);
    if (!isWeighed) return { meaning: own, isCertain: isSureAlone };
    hearOther(other);
  }

  /** What else may have been said: heard where he would have to be asked again. */
  const further = own === null || !scoring.hasCheckDigit ? [] : [() => hearOther(score(scoring.others(own)))];
  const isOwn = (meaning: Meaning) => own !== null && keyOf(meaning) === keyOf(own);
  const isLikely = ({ meaning, likelihood }: Hypothesis<Meaning>) =>
    oddityOf(meaning) === 0 &&
    likelihood >= scoring.leastLikelihood - (isSureAlone && isOwn(meaning) ? SURE_ALONE : 0) &&
    likelihood >= (rankedBy(likelihoodOf)[0]?.likelihood ?? 0) - MOST_BEHIND.second;
  // What was not asked of the first recogniser is taken to be as likely by it as what that heard itself: what could win by that is asked.
  const worthOf = (hypothesis: Hypothesis<Meaning>) => hypothesis.likelihood + (hypothesis.score ?? best.score) / UNITS_PER_NAT;
  for (;;) {
    const [first, ...rest] = rankedBy(worthOf);
    const isRival = (rival: Hypothesis<Meaning>) => first !== undefined && worthOf(rival) > worthOf(first) - LEAST_LEAD;
    const unscored = [...(first ? [first] : []), ...rest.filter(isRival)].find((hypothesis) => hypothesis.score === null);
    // The caller waits: where nothing can be certain, nothing more is decoded.
    if (unscored && Array.from(hypotheses.values()).some(isLikely)) {
      unscored.score = score(scoring.exactly(unscored.meaning))?.score ?? -Infinity;
      continue;
    }
    // What the first one heard itself may mean nothing, and be no hypothesis.
    const isPossible = (first?.score ?? -Infinity) >= best.score - MOST_BEHIND.first * UNITS_PER_NAT;
    const isCertain = first !== undefined && isLikely(first) && isPossible && !rest.some(isRival);
    const hearMore = further.shift();
    if (first && (isCertain || !hearMore)) return { meaning: first.meaning, isCertain };
    if (!hearMore) return own === null ? null : { meaning: own, isCertain: false };
    hearMore();
  }
}
