import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { PreparedStatements } from "./pglite-prepared.ts";

/**
 * The thread PGlite lives in. It blocks its thread while a query runs and its promises starve timers, so it must not
 * share one with HTTP or SIP. Answers each request of `pglite-thread.ts` in the order of arrival.
 */

export interface WorkerOptions {
  /** null: in memory. */
  folder: string | null;
  /** A tar of a data folder to start from; in memory only. */
  snapshot: Uint8Array<ArrayBuffer> | null;
  /** PGlite's program as compiled already, half of what opening costs; null: compiled here. */
  program: WebAssembly.Module | null;
}

export type Request =
  | { kind: "query"; name: string | undefined; sql: string; parameters: readonly unknown[] }
  | { kind: "exec"; sql: string }
  | { kind: "listen" | "unlisten"; channel: string }
  | { kind: "close" };

export interface QueryResult<Row = Record<string, unknown>> {
  rows: Row[];
  affectedRows?: number;
  /** The command tag's word: COMMIT, or ROLLBACK where a commit was asked for in vain. */
  command?: string;
}

/** What is passed on of a database error: nothing that could quote a parameter. */
export interface WireError {
  message: string;
  code: string | null;
}

export type Answer =
  | { kind: "ready" }
  | { kind: "done"; id: number; value: unknown }
  | { kind: "failed"; id: number; error: WireError }
  | { kind: "notification"; channel: string; payload: string };

/** PGlite reads texts with decoders that drop a byte order mark at the beginning; what was stored comes back as it was. */
globalThis.TextDecoder = class extends TextDecoder {
  constructor(...[label, options]: ConstructorParameters<typeof TextDecoder>) {
    super(label, { ignoreBOM: true, ...options });
  }
};

const port = parentPort;
if (!port) throw new Error("pglite-worker.ts runs as a worker thread only");
const reply = (answer: Answer) => port.postMessage(answer);

const { folder, snapshot, program } = workerData as WorkerOptions;
const lite = new PGlite({
  ...(folder === null ? {} : { dataDir: folder }),
  // A Blob that is asked for all of its bytes copies them in pieces, twice.
  ...(snapshot === null ? {} : { loadDataDir: Object.assign(new Blob(), { arrayBuffer: () => Promise.resolve(snapshot.buffer) }) }),
  ...(program === null ? {} : { pgliteWasmModule: program }),
  // The default of 128 MB doubles the memory of the process.
  startParams: [...PGlite.defaultStartParams, "-c", "shared_buffers=16MB"],
});
lite.onNotification((channel, payload) => reply({ kind: "notification", channel, payload }));
await lite.waitReady;
const statements = new PreparedStatements(lite);

// oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive
async function run(request: Request): Promise<unknown> {
  switch (request.kind) {
    case "query": {
      const { name, sql, parameters } = request;
      const { rows, affectedRows, command } = await (name === undefined
        ? lite.query<Record<string, unknown>>(sql, [...parameters])
        : statements.query(name, sql, parameters));
      return { rows, affectedRows, command };
    }
    case "exec":
      return (await lite.exec(request.sql)).map(({ rows, affectedRows, command }) => ({ rows, affectedRows, command }));
    case "listen":
    case "unlisten":
      return lite.exec(`${request.kind} "${request.channel}"`).then(() => null);
    case "close":
      return lite.close().then(() => null);
  }
}

port.on("message", ({ id, request }: { id: number; request: Request }) => {
  run(request).then(
    (value) => {
      reply({ kind: "done", id, value });
      if (request.kind === "close") port.close();
    },
    (error: Error & { code?: string }) => reply({ kind: "failed", id, error: { message: error.message, code: error.code ?? null } }),
  );
});
reply({ kind: "ready" });
