import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { declined, FakeGateway, testCard, testProcess } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { createWidget, type Widget } from "./index.ts";
import { createNonces } from "./nonce.ts";
import { beginTry } from "./tries.ts";

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
  const { database, sessions } = fixture;
  const { payments, clock } = testProcess(fixture, gateway.gateway());
  const projects = { projectById: async () => null };
  const own = { random: systemRandom, owner: "process-1", log: silentLog, key: KEY, publicUrl: () => "http://127.0.0.1:8080" };
  widget = createWidget({ ...own, database, sessions, projects, payments, clock });
});

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
