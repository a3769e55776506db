import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { marginOf } from "./certainty.ts";
import type { Decoders, UtteranceAudio } from "./decoder.ts";
import { EXPIRY, expiryAcceptor } from "./phrases.ts";
import { withoutPrelude } from "./prelude.ts";
import type { RecognitionResult } from "./recognition-result.ts";
import { rescore } from "./rescoring.ts";
import { type Expiry, expiryOf } from "./spoken-numbers.ts";

/** A date that was begun anew takes seven. */
const LONGEST_SECONDS = 8;
/** Without the second recogniser: how well a date must fit its sound beside phones, in each frame, and by how much lead all others. */
const ALONE = { margin: -1, lead: 400 };

/** "March twenty" is the beginning of a date, and not of 2020: earlier years are not listened for. */
const EARLIEST_YEAR = 2022;

function dateIn(words: readonly string[]): Expiry | null {
  const date = expiryOf(withoutPrelude(words));
  return date && date.year >= EARLIEST_YEAR ? date : null;
}

/** The expiry date in `samples`, or nothing. */
export function understandDate(
  { scoring, verifier }: Pick<Decoders, "scoring" | "verifier">,
  utterance: UtteranceAudio,
): RecognitionResult {
  const { samples, line } = utterance;
  if (samples.length > LONGEST_SECONDS * SAMPLE_RATE_HZ) return { kind: "nothing" };
  const heard = rescore(verifier, utterance, {
    rule: { what: "date" },
    decoder: scoring,
    grammar: EXPIRY,
    others: (date) => expiryAcceptor({ except: date }),
    exactly: (date) => expiryAcceptor({ only: date }),
    hasCheckDigit: false,
    meaningOf: dateIn,
    keyOf: ({ month, year }) => `${month}/${year}`,
    oddityOf: () => 0,
    clear: { likelihood: -1, lead: 4 },
    leastLikelihood: -5,
    isSureAlone: (best, _, lead) => lead >= ALONE.lead && marginOf(scoring, samples, best) >= ALONE.margin,
  });
  return heard?.isCertain ? { kind: "expiry", ...heard.meaning, certain: line !== "bad" } : { kind: "nothing" };
}
