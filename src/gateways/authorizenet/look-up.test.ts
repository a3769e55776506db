import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { GatewayAnswer } from "../contract.ts";
import { orderOf, traceOf } from "../testing.ts";
import { answer, error, FIELDS, gateway, ioWith, LOST, NAME } from "./testing.ts";

const STARTED = Date.parse("2026-11-20T10:00:00Z");
const LISTED = {
  transId: "60198765432",
  submitTimeUTC: "2026-11-20T10:00:05Z",
  transactionStatus: "capturedPendingSettlement",
  invoiceNumber: NAME,
  settleAmount: 49.95,
};
const DETAILS = {
  transId: "60198765432",
  transactionStatus: "capturedPendingSettlement",
  responseCode: 1,
  responseReasonCode: 1,
  authCode: "H6K4BU",
  AVSResponse: "Y",
  cardCodeResponse: "M",
  CAVVResponse: "2",
  order: { invoiceNumber: NAME },
  authAmount: 49.95,
  settleAmount: 49.95,
  networkTransId: "123456789NNNH",
};
const SETTLED = {
  ...DETAILS,
  transactionStatus: "settledSuccessfully",
  payment: { creditCard: { cardNumber: "XXXX1111", expirationDate: "XXXX" } },
};
const NOTHING = answer({
  messages: { resultCode: "Ok", message: [{ code: "I00004", text: "No records found." }] },
  totalNumInResultSet: 0,
});

describe("authorizenet look-up", () => {
  const trace = traceOf(orderOf(), {}, STARTED);
  const scripted = (answers: Partial<Record<string, GatewayAnswer>>) => ioWith((_, method) => answers[method] ?? NOTHING);
  const list = (...transactions: object[]) => ({ getUnsettledTransactionListRequest: answer({ transactions }) });
  const details = (changes: object = {}) => ({ getTransactionDetailsRequest: answer({ transaction: { ...DETAILS, ...changes } }) });
  const lookUp = (answers: Partial<Record<string, GatewayAnswer>>) => gateway.lookUp!(trace, scripted(answers));

  test("finds the payment by its invoice number and says what the lost answer would have said", async () => {
    const io = scripted({ ...list({ ...LISTED, invoiceNumber: "another" }, LISTED), ...details() });
    assert.deepEqual(await gateway.lookUp!(trace, io), {
      outcome: "approved",
      capture: "captured",
      processor: { ...FIELDS, authnet_capture_status: "captured" },
    });
    assert.match(
      io.sent[0]?.body ?? "",
      /"sorting":\{"orderBy":"submitTimeUTC","orderDescending":true\},"paging":\{"limit":"1000","offset":"1"\}/,
    );
    assert.ok(!io.sent.some(({ body }) => body.includes("4242")));
  });

  test("a payment that is settled by then is found in its batch", async () => {
    const io = scripted({
      getSettledBatchListRequest: answer({ batchList: [{ batchId: "77" }, { batchId: "78" }] }),
      getTransactionListRequest: answer({ transactions: [LISTED] }),
      ...details({ transactionStatus: "settledSuccessfully" }),
    });
    // Both batches are answered with it, and two that stand are one too many.
    assert.equal((await gateway.lookUp!(trace, io)).outcome, "unknown");
    const once = ioWith((body, method) => {
      if (method === "getSettledBatchListRequest") return answer({ batchList: [{ batchId: "77" }, { batchId: "78" }] });
      if (method === "getTransactionListRequest")
        return JSON.stringify(body).includes('"batchId":"78"') ? answer({ transactions: [LISTED] }) : NOTHING;
      return method === "getTransactionDetailsRequest"
        ? details({ transactionStatus: "settledSuccessfully" }).getTransactionDetailsRequest
        : NOTHING;
    });
    const found = await gateway.lookUp!(trace, once);
    assert.equal(found.outcome === "approved" && found.capture, "captured");
    assert.match(once.sent[1]?.body ?? "", /"firstSettlementDate":"2026-11-20T09:45:00Z","lastSettlementDate":"20/);
  });

  test("a batch that settled just now by the vendor's clock, and in the time to come by ours, is among those of the last day that it lists itself", async () => {
    const io = ioWith((body, method) => {
      if (method === "getSettledBatchListRequest")
        return body["firstSettlementDate"] ? NOTHING : answer({ batchList: [{ batchId: "77" }] });
      if (method === "getTransactionListRequest") return answer({ transactions: [LISTED] });
      const settledDetails = details({ transactionStatus: "settledSuccessfully" }).getTransactionDetailsRequest;
      return method === "getTransactionDetailsRequest" ? settledDetails : NOTHING;
    });
    const found = await gateway.lookUp!(trace, io);
    assert.equal(found.outcome === "approved" && found.capture, "captured");
  });

  const STATUSES: readonly (readonly [status: string, outcome: string])[] = [
    ["authorizedPendingCapture", "authorized"],
    ["settledSuccessfully", "captured"],
    ["FDSPendingReview", "held_for_review"],
    ["FDSAuthorizedPendingReview", "held_for_review"],
    ["underReview", "held_for_review"],
    ["voided", "processing_error"],
    ["expired", "processing_error"],
    ["communicationError", "processing_error"],
    ["approvedReview", "pending"],
    ["somethingNew", "pending"],
  ];
  for (const [status, expected] of STATUSES) {
    test(`a transaction that is ${status} is ${expected}`, async () => {
      const found = await lookUp({ ...list({ ...LISTED, transactionStatus: status }), ...details({ transactionStatus: status }) });
      const said = found.outcome === "approved" ? found.capture : found.outcome === "declined" ? found.code : found.outcome;
      assert.equal(said, expected);
    });
  }

  test("a declined one has the reason of its decline", async () => {
    const declined = { transactionStatus: "declined", responseCode: 2, responseReasonCode: 4 };
    const found = await lookUp({ ...list({ ...LISTED, ...declined }), ...details(declined) });
    assert.equal(found.outcome === "declined" && found.code, "lost_or_stolen");
  });

  test("nothing anywhere is absent; a list that cannot be read is not, nor is another attempt's transaction or amount", async () => {
    assert.deepEqual(await lookUp({}), { outcome: "absent" });
    assert.equal((await lookUp({ getUnsettledTransactionListRequest: answer(error("E00011", "Access denied.")) })).outcome, "unknown");
    assert.equal((await lookUp({ getSettledBatchListRequest: LOST })).outcome, "unknown");
    const latestLost = ioWith((body, method) => (method === "getSettledBatchListRequest" && !body["firstSettlementDate"] ? LOST : NOTHING));
    assert.equal((await gateway.lookUp!(trace, latestLost)).outcome, "unknown");
    assert.equal((await lookUp({ getSettledBatchListRequest: answer({ batchList: [{ batchId: "x" }] }) })).outcome, "unknown");
    assert.equal((await lookUp({ ...list(LISTED), getTransactionDetailsRequest: LOST })).outcome, "unknown");
    assert.equal((await lookUp({ ...list(LISTED), ...details({ authAmount: 49.949999 }) })).outcome, "unknown");
    assert.equal((await lookUp({ ...list(LISTED), ...details({ order: { invoiceNumber: "another" } }) })).outcome, "unknown");
    assert.equal((await lookUp(list({ ...LISTED, transId: "x" }))).outcome, "unknown");
  });

  test("a refused twin does not hide the one that took the money", async () => {
    const twin = { ...LISTED, transId: "60198765431", transactionStatus: "declined" };
    const io = scripted({ ...list(twin, LISTED), ...details() });
    assert.equal((await gateway.lookUp!(trace, io)).outcome, "approved");
    assert.match(io.sent.at(-1)?.body ?? "", /"transId":"60198765432"/);
  });

  test("a second delivery that was refused as a duplicate says nothing of the first, which may not be shown yet", async () => {
    const twin = { ...LISTED, transId: "60198765434", transactionStatus: "generalError" };
    const refused = { ...LISTED, transactionStatus: "declined" };
    const byId = (body: object) =>
      JSON.stringify(body).includes(twin.transId)
        ? { transId: twin.transId, transactionStatus: "generalError", responseCode: 3, responseReasonCode: 11 }
        : { transactionStatus: "declined", responseCode: 2, responseReasonCode: 4 };
    const io = (...transactions: object[]) =>
      ioWith((body, method) =>
        method === "getTransactionDetailsRequest"
          ? details(byId(body)).getTransactionDetailsRequest
          : method === "getUnsettledTransactionListRequest"
            ? answer({ transactions })
            : NOTHING,
      );
    assert.deepEqual(await gateway.lookUp!(trace, io(twin)), { outcome: "absent" });
    const found = await gateway.lookUp!(trace, io(twin, refused));
    assert.equal(found.outcome === "declined" && found.code, "lost_or_stolen");
    const settledFirst = ioWith((body, method) => {
      if (method === "getUnsettledTransactionListRequest") return answer({ transactions: [twin] });
      if (method === "getSettledBatchListRequest") return answer({ batchList: [{ batchId: "77" }] });
      if (method === "getTransactionListRequest") return answer({ transactions: [LISTED] });
      const ofTwin = JSON.stringify(body).includes(twin.transId);
      return details(ofTwin ? byId(body) : { transactionStatus: "settledSuccessfully" }).getTransactionDetailsRequest;
    });
    assert.equal((await gateway.lookUp!(trace, settledFirst)).outcome, "approved");
  });

  test("goes back page by page to the attempt's begin, and gives up rather than guess when there are too many", async () => {
    const full = (submitTimeUTC: string) =>
      answer({ transactions: Array.from({ length: 1000 }, () => ({ ...LISTED, submitTimeUTC, invoiceNumber: "another" })) });
    const since = ioWith((body, method) => {
      if (method !== "getUnsettledTransactionListRequest") return NOTHING;
      return full(body["paging"]?.["offset"] === "2" ? "2026-11-20T09:00:00Z" : "2026-11-20T11:00:00Z");
    });
    assert.equal((await gateway.lookUp!(trace, since)).outcome, "absent");
    assert.equal(since.sent.filter(({ body }) => body.includes("getUnsettled")).length, 2);
    assert.equal(
      (
        await gateway.lookUp!(
          trace,
          ioWith(() => full("2026-11-20T11:00:00Z")),
        )
      ).outcome,
      "unknown",
    );
  });

  test("a stored card is found by the customer id that the attempt gave it", async () => {
    const profile = {
      customerProfileId: "35959426",
      merchantCustomerId: NAME,
      paymentProfiles: [{ customerPaymentProfileId: "32506918" }],
    };
    const find = (script: GatewayAnswer) =>
      gateway.lookUp!(
        { ...trace, mode: "tokenize" },
        ioWith(() => script),
      );
    assert.deepEqual(await find(answer({ profile })), {
      outcome: "approved",
      capture: "captured",
      processor: { authnet_customer_profile_id: "35959426", authnet_payment_profile_id: "32506918" },
    });
    assert.deepEqual(await find(answer(error("E00040", "The record cannot be found."))), { outcome: "absent" });
    assert.equal((await find(answer({ profile: { ...profile, merchantCustomerId: "another" } }))).outcome, "unknown");
    assert.equal((await find(answer(error("E00007")))).outcome, "unknown");
  });
});

describe("authorizenet refunds", () => {
  const NOT_VOIDED = answer({ transactionResponse: { responseCode: "3", transId: "0", errors: [{ errorCode: "16" }] } });
  const DONE = answer({ transactionResponse: { responseCode: "1", transId: "60198765499", messages: [{ code: "1" }] } });
  const refused = (errorCode: string) => answer({ transactionResponse: { responseCode: "3", transId: "0", errors: [{ errorCode }] } });

  /** Reverses a payment that is listed and cannot be voided. */
  async function reverse(refund: GatewayAnswer, details: object = SETTLED, notes: Record<string, string> = {}) {
    const io = ioWith((body, method) => {
      if (method === "getUnsettledTransactionListRequest") return answer({ transactions: [LISTED] });
      if (method === "getTransactionDetailsRequest") return answer({ transaction: details });
      return body["transactionRequest"]?.["transactionType"] === "voidTransaction" ? NOT_VOIDED : refund;
    });
    const { outcome } = await gateway.void!(traceOf(orderOf(), notes, STARTED), io);
    return { outcome, notes: io.notes, refunds: io.sent.filter(({ body }) => body.includes("refundTransaction")) };
  }

  test("what is settled is refunded with the last four digits that its details show", async () => {
    const { outcome, refunds } = await reverse(DONE);
    assert.equal(outcome, "voided");
    assert.match(
      refunds[0]?.body ?? "",
      /"amount":"49.95","payment":\{"creditCard":\{"cardNumber":"1111","expirationDate":"XXXX"\}\},"refTransId":"60198765432"/,
    );
    for (const details of [DETAILS, { ...SETTLED, transactionStatus: "voided" }, { ...SETTLED, payment: {} }])
      assert.deepEqual((await reverse(DONE, details)).refunds, []);
  });

  test("a refund that is refused is not known to be made, and is sent again; one without a clear answer is not (R-422)", async () => {
    // 54 is said of another currency and of what settled too long ago as well.
    for (const [first, again] of [
      ...["54", "39", "16"].map((reason) => [refused(reason), 1] as const),
      ...[LOST, refused("11"), refused("36"), refused("152"), answer(error("E00007")), NOTHING].map((unclear) => [unclear, 0] as const),
    ]) {
      const { outcome, notes } = await reverse(first);
      assert.equal(outcome, "unknown");
      const later = await reverse(DONE, SETTLED, notes);
      assert.deepEqual([later.outcome, later.refunds.length], [again === 1 ? "voided" : "unknown", again], JSON.stringify(first));
    }
  });
});
