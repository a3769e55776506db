import type { AttemptTrace, GatewayRequest, Order, Outcome, Subject, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** The list of stored cards lags by some seconds. */
const LIST_MS = [1_000, 2_000, 4_000];
const LISTED_TIMES = 4;
const NO_TOKEN = 'the card is stored, but not its id: switch on "Recurring details" in Customer Area > Developers > Additional data';

/**
 * Adyen Checkout API: one request for a charge, an authorisation of nothing for a stored card, both under a key that replays.
 * Length: no payment can be read, so that what an answer leaves standing (a part, another sum, a card without its id) is dealt with at once.
 */
export const gateway = kit.defineGateway({
  name: "adyen",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "replay",
    // No payment can be read. A lost answer is asked for again with the card; without it only a cancellation can be asked for.
    lookUp: "none",
    voidBy: "vendor id",
    absenceIsProofAfterMs: 60_000,
    token: "a stored payment method; a later charge also names its shopperReference, sess- and the session's id",
    processorFields: { charge: "adyen_psp_reference", tokenize: "adyen_psp_reference adyen_stored_payment_method_id" },
  },
  sandbox: {
    api_key: "AQEsimulatorsKey+AbCdEfGhIjKlMnOpQrStUvWxYz/aBcDeFgHiJkLmNoPqRsTuVwXyZ=-SIMULATORexampleKEYofTHEsheet.example=",
    merchant_account: "YourCompanyECOM",
  },
  refusalOf: (sum) =>
    sum.mode === "charge" && requests.amountOf(sum) === null ? "Adyen has no place for all decimals of this amount" : null,
  documentation:
    'Needs the role "API PCI Payments" and, to store cards, "Recurring details" under Additional data. An approval is an authorisation ' +
    "that Adyen captures by itself; what cannot be captured only its webhook tells, and so what came of a reversal, which counts once Adyen has " +
    "received it. A payment that Adyen sends to case management (fraudManualReview under Additional data) fails as held for review. Where no " +
    "answer came, however often it was asked for, a cancellation is asked for by our reference, which a captured payment outlives: the " +
    "attempt stays unknown. Unconfirmed: how long an idempotency key is remembered, the code 704, the address that carries a ZIP code " +
    "alone, the numbers of some errors, and whether a payment in review can be captured before it is accepted.",
  supportId: responses.pspReferenceOf,
  charge,
  tokenize,
  void: (attempt, io) => (attempt.mode === "charge" ? voidPayment(attempt, io) : removeStored(attempt, io)),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const value = kit.unrefused(requests.amountOf(order));
  const state = await send(order, io, () => requests.charge(order, io.settings, value));
  if (state.outcome !== "partial") return kit.noted(io, state);
  await io.note({ adyen_psp_reference: state.pspReference });
  const account = requests.merchantAccount(order, io.settings);
  return kit.releasedFirst(kit.declined("insufficient_funds", { reason: "only a part was approved; it was sent back" }), () =>
    isReversed(order, io, account, state.pspReference),
  );
}

/** The card is stored only where its id is known: in the answer, or in the list of the shopper's cards. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const state = await send(order, io, () => requests.store(order, io.settings));
  if (state.outcome === "partial") return kit.unknown("an authorisation of nothing that is approved in part");
  if (state.outcome !== "approved" || state.processor["adyen_stored_payment_method_id"] !== undefined) return kit.noted(io, state);
  const id = await listedId(order, io);
  if (id === undefined) return kit.declined("gateway_misconfigured", { message: NO_TOKEN });
  return kit.noted(io, { ...state, processor: { ...state.processor, adyen_stored_payment_method_id: id } });
}

/** Sends a payment until its answer is final. Whose account it is on is written down first, where there are two; what stands for another sum, too. */
async function send(
  order: Order,
  io: Io,
  build: () => GatewayRequest,
): Promise<Exclude<responses.PaymentState, { outcome: "another sum" }>> {
  if (io.settings.credentials.moto_merchant_account) await io.note({ merchant_account: requests.merchantAccount(order, io.settings) });
  const attempt = async () => {
    const answer = await io.send(build());
    const standing = responses.standingOf(answer, order);
    // Where it cannot be written the request is made again all the same.
    if (standing !== undefined) await io.note({ adyen_psp_reference: standing }).catch(() => {});
    return answer;
  };
  const answer = await kit.sendWithKey(io, attempt, { effect: "money", judge: responses.judge });
  const state = kit.isOutcome(answer) ? answer : responses.readPayment(answer, order);
  if (state.outcome !== "another sum") return state;
  await io.note({ adyen_psp_reference: state.pspReference });
  return kit.unknown("another amount or currency than asked for");
}

async function listedId(order: Order, io: Io): Promise<string | undefined> {
  const account = requests.merchantAccount(order, io.settings);
  let round = 0;
  const read = async () => {
    const ids = responses.readStored(await io.send(requests.listStored(order, io.settings, account)));
    round++;
    return ids?.length === 1 ? ids : round < LISTED_TIMES ? undefined : [];
  };
  return (await kit.poll(io, read, LIST_MS))?.[0];
}

const accountOf = ({ notes }: AttemptTrace, { settings }: Io): string =>
  notes["merchant_account"] ?? settings.credentials.merchant_account.reveal();

async function isReversed(subject: Subject, io: Io, account: string, pspReference: string): Promise<boolean> {
  const { answer } = await kit.sendUntilFinal(io, () => requests.reverse(subject, io.settings, account, pspReference), responses.judge);
  return answer !== null && responses.isReceived(answer);
}

/**
 * By the pspReference, where an answer gave one. Without it nobody can say whether there is a payment: Adyen receives a
 * cancellation of one that it never got just the same.
 */
async function voidPayment(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  const [account, pspReference] = [accountOf(attempt, io), attempt.notes["adyen_psp_reference"]];
  if (pspReference === undefined) {
    await io.send(requests.cancel(attempt, io.settings, account));
    return kit.unknown("a cancellation was asked for; whether there was a payment only Adyen's webhook tells");
  }
  return (await isReversed(attempt, io, account, pspReference)) ? { outcome: "voided" } : kit.unknown("the payment could not be reversed");
}

/** Takes the session's card out of Adyen's keeping again. */
async function removeStored(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  const account = accountOf(attempt, io);
  const ids = responses.readStored(await io.send(requests.listStored(attempt, io.settings, account)));
  if (ids === null) return kit.unknown("what there is to remove is not known");
  for (const id of ids) {
    if (!(await kit.isDone(io, requests.deleteStored(attempt, io.settings, account, id), kit.isGone)))
      return kit.unknown("the stored card could not be removed");
  }
  return { outcome: ids.length > 0 ? "voided" : "nothing to void" };
}
