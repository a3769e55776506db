import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { deprecationHeaders } from "./openapi/deprecation.ts";
import { OPERATIONS, type Operation } from "./openapi/operations.ts";
import { BODY, callerOf, type CallOptions, KEYS, keyWithScope, startTestApi, type TestApi } from "./testing.ts";

/** What holds for the whole interface, whichever operation. */

interface Media {
  schema: { $ref?: string; items?: object };
  examples?: Record<string, { value: { detail: unknown } }>;
}
interface Document {
  paths: Record<string, Record<string, { deprecated?: boolean; responses: Record<string, { content?: Record<string, Media> }> }>>;
  components: { schemas: Record<string, { required?: string[]; properties?: Record<string, { format?: string }> }> };
}

let api: TestApi;
let document: Document;
before(async () => {
  api = await startTestApi();
  document = (await api.call("GET", "/openapi.json", { key: null })).json();
});
after(() => api.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, method, ...operation })),
  );
/** Pages are for people: their errors are pages too. */
const isPage = (content: Record<string, Media> | undefined) => content !== undefined && "text/html" in content;
const isDetail = (detail: unknown) =>
  typeof detail === "string"
    ? detail.length > 0
    : Array.isArray(detail) &&
      detail.length > 0 &&
      detail.every(({ loc, msg, type }) => Array.isArray(loc) && typeof msg === "string" && typeof type === "string");

test("every error that an operation is said to answer has detail, and the words that are shown for it (R-002)", () => {
  let seen = 0;
  for (const { name, responses } of operations()) {
    for (const [status, { content }] of Object.entries(responses)) {
      if (!/^[45]/.test(status) || /^(?:GET|HEAD) \/health/.test(name) || isPage(responses["200"]?.content)) continue;
      const { schema, examples = {} } = content!["application/json"]!;
      const component = document.components.schemas[schema.$ref!.split("/").at(-1)!]!;
      assert.ok(component.properties!["detail"], `${name} ${status}`);
      if (status !== "422") assert.ok(component.required!.includes("detail"), `${name} ${status}`);
      for (const { value } of Object.values(examples)) assert.ok(isDetail(value.detail), `${name} ${status} ${JSON.stringify(value)}`);
      seen++;
    }
  }
  assert.ok(seen > 80, `only ${seen}`);
});

test("what an operation really answers to what is wrong has detail, as text or as items, and is one of its documented answers (R-002)", async () => {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema({ $id: "/", ...document });
  const apps = {
    limited: api.another({ settings: { rateLimitPerMinute: 1 } }),
    secure: api.another({ settings: { baseUrl: "https://pay.example" } }),
  };
  const [limited, insecure] = [callerOf(apps.limited), callerOf(apps.secure)];
  const ours = callerOf(api.app);
  const wrongs: [status: number, options: CallOptions, call?: TestApi["call"]][] = [
    [401, { key: null }],
    [401, { key: KEYS.expired }],
    [403, { key: keyWithScope("none of these") }],
    [403, { key: keyWithScope("projects:read") }],
    [404, {}],
    [413, { body: "x".repeat(70_000) }],
    [414, {}],
    [415, { body: BODY, headers: { "content-encoding": "gzip" } }],
    [422, { body: {} }],
    [422, { body: "{" }],
    [429, {}, limited],
    [429, {}, limited],
    [403, { body: BODY }, insecure],
    [431, { headers: { "x-long": "h".repeat(17_000) } }],
  ];
  const seen = new Set<number>();
  for (const { name, path, method, responses } of operations()) {
    for (const [, options, call = ours] of wrongs) {
      const url = path.replace("{session_id}", "00000000-0000-4000-8000-000000000000").replace(/\{\w+\}/g, "none");
      const { statusCode, payload } = await call(method.toUpperCase(), url, options);
      if (statusCode < 400 || method === "head" || isPage(responses["200"]?.content)) continue;
      seen.add(statusCode);
      const answer = responses[statusCode];
      assert.ok(answer, `${name} answers ${statusCode}: ${payload}`);
      const { detail } = JSON.parse(payload);
      assert.ok(isDetail(detail), `${name} ${statusCode}: ${payload}`);
      const { schema } = answer.content!["application/json"]!;
      assert.ok(ajv.validate({ $ref: `/${schema.$ref}` }, JSON.parse(payload)), `${name} ${statusCode}: ${ajv.errorsText()}`);
    }
  }
  await Promise.all(Object.values(apps).map((app) => app.close()));
  for (const status of [401, 403, 404, 413, 415, 422, 429, 431]) assert.ok(seen.has(status), `no ${status} was seen`);
});

test("no operation takes or shows a gateway's credentials (R-414)", async () => {
  const names = Object.values(document.components.schemas).flatMap(({ properties = {} }) => Object.keys(properties));
  assert.deepEqual(
    names.filter((name) => /credential|secret|api_?key|password|signing/i.test(name)),
    [],
  );
  const written = Object.keys(OPERATIONS).filter((name) => !/^(?:GET|HEAD) /.test(name));
  for (const name of written) assert.match(name, /^POST \/(?:v1\/(?:widget-)?sessions|integrations)/, `${name} is no session's`);
  const shown = [
    await api.call("GET", "/v1/projects"),
    await api.call("GET", "/v1/auth/check"),
    await api.call("POST", "/v1/sessions", { body: BODY }),
  ];
  for (const { payload } of shown) assert.doesNotMatch(payload, /sk_(?:test|live)_x/);
});

test("projects are listed unpaged, a thousand of them, and nothing else is a list (R-418)", async () => {
  const { database } = api;
  const { organization_id } = await database.db
    .selectFrom("projects")
    .select("organization_id")
    .where("slug", "=", "shop")
    .executeTakeFirstOrThrow();
  const many = Array.from({ length: 1000 }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    organization_id,
    slug: `many-${n}`,
    name: "Many",
    currency: "USD",
    language: "en-US",
    country: "US",
  }));
  await database.db.insertInto("projects").values(many).execute();
  const listed = (await api.call("GET", "/v1/projects")).json<{ slug: string }[]>();
  assert.equal(listed.filter(({ slug }) => slug.startsWith("many-")).length, 1000);
  await database.db.deleteFrom("projects").where("slug", "like", "many-%").execute();
  const lists = Object.entries(OPERATIONS).filter(([, { answers }]) => Object.values(answers).some(({ schema }) => Array.isArray(schema)));
  assert.deepEqual(
    lists.map(([name]) => name),
    ["GET /v1/projects"],
  );
});

test("an operation that will be taken away says so on its answers, twelve months ahead at least (R-419)", async () => {
  const table = OPERATIONS as Record<string, Operation>;
  const old = { id: "old", tag: "Service", summary: "Old", description: "Old.", answers: { 200: { description: "Old." } } } as const;
  try {
    table["GET /v1/old"] = { ...old, deprecated: { since: "2027-02-01", sunset: "2028-02-01" } };
    const app = api.another();
    app.get("/v1/old", { config: { access: "any key" } }, async () => ({}));
    const { headers } = await callerOf(app)("GET", "/v1/old");
    assert.deepEqual([headers["deprecation"], headers["sunset"]], ["@1801440000", "Tue, 01 Feb 2028 00:00:00 GMT"]);
    const described: Document = (await callerOf(app)("GET", "/openapi.json", { key: null })).json();
    assert.equal(described.paths["/v1/old"]!["get"]!.deprecated, true);
    await app.close();
  } finally {
    delete table["GET /v1/old"];
  }
  for (const [name, { deprecated }] of Object.entries(OPERATIONS)) {
    if (name.includes("/v1/")) assert.match(name, /^[A-Z]+ \/v1\//);
    if (deprecated) deprecationHeaders(deprecated);
  }
  assert.throws(() => deprecationHeaders({ since: "2027-02-01", sunset: "2028-01-31" }), /twelve months/);
  assert.equal((await api.call("GET", "/v1/projects")).headers["deprecation"], undefined);
});

test("times are RFC 3339 in UTC wherever the database thinks it is, and nothing is updated before it was made (R-420)", async () => {
  const id = await api.createSession();
  await api.sessions.claim(id, { owner: "test", callId: "call" });
  await api.sessions.apply(id, "fail", { errorCode: "attempts_exhausted" });
  const session = (await api.call("GET", `/v1/sessions/${id}`)).json<Record<string, string>>();
  const { properties = {} } = document.components.schemas["SessionGetResponse"]!;
  const times = Object.keys(properties).filter((name) => name.endsWith("_at"));
  assert.deepEqual(times.toSorted(), ["completed_at", "created_at", "expires_at", "updated_at"]);
  for (const name of times) assert.match(session[name]!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, name);
  assert.ok(session["created_at"]! < session["updated_at"]!);
  const keyed = await api.call("POST", "/v1/sessions", { body: BODY, headers: { "idempotency-key": "times" } });
  const { created_at } = keyed.json<{ created_at: string }>();
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 1_800_000, "local time would be off by half an hour at least");
});

test("the stream takes its key in the header as every read does, never in the query (R-424)", async () => {
  const id = await api.createSession();
  for (const path of [`/v1/sessions/${id}/stream`, `/v1/sessions/${id}`, "/v1/auth/check"]) {
    for (const query of [
      "",
      `?key=${KEYS.test}`,
      `?api_key=${KEYS.test}`,
      `?access_token=${KEYS.test}`,
      `?authorization=Bearer%20${KEYS.test}`,
    ]) {
      const { statusCode, headers } = await api.call("GET", path + query, { key: null });
      assert.deepEqual([statusCode, headers["www-authenticate"]], [401, "Bearer"], path + query);
    }
  }
});

test("a session goes on when the key that made it is revoked; the key can no longer read it (R-290)", async () => {
  const key = keyWithScope("sessions:create");
  const { session_id: id } = (await api.call("POST", "/v1/sessions", { body: BODY, key })).json<{ session_id: string }>();
  await api.database.db.updateTable("api_keys").set({ revoked_at: new Date() }).where("name", "=", "sessions-create").execute();
  const later = callerOf(api.another());
  assert.equal((await later("GET", `/v1/sessions/${id}`, { key })).statusCode, 401);
  assert.equal((await api.sessions.claim(id, { owner: "test", callId: "call" })).kind, "claimed");
  await api.sessions.apply(id, "charge");
  await api.sessions.apply(id, "approve");
  assert.equal((await later("GET", `/v1/sessions/${id}`)).json().status, "payment-success");
});
