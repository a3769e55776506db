import assert from "node:assert/strict";
import { test } from "node:test";
import { AMEX, APPROVED, MASTERCARD, TestCall, VISA } from "./testing.ts";

const PAID = { number: VISA, expiry: "03/2030", cvv: "123", zip: "94105", mayRetry: true };

test("a caller keys number, expiry, code and ZIP, confirms the last four and hears that the payment was approved; of the address only the ZIP is asked (R-230)", () => {
  const call = TestCall.answered();
  assert.equal(call.said.includes("forty nine dollars and ninety five cents"), true);
  assert.equal(call.asks, "number");
  call.keysOnePerPrompt(`${VISA}#`, "0330#", "123#", "94105#").passes(1000);
  assert.deepEqual(call.prompts, ["greeting", "ask_expiry", "ask_cvv", "ask_zip", "confirm_last4"]);
  assert.equal(
    call.said.startsWith("You're paying forty nine dollars and ninety five cents. Your Visa card ends in four two four two Is that right?"),
    true,
  );
  assert.deepEqual(call.charged, []);
  call.keys("1#");
  assert.deepEqual(call.charged, [PAID]);
  assert.equal(call.prompt, "one_moment");
  call.paymentResult(APPROVED);
  assert.equal(call.prompt, "success");
  assert.equal(call.said, "Thank you. Your payment was approved.");
  assert.equal(call.finished, null);
  call.listens();
  assert.equal(call.finished, "done");
  assert.equal(call.isWiped, true);
  assert.equal(call.pendingTimers, 0);
});

test("a caller who heard the amount to its end is not told it again before the card is read back", () => {
  const call = TestCall.answered().listens().keys(`${VISA}#`).listens().keys("0330#").listens().keys("123#").listens().keys("94105#");
  assert.equal(call.said.startsWith("Your Visa card ends in four two four two Is that right?"), true);
});

test("a caller speaks the whole card, partly over the prompts", () => {
  const call = TestCall.answered().saysDigits(VISA).listens();
  assert.deepEqual(call.listening, { what: "expiry", have: 0, lengths: null });
  call.recognises({ kind: "expiry", month: 3, year: 30, certain: true }).listens();
  call.saysDigits("123").listens().saysDigits("94105").listens();
  assert.deepEqual(call.listening, { what: "yes_no", have: 0, lengths: null });
  call.recognises({ kind: "yes" });
  assert.deepEqual(call.charged, [PAID]);
  assert.equal(call.listening, null);
});

test("spoken and keyed digits add up to one answer: six digits said, the rest keyed", () => {
  const call = TestCall.answered().listens().saysDigits(VISA.slice(0, 6), { final: false });
  assert.deepEqual(call.listening, { what: "number", have: 6, lengths: null });
  call.passes(4_900).keys(`${VISA.slice(6)}#`);
  assert.equal(call.prompt, "ask_expiry");
  call.keys("03").saysDigits("30").keys("12").saysDigits("3").saysDigits("94105");
  assert.equal(call.prompt, "confirm_last4");
  call.passes(1000).keys("1");
  assert.deepEqual(call.charged, [PAID]);
});

test("a year is understood with two and with four digits, spoken and keyed", () => {
  for (const expiry of ["0330#", "032030#", "0330", "032030"]) {
    const call = TestCall.answered().keys(`${VISA}#${expiry}123#94105#1`);
    assert.equal(call.charged[0]?.expiry, "03/2030", expiry);
  }
  const call = TestCall.answered().keys(`${VISA}#`).recognises({ kind: "expiry", month: 12, year: 2031, certain: true });
  call.keys("123#94105#1");
  assert.equal(call.charged[0]?.expiry, "12/2031");
});

test("everything typed ahead without waiting is understood, the read-back's answer too", () => {
  const call = TestCall.answered().keys(`${VISA}#0330#123#94105#`);
  assert.equal(call.prompt, "confirm_last4");
  assert.equal(call.asks, "confirm");
  call.keys("1#");
  assert.deepEqual(call.charged, [PAID]);
});

test("answers that end by themselves need no pound key, and one given all the same is no answer to the next question", () => {
  const bare = TestCall.answered().keys(`${MASTERCARD}033012394105`).passes(500).keys("1");
  assert.equal(bare.charged[0]?.number, MASTERCARD);
  const pounds = TestCall.answered().keys(`${MASTERCARD}#0330#123#94105#1#`);
  assert.equal(pounds.charged[0]?.number, MASTERCARD);
  const late = TestCall.answered().keys(MASTERCARD).listens().keys("#0330");
  assert.equal(late.prompt, "ask_cvv");
  const slow = TestCall.answered().keys(`${MASTERCARD}033012394105`).passes(700).keys("#");
  assert.equal(slow.prompt, "confirm_last4");
  assert.equal(slow.keys("#").prompt, "confirm_unclear");
  assert.equal(slow.passes(500).keys("1").charged.length, 1);
});

test("the sixteenth digit of a valid Visa, Discover or JCB ends the number at once", () => {
  for (const number of [VISA, "6011111111111117", "3566002020360505"]) assert.equal(TestCall.answered().keys(number).prompt, "ask_expiry");
});

test("a number that can be whole ends after two seconds without a key, one that cannot after five", () => {
  const whole = TestCall.answered().keys("6200000000000005").passes(1_700);
  assert.equal(whole.playing, null);
  assert.equal(whole.passes(200).prompt, "ask_expiry");
  const part = TestCall.answered().keys("424242").passes(4_700);
  assert.equal(part.playing, null);
  assert.equal(part.passes(200).prompt, "number_length");
});

test("American Express is asked for four digits of security code, on the front", () => {
  const call = TestCall.answered().keys(AMEX);
  call.keys("#0330#");
  assert.match(call.said, /four digit security code.*front/);
  call.keys("1234#94105#1");
  assert.equal(call.charged[0]?.cvv, "1234");
});

test("the last digits of a nine-digit ZIP do not confirm the card", () => {
  const call = TestCall.answered().keys(`${VISA}#0330#123#941051111`);
  assert.equal(call.charged.length, 0);
  assert.equal(call.playing, "confirm_last4");
  call.passes(500).keys("1");
  assert.equal(call.charged[0]?.zip, "94105");
});

test("the star clears what was keyed; on an empty answer it repeats the question", () => {
  const call = TestCall.answered().listens().keys("4111*");
  assert.equal(call.prompt, "cleared");
  call.keys(`${VISA}#`).listens();
  assert.equal(call.prompt, "ask_expiry");
  call.keys("*");
  assert.deepEqual(call.prompts.slice(-2), ["ask_expiry", "ask_expiry"]);
});

test("a key stops a prompt at once, the beginning of speech too", () => {
  const keyed = TestCall.answered();
  assert.equal(keyed.playing, "greeting");
  assert.equal(keyed.happens({ type: "dtmf", digit: 4 }).playing, null);
  assert.equal(TestCall.answered().happens({ type: "speech_started" }).playing, null);
});

test("a no at the read-back asks for the number alone again, then reads the new one back", () => {
  for (const no of ["keys", "speech"]) {
    const call = TestCall.answered().givesCard();
    if (no === "keys") call.keys("2#");
    else call.recognises({ kind: "no" });
    assert.equal(call.prompt, "not_confirmed");
    assert.equal(call.asks, "number");
    call.passes(1000).keys(`${MASTERCARD}#`);
    assert.equal(call.prompt, "confirm_last4");
    assert.match(call.said, /four four four four/);
    call.passes(1000).keys("1");
    assert.deepEqual(call.charged, [{ ...PAID, number: MASTERCARD }]);
  }
});

test("keys that follow a spoken answer at once are not taken for the rest of the keyed one before it", () => {
  const call = TestCall.answered().keys(`${VISA}#0330#123#94105`).recognises({ kind: "no" }).keys(MASTERCARD);
  assert.equal(call.state.draft.card.brand, "mastercard");
});

test("a number given after a decline, by going back, is read back again", () => {
  const call = TestCall.answered().givesCard().keys("1");
  call.paymentResult({ kind: "declined", code: "expired_card", fix: "expiry", final: false });
  call.says("back").keys(`${MASTERCARD}0330#123`);
  assert.equal(call.prompt, "confirm_last4");
  assert.equal(call.charged.length, 1);
});

test("a new number of a brand with a longer code asks for the code again", () => {
  const call = TestCall.answered().givesCard().keys("2#").passes(1000).keys(`${AMEX}#`);
  assert.equal(call.prompt, "ask_cvv");
  call.keys("1234#1#");
  assert.deepEqual(call.charged, [{ ...PAID, number: AMEX, cvv: "1234" }]);
});

test("only what the project collects is asked, in its order", () => {
  const call = TestCall.answered({ collect: ["zip", "number", "expiry"] });
  assert.equal(call.asks, "zip");
  call.keys(`94105#${VISA}#0330#`);
  assert.equal(call.prompt, "confirm_last4");
  call.keys("1");
  assert.deepEqual(call.charged, [{ ...PAID, cvv: "" }]);
});

test("number and expiry are asked even when the project forgot them", () => {
  const call = TestCall.answered({ collect: ["zip"] }).keys(`${VISA}#0330#94105#1`);
  assert.deepEqual(call.charged, [{ ...PAID, cvv: "" }]);
});

test("of a Canadian or British postal code the digits alone are asked, and taken (R-229)", () => {
  for (const [country, keys, zip] of [
    ["CA", "101", "101"],
    ["GB", "12#", "12"],
    ["GB", "102", "102"],
  ] as const) {
    const call = TestCall.answered({ country }).keys(`${VISA}#0330#123#`);
    assert.match(call.said, /only its digits/);
    call.keys(keys).passes(500).keys("1");
    assert.equal(call.charged[0]?.zip, zip);
  }
});

test("what is asked, which try it is, what went wrong and the card's brand go with every prompt", () => {
  const call = TestCall.answered();
  assert.deepEqual(call.situation, { asks: "number", attempt: 1, error: null, brand: null });
  call.keys("4242424242424241#");
  assert.deepEqual(call.situation, { asks: "number", attempt: 2, error: "number_invalid", brand: null });
  call.passes(1000).keys(`${AMEX}#`);
  assert.deepEqual(call.situation, { asks: "expiry", attempt: 1, error: null, brand: "amex" });
  call.keys("0330#1234#94105#1").paymentResult({ kind: "declined", code: "insufficient_funds", fix: "number", final: false });
  assert.deepEqual(call.situation, { asks: "number", attempt: 1, error: "insufficient_funds", brand: null });
});

test("a caller who was silent is asked the question again, without what went wrong before", () => {
  const call = TestCall.answered().givesCard().keys("1");
  call.paymentResult({ kind: "declined", code: "insufficient_funds", fix: "number", final: false });
  assert.match(call.said, /enough funds/);
  call.listens().passes(10_000);
  assert.deepEqual([call.prompt, /enough funds/.test(call.said), call.situation?.error], ["ask_number", false, null]);
});

test("nobody waits longer than three seconds for an answer that does not go on, five for a number", () => {
  for (const keys of [`${VISA}#033`, `${VISA}#0330#12`, `${VISA}#0330#123#941`]) {
    const call = TestCall.answered().keys(keys);
    const { prompt } = call;
    assert.notEqual(call.passes(3_000).prompt, prompt);
  }
});

test("outside these countries a postal code has three to ten digits and ends with the pound key", () => {
  const call = TestCall.answered({ country: "IN" }).keys(`${VISA}#0330#123#`);
  assert.match(call.said, /postal code/);
  call.keys("110001#1");
  assert.equal(call.charged[0]?.zip, "110001");
});

test("a card to be stored is announced as such, and the caller hears that it was stored", () => {
  const call = TestCall.answered({ mode: "tokenize", amountMinor: 0 });
  assert.match(call.said, /We'll store your card.*Nothing is charged now/);
  call.givesCard().keys("1").paymentResult(APPROVED);
  assert.match(call.said, /Your card is stored/);
});

test("without a recogniser the prompts speak of keys alone and nothing listens", () => {
  const call = TestCall.answered({ speech: false }).givesCard();
  assert.equal(call.listening, null);
  assert.doesNotMatch(call.said, /say/i);
  const words = TestCall.answered({ speech: false });
  assert.doesNotMatch(words.said, /\bsay\b/i);
});

test("when no recogniser is free any more the caller is told so and asked again for the keypad, unless keys are being typed", () => {
  const call = TestCall.answered().happens({ type: "speech_unavailable" });
  assert.deepEqual(call.prompts, ["greeting", "keypad_only"]);
  assert.match(call.said, /can't listen just now. Please use your keypad.*forty nine dollars.*card number on your keypad/);
  assert.equal(call.listening, null);
  const typing = TestCall.answered().keys("4242").happens({ type: "speech_unavailable" });
  assert.deepEqual(typing.prompts, ["greeting"]);
  typing.keys(`${VISA.slice(4)}#`);
  assert.equal(typing.prompt, "ask_expiry");
  assert.doesNotMatch(typing.said, /\bsay\b/i);
});

test("repeat repeats the prompt, help explains and asks again, back goes to the question before", () => {
  const call = TestCall.answered().keys(`${VISA}#`).listens().says("repeat");
  assert.deepEqual(call.prompts.slice(-2), ["ask_expiry", "ask_expiry"]);
  call.says("help");
  assert.equal(call.prompt, "help");
  assert.equal(call.asks, "expiry");
  call.says("back");
  assert.equal(call.prompt, "ask_number");
  call.keys(`${MASTERCARD}#0330#123#94105#1`);
  assert.equal(call.charged[0]?.number, MASTERCARD);
});

test("back at the first question asks it again", () => {
  const call = TestCall.answered().says("back");
  assert.equal(call.prompt, "ask_number");
});

test("a caller who says cancel or asks for an operator is let go, and nothing is kept", () => {
  for (const command of ["cancel", "operator"] as const) {
    const call = TestCall.answered().keys(`${VISA}#`).listens().says(command);
    assert.equal(call.prompt, "goodbye");
    assert.equal(call.isWiped, true);
    assert.equal(call.listens().finished, "abandoned");
  }
});

test("while the card is at the gateway keys and speech mean nothing, and the caller hears that the line is alive", () => {
  const call = TestCall.answered().givesCard().keys("1#12*").saysDigits("1").passes(15_000);
  assert.deepEqual(call.prompts.slice(-2), ["one_moment", "still_working"]);
  assert.equal(call.charged.length, 1);
  call.passes(10_000);
  assert.equal(call.prompts.filter((prompt) => prompt === "still_working").length, 2);
});

test("a result that comes during one moment please is told after it", () => {
  const call = TestCall.answered().givesCard().keys("1").happens({ type: "payment_result", result: APPROVED });
  assert.equal(call.playing, "one_moment");
  call.passes(4_000);
  assert.equal(call.playing, "success");
});

test("two star keys in a row ask for the operator; with a pause or another key between them they are two wishes", () => {
  assert.equal(TestCall.answered().keys("**").prompt, "goodbye");
  assert.equal(TestCall.answered().keys("4242**").prompt, "goodbye");
  for (const call of [TestCall.answered().keys("*").passes(2_000).keys("*"), TestCall.answered().keys("*4*")]) {
    assert.notEqual(call.prompt, "goodbye");
    assert.equal(call.state.stage, "asking");
  }
});

test("a caller who needs a second try is told, once, that there is help and how to stop", () => {
  const said: string[] = [];
  const note = (call: TestCall) => void said.push(call.said);
  const speaking = TestCall.answered();
  note(speaking);
  note(speaking.keysOnePerPrompt("4242424242424241#"));
  note(speaking.keysOnePerPrompt("4242424242424241#"));
  const keying = TestCall.answered({ speech: false });
  note(keying.listens().passes(10_000));
  assert.deepEqual(
    said.map((words) => [/say help/.test(words), /star twice/.test(words)]),
    [
      [false, false],
      [true, true],
      [false, false],
      [false, true],
    ],
  );
});

test("how a call ends is known as its last sentence begins, and only a caller who is not taken back hears goodbye (R-323)", () => {
  for (const transfersBack of [true, false]) {
    const stopped = TestCall.answered({ transfersBack }).says("operator");
    assert.deepEqual([stopped.closing, stopped.finished, stopped.isWiped], ["abandoned", null, true]);
    assert.equal(/goodbye/i.test(stopped.said), !transfersBack);
    assert.equal(stopped.listens().finished, "abandoned");
    const cancelled = TestCall.answered({ transfersBack }).happens({ type: "cancelled" });
    assert.deepEqual([cancelled.closing, /goodbye/i.test(cancelled.said)], ["cancelled", !transfersBack]);
    const silent = TestCall.answered({ transfersBack });
    for (let prompt = 0; prompt < 4; prompt++) silent.listens().passes(10_000);
    assert.deepEqual([silent.closing, /goodbye/i.test(silent.said)], ["abandoned", !transfersBack]);
  }
});
