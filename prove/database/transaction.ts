import type { Holder, Table } from "./table.ts";
import type { Row } from "./values.ts";

/** A row as a commit changed it; null before: inserted, null after: deleted. */
export interface Change {
  table: string;
  before: Row | null;
  after: Row | null;
}

export class DatabaseError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** One transaction, READ COMMITTED: it sees what is committed and its own changes, and holds the locks of the rows it changed. */
export class Transaction {
  readonly #held = new Set<Holder>();
  readonly notifications: [channel: string, payload: string][] = [];
  /** A statement failed: only a rollback is possible (25P02). */
  failed = false;
  over = false;
  #waitsFor: Holder | null = null;

  /** The row as this transaction sees it. */
  visible(holder: Holder): Row | null {
    return holder.lock === this ? holder.pending : holder.committed;
  }

  /** Takes the row's lock at once, or returns false because another has it. */
  tryLock(holder: Holder): boolean {
    if (holder.lock !== null) return holder.lock === this;
    holder.lock = this;
    holder.pending = holder.committed;
    this.#held.add(holder);
    return true;
  }

  /** Resolves when nobody else holds the row; the caller then looks at it again. */
  async wait(holder: Holder): Promise<void> {
    let other = holder.lock as Transaction | null;
    while (other) {
      if (other === this) throw new DatabaseError("40P01", "deadlock detected");
      other = (other.#waitsFor === null ? null : other.#waitsFor.lock) as Transaction | null;
    }
    this.#waitsFor = holder;
    await new Promise<void>((resolve) => holder.waiting.push(resolve));
    this.#waitsFor = null;
    if (this.over) throw new DatabaseError("57P01", "terminating connection");
  }

  write(holder: Holder, row: Row | null): void {
    const former = holder.pending;
    holder.pending = row;
    if (former && former !== holder.committed) holder.table.forget(holder, former);
    if (row) holder.table.noteVersion(holder, row);
  }

  insert(table: Table, row: Row): void {
    const holder: Holder = { table, committed: null, pending: null, lock: this, waiting: [] };
    table.holders.add(holder);
    this.#held.add(holder);
    this.write(holder, row);
  }

  /** The rows of a table as this transaction has made them. */
  changed(table: string): Row[] {
    return [...this.#held].flatMap((holder) => (holder.table.name === table && holder.pending ? [holder.pending] : []));
  }

  commit(): Change[] {
    const changes: Change[] = [];
    for (const holder of this.#held) {
      const [before, after] = [holder.committed, holder.pending];
      if (before === after) continue;
      holder.committed = after;
      if (before) holder.table.forget(holder, before);
      if (!after) holder.table.holders.delete(holder);
      changes.push({ table: holder.table.name, before, after });
    }
    this.#end();
    return changes;
  }

  rollback(): void {
    this.notifications.length = 0;
    for (const holder of this.#held) {
      const { pending } = holder;
      if (pending && pending !== holder.committed) holder.table.forget(holder, pending);
      if (!holder.committed) holder.table.holders.delete(holder);
    }
    this.#end();
  }

  #end(): void {
    this.over = true;
    for (const holder of this.#held) {
      holder.lock = null;
      holder.pending = null;
      for (const wake of holder.waiting.splice(0)) wake();
    }
    this.#held.clear();
    if (this.#waitsFor) {
      // A cut connection's statement waits no more.
      const { waiting } = this.#waitsFor;
      for (const wake of waiting.splice(0)) wake();
    }
  }
}
