import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { z } from "zod";
import { BODY, callerOf, startTestApi, type TestApi } from "#src/api/testing.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { APPROVED, declined } from "#src/payments/testing.ts";
import { fileShape } from "#src/projects/apply/apply.ts";
import { webhookEndpoint } from "#src/projects/commands/shapes.ts";
import { admit } from "#src/voice/admit.ts";
import { runCall } from "#src/voice/call.ts";
import { TestCall, TONE, voiceFixture, type VoiceFixture } from "#src/voice/testing.ts";
import { ROOT } from "./journeys/installation.ts";

/**
 * Every key of the apply file makes a difference: for each either two values, and what differs then as a client, a shopper or a
 * caller has it, or the test that shows it. The gateways' own keys are looked at in src/gateways/settings-used.test.ts.
 */

interface Shape {
  properties?: Record<string, Shape>;
  items?: Shape;
}

const shapeOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as Shape;

/** The keys that hold values, each with its path. */
function keysOf({ properties, items }: Shape, path = ""): string[] {
  if (items?.properties) return [...(path.endsWith("prompts") ? [path] : []), ...keysOf(items, path)];
  if (!properties) return [path];
  return Object.entries(properties).flatMap(([key, inside]) => keysOf(inside, path === "" ? key : `${path}.${key}`));
}

const KEYS_OF_FILE = keysOf(shapeOf(fileShape({ gateways: {}, languages: [] })))
  .filter((key) => !key.startsWith("organizations.projects.gateways"))
  .flatMap((key) => (key.endsWith("status_webhook") ? Object.keys(webhookEndpoint.shape).map((inside) => `${key}.${inside}`) : [key]))
  .map((key) => key.replace("organizations.", ""));

let api: TestApi;
let voice: VoiceFixture;
before(async () => {
  api = await startTestApi();
  voice = await voiceFixture();
});
after(async () => {
  await api.close();
  await voice.close();
});

/** A file with one project of acme's, whose key at `path` has this value. */
function fileWith(path: string, value: unknown, slug = "shop"): string {
  const block = path
    .split(".")
    .toReversed()
    .reduce((inside: unknown, key) => ({ [key]: inside }), value) as object;
  return JSON.stringify({ organizations: [{ slug: "acme", projects: [{ slug, ...block }] }] });
}

/** As another process answers it: what this one has read may be kept for a second. */
const ask: TestApi["call"] = async (...request) => await callerOf(api.another())(...request);
const projects = async () => (await ask("GET", "/v1/projects")).json<unknown>();
const created = (body: object) => async () => {
  const made = await ask("POST", "/v1/sessions", { body: { ...BODY, ...body } });
  const { session_id: id, phone_number, detail = null, pay_url } = made.json<Record<string, unknown>>();
  const { currency } = (await ask("GET", `/v1/sessions/${String(id)}`)).json<Record<string, unknown>>();
  return { status: made.statusCode, detail, phone_number, currency, link: typeof pay_url };
};
/** What a browser is given for the card form: the page, and who may hold it in a frame. */
async function form(): Promise<unknown> {
  const session = await ask("POST", "/v1/widget-sessions", { body: { project: "shop", amount_cents: 100, gateway: "stripe" } });
  const page = await ask("GET", new URL(session.json<{ widget_url: string }>().widget_url).pathname, { key: null });
  return [page.headers["content-security-policy"], page.body].join("\n").replaceAll(/[0-9a-f-]{36}|[\w-]{22}\.[\w-]{43}/g, "");
}

type Answers = readonly (readonly [question: RegExp, keys: string])[];
const CARD: Answers = [
  [/card number/i, "4242424242424242#"],
  [/expiry date/i, "1230#"],
  [/security code/i, "123#"],
  [/zip code/i, "94105#"],
  [/press one/i, "1"],
];

/** Everything that a caller hears who answers so; a question without an answer is waited on, in virtual time. */
async function heard(answers: Answers, listener: { listenFor(task: { testWord: boolean }): void } | null = null) {
  const session = await voice.create({ callback: null });
  const call = new TestCall({ callId: session.id, fields: [`X-Session-Id: ${session.id}`] });
  const admission = await admit(call.incoming, voice.deps);
  assert.ok(!("status" in admission));
  const leg = voice.media.legs.at(-1)!;
  const clock = new ManualClock();
  const [told, times]: [string[], number[]] = [[], []];
  let answered = 0;
  leg.onPlayed = (words) => {
    if (words === TONE) return;
    told.push(words);
    times.push(clock.monotonic());
    const [, keys = ""] = answers.find(([question]) => question.test(words)) ?? [];
    for (const key of keys) leg.on.dtmfDigit(key === "#" ? 11 : Number(key));
    if (keys !== "") answered = told.length;
    // Twice left without an answer: enough was heard.
    else if (told.length > answered + 1) call.dialog.hangUp();
    if (listener) leg.on.speechStarted();
  };
  const over = new AbortController();
  const silent = { port: new MessageChannel().port1, stopListening() {}, stop: async () => {} };
  const recogniser =
    listener &&
    ({ acquire: async () => ({ ...silent, ...listener }), expectSpeech: async () => {} } as unknown as typeof voice.deps.recogniser);
  const running = runCall(call.incoming, admission, { ...voice.deps, recogniser, clock }).finally(() => over.abort());
  // While a card is at the gateway time stands still.
  const phase = async () => (await voice.sessions.find(voice.database.db, session.id))!.phase;
  while (!over.signal.aborted) {
    await turn();
    if ((await phase()) !== "charging") clock.advance(50);
  }
  await running;
  return { told, times };
}
const said = (answers: Answers) => async () => (await heard(answers)).told;
/** After how many seconds the second question comes. */
const waited = (answers: Answers) => async () => Math.round((await heard(answers)).times[1]! / 1000);
const saidOfDeclines = (answers: Answers) => async () => {
  voice.gateway.onCharge = async () => declined("card_declined");
  return await said(answers)().finally(() => (voice.gateway.onCharge = async () => APPROVED));
};
/** What a recogniser is told to listen for. */
async function listened(): Promise<unknown> {
  const tasks: boolean[] = [];
  await heard([], { listenFor: ({ testWord }) => void tasks.push(testWord) });
  return tasks[0];
}
const WRONG_NUMBER: Answers = [[/card number|number/i, "4242424242424241#"], ...CARD.slice(1)];

/** Two values, and what shows that they differ. */
type Difference = readonly [one: unknown, other: unknown, look: () => Promise<unknown>];
/** Where a test of this name shows it. */
type Shown = `${string}.test.ts: ${string}`;

const WORDS: Shown = "src/conversation/wordings.test.ts: a sentence is said in the project's own words";
const FIRST_THAT_FITS: Shown =
  "src/conversation/wordings.test.ts: of the words for a sentence the first that fits the try, the error and the brand";
const PROJECT: Readonly<Record<string, Difference | Shown>> = {
  slug: "src/projects/projects.test.ts: a project is found by slug and by UUID of any case",
  name: ["Shop", "Another", projects],
  currency: ["USD", "EUR", created({})],
  language: "src/projects/apply/apply.test.ts: a language that no voice speaks is refused in one sentence",
  country: "src/checkout/transfer-rules.test.ts: without a list callers go to the project's own country",
  accepted_brands: [["visa"], ["amex"], form],
  archived: [false, true, created({})],
  phone_numbers: [["+15550001111"], ["+15550001112"], created({})],
  "status_webhook.url": "src/webhooks/webhooks.test.ts: a try goes to the address of that moment",
  "status_webhook.secret": "src/webhooks/webhooks.test.ts: a try goes to the address of that moment, with the secrets of that moment",
  "status_webhook.amount_unit": "src/webhooks/payload.test.ts: a project may ask for cents",
  "voice.collect": [["number", "expiry"], ["number", "expiry", "cvv"], said(CARD)],
  "voice.attempts": [1, 2, saidOfDeclines(CARD)],
  "voice.tries": [1, 2, said(WRONG_NUMBER)],
  "voice.name": ["Acme Flowers", null, said(CARD)],
  "voice.read_back": [true, false, said(CARD)],
  "voice.prompts": [[{ sentence: "you_pay", text: "The total is {amount}." }], [], said(CARD)],
  "voice.prompts.sentence": WORDS,
  "voice.prompts.text": WORDS,
  "voice.prompts.attempt": FIRST_THAT_FITS,
  "voice.prompts.error": FIRST_THAT_FITS,
  "voice.prompts.brand": FIRST_THAT_FITS,
  "voice.recordings":
    "src/voice/prompts.test.ts: a recording is played instead of the voice, and the voice instead of a recording that is gone",
  "voice.timeouts.first_digit_ms": [3_000, 20_000, waited([])],
  "voice.timeouts.between_digits_ms": [1_000, 15_000, waited([[/card number/i, "4242"]])],
  "voice.transfer.mode": "src/voice/refer.test.ts: by REFER the caller's own side calls the target",
  "voice.transfer.allow": "src/checkout/transfer-rules.test.ts: with a list they go where it says",
  "voice.trunks": "src/voice/admit.test.ts: a call by a project's own trunk takes that project's session alone",
  "voice.test_word": [true, false, listened],
  "voice.pay_url": [true, false, created({})],
  "voice.short_code": "src/api/routes/short-code.test.ts: the answer that creates a session has a short code where the project has them on",
  "widget.origins": [["https://one.example"], ["https://two.example"], form],
  "widget.logo": [
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    null,
    form,
  ],
  "widget.appearance.theme": ["light", "dark", form],
  "widget.appearance.variables.colorPrimary": ["#0a7d5a", "#0a5d7a", form],
  "widget.appearance.variables.colorBackground": ["#ffffff", "#fffff0", form],
  "widget.appearance.variables.colorText": ["#000000", "#111111", form],
  "widget.appearance.variables.colorDanger": ["#b3261e", "#a00000", form],
  "widget.appearance.variables.colorBorder": ["#767676", "#555555", form],
  "widget.appearance.variables.fontFamily": ["Georgia", "Arial", form],
  "widget.appearance.variables.borderRadius": ["4px", "8px", form],
  "widget.appearance.variables.spacingUnit": ["4px", "6px", form],
  "widget.appearance.labels": ["above", "floating", form],
  "widget.appearance.fields": [["number", "expiry"], ["number", "expiry", "cvv"], form],
  "integrations.alpha.secret": "src/api/routes/integrations.test.ts: a project with the platforms' secrets takes only what shows them",
  "integrations.beta.api_key": "src/api/routes/integrations.test.ts: a project with the platforms' secrets takes only what shows them",
};

const OTHERS: Readonly<Record<string, Difference | Shown>> = {
  slug: "src/projects/api-keys.test.ts: a name, an organization, a scope or a length that cannot be",
  name: "src/projects/apply/apply.test.ts: what is exported holds no secret",
  "api_keys.name": "src/projects/api-keys.test.ts: what means several keys revokes none and names them",
  "api_keys.mode": "src/projects/projects.test.ts: a valid key names its organisation, mode and scopes",
  "api_keys.key": "src/projects/projects.test.ts: an unknown key of the right form is nobody",
  "api_keys.scopes": "src/projects/projects.test.ts: a valid key names its organisation, mode and scopes",
  "api_keys.expires_at": "src/projects/projects.test.ts: a revoked key and an expired key are nobody",
};
const PROOFS: Readonly<Record<string, Difference | Shown>> = {
  ...OTHERS,
  ...Object.fromEntries(Object.entries(PROJECT).map(([key, proof]) => [`projects.${key}`, proof])),
};

test("every key of the apply file is known here, and no other", () => {
  assert.deepEqual(Object.keys(PROOFS).toSorted(), KEYS_OF_FILE.toSorted());
});

describe("each key makes a difference", { concurrency: 1 }, () => {
  for (const [key, proof] of Object.entries(PROOFS)) {
    if (typeof proof === "string") {
      test(`${key}: by a test of its own`, () => {
        const [file = "", title = ""] = proof.split(": ");
        assert.ok(title !== "" && readFileSync(join(ROOT, file), "utf8").includes(`test("${title}`), proof);
      });
      continue;
    }
    const [one, other, look] = proof;
    test(`${key}: by what is seen then`, async () => {
      const seen: unknown[] = [];
      for (const value of [one, other, one]) {
        const file = fileWith(key.replace(/^projects\./, ""), value);
        await api.projects.applyFile(file, {});
        await voice.deps.projects.applyFile(file, {});
        seen.push(await look());
      }
      assert.notDeepEqual(seen[0], seen[1]);
      assert.deepEqual(seen[0], seen[2], "only the key makes the difference");
    });
  }
});
