import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";

/** What a worker thread and a worker process have in common: the events `message`, `error` and `exit`, and these. */
export interface AnyWorker extends EventEmitter {
  postMessage(value: unknown): void;
  terminate(): Promise<unknown>;
  /** Whether this process lives on for it. */
  ref(): void;
  unref(): void;
}

export interface WorkerProcessOptions {
  workerData: unknown;
  /** As `os.setPriority` has it. Default: this process's own. */
  priority?: number;
  /** Options of Node.js for it. This process's own are not passed on: one such as --inspect is for one process. */
  execArgv?: string[];
}

/** What a worker process is told first; all after it is for the worker. */
export interface WorkerStart {
  file: string;
  workerData: unknown;
}
export type FromWorkerProcess = { message: unknown } | { error: string };

const CHILD = fileURLToPath(new URL("./worker-process-child.ts", import.meta.url));

/**
 * A worker thread in a process of its own: for passing work, whose memory, WebAssembly's above all, would stay with this process. It ends
 * when this one has ended, by whatever cause; the other way round it is an event (decision 0017).
 */
export class WorkerProcess extends EventEmitter implements AnyWorker {
  readonly #child: ChildProcess;
  readonly #exited = Promise.withResolvers<void>();

  constructor(file: URL, { workerData, priority, execArgv = [] }: WorkerProcessOptions) {
    super();
    this.#child = fork(CHILD, [], {
      serialization: "advanced",
      // Ctrl-C is for this process, which ends the other when it is time.
      detached: true,
      // Garbage of 30 MB less at the same speed.
      execArgv: ["--max-semi-space-size=1", ...execArgv],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child.on("message", (answer: FromWorkerProcess) => {
      if ("error" in answer) this.emit("error", new Error(answer.error));
      else this.emit("message", answer.message);
    });
    this.#child.on("error", (error) => {
      this.emit("error", error);
      if (this.#child.pid === undefined) this.#exit(null);
    });
    this.#child.on("exit", (code) => this.#exit(code));
    if (priority !== undefined) this.#setPriority(priority);
    this.postMessage({ file: file.href, workerData } satisfies WorkerStart);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  postMessage(value: unknown): void {
    // One that cannot be reached has ended or could not be started (then there is no way to it), which is told by itself.
    this.#child.send?.(value as object, () => {});
  }

  async terminate(): Promise<void> {
    // Its end is waited for: of an idle one it would be the end of this process, in the middle of what follows.
    this.#child.ref();
    this.#child.kill("SIGKILL");
    await this.#exited.promise;
  }

  ref(): void {
    this.#child.ref();
    this.#child.channel?.ref();
  }

  unref(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #exit(code: number | null): void {
    this.emit("exit", code);
    this.#exited.resolve();
  }

  #setPriority(priority: number): void {
    const { pid } = this.#child;
    try {
      // On Linux it is that of the first thread, from which those to come inherit it.
      if (pid !== undefined) setPriority(pid, priority);
    } catch {
      // It has ended already, or works at ours.
    }
  }
}
