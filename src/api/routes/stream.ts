import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { ApiDeps } from "../deps.ts";
import { watchKeys } from "../key-watch.ts";
import { sessionPath } from "../schemas/session.ts";
import { parse } from "../schemas/validate.ts";
import { eventId, SessionStream } from "../session-stream.ts";
import { memoryStreamQuota, databaseStreamQuota, type StreamQuota, unlimitedStreams } from "../stream-quota.ts";

const HEAD = {
  "content-type": "text/event-stream; charset=utf-8",
  // nginx holds answers back otherwise.
  "x-accel-buffering": "no",
};

/** A stream whose client is gone counts no longer than that. */
const FREED_SECONDS = 5;

/** GET /v1/sessions/{session_id}/stream. */
export function registerStream(app: FastifyInstance, deps: ApiDeps): void {
  const { database, sessions, projects, clock } = deps;
  const watchKey = watchKeys(clock, (digests) => projects.invalidKeys(database.db, digests, "sessions:read"));
  const open = new Set<SessionStream>();
  const quota = quotaFor(deps);
  app.addHook("onClose", () => quota.stop());
  let closing = false;
  app.addHook("preClose", async () => {
    closing = true;
    for (const stream of open) stream.shutDown();
  });

  app.get("/v1/sessions/:session_id/stream", { config: { access: "sessions:read" } }, async (request, reply) => {
    const { session_id: id } = parse(sessionPath, request.params, "path");
    const { organizationId, mode: environment, keyId, digest } = request.identity;
    const read = () => sessions.find(database.db, id, { organizationId, environment });
    const session = await read();
    if (!session) throw new AppError("session_not_found");
    if (isTerminal(session.status) && request.headers["last-event-id"] === eventId(session)) return reply.code(204).send();

    // What ends at once takes no place: its release, which another process must see, would come after the reader's next request.
    const release = isTerminal(session.status) ? () => {} : await quota.take({ sessionId: id, keyId });
    if (!release) {
      reply.header("retry-after", FREED_SECONDS);
      throw new AppError("rate_limited", "Too many open streams");
    }
    if (reply.raw.destroyed) {
      release();
      return reply;
    }
    reply.hijack();
    reply.raw.writeHead(200, { ...reply.getHeaders(), ...HEAD } as OutgoingHttpHeaders);
    const stream = new SessionStream(reply.raw, read, clock, () => {
      open.delete(stream);
      unwatch();
      unwatchProgress();
      unwatchKey();
      release();
    });
    const unwatchKey = watchKey(digest, () => stream.shutDown());
    open.add(stream);
    stream.show(session);
    // What changed between the first read and here is seen by one more read.
    const unwatch = sessions.watch(id, () => stream.changed());
    const unwatchProgress = sessions.watchProgress(id, (progress) => stream.progress(progress));
    const progress = sessions.progressOf(id);
    if (progress) stream.progress(progress);
    if (closing) stream.shutDown();
    else stream.changed();
    return reply;
  });
}

function quotaFor({ settings, database, owner, clock, random }: ApiDeps): StreamQuota {
  if (settings.rateLimitPerMinute === 0) return unlimitedStreams;
  return database.kind === "pglite" || owner === undefined ? memoryStreamQuota() : databaseStreamQuota(database, owner, clock, random);
}
