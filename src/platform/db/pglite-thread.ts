import { Worker } from "node:worker_threads";
import type { DiskSpace } from "./disk-space.ts";
import { preparedName } from "./statement.ts";
import type { TransactionScope } from "./transaction-scope.ts";
import type { Answer, QueryResult, Request, WireError, WorkerOptions } from "./pglite-worker.ts";

/** A database error as it came over the port: `code` is the SQLSTATE, as in the errors of `pg`. */
class PGliteError extends Error {
  readonly code: string | undefined;

  constructor(error: WireError) {
    super(error.message);
    this.name = "PGliteError";
    this.code = error.code ?? undefined;
  }
}

/** The one session of the embedded database, held by whoever called `acquire`. */
export interface PGliteSession {
  query(sql: string, parameters?: readonly unknown[]): Promise<QueryResult>;
  /** Several statements at once, without parameters. */
  exec(sql: string): Promise<QueryResult[]>;
  release(): void;
}

type Pending = { resolve: (value: unknown) => void; reject: (error: Error) => void };

/**
 * PGlite in a worker thread behind a message port. There is one session: callers take turns at it, in the order in which
 * they came, and a transaction holds it to its end.
 */
export class PGliteThread {
  readonly #worker: Worker;
  readonly #scope: TransactionScope;
  readonly #space: DiskSpace;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Set<(payload: string) => void>>();
  readonly #waitReady: Promise<void>;
  #nextId = 1;
  /** Settles when the session is free. */
  #free: Promise<void> = Promise.resolve();
  #stopped: Error | null = null;

  constructor(options: WorkerOptions, scope: TransactionScope, space: DiskSpace) {
    this.#scope = scope;
    this.#space = space;
    this.#worker = new Worker(new URL("./pglite-worker.ts", import.meta.url), { workerData: options });
    this.#waitReady = new Promise((resolve, reject) => {
      this.#worker.on("message", (answer: Answer) => (answer.kind === "ready" ? resolve() : this.#receive(answer)));
      const stop = (error: Error) => {
        this.#stop(error);
        reject(error);
      };
      this.#worker.on("error", (error) => stop(error as Error));
      this.#worker.on("exit", () => stop(new Error("the embedded database has stopped")));
    });
  }

  /** Resolves when the database answers; rejects when it cannot start. */
  ready(): Promise<void> {
    return this.#waitReady;
  }

  /** Waits for the session. Throws inside a transaction, which already holds it. */
  async acquire(): Promise<PGliteSession> {
    this.#scope.assertOutside();
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    await before;
    return {
      query: (sql, parameters = []) => this.#send({ kind: "query", name: preparedName(sql), sql, parameters }) as Promise<QueryResult>,
      exec: (sql) => this.#send({ kind: "exec", sql }) as Promise<QueryResult[]>,
      release: resolve,
    };
  }

  async query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<QueryResult<Row>> {
    return this.#alone((session) => session.query(sql, parameters) as Promise<QueryResult<Row>>);
  }

  /** Calls `onPayload` for each notification on `channel`; the returned function ends it. */
  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    const handlers = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, handlers);
    handlers.add(onPayload);
    if (handlers.size === 1) await this.#alone(() => this.#send({ kind: "listen", channel }));
    return async () => {
      handlers.delete(onPayload);
      if (handlers.size > 0 || this.#stopped || this.#listeners.get(channel) !== handlers) return;
      this.#listeners.delete(channel);
      await this.#alone(() => this.#send({ kind: "unlisten", channel }));
    };
  }

  /** Waits for its turn, closes the database and ends the thread. */
  async close(): Promise<void> {
    if (this.#stopped) return;
    const exited = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    await this.#alone(() => this.#send({ kind: "close" }));
    await exited;
  }

  async #alone<T>(work: (session: PGliteSession) => Promise<T>): Promise<T> {
    const session = await this.acquire();
    try {
      return await work(session);
    } finally {
      session.release();
    }
  }

  #send(request: Request): Promise<unknown> {
    if (this.#stopped) return Promise.reject(this.#stopped);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, request });
    });
  }

  #receive(answer: Exclude<Answer, { kind: "ready" }>): void {
    if (answer.kind === "notification") {
      for (const handler of this.#listeners.get(answer.channel) ?? []) handler(answer.payload);
      return;
    }
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (answer.kind === "done") {
      pending?.resolve(answer.value);
      return;
    }
    const error = new PGliteError(answer.error);
    this.#space.onError(error);
    pending?.reject(error);
  }

  #stop(error: Error): void {
    this.#stopped ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#stopped);
    this.#pending.clear();
  }
}
