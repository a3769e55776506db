import assert from "node:assert/strict";
import test from "node:test";
import type { Acceptor } from "./acceptor.ts";
import type { Decoder } from "./decoder.ts";
import { type Rescored, type Scoring, rescore } from "./rescoring.ts";
import type { Verifying } from "./verifier-thread.ts";

/** Grammars by name: what is said, all but the first recogniser's best, and one word alone. */
const grammar = (name: string) => name as unknown as Acceptor;

interface Heard {
  /** By grammar, what the first recogniser hears and its score; null: nothing. */
  first: Readonly<Record<string, readonly [words: string, score: number] | null>>;
  /** What the second one holds each text for, those too that it was not asked about; null: it is not there. */
  second: Readonly<Record<string, number>> | null;
}

/** Words are their own meaning but for "repeat", which is a command; "odd" ones are no answer. `followed`: heard while it was spoken. */
function heardBy(
  { first, second }: Heard,
  { followed = "", hasCheckDigit = false } = {},
): { rescored: Rescored<string> | null; asked: string[] } {
  const asked: string[] = [];
  let inUse = "";
  const decoder: Pick<Decoder, "use" | "score"> = {
    use: (next) => void (inUse = next as unknown as string),
    score() {
      asked.push(inUse);
      const scored = first[inUse] ?? null;
      return scored && { words: scored[0].split(" "), score: scored[1], frames: 100 };
    },
  };
  const verifier: Verifying | null = second && {
    hear: () => {},
    weigh: () => () => Object.entries(second).map(([words, likelihood]) => ({ words: words.split(" "), likelihood })),
  };
  const utterance = {
    samples: new Float32Array(8),
    free: null,
    followed: followed === "" ? [] : followed.split(" "),
    line: "quiet",
  } as const;
  const scoring: Scoring<string> = {
    rule: { what: "digits", lengths: [1] },
    decoder: decoder as Decoder,
    grammar: grammar("answers"),
    others: () => grammar("others"),
    exactly: (word) => grammar(word),
    hasCheckDigit,
    meaningOf: ([word = ""]) => (word === "repeat" ? null : word),
    keyOf: (word) => word,
    oddityOf: (word) => (word.startsWith("odd") ? 4 : 0),
    clear: { likelihood: -1, lead: 4 },
    leastLikelihood: -5,
    isSureAlone: (_, __, lead) => lead >= 500,
  };
  return { rescored: rescore(verifier, utterance, scoring), asked };
}

const certain = (meaning: string) => ({ meaning, isCertain: true });
const doubtful = (meaning: string) => ({ meaning, isCertain: false });

test("what both recognisers hear beyond doubt is taken, and nothing else is decoded", () => {
  const { rescored, asked } = heardBy({ first: { answers: ["four", 0] }, second: { four: -0.5, five: -5 } });
  assert.deepEqual(rescored, certain("four"));
  assert.deepEqual(asked, ["answers"]);
});

for (const [what, second, hasCheckDigit, isDecoded] of [
  ["is decoded no further", { four: -0.5 }, true, false],
  ["is decoded where the second one is not clear", { four: -1.5 }, true, true],
  ["is decoded where the second one hears something else", { four: -6, five: -0.5 }, true, true],
  ["is decoded where it has no check digit", { four: -0.5 }, false, true],
] as const)
  test(`what was heard as an answer while it was spoken ${what}`, () => {
    const heard = { first: { answers: ["four", 0], others: ["nine", -900] }, second } as const;
    assert.equal(heardBy(heard, { followed: "four", hasCheckDigit }).asked.includes("answers"), isDecoded);
  });

for (const [what, heard, wanted] of [
  ["is taken where the first one finds it nearly as likely", { answers: ["five", 0], others: ["four", -50] }, certain("four")],
  ["is asked again where the first one finds it unlikely", { answers: ["five", 0], others: ["four", -250] }, doubtful("four")],
  ["is no answer where the first one finds no way to it", { answers: ["five", 0], others: null, four: null }, doubtful("five")],
] as const)
  test(`what the second recogniser alone hears ${what}`, () => {
    assert.deepEqual(heardBy({ first: heard, second: { four: -0.5, five: -7 } }).rescored, wanted);
  });

test("what neither heard at first but the second one goes on to is asked of the first one", () => {
  const heard = {
    first: { answers: ["five", 0], others: ["nine", -400], four: ["four", -20] },
    second: { four: -0.5, five: -6, nine: -9 },
  } as const;
  const { rescored, asked } = heardBy(heard);
  assert.deepEqual(rescored, certain("four"));
  assert.deepEqual(asked, ["answers", "others", "four"]);
});

test("of two that are nearly as likely by both together the likelier is asked about again", () => {
  const heard = { first: { answers: ["four", 0], others: ["five", -50] }, second: { four: -1.5, five: -2 } } as const;
  assert.deepEqual(heardBy(heard).rescored, doubtful("four"));
});

test("what the first one is sure of counts no more than what the second one finds hardly possible", () => {
  const heard = { first: { answers: ["four", 0], others: ["five", -900] }, second: { four: -5.5, five: -0.5 } } as const;
  assert.deepEqual(heardBy(heard).rescored, doubtful("four"));
});

for (const [likelihood, lead, isCertain] of [
  [-8, 500, true],
  [-8.1, 500, false],
  [-8, 499, false],
  [-5, 499, true],
] as const)
  test(`what leads by ${lead} and the second one holds for as likely as ${likelihood} is ${isCertain ? "taken" : "asked again"}`, () => {
    const heard = { first: { answers: ["four", 0], others: ["five", -lead] }, second: { four: likelihood, five: likelihood - 1 } } as const;
    assert.deepEqual(heardBy(heard).rescored, { meaning: "four", isCertain });
  });

test("what callers hardly mean has to be so much likelier, and is no answer then", () => {
  assert.deepEqual(
    heardBy({ first: { answers: ["four", 0], others: ["odd", 0] }, second: { four: -3.9, odd: -3 } }).rescored,
    certain("four"),
  );
  assert.deepEqual(
    heardBy({ first: { answers: ["four", 0], others: ["odd", 100] }, second: { four: -4, odd: -0.5 } }).rescored,
    doubtful("odd"),
  );
});

test("what the second one hears counts only where the first one, which hears what means nothing, finds it possible", () => {
  for (const [score, isCertain] of [
    [-400, true],
    [-401, false],
  ] as const) {
    const heard = { first: { answers: ["repeat", 0], four: ["four", score] }, second: { four: -0.5 } } as const;
    assert.deepEqual(heardBy(heard).rescored, { meaning: "four", isCertain });
  }
});

test("where a command is likelier there is no answer", () => {
  assert.equal(heardBy({ first: { answers: ["four", 0], others: ["repeat", 1] }, second: { four: -2 } }).rescored, null);
});

test("where the first recogniser hears nothing there is no answer", () => {
  assert.equal(heardBy({ first: { answers: null }, second: { four: 0 } }).rescored, null);
});

for (const [lead, isCertain] of [
  [500, true],
  [499, false],
] as const)
  test(`without the second recogniser a lead of ${lead} is ${isCertain ? "enough" : "too little"}`, () => {
    const heard = { first: { answers: ["four", 0], others: ["five", -lead] }, second: null } as const;
    assert.deepEqual(heardBy(heard).rescored, { meaning: "four", isCertain });
  });
