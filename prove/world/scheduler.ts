const STEPS_A_TURN = 64;

interface Task {
  at: number;
  order: number;
  run: (() => void) | null;
}

/** Virtual time: what is to happen, in the order of its times; between two things everything that can run has run. */
export class Scheduler {
  /** Ms since the Unix epoch. */
  now: number;
  #order = 0;
  readonly #heap: Task[] = [];

  constructor(start: number) {
    this.now = start;
  }

  /** Runs `task` in `ms` milliseconds; the answer takes it back. */
  after(ms: number, task: () => void): () => void {
    const entry: Task = { at: this.now + Math.max(0, ms), order: this.#order++, run: task };
    this.#push(entry);
    return () => void (entry.run = null);
  }

  /** Lets time pass until `until` (ms since the epoch) or until `done` says so, looked at after each task. */
  run(until: number, done: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const step = () => {
        if (isOver) return;
        try {
          isOver = done() || !this.#runNext(until);
        } catch (error) {
          isOver = true;
          reject(error);
        }
        if (isOver) resolve();
      };
      // Between two immediates every promise that could go on has gone on, and nothing in a world waits for anything
      // real: one turn of the event loop is good for many steps.
      const turn = () => {
        if (isOver) return;
        for (let steps = 0; steps < STEPS_A_TURN; steps++) setImmediate(step);
        setImmediate(turn);
      };
      turn();
    });
  }

  /** False when nothing happens before `until` any more. */
  #runNext(until: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (!next || next.at > until) {
        this.now = until;
        return false;
      }
      this.#pop();
      if (!next.run) continue;
      this.now = Math.max(this.now, next.at);
      next.run();
      return true;
    }
  }

  #push(entry: Task): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const before = (a: Task, b: Task) => a.at < b.at || (a.at === b.at && a.order < b.order);
