import assert from "node:assert/strict";
import test from "node:test";
import type { Decoder, Decoders, UtteranceAudio } from "./decoder.ts";
import { UNDERSTAND, digitsResult } from "./fields.ts";
import type { ListenFor } from "./recognition-result.ts";

const words = (text: string) => text.split(" ");
const digitsOf = (text: string) =>
  words(text).map((word) => (word === "oh" ? 0 : words("zero one two three four five six seven eight nine").indexOf(word)));

interface Heard {
  /** What the first recogniser hears, and what else it could be by `lead` less. */
  first: string;
  other?: string;
  lead?: number;
  /** What the second one holds texts for; null: it is not there. */
  second?: Readonly<Record<string, number>> | null;
}

/** Decoders that hear this, whatever the grammar. */
function decodersOf({ first, other, lead = Infinity, second = null }: Heard): Decoders {
  const scores = [{ words: first, score: 0 }, ...(other === undefined ? [] : [{ words: other, score: -lead }])];
  const decoder: Pick<Decoder, "use" | "score"> = {
    use: () => {},
    score() {
      const next = scores.shift();
      return next ? { words: words(next.words), score: next.score, frames: 100 } : null;
    },
  };
  const verifier: Decoders["verifier"] = second && {
    hear: () => {},
    weigh: () => () => Object.entries(second).map(([text, likelihood]) => ({ words: words(text), likelihood })),
  };
  return { scoring: decoder, batch: decoder, streaming: decoder, verifier } as Pick<Decoders, "verifier"> as Decoders;
}

function understood(
  what: ListenFor,
  heard: Heard,
  followed = heard.first,
  line: UtteranceAudio["line"] = "quiet",
  lengths: readonly number[] | null = null,
) {
  const utterance = { samples: new Float32Array(8_000), free: digitsOf(followed), followed: words(followed), line };
  return UNDERSTAND[what](decodersOf(heard), utterance, { have: 0, lengths });
}

const ZIP = "two two nine three eight";
const OTHER = "two two nine oh eight";

for (const [what, heard, wanted] of [
  ["both recognisers hear is taken", { first: ZIP, second: { [ZIP]: -0.5 } }, digitsResult(digitsOf(ZIP), true, true)],
  [
    "one of them doubts is asked again",
    { first: ZIP, other: OTHER, lead: 50, second: { [ZIP]: -1.5, [OTHER]: -2 } },
    digitsResult(digitsOf(ZIP), true, false),
  ],
  [
    "is more likely to have a digit less is a part of one",
    { first: ZIP, other: "two nine three eight", lead: 0, second: { [ZIP]: -8, "two nine three eight": -0.1 } },
    digitsResult([2, 9, 3, 8], false, false),
  ],
  [
    "has a digit too many is nothing",
    { first: ZIP, other: `two ${ZIP}`, lead: 0, second: { [ZIP]: -8, [`two ${ZIP}`]: -0.1 } },
    { kind: "nothing" },
  ],
] as const)
  test(`a ZIP code that ${what}`, () => {
    assert.deepEqual(understood("zip", heard, ZIP, "quiet", [5]), wanted);
  });

for (const [what, followed, lead, isTaken] of [
  ["was heard alike while it was spoken and leads by 500", ZIP, 500, true],
  ["was heard alike and leads by 499", ZIP, 499, false],
  ["was heard as another one", OTHER, Infinity, false],
] as const)
  test(`without the second recogniser a ZIP code that ${what} is ${isTaken ? "taken" : "asked again"}`, () => {
    const result = understood("zip", { first: ZIP, other: OTHER, lead }, followed, "quiet", [5]);
    assert.deepEqual(result, digitsResult(digitsOf(ZIP), true, isTaken));
  });

test("on a bad line nothing is certain, and the second recogniser is not asked", () => {
  for (const [what, text] of [
    ["zip", ZIP],
    ["number", SIXTEEN],
  ] as const)
    assert.deepEqual(understood(what, { first: text, second: { [OTHER]: 0 } }, text, "bad"), digitsResult(digitsOf(text), true, false));
});

const SIXTEEN = "four five three eight nine nine zero six one four seven zero seven six eight zero";
const NO_CARD = "four five three eight nine nine zero six one four seven zero seven six eight one";
/** What was once heard for SIXTEEN: the check digit holds. */
const NINETEEN = "four five three eight nine nine zero zero six one four seven zero seven six eight two zero zero";

for (const [what, heard, followed, isTaken] of [
  ["both hear is taken", { first: SIXTEEN, second: { [SIXTEEN]: -5 } }, SIXTEEN, true],
  [
    "only the second recogniser hears is taken",
    { first: NO_CARD, other: SIXTEEN, lead: 50, second: { [SIXTEEN]: -5, [NO_CARD]: -9 } },
    NO_CARD,
    true,
  ],
  [
    "is nearly as likely as digits that are no card's is asked again",
    { first: SIXTEEN, other: NO_CARD, lead: 50, second: { [SIXTEEN]: -9, [NO_CARD]: -1 } },
    SIXTEEN,
    false,
  ],
  [
    "has nineteen digits and is likelier than sixteen of them is taken",
    { first: SIXTEEN, other: NINETEEN, lead: 50, second: { [SIXTEEN]: -12, [NINETEEN]: -3 } },
    NINETEEN,
    true,
  ],
] as const)
  test(`a card number that ${what} (R-229)`, () => {
    const result = understood("number", heard, followed);
    const [likeliest = ""] = Object.entries(heard.second).toSorted(([, a], [, b]) => b - a)[0] ?? [];
    if (isTaken) assert.deepEqual(result, digitsResult(digitsOf(likeliest), true, true));
    else assert.equal(result.kind === "digits" && result.certain, false);
  });

test("no card's number is read with pairs here and digits there: that was misheard (R-229)", () => {
  const uneven = "four five three eight nine ninety six one four seven oh seven six eight oh";
  assert.deepEqual(understood("number", { first: uneven, second: { [uneven]: 0 } }), { kind: "nothing" });
});

for (const [what, followed, lead, isTaken] of [
  ["was heard alike while it was spoken and leads by 220", SIXTEEN, 220, true],
  ["was heard alike and leads by 219", SIXTEEN, 219, false],
  ["was heard otherwise", NO_CARD, Infinity, false],
] as const)
  test(`without the second recogniser a card number that ${what} is ${isTaken ? "taken" : "asked again"} (R-229)`, () => {
    const result = understood("number", { first: SIXTEEN, other: NO_CARD, lead }, followed);
    assert.deepEqual(result, digitsResult(digitsOf(SIXTEEN), true, isTaken));
  });
