import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const braintree = GATEWAYS_BUILT.braintree!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const TOKEN = answered(200, { data: { tokenizeCreditCard: { paymentMethod: { id: "tokencc_bh_rd6wvp", usage: "SINGLE_USE" } } } });
const TRANSACTION = {
  id: "dHJhbnNhY3Rpb25fOGt6NHgxcWE=",
  legacyId: "8kz4x1qa",
  status: "SUBMITTED_FOR_SETTLEMENT",
  orderId: REFERENCE,
  amount: { value: "49.95", currencyCode: "USD" },
  statusHistory: [{ __typename: "SubmittedForSettlementEvent", status: "SUBMITTED_FOR_SETTLEMENT" }],
};
const charged = (change: object = {}) => answered(200, { data: { chargeCreditCard: { transaction: { ...TRANSACTION, ...change } } } });
const declinedBy = (legacyCode: string) =>
  charged({
    status: "PROCESSOR_DECLINED",
    statusHistory: [{ status: "PROCESSOR_DECLINED", processorResponse: { legacyCode, message: "no" } }],
  });
const rejectedBy = (gatewayRejectionReason: string) =>
  charged({ status: "GATEWAY_REJECTED", statusHistory: [{ status: "GATEWAY_REJECTED", gatewayRejectionReason }] });
const errors = (errorClass: string | undefined, legacyCode?: string) =>
  answered(200, { data: null, errors: [{ message: "no", ...(errorClass && { extensions: { errorClass, legacyCode } }) }] });
const found = (...transactions: object[]) =>
  answered(200, { data: { search: { transactions: { edges: transactions.map((node) => ({ node: { ...TRANSACTION, ...node } })) } } } });
const CUSTOMER = answered(200, { data: { createCustomer: { customer: { id: "Y3VzdG9tZXJfNTEzNjI0MDc4", legacyId: "513624078" } } } });
const CARD = { id: "cGF5bWVudG1ldGhvZA==", legacyId: "9hd3kkm", customer: { id: "Y3VzdG9tZXJfNTEzNjI0MDc4", legacyId: "513624078" } };
const VAULTED = answered(200, { data: { vaultCreditCard: { paymentMethod: CARD, verification: { status: "VERIFIED" } } } });
const REVERSED = answered(200, { data: { reverseTransaction: { reversal: { __typename: "Transaction", status: "VOIDED" } } } });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(braintree), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => braintree.charge(orderOf(), ioWith([TOKEN, ...answers]));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const inputOf = (body: string | undefined) => (JSON.parse(body ?? "") as { variables: { input: unknown } }).variables.input;

describe("braintree requests", () => {
  test("the card becomes a single-use id, which is charged under our order id and marked MOTO", async () => {
    const credentials = {
      merchant_id: new Secret("m"),
      public_key: new Secret("examplepublickey"),
      private_key: new Secret("0123456789abcdef0123456789abcdef"),
      merchant_account_id: new Secret("exampleshop_usd"),
    };
    const io = ioWith([TOKEN, charged()], { credentials });
    await braintree.charge(orderOf({ card: cardOf("4111111111111111", { year: "2030", name: "Ada Byron" }) }), io);
    const [first, second] = io.sent;
    assert.equal(first?.request.url, "https://payments.sandbox.braintree-api.com/graphql");
    assert.partialDeepStrictEqual(first?.request.headers, {
      Authorization: "Basic ZXhhbXBsZXB1YmxpY2tleTowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==",
      "Braintree-Version": "2019-01-01",
      "Content-Type": "application/json",
    });
    assert.deepEqual(inputOf(first?.body), {
      creditCard: {
        number: "4111111111111111",
        expirationMonth: "03",
        expirationYear: "2030",
        cvv: "123",
        cardholderName: "Ada Byron",
        billingAddress: { postalCode: "44628", firstName: "Ada", lastName: "Byron" },
      },
      options: { validate: true },
    });
    assert.deepEqual(inputOf(second?.body), {
      paymentMethodId: "tokencc_bh_rd6wvp",
      transaction: { amount: "49.95", orderId: REFERENCE, merchantAccountId: "exampleshop_usd", paymentInitiator: "MOTO" },
    });
    assert.match(second?.body ?? "", /mutation C\(\$input: ChargeCreditCardInput!\) \{ chargeCreditCard\(input: \$input\)/);
  });

  test("the widget has no initiator and tells the shopper's address; the mark can be turned off; what is missing is left out", async () => {
    const io = ioWith([TOKEN, charged(), TOKEN, charged()], { options: { moto: false } });
    const card = () => cardOf("4111111111111111", { cvv: "", zip: null });
    await braintree.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", card: card() }), io);
    await braintree.charge(orderOf({ card: card(), currency: "JPY", amountMinor: 500 }), io);
    assert.deepEqual(inputOf(io.sent[0]?.body), {
      creditCard: { number: "4111111111111111", expirationMonth: "03", expirationYear: "2060" },
      options: { validate: true },
    });
    assert.deepEqual(inputOf(io.sent[1]?.body), {
      paymentMethodId: "tokencc_bh_rd6wvp",
      transaction: { amount: "49.95", orderId: REFERENCE, riskData: { customerIp: "203.0.113.7" } },
    });
    assert.partialDeepStrictEqual(inputOf(io.sent[3]?.body), { transaction: { amount: "500" } });
    assert.doesNotMatch(io.sent[3]?.body ?? "", /"paymentInitiator"/);
  });

  test("a card is stored with a customer after a verification; a refused one leaves no customer behind", async () => {
    const io = ioWith([TOKEN, CUSTOMER, VAULTED]);
    const outcome = await braintree.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      braintree_customer_id: "513624078",
      braintree_payment_method_token: "9hd3kkm",
    });
    assert.deepEqual(inputOf(io.sent[2]?.body), {
      clientMutationId: REFERENCE,
      paymentMethodId: "tokencc_bh_rd6wvp",
      customerId: "Y3VzdG9tZXJfNTEzNjI0MDc4",
      verification: { skip: false },
    });
    const verification = { status: "PROCESSOR_DECLINED", processorResponse: { legacyCode: "2010" } };
    const refused = ioWith([TOKEN, CUSTOMER, answered(200, { data: { vaultCreditCard: { paymentMethod: null, verification } } })]);
    assert.equal(codeOf(await braintree.tokenize(storing, refused)), "incorrect_cvc");
    assert.match(refused.sent[3]?.body ?? "", /deleteCustomer/);
  });

  test("settings that cannot work are named", () => {
    const fault = (name: string, text: string) =>
      braintree.checkSettings({
        ...settingsOf(braintree),
        credentials: { ...settingsOf(braintree).credentials, [name]: new Secret(text) },
      });
    assert.equal(fault("private_key", "0123456789abcdef0123456789abcdef"), null);
    assert.match(fault("private_key", "sandbox_9dbg82cq_dcpspy2brwdjr3qn") ?? "", /tokenization key/);
    assert.match(fault("private_key", "eyJ2ZXJzaW9uIjoyfQ==") ?? "", /private_key/);
    assert.match(fault("public_key", "a b") ?? "", /public_key/);
  });
});

describe("braintree responses", () => {
  test("every processor code, rejection and validation means what the vendor's table says", async () => {
    const processor: Readonly<Record<string, string>> = {
      do_not_honor: "2000 2011 2041 2043 2044",
      insufficient_funds: "2001",
      limit_exceeded: "2002 2003 2056",
      expired_card: "2004",
      incorrect_number: "2005 2008 2051 2007 2009 2105",
      invalid_expiry: "2006",
      incorrect_cvc: "2010",
      incorrect_zip: "2059 2060",
      lost_or_stolen: "2012 2013 2022 2047 2053",
      fraud_suspected: "2014 2021",
      card_not_supported: "2015 2019 2024",
      authentication_required: "2099 2101 2058",
      gateway_misconfigured: "2023 2025 2028 2031 2040 2042 2045 2055 2064 2080",
      processing_error: "2033 2034 2048 2061 3000 3001",
      card_declined: "2017 2018 2020 2038 2046 2057 2106 2999 constructor",
    };
    for (const [ours, codes] of Object.entries(processor))
      for (const code of codes.split(" ")) assert.equal(codeOf(await charge(declinedBy(code))), ours, code);
    const rejections = {
      CVV: "incorrect_cvc",
      AVS: "incorrect_zip",
      AVS_AND_CVV: "incorrect_cvc",
      FRAUD: "fraud_suspected",
      RISK_THRESHOLD: "fraud_suspected",
      EXCESSIVE_RETRY: "limit_exceeded",
      THREE_D_SECURE: "authentication_required",
      APPLICATION_INCOMPLETE: "gateway_misconfigured",
    };
    for (const [reason, ours] of Object.entries(rejections)) assert.equal(codeOf(await charge(rejectedBy(reason))), ours, reason);
    const validations = {
      "81715": "incorrect_number",
      "81712": "invalid_expiry",
      "81707": "incorrect_cvc",
      "81809": "incorrect_zip",
      "81808": "incorrect_zip",
      "81828": "incorrect_zip",
      "91826": "incorrect_zip",
      "81703": "card_not_supported",
      "81750": "card_declined",
      "91513": "gateway_misconfigured",
    };
    for (const [code, ours] of Object.entries(validations)) {
      const io = ioWith([errors("VALIDATION", code)]);
      assert.equal(codeOf(await braintree.charge(orderOf(), io)), ours, code);
      assert.equal(io.sent.length, 1);
    }
    assert.equal(codeOf(await charge(charged({ status: "FAILED", statusHistory: [] }))), "processing_error");
  });

  test("errors come with status 200: keys, our own document, and faults that may have acted are told apart", async () => {
    assert.equal(codeOf(await charge(errors("AUTHENTICATION"))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(errors(undefined))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(errors("RESOURCE_LIMIT"))), "gateway_unavailable");
    for (const answer of [errors("INTERNAL"), errors("SERVICE_AVAILABILITY"), answered(500, {}), answered(200, {}), LOST])
      assert.equal((await charge(answer)).outcome, "unknown");
    for (const answer of [errors("INTERNAL"), answered(500, {}), LOST])
      assert.equal(codeOf(await braintree.charge(orderOf(), ioWith([answer]))), "gateway_unavailable");
  });

  test("a payment beside an error that says nothing about it is decided by its status; another sum or status is unknown", async () => {
    const both = answered(200, { data: { chargeCreditCard: { transaction: TRANSACTION } }, errors: [{ message: "a field" }] });
    assert.equal((await charge(both)).outcome, "approved");
    for (const change of [
      { amount: { value: "499.95", currencyCode: "USD" } },
      { status: "constructor" },
      { legacyId: null },
      { orderId: "another" },
    ])
      assert.equal((await charge(charged(change))).outcome, "unknown", JSON.stringify(change));
  });

  test("a payment in the merchant account's other currency is sent back and named as a matter of settings", async () => {
    const euro = charged({ amount: { value: "49.95", currencyCode: "EUR" } });
    const io = ioWith([TOKEN, euro, REVERSED]);
    const outcome = await braintree.charge(orderOf(), io);
    assert.equal(codeOf(outcome), "gateway_misconfigured");
    assert.deepEqual(inputOf(io.sent[2]?.body), { transactionId: TRANSACTION.id });
    assert.equal((await charge(euro, LOST)).outcome, "unknown");
    const refund = (status: string) => answered(200, { data: { reverseTransaction: { reversal: { __typename: "Refund", status } } } });
    assert.equal(codeOf(await charge(euro, refund("SUBMITTED_FOR_SETTLEMENT"))), "gateway_misconfigured");
    for (const failed of [
      refund("PROCESSOR_DECLINED"),
      refund("VOIDED"),
      answered(200, { data: { reverseTransaction: { reversal: null } } }),
    ])
      assert.equal((await charge(euro, failed)).outcome, "unknown");
  });

  test("a part of the amount is sent back and refused", async () => {
    const io = ioWith([TOKEN, charged({ amount: { value: "20.00", currencyCode: "USD" } }), REVERSED]);
    assert.equal(codeOf(await braintree.charge(orderOf(), io)), "insufficient_funds");
    assert.deepEqual(inputOf(io.sent[2]?.body), { transactionId: TRANSACTION.id });
  });

  test("an error that may have come after the payment is unknown: below the operation, in an answer without a class, of a class not known", async () => {
    const error = (extensions: object, ...path: string[]) =>
      charge(answered(200, { data: { chargeCreditCard: null }, errors: [{ message: "no", path, extensions }] }));
    assert.equal((await error({ errorClass: "TIMEOUT" }, "chargeCreditCard")).outcome, "unknown");
    assert.equal((await error({}, "chargeCreditCard", "transaction", "status")).outcome, "unknown");
    assert.equal((await error({ errorClass: "NOT_FOUND" }, "chargeCreditCard", "transaction", "merchant")).outcome, "unknown");
    assert.equal(codeOf(await error({ errorClass: "NOT_FOUND" }, "chargeCreditCard")), "gateway_misconfigured");
    const both = [{ extensions: { errorClass: "VALIDATION", legacyCode: "81715" } }, { extensions: { errorClass: "INTERNAL" } }];
    assert.equal((await charge(answered(200, { data: null, errors: both }))).outcome, "unknown");
  });

  test("a request that the vendor was too busy for is made again, twice at most", async () => {
    const busy = errors("RESOURCE_LIMIT");
    const io = ioWith([busy, TOKEN, busy, busy, charged()]);
    assert.equal((await braintree.charge(orderOf(), io)).outcome, "approved");
    assert.equal(io.sent[4]?.body, io.sent[2]?.body);
    const never = ioWith([TOKEN, busy]);
    assert.equal(codeOf(await braintree.charge(orderOf(), never)), "gateway_unavailable");
    assert.equal(never.sent.length, 4);
  });

  test("a charge that is turned away (429) is made again with its single-use id, and looked up when it never gets through", async () => {
    const flood = answered(429, "too many requests");
    const io = ioWith([flood, TOKEN, flood, flood, charged()]);
    assert.equal((await braintree.charge(orderOf(), io)).outcome, "approved");
    assert.equal(io.sent[4]?.body, io.sent[2]?.body);
    const never = ioWith([TOKEN, flood]);
    assert.equal((await braintree.charge(orderOf(), never)).outcome, "unknown");
    assert.equal(never.sent.length, 4);
    // No money can have moved before the card has its id.
    assert.equal(codeOf(await braintree.charge(orderOf(), ioWith([flood]))), "gateway_unavailable");
  });

  test("a merchant account without telephone payments is told of the switch; a ZIP code of nine digits is sent whole", async () => {
    const extensions = { errorClass: "VALIDATION", legacyCode: "99999", inputPath: ["input", "transaction", "paymentInitiator"] };
    const refused = await charge(answered(200, { data: null, errors: [{ message: "no", extensions }] }));
    assert.ok(refused.outcome === "declined" && refused.code === "gateway_misconfigured");
    assert.match(refused.reason ?? "", /set moto to false/);
    const io = ioWith([TOKEN, charged()]);
    await braintree.charge(orderOf({ card: cardOf("4111111111111111", { zip: "44628-1234" }) }), io);
    assert.partialDeepStrictEqual(inputOf(io.sent[0]?.body), { creditCard: { billingAddress: { postalCode: "44628-1234" } } });
  });

  test("a refund whose answer was lost is found with its payment, and nothing is sent while it is at work (R-422)", async () => {
    const refund = (status?: string, value = "49.95") => ({ status, amount: { value } });
    for (const [refunds, outcome, reversals] of [
      [[refund("SUBMITTED_FOR_SETTLEMENT")], "nothing to void", 0],
      [[refund("PROCESSOR_DECLINED"), refund("SETTLED")], "nothing to void", 0],
      [[refund("AUTHORIZING")], "unknown", 0],
      [[refund()], "unknown", 0],
      [[refund("PROCESSOR_DECLINED"), refund("FAILED"), refund("SETTLEMENT_DECLINED"), refund("VOIDED")], "voided", 1],
      [[refund("SETTLED", "9.95")], "voided", 1],
      [[refund("SETTLED", "9.95"), refund("SETTLING", "40.00")], "nothing to void", 0],
      [[refund("FAILED", "9.95"), refund("SETTLING", "40.00")], "voided", 1],
      [[refund("SETTLED", "another")], "unknown", 0],
      [[], "voided", 1],
    ] as const) {
      const io = testIo(settingsOf(braintree), ({ body }) =>
        Promise.resolve(Buffer.from(body ?? []).includes("reverseTransaction") ? REVERSED : found({ refunds })),
      );
      const result = await braintree.void!(traceOf(orderOf()), io);
      const sent = io.sent.filter(({ body }) => body.includes("reverseTransaction")).length;
      assert.deepEqual([result.outcome, sent], [outcome, reversals], JSON.stringify(refunds));
    }
  });

  test("a single-use id that was used up, or DUPLICATE, is looked up by our order id before it counts", async () => {
    assert.equal((await charge(errors("VALIDATION", "91564"), found({}))).outcome, "approved");
    assert.equal(
      (await charge(rejectedBy("DUPLICATE"), found({}, { id: "b", legacyId: "b", status: "GATEWAY_REJECTED" }))).outcome,
      "approved",
    );
    assert.equal((await charge(rejectedBy("DUPLICATE"), found({ orderId: "another" }))).outcome, "unknown");
    // What it is called once it is proven that there is no payment.
    for (const [refusal, refusedAs] of [
      [errors("VALIDATION", "91565"), "processing_error"],
      [rejectedBy("DUPLICATE"), "duplicate_transaction"],
    ] as const) {
      const io = ioWith([TOKEN, refusal, found()]);
      assert.equal((await braintree.charge(orderOf(), io)).outcome, "unknown");
      assert.equal(io.notes["refused_as"], refusedAs);
    }
  });

  test("a single-use id that another delivery of the request holds locked, or has put into the vault, is looked up as well", async () => {
    assert.equal((await charge(errors("VALIDATION", "91566"), found({}))).outcome, "approved");
    const cards = answered(200, { data: { node: { paymentMethods: { edges: [{ node: CARD }] } } } });
    for (const code of ["91731", "91732", "91733", "93107", "93108", "93109"]) {
      const outcome = await braintree.tokenize(storing, ioWith([TOKEN, CUSTOMER, errors("VALIDATION", code), cards]));
      assert.equal(outcome.outcome, "approved", code);
    }
  });

  test("a brand that the merchant account does not take is card_not_supported, and a missing MOTO switch is named", async () => {
    for (const code of ["91567", "91577", "915101", "915195"])
      assert.equal(codeOf(await charge(errors("VALIDATION", code))), "card_not_supported", code);
    assert.equal(codeOf(await braintree.tokenize(storing, ioWith([TOKEN, CUSTOMER, errors("VALIDATION", "91734")]))), "card_not_supported");
    const refused = await charge(errors("VALIDATION", "91558"));
    assert.match(refused.outcome === "declined" ? `${refused.code}: ${refused.reason ?? ""}` : "", /misconfigured: .*set moto to false/);
  });

  test("a delivery that was refused for the first one's sake proves nothing of the first, which may not show yet", async () => {
    const twin = (orderId: string) => {
      const event = { status: "GATEWAY_REJECTED", gatewayRejectionReason: "DUPLICATE", duplicateOf: { id: "a", legacyId: "a", orderId } };
      return { id: "b", legacyId: "b", status: "GATEWAY_REJECTED", statusHistory: [event] };
    };
    const look = (answer: GatewayAnswer) => braintree.lookUp!(traceOf(orderOf()), ioWith([answer]));
    assert.equal((await look(found(twin(REFERENCE)))).outcome, "absent");
    assert.equal((await look(found(twin(REFERENCE), {}))).outcome, "approved");
    assert.equal(codeOf(await look(found(twin("another")))), "duplicate_transaction");
    assert.equal((await charge(rejectedBy("DUPLICATE"), found(twin(REFERENCE)))).outcome, "unknown");
  });

  test("a lost charge is found by our order id, a lost stored card with the customer that was noted", async () => {
    const look = (order: Order, answer: GatewayAnswer, notes = {}) => braintree.lookUp!(traceOf(order, notes), ioWith([answer]));
    assert.equal((await look(orderOf(), found({}))).outcome, "approved");
    assert.equal((await look(orderOf(), found())).outcome, "absent");
    assert.equal((await look(orderOf(), found({}, { id: "b", legacyId: "b" }))).outcome, "unknown");
    assert.equal((await look(orderOf(), LOST)).outcome, "unknown");
    const cards = (...nodes: object[]) => answered(200, { data: { node: { paymentMethods: { edges: nodes.map((node) => ({ node })) } } } });
    const notes = { customer: "Y3VzdG9tZXJfNTEzNjI0MDc4" };
    assert.equal((await look(storing, cards(CARD), notes)).outcome, "approved");
    assert.equal((await look(storing, cards(), notes)).outcome, "absent");
    assert.equal((await look(storing, cards(CARD))).outcome, "absent");
    assert.equal((await look(storing, LOST, notes)).outcome, "unknown");
  });

  test("a customer that is gone holds no card: its removal, whose own answer was lost, was made (R-422)", async () => {
    const notes = { customer: "Y3VzdG9tZXJfNTEzNjI0MDc4" };
    const gone = (errorClass: string, path: string[] = ["node"]) =>
      answered(200, { data: { node: null }, errors: [{ message: "no", path, extensions: { errorClass } }] });
    const isGone = async (...answers: GatewayAnswer[]) => (await braintree.void!(traceOf(storing, notes), ioWith(answers))).outcome;
    assert.equal(await isGone(gone("NOT_FOUND")), "absent");
    for (const answer of [gone("INTERNAL"), gone("AUTHORIZATION"), gone("NOT_FOUND", ["node", "paymentMethods"])])
      assert.equal(await isGone(answer), "unknown");
    const cards = answered(200, { data: { node: { paymentMethods: { edges: [{ node: CARD }] } } } });
    const missing = answered(200, { data: { deleteCustomer: null }, errors: [{ message: "no", extensions: { errorClass: "NOT_FOUND" } }] });
    assert.equal(await isGone(cards, missing), "unknown");
  });

  test("a charge that the vendor shows is not sent again, though a field of it was too much to be read", async () => {
    const io = ioWith([
      TOKEN,
      answered(200, {
        data: { chargeCreditCard: { transaction: TRANSACTION } },
        errors: [
          { message: "no", path: ["chargeCreditCard", "transaction", "statusHistory"], extensions: { errorClass: "RESOURCE_LIMIT" } },
        ],
      }),
    ]);
    assert.equal((await braintree.charge(orderOf(), io)).outcome, "approved");
    assert.equal(io.sent.length, 2);
  });

  test("a payment that is being authorized is read until it is decided", async () => {
    const node = (status: string) => answered(200, { data: { node: { ...TRANSACTION, status } } });
    assert.equal((await charge(charged({ status: "AUTHORIZING" }), node("AUTHORIZING"), node("SETTLING"))).outcome, "approved");
    assert.equal((await charge(charged({ status: "AUTHORIZING" }), node("AUTHORIZING"))).outcome, "unknown");
  });
});
