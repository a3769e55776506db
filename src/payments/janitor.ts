import { adoptOpenAttempts } from "./attempts.ts";
import type { PaymentsDeps } from "./index.ts";
import type { Search } from "./search.ts";

const ROUND_MS = 5_000;

/**
 * Takes up attempts without an outcome whose owner is dead, and this process's own overdue ones, at once and every 5 s.
 * Answers the function that ends it together with the searches under way.
 */
export function startJanitor({ database, clock, owner, log }: PaymentsDeps, search: Search): () => Promise<void> {
  let stopped = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  const round = async () => {
    for (const id of await adoptOpenAttempts(database.db, owner, search)) search.begin(id);
  };
  const next = () => {
    running = round()
      .catch((error: unknown) => log.warn("payment_janitor_failed", { error }))
      .then(() => {
        if (!stopped) cancel = clock.after(ROUND_MS, next);
      });
  };
  next();

  return async () => {
    stopped = true;
    cancel();
    await running;
    await search.stop();
  };
}
