import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { AdmissionControl, WINDOW_MS } from "./admission-control.ts";
import { createCallService } from "./call-service.ts";
import { OFFER, TestCall, TestMedia, voiceFixture, type VoiceFixture } from "./testing.ts";
import type { CallDeps } from "./types.ts";
import { listUnmatched } from "./unmatched.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
});
after(() => fixture.close());

function service({ maxCalls = 1_000, admission = new AdmissionControl({ ...fixture.deps, maxCalls }) } = {}, deps: Partial<CallDeps> = {}) {
  const voice = { render: () => Promise.resolve(new Uint8Array(1)) };
  return createCallService({ ...fixture.deps, ...deps, voice, endpoint: null, admission }, () => fixture.userAgent);
}

/** A call for a session that waits for it. */
async function callFor(callId: string): Promise<TestCall> {
  const { id } = await fixture.create();
  return new TestCall({ callId, fields: [`X-Session-Id: ${id}`] });
}

/** Until the service has closed every call; the caller hangs up as soon as he is answered. */
async function idle(calls: ReturnType<typeof service>, ...answered: TestCall[]): Promise<void> {
  const over = new AbortController();
  const done = calls.idle().then(() => over.abort());
  for (const call of answered) void call.events.until("answered").then(() => call.dialog.hangUp());
  for (; !over.signal.aborted; await turn()) fixture.process.clock.advance(1);
  await done;
}

test("a call beyond MAX_CALLS is told to come again, and the next one is taken when one has ended (R-219)", async () => {
  const calls = service({ maxCalls: 1 });
  const [first, second, third] = [await callFor("first"), await callFor("second"), await callFor("third")];
  calls.onInvite(first.incoming);
  calls.onInvite(second.incoming);
  assert.deepEqual([second.status, second.headers], [503, [["Retry-After", "30"]]]);
  assert.deepEqual([calls.activeCalls, calls.callIds], [1, ["first"]]);
  await idle(calls, first);
  assert.equal(calls.activeCalls, 0);
  calls.onInvite(third.incoming);
  await idle(calls, third);
  assert.equal(third.status, null);
});

test("of fifty INVITEs at once for one session one is answered and the others are busy, however late this process is (R-219, R-220)", async () => {
  const { clock } = fixture.process;
  const admission = new AdmissionControl({ ...fixture.deps, maxCalls: 1_000 });
  const end = admission.start();
  for (let windows = 0; windows < 3; windows++) {
    admission.noteMedia(50);
    clock.advance(WINDOW_MS);
  }
  end();
  assert.equal(admission.isOverloaded, true);
  const calls = service({ admission });
  const { id } = await fixture.create();
  const all = Array.from({ length: 50 }, (_, at) => new TestCall({ callId: `burst-${at}`, fields: [`X-Session-Id: ${id}`] }));
  for (const { incoming } of all) calls.onInvite(incoming);
  const counted = () => [null, 486, 503].map((status) => all.filter((call) => call.status === status).length);
  while (calls.pendingCalls > 0) await turn();
  assert.deepEqual(counted(), [1, 49, 0]);
  await idle(calls, ...all);
});

test("a draining service refuses new calls and finishes those it has (R-292)", async () => {
  const calls = service();
  const [running, late] = [await callFor("running"), await callFor("late")];
  calls.onInvite(running.incoming);
  calls.drain();
  calls.onInvite(late.incoming);
  assert.equal(late.status, 503);
  await idle(calls, running);
  assert.equal(running.answerSdp === null, false);
});

test("a draining service waits for the database to take how a transfer ended, though the call is over (R-292, R-321)", async () => {
  let isAway = true;
  const tried = Promise.withResolvers<void>();
  const setTransferStatus = async (id: string, status: string) => {
    tried.resolve();
    if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    await fixture.sessions.setTransferStatus(id, status);
  };
  const calls = service({}, { sessions: { ...fixture.sessions, setTransferStatus } });
  const { id } = await fixture.create({ callback: "sip:agent@pbx.example" });
  const call = new TestCall({ callId: id, fields: [`X-Session-Id: ${id}`] });
  calls.onInvite(call.incoming);
  calls.drain();
  let isIdle = false;
  const idle = calls.idle().then(() => (isIdle = true));
  void call.events.until("answered").then(() => call.dialog.hangUp());
  for (; calls.activeCalls > 0; await turn()) fixture.process.clock.advance(1);
  await tried.promise;
  for (let looks = 0; looks < 10; looks++) await turn();
  assert.equal(isIdle, false);
  isAway = false;
  fixture.process.clock.advance(60_000);
  await idle;
  assert.equal((await fixture.sessions.find(fixture.database.db, id))?.transferStatus, "caller_hung_up");
});

test("a call that no session matches is refused with 404, and listed with what each rule found (R-218)", async () => {
  const calls = service();
  const call = new TestCall({ callId: "nobody", from: "+14155550177" });
  calls.onInvite(call.incoming);
  await idle(calls);
  assert.equal(call.status, 404);
  const [listed] = await listUnmatched(fixture.database.db, 1);
  assert.deepEqual([listed?.call_id, listed?.source], ["nobody", "198.51.100.7"]);
  assert.deepEqual(
    listed?.misses.map(({ rule }) => rule),
    ["X-Session-Id", "X-Caller", "To", "From"],
  );
});

test("a call whose offer cannot be answered is told what is wrong with it, one that no session matches nothing (R-218, R-227, RFC 3261 section 13.3.1.3)", async () => {
  const calls = service();
  const offer = OFFER.replace("RTP/AVP 0", "RTP/AVP 18");
  const { id } = await fixture.create();
  const known = new TestCall({ callId: "unheard", fields: [`X-Session-Id: ${id}`], offer });
  const unknown = new TestCall({ callId: "nobody", from: "+14155550177", offer });
  calls.onInvite(known.incoming);
  calls.onInvite(unknown.incoming);
  await idle(calls);
  assert.deepEqual([known.status, known.warning], [488, "neither PCMU nor PCMA"]);
  assert.deepEqual([unknown.status, unknown.warning], [404, null]);
});

test("a call that meets a fault before its answer is told to come again, and leaves nothing behind (R-219)", async () => {
  const media = new TestMedia();
  media.open = () => Promise.reject(new Error("no free media port"));
  const calls = service({}, { media });
  const call = await callFor("faulty");
  calls.onInvite(call.incoming);
  await idle(calls);
  assert.deepEqual([call.status, calls.activeCalls], [503, 0]);
});

test("a flood of calls for nobody costs no look-up that the one before has made, and writes sixty rows a minute for each source (S-83)", async () => {
  const asked: string[] = [];
  const { projects } = fixture.deps;
  const calls = service(
    {},
    {
      projects: {
        ...projects,
        countries: (db, limit) => (asked.push("countries"), projects.countries(db, limit)),
        projectOfCall: (db, numbers, address) => (asked.push(address), projects.projectOfCall(db, numbers, address)),
      },
    },
  );
  const rows = async () => (await listUnmatched(fixture.database.db, 1000)).filter(({ call_id: id }) => id.startsWith("flood")).length;
  for (let n = 0; n < 70; n++) {
    const call = new TestCall({ callId: `flood-${n}`, from: "+14155550177" });
    calls.onInvite(call.incoming);
    await calls.idle();
    assert.equal(call.status, 404);
  }
  assert.deepEqual(asked.toSorted(), ["198.51.100.7", "countries"]);
  assert.equal(await rows(), 60);
  fixture.process.clock.advance(60_000);
  calls.onInvite(new TestCall({ callId: "flood-70", from: "+14155550177" }).incoming);
  await calls.idle();
  assert.equal(await rows(), 61);
});
