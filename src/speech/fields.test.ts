import assert from "node:assert/strict";
import test from "node:test";
import type { Decoder, Decoders } from "./decoder.ts";
import { FREE_DIGITS, UNDERSTAND, digitsResult } from "./fields.ts";

const ZIP = "two two nine three eight";
const OTHER = "two two nine oh eight";
const DIGITS = [2, 2, 9, 3, 8];

/** Decoders that give the ZIP code in the caller's voice, in a smaller and in a larger person's, with such leads over all others; with none, another one. */
function decodersOf(...leads: readonly number[]): Decoders {
  const scores = leads.flatMap((lead) =>
    lead === 0 ? [{ words: OTHER, score: 0 }] : [ZIP, OTHER].map((words, at) => ({ words, score: -at * lead })),
  );
  const scoring: Pick<Decoder, "use" | "score"> = {
    use: () => {},
    score() {
      const next = scores.shift();
      return next ? { words: next.words.split(" "), score: next.score, frames: 100 } : null;
    },
  };
  // Aside and in line, a voice's digits are asked for before what else they could be.
  const aside = () => () => scoring.score(new Float32Array());
  return { scoring, batch: scoring, streaming: scoring, aside } as Pick<Decoders, "aside"> as Decoders;
}

for (const [isCertain, free, leads] of [
  [true, DIGITS, [500]],
  [false, DIGITS, [435, 333, 388]],
  [true, DIGITS, [435, 333, 415]],
  [true, DIGITS, [350, 500]],
  [false, DIGITS, [349]],
  [false, [1, ...DIGITS], [Infinity, 0, 253]],
] as const) {
  const led = `${leads.join(", ")}${free === DIGITS ? "" : ", and was followed with a digit more,"}`;
  test(`a ZIP code that leads all others by ${led} is ${isCertain ? "taken" : "asked again"}`, () => {
    const utterance = { samples: new Float32Array(8_000), free: Array.from<number>(free), line: "quiet" } as const;
    assert.deepEqual(UNDERSTAND.zip(decodersOf(...leads), utterance, { have: 0, lengths: [5] }), digitsResult(DIGITS, true, isCertain));
  });
}

test("no other voice is decoded where none can make a card number count: on a bad line, and where two digits are missing", () => {
  const best = { words: "four two".split(" "), score: 0, frames: 100 };
  const batch = { use: () => {}, score: () => best };
  const aside = () => assert.fail("it would be decoded in vain");
  const decoders = { scoring: batch, batch, streaming: batch, aside } as Pick<Decoders, "aside"> as Decoders;
  for (const [line, count] of [
    ["bad", 16],
    ["quiet", 13],
  ] as const) {
    const utterance = { samples: new Float32Array(8_000), free: Array.from<number>({ length: count }).fill(4), line };
    assert.deepEqual(UNDERSTAND.number(decoders, utterance, { have: 0, lengths: null }), digitsResult([4, 2], true, false));
  }
});

const SIXTEEN = "four five three eight nine nine zero six one four seven zero seven six eight zero";
const NO_CARD = "four five three eight nine nine zero six one four seven zero seven six eight one";
/** What was once heard for SIXTEEN: the check digit holds. */
const NINETEEN = "four five three eight nine nine zero zero six one four seven zero seven six eight two zero zero";
const [CARD, LONG_CARD] = [
  [4, 5, 3, 8, 9, 9, 0, 6, 1, 4, 7, 0, 7, 6, 8, 0],
  [4, 5, 3, 8, 9, 9, 0, 0, 6, 1, 4, 7, 0, 7, 6, 8, 2, 0, 0],
];

for (const [name, own, smaller] of [
  ["taken where no voice hears a card of sixteen", NO_CARD, NO_CARD],
  ["asked again where the caller's own voice hears a card of sixteen", SIXTEEN, NO_CARD],
  ["asked again where a smaller person's voice hears a card of sixteen", NO_CARD, SIXTEEN],
] as const) {
  test(`a card number of nineteen digits is ${name}: three inserted digits hold the check digit once in ten times (R-229)`, () => {
    const scored = (words: string) => ({ words: words.split(" "), score: 0, frames: 100 });
    const heard = [own];
    let isFree = false;
    const batch: Pick<Decoder, "use" | "score"> = {
      use: (grammar) => void (isFree = grammar === FREE_DIGITS),
      score: () => (isFree ? scored(NINETEEN) : heard.length > 0 ? scored(heard.shift()!) : null),
    };
    const decoders = { scoring: batch, batch, streaming: batch, aside: () => () => scored(smaller) } as Pick<Decoders, "aside"> as Decoders;
    const utterance = { samples: new Float32Array(8_000), free: Array.from(LONG_CARD), line: "quiet" } as const;
    const isTaken = name.startsWith("taken");
    assert.deepEqual(
      UNDERSTAND.number(decoders, utterance, { have: 0, lengths: null }),
      isTaken ? digitsResult(LONG_CARD, true, true) : digitsResult(own === SIXTEEN ? CARD : [...CARD.slice(0, -1), 1], true, false),
    );
  });
}

for (const [isTaken, larger] of [
  [false, NO_CARD],
  [true, SIXTEEN],
] as const) {
  test(`a card number that two voices hear, and lead by, while as many other digits were followed is ${isTaken ? "taken where a third voice hears it" : "asked again where a third does not hear it"} (R-229)`, () => {
    const scored = (words: string, score = 0) => ({ words: words.split(" "), score, frames: 100 });
    const heard = [scored(SIXTEEN), scored(NO_CARD, -121)];
    const voices = [scored(SIXTEEN), scored(larger)];
    const batch = { use: () => {}, score: () => heard.shift() ?? null };
    const aside = () => () => voices.shift() ?? null;
    const decoders = { scoring: batch, batch, streaming: batch, aside } as Pick<Decoders, "aside"> as Decoders;
    const utterance = { samples: new Float32Array(8_000), free: [5, ...CARD.slice(1)], line: "quiet" as const };
    assert.deepEqual(UNDERSTAND.number(decoders, utterance, { have: 0, lengths: null }), digitsResult(CARD, true, isTaken));
  });
}
