import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { Client } from "pg";
import { OperatorError } from "#src/kernel/errors.ts";
import { createDatabase, testDatabase } from "../testing.ts";
import { type Database, isDatabaseUnavailable, notify } from "./database.ts";
import { migrate, type Migration, type MigrationSession, readMigrations } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";
import { silentLog } from "../log.ts";
import { statement } from "./statement.ts";

const server = process.env["TEST_DATABASE_URL"];
let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

function organization(slug: string) {
  return { id: randomUUID(), slug, name: slug };
}

test("values arrive alike from both databases: numbers, dates, JSON, lists and bytes", async () => {
  const { rows } = await sql`
    select 9007199254740991::bigint as big, count(*) as counted, timestamptz '2026-11-20 12:00:00.5+01' as at,
      '{"a":[1]}'::jsonb as json, array['x','y']::text[] as list, '\\x00ff'::bytea as bytes`.execute(database.db);
  const row = rows[0] as Record<string, unknown>;
  assert.deepEqual([row["big"], row["counted"]], [Number.MAX_SAFE_INTEGER, 1]);
  assert.deepEqual(row["at"], new Date("2026-11-20T11:00:00.500Z"));
  assert.deepEqual([row["json"], row["list"]], [{ a: [1] }, ["x", "y"]]);
  assert.ok(row["bytes"] instanceof Uint8Array);
  assert.deepEqual([...row["bytes"]], [0, 255]);
});

test("a text keeps the byte order mark that it begins with, in a column and in JSON (R-125, R-421)", async () => {
  const text = "\uFEFFx\uFEFF";
  const { rows } = await sql`select ${text}::text as plain, ${JSON.stringify({ text })}::jsonb as json, ''::text as empty`.execute(
    database.db,
  );
  assert.deepEqual(rows, [{ plain: text, json: { text }, empty: "" }]);
});

test("a transaction that throws leaves nothing behind", async () => {
  const fault = database.transaction(async (tx) => {
    await tx.insertInto("organizations").values(organization("rolled-back")).execute();
    throw new Error("no");
  });
  await assert.rejects(fault, /^Error: no$/);
  const found = await database.db.selectFrom("organizations").selectAll().where("slug", "=", "rolled-back").execute();
  assert.deepEqual(found, []);
});

test("a commit after a failed statement is not taken for a commit", async () => {
  const fault = database.transaction(async (tx) => {
    await tx.insertInto("organizations").values(organization("half")).execute();
    await sql`select 1 / 0`.execute(tx).catch(() => {});
  });
  await assert.rejects(fault);
  assert.deepEqual(await database.db.selectFrom("organizations").selectAll().where("slug", "=", "half").execute(), []);
});

test("a query that leaves its transaction fails at once instead of waiting for ever", { timeout: 20_000 }, async () => {
  await assert.rejects(
    database.transaction(() => sql`select 1`.execute(database.db)),
    /left the transaction/,
  );
  await assert.rejects(
    database.transaction(() => database.transaction(async () => {})),
    /left the transaction/,
  );
  let later = Promise.resolve<unknown>(null);
  const gate = Promise.withResolvers<void>();
  await database.transaction(async () => {
    later = gate.promise.then(() => sql`select 1`.execute(database.db));
  });
  gate.resolve();
  await later;
});

test("an error carries its SQLSTATE", async () => {
  const row = organization("twice");
  await database.db.insertInto("organizations").values(row).execute();
  await assert.rejects(database.db.insertInto("organizations").values(row).execute(), { code: "23505" });
});

test("a prepared statement takes and gives the values that any takes, and goes on after its error", async () => {
  const values = statement<{ row: object }>(
    "test_values",
    `select json_build_object('text', $1::text, 'number', $2::int, 'flag', $3::boolean, 'at', $4::timestamptz at time zone 'UTC',
      'list', $5::text[], 'json', $6::jsonb, 'bytes', encode($7::bytea, 'hex')) as row`,
  );
  const at = new Date("2026-11-20T11:00:00.500Z");
  const given = ["\uFEFF'x'", 7, false, at, ["a", 'b"c', null], { d: [1] }, Buffer.from([0, 255])];
  const row = { text: given[0], number: 7, flag: false, at: "2026-11-20T11:00:00.5", list: given[4], json: given[5], bytes: "00ff" };
  assert.deepEqual(await values(database.db, ...given), [{ row }]);
  const nothing = Object.fromEntries(Object.keys(row).map((key) => [key, null]));
  assert.deepEqual(await values(database.db, ...given.map(() => null)), [{ row: nothing }]);

  const put = statement<{ slug: string }>("test_insert", "insert into organizations (id, slug, name) values ($1, $2, $2) returning slug");
  assert.deepEqual(await put(database.db, randomUUID(), "put"), [{ slug: "put" }]);
  await assert.rejects(put(database.db, randomUUID(), "put"), { code: "23505", message: /organizations_slug_key/ });
  assert.deepEqual(await put(database.db, randomUUID(), "put again"), [{ slug: "put again" }]);
});

test("transactions of many callers all succeed, one after another or side by side", async () => {
  await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      database.transaction(async (tx) => {
        await tx
          .insertInto("organizations")
          .values(organization(`many-${index}`))
          .execute();
        await sql`select 1`.execute(tx);
      }),
    ),
  );
  const { rows } = await sql<{ n: number }>`select count(*) as n from organizations where slug like 'many-%'`.execute(database.db);
  assert.equal(rows[0]?.n, 30);
});

test("a notification arrives after the commit and never after a rollback", async () => {
  const heard: string[] = [];
  const arrived = Promise.withResolvers<void>();
  const stop = await database.listen("till_test", (payload) => {
    heard.push(payload);
    if (payload === "third") arrived.resolve();
  });
  await database.transaction((tx) => notify(tx, "till_test", "first"));
  await assert.rejects(
    database.transaction(async (tx) => {
      await notify(tx, "till_test", "second");
      throw new Error("rolled back");
    }),
  );
  await database.transaction((tx) => notify(tx, "till_test", "third"));
  await arrived.promise;
  assert.deepEqual(heard, ["first", "third"]);
  await stop();
});

test("two listeners of one channel are both called, and one that left no more", async () => {
  const first: string[] = [];
  const second: string[] = [];
  let arrived = Promise.withResolvers<void>();
  const stopFirst = await database.listen("till_two", (payload) => void first.push(payload));
  // Handlers are called in the order in which they came: when the last one hears, all have heard.
  const stopSecond = await database.listen("till_two", (payload) => {
    second.push(payload);
    arrived.resolve();
  });
  await notify(database.db, "till_two", "a");
  await arrived.promise;
  arrived = Promise.withResolvers<void>();
  await stopFirst();
  await notify(database.db, "till_two", "b");
  await arrived.promise;
  assert.deepEqual([first, second], [["a"], ["a", "b"]]);
  await stopSecond();
});

test("a ping is true while the database lives", async () => {
  assert.equal(await database.ping(5000), true);
});

test("a connection that was refused or cut counts as unavailable, a refused query does not (R-030)", async () => {
  await assert.rejects(openPostgres("postgres://nobody@127.0.0.1:1/none", silentLog), (error) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /^DATABASE_URL: /);
    assert.ok(isDatabaseUnavailable(error.cause));
    return true;
  });
  const refused = await sql`select nonsense`.execute(database.db).catch((error: unknown) => error);
  assert.equal(isDatabaseUnavailable(refused), false);
});

test("the migrations are applied once and a second time changes nothing", async () => {
  assert.deepEqual(await database.migrate(), []);
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(database.db);
  assert.deepEqual(
    rows.map(({ name }) => name),
    readMigrations().map(({ name }) => name),
  );
});

/** A session that records what was asked of it: enough to see the order of things, whatever the database. */
function recorder(applied: { name: string; checksum: string }[] = []): MigrationSession & { log: string[] } {
  const log: string[] = [];
  return {
    log,
    query: async (text) => ({ rows: text.startsWith("select name") ? applied : (log.push(text.slice(0, 22)), []) }),
    exec: async (text) => {
      log.push(text);
      if (text === "broken") throw new Error("syntax error");
    },
  };
}

const STEP: Migration = { name: "0002_step.sql", sql: "alter", checksum: "c" };

test("a migration that fails is rolled back and the lock is released", async () => {
  const session = recorder();
  await assert.rejects(migrate(session, [{ ...STEP, sql: "broken" }]), /syntax error/);
  assert.deepEqual(session.log.slice(-3), ["broken", "rollback", "select pg_advisory_unl"]);
});

test("a migration changed after it was applied is refused by name, one of a newer version is left alone", async () => {
  await assert.rejects(migrate(recorder([{ name: STEP.name, checksum: "other" }]), [STEP]), {
    name: "OperatorError",
    message: /0002_step\.sql was changed/,
  });
  assert.deepEqual(await migrate(recorder([{ name: "9999_future.sql", checksum: "x" }]), [STEP]), [STEP.name]);
});

test("many processes that migrate at once apply each file once", { skip: !server && "needs TEST_DATABASE_URL" }, async () => {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(database.db);
  const url = new URL(server!);
  url.pathname = `/${rows[0]!.name}`;
  const step = { name: "9000_race.sql", sql: "create table race (); select pg_sleep(0.05)", checksum: "r" };
  const applied = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const client = new Client({ connectionString: url.href });
      await client.connect();
      const done = await migrate({ query: (text, values = []) => client.query(text, [...values]), exec: (text) => client.query(text) }, [
        step,
      ]);
      await client.end();
      return done;
    }),
  );
  assert.deepEqual(applied.flat(), ["9000_race.sql"]);
});

test(
  "a prepared statement goes on when a migration of a newer process has changed what it selects",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    await sql`create table growing (id integer)`.execute(database.db);
    await sql`insert into growing values (1)`.execute(database.db);
    const all = statement<object>("all_growing", "select * from growing");
    const onEach = (work: (tx: Database["db"]) => Promise<unknown>) =>
      Promise.allSettled(Array.from({ length: 10 }, () => database.transaction(work)));
    await onEach(all);
    await sql`alter table growing add column more integer`.execute(database.db);
    const answers = await Promise.all(Array.from({ length: 10 }, () => all(database.db)));
    assert.deepEqual(
      answers,
      answers.map(() => [{ id: 1, more: null }]),
    );
    // One that hears of it in a transaction fails with that, and only once.
    await sql`alter table growing add column most integer`.execute(database.db);
    await onEach(all);
    assert.ok((await onEach(all)).every(({ status }) => status === "fulfilled"));
  },
);

test(
  "what a database or its user has for defaults neither lets a commit be lost nor makes a transaction fail beside another (R-146)",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const { url, drop } = await createDatabase(server!);
    const name = new URL(url).pathname.slice(1);
    const admin = new Client({ connectionString: server });
    await admin.connect();
    const settingsWith = async (synchronousCommit: string) => {
      await admin.query(`alter database ${name} set synchronous_commit = ${synchronousCommit}`);
      const opened = await openPostgres(url, silentLog);
      const { rows } = await sql`select current_setting('synchronous_commit') as synchronous_commit,
        current_setting('transaction_isolation') as isolation, timestamptz '2026-11-20 12:00:00.5+01' as at`.execute(opened.db);
      await opened.close();
      return rows[0];
    };
    await admin.query(`alter database ${name} set default_transaction_isolation = serializable`);
    await admin.query(`alter database ${name} set datestyle = German`);
    const relied = { synchronous_commit: "on", isolation: "read committed", at: new Date("2026-11-20T11:00:00.500Z") };
    assert.deepEqual(await settingsWith("off"), relied);
    assert.deepEqual(await settingsWith("remote_apply"), { ...relied, synchronous_commit: "remote_apply" }, "more than is needed is left");
    await admin.end();
    await drop();
  },
);

test(
  "a database that cannot hold every text is refused, in one sentence (R-421)",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const { url, drop } = await createDatabase(server!, "encoding 'LATIN1' locale 'C'");
    const sentence =
      /^OperatorError: DATABASE_URL: the database has the encoding LATIN1; it must be UTF8, to hold every name and description\.$/;
    await assert.rejects(openPostgres(url, silentLog), sentence);
    await drop();
  },
);

test(
  "a user who may not make tables is told so by migrating, in one sentence",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const { url, drop } = await createDatabase(server!);
    const theirs = await openPostgres(`${url}?options=-c%20role=pg_monitor`, silentLog);
    const sentence = /^OperatorError: DATABASE_URL: its user may not make tables in this database; let it own the database\.$/;
    await assert.rejects(theirs.migrate(), sentence);
    await theirs.close();
    await drop();
  },
);

test(
  "a listener whose connection is cut comes back and says that it may have missed something",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const gap = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<string>();
    const stop = await database.listen(
      "till_cut",
      (payload) => heard.resolve(payload),
      () => gap.resolve(),
    );
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'voicetill listener'`.execute(database.db);
    await gap.promise;
    await notify(database.db, "till_cut", "back");
    assert.equal(await heard.promise, "back");
    await stop();
  },
);

test(
  "a server that takes no writes counts as unavailable, and one that takes them again is written to at once: a failover leaves connections behind (R-030)",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const { url, drop } = await createDatabase(server!);
    const name = new URL(url).pathname.slice(1);
    const admin = new Client({ connectionString: server });
    await admin.connect();
    await admin.query(`alter database ${name} set default_transaction_read_only = on`);
    const standby = await openPostgres(url, silentLog);
    const writes = () =>
      Promise.allSettled(Array.from({ length: 20 }, () => sql`create table t${sql.raw(String(made++))} ()`.execute(standby.db)));
    let made = 0;
    const refused = await writes();
    assert.ok(refused.every((write) => write.status === "rejected" && isDatabaseUnavailable(write.reason)));
    assert.equal(await standby.ping(5000), false);
    await admin.query(`alter database ${name} reset default_transaction_read_only`);
    assert.equal(await standby.ping(5000), true);
    assert.ok((await writes()).every(({ status }) => status === "fulfilled"));
    await standby.close();
    await admin.end();
    await drop();
  },
);

test(
  "a server that takes no connection counts as unavailable, whatever its reason, and serves again once it takes one (R-030)",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const { url, drop } = await createDatabase(server!);
    const name = new URL(url).pathname.slice(1);
    const admin = new Client({ connectionString: server });
    await admin.connect();
    const closed = await openPostgres(url, silentLog);
    await admin.query(`alter database ${name} allow_connections false`);
    await admin.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", [name]);
    // The first may still have a connection that has ended.
    await sql`select 1`.execute(closed.db).catch(() => {});
    await assert.rejects(
      sql`select 1`.execute(closed.db),
      (error) => isDatabaseUnavailable(error) && (error as { code?: unknown }).code === "55000",
    );
    await admin.query(`alter database ${name} allow_connections true`);
    await sql`select 1`.execute(closed.db);
    await closed.close();
    await admin.end();
    await drop();
  },
);

test("a statement that was given up for others' sake, and wrote nothing, counts as one that found no database: it may be tried again (R-030)", async () => {
  for (const code of ["25P03", "25P04", "40001", "40P01", "55P03", "57014"]) {
    const statement = sql`do ${sql.lit(`begin raise exception 'not now' using errcode = '${code}'; end`)}`;
    await assert.rejects(statement.execute(database.db), isDatabaseUnavailable, code);
  }
  for (const code of ["23505", "22021", "42703"]) {
    const statement = sql`do ${sql.lit(`begin raise exception 'never' using errcode = '${code}'; end`)}`;
    await assert.rejects(statement.execute(database.db), (error) => !isDatabaseUnavailable(error), code);
  }
});

test("a database that has refused a write for want of space is not ready until it takes such a write again (R-056)", async () => {
  assert.equal(await database.ping(5000), true);
  // A full disk as it is told: whatever needs new pages is refused, what is changed in place is not.
  await sql`create function refuse() returns event_trigger language plpgsql
    as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`.execute(database.db);
  await sql`create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE', 'CREATE TABLE AS')
    execute function refuse()`.execute(database.db);
  await assert.rejects(sql`create table more ()`.execute(database.db), isDatabaseUnavailable);
  await database.db.updateTable("organizations").set({ name: "changed" }).execute();
  assert.deepEqual([await database.ping(5000), await database.ping(5000)], [false, false]);
  await sql`drop event trigger full_disk`.execute(database.db);
  assert.deepEqual([await database.ping(5000), await database.ping(5000)], [true, true]);
});

test(
  "a connection that is lost in the middle of a transaction fails the transaction and nothing else",
  { skip: !server && "needs TEST_DATABASE_URL" },
  async () => {
    const admin = new Client({ connectionString: server });
    await admin.connect();
    const failing = database.transaction(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      // Waits until it is gone: the connection hears of it between two statements.
      await admin.query("select pg_terminate_backend($1, 5000)", [rows[0]!.pid]);
      await sql`select 1`.execute(tx);
    });
    await assert.rejects(failing, isDatabaseUnavailable);
    await admin.end();
    assert.equal(await database.ping(2000), true);
  },
);
