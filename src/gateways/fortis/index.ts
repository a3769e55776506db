import type { AttemptTrace, LookUpResult, Order, Outcome, Subject, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/**
 * Fortis API v1: keyed sales, checks without an amount, tokens.
 * Length: a card is checked and stored by two requests, lists are filtered in a way that is unconfirmed, and partial approvals are given back.
 */
export const gateway = kit.defineGateway({
  name: "fortis",
  settings: requests.SETTINGS,
  capabilities: {
    // Whether a used transaction_api_id is refused is unconfirmed, so that nothing is ever sent twice.
    idempotency: "none",
    absenceIsProofAfterMs: 180_000,
    // The product's industry says so, not the request.
    moto: false,
    token: "a token",
    processorFields: { charge: "fortis_transaction_id", tokenize: "fortis_token_id" },
    deadlineMs: 75_000,
  },
  sandbox: {
    user_id: "11ef69fdc8fd8db2b07213de",
    user_api_key: "11ef9c5897f42ac2a072e521",
    developer_id: "bEgKPZos",
    location_id: "11ef69fdc684ae30b436c55b",
  },
  supportHeader: "x-amzn-requestid",
  documentation:
    "Fortis must switch keyed card entry on. Telephone orders are a matter of the product's industry (product_transaction_id), and so is the " +
    "currency. Unconfirmed: the HTTP status of a decline, whether a used transaction_api_id is refused and in which words, and the filter by which a lost sale is " +
    "looked for: where the list shows others' payments alone, the sale stays unknown. " +
    "A refund after the batch whose answer was lost cannot be known, and is not sent again: the payment stays on the list of unmatched ones.",
  refusalOf: (sum, settings) =>
    sum.mode === "charge" && !requests.isCurrencyOf(settings, sum)
      ? "the session's currency is not that of Fortis' products: the setting currency names it"
      : null,
  charge,
  tokenize,
  lookUp,
  void: (attempt, io) => (attempt.mode === "tokenize" ? removeToken(attempt, io) : voidCharge(attempt, io)),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  return follow(order, io, responses.readSale(await io.send(requests.sale(order, io.settings)), order));
}

/** A part that was approved against our word is voided before it is refused. */
async function follow<R extends { outcome: string }>(subject: kit.Noted<Subject>, io: Io, state: R | responses.Partial) {
  if (!isPartial(state)) return state;
  await io.note({ transaction: state.id });
  return kit.releasedFirst(kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" }), () =>
    takeBack(subject, io, state.id, state.amountMinor),
  );
}

const isPartial = (state: { outcome: string }): state is responses.Partial => state.outcome === "partial";

/**
 * `amountMinor`: what was taken, and no more than that is refunded; null when it is not known, and then nothing is. A refund that
 * had no clear answer is not sent again: Fortis does not say that it would refuse the second, nor one of what is voided.
 */
async function takeBack(subject: kit.Noted<Subject>, io: Io, id: string, amountMinor: number | null): Promise<boolean> {
  const voiding = () => requests.voidSale(io.settings, id);
  if (amountMinor !== null) {
    const refund = () => requests.refund(amountMinor, io.settings, id);
    const steps = { void: voiding, refund, lookUp: async () => kit.partStands(await found(subject, io)) };
    return kit.voidElseRefund(io, steps, responses.readReversal, subject.notes);
  }
  return kit.isDone(io, voiding(), responses.readReversal);
}

/** A lost check is looked for; it moved nothing, as a store moves nothing, and is else sent again under another id of ours. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const { settings } = io;
  let tries = 0;
  const nextId = () => (tries++ === 0 ? order.reference : `${order.reference}-${tries}`);
  const verify = async (): Promise<Outcome> => {
    const reference = nextId();
    const verified = responses.readVerified(await io.send(requests.verify(order, settings, reference)));
    return verified.outcome === "unknown"
      ? responses.readFoundCheck(await io.send(requests.find({ reference }, settings)), reference)
      : verified;
  };
  if (!settings.options.verify)
    return kit.noted(
      io,
      await kit.storeAgain(io, async () => responses.readToken(await io.send(requests.store(order, settings, nextId())))),
    );
  const verified = await kit.verifyAgain(io, verify);
  if (verified.outcome !== "approved") return verified;
  const id = verified.processor["fortis_transaction_id"] ?? "";
  return kit.noted(io, await kit.storeAgain(io, async () => responses.readToken(await io.send(requests.storeVerified(settings, id)))));
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  return follow(attempt, io, await found(attempt, io));
}

const found = async (subject: Subject, io: Io) => responses.readFound(await io.send(requests.find(subject, io.settings)), subject);

async function voidCharge(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  return kit.reversal(await lookUp(attempt, io), ({ processor }) =>
    takeBack(attempt, io, processor["fortis_transaction_id"] ?? "", attempt.amountMinor),
  );
}

/** By the id that was noted: without one no token is known. */
async function removeToken({ notes }: AttemptTrace, io: Io): Promise<VoidResult> {
  // Attempts of the version before have the id as `token`.
  const { token: before, fortis_token_id: token = before } = notes;
  if (token === undefined) return kit.perhapsStored;
  const isRemoved = await kit.isDone(io, requests.deleteToken(io.settings, token), kit.isGone);
  return isRemoved ? { outcome: "voided" } : kit.unknown("the stored card could not be removed");
}
