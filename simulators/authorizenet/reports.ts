import { NOT_FOUND, OK, batchOf, shownNumber, textOf } from "./account.ts";
import type { Call, Reply, Transaction } from "./account.ts";
import { accountTypeOf } from "./issuer.ts";

/** The Transaction Details API. Numbers are JSON numbers here, unlike in the answers to payments. */

const NO_RECORDS: Reply = { code: "I00004", text: "No records found.", members: { totalNumInResultSet: 0 } };
const DEFAULT_PAGE = { limit: "1000", offset: "1" };

const utc = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

function statusNow(transaction: Transaction, nowMs: number): string {
  return batchOf(transaction, nowMs) ? "settledSuccessfully" : transaction.status;
}

function summaryOf(transaction: Transaction, nowMs: number): object {
  const { transId, submittedMs, invoiceNumber, billTo, card, amountMinor, marketType } = transaction;
  return {
    transId,
    submitTimeUTC: utc(submittedMs),
    submitTimeLocal: utc(submittedMs).slice(0, -1),
    transactionStatus: statusNow(transaction, nowMs),
    ...(invoiceNumber !== "" && { invoiceNumber }),
    ...(billTo.firstName !== undefined && { firstName: billTo.firstName }),
    ...(billTo.lastName !== undefined && { lastName: billTo.lastName }),
    accountType: accountTypeOf(card),
    accountNumber: shownNumber(card),
    settleAmount: amountMinor / 100,
    marketType: marketType === "1" ? "MOTO" : "eCommerce",
    product: "Card Not Present",
  };
}

function pageOf(call: Call, transactions: Transaction[]): Reply {
  const { limit, offset } = (call.request["paging"] as typeof DEFAULT_PAGE | undefined) ?? DEFAULT_PAGE;
  const { orderDescending } = (call.request["sorting"] as { orderDescending?: string } | undefined) ?? {};
  const sorted = orderDescending === "true" ? transactions.toReversed() : transactions;
  const start = (Number(offset) - 1) * Number(limit);
  const page = sorted.slice(start, start + Number(limit));
  call.tools.record({ kind: "look-up", id: null, reference: null, outcome: null, details: { found: page.length } });
  if (page.length === 0) return NO_RECORDS;
  const now = call.tools.now();
  return { ...OK, members: { transactions: page.map((transaction) => summaryOf(transaction, now)), totalNumInResultSet: page.length } };
}

export function listUnsettled(call: Call): Reply {
  const now = call.tools.now();
  return pageOf(
    call,
    [...call.account.transactions.values()].filter((transaction) => !batchOf(transaction, now)),
  );
}

export function listBatch(call: Call): Reply {
  const now = call.tools.now();
  const wanted = textOf(call, "batchId");
  return pageOf(
    call,
    [...call.account.transactions.values()].filter((transaction) => batchOf(transaction, now)?.id === wanted),
  );
}

export function listBatches(call: Call): Reply {
  const now = call.tools.now();
  const from = Date.parse(textOf(call, "firstSettlementDate") ?? utc(now - 24 * 3_600_000));
  const to = Date.parse(textOf(call, "lastSettlementDate") ?? utc(now));
  if (from > to) return { code: "E00003", text: "firstSettlementDate must not be later than lastSettlementDate." };
  if (to - from > 31 * 24 * 3_600_000) return { code: "E00003", text: "The specified date range cannot be more than 31 days." };
  const batches = [...call.account.transactions.values()].flatMap((transaction) => batchOf(transaction, now) ?? []);
  const inRange = new Map(
    batches.filter(({ settledMs }) => settledMs >= from && settledMs <= to).map((batch) => [batch.id, batch.settledMs]),
  );
  call.tools.record({ kind: "look-up", id: null, reference: null, outcome: null, details: { found: inRange.size } });
  if (inRange.size === 0) return { ...NO_RECORDS, members: {} };
  const batchList = [...inRange].map(([batchId, settledMs]) => ({
    batchId,
    settlementTimeUTC: utc(settledMs),
    settlementTimeLocal: utc(settledMs).slice(0, -1),
    settlementState: "settledSuccessfully",
    paymentMethod: "creditCard",
  }));
  return { ...OK, members: { batchList } };
}

export function getDetails(call: Call): Reply {
  const transaction = call.account.transactions.get(textOf(call, "transId") ?? "");
  call.tools.record({ kind: "look-up", id: transaction?.transId ?? null, reference: transaction?.invoiceNumber ?? null, outcome: null });
  if (!transaction) return NOT_FOUND;
  const { verdict, card, amountMinor, type } = transaction;
  const now = call.tools.now();
  const details = {
    transId: transaction.transId,
    submitTimeUTC: utc(transaction.submittedMs),
    submitTimeLocal: utc(transaction.submittedMs).slice(0, -1),
    transactionType: type,
    transactionStatus: statusNow(transaction, now),
    responseCode: Number(verdict.responseCode),
    responseReasonCode: Number(verdict.reason),
    responseReasonDescription: verdict.text,
    ...(transaction.authCode !== "" && { authCode: transaction.authCode }),
    AVSResponse: verdict.avs,
    cardCodeResponse: verdict.cvv,
    CAVVResponse: transaction.cavv,
    order: { invoiceNumber: transaction.invoiceNumber },
    authAmount: verdict.responseCode === "2" ? 0 : amountMinor / 100,
    settleAmount: amountMinor / 100,
    taxExempt: false,
    payment: { creditCard: { cardNumber: shownNumber(card), expirationDate: "XXXX", cardType: accountTypeOf(card) } },
    marketType: transaction.marketType === "1" ? "MOTO" : "eCommerce",
    product: "Card Not Present",
    ...(transaction.networkTransId !== "" && { networkTransId: transaction.networkTransId }),
  };
  return { ...OK, members: { transaction: details } };
}
