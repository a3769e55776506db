import { parentPort, workerData } from "node:worker_threads";
import type { Acceptor } from "./acceptor.ts";
import type { AsideData, AsideTask } from "./aside.ts";
import { loadWholeDecoders } from "./decoder.ts";
import { READY } from "./recognition-result.ts";
import { countTask } from "./task-count.ts";

/** The second thread of one call's embedded recogniser. */
const { port, done } = workerData as AsideData;
const decoders = await loadWholeDecoders();
const kept = new Map<number, Acceptor>();

port.on("message", ({ kind, id, grammar, isKept, samples }: AsideTask) => {
  if (grammar && isKept) kept.set(id, grammar);
  const known = kept.get(id) ?? grammar;
  if (!known) throw new Error("a grammar was not sent");
  port.postMessage(decoders.aside(kind, known, samples)());
  samples.fill(0);
  countTask(done);
});
parentPort?.postMessage(READY);
