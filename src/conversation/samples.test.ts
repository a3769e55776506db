import assert from "node:assert/strict";
import { test } from "node:test";
import { samplesOf } from "./samples.ts";
import { inWords } from "./sentences.ts";
import { SENTENCE_IDS } from "./wordings.ts";

const PLAIN = { language: "en-US", currency: "USD", merchant: null, acceptedBrands: [], wordings: [] } as const;
const wordsOf = (project: Parameters<typeof samplesOf>[0]) =>
  Object.fromEntries(samplesOf(project).map(({ name, sentence }) => [name, inWords([sentence])]));

test("a project's samples are all its sentences, whole, and none that it never says", () => {
  const plain = wordsOf(PLAIN);
  assert.deepEqual(
    SENTENCE_IDS.filter((id) => !(id in plain)),
    ["greeting_of", "brand_not_accepted", "connecting_to"],
  );
  for (const [name, words] of Object.entries(plain)) assert.doesNotMatch(words, /[{}]|undefined/, name);
  const named = wordsOf({ ...PLAIN, merchant: "Acme", acceptedBrands: ["visa", "jcb"] });
  assert.equal(named["greeting_of"], "This is the secure payment line of Acme.");
  assert.match(named["brand_not_accepted"] ?? "", /We take Visa and J C B\.$/);
  assert.equal(named["connecting_to"], "I'm connecting you back to Acme now. Please hold on.");
  assert.equal(named["greeting"], undefined);
});

test("a project's own words are among its samples, each with the situations that they are for", () => {
  const samples = samplesOf({
    ...PLAIN,
    wordings: [
      { sentence: "you_pay", attempt: 2, error: "not_heard", text: "Again: {amount}." },
      { sentence: "card_ends_in", brand: "amex", text: "{brand}, {last4}" },
      { sentence: "you_pay", text: "The total is {amount}." },
      { sentence: "you_pay", brand: "visa", text: "Never {amount}." },
    ],
  });
  const own = samples.filter(({ name }) => /^(you_pay|card_ends_in)/.test(name));
  assert.deepEqual(
    own.map(({ name, when, sentence }) => [name, when, inWords([sentence])]),
    [
      ["you_pay", "", "The total is forty nine dollars and ninety five cents."],
      ["you_pay-1", "attempt 2, error not_heard", "Again: forty nine dollars and ninety five cents."],
      ["card_ends_in", "", "Your Visa card ends in four two four two"],
      ["card_ends_in-1", "brand amex", "American Express, four two four two"],
    ],
  );
});
