import { type Expression, Expressions, type Scope, type Statement, type SubSelect } from "./expressions.ts";
import { candidates, changed, check, type Conflict, greatestOf, type Item, newRow, NOTHING, ordering, project, store } from "./rows.ts";
import type { Holder, Table } from "./table.ts";
import { Reader } from "./tokens.ts";
import type { Transaction } from "./transaction.ts";
import { cast, type Row, textOf } from "./values.ts";

/**
 * The statements of this project, compiled once per text: select, insert, update and delete on one table each, with
 * sub-selects, row locks, `skip locked`, `on conflict` and `returning`. What it cannot read it refuses aloud.
 */

export interface Result {
  rows: Row[];
  affected: number;
}

export type Prepared = (statement: Statement, transaction: Transaction) => Promise<Result>;

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

  /** `(a, b)` */
  #list(): Expression[] {
    this.#reader.expect("(");
    const expressions = this.#reader.list(() => this.#expressions.read());
    this.#reader.expect(")");
    return expressions;
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
    const distinctOn = isDistinct && reader.accept("on") ? this.#list() : null;
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
    if (forUpdate && !skipLocked) reader.fail("for update waits only at the top, and no statement of this project needs it");
    const maximum = items.length === 1 && items[0]?.name === "max" ? items[0] : null;

    const find = (statement: Statement, transaction: Transaction, outer: Scope | null): Scope[] => {
      const scopeOf = (row: Row): Scope => ({ alias, row, outer, statement });
      const found: [Holder | null, Scope][] = [];
      if (!table) found.push([null, scopeOf(NOTHING)]);
      for (const holder of table ? candidates(table, where, statement, outer, alias) : []) {
        const row = transaction.visible(holder);
        const scope = row && scopeOf(row);
        if (scope && (!where || where.run(scope) === true)) found.push([holder, scope]);
      }
      if (order.length > 0) found.sort(([, a], [, b]) => ordering(order, a, b));
      const firsts = new Set<string>();
      const most = limit ? Number(limit.run(scopeOf(NOTHING))) : Infinity;
      const chosen: Scope[] = [];
      for (const [holder, scope] of found) {
        if (chosen.length >= most) break;
        if (distinctOn) {
          const key = JSON.stringify(distinctOn.map((expression) => expression.run(scope)));
          if (firsts.has(key)) continue;
          firsts.add(key);
        }
        if (forUpdate && holder && !transaction.tryLock(holder)) continue;
        chosen.push(scope);
      }
      return chosen;
    };
    const run = (statement: Statement, transaction: Transaction, outer: Scope | null): Row[] => {
      const scopes = find(statement, transaction, outer);
      if (maximum) return [{ [maximum.as]: greatestOf(scopes.map((scope) => maximum.run!(scope))) }];
      const rows = scopes.map((scope) => project(items, scope));
      return isDistinct && !distinctOn ? [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()] : rows;
    };
    return { run, find, items, alias, table, where, share };
  }

  #insert(): Prepared {
    const reader = this.#reader;
    const table = this.#table();
    const alias = reader.accept("as") ? reader.name() : table.name;
    reader.expect("(");
    const names = reader.list(() => reader.name());
    reader.expect(")");
    const source = this.#source();
    const conflict = this.#conflict(table);
    const returning = reader.accept("returning") ? this.#items() : null;

    return async (statement, transaction) => {
      const stored: Scope[] = [];
      for (const from of source.find(statement, transaction)) {
        const excluded = { alias: "excluded", row: newRow(table, names, source.values, from), outer: null, statement };
        const row = await store(table, excluded.row, conflict, alias, excluded, transaction);
        if (row) stored.push({ alias, row, outer: null, statement });
      }
      return { rows: returning ? stored.map((scope) => project(returning, scope)) : [], affected: stored.length };
    };
  }

  /** `values (...)` or a select: the rows to be inserted are its values, in their order, for each scope found. */
  #source(): { values: readonly Item[]; find: (statement: Statement, transaction: Transaction) => Scope[] } {
    const reader = this.#reader;
    if (reader.sees("select")) {
      const { items, find } = this.#selectBody();
      return { values: items, find: (statement, transaction) => find(statement, transaction, null) };
    }
    reader.expect("values", "(");
    const values = reader.list(() => ({ ...this.#expressions.read(), all: false, as: "" }));
    reader.expect(")");
    return { values, find: (statement) => [{ alias: "", row: NOTHING, outer: null, statement }] };
  }

  #conflict(table: Table): Conflict | null {
    const reader = this.#reader;
    if (!reader.accept("on", "conflict", "(")) return null;
    reader.list(() => reader.name());
    reader.expect(")", "do");
    if (reader.accept("nothing")) return { set: [], where: null };
    reader.expect("update", "set");
    return { set: this.sets(table), where: this.#where() };
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
        await store(table, row, null, table.name, { ...nowhere, row }, transaction);
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
