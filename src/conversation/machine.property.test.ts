import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import * as fc from "fast-check";
import type { CardBrand } from "#src/kernel/card.ts";
import type { ConversationEffect, ConversationEvent, ConversationSetup, Field, PromptName, Question } from "./contract.ts";
import { stepConversation } from "./machine.ts";
import { EN_US } from "./languages/en-US.ts";
import { fixedPrompts } from "./sentences.ts";
import { startConversation } from "./state.ts";
import { AMEX, MASTERCARD, NOW_MS, SETUP, VISA } from "./testing.ts";

/** One thing that a caller, the recogniser or the service does. */
type Action = ConversationEvent | { type: "prompt ends" } | { type: "type_ahead"; keys: string } | { type: "right answer" };

const RIGHT: Readonly<Record<Question, string>> = {
  number: MASTERCARD,
  expiry: "0330",
  cvv: "123",
  zip: "94105#",
  name: "23202#",
  confirm: "1",
};

const kind = <T extends string>(...kinds: T[]) => fc.constantFrom(...kinds);
const digits = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 20 });
const wholeAnswers = kind(
  `${VISA}#`,
  MASTERCARD,
  AMEX,
  "4242424242424241#",
  "0330",
  "0120#",
  "123",
  "1234",
  "94105",
  "1",
  "2",
  "3",
  "56664466#",
  "2222#",
  "*",
  "#",
);

const recognitionResult = fc.oneof(
  fc.record({
    kind: kind("digits"),
    digits: fc
      .oneof(
        digits,
        kind(VISA, AMEX, "123", "94105").map((text) => Array.from(text, Number)),
      )
      .map((list) => Uint8Array.from(list)),
    final: fc.boolean(),
    certain: fc.boolean(),
  }),
  fc.record({
    kind: kind("expiry"),
    month: fc.integer({ min: 0, max: 14 }),
    year: fc.oneof(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 2020, max: 2120 })),
    certain: fc.boolean(),
  }),
  fc.record({ kind: kind("command"), command: kind("repeat", "help", "back", "cancel", "operator") }),
  fc.record({ kind: kind("name"), name: kind("ADA O'BYRON", "A", "4242 4242", "Ada"), certain: fc.boolean() }),
  fc.record({ kind: kind("yes", "no", "nothing") }),
);

const paymentResult = fc.oneof(
  fc.record({ kind: kind("approved", "unknown", "refused") }),
  fc.record({
    kind: kind("declined"),
    code: kind("card_declined", "incorrect_cvc", "expired_card", "incorrect_zip"),
    fix: fc.constantFrom("number" as const, "expiry" as const, "cvv" as const, "zip" as const, null),
    final: fc.boolean(),
  }),
);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ type: kind("right answer") }) },
  { weight: 8, arbitrary: fc.record({ type: kind("type_ahead"), keys: wholeAnswers }) },
  { weight: 4, arbitrary: fc.record({ type: kind("dtmf"), digit: fc.integer({ min: -1, max: 16 }) }) },
  { weight: 6, arbitrary: fc.record({ type: kind("recognised"), result: recognitionResult }) },
  { weight: 6, arbitrary: fc.record({ type: kind("prompt ends") }) },
  { weight: 4, arbitrary: fc.record({ type: kind("timer"), name: kind("silence", "digits", "type_ahead", "patience") }) },
  { weight: 4, arbitrary: fc.record({ type: kind("payment_result"), result: paymentResult }) },
  { weight: 2, arbitrary: fc.record({ type: kind("answered", "speech_started") }) },
  { weight: 1, arbitrary: fc.constant({ type: "recognised", result: { kind: "test_word" } } as const) },
  { weight: 1, arbitrary: fc.record({ type: kind("skipped", "speech_unavailable", "cancelled") }) },
);

const setups: fc.Arbitrary<ConversationSetup> = fc
  .record({
    collect: fc.subarray<Field>(["number", "expiry", "cvv", "zip", "name"]),
    attempts: fc.integer({ min: 1, max: 4 }),
    tries: fc.integer({ min: 1, max: 5 }),
    readBack: fc.boolean(),
    acceptedBrands: fc.constantFrom<readonly CardBrand[]>([], ["visa", "amex"]),
    timeouts: fc.constant({ firstDigitMs: 9_000, betweenDigitsMs: null }),
    testWord: fc.boolean(),
    speech: fc.boolean(),
    spokenNames: fc.boolean(),
    country: kind("US", "DE"),
  })
  .map((choices) => ({ ...SETUP, ...choices }));

/** Nothing but these may be spoken: whatever else a part held would be the caller's own data. */
const amount = `You're paying ${EN_US.amountInWords(SETUP.amountMinor, SETUP.currency)}.`;
const known = new Set([...fixedPrompts("en-US"), amount]);
const REFUSED_BRAND = "We can't take that kind of card here. We take Visa and American Express.";
const isDate = (text: string) => /^[a-z ]+ has passed, so that card has expired\.$/.test(text);

const text = (bytes: Uint8Array) => String.fromCharCode(...bytes);

function luhn(number: string): boolean {
  const weighed = Array.from(number, Number)
    .toReversed()
    .map((digit, index) => (index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2));
  return weighed.reduce((sum, digit) => sum + digit, 0) % 10 === 0;
}

function assertChargeable(effect: Extract<ConversationEffect, { type: "submit_card" }>, setup: ConversationSetup): void {
  const { card } = effect;
  const number = text(card.number.bytes());
  assert.match(number, /^[2-68][0-9]{11,18}$/);
  assert.equal(luhn(number), true);
  if (setup.acceptedBrands.length > 0) assert.match(number, /^(4|3[47])/);
  const lastMoment = Date.UTC(Number(text(card.expYear.bytes())), Number(text(card.expMonth.bytes())), 1, 12);
  assert.match(text(card.expMonth.bytes()), /^(0[1-9]|1[0-2])$/);
  assert.equal(lastMoment > NOW_MS, true);
  if (setup.collect.includes("cvv")) assert.equal(card.cvv.length, /^3[47]/.test(number) ? 4 : 3);
  else assert.equal(card.cvv.length, 0);
  if (setup.collect.includes("zip")) assert.match(card.postalCode ?? "", setup.country === "US" ? /^[0-9]{5}$/ : /^[0-9]{3,10}$/);
  else assert.equal(card.postalCode, null);
  if (setup.collect.includes("name")) assert.match(card.cardholderName ?? "", /^[A-Z][A-Z' ]*[A-Z]$/);
  else assert.equal(card.cardholderName, null);
}

test("whatever happens in a call: no fault is thrown, no bad card is charged, never more cards than allowed, and a hang-up wipes all", () => {
  let settled = 0;
  fc.assert(
    fc.property(setups, fc.array(action, { maxLength: 60 }), (setup, actions) => {
      let state = startConversation(setup);
      const { card, entry } = state.draft;
      let playing: PromptName | null = null;
      let settles = 0;
      let skips = 0;
      let isOver = false;

      const happens = (event: ConversationEvent) => {
        const before = JSON.stringify(state);
        // One that came too late is answered so, and the word may be said again.
        if (state.stage === "skipping" && event.type === "payment_result") skips = 0;
        const step = stepConversation(state, event);
        assert.equal(JSON.stringify(state), before);
        state = step.state;
        for (const effect of step.effects) {
          assert.equal(isOver, false);
          if (effect.type === "play") {
            playing = effect.prompt;
            for (const { text } of effect.sentences.flatMap(({ pieces }) => pieces))
              assert.equal(known.has(text) || isDate(text) || text === REFUSED_BRAND, true, text);
          }
          if (effect.type === "stop_playback") playing = null;
          if (effect.type === "skip") skips++;
          if (effect.type === "finish") isOver = true;
          if (effect.type === "submit_card") {
            settles++;
            assertChargeable(effect, setup);
          }
        }
        assert.doesNotMatch(inspect(state, { depth: 9 }).replaceAll(String(NOW_MS), ""), /[0-9]{5}|BYRON/);
      };

      happens({ type: "answered" });
      for (const action of actions) {
        if (action.type === "type_ahead" || action.type === "right answer") {
          const keys = action.type === "type_ahead" ? action.keys : RIGHT[state.asks];
          for (const key of keys) happens({ type: "dtmf", digit: key === "*" ? 10 : key === "#" ? 11 : Number(key) });
          happens({ type: "timer", name: "type_ahead" });
        } else if (action.type !== "prompt ends") happens(action);
        else if (playing) happens({ type: "prompt_ended", prompt: playing });
      }
      happens({ type: "hung_up" });

      assert.equal(isOver, true);
      assert.equal(settles <= setup.attempts, true);
      assert.equal(skips <= (setup.testWord && setup.speech ? 1 : 0), true);
      for (const cell of [card.number, card.expMonth, card.expYear, card.cvv, entry]) assert.equal(cell.length, 0);
      assert.deepEqual([card.postalCode, card.cardholderName], [null, null]);
      settled += settles;
    }),
    { numRuns: 1000 },
  );
  assert.equal(settled > 50, true, `only ${settled} cards reached the gateway`);
});
