import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as fc from "fast-check";
import { ajvOf } from "./openapi/testing.ts";
import { BODY, startTestApi, type TestApi } from "./testing.ts";

/** HOSTILE_REQUESTS: how many of each kind (E7 asks for a million in all). */
const RUNS = Number(process.env["HOSTILE_REQUESTS"] ?? 400);
/** Stands in whatever is sent that is a caller's own, so that an answer which repeats it is noticed. */
const MARK = "zq7x";

type Responses = Record<string, { content?: Record<string, { schema?: object }> }>;

let api: TestApi;
let answersOf: (path: string, method: string) => Responses;
let fits: (schema: object, value: unknown) => string | null;
before(async () => {
  api = await startTestApi();
  const document = (await api.call("GET", "/openapi.json", { key: null })).json<{
    paths: Record<string, Record<string, { responses: Responses }>>;
    components: { schemas: Record<string, object> };
  }>();
  const ajv = ajvOf(document.components.schemas);
  answersOf = (path, method) => document.paths[path]![method]!.responses;
  fits = (schema, value) => (ajv.validate(schema, value) ? null : ajv.errorsText());
});
after(() => api.close());

/** JSON texts that no serialiser writes, and the numbers, strings and shapes that parsers get wrong. */
const oddJson = fc.constantFrom(
  ..."1e400 -0 0.1e1 00 NaN -1 1e-400 12345678901234567890 0x10 +1 .5 1. true [] {} [[]] null".split(" "),
  "9".repeat(400),
  `0.${"0".repeat(400)}1`,
  `"${MARK}\\u0000"`,
  `"${MARK}\\ud800"`,
  `"\\udfff${MARK}"`,
  `"${MARK}${"a".repeat(20_000)}"`,
  `"${MARK}'; drop table sessions; --"`,
  `"${MARK}\u202e\ufeff\u2028"`,
  `{"__proto__":{"${MARK}":1},"constructor":{}}`,
  `${"[".repeat(200)}${"]".repeat(200)}`,
  `"https://${MARK}.example/%00?#@"`,
  `"sip:${MARK}@[::1]:0;transport=x"`,
);
const anyJson = fc.oneof(
  oddJson,
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(MARK + text)),
  fc.double().map(String),
  fc.bigInt().map(String),
  fc.json({ maxDepth: 3, stringUnit: "grapheme" }).map((text) => text.replace(/^"/, `"${MARK}`)),
);

const ADDRESS = '{"street":"1 Main","city":"Town","state":"CA","zip":"94105"}';
const VALID: Readonly<Record<string, readonly string[]>> = {
  project: ['"shop"', '"yen"'],
  caller: ['"+14155550100"'],
  amount: ["10", '"10.50"', "0.01"],
  mode: ['"charge"', '"tokenize"'],
  gateway: ['"stripe"'],
  description: ["null", '"Invoice 1"'],
  callback: ["null", '"+14155550101"'],
  memory: ["null", '"m"'],
  stripe_account: ["null"],
  billing_address: ["null", ADDRESS],
  amount_cents: ["1000", "1000.0"],
};

/** A body in which most fields are as they should be and the others are anything; some of it written wrongly. */
const bodies = fc
  .record(
    Object.fromEntries(
      Object.entries(VALID).map(([name, valid]) => [
        name,
        fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...valid) }, { weight: 1, arbitrary: anyJson }),
      ]),
    ),
    { requiredKeys: ["project", "amount", "amount_cents", "mode", "gateway", "caller"] },
  )
  .map(
    (fields) =>
      `{${Object.entries(fields)
        .map(([name, text]) => `"${name}":${text}`)
        .join()}}`,
  );
const requestBodies = fc.oneof(
  { weight: 6, arbitrary: bodies.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: anyJson.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.tuple(bodies, fc.nat()).map(([text, at]) => Buffer.from(text).subarray(0, at % (text.length + 1))) },
  {
    weight: 1,
    arbitrary: fc.tuple(bodies, fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
      const bytes = Buffer.from(text);
      bytes[at % bytes.length] = byte;
      return bytes;
    }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);

/** The answer is one that the description has for this operation, and repeats nothing of the request. */
function assertDescribed(path: string, method: string, response: Awaited<ReturnType<TestApi["call"]>>): void {
  const { statusCode, payload } = response;
  assert.ok(statusCode < 500, `${statusCode}: ${payload}`);
  const responses = answersOf(path, method);
  const described = responses[statusCode] ?? responses[`${String(statusCode)[0]}XX`];
  assert.ok(described, `${statusCode} is not described: ${payload}`);
  const schema = described.content?.["application/json"]?.schema;
  if (schema) assert.equal(fits(schema, JSON.parse(payload)), null, payload);
  assert.ok(!payload.includes(MARK), `repeats what was sent: ${payload}`);
}

for (const path of ["/v1/sessions", "/v1/widget-sessions"]) {
  test(`no body makes POST ${path} fail, or say what is not described, or repeat what was sent (R-005, R-032)`, async () => {
    const seen = new Map<number, number>();
    const property = fc.asyncProperty(requestBodies, fc.option(fc.string({ maxLength: 40 }), { freq: 5 }), async (body, key) => {
      // What a header cannot carry never arrives.
      const headers = key !== null && /^[\t\x20-\x7e]*$/.test(key) ? { "idempotency-key": key } : {};
      const response = await api.call("POST", path, { body, headers });
      seen.set(response.statusCode, (seen.get(response.statusCode) ?? 0) + 1);
      assertDescribed(path, "post", response);
    });
    await fc.assert(property, { numRuns: RUNS });
    assert.ok(seen.has(422) && (seen.get(201) ?? 0) > RUNS / 50, JSON.stringify([...seen]));
  });
}

test("no address makes a read or a cancel fail, or say what is not described, or repeat what was sent (R-005, R-032)", async () => {
  const id = await api.createSession({ ...BODY, caller: "+14155550199" });
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }).map((text) => encodeURIComponent(MARK + text.toWellFormed())),
    fc.constantFrom(id, id.toUpperCase(), `${id}%00`, `%2b14155550199`, "+14155550199", "%", "%ff", "%c0%80", "..%2f..", MARK.repeat(300)),
  );
  const requests = fc.oneof(
    text.map((id) => ["get", "/v1/sessions/{session_id}", `/v1/sessions/${id}`] as const),
    text.map((id) => ["post", "/v1/sessions/{session_id}/cancel", `/v1/sessions/${id}/cancel`] as const),
    fc.tuple(text, text).map(([a, b]) => ["get", "/v1/sessions", `/v1/sessions?caller=${a}&project=${b}&caller=${b}`] as const),
    fc.tuple(text, text).map(([a, b]) => ["get", "/v1/sessions", `/v1/sessions?caller=${a}&${b}`] as const),
  );
  const property = fc.asyncProperty(requests, async ([method, path, url]) => {
    const response = await api.call(method === "get" ? "GET" : "POST", url);
    if (response.statusCode !== 404 || !/Not Found/.test(response.payload)) assertDescribed(path, method, response);
  });
  await fc.assert(property, { numRuns: RUNS });
});
