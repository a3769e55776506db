import assert from "node:assert/strict";
import { createPublicKey, createVerify } from "node:crypto";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { SIMULATOR_PRIVATE_KEY } from "./simulator-key.ts";

const jpmorgan = GATEWAYS_BUILT.jpmorgan!;
const TOKEN = answered(200, { access_token: "eyToken", token_type: "bearer", expires_in: 3600 });
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const NOT_FOUND = answered(404, { responseStatus: "ERROR", responseCode: "NOT_FOUND" });

const network = (parts: object) => ({ card: { cardTypeName: "VISA", networkResponse: parts } });
const PAID = {
  transactionId: "1cd8a4f7-5e7d-4d1c-9d0e-7f1d5d0f8b33",
  transactionState: "CLOSED",
  responseStatus: "SUCCESS",
  responseCode: "APPROVED",
  responseMessage: "Transaction approved by Issuer",
  paymentMethodType: network({ networkResponseCode: "00" }),
  amount: 4995,
  currency: "USD",
};
const STORED = {
  transactionId: "1cd8a4f7-5e7d-4d1c-9d0e-7f1d5d0f8b33",
  responseStatus: "SUCCESS",
  responseCode: "APPROVED",
  paymentMethodType: { card: { paymentTokens: [{ tokenProvider: "SAFETECH", tokenNumber: "4111110123451111", responseStatus: "ERROR" }] } },
  accountHolder: { consumerProfileInfo: { consumerProfileId: "EGQSGO", paymentMethodId: "7d3f0a51-0c3b-4e57-9a53-2f6f3d7a7f10" } },
};
const denied = (code: string, more: object = {}) =>
  answered(200, { ...PAID, transactionState: "DECLINED", responseStatus: "DENIED", responseCode: code, responseMessage: "no", ...more });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(jpmorgan), ...changes }, ({ url }) =>
    Promise.resolve(/token/.test(url) ? TOKEN : answers[Math.min(count++, answers.length - 1)]!),
  );
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => jpmorgan.charge(orderOf(), ioWith(answers));
const tokenize = (...answers: GatewayAnswer[]): Promise<Outcome> =>
  jpmorgan.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("jpmorgan requests", () => {
  test("the access token is asked for with an assertion that the certificate's key signed, for the vendor's own audience", async () => {
    const io = ioWith([answered(200, PAID)], { endpoint: "http://127.0.0.1:1/jpmorgan" });
    await jpmorgan.charge(orderOf(), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "http://127.0.0.1:1/jpmorgan/adfs/oauth2/token");
    const form = new URLSearchParams(body);
    assert.deepEqual(
      [form.get("grant_type"), form.get("client_id"), form.get("resource"), form.get("client_assertion_type")],
      [
        "client_credentials",
        "CC-000000-D00000-000000-TEST",
        "JPMC:URI:RS-000000-00000-HelixAPIEntitlementsCAT-PROD",
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      ],
    );
    const [head = "", claims = "", signature = ""] = (form.get("client_assertion") ?? "").split(".");
    assert.equal(head, "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6IjBBMUIyQzNENEU1RjYwNzE4MjkzQTRCNUM2RDdFOEY5MDEyMzQ1NjcifQ");
    const told = JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, string>;
    assert.deepEqual(
      [told["iss"], told["sub"], told["aud"]],
      ["CC-000000-D00000-000000-TEST", "CC-000000-D00000-000000-TEST", "https://idag2.jpmorganchase.com/adfs/oauth2/token"],
    );
    const verify = createVerify("sha256").update(`${head}.${claims}`);
    assert.ok(verify.verify(createPublicKey(SIMULATOR_PRIVATE_KEY), signature, "base64url"));
  });

  test("a payment is one request as the vendor's documents have it: integers for amount and expiry, the ZIP with its country", async () => {
    const io = ioWith([answered(200, PAID)]);
    await jpmorgan.charge(orderOf({ card: cardOf("4111111111111111", { year: "2030", name: "Ada Byron" }) }), io);
    const { request, body } = io.sent[1]!;
    assert.equal(request.url, "https://api-ms-test.payments.jpmorgan.com/api/v2/payments");
    assert.equal(
      body,
      '{"captureMethod":"NOW","amount":4995,"currency":"USD","merchantOrderNumber":"3f6c0a5e9b1d4c7a8e2101",' +
        '"merchant":{"merchantSoftware":{"companyName":"Voicetill","productName":"Payment Sessions","version":"1.0"},' +
        '"softMerchant":{"merchantPurchaseDescription":"Invoice 1001"}},' +
        '"paymentMethodType":{"card":{"accountNumber":"4111111111111111","expiry":{"month":3,"year":2030},"cvv":"123",' +
        '"merchantSalesChannelName":"MAIL_ORDER_TELEPHONE_ORDER","accountNumberType":"PAN","isBillPayment":false}},' +
        '"accountHolder":{"fullName":"Ada Byron","referenceId":"3f6c0a5e9b1d4c7a8e2101",' +
        '"billingAddress":{"postalCode":"44628","countryCode":"USA"}},' +
        '"initiatorType":"CARDHOLDER","accountOnFile":"NOT_STORED","isAmountFinal":true,"partialAuthorizationSupport":"NOT_SUPPORTED"}',
    );
    assert.partialDeepStrictEqual(request.headers, { Authorization: "Bearer eyToken", "merchant-id": "998482157632" });
    assert.equal(request.headers["request-id"], io.notes["request_id"]);
  });

  test("the widget is INTERNET; a missing code and ZIP are left out; a profile needs two names", async () => {
    const io = ioWith([answered(200, PAID)]);
    await jpmorgan.charge(orderOf({ channel: "widget", description: null, card: cardOf("4111111111111111", { cvv: "", zip: null }) }), io);
    const body = io.sent[1]?.body ?? "";
    assert.match(body, /"merchantSalesChannelName":"INTERNET"/);
    assert.doesNotMatch(body, /cvv|billingAddress|softMerchant/);
    for (const [name, first, last] of [
      [null, "Card", "Holder"],
      ["Ada", "Ada", "Ada"],
      ["Ada King Byron", "Ada King", "Byron"],
    ] as const) {
      const storing = ioWith([answered(200, STORED)]);
      await jpmorgan.tokenize(orderOf({ mode: "tokenize", card: cardOf("4111111111111111", { name }) }), storing);
      assert.equal(storing.sent[1]?.request.url, "https://api-ms-test.payments.jpmorgan.com/api/v2/verifications");
      assert.partialDeepStrictEqual(JSON.parse(storing.sent[1]?.body ?? ""), {
        accountHolder: { firstName: first, lastName: last, consumerProfileInfo: { consumerProfileRequestType: "CREATE" } },
        accountOnFile: "TO_BE_STORED",
      });
    }
  });

  test("the two digits that a telephone collects of a British postal code are left out: the vendor takes three at least", async () => {
    const io = ioWith([answered(200, PAID)]);
    await jpmorgan.charge(orderOf({ card: cardOf("4111111111111111", { zip: "11" }) }), io);
    assert.doesNotMatch(io.sent[1]?.body ?? "", /billingAddress/);
  });

  test("a name of fewer than four letters, which the vendor refuses, is left out; a long one ends at seventy", async () => {
    for (const [name, fullName] of [
      ["Bo", undefined],
      ["Ed Li", "Ed Li"],
      ["A".repeat(90), "A".repeat(70)],
    ] as const) {
      const io = ioWith([answered(200, PAID)]);
      await jpmorgan.charge(orderOf({ card: cardOf("4111111111111111", { name }) }), io);
      assert.equal((JSON.parse(io.sent[1]?.body ?? "") as { accountHolder: { fullName?: string } }).accountHolder.fullName, fullName);
    }
  });

  test("a token that is no longer taken is replaced once, under a request-id of its own that is noted first", async () => {
    const io = ioWith([answered(401, {}), answered(200, PAID)]);
    assert.equal((await jpmorgan.charge(orderOf(), io)).outcome, "approved");
    const payments = io.sent.filter(({ request }) => request.url.endsWith("/payments"));
    assert.equal(new Set(payments.map(({ request }) => request.headers["request-id"])).size, 2);
    assert.equal(payments[1]?.request.headers["request-id"], io.notes["request_id"]);
    assert.equal(codeOf(await charge(answered(401, {}))), "gateway_credentials_invalid");
  });

  test("the addresses of the onboarding mail replace the documented ones, and the assertion is for the mail's own", async () => {
    const mail = { base_url: "https://cat-api.merchant.jpmorgan.com", token_url: "https://other.example/adfs/oauth2/token" };
    const more = Object.fromEntries(Object.entries(mail).map(([name, text]) => [name, new Secret(text)]));
    const io = ioWith([answered(200, PAID)], { credentials: { ...settingsOf(jpmorgan).credentials, ...more } });
    await jpmorgan.charge(orderOf(), io);
    assert.deepEqual(
      io.sent.map(({ request }) => request.url),
      [mail.token_url, `${mail.base_url}/api/v2/payments`],
    );
    const [, claims = ""] = (new URLSearchParams(io.sent[0]?.body).get("client_assertion") ?? "").split(".");
    assert.equal((JSON.parse(Buffer.from(claims, "base64url").toString()) as { aud: string }).aud, mail.token_url);
  });

  test("settings that cannot work are named", () => {
    const good = settingsOf(jpmorgan);
    const fault = (more: Record<string, string>, environment: "test" | "live" = "test") =>
      jpmorgan.checkSettings({
        ...good,
        environment,
        credentials: { ...good.credentials, ...Object.fromEntries(Object.entries(more).map(([name, text]) => [name, new Secret(text)])) },
      });
    assert.equal(fault({}), null);
    assert.match(fault({ merchant_id: "1" }) ?? "", /merchant_id/);
    assert.equal(fault({ merchant_id: "17904371" }), null, "the vendor takes 8 to 12 digits");
    assert.match(fault({ certificate_thumbprint: "xx" }) ?? "", /thumbprint/);
    assert.match(fault({ private_key: "key" }) ?? "", /private_key/);
    assert.match(fault({ client_secret: "s" }) ?? "", /client_secret/);
    assert.match(fault({ client_secret: "s" }, "live") ?? "", /mock/);
    assert.equal(fault({ base_url: "https://cat-api.merchant.jpmorgan.com", token_url: "https://other.example/adfs/oauth2/token" }), null);
    assert.match(fault({ base_url: "http://cat-api.merchant.jpmorgan.com" }) ?? "", /base_url/);
    assert.match(fault({ token_url: "http://other.example/token" }) ?? "", /token_url/);
    assert.match(
      fault({ merchant_id: "1", certificate_thumbprint: "xx", base_url: "http://x" }) ?? "",
      /merchant_id.*thumbprint.*base_url/,
      "all at once",
    );
  });
});

describe("jpmorgan responses", () => {
  test("a decline is read by its code, then its words, then the network's code", async () => {
    const rows: readonly (readonly [string, GatewayAnswer])[] = [
      ["do_not_honor", denied("DO_NOT_HONOR")],
      ["insufficient_funds", denied("INSUFFICIENT_FUNDS")],
      ["card_declined", denied("DECLINED")],
      ["card_declined", denied("CONSUMER_ABORTED")],
      ["card_declined", denied("SOMETHING_NEW")],
      ["card_declined", denied("constructor")],
      ["expired_card", denied("EXPIRED_CARD")],
      ["incorrect_number", denied("INVALID_CARD_NUMBER")],
      ["incorrect_cvc", denied("CVV_FAILURE")],
      ["lost_or_stolen", denied("PICK_UP_CARD")],
      ["fraud_suspected", denied("SUSPECTED_FRAUD")],
      ["limit_exceeded", denied("EXCEEDS_LIMIT")],
      ["card_not_supported", denied("NOT_PERMITTED")],
      ["authentication_required", denied("AUTHENTICATION_REQUIRED")],
      ["insufficient_funds", denied("DECLINED", { paymentMethodType: network({ networkResponseCode: "51" }) })],
      ["incorrect_cvc", denied("DECLINED", { paymentMethodType: network({ cardVerificationResult: "NO_MATCH" }) })],
      ["incorrect_zip", denied("NO", { paymentMethodType: network({ addressVerificationResult: "NO_MATCH" }) })],
    ];
    for (const [ours, answer] of rows) assert.equal(codeOf(await charge(answer)), ours);
    for (const [code, ours] of Object.entries({
      "54": "expired_card",
      "14": "incorrect_number",
      N7: "incorrect_cvc",
      "41": "lost_or_stolen",
      "59": "fraud_suspected",
      "61": "limit_exceeded",
      "57": "card_not_supported",
      "1A": "authentication_required",
      "91": "processing_error",
      "03": "gateway_misconfigured",
    }))
      assert.equal(codeOf(await charge(denied("DECLINED", { paymentMethodType: network({ networkResponseCode: code }) }))), ours, code);
  });

  test("a refused field is the caller's to mend where it is the card's, else the operator's", async () => {
    const at = (entity: string) =>
      charge(answered(400, { responseStatus: "ERROR", responseCode: "VALIDATION_ERROR", validationErrors: [{ entity }] }));
    assert.equal(codeOf(await at("paymentMethodType.card.accountNumber")), "incorrect_number");
    assert.equal(codeOf(await at("paymentMethodType.card.expiry.month")), "invalid_expiry");
    assert.equal(codeOf(await at("merchantOrderNumber")), "gateway_misconfigured");
    assert.equal(codeOf(await charge(answered(412, { responseStatus: "ERROR" }))), "gateway_misconfigured");
  });

  test("an approval need not repeat its sum, which the vendor's schema does not demand; a part is none", async () => {
    const { amount: _amount, currency: _currency, ...bare } = PAID;
    assert.equal((await charge(answered(200, bare))).outcome, "approved");
    for (const odd of [{ amount: 499 }, { currency: "EUR" }, { partialAuthorization: true }])
      assert.equal((await charge(answered(200, { ...bare, ...odd }))).outcome, "unknown", JSON.stringify(odd));
  });

  test("an approval of another sum or in a state without money is unknown; AUTHORIZED will be captured by the vendor", async () => {
    for (const change of [
      { amount: 499 },
      { currency: "EUR" },
      { transactionState: "VOIDED" },
      { transactionId: undefined },
      { responseStatus: "constructor" },
    ])
      assert.equal((await charge(answered(200, { ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
    const authorized = answered(200, { ...PAID, transactionState: "AUTHORIZED" });
    const stateOf = (outcome: Outcome) => outcome.outcome === "approved" && outcome.processor["jpmorgan_state"];
    assert.equal(stateOf(await charge(authorized)), "AUTHORIZED");
    assert.equal(stateOf(await charge(authorized, LOST)), "AUTHORIZED");
    assert.equal(stateOf(await charge(authorized, authorized, answered(200, PAID))), "CLOSED");
  });

  test("a payment that the vendor answers as one to be captured by hand is held, not taken; the hold is voided, and one that was voided is gone", async () => {
    const held = { ...PAID, transactionState: "AUTHORIZED", captureMethod: "MANUAL", isVoid: false };
    const captureOf = (outcome: { outcome: string; capture?: string }) =>
      outcome.outcome === "approved" ? outcome.capture : outcome.outcome;
    assert.equal(captureOf(await charge(answered(200, held))), "authorized");
    assert.equal(captureOf(await charge(answered(200, { ...held, transactionState: "CLOSED" }))), "captured");
    for (const captureMethod of ["NOW", "DELAYED", undefined])
      assert.equal(captureOf(await charge(answered(200, { ...held, captureMethod }))), "captured");
    const trace = traceOf(orderOf(), { request_id: "ours" });
    const gone = { ...held, transactionState: "VOIDED", isVoid: true };
    const reversals = async (...answers: GatewayAnswer[]) => {
      const io = ioWith(answers);
      const { outcome } = await jpmorgan.void!(trace, io);
      const last = io.sent.at(-1);
      return { outcome, last: `${last?.request.method} ${new URL(last?.request.url ?? "").pathname} ${last?.body}`.trim() };
    };
    const four = Array.from({ length: 4 }, () => answered(200, held));
    const patch = `PATCH /api/v2/payments/${PAID.transactionId} {"isVoid":true}`;
    assert.deepEqual(await reversals(...four, answered(200, gone)), { outcome: "voided", last: patch });
    for (const answer of [LOST, answered(412, { responseStatus: "ERROR" }), answered(200, held), answered(400, gone)])
      assert.deepEqual(await reversals(...four, answer), { outcome: "unknown", last: patch });
    assert.equal((await reversals(answered(200, gone))).outcome, "nothing to void");
    assert.equal((await reversals(answered(200, { ...gone, transactionState: "CLOSED" }))).outcome, "unknown");
  });

  test("a payment that met a flood is looked up: nobody says that nothing ran", async () => {
    assert.equal((await charge(answered(429, { responseStatus: "ERROR", responseCode: "RATE_LIMIT" }))).outcome, "unknown");
  });

  test("an answer that both refuses and approves is unknown", async () => {
    for (const change of [
      { responseStatus: "DENIED" },
      { responseStatus: "ERROR", transactionState: "AUTHORIZED" },
      { transactionState: "DECLINED" },
      { transactionState: "ERROR" },
    ])
      assert.equal((await charge(answered(200, { ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
  });

  test("an authentication that is asked for cannot be given, and an approval under the code of a refusal is neither", async () => {
    const asked = { responseCode: "PERFORM_AUTHENTICATION", responseMessage: "Perform authentication" };
    for (const change of [{ transactionState: "PENDING" }, { transactionState: undefined }, { transactionState: "ACTION_REQUIRED" }])
      assert.equal(
        codeOf(await charge(answered(200, { ...PAID, ...asked, ...change }))),
        "authentication_required",
        JSON.stringify(change),
      );
    for (const responseCode of ["PERFORM_AUTHENTICATION", "DECLINED", "DO_NOT_HONOR", "INSUFFICIENT_FUNDS"])
      assert.equal((await charge(answered(200, { ...PAID, responseCode }))).outcome, "unknown", responseCode);
    assert.equal((await tokenize(answered(200, { ...STORED, responseCode: "DECLINED" }))).outcome, "unknown");
    for (const responseCode of ["APPROVED", "ACCEPTED", "ANOTHER", undefined])
      assert.equal((await charge(answered(200, { ...PAID, responseCode }))).outcome, "approved", String(responseCode));
  });

  test("a refusal as a duplicate is looked up whatever its status, and an early absence is no proof", async () => {
    const refused = { responseStatus: "ERROR", responseCode: "VALIDATION_ERROR" };
    for (const answer of [
      answered(409, {}),
      answered(400, { responseStatus: "ERROR", responseMessage: "Duplicate transaction" }),
      // Ours is a new UUID each time: only a second delivery of the request can be refused for it.
      answered(400, { ...refused, responseMessage: "request-id was used before" }),
      answered(400, { ...refused, responseMessage: "Input validation error", validationErrors: [{ code: "1", entity: "request-id" }] }),
    ]) {
      assert.equal((await charge(answer, answered(200, PAID))).outcome, "approved");
      assert.equal((await charge(answer, NOT_FOUND)).outcome, "unknown");
    }
    // A payment may be sent at the deadline, and is worked on for 70 s.
    assert.ok(jpmorgan.capabilities.absenceIsProofAfterMs >= jpmorgan.capabilities.deadlineMs + 90_000);
  });

  test("a verification without a profile is no stored card; a Safetech token alone is one", async () => {
    const outcome = await tokenize(answered(200, STORED));
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      jpmorgan_transaction_id: PAID.transactionId,
      jpmorgan_consumer_profile_id: "EGQSGO",
      jpmorgan_payment_method_id: "7d3f0a51-0c3b-4e57-9a53-2f6f3d7a7f10",
    });
    const failed = { consumerProfileInfo: { consumerProfileResponseCode: "X" } };
    assert.equal(codeOf(await tokenize(answered(200, { ...STORED, accountHolder: failed }))), "processing_error");
    const tokens = { card: { paymentTokens: [{ tokenProvider: "SAFETECH", tokenNumber: "4111110123451119", responseStatus: "SUCCESS" }] } };
    const alone = await tokenize(answered(200, { ...STORED, accountHolder: failed, paymentMethodType: tokens }));
    assert.equal(alone.outcome === "approved" && alone.processor["jpmorgan_payment_token"], "4111110123451119");
  });

  test("a lost answer is found by the request-id that was noted; a payment that was never sent is absent without asking", async () => {
    const io = ioWith([LOST, answered(200, PAID)]);
    assert.equal((await jpmorgan.charge(orderOf(), io)).outcome, "unknown");
    assert.equal((await jpmorgan.lookUp!(traceOf(orderOf(), io.notes), io)).outcome, "approved");
    assert.match(io.sent.at(-1)?.request.url ?? "", new RegExp(`/api/v2/payments\\?requestIdentifier=${io.notes["request_id"]}$`));
    assert.notEqual(io.sent.at(-1)?.request.headers["request-id"], io.notes["request_id"]);
    assert.equal((await jpmorgan.lookUp!(traceOf(orderOf(), io.notes), ioWith([NOT_FOUND]))).outcome, "absent");
    const never = ioWith([LOST]);
    assert.equal((await jpmorgan.lookUp!(traceOf(orderOf()), never)).outcome, "absent");
    assert.equal(never.sent.length, 0);
  });

  test("a 404 that is not the vendor's own, or another request's payment, says nothing of the attempt", async () => {
    const lookUp = (answer: GatewayAnswer) => jpmorgan.lookUp!(traceOf(orderOf(), { request_id: "ours" }), ioWith([answer]));
    for (const body of ["<html><h1>404 Not Found</h1></html>", "", '{"message":"no Route matched with those values"}', "[]"])
      assert.equal((await lookUp(answered(404, body))).outcome, "unknown", body);
    assert.equal((await lookUp(answered(200, { ...PAID, requestId: "another" }))).outcome, "unknown");
    assert.equal((await lookUp(answered(200, { ...PAID, requestId: "ours" }))).outcome, "approved");
  });

  test("a payment of another order number is none of the attempt's, and a duplicate's refusal proves nothing of the first one (R-422)", async () => {
    const lookUp = (change: object) =>
      jpmorgan.lookUp!(traceOf(orderOf(), { request_id: "ours" }), ioWith([answered(200, { ...PAID, ...change })]));
    assert.equal((await lookUp({ merchantOrderNumber: "3f6c0a5e9b1d4c7a8e2101" })).outcome, "approved");
    assert.equal((await lookUp({ merchantOrderNumber: "3f6c0a5e9b1d4c7a8e2102" })).outcome, "unknown");
    const refused = { transactionState: "DECLINED", responseStatus: "DENIED", responseCode: "DECLINED", responseMessage: "Declined" };
    const network = (networkResponseCode: string) => ({ paymentMethodType: { card: { networkResponse: { networkResponseCode } } } });
    assert.equal(codeOf(await lookUp({ ...refused, ...network("51") })), "insufficient_funds");
    assert.equal((await lookUp({ ...refused, ...network("94") })).outcome, "absent");
    const storing = traceOf(orderOf({ mode: "tokenize", amountMinor: 0 }), { request_id: "ours" });
    const stored = await jpmorgan.lookUp!(storing, ioWith([answered(200, { ...STORED, ...refused, ...network("94") })]));
    assert.deepEqual(stored, { outcome: "absent", mayBeStored: true });
    const twin = answered(200, { ...PAID, ...refused, ...network("94") });
    assert.equal((await charge(twin, twin, answered(200, PAID))).outcome, "approved");
  });

  test("an approval is none of a refusal's, whatever status it comes with", async () => {
    assert.equal((await charge(answered(201, PAID))).outcome, "approved");
    for (const status of [302, 400, 404, 422]) assert.equal((await charge(answered(status, PAID))).outcome, "unknown", String(status));
  });

  test("a part is refunded, and a payment that waits is read until it is decided", async () => {
    const part = answered(200, { ...PAID, responseCode: "PARTIAL_APPROVAL", amount: 2000 });
    const io = ioWith([part, answered(200, { responseStatus: "SUCCESS" })]);
    assert.equal(codeOf(await jpmorgan.charge(orderOf(), io)), "insufficient_funds");
    assert.match(io.sent.at(-1)?.request.url ?? "", /\/refunds$/);
    assert.partialDeepStrictEqual(JSON.parse(io.sent.at(-1)?.body ?? ""), { amount: 2000, currency: "USD" });
    const waits = answered(200, { ...PAID, transactionState: "PENDING", responseCode: "CUSTOMER_PENDING" });
    assert.equal((await charge(waits, waits, answered(200, PAID))).outcome, "approved");
    assert.equal((await charge(waits)).outcome, "unknown");
  });

  test("what was refunded before, the whole or a part, is known by the look-up and is not refunded again", async () => {
    const found = async (...answers: GatewayAnswer[]) => {
      const io = ioWith(answers);
      const outcome = await jpmorgan.lookUp!(traceOf(orderOf(), { request_id: "ours" }), io);
      return [codeOf(outcome), io.sent.filter(({ request }) => request.url.endsWith("/refunds")).length];
    };
    const part = { ...PAID, responseCode: "PARTIAL_APPROVAL", amount: 2000 };
    assert.deepEqual(await found(answered(200, { ...PAID, remainingRefundableAmount: 0 })), ["processing_error", 0]);
    assert.deepEqual(await found(answered(200, { ...part, remainingRefundableAmount: 0 })), ["insufficient_funds", 0]);
    const held = { ...PAID, transactionState: "AUTHORIZED", remainingRefundableAmount: 0 };
    assert.deepEqual(await found(answered(200, held)), ["approved", 0]);
    assert.deepEqual(await found(answered(200, part), answered(200, { responseStatus: "SUCCESS" })), ["insufficient_funds", 1]);
  });

  test("a refund without a clear answer is not sent again: it may still be at work, and none is told apart from the next (R-422)", async () => {
    const refunds = async (verb: "void" | "lookUp", notes: Record<string, string>, ...answers: GatewayAnswer[]) => {
      const io = ioWith(answers);
      const { outcome } = await jpmorgan[verb]!(traceOf(orderOf(), { request_id: "ours", ...notes }), io);
      return { outcome, notes: io.notes, count: io.sent.filter(({ request }) => request.url.endsWith("/refunds")).length };
    };
    const made = answered(200, { responseStatus: "SUCCESS" });
    const part = answered(200, { ...PAID, responseCode: "PARTIAL_APPROVAL", amount: 2000 });
    for (const [verb, found, end] of [
      ["void", answered(200, PAID), "voided"],
      ["lookUp", part, "declined"],
    ] as const)
      for (const [first, again] of [
        [LOST, 0],
        [answered(500, {}), 0],
        [answered(200, { responseStatus: "DENIED" }), 1],
        [answered(400, { responseStatus: "ERROR", responseCode: "INVALID" }), 1],
        [answered(412, { responseStatus: "ERROR", responseCode: "INVALID_DATA" }), 1],
        [answered(404, "<html>"), 0],
        [answered(409, { responseStatus: "ERROR", responseMessage: "Duplicate transaction" }), 0],
      ] as const) {
        const { outcome, notes } = await refunds(verb, {}, found, first);
        assert.equal(outcome, "unknown");
        const later = await refunds(verb, notes, found, made);
        assert.deepEqual([later.outcome, later.count], [again === 1 ? end : "unknown", again], JSON.stringify([verb, first]));
      }
  });
});
