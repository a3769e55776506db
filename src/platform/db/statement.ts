import { CompiledQuery, type RawBuilder } from "kysely";
import type { Db } from "./database.ts";

/** Names of the prepared statements, by their text. */
const names = new Map<string, string>();

/**
 * A statement whose text never changes, for the few places that are asked for all the time: nothing is built for each use,
 * and PostgreSQL parses it once a connection, under `name`. It takes part in the transaction of the handle it is given.
 * `Row` is what it selects, with int8 as number and timestamptz as Date on both databases.
 */
export function statement<Row>(name: string, text: string): (db: Db, ...parameters: unknown[]) => Promise<Row[]> {
  names.set(text, name);
  return async (db, ...parameters) => (await db.executeQuery<Row>(CompiledQuery.raw(text, parameters))).rows;
}

/**
 * The same for a statement that is put together from parts: each text is prepared under `name` and a number. The texts that the parts
 * can make must be few, whatever the values.
 */
export async function runPrepared<Row>(db: Db, name: string, query: RawBuilder<Row>): Promise<Row[]> {
  const compiled = query.compile(db);
  if (!names.has(compiled.sql)) names.set(compiled.sql, `${name}_${names.size}`);
  return (await db.executeQuery<Row>(compiled)).rows;
}

/** The name under which `text` is to be prepared; undefined for any other text. */
export function preparedName(text: string): string | undefined {
  return names.get(text);
}
