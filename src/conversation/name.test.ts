import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import type { ConversationSetup, Field } from "./contract.ts";
import { APPROVED, MASTERCARD, multiTap, TestCall, VISA } from "./testing.ts";

const COLLECT: readonly Field[] = ["number", "expiry", "cvv", "zip", "name"];
const NAME = "JOHN SMITH";

/** A call that has come to the name. */
const atName = (setup: Partial<ConversationSetup> = {}) =>
  TestCall.answered({ collect: COLLECT, ...setup })
    .keysOnePerPrompt(`${VISA}#`, "0330#", "123#", "94105#")
    .passes(1000);
const namesOf = (call: TestCall) => call.handedOut.map(({ cardholderName }) => cardholderName);

test("the name on the card is spelled on the keypad, read back letter by letter, and goes with the card (R-434)", () => {
  const call = atName();
  assert.deepEqual([call.prompt, call.asks, call.listening?.what], ["ask_name", "name", "name"]);
  assert.match(call.said, /^Now spell the name on the card on your keypad\./);
  call.keys(`${multiTap(NAME)}#`);
  assert.match(call.said, /four two four two The name on it is J O H N space S M I T H Is that right\? .*press three\.$/);
  call.keys("1").paymentResult(APPROVED);
  assert.deepEqual([namesOf(call), call.prompt], [[NAME], "success"]);
  assert.equal(call.isWiped, true);
});

test("a name is asked in its place, and is part of what can be typed ahead", () => {
  const first = TestCall.answered({ collect: ["number", "name", "expiry"] }).keys(`${VISA}#`);
  assert.equal(first.asks, "name");
  const ahead = TestCall.answered({ collect: COLLECT }).keys(`${VISA}#0330#123#94105#${multiTap(NAME)}#1`);
  assert.deepEqual(namesOf(ahead), [NAME]);
});

test("the rest of a longer code before it spells no name", () => {
  const call = TestCall.answered({ collect: COLLECT }).keys(`${VISA}#0330#123#941052236#`).passes(1000);
  assert.equal(call.asks, "name");
  call.keys(`${multiTap("ADA")}#`);
  assert.match(call.said, /The name on it is A D A Is/);
});

test("spaces around a name and between its words count once", () => {
  assert.deepEqual(namesOf(atName().keys(`0${multiTap("ADA   BYRON")}00#1`)), ["ADA BYRON"]);
});

test("a name that is none is asked again with what was wrong, up to the last try", () => {
  const call = atName({ attempts: 3 }).keys("2222#").passes(1000);
  assert.equal(call.prompt, "name_invalid");
  assert.match(call.said, /^That didn't spell a name\. One key was pressed too often\. .*Now spell the name/);
  call.keys("2#").passes(1000);
  assert.equal(call.prompt, "name_length");
  call.keys("#");
  assert.deepEqual([call.prompt, call.closing], ["too_many_tries", "exhausted"]);
});

test("of a name as many letters are taken as in the card form, and no more", () => {
  const letters = "AD".repeat(50);
  assert.deepEqual(namesOf(atName().keys(`${multiTap(letters)}#1`)), [letters]);
  for (const more of ["A", "W".repeat(60)]) {
    const call = atName().keys(`${multiTap(letters + more)}#`);
    assert.deepEqual([call.asks, call.prompt], ["name", "name_length"]);
  }
});

test("no name at all is one that is too short, also before there is a number", () => {
  const call = TestCall.answered({ collect: ["name", "number", "expiry"] }).keys("#");
  assert.deepEqual([call.asks, call.prompt], ["name", "name_length"]);
});

test("the card's own number, keyed once more, is no name: it would tell the number", () => {
  const call = atName().keys(`${VISA}#`);
  assert.deepEqual([call.asks, call.prompt], ["name", "name_invalid"]);
});

test("spelling may take its time, and a pause never ends a name: the caller is told how to (R-441)", () => {
  const call = atName({ timeouts: { firstDigitMs: 10_000, betweenDigitsMs: 2_000 } });
  call.keys(multiTap("JOHN")).passes(9_700);
  assert.equal(call.prompt, "ask_name");
  call.passes(400);
  assert.deepEqual([call.prompt, call.asks], ["name_unended", "name"]);
  call.keys(`${multiTap("S")}1${multiTap("MITH")}#1`);
  assert.deepEqual(namesOf(call), ["JOHNSMITH"]);
});

test("a name that is given up is asked again from its beginning, and then the call ends", () => {
  const call = atName().keys("5666").passes(10_000).listens().passes(10_000);
  assert.deepEqual([call.prompt, call.state.draft.entry.length], ["ask_name", 0]);
  for (let again = 0; again < 4; again++) call.listens().passes(10_000);
  assert.equal(call.closing, "abandoned");
});

test("star clears what was spelled; twice it stops", () => {
  const call = atName()
    .keys("2*")
    .passes(3000)
    .keys(`${multiTap("EVA")}#1`);
  assert.deepEqual(namesOf(call), ["EVA"]);
  assert.equal(atName().keys("2**").prompt, "goodbye");
});

test("at the read-back 3 asks for the name again, 2 for the number, and neither for the other; without a name 3 is no answer", () => {
  const call = atName()
    .keys(`${multiTap("EVE")}#`)
    .passes(1000)
    .keys("3")
    .passes(1000);
  assert.deepEqual([call.prompt, call.asks, call.situation?.error], ["ask_name", "name", "not_confirmed"]);
  call
    .keys(`${multiTap("EVA")}#`)
    .passes(1000)
    .keys("2")
    .passes(1000)
    .keys(`${MASTERCARD}#`);
  assert.match(call.said, /Your Mastercard card ends in .* The name on it is E V A Is/);
  call.keys("1");
  assert.deepEqual(namesOf(call), ["EVA"]);
  assert.equal(TestCall.answered().givesCard().keys("3").prompt, "confirm_unclear");
});

test("another card is asked for its name, a wrong code is not", () => {
  const call = atName().keys(`${multiTap("EVA")}#1`);
  call.paymentResult({ kind: "declined", code: "incorrect_cvc", fix: "cvv", final: false });
  call.keys("321#").passes(1000).keys("1");
  assert.deepEqual(namesOf(call), ["EVA", "EVA"]);
  call.paymentResult({ kind: "declined", code: "card_declined", fix: null, final: false });
  call.keysOnePerPrompt(`${MASTERCARD}#`, "0330#", "123#", "94105#");
  assert.equal(call.asks, "name");
});

test("a recogniser of names takes a spoken one; where none does, speech is answered as what was not understood, and commands are obeyed", () => {
  const spoken = { kind: "name", name: "ADA O'BYRON", certain: true } as const;
  const call = atName({ spokenNames: true });
  assert.match(call.said, /^Now say the name on the card, or spell it/);
  call.recognises(spoken);
  assert.match(call.said, /A D A space O apostrophe B Y R O N Is that right/);
  call.recognises({ kind: "yes" });
  assert.deepEqual(namesOf(call), ["ADA O'BYRON"]);

  const embedded = atName().recognises({ kind: "nothing" });
  assert.equal(embedded.prompt, "not_heard");
  assert.equal(embedded.recognises({ kind: "nothing" }).prompt, "use_keypad");
  assert.equal(atName().says("operator").prompt, "goodbye");
  assert.equal(atName().says("back").asks, "zip");
});

test("no digits, no doubtful name and no name at another question are one, and none disturbs who is spelling", () => {
  const name = { kind: "name", name: "ADA BYRON", certain: true } as const;
  assert.equal(atName({ spokenNames: true }).saysDigits("23202").prompt, "not_heard");
  assert.equal(atName({ spokenNames: true }).recognises({ ...name, certain: false }).prompt, "not_heard");
  for (const other of ["A", "Ada", "4242 4242", "ADA 4"])
    assert.equal(atName({ spokenNames: true }).recognises({ ...name, name: other }).prompt, "not_heard");
  assert.equal(TestCall.answered({ collect: COLLECT, spokenNames: true }).recognises(name).prompt, "not_heard");
  const spelling = atName({ spokenNames: true }).keys("33").recognises(name).keys("8882#1");
  assert.deepEqual(namesOf(spelling), ["EVA"]);
});

test("the conversation's state shows no name", () => {
  const call = atName().keys(`${multiTap(NAME)}#`);
  assert.doesNotMatch(inspect(call.state, { depth: 9 }) + JSON.stringify(call.state), /JOHN|SMITH/);
});

test("the amount is read back to whoever was told of it in part, also when the call said something else since", () => {
  const call = TestCall.answered({ collect: ["number", "expiry"] })
    .keys("4*")
    .listens();
  call.keys(`${VISA}#`).passes(1000).keys("0330#");
  assert.match(call.said, /^You're paying forty nine dollars/);
});
