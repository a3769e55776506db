import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { systemClock } from "#src/kernel/clock.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createSessions, shortCodeOf } from "#src/sessions/index.ts";
import { createLog, createMetrics, silentLog, type OutboundAnswer, type OutboundRequest } from "#src/platform/index.ts";
import { configurationFor } from "#src/integrations/index.ts";
import {
  ALPHA_CALL,
  ALPHA_LEGACY,
  ALPHA_OTHERS,
  ALPHA_SPELLINGS,
  alphaMessage,
  BETA_CALL,
  BETA_SPELLINGS,
  CALLER,
} from "#src/integrations/testing.ts";
import { callerOf, type CallOptions, KEYS, keyWithScope, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
  const guarded = {
    slug: "guarded",
    name: "Guarded",
    currency: "USD",
    country: "US",
    gateways: { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } },
    integrations: { alpha: { secret: "open sesame" }, beta: { api_key: "key_synthetic" } },
  };
  await api.projects.applyFile(JSON.stringify({ organizations: [{ slug: "acme", projects: [guarded] }] }), {});
});
after(() => api.close());

/** Not the method itself: it comes with the API. */
const ours: TestApi["call"] = (...asked) => api.call(...asked);

type Answer = Record<string, unknown>;
const INTEGRATION_KEY = keyWithScope("integrations:use");
const TERMS = { project: "shop", mode: "charge", gateway: "stripe" };

function address(platform: string, terms: object = {}, key: string | null = INTEGRATION_KEY): string {
  const all = Object.entries({ ...(key !== null && { api_key: key }), ...TERMS, ...terms }).filter(([, value]) => value !== null);
  return `/integrations/${platform}/webhook?${new URLSearchParams(all).toString()}`;
}

async function post(platform: "alpha" | "beta", body: object, terms: object = {}, options: CallOptions = {}, call = ours) {
  return await call("POST", address(platform, terms), { key: null, body, ...options });
}

/** The one entry of an alpha answer. */
async function alpha(
  body: object,
  terms: object = {},
  call = ours,
): Promise<{ toolCallId: string; name: string; result?: string; error?: string }> {
  const response = await post("alpha", body, terms, {}, call);
  assert.equal(response.statusCode, 200, response.payload);
  const { results } = response.json<{ results: { toolCallId: string; name: string; result?: string; error?: string }[] }>();
  assert.equal(results.length, 1);
  return results[0]!;
}

async function beta(body: object, terms: object = {}, call = ours): Promise<Answer> {
  const response = await post("beta", body, terms, {}, call);
  assert.equal(response.statusCode, 200, response.payload);
  return response.json();
}

let calls = 0;
/** A telephone call of its own, so that tests do not meet each other's. */
const newCall = (changes: object = {}) => ({ ...ALPHA_CALL, id: `call ${++calls}`, ...changes });
const newBetaCall = (changes: object = {}) => ({ ...BETA_CALL, call_id: `call ${++calls}`, ...changes });
const spelled = ALPHA_SPELLINGS["toolCalls alone"]!;
const whole = BETA_SPELLINGS["the whole call"]!;
const sessionOf = async (id: unknown) => (await api.call("GET", `/v1/sessions/${String(id)}`)).json<Answer>();
const countSessions = async () => (await api.database.db.selectFrom("sessions").select("id").execute()).length;

for (const [spelling, body] of Object.entries(ALPHA_SPELLINGS)) {
  test(`the first platform's tool call makes a session, spelled "${spelling}" (R-380, R-384)`, async () => {
    const { toolCallId, name, result = "" } = await alpha(body({ call: newCall() }));
    assert.deepEqual([toolCallId, name], ["call_syn_A1", "collect_payment"]);
    assert.doesNotMatch(result, /[\r\n]/);
    const ready = JSON.parse(result) as Answer;
    assert.deepEqual(Object.keys(ready).slice(0, 4), ["status", "next", "transfer_to", "session_id"]);
    assert.equal(ready["status"], "ready");
    assert.match(String(ready["next"]), /transfer tool/);
    assert.deepEqual([ready["transfer_to"], ready["phone_number"]], [`sip:${String(ready["session_id"])}@127.0.0.1:5060`, "+15550001111"]);
    const expected = {
      status: "PENDING",
      amount: "42.50",
      caller: CALLER,
      description: "Deposit order 118",
      project_slug: "shop",
      mode: "charge",
    };
    assert.partialDeepStrictEqual(await sessionOf(ready["session_id"]), expected);
  });
}

for (const [spelling, body] of Object.entries(ALPHA_LEGACY)) {
  test(`the event that came before tools makes a session, with its ${spelling} (R-380, R-384)`, async () => {
    const response = await post("alpha", body({ call: newCall() }));
    assert.equal(response.statusCode, 200);
    assert.deepEqual(Object.keys(response.json<object>()), ["result"]);
    const ready = JSON.parse(response.json<{ result: string }>().result) as Answer;
    assert.equal((await sessionOf(ready["session_id"]))["amount"], "42.50");
  });
}

for (const [spelling, body] of Object.entries(BETA_SPELLINGS)) {
  test(`the second platform's function call makes a session, spelled "${spelling}" (R-381, R-384)`, async () => {
    const ready = await beta(body({ call: newBetaCall() }));
    assert.equal(ready["status"], "ready");
    for (const value of Object.values(ready)) assert.ok(["string", "number"].includes(typeof value));
    assert.deepEqual([ready["sip_uri"], ready["phone_number"]], [ready["transfer_to"], "+15550001111"]);
    assert.partialDeepStrictEqual(await sessionOf(ready["session_id"]), {
      amount: "42.50",
      caller: CALLER,
      description: "Deposit order 118",
    });
  });
}

test("the second platform may send the arguments alone; the caller is then theirs or the address's (R-381, R-385)", async () => {
  const said = await beta({ amount: "12.00", caller: "+14155550177" });
  assert.partialDeepStrictEqual(await sessionOf(said["session_id"]), { amount: "12.00", caller: "+14155550177" });
  const fixed = await beta({ amount: "12.00" }, { caller: "+14155550178" });
  assert.equal((await sessionOf(fixed["session_id"]))["caller"], "+14155550178");
});

test("events that need no answer are acknowledged and logged, and make nothing (R-380)", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const app = api.another({ deps: { log } });
  const before = await countSessions();
  for (const body of ALPHA_OTHERS) {
    const { statusCode, payload } = await post("alpha", body, {}, {}, callerOf(app));
    assert.deepEqual([statusCode, payload], [200, "{}"]);
  }
  const ended = await post("beta", { event: "call_ended", call: BETA_CALL }, {}, {}, callerOf(app));
  assert.deepEqual([ended.statusCode, ended.payload], [200, "{}"]);
  assert.equal(await countSessions(), before);
  const logged = lines.map((line) => JSON.parse(line) as Answer).filter(({ event }) => event === "platform_event");
  assert.deepEqual(logged.length, ALPHA_OTHERS.length + 1);
  assert.deepEqual([logged[0]!["reason"], logged[0]!["path"]], ["status-update", "/integrations/alpha/webhook"]);
  assert.doesNotMatch(lines.join(""), /never heard of/);
  await app.close();
});

test("several calls of one message are answered in their order, each by itself (R-380, R-384)", async () => {
  const call = (id: string, name: string, args: object) => ({ id, type: "function", function: { name, arguments: args } });
  const toolCallList = [
    call("a", "collect_payment", { amount: 1 }),
    call("b", "book_table", {}),
    call("c", "collect_payment", { amount: 0 }),
    call("d", "collect_payment", { amount: 2 }),
  ];
  const response = await post("alpha", alphaMessage("tool-calls", { toolCallList }, newCall()));
  assert.equal(response.statusCode, 200);
  const { results } = response.json<{ results: { toolCallId: string; result?: string; error?: string }[] }>();
  assert.deepEqual(
    results.map(({ toolCallId }) => toolCallId),
    ["a", "b", "c", "d"],
  );
  assert.match(results[1]!.error ?? "", /^there is no such tool/);
  assert.match(results[2]!.error ?? "", /^amount must be greater than 0\. /);
  const amounts = [results[0]!, results[3]!].map(
    async ({ result = "" }) => (await sessionOf((JSON.parse(result) as Answer)["session_id"]))["amount"],
  );
  assert.deepEqual(await Promise.all(amounts), ["1.00", "2.00"]);
});

test("an amount may be text, and text may be digits alone, as models write them (R-384)", async () => {
  const args = { amount: "42.50", description: 118, memory: 7 };
  for (const legacy of Object.values(ALPHA_LEGACY)) {
    const { result } = (await post("alpha", legacy({ args, call: newCall() }))).json<{ result: string }>();
    const expected = { amount: "42.50", description: "118", memory: "7" };
    assert.partialDeepStrictEqual(await sessionOf((JSON.parse(result) as Answer)["session_id"]), expected);
  }
  const made = await beta(whole({ args, call: newBetaCall() }));
  assert.partialDeepStrictEqual(await sessionOf(made["session_id"]), { amount: "42.50", description: "118" });
});

test("where the project has short codes the answer has the session's, as text (R-381)", async () => {
  const coded = {
    slug: "coded",
    name: "Coded",
    currency: "USD",
    country: "US",
    phone_numbers: ["+15550001112"],
    voice: { short_code: true },
  };
  const gateways = { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } };
  await api.projects.applyFile(JSON.stringify({ organizations: [{ slug: "acme", projects: [{ ...coded, gateways }] }] }), {});
  const call = newBetaCall();
  const made = await beta(whole({ call }), { project: "coded" });
  assert.equal(made["code"], shortCodeOf(String(made["session_id"])));
  assert.equal((await beta(whole({ call }), { project: "coded" }))["code"], made["code"], "a repeat has it too");
  assert.equal("code" in (await beta(whole({ call: newBetaCall() }))), false);
});

test("a number that asks us who answers goes to the payment line while its caller's session waits, else the request is acknowledged (R-380)", async () => {
  const number = "+14155550192";
  const ask = async (terms: object = {}) =>
    (await post("alpha", alphaMessage("assistant-request", {}, newCall({ customer: { number } })), terms)).json<{ destination?: Answer }>();
  assert.deepEqual(await ask({ amount: "7.00" }), {}, "it makes no session of itself");
  const id = await api.createSession({ caller: number });
  assert.partialDeepStrictEqual(await ask(), {
    destination: { type: "sip", sipUri: `sip:${id}@127.0.0.1:5060`, sipHeaders: { "X-Session-Id": id, "X-Caller": number } },
  });
  assert.deepEqual(await ask({ project: "platform" }), {}, "another project's sessions are not looked at");
  await api.call("POST", `/v1/sessions/${id}/cancel`);
  assert.deepEqual(await ask(), {});
});

test("another tool's name makes no session (R-384)", async () => {
  const before = await countSessions();
  assert.match((await alpha(spelled({ name: "book_table" }))).error ?? "", /no such tool/);
  assert.partialDeepStrictEqual(await beta(whole({ name: "constructor" })), { status: "error", error: { code: "tool_unknown" } });
  assert.equal(await countSessions(), before);
});

const FAULTS: readonly [what: string, terms: object, args: unknown, error: RegExp, code: string][] = [
  ["an amount of nothing", {}, { amount: 0 }, /^amount must be greater than 0/, "amount_invalid"],
  ["an amount in words", {}, { amount: "forty two" }, /^amount must be a valid decimal/, "amount_invalid"],
  ["no amount", {}, {}, /^amount is missing/, "amount_invalid"],
  ["half a cent", {}, { amount: "1.005" }, /^amount must have no more than 2 decimal places/, "amount_invalid"],
  ["arguments that are no object", {}, "[1]", /^arguments must be a JSON object/, "arguments_invalid"],
  ["a mode that there is not", { mode: "refund" }, { amount: 1 }, /^mode must be 'charge' or 'tokenize'/, "mode_invalid"],
  ["no mode", { mode: null }, { amount: 1 }, /^mode is missing/, "mode_invalid"],
  ["a gateway that there is not", { gateway: "paypal" }, { amount: 1 }, /^gateway is none/, "gateway_invalid"],
  ["a gateway that is not set up", { gateway: "adyen" }, { amount: 1 }, /not configured/, "gateway_invalid"],
  ["an unknown project", { project: "nowhere" }, { amount: 1 }, /^project is not known/, "project_invalid"],
  ["another organisation's project", { project: "theirs" }, { amount: 1 }, /^project is not known/, "project_invalid"],
  ["no project, though the model names one", { project: null }, { amount: 1, project: "shop" }, /^project is missing/, "project_invalid"],
  [
    "a callback that the project does not allow",
    {},
    { amount: 1, callback: "+442079460958" },
    /does not allow transfers/,
    "callback_invalid",
  ],
  [
    "a description that is too long",
    {},
    { amount: 1, description: "x".repeat(501) },
    /^description must have at most 500/,
    "description_invalid",
  ],
];
for (const [what, terms, args, words, code] of FAULTS) {
  test(`${what} is told in words that an agent can act on, with status 200 (R-382)`, async () => {
    const before = await countSessions();
    const { error = "" } = await alpha(spelled({ args, call: newCall() }), terms);
    assert.match(error, words);
    assert.doesNotMatch(error, /[\r\n]/);
    assert.match(error, /\. [A-Z].*\.$/, "it says what to do next");
    const answer = await beta(whole({ args, call: newBetaCall() }), terms);
    assert.partialDeepStrictEqual(answer, { status: "error", error: { code } });
    for (const name of ["say", "next"]) assert.ok(String(answer[name]).length > 10);
    assert.equal(await countSessions(), before);
  });
}

test("the caller comes from the event, is overridden by the arguments, and without one the agent is told to ask (R-385)", async () => {
  const callerOfSession = async ({ result = "" }: { result?: string }) =>
    (await sessionOf((JSON.parse(result) as Answer)["session_id"]))["caller"];
  assert.equal(
    await callerOfSession(await alpha(spelled({ args: { amount: 1, caller: "+1 415 555 0177" }, call: newCall() }))),
    "+14155550177",
  );
  assert.equal(await callerOfSession(await alpha(spelled({ args: { amount: 1, caller: "my number" }, call: newCall() }))), CALLER);
  const unknown = newCall({ customer: undefined });
  const { error = "" } = await alpha(spelled({ args: { amount: 1 }, call: unknown }));
  assert.match(error, /^caller is missing\. Ask the caller for the telephone number/);
  assert.match(
    (await alpha(spelled({ id: "again", args: { amount: 1, caller: "five" }, call: unknown }))).error ?? "",
    /^caller must be a phone number/,
  );
  const withheld = await beta(whole({ args: { amount: 1 }, call: newBetaCall({ from_number: undefined }) }));
  assert.partialDeepStrictEqual(withheld, { status: "error", error: { code: "caller_invalid" } });
});

const webCall = () => newCall({ type: "webCall", customer: undefined });
const betaWebCall = () => newBetaCall({ call_type: "web_call", from_number: undefined, to_number: undefined });

test("a call from a browser is not asked for a number: without a payment link the agent is told that it cannot be paid (R-385, R-435)", async () => {
  const before = await countSessions();
  for (const args of [{ amount: 1 }, { amount: 1, caller: "five" }]) {
    const { error = "" } = await alpha(spelled({ args, call: webCall() }));
    assert.match(error, /^this is a call from a browser.*Do not ask for a telephone number/);
    const answer = await beta(whole({ args, call: betaWebCall() }), { caller: "{{user_number}}" });
    assert.partialDeepStrictEqual(answer, { status: "error", error: { code: "web_call_without_link" } });
  }
  assert.equal(await countSessions(), before);
  const dialled = await beta(whole({ args: { amount: 1, caller: CALLER }, call: betaWebCall() }));
  assert.match(String(dialled["next"]), /^This call cannot be transferred\. Ask the caller to call phone_number/);
});

test("a call from a browser is given the payment link, where the project offers one, the same for a repeat, and is not transferred (R-383, R-385, R-435)", async () => {
  const linked = {
    slug: "linked",
    name: "Linked",
    currency: "USD",
    country: "US",
    voice: { pay_url: true },
    gateways: { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } },
  };
  await api.projects.applyFile(JSON.stringify({ organizations: [{ slug: "acme", projects: [linked] }] }), {});
  const [call, terms] = [webCall(), { project: "linked", amount: "3.00" }];
  const ready = async () => JSON.parse((await alpha(spelled({ args: {}, call }), terms)).result ?? "{}") as Answer;
  const made = await ready();
  assert.deepEqual(Object.keys(made), ["status", "next", "pay_url", "session_id", "expires_in_seconds", "say"]);
  assert.match(String(made["next"]), /^Send the caller the link pay_url/);
  const session = await sessionOf(made["session_id"]);
  assert.partialDeepStrictEqual(session, { status: "PENDING", amount: "3.00", caller: null, pay_url: made["pay_url"] });
  assert.deepEqual([(await ready())["session_id"], (await ready())["pay_url"]], [made["session_id"], made["pay_url"]]);
  const page = await api.call("GET", new URL(String(made["pay_url"])).pathname + new URL(String(made["pay_url"])).search, { key: null });
  assert.equal(page.statusCode, 200);
  const { result = "" } = await alpha(spelled({ id: "result", name: "get_payment_result", args: {}, call }), terms);
  assert.partialDeepStrictEqual(JSON.parse(result), { status: "waiting", pay_url: made["pay_url"] });
  const asked = await post("alpha", alphaMessage("transfer-destination-request", {}, call), terms);
  assert.equal("destination" in asked.json<object>(), false);
  const second = await beta(whole({ args: { amount: 1 }, call: betaWebCall() }), { project: "linked" });
  assert.match(String(second["pay_url"]), /\/widget\/.*\?t=/);
});

test("of the links made in one call from a browser the newest alone can be paid, and none is made beside a payment that has begun (R-383, R-435)", async () => {
  const call = webCall();
  let asked = 0;
  const ask = async (amount: number) =>
    JSON.parse((await alpha(spelled({ id: `tool ${++asked}`, args: { amount }, call }), { project: "linked" })).result ?? "{}") as Answer;
  const statusOf = async ({ session_id: id }: Answer) => (await sessionOf(id))["status"];
  const first = await ask(10);
  const again = await ask(10);
  assert.deepEqual([again["session_id"], again["pay_url"]], [first["session_id"], first["pay_url"]], "asked twice");
  const corrected = await ask(12);
  assert.equal(corrected["status"], "ready");
  assert.deepEqual(await Promise.all([first, corrected].map(statusOf)), ["cancelled", "PENDING"]);
  const other = await alpha(spelled({ args: { amount: 5 }, call: webCall() }), { project: "linked" });
  assert.equal(await statusOf(corrected), "PENDING", "another call's link is another matter");
  assert.equal(await statusOf(JSON.parse(other.result ?? "{}") as Answer), "PENDING");

  await api.sessions.apply(String(corrected["session_id"]), "claim", { claimedBy: "o", callId: "c" });
  const before = await countSessions();
  assert.partialDeepStrictEqual(await ask(13), { status: "in_progress", session_id: corrected["session_id"] });
  assert.equal(await countSessions(), before);
  await api.sessions.apply(String(corrected["session_id"]), "charge");
  assert.partialDeepStrictEqual(await ask(14), { status: "unknown", session_id: corrected["session_id"] });
  await api.sessions.apply(String(corrected["session_id"]), "approve", { cardBrand: "visa", cardLast4: "4242" });
  assert.partialDeepStrictEqual(await ask(12), { status: "success", session_id: corrected["session_id"] });
  assert.equal((await ask(15))["status"], "ready", "what is asked for after a payment is another one");
});

test("of different payments asked for at one moment in a call from a browser, by several processes, one can be paid (R-383, R-435)", async () => {
  const ofItsOwn = () => createSessions({ database: api.database, clock: systemClock, random: systemRandom, log: silentLog });
  const apps = Array.from({ length: 3 }, () => api.another({ deps: { sessions: ofItsOwn() } }));
  const call = webCall();
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, n) =>
      alpha(
        spelled({ id: `tool ${n}`, args: { amount: n + 1, description: "race" }, call }),
        { project: "linked" },
        callerOf(apps[n % apps.length]!),
      ),
    ),
  );
  const ids = new Set(answers.map(({ result, error }) => (JSON.parse(result ?? `"${error ?? ""}"`) as Answer)["session_id"]));
  const statuses = await Promise.all([...ids].map(async (id) => (await sessionOf(id))["status"]));
  assert.equal(statuses.filter((status) => status === "PENDING").length, 1, statuses.join(" "));
  const { db } = api.database;
  const open = await db.selectFrom("sessions").select("id").where("description", "=", "race").where("status", "=", "PENDING").execute();
  assert.equal(open.length, 1);
  await Promise.all(apps.map((app) => app.close()));
});

test("a delivery repeated in a call from a browser leaves one link to be paid, where an earlier one came to no end (R-383, R-435)", async () => {
  const call = webCall();
  const ask = async (amount: number, app = ours) => {
    const { result, error } = await alpha(spelled({ id: `tool ${amount}`, args: { amount }, call }), { project: "linked" }, app);
    return error === undefined ? (JSON.parse(result ?? "{}") as Answer) : { error };
  };
  const first = await ask(21);
  // It makes its session and dies: the links made before are as they were, and nobody was told of its own.
  const apply = () => Promise.reject(new Error("the process died"));
  const dying = api.another({ deps: { sessions: { ...api.sessions, apply } } });
  assert.equal(
    (await post("alpha", spelled({ id: "tool 22", args: { amount: 22 }, call }), { project: "linked" }, {}, callerOf(dying))).statusCode,
    500,
  );
  await dying.close();
  const statuses = async (sessions: Answer[]) =>
    await Promise.all(sessions.map(async ({ session_id: id }) => (await sessionOf(id))["status"]));
  assert.deepEqual(await statuses([first]), ["PENDING"]);
  const repeated = await ask(22);
  assert.equal(repeated["status"], "ready");
  assert.deepEqual(await statuses([first, repeated]), ["cancelled", "PENDING"]);
});

test("a payment that begins in the moment in which a corrected amount is asked for is the one that the agent hears of (R-383, R-384)", async () => {
  const call = newCall();
  let asked = 0;
  const tool = async (name: string, args: object, app = ours) =>
    JSON.parse((await alpha(spelled({ id: `tool ${++asked}`, name, args, call }), {}, app)).result ?? "{}") as Answer;
  const { session_id: first } = await tool("collect_payment", { amount: 10 });
  const createIdempotent: TestApi["sessions"]["createIdempotent"] = async (...creation) => {
    await api.sessions.apply(String(first), "claim", { claimedBy: "o", callId: "c" });
    return await api.sessions.createIdempotent(...creation);
  };
  const racing = api.another({ deps: { sessions: { ...api.sessions, createIdempotent } } });
  assert.partialDeepStrictEqual(await tool("collect_payment", { amount: 12 }, callerOf(racing)), {
    status: "in_progress",
    session_id: first,
  });
  await racing.close();
  const result = () => tool("get_payment_result", {});
  assert.partialDeepStrictEqual(await result(), { status: "in_progress", session_id: first });
  await api.sessions.apply(String(first), "charge");
  await api.sessions.apply(String(first), "approve", { cardBrand: "visa", cardLast4: "4242" });
  assert.partialDeepStrictEqual(await result(), { status: "success", session_id: first, amount: "10.00" });
  const next = await tool("collect_payment", { amount: 5 });
  assert.equal((await api.call("POST", `/v1/sessions/${String(next["session_id"])}/cancel`)).statusCode, 204);
  assert.partialDeepStrictEqual(await result(), { status: "cancelled" }, "what was paid before it is another payment");
});

test("a caller who is back in another call hears of what was paid, not of an older session that still waits (R-384)", async () => {
  const caller = "+14155550166";
  const ask = async (name: string, args: object = {}) =>
    JSON.parse((await alpha(spelled({ name, args, call: newCall({ customer: { number: caller } }) }))).result ?? "{}") as Answer;
  const transfer = async () =>
    await post("alpha", alphaMessage("transfer-destination-request", {}, newCall({ customer: { number: caller } })), {
      transfer: "control",
    });
  const waiting = await ask("collect_payment", { amount: 10 });
  const { session_id: second } = await ask("collect_payment", { amount: 10 });
  assert.partialDeepStrictEqual(await ask("get_payment_result"), { status: "waiting", session_id: second });
  await api.sessions.apply(String(second), "claim", { claimedBy: "o", callId: "c" });
  await api.sessions.apply(String(second), "charge");
  assert.partialDeepStrictEqual(await ask("get_payment_result"), { status: "unknown", session_id: second });
  await api.sessions.apply(String(second), "approve", { cardBrand: "visa", cardLast4: "4242" });
  assert.partialDeepStrictEqual(await ask("get_payment_result"), { status: "success", session_id: second });
  assert.equal("destination" in (await transfer()).json<object>(), false);
  const declined = await ask("collect_payment", { amount: 7 });
  await api.sessions.apply(String(declined["session_id"]), "cancel");
  assert.partialDeepStrictEqual(await ask("get_payment_result"), { status: "success", session_id: second });
  const later = await ask("collect_payment", { amount: 8 });
  assert.partialDeepStrictEqual(await ask("get_payment_result"), { status: "waiting", session_id: later["session_id"] });
  assert.equal(await sessionOf(waiting["session_id"]).then(({ status }) => status), "PENDING");
});

test("a caller is known without the plus, by tel: and sip: addresses, and by an address whose plus was not escaped (R-385)", async () => {
  for (const number of ["14155550123", "tel:+14155550123", "sip:+14155550123@pbx.example"]) {
    const { result = "" } = await alpha(spelled({ args: { amount: 1 }, call: newCall({ customer: { number } }) }));
    assert.equal((await sessionOf((JSON.parse(result) as Answer)["session_id"]))["caller"], CALLER, number);
    const made = await beta(whole({ args: { amount: 1 }, call: newBetaCall({ from_number: number }) }));
    assert.equal((await sessionOf(made["session_id"]))["caller"], CALLER, number);
  }
  for (const caller of [" 14155550178", "14155550178"])
    assert.equal((await sessionOf((await beta({ amount: "12.10" }, { caller }))["session_id"]))["caller"], "+14155550178");
});

const MISCONFIGURED: readonly [what: string, terms: object, named: string][] = [
  ["a value that there is not", { transfer: "controll" }, "transfer"],
  ["a fixed amount that is none", { amount: "abc" }, "amount"],
];
for (const [what, terms, named] of MISCONFIGURED) {
  test(`${what} in the tool's address is the merchant's fault: the model apologises, asks nothing, and the log warns (R-382)`, async () => {
    const lines: string[] = [];
    const app = api.another({ deps: { log: createLog({ level: "warn", format: "json", write: (line) => void lines.push(line) }) } });
    const before = await countSessions();
    const { error = "" } = await alpha(spelled({ args: { amount: 1 }, call: newCall() }), terms, callerOf(app));
    assert.match(error, /^the payment tool is misconfigured: .*\. Apologise\. Do not ask the caller for anything/);
    assert.ok(error.includes(named), error);
    const answer = await beta(whole({ args: { amount: 1 }, call: newBetaCall() }), terms, callerOf(app));
    assert.partialDeepStrictEqual(answer, { status: "error", error: { code: "tool_misconfigured" } });
    assert.equal(await countSessions(), before);
    const warned = lines.map((line) => JSON.parse(line) as Answer).filter(({ event }) => event === "platform_tool_misconfigured");
    assert.equal(warned.length, 2);
    assert.ok(warned.every(({ reason }) => String(reason).includes(named)));
    await app.close();
  });
}

for (const [name, named] of [
  ["ammount", "ammount"],
  ["4242424242424242", "(not a word)"],
] as const) {
  test(`a parameter of the tool's address that is none is ignored, and the log warns: ${named} (R-020)`, async () => {
    const lines: string[] = [];
    const app = api.another({ deps: { log: createLog({ level: "warn", format: "json", write: (line) => void lines.push(line) }) } });
    const answer = await beta(whole({ args: { amount: 1 }, call: newBetaCall() }), { [name]: "5" }, callerOf(app));
    assert.equal(answer["status"], "ready");
    const warned = lines.map((line) => JSON.parse(line) as Answer).filter(({ event }) => event === "platform_tool_misconfigured");
    assert.ok(warned.length === 1 && String(warned[0]?.["reason"]).includes(named), lines.join(""));
    assert.doesNotMatch(lines.join(""), /4242424242424242/);
    await app.close();
  });
}

test("a wrong parameter leaves what became of a payment to be told, and one that names no tool is the merchant's fault (R-382)", async () => {
  const call = newBetaCall();
  const made = await beta(whole({ args: { amount: 1 }, call }));
  const told = await beta(whole({ name: "get_payment_result", args: {}, call }), { transfer: "controll" });
  assert.deepEqual([told["status"], told["session_id"]], ["waiting", made["session_id"]]);
  assert.partialDeepStrictEqual(await beta({ session_id: made["session_id"] }, { tool: "get_result" }), {
    error: { code: "tool_misconfigured" },
  });
});

test("a description or memory that is no text is told so, and not to be shortened (R-382)", async () => {
  for (const field of ["description", "memory"])
    for (const value of [{ order: 118 }, ["118"], true]) {
      const { error = "" } = await alpha(spelled({ args: { amount: 1, [field]: value }, call: newCall() }));
      assert.match(error, new RegExp(`^${field} must be text\\. Write ${field} as text`));
    }
});

test("a wrong key is a 401, a key without the scope a 403, and a key for integrations opens nothing else (R-382, R-044)", async () => {
  const statusOf = async (key: string | null, header: string | null = null) => {
    const response = await api.call("POST", address("alpha", {}, key), { key: header, body: spelled({ call: newCall() }) });
    return response.statusCode;
  };
  for (const wrong of ["svc_test_x", KEYS.expired, `svc_live_${"x".repeat(32)}`, ""]) assert.equal(await statusOf(wrong), 401, wrong);
  assert.equal(await statusOf(null), 401);
  for (const scope of ["sessions:read", "sessions:cancel", "widget:create", "projects:read"])
    assert.equal(await statusOf(keyWithScope(scope)), 403);
  assert.equal(await statusOf(keyWithScope("sessions:create")), 200);
  for (const [method, url] of [
    ["GET", "/v1/sessions?caller=%2B14155550123"],
    ["GET", "/v1/projects"],
    ["POST", "/v1/sessions"],
    ["POST", "/v1/widget-sessions"],
  ] as const)
    assert.equal((await api.call(method, url, { key: INTEGRATION_KEY })).statusCode, 403, url);
  const twice = await api.call("POST", `${address("alpha")}&api_key=${INTEGRATION_KEY}`, { key: null, body: spelled() });
  assert.equal(twice.statusCode, 401);
});

test("a bearer header does in place of api_key; when both are given the query's wins and must be valid (R-387)", async () => {
  const body = () => spelled({ call: newCall() });
  const bearer = await api.call("POST", address("alpha", {}, null), { key: INTEGRATION_KEY, body: body() });
  assert.equal(bearer.statusCode, 200);
  const both = await api.call("POST", address("alpha", {}, KEYS.expired), { key: INTEGRATION_KEY, body: body() });
  assert.equal(both.statusCode, 401);
  const foreign = await api.call("POST", address("alpha"), {
    key: null,
    headers: { authorization: "Bearer of the platform's own" },
    body: body(),
  });
  assert.equal(foreign.statusCode, 200);
});

test("a repeated delivery is the same session, whatever else comes with it (R-383)", async () => {
  const call = newCall();
  const [first, second] = await Promise.all([alpha(spelled({ call })), alpha(spelled({ call: { ...call, status: "later" } }))]);
  const third = await api.call("POST", address("alpha", {}, null), { key: KEYS.test, body: spelled({ call }) });
  const ids = [first.result, second.result, third.json<{ results: { result: string }[] }>().results[0]!.result].map(
    (result = "") => (JSON.parse(result) as Answer)["session_id"],
  );
  assert.equal(new Set(ids).size, 1);
  const other = JSON.parse((await alpha(spelled({ call, id: "call_syn_A2" }))).result ?? "") as Answer;
  assert.notEqual(other["session_id"], ids[0]);
  assert.equal((await alpha(spelled({ call: newCall() }))).result?.includes(String(ids[0])), false);

  const betaCall = newBetaCall();
  const spoken = BETA_SPELLINGS["words spoken meanwhile among the arguments"]!;
  const one = await beta(whole({ call: betaCall }));
  const repeated = await Promise.all([whole, spoken].map((body) => beta(body({ call: { ...betaCall, transcript: "longer" } }))));
  for (const again of repeated) assert.equal(again["session_id"], one["session_id"]);
  assert.notEqual((await beta(whole({ call: betaCall, args: { amount: 43 } })))["session_id"], one["session_id"]);
  assert.notEqual((await beta(whole({ call: newBetaCall() })))["session_id"], one["session_id"]);
});

test("deliveries of one tool call at the same moment, to several processes, are one session (R-383)", async () => {
  const ofItsOwn = () => createSessions({ database: api.database, clock: systemClock, random: systemRandom, log: silentLog });
  const apps = Array.from({ length: 3 }, () => api.another({ deps: { sessions: ofItsOwn() } }));
  const call = newCall();
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => alpha(spelled({ call }), {}, callerOf(apps[n % apps.length]!))));
  const ids = answers.map(({ result, error }) => (JSON.parse(result ?? `"${error ?? ""}"`) as Answer)["session_id"]);
  assert.equal(new Set(ids).size, 1, JSON.stringify(answers.slice(0, 3)));
  assert.ok(ids[0]);
  await Promise.all(apps.map((app) => app.close()));
});

test("a delivery that another process is still at waits for its session, and in the end says that it is under way (R-383)", async () => {
  const clock = { ...systemClock, after: (_ms: number, task: () => void) => systemClock.after(0, task) };
  const ask = async (busyFor: number) => {
    let left = busyFor;
    const createIdempotent: typeof api.sessions.createIdempotent = async (...asked) =>
      left-- > 0 ? null : await api.sessions.createIdempotent(...asked);
    const app = api.another({ clock, deps: { sessions: { ...api.sessions, createIdempotent } } });
    const answer = await alpha(spelled({ call: newCall() }), {}, callerOf(app));
    await app.close();
    return answer;
  };
  assert.match((await ask(3)).result ?? "", /"status":"ready"/);
  assert.match((await ask(1000)).error ?? "", /^the same request is under way\. Wait a few seconds/);
});

test("an agent is not told to try again after a refusal over which money may have moved, and its repeated call takes no second payment (R-383)", async () => {
  for (const errorCode of ["held_for_review", "duplicate_transaction", "outcome_unknown", "webhook_gateway_error"]) {
    const call = newBetaCall();
    const first = await beta(whole({ call }));
    const id = String(first["session_id"]);
    await api.sessions.claim(id, { owner: "o", callId: "c" });
    await api.sessions.apply(id, "charge");
    await api.sessions.apply(id, "fail", { errorCode, errorMessage: null });
    const told = await beta(whole({ name: "get_payment_result", args: {}, call }));
    assert.partialDeepStrictEqual(told, { status: "unknown", session_id: id, error_code: errorCode }, errorCode);
    assert.match(String(told["next"]), /^Do not take another payment for the same thing/);
    // The bank has answered where it says that it knows this payment already.
    const isAnswered = errorCode === "duplicate_transaction";
    assert.match(
      String(told["say"]),
      isAnswered ? /^The same payment was made a moment ago, so this one was refused\./ : /the bank's answer/,
    );
    assert.equal(/Ask again in a minute/.test(String(told["next"])), !isAnswered);
    assert.equal((await beta(whole({ call })))["session_id"], id, errorCode);
  }
});

test("what failed may be asked for again in the same call; what is paid, or may be, is not taken twice (R-383)", async () => {
  const call = newBetaCall();
  const ask = () => beta(whole({ call }));
  const first = await ask();
  const id = String(first["session_id"]);
  await api.call("POST", `/v1/sessions/${id}/cancel`);
  const second = await ask();
  assert.equal(second["status"], "ready");
  assert.notEqual(second["session_id"], id);
  assert.equal((await ask())["session_id"], second["session_id"]);

  const next = String(second["session_id"]);
  await api.sessions.claim(next, { owner: "o", callId: "c" });
  assert.partialDeepStrictEqual(await ask(), { status: "in_progress", session_id: next });
  await api.sessions.apply(next, "charge");
  assert.partialDeepStrictEqual(await ask(), { status: "unknown", session_id: next });
  await api.sessions.apply(next, "approve", { cardBrand: "visa", cardLast4: "4242" });
  const paid = await ask();
  assert.partialDeepStrictEqual(paid, { status: "success", session_id: next, card_last4: "4242" });
  assert.match(String(paid["next"]), /Do not take another payment/);
});

test("of the sessions made in one telephone call the newest alone can be paid, and what became of it is told for the others too (R-383)", async () => {
  const caller = "+14155550187";
  const call = newBetaCall({ from_number: caller });
  const ask = (amount: number) => beta(whole({ args: { amount }, call }));
  const statusOf = async ({ session_id: id }: Answer) => (await sessionOf(id))["status"];
  const [wrong, right] = [await ask(50), await ask(5)];
  assert.deepEqual([wrong["status"], right["status"]], ["ready", "ready"]);
  assert.deepEqual([await statusOf(wrong), await statusOf(right)], ["cancelled", "PENDING"]);
  assert.partialDeepStrictEqual(await beta(whole({ args: { amount: 7 }, call: newBetaCall({ from_number: caller }) })), {
    status: "ready",
  });
  assert.equal(await statusOf(right), "PENDING", "another call's session is another matter");

  const id = String(right["session_id"]);
  await api.sessions.claim(id, { owner: "o", callId: "c" });
  const before = await countSessions();
  assert.partialDeepStrictEqual(await ask(6), { status: "in_progress", session_id: id });
  assert.equal(await countSessions(), before, "none is made beside a payment that has begun");
  await api.sessions.apply(id, "charge");
  await api.sessions.apply(id, "approve", { cardBrand: "visa", cardLast4: "4242" });
  const result = (args: object) => beta(whole({ name: "get_payment_result", args, call }));
  for (const args of [{}, { session_id: id }, { session_id: wrong["session_id"] }])
    assert.partialDeepStrictEqual(await result(args), { status: "success", session_id: id });
});

test("a tool call that is repeated after its session was replaced is told of the one that waits now (R-383)", async () => {
  const call = newCall();
  const ask = async (id: string, amount: number) =>
    JSON.parse((await alpha(spelled({ id, args: { amount }, call }))).result ?? "{}") as Answer;
  const [wrong, right] = [await ask("first", 50), await ask("second", 5)];
  assert.notEqual(wrong["session_id"], right["session_id"]);
  assert.partialDeepStrictEqual(await ask("first", 50), { status: "waiting", session_id: right["session_id"], amount: "5.00" });
});

test("the result of a payment is told by session, by call, and by caller, and never another caller's for the asking (R-380, R-381)", async () => {
  const mine = newBetaCall({ from_number: "+14155550181" });
  const made = await beta(whole({ call: mine }));
  const ask = (call: object, args: object = {}) => beta(whole({ name: "get_payment_result", args, call }));
  assert.partialDeepStrictEqual(await ask(mine), { status: "waiting", session_id: made["session_id"], transfer_to: made["transfer_to"] });
  await api.call("POST", `/v1/sessions/${String(made["session_id"])}/cancel`);
  for (const answer of [
    await ask(mine),
    await ask(newBetaCall({ from_number: "+14155550181" })),
    await ask(newBetaCall({ from_number: "+14155550182" }), { session_id: made["session_id"] }),
    await ask({ call_type: "web_call", call_id: "browser" }, { caller: "+14155550181" }),
    // A template that nobody filled, and what is no id at all.
    await ask(mine, { session_id: "{{payment_session_id}}" }),
    await ask(mine, { session_id: "constructor" }),
  ]) {
    assert.partialDeepStrictEqual(answer, { status: "cancelled", session_id: made["session_id"], amount: "42.50" });
    for (const name of ["say", "do_not_say", "next"]) assert.ok(String(answer[name]).length > 10, name);
  }
  const none = { status: "error", error: { code: "payment_not_found" } };
  assert.partialDeepStrictEqual(await ask(newBetaCall({ from_number: "+14155550182" }), { caller: "+14155550181" }), none);
  assert.partialDeepStrictEqual(await ask(mine, { session_id: "00000000-0000-4000-8000-000000000000" }), none);
  // Asked for of the other organisation's own project.
  const others = await api.call("POST", address("beta", { project: "theirs" }, KEYS.other), {
    key: null,
    body: whole({ name: "get_payment_result", args: { session_id: made["session_id"] }, call: mine }),
  });
  assert.partialDeepStrictEqual(others.json<Answer>(), none);
});

test("a project's payments are told at its own address alone, whatever key is used (R-053, R-382)", async () => {
  const call = newBetaCall({ from_number: "+14155550187" });
  const made = await beta(whole({ call }));
  const ask = (terms: object, args: object = {}) => beta(whole({ name: "get_payment_result", args, call }), terms);
  assert.equal((await ask({}))["session_id"], made["session_id"]);
  const none = { status: "error", error: { code: "payment_not_found" } };
  for (const args of [{}, { session_id: made["session_id"] }])
    assert.partialDeepStrictEqual(await ask({ project: "platform" }, args), none);
  for (const project of [null, "nowhere", "theirs"])
    assert.partialDeepStrictEqual(await ask({ project }), { status: "error", error: { code: "project_invalid" } });
});

test("where the call goes is answered from the session made in it, without an argument (R-380)", async () => {
  const call = newCall();
  const request = (args?: object) =>
    alphaMessage("transfer-destination-request", args ? { functionCall: { name: "transferCall", parameters: args } } : {}, call);
  const ask = async (body: object, terms: object = {}) =>
    (await post("alpha", body, terms)).json<{ destination?: Answer; error?: string }>();
  const other = newCall({ customer: { number: "+14155550191" } });
  assert.match(
    (await ask(alphaMessage("transfer-destination-request", {}, other))).error ?? "",
    /^no payment is waiting for this caller\. Call collect_payment first/,
  );
  await alpha(spelled({ call, id: "first", args: { amount: 1 } }));
  const made = JSON.parse((await alpha(spelled({ call, id: "second" }))).result ?? "") as Answer;
  const { destination } = await ask(request());
  assert.partialDeepStrictEqual(destination, {
    type: "sip",
    sipUri: made["transfer_to"],
    sipHeaders: { "X-Session-Id": made["session_id"], "X-Caller": CALLER },
    message: "",
  });
  const fixed = await ask(alphaMessage("transfer-destination-request", {}, other), { amount: "7.00" });
  const id = /^sip:([^@]+)@/.exec(String(fixed.destination?.["sipUri"]))?.[1];
  assert.partialDeepStrictEqual(await sessionOf(id), { amount: "7.00", caller: "+14155550191" });
});

test("a project with the platforms' secrets takes only what shows them (R-380, R-381)", async () => {
  const terms = { project: "guarded" };
  const alphaStatus = async (headers: Record<string, string>) =>
    (await post("alpha", spelled({ call: newCall() }), terms, { headers })).statusCode;
  assert.equal(await alphaStatus({}), 401);
  assert.equal(await alphaStatus({ "x-vapi-secret": "open barley" }), 401);
  assert.equal(await alphaStatus({ "x-vapi-secret": "open sesame" }), 200);
  const refused = await post("alpha", alphaMessage("status-update", {}), terms);
  assert.deepEqual(
    [refused.statusCode, refused.json<Answer>()["detail"]],
    [401, "The voice platform's secret or signature is missing or wrong"],
  );

  const body = JSON.stringify(whole({ call: newBetaCall() }));
  const now = Date.now();
  const sign = (text: string, at: number) =>
    `v=${at},d=${createHmac("sha256", "key_synthetic")
      .update(text + String(at))
      .digest("hex")}`;
  const betaStatus = async (signature: string | null) => {
    const headers: Record<string, string> = signature === null ? {} : { "x-retell-signature": signature };
    return (await api.call("POST", address("beta", terms), { key: null, body, headers })).statusCode;
  };
  assert.equal(await betaStatus(null), 401);
  assert.equal(await betaStatus(sign(`${body} `, now)), 401);
  assert.equal(await betaStatus(sign(body, now - 301_000)), 401);
  assert.equal(await betaStatus(sign(body, now)), 200);
});

test("the account to charge on is never the model's choice, and what the address fixes is not either (R-127, R-380)", async () => {
  const terms = { project: "platform", amount: "5.00", callback: "sip:agent@pbx.merchant.example", stripe_account: "acct_1" };
  const args = {
    amount: 900,
    callback: "sip:thief@pbx.merchant.example",
    stripe_account: "acct_2",
    mode: "tokenize",
    gateway: "adyen",
    project: "shop",
  };
  const { result = "" } = await alpha(spelled({ args, call: newCall() }), terms);
  const id = String((JSON.parse(result) as Answer)["session_id"]);
  assert.partialDeepStrictEqual(await sessionOf(id), {
    amount: "5.00",
    callback: "sip:agent@pbx.merchant.example",
    mode: "charge",
    project_slug: "platform",
  });
  const row = await api.database.db.selectFrom("sessions").select("stripe_account").where("id", "=", id).executeTakeFirstOrThrow();
  assert.equal(row.stripe_account, "acct_1");
});

test("a whole call with its transcript, five megabytes of it, is read; beyond eight it is a 413 (R-023)", async () => {
  const large = (bytes: number) => whole({ call: newBetaCall({ transcript: "x".repeat(bytes) }) });
  assert.equal((await post("beta", large(5 * 1024 * 1024))).statusCode, 200);
  assert.equal((await post("beta", large(8 * 1024 * 1024))).statusCode, 413);
  assert.equal((await post("alpha", "{" as never)).statusCode, 422);
});

test("tool calls are counted for each key, from whatever address; events do not use them up, large ones are counted apart (R-060)", async () => {
  const app = api.another({ settings: { rateLimitPerMinute: 20 }, clock: new ManualClock() });
  const call = callerOf(app);
  for (let n = 0; n < 40; n++) assert.equal((await post("alpha", alphaMessage("speech-update", {}), {}, {}, call)).statusCode, 200);
  const statuses = [];
  for (let n = 0; n < 25; n++)
    statuses.push((await post("alpha", spelled({ call: newCall() }), {}, { remoteAddress: `192.0.2.${n}` }, call)).statusCode);
  assert.deepEqual(statuses, [...Array<number>(20).fill(200), ...Array<number>(5).fill(429)]);
  const other = await call("POST", address("alpha", {}, KEYS.test), { key: null, body: spelled({ call: newCall() }) });
  assert.equal(other.statusCode, 200);
  const report = alphaMessage("end-of-call-report", { transcript: "x".repeat(70_000) });
  const large = [];
  for (let n = 0; n < 42; n++) large.push((await post("alpha", report, {}, {}, call)).statusCode);
  assert.deepEqual(large, [...Array<number>(40).fill(200), 429, 429]);
  await app.close();
});

test("the key in the address is in no log line, metric, audit row or other row, whatever becomes of the request (R-386)", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => void lines.push(line) });
  const metrics = createMetrics({ ofProcess: false });
  const observed: string[] = [];
  const broken = () => {
    throw new Error(`broken by ${INTEGRATION_KEY}`);
  };
  const deps = { log, metrics, observe: (...seen: unknown[]) => void observed.push(seen.join(" ")) };
  const apps = [api.another({ deps }), api.another({ deps: { ...deps, sessions: { ...api.sessions, createIdempotent: broken } } })];
  const payloads: string[] = [];
  const unknown = `svc_test_${"Q".repeat(32)}`;
  for (const app of apps) {
    const call = callerOf(app);
    const send = async (url: string, body: object | string) => {
      const response = await call("POST", url, { key: null, body, headers: { referer: `https://x.example${url}` } });
      payloads.push(response.payload, JSON.stringify(response.headers));
      return response.statusCode;
    };
    const answer = await send(address("alpha"), spelled({ call: newCall() }));
    assert.equal(answer, app === apps[0] ? 200 : 500);
    await send(address("beta"), whole({ call: newBetaCall() }));
    await send(address("alpha"), alphaMessage("status-update", {}));
    await send(address("alpha"), "{");
    await send(address("alpha", {}, unknown), spelled());
    await send(`${address("alpha")}&project=twice`, spelled());
    await send(address("gamma"), spelled());
    payloads.push((await call("GET", "/metrics", { key: null })).payload, (await call("GET", address("alpha"), { key: null })).payload);
  }
  assert.ok(lines.some((line) => line.includes("request_failed")) && lines.some((line) => line.includes("platform_tool_call")));
  assert.ok(observed.some((seen) => seen.startsWith("POST /integrations/alpha/webhook 200")));
  await Promise.all(apps.map((app) => app.close()));
  const { db } = api.database;
  const rows = await Promise.all([
    db.selectFrom("audit_log").selectAll().execute(),
    db.selectFrom("idempotency_keys").selectAll().execute(),
    db.selectFrom("sessions").selectAll().execute(),
  ]);
  const everything = [...lines, ...observed, ...payloads, JSON.stringify(rows)].join("\n");
  for (const key of [INTEGRATION_KEY, unknown]) assert.equal(everything.includes(key.slice(9)), false);
});

test("the settings that are printed for a platform work as they are printed (R-380, R-381, R-387)", async () => {
  const setting = {
    baseUrl: "https://pay.example.test",
    sip: "pay.example.test:5060",
    project: "platform",
    mode: "charge",
    gateway: "stripe",
    environment: "test",
  };
  const callback = "sip:agent@pbx.merchant.example";
  const {
    alpha: first,
    beta: second,
    api: own,
    prompt,
  } = configurationFor({ ...setting, callback, phoneNumber: null, hasAlphaSecret: false, transfersByControl: false });
  type Headers = Record<string, string>;
  const withKey = ({ Authorization }: Headers) => ({ authorization: String(Authorization).replace("svc_test_API_KEY", INTEGRATION_KEY) });
  const send = async (url: string, headers: Headers, body: object) => {
    const response = await api.call("POST", url.replace(setting.baseUrl, ""), { key: null, headers: withKey(headers), body });
    assert.equal(response.statusCode, 200, response.payload);
    return response;
  };
  const [collect, result, transfer] = first.tools as {
    type: string;
    function: { name: string };
    server: { url: string; headers: Headers };
    destinations?: [];
  }[];
  assert.deepEqual(
    [collect!.function.name, result!.function.name, transfer!.type, transfer!.destinations],
    ["collect_payment", "get_payment_result", "transferCall", []],
  );
  const call = newCall();
  const made = (await send(collect!.server.url, collect!.server.headers, spelled({ call }))).json<{ results: [{ result: string }] }>();
  const ready = JSON.parse(made.results[0].result) as Answer;
  assert.partialDeepStrictEqual(await sessionOf(ready["session_id"]), { callback, project_slug: "platform" });
  const { server } = first.assistant as { server: { url: string; headers: Headers } };
  const asked = await send(server.url, server.headers, alphaMessage("transfer-destination-request", {}, call));
  assert.equal(asked.json<{ destination: Answer }>().destination["sipUri"], ready["transfer_to"]);

  const [custom, , leg] = second.general_tools as Record<string, never>[];
  const betaCall = newBetaCall();
  const answer = (await send(custom!["url"]!, custom!["headers"]!, whole({ call: betaCall }))).json<Answer>();
  for (const [name, path] of Object.entries(custom!["response_variables"]!)) {
    assert.equal(typeof answer[String(path)], "string");
    assert.ok(JSON.stringify(leg).includes(`{{${name}}}`), name);
  }
  const body = { ...own.create.body, caller: "+14155550100" };
  const created = await api.call("POST", own.create.url.replace(setting.baseUrl, ""), { body });
  assert.equal(created.statusCode, 201, created.payload);
  for (const name of ["collect_payment", "get_payment_result", "go_to_payment"]) assert.ok(prompt.includes(name));
});

test("with transfer=control the platform is told to transfer the call, at its own address alone (R-380, S-50)", async () => {
  const sent: { url: string; body: Answer }[] = [];
  const outbound = {
    send: async ({ url, body }: OutboundRequest): Promise<OutboundAnswer> => {
      sent.push({ url, body: JSON.parse(Buffer.from(body ?? []).toString()) as Answer });
      return { kind: "answered", status: 200, headers: {}, body: new Uint8Array() };
    },
  };
  const clock = new ManualClock();
  const app = api.another({ deps: { outbound }, clock });
  const ask = async (call: object, terms: object) => {
    const { result = "" } = await alpha(spelled({ call, args: { amount: 1 } }), terms, callerOf(app));
    clock.advance(1000);
    return JSON.parse(result) as Answer;
  };
  await ask(newCall(), {});
  await ask(newCall({ monitor: { controlUrl: "https://attacker.example/control" } }), { transfer: "control" });
  await ask(newCall({ monitor: undefined }), { transfer: "control" });
  const ready = await ask(newCall(), { transfer: "control" });
  assert.match(String(ready["next"]), /the call is transferred in a moment/);
  // Asked for once more, and not by the clock: the database answers in its own time.
  while (sent.length === 0) await sessionOf(ready["session_id"]);
  assert.deepEqual(
    sent.map(({ url }) => url),
    [ALPHA_CALL.monitor.controlUrl],
  );
  assert.partialDeepStrictEqual(sent[0]!.body, {
    type: "transfer",
    destination: { sipUri: ready["transfer_to"], sipHeaders: { "X-Session-Id": ready["session_id"] } },
  });
  await app.close();
});
