import assert from "node:assert/strict";
import { test } from "node:test";
import { DECLINES } from "#src/kernel/payment.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { RecognitionResult } from "#src/kernel/recognition.ts";
import type { Field, PromptName } from "./contract.ts";
import { EN_US } from "./languages/en-US.ts";
import type { FaultName } from "./languages/language.ts";
import { APPROVED, AMEX, MASTERCARD, TestCall, VISA } from "./testing.ts";

const spoken = (digits: string): RecognitionResult => ({
  kind: "digits",
  digits: Uint8Array.from(digits, Number),
  final: true,
  certain: true,
});

/** What each fault is begun with; dates are those of the tables below. */
const spokenFault: Record<FaultName, string> = { ...EN_US.sentences, expiry_past: "" };

const FAULTY: readonly { before: string; keys: string; fault: FaultName }[] = [
  { before: "", keys: "42424242#", fault: "number_length" },
  { before: "", keys: "#", fault: "number_length" },
  { before: "", keys: "4242424242424241#", fault: "number_invalid" },
  { before: "", keys: "5555555555554443", fault: "number_invalid" },
  { before: "", keys: "7000000000000005#", fault: "number_not_accepted" },
  { before: `${VISA}#`, keys: "1330", fault: "expiry_invalid" },
  { before: `${VISA}#`, keys: "0030", fault: "expiry_invalid" },
  { before: `${VISA}#`, keys: "33#", fault: "expiry_invalid" },
  { before: `${VISA}#`, keys: "0227", fault: "expiry_past" },
  { before: `${VISA}#`, keys: "0320#", fault: "expiry_past" },
  { before: `${VISA}#0330#`, keys: "12#", fault: "cvv_length" },
  { before: `${AMEX}#0330#`, keys: "123#", fault: "cvv_length" },
  { before: `${VISA}#0330#123#`, keys: "9410#", fault: "zip_length" },
  { before: `${VISA}#0330#123#94105#`, keys: "7", fault: "confirm_unclear" },
  { before: `${VISA}#0330#123#94105#`, keys: "#", fault: "confirm_unclear" },
];

for (const { before, keys, fault } of FAULTY) {
  test(`${before}${keys} is answered by ${fault}, that question alone is asked again, and the third time ends the call`, () => {
    const call = TestCall.answered().keys(before).passes(1000);
    const asked = call.asks;
    const kept = before.split("#").length - 1;
    call.keys(keys);
    assert.equal(call.prompt, fault);
    assert.equal(call.said.startsWith(spokenFault[fault]), true);
    assert.equal(call.asks, asked);
    assert.equal(call.state.questions.indexOf(call.state.asks), kept);
    call.passes(1000).keys(keys).passes(1000);
    assert.equal(call.prompt, fault);
    call.keys(keys);
    assert.equal(call.prompt, "too_many_tries");
    assert.equal(call.isWiped, true);
    assert.equal(call.listens().finished, "exhausted");
    assert.deepEqual(call.charged, []);
  });
}

/** Spoken answers that do not fit, each with the keys before it. The recogniser may be wrong about all of them. */
const UNFIT: readonly { before: string; says: RecognitionResult; fault: FaultName }[] = [
  { before: "", says: spoken("4242424242424241"), fault: "number_invalid" },
  { before: "", says: spoken("62123456789000000037"), fault: "number_length" },
  { before: "", says: spoken("7000000000000005"), fault: "number_not_accepted" },
  { before: `${VISA}#`, says: { kind: "expiry", month: 2, year: 27, certain: true }, fault: "expiry_past" },
  { before: `${VISA}#`, says: { kind: "expiry", month: 13, year: 30, certain: true }, fault: "expiry_invalid" },
  { before: `${VISA}#0330#`, says: spoken("1234"), fault: "cvv_length" },
  { before: `${AMEX}#0330#`, says: spoken("123"), fault: "cvv_length" },
  { before: `${VISA}#0330#123#`, says: spoken("941055"), fault: "zip_length" },
];

for (const { before, says, fault } of UNFIT) {
  test(`speech that is ${fault} after "${before}" is checked in full, asked again, then asked for by key, and never ends the payment (R-229, R-231, R-441)`, () => {
    const call = TestCall.answered().keys(before).passes(1000);
    const { asks } = call.state;
    const again = () => (says.kind === "digits" ? { ...says, digits: says.digits.slice() } : says);
    call.recognises(again());
    assert.equal(call.prompt, fault);
    assert.equal(call.said.startsWith(spokenFault[fault]), true);
    call.recognises(again());
    assert.equal(call.prompt, "use_keypad");
    for (let more = 0; more < 20; more++) call.recognises(again());
    assert.equal(call.prompt, "use_keypad");
    assert.equal(call.state.asks, asks);
    assert.deepEqual(call.state.faults, { number: 0, expiry: 0, cvv: 0, zip: 0, name: 0, confirm: 0 });
    for (let repeat = 0; repeat < 4; repeat++) call.listens().passes(10_000);
    assert.equal(call.prompt, "nobody_there");
    assert.equal(call.listens().finished, "abandoned");
  });
}

test("spoken digits neither confirm nor refuse the card (R-441)", () => {
  for (const digit of ["1", "2", "9"]) {
    const call = TestCall.answered().givesCard().saysDigits(digit);
    assert.equal(call.prompt, "not_heard");
    assert.equal(call.saysDigits(digit).prompt, "use_keypad");
    assert.equal(call.saysDigits(digit).asks, "confirm");
    assert.deepEqual(call.charged, []);
  }
});

test("a part that was spoken and never went on is asked for again and is no fault", () => {
  const call = TestCall.answered().saysDigits("4242", { final: false }).passes(5_000);
  assert.equal(call.prompt, "number_length");
  assert.equal(call.state.faults.number, 0);
  call.saysDigits("4242", { final: false }).keys("#");
  assert.equal(call.prompt, "use_keypad");
  assert.equal(call.state.faults.number, 0);
});

test("digits keyed behind spoken ones are no fault, digits keyed alone are", () => {
  const call = TestCall.answered().saysDigits("42424242", { final: false }).keys("42424241#");
  assert.equal(call.prompt, "number_invalid");
  assert.equal(call.state.faults.number, 0);
  call.passes(1000).keys("4242424242424241#");
  assert.equal(call.state.faults.number, 1);
});

test("the recogniser is told how long the answer is: the code by the card's brand, the ZIP by the country", () => {
  const lengths = (call: TestCall) => call.listening?.lengths;
  assert.deepEqual(lengths(TestCall.answered().keys(`${VISA}#0330#`)), [3]);
  assert.deepEqual(lengths(TestCall.answered().keys(`${AMEX}#0330#`)), [4]);
  assert.deepEqual(lengths(TestCall.answered().keys(`${VISA}#0330#123#`)), [5]);
  assert.deepEqual(lengths(TestCall.answered({ country: "DE" }).keys(`${VISA}#0330#123#`)), [3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a card is good through the end of its month, wherever the caller is (R-229)", () => {
  const keyed = `${VISA}#0227`;
  assert.equal(TestCall.answered({ nowMs: Date.UTC(2027, 2, 1, 11, 59) }).keys(keyed).prompt, "ask_cvv");
  assert.equal(TestCall.answered({ nowMs: Date.UTC(2027, 2, 1, 12, 0) }).keys(keyed).prompt, "expiry_past");
});

test("a date that has passed is said, so that a slip is heard", () => {
  assert.match(TestCall.answered().keys(`${VISA}#0227`).said, /^february twenty twenty seven has passed/);
  assert.match(TestCall.answered().keys(`${VISA}#0320#`).said, /^march twenty twenty has passed/);
});

test("a no at the read-back is no fault, keyed or spoken, however often: the number is asked for each time", () => {
  for (const no of [(call: TestCall) => call.keys("2#"), (call: TestCall) => call.recognises({ kind: "no" })]) {
    const call = TestCall.answered().givesCard();
    for (let time = 1; time <= 5; time++) {
      no(call);
      assert.deepEqual([call.prompt, call.asks, call.situation?.error], ["not_confirmed", "number", "not_confirmed"]);
      call.passes(1000).keys(`${VISA}#`).passes(1000);
      assert.equal(call.prompt, "confirm_last4");
    }
    assert.deepEqual(call.state.faults, { number: 0, expiry: 0, cvv: 0, zip: 0, name: 0, confirm: 0 });
  }
});

test("a project may allow fewer tries", () => {
  assert.equal(TestCall.answered({ attempts: 1 }).keys("4242#").prompt, "too_many_tries");
});

test("what was typed ahead after a faulty answer is dropped, up to a pause", () => {
  const call = TestCall.answered().keys("4242424242424241#0330#123#94105#");
  assert.deepEqual(call.prompts, ["greeting", "number_invalid"]);
  assert.equal(call.playing, "number_invalid");
  call.passes(500).keys(`${VISA}#0330#123#94105#1`);
  assert.equal(call.charged.length, 1);
});

test("a caller who says nothing hears the prompt three times more, ten seconds apart, then goodbye (R-426)", () => {
  const call = TestCall.answered().listens();
  for (let repeat = 1; repeat <= 3; repeat++) {
    call.passes(9_999);
    assert.equal(call.prompts.length, repeat);
    call.passes(1).listens();
    assert.equal(call.prompts.length, repeat + 1);
  }
  call.passes(10_000);
  assert.deepEqual(call.prompts, ["greeting", "ask_number", "ask_number", "ask_number", "nobody_there"]);
  assert.equal(call.listens().finished, "abandoned");
});

test("silence is counted anew with every answer", () => {
  const call = TestCall.answered().listens();
  for (let repeat = 1; repeat <= 3; repeat++) call.passes(10_000).listens();
  call.keys(`${VISA}#`).listens();
  for (let repeat = 1; repeat <= 3; repeat++) call.passes(10_000).listens();
  assert.equal(call.prompt, "ask_expiry");
});

test("doubtful speech is asked for again, then the keypad is named, then it is passed over until silence ends the call", () => {
  const call = TestCall.answered().listens().saysDigits(VISA, { certain: false });
  assert.equal(call.prompt, "not_heard");
  assert.match(call.said, /keypad/);
  call.recognises({ kind: "nothing" });
  assert.equal(call.prompt, "use_keypad");
  for (let noise = 0; noise < 20; noise++) call.recognises({ kind: "nothing" }).saysDigits("12", { certain: false });
  assert.equal(call.playing, "use_keypad");
  assert.deepEqual(call.state.faults, { number: 0, expiry: 0, cvv: 0, zip: 0, name: 0, confirm: 0 });
  call.saysDigits(VISA);
  assert.equal(call.prompt, "ask_expiry");
});

test("noise does not disturb a caller who is typing", () => {
  const call = TestCall.answered().keys("42424242").saysDigits("99", { certain: false }).recognises({ kind: "nothing" });
  call.says("cancel").recognises({ kind: "yes" }).keys("42424242#");
  assert.deepEqual(call.prompts, ["greeting", "ask_expiry"]);
});

const RETRIES: readonly { code: DeclineCode; mend: string; prompts: readonly PromptName[] }[] = [
  { code: "incorrect_cvc", mend: "456#", prompts: ["declined_try_again", "one_moment"] },
  { code: "expired_card", mend: "0431#456#", prompts: ["declined_try_again", "ask_cvv", "one_moment"] },
  { code: "invalid_expiry", mend: "0431#456#", prompts: ["declined_try_again", "ask_cvv", "one_moment"] },
  { code: "incorrect_zip", mend: "456#", prompts: ["declined_try_again", "ask_zip", "one_moment"] },
  {
    code: "card_declined",
    mend: `${MASTERCARD}#0431#456#10001#1`,
    prompts: ["declined_try_again", "ask_expiry", "ask_cvv", "ask_zip", "confirm_last4", "one_moment"],
  },
];

for (const { code, mend, prompts } of RETRIES) {
  test(`after ${code} the caller is asked for what can mend it, the security code always included, and a second card is tried`, () => {
    const call = TestCall.answered().givesCard().keys("1");
    const before = call.prompts.length;
    call.paymentResult({ kind: "declined", code, fix: DECLINES[code].fix, final: false });
    assert.equal(call.prompt, "declined_try_again");
    call.keys(code === "incorrect_zip" ? `${mend}10001#` : mend);
    assert.deepEqual(call.prompts.slice(before), prompts);
    assert.equal(call.charged.length, 2);
    assert.equal(call.charged[1]?.cvv, "456");
    call.paymentResult(APPROVED);
    assert.equal(call.listens().finished, "done");
  });
}

test("a decline that names a field the project does not collect asks for a whole card", () => {
  const call = TestCall.answered({ collect: ["number", "expiry"] }).keys(`${VISA}#0330#1`);
  call.paymentResult({ kind: "declined", code: "incorrect_zip", fix: "zip", final: false });
  assert.equal(call.asks, "number");
});

test("the third card is the last, and the gateway's side is told so (R-192)", () => {
  const call = TestCall.answered();
  for (let card = 1; card <= 3; card++) {
    call
      .givesCard()
      .keys("1")
      .paymentResult({ kind: "declined", code: "card_declined", fix: "number", final: card === 3 });
  }
  assert.deepEqual(
    call.charged.map((card) => card.mayRetry),
    [true, true, false],
  );
  assert.equal(call.prompt, "declined");
  assert.equal(call.said, "The card was declined. You haven't been charged.");
  assert.equal(call.listens().finished, "done");
});

test("faults are counted anew with a new card", () => {
  const call = TestCall.answered().keys("1#").passes(1000).keys("1#").passes(1000).givesCard().keys("1");
  call.paymentResult({ kind: "declined", code: "card_declined", fix: "number", final: false }).keys("1#");
  assert.equal(call.prompt, "number_length");
});

for (const code of Object.keys(DECLINES) as DeclineCode[]) {
  test(`a final ${code} has its closing sentence, and it does not claim what is not known`, () => {
    const call = TestCall.answered().givesCard().keys("1").paymentResult({ kind: "declined", code, fix: null, final: true });
    assert.equal(call.prompt, "declined");
    const mayHaveMoved = ["held_for_review", "duplicate_transaction", "outcome_unknown", "webhook_gateway_error"].includes(code);
    assert.match(call.said, mayHaveMoved ? /don't try again yet/ : /You haven't been charged/);
    assert.equal(call.isWiped, true);
    assert.equal(call.listens().finished, "done");
  });
}

test("with an unknown outcome the caller hears not completed, do not try again yet (R-287)", () => {
  const call = TestCall.answered().givesCard().keys("1").paymentResult({ kind: "unknown" });
  assert.equal(call.prompt, "unknown_outcome");
  assert.match(call.said, /isn't completed\. Please don't try again yet/);
  assert.equal(call.listens().finished, "done");
});

test("a session that is no longer collected ends as cancelled", () => {
  const call = TestCall.answered().givesCard().keys("1").paymentResult({ kind: "refused" });
  assert.equal(call.prompt, "cancelled");
  assert.equal(call.listens().finished, "cancelled");
});

/** Ways to each question of a call. */
const WAYS: readonly { at: Field | "confirm" | "retry"; way: (call: TestCall) => TestCall }[] = [
  { at: "number", way: (call) => call },
  { at: "expiry", way: (call) => call.keys(`${VISA}#`) },
  { at: "cvv", way: (call) => call.keys(`${VISA}#0330#`) },
  { at: "zip", way: (call) => call.keys(`${VISA}#0330#123#`) },
  { at: "confirm", way: (call) => call.givesCard() },
  {
    at: "retry",
    way: (call) => call.givesCard().keys("1").paymentResult({ kind: "declined", code: "incorrect_cvc", fix: "cvv", final: false }),
  },
];

for (const { at, way } of WAYS) {
  test(`the test word at ${at} skips card and gateway and is answered with the success speech (R-234, R-235)`, () => {
    const call = way(TestCall.answered());
    const charges = call.charged.length;
    call.recognises({ kind: "test_word" }).recognises({ kind: "test_word" }).keys("1#");
    assert.equal(call.skips, 1);
    assert.equal(call.isWiped, true);
    call.happens({ type: "skipped" });
    assert.equal(call.prompt, "success");
    assert.equal(call.listens().finished, "done");
    assert.equal(call.charged.length, charges);
  });

  test(`the test word at ${at} with a live key changes nothing (R-233)`, () => {
    const call = way(TestCall.answered({ testWord: false }));
    const { state } = call;
    for (let time = 0; time < 3; time++) call.happens({ type: "recognised", result: { kind: "test_word" } });
    assert.equal(call.state, state);
    assert.equal(call.skips, 0);
  });

  test(`a cancel from outside at ${at} is told in one sentence and ends the call (R-181)`, () => {
    const call = way(TestCall.answered()).happens({ type: "cancelled" });
    const { length } = call.prompts;
    assert.equal(call.prompt, "cancelled");
    assert.equal(call.isWiped, true);
    call.keys("1#").listens();
    assert.equal(call.finished, "cancelled");
    assert.equal(call.prompts.length, length);
  });

  test(`a hang-up at ${at} ends the call at once and wipes the cells (R-224)`, () => {
    const call = way(TestCall.answered()).happens({ type: "hung_up" });
    assert.equal(call.finished, "hung_up");
    assert.equal(call.isWiped, true);
    assert.equal(call.pendingTimers, 0);
  });
}

test("a skip that came too late ends as cancelled", () => {
  const call = TestCall.answered()
    .recognises({ kind: "test_word" })
    .happens({ type: "payment_result", result: { kind: "refused" } });
  assert.equal(call.listens().finished, "cancelled");
});

test("a payment of the page makes the caller wait, keys meanwhile are nothing, and its end is his (R-435)", () => {
  const elsewhere = { type: "payment_result", result: { kind: "elsewhere" } } as const;
  const waiting = () => TestCall.answered().givesCard().happens(elsewhere).keys("1");
  assert.deepEqual([waiting().prompt, waiting().listening], ["one_moment", null]);
  for (const [result, prompt, finished] of [
    [APPROVED, "success", "done"],
    [{ kind: "declined", code: "fraud_suspected", fix: null, final: true }, "declined", "done"],
    [{ kind: "unknown" }, "unknown_outcome", "done"],
    [{ kind: "refused" }, "cancelled", "cancelled"],
  ] as const) {
    const call = waiting().paymentResult(result);
    assert.deepEqual([call.prompt, call.listens().finished, call.charged.length], [prompt, finished, 0]);
    assert.equal(call.isWiped, true);
  }
  const open = waiting().paymentResult({ kind: "open" });
  assert.deepEqual([open.prompt, open.asks], ["confirm_last4", "confirm"]);
  assert.equal(open.listens().keys("1").charged.length, 1);
});

test("a card that came second is asked to be confirmed once more when the page's payment is not made (R-435)", () => {
  const call = TestCall.answered().givesCard().keys("1").paymentResult({ kind: "elsewhere" });
  assert.equal(call.passes(11_000).prompt, "still_working");
  call.paymentResult({ kind: "open" });
  assert.equal(call.asks, "cvv", "the code is not kept");
  call.listens().keys("123#");
  assert.equal(call.asks, "confirm");
  call.listens().keys("1").paymentResult(APPROVED);
  assert.deepEqual([call.prompt, call.charged.length], ["success", 2]);
});

test("a test word that came second waits for the page's payment (R-435)", () => {
  const call = TestCall.answered()
    .recognises({ kind: "test_word" })
    .happens({ type: "payment_result", result: { kind: "elsewhere" } });
  assert.equal(call.paymentResult(APPROVED).prompt, "success");
});

test("a hang-up during the charge wipes the conversation's cells and leaves the copy at the gateway whole (R-225)", () => {
  const call = TestCall.answered().givesCard().keys("1").happens({ type: "hung_up" });
  assert.equal(call.finished, "hung_up");
  assert.equal(call.isWiped, true);
  assert.equal(call.handedOut[0]?.number.length, 16);
  call.happens({ type: "payment_result", result: APPROVED });
});

test("the security code is not kept while the card is at the gateway", () => {
  const call = TestCall.answered().givesCard().keys("1");
  assert.equal(call.state.draft.card.cvv.length, 0);
  assert.equal(call.handedOut[0]?.cvv.length, 3);
});

test("a hang-up during the last sentence does not change how the payment ended", () => {
  const call = TestCall.answered({ attempts: 1 }).keys("1#").happens({ type: "hung_up" });
  assert.equal(call.finished, "exhausted");
});

test("before the call is answered a cancel and a hang-up end it without a word", () => {
  assert.equal(new TestCall().happens({ type: "cancelled" }).finished, "cancelled");
  assert.equal(new TestCall().happens({ type: "hung_up" }).finished, "hung_up");
});

test("spoken digits are overwritten once they were read, also those that nobody wanted", () => {
  for (const certain of [true, false]) {
    const digits = Uint8Array.of(4, 2, 4, 2);
    TestCall.answered().recognises({ kind: "digits", digits, final: true, certain });
    assert.deepEqual([...digits], [0, 0, 0, 0]);
  }
});

test("the end of a prompt that was replaced and a timer that was cancelled are passed over", () => {
  const call = TestCall.answered().keys(`${VISA}#`);
  const { state } = call;
  call.happens({ type: "prompt_ended", prompt: "greeting" }).happens({ type: "timer", name: "digits" });
  assert.equal(call.state, state);
});
