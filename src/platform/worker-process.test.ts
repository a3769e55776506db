import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, getPriority } from "node:os";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { WorkerProcess, type WorkerProcessOptions } from "./worker-process.ts";

/** What each says back: its data, and what it was told. */
const ECHO = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from "node:worker_threads";
    parentPort.on("message", (told) => {
      if (told === "fail") throw new Error("as it was told");
      if (told === "end") process.exit(7);
      parentPort.postMessage({ workerData, told });
    });
  `)}`,
);

function echo(context: TestContext, options: Partial<WorkerProcessOptions> = {}): WorkerProcess {
  const worker = new WorkerProcess(ECHO, { workerData: "data", ...options });
  context.after(() => worker.terminate());
  return worker;
}

/** What it says back, by which it is known to run. */
async function told(worker: WorkerProcess, what: unknown): Promise<unknown> {
  const answered = once(worker, "message");
  worker.postMessage(what);
  return (await answered)[0];
}

test("it is a worker in another process, at the priority that it is given, and ends when it is told to", async (context) => {
  const worker = echo(context, { priority: constants.priority.PRIORITY_LOW });
  assert.deepEqual(await told(worker, new Uint8Array([1, 2])), { workerData: "data", told: new Uint8Array([1, 2]) });
  assert.equal(getPriority(worker.pid), constants.priority.PRIORITY_LOW);
  const ended = once(worker, "exit");
  await worker.terminate();
  await ended;
  await worker.terminate();
});

test("its faults and its status are told, and end nothing else", async (context) => {
  const [failing, ending] = [echo(context), echo(context)];
  const fault = new Promise((resolve) => failing.once("error", resolve));
  const exits = [failing, ending].map((worker) => new Promise((resolve) => worker.once("exit", resolve)));
  failing.postMessage("fail");
  ending.postMessage("end");
  assert.match(String(await fault), /as it was told/);
  assert.deepEqual(await Promise.all(exits), [1, 7]);
  ending.postMessage("is gone");
});

test("one that cannot be started is a fault and an end", async (context) => {
  const { execPath } = process;
  process.execPath = "/nowhere/node";
  const worker = echo(context);
  process.execPath = execPath;
  const fault = new Promise((resolve) => worker.once("error", resolve));
  const exit = new Promise((resolve) => worker.once("exit", resolve));
  assert.match(String(await fault), /ENOENT/);
  assert.equal(await exit, null);
});

test("signals that a supervisor sends to every process leave its end to the process that started it", async (context) => {
  const worker = echo(context);
  await told(worker, 1);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(worker.pid!, signal);
  assert.deepEqual(await told(worker, 2), { workerData: "data", told: 2 });
});

for (const when of ["at once", "at work"]) {
  test(`it ends with a process that is killed, ${when}`, async () => {
    const code = `import { WorkerProcess } from ${JSON.stringify(new URL("./worker-process.ts", import.meta.url).href)};
      // It is busy and does not look up.
      const busy = new URL("data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.postMessage(1); for (;;);");
      const worker = new WorkerProcess(busy, { workerData: null });
      ${when === "at once" ? "" : 'worker.on("message", () => '}console.log("now")${when === "at once" ? "" : ")"};
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], { stdio: ["ignore", "pipe", "pipe"] });
    parent.stderr.resume();
    // Both have the same stderr: it closes when both have ended.
    const ended = once(parent, "close");
    await once(createInterface({ input: parent.stdout }), "line");
    parent.kill("SIGKILL");
    await ended;
  });
}

test("a process with nothing else to do lives until an idle one has ended, and goes on after it", async () => {
  const code = `import { WorkerProcess } from ${JSON.stringify(new URL("./worker-process.ts", import.meta.url).href)};
    const echo = new URL("data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.on('message', (told) => parentPort.postMessage(told));");
    const worker = new WorkerProcess(echo, { workerData: null });
    worker.on("message", async () => {
      worker.unref();
      await worker.terminate();
      console.log("ended");
    });
    worker.postMessage(1);`;
  const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const said = await parent.stdout.setEncoding("utf8").toArray();
  assert.equal(said.join(""), "ended\n");
});
