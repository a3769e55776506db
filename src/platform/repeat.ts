import type { Clock } from "#src/kernel/clock.ts";

export interface Repeated {
  clock: Clock;
  /** From the end of one run to the beginning of the next; a function is asked after each run. */
  everyMs: number | (() => number);
  /** Until the first run. Default: it begins at once. */
  firstMs?: number;
  /** It may end early once `isStopped` says so. */
  task: (isStopped: () => boolean) => Promise<unknown>;
  onFailure: (error: unknown) => void;
}

/** Runs the task again and again, whatever becomes of it. Returns the end, which waits for the run under way. */
export function repeat({ clock, everyMs, firstMs, task, onFailure }: Repeated): () => Promise<void> {
  let stopped = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();
  const run = () => {
    running = task(() => stopped)
      .then(() => {}, onFailure)
      .then(() => {
        if (!stopped) cancel = clock.after(typeof everyMs === "number" ? everyMs : everyMs(), run);
      });
  };
  if (firstMs === undefined) run();
  else cancel = clock.after(firstMs, run);
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}
