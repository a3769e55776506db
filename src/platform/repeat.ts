import type { Clock } from "#src/kernel/clock.ts";

export interface Repeated {
  clock: Clock;
  /** From the end of one run to the beginning of the next. */
  everyMs: number;
  /** It may end early once `isStopped` says so. */
  task: (isStopped: () => boolean) => Promise<unknown>;
  onFailure: (error: unknown) => void;
}

/** Runs the task now and again, whatever becomes of it. Returns the end, which waits for the run under way. */
export function repeat({ clock, everyMs, task, onFailure }: Repeated): () => Promise<void> {
  let stopped = false;
  let cancel = () => {};
  let running: Promise<void>;
  const run = () => {
    running = task(() => stopped)
      .then(() => {}, onFailure)
      .then(() => {
        if (!stopped) cancel = clock.after(everyMs, run);
      });
  };
  run();
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}
