import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import type { CardBrand } from "#src/kernel/card.ts";
import { LANGUAGE_TAGS, languageFault, spokenLanguage, spokenLanguages } from "#src/kernel/language.ts";
import { decimalsOf } from "#src/kernel/money.ts";
import { QUESTIONS } from "../questions.ts";
import { ASK, CLOSING, allSentences, fixedPrompts, inWords, sentence } from "../sentences.ts";
import { TestCall } from "../testing.ts";
import { EN_US, numberInEnglish } from "./en-US.ts";
import { numberInSpanish } from "./es-US.ts";
import { numberInFrench } from "./fr-CA.ts";
import { LANGUAGES } from "./index.ts";
import { BRAND_NAMES, type SentenceId } from "./language.ts";

/** Currencies without, with two and with three decimals, with and without a coin of their own. */
const CURRENCIES = ["USD", "CAD", "EUR", "GBP", "MXN", "INR", "CHF", "SEK", "JPY", "KRW", "KWD", "TND"] as const;
const IDS = Object.keys(EN_US.sentences) as SentenceId[];

for (const language of LANGUAGE_TAGS) {
  const { amountInWords, dateInWords, sentences } = LANGUAGES[language];

  test(`${language}: every sentence can be said with every amount, date and card, whole and without a digit`, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...IDS),
        fc.constantFrom(...CURRENCIES),
        fc.integer({ min: 50, max: 99_999_999 }),
        fc.constantFrom(...(Object.keys(BRAND_NAMES) as CardBrand[])),
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 2000, max: 2099 }),
        (id, currency, cents, brand, last4, month, year) => {
          const amountMinor = Math.max(1, Math.round((cents / 100) * 10 ** decimalsOf(currency)));
          const amount = amountInWords(amountMinor, currency);
          const said = inWords([
            sentence(language, id, {
              amount: { minor: amountMinor, currency },
              brand,
              date: { month, year },
              last4,
              cardholder: "ADA BYRON",
              merchant: "Acme",
              brands: ["visa", "amex"],
            }),
          ]);
          // A sentence without a word of ours would be a word missing somewhere.
          assert.match(said, /^[\p{L}¿][\p{L}\p{M} ,.:;?¿'’-]*$/u, said);
          assert.doesNotMatch(said, / {2}|undefined|NaN| [,.?]|^[,. ]/, said);
          for (const [place, value] of [
            ["{amount}", amount],
            ["{date}", dateInWords(month, year)],
          ] as const)
            assert.equal(said.includes(value), sentences[id].includes(place), said);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test(`${language}: two amounts are never said alike`, () => {
    for (const currency of CURRENCIES) {
      const said = new Set<string>();
      const amounts = [
        ...Array.from({ length: 2_500 }, (_, index) => index + 1),
        ...Array.from({ length: 999 }, (_, index) => (index + 1) * 100_100),
      ];
      for (const minor of amounts) said.add(amountInWords(minor, currency));
      assert.equal(said.size, new Set(amounts).size, currency);
    }
  });

  test(`${language}: a card's digits are said one by one, four of them at most, and a name's letters, each a piece of its own`, () => {
    const last4 = [0, 0, 4, 2];
    const { pieces } = sentence(language, "card_ends_in", { brand: "visa", last4 });
    const { digits } = LANGUAGES[language];
    assert.deepEqual(
      pieces.map(({ text }) => text).slice(1),
      last4.map((digit) => digits[digit]),
    );
    assert.equal(
      pieces.every(({ isFixed }) => isFixed),
      true,
    );
    const name = sentence(language, "name_is", { cardholder: "ADA D'O" }).pieces;
    assert.equal(name.length, 8);
    assert.equal(
      name.every(({ text, isFixed }) => isFixed && fixedPrompts(language).includes(text)),
      true,
    );
    const others = allSentences(language).filter(({ id }) => id !== "card_ends_in" && id !== "name_is");
    assert.equal(
      others.every(({ pieces }) => pieces.length === 1),
      true,
    );
  });

  test(`${language}: the keypad is asked for without a word about saying anything, and once by its name`, () => {
    const keypad = Object.values(ASK).map(({ keypad: id }) => sentences[id]);
    for (const words of keypad) assert.doesNotMatch(words, /\b(say|diga|dites)\b/i);
    assert.match(sentences.ask_number_keypad, /keypad|teclado|clavier/);
  });

  test(`${language}: what never varies is known beforehand, each text once`, () => {
    const texts = fixedPrompts(language);
    assert.equal(new Set(texts).size, texts.length);
    for (const digit of LANGUAGES[language].digits) assert.equal(texts.includes(digit), true, digit);
    assert.equal(
      texts.some((text) => /[{}]/.test(text)),
      false,
    );
    assert.equal(texts.length > 80, true);
  });
}

test("a call is spoken to in its language from the first word to the last, for the keypad alone where nothing can be recognised", () => {
  const call = TestCall.answered({ language: "fr-CA", currency: "CAD" });
  assert.equal(
    call.said,
    "Voici la ligne de paiement sécurisée. Vous allez payer quarante-neuf dollars et quatre-vingt-quinze cents. Sur votre clavier, composez le numéro de votre carte.",
  );
  assert.equal(call.listening, null);
  call.givesCard();
  assert.match(call.said, /Votre carte Visa se termine par quatre deux quatre deux Est-ce exact\?/);
  assert.match(TestCall.answered({ language: "es-US" }).said, /Va a pagar cuarenta y nueve dólares con noventa y cinco centavos\./);
});

test("amounts are said as English callers say them", () => {
  const amounts: readonly (readonly [number, string, string])[] = [
    [4995, "USD", "forty nine dollars and ninety five cents"],
    [100, "USD", "one dollar"],
    [1, "USD", "one cent"],
    [0, "USD", "zero dollars"],
    [101, "USD", "one dollar and one cent"],
    [123456, "USD", "one thousand two hundred thirty four dollars and fifty six cents"],
    [99999999, "USD", "nine hundred ninety nine thousand nine hundred ninety nine dollars and ninety nine cents"],
    [101, "GBP", "one pound and one penny"],
    [250, "EUR", "two euros and fifty cents"],
    [199, "CAD", "one Canadian dollar and ninety nine cents"],
    [500, "JPY", "five hundred Japanese yen"],
    [1205, "CHF", "twelve point zero five Swiss francs"],
    [1250, "KWD", "one point two five zero Kuwaiti dinars"],
  ];
  for (const [minor, currency, words] of amounts) assert.equal(EN_US.amountInWords(minor, currency), words);
});

test("amounts are said as Spanish callers say them, number and currency agreeing in gender", () => {
  const amounts: readonly (readonly [number, string, string])[] = [
    [4995, "USD", "cuarenta y nueve dólares con noventa y cinco centavos"],
    [101, "USD", "un dólar con un centavo"],
    [2100, "USD", "veintiún dólares"],
    [10000, "USD", "cien dólares"],
    [10100, "USD", "ciento un dólares"],
    [3121, "GBP", "treinta y una libras con veintiún peniques"],
    [20000, "GBP", "doscientas libras"],
    [100000000, "USD", "un millón de dólares"],
    [100000100, "USD", "un millón un dólares"],
    [1205, "CHF", "doce punto cero cinco francos suizos"],
    [210, "JPY", "doscientos diez yenes japoneses"],
  ];
  for (const [minor, currency, words] of amounts) assert.equal(LANGUAGES["es-US"].amountInWords(minor, currency), words);
});

test("amounts are said as French callers of Canada say them", () => {
  const amounts: readonly (readonly [number, string, string])[] = [
    [4995, "CAD", "quarante-neuf dollars et quatre-vingt-quinze cents"],
    [7100, "CAD", "soixante et onze dollars"],
    [8000, "CAD", "quatre-vingts dollars"],
    [8100, "CAD", "quatre-vingt-un dollars"],
    [20000, "CAD", "deux cents dollars"],
    [8000000, "CAD", "quatre-vingt mille dollars"],
    [20100, "USD", "deux cent un dollars américains"],
    [2101, "GBP", "vingt et une livres et un penny"],
    [100000000, "EUR", "un million d'euros"],
    [1205, "CHF", "douze virgule zéro cinq francs suisses"],
  ];
  for (const [minor, currency, words] of amounts) assert.equal(LANGUAGES["fr-CA"].amountInWords(minor, currency), words);
});

test("numbers in words have no gap and no leftover in any language", () => {
  for (const inWords of [numberInEnglish, numberInSpanish, numberInFrench]) {
    const all = new Set(Array.from({ length: 12_000 }, (_, value) => inWords(value)));
    assert.equal(all.size, 12_000);
    for (const words of all) assert.match(words, /^\p{L}[\p{L} -]*\p{L}$/u);
  }
  assert.equal(numberInEnglish(1_000_001), "one million one");
  assert.equal(numberInEnglish(90_017), "ninety thousand seventeen");
  assert.equal(numberInSpanish(21_021), "veintiún mil veintiuno");
  assert.equal(numberInFrench(1_991), "mille neuf cent quatre-vingt-onze");
});

test("dates are said with the month by name", () => {
  const said = LANGUAGE_TAGS.map((tag) => [2000, 2005, 2031].map((year) => LANGUAGES[tag].dateInWords(3, year)));
  assert.deepEqual(said, [
    ["march two thousand", "march two thousand five", "march twenty thirty one"],
    ["marzo de dos mil", "marzo de dos mil cinco", "marzo de dos mil treinta y uno"],
    ["mars deux mille", "mars deux mille cinq", "mars deux mille trente et un"],
  ]);
});

test("a project's language is the nearest of ours, and one that no voice speaks is refused in a sentence", () => {
  const [embedded, endpoint] = [spokenLanguages("embedded"), spokenLanguages("http://127.0.0.1:8880/v1/audio/speech")];
  for (const tag of ["en-US", "en-GB", "en"]) assert.equal(languageFault(tag, embedded), null);
  assert.equal(
    languageFault("fr-FR", embedded),
    "no voice here speaks fr-CA: the embedded voice knows en-US alone, and VOICE names no other",
  );
  assert.equal(languageFault("fr-FR", endpoint), null);
  for (const spoken of [embedded, endpoint])
    assert.equal(languageFault("de", spoken), "calls have no sentences in this language, only in en-US, es-US, fr-CA");
  const spokenIn = (spoken: typeof embedded) => ["en-GB", "es", "de"].map((tag) => spokenLanguage(tag, spoken));
  assert.deepEqual(
    [spokenIn(embedded), spokenIn(endpoint)],
    [
      ["en-US", "en-US", "en-US"],
      ["en-US", "es-US", "en-US"],
    ],
  );
});

test("docs/conversation.md names every question and closing, and quotes every sentence", () => {
  const page = readFileSync(new URL("../../../docs/conversation.md", import.meta.url), "utf8");
  const names = [
    ...Object.values(QUESTIONS).map(({ prompt }) => prompt),
    ...Object.keys(CLOSING),
    "success",
    "declined",
    "declined_try_again",
  ];
  for (const name of names) assert.equal(page.includes(`\`${name}\``), true, name);
  for (const id of IDS) assert.equal(page.includes(`| \`${id}\` | ${EN_US.sentences[id]} |`), true, id);
});
