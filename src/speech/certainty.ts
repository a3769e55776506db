import { isDeepStrictEqual } from "node:util";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { type Acceptor, loopAcceptor } from "./acceptor.ts";
import type { Decoder } from "./decoder.ts";
import { PHONES } from "./phrases.ts";
import { warp } from "./warp.ts";

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
  /** Voices (`warp.ts`) that must give an answer too, one of them the same. */
  voices: readonly number[];
  /** Longer speech is not decoded. */
  longestSeconds: number;
}

/**
 * What `samples` mean, when it is sure: the grammar's best words are an answer and nearly as likely as the best string of phones for the
 * same sound, and the sound in another voice gives the same answer in the same way. `decoder` must be one whose scores can be
 * compared. About 0.15 seconds of work for a second of what is no answer, and for each voice of an answer.
 */
export function certainMeaning<Meaning>(decoder: Decoder, samples: Float32Array, question: Question<Meaning>): Meaning | null {
  if (samples.length > question.longestSeconds * SAMPLE_RATE_HZ) return null;
  const meaning = opinion(decoder, samples, question);
  if (meaning === null) return null;
  let isRepeated = false;
  for (const voice of question.voices) {
    const other = opinion(decoder, warp(samples, voice), question);
    if (other === null) return null;
    isRepeated ||= isDeepStrictEqual(meaning, other);
  }
  return isRepeated ? meaning : null;
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
