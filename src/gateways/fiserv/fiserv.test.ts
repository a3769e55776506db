import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const fiserv = GATEWAYS_BUILT.fiserv!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const SALE = {
  ipgTransactionId: "84538652787",
  orderId: REFERENCE,
  transactionType: "SALE",
  merchantTransactionId: REFERENCE,
  approvedAmount: { total: 49.95, currency: "USD", components: { subtotal: 49.95 } },
  transactionAmount: { total: 49.95, currency: "USD" },
  transactionStatus: "APPROVED",
  transactionResult: "APPROVED",
  approvalCode: "Y:OK7118:4538652787:PPXM:811720726601",
  transactionState: "CAPTURED",
  processor: { authorizationCode: "OK7118", responseCode: "00", responseMessage: "Function performed error-free" },
};
const TOKEN = {
  requestStatus: "SUCCESS",
  paymentToken: { value: "234ljl124l12", reusable: true, last4: "1111", brand: "VISA" },
  processor: { responseCode: "00", responseMessage: "Function performed error-free" },
  orderId: "R-44df6542",
  ipgTransactionId: "838916029301",
};
const refused = (status: number, change: object) =>
  answered(status, {
    ...SALE,
    transactionResult: "DECLINED",
    transactionStatus: "DECLINED",
    transactionState: "DECLINED",
    approvalCode: "N::no",
    ...change,
  });
const byIssuer = (code: string, message = "no") => refused(422, { processor: { responseCode: code, responseMessage: message } });
const byGateway = (code: string, text: string) =>
  refused(409, { transactionResult: "FAILED", processor: {}, approvalCode: `N:-${code}:${text}`, error: { code, message: text } });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(fiserv), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => fiserv.charge(orderOf(), ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("fiserv, requests that arrive twice", () => {
  const shutOut = answered(401, { responseType: "Unauthenticated", error: { code: "401", message: "Unauthorized" } });
  const none = answered(404, { responseType: "NotFound", error: { code: "404", message: "no" } });

  test("keys that are good for a look-up and refused with the payment are not wrong: it may have arrived before (R-422)", async () => {
    assert.equal((await charge(shutOut, answered(200, SALE))).outcome, "approved");
    const io = ioWith([shutOut, none]);
    assert.equal((await fiserv.charge(orderOf(), io)).outcome, "unknown");
    assert.equal(io.notes["refused_as"], "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(shutOut)), "gateway_credentials_invalid");
    for (const answer of [LOST, answered(503, "")]) assert.equal(codeOf(await charge(shutOut, answer)), "gateway_credentials_invalid");
  });

  test("a store so refused is sent again (I4)", async () => {
    const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
    const io = ioWith([shutOut, none, answered(200, TOKEN)]);
    assert.equal((await fiserv.tokenize(storing, io)).outcome, "approved");
    assert.equal(codeOf(await fiserv.tokenize(storing, ioWith([shutOut]))), "gateway_credentials_invalid");
  });

  test("a refusal for an id of ours, which no other payment has, is a second delivery's", async () => {
    for (const field of ["merchantTransactionId", "order.orderId"]) {
      const error = { code: "403", message: "Request Validation Failed", details: [{ field, message: "must be unique" }] };
      assert.equal((await charge(answered(400, { responseType: "BadRequest", error }), answered(200, SALE))).outcome, "approved", field);
    }
  });

  test("a refusal that names the request's id is a second delivery's, whatever its status", async () => {
    for (const status of [400, 401, 403, 409]) {
      const used = answered(status, { responseType: "BadRequest", error: { code: "400", message: "Duplicate Client-Request-Id" } });
      assert.equal((await charge(used, answered(200, SALE))).outcome, "approved", String(status));
      const io = ioWith([used, none]);
      assert.equal((await fiserv.charge(orderOf(), io)).outcome, "unknown");
      assert.equal(io.notes["refused_as"], "duplicate_transaction");
    }
  });
});

describe("fiserv requests", () => {
  const EXAMPLE = { api_key: new Secret("EXAMPLEapiKEY0001"), api_secret: new Secret("EXAMPLEsecret42") };

  test("a sale is signed over the bytes that are sent, and its total is a number, as the vendor's schema has it", async () => {
    const io = ioWith([answered(200, SALE)], { credentials: EXAMPLE });
    const signing = {
      ...io,
      clock: { ...io.clock, now: () => 1764000000000 },
      random: { ...io.random, uuid: () => "30dd879c-ee2f-41db-8314-0800200c9a66" },
    };
    const card = cardOf("4111111111111111", { year: "2030", zip: null });
    await fiserv.charge(orderOf({ reference: SESSION, card, description: null }), signing);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://cert.api.firstdata.com/gateway/v2/payments");
    assert.equal(
      body,
      '{"requestType":"PaymentCardSaleTransaction","merchantTransactionId":"3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22","transactionOrigin":"MOTO",' +
        '"transactionAmount":{"total":49.95,"currency":"USD"},"order":{"orderId":"3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22"},' +
        '"paymentMethod":{"paymentCard":{"number":"4111111111111111","securityCode":"123","expiryDate":{"month":"03","year":"30"}}}}',
    );
    assert.partialDeepStrictEqual(request.headers, {
      "Content-Type": "application/json",
      "Api-Key": "EXAMPLEapiKEY0001",
      "Client-Request-Id": "30dd879c-ee2f-41db-8314-0800200c9a66",
      Timestamp: "1764000000000",
      "Message-Signature": createHmac("sha256", "EXAMPLEsecret42")
        .update(`EXAMPLEapiKEY000130dd879c-ee2f-41db-8314-0800200c9a661764000000000${body}`)
        .digest("base64"),
    });
    await fiserv.lookUp!(traceOf(orderOf({ reference: SESSION })), signing);
    assert.equal(io.sent[1]?.request.headers["Message-Signature"], "+809pWifPKsdgJ5yZpdKuc8ekwY3+0GuV4tupjfxNYI=");
    assert.equal(io.sent[1]?.body, "");
  });

  test("the widget is e-commerce and tells the shopper's address; name, ZIP, store and description go where the vendor has them", async () => {
    const io = ioWith([answered(200, SALE)], { credentials: { ...EXAMPLE, store_id: new Secret("12345500000") } });
    const card = cardOf("4111111111111111", { name: "Ada Byron" });
    await fiserv.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1", card, description: "Invoice\u00071001" }), io);
    const body = JSON.parse(io.sent[0]?.body ?? "") as Record<string, never>;
    assert.partialDeepStrictEqual(body, {
      storeId: "12345500000",
      transactionOrigin: "ECOM",
      order: {
        billing: { name: "Ada Byron", address: { postalCode: "44628" } },
        ip: "2001:db8::1",
        additionalDetails: { comments: "Invoice 1001" },
      },
      paymentMethod: { paymentCard: { cardholderName: "Ada Byron", expiryDate: { month: "03", year: "60" } } },
    });
    await fiserv.lookUp!(traceOf(orderOf()), io);
    assert.match(io.sent[1]?.request.url ?? "", new RegExp(`/payments/${REFERENCE}\\?storeId=12345500000$`));
  });

  test("storing a card asks the issuer and never refuses a card that is stored already", async () => {
    const io = ioWith([answered(200, TOKEN)]);
    const outcome = await fiserv.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), io);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.webhookProcessor], [
      { fiserv_payment_token: "234ljl124l12", fiserv_order_id: "R-44df6542" },
      {
        fiserv_status: "APPROVED",
        response_code: "00",
        response_message: "Function performed error-free",
        ipg_transaction_id: "838916029301",
      },
    ]);
    assert.partialDeepStrictEqual(JSON.parse(io.sent[0]?.body ?? ""), {
      requestType: "PaymentCardPaymentTokenizationRequest",
      createToken: { reusable: true, declineDuplicates: false },
      accountVerification: true,
      billingAddress: { postalCode: "44628" },
    });
  });

  test("regions outside North America have a portal of their own, at which an endpoint replaces the host alone; settings that cannot work are named", async () => {
    const credentials = { ...EXAMPLE, region: new Secret("germany") };
    const io = ioWith([answered(200, SALE)], { credentials });
    await fiserv.charge(orderOf(), io);
    assert.equal(io.sent[0]?.request.url, "https://prod.emea.api.fiservapps.com/sandbox/ipp/payments-gateway/v2/payments");
    assert.equal(io.sent[0]?.request.headers["Region"], "germany");
    const simulated = ioWith([answered(200, SALE)], { credentials, endpoint: "http://127.0.0.1:1/fiserv" });
    await fiserv.charge(orderOf(), simulated);
    assert.equal(simulated.sent[0]?.request.url, "http://127.0.0.1:1/fiserv/sandbox/ipp/payments-gateway/v2/payments");
    const fault = (more: Record<string, string>) =>
      fiserv.checkSettings({
        ...settingsOf(fiserv),
        credentials: { ...EXAMPLE, ...Object.fromEntries(Object.entries(more).map(([name, text]) => [name, new Secret(text)])) },
      });
    assert.equal(fault({ region: "india", store_id: "1" }), null);
    assert.match(fault({ region: "mars" }) ?? "", /region/);
    assert.match(fault({ region: "mars", store_id: "x1", api_key: "a b" }) ?? "", /api_key.*store_id.*region/, "all at once");
    assert.match(fault({ store_id: "x1" }) ?? "", /store_id/);
    assert.match(fault({ api_key: "a key with blanks" }) ?? "", /api_key/);
  });

  test("a third decimal place that matters is never sent", async () => {
    const io = ioWith([answered(200, SALE)]);
    assert.equal(codeOf(await fiserv.charge(orderOf({ currency: "BHD", amountMinor: 1234 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
  });
});

/** The vendor's codes by ours, row by row. */
const CODES: readonly (readonly [ours: string, codes: string])[] = [
  ["do_not_honor", "05"],
  ["card_declined", "01 60 28 ZZ"],
  ["insufficient_funds", "51"],
  ["expired_card", "54 2304"],
  ["incorrect_number", "14 2303 50294 42741"],
  ["incorrect_cvc", "C2 82 N7 12000"],
  ["lost_or_stolen", "41 43 04 07"],
  ["limit_exceeded", "61 65 75"],
  ["card_not_supported", "57 58 63 5002 5996 13532"],
  ["authentication_required", "1A 5101 5103 5112 42755 5102 5111"],
  ["fraud_suspected", "50656 59 34"],
  ["processing_error", "91 96 7778 100 42744 42745"],
  ["gateway_misconfigured", "03 12 13 25 89 5433 5108 23032 30157 31218 50653 22813 10503"],
  ["unknown", "30050 30052 30053 30054 30060 30062"],
];

describe("fiserv responses", () => {
  test("every code of the vendor's table means what it says, whoever refused", async () => {
    for (const [ours, codes] of CODES) {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(byIssuer(code))), ours, code);
        if (/^\d{3,}$/.test(code)) assert.equal(codeOf(await charge(byGateway(code, "no"))), ours, code);
      }
    }
  });

  test("a time-out behind Fiserv is a fault of the processing once it is found that nothing was made (R-417)", async () => {
    const io = ioWith([byGateway("30053", "Timeout")]);
    assert.equal((await fiserv.charge(orderOf(), io)).outcome, "unknown");
    assert.equal(io.notes["refused_as"], "processing_error");
  });

  test("a code that only the gateway itself gives is no decline of the card, and a set-up error of the store is named as one", async () => {
    for (const [code, ours] of [
      ["62086", "gateway_misconfigured"],
      ["63096", "gateway_misconfigured"],
      ["30055", "gateway_misconfigured"],
      ["22812", "gateway_misconfigured"],
      ["50666", "gateway_misconfigured"],
      ["50690", "fraud_suspected"],
      ["50716", "authentication_required"],
      ["5115", "processing_error"],
      ["99999", "processing_error"],
    ] as const)
      assert.equal(codeOf(await charge(byGateway(code, "no"))), ours, code);
    assert.equal(codeOf(await charge(byIssuer("69", "Host key error"))), "processing_error");
    assert.equal(codeOf(await charge(byIssuer("R7", "no"))), "card_declined");
  });

  test("a status or body that refuses nothing decides nothing: no approval under another status is a decline", async () => {
    for (const [status, body] of [
      [201, SALE],
      [202, SALE],
      [202, {}],
      [302, {}],
      [402, {}],
      [409, {}],
      [422, {}],
      [422, SALE],
      [409, { ...SALE, transactionResult: "WAITING" }],
    ] as const)
      assert.equal((await charge(answered(status, body))).outcome, "unknown", `${status} ${JSON.stringify(body)}`);
    const order = orderOf({ mode: "tokenize", amountMinor: 0 });
    const busy = answered(429, { responseType: "TooManyRequests", error: { code: "429", message: "slow down" } });
    assert.equal(codeOf(await fiserv.tokenize(order, ioWith([busy]))), "gateway_unavailable");
    // The request came twice, and this is the answer to the second.
    const used = answered(401, { responseType: "Unauthenticated", error: { code: "401", message: "Client-Request-Id was used before" } });
    assert.equal((await fiserv.charge(orderOf(), ioWith([used, answered(200, { ...SALE })]))).outcome, "approved");
    // Nobody says that nothing ran.
    assert.equal((await charge(busy)).outcome, "unknown");
    assert.equal(codeOf(await fiserv.tokenize(order, ioWith([answered(202, {})]))), "gateway_unavailable");
  });

  test("a result that the approval code or the state of the payment belies is neither a decline nor an approval", async () => {
    for (const [status, change] of [
      [200, { approvalCode: "Y:OK7118:4538652787:PPXM:811720726601" }],
      [422, { approvalCode: "Y:OK7118:4538652787:PPXM:811720726601" }],
      [200, { transactionState: "CAPTURED" }],
      [409, { transactionState: "AUTHORIZED" }],
    ] as const)
      assert.equal((await charge(refused(status, change))).outcome, "unknown", JSON.stringify(change));
    assert.equal((await charge(answered(200, { ...SALE, approvalCode: "N:05:Do not honour" }))).outcome, "unknown");
  });

  test("a refusal after the issuer's yes has the gateway's code", async () => {
    const outcome = await charge(refused(409, { approvalCode: "N:-5002:Brand not supported", processor: { responseCode: "00" } }));
    assert.equal(codeOf(outcome), "card_not_supported");
  });

  test("absence is the vendor's own 404; a payment that was voided stands no more", async () => {
    const look = (answer: GatewayAnswer) => fiserv.lookUp!(traceOf(orderOf()), ioWith([answer]));
    assert.equal((await look(answered(404, { responseType: "NotFound", error: { code: "404", message: "no" } }))).outcome, "absent");
    for (const page of ["<html>404</html>", "", "{}"]) assert.equal((await look(answered(404, page))).outcome, "unknown", page);
    assert.equal((await look(answered(200, { ...SALE, transactionState: "VOIDED" }))).outcome, "declined");
    const declined = { ...SALE, transactionResult: "DECLINED", transactionState: "DECLINED", processor: { responseCode: "51" } };
    assert.equal(codeOf(await look(answered(200, declined))), "insufficient_funds");
  });

  test("a return whose answer was lost is found with its order, and none is sent while that is not known (R-422)", async () => {
    const returned = { transactionType: "RETURN", transactionResult: "APPROVED", approvedAmount: SALE.approvedAmount };
    const order = (...transactions: object[]) => answered(200, { transactions: [SALE, ...transactions] });
    const done = answered(200, { transactionResult: "APPROVED" });
    for (const [shown, outcome, sent] of [
      [order(returned), "voided", 2],
      [order(), "voided", 3],
      [order({ ...returned, transactionResult: "DECLINED" }), "voided", 3],
      [order({ ...returned, approvedAmount: { total: 1, currency: "USD" } }), "unknown", 2],
      [order({ ...returned, transactionResult: "WAITING" }), "unknown", 2],
      [order({ ...returned, transactionResult: "FAILED", approvalCode: "N:-30053:Timeout" }), "unknown", 2],
      [answered(200, {}), "unknown", 2],
      [LOST, "unknown", 2],
    ] as const) {
      const io = ioWith([answered(200, SALE), shown, done]);
      const result = await fiserv.void!(traceOf(orderOf()), io);
      assert.deepEqual([result.outcome, io.sent.length], [outcome, sent]);
    }
  });

  test("a return without a clear answer that its order does not show is not sent again, one that was refused or never sent is (R-422)", async () => {
    const order = answered(200, { transactions: [SALE] });
    const no = answered(409, { transactionResult: "FAILED" });
    const again = async (first: GatewayAnswer) => {
      const io = ioWith([answered(200, SALE), order, no, first]);
      assert.equal((await fiserv.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([answered(200, SALE), order, no, answered(200, { transactionResult: "APPROVED" })]);
      return [(await fiserv.void!(traceOf(orderOf(), io.notes), later)).outcome, later.sent.length];
    };
    const timedOut = byGateway("30053", "Timeout");
    for (const unclear of [
      LOST,
      answered(502, "<html>"),
      answered(200, { transactionResult: "WAITING" }),
      timedOut,
      byGateway("94", "Duplicate"),
    ])
      assert.deepEqual(await again(unclear), ["unknown", 3], JSON.stringify(unclear));
    for (const plain of [no, { kind: "not sent", reason: "no connection" } as const])
      assert.deepEqual(await again(plain), ["voided", 4], JSON.stringify(plain));
    // A void whose processor did not answer may have been made: no return follows it.
    const io = ioWith([answered(200, SALE), order, timedOut, answered(200, { transactionResult: "APPROVED" })]);
    assert.deepEqual([(await fiserv.void!(traceOf(orderOf()), io)).outcome, io.sent.length], ["unknown", 3]);
  });

  test("5005 is a duplicate or a fraud rule by its words, and a duplicate is looked up before it counts", async () => {
    assert.equal(codeOf(await charge(byGateway("5005", "FRAUD - Some setting"))), "fraud_suspected");
    assert.equal((await charge(byGateway("5005", "FRAUD - Duplicate lockout"), answered(200, SALE))).outcome, "approved");
    assert.equal((await charge(byGateway("5003", "The order already exists in the database."), answered(404, {}))).outcome, "unknown");
  });

  test("a second delivery that was refused for the first one's sake does not hide it: the order shows what stands", async () => {
    const twin = { ...SALE, ipgTransactionId: "2", transactionResult: "FAILED", transactionState: "DECLINED", processor: {} };
    const listed = { ...twin, approvalCode: "N:-5003:The order already exists in the database.", error: { code: "5003" } };
    const look = async (...transactions: object[]) => {
      const io = ioWith([answered(409, listed), answered(200, { transactions })]);
      const { outcome } = await fiserv.lookUp!(traceOf(orderOf()), io);
      assert.match(io.sent[1]?.request.url ?? "", new RegExp(`/orders/${REFERENCE}`));
      return outcome;
    };
    assert.equal(await look(listed, SALE), "approved");
    assert.equal(await look(listed), "absent");
    assert.equal(await look(listed, { ...SALE, transactionState: "VOIDED" }), "declined");
    assert.equal(await look(listed, { ...twin, approvalCode: "N:05:Do not honour" }), "declined");
    assert.equal(await look(SALE, { ...SALE, ipgTransactionId: "3" }), "unknown");
    assert.equal(await look({ ...SALE, merchantTransactionId: "another" }), "unknown");
    assert.equal((await fiserv.lookUp!(traceOf(orderOf()), ioWith([answered(409, listed), LOST]))).outcome, "unknown");
  });

  test("a security code that does not match, a ZIP refused by the gateway's rules, FRAUD and 400 name the field at fault", async () => {
    const checks = (change: object) => refused(422, { processor: { responseCode: "05", responseMessage: "no", ...change } });
    assert.equal(codeOf(await charge(checks({ securityCodeResponse: "NOT_MATCHED" }))), "incorrect_cvc");
    assert.equal(codeOf(await charge(refused(409, { transactionResult: "FRAUD" }))), "fraud_suspected");
    const zip = { processor: { avsResponse: { postalCodeMatch: "N" } }, approvalCode: "N:-59999:AVS check failed" };
    assert.equal(codeOf(await charge(refused(409, zip))), "incorrect_zip");
    const bad = (field: string) =>
      charge(answered(400, { error: { code: "403", message: "Request Validation Failed", details: [{ field }] } }));
    assert.equal(codeOf(await bad("paymentMethod.paymentCard.expiryDate.year")), "invalid_expiry");
    assert.equal(codeOf(await bad("paymentMethod.paymentCard.number")), "incorrect_number");
    assert.equal(codeOf(await bad("PaymentCard.number")), "incorrect_number", "as the vendor's example spells it");
    assert.equal(codeOf(await bad("paymentMethod.paymentCard.securityCode")), "incorrect_cvc");
    assert.equal(codeOf(await bad("storeId")), "gateway_misconfigured");
    const both = answered(400, { error: { details: [{ field: "paymentMethod.paymentCard.number" }, { field: "storeId" }] } });
    assert.equal(codeOf(await charge(both)), "incorrect_number");
  });

  test("a payment that failed is read as one also where the answer has the older transactionStatus alone", async () => {
    for (const transactionStatus of ["VALIDATION_FAILED", "PROCESSING_FAILED"]) {
      const failed = { transactionResult: undefined, transactionState: undefined, approvalCode: "N:-5002:brand not supported" };
      const found = await fiserv.lookUp!(
        traceOf(orderOf()),
        ioWith([answered(200, { ...SALE, ...failed, processor: {}, transactionStatus })]),
      );
      assert.equal(codeOf(found), "card_not_supported", transactionStatus);
    }
  });

  test("a look-up may show the state alone, without the result of the first answer: it says what stands", async () => {
    const shown = { ...SALE, transactionResult: undefined, transactionStatus: undefined, transactionAmount: undefined };
    const look = async (change: object) =>
      codeOf(await fiserv.lookUp!(traceOf(orderOf()), ioWith([answered(200, { ...shown, ...change })])));
    for (const transactionState of ["CAPTURED", "SETTLED", "AUTHORIZED"]) assert.equal(await look({ transactionState }), "approved");
    const declined = { transactionState: "DECLINED", approvalCode: undefined };
    assert.equal(await look({ ...declined, processor: { responseCode: "51" } }), "insufficient_funds");
    assert.equal(await look({ ...declined, processor: undefined }), "card_declined");
    assert.equal(await look({ transactionState: "WAITING" }), "pending");
    for (const transactionState of ["CHECKED", "INITIALIZED", "constructor", undefined])
      assert.equal(await look({ transactionState }), "unknown", String(transactionState));
    assert.equal(await look({ approvalCode: "N:05:no" }), "unknown", "a state that the approval code belies");
  });

  test("a void or return whose answer has the older transactionStatus alone is done, and an order shows a return's state alone", async () => {
    const bare = { ...SALE, transactionResult: undefined, transactionStatus: undefined };
    const done = answered(200, { transactionType: "VOID", transactionStatus: "APPROVED", transactionState: "VOIDED" });
    const reversed = async (...transactions: object[]) => {
      const io = ioWith([answered(200, bare), answered(200, { transactions: [bare, ...transactions] }), done]);
      return [(await fiserv.void!(traceOf(orderOf()), io)).outcome, io.sent.length];
    };
    const returned = { ...bare, transactionType: "RETURN" };
    assert.deepEqual(await reversed(), ["voided", 3]);
    assert.deepEqual(await reversed(returned), ["voided", 2]);
    assert.deepEqual(await reversed({ ...returned, transactionState: "DECLINED", approvalCode: "N:05:no" }), ["voided", 3]);
    assert.deepEqual(await reversed({ ...returned, transactionState: "WAITING" }), ["unknown", 2]);
  });

  test("an origin that the store is not set up for is named for the operator", async () => {
    const outcome = await charge(byGateway("5108", "not allowed"));
    assert.match(outcome.outcome === "declined" ? (outcome.reason ?? "") : "", /telephone_origin/);
  });

  test("an approval for another sum, another payment, or in a state without money is unknown; AUTHORIZED is held, not captured", async () => {
    for (const change of [
      { approvedAmount: { total: 4.99, currency: "USD" } },
      { approvedAmount: { total: 49.95, currency: "EUR" } },
      { merchantTransactionId: "another" },
      { transactionState: "VOIDED" },
      { ipgTransactionId: undefined },
      { transactionResult: "constructor" },
    ])
      assert.equal((await charge(answered(200, { ...SALE, ...change }), LOST)).outcome, "unknown", JSON.stringify(change));
    for (const [currency, outcome] of [
      ["840", "approved"],
      ["978", "unknown"],
    ] as const)
      assert.equal((await charge(answered(200, { ...SALE, approvedAmount: { total: 49.95, currency } }), LOST)).outcome, outcome, currency);
    const stateless = { ...SALE, transactionState: undefined, transactionResult: undefined };
    const taken = await charge(answered(200, stateless));
    assert.equal(
      taken.outcome === "approved" && taken.processor["fiserv_state"],
      "CAPTURED",
      "what a sale is, when its answer has no state",
    );
    assert.equal((await charge(answered(200, { ...stateless, transactionType: "PREAUTH" }), LOST)).outcome, "unknown");
    const held = await charge(answered(200, { ...SALE, transactionState: "AUTHORIZED" }));
    assert.deepEqual(held.outcome === "approved" && [held.capture, held.processor["fiserv_state"]], ["authorized", "AUTHORIZED"]);
  });

  test("a part is taken back, and refunded when it is settled already; a payment that waits is asked about", async () => {
    const part = answered(200, { ...SALE, transactionResult: "PARTIAL" });
    const io = ioWith([part, refused(409, {}), answered(200, { transactionResult: "APPROVED" })]);
    assert.equal(codeOf(await fiserv.charge(orderOf(), io)), "insufficient_funds");
    assert.deepEqual(
      io.sent.slice(1).map(({ body }) => (JSON.parse(body) as { requestType: string }).requestType),
      ["VoidTransaction", "ReturnTransaction"],
    );
    const waiting = answered(200, { ...SALE, transactionResult: "WAITING", transactionState: "WAITING" });
    assert.equal((await charge(waiting, waiting, answered(200, SALE))).outcome, "approved");
    assert.equal((await charge(waiting)).outcome, "unknown");
  });

  test("a lost token is asked for again, since storing takes nothing; without any answer the card is refused", async () => {
    const order = orderOf({ mode: "tokenize", amountMinor: 0 });
    assert.equal((await fiserv.tokenize(order, ioWith([LOST, answered(502, {}), answered(200, TOKEN)]))).outcome, "approved");
    assert.equal(codeOf(await fiserv.tokenize(order, ioWith([LOST]))), "gateway_unavailable");
    const verified = answered(200, { ...TOKEN, requestStatus: "APPROVED" });
    assert.equal((await fiserv.tokenize(order, ioWith([verified]))).outcome, "approved", "the vendor's other word for it");
    assert.equal(
      codeOf(await fiserv.tokenize(order, ioWith([answered(200, { ...TOKEN, requestStatus: "WAITING" })]))),
      "gateway_unavailable",
    );
  });

  test("a card that was stored too late is taken out again by its token; one without a token may be stored (I4)", async () => {
    const order = orderOf({ mode: "tokenize", amountMinor: 0 });
    const storing = ioWith([answered(200, TOKEN)]);
    await fiserv.tokenize(order, storing);
    const removed = async (answer: GatewayAnswer, notes = storing.notes) => {
      const io = ioWith([answer], { credentials: { ...settingsOf(fiserv).credentials, store_id: new Secret("12345500000") } });
      const { outcome } = await fiserv.void!(traceOf(order, notes), io);
      return [outcome, ...io.sent.map(({ request }) => `${request.method} ${request.url}`)];
    };
    const sent = "DELETE https://cert.api.firstdata.com/gateway/v2/payment-tokens/234ljl124l12?storeId=12345500000";
    assert.deepEqual(await removed(answered(200, { requestStatus: "SUCCESS" })), ["voided", sent]);
    assert.deepEqual(await removed(answered(404, { responseType: "NotFound", error: {} })), ["absent", sent]);
    for (const unclear of [LOST, answered(502, {}), answered(404, {}), answered(200, { requestStatus: "FAILED" })])
      assert.deepEqual(await removed(unclear), ["unknown", sent]);
    assert.deepEqual(await fiserv.void!(traceOf(order), ioWith([LOST])), { outcome: "absent", mayBeStored: true });
  });
});
