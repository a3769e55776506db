import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { addNotes, adoptOpenAttempts, decisionOf, findAttempt, lastDecline } from "#src/payments/attempts.ts";
import { beginAttempt, endAttempt } from "#src/payments/transitions.ts";
import { claimReversals, requireReversalOfUnknown, endReversal, postponeReversal } from "#src/payments/reversal-rows.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { type Database, type Db, livingProcesses, silentLog, startLease } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { createSessions, type NewSession } from "#src/sessions/index.ts";
import { notifyProgress } from "#src/sessions/progress.ts";
import { overdueIds } from "#src/sessions/repository.ts";
import { orphans } from "#src/sessions/sweeper.ts";
import { claimDueEvent, keepBody, markDelivered, outboxOf, markWaiting, projectsWithDueEvents, reviveEvent } from "#src/webhooks/events.ts";
import { authenticate, createKeyDigest, newApiKey, visibleParts } from "#src/projects/api-key-authentication.ts";
import { keepUnmatched, listUnmatched } from "#src/voice/unmatched.ts";
import { beginTry, endTry, isLate, triesOf } from "#src/widget/tries.ts";
import { ModelDatabase } from "../prove/database/index.ts";
import { SeededRandom } from "../prove/random.ts";
import { databaseOver } from "../prove/world/database-link.ts";
import { revokeKey } from "../prove/world/api-keys.ts";

const ORGANIZATION = "00000000-0000-4000-8000-000000000001";
const PROJECT = "00000000-0000-4000-8000-00000000000a";
const ATTEMPTS = ["00000000-0000-4000-8000-0000000000a1", "00000000-0000-4000-8000-0000000000a2"] as const;
const SCOPE = { organizationId: ORGANIZATION, environment: "test" } as const;

const NEW: NewSession = {
  ...SCOPE,
  projectId: PROJECT,
  channel: "voice",
  mode: "charge",
  gateway: "stripe",
  amountMinor: 4995,
  currency: "USD",
  caller: "+14155550100",
  description: "it's",
  callback: null,
  memory: null,
  connectedAccount: null,
  billingAddress: { street: "1 Main", city: "X", state: "CA", zip: "94105", country: "US", first_name: null, last_name: null },
  ttlSeconds: 300,
};

/** The model with lines that neither delay nor break. */
function modelDatabase(): Database {
  const link = { delay: async () => {}, databaseFault: () => "none" as const, opened() {}, closed() {}, listen: () => () => {} };
  return databaseOver(link, new ModelDatabase(() => Date.now()));
}

/** Every statement of sessions, payments, webhooks and the widget, and what each of them answered. */
async function play(database: Database): Promise<unknown[]> {
  const { db } = database;
  const results: unknown[] = [];
  const note = async (what: Promise<unknown>) => {
    results.push(await what.catch((error: unknown) => `refused: ${String((error as { code?: unknown }).code)}`));
  };
  await db.insertInto("organizations").values({ id: ORGANIZATION, slug: "acme", name: "Acme" }).execute();
  const project = {
    id: PROJECT,
    organization_id: ORGANIZATION,
    slug: "shop",
    name: "Shop",
    currency: "USD",
    language: "en",
    country: "US",
    voice: '{"pay_url": true}',
  };
  await db.insertInto("projects").values(project).execute();
  await db
    .insertInto("webhook_endpoints")
    .values({ project_id: PROJECT, url: "https://a.example", secrets: Buffer.from("none") })
    .execute();
  let events = 0;
  const eventOf = async (id: string) =>
    (await db.selectFrom("webhook_events").select("id").where("session_id", "=", id).executeTakeFirstOrThrow()).id;
  const sessions = createSessions({
    database,
    clock: systemClock,
    random: new SeededRandom(7),
    log: silentLog,
    outbox: outboxOf(() => `evt_${++events}`),
  });
  // Callers of their own: sessions made in the same millisecond have no order.
  const create = async (caller: string) => (await sessions.create(db, { ...NEW, caller })).id;
  const [a, b, c, d] = [
    await create("+14155550101"),
    await create("+14155550102"),
    await create("+14155550103"),
    await create("+14155550104"),
  ];
  const expire = (id: string) =>
    db
      .updateTable("sessions")
      .set({ expires_at: sql<Date>`clock_timestamp() - interval '1 second'` })
      .where("id", "=", id)
      .execute();

  await note(sessions.find(db, a, SCOPE));
  await note(sessions.find(db, a, { ...SCOPE, environment: "live" }));
  await note(sessions.waitingByCallers(db, ["+14155550103", "+14155550104"], null));
  await note(sessions.waitingByCallers(db, ["+14155550103"], PROJECT));
  await note(sessions.waitingByCallers(db, ["+14155550103"], ATTEMPTS[0]));
  await note(sessions.claim(a, { owner: "one", callId: "call" }));
  await note(sessions.claim(a, { owner: "two", callId: "call" }));
  await note(sessions.cancel(b, SCOPE));
  await note(sessions.cancel(b, SCOPE));
  await note(sessions.apply(c, "expire"));
  await expire(c);
  await note(sessions.find(db, c));
  await note(overdueIds(db, 10));
  await note(sessions.claim(c, { owner: "one", callId: "call" }));
  await note(sessions.apply(c, "expire"));
  await note(sessions.findByCaller(db, SCOPE, "+14155550103"));
  await note(notifyProgress(db, [`${a} asking_cvv 1`, a]));

  const session = (await sessions.find(db, a))!;
  const attempt = (id: string) => ({
    id,
    session,
    connectedAccount: null,
    credentialVersion: 1,
    endpoint: "https://stripe.example",
    cardBrand: "visa",
    cardLast4: "4242",
    owner: "one",
    deadlineMs: 60_000,
  });
  for (const [index, id] of ATTEMPTS.entries()) {
    await note(beginAttempt(db, sessions, attempt(id)));
    await note(beginAttempt(db, sessions, attempt(id)));
    await note(sessions.cancel(a, SCOPE));
    await note(addNotes(db, id, { pm: "pm_1" }).then(() => addNotes(db, id, { pi: "pi_1" })));
    // The two times of its row are taken one after the other.
    const rounded = (ms: number) => Math.round(ms / 1_000);
    await note(
      findAttempt(db, id).then(
        (found) => found && { ...found, ageMs: found.ageMs >= 0, deadlineMs: rounded(found.deadlineMs), trace: found.trace.notes },
      ),
    );
    await note(adoptOpenAttempts(db, "one", { busy: new Set([id]), reconcilable: ["stripe"] }, []));
    await note(livingProcesses(db));
    await note(adoptOpenAttempts(db, "two", { busy: new Set(), reconcilable: ["stripe"] }, ["one"]));
    await note(adoptOpenAttempts(db, "two", { busy: new Set(), reconcilable: ["stripe"] }, []));
    const [end, moves] = [
      { id, sessionId: a },
      { processor: { id: "x" }, cardBrand: "visa", errorMessage: null },
    ];
    const approved = { outcome: "approved", reason: null, notes: { charge: "ch_1" } } as const;
    if (index === 0) {
      const declined = { outcome: "declined", declineCode: "card_declined", reason: null, notes: {} } as const;
      await note(endAttempt(db, sessions, end, declined, "retry", moves));
      await note(endAttempt(db, sessions, end, declined, "retry", moves));
    } else {
      const lost = { outcome: "unknown", reason: "lost", givenUp: false, notes: { tries: "1" } } as const;
      await note(endAttempt(db, sessions, end, lost, "lose", {}));
      await note(endAttempt(db, sessions, end, lost, "lose", {}));
    }
    await note(endAttempt(db, sessions, { ...end, id: PROJECT }, approved, "approve", moves));
    await note(decisionOf(db, id));
    await note(lastDecline(db, a));
    await note(requireReversalOfUnknown(db, id, "nobody knows"));
    await note(endAttempt(db, sessions, end, approved, "approve", moves).then(async (written) => [written, await decisionOf(db, id)]));
    await note(claimReversals(db, ATTEMPTS[1]).then((due) => due.map(({ id: claimed, tries, ageMs }) => [claimed, tries, ageMs >= 0])));
    await note(claimReversals(db).then((due) => due.map(({ tries }) => tries)));
    await note(
      postponeReversal(db, id, 0)
        .then(() => claimReversals(db))
        .then((due) => due.map(({ tries }) => tries)),
    );
    await note(endReversal(db, id, "done", "voided"));
    await note(requireReversalOfUnknown(db, id, "nobody knows").then(() => decisionOf(db, id)));
    await note(endAttempt(db, sessions, end, approved, "approve", moves).then(async (written) => [written, await decisionOf(db, id)]));
  }
  await note(sessions.apply(a, "fail"));
  const paid = await create("+14155550105");
  await sessions.claim(paid, { owner: "one", callId: "call" });
  const third = { ...attempt("00000000-0000-4000-8000-0000000000a3"), session: { id: paid } };
  await note(beginAttempt(db, sessions, third));
  const success = { outcome: "approved", reason: "because", notes: { charge: "ch_1" } } as const;
  for (const time of ["first", "again"])
    await note(endAttempt(db, sessions, { id: third.id, sessionId: paid }, success, "approve", { errorMessage: time }));
  await note(sessions.find(db, paid));
  const stored = await create("+14155550106");
  await sessions.claim(stored, { owner: "one", callId: "call" });
  const fourth = { ...attempt("00000000-0000-4000-8000-0000000000a4"), session: { id: stored } };
  await note(beginAttempt(db, sessions, fourth));
  const perhaps = { outcome: "declined", declineCode: "gateway_unavailable", reason: null, mayBeStored: true, notes: {} } as const;
  await note(endAttempt(db, sessions, { id: fourth.id, sessionId: stored }, perhaps, "fail", {}).then(() => decisionOf(db, fourth.id)));
  await note(claimReversals(db, fourth.id).then((due) => due.map(({ id: claimed, tries, ageMs }) => [claimed, tries, ageMs >= 0])));

  await note(projectsWithDueEvents(db, 0));
  await note(claimDueEvent(db, PROJECT, "live"));
  for (let index = 0; index < 4; index++) await note(claimDueEvent(db, PROJECT, "others"));
  await note(markWaiting(db, { id: await eventOf(a), tries: 1 }, "500", 0).then(() => claimDueEvent(db, PROJECT, "others")));
  const awaited = { id: await eventOf(a), tries: 2 };
  await note(markWaiting(db, { ...awaited, tries: 1 }, "500", 0));
  await note(markWaiting(db, awaited, "500", 60_000).then(() => claimDueEvent(db, PROJECT, "others", { ...awaited, tries: 1 })));
  await note(claimDueEvent(db, PROJECT, "others", awaited));
  await note(markDelivered(db, await eventOf(a), "200").then(() => claimDueEvent(db, PROJECT, "others")));
  await note(reviveEvent(db, await eventOf(a)));
  await note(reviveEvent(db, "evt_none"));
  await note(keepBody(db, await eventOf(b), '{"b":1,"a":2}'));

  // A transaction that waits for the other's row looks at it again when it gets it (READ COMMITTED).
  const [claimed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = database.transaction(async (tx) => {
    await sessions.transition(tx, d, "claim", { claimedBy: "dead", callId: "call" });
    claimed.resolve();
    await gate.promise;
  });
  await claimed.promise;
  const second = sessions.cancel(d, SCOPE);
  gate.resolve();
  await first;
  await note(second);
  await note(rolledBack(database, (tx) => sessions.transition(tx, d, "release")));

  const stop = await startLease({ database, clock: systemClock, owner: "one", roles: "voice", log: silentLog });
  await note(orphans(database));
  for (const calls of [[], ["call"]]) await note(orphans(database, { owner: "one", calls: () => calls }));
  await stop();
  for (const nonce of ["one", "one", "two"]) {
    await note(database.transaction((tx) => beginTry(tx, b, nonce)));
    await note(triesOf(db, b, nonce));
  }
  for (const nonce of ["two", "one", "one"]) await note(endTry(db, b, nonce).then(() => triesOf(db, b, null)));
  for (const nonce of ["one", "two", "three", "four", "five", "six"]) {
    await note(database.transaction((tx) => beginTry(tx, b, nonce)));
    await note(endTry(db, b, nonce).then(() => triesOf(db, b, nonce)));
  }
  await note(database.transaction((tx) => beginTry(tx, c, "its time is over")));
  await note(triesOf(db, c, "one"));
  for (const id of [a, c]) await note(isLate(db, id));
  // Two at once, in two transactions: the second waits for the first one's row and looks at it again.
  const [left, goOn] = [Promise.withResolvers<number | null>(), Promise.withResolvers<void>()];
  const whole = database.transaction(async (tx) => {
    left.resolve(await beginTry(tx, d, "left"));
    await goOn.promise;
  });
  await note(left.promise);
  const right = database.transaction((tx) => beginTry(tx, d, "right"));
  goOn.resolve();
  await whole;
  await note(right);

  await note(keepUnmatched(db, { callId: "call", source: "192.0.2.1", misses: [{ rule: "From", value: "16", why: "no", readings: [] }] }));
  await note(listUnmatched(db, 2));

  const digestOf = createKeyDigest(new Uint8Array(32));
  const key = newApiKey(new SeededRandom(8), "test");
  const shown = { ...visibleParts(key), digest: digestOf(key), scopes: ["sessions:read"] };
  await db
    .insertInto("api_keys")
    .values({ id: PROJECT, organization_id: ORGANIZATION, name: "key", mode: "test", ...shown })
    .execute();
  await note(authenticate(db, key, digestOf));
  await note(authenticate(db, newApiKey(new SeededRandom(9), "test"), digestOf));
  await revokeKey(db, PROJECT);
  await note(authenticate(db, key, digestOf));

  for (const table of ["sessions", "payment_attempts", "webhook_events", "audit_log", "widget_charges"] as const) {
    await note(
      db
        .selectFrom(table)
        .selectAll()
        .orderBy(table === "webhook_events" || table === "widget_charges" ? "session_id" : "id")
        .execute(),
    );
  }
  return results;
}

async function rolledBack(database: Database, work: (tx: Db) => Promise<unknown>): Promise<unknown> {
  return await database.transaction(async (tx) => {
    await work(tx);
    throw Object.assign(new Error("no"), { code: "rolled back" });
  });
}

/** Without what differs from run to run: the times themselves. */
const comparable = (results: unknown) =>
  JSON.parse(JSON.stringify(results).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)"/g, '"a time"')) as unknown;

describe("the simulation's model of the database", () => {
  let real: Database;
  before(async () => {
    real = await testDatabase();
  });
  after(() => real.close());

  test("answers every statement of sessions, payments, webhooks and the widget as the real database does", async () => {
    const [expected, results] = [comparable(await play(real)), comparable(await play(modelDatabase()))];
    assert.deepEqual(results, expected);
  });

  test("refuses a statement that it cannot read, instead of guessing", async () => {
    const { db } = modelDatabase();
    await assert.rejects(sql`select count(*) from sessions group by status`.execute(db), /cannot read this SQL/);
    await assert.rejects(sql`truncate sessions`.execute(db), /cannot read this SQL/);
  });
});
