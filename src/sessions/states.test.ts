import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { array, assert as holds, asyncProperty, boolean, constantFrom, record } from "fast-check";
import { type Fixture, sessionsFixture } from "./testing.ts";
import { columnsOf, isTerminal, type SessionEvent, sourcesOf, type State, stateOf, STATUSES, targetOf, TRANSITIONS } from "./states.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());

const EVENTS = [...new Set(Object.values(TRANSITIONS).flatMap((events) => Object.keys(events)))] as SessionEvent[];
const STATES = Object.keys(TRANSITIONS) as State[];

test("the table is whole: each event has one target, each state a way in, and no final state a way out (R-190, R-154)", () => {
  assert.equal(EVENTS.length, 12);
  for (const event of EVENTS) assert.ok(STATES.includes(targetOf(event)));
  const reached = new Set<State>(["PENDING", ...EVENTS.map(targetOf)]);
  assert.deepEqual([...reached].sort(), [...STATES].sort());
  for (const state of STATES) {
    const { status, phase } = columnsOf(state);
    assert.equal(stateOf(status, phase), state);
    assert.equal(isTerminal(status), Object.keys(TRANSITIONS[state]).length === 0, state);
    assert.ok(STATUSES.includes(status));
  }
});

test("a charge can only begin while collecting, and cancel never once it has begun (R-270)", () => {
  assert.deepEqual(sourcesOf("charge"), ["collecting"]);
  assert.deepEqual(sourcesOf("cancel"), ["PENDING", "collecting"]);
});

/** What the table says, without a database. */
function next(state: State, event: SessionEvent, overdue: boolean): State | null {
  const transition = TRANSITIONS[state][event];
  if (!transition) return null;
  if (transition.deadline === "before" && overdue) return null;
  if (transition.deadline === "after" && !overdue) return null;
  return transition.to;
}

test("random sequences of events do in the database what the table says, and nothing else (R-190)", { timeout: 300_000 }, async () => {
  const step = record({ event: constantFrom(...EVENTS), overdue: boolean() });
  await holds(
    asyncProperty(array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      let session = await fixture.create();
      const { id } = session;
      let state: State = "PENDING";
      let finals = 0;
      for (const { event, overdue } of steps) {
        await fixture.expireIn(id, overdue ? -1000 : 300_000);
        const expected = next(state, event, overdue);
        const moved = await fixture.sessions.apply(id, event);
        assert.equal(moved !== null, expected !== null, `${event} in ${state}${overdue ? ", overdue" : ""}`);
        if (!moved || expected === null) continue;
        assert.ok(moved.updatedAt > session.updatedAt);
        assert.equal(moved.revision, session.revision + 1 + (moved.status === "expired" && expected === "PENDING" ? 1 : 0));
        if (isTerminal(columnsOf(expected).status)) finals++;
        state = expected;
        session = { ...moved, revision: session.revision + 1 };
      }
      const row = await fixture.database.db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
      assert.equal(stateOf(row.status, row.phase), state);
      assert.equal(row.completed_at !== null, isTerminal(row.status));
      assert.equal((await fixture.finals()).filter((final) => final.id === id).length, finals);
      assert.ok(finals <= 1);
    }),
    { numRuns: 60, seed: 1963 },
  );
});
