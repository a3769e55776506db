import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { ApiDeps } from "../deps.ts";
import { sessionPath } from "../schemas/session.ts";
import { demand } from "../schemas/validate.ts";
import { eventId, SessionStream } from "../session-stream.ts";

/** Open streams at most. */
const PER_SESSION = 5;
const PER_KEY = 100;

const HEAD = {
  "content-type": "text/event-stream; charset=utf-8",
  // nginx holds answers back otherwise.
  "x-accel-buffering": "no",
};

/** GET /v1/sessions/{session_id}/stream. */
export function registerStream(app: FastifyInstance, { database, sessions, clock, settings }: ApiDeps): void {
  const open = new Set<SessionStream>();
  const counts = new Map<string, number>();
  const limited = settings.rateLimitPerMinute > 0;

  /** Takes a place under each of the limits, or throws; the answer gives them back. */
  const takePlaces = (limits: [key: string, most: number][]): (() => void) => {
    if (limited && limits.some(([key, most]) => (counts.get(key) ?? 0) >= most))
      throw new AppError("rate_limited", "Too many open streams");
    for (const [key] of limits) counts.set(key, (counts.get(key) ?? 0) + 1);
    return () => {
      for (const [key] of limits) {
        const left = (counts.get(key) ?? 0) - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      }
    };
  };

  app.addHook("preClose", async () => {
    for (const stream of open) stream.shutDown();
  });

  app.get("/v1/sessions/:session_id/stream", { config: { access: "sessions:read" } }, async (request, reply) => {
    const { session_id: id } = demand(sessionPath, request.params, "path");
    const { organizationId, mode: environment, keyId } = request.identity;
    const read = () => sessions.find(database.db, id, { organizationId, environment });
    const session = await read();
    if (!session) throw new AppError("session_not_found");
    if (isTerminal(session.status) && request.headers["last-event-id"] === eventId(session)) return reply.code(204).send();

    if (reply.raw.destroyed) return reply;
    const leave = takePlaces([
      [`session ${id}`, PER_SESSION],
      [`key ${keyId}`, PER_KEY],
    ]);
    reply.hijack();
    reply.raw.writeHead(200, { ...reply.getHeaders(), ...HEAD } as OutgoingHttpHeaders);
    const stream = new SessionStream(reply.raw, read, clock, () => {
      open.delete(stream);
      unwatch();
      leave();
    });
    open.add(stream);
    stream.show(session);
    // What changed between the first read and here is seen by one more read.
    const unwatch = sessions.watch(id, () => stream.changed());
    stream.changed();
    return reply;
  });
}
