import assert from "node:assert/strict";
import test from "node:test";
import { onLine, speechOf } from "./testing.ts";
import { Verifier, toSixteenKilohertz } from "./verification.ts";
import { type AnswerRule, type Verifying, createVerifier, verifyingBy } from "./verifier-thread.ts";

const CARD: AnswerRule = { what: "card" };
const ZIP: AnswerRule = { what: "digits", lengths: [5, 9] };
const DATE: AnswerRule = { what: "date" };
const words = (text: string) => text.split(" ");
const soundOf = (text: string) => Float32Array.from(onLine(speechOf(text), { beforeMs: 300, afterMs: 300 }), (sample) => sample / 32_768);

const verifier = await Verifier.load();

/** What the second recogniser holds texts for when `said` was spoken and `heard` is asked about. */
async function weigh(said: string, heard: string, rule: AnswerRule): Promise<Map<string, number>> {
  const weighed = await verifier.weigh(await verifier.hear(soundOf(said)), { words: words(heard), rule });
  return new Map(weighed.map(({ words: text, likelihood }) => [text.join(" "), likelihood]));
}
const likeliest = (weighed: ReadonlyMap<string, number>) => [...weighed].toSorted(([, a], [, b]) => b - a)[0]?.[0];

const SAID = "four nine nine nine, one six one four, four nine eight four, eight seven zero nine";
const HEARD = SAID.replaceAll(",", "");

for (const [said, rule] of [
  [SAID, CARD],
  ["six one seven four two", ZIP],
  ["march twenty twenty nine", DATE],
  ["zero eight thirty one", DATE],
  ["ten slash twenty eight", DATE],
] as const)
  test(`"${said}" is likely where it was said, what came before it aside`, async () => {
    const heard = said.replaceAll(",", "");
    for (const lead of ["", "um it's "]) assert.ok((await weigh(lead + said, lead + heard, rule)).get(lead + heard)! > -2, lead);
  });

for (const [what, misheard] of [
  ["a word", HEARD.replace("one six", "one three")],
  ["a word that was left out, and another doubled,", HEARD.replace("one six", "six").replace("seven", "seven seven")],
  ["everything from a word on", HEARD.replace(/one four.*/, "one")],
] as const)
  test(`where ${what} was misheard, what was said is heard`, async () => {
    const weighed = await weigh(SAID, misheard, CARD);
    assert.equal(likeliest(weighed), HEARD);
    assert.ok(weighed.get(HEARD)! > (weighed.get(misheard) ?? -Infinity) + 3);
  });

test("a date's misheard month and year are heard as they were said", async () => {
  assert.equal(likeliest(await weigh("june twenty thirty four", "june twenty thirty", DATE)), "june twenty thirty four");
  assert.equal(likeliest(await weigh("march thirty", "may thirty", DATE)), "march thirty");
});

test("what sounds like a pair of digits is weighed beside it", async () => {
  assert.ok((await weigh("zero forty six seventeen", "zero forty six seventeen", ZIP)).has("zero forty six seventy"));
});

test("a command is no code, and a code that goes on is not over", async () => {
  for (const [said, heard] of [
    ["say again please", "six eight nine three five"],
    ["go back", "four two one oh oh"],
    ["nine four one oh five, six seven", "nine four one oh five"],
  ] as const)
    assert.ok((await weigh(said, heard, ZIP)).get(heard)! < -5, said);
});

test("a text with a word that the second recogniser does not know is left out", async () => {
  assert.deepEqual(await weigh("nine four one oh five", "nine four mongoose oh five", ZIP), new Map());
});

test("a tone keeps its pitch and its form at twice the rate", () => {
  const tone = (rate: number, length: number) =>
    Float32Array.from({ length }, (_, at) => 0.7 * Math.sin((2 * Math.PI * 1_000 * at) / rate));
  const doubled = toSixteenKilohertz(tone(8_000, 800));
  const expected = tone(16_000, 1_600);
  for (let at = 100; at < 1_500; at++) assert.ok(Math.abs((doubled[at] ?? 0) - (expected[at] ?? 0)) < 0.01);
});

test("calls share the thread and have each its own utterance; once it has ended, nobody waits for it", async (context) => {
  const thread = createVerifier();
  context.after(() => thread.stop());
  const [early, first, second] = [thread, thread, thread].map((each) => verifyingBy(each.connect())) as [Verifying, Verifying, Verifying];
  early.hear(soundOf("two two nine three eight"));
  const [one, other] = ["two two nine three eight", "six one seven four two"] as const;
  const isLikely = (verifying: Verifying, text: string) =>
    verifying
      .weigh({ words: words(text), rule: ZIP })()
      ?.some((weighed) => weighed.words.join(" ") === text && weighed.likelihood > -3) ?? null;
  assert.equal(isLikely(early, one), null, "nobody waits for a thread that has not started");
  await thread.start();
  first.hear(soundOf("two two nine three eight"));
  second.hear(soundOf("six one seven four two"));
  assert.deepEqual([isLikely(first, one), isLikely(first, other)], [true, false]);
  early.hear(soundOf("two two nine three eight"));
  assert.equal(isLikely(early, one), true);
  assert.deepEqual([isLikely(second, one), isLikely(second, other)], [false, true]);
  await thread.stop();
  assert.equal(isLikely(first, one), null);
  assert.equal(isLikely(verifyingBy(thread.connect()), one), null);
});

test("what was asked about an utterance is not answered any more once its caller has spoken on", async (context) => {
  const thread = createVerifier();
  context.after(() => thread.stop());
  const caller = verifyingBy(thread.connect());
  await thread.start();
  const text = "two two nine three eight";
  const ask = () => caller.weigh({ words: words(text), rule: ZIP });
  caller.hear(soundOf(text));
  const [before, alike] = [ask(), ask()];
  caller.hear(soundOf(text));
  const after = ask();
  assert.deepEqual([before(), alike()], [null, null]);
  assert.ok(after());
});
