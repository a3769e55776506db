import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { declined, FakeGateway, testCard, testProcess } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { createWidget, type Widget, type WidgetDeps } from "./index.ts";
import { createNonces } from "./nonce.ts";
import { beginTry, triesOf } from "./tries.ts";

const KEY = new Uint8Array(32).fill(9);
const nonces = createNonces(KEY, systemRandom);

let fixture: Fixture;
let gateway: FakeGateway;
let widget: Widget;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());
beforeEach(() => {
  gateway = new FakeGateway();
  widget = widgetWith({});
});

function widgetWith(changes: Partial<WidgetDeps>): Widget {
  const { database, sessions } = fixture;
  const { payments, clock } = testProcess(fixture, gateway.gateway());
  const projects = { projectById: async () => null };
  const own = { random: systemRandom, owner: "process-1", log: silentLog, key: KEY, publicUrl: () => "http://127.0.0.1:8080" };
  return createWidget({ ...own, database, sessions, projects, payments, clock, ...changes });
}

const pay = (sessionId: string) => widget.charge({ sessionId, nonce: nonces.issue(sessionId), card: testCard(), customerIp: null });
const resultOf = async (id: string) => {
  const answer = await pay(id);
  return answer.kind === "ended" ? answer.result.split(";")[0] : answer.kind;
};

test("a card that comes after the session's time is told how the session ended, the same as everybody else is (R-197, R-283)", async () => {
  const { database, sessions } = fixture;
  const unused = await fixture.create({ channel: "widget" });
  const refused = await fixture.create({ channel: "widget" });
  gateway.onCharge = async () => declined("card_declined");
  assert.equal((await pay(refused.id)).kind, "declined");
  const left = await fixture.create({ channel: "widget" });
  await sessions.apply(left.id, "claim", { claimedBy: "process-2" });
  const ends = { [unused.id]: "expired", [refused.id]: "payment-failed", [left.id]: "abandoned" };
  for (const [id, status] of Object.entries(ends)) {
    await fixture.expireIn(id, -1);
    assert.equal(await resultOf(id), status);
    assert.equal((await sessions.find(database.db, id))?.status, status);
  }
  assert.equal(gateway.charges.length, 1);
});

test("a try that began in time keeps another one waiting, also after the session's time (R-282)", async () => {
  const { database, sessions } = fixture;
  const { id } = await fixture.create({ channel: "widget" });
  await sessions.apply(id, "claim", { claimedBy: "process-2" });
  await database.transaction((tx) => beginTry(tx, id, "another"));
  await fixture.expireIn(id, -1);
  assert.equal((await pay(id)).kind, "busy");
  assert.equal((await sessions.find(database.db, id))?.phase, "collecting");
});

test("a try that gives its session back late takes it from no call that has it by then (R-220, R-435)", async () => {
  const { database, sessions } = fixture;
  await database.db
    .updateTable("projects")
    .set({ voice: JSON.stringify({ pay_url: true }) })
    .execute();
  const { id } = await fixture.create();
  gateway.onCharge = async () => declined("card_declined");
  const slow: typeof sessions = {
    ...sessions,
    async apply(...release) {
      await sessions.apply(id, "release");
      await sessions.claim(id, { owner: "process-2", callId: "call-1" });
      return await sessions.apply(...release);
    },
  };
  const charge = { sessionId: id, nonce: nonces.issue(id), card: testCard(), customerIp: null };
  assert.equal((await widgetWith({ sessions: slow }).charge(charge)).kind, "declined");
  assert.partialDeepStrictEqual(await sessions.find(database.db, id), { status: "COLLECTING", callId: "call-1" });
});

test("a try whose first commit loses its answer lets the next one in at once, or as soon as the database is there: nothing was sent (R-282, R-283)", async () => {
  const { database } = fixture;
  const lost = Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  const isBusy = async (id: string) => (await triesOf(database.db, id, null)).busy;
  for (const awayFor of [0, 2]) {
    const { id } = await fixture.create({ channel: "widget" });
    const clock = new ManualClock();
    let asked = 0;
    const losing: typeof database = {
      ...database,
      get db() {
        if (asked++ < awayFor) throw lost;
        return database.db;
      },
      transaction: async (work) => {
        await database.transaction(work);
        throw lost;
      },
    };
    const losingWidget = widgetWith({ database: losing, clock });
    const charge = { sessionId: id, nonce: nonces.issue(id), card: testCard(), customerIp: null };
    await assert.rejects(losingWidget.charge(charge), lost);
    if (awayFor > 0) assert.equal((await pay(id)).kind, "busy");
    // Each look takes a round of the database's, and the clock's tasks a turn of the event loop.
    for (let looks = 0; looks < 100 && (await isBusy(id)); looks++) clock.advance(1_000);
    assert.deepEqual([(await pay(id)).kind, (await pay(id)).kind], ["paid", "ended"]);
  }
});
