import assert from "node:assert/strict";
import test from "node:test";
import { onLine, speechOf } from "./testing.ts";
import { Verifier, toSixteenKilohertz } from "./verification.ts";
import { type AnswerRule, LEAST_SHARE, type Verifying, createVerifier, verifyingBy } from "./verifier-thread.ts";

const CARD: AnswerRule = { lengths: [], isCard: true };
const ZIP: AnswerRule = { lengths: [5, 9], isCard: false };
const words = (text: string) => text.split(" ");
const soundOf = (text: string) => Float32Array.from(onLine(speechOf(text), { beforeMs: 300, afterMs: 300 }), (sample) => sample / 32_768);

const verifier = await Verifier.load();
const verify = async (said: string, heard: string, rule = CARD) =>
  await verifier.verify(await verifier.hear(soundOf(said)), words(heard), rule);

const SAID = "four nine nine nine, one six one four, four nine eight four, eight seven zero nine";
const HEARD = SAID.replaceAll(",", "");

test("words that were said are likely, each of them", async () => {
  const verification = await verify(SAID, HEARD);
  assert.deepEqual(verification?.words, words(HEARD));
  assert.equal(verification.isSame, true);
  assert.ok(verification.least >= LEAST_SHARE);
});

for (const [what, misheard] of [
  ["a word", HEARD.replace("one six", "one three")],
  ["a word that was left out, and another doubled,", HEARD.replace("one six", "six").replace("seven", "seven seven")],
  ["everything from a word on", HEARD.replace(/one four.*/, "one")],
] as const)
  test(`where ${what} was misheard, what was said is heard`, async () => {
    const verification = await verify(SAID, misheard);
    assert.deepEqual(verification?.words, words(HEARD));
    assert.equal(verification.isSame, false);
    assert.ok(verification.least >= LEAST_SHARE);
  });

test("what came before an answer is read, and not judged", async () => {
  const verification = await verify(`um it's ${SAID}`, `um it's ${HEARD}`);
  assert.equal(verification?.isSame, true);
  assert.ok(verification.least >= LEAST_SHARE);
});

test("a command is no code, and a code that goes on is not over", async () => {
  for (const [said, heard] of [
    ["say again please", "six eight nine three five"],
    ["go back", "four two one oh oh"],
    ["nine four one oh five, six seven", "nine four one oh five"],
  ] as const) {
    const verification = await verify(said, heard, ZIP);
    assert.ok(!verification?.isSame || verification.least < LEAST_SHARE, said);
  }
});

test("a word that the second recogniser does not know leaves it without a judgement", async () => {
  assert.equal(await verify("nine four one oh five", "nine four mongoose oh five", ZIP), null);
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
  assert.equal(early.verify(words("two two nine three eight"), ZIP), null, "nobody waits for a thread that has not started");
  await thread.start();
  first.hear(soundOf("two two nine three eight"));
  second.hear(soundOf("six one seven four two"));
  assert.equal(first.verify(words("two two nine three eight"), ZIP)?.isSame, true);
  early.hear(soundOf("two two nine three eight"));
  assert.equal(early.verify(words("two two nine three eight"), ZIP)?.isSame, true);
  assert.equal(second.verify(words("six one seven four two"), ZIP)?.isSame, true);
  await thread.stop();
  assert.equal(first.verify(words("two two nine three eight"), ZIP), null);
  assert.equal(verifyingBy(thread.connect()).verify(words("two two nine three eight"), ZIP), null);
});
