import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import type { Log } from "#src/platform/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { AppError } from "#src/kernel/errors.ts";
import { APPROVED, declined, LOST } from "#src/payments/testing.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import { Events, OFFER, TestCall, type TestLeg, voiceFixture, type VoiceFixture } from "./testing.ts";
import type { CallDeps } from "./types.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
});
after(() => fixture.close());
afterEach(() => {
  fixture.gateway.onCharge = async () => APPROVED;
  fixture.gateway.charges.length = 0;
});

const ANSWERS: readonly (readonly [question: RegExp, keys: string])[] = [
  [/card number/i, "4242424242424242#"],
  [/expiry date/i, "1230#"],
  [/security code/i, "123#"],
  [/zip code/i, "94105#"],
  [/name on the card/i, "56664466077776444844#"],
  [/press one/i, "1"],
];

/** Keys the answer to each question, but for the one that `until` stops at. */
function keys(leg: TestLeg, until: RegExp | null = null): void {
  leg.onPlayed = (words) => {
    const [, answer = ""] = until?.test(words) ? [] : (ANSWERS.find(([question]) => question.test(words)) ?? []);
    for (const key of answer) leg.on.dtmfDigit(key === "#" ? 11 : Number(key));
  };
}

/** An admitted call; `lines` has its log events. */
async function rig({
  offer,
  deps = {},
  transport = "udp",
}: { offer?: string | null; deps?: Partial<CallDeps>; transport?: "udp" | "tls" } = {}) {
  const session = await fixture.create({ callback: null });
  const fields = [`X-Session-Id: ${session.id}`];
  const call = new TestCall({ callId: session.id, fields, transport, ...(offer === undefined ? {} : { offer }) });
  const admission = await admit(call.incoming, { ...fixture.deps, ...deps });
  assert.ok(!("status" in admission));
  const lines = new Events();
  /** Fields of the log's lines. */
  const logged: unknown[] = [];
  const note = (event: string, more?: object) => {
    logged.push(more);
    lines.note(event);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const leg = fixture.media.legs.at(-1)!;
  // A clock of its own: the charge's deadlines are another's, which stands still.
  const clock = new ManualClock();
  const run = () => runCall(call.incoming, admission, { ...fixture.deps, log, clock, ...deps });
  const current = async () => (await fixture.sessions.find(fixture.database.db, session.id))!;
  /** Resolves when the call is closed. Time stands still while it is collected; afterwards the line is held for a moment. */
  const closed = async (running = run()) => {
    const over = new AbortController();
    const watched = running.finally(() => over.abort());
    watched.catch(() => {});
    await Promise.race([lines.until("call_collected"), watched.catch(() => {})]);
    while (!over.signal.aborted) {
      clock.advance(10);
      await turn();
    }
    await watched;
  };
  return { session, call, leg, lines, logged, run, current, clock, closed };
}

test("a keyed card is charged, the caller is told and hung up, and everything is closed (R-190)", async () => {
  const { call, leg, current, clock, closed } = await rig();
  keys(leg);
  await closed();
  assert.equal((await current()).status, "payment-success");
  assert.equal(fixture.gateway.charges.length, 1);
  assert.match(leg.played.at(-1) ?? "", /approved/);
  assert.deepEqual([call.dialog.events.seen, leg.isClosed, clock.pending], [["bye"], true, 0]);
});

test("a name that the project asks for is spelled by keys and reaches the gateway with the card, and neither a log line nor the database (R-434, R-132)", async () => {
  const { db } = fixture.database;
  await db
    .updateTable("projects")
    .set({ voice: JSON.stringify({ collect: ["number", "expiry", "name"] }) })
    .execute();
  const { leg, logged, current, closed } = await rig();
  const names: (string | null)[] = [];
  fixture.gateway.onCharge = async ({ card }) => {
    names.push(card.cardholderName);
    return APPROVED;
  };
  keys(leg);
  await closed();
  await db
    .updateTable("projects")
    .set({ voice: JSON.stringify({}) })
    .execute();
  assert.deepEqual([(await current()).status, names], ["payment-success", ["JOHN SMITH"]]);
  assert.match(leg.played.join("\n"), /The name on it is J O H N space S M I T H/);
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`.execute(
    db,
  );
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`select row_to_json(each)::text as row from ${sql.table(name)} as each`.execute(db);
    for (const { row } of rows) assert.doesNotMatch(row, /JOHN|SMITH/i, name);
  }
  assert.ok(tables.length > 10);
  assert.doesNotMatch(JSON.stringify(logged), /JOHN|SMITH|5666/i);
});

test("a caller who hangs up while he is asked leaves an abandoned session, and nothing runs on (R-224)", async () => {
  const { call, leg, lines, current, clock, closed } = await rig();
  leg.onPlayed = (words) => {
    if (/card number/i.test(words)) call.dialog.hangUp();
  };
  await closed();
  assert.equal((await current()).status, "abandoned");
  assert.deepEqual([fixture.gateway.charges.length, call.dialog.events.seen, leg.isClosed, clock.pending], [0, [], true, 0]);
  assert.ok(lines.seen.includes("call_ended"));
});

test("a caller who hangs up in mid-charge has paid all the same (R-225)", async () => {
  const { call, leg, current, closed } = await rig();
  fixture.gateway.onCharge = async () => {
    call.dialog.hangUp();
    return APPROVED;
  };
  keys(leg);
  await closed();
  assert.equal((await current()).status, "payment-success");
});

test("a call that is never acknowledged gives its session back, and charges nothing (R-223)", async () => {
  const { call, leg, lines, current, clock, closed } = await rig();
  call.acknowledged = Promise.reject(new Error("no ACK"));
  call.acknowledged.catch(() => {});
  await closed();
  assert.equal((await current()).status, "PENDING");
  assert.deepEqual([leg.isClosed, clock.pending, lines.seen], [true, 0, ["prompt", "call_not_acknowledged"]]);
});

test("nothing is said before the 200 may be sent, and a caller who never acknowledges the ringing leaves his session waiting (R-223, RFC 3262 section 3)", async () => {
  const { call, leg, lines, current, clock, closed } = await rig();
  const ready = Promise.withResolvers<void>();
  call.isReady = ready.promise;
  const closing = closed();
  await turn();
  assert.deepEqual([leg.played, leg.remotes], [[], []]);
  ready.reject(new Error("no PRACK"));
  await closing;
  assert.deepEqual([(await current()).status, call.answerSdp, clock.pending], ["PENDING", null, 0]);
  assert.deepEqual([leg.isClosed, lines.seen], [true, ["call_not_acknowledged"]]);
});

test("whoever pays before the acknowledgement is lost has paid (R-223)", async () => {
  const { call, leg, current, closed } = await rig();
  const noAck = Promise.withResolvers<string | null>();
  call.acknowledged = noAck.promise;
  fixture.gateway.onCharge = async () => {
    noAck.reject(new Error("no ACK"));
    return APPROVED;
  };
  keys(leg);
  await closed();
  assert.equal((await current()).status, "payment-success");
});

test("an INVITE without a description gets our offer, and media begin with the answer in the ACK (R-227)", async () => {
  const { call, leg, run, closed } = await rig({ offer: null });
  const ack = Promise.withResolvers<string | null>();
  call.acknowledged = ack.promise;
  const running = run();
  await call.events.until("answered");
  assert.match(call.answerSdp ?? "", /m=audio \d+ RTP\/AVP 0 8 101/);
  assert.deepEqual([leg.remotes, leg.played], [[], []]);
  ack.resolve(OFFER);
  leg.onPlayed = () => call.dialog.hangUp();
  await closed(running);
  assert.deepEqual(
    leg.remotes.map(({ host, port }) => [host, port]),
    [["192.0.2.7", 40_000]],
  );
});

test("over TLS our offer has keys beside plain RTP: the answer decides, and what is encrypted stays so (R-227, S-85, RFC 8643)", async () => {
  const key = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n";
  for (const answer of [OFFER, OFFER + key]) {
    const { call, leg, run, closed } = await rig({ offer: null, transport: "tls" });
    const ack = Promise.withResolvers<string | null>();
    call.acknowledged = ack.promise;
    const running = run();
    await call.events.until("answered");
    assert.match(call.answerSdp ?? "", /m=audio \d+ RTP\/AVP .*[^]*a=crypto/);
    ack.resolve(answer);
    while (leg.remotes.length === 0) await turn();
    const isEncrypted = answer !== OFFER;
    assert.equal(leg.remotes[0]?.srtp !== undefined, isEncrypted);
    // Our own session refresh offers the same again.
    call.dialog.onAnswer!(OFFER.replace("40000", "40002"));
    assert.equal(leg.remotes.length, isEncrypted ? 1 : 2);
    assert.equal(call.dialog.onReinvite!(OFFER) === null, isEncrypted);
    call.dialog.hangUp();
    await closed(running);
  }
  const settings = { ...fixture.deps.settings, srtpRequired: true };
  const { call, closed } = await rig({ offer: null, transport: "tls", deps: { settings } });
  await closed();
  assert.match(call.answerSdp ?? "", /m=audio \d+ RTP\/SAVP /);
});

test("an ACK without a usable answer to our offer ends the call, and its session waits again, as after 488 to an offer (R-227)", async () => {
  for (const answer of [null, "nonsense", OFFER.replace("RTP/AVP 0", "RTP/AVP 18")]) {
    const { call, leg, current, closed } = await rig({ offer: null });
    call.acknowledged = Promise.resolve(answer);
    await closed();
    assert.deepEqual([(await current()).status, leg.remotes, leg.isClosed, call.dialog.ended], ["PENDING", [], true, true], String(answer));
  }
});

test("who hangs up in place of answering our offer has left the payment (R-224, R-227)", async () => {
  const { call, current, closed } = await rig({ offer: null });
  call.dialog.hangUp();
  await closed();
  assert.equal((await current()).status, "abandoned");
});

test("a re-INVITE changes the media, one that cannot be done is refused, and one without an offer gets ours (R-226)", async () => {
  const { call, leg, run, closed } = await rig();
  const running = run();
  await call.events.until("answered");
  while (!call.dialog.onReinvite) await turn();
  const { dialog } = call;
  const held = dialog.onReinvite!(OFFER.replace("m=audio", "a=sendonly\r\nm=audio"));
  // RFC 3264 section 8: the version rises by one when the description changes.
  assert.deepEqual([call.answerSdp, held].map((sdp) => /^o=- \d+ (\d+)/m.exec(sdp ?? "")?.[1]), ["1", "2"]); // prettier-ignore
  assert.match(held ?? "", /a=recvonly/);
  assert.equal(leg.remotes.at(-1)?.direction, "recvonly");
  assert.equal(dialog.onReinvite!(OFFER.replace("RTP/AVP 0", "RTP/AVP 18")), null);
  assert.equal(leg.remotes.length, 2, "the media stay as they were");
  const offer = dialog.onReinvite!(null) ?? "";
  assert.match(offer, /a=sendrecv/);
  dialog.onAnswer!(OFFER.replace("40000", "40002"));
  assert.equal(leg.remotes.at(-1)?.port, 40_002);
  dialog.hangUp();
  await closed(running);
});

test("a key by INFO and a hold that overtake the ACK count (R-226)", async () => {
  const { call, leg, run, closed } = await rig();
  const acknowledged = Promise.withResolvers<string | null>();
  call.acknowledged = acknowledged.promise;
  const running = run();
  await call.events.until("answered");
  for (const key of "4242424242424242") call.dialog.onDtmfDigit?.(Number(key));
  assert.match(call.dialog.onReinvite?.(OFFER.replace("m=audio", "a=sendonly\r\nm=audio")) ?? "refused", /a=recvonly/);
  acknowledged.resolve(null);
  while (!leg.played.some((words) => /expiry/i.test(words))) await turn();
  call.dialog.hangUp();
  await closed(running);
});

test("a session cancelled meanwhile ends the call with a word (R-181)", async () => {
  await fixture.sessions.start();
  const { session, leg, current, closed } = await rig();
  let isCancelled = false;
  leg.onPlayed = () => {
    if (!isCancelled) void fixture.sessions.cancel(session.id, fixture.scope);
    isCancelled = true;
  };
  await closed();
  assert.deepEqual([(await current()).status, leg.isClosed], ["cancelled", true]);
  assert.match(leg.played.at(-1) ?? "", /cancelled/);
  await fixture.sessions.stop();
});

test("a session cancelled before anything listened to its changes ends the call all the same (R-181)", async () => {
  // Nobody tells this process of changes: the cancel came between the claim and the call's first word.
  const { session, leg, current, closed } = await rig();
  await fixture.sessions.cancel(session.id, fixture.scope);
  await closed();
  assert.deepEqual([(await current()).status, leg.isClosed], ["cancelled", true]);
  assert.match(leg.played.at(-1) ?? "", /cancelled/);
});

test("after a quarter of an hour the call has lost its caller (R-196)", async () => {
  const { call, leg, run, current, clock, closed } = await rig();
  const running = run();
  await call.events.until("answered");
  // Somebody keys on and on, and nothing comes of it.
  for (let minute = 0; minute < 16; minute++) {
    for (let second = 0; second < 12; second++) {
      leg.on.dtmfDigit(10);
      clock.advance(5_000);
      await turn();
    }
  }
  await closed(running);
  assert.equal((await current()).status, "abandoned");
});

test("a caller who holds us while the last sentence is spoken, and never comes back, is let go (R-196)", async () => {
  const { call, leg, current, clock, closed } = await rig();
  keys(leg);
  leg.holdsAt = /approved/;
  const before = clock.monotonic();
  await closed();
  assert.equal((await current()).status, "payment-success");
  const held = clock.monotonic() - before;
  assert.ok(held >= 300_000 && held < 310_000, String(held));
  assert.deepEqual([call.dialog.events.seen, leg.isClosed, clock.pending], [["bye"], true, 0]);
});

test("a lost answer is never told as a decline, and the session is left to be found out (I2)", async () => {
  fixture.gateway.onCharge = async () => LOST;
  const { leg, current, closed } = await rig();
  keys(leg);
  await closed();
  assert.equal((await current()).phase, "unknown");
  assert.doesNotMatch(leg.played.at(-1) ?? "", /declined/);
});

for (const [what, outcome, status, error] of [
  ["an approval", APPROVED, "payment-success", null],
  ["a decline that another try could mend", declined("card_declined"), "payment-failed", "card_declined"],
] as const) {
  test(`${what} that cannot be written is told as unknown after two minutes and the caller let go; it is written when it can be (R-286, R-287)`, async () => {
    const { payments } = fixture.deps;
    const [answered, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const settle: typeof payments.settle = async (input) => {
      answered.resolve();
      await back.promise;
      return await payments.settle(input);
    };
    fixture.gateway.onCharge = async () => outcome;
    const { call, leg, run, lines, current, clock } = await rig({ deps: { payments: { ...payments, settle } } });
    keys(leg);
    const running = run();
    await answered.promise;
    for (let second = 0; second < 119; second++) {
      clock.advance(1_000);
      await turn();
    }
    assert.match(leg.played.slice(-2).join(" "), /still working/);
    while (!lines.seen.includes("call_ended")) {
      clock.advance(1_000);
      await turn();
    }
    assert.match(leg.played.at(-1) ?? "", /isn't completed\. Please don't try again yet/);
    assert.doesNotMatch(leg.played.at(-1) ?? "", /approved|declined/);
    assert.deepEqual([call.dialog.events.seen, leg.isClosed, (await current()).status], [["bye"], true, "COLLECTING"]);
    back.resolve();
    await running;
    const { status: written, errorCode } = await current();
    assert.deepEqual([written, errorCode, clock.pending], [status, error, 0]);
  });
}

test("a fault after the card was sent does not fail the session: money may have moved (I2)", async () => {
  const payments = {
    ...fixture.deps.payments,
    settle: async ({ session }: { session: { id: string } }) => {
      await fixture.sessions.apply(session.id, "charge");
      throw new Error("after the gateway had answered");
    },
  };
  const { leg, lines, current, closed } = await rig({ deps: { payments } });
  keys(leg);
  await closed();
  const { status, phase } = await current();
  assert.deepEqual([status, phase], ["COLLECTING", "charging"]);
  assert.ok(lines.seen.includes("payment_interrupted"));
  assert.doesNotMatch(leg.played.at(-1) ?? "", /declined/);
});

test("a payment that could not be begun fails the session, and the caller is told (R-287)", async () => {
  const payments = { ...fixture.deps.payments, settle: () => Promise.reject(new Error("no database")) };
  const { leg, lines, current, closed } = await rig({ deps: { payments } });
  keys(leg);
  await closed();
  assert.deepEqual([(await current()).status, (await current()).errorCode], ["payment-failed", "processing_error"]);
  assert.ok(lines.seen.includes("payment_not_started"));
});

test("a payment that met a lost connection to the database is begun on another one (R-286)", async () => {
  const { payments } = fixture.deps;
  let losses = 1;
  const settle: typeof payments.settle = (input) => (losses-- > 0 ? Promise.reject(new AppError("unavailable")) : payments.settle(input));
  const { leg, lines, run, current, clock, closed } = await rig({ deps: { payments: { ...payments, settle } } });
  keys(leg);
  const running = run();
  await lines.until("payment_waits");
  clock.advance(1_000);
  await closed(running);
  assert.deepEqual([(await current()).status, fixture.gateway.charges.length, clock.pending], ["payment-success", 1, 0]);
});

/** A database that goes away as the payment is to be begun, until `back` is called; `noticed`: the session could not be read. */
function awayDatabase(): { deps: Partial<CallDeps>; noticed: Promise<void>; back: () => void } {
  const { payments, sessions } = fixture.deps;
  let isAway: boolean | null = null;
  const noticed = Promise.withResolvers<void>();
  const away = () => Promise.reject(new Error("no database"));
  const settle: typeof payments.settle = (input) => {
    isAway ??= true;
    return isAway ? away() : payments.settle(input);
  };
  const find: typeof sessions.find = (...args) => {
    if (!isAway) return sessions.find(...args);
    noticed.resolve();
    return away();
  };
  return {
    deps: { payments: { ...payments, settle }, sessions: { ...sessions, find } },
    noticed: noticed.promise,
    back: () => (isAway = false),
  };
}

test("a payment that cannot be begun because the database is away is begun when it is back, while the caller waits (R-286)", async () => {
  const { deps, noticed, back } = awayDatabase();
  const { leg, run, current, clock, closed } = await rig({ deps });
  keys(leg);
  const running = run();
  await noticed;
  for (let second = 0; second < 30; second++) {
    clock.advance(1_000);
    await turn();
  }
  assert.match(leg.played.slice(-2).join(" "), /still working/);
  back();
  clock.advance(1_000);
  await closed(running);
  assert.match(leg.played.at(-1) ?? "", /approved/);
  assert.deepEqual([(await current()).status, fixture.gateway.charges.length, clock.pending], ["payment-success", 1, 0]);
});

test("a session that the merchant has cancelled while the database was away is told as that: nothing was sent (R-181)", async () => {
  const { deps, noticed, back } = awayDatabase();
  const { session, leg, run, clock, closed } = await rig({ deps });
  keys(leg);
  const running = run();
  await noticed;
  await fixture.sessions.cancel(session.id, fixture.scope);
  back();
  clock.advance(1_000);
  await closed(running);
  assert.match(leg.played.at(-1) ?? "", /cancelled/);
  assert.deepEqual([fixture.gateway.charges.length, clock.pending], [0, 0]);
});

test("a payment that could not be begun is not begun any more for a caller who has hung up meanwhile (R-274)", async () => {
  const { deps, noticed, back } = awayDatabase();
  const { leg, run, current, clock, closed } = await rig({ deps });
  keys(leg);
  const running = run();
  await noticed;
  leg.on.mediaLost();
  back();
  await closed(running);
  assert.deepEqual([(await current()).status, fixture.gateway.charges.length, clock.pending], ["abandoned", 0, 0]);
});

test("a payment that could not be begun for two minutes is not begun any more: the caller was told that it is not completed (R-287)", async () => {
  const { deps, noticed, back } = awayDatabase();
  const { call, leg, run, clock } = await rig({ deps });
  keys(leg);
  const over = new AbortController();
  const running = run().finally(() => over.abort());
  await noticed;
  const failing = assert.rejects(running, /no database/);
  while (!call.dialog.ended) {
    clock.advance(1_000);
    await turn();
  }
  assert.match(leg.played.at(-1) ?? "", /isn't completed\. Please don't try again yet/);
  back();
  while (!over.signal.aborted) {
    clock.advance(1_000);
    await turn();
  }
  await failing;
  assert.deepEqual([fixture.gateway.charges.length, clock.pending], [0, 0]);
});

test("a call whose media is lost is hung up, and its session is abandoned (R-278)", async () => {
  const { call, leg, current, clock, closed } = await rig();
  leg.onPlayed = () => leg.on.mediaLost();
  await closed();
  assert.equal((await current()).status, "abandoned");
  assert.deepEqual([fixture.gateway.charges.length, call.dialog.events.seen, leg.isClosed, clock.pending], [0, ["bye"], true, 0]);
});

test("the log tells why a call ended: by us, hung up, not refreshed, or its media lost (R-190, R-224, R-278)", async () => {
  for (const [why, end] of [
    ["ours", null],
    ["bye", ({ dialog }: TestCall) => dialog.hangUp()],
    ["session-expired", ({ dialog }: TestCall) => dialog.hangUp("session-expired")],
    ["media-lost", (_: TestCall, leg: TestLeg) => leg.on.mediaLost()],
  ] as const) {
    const { call, leg, logged, run, closed } = await rig();
    if (!end) keys(leg);
    const running = run();
    await call.events.until("answered");
    if (end) while (!call.dialog.onBye) await turn();
    end?.(call, leg);
    await closed(running);
    const ended = logged.find((fields) => typeof fields === "object" && fields !== null && "packets_in" in fields);
    assert.equal((ended as { reason?: string } | undefined)?.reason, why);
  }
});

test("a call whose end cannot be written is hung up and closed all the same", async () => {
  const sessions = { ...fixture.deps.sessions, apply: () => Promise.reject(new Error("no database")) };
  const payments = { ...fixture.deps.payments, giveUp: () => Promise.reject(new Error("no database")) };
  const { call, leg, clock, closed } = await rig({ deps: { sessions, payments } });
  leg.onPlayed = () => leg.on.mediaLost();
  await assert.rejects(closed(), /no database/);
  assert.deepEqual([call.dialog.events.seen, leg.isClosed, clock.pending], [["bye"], true, 0]);
});
