import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "#src/kernel/testing.ts";
import { shortCodeOf } from "#src/sessions/index.ts";
import { AdmissionControl } from "./admission-control.ts";
import { createCallService } from "./call-service.ts";
import { OFFER, TestCall, type TestLeg, TestMedia, voiceFixture, type VoiceFixture } from "./testing.ts";
import { listUnmatched } from "./unmatched.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
  await fixture.addNumber("+15550001111", fixture.projectId);
});
after(() => fixture.close());
beforeEach(() => setCodes(true));

const setCodes = (on: boolean) =>
  fixture.database.db
    .updateTable("projects")
    .set({ voice: JSON.stringify({ short_code: on }) })
    .where("id", "=", fixture.projectId)
    .execute();

const statusOf = async (id: string) => (await fixture.sessions.find(fixture.database.db, id))?.status;

const ASK = "Please key in your eight digit payment code, then press the pound key.";

const press = (leg: TestLeg, keys: string) => keys.split("").forEach((key) => leg.on.dtmfDigit(key === "#" ? 11 : Number(key)));

/** A service, and calls for nobody to the project's number, each run to its end. `hears`: what the caller does after each prompt. */
function service() {
  const clock = new ManualClock();
  const media = new TestMedia();
  const counted: string[] = [];
  const deps = { ...fixture.deps, clock, media, countCode: (result: string) => void counted.push(result) };
  const voice = { render: () => Promise.resolve(new Uint8Array(1)) };
  const admission = new AdmissionControl({ ...deps, maxCalls: 1_000 });
  const calls = createCallService({ ...deps, voice, endpoint: null, admission }, () => fixture.userAgent);
  const open = media.open.bind(media);
  return {
    clock,
    counted,
    call: async (
      hears: (words: string, leg: TestLeg, call: TestCall) => void,
      { offer = OFFER, acknowledged = Promise.resolve<null>(null) } = {},
    ) => {
      const call = new TestCall({ callId: `code-${++called}`, to: "+15550001111", from: "anonymous", offer });
      call.acknowledged = acknowledged;
      media.open = async () => {
        const leg = await open();
        leg.onPlayed = (words) => hears(words, leg, call);
        return leg;
      };
      const first = media.legs.length;
      calls.onInvite(call.incoming);
      const over = new AbortController();
      const idle = calls.idle().then(() => over.abort());
      for (; !over.signal.aborted; await turn()) clock.advance(1);
      await idle;
      const legs = media.legs.slice(first);
      assert.deepEqual([legs.every(({ isClosed }) => isClosed), clock.pending], [true, 0]);
      return { call, said: legs.flatMap(({ played }) => played) };
    },
  };
}

let called = 0;

test("a call for nobody is asked for a short code where the project has them on, and goes on with the session that is keyed (R-218)", async () => {
  const { call, counted } = service();
  const { id } = await fixture.create({ callback: null });
  const code = shortCodeOf(id);
  const wrong = code === "12345678" ? "12345679" : "12345678";
  const keyed = [`${wrong}#`, `${code}#`];
  const { call: taken, said } = await call((words, leg, { dialog }) => {
    if (words.endsWith("then press the pound key.")) press(leg, keyed.shift() ?? "");
    else dialog.hangUp();
  });
  assert.deepEqual([taken.status, taken.dialog.events.seen], [null, []]);
  assert.deepEqual(said.slice(0, 2), [ASK, `Sorry, I don't know that code. ${ASK}`]);
  assert.match(said[2] ?? "", /secure payment line.*You're paying/);
  assert.deepEqual([await statusOf(id), counted], ["abandoned", ["wrong", "matched"]]);
  const session = await fixture.sessions.find(fixture.database.db, id);
  assert.equal(session?.callId, taken.callId);
});

test("whoever keys three wrong codes is told goodbye, and the call is listed as unmatched without what was keyed", async () => {
  const { call } = service();
  const waiting = await fixture.create({ callback: null });
  const { call: ended, said } = await call((words, leg) => words.endsWith("pound key.") && press(leg, "1234#"));
  assert.match(said.at(-1) ?? "", /couldn't find your payment.*Goodbye/);
  assert.deepEqual([ended.dialog.events.seen, await statusOf(waiting.id)], [["bye"], "PENDING"]);
  const [listed] = await listUnmatched(fixture.database.db, 1);
  assert.equal(listed?.call_id, ended.callId);
  assert.doesNotMatch(JSON.stringify(listed), /1234/);
});

test("a session that another call has taken is as unknown as any", async () => {
  const { call } = service();
  const { id } = await fixture.create({ callback: null });
  const keyed = [`${shortCodeOf(id)}#`];
  await fixture.sessions.claim(id, { owner: "process-1", callId: "another" });
  const { said } = await call((words, leg, { dialog }) => (keyed.length > 0 ? press(leg, keyed.pop()!) : dialog.hangUp()));
  assert.deepEqual(said, [ASK, `Sorry, I don't know that code. ${ASK}`]);
});

test("a caller who hangs up while his code is looked up leaves an abandoned session, and none that is held", async () => {
  const { call } = service();
  const { id } = await fixture.create({ callback: null });
  await call((_words, leg, { dialog }) => {
    press(leg, `${shortCodeOf(id)}#`);
    dialog.hangUp();
  });
  assert.equal(await statusOf(id), "abandoned");
});

test("a call that is never acknowledged gives the session of its code back (R-223)", async () => {
  const { call } = service();
  const { id } = await fixture.create({ callback: null });
  const acknowledgement = Promise.withResolvers<null>();
  const keys = (_words: string, leg: TestLeg) => {
    press(leg, `${shortCodeOf(id)}#`);
    acknowledgement.reject(new Error("no ACK"));
  };
  await call(keys, { acknowledged: acknowledgement.promise });
  assert.equal(await statusOf(id), "PENDING");
});

test("nobody is asked for a code whose project has none, whose offer cannot be answered, or by a trunk that has guessed too often: 404 (R-218, S-83)", async () => {
  const { call, clock } = service();
  const never = () => assert.fail("nothing is said");
  const refused = async (differences: object = {}) => (await call(never, differences)).call.status;
  await setCodes(false);
  assert.equal(await refused(), 404);
  clock.advance(60_000);
  await setCodes(true);
  assert.equal(await refused({ offer: OFFER.replace("RTP/AVP 0", "RTP/AVP 18") }), 404);
  for (let guess = 0; guess < 4; guess++) await call((words, leg) => words.endsWith("pound key.") && press(leg, `9999999${guess}#`));
  assert.equal(await refused(), 404);
});
