import type { z } from "zod";
import type { ErrorCode } from "#src/kernel/errors.ts";
import { idempotencyHeaders } from "../idempotency.ts";
import { integrationQuery } from "../schemas/integration.ts";
import { createQuery, findQuery, sessionPath } from "../schemas/session.ts";
import { nonceHeader } from "../schemas/widget-session.ts";
import { progressEvent, sessionEvent } from "../session-stream.ts";
import type { ComponentName } from "./components.ts";
import type { Deprecation } from "./deprecation.ts";
import { COLLECTING, SAMPLES, WAITING } from "./samples.ts";

/** What is said of a route beside what the route itself says (its access). */
export interface Operation {
  id: string;
  tag: "Sessions" | "Widget" | "Platforms" | "Account" | "Service";
  summary: string;
  description: string;
  path?: z.ZodType;
  query?: z.ZodType;
  headers?: z.ZodType;
  body?: ComponentName;
  /** By status; `schema` alone is JSON. An array answers a list of it. */
  answers: Record<string, Answer>;
  /** Beside those that every route or every route with a key can have. */
  errors?: readonly ErrorCode[];
  deprecated?: Deprecation;
}

export interface Answer {
  description: string;
  schema?: ComponentName | readonly [ComponentName];
  /** Other media types, with one example. */
  content?: string;
  example?: string | object;
  /** Which of the schema's examples (examples.ts) can be this answer; all of them when absent. */
  examples?: readonly string[];
}

/** A few events, as they come over the wire. */
const STREAM = [
  sessionEvent(WAITING),
  sessionEvent(COLLECTING),
  progressEvent(WAITING.id, { step: "asking_number", try: 1 }),
  sessionEvent(SAMPLES.charged),
].join("");

const READY = {
  status: "ready",
  next: "Call the transfer tool now. Do not ask for card details.",
  transfer_to: `sip:${WAITING.id}@pay.merchant.example`,
  session_id: WAITING.id,
  phone_number: "+15550001111",
  expires_in_seconds: 300,
  say: "I will now connect you to our secure payment line.",
  sip_uri: `sip:${WAITING.id}@pay.merchant.example`,
};
const ALPHA_ANSWER = { results: [{ toolCallId: "call_1", name: "collect_payment", result: JSON.stringify(READY) }] };
const BETA_ANSWER = READY;
const HEALTH: Operation["answers"] = {
  200: { description: "All is well.", schema: "Health", examples: ["healthy"] },
  503: { description: "A part has failed.", schema: "Health", examples: ["no database"] },
};
const PLATFORM_ERRORS = ["invalid_platform_secret"] as const;

/** Routes that are the operator's, or parts of a page: they stand in docs/operations.md, and not in the description. */
export const UNDESCRIBED: ReadonlySet<string> = new Set([
  "HEAD /health",
  "GET /metrics",
  "GET /widget/assets/:file",
  "GET /widget/v1/widget.js",
  "GET /widget/v1/scripts.json",
  "OPTIONS /v1/widget-sessions/:session_id",
  "OPTIONS /v1/widget-sessions/:session_id/charge",
  "GET /docs",
  "GET /docs/:file",
]);

/** By method and route, as Fastify spells it. A route that is in neither of the two lists cannot be registered. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /v1/sessions": {
    id: "createSession",
    tag: "Sessions",
    summary: "Create a voice session",
    description:
      "Makes a session and tells where to transfer the call. `response_status` replaces the 201 for platforms that accept only another 2xx. " +
      "With an `Idempotency-Key`, a repeat within 24 hours gets the first answer, with `Idempotent-Replayed: true`.",
    query: createQuery,
    headers: idempotencyHeaders,
    body: "SessionCreate",
    answers: {
      201: { description: "The session was made.", schema: "SessionCreateResponse" },
      "2XX": { description: "The same, under the status that `response_status` asked for.", schema: "SessionCreateResponse" },
    },
    errors: ["project_not_found", "idempotency_key_in_use"],
  },
  "GET /v1/sessions": {
    id: "findSession",
    tag: "Sessions",
    summary: "Find a caller's session",
    description: "The most recent active session of that caller, else the one that ended last.",
    query: findQuery,
    answers: { 200: { description: "The session.", schema: "SessionGetResponse" } },
    errors: ["session_not_found", "project_not_found"],
  },
  "GET /v1/sessions/:session_id": {
    id: "getSession",
    tag: "Sessions",
    summary: "Read a session",
    description: "For status checks and to reconcile missed webhooks.",
    path: sessionPath,
    answers: { 200: { description: "The session.", schema: "SessionGetResponse" } },
    errors: ["session_not_found"],
  },
  "GET /v1/sessions/:session_id/stream": {
    id: "streamSession",
    tag: "Sessions",
    summary: "Follow a session",
    description:
      "Server-sent events: unnamed, each with an id and one line of SessionGetResponse (without `step` and `pay_url`) as data; the first at once, then one for every change. " +
      "While a caller is asked for his card there are also events named `progress`, without an id: `session_id`, `step` as in SessionGetResponse, and `try`, which try at it, from 1. " +
      "The stream closes after the final status. A reconnect with the final event's id as `Last-Event-ID` is a 204.",
    path: sessionPath,
    answers: {
      200: { description: "The stream.", content: "text/event-stream", example: STREAM },
      204: { description: "The final event has been seen already." },
    },
    errors: ["session_not_found"],
  },
  "POST /v1/sessions/:session_id/cancel": {
    id: "cancelSession",
    tag: "Sessions",
    summary: "Cancel a session",
    description: "Only PENDING and COLLECTING sessions can be cancelled, and none whose payment is under way. A body is ignored.",
    path: sessionPath,
    answers: { 204: { description: "It is cancelled, and no gateway was or will be called." } },
    errors: ["session_not_found", "session_not_cancellable", "payment_in_progress"],
  },
  "POST /v1/widget-sessions": {
    id: "createWidgetSession",
    tag: "Widget",
    summary: "Create a widget session",
    description:
      "Makes a session that is paid in the browser within 30 minutes, at `widget_url`: as a page of its own, or in a frame on the origins that the project allows. " +
      "Read it, follow it and cancel it as any session. `Idempotency-Key` as for voice sessions.",
    headers: idempotencyHeaders,
    body: "CreateWidgetSession",
    answers: { 201: { description: "The session was made.", schema: "WidgetSessionCreateResponse" } },
    errors: ["project_not_found", "idempotency_key_in_use"],
  },
  "GET /v1/widget-sessions/:session_id": {
    id: "getWidgetSession",
    tag: "Widget",
    summary: "What the frame shows",
    description:
      "For the widget's frame, without a key; not for reconciliation. Once the session is final it is a 410. With a nonce of the session in `X-Widget-Nonce` " +
      "the answer brings a fresh one in the same header, and a 410 the signed result in `X-Widget-Result`. 60 a minute for each address.",
    path: sessionPath,
    headers: nonceHeader,
    answers: { 200: { description: "The session is open.", schema: "WidgetSession" } },
    errors: ["session_not_found", "session_over"],
  },
  "POST /v1/widget-sessions/:session_id/charge": {
    id: "chargeWidgetSession",
    tag: "Widget",
    summary: "The frame sends the card",
    description:
      "For the widget's frame alone: it needs `Origin` or `Sec-Fetch-Site` of the service's own page, and in `X-Widget-Nonce` the page's nonce, which is good for one try. " +
      "A 402 that may be tried again and a 422 bring the next nonce in the same header. Five tries for each session, malformed ones counted; 10 a minute for each address. " +
      "While a payment is under way, or its outcome is not known yet, every other try is a 409; afterwards a 410 with the signed result in `X-Widget-Result`, which has a `reason` where the payment failed and money may have moved all the same.",
    path: sessionPath,
    headers: nonceHeader,
    body: "WidgetCharge",
    answers: {
      200: { description: "Paid, authorized or stored.", schema: "WidgetChargeResponse" },
      402: { description: "The card was refused.", schema: "WidgetDecline" },
    },
    errors: ["session_not_found", "session_over", "charge_in_progress", "not_the_frame"],
  },
  "GET /widget/:session_id": {
    id: "widgetPage",
    tag: "Widget",
    summary: "The page that takes the card",
    description:
      "HTML with one script and one style of its own, for the shopper's browser. A page too when the session is unknown (404), also for what is no id, or final (410); " +
      "a client that accepts HTML is told in words as well to wait or to come again. " +
      "A voice session's `pay_url` leads here with its token in `t`; without it there is no such session.",
    answers: {
      200: { description: "The form.", content: "text/html" },
      404: { description: "There is no such widget session.", content: "text/html" },
      410: { description: "The session is final.", content: "text/html" },
      429: { description: "Rate limit exceeded", content: "text/html" },
      500: { description: "Internal Server Error", content: "text/html" },
      503: { description: "Service unavailable", content: "text/html" },
    },
  },
  "POST /integrations/alpha/webhook": {
    id: "alphaWebhook",
    tag: "Platforms",
    summary: "Tool calls of the first voice platform",
    description:
      "For the server address of a tool named `collect_payment` or `get_payment_result` on the first platform; what is set up for a project, `voicetill integrations show` prints. " +
      "A message of type `tool-calls` makes a session for each `collect_payment`, `function-call` is its older form, `transfer-destination-request` is answered with the session's address; every other type is acknowledged. " +
      "What the agent can speak of, wrong amounts and missing callers too, is a 200 with an error for that call. A repeated tool call is the same session. 20 tool calls a minute for each key, whatever address they come from.",
    query: integrationQuery,
    body: "AlphaMessage",
    answers: { 200: { description: "For tool calls one result each.", content: "application/json", example: ALPHA_ANSWER } },
    errors: PLATFORM_ERRORS,
  },
  "POST /integrations/beta/webhook": {
    id: "betaWebhook",
    tag: "Platforms",
    summary: "Function calls of the second voice platform",
    description:
      "For the address of a custom function named `collect_payment` or `get_payment_result` on the second platform: `name`, `args` and `call`, or the arguments alone. " +
      "The answer is flat, so that variables can be taken from it. What the agent can speak of is a 200 with `status` `error`. A request that is sent again is the same session. 20 a minute for each key.",
    query: integrationQuery,
    body: "BetaCall",
    answers: { 200: { description: "The tool's answer.", content: "application/json", example: BETA_ANSWER } },
    errors: PLATFORM_ERRORS,
  },
  "GET /v1/auth/check": {
    id: "checkKey",
    tag: "Account",
    summary: "Check an API key",
    description: "Whose key it is, and which mode; the header `Api-Key-Scopes` lists what it may do. It needs no scope.",
    answers: { 200: { description: "The key is valid.", schema: "AuthCheckResponse" } },
  },
  "GET /v1/projects": {
    id: "listProjects",
    tag: "Account",
    summary: "List projects",
    description: "All projects of the key's organisation, the oldest first, each with the gateways configured for the key's mode.",
    answers: { 200: { description: "The projects.", schema: ["Project"] } },
  },
  "GET /health": {
    id: "health",
    tag: "Service",
    summary: "Health",
    description: "Whether the database answers and the roles of this process work. HEAD is answered too.",
    answers: HEALTH,
  },
  "GET /health/ready": {
    id: "ready",
    tag: "Service",
    summary: "Readiness",
    description: "As /health.",
    answers: HEALTH,
  },
  "GET /health/live": {
    id: "live",
    tag: "Service",
    summary: "Liveness",
    description: "Whether the process runs; nothing else is asked.",
    answers: { 200: { description: "It does.", schema: "Alive" } },
  },
  "GET /openapi.json": {
    id: "openapi",
    tag: "Service",
    summary: "This description",
    description: "OpenAPI 3.1.",
    answers: { 200: { description: "The document.", content: "application/json" } },
  },
};
