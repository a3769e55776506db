import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "#src/kernel/testing.ts";
import { APPROVED, declined } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import type { Progress } from "#src/sessions/index.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import { Events, TestCall, voiceFixture, type VoiceFixture } from "./testing.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
});
after(() => fixture.close());
afterEach(() => {
  fixture.gateway.onCharge = async () => APPROVED;
});

type Answers = readonly (readonly [question: RegExp, keys: string | null])[];
const ANSWERS: Answers = [
  [/card number/i, "4242424242424242#"],
  [/expiry date/i, "1230#"],
  [/security code/i, "123#"],
  [/zip code/i, "94105#"],
  [/press one/i, "1"],
];

/** One call whose caller answers in turn; null: he hangs up. What was told of it, and what was counted. */
async function stepsOf(answers: Answers) {
  const session = await fixture.create({ callback: null });
  const call = new TestCall({ callId: session.id, fields: [`X-Session-Id: ${session.id}`] });
  const admission = await admit(call.incoming, fixture.deps);
  assert.ok(!("status" in admission));
  const leg = fixture.media.legs.at(-1)!;
  const left = [...answers];
  leg.onPlayed = (words) => {
    const at = left.findIndex(([question]) => question.test(words));
    const [[, keys] = [null, ""]] = at < 0 ? [] : left.splice(at, 1);
    if (keys === null) call.dialog.hangUp();
    else for (const key of keys) leg.on.dtmfDigit(key === "#" ? 11 : Number(key));
  };
  const told: string[] = [];
  const counts: string[] = [];
  const tellProgress = (id: string, progress: Progress | null) => {
    assert.equal(id, session.id);
    told.push(progress ? `${progress.step} ${progress.try}` : "over");
  };
  const collected = new Events();
  const log = { ...silentLog, info: (event: string) => collected.note(event), child: () => log };
  const clock = new ManualClock();
  const sessions = { ...fixture.sessions, tellProgress };
  const countStep = (...[step, what]: Parameters<typeof fixture.deps.countStep>) => void counts.push(`${step} ${what}`);
  const over = new AbortController();
  const running = runCall(call.incoming, admission, { ...fixture.deps, sessions, countStep, log, clock }).finally(() => over.abort());
  await Promise.race([collected.until("call_collected"), running]);
  while (!over.signal.aborted) {
    clock.advance(10);
    await turn();
  }
  await running;
  return { told, counts };
}

test("a call tells each step in order, and that it is over, and counts them as reached (R-434)", async () => {
  const { told, counts } = await stepsOf(ANSWERS);
  const steps = ["asking_number", "asking_expiry", "asking_cvv", "asking_zip", "confirming", "charging"];
  assert.deepEqual(told, [...steps.map((step) => `${step} 1`), "over"]);
  assert.deepEqual(
    counts,
    steps.map((step) => `${step} reached`),
  );
});

test("the name on the card is a step of its own, where the project asks for it (R-434)", async () => {
  const setCollect = (voice: object) =>
    fixture.database.db
      .updateTable("projects")
      .set({ voice: JSON.stringify(voice) })
      .execute();
  await setCollect({ collect: ["number", "name", "expiry"] });
  const { told } = await stepsOf([[/name on the card/i, "23202#"], ...ANSWERS]);
  await setCollect({});
  const asked = ["asking_number 1", "asking_name 1", "asking_expiry 1", "confirming 1", "charging 1", "over"];
  assert.deepEqual(told, asked);
});

test("a question that is asked again is the next try, never with what was keyed; whoever hangs up has left there (R-434)", async () => {
  const { told, counts } = await stepsOf([
    [/card number/i, "4242424242424241#"],
    [/./, null],
  ]);
  assert.deepEqual(told, ["asking_number 1", "asking_number 2", "over"]);
  assert.deepEqual(counts, ["asking_number reached", "asking_number repeated", "asking_number left"]);
});

test("a declined card leads back to a question, and the next card is the second try of charging (R-434)", async () => {
  let charges = 0;
  fixture.gateway.onCharge = async () => (++charges === 1 ? declined("incorrect_cvc") : APPROVED);
  const { told } = await stepsOf([...ANSWERS, [/security code/i, "124#"]]);
  assert.deepEqual(told.slice(-5), ["confirming 1", "charging 1", "asking_cvv 1", "charging 2", "over"]);
});
