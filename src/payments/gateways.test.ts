import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { behaviours, inMode, settingsOf } from "#src/gateways/testing.ts";
import type { Behaviour } from "#src/gateways/testing.ts";
import { systemClock } from "#src/kernel/clock.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { GatewayName, Mode } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { createOutbound, silentLog } from "#src/platform/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import { bodyOf, outboxOf } from "#src/webhooks/index.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import { createPayments } from "./index.ts";
import type { Payments } from "./index.ts";
import { collecting, testCard } from "./testing.ts";

/** Ledger entries that take money, or store a card; the hold that verifies a card before it is stored is neither. */
const TAKES: Readonly<Record<Mode, readonly string[]>> = { charge: ["charge", "authorization"], tokenize: ["token"] };

/**
 * The behaviour table of src/gateways/behaviour.test.ts, one storey up: real gateways against their simulators, through the
 * charge protocol, into the database of the run. What is looked at is what stays: session, attempts, webhook, ledger.
 */

const BEHAVIOURS = await behaviours();

const [GOOD, REFUSED, LOST, RESET] = ["4242424242424242", "4000000000000002", "4000000000000259", "4000000000000333"] as const;
/** The vendors' pauses pass this much faster than real ones; after cards whose answers never come faster still, and their requests hang this long. */
const HASTE = 10;
const NEVER_ANSWERED: readonly string[] = [LOST, RESET];
const GREAT_HASTE = 50;
const HANGING_MS = 500;
/** Card forwarding is never asked again: on a busy machine even a reset may take longer than the others hang. */
const ONLY_REQUEST_MS = 5_000;
const hangsFor = (url: string): number => {
  const [, name = ""] = new URL(url).pathname.split("/");
  return GATEWAYS_BUILT[name as GatewayName]?.capabilities.oneAttempt ? ONLY_REQUEST_MS : HANGING_MS;
};
/** Longest that an answer may take where one comes, on a busy machine too. */
const ANSWERED_MS = 20_000;
/** So many gateways at a time: what they do takes a processor, which has a deadline too. */
const AT_A_TIME = 6;

/** A clock on which the service's pauses are short. The date stays true: signatures carry it. */
function hastyClock(haste: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * haste,
    after: (ms, run) => systemClock.after(ms / haste, run),
  };
}

/** A reversal's age counts by the database's clock, which no test can hasten: where only a void can tell, it proves at once. */
const PROVING = Object.fromEntries(
  Object.entries(GATEWAYS_BUILT).map(([name, gateway]) => {
    const { absenceIsProofAfterMs: after } = gateway.capabilities;
    return [name, { ...gateway, capabilities: { ...gateway.capabilities, absenceIsProofAfterMs: gateway.lookUp ? after : 0 } }];
  }),
);

describe("every gateway through the charge protocol", { concurrency: AT_A_TIME }, () => {
  let fixture: Fixture;
  let simulators: Simulators;
  /** By whether the card is answered: in its own time, or in haste. */
  let payments: Readonly<Record<"answered" | "never answered", Payments>>;
  let options: Record<string, string | boolean> = {};
  const rotated = new Map<string, Readonly<Record<string, Secret>>>();
  before(async () => {
    simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
    const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
    fixture = await sessionsFixture(outboxOf(() => `evt_${systemRandom.uuid()}`));
    await fixture.sessions.start();
    const told = { url: "http://127.0.0.1:1/", secrets: Buffer.from("none"), amount_unit: "dollars" } as const;
    await fixture.database.db
      .insertInto("webhook_endpoints")
      .values({ ...told, project_id: fixture.projectId })
      .execute();
    const paymentsWith = (clock: Clock, limitMs: (url: string) => number) =>
      createPayments({
        database: fixture.database,
        sessions: fixture.sessions,
        projects: {
          gatewaySettings: async (_db, _project, name) => {
            const settings = settingsOf(GATEWAYS_BUILT[name]!, { endpoint: `${simulators.url}/${name}` });
            const credentials = rotated.get(name) ?? settings.credentials;
            return { ...settings, credentials, options: { ...settings.options, ...options } };
          },
          rotateCredentials: async (_project, name, _environment, change) => {
            const current = rotated.get(name) ?? settingsOf(GATEWAYS_BUILT[name]!).credentials;
            const next = (await change(current)) ?? current;
            rotated.set(name, next);
            return next;
          },
        },
        gateways: PROVING,
        outbound: { send: (request) => outbound.send({ ...request, timeoutMs: limitMs(request.url) }) },
        clock,
        random: systemRandom,
        owner: "process-1",
        log: silentLog,
      });
    payments = {
      answered: paymentsWith(hastyClock(HASTE), () => ANSWERED_MS),
      "never answered": paymentsWith(hastyClock(GREAT_HASTE), hangsFor),
    };
  });
  after(async () => {
    // Where nobody can tell, what was lost is searched for on and on: the janitor's end is the search's end.
    for (const one of Object.values(payments)) await one.startJanitor()();
    await simulators.close();
    await fixture?.sessions.stop();
    await fixture?.close();
  });

  interface Kept {
    session: Session;
    /** Outcome of each attempt, in order. */
    attempts: (string | null)[];
    /** Bodies of the webhooks that were written. */
    told: Record<string, unknown>[];
    /** Approved charges and stored cards of this session in the vendor's ledger. */
    taken: number;
  }

  /** One session whose caller gives these cards, one after another. */
  async function pay(gateway: GatewayName, mode: Mode, cards: readonly string[]): Promise<Kept> {
    const amount = mode === "charge" ? {} : { amountMinor: 0 };
    const { id } = await collecting(fixture, { gateway, mode, caller: "+14155550100", ...amount });
    const before = (await ledger(gateway)).length;
    for (const [index, card] of cards.entries()) {
      const session = (await fixture.sessions.find(fixture.database.db, id)) ?? assert.fail();
      await payments[NEVER_ANSWERED.includes(card) ? "never answered" : "answered"].settle({
        session,
        card: testCard(card),
        mayRetry: index < cards.length - 1,
      });
    }
    const { db } = fixture.database;
    await ended(id);
    const attempts = await db.selectFrom("payment_attempts").select("outcome").where("session_id", "=", id).orderBy("number").execute();
    const events = await db.selectFrom("webhook_events").select(["id", "body"]).where("session_id", "=", id).execute();
    const entries = (await ledger(gateway)).slice(before);
    // A card that was stored to be verified, and refused, is deleted again.
    const deleted = new Set(entries.filter(({ kind }) => mode === "tokenize" && kind === "void").map(({ id }) => id));
    return {
      session: (await fixture.sessions.find(db, id)) ?? assert.fail(),
      attempts: attempts.map(({ outcome }) => outcome),
      told: events.map((event) => JSON.parse(bodyOf(event.id, event.body, PROVING)) as Record<string, unknown>),
      taken: entries.filter(({ kind, id, outcome }) => outcome === "approved" && TAKES[mode].includes(kind) && !deleted.has(id)).length,
    };
  }

  /** Resolves once the session is final: a lost answer is searched for after `settle` has said so. */
  async function ended(id: string): Promise<void> {
    for (;;) {
      const changed = Promise.withResolvers<void>();
      const unwatch = fixture.sessions.watch(id, changed.resolve);
      try {
        const session = await fixture.sessions.find(fixture.database.db, id);
        if (session && isTerminal(session.status)) return;
        await changed.promise;
      } finally {
        unwatch();
      }
    }
  }

  async function ledger(gateway: string): Promise<{ kind: string; id: string | null; outcome: string | null }[]> {
    const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
    return ((await answer.json()) as { entries: { kind: string; id: string | null; outcome: string | null }[] }).entries;
  }

  /** What must hold after any end: one webhook, which tells what the session tells. */
  function agrees({ session, told }: Kept, event: string): void {
    assert.equal(told.length, 1);
    assert.partialDeepStrictEqual(told[0], {
      event,
      session_id: session.id,
      status: session.status,
      amount_cents: session.amountMinor,
      card_brand: session.cardBrand,
      card_last4: session.cardLast4,
      error: session.errorCode === null ? null : { code: session.errorCode, message: session.errorMessage },
    });
  }

  for (const [name, { specFields: fields }] of Object.entries(BEHAVIOURS) as [GatewayName, Behaviour][]) {
    const oneAttempt = GATEWAYS_BUILT[name]!.capabilities.oneAttempt;
    describe(name, { concurrency: 1 }, () => {
      for (const mode of ["charge", "tokenize"] as const) {
        test(`${name}, ${mode}: a good card ends payment-success with exactly the fields of the interface (R-400, R-407)`, async () => {
          const kept = await pay(name, mode, [GOOD]);
          assert.equal(kept.session.status, "payment-success");
          assert.deepEqual(
            Object.keys(kept.session.processor ?? {}).toSorted(),
            [...fields[mode].split(" "), "card_brand", "card_last4"].toSorted(),
          );
          assert.deepEqual([kept.attempts, kept.taken], [["approved"], 1]);
          agrees(kept, "payment.success");
          assert.partialDeepStrictEqual(kept.told[0], { card_brand: "visa", card_last4: "4242" });
        });

        test(`${name}, ${mode}: a refused card ends payment-failed and takes nothing (R-400, R-417)`, async () => {
          const kept = await pay(name, mode, [REFUSED]);
          assert.deepEqual([kept.session.status, kept.session.errorCode], ["payment-failed", "card_declined"]);
          assert.notEqual(kept.session.errorMessage, null);
          assert.deepEqual([kept.attempts, kept.taken], [["declined"], 0]);
          agrees(kept, "payment.failed");
        });

        if (!oneAttempt) {
          test(`${name}, ${mode}: a second card after a refused one pays, once (R-192)`, async () => {
            const kept = await pay(name, mode, [REFUSED, GOOD]);
            assert.deepEqual([kept.session.status, kept.session.errorCode, kept.session.cardLast4], ["payment-success", null, "4242"]);
            assert.deepEqual([kept.attempts, kept.taken], [["declined", "approved"], 1]);
            agrees(kept, "payment.success");
          });
        }

        test(`${name}, ${mode}: a lost answer ends in the truth, with one charge (R-422)`, async () => {
          const kept = await pay(name, mode, [LOST]);
          const truth = inMode(BEHAVIOURS[name]!.neverAnswered ?? BEHAVIOURS[name]!.lost, mode);
          const failed = truth.outcome === "approved" ? null : (truth.code ?? "outcome_unknown");
          assert.deepEqual([kept.session.status, kept.session.errorCode], [failed ? "payment-failed" : "payment-success", failed]);
          const held = mode === "tokenize" && BEHAVIOURS[name]!.storesAgain ? Math.max(kept.taken, 1) : 1;
          assert.deepEqual([kept.attempts, kept.taken], [[failed ? "declined" : "approved"], held]);
          agrees(kept, failed ? "payment.failed" : "payment.success");
        });

        test(`${name}, ${mode}: a connection that is always reset takes nothing, and the session fails when that is proven (R-422)`, async () => {
          const kept = await pay(name, mode, [RESET]);
          assert.deepEqual([kept.session.status, kept.taken], ["payment-failed", 0]);
          agrees(kept, "payment.failed");
        });
      }
      if (GATEWAYS_BUILT[name]!.capabilities.authorizeOnly) {
        test(`${name}: capture authorize_only ends payment-authorized, and the webhook says auth_only (R-198, R-346)`, async () => {
          options = { capture: "authorize_only" };
          const kept = await pay(name, "charge", [GOOD]).finally(() => (options = {}));
          assert.equal(kept.session.status, "payment-authorized");
          assert.equal(kept.session.processor?.["authnet_capture_status"], "authorized");
          agrees(kept, "payment.authorized");
          assert.partialDeepStrictEqual(kept.told[0], { processor: { auth_only: true } });
        });
      }
    });
  }
});
