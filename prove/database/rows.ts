import type { Expression, Scope, Statement } from "./expressions.ts";
import type { Holder, Table } from "./table.ts";
import { DatabaseError, type Transaction } from "./transaction.ts";
import { cast, compare, type Row, type Value } from "./values.ts";

/** What a compiled statement does with single rows: finds, makes, checks, changes and shows them. */

export const NOTHING: Row = {};
/** The row of a left join that found none: every column is null. */
export const NULLS: Row = new Proxy({}, { get: () => null, ownKeys: () => [], has: () => true });

export interface Item extends Partial<Expression> {
  /** `alias.*` or `*`. */
  all: boolean;
  /** Its name in the result; with `all` the alias, "" for the one table. */
  as: string;
}

/** `on conflict ... do update set ... where ...`; an empty set: `do nothing`. */
export interface Conflict {
  set: readonly { column: string; type: string; value: Expression }[];
  where: Expression | null;
}

/** The rows that can fit: by the narrowest index among the condition's equalities, else all. A list of its own: rows may come and go. */
export function candidates(
  table: Table,
  where: Expression | null,
  statement: Statement,
  outer: Scope | null = null,
  alias = table.name,
): Holder[] {
  let best: ReadonlySet<Holder>[] = [table.holders];
  for (const { column, values } of where?.equalities ?? []) {
    if (!table.columns.has(column)) continue;
    const found = values({ alias, row: NOTHING, outer, statement }).map((value) => table.having(column, value));
    if (sizeOf(found) < sizeOf(best)) best = found;
  }
  return best.length === 1 ? [...best[0]!] : [...new Set(best.flatMap((set) => [...set]))];
}

const sizeOf = (sets: readonly ReadonlySet<Holder>[]) => sets.reduce((sum, { size }) => sum + size, 0);

export function newRow(table: Table, names: readonly string[], values: readonly Partial<Expression>[], scope: Scope): Row {
  const row: Row = {};
  for (const column of table.columns.values()) {
    const at = names.indexOf(column.name);
    const value = at >= 0 ? values[at]!.run!(scope) : column.identity ? ++table.identity : (column.fallback?.run(scope) ?? null);
    row[column.name] = cast(value, column.type);
    if (column.required && row[column.name] === null) throw new DatabaseError("23502", `null in ${table.name}.${column.name}`);
  }
  return row;
}

export function project(items: readonly Item[], scope: Scope): Row {
  const result: Row = {};
  for (const item of items) {
    if (item.all) Object.assign(result, rowOf(scope, item.as));
    else result[item.as] = item.run!(scope);
  }
  return result;
}

/** The row in view under an alias; "" is the innermost. */
function rowOf({ alias, row, outer }: Scope, wanted: string): Row {
  if (wanted === "" || alias === wanted) return row;
  return outer ? rowOf(outer, wanted) : NOTHING;
}

export function changed(row: Row, set: readonly { column: string; type: string; value: Expression }[], scope: Scope): Row {
  const after = { ...row };
  for (const { column, type, value } of set) after[column] = cast(value.run(scope), type);
  return after;
}

export function check(table: Table, scope: Scope): void {
  for (const rule of table.checks) {
    if (rule.run(scope) === false) throw new DatabaseError("23514", `a row of ${table.name} breaks a check`);
  }
}

/**
 * Inserts the row or, where a conflicting row stands, does what `on conflict` says; returns the row as it then is, null when it was left as
 * it stood. The conflicting row stays locked either way, as in PostgreSQL.
 */
export async function store(
  table: Table,
  row: Row,
  conflict: Conflict | null,
  alias: string,
  excluded: Scope,
  transaction: Transaction,
): Promise<Row | null> {
  check(table, { ...excluded, alias, outer: null });
  for (;;) {
    const present = conflictingRow(table, row);
    if (!present) {
      transaction.insert(table, row);
      return row;
    }
    // Whether it stands is its transaction's to say.
    if (present.lock !== null && present.lock !== transaction) {
      await transaction.wait(present);
      continue;
    }
    if (!conflict) throw new DatabaseError("23505", `duplicate key in ${table.name}`);
    if (conflict.set.length === 0) return null;
    transaction.tryLock(present);
    const scope: Scope = { ...excluded, alias, row: transaction.visible(present) ?? NOTHING, outer: excluded };
    if (conflict.where && conflict.where.run(scope) !== true) return null;
    const after = changed(scope.row, conflict.set, scope);
    check(table, { ...scope, row: after });
    transaction.write(present, after);
    return after;
  }
}

/** A row, perhaps not committed yet, that has the same values under one of the table's unique keys. */
function conflictingRow(table: Table, row: Row): Holder | null {
  for (const columns of table.unique) {
    const [first = ""] = columns;
    for (const holder of table.having(first, row[first] ?? null)) {
      const isSimultaneous = [holder.pending, holder.committed].some(
        (version) => version && columns.every((name) => compare(version[name] ?? null, row[name] ?? null) === 0),
      );
      if (isSimultaneous) return holder;
    }
  }
  return null;
}

export function ordering(order: readonly { by: Expression; sign: number }[], a: Scope, b: Scope): number {
  for (const { by, sign } of order) {
    const compared = compare(by.run(a), by.run(b));
    if (compared) return compared * sign;
  }
  return 0;
}

export function greatestOf(values: Value[]): Value {
  return values.reduce<Value>((most, value) => (most === null || (compare(value, most) ?? -1) > 0 ? value : most), null);
}
