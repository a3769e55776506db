import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { READY } from "./recognition-result.ts";
import { countTask } from "./task-count.ts";
import { type Sound, Verifier, forget } from "./verification.ts";
import { type VerifierConnection, type VerifierTask, opened } from "./verifier-thread.ts";

/** The thread of the second recogniser: one task after the other, those of the shortest utterance first. */
const verifier = await Verifier.load();
// What runs for the first time is slower, which no caller should wait for.
await verifier.weigh(await verifier.hear(new Float32Array(SAMPLE_RATE_HZ)), { words: ["one", "two"], rule: { what: "card" } });

/** One call and what it waits for. */
class Call {
  readonly #connection: VerifierConnection;
  #sound: Sound | null = null;
  #tasks: VerifierTask[] = [];
  #isOver = false;
  /** Of the utterance heard last, in samples. */
  length = 0;

  constructor(connection: VerifierConnection) {
    this.#connection = connection;
  }

  get isWaiting(): boolean {
    return this.#tasks.length > 0;
  }

  /** Takes the tasks that came meanwhile. */
  receive(): void {
    const { port } = this.#connection;
    for (let sent = receiveMessageOnPort(port); sent; sent = receiveMessageOnPort(port)) this.take(sent.message as VerifierTask);
  }

  /** With another utterance nobody waits for what was asked about the one before: the caller spoke on. */
  take(task: VerifierTask): void {
    if ("samples" in task) {
      this.#dropTasks();
      this.length = task.samples.length;
    }
    this.#tasks.push(task);
  }

  async handleNext(): Promise<void> {
    const task = this.#tasks.shift();
    if (!task) return;
    if ("samples" in task) {
      this.#forget();
      this.#sound = await verifier.hear(task.samples);
      task.samples.fill(0);
    } else this.#answer(this.#sound && (await verifier.weigh(this.#sound, task)));
    // It may have ended meanwhile.
    if (this.#isOver) this.#forget();
  }

  end(): void {
    this.#isOver = true;
    this.#dropTasks();
    this.#forget();
  }

  #dropTasks(): void {
    for (const task of this.#tasks.splice(0)) {
      if ("samples" in task) task.samples.fill(0);
      else this.#answer(null);
    }
  }

  #forget(): void {
    if (this.#sound) forget(this.#sound);
    this.#sound = null;
  }

  #answer(outcome: Awaited<ReturnType<Verifier["weigh"]>> | null): void {
    this.#connection.port.postMessage(outcome);
    countTask(this.#connection.done);
  }
}

const calls = new Set<Call>();

/** Whose caller said least, and waits. */
function nextCall(): Call | null {
  for (const call of calls) call.receive();
  const [next = null] = [...calls].filter((call) => call.isWaiting).toSorted((a, b) => a.length - b.length);
  return next;
}

let isWorking = false;
async function work(): Promise<void> {
  if (isWorking) return;
  isWorking = true;
  for (let call = nextCall(); call; call = nextCall()) await call.handleNext();
  isWorking = false;
}

function serve(connection: VerifierConnection): void {
  const call = new Call(connection);
  calls.add(call);
  opened(connection);
  // What fails ends the thread: calls are told that it is gone.
  connection.port.on("message", (task: VerifierTask) => {
    call.take(task);
    void work();
  });
  connection.port.once("close", () => {
    calls.delete(call);
    call.end();
  });
}

const main = parentPort as MessagePort;
// Calls that came before the model was loaded can be served once the thread is ready.
for (let sent = receiveMessageOnPort(main); sent; sent = receiveMessageOnPort(main)) serve(sent.message as VerifierConnection);
main.on("message", serve);
main.postMessage(READY);
