import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import { type Database, type Db, isDatabaseUnavailable, type Log } from "#src/platform/index.ts";
export { countNumberCallbacks, listNumberCallbacks } from "./listing.ts";
import { findTriedByCaller, listSessions, type SessionFilter } from "./listing.ts";
import {
  type Created,
  findWaitingByCallers,
  insertSessions,
  type NewSession,
  rowsByCaller,
  rowsById,
  sessionOf,
  updateTransferStatus,
  type WaitingSession,
} from "./repository.ts";
import {
  createIdempotent,
  findResponses,
  findStoredResponse,
  deleteExpiredResponses,
  type StoredResponse,
  type IdempotentRequest,
  type RequestName,
  withTimes,
} from "./idempotent-creation.ts";
import { type Progress, ProgressBoard, type Step, STEPS } from "./progress.ts";
import { type Session, sessionFromJson } from "./session.ts";
import { findWaitingByCode } from "./short-code.ts";
import type { Phase, SessionEvent, Status } from "./states.ts";
import { type OwnCalls, startSweeper } from "./sweeper.ts";
import { type Along, move, type Moved, type Outbox, type Scope, type SessionChanges, transition } from "./transition.ts";
import { listenForChanges, Watchers } from "./watchers.ts";

export { deleteSessions, eraseCallers, erasedAt, lockCompleted, lockToErase } from "./retention.ts";
export { sessionFromJson };
export { shortCodeOf } from "./short-code.ts";
export { isTerminal, type SessionEvent, type Status, STATUSES } from "./states.ts";
export { STEPS };
export type {
  Outbox,
  Progress,
  Step,
  StoredResponse,
  NewSession,
  IdempotentRequest,
  RequestName,
  Scope,
  Session,
  SessionChanges,
  WaitingSession,
};
export { withTimes };

/** What a call that asks for a session is told. */
type Claim =
  /** `project`: the row of its project as JSON, for `Projects.fromJson`. */
  | { kind: "claimed"; session: Session; project: Readonly<Record<string, unknown>> }
  | { kind: "missing" }
  /** It is paid in a browser: no call can take it. */
  | { kind: "widget" }
  /** It is over: final, or past its time. */
  | { kind: "gone"; status: Status }
  /** Another call has it. */
  | { kind: "busy" };

export type Cancellation =
  | { kind: "cancelled"; session: Session }
  | { kind: "missing" }
  /** Phase charging or unknown: the gateway has been asked and the money may be taken. */
  | { kind: "refused"; status: Status; phase: Phase | null };

export interface Sessions {
  /**
   * Makes a PENDING session. Outside a transaction it resolves after the commit, which it may share with other sessions
   * asked for at the same moment.
   */
  create(db: Db, input: NewSession): Promise<Created>;
  /**
   * Creates a session and stores the response, or returns what is stored for the first request of that name; null while that one is
   * under way in another process. Session and response are one commit, which they may share with others. Outside transactions only.
   */
  createIdempotent(input: NewSession, request: IdempotentRequest): Promise<StoredResponse | null>;
  /** The response to a request in the last 24 hours. */
  findStoredResponse(db: Db, name: RequestName): Promise<StoredResponse | null>;
  /** The responses of the last 24 hours under one path, the newest first. */
  findResponses(db: Db, name: Omit<RequestName, "key">, limit: number): Promise<StoredResponse[]>;
  /** Deletes the responses that are older. */
  deleteExpiredResponses(): Promise<void>;
  /** Reads apply the clock: an unused session past its time is expired, whether or not it has been swept. */
  find(db: Db, id: string, scope?: Scope): Promise<Session | null>;
  /** The caller's newest open session, else the one completed last. */
  findByCaller(db: Db, scope: Scope, caller: string, projectId?: string): Promise<Session | null>;
  /** The caller's sessions whose payment has begun, and those that ended since then, the last first; 20 at most. */
  findTriedByCaller(db: Db, scope: Scope, caller: string, projectId: string, since: Date): Promise<Session[]>;
  /** The newest sessions of all organisations, for the operator. */
  list(db: Db, filter: SessionFilter): Promise<Session[]>;
  /** Voice sessions waiting for a call from one of these numbers, the best of each organisation and number. */
  waitingByCallers(db: Db, callers: readonly string[], projectId: string | null): Promise<WaitingSession[]>;
  /** Ids of the voice sessions of a project that wait for a call with this short code; two stand for several. */
  waitingByCode(db: Db, projectId: string, code: string): Promise<string[]>;
  /** Takes a voice session for one call: of many that ask at once, exactly one gets it. One statement; a refusal is explained by one more. */
  claim(id: string, by: { owner: string; callId: string }): Promise<Claim>;
  /** */
  cancel(id: string, scope: Scope, actor?: string, source?: string | null): Promise<Cancellation>;
  /**
   * One event of the state table, in one statement: a commit by itself, or inside a transaction of the caller's. Null: not allowed from
   * where the session is.
   */
  transition(db: Db, id: string, event: SessionEvent, changes?: SessionChanges): Promise<Session | null>;
  /** The same with more in that statement. Null only when nothing is selected `always`. */
  move<T>(db: Db, id: string, event: SessionEvent, changes: SessionChanges, along: Along): Promise<Moved<T> | null>;
  /** `transition` outside of transactions. */
  apply(id: string, event: SessionEvent, changes?: SessionChanges): Promise<Session | null>;
  setTransferStatus(id: string, status: string): Promise<void>;
  /** Calls `onChange` after each committed change, in whichever process it was made. The returned function ends it. */
  watch(id: string, onChange: () => void): () => void;
  /** Tells every process how far a call of this one has come with its card, null: it asks no more. Returns at once, never throws. */
  tellProgress(id: string, progress: Progress | null): void;
  /** How far its call has come, as far as it was told; null when there is none. */
  progressOf(id: string): Progress | null;
  /** The step that a session is at, null outside of COLLECTING. */
  stepOf(session: Session): Step | null;
  /** Calls `onProgress` with each new step and try, in whichever process the call is. The returned function ends it. */
  watchProgress(id: string, onProgress: (progress: Progress) => void): () => void;
  /**
   * Starts the listeners for `watch` and progress, and the sweeper. `giveUp` ends a session whose voice process died while collecting, or
   * whose call is no longer among `own`; when left out it becomes abandoned.
   */
  start(options?: { giveUp?: (session: Session) => Promise<unknown>; own?: OwnCalls }): Promise<void>;
  stop(): Promise<void>;
}

interface SessionsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  log: Log;
  /** Written with each final state, once for each session. Left out: nobody is told. */
  outbox?: Outbox;
}

/** Only a voice session, and with its project: all that a call must know to be answered. */
const FOR_A_CALL: Along = {
  when: sql<boolean>`sessions.channel = 'voice'`,
  select: sql`to_jsonb(projects) as project`,
};

export function createSessions({ database, clock, random, log, outbox: given }: SessionsDeps): Sessions {
  /** Alone in a transaction of the caller's, else together with what else is asked for at the same moment. */
  const batchedOrAlone = <T, R>(work: (db: Db, items: readonly T[]) => Promise<readonly R[]>) => {
    const batched = database.batched(work);
    return async (db: Db, item: T): Promise<R> => (db.isTransaction ? (await work(db, [item]))[0]! : await batched(item));
  };
  const insert = batchedOrAlone(insertSessions);
  const [rowById, rowByCaller] = [batchedOrAlone(rowsById), batchedOrAlone(rowsByCaller)];
  const createIdempotentBatched = database.batched(createIdempotent);
  const watchers = new Watchers();
  const board = new ProgressBoard({ database, clock, log });
  const outbox = given ?? null;
  let stopBoard = async () => {};
  let stopListening = async () => {};
  let stopSweeping = async () => {};

  const find: Sessions["find"] = async (db, id, scope) => await sessionOf(db, await rowById(db, { id, ...scope }));
  const apply: Sessions["apply"] = (id, event, changes) => transition(database.db, outbox, id, event, changes);

  return {
    create: (db, input) => insert(db, { id: random.uuid(), ...input }),
    createIdempotent: (input, request) => createIdempotentBatched({ ...request, session: { id: random.uuid(), ...input } }),
    findStoredResponse,
    findResponses,
    deleteExpiredResponses: () => deleteExpiredResponses(database),
    find,
    findByCaller: async (db, scope, caller, projectId) => await sessionOf(db, await rowByCaller(db, { caller, projectId, ...scope })),
    findTriedByCaller,
    list: listSessions,
    waitingByCallers: findWaitingByCallers,
    waitingByCode: findWaitingByCode,
    transition: (db, id, event, changes) => transition(db, outbox, id, event, changes),
    move: (db, id, event, changes, along) => move(db, outbox, id, event, changes, { along }),
    apply,

    async claim(id, { owner, callId }) {
      let isLost = false;
      for (;;) {
        const changes = { claimedBy: owner, callId };
        const claiming = move<{ project: Record<string, unknown> }>(database.db, outbox, id, "claim", changes, { along: FOR_A_CALL });
        const claimed = await claiming.catch((error: unknown) => {
          if (isLost || !isDatabaseUnavailable(error)) throw error;
          isLost = true;
          return null;
        });
        if (claimed?.session) return { kind: "claimed", session: claimed.session, project: claimed.selected.project };
        const session = await find(database.db, id);
        if (!session) return { kind: "missing" };
        if (session.channel === "widget") return { kind: "widget" };
        if (session.status === "COLLECTING") {
          // Taken by this very claim, whose answer was lost: it is given back and taken again.
          const isOurs = isLost && session.claimedBy === owner && session.callId === callId;
          if (!isOurs || !(await apply(id, "release"))) return { kind: "busy" };
        }
        // PENDING: the call that had it gave it back in between, or the claim never came to the database.
        else if (session.status !== "PENDING") return { kind: "gone", status: session.status };
      }
    },

    async cancel(id, scope, actor, source = null) {
      const changes = { ...(actor !== undefined && { actor }), ...(source !== null && { source }) };
      for (;;) {
        const cancelled = await transition(database.db, outbox, id, "cancel", changes, { scope });
        if (cancelled) return { kind: "cancelled", session: cancelled };
        const session = await find(database.db, id, scope);
        if (!session) return { kind: "missing" };
        // PENDING or collecting: it came back from a call or from the gateway in between.
        if (session.status !== "PENDING" && session.phase !== "collecting") {
          return { kind: "refused", status: session.status, phase: session.phase };
        }
      }
    },

    setTransferStatus: (id, status) => updateTransferStatus(database.db, id, status),
    watch: (id, onChange) => watchers.watch(id, onChange),
    tellProgress: (id, progress) => board.tell(id, progress),
    progressOf: (id) => board.of(id),
    stepOf: (session) => board.stepOf(session),
    watchProgress: (id, onProgress) => board.watch(id, onProgress),

    async start({ giveUp = (session: Session) => apply(session.id, "abandon"), own } = {}) {
      stopListening = await listenForChanges(database, watchers);
      stopBoard = await board.listen(database);
      stopSweeping = startSweeper({
        database,
        clock,
        log,
        giveUp,
        expire: (id) => apply(id, "expire"),
        release: (session) => apply(session.id, "release", { heldBy: session }),
        ...(own && { own }),
      });
    },
    async stop() {
      await stopSweeping();
      await stopBoard();
      await stopListening();
    },
  };
}
