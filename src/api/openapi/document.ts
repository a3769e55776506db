import { z } from "zod";
import { ERRORS, type ErrorCode } from "#src/kernel/errors.ts";
import { componentSchemas, ref } from "./components.ts";
import { type Answer, OPERATIONS, type Operation } from "./operations.ts";

/** A registered route: method and path as Fastify spells it, and who may come in. */
export interface Route {
  method: string;
  url: string;
  access: string | undefined;
}

const EVERY_ROUTE: readonly ErrorCode[] = ["bad_request", "uri_too_long", "headers_too_large", "internal"];
const WITH_KEY: readonly ErrorCode[] = ["not_authenticated", "invalid_key", "https_required", "rate_limited", "unavailable"];
const WITH_BODY: readonly ErrorCode[] = ["body_too_large", "unsupported_encoding"];

const INFO = {
  title: "Voicetill",
  version: "1.0.0",
  summary: "Card payments on the phone, for voice agents",
  description:
    "A merchant's server makes a session; its voice agent transfers the call to the address that the answer names; the outcome comes by webhook, stream or polling.\n\n" +
    "Every answer carries `X-Request-Id`. Errors have `detail`: words, or for a 422 all that is wrong with the request. A path that does not exist is a 404, a method " +
    "that a path does not have a 405 with `Allow`. Requests are limited per address and route: `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.",
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
} as const;

/** The OpenAPI 3.1 document of these routes. Throws when one of them is not described. */
export function openapiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:([a-z_]+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [{ url: "/" }],
    tags: [
      { name: "Sessions", description: "Payments by voice" },
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
          description: "An API key, `svc_test_...` or `svc_live_...`, with the scopes that are named.",
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
  const { id, tag, summary, description, path, query, headers, body, answers, errors = [] } = described(route);
  const open = route.access === "anyone";
  const scoped = !open && route.access !== "any key";
  const parameters = [...parametersOf(path, "path"), ...parametersOf(query, "query"), ...parametersOf(headers, "header")];
  const codes = [
    ...EVERY_ROUTE,
    ...(open ? [] : WITH_KEY),
    ...(scoped ? (["missing_scope"] as const) : []),
    ...(body ? WITH_BODY : []),
    ...errors,
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: open ? [] : [{ apiKey: scoped ? [route.access] : [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: { "application/json": { schema: ref(body) } } } } : {}),
    responses: {
      ...errorAnswers(codes),
      ...(body || parameters.length > 0 ? { 422: INVALID } : {}),
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)])),
    },
  };
}

function answerOf({ description, schema, content }: Answer): object {
  if (content)
    return { description, content: { [content]: { schema: content === "application/json" ? { type: "object" } : { type: "string" } } } };
  if (!schema) return { description };
  const json = typeof schema === "string" ? ref(schema) : { type: "array", items: ref(schema[0]) };
  return { description, content: { "application/json": { schema: json } } };
}

const INVALID = {
  description: "The request does not fit: every fault with its place.",
  content: { "application/json": { schema: ref("HTTPValidationError") } },
};

/** One answer for each status, with the words of each code as an example. */
function errorAnswers(codes: readonly ErrorCode[]): Record<string, object> {
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

/** The fields of a model as parameters. */
function parametersOf(model: z.ZodType | undefined, place: "path" | "query" | "header"): object[] {
  if (!model) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(model, { io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([name, schema]) => ({
    name: place === "header" ? name.replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase()) : name,
    in: place,
    required: required.includes(name),
    schema,
  }));
}

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
        "Sent to the project's webhook address, once per session, at least once: until an answer is 2xx, for about 76 hours. A 410 ends it and disables the address.",
      security: [],
      parameters: asHeaders([...SIGNATURES, X_SIGNATURE]),
      requestBody: { required: true, content: { "application/json": { schema: ref("StatusWebhook") } } },
      responses: { "2XX": { description: "Received." }, 410: { description: "Never again." } },
    },
  },
  paymentMethodCollected: {
    post: {
      operationId: "paymentMethodCollected",
      tags: ["Sessions"],
      summary: "A card, for gateway `webhook`",
      description:
        "Card forwarding: one attempt, no redirect, 30 seconds. Anything but the answer below fails the session with `webhook_gateway_error`.",
      security: [],
      parameters: asHeaders([X_SIGNATURE]),
      requestBody: { required: true, content: { "application/json": { schema: ref("CardForwarding") } } },
      responses: {
        "2XX": { description: "What became of the card.", content: { "application/json": { schema: ref("CardForwardingAnswer") } } },
      },
    },
  },
};
