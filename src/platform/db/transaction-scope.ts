import { AsyncLocalStorage } from "node:async_hooks";
import type { Kysely } from "kysely";
import { crashPoint } from "#src/kernel/crash-points.ts";
import type { Db } from "./database.ts";
import type { Tables } from "./tables.ts";

/**
 * Knows whether the running code is inside a transaction of this database. The embedded database has one session, so a
 * query outside the transaction that encloses it would wait for ever; a pool hides the same mistake until it is empty.
 * On both, such a query fails at once and names its fault.
 */
export class TransactionScope {
  readonly #current = new AsyncLocalStorage<{ open: boolean }>();

  /** Runs `work` in a transaction of `db`, and commits what it wrote unless it throws. */
  async transaction<T>(db: Kysely<Tables>, work: (tx: Db) => Promise<T>): Promise<T> {
    const result = await db.transaction().execute(async (tx) => {
      const done = await this.run(() => work(tx));
      crashPoint("transaction_uncommitted");
      return done;
    });
    crashPoint("transaction_committed");
    return result;
  }

  /** Runs `work` as the inside of a transaction. What it leaves running is outside again once `work` has ended. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const transaction = { open: true };
    try {
      return await this.#current.run(transaction, work);
    } finally {
      transaction.open = false;
    }
  }

  /** Starts `work` as the outside, wherever it is called: for what serves many callers and belongs to none of them. */
  leave<T>(work: () => T): T {
    return this.#current.run({ open: false }, work);
  }

  /** Throws inside a transaction. Called whenever a connection is asked for. */
  assertOutside(): void {
    if (this.#current.getStore()?.open) {
      throw new Error("a query left the transaction it runs in: pass the transaction's handle to it");
    }
  }
}
