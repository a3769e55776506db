import { Kysely, PostgresDialect } from "kysely";
import { Client, type Pool, TypeOverrides } from "pg";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Log } from "../log.ts";
import { batched } from "./batch.ts";
import { connectionFault, ownerFault } from "./connection-fault.ts";
import { answersWithin, type Database } from "./database.ts";
import { DiskSpace } from "./disk-space.ts";
import { migrate } from "./migrate.ts";
import { PostgresListener } from "./postgres-listener.ts";
import { openPool } from "./postgres-pool.ts";
import type { Tables } from "./tables.ts";
import { TransactionScope } from "./transaction-scope.ts";

const OLDEST_VERSION = 150_000;
const INT8_OID = 20;

/** int8 arrives as a number, as from PGlite: no column of ours reaches 2^53. */
const types = new TypeOverrides();
types.setTypeParser(INT8_OID, Number);

/** The driver verifies the certificate in each of these modes, and would warn that a later version of it may not. */
const VERIFYING = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Opens PostgreSQL 15 or later. Throws OperatorError when the server does not take the connection, is older, or the database is not in UTF-8. */
export async function openPostgres(address: string, log: Log): Promise<Database> {
  const connectionString = address.includes("uselibpqcompat=true") ? address : address.replace(VERIFYING, "$1verify-full");
  const scope = new TransactionScope();
  const space = new DiskSpace();
  const { pool, connect } = openPool({ connectionString, types, application_name: "voicetill", max: 10 }, log, space);
  try {
    await checkServer(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  const listener = new PostgresListener(connectionString);
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: {
        options: pool.options,
        end: () => pool.end(),
        connect: async () => {
          scope.assertOutside();
          return await connect();
        },
      },
    }),
  });

  return {
    db,
    kind: "postgres",
    transaction: (work) => scope.transaction(db, work),
    batched: (work) => batched(scope, (items) => work(db, items)),
    listen: (channel, onPayload, onGap) => listener.listen(channel, onPayload, onGap),
    migrate: () => migrateOn(connectionString),
    ping: (timeoutMs) => answersWithin(timeoutMs, checkWritable(pool, space)),
    close: async () => {
      await listener.close();
      await db.destroy();
      if (!pool.ended) await pool.end();
    },
  };
}

/** Rejects also when the server takes no writes; its connection is left then, because the next may lead to another one. */
async function checkWritable(pool: Pool, space: DiskSpace): Promise<void> {
  const client = await pool.connect();
  let isWritable = false;
  try {
    const { rows } = await client.query<{ read_only: string }>("select current_setting('transaction_read_only') as read_only");
    isWritable = rows[0]?.read_only === "off";
    if (isWritable) await space.check((statement) => client.query(statement));
  } finally {
    client.release(!isWritable);
  }
  if (!isWritable) throw new Error("the server takes no writes");
}

/** A client without the pool's time limits: an index on a large table takes as long as it takes. */
async function migrateOn(connectionString: string): Promise<string[]> {
  const client = new Client({ connectionString, application_name: "voicetill migrate" });
  // A lost connection fails the query under way; the event that says so again must not end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    return await migrate({
      query: (sql, parameters = []) => client.query(sql, [...parameters]),
      exec: (sql) => client.query(sql),
    });
  } catch (cause) {
    throw ownerFault(cause);
  } finally {
    await client.end();
  }
}

async function checkServer(pool: Pool): Promise<void> {
  const facts = "select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding";
  let found: { version: number; encoding: string };
  try {
    found = (await pool.query<typeof found>(facts)).rows[0]!;
  } catch (cause) {
    throw new OperatorError(`DATABASE_URL: ${connectionFault(cause)}.`, { cause });
  }
  const { version, encoding } = found;
  if (version < OLDEST_VERSION) {
    throw new OperatorError(`DATABASE_URL: the server is PostgreSQL ${Math.floor(version / 10_000)}; version 15 or later is needed.`);
  }
  if (encoding !== "UTF8") {
    throw new OperatorError(
      `DATABASE_URL: the database has the encoding ${encoding}; it must be UTF8, to hold every name and description.`,
    );
  }
}
