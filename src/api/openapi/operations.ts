import type { z } from "zod";
import type { ErrorCode } from "#src/kernel/errors.ts";
import { idempotencyHeaders } from "../idempotency.ts";
import { createQuery, findQuery, sessionPath } from "../schemas/session.ts";
import type { ComponentName } from "./components.ts";

/** What is said of a route beside what the route itself says (its access). */
export interface Operation {
  id: string;
  tag: "Sessions" | "Account" | "Service";
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
}

export interface Answer {
  description: string;
  schema?: ComponentName | readonly [ComponentName];
  /** Other media types. */
  content?: string;
}

/** By method and route, as Fastify spells it. A route that is not here cannot be registered. */
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
      "Server-sent events: unnamed, each with an id and one line of SessionGetResponse as data; the first at once, then one for every change. " +
      "The stream closes after the final status. A reconnect with the final event's id as `Last-Event-ID` is a 204.",
    path: sessionPath,
    answers: {
      200: { description: "The stream.", content: "text/event-stream" },
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
  "GET /v1/auth/check": {
    id: "checkKey",
    tag: "Account",
    summary: "Check an API key",
    description: "Whose key it is, and which mode. It needs no scope.",
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
    answers: {
      200: { description: "All is well.", schema: "Health" },
      503: { description: "A part has failed.", schema: "Health" },
    },
  },
  "HEAD /health": {
    id: "healthHead",
    tag: "Service",
    summary: "Health, without a body",
    description: "As GET.",
    answers: { 200: { description: "All is well." }, 503: { description: "A part has failed." } },
  },
  "GET /health/ready": {
    id: "ready",
    tag: "Service",
    summary: "Readiness",
    description: "As /health.",
    answers: {
      200: { description: "All is well.", schema: "Health" },
      503: { description: "A part has failed.", schema: "Health" },
    },
  },
  "GET /health/live": {
    id: "live",
    tag: "Service",
    summary: "Liveness",
    description: "Whether the process runs; nothing else is asked.",
    answers: { 200: { description: "It does.", schema: "Alive" } },
  },
  "GET /metrics": {
    id: "metrics",
    tag: "Service",
    summary: "Metrics",
    description: "Prometheus text, for peers on the loopback interface and in TRUSTED_PROXIES; a 404 for all others.",
    answers: { 200: { description: "The numbers of this process.", content: "text/plain" } },
    errors: ["not_found"],
  },
  "GET /openapi.json": {
    id: "openapi",
    tag: "Service",
    summary: "This description",
    description: "OpenAPI 3.1.",
    answers: { 200: { description: "The document.", content: "application/json" } },
  },
  "GET /docs": {
    id: "docs",
    tag: "Service",
    summary: "This description, to read",
    description: "One page that shows /openapi.json. It asks no other host for anything.",
    answers: { 200: { description: "The page.", content: "text/html" } },
  },
};
