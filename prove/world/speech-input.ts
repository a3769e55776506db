import type { MessagePort } from "node:worker_threads";
import type { Listener, Recogniser } from "#src/speech/index.ts";
import type { SeededRandom } from "../random.ts";

/** What a speech worker understood. */
export type Recognised = Parameters<Listener["onResult"]>[0];

const WORKERS = 4;
/** Until a used worker has its successor. */
const HIRING_MS = 1500;
const WORKER_CRASHES = 0.02;

/** The process that a recogniser belongs to. */
interface RecogniserHost {
  readonly world: { readonly random: SeededRandom };
  after(ms: number, task: () => void): () => void;
}

/** The pool of a process's speech workers, which are told what was said instead of hearing it. */
export class ModelRecogniser implements Pick<Recogniser, "acquire" | "expectSpeech" | "understandsNames"> {
  readonly understandsNames = false;
  readonly #process: RecogniserHost;
  #free = WORKERS;

  constructor(process: RecogniserHost) {
    this.#process = process;
  }

  async expectSpeech(): Promise<void> {}
  async stop(): Promise<void> {}

  async acquire(): Promise<ModelListener | null> {
    if (this.#free === 0) return null;
    this.#free--;
    const { random } = this.#process.world;
    const listener = new ModelListener(() => void this.#process.after(HIRING_MS, () => this.#free++));
    if (random.chance(WORKER_CRASHES)) this.#process.after(random.between(0, 20_000), () => listener.lose());
    return listener;
  }
}

export class ModelListener implements Listener {
  /** Stands for the audio's way to the worker: whoever is handed it can speak to this listener. */
  readonly port = this as unknown as MessagePort;
  readonly #onEnd: () => void;
  #isOver = false;
  #task = 0;
  onResult: Listener["onResult"] = () => {};
  onLost: Listener["onLost"] = () => {};

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  listenFor({ id }: Parameters<Listener["listenFor"]>[0]): void {
    this.#task = id;
  }
  stopListening(): void {}

  recognise(result: Recognised): void {
    if (!this.#isOver) this.onResult(result, this.#task);
  }

  lose(): void {
    if (this.#isOver) return;
    this.#end();
    this.onLost();
  }

  async stop(): Promise<void> {
    if (!this.#isOver) this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#onEnd();
  }
}
