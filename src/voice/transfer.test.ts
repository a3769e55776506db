import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { Secret } from "#src/kernel/secret.ts";
import type { ManualClock } from "#src/kernel/testing.ts";
import type { Log } from "#src/platform/index.ts";
import { OFFER, TestDialog, TestLeg, TestUserAgent, TONE, voiceFixture, type VoiceFixture } from "./testing.ts";
import { transferBack } from "./transfer.ts";
import { createTrunks } from "#src/checkout/index.ts";
import type { CallDeps } from "./types.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
  const { db } = fixture.database;
  // Leases run out by the database's clock, which goes on while a busy machine keeps this process waiting: here none does.
  await sql`alter table process_leases rename to living_processes`.execute(db);
  await sql`create view process_leases as select owner, roles, clock_timestamp() as heartbeat_at, master_keys from living_processes`.execute(
    db,
  );
  await sql`insert into living_processes (owner, roles) values ('process-1', 'voice')`.execute(db);
});
after(() => fixture.close());
beforeEach(async () => {
  await fixture.database.db.deleteFrom("transfers").execute();
  await fixture.database.db.deleteFrom("phone_numbers").execute();
});

/** A caller whose payment has failed, with a telephone of its own to be transferred to; `settings` are the installation's. */
async function rig(
  callback: string,
  settings: Partial<CallDeps["settings"]> = {},
  differences: Parameters<VoiceFixture["create"]>[0] = {},
  spoken: Promise<void> = Promise.resolve(),
  others: Partial<CallDeps> = {},
) {
  const { id } = await fixture.create({ callback, ...differences });
  await fixture.sessions.claim(id, { owner: "process-1", callId: "call-1" });
  await fixture.sessions.apply(id, "fail", { errorCode: "attempts_exhausted" });
  const session = (await fixture.sessions.find(fixture.database.db, id))!;
  const userAgent = new TestUserAgent();
  const warnings: { event: string; reason?: unknown; status?: unknown }[] = [];
  const log: Log = {
    debug() {},
    info() {},
    error() {},
    warn: (event, fields) => void warnings.push({ event, ...fields }),
    child: () => log,
  };
  const hangUp = new AbortController();
  const deps = { ...fixture.deps, ...others, userAgent, log, settings: { ...fixture.deps.settings, ...settings } };
  const caller = {
    session,
    speaking: { language: "en-US", merchant: null, wordings: [] } as const,
    leg: new TestLeg(1),
    dialog: new TestDialog() as never,
    peer: { acceptsRefer: false, domain: null },
    spoken,
    signal: hangUp.signal,
    joined: () => {},
  };
  const transferring = transferBack(caller, deps);
  const status = async () => (await fixture.sessions.find(fixture.database.db, id))?.transferStatus;
  /** The status, and the last words that the caller hears, after a transfer that came to nothing. */
  const failed = async () => {
    await transferring;
    return [await status(), caller.leg.played.at(-1)];
  };
  return { userAgent, caller, transferring, status, failed, warnings, hangUp, deps };
}
const NOT_CHARGED = "You haven't been charged. To try again, please call back later. Goodbye.";
const SORRY = `Sorry, I couldn't connect you. ${NOT_CHARGED}`;

/** A caller who is joined to a target that may describe its side anew. */
async function joined() {
  const { userAgent, transferring } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  userAgent.pickUp();
  const { dialog } = userAgent;
  while (!dialog.onReinvite) await turn();
  const reinvite = (sdp: string) => dialog.onReinvite?.(sdp) ?? null;
  return { userAgent, transferring, leg, dialog, reinvite };
}

test("the caller is joined to the target until one side hangs up, and each end is told (R-320, R-321)", async () => {
  const { userAgent, caller, transferring, status } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  userAgent.pickUp();
  const [bridge] = await fixture.media.bridged();
  assert.equal(bridge?.[0], caller.leg);
  while ((await status()) === null) await turn();
  assert.equal(await status(), "completed");
  userAgent.dialog.hangUp();
  await transferring;
  assert.deepEqual(caller.leg.played, ["I'm connecting you back now. Please hold on.", TONE]);
});

test("what the target says before it answers is heard once the words of being connected are over, from wherever rang last (R-320, RFC 3960)", async () => {
  const { userAgent, caller, transferring } = await rig("sip:agent@pbx.example");
  caller.leg.holdsAt = /connecting/;
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  const isHeard = () => fixture.media.early.some(([from, to]) => from === leg && to === caller.leg);
  userAgent.describeEarly();
  await turn();
  await turn();
  assert.deepEqual([leg.remotes, isHeard()], [[], false]);
  caller.leg.on.played("connecting");
  while (!isHeard()) await turn();
  userAgent.describeEarly(OFFER.replace("40000", "40002"));
  while (leg.remotes.length < 2) await turn();
  assert.equal(caller.leg.isPlaying, true);
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  assert.deepEqual(
    leg.remotes.map(({ port }) => port),
    [40_000, 40_002, 40_000],
  );
  assert.equal(caller.leg.isPlaying, false);
  userAgent.dialog.hangUp();
  await transferring;
});

test("a target may describe its side anew before it answers, and is heard there from then on; what cannot be done changes nothing (RFC 3311)", async () => {
  const { userAgent, caller, transferring } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  userAgent.describeEarly();
  const moved = OFFER.replace("40000", "40002");
  assert.equal(userAgent.reoffer(OFFER.replace("RTP/AVP 0", "RTP/AVP 18")), null);
  const answer = userAgent.reoffer(moved);
  assert.match(answer ?? "", /o=- \d+ 2 IN .*m=audio \d+ RTP\/AVP 0\r\n/s);
  while (leg.remotes.length < 2) await turn();
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp(moved, true);
  while (fixture.media.bridges.length === bridges) await turn();
  assert.deepEqual([leg.remotes.map(({ port }) => port), caller.leg.isPlaying], [[40_000, 40_002, 40_002], false]);
  while (!userAgent.dialog.onReinvite) await turn();
  assert.equal(userAgent.dialog.onReinvite(moved), answer, "nothing has changed since");
  userAgent.dialog.hangUp();
  await transferring;
});

test("early media from where nothing may be sent is not listened to: the ringing tone goes on, and nothing is sent there (S-50, RFC 3960)", async () => {
  const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example");
  userAgent.unreachable.add("192.0.2.9");
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  userAgent.describeEarly(OFFER.replaceAll("192.0.2.7", "192.0.2.9"));
  userAgent.describeEarly("no description");
  while (warnings.length === 0) await turn();
  assert.equal(warnings[0]?.event, "media_address_not_allowed");
  userAgent.describeEarly();
  while (leg.remotes.length === 0) await turn();
  userAgent.refuse(486);
  await failed();
  assert.deepEqual(
    leg.remotes.map(({ host }) => host),
    ["192.0.2.7"],
  );
});

test("an answer is not undone by early media that is still being looked at (S-50, RFC 3960)", async () => {
  const { userAgent, transferring } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  const looked = Promise.withResolvers<boolean>();
  const { mayReach } = userAgent;
  userAgent.mayReach = () => looked.promise;
  userAgent.describeEarly(OFFER.replace("40000", "40002"));
  await turn();
  userAgent.mayReach = mayReach;
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  looked.resolve(true);
  await turn();
  assert.deepEqual(
    leg.remotes.map(({ port }) => port),
    [40_000],
  );
  userAgent.dialog.hangUp();
  await transferring;
});

test("a key of INFO crosses the bridge, either way (R-226)", async () => {
  const { userAgent, caller, transferring } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  const agent = fixture.media.legs.at(-1)!;
  (caller.dialog as TestDialog).onDtmfDigit?.(4);
  userAgent.dialog.onDtmfDigit?.(11);
  assert.deepEqual([caller.leg.relayed, agent.relayed], [[4], [11]]);
  userAgent.dialog.hangUp();
  await transferring;
});

test("a target that has vanished keeps the caller no longer than its audio does, however long its BYE is unanswered (R-330)", async () => {
  const { userAgent, transferring, status } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const leg = fixture.media.legs.at(-1)!;
  userAgent.dialog.bye = () => (userAgent.dialog.events.note("bye"), new Promise(() => {}));
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  leg.on.mediaLost();
  await transferring;
  assert.deepEqual([await status(), userAgent.dialog.events.seen, leg.isClosed], ["completed", ["bye"], true]);
});

test("the callback is dialled when the last sentence is over, so that its first words reach the caller and cut none off (R-320)", async () => {
  const spoken = Promise.withResolvers<void>();
  const first = await rig("sip:agent@pbx.example", {}, {}, spoken.promise);
  const next = await rig("sip:agent@pbx.example");
  await next.userAgent.events.until("invited");
  assert.deepEqual([first.userAgent.invitations, first.caller.leg.played], [[], []]);
  spoken.resolve();
  await first.userAgent.events.until("invited");
  assert.equal(first.caller.leg.isPlaying, true);
  const bridges = fixture.media.bridges.length;
  first.userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  assert.equal(first.caller.leg.isPlaying, false);
  for (const { userAgent } of [first, next]) userAgent.refuse(486);
  first.userAgent.dialog.hangUp();
  await Promise.all([first.transferring, next.transferring]);
});

test("the two are joined though it can not be written yet that they are (R-320)", async () => {
  const { sessions } = fixture;
  const written = Promise.withResolvers<void>();
  const setTransferStatus: typeof sessions.setTransferStatus = async (...status) => {
    await written.promise;
    await sessions.setTransferStatus(...status);
  };
  const { userAgent, transferring, status } = await rig("sip:agent@pbx.example", {}, {}, undefined, {
    sessions: { ...sessions, setTransferStatus },
  });
  await userAgent.events.until("invited");
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp();
  while (fixture.media.bridges.length === bridges) await turn();
  assert.equal(await status(), null);
  written.resolve();
  userAgent.dialog.hangUp();
  await transferring;
  assert.equal(await status(), "completed");
});

test("a target may hold the bridged call and move its audio, but not to where nothing may be sent (R-226, S-50)", async () => {
  const { userAgent, transferring, leg, dialog, reinvite } = await joined();
  assert.match(reinvite(OFFER.replace("m=audio", "a=sendonly\r\nm=audio")) ?? "", /a=recvonly/);
  assert.match(reinvite(OFFER.replace("40000", "40002")) ?? "", /a=sendrecv/);
  while (leg.remotes.length < 3) await turn();
  assert.deepEqual(
    leg.remotes.map(({ direction, port }) => [direction, port]),
    [
      ["sendrecv", 40_000],
      ["recvonly", 40_000],
      ["sendrecv", 40_002],
    ],
  );
  userAgent.unreachable.add("192.0.2.9");
  reinvite(OFFER.replaceAll("192.0.2.7", "192.0.2.9"));
  await transferring;
  assert.deepEqual([leg.remotes.length, leg.isClosed, dialog.ended], [3, true, true]);
});

test("a target that holds the call from where nothing may be sent is sent nothing there, reports neither (S-50, R-260)", async () => {
  const { userAgent, transferring, leg, dialog, reinvite } = await joined();
  userAgent.unreachable.add("192.0.2.9");
  for (const host of ["192.0.2.9", "0.0.0.0", "192.0.2.8"])
    reinvite(OFFER.replaceAll("192.0.2.7", host).replace("m=audio", "a=sendonly\r\nm=audio"));
  while (leg.remotes.length < 4) await turn();
  assert.deepEqual(
    leg.remotes.map(({ host, direction }) => [host, direction]),
    [
      ["192.0.2.7", "sendrecv"],
      ["0.0.0.0", "recvonly"],
      ["0.0.0.0", "recvonly"],
      ["192.0.2.8", "recvonly"],
    ],
  );
  dialog.hangUp();
  await transferring;
});

/** The answer of a target that holds the call from the first. */
const holding = (host: string, port = 40_000) =>
  OFFER.replaceAll("192.0.2.7", host).replace("m=audio 40000", `a=inactive\r\nm=audio ${port}`);
const NOBODY_CAME = `Nobody's answering. ${NOT_CHARGED}`;

test("a target that answers on hold, as a queue without a free agent does, rings on, and is joined once it can be heard (R-226, R-320, S-50)", async () => {
  for (const answer of [OFFER.replaceAll("192.0.2.7", "0.0.0.0"), holding("0.0.0.0", 9), holding("192.0.2.9")]) {
    const { userAgent, caller, transferring, status } = await rig("sip:agent@pbx.example");
    userAgent.unreachable.add("0.0.0.0").add("192.0.2.9");
    await userAgent.events.until("invited");
    const leg = fixture.media.legs.at(-1)!;
    const bridges = fixture.media.bridges.length;
    userAgent.pickUp(answer);
    const { dialog } = userAgent;
    while (!dialog.onReinvite && !leg.isClosed) await turn();
    // What it plays meanwhile takes the place of the ringing tone.
    assert.deepEqual([caller.leg.isPlaying, fixture.media.early.at(-1)], [true, [leg, caller.leg]], answer);
    assert.deepEqual([fixture.media.bridges.length, await status()], [bridges, null], answer);
    dialog.onReinvite?.(OFFER);
    while (fixture.media.bridges.length === bridges && !leg.isClosed) await turn();
    assert.equal(caller.leg.isPlaying, false);
    dialog.hangUp();
    await transferring;
    assert.equal(await status(), "completed", answer);
    assert.deepEqual(
      leg.remotes.map(({ host, direction }) => [host, direction]),
      [
        ["0.0.0.0", answer.includes("a=inactive") ? "inactive" : "recvonly"],
        ["192.0.2.7", "sendrecv"],
      ],
    );
  }
});

test("a target that plays music to the caller it holds is joined: a queue may take longer than it may ring (R-320)", async () => {
  const { userAgent, caller, transferring, status } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  const bridges = fixture.media.bridges.length;
  userAgent.pickUp(OFFER.replace("m=audio", "a=sendonly\r\nm=audio"));
  while (fixture.media.bridges.length === bridges) await turn();
  assert.equal(caller.leg.isPlaying, false);
  userAgent.dialog.hangUp();
  await transferring;
  assert.equal(await status(), "completed");
});

test("a target that says that it holds, and plays to the caller all the same, is joined at its first audio (RFC 3264 section 8.4, R-320)", async () => {
  for (const answer of [OFFER.replaceAll("192.0.2.7", "0.0.0.0"), holding("192.0.2.7")]) {
    const { userAgent, caller, transferring, status } = await rig("sip:agent@pbx.example");
    await userAgent.events.until("invited");
    const leg = fixture.media.legs.at(-1)!;
    const bridges = fixture.media.bridges.length;
    userAgent.pickUp(answer);
    while (!userAgent.dialog.onReinvite) await turn();
    leg.on.earlyAudio();
    while (fixture.media.bridges.length === bridges && !leg.isClosed) await turn();
    assert.equal(caller.leg.isPlaying, false);
    userAgent.dialog.hangUp();
    await transferring;
    assert.equal(await status(), "completed", answer);
  }
});

for (const [what, end] of [
  ["stays so for as long as it may ring", ({ deps }) => (deps.clock as ManualClock).advance(60_000)],
  ["hangs up", ({ userAgent }) => userAgent.dialog.hangUp()],
] satisfies [string, (made: Awaited<ReturnType<typeof rig>>) => void][]) {
  test(`a target that answers on hold and ${what} has not answered, and the caller hears that (R-321, R-330)`, async () => {
    const made = await rig("sip:agent@pbx.example");
    const { userAgent, failed } = made;
    await userAgent.events.until("invited");
    const leg = fixture.media.legs.at(-1)!;
    const bridges = fixture.media.bridges.length;
    userAgent.pickUp(holding("0.0.0.0"));
    while (!userAgent.dialog.onReinvite && !leg.isClosed) await turn();
    end(made);
    assert.deepEqual(await failed(), ["no_answer", NOBODY_CAME]);
    assert.deepEqual([fixture.media.bridges.length, leg.isClosed, userAgent.dialog.ended], [bridges, true, true]);
  });
}

test("a caller who hangs up while the target holds the call from the first was not transferred (R-321)", async () => {
  const { userAgent, transferring, status, hangUp } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  userAgent.pickUp(holding("0.0.0.0"));
  while (!userAgent.dialog.onReinvite) await turn();
  hangUp.abort();
  await transferring;
  assert.deepEqual([await status(), userAgent.dialog.ended], ["caller_hung_up", true]);
});

test("an answer that refuses our audio is told to the caller at once, however long its BYE is unanswered (R-321, R-330)", async () => {
  const { userAgent, failed } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  userAgent.dialog.bye = () => new Promise(() => {});
  userAgent.pickUp(OFFER.replace("40000", "0"));
  assert.deepEqual(await failed(), ["failed", SORRY]);
});

test("a hold right behind a resume is not overtaken by it, however long the resume is looked at (R-226, S-50)", async () => {
  const { userAgent, transferring, leg, dialog, reinvite } = await joined();
  const looked = Promise.withResolvers<boolean>();
  userAgent.mayReach = () => looked.promise;
  reinvite(OFFER.replace("40000", "40002"));
  reinvite(OFFER.replace("40000", "40002").replace("m=audio", "a=sendonly\r\nm=audio"));
  await turn();
  looked.resolve(true);
  while (leg.remotes.length < 3) await turn();
  assert.deepEqual(
    leg.remotes.map(({ direction }) => direction),
    ["sendrecv", "sendrecv", "recvonly"],
  );
  dialog.hangUp();
  await transferring;
});

test("a target over TLS is offered SRTP, and called again without it when it cannot; unless SRTP is required (S-86)", async () => {
  for (const [status, settings, offers] of [
    [488, {}, ["RTP/SAVP", "RTP/AVP"]],
    [606, {}, ["RTP/SAVP", "RTP/AVP"]],
    [488, { srtpRequired: true }, ["RTP/SAVP"]],
  ] as const) {
    const { userAgent, failed } = await rig("sips:agent@pbx.example", settings);
    await userAgent.events.until("invited");
    userAgent.refuse(status);
    await failed();
    assert.deepEqual(
      userAgent.invitations.map(({ offer }) => /RTP\/\w+/.exec(offer)?.[0]),
      offers,
    );
  }
  const plain = await rig("sip:agent@pbx.example");
  await plain.userAgent.events.until("invited");
  assert.doesNotMatch(plain.userAgent.invitations[0]?.offer ?? "", /SAVP|crypto/);
  plain.userAgent.refuse(488);
  await plain.failed();
  assert.equal(plain.userAgent.invitations.length, 1);
});

const [BUSY, NOBODY, NOT_CONNECTED] = ["The line's busy.", "Nobody's answering.", "Sorry, I couldn't connect you."];
for (const [status, expected, words] of [
  [486, "busy", BUSY],
  [600, "busy", BUSY],
  [408, "no_answer", NOBODY],
  [480, "no_answer", NOBODY],
  [487, "no_answer", NOBODY],
  [302, "failed", NOT_CONNECTED],
  [603, "failed", NOT_CONNECTED],
  [404, "failed", NOT_CONNECTED],
  [503, "failed", NOT_CONNECTED],
] as const) {
  test(`a target that answers ${status} counts as ${expected}, and the caller hears that and how the payment ended (R-321)`, async () => {
    const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example");
    await userAgent.events.until("invited");
    userAgent.refuse(status);
    assert.deepEqual(await failed(), [expected, `${words} ${NOT_CHARGED}`]);
    // The operator learns of what is his to mend, in the words of SIP.
    const told = warnings.map(({ event, status }) => [event, status]);
    assert.deepEqual(told, expected === "failed" ? [["transfer_refused", String(status)]] : []);
  });
}

test("an answer that we can do nothing with is told to the operator, with what is wrong with it (R-321)", async () => {
  const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example");
  await userAgent.events.until("invited");
  userAgent.pickUp(OFFER.replace("RTP/AVP 0", "RTP/AVP 18"));
  assert.deepEqual(await failed(), ["failed", SORRY]);
  assert.deepEqual([warnings[0]?.event, warnings[0]?.reason], ["transfer_refused", "neither PCMU nor PCMA"]);
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
  assert.equal(invitation?.target, "sip:+14155550111@trunk.example");
  assert.equal(invitation.credentials?.username, "shop");
  dialled.userAgent.refuse(486);
  await dialled.transferring;

  const { userAgent, failed, warnings } = await rig("+14155550111", {
    trunks: createTrunks({ sipTrunks: [], sipOutbound: null }, async () => []),
  });
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

/** What is dialled after the first one, when each time these are the Contacts of a 302; the last one is busy. */
async function redirected(callback: string, answers: readonly (readonly string[])[], settings: Partial<CallDeps["settings"]> = {}) {
  const { userAgent, transferring, status, warnings } = await rig(callback, settings);
  const over = new AbortController();
  void transferring.then(() => over.abort());
  for (const [at, contacts] of [...answers, null].entries()) {
    while (!over.signal.aborted && userAgent.invitations.length <= at) await turn();
    if (contacts) userAgent.refuse(302, contacts);
    else userAgent.refuse(486);
  }
  await transferring;
  const dialled = userAgent.invitations.slice(1).map(({ target, credentials, transport }) => [target, transport, credentials?.username]);
  return { dialled, status: await status(), reasons: warnings.map(({ reason }) => reason) };
}

test("a target that has moved is called where it is now, if the project allows that too: the first such place, three times at most (R-330)", async () => {
  const elsewhere = "sip:desk@branch.example;transport=tcp";
  const moved = await redirected("sip:agent@pbx.example", [
    ["sip:+19005551234@192.0.2.70", "mailto:a@b", elsewhere, "sip:late@pbx.example"],
  ]);
  assert.deepEqual(moved, { dialled: [[elsewhere, undefined, undefined]], status: "busy", reasons: [] });
  const toNumber = await redirected("sip:agent@pbx.example", [["tel:+14155550111"]]);
  assert.deepEqual(toNumber.dialled, [["sip:+14155550111@trunk.example", "udp", "shop"]]);
  for (const [callback, contact] of [
    ["sip:agent@pbx.example", "sip:+19005551234@192.0.2.70"],
    ["+14155550111", "sip:+19005551234@other.trunk.example?Replaces=x"],
    ["sips:agent@pbx.example", "sip:agent@pbx.example"],
    ["sip:agent@pbx.example;transport=tls", "sip:agent@pbx.example;transport=tcp"],
  ] as const) {
    assert.deepEqual(await redirected(callback, [[contact]]), { dialled: [], status: "failed", reasons: ["redirected"] }, contact);
  }
  const loop = await redirected("sip:a@pbx.example", [
    ["sip:b@pbx.example"],
    ["sip:a@pbx.example"],
    ["sip:b@pbx.example"],
    ["sip:a@pbx.example"],
  ]);
  assert.deepEqual([loop.dialled.length, loop.status, loop.reasons], [3, "failed", ["redirected"]]);
});

test("a trunk may name another place for the number that it was asked to call, encrypted where it was, and its password stays with it (R-330)", async () => {
  const voice = JSON.stringify({ transfer: { allow: ["+1415"] } });
  const { db } = fixture.database;
  await db.updateTable("projects").set({ voice }).execute();
  const place = "sip:+14155550111;npdi@sbc2.carrier.example:5070";
  assert.deepEqual((await redirected("+14155550111", [[place]])).dialled, [[place, undefined, undefined]]);
  const other = await redirected("+14155550111", [["sip:+14155550112@sbc2.carrier.example"]]);
  assert.deepEqual([other.dialled, other.status], [[], "failed"]);
  const trunks = createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:shop:geheim@trunk.example;transport=tls") }, async () => []);
  assert.deepEqual((await redirected("+14155550111", [[place]], { trunks })).dialled, [[place, "tls", undefined]]);
  await db
    .updateTable("projects")
    .set({ voice: JSON.stringify({}) })
    .execute();
});

for (const [what, sdp] of [
  ["an address that signalling may not reach", OFFER],
  ["a port of another service", OFFER.replaceAll("192.0.2.7", "192.0.2.8").replace("40000", "53")],
] as const) {
  test(`an answer that sends our audio to ${what} ends the call, and nothing is sent there (R-260, S-50)`, async () => {
    const { userAgent, failed, warnings } = await rig("sip:agent@pbx.example");
    userAgent.unreachable.add("192.0.2.7");
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

test("twenty transfers at the same moment pass no limit (R-330)", async () => {
  const limits = { transfers: { atOnce: 5, perDay: 500 } };
  const rigs = await Promise.all(Array.from({ length: 20 }, () => rig("sip:agent@pbx.example", limits)));
  const decided = rigs.map(({ userAgent, transferring }) => Promise.race([userAgent.events.until("invited"), transferring]));
  await Promise.all(decided);
  assert.equal(rigs.filter(({ userAgent }) => userAgent.invitations.length > 0).length, 5);
  for (const { userAgent } of rigs) userAgent.refuse(486);
  await Promise.all(rigs.map(({ transferring }) => transferring));
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

test("a flood of one project's transfers leaves some of TRANSFERS_AT_ONCE to the others, and all of them to a project that is alone (R-330)", async () => {
  const limits = { transfers: { atOnce: 10, perDay: 500 } };
  const { db } = fixture.database;
  const other = await fixture.organization("neighbour");
  const flood = async (count: number, differences = {}) => {
    const rigs = await Promise.all(Array.from({ length: count }, () => rig("sip:agent@pbx.example", limits, differences)));
    await Promise.all(rigs.map(({ userAgent, transferring }) => Promise.race([userAgent.events.until("invited"), transferring])));
    const end = async () => {
      for (const { userAgent } of rigs) userAgent.refuse(486);
      await Promise.all(rigs.map(({ transferring }) => transferring));
    };
    const reasons = new Set(rigs.flatMap(({ warnings }) => warnings.map(({ reason }) => reason)));
    return { dialled: rigs.filter(({ userAgent }) => userAgent.invitations.length > 0).length, reasons: [...reasons], end };
  };
  const first = await flood(20);
  assert.deepEqual([first.dialled, first.reasons], [8, ["share"]]);
  const second = await flood(20, other);
  assert.deepEqual([second.dialled, second.reasons], [2, ["at once"]]);
  await Promise.all([first.end(), second.end()]);
  await db.updateTable("projects").set({ archived: true }).where("id", "!=", fixture.projectId).execute();
  const alone = await flood(20);
  assert.deepEqual([alone.dialled, alone.reasons], [10, ["at once"]]);
  await alone.end();
});
