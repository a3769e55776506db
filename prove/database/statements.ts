import { type Expression, Expressions, type Scope, type Statement, type SubSelect } from "./expressions.ts";
import type { Holder, Table } from "./table.ts";
import { Reader } from "./tokens.ts";
import { DatabaseError, type Transaction } from "./transaction.ts";
import { cast, compare, type Row, textOf, type Value } from "./values.ts";

/**
 * The statements of this house, compiled once per text: select, insert, update and delete on one table each, with
 * sub-selects, row locks, `skip locked`, `on conflict` and `returning`. What it cannot read it refuses aloud.
 */

export interface Result {
  rows: Row[];
  affected: number;
}

export type Prepared = (statement: Statement, transaction: Transaction) => Promise<Result>;

interface Item extends Partial<Expression> {
  /** `alias.*` or `*`. */
  all: boolean;
  as: string;
}

const NOTHING: Row = {};

export function prepare(sql: string, tables: ReadonlyMap<string, Table>): Prepared {
  return new Statements(sql, tables).read();
}

class Statements {
  readonly #reader: Reader;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #expressions: Expressions;

  constructor(sql: string, tables: ReadonlyMap<string, Table>) {
    this.#reader = new Reader(sql);
    this.#tables = tables;
    this.#expressions = new Expressions(this.#reader, () => this.#subSelect());
  }

  read(): Prepared {
    const reader = this.#reader;
    const prepared = reader.sees("select")
      ? this.#select()
      : reader.accept("with")
        ? this.#insertRecords()
        : reader.accept("insert", "into")
          ? this.#insert()
          : reader.accept("update")
            ? this.#update()
            : reader.accept("delete", "from")
              ? this.#delete()
              : reader.fail("a statement expected");
    reader.accept(";");
    if (reader.token.kind !== "end") reader.fail("the end expected");
    return prepared;
  }

  #table(): Table {
    const name = this.#reader.name();
    return this.#tables.get(name) ?? this.#reader.fail(`there is no table ${name}`);
  }

  #items(): Item[] {
    const reader = this.#reader;
    return reader.list(() => {
      if (reader.acceptAll()) return { all: true, as: "" };
      const expression = this.#expressions.read();
      return { ...expression, all: false, as: reader.accept("as") ? reader.name() : expression.name };
    });
  }

  #where(): Expression | null {
    return this.#reader.accept("where") ? this.#expressions.read() : null;
  }

  #subSelect(): SubSelect {
    const outside = this.#expressions.onQualifier;
    const seen = new Set<string>();
    this.#expressions.onQualifier = (alias) => void seen.add(alias);
    const { run, alias } = this.#selectBody();
    this.#expressions.onQualifier = outside;
    seen.delete(alias);
    for (const name of seen) outside(name);
    return { correlated: seen.size > 0, rows: (scope) => run(scope.statement, scope.statement.transaction as Transaction, scope) };
  }

  #select(): Prepared {
    const { run, table, where, share } = this.#selectBody();
    return async (statement, transaction) => {
      if (share && table) {
        for (const holder of candidates(table, where, statement)) {
          while (holder.lock !== null && holder.lock !== transaction) await transaction.wait(holder);
        }
      }
      const rows = run(statement, transaction, null);
      return { rows, affected: rows.length };
    };
  }

  #selectBody() {
    const reader = this.#reader;
    reader.expect("select");
    const isDistinct = reader.accept("distinct");
    const items = reader.sees("from") ? [] : this.#items();
    const table = reader.accept("from") ? this.#table() : null;
    const alias = table && reader.accept("as") ? reader.name() : (table?.name ?? "");
    const where = this.#where();
    const order: { by: Expression; sign: number }[] = reader.accept("order", "by")
      ? reader.list(() => ({ by: this.#expressions.read(), sign: reader.accept("desc") ? -1 : reader.accept("asc") ? 1 : 1 }))
      : [];
    const limit = reader.accept("limit") ? this.#expressions.read() : null;
    const share = reader.accept("for", "share");
    const forUpdate = reader.accept("for", "update");
    if (forUpdate && reader.accept("of")) reader.name();
    const skipLocked = reader.accept("skip", "locked");
    if (forUpdate && !skipLocked) reader.fail("for update waits only at the top, and no statement of this house needs it");
    const maximum = items.length === 1 && items[0]?.name === "max" ? items[0] : null;

    const run = (statement: Statement, transaction: Transaction, outer: Scope | null): Row[] => {
      const scopeOf = (row: Row): Scope => ({ alias, row, outer, statement });
      const found: [Holder | null, Row][] = [];
      if (!table) found.push([null, NOTHING]);
      for (const holder of table ? candidates(table, where, statement, outer, alias) : []) {
        const row = transaction.visible(holder);
        if (row && (!where || where.run(scopeOf(row)) === true)) found.push([holder, row]);
      }
      if (order.length > 0) found.sort(([, a], [, b]) => ordering(order, scopeOf(a), scopeOf(b)));
      const most = limit ? Number(limit.run(scopeOf(NOTHING))) : Infinity;
      const chosen: Row[] = [];
      for (const [holder, row] of found) {
        if (chosen.length >= most) break;
        if (forUpdate && holder && !transaction.tryLock(holder)) continue;
        chosen.push(row);
      }
      if (maximum) return [{ [maximum.as]: greatestOf(chosen.map((row) => maximum.run!(scopeOf(row)))) }];
      const rows = chosen.map((row) => project(items, scopeOf(row)));
      return isDistinct ? [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()] : rows;
    };
    return { run, alias, table, where, share };
  }

  #insert(): Prepared {
    const reader = this.#reader;
    const table = this.#table();
    reader.expect("(");
    const names = reader.list(() => reader.name());
    reader.expect(")", "values", "(");
    const values = reader.list(() => this.#expressions.read());
    reader.expect(")");
    let conflict: { columns: string[]; set: ReturnType<Statements["sets"]> } | null = null;
    if (reader.accept("on", "conflict", "(")) {
      const columns = reader.list(() => reader.name());
      reader.expect(")", "do");
      if (reader.accept("nothing")) conflict = { columns, set: [] };
      else {
        reader.expect("update", "set");
        conflict = { columns, set: this.sets(table) };
      }
    }
    const returning = reader.accept("returning") ? this.#items() : null;

    return async (statement, transaction) => {
      const scope = (row: Row): Scope => ({ alias: table.name, row, outer: null, statement });
      const row = newRow(table, names, values, scope(NOTHING));
      check(table, scope(row));
      const twin = await existing(table, row, transaction);
      if (!twin) transaction.insert(table, row);
      else if (!conflict) throw new DatabaseError("23505", `duplicate key in ${table.name}`);
      else if (conflict.set.length > 0) {
        while (!transaction.tryLock(twin)) await transaction.wait(twin);
        const before = transaction.visible(twin);
        if (before) transaction.write(twin, changed(before, conflict.set, scope(before)));
      }
      return { rows: returning ? [project(returning, scope(row))] : [], affected: 1 };
    };
  }

  /** `with m as (select ...), i as (insert ... select ... from m, json_to_recordset($1) as r (...)) select ... from m` */
  #insertRecords(): Prepared {
    const reader = this.#reader;
    const common = reader.name();
    reader.expect("as", "(", "select");
    const made = this.#items();
    reader.expect(")", ",");
    reader.name();
    reader.expect("as", "(", "insert", "into");
    const table = this.#table();
    reader.expect("(");
    const names = reader.list(() => reader.name());
    reader.expect(")", "select");
    const values = reader.list(() => this.#expressions.read());
    reader.expect("from");
    reader.name();
    reader.expect(",", "json_to_recordset", "(");
    const records = this.#expressions.read();
    reader.expect(")", "as");
    const alias = reader.name();
    reader.expect("(");
    const columns = reader.list(() => ({ name: reader.name(), type: reader.name() }));
    reader.expect(")", ")", "select");
    const result = this.#items();
    reader.expect("from");
    reader.name();
    return async (statement, transaction) => {
      const nowhere: Scope = { alias: "", row: NOTHING, outer: null, statement };
      const outer: Scope = { alias: common, row: project(made, nowhere), outer: null, statement };
      for (const record of JSON.parse(textOf(records.run(nowhere))) as Row[]) {
        const read = Object.fromEntries(columns.map(({ name, type }) => [name, cast(record[name] ?? null, type)]));
        const row = newRow(table, names, values, { alias, row: read, outer, statement });
        check(table, { ...nowhere, alias: table.name, row });
        if (await existing(table, row, transaction)) throw new DatabaseError("23505", `duplicate key in ${table.name}`);
        transaction.insert(table, row);
      }
      return { rows: [project(result, outer)], affected: 1 };
    };
  }

  sets(table: Table) {
    const reader = this.#reader;
    return reader.list(() => {
      const column = reader.name();
      const type = table.columns.get(column)?.type ?? reader.fail(`there is no column ${column}`);
      reader.expect("=");
      return { column, type, value: this.#expressions.read() };
    });
  }

  #update(): Prepared {
    const table = this.#table();
    this.#reader.expect("set");
    const set = this.sets(table);
    const where = this.#where();
    const returning = this.#reader.accept("returning") ? this.#items() : null;
    return (statement, transaction) =>
      this.#change(table, where, returning, statement, transaction, (scope) => changed(scope.row, set, scope));
  }

  #delete(): Prepared {
    const table = this.#table();
    const where = this.#where();
    return (statement, transaction) => this.#change(table, where, null, statement, transaction, () => null);
  }

  /** Changes each row that fits; one that another transaction holds is waited for and looked at again (EvalPlanQual). */
  async #change(
    table: Table,
    where: Expression | null,
    returning: Item[] | null,
    statement: Statement,
    transaction: Transaction,
    change: (scope: Scope) => Row | null,
  ): Promise<Result> {
    const rows: Row[] = [];
    let affected = 0;
    for (const holder of candidates(table, where, statement)) {
      for (;;) {
        const row = transaction.visible(holder);
        const scope: Scope = { alias: table.name, row: row ?? NOTHING, outer: null, statement };
        if (!row || (where && where.run(scope) !== true)) break;
        if (!transaction.tryLock(holder)) {
          await transaction.wait(holder);
          continue;
        }
        const after = change(scope);
        if (after) check(table, { ...scope, row: after });
        transaction.write(holder, after);
        affected++;
        if (returning) rows.push(project(returning, { ...scope, row: after ?? row }));
        break;
      }
    }
    return { rows, affected };
  }
}

/** The rows that can fit: by the narrowest index among the condition's equalities, else all. A list of its own: rows may come and go. */
function candidates(
  table: Table,
  where: Expression | null,
  statement: Statement,
  outer: Scope | null = null,
  alias = table.name,
): Holder[] {
  let best: ReadonlySet<Holder> = table.holders;
  for (const { column, value } of where?.equalities ?? []) {
    if (!table.columns.has(column)) continue;
    const found = table.having(column, value({ alias, row: NOTHING, outer, statement }));
    if (found.size < best.size) best = found;
  }
  return [...best];
}

function newRow(table: Table, names: readonly string[], values: readonly Expression[], scope: Scope): Row {
  const row: Row = {};
  for (const column of table.columns.values()) {
    const at = names.indexOf(column.name);
    const value = at >= 0 ? values[at]!.run(scope) : column.identity ? ++table.identity : (column.fallback?.run(scope) ?? null);
    row[column.name] = cast(value, column.type);
    if (column.required && row[column.name] === null) throw new DatabaseError("23502", `null in ${table.name}.${column.name}`);
  }
  return row;
}

function project(items: readonly Item[], scope: Scope): Row {
  const result: Row = {};
  for (const item of items) {
    if (item.all) Object.assign(result, scope.row);
    else result[item.as] = item.run!(scope);
  }
  return result;
}

function changed(row: Row, set: readonly { column: string; type: string; value: Expression }[], scope: Scope): Row {
  const after = { ...row };
  for (const { column, type, value } of set) after[column] = cast(value.run(scope), type);
  return after;
}

function check(table: Table, scope: Scope): void {
  for (const rule of table.checks) {
    if (rule.run(scope) === false) throw new DatabaseError("23514", `a row of ${table.name} breaks a check`);
  }
}

async function existing(table: Table, row: Row, transaction: Transaction): Promise<Holder | null> {
  for (const columns of table.unique) {
    for (;;) {
      const [first = ""] = columns;
      const twin = [...table.having(first, row[first] ?? null)].find((holder) =>
        [holder.pending, holder.committed].some(
          (version) => version && columns.every((name) => compare(version[name] ?? null, row[name] ?? null) === 0),
        ),
      );
      if (!twin) break;
      if (twin.lock === null || twin.lock === transaction) return twin;
      await transaction.wait(twin);
    }
  }
  return null;
}

function ordering(order: readonly { by: Expression; sign: number }[], a: Scope, b: Scope): number {
  for (const { by, sign } of order) {
    const compared = compare(by.run(a), by.run(b));
    if (compared) return compared * sign;
  }
  return 0;
}

function greatestOf(values: Value[]): Value {
  return values.reduce<Value>((most, value) => (most === null || (compare(value, most) ?? -1) > 0 ? value : most), null);
}
