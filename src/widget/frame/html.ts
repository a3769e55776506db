import { lengthsByBeginning } from "#src/kernel/card.ts";
import { decimalsOf, formatAmount } from "#src/kernel/money.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { frameVariables, type WidgetField } from "#src/projects/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { Opened } from "../types.ts";
import { BRANDS, picture, shownBrands, SPRITE } from "./marks.ts";
import { fill, type LanguageCode, languageOf, type TextName } from "./texts.ts";

/** What stands in the frame's `<main>`: the form, or what became of the session. */

interface Field {
  wrong: TextName;
  autocomplete: string;
  inputmode: string;
  maxlength: number;
  /** What is typed there, for example; a text's name where it is in words. */
  placeholder: string | { text: TextName };
  /** Picture inside the field, at its end. */
  mark?: string;
  /** Said of the field to whoever cannot see the picture. */
  hint?: TextName;
}

const FIELDS: Readonly<Record<WidgetField, Field>> = {
  number: {
    wrong: "numberWrong",
    autocomplete: "cc-number",
    inputmode: "numeric",
    maxlength: 30,
    placeholder: "1234 1234 1234 1234",
    mark: "mark-plain",
  },
  expiry: { wrong: "expiryWrong", autocomplete: "cc-exp", inputmode: "numeric", maxlength: 9, placeholder: { text: "expiryExample" } },
  cvv: {
    wrong: "cvvWrong",
    autocomplete: "cc-csc",
    inputmode: "numeric",
    maxlength: 4,
    placeholder: "123",
    mark: "code-back",
    hint: "cvvBack",
  },
  zip: { wrong: "zipWrong", autocomplete: "postal-code", inputmode: "text", maxlength: 10, placeholder: "12345" },
  name: { wrong: "nameWrong", autocomplete: "cc-name", inputmode: "text", maxlength: 100, placeholder: "" },
};

/** Whom and what the page is for, in one language. */
export interface View {
  language: LanguageCode;
  basePath: string;
  /** Attributes that the script reads. */
  data: Readonly<Record<string, string>>;
}

type Payment = Pick<Opened, "project" | "session">;

export function titleOf({ session, project }: Payment, language: LanguageCode): string {
  return fill(languageOf(language).texts[session.mode === "tokenize" ? "titleStore" : "title"], { merchant: project.name });
}

function amountOf({ currency, amountMinor }: Session, language: LanguageCode): string {
  // By itself it rounds to the coins in use, which for HUF or COP are none: the sum would not be the one that is charged.
  const decimals = decimalsOf(currency);
  const places = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return new Intl.NumberFormat(languageOf(language).locale, { style: "currency", currency, ...places }).format(
    formatAmount(amountMinor, currency) as `${number}`,
  );
}

/** No input has a name: without the script nothing of a card could be sent anywhere. */
export function formOf(opened: Opened, { language, basePath, data }: View): string {
  const { session, project } = opened;
  const { texts } = languageOf(language);
  const { labels, fields } = project.widget.appearance;
  const amount = amountOf(session, language);
  const attributes = { ...data, api: `${basePath}/v1/widget-sessions/${session.id}`, ...scriptData(opened, language, amount) };
  const isStored = session.mode === "tokenize";
  const button = isStored ? texts.store : fill(texts.pay, { amount });
  return `<main${attributesOf(attributes)} class="labels-${labels}">
${SPRITE}
${summaryOf(opened, language, amount)}
${MESSAGE}
<noscript><p class="error">${escape(texts.noScript)}</p></noscript>
<form id="form" method="post" novalidate aria-label="${escape(isStored ? texts.formStore : texts.formPay)}">
<p class="brands" role="group" aria-label="${escape(texts.accepted)}">${shownBrands(project.acceptedBrands)
    .map((brand) => picture(`mark-${brand}`, "brand", BRANDS[brand].name))
    .join("")}</p>
${fields.map((name) => inputOf(name, language)).join("\n")}
<button id="submit" type="submit" disabled><span class="spinner" aria-hidden="true"></span><span id="submit-text">${escape(button)}</span></button>
<p class="lock">${picture("lock", "icon")}<span>${escape(texts.lock)}</span></p>
</form>
</main>`;
}

/** What became of a session that is over. The browser that paid keeps more of it itself: whoever else has the address learns no more. */
export function endOf({ session, project }: Payment, text: TextName, { language, basePath, data }: View): string {
  const variables = JSON.stringify(frameVariables(project.widget.appearance.variables));
  const attributes = { ...data, api: `${basePath}/v1/widget-sessions/${session.id}`, variables };
  return `<main${attributesOf(attributes)} class="ended">\n${SPRITE}\n${noteOf(languageOf(language).texts[text], language)}\n</main>`;
}

/** Words alone: there is no session, or none can be looked up. */
export const wordsOf = (words: string, language: LanguageCode): string =>
  `<main class="ended">\n${SPRITE}\n${noteOf(words, language)}\n</main>`;

const MESSAGE = '<p id="message" role="status" aria-live="polite" tabindex="-1"></p>';

function noteOf(words: string, language: LanguageCode): string {
  const { texts } = languageOf(language);
  return `<h1 class="hidden">${escape(texts.formPay)}</h1>\n${picture("clock", "seal over")}\n<p id="message" role="status" tabindex="-1">${escape(words)}</p>`;
}

function summaryOf({ session, project }: Payment, language: LanguageCode, amount: string): string {
  const { texts } = languageOf(language);
  const isFree = session.mode === "tokenize";
  return [
    '<header class="summary">',
    // The heading below names the merchant.
    ...(project.widget.logo === null ? [] : [`<img class="logo" src="${escape(project.widget.logo)}" alt="">`]),
    `<h1>${escape(titleOf({ session, project }, language))}</h1>`,
    ...(isFree ? [] : [`<p class="amount">${escape(amount)}</p>`]),
    ...(session.description === null ? [] : [`<p class="description" dir="auto">${escape(session.description)}</p>`]),
    ...(session.environment === "test" ? [`<p class="test">${escape(texts.test)}</p>`] : []),
    "</header>",
  ].join("\n");
}

/** Which field a decline is about, where it is about one. */
const FIXES = JSON.stringify(
  Object.fromEntries(Object.entries(DECLINES).flatMap(([code, { fix }]) => (fix === null ? [] : [[code, fix]]))),
);
const BRAND_NAMES = JSON.stringify(Object.fromEntries(Object.entries(BRANDS).map(([brand, { name }]) => [brand, name])));

/** For the script: each beginning of numbers with the last digits of their lengths, 12 to 19: "4:689" are 16, 18 and 19 digits. */
const LENGTHS = lengthsByBeginning()
  .map(([beginning, lengths]) => `${beginning}:${lengths.map((length) => length % 10).join("")}`)
  .join(" ");

function scriptData({ session, project, processing }: Opened, language: LanguageCode, amount: string): Record<string, string> {
  const { texts, declines } = languageOf(language);
  const sums = { paid: fill(texts.paid, { amount }), authorized: fill(texts.authorized, { amount }) };
  return {
    mode: session.mode,
    // A payment is under way, from this page before it was loaded again or from another one: it is followed, and no card is asked for.
    ...(processing && { processing: "" }),
    texts: JSON.stringify({ ...texts, ...sums }),
    declines: JSON.stringify(declines),
    fixes: FIXES,
    brands: BRAND_NAMES,
    lengths: LENGTHS,
    merchant: project.name,
    accepted: project.acceptedBrands.join(" "),
    variables: JSON.stringify(frameVariables(project.widget.appearance.variables)),
  };
}

function inputOf(id: WidgetField, language: LanguageCode): string {
  const { texts } = languageOf(language);
  const { wrong, autocomplete, inputmode, maxlength, placeholder, mark, hint } = FIELDS[id];
  const example = typeof placeholder === "string" ? placeholder : texts[placeholder.text];
  return `<div class="field field-${id}"><label for="${id}">${escape(texts[id])}</label>
<div class="box"><input id="${id}" type="text" inputmode="${inputmode}" autocomplete="${autocomplete}" maxlength="${maxlength}" placeholder="${escape(example || " ")}" autocapitalize="off" autocorrect="off" spellcheck="false" aria-required="true" aria-describedby="${id}-error${hint ? ` ${id}-hint` : ""}">${mark ? picture(mark, "mark") : ""}</div>
${hint ? `<p id="${id}-hint" class="hidden">${escape(texts[hint])}</p>\n` : ""}<p class="error" id="${id}-error" data-wrong="${escape(texts[wrong])}"></p></div>`;
}

function attributesOf(data: Readonly<Record<string, string>>): string {
  return Object.entries(data)
    .map(([name, value]) => ` data-${name}="${escape(value)}"`)
    .join("");
}

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
