import { constants } from "node:os";
import { Worker } from "node:worker_threads";
import { type AnyWorker, WorkerProcess } from "#src/platform/index.ts";
import type { FliteVoice } from "./flite.ts";

export interface RenderersOptions {
  voice: FliteVoice;
  isAnnouncer: boolean;
  /** At the most. */
  threads: number;
  /** In processes that give way to all others and end once nothing has come for a second: for what nobody waits for. */
  isLow?: boolean;
}

const LINGER_MS = 1000;
const WORKER = new URL("./synthesiser-worker.ts", import.meta.url);

interface Job {
  /** A text, or a WAV file to be converted. */
  what: string | Uint8Array;
  resolve(ulaw: Uint8Array): void;
  reject(error: Error): void;
}

export type RenderAnswer = { ulaw: Uint8Array<ArrayBuffer> } | { error: string };

/** A few synthesiser threads, or processes, and the texts waiting for them, first come first served. */
export class Renderers {
  readonly #options: RenderersOptions;
  readonly #waiting: Job[] = [];
  /** Each thread and what it is speaking. */
  readonly #threads = new Map<AnyWorker, Job | null>();
  #isStopped = false;

  constructor(options: RenderersOptions) {
    this.#options = options;
  }

  render(what: Job["what"]): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) {
        reject(new Error("the voice is stopped"));
        return;
      }
      this.#waiting.push({ what, resolve, reject });
      this.#next();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const job of this.#waiting.splice(0)) job.reject(new Error("the voice is stopped"));
    await Promise.all([...this.#threads.keys()].map((worker) => worker.terminate()));
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#isStopped) return;
    const worker = this.#idleOrHired();
    const job = worker && this.#waiting.shift();
    if (!worker || !job) return;
    this.#threads.set(worker, job);
    worker.ref();
    worker.postMessage(job.what);
  }

  /** Null when all are speaking. A system that has no room for another refuses the next text. */
  #idleOrHired(): AnyWorker | null {
    const idle = [...this.#threads].find(([, job]) => job === null)?.[0];
    if (idle) return idle;
    if (this.#threads.size >= this.#options.threads) return null;
    try {
      return this.#hire();
    } catch (error) {
      this.#waiting.shift()?.reject(error as Error);
      return null;
    }
  }

  #endUnlessUsed(worker: AnyWorker): void {
    const timer = setTimeout(() => {
      if (this.#threads.get(worker) !== null) return;
      // Nothing is given to it while it ends.
      this.#threads.delete(worker);
      void worker.terminate();
    }, LINGER_MS);
    timer.unref();
  }

  #hire(): AnyWorker {
    const workerData = this.#options;
    const worker: AnyWorker = workerData.isLow
      ? new WorkerProcess(WORKER, { workerData, priority: constants.priority.PRIORITY_LOW })
      : new Worker(WORKER, { workerData });
    worker.on("message", (answer: RenderAnswer) => {
      const job = this.#threads.get(worker);
      this.#threads.set(worker, null);
      // An idle voice keeps no process alive.
      worker.unref();
      if ("ulaw" in answer) job?.resolve(answer.ulaw);
      else job?.reject(new Error(answer.error));
      this.#next();
      if (this.#options.isLow && this.#threads.get(worker) === null) this.#endUnlessUsed(worker);
    });
    const onGone = (reason: string) => {
      const job = this.#threads.get(worker);
      this.#threads.delete(worker);
      job?.reject(new Error(reason));
      this.#next();
    };
    worker.on("error", (error) => onGone(String(error)));
    worker.once("exit", () => onGone("the synthesiser ended"));
    return worker;
  }
}
