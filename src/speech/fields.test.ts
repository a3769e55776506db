import assert from "node:assert/strict";
import test from "node:test";
import type { Decoder, Decoders } from "./decoder.ts";
import { FREE_DIGITS, UNDERSTAND, digitsResult } from "./fields.ts";
import { isWhole } from "./recognition-result.ts";

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

/** Where the words of a card of fifteen or sixteen digits end before the speech does. */
const BEGINNING = NINETEEN.split(" ").slice(0, 16).join(" ");

for (const [name, own, smaller, freeSmaller] of [
  ["taken where no voice hears fifteen or sixteen digits", null, null, NINETEEN],
  ["taken where a voice hears its first sixteen digits", BEGINNING, null, NINETEEN],
  ["asked again where the caller's own voice hears a card of sixteen", SIXTEEN, null, NINETEEN],
  ["asked again where a smaller person's voice hears a card of sixteen", null, SIXTEEN, NINETEEN],
  ["asked again where the caller's own voice hears sixteen digits that are no card's", NO_CARD, null, NINETEEN],
  ["asked again where a smaller person's voice hears sixteen digits that are no card's", null, NO_CARD, NINETEEN],
  ["asked again where a smaller person's voice hears other digits", null, null, SIXTEEN],
] as const) {
  test(`a card number of nineteen digits is ${name}: three inserted digits hold the check digit once in ten times (R-229)`, () => {
    const scored = (words: string | null) => words && { words: words.split(" "), score: 0, frames: 100 };
    const heard = [own];
    let isFree = false;
    const batch: Pick<Decoder, "use" | "score"> = {
      use: (grammar) => void (isFree = grammar === FREE_DIGITS),
      score: () => (isFree ? scored(NINETEEN) : scored(heard.shift() ?? null)) || null,
    };
    const aside: Decoders["aside"] = (_, grammar) => () => scored(grammar === FREE_DIGITS ? freeSmaller : smaller) || null;
    const decoders = { scoring: batch, batch, streaming: batch, aside } as Pick<Decoders, "aside"> as Decoders;
    const utterance = { samples: new Float32Array(8_000), free: Array.from(LONG_CARD), line: "quiet" } as const;
    const result = UNDERSTAND.number(decoders, utterance, { have: 0, lengths: null });
    if (name.startsWith("taken")) assert.deepEqual(result, digitsResult(LONG_CARD, true, true));
    else assert.equal(isWhole(result), false);
  });
}

interface HeardIn {
  words: string;
  lead: number;
}

/** Decoders that hear these words in the caller's voice, in a smaller and in a larger person's, with such leads over all others. */
function decodersByVoice(own: HeardIn, smaller: HeardIn, larger: HeardIn): Decoders {
  const asked = new Map<HeardIn, number>();
  const score = (samples: Float32Array) => {
    const voice = samples.length === LENGTH ? own : samples.length < LENGTH ? smaller : larger;
    const times = asked.get(voice) ?? 0;
    asked.set(voice, times + 1);
    return { words: voice.words.split(" "), score: times === 0 ? 0 : -voice.lead, frames: 100 };
  };
  const batch = { use: () => {}, score };
  const aside: Decoders["aside"] = (_, __, samples) => () => score(samples);
  return { scoring: batch, batch, streaming: batch, aside } as Pick<Decoders, "aside"> as Decoders;
}

const LENGTH = 8_000;
const OTHER_CARD = [5, ...CARD.slice(1)];
const [ONE_MORE, TWO_MORE] = [
  [...CARD, 0],
  [...CARD, 0, 0],
];
const heard = (lead: number): HeardIn => ({ words: SIXTEEN, lead });
const NOT_HEARD: HeardIn = { words: NO_CARD, lead: 0 };

for (const [isTaken, line, followed, free, own, smaller, larger] of [
  [true, "quiet", "alike", CARD, heard(0), heard(0), NOT_HEARD],
  [true, "noisy", "alike", CARD, heard(0), heard(0), NOT_HEARD],
  [true, "quiet", "alike", CARD, NOT_HEARD, heard(0), heard(0)],
  [true, "quiet", "with a digit more", ONE_MORE, heard(220), heard(0), NOT_HEARD],
  [false, "quiet", "with a digit more", ONE_MORE, heard(219), heard(219), NOT_HEARD],
  [false, "quiet", "with a digit more", ONE_MORE, heard(219), heard(219), heard(219)],
  [true, "noisy", "with a digit more", ONE_MORE, heard(400), heard(0), NOT_HEARD],
  [false, "noisy", "with a digit more", ONE_MORE, heard(399), heard(399), NOT_HEARD],
  [false, "quiet", "with a digit more", ONE_MORE, NOT_HEARD, heard(999), heard(999)],
  [false, "quiet", "with two digits more", TWO_MORE, heard(220), heard(0), NOT_HEARD],
  [true, "quiet", "with two digits more", TWO_MORE, heard(220), heard(0), heard(0)],
  [false, "quiet", "as another card's", OTHER_CARD, heard(220), heard(0), NOT_HEARD],
  [true, "quiet", "as another card's", OTHER_CARD, heard(220), heard(0), heard(0)],
] as const) {
  const led = Object.entries({ own, smaller, larger }).flatMap(([name, { words, lead }]) =>
    words === SIXTEEN ? `${lead} in the ${name}` : [],
  );
  test(`on a ${line} line a card number that was followed ${followed} and leads by ${led.join(", ")} voice is ${isTaken ? "taken" : "asked again"} (R-229)`, () => {
    const utterance = { samples: new Float32Array(LENGTH), free: Array.from(free), line };
    const result = UNDERSTAND.number(decodersByVoice(own, smaller, larger), utterance, { have: 0, lengths: null });
    assert.deepEqual(result, digitsResult(isTaken || own !== NOT_HEARD ? CARD : [...CARD.slice(0, -1), 1], true, isTaken));
  });
}

/** A first recogniser that hears `words`, and a second one that hears `verified` with this least probability. */
function decodersWith(words: string, verified: string, least: number): Decoders {
  const decoder: Pick<Decoder, "use" | "score"> = { use: () => {}, score: () => ({ words: words.split(" "), score: 0, frames: 100 }) };
  const verifier: Decoders["verifier"] = {
    hear: () => {},
    verify: () => ({ words: verified.split(" "), least, isSame: words === verified }),
  };
  const aside = () => () => null;
  return { scoring: decoder, batch: decoder, streaming: decoder, aside, verifier } as Pick<Decoders, "aside"> as Decoders;
}
const heardBy = (text: string) =>
  Array.from(text.split(" "), (word) => (word === "oh" ? 0 : "zero one two three four five six seven eight nine".split(" ").indexOf(word)));

for (const [what, heard, verified, least, isTaken] of [
  ["hears too", SIXTEEN, SIXTEEN, 0.3, true],
  ["hears in place of what is no card's", NO_CARD, SIXTEEN, 0.3, true],
  ["hardly hears", NO_CARD, SIXTEEN, 0.29, false],
  ["contradicts with one that is none", SIXTEEN, NO_CARD, 0.3, false],
] as const)
  test(`a card number that the second recogniser ${what} is ${isTaken ? "taken" : "asked again"}`, () => {
    const utterance = { samples: new Float32Array(8_000), free: heardBy(heard), line: "noisy" } as const;
    const result = UNDERSTAND.number(decodersWith(heard, verified, least), utterance, { have: 0, lengths: null });
    assert.deepEqual(result, digitsResult(heardBy(isTaken ? SIXTEEN : heard), true, isTaken));
  });

for (const [what, heard, free, verified, least, isTaken] of [
  ["hears too", ZIP, OTHER, ZIP, 0.7, true],
  ["hears as it was heard while it was spoken", OTHER, ZIP, ZIP, 0.7, true],
  ["hears alone", OTHER, OTHER, ZIP, 1, false],
  ["hardly hears", ZIP, OTHER, ZIP, 0.69, false],
] as const)
  test(`a ZIP code that the second recogniser ${what} is ${isTaken ? "taken" : "asked again"}`, () => {
    const utterance = { samples: new Float32Array(8_000), free: heardBy(free), line: "noisy" } as const;
    const result = UNDERSTAND.zip(decodersWith(heard, verified, least), utterance, { have: 0, lengths: [5] });
    assert.deepEqual(result, digitsResult(heardBy(isTaken ? ZIP : heard), true, isTaken));
  });
