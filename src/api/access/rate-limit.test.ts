import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { callerOf, KEYS, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());
// On PostgreSQL all the servers of this file count together.
beforeEach(() => api.database.db.deleteFrom("token_buckets").execute());

const limited = (settings = {}) => api.another({ settings: { rateLimitPerMinute: 20, ...settings }, clock: new ManualClock() });

test("of 25 requests in a minute 20 are served, and each answer says how many are left (R-060, R-062)", async () => {
  const app = limited();
  const answers = [];
  for (let n = 0; n < 25; n++) answers.push(await callerOf(app)("GET", "/v1/auth/check"));
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [...Array<number>(20).fill(200), ...Array<number>(5).fill(429)],
  );
  assert.deepEqual(answers.map(({ headers }) => headers["ratelimit-remaining"]).slice(17, 22), ["2", "1", "0", "0", "0"]);
  const last = answers.at(-1)!;
  assert.equal(last.payload, '{"detail":"Rate limit exceeded"}');
  assert.deepEqual([last.headers["ratelimit-limit"], last.headers["retry-after"]], ["20", last.headers["ratelimit-reset"]]);
  assert.ok(Number(last.headers["retry-after"]) >= 1);
  await app.close();
});

test("the limit is per address and route, not per URL, and comes before the key (R-045, R-061, R-064)", async () => {
  const app = limited({ trustedProxies: ["10.0.0.1"] });
  const call = callerOf(app);
  for (let n = 0; n < 20; n++) await call("GET", `/v1/sessions/${n}`, { headers: { "x-forwarded-for": `1.2.3.${n}` } });
  const status = async (url: string, options = {}) => (await call("GET", url, options)).statusCode;
  assert.equal(await status("/v1/sessions/other"), 429);
  assert.equal(await status("/v1/sessions/other", { key: null }), 429);
  assert.equal(await status("/v1/auth/check"), 200);
  assert.equal(await status("/v1/sessions/other", { remoteAddress: "192.0.2.7" }), 422);
  for (let n = 0; n < 20; n++) await call("GET", "/v1/projects", { remoteAddress: "10.0.0.1", headers: { "x-forwarded-for": "1.1.1.1" } });
  assert.equal(await status("/v1/projects", { remoteAddress: "10.0.0.1", headers: { "x-forwarded-for": "9.9.9.9, 1.1.1.1" } }), 429);
  assert.equal(await status("/v1/projects", { remoteAddress: "10.0.0.1", headers: { "x-forwarded-for": "1.1.1.2" } }), 200);
  await app.close();
});

test("health is never limited, and 0 turns every limit off (R-060, R-066)", async () => {
  const app = limited();
  for (let n = 0; n < 30; n++) assert.equal((await callerOf(app)("GET", "/health", { key: null })).statusCode, 200);
  for (let n = 0; n < 30; n++) {
    const { statusCode, headers } = await api.call("GET", "/v1/auth/check", { key: "wrong" });
    assert.deepEqual([statusCode, headers["ratelimit-limit"]], [401, undefined]);
  }
  await app.close();
});

test("ten wrong keys a minute are answered 401, more are refused; the right key is not (R-066)", async () => {
  const app = limited({ rateLimitPerMinute: 1000 });
  const statuses = [];
  for (let n = 0; n < 12; n++)
    statuses.push((await callerOf(app)("GET", n % 2 ? "/v1/projects" : "/v1/auth/check", { key: KEYS.expired })).statusCode);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429]);
  assert.equal((await callerOf(app)("GET", "/v1/auth/check")).statusCode, 200);
  await app.close();
});

test("the refusal of a wrong key tells of the limit that refused it: none is left, until Retry-After has passed (R-062, R-066)", async () => {
  const app = limited();
  const wrong = () => callerOf(app)("GET", "/v1/auth/check", { key: KEYS.expired });
  for (let n = 0; n < 10; n++) await wrong();
  const { statusCode, headers } = await wrong();
  assert.deepEqual([statusCode, headers["ratelimit-limit"], headers["ratelimit-remaining"]], [429, "10", "0"]);
  assert.equal(headers["ratelimit-reset"], headers["retry-after"]);
  await app.close();
});
