import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Clock, sleep } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import { isDatabaseUnavailable, type Log } from "#src/platform/index.ts";
import { Invalid } from "./schemas/faults.ts";

const RETRY_AFTER_SECONDS = 2;

/** Turns everything thrown into `{detail}`: words from the table of errors, the items of a 422, never a stack. */
export function registerErrors(app: FastifyInstance, { log, clock }: { log: Log; clock: Clock }): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof Invalid) return reply.code(422).send({ detail: error.items });
    const fault = appErrorOf(error);
    if (fault.status >= 500) log.error("request_failed", { request: request.id, path: request.routeOptions.url, code: fault.code, error });
    reply.code(fault.status);
    if (fault.code === "unavailable") reply.header("retry-after", RETRY_AFTER_SECONDS);
    if (fault.status === 401) reply.header("www-authenticate", "Bearer");
    // Where one request ends and the next begins is in doubt.
    if (fault.code === "bad_request") reply.header("connection", "close");
    if (fault.code === "body_too_large") return refuseBody(request, reply, clock, { detail: fault.detail });
    return reply.send({ detail: fault.detail });
  });
}

function appErrorOf(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError(isDatabaseUnavailable(error) ? "unavailable" : "internal");
}

/** How long, and for how much, the rest of a refused body is still taken in. */
const LINGER_MS = 1000;
const LINGER_BYTES = 8 * 1024 * 1024;

/**
 * Answers and closes the connection, but not before the client had time to stop sending: closing a socket with unread data
 * resets it, and the client would never see the answer (RFC 9112 section 9.6).
 */
function refuseBody(request: FastifyRequest, reply: FastifyReply, clock: Clock, answer: object): FastifyReply {
  const { raw } = request;
  const text = JSON.stringify(answer);
  const drained = new AbortController();
  let taken = 0;
  raw.on("data", (chunk: Buffer) => {
    taken += chunk.length;
    if (taken > LINGER_BYTES) drained.abort();
  });
  raw.once("close", () => drained.abort());
  raw.once("end", () => drained.abort());
  reply
    .header("connection", "close")
    .header("content-type", "application/json; charset=utf-8")
    .header("content-length", Buffer.byteLength(text));
  const parts = async function* () {
    yield text;
    if (!raw.readableEnded) await sleep(clock, LINGER_MS, drained.signal).catch(() => {});
  };
  return reply.send(Readable.from(parts(), { objectMode: false }));
}
