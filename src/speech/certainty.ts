import { type Acceptor, loopAcceptor } from "./acceptor.ts";
import type { Decoder, Scored } from "./decoder.ts";
import { PHONES } from "./phrases.ts";

/** What every sound can be taken for: a model of everything else, which an answer must nearly reach. */
export const ANYTHING = loopAcceptor(PHONES);

/**
 * How much less likely than phones an answer may be, in each frame of its words. Of 912 utterances that answer nothing, none came nearer
 * than -12 with yes or no in both opinions, or than -10 with a command; answers mostly lie from -5 to 10. Measured in the first opinion
 * alone, it let a "guess" through for "yes".
 */
export const LEAST_MARGIN = -8;

export interface Question<Meaning> {
  grammar: Acceptor;
  /** What words of the grammar mean; null when they are no answer. */
  meaningOf: (words: readonly string[]) => Meaning | null;
  leastMargin: (words: readonly string[]) => number;
}

export interface Opinion<Meaning> extends Scored {
  meaning: Meaning;
  /** How much likelier than phones it is, in each frame of its words. */
  margin: number;
}

/**
 * What `samples` answer: the grammar's best words are an answer and nearly as likely as the best string of phones for the same sound.
 * `decoder` must be one whose scores can be compared. About 0.15 seconds of work for a second.
 */
export function opinion<Meaning>(
  decoder: Decoder,
  samples: Float32Array,
  { grammar, meaningOf, leastMargin }: Question<Meaning>,
): Opinion<Meaning> | null {
  decoder.use(grammar);
  const best = decoder.score(samples);
  const meaning = best && meaningOf(best.words);
  if (!best || meaning === null) return null;
  const margin = marginOf(decoder, samples, best);
  return margin >= leastMargin(best.words) ? { ...best, meaning, margin } : null;
}

/** How much likelier than phones the best words are, in each of their frames. */
export function marginOf(decoder: Decoder, samples: Float32Array, best: Scored): number {
  decoder.use(ANYTHING);
  const anything = decoder.score(samples);
  return anything ? (best.score - anything.score) / Math.max(1, best.frames) : -Infinity;
}
