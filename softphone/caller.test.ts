import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintOf, isHeardIn, PromptDetector } from "./prompt-detector.ts";
import { PromptTracker } from "./prompt-tracker.ts";
import { turnsOfDigits, turnsOfScript } from "./script.ts";

/** Audio that no other seed shares. */
function noise(seed: number, length: number): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 16) & 0xff;
  });
}

test("a known prompt is heard once each time it is played, however the packets cut it", () => {
  const heard: string[] = [];
  const known = [...fingerprintOf("first", true, noise(1, 4000)), ...fingerprintOf("second", false, noise(2, 4000))];
  const detector = new PromptDetector(known, ({ text }) => heard.push(text));
  const stream = Buffer.concat([new Uint8Array(777).fill(0xff), noise(2, 4000), noise(9, 500), noise(1, 4000), noise(2, 4000)]);
  for (let at = 0; at < stream.length; at += 160) detector.push(stream.subarray(at, at + 160));
  assert.deepEqual(heard, ["second", "first", "second"]);
});

test("a prompt is heard when the packets with the words that tell it apart are lost in one place", () => {
  const prompt = noise(1, 16_000);
  for (const lost of [0, 3200, 4800, 8000]) {
    const heard: string[] = [];
    const detector = new PromptDetector(fingerprintOf("first", true, prompt), ({ text }) => heard.push(text));
    const stream = Buffer.concat([prompt.subarray(0, lost), prompt.subarray(lost + 800), prompt]);
    for (let at = 0; at < stream.length; at += 160) detector.push(stream.subarray(at, at + 160));
    assert.deepEqual(heard, ["first", "first"], `without ${lost} to ${lost + 800}`);
  }
});

test("an amount is heard when every word of its sentence behind the first ones is, and no other amount is", () => {
  const [begins, dollars, otherDollars, cents] = [noise(1, 4000), noise(2, 4000), noise(3, 4000), noise(4, 4000)];
  const heard = Buffer.concat([noise(9, 777), begins.subarray(900), dollars, cents, noise(9, 500)]);
  assert.equal(isHeardIn(heard, Buffer.concat([begins, dollars, cents])), true);
  assert.equal(isHeardIn(heard, Buffer.concat([begins, otherDollars, cents])), false);
});

test("a sentence of which a packet was lost is heard; one without a word of it is not", () => {
  const sentence = noise(1, 16_000);
  const without = (bytes: number) =>
    Buffer.concat([noise(9, 777), sentence.subarray(0, 7000), noise(8, 160), sentence.subarray(7000 + bytes)]);
  assert.equal(isHeardIn(without(160), sentence), true);
  assert.equal(isHeardIn(without(320), sentence), true);
  assert.equal(isHeardIn(without(1600), sentence), false);
  assert.equal(isHeardIn(new Uint8Array(16_000).fill(0xff), sentence.subarray(0, 480)), false);
});

test("a question that is asked again is told from the next one, and from what is said in between", async () => {
  const [question, note, next] = [noise(1, 4000), noise(2, 4000), noise(3, 4000)];
  const known = [
    ...fingerprintOf("Card number?", true, question),
    ...fingerprintOf("Not heard.", false, note),
    ...fingerprintOf("Expiry date?", true, next),
  ];
  const tracker = new PromptTracker(known, () => {});
  const isAsked = () => tracker.isAskedSinceMark("card number");
  tracker.push(question);
  await tracker.untilHeard("card number");
  tracker.mark();
  assert.equal(isAsked(), false);
  const spokenTo = tracker.untilSpokenTo();
  tracker.push(note);
  await spokenTo;
  assert.equal(isAsked(), false);
  const asked = tracker.untilAsked();
  tracker.push(question);
  await asked;
  assert.equal(isAsked(), true);
  tracker.mark();
  tracker.push(next);
  await tracker.untilAsked();
  assert.equal(isAsked(), false);
});

test("groups of digits are keyed one a prompt, apart by # or a comma", () => {
  const keyed = (digits: string) => turnsOfDigits(digits).flatMap((turn) => (turn.do === "dtmf" ? [turn.digits] : []));
  assert.deepEqual(keyed("4242#1#0330#123#94105#"), ["4242#", "1#", "0330#", "123#", "94105#"]);
  assert.deepEqual(keyed("4242, 1 0330"), ["4242", "1", "0330"]);
  assert.throws(() => turnsOfDigits("42a#"), /--digits/);
  assert.throws(() => turnsOfDigits(""), /--digits/);
});

test("a script's faults name their line", () => {
  assert.deepEqual(turnsOfScript("wait card number\n# a remark\nkeys 42#\nsay yes please\nwait 1.5\nhangup\n"), [
    { do: "wait for", text: "card number" },
    { do: "dtmf", digits: "42#" },
    { do: "say", text: "yes please" },
    { do: "wait", seconds: 1.5 },
    { do: "hang up" },
  ]);
  assert.throws(() => turnsOfScript("wait x\nkeyz 1"), /Line 2/);
});
