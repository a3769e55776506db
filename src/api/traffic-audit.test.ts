import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { type Log, silentLog } from "#src/platform/index.ts";
import { BODY, callerOf, KEYS, startTestApi, type TestApi } from "./testing.ts";

const HOUR_MS = 3_600_000;

describe("what any peer can do at any rate", () => {
  let api: TestApi;
  let afterId = 0;
  const clock = new ManualClock();
  const lines: [event: string, host: unknown, count: unknown][] = [];
  const log: Log = { ...silentLog, warn: (event, { host, count } = {}) => void lines.push([event, host, count]) };

  before(async () => {
    api = await startTestApi();
    afterId = await lastId();
  });
  after(() => api.close());
  afterEach(async () => {
    lines.length = 0;
    afterId = await lastId();
  });

  const lastId = async () =>
    (await api.database.db.selectFrom("audit_log").select("id").orderBy("id", "desc").limit(1).executeTakeFirst())?.id ?? 0;
  const rows = (action: string) =>
    api.database.db.selectFrom("audit_log").selectAll().where("action", "=", action).where("id", ">", afterId).orderBy("id").execute();
  /** Requests to an API of their own, and everything written once they are over. */
  async function requests(make: (call: TestApi["call"]) => Promise<unknown>): Promise<void> {
    const app = api.another({ clock, deps: { log } });
    await make(callerOf(app));
    await app.close();
  }
  const wrongKey = (call: TestApi["call"], remoteAddress: string) => call("GET", "/v1/projects", { key: KEYS.expired, remoteAddress });
  const create = (call: TestApi["call"], key: string, remoteAddress: string) =>
    call("POST", "/v1/sessions", { key, body: BODY, remoteAddress });

  test("a refused key is in the audit log once an hour for each address, and never the key itself (S-16, S-18)", async () => {
    await requests(async (call) => {
      for (let n = 0; n < 15; n++) await wrongKey(call, "192.0.2.1");
      await call("GET", "/v1/projects", { key: "nonsense", remoteAddress: "192.0.2.2" });
      clock.advance(HOUR_MS);
      await wrongKey(call, "192.0.2.1");
    });
    const refused = await rows("api_key.refused");
    assert.deepEqual(
      refused.map(({ source, result, actor, object }) => `${source} ${result} ${actor} ${object}`).toSorted(),
      ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map((address) => `${address} refused unknown API key`),
    );
    assert.ok(!JSON.stringify(refused).includes("svc_"));
    assert.deepEqual(lines, []);
  });

  test("the twentieth refused key of an address in an hour is a line of the log, once (S-18)", async () => {
    await requests(async (call) => {
      for (let n = 0; n < 19; n++) await wrongKey(call, "192.0.2.3");
      assert.deepEqual(lines, []);
      clock.advance(HOUR_MS - 1);
      for (let n = 0; n < 30; n++) await wrongKey(call, "192.0.2.3");
    });
    assert.deepEqual(lines, [["api_keys_refused", "192.0.2.3", 20]]);
    assert.deepEqual(
      // Each is written by itself: the later one may be the first.
      (await rows("api_key.refused")).map(({ details }) => (details as { count: number }).count).toSorted((one, other) => one - other),
      [1, 20],
    );
  });

  test("a thousand addresses have a row each, all others share theirs (S-16)", async () => {
    await requests(async (call) => {
      for (let n = 0; n < 1100; n++) await wrongKey(call, `198.51.${n >> 8}.${n & 255}`);
    });
    const refused = await rows("api_key.refused");
    assert.equal(refused.filter(({ source }) => source === "many others").length, 2);
    assert.equal(refused.length, 1002);
    assert.deepEqual(lines, [["api_keys_refused", "many others", 20]]);
  });

  test("sessions made are in the audit log once an hour for each key and address (S-16)", async () => {
    const ids: string[] = [];
    await requests(async (call) => {
      for (const [key, address] of [
        [KEYS.test, "192.0.2.1"],
        [KEYS.test, "192.0.2.1"],
        [KEYS.live, "192.0.2.1"],
        [KEYS.test, "192.0.2.2"],
        [KEYS.test, "192.0.2.1"],
      ] as const) {
        ids.push((await create(call, key, address)).json<{ session_id: string }>().session_id);
      }
      clock.advance(HOUR_MS);
      ids.push((await create(call, KEYS.test, "192.0.2.1")).json<{ session_id: string }>().session_id);
      await call("POST", "/v1/sessions", { body: { ...BODY, project: "nobody's" }, remoteAddress: "192.0.2.9" });
    });
    const made = await rows("session.create");
    // No request waits for its row: two of them may come the other way round.
    assert.deepEqual(
      made.map(({ object, source }) => `${object} ${source}`).toSorted(),
      [
        `session ${ids[0]} 192.0.2.1`,
        `session ${ids[2]} 192.0.2.1`,
        `session ${ids[3]} 192.0.2.2`,
        `session ${ids[5]} 192.0.2.1`,
      ].toSorted(),
    );
    assert.ok(made.every(({ actor, organization_id }) => /^key:[0-9a-f-]{36}$/.test(actor) && organization_id !== null));
  });

  test("an audit log that cannot be written fails no request, and is told in the log", async () => {
    const broken = { ...api.database, db: { insertInto: () => assert.fail("the database is away") } as never };
    const { createTrafficAudit } = await import("./traffic-audit.ts");
    const traffic = createTrafficAudit({ database: broken, clock, log });
    traffic.keyRefused({ key: "192.0.2.1", address: () => "192.0.2.1", https: false });
    await traffic.close();
    assert.deepEqual(lines, [["audit_not_written", undefined, undefined]]);
  });
});
