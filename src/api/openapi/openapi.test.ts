import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { ERRORS } from "#src/kernel/errors.ts";
import { GATEWAYS } from "#src/kernel/payment.ts";
import { createMetrics } from "#src/platform/index.ts";
import { BODY, startTestApi, type TestApi } from "../testing.ts";
import { OPERATIONS } from "./operations.ts";
import { ajvOf } from "./testing.ts";
import { WORDS } from "./words.ts";

interface Media {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
interface Described {
  summary: string;
  description: string;
  parameters?: { name: string; description?: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
  security: Record<string, string[]>[];
  "x-required-scope"?: string;
}
interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Described>>;
  webhooks: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, { description?: string; properties?: Record<string, { description?: string }> }> };
}

let api: TestApi;
let document: Document;
before(async () => {
  api = await startTestApi({ deps: { metrics: createMetrics() } });
  document = (await api.call("GET", "/openapi.json", { key: null })).json();
});
after(() => api.close());

const NAMES =
  "SessionCreate SessionCreateResponse SessionGetResponse BillingAddress Processor ErrorDetail CreateWidgetSession AuthCheckResponse HTTPValidationError ValidationError";

test("the description is valid OpenAPI 3.1, version 1.0.0, with the published schema names (R-032)", async () => {
  const result = await new Validator().validate(structuredClone(document) as never);
  assert.deepEqual(result.errors ?? [], []);
  assert.ok(result.valid);
  assert.deepEqual([document.openapi, document.info.version], ["3.1.0", "1.0.0"]);
  for (const name of NAMES.split(" ")) assert.ok(name in document.components.schemas, name);
  assert.deepEqual(Object.keys(document.webhooks), ["status", "paymentMethodCollected"]);
});

test("the requests that are shown name the project that a new installation has, so that its key can send them as they stand", async () => {
  const { projectSlug } = await api.projects.ensureStarter();
  for (const path of ["/v1/sessions", "/v1/widget-sessions"]) {
    const { examples = {} } = document.paths[path]!["post"]!.requestBody!.content["application/json"]!;
    const named = Object.values(examples).map(({ value }) => (value as { project: string }).project);
    assert.ok(named.length > 0 && named.every((project) => project === projectSlug), `${path}: ${named.join()}`);
  }
});

test("the description passes Redocly's recommended rules without an error or a warning (R-032)", async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  assert.deepEqual(
    problems.map(
      ({ severity, ruleId, message, location }) => `${severity} ${ruleId}: ${message} ${location.map(({ pointer }) => pointer).join()}`,
    ),
    [],
  );
});

test("every schema is valid JSON Schema 2020-12 in strict mode (R-032)", () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateSchema: true });
  formats.default(ajv);
  const { schemas } = document.components;
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
  for (const name of Object.keys(schemas)) assert.equal(typeof ajv.getSchema(`#/components/schemas/${name}`), "function", name);
});

const operations = () =>
  [document.paths, document.webhooks].flatMap((paths) => Object.values(paths).flatMap((methods) => Object.values(methods)));

test("every example fits its schema, and every body has one (R-032)", () => {
  const ajv = ajvOf(document.components.schemas);
  let seen = 0;
  for (const { summary, requestBody, responses } of operations()) {
    const bodies = [requestBody, ...Object.values(responses)].flatMap((body) => Object.entries(body?.content ?? {}));
    for (const [type, { schema, example, examples }] of bodies) {
      if (JSON.stringify(schema) === '{"type":"object"}' || /^text\/(?!event-stream)/.test(type)) continue;
      const values = example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example];
      assert.ok(values.length > 0, `${summary}: ${JSON.stringify(schema)} has no example`);
      for (const value of values) assert.ok(ajv.validate(schema, value), `${summary}: ${ajv.errorsText()} ${JSON.stringify(value)}`);
      seen += values.length;
    }
  }
  assert.ok(seen > 100, `only ${seen} examples`);
});

test("every operation, parameter, schema and field says what it means (R-032)", () => {
  const { schemas } = document.components;
  const silent = [
    ...operations().flatMap(({ summary, description, parameters = [] }) => [
      ...(description ? [] : [summary]),
      ...parameters.filter((one) => !one.description).map(({ name }) => `${summary}: ${name}`),
    ]),
    ...Object.entries(schemas).flatMap(([name, { description, properties = {} }]) => [
      ...(description ? [] : [name]),
      ...Object.entries(properties).flatMap(([field, of]) => (of.description ? [] : [`${name}.${field}`])),
    ]),
  ];
  assert.deepEqual(silent, []);
  const strays = Object.entries(WORDS).flatMap(([name, { _: _meaning, ...fields }]) =>
    Object.keys(fields).flatMap((field) => (schemas[name]?.properties?.[field] ? [] : [`${name}.${field}`])),
  );
  assert.deepEqual(strays, []);
});

test("every route is described and every description has its route (R-032)", async () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{([a-z_]+)\}/g, ":$1")}`),
  );
  assert.deepEqual(described.sort(), Object.keys(OPERATIONS).sort());
  const app = api.another();
  assert.throws(() => app.get("/v1/secret", async () => "?"), /GET \/v1\/secret is not described/);
  await app.close();
});

test("all references lead somewhere, and every operation has an id of its own (R-032)", () => {
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g);
  const missing = [...references].map(([, name]) => name!).filter((name) => !(name in document.components.schemas));
  assert.deepEqual(missing, []);
  const ids = [...JSON.stringify(document).matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("every operation names its scope and the errors it can answer, in the words of the table (R-032)", () => {
  const create = document.paths["/v1/sessions"]!["post"]!;
  assert.deepEqual(create.security, [{ apiKey: [] }]);
  assert.equal(create["x-required-scope"], "sessions:create");
  assert.deepEqual(document.paths["/health"]!["get"]!.security, []);
  const statuses = "201 2XX 400 401 403 404 409 413 414 415 422 429 431 500 503";
  assert.equal(Object.keys(create.responses).sort().join(" "), statuses);
  const examples = create.responses["401"]!.content!["application/json"]!.examples;
  assert.deepEqual(examples, {
    not_authenticated: { value: { detail: ERRORS.not_authenticated.detail } },
    invalid_key: { value: { detail: ERRORS.invalid_key.detail } },
  });
});

test("of the shopper's page its refusals are pages too, and no id is too wrong for it", () => {
  const { responses } = document.paths["/widget/{session_id}"]!["get"]!;
  assert.equal(Object.keys(responses).sort().join(" "), "200 400 403 404 410 414 429 431 500 503");
  for (const status of ["429", "503"]) assert.deepEqual(Object.keys(responses[status]!.content!).sort(), ["application/json", "text/html"]);
});

test("real answers fit their schemas (R-032, R-003, R-150)", async () => {
  const id = await api.createSession({ description: "Order 118" });
  await api.createSession({ caller: "+14155550132" });
  const requests: [method: "GET" | "POST", path: string, url: string, options?: object][] = [
    ["POST", "/v1/sessions", "/v1/sessions", { body: BODY }],
    ["POST", "/v1/sessions", "/v1/sessions?response_status=200", { body: BODY }],
    ["POST", "/v1/sessions", "/v1/sessions", { body: {} }],
    ["POST", "/v1/sessions", "/v1/sessions", { body: BODY, key: "wrong" }],
    ["POST", "/v1/sessions", "/v1/sessions", { body: { ...BODY, project: "nowhere" } }],
    ["POST", "/v1/sessions", "/v1/sessions", { body: "x".repeat(70_000) }],
    ["GET", "/v1/sessions", "/v1/sessions?caller=%2B14155550132"],
    ["GET", "/v1/sessions/{session_id}", `/v1/sessions/${id}`],
    ["GET", "/v1/sessions/{session_id}", "/v1/sessions/none"],
    ["POST", "/v1/sessions/{session_id}/cancel", `/v1/sessions/${id}/cancel`],
    ["POST", "/v1/sessions/{session_id}/cancel", `/v1/sessions/${id}/cancel`],
    ["GET", "/v1/sessions/{session_id}", `/v1/sessions/${id}`],
    ["GET", "/v1/auth/check", "/v1/auth/check"],
    ["GET", "/v1/projects", "/v1/projects"],
    ["GET", "/health", "/health"],
    ["GET", "/health/ready", "/health/ready"],
    ["GET", "/health/live", "/health/live"],
  ];
  const ajv = ajvOf(document.components.schemas);
  for (const [method, path, url, options] of requests) {
    const { statusCode, payload } = await api.call(method, url, options);
    const { responses } = document.paths[path]![method.toLowerCase()]!;
    const answer = responses[statusCode] ?? (statusCode < 300 ? responses["2XX"] : undefined);
    const where = `${method} ${url} ${statusCode}`;
    assert.ok(answer, `${where} is not described`);
    const schema = answer.content?.["application/json"]?.schema;
    if (!schema) assert.equal(payload, "", where);
    else assert.ok(ajv.validate(schema, JSON.parse(payload)), `${where}: ${ajv.errorsText()} ${payload}`);
  }
});

test("what the schema of a new session refuses, the service refuses (R-032)", async () => {
  const ajv = ajvOf(document.components.schemas);
  const fits = (body: object) => ajv.validate({ $ref: "#/components/schemas/SessionCreate" }, body);
  const bodies: [object, boolean][] = [
    [BODY, true],
    [{ ...BODY, amount: "10.50", description: null, stripe_account: "acct_1" }, true],
    [{ ...BODY, amount: "ten" }, false],
    [{ ...BODY, amount: -1 }, false],
    [{ ...BODY, mode: "give" }, false],
    [{ ...BODY, gateway: "paypal" }, false],
    [{ ...BODY, description: "x".repeat(501) }, false],
    [{ ...BODY, billing_address: { street: "1 Main St", city: "X", state: "C", zip: "94105" } }, false],
    [{ project: "shop" }, false],
  ];
  for (const [body, expected] of bodies) {
    assert.equal(fits(body), expected, JSON.stringify(body));
    if (!expected) assert.equal((await api.call("POST", "/v1/sessions", { body })).statusCode, 422);
  }
});

test("what is the operator's is not described, and no variant with HEAD (R-032)", () => {
  const shown = Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
  assert.deepEqual(
    shown.filter((name) => /^head|metrics|assets|\/docs/.test(name)),
    [],
  );
});

test("the gateways that are built are listed, and their processor fields; the others are taken all the same (R-032, R-121)", async () => {
  const built = Object.keys(GATEWAYS_BUILT).sort();
  const { schemas } = document.components;
  for (const name of ["SessionCreate", "CreateWidgetSession", "SessionGetResponse", "StatusWebhook"]) {
    assert.deepEqual((schemas[name]?.properties?.["gateway"] as { enum: string[] } | undefined)?.enum.toSorted(), built, name);
  }
  const fields = Object.keys(schemas["Processor"]?.properties ?? {});
  for (const { capabilities } of Object.values(GATEWAYS_BUILT)) {
    for (const field of [...capabilities.processorFields.charge, ...capabilities.processorFields.tokenize])
      assert.ok(fields.includes(field), field);
  }
  for (const gateway of GATEWAYS) {
    const { statusCode, payload } = await api.call("POST", "/v1/sessions", { body: { ...BODY, gateway } });
    assert.ok(statusCode === 201 || payload.includes('"gateway_not_configured"'), `${gateway} ${payload}`);
  }
});
