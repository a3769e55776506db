import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { startLease } from "#src/platform/index.ts";
import type { CallDialog } from "#src/sip/index.ts";
import { createTrunks } from "#src/checkout/index.ts";
import { withHeaders } from "./refer.ts";
import { TestDialog, TestLeg, TestUserAgent, voiceFixture, type VoiceFixture } from "./testing.ts";
import { transferBack } from "./transfer.ts";

type Outcome = Awaited<ReturnType<CallDialog["refer"]>>;
type ReferOptions = Parameters<CallDialog["refer"]>[0];

let fixture: VoiceFixture;
let endLease: () => Promise<void>;
before(async () => {
  fixture = await voiceFixture();
  const { database, clock, log } = fixture.deps;
  endLease = await startLease({ database, clock, owner: "process-1", roles: "voice", log });
  const voice = JSON.stringify({ transfer: { mode: "refer" } });
  await database.db.updateTable("projects").set({ voice }).execute();
});
after(async () => {
  await endLease();
  await fixture.close();
});

/**
 * A caller of a project that wants REFER, whose side ends it so; `hangsUp`: the caller is gone then; `isLate`: his side has him with the target
 * when he is being told that nobody answers; `isSilent`: no packet comes from there while it carries the REFER out.
 */
async function rig(
  outcome: Outcome,
  {
    callback = "sip:agent@pbx.example",
    acceptsRefer = true,
    hangsUp = false,
    isLate = false,
    isSilent = false,
    hasTrunk = true,
    domain = "carrier.example",
  } = {},
) {
  const { id } = await fixture.create({ callback, memory: "order 118" });
  await fixture.sessions.claim(id, { owner: "process-1", callId: "call-1" });
  await fixture.sessions.apply(id, "abandon");
  const session = (await fixture.sessions.find(fixture.database.db, id))!;
  const userAgent = new TestUserAgent();
  userAgent.refuse(486);
  const leg = new TestLeg(1);
  const hangUp = new AbortController();
  const referrals: ReferOptions[] = [];
  const dialog = Object.assign(new TestDialog(), {
    refer: (options: ReferOptions): Promise<Outcome> => {
      referrals.push(options);
      if (hangsUp || (isSilent && leg.isMediaWatched)) hangUp.abort();
      return Promise.resolve(outcome);
    },
  });
  const trunks = hasTrunk ? fixture.deps.settings.trunks : createTrunks({ sipTrunks: [], sipOutbound: null }, async () => []);
  const deps = { ...fixture.deps, userAgent, settings: { ...fixture.deps.settings, trunks } };
  const peer = { acceptsRefer, domain };
  const spoken = Promise.resolve();
  if (isLate) {
    leg.onPlayed = (words) => {
      if (!words.includes("answering")) return;
      dialog.isTakenOver = true;
      hangUp.abort();
    };
  }
  await transferBack(
    {
      session,
      speaking: { language: "en-US", merchant: null, wordings: [] },
      leg,
      dialog: dialog as never,
      peer,
      spoken,
      signal: hangUp.signal,
      joined: () => {},
    },
    deps,
  );
  await turn();
  const { transferStatus } = (await fixture.sessions.find(fixture.database.db, id))!;
  const { invitations } = userAgent;
  const { isMediaWatched } = leg;
  return { status: transferStatus, referrals, dialled: invitations.length, isLetGo: dialog.ended, heard: leg.played, isMediaWatched, id };
}

test("by REFER the caller's own side calls the target, with the payment's headers, and lets us go when it is answered (R-320, R-325)", async () => {
  const { status, referrals, dialled, isLetGo, heard, id } = await rig({ kind: "called", status: 200 });
  assert.deepEqual([status, dialled, isLetGo], ["completed", 0, true]);
  const { to = "", by } = referrals[0] ?? {};
  assert.match(to, new RegExp(`^sip:agent@pbx\\.example\\?X-Session-Id=${id}&X-Payment-Status=abandoned&X-Memory=order%20118&`));
  assert.equal(by, "sip:+15550009999@till.example");
  assert.deepEqual(heard, ["I'm connecting you back now. Please hold on.", "(tone)"]);
});

test("what became of the caller's own call is told as it was (R-321)", async () => {
  for (const [outcome, hangsUp, expected] of [
    [{ kind: "called", status: 486 }, false, "busy"],
    [{ kind: "called", status: 408 }, false, "no_answer"],
    [{ kind: "called", status: 603 }, false, "failed"],
    // Their call may be ringing at the target, or have reached it: one of our own might be a second one.
    [{ kind: "untold" }, false, "failed"],
    [{ kind: "untold" }, true, "caller_hung_up"],
    [{ kind: "called", status: 487 }, true, "caller_hung_up"],
    // Taken is taken: theirs may be ringing, whether or not they tell of that.
    [{ kind: "silent" }, false, "no_answer"],
    // Taken over without a word, as carriers do; who told of the ringing would have told of the answer.
    [{ kind: "left", accepted: true, ringing: false }, true, "completed"],
    [{ kind: "left", accepted: true, ringing: true }, true, "caller_hung_up"],
    [{ kind: "left", accepted: false, ringing: false }, true, "caller_hung_up"],
  ] as const) {
    const { status, dialled } = await rig(outcome, { hangsUp });
    assert.deepEqual([status, dialled], [expected, 0], JSON.stringify(outcome));
  }
});

test("a REFER that is refused, or whose call has failed, is followed by a call of our own without the words once more (R-320)", async () => {
  for (const outcome of [
    { kind: "refused", status: 603 },
    { kind: "refused", status: 408 },
    { kind: "called", status: 404 },
  ] as const) {
    const { status, dialled, heard } = await rig(outcome);
    assert.deepEqual([status, dialled], ["busy", 1], JSON.stringify(outcome));
    assert.deepEqual(heard.slice(0, -1), ["I'm connecting you back now. Please hold on.", "(tone)", "(tone)"], "he is told once");
  }
  const { referrals, dialled } = await rig({ kind: "called", status: 200 }, { acceptsRefer: false });
  assert.deepEqual([referrals, dialled], [[], 1]);
});

test("a caller whose side reaches the target after all, while he is told that nobody answers, is with it (R-321)", async () => {
  const { status, dialled } = await rig({ kind: "silent" }, { isLate: true });
  assert.deepEqual([status, dialled], ["completed", 0]);
});

test("a side that sends no packet while it carries a REFER out has not hung up: its caller is with the target's ringing, and comes back (R-321)", async () => {
  for (const [outcome, expected, calls] of [
    [{ kind: "called", status: 486 }, "busy", 0],
    [{ kind: "called", status: 503 }, "busy", 1],
    [{ kind: "silent" }, "no_answer", 0],
  ] as const) {
    const { status, dialled, isMediaWatched } = await rig(outcome, { isSilent: true });
    assert.deepEqual([status, dialled, isMediaWatched], [expected, calls, true], JSON.stringify(outcome));
  }
});

test("a number is called at the caller's own domain, without a trunk of ours, and only where the project allows it (R-330, R-432)", async () => {
  const { status, referrals } = await rig({ kind: "called", status: 200 }, { callback: "+14155550111", hasTrunk: false });
  assert.equal(status, "completed");
  assert.match(referrals[0]?.to ?? "", /^sip:\+14155550111@carrier\.example\?/);
  // A caller who withholds his number is at no domain at all (RFC 3323 section 4.1.1.3).
  const anonymous = await rig({ kind: "called", status: 404 }, { callback: "+14155550111", domain: "anonymous.invalid" });
  assert.deepEqual([anonymous.referrals, anonymous.dialled], [[], 1]);
  for (const callback of ["+19005551234", "sip:+19005551234@192.0.2.70"]) {
    const refused = await rig({ kind: "called", status: 200 }, { callback });
    assert.deepEqual([refused.status, refused.referrals, refused.dialled], ["failed", [], 0], callback);
  }
  // Under another name it may lead to a trunk all the same: our own call looks where it goes, theirs would not.
  const alias = await rig({ kind: "called", status: 200 }, { callback: "sip:+19005551234@alias.example" });
  assert.deepEqual([alias.referrals, alias.dialled], [[], 1]);
});

test("headers that would make the Refer-To too long are left out, and none can break it (R-325)", () => {
  const uri = withHeaders("sip:a@b", [
    ["X-Session-Id", "1"],
    ["X-Memory", "x".repeat(1_000)],
    ["X-payment_said", "a&b=c>\r\n"],
  ]);
  assert.equal(uri, "sip:a@b?X-Session-Id=1&X-payment_said=a%26b%3Dc%3E%0D%0A");
});
