import { isDeepStrictEqual } from "node:util";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { type Acceptor, loopAcceptor } from "./acceptor.ts";
import type { Decoder } from "./decoder.ts";
import { PHONES } from "./phrases.ts";
import { OTHER_SPEAKER, warp } from "./warp.ts";

/** What every sound can be taken for: a model of everything else, which an answer must nearly reach. */
export const ANYTHING = loopAcceptor(PHONES);

/**
 * How much less likely than phones an answer may be, in each frame of its words. Of 912 utterances that answer nothing, none came nearer
 * than -12 with yes or no in both opinions, or than -10 with a command; answers mostly lie from -5 to 10. Measured in the first opinion
 * alone, it let a "guess" through for "yes".
 */
export const LEAST_MARGIN = -8;

/** Longer speech is not decoded: the slowest answer takes four. */
const LONGEST_SECONDS = 5;

export interface Question<Meaning> {
  grammar: Acceptor;
  /** What words of the grammar mean; null when they are no answer. */
  meaningOf: (words: readonly string[]) => Meaning | null;
  leastMargin: (words: readonly string[]) => number;
}

/**
 * What `samples` mean, when it is sure: the grammar's best words are an answer and nearly as likely as the best string of phones for the
 * same sound, and the sound in another speaker's voice gives the same answer in the same way. `decoder` must be one whose scores can be
 * compared. About 0.15 seconds of work for a second of what is no answer, 0.3 for an answer.
 */
export function certainMeaning<Meaning>(decoder: Decoder, samples: Float32Array, question: Question<Meaning>): Meaning | null {
  if (samples.length > LONGEST_SECONDS * SAMPLE_RATE_HZ) return null;
  const first = opinion(decoder, samples, question);
  if (first === null) return null;
  const second = opinion(decoder, warp(samples, OTHER_SPEAKER), question);
  return isDeepStrictEqual(first, second) ? first : null;
}

function opinion<Meaning>(decoder: Decoder, samples: Float32Array, { grammar, meaningOf, leastMargin }: Question<Meaning>): Meaning | null {
  decoder.use(grammar);
  const best = decoder.score(samples);
  const meaning = best && meaningOf(best.words);
  if (!best || meaning === null) return null;
  decoder.use(ANYTHING);
  const anything = decoder.score(samples);
  return anything && (best.score - anything.score) / Math.max(1, best.frames) >= leastMargin(best.words) ? meaning : null;
}
