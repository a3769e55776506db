import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { type Log, startLease } from "#src/platform/index.ts";
import { OFFER, TestDialog, TestLeg, TestUserAgent, voiceFixture, type VoiceFixture } from "./testing.ts";
import { transferBack } from "./transfer.ts";
import { createTrunks } from "#src/checkout/index.ts";
import type { CallDeps } from "./types.ts";

let fixture: VoiceFixture;
let endLease: () => Promise<void>;
before(async () => {
  fixture = await voiceFixture();
  const { database, clock, log } = fixture.deps;
  endLease = await startLease({ database, clock, owner: "process-1", roles: "voice", log });
});
after(async () => {
  await endLease();
  await fixture.close();
});
beforeEach(async () => {
  await fixture.database.db.deleteFrom("transfers").execute();
  await fixture.database.db.deleteFrom("phone_numbers").execute();
});

/** A caller whose payment has failed, with a telephone of its own to be transferred to; `settings` are the installation's. */
async function rig(
  callback: string,
  settings: Partial<CallDeps["settings"]> = {},
  differences: Parameters<VoiceFixture["create"]>[0] = {},
) {
  const { id } = await fixture.create({ callback, ...differences });
  await fixture.sessions.claim(id, { owner: "process-1", callId: "call-1" });
  await fixture.sessions.apply(id, "fail", { errorCode: "attempts_exhausted" });
  const session = (await fixture.sessions.find(fixture.database.db, id))!;
  const userAgent = new TestUserAgent();
  const warnings: { event: string; reason?: unknown }[] = [];
  const log: Log = {
    debug() {},
    info() {},
    error() {},
    warn: (event, fields) => void warnings.push({ event, ...fields }),
    child: () => log,
  };
  const hangUp = new AbortController();
  const deps = { ...fixture.deps, userAgent, log, settings: { ...fixture.deps.settings, ...settings } };
  const caller = { session, leg: new TestLeg(1), dialog: new TestDialog() as never, signal: hangUp.signal };
  const transferring = transferBack(caller, deps);
  const status = async () => (await fixture.sessions.find(fixture.database.db, id))?.transferStatus;
  /** The words that the caller hears, and the status, after a transfer that came to nothing. */
  const failed = async () => {
    await transferring;
    return [await status(), caller.leg.played];
  };
  return { userAgent, caller, transferring, status, failed, warnings, hangUp, deps };
}
const SORRY = ["Sorry, I could not connect you. Goodbye."];

test("the caller is joined to the target until one side hangs up, and each end is told (R-320, R-321)", async () => {
  const { userAgent, caller, transferring, status } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  userAgent.pickUp();
  const [bridge] = await fixture.media.bridged();
  assert.equal(bridge?.[0], caller.leg);
  assert.equal(await status(), "completed");
  userAgent.dialog.hangUp();
  await transferring;
  assert.deepEqual(caller.leg.played, []);
});

test("a busy target, a silent one and one that fails are told apart, and the caller hears of it (R-321)", async () => {
  for (const [sip, expected] of [
    [486, "busy"],
    [408, "no_answer"],
    [503, "failed"],
  ] as const) {
    const { userAgent, failed } = await rig("sip:agent@pbx.example");
    await userAgent.events.until("invited");
    userAgent.refuse(sip);
    assert.deepEqual(await failed(), [expected, SORRY]);
  }
});

test("a caller who hangs up while it rings stops the ringing (R-321)", async () => {
  const { userAgent, transferring, status, hangUp } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  hangUp.abort();
  await userAgent.events.until("cancelled");
  await transferring;
  assert.equal(await status(), "caller_hung_up");
});

test("the caller id presented is the project's number, else the installation's, never the caller's (R-330)", async () => {
  const fromOf = async () => {
    const { userAgent, failed } = await rig("+14155550111");
    await userAgent.events.until("invited");
    userAgent.refuse(503);
    await failed();
    return userAgent.invitations[0]?.from;
  };
  assert.equal(await fromOf(), "sip:+15550009999@till.example");
  await fixture.addNumber("+15550001111", fixture.projectId);
  assert.equal(await fromOf(), "sip:+15550001111@till.example");
});

test("a number is dialled through the trunk, and without one the transfer fails (R-432)", async () => {
  const dialled = await rig("+14155550111");
  await dialled.userAgent.events.until("invited");
  const [invitation] = dialled.userAgent.invitations;
  assert.equal(invitation?.target, "sip:+14155550111@trunk.example:5060");
  assert.equal(invitation.credentials?.username, "shop");
  dialled.userAgent.refuse(486);
  await dialled.transferring;

  const { userAgent, failed, warnings } = await rig("+14155550111", { trunks: createTrunks({ sipTrunks: [], sipOutbound: null }) });
  assert.deepEqual(await failed(), ["failed", SORRY]);
  assert.deepEqual(userAgent.invitations, []);
  assert.equal(warnings[0]?.reason, "no trunk");
});

test("what the project's rules do not allow is not dialled, whatever was allowed when the session was made (R-330)", async () => {
  for (const callback of ["+19005551234", "+442079460958", "sip:+19005551234@192.0.2.70"]) {
    const { userAgent, failed, warnings } = await rig(callback);
    assert.deepEqual(await failed(), ["failed", SORRY], callback);
    assert.deepEqual([userAgent.invitations, warnings[0]?.event], [[], "transfer_not_allowed"]);
  }
});

test("a number under a name that leads to a trunk reaches no trunk (R-330)", async () => {
  const trunks = createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:trunk.example") }, async () => ["192.0.2.66"]);
  const { userAgent, transferring } = await rig("sip:+19005551234@alias.example", { trunks });
  await userAgent.events.until("invited");
  const { mayReach } = userAgent.invitations[0]!;
  assert.deepEqual([await mayReach?.("192.0.2.66", 5060), await mayReach?.("198.51.100.1", 5060)], [false, true]);
  userAgent.refuse(503);
  await transferring;
});

for (const [what, sdp] of [
  ["an address that signalling may not reach", OFFER],
  ["a port of another service", OFFER.replaceAll("192.0.2.7", "192.0.2.8").replace("40000", "53")],
  ["no address at all", OFFER.replaceAll("192.0.2.7", "0.0.0.0")],
] as const) {
  test(`an answer that sends our audio to ${what} ends the call, and nothing is sent there (R-260, S-50)`, async () => {
    const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example");
    for (const address of ["192.0.2.7", "0.0.0.0"]) userAgent.unreachable.add(address);
    await userAgent.events.until("invited");
    const leg = fixture.media.legs.at(-1)!;
    userAgent.pickUp(sdp);
    assert.deepEqual(await failed(), ["failed", SORRY]);
    assert.deepEqual([leg.remotes, leg.isClosed, userAgent.dialog.ended], [[], true, true]);
    assert.equal(warnings[0]?.event, "media_address_not_allowed");
  });
}

test("beyond TRANSFERS_AT_ONCE nothing is dialled, over all processes together, until one has ended (R-330)", async () => {
  const limits = { transfers: { atOnce: 1, perDay: 500 } };
  const first = await rig("sip:agent@pbx.example", limits);
  await first.userAgent.events.until("invited");
  for (const owner of ["process-1", "process-2"]) {
    const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example", { ...limits, owner });
    assert.deepEqual(await failed(), ["failed", SORRY]);
    assert.deepEqual(userAgent.invitations, []);
    assert.deepEqual([warnings[0]?.event, warnings[0]?.reason], ["transfer_limit_reached", "at once"]);
  }
  first.userAgent.refuse(486);
  await first.transferring;
  const next = await rig("sip:agent@pbx.example", limits);
  await next.userAgent.events.until("invited");
  next.userAgent.refuse(486);
  await next.transferring;
});

test("a transfer of a process that died counts no more (R-330)", async () => {
  const row = { session_id: fixture.projectId, project_id: fixture.projectId, owner: "dead" };
  await fixture.database.db.insertInto("transfers").values(row).execute();
  const { userAgent, transferring } = await rig("sip:agent@pbx.example", { transfers: { atOnce: 1, perDay: 500 } });
  await userAgent.events.until("invited");
  userAgent.refuse(486);
  await transferring;
});

test("beyond TRANSFERS_PER_DAY a project's callers are not transferred, another project's are (R-330)", async () => {
  const limits = { transfers: { atOnce: 50, perDay: 2 } };
  const other = await fixture.organization("other");
  const dialledOf = async (differences = {}) => {
    const { userAgent, transferring, warnings } = await rig("sip:agent@pbx.example", limits, differences);
    userAgent.refuse(486);
    await transferring;
    return [userAgent.invitations.length, warnings[0]?.reason];
  };
  assert.deepEqual(await dialledOf(), [1, undefined]);
  assert.deepEqual(await dialledOf(), [1, undefined]);
  assert.deepEqual(await dialledOf(), [0, "per day"]);
  assert.deepEqual(await dialledOf(other), [1, undefined]);
});

test("twenty transfers at the same moment pass no limit (R-330)", async () => {
  const limits = { transfers: { atOnce: 5, perDay: 500 } };
  const rigs = await Promise.all(Array.from({ length: 20 }, () => rig("sip:agent@pbx.example", limits)));
  const decided = rigs.map(({ userAgent, transferring }) => Promise.race([userAgent.events.until("invited"), transferring]));
  await Promise.all(decided);
  assert.equal(rigs.filter(({ userAgent }) => userAgent.invitations.length > 0).length, 5);
  for (const { userAgent } of rigs) userAgent.refuse(486);
  await Promise.all(rigs.map(({ transferring }) => transferring));
});
