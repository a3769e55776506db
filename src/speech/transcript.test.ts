import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListenTask, RecognitionResult } from "./recognition-result.ts";
import { understandTranscript, wordsOf } from "./transcript.ts";

type What = ListenTask["what"];

function understand(what: What, text: string, confidence: number | null = null, task: Partial<ListenTask> = {}): RecognitionResult {
  return understandTranscript(wordsOf(text, confidence), { id: 1, what, have: 0, lengths: null, testWord: false, ...task });
}

const digits = (text: string, certain: boolean, final = true): RecognitionResult => ({
  kind: "digits",
  digits: Uint8Array.from(text, Number),
  final,
  certain,
});

test("words come in any spelling: capitals, punctuation, digits, apostrophes, marks", () => {
  assert.deepEqual(
    wordsOf("It’s FORTY-two, 4242 [unk] <noise>!", 0.5).map(({ word }) => word),
    ["it's", "forty", "two", "four", "two", "four", "two", "[unk]", "<noise>"],
  );
});

test("a card number counts by its check digit, and is asked again without", () => {
  const spoken = "four two four two four two four two four two four two four two four two";
  assert.deepEqual(understand("number", spoken), digits("4242424242424242", true));
  assert.deepEqual(understand("number", "um my card number is 4242 4242 4242 4242", 0.9), digits("4242424242424242", true));
  assert.deepEqual(understand("number", "4242 4242 4242 4243"), digits("4242424242424243", false));
  assert.deepEqual(understand("number", "4242 4242 4242 4242", 0.3), digits("4242424242424242", false));
  assert.deepEqual(understand("number", "3056 930902 5904"), digits("30569309025904", true), "Diners");
});

test("digits that were written as other words are taken for a number, which has a check digit, and for no code", () => {
  assert.deepEqual(
    understand("number", "for to for too for two for two forty two for to for two for two"),
    digits("4242424242424242", true),
  );
  assert.deepEqual(understand("cvv", "one to three"), digits("123", false));
  assert.deepEqual(understand("cvv", "one to three", 0.95), digits("123", true));
});

test("a number is read group by group, and checked when it is all there", () => {
  assert.deepEqual(understand("number", "four two four two"), digits("4242", true, false));
  assert.deepEqual(understand("number", "four two four two", null, { have: 12 }), digits("4242", true));
  assert.deepEqual(understand("number", "four two four two", null, { have: 8 }), digits("4242", true, false));
});

test("codes and dates count when the recogniser is sure of each word", () => {
  assert.deepEqual(understand("cvv", "it's one two three", 0.95), digits("123", true));
  assert.deepEqual(understand("cvv", "it's one two three", 0.8), digits("123", false));
  assert.deepEqual(understand("zip", "nine four one oh five", 0.95, { lengths: [5] }), digits("94105", true));
  assert.deepEqual(understand("zip", "nine four", 0.95, { lengths: [5] }), digits("94", true, false));
  assert.deepEqual(understand("zip", "nine four one oh five six", 0.95, { lengths: [5] }), digits("941056", false));
  assert.deepEqual(understand("expiry", "it expires in march twenty thirty", 0.95), {
    kind: "expiry",
    month: 3,
    year: 2030,
    certain: true,
  });
  assert.deepEqual(understand("expiry", "12/30", 0.5), { kind: "expiry", month: 12, year: 2030, certain: false });
});

test("a recogniser that does not say how sure it is must have heard nothing but the answer", () => {
  assert.deepEqual(understand("cvv", "one two three"), digits("123", true));
  assert.deepEqual(understand("cvv", "it's one two three"), digits("123", false));
  assert.deepEqual(understand("expiry", "march twenty thirty"), { kind: "expiry", month: 3, year: 2030, certain: true });
  assert.deepEqual(understand("expiry", "sorry march twenty thirty"), { kind: "expiry", month: 3, year: 2030, certain: false });
  assert.deepEqual(understand("zip", "call nine four one oh five"), { kind: "nothing" });
});

test("nothing but a transcript that is a yes from end to end confirms a card (R-441)", () => {
  for (const text of ["yes that's right", "Yes, please.", "YEAH THAT'S CORRECT", "yes I agree"])
    assert.deepEqual(understand("yes_no", text), { kind: "yes" }, text);
  for (const text of ["no that's wrong", "No, thank you."]) assert.deepEqual(understand("yes_no", text), { kind: "no" }, text);
  const others = [
    "yes but",
    "is that right",
    "that's right",
    "okay",
    "sure",
    "yes that's wrong",
    "yes that's right my love",
    "yeah no",
    "one",
    "1",
    "",
  ];
  for (const text of [...others, "yes [unk]", "i said yes", "four two four two"])
    for (const confidence of [null, 1]) assert.deepEqual(understand("yes_no", text, confidence), { kind: "nothing" }, text);
});

test("a doubtful yes is none, and a lone one needs a recogniser that is sure of it (R-441)", () => {
  assert.deepEqual(understand("yes_no", "yes that's right", 0.85), { kind: "nothing" });
  assert.deepEqual(understand("yes_no", "yes"), { kind: "nothing" });
  assert.deepEqual(understand("yes_no", "yes", 0.85), { kind: "nothing" });
  assert.deepEqual(understand("yes_no", "yes", 0.97), { kind: "yes" });
});

test("one doubtful word is enough for doubt", () => {
  const heard = [...wordsOf("yes that's", 0.99), ...wordsOf("right", 0.4)];
  assert.deepEqual(understandTranscript(heard, { id: 1, what: "yes_no", have: 0, lengths: null, testWord: false }), { kind: "nothing" });
});

test("a name is two to five words of letters, in capitals without accents; with confidence the recogniser is sure of each", () => {
  const name = (text: string, certain = true): RecognitionResult => ({ kind: "name", name: text, certain });
  assert.deepEqual(understand("name", "José O’Brien-Smith", 0.95), name("JOSE O'BRIEN SMITH"));
  assert.deepEqual(understand("name", "it's Ada Byron."), name("ADA BYRON"));
  assert.deepEqual(understand("name", "my name is john q smith"), name("JOHN Q SMITH"));
  assert.deepEqual(understand("name", "ada byron", 0.6), name("ADA BYRON", false));
});

test("digits, commands, marks and letters said one by one are no name, and neither is what is too short or too long", () => {
  const others = [
    "john four two",
    "john 42",
    "ada operator",
    "john cancel",
    "go back john",
    "john [unk]",
    "j o h n",
    "ada",
    "Иван Петров",
    "",
  ];
  for (const text of [...others, "one of them said so yesterday", "what did he say about this"])
    assert.deepEqual(understand("name", text, 1), { kind: "nothing" }, text);
  assert.deepEqual(understand("name", "operator"), { kind: "command", command: "operator" });
  assert.deepEqual(understand("name", "help, please"), { kind: "command", command: "help" });
  assert.deepEqual(understand("zip", "ada byron"), { kind: "nothing" });
});

test("commands and the test word are heard at any question, the test word as a whole word and with a test key alone (R-232, R-233)", () => {
  assert.deepEqual(understand("number", "help, please"), { kind: "command", command: "help" });
  assert.deepEqual(understand("yes_no", "cancel"), { kind: "command", command: "cancel" });
  assert.deepEqual(understand("number", "please cancel my other order"), { kind: "nothing" });
  assert.deepEqual(understand("expiry", "Mango, please!", null, { testWord: true }), { kind: "test_word" });
  assert.deepEqual(understand("expiry", "mangoes", null, { testWord: true }), { kind: "nothing" });
  assert.deepEqual(understand("expiry", "mango"), { kind: "nothing" });
});
