import type { GatewayName } from "#src/kernel/payment.ts";
import { livingProcesses, repeat } from "#src/platform/index.ts";
import { SETTINGS_CHANNEL } from "#src/projects/index.ts";
import { adoptOpenAttempts } from "./attempts.ts";
import type { PaymentsDeps } from "./types.ts";
import type { Search } from "./reconcile.ts";
import type { Reversals } from "./reversal.ts";

const ROUND_MS = 2_000;
/** Longer than a heartbeat takes. */
const MISSED_MS = 6_000;

/**
 * Takes up attempts without an outcome whose owner is dead, this process's own overdue ones, and whatever is to be given
 * back, at once and every 2 s, and tells both searches and reversals of settings that were saved. Answers the function that ends it together with what it has under way.
 */
export function startJanitor({ database, clock, owner, log }: PaymentsDeps, search: Search, reversals: Reversals): () => Promise<void> {
  /** The processes that were found alive, and since when each is missed, monotonic ms; null: it is not. */
  const heardOf = new Map<string, number | null>();

  /**
   * Who lives, and who did a moment ago: where the database's clock was set, or the database was away, every lease seems to have run out until
   * its process says at its next heartbeat that it lives.
   */
  const heardOfLately = async (): Promise<string[]> => {
    const living = new Set((await livingProcesses(database.db)).map((other) => other.owner));
    const now = clock.monotonic();
    for (const other of living) heardOf.set(other, null);
    for (const [other, since] of heardOf) {
      if (living.has(other)) continue;
      if (since === null) heardOf.set(other, now);
      else if (now - since > MISSED_MS) heardOf.delete(other);
    }
    return [...heardOf.keys()];
  };

  let stopListening: (() => Promise<void>) | undefined;

  const round = async () => {
    stopListening ??= await database.listen(SETTINGS_CHANNEL, (name) => {
      const gateway = name as GatewayName;
      search.wake(gateway);
      reversals.wake(gateway);
    });
    const lately = await heardOfLately();
    for (const id of await adoptOpenAttempts(database.db, owner, search, lately)) search.begin(id);
    await reversals.round();
  };
  const end = repeat({ clock, everyMs: ROUND_MS, task: round, onFailure: (error) => log.warn("payment_janitor_failed", { error }) });

  return async () => {
    await end();
    await stopListening?.();
    await search.stop();
    await reversals.stop();
  };
}
