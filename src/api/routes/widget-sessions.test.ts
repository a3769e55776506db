import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { declined, FakeGateway, LOST, APPROVED } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { createSessions } from "#src/sessions/index.ts";
import { callerOf, KEYS, keyWithScope, startTestApi, testPayments, testWidget, type TestApi } from "../testing.ts";

const WIDGET = { project: "shop", amount_cents: 1234, gateway: "stripe" };
const CARD = { number: "4242424242424242", exp_month: "12", exp_year: "2060", cvv: "123" };
const OWN = { "sec-fetch-site": "same-origin" };

let api: TestApi;
let fake: FakeGateway;
const fresh = () => {
  fake = new FakeGateway();
};
before(async () => {
  api = await startTestApi();
});
const apps: TestApi["app"][] = [];
after(async () => {
  for (const app of apps) await app.close();
  await api.close();
});
beforeEach(fresh);

/** The API as a browser and a merchant reach it, on a gateway of its own. */
function service(options: Parameters<TestApi["another"]>[0] = {}) {
  const app = api.another({
    ...options,
    // A clock that stands: the search for a lost answer waits for ever, and keeps nothing running.
    deps: { widget: testWidget({ ...api, clock: new ManualClock() }, fake), ...options.deps },
  });
  apps.push(app);
  const call = callerOf(app);
  const page = async (id: string) => {
    const response = await call("GET", `/widget/${id}`, { key: null });
    return /<meta name="widget-nonce" content="([^"]+)">/.exec(response.payload)?.[1] ?? "";
  };
  return {
    app,
    call,
    page,
    create: async (changes: object = {}, key: string = KEYS.test) => {
      const response = await call("POST", "/v1/widget-sessions", { body: { ...WIDGET, ...changes }, key });
      assert.equal(response.statusCode, 201, response.payload);
      return response.json<{ session_id: string }>().session_id;
    },
    charge: async (id: string, nonce?: string, body: object | string | Buffer = { card: CARD }, headers: Record<string, string> = OWN) =>
      call("POST", `/v1/widget-sessions/${id}/charge`, {
        key: null,
        body,
        headers: { ...headers, ...(nonce === undefined ? {} : { "x-widget-nonce": nonce }) },
      }),
    frame: (id: string, nonce?: string) =>
      call("GET", `/v1/widget-sessions/${id}`, { key: null, headers: nonce === undefined ? {} : { "x-widget-nonce": nonce } }),
    read: async (id: string) => (await call("GET", `/v1/sessions/${id}`)).json<Record<string, unknown>>(),
  };
}

const expireIn = (id: string, ms: number) =>
  api.database.db
    .updateTable("sessions")
    .set({ expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${ms / 1000})` })
    .where("id", "=", id)
    .execute();
async function untilPaid(id: string, read: (id: string) => Promise<Record<string, unknown>>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = async () => {
    if ((await read(id))["status"] === "payment-success") resolve();
  };
  const unwatch = api.sessions.watch(id, () => void look());
  await look();
  await promise;
  unwatch();
}
/** Settings of the project's widget. */
const setWidget = (widget: object) =>
  api.database.db
    .updateTable("projects")
    .set({ widget: JSON.stringify(widget) })
    .where("slug", "=", "shop")
    .execute();
const brief = ({ statusCode, payload }: { statusCode: number; payload: string }) => [statusCode, JSON.parse(payload)];
const OVER = [410, { detail: "Session is no longer available" }];
const BUSY = [409, { detail: "Payment already in progress" }];

describe("creating a widget session", () => {
  test("the answer has id, status, page and end 30 minutes later; reads by key know no caller (R-360, R-197, R-153)", async () => {
    const { call, read } = service();
    const response = await call("POST", "/v1/widget-sessions", { body: { ...WIDGET, theme: "pink", description: "Order 7" } });
    assert.equal(response.statusCode, 201);
    const body = response.json<Record<string, string>>();
    assert.deepEqual(Object.keys(body), ["session_id", "status", "expires_at", "widget_url", "created_at"]);
    assert.equal(body["status"], "created");
    assert.equal(body["widget_url"], `http://127.0.0.1:8080/widget/${body["session_id"]}`);
    assert.equal(Date.parse(body["expires_at"]!) - Date.parse(body["created_at"]!), 1_800_000);
    assert.partialDeepStrictEqual(await read(body["session_id"]!), {
      caller: null,
      amount: "12.34",
      status: "PENDING",
      mode: "charge",
      description: "Order 7",
      expires_at: body["expires_at"],
    });
  });

  test("with an Idempotency-Key a repeat makes no second session, and the key's path is its own (R-144, R-360)", async () => {
    const { call } = service();
    const post = () => call("POST", "/v1/widget-sessions", { body: WIDGET, headers: { "idempotency-key": "widget-1" } });
    const [first, second] = [await post(), await post()];
    assert.deepEqual([first.statusCode, second.statusCode, second.headers["idempotent-replayed"]], [201, 201, "true"]);
    assert.equal(second.payload, first.payload);
    const { expires_at, created_at } = first.json<Record<string, string>>();
    assert.equal(Date.parse(expires_at!) - Date.parse(created_at!), 1_800_000);
  });

  test("amount_cents is a whole number from 0 to 99,999,999, and 0 only to store a card (R-361)", async () => {
    const { call } = service();
    const fault = async (token: string, mode = "charge") => {
      const body = `{"project":"shop","gateway":"stripe","mode":"${mode}","amount_cents":${token}}`;
      const response = await call("POST", "/v1/widget-sessions", { body });
      return response.statusCode === 201 ? 201 : response.json<{ detail: { type: string; loc: string[] }[] }>().detail[0]!.type;
    };
    const cases: [string, string | number, string?][] = [
      ["1234", 201],
      ["1.0", 201],
      ["1e3", 201],
      ["99999999", 201],
      ["0", 201, "tokenize"],
      ["0", "greater_than"],
      ["-1", "greater_than_equal"],
      ["1.5", "int_from_float"],
      ["100000000", "less_than_equal"],
      ["1e30", "less_than_equal"],
      ["1e999", "finite_number"],
      ["true", "int_type"],
      ['"1"', "int_type"],
      ["null", "int_type"],
    ];
    for (const [token, expected, mode] of cases) assert.equal(await fault(token, mode), expected, token);
  });

  test("mode has its pattern, gateway its list, and the business rules are those of voice (R-362, R-363)", async () => {
    const { call } = service();
    const faults = async (changes: object) => {
      const response = await call("POST", "/v1/widget-sessions", { body: { ...WIDGET, ...changes } });
      return response.json<{ detail: { type: string; loc: string[] }[] | string }>().detail;
    };
    const types = async (changes: object) =>
      ((await faults(changes)) as { type: string; loc: string[] }[]).map(({ type, loc }) => [type, loc[1]]);
    for (const mode of ["give", "charge\n", " charge", "Charge", ""])
      assert.deepEqual(await types({ mode }), [["string_pattern_mismatch", "mode"]]);
    assert.deepEqual(await types({ mode: null }), [["string_type", "mode"]]);
    assert.deepEqual(await types({ gateway: "paypal" }), [["enum", "gateway"]]);
    assert.deepEqual(await types({ gateway: 7 }), [["string_type", "gateway"]]);
    assert.deepEqual(await types({ gateway: "adyen" }), [["gateway_not_configured", "gateway"]]);
    assert.deepEqual(await types({ stripe_account: "acct_1" }), [["value_error", "stripe_account"]]);
    assert.deepEqual(await types({ stripe_account: "nobody" }), [["string_pattern_mismatch", "stripe_account"]]);
    assert.equal(
      (await call("POST", "/v1/widget-sessions", { body: { ...WIDGET, project: "platform", stripe_account: "acct_1" } })).statusCode,
      201,
    );
    assert.deepEqual(await types({ project: "yen", amount_cents: 1_000_000 }), [["less_than_equal", "amount_cents"]]);
    assert.equal(await faults({ project: "nowhere" }), "Project not found");
    const { detail } = (await call("POST", "/v1/widget-sessions", { body: {} })).json<{ detail: { loc: string[] }[] }>();
    assert.deepEqual(
      detail.map(({ loc }) => loc.at(-1)),
      ["project", "amount_cents", "gateway"],
    );
  });
});

describe("what the frame reads", () => {
  test("the session without a key, and nothing that is not the shopper's (R-364, R-413)", async () => {
    const { create, frame } = service();
    const id = await create({ description: "Order 7" });
    const response = await frame(id.toUpperCase());
    assert.equal(response.statusCode, 200);
    const { expires_at, ...view } = response.json<Record<string, unknown>>();
    assert.equal(typeof expires_at, "string");
    const fields = ["number", "expiry", "cvv", "zip"];
    assert.deepEqual(view, {
      session_id: id,
      status: "PENDING",
      amount_cents: 1234,
      currency: "USD",
      mode: "charge",
      description: "Order 7",
      project_name: "Shop",
      appearance: { theme: "auto", variables: {}, labels: "above", fields },
      required_fields: fields,
      processing: false,
      attempts_left: 5,
    });
    assert.equal(response.headers["x-widget-nonce"], undefined, "other origins are given no nonce");
  });

  test("an unknown id and a voice session's are 404, alike, and what is no id is 422 (R-281, R-364, R-368)", async () => {
    const { frame, charge, call } = service();
    const voice = await api.createSession();
    const answers = [];
    for (const id of [voice, ...Array.from({ length: 50 }, () => systemRandom.uuid())]) {
      answers.push(JSON.stringify(brief(await frame(id))), JSON.stringify(brief(await charge(id, "x"))));
      assert.equal((await call("GET", `/widget/${id}`, { key: null })).statusCode, 404);
    }
    assert.deepEqual([...new Set(answers)], ['[404,{"detail":"Session not found"}]']);
    assert.equal((await frame("none")).statusCode, 422);
    assert.equal((await charge("none", "x")).statusCode, 422);
  });

  test("whoever opens a link that was cut short is shown the page for a payment that is not there", async () => {
    const { create, call } = service();
    for (const cut of [(await create()).slice(0, -3), "x", "%00"]) {
      const { statusCode, headers, payload } = await call("GET", `/widget/${cut}`, { key: null });
      assert.deepEqual([statusCode, headers["content-type"]], [404, "text/html; charset=utf-8"]);
      assert.match(payload, /There is no such payment/);
    }
  });

  test("30 minutes after it was made, and after any other end, it is 410 (R-197, R-365)", async () => {
    const { create, frame, charge, page, call, read } = service();
    const id = await create();
    const nonce = await page(id);
    await expireIn(id, -1);
    assert.deepEqual(brief(await frame(id)), OVER);
    assert.deepEqual(brief(await charge(id, nonce)), OVER);
    assert.equal((await call("GET", `/widget/${id}`, { key: null })).statusCode, 410);
    assert.equal((await read(id))["status"], "expired");
    assert.equal(fake.charges.length, 0);
    const other = await create();
    assert.equal((await call("POST", `/v1/sessions/${other}/cancel`)).statusCode, 204);
    assert.deepEqual(brief(await frame(other)), OVER);
  });

  test("a session outlives the key that made it (R-290)", async () => {
    const { call, charge, page } = service();
    const made = await call("POST", "/v1/widget-sessions", { body: WIDGET, key: keyWithScope("widget:create") });
    const { session_id: id } = made.json<{ session_id: string }>();
    await api.database.db.updateTable("api_keys").set({ revoked_at: new Date() }).where("name", "=", "widget-create").execute();
    assert.equal((await charge(id, await page(id))).statusCode, 200);
    await api.database.db.updateTable("api_keys").set({ revoked_at: null }).where("name", "=", "widget-create").execute();
  });
});

describe("the page", () => {
  test("one script and one style of its own, by digest, and headers that allow nothing else (R-369, S-12)", async () => {
    const { create, call } = service();
    const { payload, headers } = await call("GET", `/widget/${await create({ description: "<b>&\"'" })}`, { key: null });
    assert.match(payload, /&#60;b&#62;&#38;&#34;&#39;/);
    assert.doesNotMatch(payload, /<b>|(?:https?:)?\/\/[a-z0-9-]+\.[a-z]/i);
    const files = [...payload.matchAll(/(?:src|href)="(\/[^"]+)" integrity="(sha384-[^"]+)"/g)].map(([, path, digest]) => ({
      path: path!,
      digest: digest!,
    }));
    assert.equal(files.length, 2);
    assert.equal(payload.match(/<script/g)?.length, 1);
    assert.equal(payload.match(/<style|style="| on[a-z]+="/g), null);
    const policy = String(headers["content-security-policy"]);
    for (const { path, digest } of files) {
      const file = await call("GET", path, { key: null });
      assert.equal(`sha384-${createHash("sha384").update(file.payload).digest("base64")}`, digest);
      assert.ok(policy.includes(`'${digest}'`));
      assert.match(String(file.headers["cache-control"]), /immutable/);
    }
    for (const directive of [
      "default-src 'none'",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]) {
      assert.ok(policy.split("; ").includes(directive), directive);
    }
    assert.partialDeepStrictEqual(headers, {
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "x-frame-options": "DENY",
    });
    assert.match(String(headers["permissions-policy"]), /camera=\(\)/);
    for (const name of ["cc-number", "cc-exp", "cc-csc", "postal-code"]) assert.ok(payload.includes(`autocomplete="${name}"`), name);
    assert.doesNotMatch(payload, /<input[^>]* name=/);
    assert.equal((await call("GET", "/widget/assets/frame-0.js", { key: null })).statusCode, 404);
  });

  test("a file of another version's page is asked for again, for a process that has it may be behind the same balancer, and missing in the end", async () => {
    const { call } = service();
    const path = "/widget/assets/frame-0123456789abcdef.js";
    let answer = await call("GET", path, { key: null });
    let rounds = 0;
    for (; answer.statusCode === 302; rounds++) {
      assert.partialDeepStrictEqual(answer.headers, { "cache-control": "no-store", "access-control-allow-origin": "*" });
      answer = await call(
        "GET",
        new URL(String(answer.headers.location), `http://service/pay${path}`).href.slice("http://service/pay".length),
        {
          key: null,
        },
      );
    }
    assert.deepEqual([rounds, answer.statusCode], [8, 404]);
    for (const odd of ["again=x", "again=-1", "again=99", "again=1&again=2"])
      assert.equal((await call("GET", `${path}?${odd}`, { key: null })).statusCode, 404, odd);
    const [script] = (await call("GET", "/widget/v1/scripts.json", { key: null })).json<{ url: string }[]>();
    assert.equal((await call("GET", `${new URL(script!.url).pathname}?again=3`, { key: null })).statusCode, 200);
  });

  test("every script and style of the widget is listed with its digest and what it is for, for any page to read (S-12)", async () => {
    const { call } = service();
    const listed = await call("GET", "/widget/v1/scripts.json", { key: null });
    assert.equal(listed.headers["access-control-allow-origin"], "*");
    const scripts = listed.json<{ url: string; integrity: string; purpose: string }[]>();
    assert.equal(scripts.length, 3);
    for (const { url, integrity, purpose } of scripts) {
      const { pathname } = new URL(url);
      const file = await call("GET", pathname, { key: null });
      assert.equal(`sha384-${createHash("sha384").update(file.payload).digest("base64")}`, integrity, pathname);
      assert.ok(purpose.length > 10);
    }
    const newest = await call("GET", "/widget/v1/widget.js", { key: null });
    const loader = scripts.find(({ url }) => url.includes("/widget-"));
    assert.equal(`sha384-${createHash("sha384").update(newest.payload).digest("base64")}`, loader?.integrity);
  });

  test("only the project's origins may embed it (R-369, R-370)", async () => {
    const origins = ["https://shop.example", "https://www.shop.example:8443"];
    await setWidget({ origins: [...origins, "https://a;script-src"] });
    const { create, call } = service();
    const { payload, headers } = await call("GET", `/widget/${await create()}`, { key: null });
    await setWidget({});
    assert.ok(String(headers["content-security-policy"]).includes(`frame-ancestors ${origins.join(" ")};`));
    assert.equal(headers["x-frame-options"], undefined);
    assert.ok(payload.includes(`data-origins="${origins.join(" ")}`));
  });

  test("a live session is embedded by https origins only, a test session by http ones too (R-369)", async () => {
    const [secure, plain] = ["https://shop.example", "http://shop.example"];
    const { create, call } = service();
    const embeddedBy = async (key: string) => {
      const { payload, headers } = await call("GET", `/widget/${await create({}, key)}`, { key: null });
      const [, ancestors = ""] = /frame-ancestors ([^;]*);/.exec(String(headers["content-security-policy"])) ?? [];
      const [, told = ""] = /data-origins="([^"]*)"/.exec(payload) ?? [];
      return [ancestors, told];
    };
    await setWidget({ origins: [plain, secure] });
    assert.deepEqual(await embeddedBy(KEYS.live), [secure, secure]);
    assert.deepEqual(await embeddedBy(KEYS.test), [`${plain} ${secure}`, `${plain} ${secure}`]);
    await setWidget({ origins: [plain] });
    assert.deepEqual(await embeddedBy(KEYS.live), ["'none'", ""]);
    await setWidget({});
  });
});

describe("charging", () => {
  test("an approved card is 200 and the session is paid, with the shopper's address for the gateway (R-366)", async () => {
    const { create, page, charge, read, frame } = service();
    const id = await create();
    const nonce = await page(id);
    const response = await charge(id, nonce, { card: { ...CARD, cardholder_name: "Ada", postal_code: "94105" } });
    assert.deepEqual(brief(response), [200, { status: "payment-success", card_brand: "visa", card_last4: "4242" }]);
    assert.partialDeepStrictEqual(await read(id), { status: "payment-success", caller: null, processor: { card_last4: "4242" } });
    const [order] = fake.charges;
    assert.deepEqual([order?.channel, order?.caller, order?.customerIp, order?.reference], ["widget", null, "127.0.0.1", `${id}-1`]);
    assert.equal(order?.card.number.length, 0, "the card is wiped");
    const gone = await charge(id, nonce);
    assert.deepEqual(brief(gone), OVER);
    assert.match(String(gone.headers["x-widget-result"]), /^payment-success; /);
    assert.match(String((await frame(id, nonce)).headers["x-widget-result"]), /^payment-success; /);
    assert.equal((await frame(id)).headers["x-widget-result"], undefined, "whoever has no nonce is not told how it ended");
    assert.equal(fake.charges.length, 1);
  });

  test("a decline is 402 with what is left, and its answer brings the next nonce (R-366, R-371)", async () => {
    const { create, page, charge, read, frame } = service();
    const id = await create();
    fake.onCharge = async () => declined("card_declined");
    const nonce = await page(id);
    const response = await charge(id, nonce);
    const message = "The card was declined.";
    assert.deepEqual(brief(response), [
      402,
      { detail: message, error: { code: "card_declined", message }, retryable: true, attempts_left: 4 },
    ]);
    assert.equal((await read(id))["status"], "COLLECTING");
    assert.deepEqual((await charge(id, nonce)).statusCode, 403, "a nonce is good for one try");
    assert.equal((await frame(id)).json<{ attempts_left: number }>().attempts_left, 4);
    fake.onCharge = async () => APPROVED;
    assert.equal((await charge(id, String(response.headers["x-widget-nonce"]))).statusCode, 200);
    assert.equal(fake.charges.length, 2);
  });

  test("a decline that no other card can mend ends the session at once (R-192, R-366)", async () => {
    const { create, page, charge, read } = service();
    const id = await create();
    fake.onCharge = async () => declined("fraud_suspected");
    const { error, retryable, attempts_left } = (await charge(id, await page(id))).json<Record<string, unknown>>();
    assert.deepEqual([(error as { code: string }).code, retryable, attempts_left], ["fraud_suspected", false, 0]);
    assert.partialDeepStrictEqual(await read(id), { status: "payment-failed", error: { code: "fraud_suspected" } });
  });

  test("the shopper is not told what is said of a card, such as that it is stolen; the merchant is what his own endpoint said (R-366, R-246)", async () => {
    const { create, page, charge, read } = service();
    const message = "The card was declined.";
    const words = "Stolen card: pick up";
    for (const [said, told] of [
      [{ message: words }, message],
      [{ publicMessage: words }, words],
    ] as const) {
      const id = await create();
      fake.onCharge = async () => ({ ...declined("fraud_suspected"), ...said });
      const answer = (await charge(id, await page(id))).json<Record<string, unknown>>();
      assert.deepEqual([answer["detail"], answer["error"]], [message, { code: "fraud_suspected", message }]);
      assert.partialDeepStrictEqual(await read(id), { error: { code: "fraud_suspected", message: told } });
    }
  });

  test("who finds a payment over whose money may have moved is told so; of other failures he is told no more than that (R-283, R-287)", async () => {
    const { create, page, frame } = service();
    for (const [errorCode, reason] of [
      ["outcome_unknown", "; reason=outcome_unknown"],
      ["webhook_gateway_error", "; reason=webhook_gateway_error"],
      ["insufficient_funds", ""],
    ] as const) {
      const id = await create();
      const nonce = await page(id);
      await api.sessions.apply(id, "claim", { actor: "test" });
      await api.sessions.apply(id, "fail", { errorCode, errorMessage: null, actor: "test" });
      const result = String((await frame(id, nonce)).headers["x-widget-result"]);
      assert.match(result, /^payment-failed; session=/);
      assert.equal(result.replace(/^.*signature=[\w-]{43}/, ""), reason);
    }
  });

  test("the fifth decline fails the session with that decline's error (R-367, R-192)", async () => {
    const { create, page, charge, read } = service();
    const id = await create();
    fake.onCharge = async () => declined("card_declined");
    const answers = [];
    for (let attempt = 1; attempt <= 5; attempt++) answers.push((await charge(id, await page(id))).json<Record<string, unknown>>());
    assert.deepEqual(
      answers.map(({ attempts_left }) => attempts_left),
      [4, 3, 2, 1, 0],
    );
    assert.deepEqual(
      answers.map(({ retryable }) => retryable),
      [true, true, true, true, false],
    );
    assert.partialDeepStrictEqual(await read(id), { status: "payment-failed", error: { code: "card_declined" } });
    assert.deepEqual(brief(await charge(id, "x")), OVER);
    assert.equal(fake.charges.length, 5);
  });

  test("malformed tries count, are told without an echo, and the fifth fails the session as attempts_exhausted (R-367, R-417, R-004)", async () => {
    const { create, page, charge, read } = service();
    const id = await create();
    let nonce = await page(id);
    const bodies: [object | string | Buffer, number][] = [
      ["{", 422],
      [{ card: { ...CARD, number: "4242424242424241", cvv: "98" } }, 422],
      ["x".repeat(40_000), 413],
      [Buffer.alloc(0), 422],
    ];
    for (const [body, status] of bodies) {
      const response = await charge(id, nonce, body);
      assert.equal(response.statusCode, status);
      assert.doesNotMatch(response.payload, /4242|98/);
      nonce = String(response.headers["x-widget-nonce"]);
    }
    assert.equal((await read(id))["status"], "COLLECTING");
    assert.equal((await charge(id, nonce, { card: {} })).statusCode, 422);
    assert.partialDeepStrictEqual(await read(id), { status: "payment-failed", error: { code: "attempts_exhausted" } });
    assert.deepEqual(brief(await charge(id, nonce)), OVER);
    assert.equal(fake.charges.length, 0);
  });

  test("tries that were no cards after a decline fail the session with that decline's error (R-192, R-275)", async () => {
    const { create, page, charge, read } = service();
    const id = await create();
    fake.onCharge = async () => declined("card_declined");
    await charge(id, await page(id));
    for (let attempt = 2; attempt <= 5; attempt++) assert.equal((await charge(id, await page(id), { card: {} })).statusCode, 422);
    assert.partialDeepStrictEqual(await read(id), { status: "payment-failed", error: { code: "card_declined" } });
  });

  test("a body of exactly 32 KiB is read, and one byte more is refused (R-023)", async () => {
    const { create, page, charge } = service();
    const id = await create();
    const body = (length: number) => {
      const text = JSON.stringify({ card: CARD, fill: "" });
      return text.replace('"fill":""', `"fill":"${"x".repeat(length - text.length)}"`);
    };
    const refused = await charge(id, await page(id), body(32 * 1024 + 1));
    assert.deepEqual(brief(refused), [413, { detail: "Request body too large" }]);
    // What was too long held the card all the same.
    const sent = Buffer.from(JSON.stringify({ card: CARD }).padEnd(40_000));
    await charge(id, await page(id), sent, { ...OWN, "content-length": "" });
    assert.ok(!sent.includes(CARD.number), "the card is still in the chunk it came in");
    assert.equal((await charge(id, await page(id), body(32 * 1024))).statusCode, 200);
  });

  test("a byte order mark before the card is passed over (R-017)", async () => {
    const { create, page, charge } = service();
    const id = await create();
    assert.equal((await charge(id, await page(id), Buffer.from(`\u{feff}${JSON.stringify({ card: CARD })}`))).statusCode, 200);
  });

  test("without the page's nonce, or from another site, nothing is charged and nothing is counted (R-371)", async () => {
    const { create, page, charge, frame } = service();
    const [id, other] = [await create(), await create()];
    const nonce = await page(id);
    const origin = (origin: string, site?: string) => ({ origin, ...(site === undefined ? {} : { "sec-fetch-site": site }) });
    const refused: [string | undefined, Record<string, string>][] = [
      [undefined, OWN],
      ["", OWN],
      ["x", OWN],
      [await page(other), OWN],
      [nonce, {}],
      [nonce, { "sec-fetch-site": "cross-site" }],
      [nonce, { "sec-fetch-site": "none" }],
      [nonce, origin("https://evil.example")],
      [nonce, origin("null")],
      [nonce, origin("https://evil.example", "same-origin")],
      [nonce, origin("http://127.0.0.1:8080", "same-site")],
    ];
    for (const [nonce, headers] of refused) {
      const response = await charge(id, nonce, { card: CARD }, headers);
      assert.equal(response.statusCode, 403, JSON.stringify([nonce, headers]));
    }
    assert.equal((await frame(id)).json<{ attempts_left: number }>().attempts_left, 5);
    assert.equal(fake.charges.length, 0);
    assert.equal((await charge(id, nonce, { card: CARD }, origin("http://127.0.0.1:8080"))).statusCode, 200);
  });

  test("a nonce of one process is good in another, once (R-371, R-063)", async () => {
    const [one, two] = [service(), service()];
    const id = await one.create();
    fake.onCharge = async () => declined("card_declined");
    const nonce = await one.page(id);
    assert.equal((await two.charge(id, nonce)).statusCode, 402);
    assert.equal((await one.charge(id, nonce)).statusCode, 403);
    assert.equal(fake.charges.length, 1);
  });

  test("of 100 charges at once, of one page or of many, one reaches the gateway and the others are told so (R-282)", async () => {
    for (const nonces of ["one", "many"]) {
      fresh();
      const [one, two] = [service(), service()];
      const id = await one.create();
      const nonce = await one.page(id);
      const pages = await Promise.all(Array.from({ length: 100 }, async () => (nonces === "one" ? nonce : await one.page(id))));
      const held = Promise.withResolvers<void>();
      fake.onCharge = async () => {
        await held.promise;
        return APPROVED;
      };
      // Who waits too long for a connection to the database is told so, and tries again.
      const post = async (page: string, at: typeof one): ReturnType<typeof at.charge> => {
        const answer = await at.charge(id, page);
        return answer.statusCode === 503 ? await post(page, at) : answer;
      };
      const posts = pages.map((page, index) => post(page, index % 2 ? one : two));
      let answered = 0;
      const allOthers = Promise.withResolvers<void>();
      for (const posted of posts) void posted.then(() => ++answered === 99 && allOthers.resolve());
      await allOthers.promise;
      held.resolve();
      const statuses = (await Promise.all(posts)).map(({ statusCode }) => statusCode);
      assert.deepEqual(
        [statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 409).length],
        [1, 99],
        nonces,
      );
      assert.equal(fake.charges.length, 1);
      assert.deepEqual(brief(await one.charge(id, nonce)), OVER);
    }
  });

  test("an answer that the browser never saw is not asked for a second time: 409 while it runs, then 410 with the result (R-283)", async () => {
    const { create, page, charge, frame, call } = service();
    const id = await create();
    const nonce = await page(id);
    const held = Promise.withResolvers<void>();
    fake.onCharge = async () => {
      await held.promise;
      return APPROVED;
    };
    const lost = charge(id, nonce);
    await fake.called();
    assert.deepEqual(brief(await charge(id, nonce)), BUSY);
    assert.equal((await frame(id, nonce)).json<{ processing: boolean }>().processing, true);
    assert.deepEqual(brief(await call("POST", `/v1/sessions/${id}/cancel`))[0], 409, "R-284: the gateway has been asked");
    held.resolve();
    await lost;
    const retried = await charge(id, nonce);
    assert.deepEqual(brief(retried), OVER);
    assert.match(String(retried.headers["x-widget-result"]), /^payment-success; /);
    assert.equal(fake.charges.length, 1);
  });

  test("while the gateway's answer is lost the frame is told to wait, never declined (R-283, R-287)", async () => {
    const { create, page, charge, frame, read } = service();
    const id = await create();
    fake.onCharge = async () => LOST;
    const nonce = await page(id);
    assert.deepEqual(brief(await charge(id, nonce)), BUSY);
    assert.equal((await read(id))["status"], "COLLECTING");
    assert.equal((await frame(id, nonce)).json<{ processing: boolean }>().processing, true);
    assert.deepEqual(brief(await charge(id, await page(id))), BUSY);
    assert.equal(fake.charges.length, 1);
  });

  test("a charge whose outcome is not known after 110 s is answered, and goes on: its connection would be dropped unanswered (R-030, R-283)", async () => {
    for (const { name, capabilities } of Object.values(GATEWAYS_BUILT)) assert.ok(capabilities.deadlineMs < 105_000, name);
    const clock = new ManualClock();
    const { create, page, charge, read } = service({ deps: { clock } });
    const id = await create();
    const held = Promise.withResolvers<void>();
    fake.onCharge = async (order) => {
      await held.promise;
      assert.equal(order.card.last4, "4242", "wiped before it was sent");
      return APPROVED;
    };
    const nonce = await page(id);
    const slow = charge(id, nonce);
    await fake.called();
    clock.advance(110_000);
    assert.deepEqual(brief(await slow), BUSY);
    held.resolve();
    await untilPaid(id, read);
    assert.deepEqual(brief(await charge(id, nonce)), OVER);
  });

  test("cancel and charge at once: one of them wins, and no cancelled session is charged (R-284)", async () => {
    for (let round = 0; round < 10; round++) {
      fresh();
      const { create, page, charge, call, read } = service();
      const id = await create();
      const nonce = await page(id);
      const [paid, cancelled] = await Promise.all([charge(id, nonce), call("POST", `/v1/sessions/${id}/cancel`)]);
      const status = (await read(id))["status"];
      if (status === "cancelled") assert.deepEqual([cancelled.statusCode, paid.statusCode, fake.charges.length], [204, 410, 0]);
      else assert.deepEqual([status, paid.statusCode, cancelled.statusCode, fake.charges.length], ["payment-success", 200, 409, 1]);
    }
  });

  test("a preflight is answered for a page of the service's own, and for no other (R-010)", async () => {
    const { call, create } = service();
    const id = await create();
    for (const [path, method] of [
      ["", "GET"],
      ["/charge", "POST"],
    ]) {
      const ask = (headers: Record<string, string>) => call("OPTIONS", `/v1/widget-sessions/${id}${path}`, { key: null, headers });
      const own = await ask({ origin: "http://127.0.0.1:8080", "access-control-request-method": method! });
      const granted = ["access-control-allow-origin", "access-control-allow-methods"].map((name) => own.headers[name]);
      assert.deepEqual([own.statusCode, own.payload, ...granted], [204, "", "http://127.0.0.1:8080", method]);
      assert.match(String(own.headers["access-control-allow-headers"]), /content-type.*x-widget-nonce/);
      const others: Record<string, string>[] = [{ origin: "https://shop.example" }, { origin: "null" }, OWN];
      for (const headers of others) {
        const refused = await ask(headers);
        assert.deepEqual(brief(refused), [405, { detail: "Method Not Allowed" }], JSON.stringify(headers));
        assert.ok(!Object.keys(refused.headers).some((name) => name.startsWith("access-control")));
        assert.equal(refused.headers["allow"], `${method}, OPTIONS`);
      }
    }
  });

  test("a client that leaves in mid-charge does not stop it (R-283)", async () => {
    const { app, create, page, read } = service();
    await app.listen({ host: "127.0.0.1", port: 0 });
    const id = await create();
    const held = Promise.withResolvers<void>();
    fake.onCharge = async () => {
      await held.promise;
      return APPROVED;
    };
    const { port } = app.server.address() as { port: number };
    const body = JSON.stringify({ card: CARD });
    const socket = connect(port, "127.0.0.1");
    socket.write(
      `POST /v1/widget-sessions/${id}/charge HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n` +
        `X-Widget-Nonce: ${await page(id)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await fake.called();
    socket.destroy();
    await once(socket, "close");
    held.resolve();
    await untilPaid(id, read);
    await app.close();
  });

  test("a session that was tried and left ends with its 30 minutes: failed after a decline, else abandoned (R-197, R-275)", async () => {
    const { create, page, charge, read, frame } = service();
    const [declinedOnce, malformed] = [await create(), await create()];
    fake.onCharge = async () => declined("card_declined");
    await charge(declinedOnce, await page(declinedOnce));
    await charge(malformed, await page(malformed), "{");
    for (const id of [declinedOnce, malformed]) await expireIn(id, -1);
    const clock = new ManualClock();
    const sessions = createSessions({ database: api.database, clock, random: systemRandom, log: silentLog });
    await sessions.start({ giveUp: (session) => testPayments({ ...api, clock }, fake).giveUp(session) });
    clock.advance(2000);
    await sessions.stop();
    assert.partialDeepStrictEqual(await read(declinedOnce), { status: "payment-failed", error: { code: "card_declined" } });
    assert.equal((await read(malformed))["status"], "abandoned");
    assert.deepEqual(brief(await frame(malformed)), OVER);
  });

  test("a tried session whose time is over takes no card, swept or not (R-197)", async () => {
    const { create, page, charge } = service();
    const id = await create();
    const { headers } = await charge(id, await page(id), "{");
    await expireIn(id, -1);
    assert.deepEqual(brief(await charge(id, String(headers["x-widget-nonce"]))), OVER);
    assert.equal(fake.charges.length, 0);
  });
});

test("the frame's endpoints are counted by themselves: 60 reads and 10 charges a minute (R-068)", async () => {
  const { create, frame, charge, call } = service({ settings: { rateLimitPerMinute: 5 }, clock: new ManualClock() });
  const id = await create();
  const statuses = async (count: number, request: () => Promise<{ statusCode: number }>) => {
    const seen = [];
    for (let index = 0; index < count; index++) seen.push((await request()).statusCode);
    return seen.filter((status) => status === 429).length;
  };
  assert.equal(await statuses(62, () => frame(id)), 2);
  assert.equal(await statuses(12, () => charge(id, "x")), 2);
  assert.equal(await statuses(6, () => call("GET", "/v1/auth/check")), 1);
  const { headers } = await frame(id);
  assert.deepEqual([headers["ratelimit-limit"], headers["ratelimit-remaining"]], ["60", "0"]);
});

test("a browser that is refused the page is told in words to wait, wherever the page is embedded; other clients get `detail` (R-060, R-030)", async () => {
  const { app, create, call } = service({ settings: { rateLimitPerMinute: 5 }, clock: new ManualClock() });
  const id = await create();
  const browser = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "accept-language": "es-MX" };
  const open = (headers: Record<string, string>, query = "") => call("GET", `/widget/${id}${query}`, { key: null, headers });
  for (let index = 0; index < 60; index++) await open(browser);
  const tooMany = await open(browser);
  assert.deepEqual([tooMany.statusCode, tooMany.headers["content-type"]], [429, "text/html; charset=utf-8"]);
  assert.match(tooMany.payload, /Espere 1 segundo/);
  assert.equal(tooMany.headers["retry-after"], "1");
  assert.match(String(tooMany.headers["content-security-policy"]), /frame-ancestors \*/);
  assert.deepEqual(brief(await open({})), [429, { detail: "Rate limit exceeded" }]);
  await app.close();

  const away = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
  const without = service({ deps: { widget: { ...testWidget({ ...api, clock: new ManualClock() }), find: away } } });
  const { statusCode, headers, payload } = await without.call("GET", `/widget/${id}?lang=fr`, { key: null, headers: browser });
  assert.deepEqual([statusCode, headers["content-type"], headers["retry-after"]], [503, "text/html; charset=utf-8", "2"]);
  assert.match(payload, /<html lang="fr"[^]*indisponible/);
  assert.deepEqual(brief(await without.call("GET", `/widget/${id}`, { key: null })), [503, { detail: "Service unavailable" }]);
});
