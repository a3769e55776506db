import type { Expression } from "./expressions.ts";
import type { Row, Value } from "./values.ts";

/** One row in its versions: what is committed, and what the transaction that holds its lock has made of it. */
export interface Holder {
  table: Table;
  committed: Row | null;
  /** Not committed yet; null: deleted. Meaningful while `lock` is set. */
  pending: Row | null;
  lock: object | null;
  /** Called, in the order of asking, when the lock is released. */
  waiting: (() => void)[];
}

export interface Column {
  name: string;
  type: string;
  /** For a column that an insert leaves out; absent: null. */
  fallback?: Expression;
  identity: boolean;
  required: boolean;
}

/** A table in memory, with an index on each column that a statement compares for equality. */
export class Table {
  readonly name: string;
  readonly columns = new Map<string, Column>();
  readonly unique: string[][] = [];
  readonly checks: Expression[] = [];
  readonly holders = new Set<Holder>();
  identity = 0;
  readonly #indexes = new Map<string, Map<unknown, Set<Holder>>>();

  constructor(name: string) {
    this.name = name;
  }

  /** Every holder of which a version may have `value` in `column`, in the order of insertion within one value. */
  having(column: string, value: Value): ReadonlySet<Holder> {
    let index = this.#indexes.get(column);
    if (!index) {
      index = new Map();
      this.#indexes.set(column, index);
      for (const holder of this.holders) {
        for (const version of [holder.committed, holder.pending]) if (version) put(index, version[column] ?? null, holder);
      }
    }
    return index.get(key(value)) ?? NONE;
  }

  /** A version was made. */
  noteVersion(holder: Holder, version: Row): void {
    for (const [column, index] of this.#indexes) put(index, version[column] ?? null, holder);
  }

  /** The versions of a holder were settled: leaves it indexed by `committed` alone. */
  forget(holder: Holder, gone: Row): void {
    for (const [column, index] of this.#indexes) {
      const value = key(gone[column] ?? null);
      if (holder.committed && key(holder.committed[column] ?? null) === value) continue;
      const set = index.get(value);
      set?.delete(holder);
      if (set?.size === 0) index.delete(value);
    }
  }
}

const NONE: ReadonlySet<Holder> = new Set();

function put(index: Map<unknown, Set<Holder>>, value: Value, holder: Holder): void {
  const set = index.get(key(value));
  if (set) set.add(holder);
  else index.set(key(value), new Set([holder]));
}

function key(value: Value): unknown {
  if (value instanceof Date) return value.getTime();
  return value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value;
}
