import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { shortCodeOf } from "#src/sessions/index.ts";
import { BODY, callerOf, KEYS, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

test("the answer that creates a session has a short code where the project has them on, and the same in a replay (R-081, R-144)", async () => {
  const setCodes = (on: boolean) =>
    api.database.db
      .updateTable("projects")
      .set({ voice: JSON.stringify({ short_code: on }) })
      .where("slug", "=", "shop")
      .execute();
  await setCodes(true);
  const app = api.another({});
  const create = async (key: string) =>
    (await callerOf(app)("POST", "/v1/sessions", { body: BODY, key: KEYS.test, headers: { "idempotency-key": key } })).json<
      Record<string, string>
    >();
  const made = await create("first");
  assert.match(made["short_code"] ?? "", /^[0-9]{8}$/);
  assert.equal(made["short_code"], shortCodeOf(made["session_id"]!));
  assert.deepEqual(await create("first"), made);
  await app.close();
  await setCodes(false);
  const other = api.another({});
  const { statusCode, payload } = await callerOf(other)("POST", "/v1/sessions", { body: BODY, key: KEYS.test });
  assert.deepEqual([statusCode, payload.includes("short_code")], [201, false]);
  await other.close();
});
