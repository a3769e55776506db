import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from "node:worker_threads";
import { type TaskCount, newTaskCount, waitForTasks } from "./task-count.ts";

/** Which answer it is: a card's number has fifteen digits behind 34 and 37, else sixteen; other digits have one of `lengths`. */
export type AnswerRule = { what: "card" } | { what: "date" } | { what: "digits"; lengths: readonly number[] };

/** A text of an answer, and how likely the second recogniser holds it for: natural logarithm of the probability, among the words of answers. */
export interface Weighed {
  words: string[];
  likelihood: number;
}

/** What a call's recogniser asks the second one. Synchronous: it belongs in a worker. */
export interface Verifying {
  /** Begins to hear an utterance, beside whatever the caller of this does next. */
  hear(samples: Float32Array): void;
  /** Begins to weigh a text; what it returns waits for the outcome, in the order of the tasks: null when the second recogniser is not there. */
  weigh(task: WeighingTask): () => Weighed[] | null;
}

/** One call's way to the thread of the second recogniser. */
export interface VerifierConnection {
  port: MessagePort;
  /** How many verifications are done; `LOADING`: none can be yet; `ENDED`: the thread is gone. */
  done: TaskCount;
}

/** What the worker of a call's embedded recogniser has of the main thread besides. */
export interface EmbeddedListenerData {
  verifier: VerifierConnection | null;
}

/** The thread can serve this connection. */
export const opened = ({ done }: VerifierConnection): void => void Atomics.compareExchange(done, 0, LOADING, 0);

/** A text to be weighed, with what the second recogniser hears itself from the first misheard word on, and what sounds like these. */
export interface WeighingTask {
  words: readonly string[];
  rule: AnswerRule;
}

export type VerifierTask = { samples: Float32Array<ArrayBuffer> } | WeighingTask;

const ENDED = -1;
const LOADING = -2;
/** Longer than calls that wait for each other take; a caller should not hear nothing for longer. */
const LONGEST_MS = 3_000;

export function verifyingBy({ port, done }: VerifierConnection): Verifying {
  let asked = 0;
  let received = 0;
  let isHeard = false;
  const tell = (task: VerifierTask) => port.postMessage(task, "samples" in task ? [task.samples.buffer] : []);
  return {
    hear(samples) {
      isHeard = Atomics.load(done, 0) >= 0;
      if (isHeard) tell({ samples: Float32Array.from(samples) });
    },
    weigh(task) {
      if (!isHeard) return () => null;
      tell(task);
      const number = ++asked;
      return () => {
        if (!waitForTasks(done, number, LONGEST_MS)) return null;
        // Those that were not waited for come first.
        let outcome: Weighed[] | null = null;
        for (; received < number; received++) outcome = receiveMessageOnPort(port)?.message as Weighed[] | null;
        return outcome;
      };
    },
  };
}

export interface VerifierThread {
  /** A connection for one more call, to be handed to its recogniser's thread. */
  connect(): VerifierConnection;
  /** The call is over. */
  disconnect(connection: VerifierConnection): void;
  /** Starts it, unless it runs; resolves once it can serve, or has ended. */
  start(): Promise<unknown>;
  /** It was stopped, or failed. */
  readonly isOver: boolean;
  stop(): Promise<unknown>;
}

const hand = (worker: Worker, connection: VerifierConnection) => worker.postMessage(connection, [connection.port]);

/**
 * The thread of the second recogniser, which all calls share: its model takes more memory than a call may. It starts when a caller begins to
 * speak, and has loaded its model by the time that most have read a card's number; until then calls go on without it.
 */
export function createVerifier(): VerifierThread {
  const connections = new Set<VerifierConnection["done"]>();
  /** The ends that the thread will have, by the counts of their connections. */
  const waiting = new Map<VerifierConnection["done"], MessagePort>();
  let worker: Worker | null = null;
  let isOver = false;
  let ready: Promise<unknown> = Promise.resolve();
  const end = (done: VerifierConnection["done"]) => {
    Atomics.store(done, 0, ENDED);
    Atomics.notify(done, 0);
  };
  return {
    connect() {
      const { port1: port, port2 } = new MessageChannel();
      const done = newTaskCount();
      Atomics.store(done, 0, LOADING);
      connections.add(done);
      if (isOver) end(done);
      else if (worker) hand(worker, { port: port2, done });
      else waiting.set(done, port2);
      return { port, done };
    },
    disconnect({ done }) {
      connections.delete(done);
      waiting.delete(done);
    },
    start() {
      if (worker || isOver) return ready;
      worker = new Worker(new URL("verifier-worker.ts", import.meta.url), { stdout: true, stderr: true });
      // What went wrong is not passed on: an error's text could hold what was spoken. Calls go on without a second opinion.
      worker.on("error", () => {});
      worker.once("exit", () => {
        isOver = true;
        for (const done of connections) end(done);
      });
      for (const [done, port] of waiting) hand(worker, { port, done });
      waiting.clear();
      ready = Promise.race([once(worker, "message"), once(worker, "exit")]).catch(() => null);
      return ready;
    },
    get isOver() {
      return isOver;
    },
    async stop() {
      isOver = true;
      waiting.clear();
      await worker?.terminate();
    },
  };
}
