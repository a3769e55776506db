import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from "node:worker_threads";
import type { Acceptor } from "./acceptor.ts";
import type { Decoders, Scored } from "./decoder.ts";
import { type TaskCount, newTaskCount, waitForTasks } from "./task-count.ts";

/** What a listener's second thread decodes. */
export interface AsideTask {
  kind: "batch" | "scoring";
  /** Which grammar it is: sent whole once, or twice, and kept from the second time on. Most are used once. */
  id: number;
  grammar: Acceptor | null;
  isKept: boolean;
  samples: Float32Array<ArrayBuffer>;
}

export interface AsideData {
  port: MessagePort;
  /** How many decodings are done. */
  done: TaskCount;
}

/** No decoding takes as long. */
const LONGEST_MS = 30_000;

/**
 * Starts the second thread of one call's recogniser, which decodes beside the first: the caller waits for the longer of two opinions, not for
 * both. It ends with the thread that started it.
 */
export async function startAside(): Promise<{ aside: Decoders["aside"]; stop(): Promise<unknown> }> {
  const done = newTaskCount();
  const { port1: port, port2 } = new MessageChannel();
  const workerData: AsideData = { port: port2, done };
  const worker = new Worker(new URL("aside-worker.ts", import.meta.url), { workerData, transferList: [port2], stdout: true, stderr: true });
  await once(worker, "message");
  const uses = new WeakMap<Acceptor, { id: number; count: number }>();
  let begun = 0;
  let received = 0;

  const aside: Decoders["aside"] = (kind, grammar, samples) => {
    const use = uses.get(grammar) ?? { id: begun, count: 0 };
    uses.set(grammar, use);
    use.count++;
    const copy = Float32Array.from(samples);
    const task: AsideTask = { kind, id: use.id, grammar: use.count > 2 ? null : grammar, isKept: use.count === 2, samples: copy };
    port.postMessage(task, [copy.buffer]);
    const number = ++begun;
    return () => {
      if (number <= received) throw new Error("a later outcome was waited for");
      if (!waitForTasks(done, number, LONGEST_MS)) throw new Error("a decoding did not end");
      // Outcomes come in their order; those before it were not waited for.
      let outcome: Scored | null = null;
      for (; received < number; received++) outcome = receiveMessageOnPort(port)?.message as Scored | null;
      return outcome;
    };
  };
  return { aside, stop: () => worker.terminate() };
}
