import assert from "node:assert/strict";
import { sql } from "kysely";
import { after, before, test } from "node:test";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { FakeGateway, testCard } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { createSessions, type Outbox, type Session, type SessionEvent, type Sessions } from "#src/sessions/index.ts";
import { callerOf, startTestApi, type TestApi, testPayments } from "../testing.ts";

/** What a merchant sees of a session's life. */

let api: TestApi;
let sessions: Sessions;
let call: TestApi["call"];
before(async () => {
  api = await startTestApi();
  const { database } = api;
  await sql`create table finals (session_id uuid, status text)`.execute(database.db);
  const outbox: Outbox = {
    written: () => sql`queued as (insert into finals select moved.id, moved.status from moved returning session_id)`,
    told: sql`(select session_id from queued) as told`,
  };
  sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog, outbox });
  call = callerOf(api.another({ deps: { sessions } }));
});
after(() => api.close());

const told = async (id: string) => (await sql`select status from finals where session_id = ${id}`.execute(api.database.db)).rows;

const read = async (id: string) => (await call("GET", `/v1/sessions/${id}`)).json();
const cancel = async (id: string) => (await call("POST", `/v1/sessions/${id}/cancel`)).statusCode;
/** All there are. */
const EVENTS: Record<SessionEvent, true> = {
  claim: true,
  release: true,
  cancel: true,
  expire: true,
  charge: true,
  retry: true,
  approve: true,
  authorize: true,
  fail: true,
  lose: true,
  abandon: true,
  skip: true,
};

async function collecting(): Promise<Session> {
  const claim = await sessions.claim(await api.createSession(), { owner: "test", callId: "call" });
  assert.ok(claim.kind === "claimed");
  return claim.session;
}

test("after a cancel's 204 no gateway is called; while one is, there is no 204 (R-185)", async () => {
  const gateway = new FakeGateway();
  const { database, projects } = api;
  const payments = testPayments({ database, sessions, projects, clock: systemClock }, gateway);
  const settle = (session: Session) => payments.settle({ session, card: testCard(), mayRetry: false });

  const cancelled = await collecting();
  assert.equal(await cancel(cancelled.id), 204);
  await settle(cancelled);
  assert.equal(gateway.charges.length, 0);

  let inFlight = 0;
  gateway.onCharge = async () => {
    inFlight = await cancel((await charging).id);
    return { outcome: "declined", code: "card_declined", message: "", retryable: false, processor: {} } as never;
  };
  const charging = collecting();
  await settle(await charging);
  assert.equal(inFlight, 409);

  gateway.onCharge = new FakeGateway().onCharge;
  for (let race = 0; race < 10; race++) {
    const session = await collecting();
    const chargedBefore: number = gateway.charges.length;
    const [status] = await Promise.all([cancel(session.id), settle(session)]);
    assert.equal(gateway.charges.length - chargedBefore, status === 204 ? 0 : 1);
    assert.equal((await read(session.id)).status, status === 204 ? "cancelled" : "payment-success");
  }
});

test("collecting, charging and an unknown outcome are all COLLECTING to whoever asks (R-191)", async () => {
  const { id } = await collecting();
  for (const event of ["charge", "lose"] as const) {
    const { phase } = (await sessions.apply(id, event))!;
    assert.equal(phase, event === "charge" ? "charging" : "unknown");
    const { payload } = await call("GET", `/v1/sessions/${id}`);
    const shown = JSON.parse(payload);
    assert.deepEqual([shown.status, shown.is_terminal, shown.completed_at], ["COLLECTING", false, null]);
    // The step is told on purpose; an outcome that is not known is still "charging" there.
    assert.equal(shown.step, "charging");
    assert.doesNotMatch(payload, /phase|unknown/);
  }
});

test("payment-failed is final, has its time, and goes to the webhook once (R-193)", async () => {
  const { id } = await collecting();
  await sessions.apply(id, "charge");
  await sessions.apply(id, "fail", { errorCode: "card_declined", errorMessage: "No" });
  const shown = await read(id);
  assert.deepEqual([shown.status, shown.is_terminal, shown.error], ["payment-failed", true, { code: "card_declined", message: "No" }]);
  assert.equal(shown.completed_at, shown.updated_at);
  assert.deepEqual(await told(id), [{ status: "payment-failed" }]);
  assert.equal(await cancel(id), 409);
});

test("an authorized payment is final: no event, such as a later capture, leads on or is told (R-200)", async () => {
  const { id } = await collecting();
  await sessions.apply(id, "charge");
  await sessions.apply(id, "authorize");
  const shown = await read(id);
  for (const event of Object.keys(EVENTS) as SessionEvent[]) assert.equal(await sessions.apply(id, event), null, event);
  assert.deepEqual(await read(id), shown);
  assert.deepEqual(await told(id), [{ status: "payment-authorized" }]);
});

test("transfer_status is null until the caller was handed back, then what became of it (R-412)", async () => {
  const { id } = await collecting();
  assert.equal((await read(id)).transfer_status, null);
  await sessions.apply(id, "charge");
  const paid = (await sessions.apply(id, "approve"))!;
  assert.equal((await read(id)).transfer_status, null);
  await sessions.setTransferStatus(id, "completed");
  const shown = await read(id);
  assert.deepEqual(
    [shown.transfer_status, shown.status, shown.completed_at],
    ["completed", "payment-success", paid.completedAt!.toISOString()],
  );
});
