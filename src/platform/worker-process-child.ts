import { inspect } from "node:util";
import { Worker } from "node:worker_threads";
import type { FromWorkerProcess, WorkerStart } from "./worker-process.ts";

/**
 * The process of `worker-process.ts`. The work is done in a thread, so that this one sees at once that the process it works for has gone.
 */

// A supervisor may signal every process of the service. When this one ends is the service's to say.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const tell = (answer: FromWorkerProcess) => process.send?.(answer);

process.once("message", ({ file, workerData }: WorkerStart) => {
  const worker = new Worker(new URL(file), { workerData });
  worker.on("message", (message) => tell({ message }));
  worker.on("error", (error) => tell({ error: error instanceof Error ? String(error) : inspect(error) }));
  worker.on("exit", (code) => {
    process.exitCode = code;
    process.disconnect?.();
  });
  process.on("message", (message) => worker.postMessage(message));
});
