import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { Client } from "pg";
import { migrate, readMigrations } from "#src/platform/db/migrate.ts";
import { createDatabase } from "#src/platform/testing.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { claimDueEvent, outboxOf, projectsWithDueEvents } from "#src/webhooks/events.ts";

/** What the version before this one asks of the database while it runs beside it, and after a step back: its statements as it had them. */

const server = process.env["TEST_DATABASE_URL"];
let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture(outboxOf(() => `evt_${randomUUID()}`));
  const endpoint = { project_id: fixture.projectId, url: "https://merchant.example", secrets: Buffer.from("none") };
  await fixture.database.db.insertInto("webhook_endpoints").values(endpoint).execute();
});
after(() => fixture.close());

test("its worker does not take an event whose body is not made yet, which one of this version takes at once (R-285)", async () => {
  const { db } = fixture.database;
  const due = sql`delivered_at is null and dead_at is null and next_try_at <= clock_timestamp() + interval '1 second'`;
  await fixture.sessions.apply((await fixture.create()).id, "cancel");
  assert.deepEqual((await sql`select id from webhook_events where ${due}`.execute(db)).rows, []);
  assert.deepEqual(await projectsWithDueEvents(db, 0), [{ projectId: fixture.projectId, waitMs: 0 }]);
  assert.equal((await claimDueEvent(db, fixture.projectId, "others"))?.tries, 1);
  assert.equal(await claimDueEvent(db, fixture.projectId, "others"), null, "claimed");
});

test("each replays the other's responses byte for byte (R-144)", async () => {
  const { database, sessions, projectId, scope } = fixture;
  const name = (key: string) => ({ apiKeyId: scope.organizationId, path: "/v1/sessions", key });
  const answer = '{"session_id":"s","status":"created","created_at":"2026-11-23T10:00:00.120Z"}';
  await sql`insert into idempotency_keys (api_key_id, path, key, request, status, answer)
    values (${scope.organizationId}, '/v1/sessions', 'before', decode('00', 'hex'), 201, ${answer})`.execute(database.db);
  assert.equal((await sessions.findStoredResponse(database.db, name("before")))?.text, answer);

  const terms = { environment: "test", channel: "voice", mode: "charge", gateway: "stripe", amountMinor: 5000, currency: "USD" } as const;
  const none = { caller: null, description: null, callback: null, memory: null, connectedAccount: null, billingAddress: null };
  const made = await sessions.createIdempotent(
    { ...terms, ...none, projectId, organizationId: scope.organizationId, ttlSeconds: 300 },
    {
      ...name("now"),
      request: Buffer.from([0]),
      status: 201,
      response: (id) => ({ session_id: id, expires_at: null, phone_number: null, created_at: null }),
    },
  );
  const { rows } = await sql<{ answer: string }>`select answer from idempotency_keys where key = 'now'`.execute(database.db);
  assert.equal(rows[0]?.answer, made?.text);
  const { session_id, expires_at, phone_number, created_at } = JSON.parse(made!.text) as Record<string, string | null>;
  const session = (await sessions.find(database.db, session_id!))!;
  assert.deepEqual([expires_at, phone_number, created_at], [session.expiresAt.toISOString(), null, session.createdAt.toISOString()]);
});

test("a response that it kept is the same after the migrations (R-144)", { skip: !server && "needs TEST_DATABASE_URL" }, async (t) => {
  const { url, drop } = await createDatabase(server!);
  const client = new Client({ connectionString: url });
  t.after(() => client.end().then(drop));
  await client.connect();
  const session = {
    query: (text: string, values: readonly unknown[] = []) => client.query(text, [...values]),
    exec: (text: string) => client.query(text),
  };
  await migrate(
    session,
    readMigrations().filter(({ name }) => name < "0014"),
  );
  const answers = [
    '"created_at":"2026-11-23T10:00:00.120Z"',
    '"expires_at":"2026-11-23T10:30:00.000Z","x":null,"created_at":"2026-11-23T10:00:00.000Z"',
  ];
  const [one, other] = answers.map((fields) => `{"session_id":"s",${fields}}`);
  await client.query(
    "insert into idempotency_keys (api_key_id, path, key, request, status, answer) select gen_random_uuid(), '/', answer, '', 201, answer from unnest($1::text[]) as answer",
    [[one, other]],
  );
  await migrate(session);
  const { rows } = await client.query<{ answer: string }>("select answer from idempotency_keys where key = answer");
  assert.deepEqual(new Set(rows.map(({ answer }) => answer)), new Set([one, other]));
});

test("its rate limits go on counting", async () => {
  const { rows } = await sql<{ hits: number }>`insert into rate_buckets as counted (bucket, window_start, hits)
    values ('b', date_bin('5 seconds', clock_timestamp(), timestamptz 'epoch'), 1)
    on conflict (bucket, window_start) do update set hits = counted.hits + excluded.hits returning hits`.execute(fixture.database.db);
  assert.equal(rows[0]?.hits, 1);
});
