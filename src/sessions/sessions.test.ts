import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { sql } from "kysely";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { type Db, silentLog } from "#src/platform/index.ts";
import { type Fixture, sessionsFixture } from "./testing.ts";
import { createSessions } from "./index.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());
beforeEach(async () => {
  await fixture.forgetFinals();
});

const call = { owner: "process-1", callId: "call-1" };

test("a session expires exactly its life after it was made, to the millisecond (R-159)", async () => {
  const session = await fixture.create({ ttlSeconds: 300 });
  assert.equal(session.expiresAt.getTime() - session.createdAt.getTime(), 300_000);
  assert.equal(session.updatedAt.getTime(), session.createdAt.getTime());
  assert.equal(session.status, "PENDING");
  assert.equal(session.completedAt, null);
  assert.deepEqual(await fixture.sessions.find(fixture.database.db, session.id), session);
});

test("everything a session was made with is read back (R-411)", async () => {
  const billingAddress = { street: "1 Rue É", city: "Xá", state: "CA", zip: "94105", country: "US", first_name: null, last_name: "O'Neil" };
  const given = {
    amountMinor: 99_999_999_99,
    description: "naïve 🧾 \u2028",
    callback: "sip:a@b",
    memory: "m",
    connectedAccount: "acct_1",
    billingAddress,
  };
  const { id } = await fixture.create(given);
  const session = await fixture.sessions.find(fixture.database.db, id);
  assert.partialDeepStrictEqual(session, {
    ...given,
    projectSlug: "shop",
    caller: "+14155550100",
    mode: "charge",
    gateway: "stripe",
    revision: 1,
  });
});

test("sessions asked for at once are each made whole, and one that cannot be made fails alone (R-146, R-159)", async () => {
  const { database, sessions, projectId, scope } = fixture;
  const given = (n: number) => ({
    organizationId: scope.organizationId,
    projectId: n === 3 ? randomUUID() : projectId,
    environment: "test" as const,
    channel: "voice" as const,
    mode: "charge" as const,
    gateway: "stripe" as const,
    amountMinor: n,
    currency: "USD",
    caller: `+1415555010${n}`,
    description: n % 2 ? null : `"${n}",\\`,
    callback: null,
    memory: null,
    connectedAccount: null,
    billingAddress: null,
    ttlSeconds: 300 + n,
  });
  const made = await Promise.allSettled([0, 1, 2, 3, 4].map((n) => sessions.create(database.db, given(n))));
  for (const [n, result] of made.entries()) {
    assert.equal(result.status, n === 3 ? "rejected" : "fulfilled");
    if (result.status === "rejected") continue;
    const session = await sessions.find(database.db, result.value.id);
    const { ttlSeconds, ...columns } = given(n);
    assert.partialDeepStrictEqual(session, { ...columns, createdAt: result.value.createdAt });
    assert.equal(session!.expiresAt.getTime() - session!.createdAt.getTime(), ttlSeconds * 1000);
  }
});

test("a session of another organisation or mode is not found (S-40)", async () => {
  const { id } = await fixture.create();
  const { db } = fixture.database;
  assert.equal(await fixture.sessions.find(db, id, { ...fixture.scope, environment: "live" }), null);
  assert.equal(await fixture.sessions.find(db, id, { ...fixture.scope, organizationId: randomUUID() }), null);
  assert.equal((await fixture.sessions.find(db, id, fixture.scope))?.id, id);
  assert.deepEqual(await fixture.sessions.cancel(id, { ...fixture.scope, environment: "live" }), { kind: "missing" });
});

test("of sessions that are looked up at the same moment each reader gets its own, and none of another organisation or mode (S-40)", async () => {
  const { sessions, scope, database } = fixture;
  const { db } = database;
  const [a, b] = [await fixture.create({ caller: "+14155550171" }), await fixture.create({ caller: "+14155550172" })];
  const live = { ...scope, environment: "live" } as const;
  const found = await Promise.all([
    sessions.find(db, b.id, scope),
    sessions.find(db, a.id, live),
    sessions.find(db, randomUUID()),
    sessions.find(db, a.id),
    sessions.find(db, a.id, { ...scope, organizationId: randomUUID() }),
    sessions.find(db, b.id),
    database.transaction((tx) => sessions.find(tx, a.id, scope)),
    sessions.findByCaller(db, scope, "+14155550172"),
    sessions.findByCaller(db, live, "+14155550171"),
    sessions.findByCaller(db, scope, "+14155550171", a.projectId),
    sessions.findByCaller(db, scope, "+14155550171", randomUUID()),
  ]);
  assert.deepEqual(
    found.map((session) => session?.id ?? null),
    [b.id, null, null, a.id, null, b.id, a.id, b.id, null, a.id, null],
  );
});

test("a read sees what was committed before it came, whatever reads are under way (R-163)", async () => {
  const { sessions, scope, database } = fixture;
  const { id: other } = await fixture.create();
  const others: Promise<unknown>[] = [];
  for (let trial = 0; trial < 20; trial++) {
    others.push(sessions.find(database.db, other), sessions.findByCaller(database.db, scope, "+14155550100"));
    const { id } = await fixture.create();
    assert.equal((await sessions.find(database.db, id, scope))?.status, "PENDING");
    others.push(sessions.find(database.db, id));
    await sessions.cancel(id, scope);
    assert.equal((await sessions.find(database.db, id, scope))?.status, "cancelled");
  }
  await Promise.all(others);
});

test("of 50 calls that claim a session at once exactly one gets it, and the others hear that it is taken (R-220, S-81)", async () => {
  const { id } = await fixture.create();
  const claims = await Promise.all(
    Array.from({ length: 50 }, (_, index) => fixture.sessions.claim(id, { owner: "p", callId: `call-${index}` })),
  );
  const winners = claims.filter((claim) => claim.kind === "claimed");
  assert.equal(winners.length, 1);
  assert.equal(claims.filter((claim) => claim.kind === "busy").length, 49);
  const session = await fixture.sessions.find(fixture.database.db, id);
  assert.equal(session?.callId, winners[0]?.session.callId);
});

test("claiming tells apart what is missing, what is over and what is past its time (R-219)", async () => {
  const browsers = await fixture.create({ channel: "widget" });
  assert.deepEqual(await fixture.sessions.claim(browsers.id, call), { kind: "widget" });
  assert.deepEqual(await fixture.sessions.claim(randomUUID(), call), { kind: "missing" });
  const cancelled = await fixture.create();
  await fixture.sessions.cancel(cancelled.id, fixture.scope);
  assert.deepEqual(await fixture.sessions.claim(cancelled.id, call), { kind: "gone", status: "cancelled" });
  const late = await fixture.create();
  await fixture.expireIn(late.id, 0);
  assert.deepEqual(await fixture.sessions.claim(late.id, call), { kind: "gone", status: "expired" });
});

test("around its expiry a session is either taken or expired, never both (R-272)", async () => {
  let taken = 0;
  const trials = 60;
  // Milliseconds; the ends make sure that both happen, however slow the machine.
  const offsets = [-20, -2, -1, 0, 1, 2, 3, 5, 8, 13, 60, 60_000];
  for (let trial = 0; trial < trials; trial++) {
    const { id } = await fixture.create();
    await fixture.expireIn(id, offsets[trial % offsets.length]!);
    const [claim, expired] = await Promise.all([fixture.sessions.claim(id, call), fixture.sessions.apply(id, "expire")]);
    if (claim.kind === "claimed") taken++;
    const swept = expired ?? (claim.kind === "claimed" ? null : await fixture.sessions.apply(id, "expire"));
    assert.equal(claim.kind === "claimed", swept === null, `trial ${trial}: ${claim.kind}`);
    const { status } = (await fixture.sessions.find(fixture.database.db, id))!;
    assert.equal(status, claim.kind === "claimed" ? "COLLECTING" : "expired");
  }
  assert.ok(taken > 0 && taken < trials, `both must happen: ${taken} of ${trials} were taken`);
});

test("a session being collected does not expire (R-196), and given back after its time it does (R-223)", async () => {
  const { id } = await fixture.create();
  await fixture.sessions.claim(id, call);
  await fixture.expireIn(id, -1);
  assert.equal(await fixture.sessions.apply(id, "expire"), null);
  const released = await fixture.sessions.apply(id, "release");
  assert.partialDeepStrictEqual(released, { status: "expired", claimedBy: null, callId: null });
  assert.equal((await fixture.sessions.claim(id, call)).kind, "gone");
});

test("an unused session reads as expired from its time on, with the values the sweeper writes later (R-195)", async () => {
  const { id } = await fixture.create();
  await fixture.expireIn(id, 0);
  const read = await fixture.sessions.find(fixture.database.db, id);
  assert.equal(read?.status, "expired");
  assert.deepEqual(read?.completedAt, read?.expiresAt);
  assert.equal((await fixture.finals()).length, 0, "nobody has swept");
  const swept = await fixture.sessions.apply(id, "expire");
  assert.deepEqual(swept, read);
  assert.deepEqual(await fixture.sessions.find(fixture.database.db, id), read);
  assert.deepEqual(await fixture.finals(), [read]);
});

test("cancel against charge: in 200 pairs never both, and once the gateway is asked cancel is refused (R-270, R-271)", async () => {
  const succeeded = { cancel: 0, charge: 0 };
  for (let pair = 0; pair < 200; pair++) {
    const { id } = await fixture.create();
    await fixture.sessions.claim(id, call);
    const cancel = () => fixture.sessions.cancel(id, fixture.scope);
    const charge = () => fixture.sessions.apply(id, "charge");
    const [cancelled, charged] =
      pair % 2 === 0 ? await Promise.all([cancel(), charge()]) : await Promise.all([charge(), cancel()]).then(([a, b]) => [b, a] as const);
    assert.notEqual(cancelled.kind === "cancelled", charged !== null, `pair ${pair}`);
    if (charged) {
      succeeded.charge++;
      assert.deepEqual(cancelled, { kind: "refused", status: "COLLECTING", phase: "charging" });
    } else succeeded.cancel++;
  }
  assert.ok(succeeded.cancel > 0 && succeeded.charge > 0, JSON.stringify(succeeded));
});

test("of two cancels at once exactly one succeeds (R-184), and a later one is told the status (R-182)", async () => {
  for (let pair = 0; pair < 100; pair++) {
    const { id } = await fixture.create();
    const results = await Promise.all([fixture.sessions.cancel(id, fixture.scope), fixture.sessions.cancel(id, fixture.scope)]);
    assert.deepEqual(results.map(({ kind }) => kind).sort(), ["cancelled", "refused"]);
  }
  assert.equal((await fixture.finals()).length, 100);
  const { id } = (await fixture.finals())[0]!;
  assert.deepEqual(await fixture.sessions.cancel(id, fixture.scope), { kind: "refused", status: "cancelled", phase: null });
});

test("expiry against cancel: one final state and one webhook (R-273)", async () => {
  for (let trial = 0; trial < 60; trial++) {
    const { id } = await fixture.create();
    await fixture.expireIn(id, (trial % 8) - 2);
    const [cancelled] = await Promise.all([fixture.sessions.cancel(id, fixture.scope), fixture.sessions.apply(id, "expire")]);
    await fixture.sessions.apply(id, "expire");
    const session = await fixture.sessions.find(fixture.database.db, id);
    assert.equal(session?.status, cancelled.kind === "cancelled" ? "cancelled" : "expired");
    const finals = (await fixture.finals()).filter((final) => final.id === id);
    assert.deepEqual(finals, [session]);
  }
});

test("each change makes updated_at later and the revision one greater, however fast they follow (R-159)", async () => {
  const session = await fixture.create();
  const history = [session];
  for (let round = 0; round < 5; round++) {
    history.push((await fixture.sessions.apply(session.id, "claim", { claimedBy: "p", callId: "c" }))!);
    history.push((await fixture.sessions.apply(session.id, "release"))!);
  }
  for (const [index, next] of history.slice(1).entries()) {
    assert.ok(next.updatedAt > history[index]!.updatedAt);
    assert.equal(next.revision, history[index]!.revision + 1);
  }
});

test("a final state keeps its time of completion when the transfer ends later (R-159, I6)", async () => {
  const { id } = await fixture.create();
  await fixture.sessions.claim(id, call);
  await fixture.sessions.apply(id, "charge");
  const paid = await fixture.sessions.apply(id, "approve", {
    processor: { transaction_id: "tx_1", card_last4: "0007" },
    webhookProcessor: { approved: true },
    cardBrand: "visa",
    cardLast4: "0007",
  });
  assert.partialDeepStrictEqual(paid, { status: "payment-success", cardLast4: "0007", processor: { transaction_id: "tx_1" } });
  await fixture.sessions.setTransferStatus(id, "completed");
  const later = await fixture.sessions.find(fixture.database.db, id);
  assert.partialDeepStrictEqual(later, { transferStatus: "completed", completedAt: paid!.completedAt, status: "payment-success" });
  assert.ok(later!.updatedAt > paid!.updatedAt);
});

test("every transition leaves one audit row that names who did what", async () => {
  const { id } = await fixture.create();
  await fixture.sessions.claim(id, call);
  await fixture.sessions.cancel(id, fixture.scope, "key:abc");
  const rows = await fixture.database.db.selectFrom("audit_log").selectAll().where("object", "=", id).orderBy("id").execute();
  assert.deepEqual(
    rows.map(({ action, actor, details }) => ({ action, actor, details })),
    [
      { action: "session.claim", actor: "service", details: { status: "COLLECTING", phase: "collecting" } },
      { action: "session.cancel", actor: "key:abc", details: { status: "cancelled", phase: null } },
    ],
  );
});

test("by caller the newest open session is found, else the one completed last (R-160)", async () => {
  const caller = "+14155550177";
  const { db } = fixture.database;
  const found = () => fixture.sessions.findByCaller(db, fixture.scope, caller).then((session) => session?.id);
  const first = await fixture.create({ caller });
  await fixture.sessions.cancel(first.id, fixture.scope);
  const second = await fixture.create({ caller });
  const third = await fixture.create({ caller });
  await db
    .updateTable("sessions")
    .set({ created_at: new Date(third.createdAt.getTime() + 5) })
    .where("id", "=", third.id)
    .execute();
  assert.equal(await found(), third.id);
  await fixture.sessions.cancel(third.id, fixture.scope);
  assert.equal(await found(), second.id);
  await fixture.sessions.cancel(second.id, fixture.scope);
  assert.equal(await found(), second.id, "the one completed last");
  assert.equal(await fixture.sessions.findByCaller(db, fixture.scope, "+14155550188"), null);
  assert.equal(await fixture.sessions.findByCaller(db, { ...fixture.scope, environment: "live" }, caller), null);
  assert.equal(await fixture.sessions.findByCaller(db, fixture.scope, caller, randomUUID()), null);
});

test("an overdue session counts as completed at its expiry when a caller's sessions are compared (R-160, R-195)", async () => {
  const caller = "+14155550199";
  const overdue = await fixture.create({ caller });
  await fixture.expireIn(overdue.id, -1000);
  const cancelled = await fixture.create({ caller });
  await fixture.sessions.cancel(cancelled.id, fixture.scope);
  const found = await fixture.sessions.findByCaller(fixture.database.db, fixture.scope, caller);
  assert.equal(found?.id, cancelled.id);
});

const waitingFor = async (callers: string[], projectId: string | null = null) =>
  (await fixture.sessions.waitingByCallers(fixture.database.db, callers, projectId)).map(({ id }) => id);

test("a call finds the newest voice session that waits for its caller, not one that is over, taken or a widget's (R-217)", async () => {
  const caller = "+14155550155";
  const { db } = fixture.database;
  assert.deepEqual(await waitingFor([caller]), []);
  const older = await fixture.create({ caller });
  await db
    .updateTable("sessions")
    .set({ created_at: new Date(older.createdAt.getTime() - 5) })
    .where("id", "=", older.id)
    .execute();
  const newer = await fixture.create({ caller });
  await fixture.create({ caller, channel: "widget" });
  assert.deepEqual(await waitingFor([caller]), [newer.id]);
  assert.deepEqual(await waitingFor([caller], randomUUID()), []);
  await fixture.sessions.claim(newer.id, call);
  assert.deepEqual(await waitingFor([caller], fixture.projectId), [older.id]);
  await fixture.expireIn(older.id, 0);
  assert.deepEqual(await waitingFor([caller]), []);
});

test("of one caller's waiting sessions each organisation's best is found, a live one before a newer test one (R-217)", async () => {
  const [caller, other] = ["+14155550157", "+14155550158"];
  const { db } = fixture.database;
  const organizationId = randomUUID();
  const projectId = randomUUID();
  await db.insertInto("organizations").values({ id: organizationId, slug: "second", name: "Second" }).execute();
  const project = { slug: "shop", name: "Shop", currency: "USD", language: "en-US", country: "US" };
  await db
    .insertInto("projects")
    .values({ ...project, id: projectId, organization_id: organizationId })
    .execute();
  const live = await fixture.create({ caller, environment: "live" });
  await fixture.create({ caller });
  const foreign = await fixture.create({ caller, organizationId, projectId });
  const others = await fixture.create({ caller: other });
  assert.deepEqual((await waitingFor([caller])).toSorted(), [live.id, foreign.id].toSorted());
  assert.deepEqual((await waitingFor([caller, other], fixture.projectId)).toSorted(), [live.id, others.id].toSorted());
  assert.deepEqual(await waitingFor([caller], projectId), [foreign.id]);
});

test("of two sessions of one caller, finishing one leaves the other as it was, to be found by the next call (R-276)", async () => {
  const caller = "+14155550156";
  const { db } = fixture.database;
  const [paid, waiting] = [await fixture.create({ caller }), await fixture.create({ caller })];
  await fixture.sessions.claim(paid.id, call);
  await fixture.sessions.apply(paid.id, "fail", { errorCode: "attempts_exhausted" });
  assert.deepEqual(await fixture.sessions.find(db, waiting.id), waiting);
  assert.deepEqual(await waitingFor([caller]), [waiting.id]);
  assert.deepEqual(
    (await fixture.finals()).filter((final) => final.caller === caller).map(({ id }) => id),
    [paid.id],
  );
});

test("an outbox that cannot be written takes the whole transition back", async () => {
  const broken = await sessionsFixture({
    written: () => sql`queued as (insert into finals (session_id) select null::uuid from moved returning session_id)`,
    told: sql`(select session_id from queued) as told`,
  });
  try {
    const { id } = await broken.create();
    await assert.rejects(broken.sessions.cancel(id, broken.scope), /session_id/);
    assert.equal((await broken.sessions.find(broken.database.db, id))?.status, "PENDING");
    const audited = await broken.database.db.selectFrom("audit_log").select("action").where("object", "=", id).execute();
    assert.deepEqual(audited, []);
  } finally {
    await broken.close();
  }
});

for (const isCommitted of [true, false]) {
  test(`a call gets its session over another connection when one breaks ${isCommitted ? "after" : "before"} the claim (R-220)`, async () => {
    const { database } = fixture;
    let breaks = 1;
    const db = new Proxy(database.db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== "executeQuery") return typeof value === "function" ? value.bind(target) : value;
        return async (...args: Parameters<Db["executeQuery"]>) => {
          const isBroken = breaks-- > 0;
          const result = isBroken && !isCommitted ? null : await target.executeQuery(...args);
          if (isBroken) throw new Error("Connection terminated unexpectedly");
          return result;
        };
      },
    });
    const sessions = createSessions({ database: { ...database, db }, clock: systemClock, random: systemRandom, log: silentLog });
    const { id } = await fixture.create();
    const claim = await sessions.claim(id, call);
    assert.equal(claim.kind, "claimed");
    assert.partialDeepStrictEqual(await fixture.sessions.find(database.db, id), { phase: "collecting", callId: call.callId });
    // Another call of the same name was not the one that lost its answer.
    assert.equal((await sessions.claim(id, call)).kind, "busy");
  });
}
