import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Db, Log } from "#src/platform/index.ts";
export { countNumberCallbacks } from "./listing.ts";
import { listSessions, type SessionFilter } from "./listing.ts";
import {
  type Created,
  findWaitingByCallers,
  findSession,
  findSessionByCaller,
  insertSessions,
  type NewSession,
  updateTransferStatus,
  type WaitingSession,
} from "./repository.ts";
import {
  createIdempotent,
  findNewestResponse,
  findStoredResponse,
  deleteExpiredResponses,
  type StoredResponse,
  type CreatedFields,
  type IdempotentRequest,
  type RequestName,
} from "./idempotent-creation.ts";
import type { Session } from "./session.ts";
import type { Phase, SessionEvent, Status } from "./states.ts";
import { type OwnCalls, startSweeper } from "./sweeper.ts";
import { type OnFinal, type Scope, type SessionChanges, transition } from "./transition.ts";
import { Watchers } from "./watchers.ts";

export { deleteSessions, eraseCallers, erasedAt, lockCompleted, lockToErase } from "./retention.ts";
export { renderStates } from "./render-states.ts";
export { isTerminal, type SessionEvent, type Status, STATUSES } from "./states.ts";
export type {
  Created,
  StoredResponse,
  CreatedFields,
  NewSession,
  IdempotentRequest,
  RequestName,
  Scope,
  Session,
  SessionChanges,
  SessionFilter,
};

/** What a call that asks for a session is told. */
export type Claim =
  | { kind: "claimed"; session: Session }
  | { kind: "missing" }
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
  /** The newest of the responses of the last 24 hours under one path. */
  findNewestResponse(db: Db, name: Omit<RequestName, "key">): Promise<StoredResponse | null>;
  /** Deletes the responses that are older. */
  deleteExpiredResponses(): Promise<void>;
  /** Reads apply the clock: an unused session past its time is expired, whether or not it has been swept. */
  find(db: Db, id: string, scope?: Scope): Promise<Session | null>;
  /** The caller's newest open session, else the one completed last. */
  findByCaller(db: Db, scope: Scope, caller: string, projectId?: string): Promise<Session | null>;
  /** The newest sessions of all organisations, for the operator. */
  list(db: Db, filter: SessionFilter): Promise<Session[]>;
  /** Voice sessions waiting for a call from one of these numbers, the best of each organisation and number. */
  waitingByCallers(db: Db, callers: readonly string[], projectId: string | null): Promise<WaitingSession[]>;
  /** Takes the session for one call: of many that ask at once, exactly one gets it. */
  claim(id: string, by: { owner: string; callId: string }): Promise<Claim>;
  /** */
  cancel(id: string, scope: Scope, actor?: string, source?: string | null): Promise<Cancellation>;
  /** One event of the state table inside a transaction of the caller's. Null: not allowed from where the session is. */
  transition(tx: Db, id: string, event: SessionEvent, changes?: SessionChanges): Promise<Session | null>;
  /** `transition` in a transaction of its own. */
  apply(id: string, event: SessionEvent, changes?: SessionChanges): Promise<Session | null>;
  setTransferStatus(id: string, status: string): Promise<void>;
  /** Calls `onChange` after each committed change, in whichever process it was made. The returned function ends it. */
  watch(id: string, onChange: () => void): () => void;
  /**
   * Starts the listener for `watch` and the sweeper. `giveUp` ends a session whose voice process died while collecting, or
   * whose call is no longer among `own`; when left out it becomes abandoned.
   */
  start(options?: { giveUp?: (session: Session) => Promise<unknown>; own?: OwnCalls }): Promise<void>;
  stop(): Promise<void>;
}

export interface SessionsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  log: Log;
  /** Runs in the transaction that makes a session final, once for each session: the outbox of the webhook. */
  onFinal: OnFinal;
}

export function createSessions({ database, clock, random, log, onFinal }: SessionsDeps): Sessions {
  const insertBatched = database.batched(insertSessions);
  const createIdempotentBatched = database.batched(createIdempotent);
  const watchers = new Watchers();
  let stopListening = async () => {};
  let stopSweeping = async () => {};

  const apply: Sessions["apply"] = (id, event, changes) => database.transaction((tx) => transition(tx, onFinal, id, event, changes));

  return {
    create: async (db, input) => {
      const session = { id: random.uuid(), ...input };
      return db.isTransaction ? (await insertSessions(db, [session]))[0]! : insertBatched(session);
    },
    createIdempotent: (input, request) => createIdempotentBatched({ ...request, session: { id: random.uuid(), ...input } }),
    findStoredResponse,
    findNewestResponse,
    deleteExpiredResponses: () => deleteExpiredResponses(database),
    find: findSession,
    findByCaller: findSessionByCaller,
    list: listSessions,
    waitingByCallers: findWaitingByCallers,
    transition: (tx, id, event, changes) => transition(tx, onFinal, id, event, changes),
    apply,

    async claim(id, { owner, callId }) {
      for (;;) {
        const claimed = await apply(id, "claim", { claimedBy: owner, callId });
        if (claimed) return { kind: "claimed", session: claimed };
        const session = await findSession(database.db, id);
        if (!session) return { kind: "missing" };
        if (session.status === "COLLECTING") return { kind: "busy" };
        // PENDING: the call that had it gave it back in between.
        if (session.status !== "PENDING") return { kind: "gone", status: session.status };
      }
    },

    async cancel(id, scope, actor, source = null) {
      const changes = { ...(actor !== undefined && { actor }), ...(source !== null && { source }) };
      for (;;) {
        const cancelled = await database.transaction((tx) => transition(tx, onFinal, id, "cancel", changes, scope));
        if (cancelled) return { kind: "cancelled", session: cancelled };
        const session = await findSession(database.db, id, scope);
        if (!session) return { kind: "missing" };
        // PENDING or collecting: it came back from a call or from the gateway in between.
        if (session.status !== "PENDING" && session.phase !== "collecting") {
          return { kind: "refused", status: session.status, phase: session.phase };
        }
      }
    },

    setTransferStatus: (id, status) => database.transaction((tx) => updateTransferStatus(tx, id, status)),
    watch: (id, onChange) => watchers.watch(id, onChange),

    async start({ giveUp = (session: Session) => apply(session.id, "abandon"), own } = {}) {
      stopListening = await watchers.listen(database);
      stopSweeping = startSweeper({ database, clock, log, giveUp, expire: (id) => apply(id, "expire"), ...(own && { own }) });
    },
    async stop() {
      await stopSweeping();
      await stopListening();
    },
  };
}
