import type { AttemptTrace, LookUpResult, Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** Pages of the newest hundred that a look-up reads: the vendor counts 45 calls a minute. */
const MOST_PAGES = 5;

/** USAePay REST API v2: `transactions` for sales, stored cards and what reverses them. */
export const gateway = kit.defineGateway({
  name: "usaepay",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    absenceIsProofAfterMs: 180_000,
    // The industry of the account or key says so, not the request.
    moto: false,
    token: "a card key (savedcard.key)",
    processorFields: { charge: "usaepay_refnum", tokenize: "usaepay_card_key" },
    deadlineMs: 75_000,
  },
  sandbox: { api_key: "_ExampleKeyAAAABBBBCCCCDDDD12345", api_pin: "864213" },
  documentation:
    "Telephone orders are a matter of the account's industry. A lost sale is looked for among the newest 500 transactions; beyond them its outcome stays unknown, and so does " +
    "one that the list shows as an error without a code, or with that of a broken connection: look at the processor's. Switch " +
    "duplicate folding on at the key. Unconfirmed: by what and for how long duplicates are folded, the HTTP status of refused keys, the length of " +
    "orderid, that no list can be asked for it, that no field marks a telephone order, and holds of 0.00. " +
    "A refund after the batch whose answer was lost cannot be known, and is not sent again: the payment stays on the list of unmatched ones.",
  refusalOf(sum) {
    if (sum.mode !== "charge") return null;
    const amount = kit.twoPlaces(sum);
    if (amount === null || !requests.isTaken(sum)) return "USAePay takes two decimal places, and not this currency";
    return Number(amount) > requests.LARGEST ? "USAePay takes 99,999.00 at the most" : null;
  },
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor: { usaepay_refnum: refnum = "" } }) => {
      const step = (how: "void" | "refund") => () => requests.reverse(io, how, refnum);
      const steps = { void: step("void"), refund: step("refund"), lookUp: () => lookUp(attempt, io) };
      return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
    }),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const state = responses.readPayment(await io.send(requests.sale(order, io)), order);
  if (state.outcome !== "partial") return state;
  await io.note({ refnum: state.refnum });
  const refusal = kit.declined("card_declined", { reason: "only a part was approved; it was voided" });
  return kit.releasedFirst(refusal, () => kit.isDone(io, requests.reverse(io, "void", state.refnum), responses.readReversal));
}

/** The issuer verifies the card by a hold of nothing, which is released; where the processor cannot, the card is stored unseen. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const { settings } = io;
  if (!settings.options.verify) return kit.storeAgain(io, async () => responses.readStored(await io.send(requests.save(order, io))));
  const verified = await kit.storeAgain(io, async () => {
    const answer = await io.send(requests.verifyAndSave(order, io));
    const [state, refnum] = [responses.readStored(answer), responses.refnumOf(answer)];
    if (state.outcome === "approved" && refnum !== undefined) await io.send(requests.reverse(io, "cc:void:release", refnum));
    return state;
  });
  if (verified.outcome !== "declined" || verified.reason !== responses.CANNOT_VERIFY) return verified;
  return kit.storeAgain(io, async () => responses.readStored(await io.send(requests.save(order, io))));
}

/** By our order id, among the newest transactions. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const mine = await kit.allPages(
    0,
    async (offset: number) => responses.readPage(await io.send(requests.listTransactions(io, offset)), attempt, offset),
    MOST_PAGES,
  );
  if (mine === null) return kit.unknown("USAePay did not answer the look-up, or there are too many payments to look through");
  return responses.readFound(mine, attempt);
}
