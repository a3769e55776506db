import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { after, before, beforeEach, describe, test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { answered, settingsOf, testIo } from "#src/gateways/testing.ts";
import { AppError } from "#src/kernel/errors.ts";
import { type Log, silentLog } from "#src/platform/index.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import type { Session } from "#src/sessions/index.ts";
import { webhookBody } from "#src/webhooks/index.ts";
import { attemptsOf as attemptViews } from "./work-list.ts";
import { APPROVED, brokenSessions, collecting, declined, FakeGateway, testCard, testProcess, withTime } from "./testing.ts";

describe("settling a payment", () => {
  let fixture: Fixture;
  let fake: FakeGateway;
  before(async () => {
    fixture = await sessionsFixture();
  });
  after(() => fixture.close());
  beforeEach(async () => {
    fake = new FakeGateway();
    await fixture.forgetFinals();
  });

  const read = async (session: Session) => (await fixture.sessions.find(fixture.database.db, session.id)) ?? assert.fail();
  const attemptsOf = (session: Session) =>
    fixture.database.db.selectFrom("payment_attempts").selectAll().where("session_id", "=", session.id).orderBy("number").execute();

  test("an approval ends the session as paid, with brand and last four from the card itself (R-402, R-403)", async () => {
    fake.onCharge = async () => ({
      outcome: "approved",
      capture: "captured",
      processor: { stripe_charge_id: "ch_1", card_brand: "Visa Credit" },
    });
    const session = await collecting(fixture);
    const { payments } = testProcess(fixture, fake.gateway());
    assert.deepEqual(await payments.settle({ session, card: testCard("4000000000000007"), mayRetry: true }), {
      kind: "approved",
      capture: "captured",
    });
    const paid = await read(session);
    assert.equal(paid.status, "payment-success");
    assert.deepEqual(paid.processor, { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "0007" });
    assert.deepEqual([paid.cardBrand, paid.cardLast4], ["visa", "0007"]);
    assert.equal((await fixture.finals()).length, 1);
  });

  test("the attempt is written before the gateway is called: reference, deadline, version, owner and endpoint (docs/invariants.md, The charge protocol)", async () => {
    const session = await collecting(fixture);
    fake.onCharge = async () => {
      const [attempt] = await attemptsOf(session);
      assert.ok(attempt);
      assert.equal((await read(session)).phase, "charging");
      assert.partialDeepStrictEqual(attempt, {
        number: 1,
        reference: `${session.id}-1`,
        outcome: null,
        owner: "process-1",
        credential_version: 3,
        endpoint: "https://sandbox.example",
        amount_minor: 5000,
      });
      assert.equal(Math.round((attempt.deadline_at.getTime() - attempt.started_at.getTime()) / 1000), 30);
      return APPROVED;
    };
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
    assert.equal(fake.charges[0]?.reference, `${session.id}-1`);
    assert.equal((await attemptsOf(session))[0]?.outcome, "approved");
  });

  test("an empty description is none to a gateway: vendors refuse an empty text (R-123)", async () => {
    const session = await collecting(fixture, { description: "" });
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
    assert.equal(fake.charges[0]?.description, null);
    assert.equal((await read(session)).description, "");
  });

  test("an authorized hold ends as payment-authorized (R-198)", async () => {
    fake.onCharge = async () => ({ ...APPROVED, outcome: "approved", capture: "authorized", processor: {} });
    const session = await collecting(fixture);
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
    assert.equal((await read(session)).status, "payment-authorized");
  });

  test("a correctable decline leaves the session open, the next card is attempt 2 (R-192)", async () => {
    const session = await collecting(fixture);
    const { payments } = testProcess(fixture, fake.gateway());
    fake.onCharge = async () => declined("incorrect_cvc");
    assert.deepEqual(await payments.settle({ session, card: testCard(), mayRetry: true }), {
      kind: "declined",
      code: "incorrect_cvc",
      fix: "cvv",
      final: false,
    });
    const open = await read(session);
    assert.deepEqual([open.status, open.phase, open.errorCode], ["COLLECTING", "collecting", null]);
    fake.onCharge = async () => APPROVED;
    await payments.settle({ session, card: testCard(), mayRetry: true });
    const attempts = await attemptsOf(session);
    assert.deepEqual(
      attempts.map(({ number, outcome, decline_code }) => [number, outcome, decline_code]),
      [
        [1, "declined", "incorrect_cvc"],
        [2, "approved", null],
      ],
    );
    assert.equal((await read(session)).status, "payment-success");
  });

  for (const [why, code, mayRetry, oneAttempt] of [
    ["the last try", "card_declined", false, false],
    ["a decline that no other card mends", "fraud_suspected", true, false],
    ["a gateway that takes one card per session", "card_declined", true, true],
  ] as const) {
    test(`a decline is final on ${why} (R-192)`, async () => {
      fake.onCharge = async () => declined(code);
      const session = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway({}, { oneAttempt }));
      const result = await payments.settle({ session, card: testCard(), mayRetry });
      assert.partialDeepStrictEqual(result, { kind: "declined", code, final: true });
      const failed = await read(session);
      assert.equal(failed.status, "payment-failed");
      assert.equal(failed.errorCode, code);
      assert.ok(failed.errorMessage);
    });
  }

  test("card forwarding's own code and missing words are passed on (R-246)", async () => {
    fake.onCharge = async () => ({
      outcome: "declined",
      code: "card_declined",
      publicCode: "no_funds_today",
      message: null,
      processor: {},
    });
    const session = await collecting(fixture);
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: false });
    const failed = await read(session);
    assert.deepEqual([failed.errorCode, failed.errorMessage], ["no_funds_today", null]);
  });

  test("what a card-forwarding endpoint did wrong is in the log; the words of other vendors are not (R-247, R-256)", async () => {
    const lines: unknown[] = [];
    const log: Log = { ...silentLog, warn: (event, fields) => void lines.push([event, fields]) };
    fake.onCharge = async () => ({ ...declined("card_declined"), reason: "the endpoint answered with status 500" });
    for (const oneAttempt of [false, true]) {
      const session = await collecting(fixture);
      await testProcess(fixture, fake.gateway({}, { oneAttempt }), { log }).payments.settle({ session, card: testCard(), mayRetry: false });
      const told = { session: session.id, gateway: "stripe", reason: "the endpoint answered with status 500" };
      assert.deepEqual(lines, oneAttempt ? [["card_forwarding_fault", told]] : []);
    }
  });

  test("a bare refusal of card forwarding has words, in the session's error and in the status webhook (R-439, R-246)", async () => {
    const forwarding = GATEWAYS_BUILT.webhook!;
    const credentials = { url: new Secret("https://merchant.example/cards"), signing_secret: new Secret(`whsec_${"A".repeat(43)}=`) };
    const io = testIo(settingsOf(forwarding, { credentials }), () => Promise.resolve(answered(200, { success: false })));
    fake.onCharge = (order) => forwarding.charge(order, io);
    const session = await collecting(fixture);
    const { payments } = testProcess(fixture, fake.gateway({}, forwarding.capabilities));
    const result = await payments.settle({ session, card: testCard(), mayRetry: true });
    assert.partialDeepStrictEqual(result, { kind: "declined", code: "card_declined", final: true });
    const failed = await read(session);
    const error = { code: "card_declined", message: DECLINES.card_declined.message };
    assert.deepEqual([failed.status, failed.errorCode, failed.errorMessage], ["payment-failed", error.code, error.message]);
    const body = JSON.parse(webhookBody("evt_1", failed, "dollars", GATEWAYS_BUILT)) as { error: unknown };
    assert.deepEqual(body.error, error);
  });

  test("a decline is told in the same words however its session ends; the vendor's own stand with its attempts (R-417)", async () => {
    fake.onCharge = async () => ({ ...declined("lost_or_stolen"), message: "Pick up card, stolen" });
    const settled = async (mayRetry: boolean) => {
      const session = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway());
      await payments.settle({ session, card: testCard(), mayRetry });
      return { session, payments };
    };
    const { session: final } = await settled(false);
    const { session: givenUp, payments } = await settled(true);
    await payments.giveUp(givenUp);
    for (const session of [final, givenUp]) {
      const failed = await read(session);
      assert.deepEqual([failed.errorCode, failed.errorMessage], ["lost_or_stolen", DECLINES.lost_or_stolen.message]);
      assert.partialDeepStrictEqual(await attemptViews(fixture.database.db, session.id), [
        { decline_code: "lost_or_stolen", said: "Pick up card, stolen" },
      ]);
    }
  });

  test("card forwarding's own words are told, with a code of ours too (R-246)", async () => {
    fake.onCharge = async () => ({ ...declined("insufficient_funds"), publicMessage: "The balance is too low." });
    const session = await collecting(fixture);
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: false });
    const failed = await read(session);
    assert.deepEqual([failed.errorCode, failed.errorMessage], ["insufficient_funds", "The balance is too low."]);
  });

  test("a cancel that won leaves the gateway uncalled (R-270)", async () => {
    const session = await collecting(fixture);
    assert.equal((await fixture.sessions.cancel(session.id, fixture.scope)).kind, "cancelled");
    const result = await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
    assert.deepEqual(result, { kind: "refused", status: "cancelled" });
    assert.equal(fake.charges.length, 0);
    assert.equal((await attemptsOf(session)).length, 0);
  });

  test("of a cancel and a charge at once exactly one wins, and the gateway is called for the charge only (R-270)", async () => {
    let charged = 0;
    for (let trial = 0; trial < 20; trial++) {
      const session = await collecting(fixture);
      const gateway = new FakeGateway();
      const { payments } = testProcess(fixture, gateway.gateway());
      const charge = () => payments.settle({ session, card: testCard(), mayRetry: true });
      const cancel = () => fixture.sessions.cancel(session.id, fixture.scope);
      const settling = trial % 2 === 0 ? charge() : null;
      if (settling) await turn();
      const cancelling = cancel();
      const [result, cancellation] = await Promise.all([settling ?? charge(), cancelling]);
      assert.notEqual(result.kind === "approved", cancellation.kind === "cancelled");
      assert.equal(gateway.charges.length, result.kind === "approved" ? 1 : 0);
      charged += gateway.charges.length;
    }
    assert.ok(charged > 0 && charged < 20, `the race never happened: ${charged} of 20 were charged`);
  });

  test("a cancel during the charge is refused and the charge runs to its end (R-271)", async () => {
    const session = await collecting(fixture);
    fake.onCharge = async () => {
      assert.equal((await fixture.sessions.cancel(session.id, fixture.scope)).kind, "refused");
      return APPROVED;
    };
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
    assert.equal((await read(session)).status, "payment-success");
  });

  test("a charge that timed out is never sent twice", async () => {
    fake.onCharge = () => new Promise(() => {});
    fake.onLookUp = () => APPROVED;
    const session = await collecting(fixture);
    const { payments, clock } = testProcess(fixture, fake.gateway());
    const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: true }));
    assert.deepEqual(result, { kind: "unknown" });
    await withTime(clock, untilFinal(session));
    assert.equal(fake.charges.length, 1);
    assert.equal((await read(session)).status, "payment-success");
  });

  test("the gateway's own deadline ends its requests and its waits", async () => {
    const session = await collecting(fixture);
    let signalled = false;
    fake.onCharge = async (_order, io) => {
      assert.equal(await io.wait(31_000), false);
      assert.equal(await io.wait(29_000), true);
      await new Promise<void>((resolve) => io.signal.addEventListener("abort", () => resolve()));
      signalled = true;
      assert.deepEqual(await io.send({ method: "GET", url: "https://sandbox.example", headers: {} }), {
        kind: "not sent",
        reason: "deadline passed",
      });
      return declined("card_declined");
    };
    const { payments, clock } = testProcess(fixture, fake.gateway());
    const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: false }));
    assert.ok(signalled);
    assert.equal(result.kind, "declined");
    assert.equal(clock.pending, 0);
  });

  test("an adapter that throws leaves an unknown outcome, not a decline", async () => {
    fake.onCharge = async () => {
      throw new Error("broken");
    };
    fake.onLookUp = () => declined("card_declined");
    const session = await collecting(fixture);
    const { payments, clock } = testProcess(fixture, fake.gateway());
    assert.deepEqual(await payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "unknown" });
    await withTime(clock, untilFinal(session));
    assert.equal((await read(session)).errorCode, "card_declined");
  });

  test("a fault of ours after the gateway has answered is unknown: never an exception, never a failed session", async () => {
    const session = await collecting(fixture);
    fake.onCharge = async () => ({ outcome: "declined", code: "no such code" as "card_declined", message: null, processor: {} });
    fake.onLookUp = () => APPROVED;
    const { payments, clock } = testProcess(fixture, fake.gateway());
    assert.deepEqual(await payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "unknown" });
    await withTime(clock, untilFinal(session));
    assert.equal((await read(session)).status, "payment-success");
    assert.equal(fake.charges.length, 1);
  });

  for (const [what, text] of [
    ["a NUL", "a\u0000b"],
    ["half a surrogate pair", "half \ud83d of it"],
    ["256 characters", "x".repeat(256)],
  ] as const) {
    test(`${what} in every text of the gateway ends the session with its outcome; the texts are dropped (R-436)`, async () => {
      const fields = { receipt_url: text, stripe_charge_id: "ch_1" };
      fake.onCharge = async (_order, io) => {
        await io.note({ bad: text, good: "id_1" });
        return { ...APPROVED, processor: fields, webhookProcessor: { bad: text }, supportId: text };
      };
      const approved = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway());
      const settle = (session: Session) => payments.settle({ session, card: testCard(), mayRetry: false });
      assert.equal((await settle(approved)).kind, "approved");
      const kept = await read(approved);
      assert.deepEqual(kept.processor, { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "4242" });
      assert.deepEqual((await attemptsOf(approved))[0]?.notes, { good: "id_1", stripe_charge_id: "ch_1" });
      fake.onCharge = async () => ({
        ...declined("card_declined"),
        message: text,
        publicCode: text,
        publicMessage: text,
        processor: fields,
      });
      const refused = await collecting(fixture);
      assert.equal((await settle(refused)).kind, "declined");
      assert.equal((await read(refused)).status, "payment-failed");
    });
  }

  test("a result that the database refuses for its text is written without the text, not retried unchanged", async () => {
    const session = await collecting(fixture);
    let writes = 0;
    const sessions = brokenSessions(fixture.sessions, async (run) => {
      writes++;
      // PostgreSQL's untranslatable_character, on the result's first writing.
      if (writes === 2) throw Object.assign(new Error("unsupported Unicode escape sequence"), { code: "22P05" });
      return await run();
    });
    fake.onCharge = async () => ({
      ...APPROVED,
      processor: { stripe_charge_id: "ch_1", receipt_url: "https://stripe.example/\u2028\u{1F600}" },
    });
    const { payments, clock } = testProcess(fixture, fake.gateway(), { sessions });
    assert.deepEqual(await payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "approved", capture: "captured" });
    assert.deepEqual((await read(session)).processor, { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "4242" });
    assert.deepEqual([writes, clock.pending], [3, 0]);
  });

  test("the gateway's ids and what its support asks for are kept with the attempt, for the operator and for a reversal", async () => {
    fake.onCharge = async () => ({ ...APPROVED, processor: { stripe_charge_id: "ch_1" }, supportId: "req_1" });
    const session = await collecting(fixture);
    const { payments } = testProcess(fixture, fake.gateway());
    await payments.settle({ session, card: testCard(), mayRetry: true });
    assert.deepEqual((await attemptsOf(session))[0]?.notes, { stripe_charge_id: "ch_1", support_id: "req_1" });
  });

  test("nothing is sent when the intent cannot be written", async () => {
    const session = await collecting(fixture);
    const sessions = brokenSessions(fixture.sessions, async () => {
      throw new Error("Connection terminated");
    });
    const { payments, clock } = testProcess(fixture, fake.gateway(), { sessions });
    const settling = payments.settle({ session, card: testCard(), mayRetry: true });
    await assert.rejects(withTime(clock, settling), (error) => error instanceof AppError && error.code === "unavailable");
    assert.equal(fake.charges.length, 0);
    assert.equal((await read(session)).phase, "collecting");
  });

  test("a session is not failed for a database that is away when the gateway's settings are to be read: nothing is sent, and it may be tried again", async () => {
    const session = await collecting(fixture);
    const projects = {
      gatewaySettings: () => Promise.reject(new Error("Connection terminated unexpectedly")),
      rotateCredentials: async () => ({}),
    };
    const { payments } = testProcess(fixture, fake.gateway(), { projects });
    const settling = payments.settle({ session, card: testCard(), mayRetry: true });
    await assert.rejects(settling, (error) => error instanceof AppError && error.code === "unavailable");
    assert.deepEqual([fake.charges.length, (await read(session)).phase], [0, "collecting"]);
  });

  test("an intent whose commit was not acknowledged is charged once", async () => {
    const session = await collecting(fixture);
    let failures = 1;
    const sessions = brokenSessions(fixture.sessions, async (run) => {
      const result = await run();
      if (failures-- > 0) throw new Error("Connection terminated");
      return result;
    });
    const { payments, clock } = testProcess(fixture, fake.gateway(), { sessions });
    const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: true }));
    assert.equal(result.kind, "approved");
    assert.equal(fake.charges.length, 1);
    assert.equal((await attemptsOf(session)).length, 1);
  });

  for (const [seconds, charges, kind] of [
    [20, 1, "approved"],
    [31, 0, "declined"],
  ] as const) {
    test(`an intent that took ${seconds} s to write leaves the gateway what is left of its 30 s: ${kind} after ${charges} charges`, async () => {
      const session = await collecting(fixture);
      const clock = new ManualClock();
      let intents = 0;
      const sessions = brokenSessions(fixture.sessions, async (run) => {
        if (intents++ === 0) clock.advance(seconds * 1_000);
        return await run();
      });
      fake.onCharge = async (_order, io) => {
        assert.equal(await io.wait((30 - seconds) * 1_000), false);
        return APPROVED;
      };
      const { payments } = testProcess(fixture, fake.gateway(), { sessions, clock });
      const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: true }));
      assert.deepEqual([fake.charges.length, result.kind], [charges, kind]);
    });
  }

  test("an approval whose commit failed is written when the database is back", async () => {
    const session = await collecting(fixture);
    let writes = 0;
    const sessions = brokenSessions(fixture.sessions, async (run) => {
      writes++;
      if (writes > 1 && writes < 10) throw new Error("Connection terminated");
      return await run();
    });
    const { payments, clock } = testProcess(fixture, fake.gateway(), { sessions });
    const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: true }));
    assert.deepEqual(result, { kind: "approved", capture: "captured" });
    assert.equal(writes, 10);
    assert.equal((await read(session)).status, "payment-success");
    assert.equal(fake.charges.length, 1);
  });

  test("a result whose commit was not acknowledged is written once", async () => {
    const session = await collecting(fixture);
    let writes = 0;
    const sessions = brokenSessions(fixture.sessions, async (run) => {
      const result = await run();
      if (++writes === 2) throw new Error("Connection terminated");
      return result;
    });
    const { payments, clock } = testProcess(fixture, fake.gateway(), { sessions });
    const result = await withTime(clock, payments.settle({ session, card: testCard(), mayRetry: true }));
    assert.deepEqual(result, { kind: "approved", capture: "captured" });
    assert.equal((await fixture.finals()).filter(({ id }) => id === session.id).length, 1);
    assert.equal(fake.voids.length, 0);
  });

  test("a project without credentials fails the session, and nothing is sent (R-289)", async () => {
    const session = await collecting(fixture);
    const projects = { gatewaySettings: async () => null, rotateCredentials: async () => ({}) };
    const { payments } = testProcess(fixture, fake.gateway(), { projects });
    assert.partialDeepStrictEqual(await payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "declined", final: true });
    assert.equal((await read(session)).errorCode, "gateway_credentials_invalid");
    assert.equal(fake.charges.length, 0);
  });

  test("a live session is never charged with test settings or at another address than the vendor's (R-051)", async () => {
    const session = await collecting(fixture, { environment: "live" });
    for (const settings of [{ environment: "test" as const }, { environment: "live" as const, endpoint: "http://127.0.0.1:8090/stripe" }]) {
      const { payments } = testProcess(fixture, fake.gateway(), { settings });
      await assert.rejects(payments.settle({ session, card: testCard(), mayRetry: true }), /R-051/);
    }
    assert.equal(fake.charges.length, 0);
    const settings = { environment: "live" as const, endpoint: "https://live.example" };
    assert.equal(
      (await testProcess(fixture, fake.gateway(), { settings }).payments.settle({ session, card: testCard(), mayRetry: true })).kind,
      "approved",
    );
  });

  test("live requests go over https only, whatever the gateway asks", async () => {
    const requests: { httpsOnly?: boolean }[] = [];
    const outbound = {
      send: async (request: { httpsOnly?: boolean }) => {
        requests.push(request);
        return { kind: "not sent" as const, reason: "https required" };
      },
    };
    fake.onCharge = async (_order, io) => {
      await io.send({ method: "POST", url: "http://live.example/", headers: {} });
      return declined("card_declined");
    };
    const settings = { environment: "live" as const, endpoint: "https://live.example" };
    const session = await collecting(fixture, { environment: "live" });
    await testProcess(fixture, fake.gateway(), { settings, outbound }).payments.settle({ session, card: testCard(), mayRetry: false });
    assert.deepEqual(
      requests.map(({ httpsOnly }) => httpsOnly),
      [true],
    );
  });

  for (const [connectedAccountOption, options, account, code] of [
    ["platform", { platform: true }, "acct_1", null],
    [null, {}, null, null],
    ["platform", { platform: false }, undefined, "gateway_misconfigured"],
  ] as const) {
    test(`a connected account with the options ${JSON.stringify(options)} gives ${account ?? code ?? "no account"} (R-127)`, async () => {
      const session = await collecting(fixture, { connectedAccount: "acct_1" });
      const gateway = fake.gateway({}, { connectedAccountOption });
      await testProcess(fixture, gateway, { settings: { options } }).payments.settle({ session, card: testCard(), mayRetry: false });
      assert.equal(fake.charges[0]?.connectedAccount, account);
      assert.equal((await read(session)).errorCode, code);
    });
  }

  test("a vendor field longer than any id is not kept (R-423)", async () => {
    fake.onCharge = async () => ({
      outcome: "approved",
      capture: "captured",
      processor: { stripe_charge_id: "x".repeat(256), receipt_url: "https://r.example" },
    });
    const session = await collecting(fixture);
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: false });
    assert.deepEqual((await read(session)).processor, { receipt_url: "https://r.example", card_brand: "visa", card_last4: "4242" });
  });

  test("what a gateway notes stands in the ledger before its next step", async () => {
    const session = await collecting(fixture);
    fake.onCharge = async (_order, io) => {
      await io.note({ payment_method: "pm_1" });
      await io.note({ intent: "pi_1" });
      assert.deepEqual((await attemptsOf(session))[0]?.notes, { payment_method: "pm_1", intent: "pi_1" });
      return APPROVED;
    };
    await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: false });
    assert.equal((await read(session)).status, "payment-success");
  });

  describe("a caller who leaves", () => {
    test("after a decline fails the session with it (R-275)", async () => {
      fake.onCharge = async () => declined("card_declined");
      const session = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway());
      await payments.settle({ session, card: testCard(), mayRetry: true });
      await payments.giveUp(session);
      const failed = await read(session);
      assert.deepEqual([failed.status, failed.errorCode, failed.cardLast4], ["payment-failed", "card_declined", "4242"]);
    });

    test("with all tries used up fails the session with the last card's decline, without one as attempts_exhausted (R-192)", async () => {
      for (const code of ["card_declined", "attempts_exhausted"] as const) {
        fake.onCharge = async () => declined("card_declined");
        const session = await collecting(fixture);
        const { payments } = testProcess(fixture, fake.gateway());
        if (code === "card_declined") await payments.settle({ session, card: testCard(), mayRetry: true });
        await payments.giveUp(session, true);
        const failed = await read(session);
        assert.deepEqual([failed.status, failed.errorCode, failed.errorMessage], ["payment-failed", code, DECLINES[code].message]);
      }
    });

    test("before any card abandons it (R-194)", async () => {
      const session = await collecting(fixture);
      await testProcess(fixture, fake.gateway()).payments.giveUp(session);
      assert.equal((await read(session)).status, "abandoned");
    });

    test("while the gateway is asked changes nothing (R-225, R-274)", async () => {
      const session = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway());
      fake.onCharge = async () => {
        assert.equal(await payments.giveUp(session), null);
        return APPROVED;
      };
      await payments.settle({ session, card: testCard(), mayRetry: true });
      assert.equal((await read(session)).status, "payment-success");
    });
  });

  describe("the test word", () => {
    test("succeeds without the gateway and says so in each field (R-234)", async () => {
      const session = await collecting(fixture);
      const { payments, clock } = testProcess(fixture, fake.gateway());
      assert.deepEqual(await payments.skip(session), { kind: "approved", capture: "captured" });
      const skipped = await read(session);
      const transactionId = `test_skip_${clock.now()}`;
      assert.deepEqual(skipped.processor, { stripe_charge_id: transactionId, card_brand: "visa", card_last4: "0000", test_skip: true });
      assert.deepEqual(skipped.webhookProcessor, { transaction_id: transactionId, auth_code: "TESTOK" });
      assert.deepEqual([skipped.status, skipped.cardBrand, skipped.cardLast4], ["payment-success", "visa", "0000"]);
      assert.equal(fake.charges.length, 0);
      assert.equal((await payments.skip(session)).kind, "refused");
    });

    test("fills the gateway's own fields for the transaction and the approval code (R-234)", async () => {
      const { processorFields } = GATEWAYS_BUILT.authorizenet!.capabilities;
      const gateway = fake.gateway({}, { processorFields });
      const session = await collecting(fixture);
      await testProcess(fixture, gateway).payments.skip(session);
      assert.partialDeepStrictEqual((await read(session)).processor, { authnet_auth_code: "TESTOK", test_skip: true });
      assert.match(String((await read(session)).processor?.["authnet_transaction_id"]), /^test_skip_\d+$/);
    });

    test("does nothing to a live session (R-233)", async () => {
      const session = await collecting(fixture, { environment: "live" });
      assert.equal((await testProcess(fixture, fake.gateway()).payments.skip(session)).kind, "refused");
      assert.equal((await read(session)).phase, "collecting");
    });

    test("loses against a charge that has begun (R-293)", async () => {
      const session = await collecting(fixture);
      const { payments } = testProcess(fixture, fake.gateway());
      fake.onCharge = async () => {
        assert.equal((await payments.skip(session)).kind, "refused");
        return APPROVED;
      };
      await payments.settle({ session, card: testCard(), mayRetry: true });
      assert.deepEqual((await read(session)).cardLast4, "4242");
    });
  });

  async function untilFinal(session: Session): Promise<void> {
    while ((await read(session)).completedAt === null);
  }
});
