import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { APPROVED, declined, LOST } from "#src/payments/testing.ts";
import { type Log, startLease } from "#src/platform/index.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import type { CallDeps } from "./types.ts";
import { TestCall, type TestLeg, TestUserAgent, TONE, voiceFixture, type VoiceFixture } from "./testing.ts";

/** Every way in which a call can end, by whether the caller is taken back and what his agent and he are told. */

let fixture: VoiceFixture;
let endLease: () => Promise<void>;
before(async () => {
  fixture = await voiceFixture();
  const { database, clock, log } = fixture.deps;
  endLease = await startLease({ database, clock, owner: "process-1", roles: "voice", log });
  await fixture.sessions.start();
});
after(async () => {
  await fixture.sessions.stop();
  await endLease();
  await fixture.close();
});
afterEach(() => {
  fixture.gateway.onCharge = async () => APPROVED;
});

const ANSWERS: readonly (readonly [question: RegExp, keys: string])[] = [
  [/card number/i, "4242424242424242#"],
  [/expiry date/i, "1230#"],
  [/security code/i, "123#"],
  [/zip code/i, "94105#"],
  [/press one/i, "1"],
];

function press(leg: TestLeg, keys: string): void {
  for (const key of keys) leg.on.dtmfDigit(key === "#" ? 11 : key === "*" ? 10 : Number(key));
}

/** A caller in a call whose session has a callback. `hears`: what he does after each prompt. */
async function inCall(hears: (words: string, leg: TestLeg, call: TestCall, sessionId: string) => void, deps: Partial<CallDeps> = {}) {
  const session = await fixture.create({ callback: "sip:agent@pbx.example", memory: "order 118" });
  const call = new TestCall({ callId: session.id, fields: [`X-Session-Id: ${session.id}`] });
  const userAgent = new TestUserAgent();
  const admission = await admit(call.incoming, fixture.deps);
  assert.ok(!("status" in admission));
  const leg = fixture.media.legs.at(-1)!;
  leg.onPlayed = (words) => hears(words, leg, call, session.id);
  const clock = new ManualClock();
  const ended = new AbortController();
  let isCollected = false;
  const log: Log = { ...fixture.deps.log, info: (event) => void (isCollected ||= event === "call_collected"), child: () => log };
  const running = runCall(call.incoming, admission, { ...fixture.deps, userAgent, clock, log, ...deps }).finally(() => ended.abort());
  running.catch(() => {});
  const until = async (done: () => boolean, ms: number) => {
    while (!done() && !ended.signal.aborted) {
      clock.advance(ms);
      await turn();
    }
  };
  return {
    call,
    leg,
    userAgent,
    /** Time stands still for all but a caller who is silent: the rest waits for a real database. */
    isDialled: async (ms = 0) => {
      await until(() => isCollected, ms);
      await until(() => userAgent.invitations.length > 0, 0);
      return userAgent.invitations.length > 0;
    },
    passes: (ms: number) => clock.advance(ms),
    over: async () => {
      await until(() => false, 100);
      await running;
    },
    current: async () => (await fixture.sessions.find(fixture.database.db, session.id))!,
  };
}

const pays = (words: string, leg: TestLeg) => press(leg, ANSWERS.find(([question]) => question.test(words))?.[1] ?? "");

const ENDINGS: readonly {
  what: string;
  gateway?: VoiceFixture["gateway"]["onCharge"];
  hears: Parameters<typeof inCall>[0];
  told: string;
  status?: string;
  error?: string;
  /** How fast time goes by until the callback is dialled, ms a turn. */
  ms?: number;
  lastWords: RegExp;
}[] = [
  { what: "a payment", hears: pays, told: "payment-success", lastWords: /payment was approved.*call back later\. Goodbye/ },
  {
    what: "an authorization",
    gateway: async () => ({ ...APPROVED, capture: "authorized" }),
    hears: pays,
    told: "payment-authorized",
    lastWords: /payment was approved/,
  },
  {
    what: "a final decline",
    gateway: async () => declined("fraud_suspected"),
    hears: pays,
    told: "payment-failed",
    lastWords: /haven't been charged.*try again/,
  },
  {
    what: "an outcome that is not known",
    gateway: async () => LOST,
    hears: pays,
    told: "unknown",
    status: "COLLECTING",
    lastWords: /isn't completed.*don't try again yet/,
  },
  {
    what: "too many tries",
    hears: (words, leg) => /card number/i.test(words) && press(leg, "4242424242424241#"),
    told: "payment-failed",
    error: "attempts_exhausted",
    ms: 600,
    lastWords: /haven't been charged/,
  },
  {
    what: "two star keys, which ask for the operator",
    hears: (words, leg) => /card number/i.test(words) && press(leg, "**"),
    told: "abandoned",
    lastWords: /haven't been charged/,
  },
  { what: "silence", hears: () => {}, told: "abandoned", ms: 1_000, lastWords: /haven't been charged/ },
  {
    what: "the merchant's cancel",
    hears: (words, _leg, _call, id) => /card number/i.test(words) && void fixture.sessions.cancel(id, fixture.scope),
    told: "cancelled",
    lastWords: /haven't been charged/,
  },
];

for (const { what, gateway, hears, told, status = told, error, ms, lastWords } of ENDINGS) {
  test(`after ${what} the caller is taken back, and when nobody is there he hears how it ended and goodbye (R-323, R-325)`, async () => {
    if (gateway) fixture.gateway.onCharge = gateway;
    const { call, leg, userAgent, isDialled, over, current } = await inCall(hears);
    assert.equal(await isDialled(ms), true);
    const headers = Object.fromEntries(userAgent.invitations[0]?.headers ?? []);
    const { id } = await current();
    assert.deepEqual([headers["X-Session-Id"], headers["X-Payment-Status"], headers["X-Memory"]], [id, told, "order 118"]);
    // What became of the payment is written before anybody is called.
    assert.deepEqual([(await current()).status, (await current()).transferStatus], [status, null]);
    if (error !== undefined) assert.equal((await current()).errorCode, error);
    userAgent.refuse(486);
    // What he is told waits for the database: time that went by meanwhile would end the call by its limit.
    while (leg.played.at(-1) === TONE) await turn();
    await over();
    assert.equal((await current()).transferStatus, "busy");
    const collected = leg.played.filter((words) => !/^(I'm connecting|The line's busy)/.test(words));
    assert.doesNotMatch(collected.join(" "), /goodbye/i);
    assert.match(leg.played.at(-1) ?? "", /^The line's busy\./);
    assert.match(leg.played.at(-1) ?? "", lastWords);
    assert.deepEqual([call.dialog.events.seen, leg.isClosed], [["bye"], true]);
  });
}

test("a caller who cannot be taken back because the database is away is told so, and goodbye, and it is written when it can be (R-323)", async () => {
  const payments = { ...fixture.deps.payments, giveUp: () => Promise.reject(new Error("no database")) };
  let isAway = true;
  const setTransferStatus = async (id: string, status: string) => {
    if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    await fixture.sessions.setTransferStatus(id, status);
  };
  const sessions = { ...fixture.sessions, setTransferStatus };
  const asksForOperator = (words: string, leg: TestLeg) => /card number/i.test(words) && press(leg, "**");
  const { call, leg, userAgent, over, passes, current } = await inCall(asksForOperator, { payments, sessions });
  await assert.rejects(over(), /no database/);
  assert.match(leg.played.at(-1) ?? "", /^Sorry, I couldn't connect you\..*Goodbye/);
  assert.deepEqual([userAgent.invitations, call.dialog.events.seen, leg.isClosed], [[], ["bye"], true]);
  isAway = false;
  passes(60_000);
  for (let looks = 0; looks < 100 && (await current()).transferStatus === null; looks++) await turn();
  assert.equal((await current()).transferStatus, "failed");
});

for (const step of ["the session is read", "the project is read", "the transfer is counted", "the project's number is read"] as const) {
  test(`a database that is away for some seconds when ${step} delays the transfer, and does not end it (R-320, R-323)`, async () => {
    const { deps, sessions, database } = fixture;
    let away = 0;
    let isWaiting = false;
    /** `result`, or at this step its loss: what was asked for is done, and only the answer to it lost. */
    const losing = async <R>(at: typeof step, result: Promise<R>): Promise<R> => {
      const found = await result;
      if (at !== step || away === 0) return found;
      away--;
      isWaiting = true;
      throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
    };
    const { projects } = deps;
    const { call, leg, userAgent, passes, over, current } = await inCall(pays, {
      sessions: { ...sessions, find: (...asked) => losing("the session is read", sessions.find(...asked)) },
      projects: {
        ...projects,
        projectById: (...asked) => losing("the project is read", projects.projectById(...asked)),
        numbersOf: (...asked) => losing("the project's number is read", projects.numbersOf(...asked)),
      },
      database: { ...database, transaction: (work) => losing("the transfer is counted", database.transaction(work)) },
    });
    fixture.gateway.onCharge = async () => {
      away = 2;
      return APPROVED;
    };
    for (let turns = 0; turns < 100_000 && userAgent.invitations.length === 0; turns++) {
      await turn();
      if (isWaiting) passes(1_000);
      isWaiting = false;
    }
    assert.deepEqual([userAgent.invitations.length, away], [1, 0]);
    const { rows } = await sql`select from transfers where session_id = ${call.callId} and ended_at is null`.execute(database.db);
    assert.equal(rows.length, 1);
    userAgent.refuse(486);
    while (leg.played.at(-1) === TONE) await turn();
    await over();
    assert.equal((await current()).transferStatus, "busy");
  });
}

test("how a transfer ended is written when the database is back, and the caller waits for no database (R-321)", async () => {
  let isAway = true;
  const setTransferStatus = async (id: string, status: string) => {
    if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    await fixture.sessions.setTransferStatus(id, status);
  };
  const sessions = { ...fixture.sessions, setTransferStatus };
  const { leg, userAgent, isDialled, over, passes, current } = await inCall(pays, { sessions });
  assert.equal(await isDialled(), true);
  userAgent.refuse(486);
  await over();
  assert.match(leg.played.at(-1) ?? "", /busy.*Goodbye/);
  assert.equal((await current()).transferStatus, null);
  isAway = false;
  passes(60_000);
  for (let looks = 0; looks < 100 && (await current()).transferStatus === null; looks++) await turn();
  assert.equal((await current()).transferStatus, "busy");
});

test("after a hang-up nobody is called, whatever was paid before it (R-323)", async () => {
  for (const during of ["question", "charge"] as const) {
    const rig = await inCall((words, leg, call) => {
      if (during === "question") call.dialog.hangUp();
      else pays(words, leg);
    });
    fixture.gateway.onCharge = async () => {
      rig.call.dialog.hangUp();
      return APPROVED;
    };
    await rig.over();
    assert.deepEqual([rig.userAgent.invitations, (await rig.current()).transferStatus], [[], "caller_hung_up"]);
  }
});

test("a caller who is taken back is joined to his agent, and whichever side hangs up, the other is hung up too (R-320)", async () => {
  for (const side of ["agent", "caller"] as const) {
    const { call, leg, userAgent, isDialled, passes, over, current } = await inCall(pays);
    assert.equal(await isDialled(), true);
    const bridges = fixture.media.bridges.length;
    userAgent.pickUp();
    while (fixture.media.bridges.length === bridges) await turn();
    assert.equal(fixture.media.bridges.at(-1)?.[0], leg);
    while ((await current()).transferStatus === null) await turn();
    passes(30 * 60_000);
    await turn();
    assert.equal(userAgent.dialog.ended, false, "no limit of the call's cuts them off");
    (side === "agent" ? userAgent.dialog : call.dialog).hangUp();
    await over();
    assert.deepEqual([call.dialog.ended, userAgent.dialog.ended, leg.isClosed], [true, true, true]);
    assert.equal((await current()).transferStatus, "completed");
  }
});
