import { z } from "zod";
import { ERRORS, type ErrorCode } from "#src/kernel/errors.ts";
import { componentSchemas, ref } from "./components.ts";
import { examplesOf } from "./examples.ts";
import { type Answer, OPERATIONS, type Operation } from "./operations.ts";
import { PARAMETERS } from "./words.ts";

/** A registered route: method and path as Fastify spells it, and who may come in. */
export interface Route {
  method: string;
  url: string;
  access: string | undefined;
}

const EVERY_ROUTE: readonly ErrorCode[] = ["bad_request", "uri_too_long", "headers_too_large", "internal"];
const WITH_KEY: readonly ErrorCode[] = ["not_authenticated", "invalid_key", "https_required", "rate_limited", "unavailable"];
const COUNTED: readonly ErrorCode[] = ["https_required", "rate_limited", "unavailable"];
const WITH_BODY: readonly ErrorCode[] = ["body_too_large", "unsupported_encoding"];

const INFO = {
  title: "Voicetill",
  version: "1.0.0",
  summary: "Card payments on the phone, for voice agents",
  description: `A merchant's server makes a session; its voice agent transfers the caller to the address that the answer names; the service collects the card by voice and keypad and charges or stores it; the outcome comes by webhook, stream or polling, whichever suits.

**To begin**: \`POST /v1/sessions\`, transfer the call to \`sip_uri\` within five minutes, and read the session, follow its stream, or wait for the webhook.

**Keys**: \`Authorization: Bearer svc_test_...\` or \`svc_live_...\`. Test keys use the gateways' sandboxes and move no money. A key sees the sessions of its own organisation and mode only. Operations name the scope they need.

**Errors** have \`detail\`: words, or for a 422 the list of all that is wrong with the request. A path that does not exist is a 404, a method that a path does not have a 405 with \`Allow\`. Every answer carries \`X-Request-Id\`, which finds the request in the log.

**Limits**: requests are counted per address and operation, 20 a minute unless the installation says otherwise: \`RateLimit-Limit\`, \`RateLimit-Remaining\`, \`RateLimit-Reset\`; over it a 429 with \`Retry-After\`.

**Changes**: under /v1 fields, operations and codes are added, never taken away: ignore what you do not know.`,
  contact: { name: "Whoever runs this installation" },
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
} as const;

/** The OpenAPI 3.1 document of these routes below `basePath`, "" or "/pay". Throws when one of them is not described. */
export function openapiDocument(routes: readonly Route[], basePath: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:([a-z_]+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [{ url: basePath || "/" }],
    tags: [
      { name: "Sessions", description: "Payments by voice" },
      { name: "Widget", description: "Payments in the browser" },
      { name: "Platforms", description: "Voice platforms, which call the service as a tool of their agents" },
      { name: "Account", description: "The key and its organisation" },
      { name: "Service", description: "For whoever runs it" },
    ],
    paths,
    webhooks: WEBHOOKS,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description: "An API key, `svc_test_...` or `svc_live_...`, that has the operation's scope (`x-required-scope`).",
        },
      },
    },
  };
}

/** The description of a route; throws when there is none. */
export function described({ method, url }: Pick<Route, "method" | "url">): Operation {
  const found = OPERATIONS[`${method} ${url}`];
  if (!found) throw new Error(`${method} ${url} is not described: add it to src/api/openapi/operations.ts`);
  return found;
}

function operation(route: Route): object {
  const { id, tag, summary, description, path, query, headers, body, answers, errors = [], deprecated } = described(route);
  const open = route.access === "anyone" || route.access === "browser";
  const scoped = !open && route.access !== "any key";
  const checked = [...parametersOf(path, "path"), ...parametersOf(query, "query"), ...parametersOf(headers, "header")];
  const parameters = [...checked, ...(path ? [] : uncheckedOf(route.url))];
  const codes = [
    ...EVERY_ROUTE,
    ...(open ? [] : WITH_KEY),
    ...(route.access === "browser" ? COUNTED : []),
    ...(scoped ? (["missing_scope"] as const) : []),
    ...(body ? WITH_BODY : []),
    ...errors,
  ];
  const refusals = errorAnswers(codes);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(deprecated && { deprecated: true }),
    security: open ? [] : [{ apiKey: [] }],
    // Not inside `security`: a bearer key's scopes have no list in the document, and tools stumble over that.
    ...(scoped && { "x-required-scope": route.access }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: { "application/json": { schema: ref(body), ...examplesOf(body) } } } } : {}),
    responses: {
      ...refusals,
      ...(body || checked.length > 0 ? { 422: INVALID } : {}),
      // An error that is answered in another type as well keeps what is said of it.
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, joined(refusals[status], answerOf(answer))])),
    },
  };
}

interface Described {
  description: string;
  headers?: object;
  content?: object;
}

const joined = (error: Described | undefined, answer: Described): Described =>
  error ? { ...error, ...answer, content: { ...error.content, ...answer.content } } : answer;

function answerOf({ description, schema, content, example, examples }: Answer): Described {
  if (content) {
    const type = content === "application/json" ? "object" : "string";
    return { description, content: { [content]: { schema: { type }, ...(example !== undefined && { example }) } } };
  }
  if (!schema) return { description };
  const [name, json, wrap] =
    typeof schema === "string"
      ? [schema, ref(schema), (value: object) => value]
      : [schema[0], { type: "array", items: ref(schema[0]) }, (value: object) => [value]];
  return { description, content: { "application/json": { schema: json, ...examplesOf(name, wrap, examples) } } };
}

const INVALID = answerOf({ description: "The request does not fit: every fault with its place.", schema: "HTTPValidationError" });

/** One answer for each status, with the words of each code as an example. */
function errorAnswers(codes: readonly ErrorCode[]): Record<string, Described> {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => ERRORS[code].detail).join(" / "),
        ...(status === 429 || status === 503
          ? { headers: { "Retry-After": { description: "Seconds.", schema: { type: "integer", minimum: 1 } } } }
          : {}),
        content: {
          "application/json": {
            schema: ref("Error"),
            examples: Object.fromEntries(codes.map((code) => [code, { value: { detail: ERRORS[code].detail } }])),
          },
        },
      },
    ]),
  );
}

/** Parts of a path that any text fits. */
function uncheckedOf(url: string): object[] {
  return [...url.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: PARAMETERS[name],
    schema: { type: "string" },
  }));
}

/** The fields of a model as parameters. */
function parametersOf(model: z.ZodType | undefined, place: "path" | "query" | "header"): object[] {
  if (!model) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(model, { io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([property, schema]) => {
    const name = place === "header" ? headerName(property) : property;
    const description = (schema as { description?: string }).description ?? PARAMETERS[name];
    return { name, in: place, required: required.includes(property), ...(description && { description }), schema };
  });
}

/** `Idempotency-Key`, `Last-Event-ID`. */
const headerName = (name: string) => name.replace(/(^|-)(id\b|[a-z])/g, (letters) => letters.toUpperCase());

const SIGNATURES = [
  { name: "webhook-id", description: "The event's id (Standard Webhooks)." },
  { name: "webhook-timestamp", description: "Seconds since 1970 (Standard Webhooks)." },
  { name: "webhook-signature", description: "`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` (Standard Webhooks)." },
];
const X_SIGNATURE = {
  name: "X-Signature",
  description: "`t=<seconds>,v1=<hex>`: HMAC-SHA256 of `t`, a dot and the raw body under the signing secret.",
};
const asHeaders = (list: readonly { name: string; description: string }[]) =>
  list.map((header) => ({ ...header, in: "header", required: true, schema: { type: "string" } }));

const WEBHOOKS = {
  status: {
    post: {
      operationId: "statusWebhook",
      tags: ["Sessions"],
      summary: "A session has ended",
      description:
        "Sent to the project's webhook address when a session has ended, whatever its end: one event per session, delivered at least once. Answer 2xx within 15 seconds; anything else is tried again nine times over about 76 hours, `Retry-After` is honoured. A 410 ends it and switches the address off. Verify one of the two signatures over the raw body before believing it: docs/webhooks.md.",
      security: [],
      parameters: asHeaders([...SIGNATURES, X_SIGNATURE]),
      requestBody: { required: true, content: { "application/json": { schema: ref("StatusWebhook"), ...examplesOf("StatusWebhook") } } },
      responses: { "2XX": { description: "Received." }, 410: { description: "Never again." } },
    },
  },
  paymentMethodCollected: {
    post: {
      operationId: "paymentMethodCollected",
      tags: ["Sessions"],
      summary: "A card, for the gateway webhook",
      description:
        "Sent to the endpoint that the project has set up for gateway `webhook`, over HTTPS only: one attempt, no redirect, 30 seconds. Anything but the answer below fails the session with `webhook_gateway_error`: docs/card-forwarding.md.",
      security: [],
      parameters: asHeaders([X_SIGNATURE]),
      requestBody: { required: true, content: { "application/json": { schema: ref("CardForwarding"), ...examplesOf("CardForwarding") } } },
      responses: {
        "2XX": {
          description: "What became of the card.",
          content: { "application/json": { schema: ref("CardForwardingAnswer"), ...examplesOf("CardForwardingAnswer") } },
        },
      },
    },
  },
};
