import { byState, isoSeconds, refuseWith } from "../kit/index.ts";
import type { Answer } from "../kit/index.ts";
import { answer, notFound, OK, refusal } from "./replies.ts";
import type { Result } from "./replies.ts";
import { accountTypeOf, batchIdOf, settleDue, shownNumber } from "./transactions.ts";
import type { AuthnetCall, Payment } from "./transactions.ts";

/** The Transaction Details API. Numbers are JSON numbers here, unlike in the answers to payments. */

const NO_RECORDS: Result = { code: "I00004", text: "No records found." };
const DAY_MS = 24 * 3_600_000;

const STATUSES = byState(`
  declined declined, authorized authorizedPendingCapture, captured capturedPendingSettlement
  settled/refunded settledSuccessfully, voided/verified voided
`);

/** What lists and details both show. */
function shown({ id, at, state, card, details }: Payment): object {
  const { responseCode, partMinor } = details.judged;
  const isHeld = state === "authorized" && responseCode === "4";
  return {
    transId: id,
    submitTimeUTC: isoSeconds(at),
    submitTimeLocal: isoSeconds(at).slice(0, -1),
    transactionStatus: !isHeld ? STATUSES[state] : partMinor === undefined ? "FDSAuthorizedPendingReview" : "authorizedPendingRelease",
    accountType: accountTypeOf(card),
    accountNumber: shownNumber(card),
    marketType: details.marketType === "1" ? "MOTO" : "eCommerce",
    product: "Card Not Present",
  };
}

const amountOf = ({ amountMinor, capturedMinor }: Payment): number => (capturedMinor || amountMinor) / 100;

function pageOf(call: AuthnetCall, isListed: (transaction: Payment) => boolean): Answer {
  settleDue(call);
  const [limit, offset] = [call.number("paging.limit") || 1000, call.number("paging.offset") || 1];
  const newestFirst = call.lookUp(null, isListed);
  const sorted = call.text("sorting.orderDescending") === "true" ? newestFirst : newestFirst.toReversed();
  const page = sorted.slice((offset - 1) * limit, offset * limit);
  if (page.length === 0) return answer(NO_RECORDS, { totalNumInResultSet: 0 });
  const transactions = page.map((transaction) => {
    const { firstName, lastName } = transaction.details.billTo;
    const invoice = transaction.reference === null ? {} : { invoiceNumber: transaction.reference };
    return { ...shown(transaction), ...invoice, firstName, lastName, settleAmount: amountOf(transaction) };
  });
  return answer(OK, { transactions, totalNumInResultSet: page.length });
}

const isSettled = ({ settledAt }: Payment): boolean => settledAt !== null;

export const listUnsettled = (call: AuthnetCall): Answer => pageOf(call, (transaction) => !isSettled(transaction));

export const listBatch = (call: AuthnetCall): Answer =>
  pageOf(call, (transaction) => isSettled(transaction) && batchIdOf(transaction) === call.text("batchId"));

export function listBatches(call: AuthnetCall): Answer {
  settleDue(call);
  const now = call.tools.now();
  const [first, last] = [call.maybe("firstSettlementDate"), call.maybe("lastSettlementDate")];
  const from = first === undefined ? now - DAY_MS : Date.parse(first);
  const to = last === undefined ? now : Date.parse(last);
  if (from > to) throw refusal("E00003", "firstSettlementDate must not be later than lastSettlementDate.");
  if (to - from > 31 * DAY_MS) throw refusal("E00003", "The specified date range cannot be more than 31 days.");
  const found = call.lookUp(null, ({ settledAt }) => settledAt !== null && settledAt >= from && settledAt <= to);
  if (found.length === 0) return answer(NO_RECORDS);
  const batches = new Map(found.map((transaction) => [batchIdOf(transaction), transaction.settledAt ?? 0]));
  const batchList = [...batches].map(([batchId, settledMs]) => ({
    batchId,
    settlementTimeUTC: isoSeconds(settledMs),
    settlementTimeLocal: isoSeconds(settledMs).slice(0, -1),
    settlementState: "settledSuccessfully",
    paymentMethod: "creditCard",
  }));
  return answer(OK, { batchList });
}

export function getDetails(call: AuthnetCall): Answer {
  settleDue(call);
  const transaction = call.lookUpById(call.text("transId")) ?? refuseWith(notFound());
  const { card, reference, amountMinor, state, details } = transaction;
  const { judged, authCode, cavv, networkTransId, type } = details;
  return answer(OK, {
    transaction: {
      ...shown(transaction),
      transactionType: type,
      responseCode: Number(judged.responseCode),
      responseReasonCode: Number(judged.reason),
      responseReasonDescription: judged.text,
      ...(authCode !== "" && { authCode }),
      AVSResponse: judged.avs,
      cardCodeResponse: judged.cvv,
      CAVVResponse: cavv,
      order: { invoiceNumber: reference ?? "" },
      authAmount: state === "declined" ? 0 : amountMinor / 100,
      settleAmount: amountOf(transaction),
      taxExempt: false,
      payment: { creditCard: { cardNumber: shownNumber(card), expirationDate: "XXXX", cardType: accountTypeOf(card) } },
      ...(networkTransId !== "" && { networkTransId }),
    },
  });
}
