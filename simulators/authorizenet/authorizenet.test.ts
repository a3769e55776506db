import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { describe, test } from "node:test";
import type { LedgerEntry } from "../kit/ledger.ts";
import { simulator as simulatorOf } from "./index.ts";

/** The simulator by the sheet: what the vendor refuses is refused. */

type Members = Record<string, unknown>;
type Answer = { messages: { resultCode: string; message: { code: string; text: string }[] }; transactionResponse?: Members } & Members;

const MERCHANT = { name: "simulator1", transactionKey: "simulatorKey0001" };
const CARD = { cardNumber: "4111111111111111", expirationDate: "2060-03", cardCode: "123" };

function vendor() {
  const ledger: Omit<LedgerEntry, "gateway">[] = [];
  let now = Date.parse("2026-11-20T10:00:00Z");
  const simulator = simulatorOf({
    now: () => now,
    id: (prefix, length = 24) => prefix + Array.from(randomBytes(length), (byte) => String.fromCharCode(97 + (byte % 26))).join(""),
    digits: (length) => `1${Array.from({ length: length - 1 }, () => randomInt(10)).join("")}`,
    record: (entry) => void ledger.push(entry),
  });
  const raw = (
    body: string,
    headers: Record<string, string> = { "content-type": "application/json" },
    method = "POST",
    path = "/xml/v1/request.api",
  ) =>
    simulator.handle({
      method,
      path,
      query: new URLSearchParams(),
      headers,
      body: Buffer.from(body),
      secure: true,
      work: () => Promise.resolve(),
      lookUpLag: () => 0,
    });
  const parsed = async (body: string, headers?: Record<string, string>): Promise<Answer> => {
    const answer = await raw(body, headers);
    assert.ok(answer !== "reset" && answer.status === 200 && typeof answer.body === "string");
    assert.equal(answer.body.charCodeAt(0), 0xfeff);
    return JSON.parse(answer.body.slice(1)) as Answer;
  };
  const call = (method: string, members: Members, merchant: Members = MERCHANT) =>
    parsed(JSON.stringify({ [method]: { merchantAuthentication: merchant, refId: "ref", ...members } }));
  const pay = (changes: Members = {}) =>
    call("createTransactionRequest", {
      transactionRequest: {
        transactionType: "authCaptureTransaction",
        amount: "49.95",
        currencyCode: "USD",
        payment: { creditCard: CARD },
        ...changes,
      },
    });
  return { ledger, call, pay, pass: (ms: number) => (now += ms) };
}

const codeOf = ({ messages }: Answer) => messages.message[0]?.code;
const reasonOf = ({ transactionResponse }: Answer) => {
  const [first] = (transactionResponse?.["errors"] ?? transactionResponse?.["messages"] ?? []) as { errorCode?: string; code?: string }[];
  return first?.errorCode ?? first?.code;
};

describe("the authorizenet simulator", () => {
  test("accounts see nothing of each other", async () => {
    const { call } = vendor();
    const { customerProfileId } = await call("createCustomerProfileRequest", { profile: { merchantCustomerId: "c-1" } });
    const other = { name: "simulator2", transactionKey: "key" };
    assert.equal(codeOf(await call("getCustomerProfileRequest", { customerProfileId }, other)), "E00040");
    assert.equal(codeOf(await call("getCustomerProfileRequest", { customerProfileId })), "I00001");
  });

  test("takes numbers for text, as the vendor does", async () => {
    const creditCard = { cardNumber: 4111111111111111, expirationDate: 1260, cardCode: 123 };
    assert.equal(reasonOf(await vendor().pay({ amount: 0.5, payment: { creditCard } })), "1");
  });

  test("takes every form of expiry and counts a card through the end of its month", async () => {
    for (const expirationDate of ["2026-11", "1126", "11/26", "11-26", "11/2026"]) {
      assert.equal(reasonOf(await vendor().pay({ payment: { creditCard: { ...CARD, expirationDate } } })), "1", expirationDate);
    }
  });

  test("refuses the same payment within the window, not another invoice, not after it, and not with a window of 0", async () => {
    const { pay, pass, ledger } = vendor();
    const setting = (settingValue: string) => ({ transactionSettings: { setting: [{ settingName: "duplicateWindow", settingValue }] } });
    const invoice = (invoiceNumber: string) => ({ order: { invoiceNumber } });
    assert.equal(reasonOf(await pay(invoice("1"))), "1");
    assert.equal(reasonOf(await pay(invoice("1"))), "11");
    assert.equal(reasonOf(await pay(invoice("2"))), "1");
    assert.equal(reasonOf(await pay({ ...invoice("1"), ...setting("0") })), "1");
    pass(121_000);
    assert.equal(reasonOf(await pay(invoice("1"))), "1");
    assert.equal(reasonOf(await pay(setting("28801"))), "33");
    assert.equal(ledger.filter(({ kind, outcome }) => kind === "charge" && outcome === "approved").length, 4);
  });

  test("approves a part where the merchant allows that, and only there", async () => {
    const allow = { transactionSettings: { setting: [{ settingName: "allowPartialAuth", settingValue: "true" }] } };
    const answer = await vendor().pay({ billTo: { zip: "46225" }, ...allow });
    assert.deepEqual([answer.transactionResponse?.["responseCode"], reasonOf(answer)], ["4", "295"]);
    assert.deepEqual(answer.transactionResponse?.["prePaidCard"], {
      requestedAmount: "49.95",
      approvedAmount: "1.23",
      balanceOnCard: "0.00",
    });
    assert.equal(reasonOf(await vendor().pay({ billTo: { zip: "46225" } })), "2");
  });

  test("captures a hold up to its amount, once, and voids what is not settled", async () => {
    const { pay, ledger } = vendor();
    const held = await pay({ transactionType: "authOnlyTransaction" });
    const refTransId = held.transactionResponse?.["transId"];
    const capture = (amount: string) => pay({ transactionType: "priorAuthCaptureTransaction", amount, payment: undefined, refTransId });
    assert.equal(reasonOf(await capture("49.96")), "5");
    assert.equal(reasonOf(await capture("40.00")), "1");
    assert.equal(reasonOf(await capture("40.00")), "311");
    const voiding = () => pay({ transactionType: "voidTransaction", amount: undefined, payment: undefined, refTransId });
    assert.deepEqual([reasonOf(await voiding()), reasonOf(await voiding())], ["1", "310"]);
    assert.deepEqual(
      ledger.flatMap(({ kind }) => (kind === "refused" ? [] : kind)),
      ["authorization", "capture", "void"],
    );
  });

  test("stores a profile once per customer, and none for a card that the issuer refuses", async () => {
    const { call } = vendor();
    const store = (cardNumber: string, merchantCustomerId: string, validationMode = "liveMode") =>
      call("createCustomerProfileRequest", {
        profile: {
          merchantCustomerId,
          paymentProfiles: [{ customerType: "individual", payment: { creditCard: { ...CARD, cardNumber } } }],
        },
        validationMode,
      });
    const stored = await store(CARD.cardNumber, "c-1");
    assert.match(String((stored["validationDirectResponseList"] as string[])[0]), /^1,1,1,This transaction has been approved\.,/);
    assert.equal(codeOf(await store(CARD.cardNumber, "c-1")), "E00039");
    const refused = await store("4000000000000002", "c-2");
    assert.deepEqual([codeOf(refused), refused["customerPaymentProfileIdList"], refused["customerProfileId"]], ["E00027", [], undefined]);
    assert.equal(codeOf(await call("getCustomerProfileRequest", { merchantCustomerId: "c-2" })), "E00040");
    assert.equal(codeOf(await store("4000000000000002", "c-3", "testMode")), "I00001");
    assert.equal(codeOf(await store("4111111111111112", "c-4", "testMode")), "E00027");
    assert.equal(codeOf(await call("createCustomerProfileRequest", { profile: {} })), "E00041");
  });

  test("settles after a day: the transaction moves from the unsettled list to a batch, and is refunded, not voided", async () => {
    const { pay, call, pass } = vendor();
    const paid = await pay();
    const { transId } = paid.transactionResponse ?? {};
    const idsIn = (answer: Answer) => ((answer["transactions"] ?? []) as { transId: string }[]).map((item) => item.transId);
    assert.deepEqual(idsIn(await call("getUnsettledTransactionListRequest", {})), [transId]);
    pass(26 * 3_600_000);
    const empty = await call("getUnsettledTransactionListRequest", {});
    assert.deepEqual([codeOf(empty), empty["transactions"]], ["I00004", undefined]);
    const range = { firstSettlementDate: "2026-11-20T10:00:00Z", lastSettlementDate: "2026-11-22T10:00:00Z" };
    const { batchList } = await call("getSettledBatchListRequest", range);
    const [{ batchId } = { batchId: "" }] = batchList as { batchId: string }[];
    assert.deepEqual(idsIn(await call("getTransactionListRequest", { batchId })), [transId]);
    const { transaction } = await call("getTransactionDetailsRequest", { transId });
    assert.equal((transaction as Members)["transactionStatus"], "settledSuccessfully");
    const voiding = { refTransId: transId, payment: undefined, amount: undefined };
    assert.equal(reasonOf(await pay({ ...voiding, transactionType: "voidTransaction" })), "16");
    const creditCard = { cardNumber: "1111", expirationDate: "XXXX" };
    const refund = { transactionType: "refundTransaction", currencyCode: undefined, payment: { creditCard }, refTransId: transId };
    assert.equal(reasonOf(await pay({ ...refund, payment: { creditCard: { ...creditCard, cardNumber: "4242" } } })), "54");
    assert.equal(reasonOf(await pay({ ...refund, amount: "49.96" })), "5");
    assert.equal(reasonOf(await pay(refund)), "1");
    assert.equal(reasonOf(await pay(refund)), "54");
  });
});
