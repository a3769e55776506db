import assert from "node:assert/strict";
import test from "node:test";
import { ANYTHING } from "./certainty.ts";
import { understandDate } from "./dates.ts";
import type { Acceptor } from "./acceptor.ts";
import type { Decoder, Decoders } from "./decoder.ts";
import { EXPIRY } from "./phrases.ts";

const FRAMES = 100;
const SAMPLES = new Float32Array(8_000);
const MARCH_2030 = { kind: "expiry", month: 3, year: 2030, certain: true };

/** A first recogniser that hears a date, so much likelier than phones in each frame, and all others by `lead` less; a second one by what it holds texts for. */
function decodersOf({ margin = 0, lead = Infinity, second }: { margin?: number; lead?: number; second: Record<string, number> | null }) {
  let grammar: Acceptor | null = null;
  const scoring: Pick<Decoder, "use" | "score"> = {
    use: (next) => void (grammar = next),
    score() {
      if (grammar === ANYTHING) return { words: ["ph-aa"], score: -margin * FRAMES, frames: FRAMES };
      if (grammar === EXPIRY) return { words: ["march", "thirty"], score: 0, frames: FRAMES };
      return lead === Infinity ? null : { words: ["may", "thirty"], score: -lead, frames: FRAMES };
    },
  };
  const verifier: Decoders["verifier"] = second && {
    hear: () => {},
    weigh: () => () => Object.entries(second).map(([text, likelihood]) => ({ words: text.split(" "), likelihood })),
  };
  return { scoring, verifier } as Pick<Decoders, "scoring" | "verifier">;
}

for (const [what, second, isTaken] of [
  ["both recognisers hear", { "march thirty": -0.5 }, true],
  ["the second one holds for nearly as likely as another", { "march thirty": -1, "may thirty": -1.5 }, false],
  ["the second one finds hardly possible", { "march thirty": -6 }, false],
] as const)
  test(`a date that ${what} is ${isTaken ? "taken" : "asked again"}`, () => {
    const result = understandDate(decodersOf({ lead: 50, second }), { samples: SAMPLES, free: null, line: "quiet" });
    assert.deepEqual(result, isTaken ? MARCH_2030 : { kind: "nothing" });
  });

for (const [margin, lead, isTaken] of [
  [-1, 400, true],
  [-1.1, 400, false],
  [-1, 399, false],
] as const)
  test(`without the second recogniser a date with a margin of ${margin} and a lead of ${lead} is ${isTaken ? "taken" : "asked again"}`, () => {
    const result = understandDate(decodersOf({ margin, lead, second: null }), { samples: SAMPLES, free: null, line: "quiet" });
    assert.deepEqual(result, isTaken ? MARCH_2030 : { kind: "nothing" });
  });

test("on a bad line the second recogniser is not asked, and no date is certain", () => {
  const result = understandDate(decodersOf({ second: { "may thirty": 0 } }), { samples: SAMPLES, free: null, line: "bad" });
  assert.deepEqual(result, { ...MARCH_2030, certain: false });
});

test("nothing of more than eight seconds is a date", () => {
  const utterance = { samples: new Float32Array(64_001), free: null, line: "quiet" } as const;
  assert.deepEqual(understandDate(decodersOf({ second: { "march thirty": 0 } }), utterance), { kind: "nothing" });
});
