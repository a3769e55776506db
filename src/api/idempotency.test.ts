import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { systemClock } from "#src/kernel/clock.ts";
import { parseJson } from "#src/kernel/json.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { silentLog } from "#src/platform/index.ts";
import { createSessions, type NewSession, type IdempotentRequest } from "#src/sessions/index.ts";
import { BODY, callerOf, KEYS, keyWithScope, startTestApi, type TestApi } from "./testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

const NOBODY = "00000000-0000-4000-8000-000000000000";

const post = (key: string | null, changes: object = {}, { query = "", apiKey = KEYS.test }: { query?: string; apiKey?: string } = {}) =>
  api.call("POST", `/v1/sessions${query}`, {
    key: apiKey,
    body: { ...BODY, ...changes },
    headers: key === null ? {} : { "idempotency-key": key },
  });
const sessions = async (caller: string) =>
  (await api.database.db.selectFrom("sessions").select("id").where("caller", "=", caller).execute()).length;

test("a repeat with the same key and body gets the first answer, status included, and says so (R-144)", async () => {
  const first = await post("order-1", {}, { query: "?response_status=200" });
  const second = await post("order-1");
  assert.deepEqual([first.statusCode, first.headers["idempotent-replayed"]], [200, undefined]);
  assert.deepEqual([second.statusCode, second.headers["idempotent-replayed"]], [200, "true"]);
  assert.deepEqual([second.payload, second.headers["content-type"]], [first.payload, first.headers["content-type"]]);
  assert.notEqual(second.headers["x-request-id"], first.headers["x-request-id"]);
});

/** Another process on the same data: what is batched here is not batched with what the first one has. */
function secondServer() {
  const { database } = api;
  const sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog });
  return callerOf(api.another({ deps: { sessions } }));
}

test("50 posts at once with one key to two servers make one session (R-144)", async () => {
  const caller = "+14155550144";
  const options = { body: { ...BODY, caller }, headers: { "idempotency-key": "order-2" } };
  const servers = [callerOf(api.app), secondServer()];
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => servers[n % 2]!("POST", "/v1/sessions", options)));
  const made = answers.filter(({ statusCode }) => statusCode === 201);
  assert.equal(new Set(made.map(({ payload }) => payload)).size, 1);
  assert.equal(made.filter(({ headers }) => headers["idempotent-replayed"] === undefined).length, 1);
  for (const { statusCode, payload } of answers.filter((answer) => !made.includes(answer))) {
    assert.deepEqual([statusCode, payload], [409, '{"detail":"A request with this Idempotency-Key is in progress"}']);
  }
  assert.equal(await sessions(caller), 1);
  const { session_id, created_at } = made[0]!.json();
  assert.equal((await api.call("GET", `/v1/sessions/${session_id}`)).json().created_at, created_at);
});

test("of posts that are made together each key has its own session, and another body under one of the keys is refused (R-144)", async () => {
  const caller = "+14155550147";
  const keys = Array.from({ length: 250 }, (_, n) => `together-${n}`);
  const answers = await Promise.all([...keys.map((key) => post(key, { caller })), post("together-7", { caller, amount: 12 })]);
  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([201, 422]));
  assert.equal(answers.at(-1)!.statusCode, 422);
  assert.equal(new Set(answers.slice(0, -1).map((answer) => answer.json().session_id)).size, 250);
  assert.equal(await sessions(caller), 250);
});

test("a session and its kept answer are one commit: where the one cannot be written the other is not (R-144)", async () => {
  const caller = "+14155550148";
  const broken = {
    ...api.sessions,
    createIdempotent: (input: NewSession, once: IdempotentRequest) => api.sessions.createIdempotent({ ...input, projectId: NOBODY }, once),
  };
  const call = callerOf(api.another({ deps: { sessions: broken } }));
  const failed = await call("POST", "/v1/sessions", { body: { ...BODY, caller }, headers: { "idempotency-key": "order-9" } });
  assert.equal(failed.statusCode, 500);
  const { statusCode, headers } = await post("order-9", { caller });
  assert.deepEqual([statusCode, headers["idempotent-replayed"]], [201, undefined]);
  assert.equal(await sessions(caller), 1);
});

test("while the first request is under way its repeat is told so (R-144)", async (t) => {
  if (api.database.kind === "pglite") return t.skip("the embedded database has one session: a repeat waits and gets the first answer");
  const [locked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = api.database.transaction(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(id || ' /v1/sessions order-3', 0)) from api_keys`.execute(tx);
    locked.resolve();
    await done.promise;
  });
  await locked.promise;
  const { statusCode } = await post("order-3");
  done.resolve();
  await first;
  assert.equal(statusCode, 409);
  assert.equal((await post("order-3")).statusCode, 201);
});

test("the same key with another body is refused, and the refusal is a fault of the header (R-144)", async () => {
  await post("order-4");
  const response = await post("order-4", { amount: 11 });
  assert.equal(response.statusCode, 422);
  assert.deepEqual(response.json().detail, [
    {
      type: "value_error",
      loc: ["header", "idempotency-key"],
      msg: "Value error, this Idempotency-Key was sent with another body before",
    },
  ]);
});

/** The same members, from the last to the first. */
function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.toReversed());
}

test("the same members in another order are the same body, and a key that the version before kept goes on (R-144)", async () => {
  const billing_address = { first_name: "A", last_name: "B", street: "1 Main", city: "X", state: "CA", zip: "94105", country: "US" };
  const body = { ...BODY, billing_address };
  const send = (sent: unknown) => api.call("POST", "/v1/sessions", { body: sent as object, headers: { "idempotency-key": "order-10" } });
  const first = await send(body);
  const isReplayed = async (sent: unknown) => {
    const { statusCode, payload, headers } = await send(sent);
    return statusCode === 201 && payload === first.payload && headers["idempotent-replayed"] === "true";
  };
  assert.notEqual(JSON.stringify(reversed(body)), JSON.stringify(body));
  assert.ok(await isReplayed(reversed(body)));
  assert.equal((await send({ ...body, billing_address: { ...billing_address, first_name: "B", last_name: "A" } })).statusCode, 422);
  const asItCame = JSON.stringify(parseJson(JSON.stringify(body), { numbers: "text" }));
  const before = { request: createHash("sha256").update(asItCame).digest() };
  await api.database.db.updateTable("idempotency_keys").set(before).where("key", "=", "order-10").execute();
  assert.ok(await isReplayed(body));
});

test("a refused request is not kept: mended, it may come again with its key (R-144)", async () => {
  assert.equal((await post("order-5", { amount: -1 })).statusCode, 422);
  assert.equal((await post("order-5", { project: "nowhere" })).statusCode, 404);
  assert.equal((await post("order-5")).statusCode, 201);
});

test("a repeat gets its answer even where the project has been archived since (R-144)", async () => {
  const first = await post("order-6", { project: "yen" });
  const archive = (archived: boolean) => api.database.db.updateTable("projects").set({ archived }).where("slug", "=", "yen").execute();
  await archive(true);
  assert.equal((await post("order-6", { project: "yen" })).payload, first.payload);
  await archive(false);
});

test("keys of two API keys have nothing to do with each other, and are forgotten after a day (R-144)", async () => {
  const id = async (apiKey: string) => (await post("order-7", {}, { apiKey })).json().session_id as string;
  const first = await id(KEYS.test);
  assert.notEqual(await id(keyWithScope("sessions:create")), first);
  assert.equal(await id(KEYS.test), first);
  await sql`update idempotency_keys set expires_at = expires_at - interval '24 hours' where key = 'order-7'`.execute(api.database.db);
  const second = await id(KEYS.test);
  assert.notEqual(second, first);
  assert.equal(await id(KEYS.test), second);
});

test("what has expired is deleted in passing, once an hour (R-144)", async () => {
  const clock = new ManualClock();
  const call = callerOf(api.another({ clock }));
  const left = () => api.database.db.selectFrom("idempotency_keys").select("key").where("key", "like", "old-%").execute();
  const options = (key: string) => ({ body: BODY, headers: { "idempotency-key": key } });
  await call("POST", "/v1/sessions", options("old-1"));
  await sql`update idempotency_keys set expires_at = clock_timestamp() where key = 'old-1'`.execute(api.database.db);
  await call("POST", "/v1/sessions", options("old-2"));
  assert.equal((await left()).length, 2);
  clock.advance(3_600_000);
  await call("POST", "/v1/sessions", options("old-3"));
  assert.deepEqual((await left()).map(({ key }) => key).sort(), ["old-2", "old-3"]);
});

test("a key is 1 to 255 printable characters, and its faults come with the body's (R-144)", async () => {
  assert.equal((await post("k".repeat(255))).statusCode, 201);
  const { detail } = (await post("k".repeat(256), { mode: "give" })).json();
  assert.deepEqual(
    detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, ...loc]),
    [
      ["string_too_long", "header", "idempotency-key"],
      ["enum", "body", "mode"],
    ],
  );
  for (const key of ["", "a\tb", "ä"]) assert.equal((await post(key)).statusCode, 422, JSON.stringify(key));
});

test("two equal posts without a key make two sessions (R-145)", async () => {
  const caller = "+14155550145";
  const answers = [await post(null, { caller }), await post(null, { caller })];
  assert.deepEqual(
    answers.map(({ statusCode, headers }) => [statusCode, headers["idempotent-replayed"]]),
    Array.from({ length: 2 }, () => [201, undefined]),
  );
  assert.equal(await sessions(caller), 2);
});
