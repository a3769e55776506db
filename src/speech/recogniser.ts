import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { ListenerData } from "./listening.ts";
import { type FromListener, type ListenTask, READY, type RecognitionResult, type ToListener } from "./recognition-result.ts";
import type { SpeechEngine } from "./streaming-recogniser.ts";
import { type EmbeddedListenerData, type VerifierConnection, type VerifierThread, createVerifier } from "./verifier-thread.ts";

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
  /**
   * A call has begun that may speak: fills the pool and resolves when it is filled. The pool is emptied again when neither this nor
   * `acquire` was called for a while.
   */
  expectSpeech(): Promise<void>;
  /** A worker for one call, started when none is ready; null when all that may run serve calls. */
  acquire(): Promise<Listener | null>;
  /** Names are understood, too. */
  readonly understandsNames: boolean;
  /** Workers ready for a caller who begins to speak, and workers in all. */
  readonly counts: { ready: number; running: number };
  /** Ends every worker, those of running calls too. */
  stop(): Promise<void>;
}

export interface RecogniserOptions {
  /** Default: the embedded one. */
  engine?: SpeechEngine;
  /** Workers kept ready for callers who begin to speak, while there are calls. */
  ready: number;
  /** Workers at once, those of calls and those kept ready. */
  max: number;
  /** A call was turned away: all `max` workers serve calls. */
  onBusy?: () => void;
  /** A worker ended by itself, or the recogniser behind it failed, for this reason. Its call, if it had one, is told by `onLost`. */
  onDied?: (fault: string | null) => void;
}

/** A speech worker and the port that its audio comes through. */
interface PooledWorker {
  worker: Worker;
  port: MessagePort;
}

/** What a worker is started with. */
type WorkerData = ListenerData<SpeechEngine> & EmbeddedListenerData;

/** The worker's file by the kind of its engine. */
const WORKERS: Readonly<Record<SpeechEngine["kind"], string>> = {
  embedded: "./listener-worker.ts",
  websocket: "./transcript-worker.ts",
  sherpa: "./transcript-worker.ts",
};

/** Starts a worker for one call. */
function startWorker(engine: SpeechEngine, verifier: VerifierConnection | null): PooledWorker {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL(WORKERS[engine.kind], import.meta.url), {
    workerData: { port: port2, engine, verifier } satisfies WorkerData,
    transferList: verifier ? [port2, verifier.port] : [port2],
    stdout: true,
    stderr: true,
  });
  // What went wrong is not passed on: an error's text could hold what was spoken. The exit that follows says enough.
  worker.on("error", () => {});
  return { worker, port: port1 };
}

/** Resolves when it can serve a call; with what is in the way, or that it ended. */
async function faultOf(worker: Worker): Promise<string | null> {
  const first = once(worker, "message").then(([message]: unknown[]) => (message === READY ? null : (message as { fault: string }).fault));
  return await Promise.race([first, once(worker, "exit").then(() => "the speech worker ended")]).catch(() => "the speech worker failed");
}

/** Tries the engine out without any audio: a server is asked, a model is loaded as a worker of the pool loads it. What is wrong; null when nothing. */
export async function tryEngine(engine: SpeechEngine): Promise<string | null> {
  if (engine.kind === "websocket") {
    const { createWebSocketRecogniser } = await import("./websocket-recogniser.ts");
    const answer = createWebSocketRecogniser(engine).begin().finish();
    return await answer.then(
      () => null,
      (error: Error) => error.message,
    );
  }
  const { worker } = startWorker(engine, null);
  const fault = await faultOf(worker);
  await worker.terminate();
  return fault;
}

/** A worker that waits holds some 120 MiB: none does when no call has begun for so long. */
const QUIET_MS = 300_000;

/** A pool of speech workers, some started ahead while there are calls: each serves one call, is ended with it and replaced. */
export function createRecogniser(options: RecogniserOptions): Recogniser {
  const { engine = { kind: "embedded" }, ready: kept, max, onBusy = () => {}, onDied = () => {} } = options;
  const ready: PooledWorker[] = [];
  const all = new Set<Worker>();
  /** Calls that wait for a worker that is being started. */
  const waiting: ((worker: PooledWorker | null) => void)[] = [];
  let starting = 0;
  let isStopped = false;
  /** Set while there are calls; until then no worker is kept ready. */
  let quiet: NodeJS.Timeout | null = null;

  /** The second recogniser of all calls, while there is a worker. */
  let verifier: VerifierThread | null = null;
  const connectToVerifier = (): VerifierConnection | null => {
    if (engine.kind !== "embedded") return null;
    if (!verifier || verifier.isOver) verifier = createVerifier();
    return verifier.connect();
  };

  const start = async (): Promise<void> => {
    const connection = connectToVerifier();
    const { worker, port } = startWorker(engine, connection);
    starting++;
    all.add(worker);
    worker.once("exit", () => {
      all.delete(worker);
      if (connection) verifier?.disconnect(connection);
      if (all.size === 0) endVerifier();
      const at = ready.findIndex((pooled) => pooled.worker === worker);
      if (at < 0) return;
      ready.splice(at, 1);
      onDied(null);
      void fill();
    });
    const fault = await faultOf(worker);
    starting--;
    if (fault !== null || isStopped) {
      void worker.terminate();
      return waiting.shift()?.(null);
    }
    const caller = waiting.shift();
    if (caller) caller({ worker, port });
    else ready.push({ worker, port });
  };

  const endVerifier = () => {
    void verifier?.stop();
    verifier = null;
  };

  /** Starts what is missing of those kept ready. */
  const fill = (): Promise<unknown> => {
    const started: Promise<void>[] = [];
    if (isStopped || !quiet) return Promise.resolve();
    while (ready.length + starting - waiting.length < kept && all.size < max) started.push(start());
    return Promise.all(started);
  };

  const expect = (): Promise<unknown> => {
    if (quiet) clearTimeout(quiet);
    quiet = setTimeout(() => {
      quiet = null;
      for (const { worker } of ready.splice(0)) void worker.terminate();
    }, QUIET_MS).unref();
    return fill();
  };

  const take = (): Promise<PooledWorker | null> => {
    const pooled = ready.shift() ?? null;
    if (pooled || isStopped) return Promise.resolve(pooled);
    if (starting <= waiting.length) {
      if (all.size >= max) return Promise.resolve(null);
      void start();
    }
    return new Promise((resolve) => waiting.push(resolve));
  };

  return {
    async expectSpeech() {
      await expect();
    },
    async acquire() {
      const taken = take();
      void expect();
      const pooled = await taken;
      if (!pooled && !isStopped) onBusy();
      return (
        pooled &&
        serve(pooled, { onDied: (fault) => isStopped || onDied(fault), onEnded: () => void fill(), onSpeech: () => void verifier?.start() })
      );
    },
    understandsNames: engine.kind !== "embedded",
    get counts() {
      return { ready: ready.length, running: all.size };
    },
    async stop() {
      isStopped = true;
      if (quiet) clearTimeout(quiet);
      ready.length = 0;
      for (const resolve of waiting.splice(0)) resolve(null);
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}

interface Endings {
  onDied: (fault: string | null) => void;
  onEnded: () => void;
  /** The caller begins to speak. */
  onSpeech: () => void;
}

/** Hands the worker to one call; `onEnded` once its worker is gone, after `onDied` when nobody has ended it. */
function serve({ worker, port }: PooledWorker, { onDied, onEnded, onSpeech }: Endings): Listener {
  let isStopped = false;
  let fault: string | null = null;
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
  worker.on("message", (message: FromListener) => {
    if ("speech" in message) onSpeech();
    else if ("fault" in message) {
      fault = message.fault;
      void worker.terminate();
    } else if (!isStopped) listener.onResult(message.result, message.task);
  });
  worker.once("exit", () => {
    if (!isStopped) onDied(fault);
    onEnded();
    if (!isStopped) listener.onLost();
  });
  return listener;
}
