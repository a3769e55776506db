import assert from "node:assert/strict";
import test from "node:test";
import { ANYTHING } from "./certainty.ts";
import { understandDate } from "./dates.ts";
import type { Decoder, Decoders } from "./decoder.ts";
import { EXPIRY } from "./phrases.ts";

const DATE = "march thirty";
const OTHER = "may thirty";
const FRAMES = 10;

/** A decoder that gives these words in the three voices, so much likelier than phones in each frame; other dates by `lead` less in the caller's own. */
function decoderOf(heard: readonly (readonly [words: string, margin: number])[], lead: number): Pick<Decoder, "use" | "score"> {
  const voices = heard.map(([words, margin]) => ({ words: words.split(" "), score: margin * FRAMES, frames: FRAMES }));
  const own = voices[0]?.score ?? 0;
  let grammar: unknown = null;
  return {
    use: (next) => void (grammar = next),
    score() {
      if (grammar === EXPIRY) return voices.shift() ?? null;
      return { words: [], score: grammar === ANYTHING ? 0 : own - lead, frames: FRAMES };
    },
  };
}

for (const [isTaken, what, heard, lead] of [
  [
    true,
    "fits its sound, is heard in all three voices and leads all others by some",
    [
      [DATE, -1],
      [DATE, -8],
      [DATE, -8],
    ],
    150,
  ],
  [
    true,
    "fits its sound in the caller's voice and in another",
    [
      [DATE, -1],
      [OTHER, 5],
      [DATE, -1],
    ],
    150,
  ],
  [
    false,
    "fits less in the other voice that hears it",
    [
      [DATE, 5],
      [OTHER, 5],
      [DATE, -1.1],
    ],
    Infinity,
  ],
  [
    true,
    "fits less, is heard in all three and leads all others",
    [
      [DATE, -1.1],
      [DATE, 5],
      [DATE, 5],
    ],
    400,
  ],
  [
    false,
    "fits less and leads by little",
    [
      [DATE, -1.1],
      [DATE, 5],
      [DATE, 5],
    ],
    399,
  ],
  [
    false,
    "fits less and is another one in another voice",
    [
      [DATE, -1.1],
      [DATE, 5],
      [OTHER, -8],
    ],
    Infinity,
  ],
  [
    false,
    "is no date in another voice",
    [
      [DATE, 5],
      [DATE, 5],
    ],
    Infinity,
  ],
  [
    false,
    "is heard in the caller's voice alone",
    [
      [DATE, 5],
      [OTHER, 5],
      [OTHER, 5],
    ],
    Infinity,
  ],
  [
    false,
    "fits its sound, is heard in all three voices and leads by little",
    [
      [DATE, 5],
      [DATE, 5],
      [DATE, 5],
    ],
    149,
  ],
] as const) {
  test(`a date that ${what} is ${isTaken ? "taken" : "asked again"}`, () => {
    const scoring = decoderOf(heard, lead) as Decoder;
    const aside: Decoders["aside"] = (_, grammar, samples) => () => {
      scoring.use(grammar);
      return scoring.score(samples);
    };
    const result = understandDate({ scoring, aside }, new Float32Array(8_000), "quiet");
    assert.deepEqual(result, isTaken ? { kind: "expiry", month: 3, year: 2030, certain: true } : { kind: "nothing" });
  });
}
