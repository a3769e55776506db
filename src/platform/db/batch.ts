import { type Clock, systemClock } from "#src/kernel/clock.ts";
import { errorCode } from "#src/kernel/errors.ts";
import type { TransactionScope } from "./transaction-scope.ts";

/** Items in one call of `work`, at most. */
const MOST_ITEMS = 200;
/** A call that takes longer is no longer waited for by the next: one lost connection must not stop everybody. */
const SLOW_MS = 500;

interface Waiting<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

/**
 * Few calls of `work` for many items: items that come while a call is under way share the next one. A lone item is worked on at
 * once. When the database refuses the data of a call, its items are tried one by one, so that only those at fault fail; any other
 * failure is that of all of them.
 */
export function batched<T, R>(
  scope: TransactionScope,
  work: (items: readonly T[]) => Promise<readonly R[]>,
  clock: Pick<Clock, "after"> = systemClock,
): (item: T) => Promise<R> {
  const waiting: Waiting<T, R>[] = [];
  let running = false;

  const run = async (batch: readonly Waiting<T, R>[]): Promise<void> => {
    try {
      const results = await work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      if (batch.length > 1 && isDataRefused(error)) for (const one of batch) await run([one]);
      else for (const { reject } of batch) reject(error);
    }
  };

  const next = (): void => {
    running = waiting.length > 0;
    if (!running) return;
    let over = false;
    const goOn = () => {
      if (over) return;
      over = true;
      cancel();
      next();
    };
    const cancel = clock.after(SLOW_MS, goOn);
    void run(waiting.splice(0, MOST_ITEMS)).then(goOn);
  };

  return (item) => {
    scope.assertOutside();
    return new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (running) return;
      running = true;
      // After this turn of the event loop: whatever else it reads off the sockets comes along.
      scope.leave(() => setImmediate(next));
    });
  };
}

/** SQLSTATE classes of what a row can be refused for: 22 data exception, 23 constraint violation. Nothing was written then. */
const REFUSED_STATES = /^2[23]/;
const isDataRefused = (error: unknown) => REFUSED_STATES.test(errorCode(error));
