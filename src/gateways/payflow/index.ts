import type { GatewayRequest, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { PaymentState } from "./responses.ts";

type PayflowIo = kit.Io<typeof requests.SETTINGS>;

/** Noted where a request was repeated and the vendor could not tell whether it had the first one. */
const UNCHECKED = { duplicates: "unchecked" };

/**
 * PayPal's Payflow Gateway: name-value pairs with length tags, both ways.
 * Length: length tags, results whose words decide, and replays that the vendor sometimes cannot check.
 */
export const gateway = kit.defineGateway({
  name: "payflow",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "replay",
    absenceIsProofAfterMs: 120_000,
    // The account's market segment says so, not the request.
    moto: false,
    token: "the PNREF of a verification, chargeable as ORIGID for about a year",
    processorFields: { charge: "payflow_pnref", tokenize: "payflow_pnref" },
    deadlineMs: 75_000,
  },
  sandbox: { vendor: "acmemerchant", user: "apiuser", partner: "PayPal", password: "p&ss=word1" },
  documentation:
    "In PayPal Manager allow the user API transactions, and reference transactions, or stored cards cannot be charged. Telephone orders are a market segment of the account, set by Payflow's support. New test accounts have fraud filters on, which hold " +
    "payments (126): a held payment is voided and refused. Unconfirmed: how long a request id is remembered, and the life of a PNREF.",
  refusalOf: (sum) => (sum.mode === "charge" && kit.twoPlaces(sum) === null ? "Payflow takes two decimal places only" : null),
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async ({ processor }) =>
      attempt.mode === "tokenize" ? false : takeBack(attempt, io, processor["payflow_pnref"] ?? ""),
    ),
});

async function charge(order: Order, io: PayflowIo): Promise<Outcome> {
  return settled(order, io, await submit(order, io, () => requests.sale(order, io.settings)));
}

/** A processor that verifies no card has it stored unseen. */
async function tokenize(order: Order, io: PayflowIo): Promise<Outcome> {
  const state = await submit(order, io, () => requests.verify(order, io.settings));
  if (state.outcome !== "cannot verify") return settled(order, io, state);
  return settled(order, io, await submit(order, io, () => requests.upload(order, io.settings)));
}

/** The same request id until the answer is final: the vendor gives the first request's result again. */
async function submit(order: Order, io: PayflowIo, build: () => GatewayRequest): Promise<PaymentState> {
  const { answer, final, doubt } = await kit.sendUntilFinal(io, build, responses.judge);
  if (answer !== null && final) {
    if (doubt && responses.isUnchecked(answer)) {
      await io.note(UNCHECKED);
      return kit.unknown("a lost answer, and the vendor could not look for the first request");
    }
    const state = responses.readPayment(answer, order, doubt);
    const isReplay = state.outcome === "declined" && state.code === "duplicate_transaction";
    return isReplay ? kit.ofDuplicate(io, state, () => lookUp(order, io)) : state;
  }
  if (!doubt) return kit.declined("gateway_unavailable");
  return kit.unknown("the vendor's answer was lost", answer ? responses.unlessFound(answer) : undefined);
}

/** What is held for a review, or approved in part, is not what was asked for: it is voided. */
async function settled(subject: kit.Noted<Subject>, io: PayflowIo, state: PaymentState): Promise<Outcome> {
  if (state.outcome === "cannot verify") return kit.declined("gateway_misconfigured", { reason: "the processor stores no cards" });
  if (state.outcome === "refused") {
    // Nothing settles such a hold: where it cannot be voided it lapses.
    await io.send(requests.voidPayment(subject, io.settings, state.pnref, ""));
    return state.refusal;
  }
  if (state.outcome !== "held" && state.outcome !== "partial") return state;
  await io.note({ pnref: state.pnref });
  if (!(await takeBack(subject, io, state.pnref)))
    return kit.unknown(`a payment ${state.outcome === "held" ? "under review" : "in part"} that could not be voided`);
  if (state.outcome === "partial") return kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" });
  return kit.declined("fraud_suspected", { reason: "a fraud filter held the payment for a review; it was voided" });
}

/** A void, or a credit of what is settled. A verification holds no money: nothing is credited for it. */
async function takeBack(subject: kit.Noted<Subject>, io: PayflowIo, pnref: string): Promise<boolean> {
  const end = kit.keyEnd(subject.notes);
  const first = () => requests.voidPayment(subject, io.settings, pnref, end);
  if (subject.mode === "tokenize") return kit.isDone(io, first(), responses.readReversal);
  const refund = () => requests.credit(subject, io.settings, pnref, end);
  const steps = { void: first, refund, secondRefund: "harmless", isKept: responses.isRefusal } as const;
  return kit.voidElseRefund(io, steps, responses.readReversal, subject.notes);
}

/** By our reference. The vendor tells of its latest transaction alone: where it may hold two, a refusal is not the whole truth. */
async function lookUp(attempt: kit.Noted<Subject>, io: PayflowIo): Promise<LookUpResult> {
  const requestId = io.random.uuid().replaceAll("-", "");
  const found = responses.readInquiry(await io.send(requests.inquire(attempt, io.settings, requestId)), attempt);
  if (found.outcome === "absent") return found;
  const outcome = await settled(attempt, io, found);
  if (attempt.notes?.["duplicates"] !== UNCHECKED.duplicates || outcome.outcome === "unknown") return outcome;
  if (outcome.outcome === "declined") return kit.unknown("the second of two requests was refused; the first may not have been");
  return { ...outcome, reason: "the vendor could not look for duplicates: see whether the first request was taken too" };
}
