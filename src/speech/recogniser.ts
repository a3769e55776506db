import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { FromListener, ListenTask, RecognitionResult, ToListener } from "./recognition-result.ts";

/** One call's recogniser. */
export interface Listener {
  /** Takes arrays of `AudioFrame`, the caller's audio in order; to be handed to whoever receives it. */
  readonly port: MessagePort;
  /** Recognises answers to this question from here on. Speech under way is kept when the question is the same. */
  listenFor(task: ListenTask): void;
  /** Recognises nothing until the next `listenFor`. */
  stopListening(): void;
  /** `task`: the id of the `listenFor` that the utterance answers. A result may still come after a later one. */
  onResult: (result: RecognitionResult, task: number) => void;
  /** The worker died: nothing will be heard any more. Not called after `stop`. */
  onLost: () => void;
  /** Ends the worker and with it all it heard. Safe to call again. */
  stop(): Promise<void>;
}

export interface Recogniser {
  /** Resolves when the pool is filled. */
  start(): Promise<void>;
  /** A worker for one call; null when none is free. */
  acquire(): Promise<Listener | null>;
  /** Ends every worker, those of running calls too. */
  stop(): Promise<void>;
}

export interface RecogniserOptions {
  /** Calls that can be listened to at once. */
  size: number;
}

/** A speech worker and the port that its audio comes through. */
interface PooledWorker {
  worker: Worker;
  port: MessagePort;
}

/** A pool of speech workers, started ahead: each serves one call, is ended with it and replaced. */
export function createRecogniser({ size }: RecogniserOptions): Recogniser {
  const ready: PooledWorker[] = [];
  const all = new Set<Worker>();
  let isStopped = false;

  const hire = async (): Promise<void> => {
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(new URL("./listener-worker.ts", import.meta.url), {
      workerData: { port: port2 },
      transferList: [port2],
      stdout: true,
      stderr: true,
    });
    all.add(worker);
    // What went wrong is not passed on: an error's text could hold what was spoken. The exit that follows says enough.
    worker.on("error", () => {});
    worker.once("exit", () => {
      all.delete(worker);
      const at = ready.findIndex((station) => station.worker === worker);
      if (at >= 0) ready.splice(at, 1);
    });
    await once(worker, "message");
    if (isStopped) return;
    ready.push({ worker, port: port1 });
  };
  const replace = () => {
    if (!isStopped) hire().catch(() => {});
  };

  return {
    async start() {
      await Promise.all(Array.from({ length: size }, hire));
    },
    acquire() {
      const station = ready.shift();
      return Promise.resolve(station ? serve(station, replace) : null);
    },
    async stop() {
      isStopped = true;
      ready.length = 0;
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}

/** Hands `station` to one call; `onEnded` once its worker is gone. */
function serve({ worker, port }: PooledWorker, onEnded: () => void): Listener {
  let isStopped = false;
  const tell = (message: ToListener) => worker.postMessage(message);
  const listener: Listener = {
    port,
    listenFor: (task) => tell({ listen: task }),
    stopListening: () => tell({ listen: null }),
    onResult() {},
    onLost() {},
    async stop() {
      isStopped = true;
      await worker.terminate();
    },
  };
  worker.on("message", ({ result, task }: FromListener) => {
    if (!isStopped) listener.onResult(result, task);
  });
  worker.once("exit", () => {
    onEnded();
    if (!isStopped) listener.onLost();
  });
  return listener;
}
