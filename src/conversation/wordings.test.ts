import assert from "node:assert/strict";
import { test } from "node:test";
import type { Wording } from "./contract.ts";
import { EN_US } from "./languages/en-US.ts";
import { AMEX, TestCall, VISA } from "./testing.ts";
import { connectingWords, unreachedWords } from "./transfer-words.ts";
import { inWords } from "./sentences.ts";
import { SENTENCE_IDS, wordingFault } from "./wordings.ts";

const answered = (wordings: readonly Wording[]) => TestCall.answered({ speech: false, wordings });

test("a sentence is said in the project's own words, with the amount and the card where those words want them", () => {
  const call = answered([
    { sentence: "you_pay", text: "The total is {amount}, all included." },
    { sentence: "card_ends_in", text: "{last4} are the last digits of your {brand} card." },
  ]);
  assert.match(call.said, /The total is forty nine dollars and ninety five cents, all included\. Please key in your card number/);
  call.givesCard();
  assert.match(call.said, /four two four two are the last digits of your Visa card\. Is that right/);
});

test("of the words for a sentence the first that fits the try, the error and the brand is said, else the usual ones", () => {
  const call = answered([
    { sentence: "number_invalid", attempt: 2, text: "Once more." },
    { sentence: "ask_number_keypad", error: "number_invalid", text: "The long number, please." },
    { sentence: "ask_number_keypad", text: "Your number, please." },
    { sentence: "ask_cvv4_keypad", brand: "visa", text: "Never." },
    { sentence: "ask_cvv4_keypad", brand: "amex", text: "Four digits on the front." },
  ]);
  assert.match(call.said, /Your number, please\.$/);
  call.keys("4242424242424241#").passes(1000);
  assert.match(call.said, /^Once more\. .*The long number, please\.$/);
  call.keys("4242424242424241#").passes(1000);
  assert.match(call.said, /^That card number isn't valid\. The long number, please\.$/);
  call.keys(`${AMEX}#`).passes(1000).keys("0330#");
  assert.equal(call.said, "Four digits on the front.");
  assert.match(answered([{ sentence: "ask_cvv3_keypad", brand: "amex", text: "Never." }]).keys(`${VISA}#0330#`).said, /three digit/);
});

test("what is said on the way back to the agent has the project's words, too", () => {
  const speaking = { language: "en-US", merchant: null, wordings: [{ sentence: "connecting", text: "Back to the shop." }] } as const;
  assert.equal(inWords(connectingWords(speaking)), "Back to the shop.");
  const unreached = { language: "en-US", merchant: null, wordings: [{ sentence: "say_goodbye", text: "Bye." }] } as const;
  assert.match(inWords(unreachedWords(unreached, "busy", "charge", { kind: "paid" })), /^The line's busy\. .* Bye\.$/);
});

test("on the way back to the agent the caller hears the merchant's name, unless the project has words or a recording without it", () => {
  const named = { language: "en-US", merchant: "Acme", wordings: [] } as const;
  assert.equal(inWords(connectingWords({ ...named, merchant: null })), "I'm connecting you back now. Please hold on.");
  assert.equal(inWords(connectingWords(named)), "I'm connecting you back to Acme now. Please hold on.");
  assert.equal(inWords(connectingWords({ ...named, wordings: [{ sentence: "connecting", text: "Back to us." }] })), "Back to us.");
  assert.equal(inWords(connectingWords({ ...named, wordings: [{ sentence: "connecting_to", text: "To {merchant}." }] })), "To Acme.");
  assert.equal(connectingWords({ ...named, recordings: { connecting: "d1" } })[0]?.recording, "d1");
});

test("a recording is played instead of the usual words and of those for every situation, not of words for some", () => {
  const wordings = [
    { sentence: "ask_number_keypad", text: "Your number, please." },
    { sentence: "number_invalid", attempt: 2, text: "Once more." },
  ] as const;
  const call = TestCall.answered({
    speech: false,
    wordings,
    recordings: { greeting: "d1", ask_number_keypad: "d2", number_invalid: "d3" },
  });
  const played = () => call.sentences.map(({ id, recording }) => [id, recording]);
  assert.deepEqual(played(), [
    ["greeting", "d1"],
    ["you_pay", undefined],
    ["ask_number_keypad", "d2"],
  ]);
  call.keys("4242424242424241#").passes(1000);
  assert.deepEqual(played()[0], ["number_invalid", undefined]);
  call.keys("4242424242424241#").passes(1000);
  assert.deepEqual(played()[0], ["number_invalid", "d3"]);
});

test("words are refused that fill in what the sentence does not have, leave amount or card out, or say nothing", () => {
  assert.equal(wordingFault("you_pay", "The total is {total}."), "has {total}; you_pay has {amount}");
  assert.equal(wordingFault("one_moment", "Wait, {brand}."), "has {brand}; one_moment has nothing to fill in");
  assert.equal(wordingFault("you_pay", "You pay."), "must hold {amount}");
  assert.equal(wordingFault("card_ends_in", "It is your {brand} card."), "must hold {last4}");
  assert.equal(wordingFault("card_ends_in", "{last4} and {last4} again."), "has one thing twice to fill in");
  for (const text of ["{amount}", "12 {amount}"]) assert.equal(wordingFault("you_pay", text), "says nothing");
  for (const text of ["It's {amount", "It's }", "It's\n{amount}"]) assert.match(wordingFault("you_pay", text) ?? "", /lone brace/);
  for (const id of SENTENCE_IDS) assert.equal(wordingFault(id, EN_US.sentences[id]), null, id);
});
