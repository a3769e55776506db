import { Worker } from "node:worker_threads";
import type { FliteVoice } from "./flite.ts";

/** Two threads: rendering all prompts the first time takes seconds, and calls may already be coming in. */
const THREADS = 2;

interface Job {
  text: string;
  resolve(ulaw: Uint8Array): void;
  reject(error: Error): void;
}

export type RenderAnswer = { ulaw: Uint8Array<ArrayBuffer> } | { error: string };

/** A few synthesiser threads and the texts waiting for them, first come first served. */
export class Renderers {
  readonly #voice: FliteVoice;
  readonly #waiting: Job[] = [];
  /** Each thread and what it is speaking. */
  readonly #threads = new Map<Worker, Job | null>();
  #isStopped = false;

  constructor(voice: FliteVoice) {
    this.#voice = voice;
  }

  render(text: string): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) {
        reject(new Error("the voice is stopped"));
        return;
      }
      this.#waiting.push({ text, resolve, reject });
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
    const idle = [...this.#threads].find(([, job]) => job === null)?.[0];
    const worker = idle ?? (this.#threads.size < THREADS ? this.#hire() : null);
    const job = worker && this.#waiting.shift();
    if (!worker || !job) return;
    this.#threads.set(worker, job);
    worker.ref();
    worker.postMessage(job.text);
  }

  #hire(): Worker {
    const worker = new Worker(new URL("./synthesiser-worker.ts", import.meta.url), { workerData: { voice: this.#voice } });
    worker.on("message", (answer: RenderAnswer) => {
      const job = this.#threads.get(worker);
      this.#threads.set(worker, null);
      // An idle voice keeps no process alive.
      worker.unref();
      if ("ulaw" in answer) job?.resolve(answer.ulaw);
      else job?.reject(new Error(answer.error));
      this.#next();
    });
    const onGone = (reason: string) => {
      const job = this.#threads.get(worker);
      this.#threads.delete(worker);
      job?.reject(new Error(reason));
      this.#next();
    };
    worker.on("error", (error) => onGone(String(error)));
    worker.once("exit", () => onGone("the synthesiser thread ended"));
    return worker;
  }
}
