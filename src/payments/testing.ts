import { setImmediate as turn } from "node:timers/promises";
import type { Gateway, GatewayIo, GatewaySettings, LookUpResult, Order, Outcome, VoidResult } from "#src/gateways/index.ts";
import { CardCells } from "#src/kernel/card.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { silentLog } from "#src/platform/index.ts";
import type { Session, Sessions } from "#src/sessions/index.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import { createPayments, type Payments } from "./index.ts";
import type { PaymentsDeps } from "./types.ts";

/** Fakes for the tests of this module: a gateway that does as it is told, and processes that share a database. */

export const APPROVED: Outcome = { outcome: "approved", capture: "captured", processor: { stripe_charge_id: "ch_1" } };
export const LOST: Outcome = { outcome: "unknown", reason: "connection reset" };
export const declined = (code: DeclineCode): Outcome => ({
  outcome: "declined",
  code,
  message: null,
  processor: {},
});

export class FakeGateway {
  readonly charges: Order[] = [];
  readonly lookUps: number[] = [];
  readonly voids: string[] = [];
  onCharge: (order: Order, io: GatewayIo) => Promise<Outcome> = async () => APPROVED;
  onLookUp: () => LookUpResult = () => ({ outcome: "pending" });
  onVoid: () => VoidResult = () => ({ outcome: "voided" });
  #called: (() => void)[] = [];

  /** Resolves once `charge` was called. */
  async called(): Promise<void> {
    if (this.charges.length === 0) await new Promise<void>((resolve) => this.#called.push(resolve));
  }

  gateway(differences: Partial<Gateway> = {}, capabilities: Partial<Gateway["capabilities"]> = {}): Gateway {
    const take = (order: Order, io: GatewayIo) => {
      this.charges.push(order);
      for (const wake of this.#called.splice(0)) wake();
      return this.onCharge(order, io);
    };
    return {
      name: "stripe",
      capabilities: {
        idempotency: "replay",
        lookUp: "by reference",
        voidBy: "reference",
        absenceIsProofAfterMs: 20_000,
        authorizeOnly: false,
        oneAttempt: false,
        moto: true,
        verifiesOnTokenize: true,
        token: "token",
        needsAddress: false,
        sendsPostalCode: true,
        takesBillingAddress: false,
        connectedAccountOption: null,
        processorFields: {
          charge: ["receipt_url", "stripe_charge_id", "stripe_payment_intent_id"],
          tokenize: ["payment_method_id"],
          transactionId: "stripe_charge_id",
        },
        deadlineMs: 30_000,
        ...capabilities,
      },
      credentialFields: [{ name: "secret_key", secret: true, required: true, meaning: "the key" }],
      credentialsIn: "credentials",
      optionFields: [],
      hosts: { test: "https://sandbox.example", live: "https://live.example" },
      sandboxCredentials: () => ({}),
      checkSettings: () => null,
      charge: take,
      tokenize: take,
      lookUp: async (_attempt, io) => {
        this.lookUps.push(io.clock.monotonic());
        return this.onLookUp();
      },
      void: async (attempt) => {
        this.voids.push(attempt.reference);
        return this.onVoid();
      },
      ...differences,
    };
  }
}

/** The same gateway of a vendor that cannot do so much. */
export function without(gateway: Gateway, ...verbs: ("lookUp" | "void")[]): Gateway {
  return Object.fromEntries(Object.entries(gateway).filter(([name]) => !verbs.includes(name as "lookUp"))) as unknown as Gateway;
}

export interface TestProcess {
  payments: Payments;
  clock: ManualClock;
  settings: GatewaySettings;
}

/** One process of the service: its own clock and owner, a shared database. */
export function testProcess(
  fixture: Fixture,
  gateway: Gateway,
  differences: Partial<PaymentsDeps> & { settings?: Partial<GatewaySettings> } = {},
): TestProcess {
  const clock = new ManualClock();
  const settings: GatewaySettings = {
    environment: "test",
    credentials: { secret_key: new Secret("sk") },
    options: {},
    endpoint: "https://sandbox.example",
    version: 3,
    ...differences.settings,
  };
  const payments = createPayments({
    database: fixture.database,
    sessions: fixture.sessions,
    projects: { gatewaySettings: async () => settings, rotateCredentials: async () => settings.credentials },
    gateways: { stripe: gateway },
    outbound: { send: async () => ({ kind: "not sent", reason: "no network in this test" }) },
    clock,
    random: systemRandom,
    owner: "process-1",
    log: silentLog,
    ...differences,
  });
  return { payments, clock, settings };
}

/** Sessions whose moves with an attempt pass through `around`, which can fail before the statement or after its commit. */
export function brokenSessions(sessions: Sessions, around: <T>(run: () => Promise<T>) => Promise<T>): Sessions {
  return { ...sessions, move: <T>(...args: Parameters<Sessions["move"]>) => around(() => sessions.move<T>(...args)) };
}

export function testCard(number = "4242424242424242"): CardCells {
  const card = new CardCells();
  const fill = (cell: CardCells["number"], text: string) => {
    for (const character of text) cell.push(Number(character));
  };
  fill(card.number, number);
  fill(card.expMonth, "12");
  fill(card.expYear, "2030");
  fill(card.cvv, "123");
  card.postalCode = "94105";
  return card;
}

/** A session that a call is collecting. */
export async function collecting(fixture: Fixture, differences: Parameters<Fixture["create"]>[0] = {}): Promise<Session> {
  const { id } = await fixture.create(differences);
  const claim = await fixture.sessions.claim(id, { owner: "process-1", callId: "call-1" });
  if (claim.kind !== "claimed") throw new Error("the session was not claimed");
  return claim.session;
}

/** Lets virtual time pass, a second at a time while a timer waits, until `done` says so. */
export async function timePasses(clock: ManualClock, done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) {
    if (clock.pending > 0) clock.advance(1_000);
    await turn();
  }
}

/** The result of `work`, with virtual time passing meanwhile. */
export async function withTime<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let settled = false;
  const watched = work.finally(() => {
    settled = true;
  });
  watched.catch(() => {});
  await timePasses(clock, () => settled);
  return await watched;
}
