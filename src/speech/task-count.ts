/** How many tasks another thread has done, in memory that both threads see, so that one can be waited for synchronously. */
export type TaskCount = Int32Array<SharedArrayBuffer>;

export const newTaskCount = (): TaskCount => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** One more is done. */
export function countTask(done: TaskCount): void {
  Atomics.add(done, 0, 1);
  Atomics.notify(done, 0);
}

/** Waits until so many are done; false when they are not after `longestMs`, or a negative count says that there will be none. */
export function waitForTasks(done: TaskCount, wanted: number, longestMs: number): boolean {
  for (let count = Atomics.load(done, 0); count < wanted; count = Atomics.load(done, 0))
    if (count < 0 || Atomics.wait(done, 0, count, longestMs) === "timed-out") return false;
  return true;
}
