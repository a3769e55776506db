import { type Expression, Expressions, type Scope, type Statement, type SubSelect } from "./expressions.ts";
import {
  candidates,
  changed,
  check,
  type Conflict,
  greatestOf,
  type Item,
  newRow,
  NOTHING,
  NULLS,
  ordering,
  project,
  store,
} from "./rows.ts";
import type { Holder, Table } from "./table.ts";
import { Reader } from "./tokens.ts";
import type { Transaction } from "./transaction.ts";
import { cast, type Row, textOf } from "./values.ts";

/**
 * The statements of this project, compiled once per text: select with joins, insert, update and delete on one table each, several of
 * them as CTEs of one statement, with sub-selects, row locks, `skip locked`, `on conflict` and `returning`. What it cannot read it refuses aloud.
 */

export interface Result {
  rows: Row[];
  affected: number;
}

export type Prepared = (statement: Statement, transaction: Transaction) => Promise<Result>;

export function prepare(sql: string, tables: ReadonlyMap<string, Table>): Prepared {
  return new Statements(sql, tables).read();
}

interface Source {
  alias: string;
  /** Null: a CTE or records, whose rows are these. */
  table: Table | null;
  rows: (scope: Scope) => Row[];
}

interface Join {
  source: Source;
  /** Null: every row with every row. */
  on: Expression | null;
  isLeft: boolean;
}

/** A row with those that it is joined with: each in view as the innermost, and the row itself around it. */
function joined({ source: { alias, table, rows }, on, isLeft }: Join, outer: Scope, transaction: Transaction): Scope[] {
  const { statement } = outer;
  const found = table
    ? candidates(table, on, statement, outer, alias).flatMap((holder): Row[] => {
        const row = transaction.visible(holder);
        return row ? [row] : [];
      })
    : rows(outer);
  const views = found.map((row): Scope => ({ alias, row, outer, statement })).filter((view) => !on || on.run(view) === true);
  return views.length === 0 && isLeft ? [{ alias, row: NULLS, outer, statement }] : views;
}

class Statements {
  readonly #reader: Reader;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #expressions: Expressions;
  /** Names of the CTEs read so far. */
  readonly #parts = new Set<string>();

  constructor(sql: string, tables: ReadonlyMap<string, Table>) {
    this.#reader = new Reader(sql);
    this.#tables = tables;
    this.#expressions = new Expressions(this.#reader, () => this.#subSelect());
  }

  read(): Prepared {
    const prepared = this.#statement();
    this.#reader.accept(";");
    if (this.#reader.token.kind !== "end") this.#reader.fail("the end expected");
    return prepared;
  }

  #statement(): Prepared {
    const reader = this.#reader;
    if (reader.sees("select")) return this.#select();
    if (reader.accept("with")) return this.#with();
    if (reader.accept("insert", "into")) return this.#insert();
    if (reader.accept("update")) return this.#update();
    return reader.accept("delete", "from") ? this.#delete() : reader.fail("a statement expected");
  }

  /**
   * `with a as (...), b as (...) select ...`: one after another, each once. Unlike in PostgreSQL a later one sees in the tables what an
   * earlier one has changed; the statements of this project hand that on by `returning` alone.
   */
  #with(): Prepared {
    const reader = this.#reader;
    const parts = reader.list((): [string, Prepared] => {
      const name = reader.name();
      reader.expect("as");
      reader.accept("materialized");
      reader.expect("(");
      const part = this.#statement();
      reader.expect(")");
      this.#parts.add(name);
      return [name, part];
    });
    const last = this.#statement();
    return async (statement, transaction) => {
      for (const [name, part] of parts) statement.parts.set(name, (await part(statement, transaction)).rows);
      return await last(statement, transaction);
    };
  }

  #table(): Table {
    const name = this.#reader.name();
    return this.#tables.get(name) ?? this.#reader.fail(`there is no table ${name}`);
  }

  #items(): Item[] {
    const reader = this.#reader;
    return reader.list(() => {
      const all = reader.acceptAll();
      if (all !== null) return { all: true, as: all };
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
    const { run, aliases } = this.#selectBody();
    this.#expressions.onQualifier = outside;
    for (const alias of aliases) seen.delete(alias);
    for (const name of seen) outside(name);
    return { correlated: seen.size > 0, rows: (scope) => run(scope.statement, scope.statement.transaction as Transaction, scope) };
  }

  #select(): Prepared {
    const { run, table, where, share, waits } = this.#selectBody();
    return async (statement, transaction) => {
      if (share && table) {
        for (const holder of candidates(table, where, statement)) {
          while (holder.lock !== null && holder.lock !== transaction) await transaction.wait(holder);
        }
      }
      if (waits && table) {
        // Each row that fits, looked at again once it is ours.
        const fits = (row: Row | null) => row && where?.run({ alias: table.name, row, outer: null, statement }) !== false;
        for (const holder of candidates(table, where, statement)) {
          while (fits(transaction.visible(holder)) && !transaction.tryLock(holder)) await transaction.wait(holder);
        }
      }
      const rows = run(statement, transaction, null);
      return { rows, affected: rows.length };
    };
  }

  /** A table, a CTE, a select for each row before it or the records of a JSON text, by the name that its columns go by. */
  #source(): Source {
    const reader = this.#reader;
    if (reader.accept("lateral", "(")) {
      const { rows } = this.#subSelect();
      reader.expect(")", "as");
      return { alias: reader.name(), table: null, rows };
    }
    if (reader.accept("json_to_recordset", "(")) {
      const records = this.#expressions.read();
      reader.expect(")", "as");
      const alias = reader.name();
      reader.expect("(");
      const columns = reader.list(() => ({ name: reader.name(), type: reader.name() }));
      reader.expect(")");
      const read = (record: Row) => Object.fromEntries(columns.map(({ name, type }) => [name, cast(record[name] ?? null, type)]));
      const rows = (scope: Scope) => (JSON.parse(textOf(records.run(scope))) as Row[]).map(read);
      return { alias, table: null, rows };
    }
    const name = reader.name();
    const isPart = this.#parts.has(name);
    const table = isPart ? null : (this.#tables.get(name) ?? reader.fail(`there is no table ${name}`));
    const alias = reader.accept("as") ? reader.name() : name;
    return { alias, table, rows: ({ statement }) => statement.parts.get(name) ?? [] };
  }

  /** `, x`, `cross join x`, `join x on ...`, `left join x on ...` */
  #joins(): Join[] {
    const reader = this.#reader;
    const joins: Join[] = [];
    for (;;) {
      if (reader.accept(",") || reader.accept("cross", "join")) joins.push({ source: this.#source(), on: null, isLeft: false });
      else {
        const isLeft = reader.accept("left", "join");
        if (!isLeft && !reader.accept("inner", "join") && !reader.accept("join")) return joins;
        const source = this.#source();
        reader.expect("on");
        joins.push({ source, on: this.#expressions.read(), isLeft });
      }
    }
  }

  #selectBody() {
    const reader = this.#reader;
    reader.expect("select");
    const isDistinct = reader.accept("distinct");
    const distinctOn = isDistinct && reader.accept("on") ? this.#list() : null;
    const items = reader.sees("from") ? [] : this.#items();
    const source = reader.accept("from") ? this.#source() : null;
    const table = source?.table ?? null;
    const joins = source ? this.#joins() : [];
    const where = this.#where();
    const order: { by: Expression; sign: number }[] = reader.accept("order", "by")
      ? reader.list(() => ({ by: this.#expressions.read(), sign: reader.accept("desc") ? -1 : reader.accept("asc") ? 1 : 1 }))
      : [];
    const limit = reader.accept("limit") ? this.#expressions.read() : null;
    const share = reader.accept("for", "share");
    const forUpdate = reader.accept("for", "update");
    if ((share || forUpdate) && reader.accept("of")) reader.name();
    const skipLocked = reader.accept("skip", "locked");
    const maximum = items.length === 1 && items[0]?.name === "max" ? items[0] : null;
    const fits = (scope: Scope) => !where || where.run(scope) === true;

    const find = (statement: Statement, transaction: Transaction, outer: Scope | null): Scope[] => {
      const scopeOf = (row: Row): Scope => ({ alias: source?.alias ?? "", row, outer, statement });
      let found: [Holder | null, Scope][] = [];
      if (!source) found.push([null, scopeOf(NOTHING)]);
      else if (!table) found = source.rows(scopeOf(NOTHING)).map((row) => [null, scopeOf(row)]);
      else {
        for (const holder of candidates(table, where, statement, outer, source.alias)) {
          const row = transaction.visible(holder);
          if (row && (joins.length > 0 || fits(scopeOf(row)))) found.push([holder, scopeOf(row)]);
        }
      }
      for (const join of joins) found = found.flatMap(([holder, scope]) => joined(join, scope, transaction).map((view) => [holder, view]));
      if (joins.length > 0 || !table) found = found.filter(([, scope]) => fits(scope));
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
    const aliases = [source, ...joins.map((join) => join.source)].flatMap((one) => (one ? [one.alias] : []));
    return { run, find, items, aliases, table, where, share, waits: forUpdate && !skipLocked };
  }

  #insert(): Prepared {
    const reader = this.#reader;
    const table = this.#table();
    const alias = reader.accept("as") ? reader.name() : table.name;
    reader.expect("(");
    const names = reader.list(() => reader.name());
    reader.expect(")");
    const source = this.#inserted();
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
  #inserted(): { values: readonly Item[]; find: (statement: Statement, transaction: Transaction) => Scope[] } {
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
