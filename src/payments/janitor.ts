import { repeat } from "#src/platform/index.ts";
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
  const round = async () => {
    for (const id of await adoptOpenAttempts(database.db, owner, search)) search.begin(id);
    await reversals.round();
  };
  const end = repeat({ clock, everyMs: ROUND_MS, task: round, onFailure: (error) => log.warn("payment_janitor_failed", { error }) });

  return async () => {
    await end();
    await search.stop();
    await reversals.stop();
  };
}
