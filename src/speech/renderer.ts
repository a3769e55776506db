import { constants } from "node:os";
import { Worker } from "node:worker_threads";
import { type AnyWorker, WorkerProcess } from "#src/platform/index.ts";
import type { FliteVoice } from "./flite.ts";

export interface RendererOptions {
  voice: FliteVoice;
  isAnnouncer: boolean;
  /** In a process that gives way to all others and ends once nothing has come for a second: for what nobody waits for. */
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

/** A synthesiser thread, or process, started by the first text, and the texts waiting for it, first come first served. */
export class Renderer {
  readonly #options: RendererOptions;
  readonly #waiting: Job[] = [];
  #worker: AnyWorker | null = null;
  /** What the worker speaks. */
  #current: Job | null = null;
  #isStopped = false;

  constructor(options: RendererOptions) {
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
    await this.#worker?.terminate();
  }

  /** A system that has no room for a worker refuses the text. */
  #next(): void {
    if (this.#current || this.#isStopped) return;
    const job = this.#waiting.shift();
    if (!job) return;
    try {
      this.#worker ??= this.#start();
    } catch (error) {
      job.reject(error as Error);
      return this.#next();
    }
    this.#current = job;
    this.#worker.ref();
    this.#worker.postMessage(job.what);
  }

  #start(): AnyWorker {
    const workerData = this.#options;
    const worker: AnyWorker = workerData.isLow
      ? new WorkerProcess(WORKER, { workerData, priority: constants.priority.PRIORITY_LOW })
      : new Worker(WORKER, { workerData });
    worker.on("message", (answer: RenderAnswer) => {
      const job = this.#current;
      this.#current = null;
      // An idle voice keeps no process alive.
      worker.unref();
      if ("ulaw" in answer) job?.resolve(answer.ulaw);
      else job?.reject(new Error(answer.error));
      this.#next();
      if (workerData.isLow && !this.#current) this.#endUnlessUsed(worker);
    });
    const onGone = (reason: string) => {
      if (this.#worker !== worker) return;
      const job = this.#current;
      this.#worker = this.#current = null;
      job?.reject(new Error(reason));
      this.#next();
    };
    worker.on("error", (error) => onGone(String(error)));
    worker.once("exit", () => onGone("the synthesiser ended"));
    return worker;
  }

  #endUnlessUsed(worker: AnyWorker): void {
    const timer = setTimeout(() => {
      if (this.#worker !== worker || this.#current) return;
      // Nothing is given to it while it ends.
      this.#worker = null;
      void worker.terminate();
    }, LINGER_MS);
    timer.unref();
  }
}
