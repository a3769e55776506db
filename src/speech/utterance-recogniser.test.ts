import assert from "node:assert/strict";
import test, { after } from "node:test";
import { ULAW_SILENCE } from "#src/kernel/g711.ts";
import { SPEAKERS } from "../../test/answer-samples.ts";
import { type Decoder, loadDecoders } from "./decoder.ts";
import { createVerifier, verifyingBy } from "./verifier-thread.ts";
import { UtteranceRecogniser } from "./utterance-recogniser.ts";
import type { RecognitionResult, ListenFor } from "./recognition-result.ts";
import { type Speaking, busyTone, framesOf, melody, onLine, tones, utteranceOf } from "./testing.ts";

const verifier = createVerifier();
after(() => verifier.stop());
await verifier.start();
const decoders = await loadDecoders(verifyingBy(verifier.connect()));

interface Listening extends Speaking {
  have?: number;
  lengths?: readonly number[] | null;
  testWord?: boolean;
}

/** What one caller's recogniser makes of `texts`, spoken one after the other to the same question. */
function recognise(
  what: ListenFor,
  texts: string | readonly string[],
  { have = 0, lengths = null, testWord = false, ...speaking }: Listening = {},
): RecognitionResult[] {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  recogniser.listenFor({ id: 1, what, have, lengths, testWord });
  for (const text of [texts].flat()) for (const frame of framesOf(utteranceOf(text, speaking))) recogniser.push(frame);
  // Leaves no utterance begun in the decoders that all tests share.
  recogniser.listenFor(null);
  return results;
}

const digits = (text: string, rest: { final: boolean; certain: boolean }) => ({
  kind: "digits",
  digits: Uint8Array.from(text, Number),
  ...rest,
});
const WHOLE = { final: true, certain: true };

test("a card number spoken in groups is heard exactly (R-229)", () => {
  assert.deepEqual(recognise("number", "four two four two, four two four two, four two four two, four two four two"), [
    digits("4242424242424242", WHOLE),
  ]);
});

test("at the name commands are heard, and nothing else: no model knows names", () => {
  assert.deepEqual(recognise("name", "operator"), [{ kind: "command", command: "operator" }]);
  for (const other of ["ada byron", "four two four two"]) assert.deepEqual(recognise("name", other), [{ kind: "nothing" }], other);
});

test("a fifteen digit number is heard exactly", () => {
  const spoken = "three seven one four, four nine six three five three, nine eight four three one";
  assert.deepEqual(recognise("number", spoken, { voice: "rms" }), [digits("371449635398431", WHOLE)]);
});

test("a number that was followed with a digit too many counts where the caller's own voice and a smaller person's hear it and no other is as likely (R-229)", () => {
  const groups = "six five four three, four three seven three, six three one oh, three two oh six";
  const leadIn = "the number is six five one six, three two six six, seven eight five nine, one four six five";
  const around = { beforeMs: 1_500, afterMs: 3_000 };
  assert.deepEqual(recognise("number", groups, { ...SPEAKERS[8], ...around }), [digits("6543437363103206", WHOLE)]);
  assert.deepEqual(recognise("number", leadIn, { ...SPEAKERS[9], ...around }), [digits("6516326678591465", WHOLE)]);
});

test("a number that begins as those of fifteen digits do is not heard as one of sixteen (R-229)", () => {
  const spoken = "the number is three four nine eight, four seven eight five nine zero, one one eight nine six";
  assert.deepEqual(recognise("number", spoken, { ...SPEAKERS[8], beforeMs: 1_500, afterMs: 3_000 }), [digits("349847859011896", WHOLE)]);
});

test("two-digit groups and doubles are heard as the digits they stand for", () => {
  assert.deepEqual(recognise("number", "fifty four twelve, ninety seven forty four, forty two eighty seven, forty five seventy one"), [
    digits("5412974442874571", WHOLE),
  ]);
});

for (const spoken of [
  "four two four two, four two four two, four two four two, four two four three",
  "four zero zero zero, zero zero zero zero, zero zero zero zero, zero zero zero three",
  "five five five five, five five five five, five five five five, four four four nine",
]) {
  test(`a spoken number that fails Luhn is never certain: ${spoken}`, () => {
    const results = recognise("number", spoken);
    assert.equal(results.length, 1);
    assert.ok(results.every((result) => result.kind === "nothing" || (result.kind === "digits" && !result.certain)));
  });
}

test("a number that has to be asked for again is answered as soon as one that is taken", () => {
  const results = recognise("number", "four two four two, four two four two, four two four two, four two four three", { afterMs: 700 });
  assert.deepEqual(
    results.map((result) => result.kind === "digits" && { final: result.final, certain: result.certain }),
    [{ final: true, certain: false }],
  );
});

test("a pause after which digits are missing starts no decoding, which would delay the one that counts", () => {
  let decodings = 0;
  const scoring: Decoder = { ...decoders.scoring, score: (samples) => (decodings++, decoders.scoring.score(samples)) };
  const recogniser = new UtteranceRecogniser({ ...decoders, scoring, onResult: () => assert.fail("the answer goes on") });
  recogniser.listenFor({ id: 1, what: "zip", have: 0, lengths: [5], testWord: false });
  for (const frame of framesOf(utteranceOf("nine four", { afterMs: 400 }))) recogniser.push(frame);
  recogniser.listenFor(null);
  assert.equal(decodings, 0);
});

test("the grammar of an answer is taken up while the caller speaks, and not at the pause that it is decoded at", () => {
  const frames = framesOf(utteranceOf("four two four two four two four two", { afterMs: 0 }));
  for (const what of ["number", "expiry", "zip"] as const) {
    let taken = 0;
    const [batch, scoring] = [decoders.batch, decoders.scoring].map((decoder): Decoder => ({ ...decoder, use: () => taken++ }));
    const recogniser = new UtteranceRecogniser({ ...decoders, ...(batch && scoring && { batch, scoring }), onResult: () => {} });
    recogniser.listenFor({ id: 1, what, have: 0, lengths: null, testWord: false });
    for (const frame of frames) recogniser.push(frame);
    recogniser.listenFor(null);
    assert.equal(taken, 1, what);
  }
});

test("a decoding of a pause is given up once the caller is heard to speak on: it would delay the one that counts", () => {
  const begun = framesOf(utteranceOf("four two four two, four two four two, four two four two, four two"));
  const paused = begun.findLastIndex(({ speech }) => speech) + 12;
  const rest = framesOf(utteranceOf("four two"));
  const frames = [...begun.slice(0, paused), ...rest.slice(rest.findIndex(({ speech }) => speech))];
  const heard = (isAhead: boolean) => {
    let at = 0;
    const decodings: number[] = [];
    const results: RecognitionResult[] = [];
    const batch: Decoder = { ...decoders.batch, score: (samples) => (decodings.push(at), decoders.batch.score(samples)) };
    const framesAhead = (count: number) => (isAhead ? frames.slice(at, at + count) : []);
    const recogniser = new UtteranceRecogniser({ ...decoders, batch, framesAhead, onResult: (result) => results.push(result) });
    recogniser.listenFor({ id: 1, what: "number", have: 0, lengths: null, testWord: false });
    for (const frame of frames) {
      at++;
      recogniser.push(frame);
    }
    recogniser.listenFor(null);
    return { results, isPauseDecoded: decodings.some((each) => each <= paused) };
  };
  const results = [digits("4242424242424242", WHOLE)];
  assert.deepEqual(heard(false), { results, isPauseDecoded: true });
  assert.deepEqual(heard(true), { results, isPauseDecoded: false });
});

test("a part of a number is reported as a part", () => {
  assert.deepEqual(recognise("number", "four two four two four two", { afterMs: 2_200 }), [
    digits("424242", { final: false, certain: true }),
  ]);
});

test("after a part the rest is heard by its own length, keyed and spoken digits together make a whole", () => {
  assert.deepEqual(recognise("number", "four two four two, four two four two, four two", { have: 6 }), [digits("4242424242", WHOLE)]);
});

test("words before an answer are passed over, and a caller who starts over means what follows (R-229)", () => {
  assert.deepEqual(recognise("number", "my number is four two four two, four two four two, four two four two, four two four two"), [
    digits("4242424242424242", WHOLE),
  ]);
  assert.deepEqual(recognise("zip", "it's nine four one oh five", { lengths: [5] }), [digits("94105", WHOLE)]);
  assert.deepEqual(recognise("cvv", "seven three two no wait seven three nine", { lengths: [3] }), [digits("739", WHOLE)]);
  assert.deepEqual(recognise("expiry", "it's march twenty thirty"), [{ kind: "expiry", month: 3, year: 2030, certain: true }]);
});

test("a code broken off after two digits is not made three by the end of its last word", () => {
  const speaking = { lengths: [3], voice: "awb", stretch: 1.1, beforeMs: 0, afterMs: 450 } as const;
  assert.deepEqual(recognise("cvv", ["one zero", "sorry", "one two seven"], speaking), [digits("127", WHOLE)]);
});

test("a code said with a pause of a second and a half in it is one answer", () => {
  assert.deepEqual(recognise("zip", ["nine four one", "oh five"], { lengths: [5], beforeMs: 0, afterMs: 1_500 }).slice(0, 1), [
    digits("94105", WHOLE),
  ]);
});

test("speech that a key came into is forgotten: its digits would land behind those keyed after them", () => {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  const task = { id: 1, what: "zip", have: 0, lengths: [5], testWord: false } as const;
  recogniser.listenFor(task);
  for (const frame of framesOf(utteranceOf("nine four one", { afterMs: 1_000 }))) recogniser.push(frame);
  recogniser.listenFor({ ...task, id: 2, have: 1 });
  for (const { frame } of framesOf(utteranceOf("nine", { afterMs: 2_500 }))) recogniser.push({ frame, speech: false });
  recogniser.listenFor(null);
  assert.deepEqual(results, []);
});

test("a month said digit by digit is not taken for its first digit (R-229)", () => {
  for (const [spoken, month, year] of [
    ["one oh two zero three three", 10, 2033],
    ["one oh two nine", 10, 2029],
    ["one oh two zero three one", 10, 2031],
  ] as const) {
    const results = recognise("expiry", spoken, { ...SPEAKERS[0], beforeMs: 1_500, afterMs: 3_000 });
    const wrong = results.filter(
      (result) => result.kind === "expiry" && result.certain && (result.month !== month || result.year !== year),
    );
    assert.deepEqual(wrong, [], spoken);
  }
});

test("the beginning of an expiry date is not heard as a whole one (R-229)", () => {
  for (const spoken of ["august twenty", "august twenty twenty", "three slash twenty", "one oh two zero three", "ten two zero"])
    assert.deepEqual(recognise("expiry", spoken, { ...SPEAKERS[1], beforeMs: 1_500, afterMs: 3_000 }), [{ kind: "nothing" }], spoken);
});

test("an expiry date said with a pause of a second and a half before the year's last word is one answer", () => {
  const heard = recognise("expiry", ["august twenty", "thirty one"], { ...SPEAKERS[1], beforeMs: 0, afterMs: 1_500 });
  assert.deepEqual(heard.slice(0, 1), [{ kind: "expiry", month: 8, year: 2031, certain: true }]);
});

test("an expiry date after other words is certain only where it is right", () => {
  const results = recognise("expiry", "it expires in march twenty thirty");
  assert.ok(results.every((result) => result.kind !== "expiry" || !result.certain || (result.month === 3 && result.year === 2030)));
});

for (const [spoken, month, year] of [
  ["oh three thirty", 3, 2030],
  ["march twenty thirty", 3, 2030],
  ["three slash thirty", 3, 2030],
  ["zero three two zero three zero", 3, 2030],
  ["december twenty twenty nine", 12, 2029],
] as const) {
  test(`the expiry date "${spoken}" is heard (R-229)`, () => {
    assert.deepEqual(recognise("expiry", spoken), [{ kind: "expiry", month, year, certain: true }]);
  });
}

test("security codes of three and four digits are heard", () => {
  assert.deepEqual(recognise("cvv", "seven three nine"), [digits("739", WHOLE)]);
  assert.deepEqual(recognise("cvv", "seven three five six"), [digits("7356", WHOLE)]);
});

test("a ZIP code is heard", () => {
  assert.deepEqual(recognise("zip", "nine four one oh five"), [digits("94105", WHOLE)]);
});

test('an "oh" before another digit is judged by what follows it, not as the last word (R-229)', () => {
  assert.deepEqual(recognise("cvv", "six six oh three", { ...SPEAKERS[5], lengths: [4] }), [digits("6603", WHOLE)]);
});

test('"oh oh" is two digits, and not a long one (R-229)', () => {
  for (const speaking of [SPEAKERS[3], SPEAKERS[4], SPEAKERS[9]])
    assert.deepEqual(
      recognise("cvv", "one oh oh five", { ...speaking, lengths: [4] }).map((result) => result.kind === "digits" && result.digits.join("")),
      ["1005"],
    );
});

test('a long "zero" is one digit, and no "zero oh" that makes a whole code of a broken-off one (R-229)', () => {
  const results = recognise("cvv", "zero seven two", { ...SPEAKERS[2], lengths: [4], beforeMs: 1_500, afterMs: 500 });
  assert.ok(results.every((result) => result.kind !== "digits" || !result.certain));
});

test('a code that begins with "oh" is not one after "so" (R-229)', () => {
  for (const speaking of [SPEAKERS[1], SPEAKERS[3], SPEAKERS[7]])
    assert.deepEqual(recognise("cvv", "oh seven two", { ...speaking, lengths: [3] }), [digits("072", WHOLE)]);
});

test('a ZIP code after "so" has no zero for it (R-229)', () => {
  for (const speaking of [SPEAKERS[1], SPEAKERS[4], SPEAKERS[7]])
    for (const result of recognise("zip", "so nine four one three five", { ...speaking, lengths: [5] }))
      assert.ok(result.kind !== "digits" || !result.certain || result.digits.join("") === "94135");
});

test("yes and no are heard in the words that the prompt asks for, and half of an answer is none", () => {
  assert.deepEqual(recognise("yes_no", "yes that's right"), [{ kind: "yes" }]);
  assert.deepEqual(recognise("yes_no", "no that's wrong"), [{ kind: "no" }]);
  assert.deepEqual(recognise("yes_no", "that's right"), [{ kind: "nothing" }]);
});

test("the test word is heard at any question, alone or in a short sentence (R-232, R-235)", () => {
  for (const what of ["number", "expiry", "yes_no"] as const)
    assert.deepEqual(recognise(what, "mango", { testWord: true }), [{ kind: "test_word" }], what);
  assert.deepEqual(recognise("number", "mango please", { testWord: true }), [{ kind: "test_word" }]);
});

test('the test word after "it\'s" is no date that sounds like it (R-232)', () => {
  const speaking = { voice: "awb", stretch: 1.1 } as const;
  assert.deepEqual(recognise("expiry", "it's mango", { ...speaking, testWord: true }), [{ kind: "test_word" }]);
  assert.ok(recognise("expiry", "mango", speaking).every(({ kind }) => kind !== "expiry"));
});

test("digits in which the test word is heard are digits (R-232)", () => {
  const speaking = { ...SPEAKERS[4], testWord: true, beforeMs: 1_500, afterMs: 3_000 };
  assert.deepEqual(
    recognise("number", "six five nine oh", speaking).filter(({ kind }) => kind === "test_word"),
    [],
  );
  assert.deepEqual(recognise("cvv", "nine oh one two", { ...speaking, lengths: [4] }), [digits("9012", WHOLE)]);
});

test("a ZIP code with what sounds like the test word in it is a ZIP code (R-232)", () => {
  assert.deepEqual(recognise("zip", "nine oh nine, one one", { ...SPEAKERS[4], lengths: [5], testWord: true }), [digits("90911", WHOLE)]);
});

test("a word between lost or suppressed packets, which are digital silence, is heard", () => {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  recogniser.listenFor({ id: 1, what: "number", have: 0, lengths: null, testWord: true });
  for (const { frame, speech } of framesOf(utteranceOf("mango", { voice: "rms" })))
    recogniser.push({ frame: speech ? frame : frame.fill(ULAW_SILENCE), speech });
  assert.deepEqual(results, [{ kind: "test_word" }]);
});

test("without a test key the test word is nothing special (R-233)", () => {
  assert.ok(recognise("number", "mango").every(({ kind }) => kind !== "test_word"));
});

for (const near of ["mangoes", "mang", "mongoose", "tango", "yes", "four two four"]) {
  test(`"${near}" is not the test word (R-232)`, () => {
    assert.ok(recognise("number", near, { testWord: true }).every(({ kind }) => kind !== "test_word"));
  });
}

test("commands are heard at any question", () => {
  assert.deepEqual(recognise("number", "say it again"), [{ kind: "command", command: "repeat" }]);
  assert.deepEqual(recognise("yes_no", "cancel", { voice: "rms" }), [{ kind: "command", command: "cancel" }]);
});

test("two utterances are two results", () => {
  assert.deepEqual(recognise("yes_no", ["no that's wrong", "yes that's right"]), [{ kind: "no" }, { kind: "yes" }]);
});

test("after a no the number is heard as well as at first", () => {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  for (const [what, text] of [
    ["yes_no", "no that's wrong"],
    ["zip", "nine four one oh five"],
  ] as const) {
    recogniser.listenFor({ id: 1, what, have: 0, lengths: null, testWord: false });
    for (const frame of framesOf(utteranceOf(text))) recogniser.push(frame);
  }
  assert.deepEqual(results, [{ kind: "no" }, digits("94105", WHOLE)]);
});

test("silence, and speech before a question, are not heard", () => {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  for (const frame of framesOf(utteranceOf("yes"))) recogniser.push(frame);
  recogniser.listenFor({ id: 1, what: "yes_no", have: 0, lengths: null, testWord: false });
  for (const { frame } of framesOf(utteranceOf("yes"))) recogniser.push({ frame, speech: false });
  assert.deepEqual(results, []);
});

test("on a noisy line nothing is certain", () => {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  recogniser.listenFor({ id: 1, what: "zip", have: 0, lengths: null, testWord: false });
  const samples = utteranceOf("nine four one oh five");
  const flags = framesOf(samples).map(({ speech }) => speech);
  const hum = Int16Array.from(samples, (sample, at) => sample + Math.round(4_000 * Math.sin(at / 3)));
  for (const [at, { frame }] of framesOf(hum).entries()) recogniser.push({ frame, speech: flags[at] ?? false });
  recogniser.listenFor(null);
  assert.ok(results.every((result) => result.kind !== "digits" || !result.certain));
  assert.equal(results.length, 1);
});

for (const [what, sound] of [
  ["the busy tone", busyTone(3)],
  ["a melody", melody([0, 4, 7, 12, 7, 4, 0], 300)],
  ["a dial tone", tones([{ hertz: [350, 440], onMs: 1_500 }])],
] as const) {
  test(`${what} neither confirms a payment nor refuses it (R-441)`, () => {
    const results: RecognitionResult[] = [];
    const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
    recogniser.listenFor({ id: 1, what: "yes_no", have: 0, lengths: null, testWord: false });
    // Taken for speech, as a voice activity detector may.
    for (const frame of framesOf(onLine(sound))) recogniser.push(frame);
    recogniser.listenFor(null);
    assert.ok(results.every(({ kind }) => kind !== "yes" && kind !== "no"));
  });
}

test("a command at the security code is no code that it sounds like (R-229)", () => {
  for (const speaking of [SPEAKERS[0], SPEAKERS[2], SPEAKERS[5]])
    assert.deepEqual(recognise("cvv", "say again", { ...speaking, lengths: [3] }), [{ kind: "command", command: "repeat" }]);
});

test("what can have nothing behind it is answered 360 ms after its end, what may go on after half a second", () => {
  for (const [what, text, lengths, isAnswered] of [
    ["cvv", "seven three nine", [3], true],
    ["cvv", "seven three nine", [3, 4], false],
    ["zip", "nine four one oh five", [5], true],
    ["zip", "nine four one oh five", [5, 9], false],
    ["number", "four two four two, four two four two, four two four two, four two four two", null, true],
    ["expiry", "march twenty thirty one", null, true],
    ["expiry", "march twenty thirty", null, false],
  ] as const) {
    for (const [afterMs, isHeard] of [
      [340, isAnswered],
      [600, true],
    ] as const)
      assert.equal(recognise(what, text, { lengths, afterMs }).length, isHeard ? 1 : 0, `${what} ${text} ${afterMs}`);
  }
});
