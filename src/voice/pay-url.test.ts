import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { APPROVED, declined, LOST, testCard } from "#src/payments/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import type { ChargeResult } from "#src/widget/index.ts";
import { createWidget, type Widget } from "#src/widget/index.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import { Events, TestCall, type TestLeg, voiceFixture, type VoiceFixture } from "./testing.ts";

/** One voice session, and two who pay it: its caller, and the page of its link (docs/states.md, Two ways to pay one session). */

let fixture: VoiceFixture;
let widget: Widget;
before(async () => {
  fixture = await voiceFixture();
  const { database, sessions, deps, process } = fixture;
  await database.db
    .updateTable("projects")
    .set({ voice: JSON.stringify({ pay_url: true }) })
    .execute();
  await sessions.start();
  const own = { random: systemRandom, owner: "process-1", log: silentLog, key: new Uint8Array(32).fill(9) };
  const { projects, payments } = deps;
  widget = createWidget({ ...own, publicUrl: () => "http://till", database, sessions, projects, payments, clock: process.clock });
});
after(async () => {
  await fixture.sessions.stop();
  await fixture.close();
});
afterEach(() => {
  fixture.gateway.onCharge = async () => APPROVED;
  fixture.gateway.charges.length = 0;
});

const ANSWERS: readonly (readonly [question: RegExp, keys: string])[] = [
  [/card number\b(?!.*try the card)/i, "4242424242424242#"],
  [/expiry date/i, "1230#"],
  [/security code/i, "123#"],
  [/zip code/i, "94105#"],
  [/press one/i, "1"],
];
const press = (leg: TestLeg, keys: string) => {
  for (const key of keys) leg.on.dtmfDigit(key === "#" ? 11 : Number(key));
};
/** Answers what is asked, but for what `before` takes into its own hands. */
function answering(leg: TestLeg, before: (words: string) => boolean = () => false): void {
  leg.onPlayed = (words) => {
    if (before(words)) return;
    const [, keys = ""] = ANSWERS.find(([question]) => question.test(words)) ?? [];
    press(leg, keys);
  };
}

/** The shopper opens the link and sends a card there. */
async function payByLink(id: string): Promise<ChargeResult> {
  const link = widget.linkFor({ id, offersLink: true, status: "PENDING" });
  const found = await widget.find(id, { token: new URL(link!).searchParams.get("t") ?? "" });
  if (found.kind === "ended") return { kind: "ended", result: "" };
  assert.equal(found.kind, "open");
  return await widget.charge({ sessionId: id, nonce: found.nonce, card: testCard(), customerIp: "203.0.113.9" });
}

/** A call that is answered when `run` is called; `closed` resolves when everything of it is closed. */
async function callOf() {
  const session = await fixture.create({ callback: null });
  const call = new TestCall({ callId: session.id, fields: [`X-Session-Id: ${session.id}`] });
  const admission = await admit(call.incoming, fixture.deps);
  assert.ok(!("status" in admission));
  const collected = new Events();
  const log = { ...silentLog, info: (event: string) => collected.note(event) };
  const leg = fixture.media.legs.at(-1)!;
  const clock = new ManualClock();
  const closed = async () => {
    const over = new AbortController();
    const running = runCall(call.incoming, admission, { ...fixture.deps, log: { ...log, child: () => log }, clock }).finally(() =>
      over.abort(),
    );
    await Promise.race([collected.until("call_collected"), running]);
    while (!over.signal.aborted) {
      clock.advance(10);
      await turn();
    }
    await running;
  };
  const status = async () => (await fixture.sessions.find(fixture.database.db, session.id))!.status;
  return { id: session.id, call, leg, closed, status, last: () => leg.played.at(-1) ?? "" };
}

test("paid by its link while the caller is asked, the call says one moment and thank you, and charges nothing (R-435)", async () => {
  const { id, leg, closed, status, last } = await callOf();
  const gateway = Promise.withResolvers<void>();
  fixture.gateway.onCharge = async () => {
    await gateway.promise;
    return APPROVED;
  };
  let paid: Promise<ChargeResult> | null = null;
  leg.onPlayed = (words) => {
    if (/card number/i.test(words)) paid ??= payByLink(id);
    if (/one moment/i.test(words)) {
      press(leg, "4242424242424242#1230#123#94105#1");
      gateway.resolve();
    }
  };
  await closed();
  assert.equal((await paid!).kind, "paid");
  assert.deepEqual([await status(), fixture.gateway.charges.length], ["payment-success", 1]);
  assert.match(last(), /Thank you.*approved/);
  assert.partialDeepStrictEqual(fixture.gateway.charges[0], { channel: "widget", customerIp: "203.0.113.9", sessionId: id });
});

test("a card that the page may mend leaves the caller where he was: asked again, he pays by telephone (R-435)", async () => {
  const { id, leg, closed, status, last } = await callOf();
  fixture.gateway.onCharge = async () => (fixture.gateway.charges.length === 1 ? declined("incorrect_cvc") : APPROVED);
  let tried: Promise<ChargeResult> | null = null;
  answering(leg, (words) => {
    if (tried || !/zip code/i.test(words)) return false;
    tried = payByLink(id);
    // Over before the call looked: the caller heard nothing of it and is still asked.
    void tried.finally(() => leg.played.some((told) => /one moment/i.test(told)) || press(leg, "94105#"));
    return true;
  });
  await closed();
  assert.partialDeepStrictEqual(await tried!, { kind: "declined", retryable: true, triesLeft: 4 });
  assert.deepEqual([await status(), fixture.gateway.charges.length], ["payment-success", 2]);
  assert.equal(fixture.gateway.charges[1]?.channel, "voice");
  assert.match(last(), /approved/);
});

const ENDS = [
  ["a final decline", declined("fraud_suspected"), "payment-failed", /declined.*haven't been charged/],
  ["a lost answer", LOST, "COLLECTING", /don't try again/i],
] as const;
for (const [what, outcome, expected, words] of ENDS) {
  test(`${what} of the page is what the caller is told (R-435)`, async () => {
    const { id, leg, closed, status, last } = await callOf();
    fixture.gateway.onCharge = async () => outcome;
    let tried: Promise<ChargeResult> | null = null;
    leg.onPlayed = (played) => {
      if (/card number/i.test(played)) tried ??= payByLink(id);
    };
    await closed();
    await tried!;
    assert.deepEqual([await status(), fixture.gateway.charges.length], [expected, 1]);
    assert.match(last(), words);
  });
}

test("whoever hangs up while the page is at the gateway has paid, also after a decline in the call (R-435, R-274)", async () => {
  const { id, call, leg, closed, status } = await callOf();
  const gateway = Promise.withResolvers<void>();
  fixture.gateway.onCharge = async () => {
    if (fixture.gateway.charges.length === 1) return declined("card_declined");
    call.dialog.hangUp();
    await gateway.promise;
    return APPROVED;
  };
  let paid: Promise<ChargeResult> | null = null;
  answering(leg, (words) => {
    if (!/declined/i.test(words)) return false;
    paid = payByLink(id);
    return true;
  });
  await closed();
  assert.equal(await status(), "COLLECTING");
  gateway.resolve();
  assert.equal((await paid!).kind, "paid");
  assert.equal(await status(), "payment-success");
});

test("whoever hangs up before has left the link too (R-435)", async () => {
  const { id, call, leg, closed, status } = await callOf();
  leg.onPlayed = () => call.dialog.hangUp();
  await closed();
  assert.equal(await status(), "abandoned");
  assert.equal((await payByLink(id)).kind, "ended");
  assert.equal(fixture.gateway.charges.length, 0);
});

test("both at once, round after round: one payment, and the call gives thanks whichever way it came (R-435)", async () => {
  const ways = new Set<string>();
  for (let round = 0; round < 30; round++) {
    fixture.gateway.charges.length = 0;
    const { id, leg, closed, status, last } = await callOf();
    let tried: Promise<ChargeResult> | null = null;
    answering(leg, (words) => {
      if (tried || !/press one/i.test(words)) return false;
      if (round % 3 === 0) press(leg, "1");
      tried = payByLink(id);
      if (round % 3 === 1) press(leg, "1");
      if (round % 3 === 2) void turn().then(() => press(leg, "1"));
      return true;
    });
    await closed();
    const page = await tried!;
    const { charges } = fixture.gateway;
    assert.deepEqual([charges.length, await status()], [1, "payment-success"], `round ${round}: ${page.kind}`);
    assert.equal(page.kind === "paid", charges[0]?.channel === "widget");
    assert.ok(["paid", "busy", "ended", "invalid nonce"].includes(page.kind), page.kind);
    assert.match(last(), /Thank you.*approved/, `round ${round}: ${page.kind}`);
    ways.add(charges[0]?.channel ?? "");
  }
  assert.ok(ways.has("voice"), "the caller was first at least once");
});

test("a cancel by the merchant ends both (R-435, R-181)", async () => {
  const { id, leg, closed, status, last } = await callOf();
  leg.onPlayed = (words) => {
    if (/card number/i.test(words)) void fixture.sessions.cancel(id, fixture.scope);
  };
  await closed();
  assert.equal(await status(), "cancelled");
  assert.match(last(), /cancelled/);
  assert.equal((await payByLink(id)).kind, "ended");
});
