import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "#src/kernel/clock.ts";
import { silentLog } from "#src/platform/index.ts";
import { BODY, callerOf, KEYS, keyWithScope, SCOPES, startTestApi, type TestApi } from "./testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

const ID = "00000000-0000-4000-8000-000000000000";
const ENDPOINTS = [
  ["POST", "/v1/sessions", "sessions:create"],
  ["GET", "/v1/sessions?caller=%2B14155550199", "sessions:read"],
  ["GET", `/v1/sessions/${ID}`, "sessions:read"],
  ["GET", `/v1/sessions/${ID}/stream`, "sessions:read"],
  ["POST", `/v1/sessions/${ID}/cancel`, "sessions:cancel"],
  ["GET", "/v1/auth/check", null],
  ["GET", "/v1/projects", "projects:read"],
] as const;

test("every endpoint asks for a key before it looks at anything else (R-040, R-045, R-048, R-055)", async () => {
  for (const [method, url] of ENDPOINTS) {
    for (const options of [{}, { body: "{" }]) {
      const response = await api.call(method, url.replace(ID, "not-a-uuid"), { key: null, ...(method === "POST" ? options : {}) });
      assert.deepEqual([response.statusCode, response.payload], [401, '{"detail":"Missing Authorization header"}'], url);
      assert.equal(response.headers["www-authenticate"], "Bearer");
    }
  }
});

test("unknown, expired and malformed keys are refused in the same words (R-041, R-042, R-046, R-047, R-049)", async () => {
  const unknown = `svc_test_${"x".repeat(32)}`;
  const wrong = [
    unknown,
    KEYS.expired,
    `svc_prod_${"x".repeat(32)}`,
    `${KEYS.test}x`,
    KEYS.test.slice(0, -1),
    KEYS.test.toUpperCase(),
    "x".repeat(10_000),
    "",
  ];
  for (const key of wrong) {
    const response = await api.call("GET", "/v1/auth/check", { key });
    assert.deepEqual([response.statusCode, response.payload], [401, '{"detail":"Invalid or expired API key"}'], key.slice(0, 60));
  }
  for (const authorization of [`Basic ${KEYS.test}`, KEYS.test, `Bearer ${KEYS.test} x`, `Bearer\t${KEYS.test}`]) {
    assert.equal((await api.call("GET", "/v1/auth/check", { key: null, headers: { authorization } })).statusCode, 401, authorization);
  }
  assert.equal((await api.call("GET", `/v1/auth/check?api_key=${KEYS.test}`, { key: null })).statusCode, 401);
});

test("the scheme may be written in any case and followed by several spaces (R-047)", async () => {
  for (const scheme of ["bearer ", "BEARER   "]) {
    assert.equal((await api.call("GET", "/v1/auth/check", { key: null, headers: { authorization: scheme + KEYS.test } })).statusCode, 200);
  }
});

test("a revoked key is refused (R-042)", async () => {
  const key = keyWithScope("widget:create");
  const check = async () => (await api.call("GET", "/v1/auth/check", { key })).statusCode;
  assert.equal(await check(), 200);
  await api.database.db.updateTable("api_keys").set({ revoked_at: new Date() }).where("name", "=", "widget-create").execute();
  const deadline = performance.now() + 1000;
  while ((await check()) !== 401) assert.ok(performance.now() < deadline, "still accepted after a second");
  await api.database.db.updateTable("api_keys").set({ revoked_at: null }).where("name", "=", "widget-create").execute();
});

test("auth/check tells organisation and mode (R-054)", async () => {
  for (const [key, mode] of [
    [KEYS.test, "test"],
    [KEYS.live, "live"],
  ] as const) {
    const answer = (await api.call("GET", "/v1/auth/check", { key })).json();
    assert.deepEqual(Object.keys(answer), ["authenticated", "org_id", "mode", "message"]);
    assert.deepEqual([answer.authenticated, answer.mode, typeof answer.org_id, typeof answer.message], [true, mode, "string", "string"]);
  }
});

test("auth/check names the key's scopes in a header: its body has four fields and no other (R-054)", async () => {
  const scopesOf = async (key: string) => (await api.call("GET", "/v1/auth/check", { key })).headers["api-key-scopes"];
  for (const scope of SCOPES) assert.equal(await scopesOf(keyWithScope(scope)), scope);
  const all = SCOPES.filter((scope) => scope !== "integrations:use").join(", ");
  assert.equal(await scopesOf(KEYS.test), all);
});

test("each scope opens its endpoints and no other (R-043, R-044)", async () => {
  for (const scope of SCOPES) {
    for (const [method, url, needed] of ENDPOINTS) {
      const response = await api.call(method, url, { key: keyWithScope(scope) });
      const let_in = needed === null || needed === scope;
      assert.equal(response.statusCode === 403, !let_in, `${scope} ${method} ${url}`);
      if (!let_in) assert.equal(response.payload, `{"detail":"API key lacks the required scope ${needed}"}`);
    }
  }
});

test("key, scope, size, path, query, body and business are checked in this order (R-045)", async () => {
  const post = (options: object, url = "/v1/sessions?response_status=x") => api.call("POST", url, options);
  const types = (response: { json(): { detail: { loc: string[] }[] } }) => response.json().detail.map(({ loc }) => loc[0]);
  assert.equal((await post({ key: "bad", body: "{" })).statusCode, 401);
  assert.equal((await post({ key: keyWithScope("sessions:read"), body: "{" })).statusCode, 403);
  assert.equal((await post({ body: "x".repeat(70_000) })).statusCode, 413);
  assert.deepEqual(types(await post({ body: "{" })), ["query", "body"]);
  assert.deepEqual(types(await post({ body: { ...BODY, project: "nowhere" } })), ["query"]);
  assert.equal((await post({ body: { ...BODY, project: "nowhere" } }, "/v1/sessions")).statusCode, 404);
  assert.deepEqual(types(await post({ body: { ...BODY, project: "nowhere", amount: 0 } }, "/v1/sessions")), ["body"]);
});

test("projects are listed without secrets, oldest first, archived ones left out (R-390)", async () => {
  const list = (await api.call("GET", "/v1/projects")).json();
  assert.deepEqual(
    list.map(({ slug }: { slug: string }) => slug),
    ["shop", "yen", "platform"],
  );
  assert.deepEqual(Object.keys(list[0]), ["id", "slug", "name", "currency", "gateways", "created_at"]);
  assert.deepEqual(
    list.map(({ gateways }: { gateways: string[] }) => gateways),
    [["stripe"], ["stripe"], ["stripe"]],
  );
  const live = (await api.call("GET", "/v1/projects", { key: KEYS.live })).json();
  assert.deepEqual(
    live.map(({ gateways }: { gateways: string[] }) => gateways),
    [["stripe"], [], []],
  );
});

test("unknown paths are not found, known ones name their methods (R-007 to R-010)", async () => {
  for (const url of ["/nope", "/V1/sessions", "//v1/sessions", "/v1/sessions/x/y", "/", "/%zz"]) {
    const response = await api.call("GET", url);
    assert.deepEqual([response.statusCode, response.payload], [404, '{"detail":"Not Found"}'], url);
  }
  for (const [url, allow] of [
    ["/v1/sessions", "GET, POST"],
    [`/v1/sessions/${ID}`, "GET"],
    [`/v1/sessions/${ID}/cancel/`, "POST"],
    ["/health", "GET, HEAD"],
  ]) {
    for (const method of ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"] as const) {
      const response = await api.call(method, url!, { key: null, headers: { origin: "https://x.example" } });
      assert.deepEqual(
        [response.statusCode, response.payload, response.headers["allow"]],
        [405, '{"detail":"Method Not Allowed"}', allow],
        method,
      );
      assert.ok(!Object.keys(response.headers).some((name) => name.startsWith("access-control")));
    }
  }
  assert.equal((await api.call("HEAD", "/v1/sessions?caller=%2B14155550100")).statusCode, 405);
  const head = await api.call("HEAD", "/health", { key: null });
  assert.deepEqual([head.statusCode, head.payload], [200, ""]);
});

test("a trailing slash leads to the same place (R-011)", async () => {
  const response = await api.call("POST", "/v1/sessions/", { body: BODY });
  assert.deepEqual([response.statusCode, response.headers["location"]], [201, undefined]);
  assert.equal((await api.call("GET", "/v1/auth/check/")).statusCode, 200);
});

test("every answer is JSON, has an id of its own and is not to be stored (R-001, R-029)", async () => {
  const ids = new Set<unknown>();
  for (const [method, url] of [...ENDPOINTS, ["GET", "/nope"], ["PUT", "/v1/sessions"], ["GET", "/health"]] as const) {
    const { headers } = await api.call(method, url, method === "POST" ? { body: BODY } : {});
    assert.match(String(headers["x-request-id"]), /^[0-9a-f-]{36}$/);
    assert.equal(headers["cache-control"], "no-store");
    assert.match(String(headers["content-type"]), /^application\/json/);
    ids.add(headers["x-request-id"]);
  }
  assert.equal(ids.size, ENDPOINTS.length + 3);
});

const postBody = (body: string | Buffer, type: string | null = "application/json") =>
  api.call("POST", "/v1/sessions", { body, headers: type === null ? { "content-type": "" } : { "content-type": type } });
const whole = JSON.stringify(BODY);

test("JSON is accepted under every name of it, and nothing else is (R-012, R-017)", async () => {
  for (const type of [
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/vnd.acme+json",
    "application/json;charset=latin1",
    "application/json ; x=y",
  ]) {
    assert.equal((await postBody(whole, type)).statusCode, 201, type);
  }
  const msg = "Input should be a valid dictionary or object to extract fields from, sent with Content-Type: application/json";
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "nonsense", "text/json", "application/jsonp", null])
    assert.deepEqual((await postBody(whole, type)).json().detail, [{ type: "model_attributes_type", loc: ["body"], msg }]);
  assert.equal((await postBody(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(whole)]))).statusCode, 201);
});

test("a body that is no JSON object says where it stops being one (R-013 to R-016, R-022)", async () => {
  const rows: [string | Buffer, unknown][] = [
    ["", ["missing", "body"]],
    ["null", ["missing", "body"]],
    ["{", ["json_invalid", "body", 1]],
    ['{"a":1,}', ["json_invalid", "body", 7]],
    ["not json", ["json_invalid", "body", 0]],
    [`${whole} x`, ["json_invalid", "body", whole.length + 1]],
    [Buffer.from([0x22, 0xff, 0x22]), ["json_invalid", "body"]],
    ["[]", ["model_attributes_type", "body"]],
    ['"x"', ["model_attributes_type", "body"]],
    ["5", ["model_attributes_type", "body"]],
    ["true", ["model_attributes_type", "body"]],
  ];
  for (const [body, expected] of rows) {
    const response = await postBody(body);
    assert.equal(response.statusCode, 422, String(body));
    assert.deepEqual(
      response.json().detail.map(({ type, loc }: { type: string; loc: unknown[] }) => [type, ...loc]),
      [expected],
    );
  }
  const deep = await postBody("[".repeat(60_000));
  assert.deepEqual([deep.statusCode, deep.json().detail[0].type], [422, "json_invalid"]);
});

test("all faults come at once, in the order of the fields, and none repeats what was sent (R-003 to R-006, R-027, R-028)", async () => {
  const missing = (await postBody("{}")).json().detail;
  assert.deepEqual(
    missing,
    ["project", "caller", "amount", "mode", "gateway"].map((field) => ({ type: "missing", loc: ["body", field], msg: "Field required" })),
  );
  const pan = "4242424242424242";
  const body = {
    project: 5,
    caller: pan,
    amount: `${pan}x`,
    mode: pan,
    gateway: pan,
    description: [pan],
    callback: pan,
    memory: {},
    stripe_account: pan,
    billing_address: pan,
  };
  const response = await postBody(JSON.stringify(body));
  assert.ok(!response.payload.includes(pan));
  const items = response.json().detail as { type: string; loc: string[]; msg: string }[];
  assert.deepEqual(
    items.map(({ loc, type }) => [loc[1], type]),
    [
      ["project", "string_type"],
      ["caller", "value_error"],
      ["amount", "decimal_parsing"],
      ["mode", "enum"],
      ["gateway", "enum"],
      ["description", "string_type"],
      ["callback", "value_error"],
      ["memory", "string_type"],
      ["stripe_account", "string_pattern_mismatch"],
      ["billing_address", "model_attributes_type"],
    ],
  );
  for (const item of items) assert.deepEqual(Object.keys(item).sort(), ["loc", "msg", "type"]);
  const nulls = { ...BODY, description: null, callback: null, memory: null, stripe_account: null, billing_address: null };
  assert.equal((await postBody(JSON.stringify(nulls))).statusCode, 201);
  assert.equal((await postBody(JSON.stringify({ ...BODY, project: null }))).json().detail[0].type, "string_type");
});

test("lengths are counted in code points, memory in bytes (R-031, R-123, R-125)", async () => {
  const status = async (changes: object) => (await postBody(JSON.stringify({ ...BODY, ...changes }))).statusCode;
  assert.equal(await status({ description: "😀".repeat(500) }), 201);
  assert.equal(await status({ description: "😀".repeat(501) }), 422);
  assert.equal(await status({ description: "" }), 201);
  assert.equal(await status({ memory: "é".repeat(8 * 1024) }), 201);
  assert.equal(await status({ memory: `${"é".repeat(8 * 1024)}x` }), 422);
  assert.equal(await status({ callback: `sip:${"a".repeat(243)}@b.example` }), 422);
  assert.equal(await status({ callback: `sip:${"a".repeat(242)}@b.example` }), 201);
});

test("no text with a NUL or half a character reaches the database (R-018, R-019)", async () => {
  const address = { street: "a", city: "b", state: "CA", zip: "123", country: "US", first_name: "a", last_name: "b" };
  for (const bad of ["\\u0000", "\\ud800", "x\\udfff"]) {
    for (const field of ["project", "caller", "description", "memory", "callback", "stripe_account"]) {
      const body = JSON.stringify({ ...BODY, [field]: "@" }).replace('"@"', `"${bad}"`);
      const [item] = (await postBody(body)).json().detail;
      assert.deepEqual([item.type, item.loc], ["string_unicode", ["body", field]]);
    }
    for (const field of Object.keys(address)) {
      const body = JSON.stringify({ ...BODY, billing_address: { ...address, [field]: "@" } }).replace('"@"', `"${bad}"`);
      const [item] = (await postBody(body)).json().detail;
      assert.deepEqual([item.type, item.loc], ["string_unicode", ["body", "billing_address", field]]);
    }
  }
});

test("unknown fields are ignored and change no prototype (R-020)", async () => {
  const response = await postBody('{"__proto__":{"amount":1},"zzz":1,"constructor":{"x":1}}');
  assert.deepEqual(
    response.json().detail.map(({ loc }: { loc: string[] }) => loc[1]),
    ["project", "caller", "amount", "mode", "gateway"],
  );
  assert.equal(({} as { amount?: number }).amount, undefined);
  const made = await postBody(whole.replace("{", '{"zzz":1,"__proto__":{"status":"x"},"constructor":null,'));
  assert.equal(made.statusCode, 201);
  assert.ok(!(await api.call("GET", `/v1/sessions/${made.json().session_id}`)).payload.includes("zzz"));
});

test("an encoded body is refused (R-024)", async () => {
  const response = await api.call("POST", "/v1/sessions", { body: BODY, headers: { "content-encoding": "gzip" } });
  assert.deepEqual([response.statusCode, typeof response.json().detail], [415, "string"]);
  assert.equal((await api.call("POST", "/v1/sessions", { body: BODY, headers: { "content-encoding": "Identity" } })).statusCode, 201);
});

test("health needs no key, says what works, and fails when a part does (R-056, R-057)", async () => {
  const health = (await api.call("GET", "/health", { key: null })).json();
  assert.deepEqual(health, { status: "ok", version: "0.0.0", checks: { database: "ok", sip: "ok", worker: "ok" } });
  const rows = [
    [{ sip: null, worker: async () => true }, 200, "ok", "off"],
    [{ sip: async () => false, worker: null }, 503, "unavailable", "failed"],
    [{ sip: async () => Promise.reject(new Error("x")), worker: null }, 503, "unavailable", "failed"],
  ] as const;
  for (const [probes, code, status, sip] of rows) {
    const app = api.another({ deps: { probes } });
    const call = callerOf(app);
    for (const url of ["/health", "/health/ready"]) {
      const response = await call("GET", url, { key: null });
      assert.deepEqual([response.statusCode, response.json().status, response.json().checks.sip], [code, status, sip]);
    }
    assert.equal((await call("GET", "/health/live", { key: null })).statusCode, 200);
    await app.close();
  }
});

test("whoever asks for health while it is being looked at gets what was found: a flood of them asks the database once (R-056, R-438)", async () => {
  const begun = Promise.withResolvers<void>();
  const found = Promise.withResolvers<boolean>();
  let looked = 0;
  const sip = (): Promise<boolean> => {
    looked++;
    begun.resolve();
    return found.promise;
  };
  const app = api.another({ deps: { probes: { sip, worker: null } } });
  const asked = Array.from({ length: 20 }, () => app.inject({ method: "GET", url: "/health" }));
  await begun.promise;
  found.resolve(true);
  for (const response of await Promise.all(asked)) assert.equal(response.statusCode, 200);
  assert.equal(looked, 1);
  await app.inject({ method: "GET", url: "/health" });
  assert.equal(looked, 2, "what was found is not kept");
  await app.close();
});

test("a database that is gone is a 503 with Retry-After, any other fault a 500 without a word about it (R-030)", async () => {
  const lines: string[] = [];
  const log = { ...console, child: () => log, error: (event: string) => void lines.push(event) } as never;
  for (const [error, status, detail] of [
    [Object.assign(new Error("connect ECONNREFUSED 10.0.0.1"), { code: "ECONNREFUSED" }), 503, "Service unavailable"],
    [new Error("select * from secrets"), 500, "Internal Server Error"],
  ] as const) {
    const projects = { ...api.projects, authenticate: () => Promise.reject(error) };
    const app = api.another({ deps: { projects, log } });
    for (const [method, url] of ENDPOINTS) {
      const response = await callerOf(app)(method, url);
      assert.deepEqual([response.statusCode, response.json()], [status, { detail }]);
      assert.equal(response.headers["retry-after"] !== undefined, status === 503);
    }
    await app.close();
  }
  assert.equal(lines.length, 2 * ENDPOINTS.length);
});

test("behind an https address plain HTTP is turned away, and https is remembered (R-033)", async () => {
  const told: unknown[] = [];
  const log = { ...silentLog, warn: (event: string, fields: unknown) => void told.push([event, fields]) };
  const app = api.another({
    settings: { baseUrl: "https://pay.example", trustedProxies: ["127.0.0.1"] },
    clock: systemClock,
    deps: { log },
  });
  const call = callerOf(app);
  const read = await call("GET", "/v1/auth/check?x=1");
  assert.deepEqual([read.statusCode, read.headers["location"]], [308, "https://pay.example/v1/auth/check?x=1"]);
  const refused = await call("POST", "/v1/sessions", { body: BODY });
  assert.equal(refused.statusCode, 403);
  assert.match(refused.json().detail, /^HTTPS is required\. .*TRUSTED_PROXIES.*X-Forwarded-Proto: https$/);
  assert.deepEqual(told, []);
  const secure = await call("GET", "/v1/auth/check", { headers: { "x-forwarded-proto": "https" } });
  assert.equal(secure.statusCode, 200);
  assert.match(String(secure.headers["strict-transport-security"]), /max-age=\d{8}/);
  assert.equal(
    (await call("GET", "/v1/auth/check", { headers: { "x-forwarded-proto": "https" }, remoteAddress: "10.0.0.1" })).statusCode,
    308,
  );
  assert.deepEqual(told, [["proxy_not_trusted", { host: "10.0.0.1" }]], "for the operator whose proxy it is");
  assert.equal((await call("GET", "/health/live", { key: null })).statusCode, 200);
  await app.close();
});

test("no answer may be taken for another type than it says, whatever it is (ASVS 3.4)", async () => {
  for (const url of ["/v1/auth/check", "/v1/nowhere", "/health", "/openapi.json", "/docs", `/widget/${ID}`]) {
    assert.equal((await api.call("GET", url)).headers["x-content-type-options"], "nosniff", url);
  }
});
