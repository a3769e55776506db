import type { AttemptTrace, LookUpResult, Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** Qualpay Payment Gateway API: sales, verified cards that are stored; lost answers are looked for in the report of the Platform API. */
export const gateway = kit.defineGateway({
  name: "qualpay",
  settings: requests.SETTINGS,
  capabilities: {
    // No key; that another sale on the same card is refused for five minutes is a guard, and no promise.
    idempotency: "none",
    absenceIsProofAfterMs: 600_000,
    token: "a card_id of the vault; the same card has the same one",
    processorFields: { charge: "qualpay_pg_id", tokenize: "qualpay_pg_id qualpay_card_id" },
    deadlineMs: 75_000,
  },
  sandbox: { merchant_id: "212000000001", security_key: "TEST1234567890" },
  documentation:
    "The security key needs the permissions Payment Gateway and Reporting: a lost sale is looked for in the report of requests. Unconfirmed: how a " +
    "duplicate is refused (told by its words), how a held sale is answered (it is unknown until the report shows it), the body of a 403, " +
    "whether a verification is ever answered 085 (it counts as approved there), the gateway's codes above 111, and how soon the report shows a sale. " +
    "A refund after the batch whose answer was lost is not sent again: until the report shows the whole sum as refunded, the payment stays on the " +
    "list of unmatched ones.",
  refusalOf: (sum) =>
    sum.mode === "charge" && requests.qualpayAmount(sum) === null ? "Qualpay takes two decimals and twelve digits" : null,
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor: { qualpay_pg_id: id = "" } }) => {
      const amount = requests.qualpayAmount(attempt) ?? "";
      const steps = {
        void: () => requests.voidSale(io.settings, id),
        refund: () => requests.refund(io.settings, id, amount),
        lookUp: () => lookUp(attempt, io),
      };
      return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
    }),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const amount = kit.unrefused(requests.qualpayAmount(order));
  const state = responses.readSale(await io.send(requests.sale(order, io.settings, amount)), order);
  if (state.outcome !== "partial") return state;
  const refusal = kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" });
  return kit.releasedFirst(refusal, () => kit.isDone(io, requests.voidSale(io.settings, state.pgId), responses.readReversal));
}

/** Sent again while no answer comes: it moves no money, and the same card has the same entry in the vault. */
function tokenize(order: Order, io: Io): Promise<Outcome> {
  const { verify } = io.settings.options;
  const build = verify ? requests.verify : requests.store;
  return kit.storeAgain(io, async () => responses.readStored(await io.send(build(order, io.settings)), verify));
}

/** By the reference, in the report of requests, newest first. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const mine = await kit.allPages(0, async (page: number) =>
    responses.readPage(await io.send(requests.report(io.settings, page)), attempt, page),
  );
  if (mine === null) return kit.unknown("Qualpay did not answer the look-up, or there are too many payments to look through");
  const found = kit.withoutDuplicates(mine.map((row) => responses.readRow(row, attempt)));
  // The report has no words: of a sale that was refused as a duplicate a refused row may be just that.
  const isTwice = attempt.notes[kit.REFUSED_AS] !== undefined;
  return kit.theStanding(isTwice ? found.filter((one) => one.outcome !== "declined" || kit.isTakenBack(one)) : found);
}
