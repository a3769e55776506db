import { WorkerProcess } from "../worker-process.ts";

/**
 * Makes a database in an empty folder, in a process of its own, for seconds: the 400 MB that it takes go back to the system. Rejects when
 * that process failed or was ended.
 */
export async function initdb(folder: string): Promise<void> {
  const worker = new WorkerProcess(new URL("./initdb-worker.ts", import.meta.url), {
    workerData: folder,
    // What runs once is not worth the optimising compiler's 100 MB and second.
    execArgv: ["--liftoff-only"],
  });
  await new Promise<void>((resolve, reject) => {
    worker.on("error", reject);
    worker.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`initdb ended with status ${code}`))));
  });
}
