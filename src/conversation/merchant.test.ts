import assert from "node:assert/strict";
import { test } from "node:test";
import { LANGUAGE_TAGS } from "#src/kernel/language.ts";
import { APPROVED, AMEX, MASTERCARD, TestCall, VISA } from "./testing.ts";

/** What a project makes its own in the conversation. */

test("the greeting names the merchant where the project gives a name, in every language, and then says the amount", () => {
  assert.match(
    TestCall.answered({ merchant: "Acme Flowers" }).said,
    /^This is the secure payment line of Acme Flowers\. You're paying forty nine dollars/,
  );
  assert.match(TestCall.answered().said, /^This is the secure payment line\. You're paying/);
  for (const language of LANGUAGE_TAGS) assert.match(TestCall.answered({ language, merchant: "Acme" }).said, /^[^.]* Acme\./);
});

test("a card of a brand that the project does not accept is refused in words that name those it does", () => {
  const acceptedBrands = ["visa", "amex", "jcb"] as const;
  const call = TestCall.answered({ acceptedBrands }).keys(`${MASTERCARD}#`);
  assert.equal(call.prompt, "brand_not_accepted");
  assert.match(call.said, /^We can't take that kind of card here\. We take Visa, American Express, and J C B\./);
  call.passes(1000).keys(`${AMEX}#`);
  assert.equal(call.prompt, "ask_expiry");
  assert.equal(TestCall.answered({ acceptedBrands }).saysDigits(MASTERCARD).prompt, "brand_not_accepted");
  assert.equal(TestCall.answered().keys(`${MASTERCARD}#`).prompt, "ask_expiry");
});

test("a question takes as many faulty answers as the project gives it, however many cards may be tried", () => {
  for (const tries of [1, 2, 5]) {
    const call = TestCall.answered({ tries });
    for (let fault = 1; fault < tries; fault++) {
      call.keys("4242#").passes(1000);
      assert.equal(call.prompt, "number_length", `${fault} of ${tries}`);
    }
    assert.equal(call.keys("4242#").prompt, "too_many_tries");
  }
});

test("a question waits for its answer, and an answer for its end, as long as the project says", () => {
  const timeouts = { firstDigitMs: 25_000, betweenDigitsMs: 8_000 };
  const call = TestCall.answered({ timeouts }).listens().passes(20_500);
  assert.deepEqual(call.prompts, ["greeting"]);
  call.passes(5_000);
  assert.deepEqual(call.prompts, ["greeting", "ask_number"]);
  call.keys("4242").passes(7_000);
  assert.equal(call.prompt, "ask_number");
  assert.equal(call.passes(1_500).prompt, "number_length");
  const hasty = TestCall.answered({ timeouts: { firstDigitMs: 10_000, betweenDigitsMs: 1_000 } }).keys(VISA);
  assert.equal(hasty.keys("03").passes(900).prompt, "expiry_invalid");
  assert.equal(TestCall.answered().keys(`${VISA}03`).passes(900).prompt, "ask_expiry");
});

test("without a read-back the card is used as soon as it is whole, and who cut the greeting short is told what is paid", () => {
  const call = TestCall.answered({ readBack: false }).givesCard();
  assert.deepEqual(call.prompts, ["greeting", "ask_expiry", "ask_cvv", "ask_zip", "one_moment"]);
  assert.equal(call.charged.length, 1);
  assert.equal(call.said, "You're paying forty nine dollars and ninety five cents. One moment, please.");
  assert.equal(call.paymentResult(APPROVED).prompt, "success");
  const patient = TestCall.answered({ readBack: false }).listens().keys(`${VISA}#0330#123#94105#`);
  assert.equal(patient.said, "One moment, please.");
});

test("without a read-back a whole card goes on by itself when the payment on the page was not made", () => {
  const call = TestCall.answered({ readBack: false, collect: ["number", "expiry"] })
    .listens()
    .keys(`${VISA}#0330#`);
  assert.equal(call.charged.length, 1);
  call.paymentResult({ kind: "elsewhere" }).paymentResult({ kind: "open" });
  assert.equal(call.charged.length, 2);
  assert.equal(call.paymentResult(APPROVED).prompt, "success");
});
