import { readdirSync, readFileSync } from "node:fs";
import { type Expression, Expressions } from "./expressions.ts";
import { type Column, Table } from "./table.ts";
import { Reader } from "./tokens.ts";
import { cast } from "./values.ts";

/** The tables as `migrations/` makes them: columns, defaults, keys, checks. Indexes and references are left out: they decide nothing here. */
export function readMigrations(): Map<string, Table> {
  const folder = new URL("../../migrations/", import.meta.url);
  const tables = new Map<string, Table>();
  for (const name of readdirSync(folder).sort()) {
    for (const statement of statementsOf(readFileSync(new URL(name, folder), "utf8"))) apply(statement, tables);
  }
  return tables;
}

function statementsOf(text: string): string[] {
  return text
    .replaceAll(/--[^\n]*/g, "")
    .split(";")
    .map((statement) => statement.trim());
}

/** Reads `create table` and `alter table ... add column` and `rename column`; everything else makes no table and no column. */
function apply(statement: string, tables: Map<string, Table>): void {
  const created = /^create\s+(?:unlogged\s+)?table\s+/i.exec(statement);
  const altered = /^alter\s+table\s+/i.exec(statement);
  if (!created && !altered) return;
  const reader = new Reader(statement.slice((created ?? altered)![0].length));
  const name = reader.name();
  if (created) {
    const table = new Table(name);
    tables.set(name, table);
    reader.expect("(");
    reader.list(() => readPart(reader, table));
    return;
  }
  const table = tables.get(name);
  if (table && reader.accept("rename", "column")) renameColumn(reader, table);
  else if (table) reader.list(() => reader.accept("add", "column") && readColumn(reader, table));
}

function renameColumn(reader: Reader, table: Table): void {
  const from = reader.name();
  reader.expect("to");
  const to = reader.name();
  const column = table.columns.get(from) ?? reader.fail(`no column ${from}`);
  table.columns.delete(from);
  table.columns.set(to, { ...column, name: to });
  // The checks were compiled with the old name.
  for (const [index, check] of table.checks.entries()) {
    const run: typeof check.run = (scope) => check.run({ ...scope, row: { ...scope.row, [from]: scope.row[to] ?? null } });
    table.checks[index] = { ...check, run };
  }
}

function readPart(reader: Reader, table: Table): unknown {
  const columns = () => {
    reader.expect("(");
    const names = reader.list(() => reader.name());
    reader.expect(")");
    return names;
  };
  if (reader.accept("primary", "key")) return table.unique.push(columns());
  if (reader.accept("unique")) return table.unique.push(columns());
  return readColumn(reader, table);
}

/** A literal in single quotes is text to the reader; to a column of an array it is one. */
function defaultOf(type: string, given: Expression): Expression {
  return type.endsWith("[]") ? { ...given, run: (scope) => cast(given.run(scope), type) } : given;
}

function readColumn(reader: Reader, table: Table): void {
  const expressions = new Expressions(reader, () => reader.fail("a select in a table's definition"));
  const name = reader.name();
  const type = reader.name() + (reader.accept("[", "]") ? "[]" : "");
  const column: Column = { name, type, identity: false, required: false };
  for (;;) {
    if (reader.accept("not", "null")) column.required = true;
    else if (reader.accept("primary", "key")) table.unique.push([name]);
    else if (reader.accept("unique")) table.unique.push([name]);
    else if (reader.accept("default")) column.fallback = defaultOf(type, expressions.read());
    else if (reader.accept("generated", "always", "as", "identity")) column.identity = true;
    else if (reader.accept("references")) {
      reader.name();
      reader.expect("(");
      reader.name();
      reader.expect(")");
      reader.accept("on", "delete", "cascade");
    } else if (reader.accept("check")) table.checks.push(expressions.read());
    else break;
  }
  table.columns.set(name, column);
}
