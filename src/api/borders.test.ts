import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { OPERATIONS, UNDESCRIBED } from "./openapi/operations.ts";
import { BODY, KEYS, keyWithScope, SCOPES, startTestApi, type TestApi } from "./testing.ts";

/** Every operation against every kind of key (S-40). An operation that is not in the table fails the first test. */

/** Who may use it. Written down a second time on purpose: this is the promise, the routes are the code. */
const ACCESS: Readonly<Record<string, (typeof SCOPES)[number] | "any key" | "no key" | "integrations:use or sessions:create">> = {
  "POST /v1/sessions": "sessions:create",
  "GET /v1/sessions": "sessions:read",
  "GET /v1/sessions/:session_id": "sessions:read",
  "GET /v1/sessions/:session_id/stream": "sessions:read",
  "POST /v1/sessions/:session_id/cancel": "sessions:cancel",
  "POST /v1/widget-sessions": "widget:create",
  "POST /integrations/alpha/webhook": "integrations:use or sessions:create",
  "POST /integrations/beta/webhook": "integrations:use or sessions:create",
  "GET /v1/auth/check": "any key",
  "GET /v1/projects": "projects:read",
  // The address is the capability: a session's id and, to charge it, its nonce.
  "OPTIONS /v1/widget-sessions/:session_id": "no key",
  "GET /v1/widget-sessions/:session_id": "no key",
  "OPTIONS /v1/widget-sessions/:session_id/charge": "no key",
  "POST /v1/widget-sessions/:session_id/charge": "no key",
  "GET /widget/:session_id": "no key",
  // Nobody's data.
  "GET /widget/assets/:file": "no key",
  "GET /widget/v1/widget.js": "no key",
  "GET /widget/v1/scripts.json": "no key",
  "GET /health": "no key",
  "HEAD /health": "no key",
  "GET /health/ready": "no key",
  "GET /health/live": "no key",
  "GET /metrics": "no key",
  "GET /openapi.json": "no key",
  "GET /docs": "no key",
  "GET /docs/:file": "no key",
};
const KEYED = Object.entries(ACCESS).filter(([, access]) => access !== "no key");

/** What a request names: things of acme's test mode, or things that nobody has. */
interface Named {
  id: string;
  project: string;
  caller: string;
}
const NOTHING: Named = { id: "00000000-0000-4000-8000-000000000000", project: "nobody's", caller: "+14155559999" };

let api: TestApi;
let address: string;
let ours: Named[];
let ids: string[];
before(async () => {
  api = await startTestApi();
  address = await api.app.listen({ host: "127.0.0.1", port: 0 });
  const voice = await api.createSession();
  // Final, so that its stream ends.
  await api.call("POST", `/v1/sessions/${voice}/cancel`);
  const widget = await api.call("POST", "/v1/widget-sessions", { body: { project: "shop", amount_cents: 100, gateway: "stripe" } });
  const [{ id: project }] = (await api.call("GET", "/v1/projects")).json<[{ id: string }]>();
  const { org_id } = (await api.call("GET", "/v1/auth/check")).json<{ org_id: string }>();
  ours = [
    { id: voice, project: "shop", caller: BODY.caller },
    { id: widget.json<{ session_id: string }>().session_id, project, caller: BODY.caller },
  ];
  ids = [voice, project, org_id, "shop"];
});
after(() => api.close());

async function ask(operation: string, { id, project, caller }: Named, key: string | null) {
  const [method, path] = operation.split(" ") as ["GET" | "POST", string];
  const query = operation === "GET /v1/sessions" ? `?caller=${encodeURIComponent(caller)}&project=${project}` : "";
  const body = path.startsWith("/v1/widget") ? { project, amount_cents: 100, gateway: "stripe" } : { ...BODY, project, caller };
  const creates = method === "POST" && !path.includes(":");
  const response = await fetch(address + path.replace(":session_id", id) + query, {
    method,
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...(creates && { "content-type": "application/json" }) },
    ...(creates && { body: JSON.stringify(body) }),
  });
  const headers = [...response.headers].filter(([name]) => !["x-request-id", "date"].includes(name));
  return { status: response.status, payload: await response.text(), headers };
}

test("every operation has its border written down here (S-40)", () => {
  assert.deepEqual(Object.keys(ACCESS).sort(), [...Object.keys(OPERATIONS), ...UNDESCRIBED].sort());
});

test("every operation for keys lets its own scope in, refuses every other scope and whoever has no key (R-044, S-40)", async () => {
  for (const [operation, access] of KEYED) {
    const none = await ask(operation, ours[0]!, null);
    assert.deepEqual([none.status, none.payload], [401, '{"detail":"Missing Authorization header"}'], operation);
    const own = await ask(operation, ours[0]!, KEYS.test);
    assert.ok(![401, 403, 404].includes(own.status), `${operation}: ${own.status}`);
    for (const scope of SCOPES) {
      const { status, payload } = await ask(operation, ours[0]!, keyWithScope(scope));
      if (access === "any key" || access.split(" or ").includes(scope)) assert.equal(status, own.status, `${operation} with ${scope}`);
      else
        assert.deepEqual(
          [status, payload],
          [403, `{"detail":"API key lacks the required scope ${access.split(" or ")[0]}"}`],
          `${operation} with ${scope}`,
        );
    }
  }
});

test("what is another organisation's, or of the other mode, is answered byte for byte as what does not exist (R-052, R-053, S-40)", async () => {
  for (const [operation] of KEYED) {
    const otherKeys = [KEYS.other, ...(operation.startsWith("POST") && !operation.includes(":") ? [] : [KEYS.live])];
    for (const key of otherKeys) {
      for (const named of ours) {
        // Projects are of both modes.
        const nothing = key === KEYS.live ? { ...NOTHING, project: named.project } : NOTHING;
        assert.deepEqual(await ask(operation, named, key), await ask(operation, nothing, key), `${operation} with ${key}`);
      }
    }
    const { payload } = await ask(operation, ours[0]!, KEYS.other);
    for (const id of ids) assert.ok(!payload.includes(id), `${operation} shows ${id}`);
  }
});
