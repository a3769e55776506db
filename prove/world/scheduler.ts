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
  async run(until: number, done: () => boolean = () => false): Promise<void> {
    while (!done()) {
      const next = this.#heap[0];
      if (!next || next.at > until) {
        this.now = until;
        return;
      }
      this.#pop();
      if (!next.run) continue;
      this.now = Math.max(this.now, next.at);
      next.run();
      await settled();
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

/** Every promise that could go on has gone on. Nothing in a world waits for anything real, so one turn is enough. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
