import { crashPoint } from "#src/kernel/crash-points.ts";
import { adoptOpenAttempts } from "./attempts.ts";
import type { PaymentsDeps } from "./types.ts";
import type { Search } from "./reconcile.ts";
import type { Reversals } from "./reversal.ts";

const ROUND_MS = 5_000;

/**
 * Takes up attempts without an outcome whose owner is dead, this process's own overdue ones, and whatever is to be given
 * back, at once and every 5 s. Answers the function that ends it together with what it has under way.
 */
export function startJanitor({ database, clock, owner, log }: PaymentsDeps, search: Search, reversals: Reversals): () => Promise<void> {
  let stopped = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  const round = async () => {
    const adopted = await adoptOpenAttempts(database.db, owner, search);
    if (adopted.length > 0) crashPoint("attempt_adopted");
    for (const id of adopted) search.begin(id);
    await reversals.round();
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
    await reversals.stop();
  };
}
