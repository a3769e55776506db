import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Script } from "node:vm";
import { gzipSync } from "node:zlib";
import { CURRENCIES } from "#src/kernel/money.ts";
import { VARIABLE_NAMES } from "#src/projects/index.ts";
import { createFrame } from "./frame.ts";
import { stripScripts, stripScriptsAside } from "./scripts.ts";
import { loaderSnippet } from "./snippet.ts";
import { chooseLanguage, languageOf } from "./texts.ts";

const frame = createFrame(() => "/pay", stripScripts());

test("the frame's style has every variable of an appearance", () => {
  const style = readFileSync(new URL("frame.css", import.meta.url), "utf8");
  for (const name of [...VARIABLE_NAMES, "colorOnPrimary"])
    assert.ok(style.includes(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}:`), name);
});

test("scripts and style together are under 30 kB compressed", () => {
  const bytes = frame.assets.reduce((sum, { text }) => sum + gzipSync(text).length, 0);
  assert.ok(bytes < 30_000, String(bytes));
});

test("scripts are served without their types and import nothing, and page and policy name their digests", () => {
  const { html, headers } = frame.page({ kind: "missing" });
  const scripts = frame.assets.filter(({ path }) => path.endsWith(".js"));
  assert.equal(scripts.length, 2);
  for (const { path, text } of scripts) assert.doesNotThrow(() => new Script(text, { filename: path }));
  for (const { path, text } of frame.assets.filter(({ path }) => path !== frame.loader.path)) {
    const digest = `sha384-${createHash("sha384").update(text).digest("base64")}`;
    assert.ok(html.includes(`="/pay${path}" integrity="${digest}"`), path);
    assert.ok(headers["content-security-policy"]?.includes(`'${digest}'`), path);
  }
});

test("a service's scripts are those of the loader's snippet, whichever thread took their types out", async () => {
  assert.deepEqual(await stripScriptsAside(), stripScripts());
});

test("the language is the merchant's page's, else the browser's first that is spoken here, else English", () => {
  const choices: [string, (string | undefined)[]][] = [
    ["fr", ["fr-CA", "es"]],
    ["es", [undefined, "de-DE,es-MX;q=0.9,en;q=0.8"]],
    ["en", ["de", "ja"]],
    ["en", [undefined, undefined]],
    ["en", ["constructor", "__proto__"]],
  ];
  for (const [language, wanted] of choices) assert.equal(chooseLanguage(...wanted), language, wanted.join());
});

test("who has to wait one second is told so in the singular, in every language", () => {
  for (const [lang, one, two] of [
    ["en", "wait 1 second.", "wait 2 seconds."],
    ["es", "Espere 1 segundo.", "Espere 2 segundos."],
    ["fr", "Attendez 1 seconde.", "Attendez 2 secondes."],
  ] as const) {
    assert.ok(frame.refusal(1, { lang }).html.includes(one), lang);
    assert.ok(frame.refusal(2, { lang }).html.includes(two), lang);
  }
});

test("every language has every word, with the same places to fill in", () => {
  const places = (text: string) => (text.match(/\{[a-z0-9]+\}/g) ?? []).sort();
  const english = languageOf("en").texts;
  for (const code of ["es", "fr"] as const) {
    for (const [name, text] of Object.entries(languageOf(code).texts)) {
      assert.notEqual(text, "", name);
      assert.deepEqual(places(text), places(english[name as keyof typeof english]), `${code} ${name}`);
    }
  }
});

test("a merchant's page names the loader with the digest of what is served there", () => {
  const snippet = loaderSnippet("https://pay.example/pay", "018f7a52-0000-4000-8000-000000000000");
  const [, path = "", integrity] = /src="https:\/\/pay\.example\/pay(\/[^"]+)" integrity="([^"]+)"/.exec(snippet) ?? [];
  const { text, headers } = frame.assets.find((asset) => asset.path === path) ?? { text: "", headers: {} };
  assert.equal(`sha384-${createHash("sha384").update(text).digest("base64")}`, integrity);
  assert.partialDeepStrictEqual(headers, { "access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin" });
});

/** The page of an open session with these differences. */
function pageOf({ session = {}, project = {}, lang = "en" }: { session?: object; project?: object; lang?: string }): string {
  const shop = {
    name: "Shop",
    acceptedBrands: [],
    widget: { origins: [], logo: null, appearance: { theme: "auto", variables: {}, labels: "above", fields: ["number"] } },
    ...project,
  };
  const open = {
    id: "018f7a52-0000-4000-8000-000000000000",
    status: "PENDING",
    mode: "charge",
    currency: "USD",
    amountMinor: 100,
    description: null,
    ...session,
  };
  return frame.page({ kind: "open", project: shop, session: open, nonce: "n" } as never, { lang }).html;
}

test("a project that names its brands shows their marks alone, and tells the script which they are", () => {
  const page = (acceptedBrands: readonly string[]) => pageOf({ project: { acceptedBrands } });
  const marks = (html: string) => [...html.matchAll(/class="brand" role="img" aria-label="([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual(marks(page(["jcb", "visa", "elo"])), ["Visa", "JCB"]);
  assert.match(page(["jcb", "visa", "elo"]), / data-accepted="jcb visa elo"/);
  assert.deepEqual(marks(page([])), ["Visa", "Mastercard", "American Express", "Discover"]);
});

test("the sum is shown as it will be charged, to the last digit, in every currency and language (R-113)", () => {
  for (const currency of CURRENCIES)
    for (const lang of ["en", "es", "fr"]) {
      const html = pageOf({ session: { currency, amountMinor: 123_456 }, lang });
      const [, button = ""] = /<span id="submit-text">([^<]*)</.exec(html) ?? [];
      assert.equal(button.replace(/[^0-9]/g, ""), "123456", `${lang} ${currency}: ${button}`);
    }
});
