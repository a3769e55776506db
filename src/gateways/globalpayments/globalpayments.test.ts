import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const globalpayments = GATEWAYS_BUILT.globalpayments!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const ACCOUNTS = [
  { id: "TRA_6716058969854a48b33347043ff8225f", name: "transaction_processing" },
  { id: "TKA_8feb4cd47e2a4d5c8a3c4c0e4d1f0000", name: "tokenization" },
];
const TOKEN = answered(200, { token: "x0XAbCdEf0123456789", type: "Bearer", seconds_to_expire: 3599, scope: { accounts: ACCOUNTS } });

const card = (more: object = {}) => ({ result: "00", message: "AUTHORISED", card: { brand: "VISA", cvv_result: "MATCHED", ...more } });
const SALE = { id: "TRN_BHZ1whvN", status: "CAPTURED", amount: "4995", currency: "USD", reference: REFERENCE, payment_method: card() };
const refused = (result: string, more: object = {}) =>
  answered(200, { ...SALE, status: "DECLINED", payment_method: { ...card(more), result, message: "DECLINED" } });
const error = (status: number, code: string, text = "no") =>
  answered(status, { error_code: "X", detailed_error_code: code, detailed_error_description: text });
const SEEN = (id: string) => error(409, "40039", `Idempotency Key seen before: id=${id}, status=CAPTURED`);
const VERIFIED = answered(200, { status: "VERIFIED" });
const STORED = answered(200, { id: "PMT_31087d9c-e68c-4389-9f13-39378e166ea5", status: "ACTIVE" });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(globalpayments), ...changes }, ({ url }) =>
    Promise.resolve(url.endsWith("/accesstoken") ? TOKEN : answers[Math.min(count++, answers.length - 1)]!),
  );
}
const paths = (io: ReturnType<typeof ioWith>) =>
  io.sent.map(({ request }) => new URL(request.url).pathname).filter((path) => !path.endsWith("/accesstoken"));
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => globalpayments.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("globalpayments requests", () => {
  test("the token's secret is the SHA-512 of nonce and key, as the vendor's example has it", async () => {
    const credentials = { app_id: new Secret("ExampleAppId00000000000000000001"), app_key: new Secret("ExampleAppKey0001") };
    const io = ioWith([answered(200, SALE)], { credentials });
    await globalpayments.charge(orderOf(), { ...io, random: { ...io.random, uuid: () => "2026-01-15T10:30:00.000Z" } });
    assert.equal(io.sent[0]?.request.url, "https://apis.sandbox.globalpay.com/ucp/accesstoken");
    assert.equal(io.sent[0]?.request.headers["X-GP-Version"], "2021-03-22");
    assert.deepEqual(JSON.parse(io.sent[0]?.body ?? ""), {
      app_id: "ExampleAppId00000000000000000001",
      nonce: "2026-01-15T10:30:00.000Z",
      secret:
        "b720a3739b5e61bafe7e75aeb0cd5beffe85ded901029739e16a91b581e6e484c228aec46f60804bad61867f060930d11be0022b5a08900c7ef56c1a63b93cad",
      grant_type: "client_credentials",
      seconds_to_expire: 3600,
    });
  });

  test("a sale names the granted account, is marked PHONE, and carries an idempotency key of its own", async () => {
    const io = ioWith([answered(200, SALE)]);
    await globalpayments.charge(orderOf({ card: cardOf("4263970000005262", { month: "05", year: "2030", name: "Ada Byron" }) }), io);
    const { request, body } = io.sent[1]!;
    assert.partialDeepStrictEqual(request.headers, {
      Authorization: "Bearer x0XAbCdEf0123456789",
      "X-GP-Version": "2021-03-22",
      "x-gp-idempotency": `${REFERENCE}-pay`,
    });
    assert.equal(
      body,
      '{"account_name":"transaction_processing","account_id":"TRA_6716058969854a48b33347043ff8225f","channel":"CNP","type":"SALE","capture_mode":"AUTO",' +
        `"amount":"4995","currency":"USD","country":"US","reference":"${REFERENCE}","description":"Invoice 1001",` +
        '"payment_method":{"entry_mode":"PHONE","name":"Ada Byron","card":{"number":"4263970000005262","expiry_month":"05","expiry_year":"30",' +
        '"cvv":"123","cvv_indicator":"PRESENT","avs_postal_code":"44628"}}}',
    );
  });

  test("the widget is ECOM with the shopper's address; a missing code says so; texts are cut; the European region has hosts of its own", async () => {
    const settings = {
      options: { region: "eu" },
      credentials: { ...settingsOf(globalpayments).credentials, account_name: new Secret("mine"), country: new Secret("IE") },
    };
    const io = ioWith([answered(200, SALE)], settings);
    const order = orderOf({
      channel: "widget",
      customerIp: "203.0.113.7",
      description: "d".repeat(99),
      card: cardOf("4263970000005262", { cvv: "", zip: null }),
    });
    await globalpayments.charge(order, io);
    assert.equal(io.sent[1]?.request.url, "https://apis.sandbox.eu.globalpay.com/ucp/transactions");
    const body = JSON.parse(io.sent[1]?.body ?? "") as { description: string };
    assert.equal(body.description.length, 50);
    assert.partialDeepStrictEqual(body, {
      account_name: "mine",
      country: "IE",
      ip_address: "203.0.113.7",
      payment_method: { entry_mode: "ECOM", card: { cvv_indicator: "NOT_PRESENT" } },
    });
    assert.doesNotMatch(io.sent[1]?.body ?? "", /account_id|"cvv"|avs_postal_code/);
    const overIpv6 = ioWith([answered(200, SALE)]);
    await globalpayments.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1" }), overIpv6);
    assert.doesNotMatch(overIpv6.sent[1]?.body ?? "", /ip_address/, "it is refused, and optional");
  });

  test("a card is verified by its issuer, then stored in the tokenization account without its code", async () => {
    const io = ioWith([VERIFIED, STORED]);
    const outcome = await globalpayments.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      globalpayments_payment_method_id: "PMT_31087d9c-e68c-4389-9f13-39378e166ea5",
    });
    assert.deepEqual(paths(io), ["/ucp/verifications", "/ucp/payment-methods"]);
    const body = io.sent.at(-1)?.body ?? "";
    assert.partialDeepStrictEqual(JSON.parse(body), { account_name: "tokenization", account_id: ACCOUNTS[1]?.id, usage_mode: "MULTIPLE" });
    assert.doesNotMatch(body, /cvv/);
    const failed = ioWith([answered(200, { status: "NOT_VERIFIED", payment_method: { ...card(), result: "54" } })]);
    assert.equal(codeOf(await globalpayments.tokenize(storing, failed)), "expired_card");
    assert.deepEqual(paths(failed), ["/ucp/verifications"]);
  });
});

describe("globalpayments responses", () => {
  test("every result of the vendor's table means what it says, of two digits and of three", async () => {
    const rows = {
      card_declined: "101 102 104 199 01 02 99 constructor",
      lost_or_stolen: "103 04 07 41 43",
      fraud_suspected: "107 108 109 59 63",
      authentication_required: "110 111",
      do_not_honor: "05",
      insufficient_funds: "51",
      expired_card: "54 33",
      incorrect_number: "14 15",
      incorrect_cvc: "82 N7",
      card_not_supported: "57 62 93",
      limit_exceeded: "61 65 75",
      gateway_unavailable: "91 96 205",
      gateway_misconfigured: "301",
      processing_error: "501",
    };
    for (const [ours, results] of Object.entries(rows))
      for (const result of results.split(" ")) assert.equal(codeOf(await charge(refused(result))), ours, result);
    assert.equal(codeOf(await charge(refused("101", { cvv_result: "NOT_MATCHED" }))), "incorrect_cvc");
    const asked = answered(200, { ...SALE, status: "DECLINED", payment_method: { ...card(), result: "65", message: "SCA REQUIRED" } });
    assert.equal(codeOf(await charge(asked)), "authentication_required");
  });

  test("a refused request is about a field of the card, the keys, or the settings", async () => {
    assert.equal(codeOf(await charge(error(400, "40090", "card.number value is invalid. Please check the format."))), "incorrect_number");
    assert.equal(codeOf(await charge(error(400, "40213", "expiry_year contains unexpected data"))), "invalid_expiry");
    assert.equal(codeOf(await charge(error(400, "40085"))), "incorrect_cvc");
    // The security code's number, with other words.
    assert.equal(codeOf(await charge(error(400, "40085", "Expiry date invalid"))), "invalid_expiry");
    assert.equal(codeOf(await charge(error(403, "40004"))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(error(400, "40041"))), "gateway_misconfigured");
    assert.equal(
      codeOf(await charge(error(400, "40041", "Merchant configuration does not exist for: brand - AMEX"))),
      "card_not_supported",
    );
    assert.equal(codeOf(await charge(error(400, "40213"))), "processing_error");
    assert.equal(codeOf(await charge(error(429, "50002"))), "gateway_unavailable");
    assert.equal(codeOf(await charge(error(401, "40001"))), "gateway_credentials_invalid");
  });

  test("a token that is no longer taken is asked for anew and the payment sent once more", async () => {
    const io = ioWith([error(401, "40001"), answered(200, SALE)]);
    assert.equal((await globalpayments.charge(orderOf(), io)).outcome, "approved");
    assert.deepEqual(paths(io), ["/ucp/transactions", "/ucp/transactions"]);
  });

  test("an approval of another payment or sum, or in an undocumented state, is unknown; one before its capture is held", async () => {
    for (const change of [{ amount: "499" }, { currency: "EUR" }, { reference: "another-1" }, { status: "constructor" }, { id: "x" }])
      assert.equal((await charge(answered(200, { ...SALE, ...change }))).outcome, "unknown", JSON.stringify(change));
    const held = await charge(answered(200, { ...SALE, status: "PREAUTHORIZED" }));
    assert.equal(held.outcome === "approved" && held.capture, "authorized");
  });

  test("a captured payment that the vendor's risk assessment holds is held for review, now and when it is looked up; one that it rejects is unknown (R-405)", async () => {
    for (const result of ["PENDING_REVIEW", "HOLD_SUCCESSFUL"]) {
      const held = { ...SALE, risk_assessment: [{ mode: "ACTIVE", result }] };
      const outcome = await charge(answered(200, held));
      assert.equal(codeOf(outcome), "held_for_review", result);
      assert.deepEqual(outcome.outcome === "declined" && outcome.processor, { globalpayments_transaction_id: SALE.id });
      const listed = answered(200, { transactions: [{ ...held, risk_assessment: held.risk_assessment[0] }] });
      assert.equal(codeOf(await globalpayments.lookUp!(traceOf(orderOf()), ioWith([listed]))), "held_for_review");
    }
    for (const result of ["ACCEPTED", "NOT_EXECUTED", "RELEASE_SUCCESSFUL"])
      assert.equal((await charge(answered(200, { ...SALE, risk_assessment: [{ mode: "ACTIVE", result }] }))).outcome, "approved", result);
    const passive = { ...SALE, risk_assessment: [{ mode: "PASSIVE", result: "PENDING_REVIEW" }] };
    assert.equal((await charge(answered(200, passive))).outcome, "approved", "a passive filter holds nothing");
    assert.equal((await charge(answered(200, { ...SALE, risk_assessment: [{ mode: "ACTIVE", result: "REJECTED" }] }))).outcome, "unknown");
  });

  test("a lost answer is asked for again under its key, whose refusal names the payment that stands", async () => {
    const io = ioWith([LOST, SEEN("TRN_BHZ1whvN"), answered(200, SALE)]);
    assert.equal((await globalpayments.charge(orderOf(), io)).outcome, "approved");
    assert.deepEqual(paths(io), ["/ucp/transactions", "/ucp/transactions", "/ucp/transactions/TRN_BHZ1whvN"]);
    assert.equal((await charge(LOST)).outcome, "unknown");
    assert.equal((await charge(error(502, "50013"))).outcome, "unknown");
    assert.equal((await charge(LOST, error(400, "40005"))).outcome, "unknown");
    // The status beside an error code is not sure: a fault behind the gateway may have acted whatever it is.
    for (const code of ["50002", "50013", "50018", "50046"]) assert.equal((await charge(error(400, code))).outcome, "unknown", code);
    assert.equal((await charge(answered(400, { error_code: "ACTION_FAILED" }))).outcome, "unknown");
    const token = ioWith([VERIFIED, LOST, SEEN("PMT_1-2")]);
    const stored = await globalpayments.tokenize(storing, token);
    assert.equal(stored.outcome === "approved" && stored.processor["globalpayments_payment_method_id"], "PMT_1-2");
  });

  test("a card may be stored where the vendor's answer has no id of it, or refuses after a lost one; where it only refuses, it is not (I4)", async () => {
    const store = async (...answers: GatewayAnswer[]) => {
      const outcome = await globalpayments.tokenize(storing, ioWith([VERIFIED, ...answers]));
      return [codeOf(outcome), outcome.outcome === "declined" && outcome.mayBeStored === true];
    };
    assert.deepEqual(await store(answered(200, {})), ["gateway_unavailable", true]);
    assert.deepEqual(await store(LOST, error(400, "40005")), ["gateway_unavailable", true]);
    assert.deepEqual(await store(error(400, "40005")), ["processing_error", false]);
  });

  test("a conflict or a duplicate decides nothing before it was looked up", async () => {
    for (const answer of [error(409, "40040"), error(409, "40039", "seen"), answered(400, { error_code: "DUPLICATE_TRANSACTION" })]) {
      assert.equal((await charge(answer, answered(200, { transactions: [SALE] }))).outcome, "approved");
      assert.equal((await charge(answer, answered(200, { transactions: [] }))).outcome, "unknown");
    }
    // A sale may be sent at the deadline, and is waited for as long as the vendor's libraries do.
    const { absenceIsProofAfterMs, deadlineMs } = globalpayments.capabilities;
    assert.ok(absenceIsProofAfterMs >= deadlineMs + 65_000);
  });

  test("a verification whose answer was lost counts only where the vendor says that the card was verified; else it is asked again", async () => {
    const seen = (words: string) => error(409, "40039", `Idempotency Key seen before: id=VER_1${words}`);
    const told = ioWith([LOST, seen(", status=VERIFIED"), STORED]);
    assert.equal((await globalpayments.tokenize(storing, told)).outcome, "approved");
    assert.equal(paths(told).length, 3);
    for (const words of ["", ", status=NOT_VERIFIED"]) {
      const io = ioWith([LOST, seen(words), answered(200, { status: "NOT_VERIFIED", payment_method: { ...card(), result: "54" } })]);
      assert.equal(codeOf(await globalpayments.tokenize(storing, io)), "expired_card");
      assert.equal(io.sent.at(-1)?.request.headers["x-gp-idempotency"], `${REFERENCE}-verify2`);
    }
    assert.equal(codeOf(await globalpayments.tokenize(storing, ioWith([seen("")]))), "gateway_unavailable");
  });

  test("what is not decided is read until it is, and a look-up finds the one that stands", async () => {
    const open = answered(200, { ...SALE, status: "PENDING" });
    assert.equal((await charge(open, open, answered(200, SALE))).outcome, "approved");
    assert.equal((await charge(open)).outcome, "unknown");
    const look = (...items: object[]) => globalpayments.lookUp!(traceOf(orderOf()), ioWith([answered(200, { transactions: items })]));
    assert.equal((await look({ ...SALE, status: "DECLINED" }, SALE)).outcome, "approved");
    assert.equal((await look({ ...SALE, reference: "another" })).outcome, "unknown");
    assert.equal((await look(SALE, { ...SALE, id: "TRN_2" })).outcome, "unknown");
    assert.equal((await look({ ...SALE, status: "PENDING" })).outcome, "pending");
    const counted = (total_record_count: number) =>
      globalpayments.lookUp!(traceOf(orderOf()), ioWith([answered(200, { total_record_count, transactions: [] })]));
    assert.equal((await counted(0)).outcome, "absent");
    assert.equal((await counted(1)).outcome, "unknown", "none of what the vendor found");
    const refund = { ...SALE, id: "TRN_2", type: "REFUND" };
    assert.equal((await look({ ...SALE, type: "SALE" }, refund)).outcome, "approved", "a refund is no second payment");
    assert.equal((await look(refund)).outcome, "absent");
    assert.equal((await charge(answered(200, refund))).outcome, "unknown");
    assert.equal((await globalpayments.lookUp!(traceOf(orderOf()), ioWith([LOST]))).outcome, "unknown");
  });

  test("a payment is reversed, or refunded once it is settled", async () => {
    const listed = answered(200, { transactions: [SALE] });
    const day = ioWith([listed, answered(200, { ...SALE, status: "REVERSED" })]);
    assert.equal((await globalpayments.void!(traceOf(orderOf()), day)).outcome, "voided");
    const still = ioWith([listed, answered(200, SALE)]);
    assert.equal((await globalpayments.void!(traceOf(orderOf()), still)).outcome, "unknown");
    const late = ioWith([listed, error(400, "40044"), answered(200, { ...SALE, id: "TRN_REFUND1", status: "CAPTURED" })]);
    assert.equal((await globalpayments.void!(traceOf(orderOf()), late)).outcome, "voided");
    assert.deepEqual(paths(late).slice(1), ["/ucp/transactions/TRN_BHZ1whvN/reversal", "/ucp/transactions/TRN_BHZ1whvN/refund"]);
  });

  test("a reversal that a fault of the vendor answers may have been made, whatever the status: no refund follows it", async () => {
    for (const fault of [error(400, "50013"), error(502, "50013"), answered(400, { error_code: "ACTION_FAILED" })]) {
      const io = ioWith([answered(200, { transactions: [SALE] }), fault, answered(200, { ...SALE, id: "TRN_REFUND1" })]);
      assert.equal((await globalpayments.void!(traceOf(orderOf()), io)).outcome, "unknown");
      assert.equal(paths(io).length, 2);
    }
  });

  test("a refund that was declined is asked for again under a key of its own, one that is not decided is not (R-422)", async () => {
    const seen = error(409, "40039", "Idempotency Key seen before: id=TRN_REFUND1, status=DECLINED");
    const declined = answered(200, { ...SALE, id: "TRN_REFUND1", type: "REFUND", status: "DECLINED" });
    for (const [first, key] of [
      [declined, "refund1"],
      [seen, "refund1"],
      [answered(200, { ...SALE, id: "TRN_REFUND1", type: "REFUND", status: "PENDING" }), "refund"],
      [LOST, "refund"],
      [error(400, "40044"), "refund"],
    ] as const) {
      const io = ioWith([answered(200, { transactions: [SALE] }), error(400, "40044"), first]);
      assert.equal((await globalpayments.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([answered(200, { transactions: [SALE] }), error(400, "40044"), answered(200, { ...SALE, id: "TRN_REFUND2" })]);
      assert.equal((await globalpayments.void!(traceOf(orderOf(), io.notes), later)).outcome, "voided");
      assert.equal(later.sent.at(-1)?.request.headers["x-gp-idempotency"], `${REFERENCE}-${key}`, JSON.stringify(first));
    }
  });

  test("a refund whose key was seen before counts as done where the vendor names the one that it made then (R-422)", async () => {
    const seen = (words: string) => error(409, "40039", `Idempotency Key seen before: ${words}`);
    for (const [answer, outcome] of [
      [seen("id=TRN_REFUND1, status=CAPTURED"), "voided"],
      [seen("id=TRN_REFUND1, status=DECLINED"), "unknown"],
      [seen("id=TRN_REFUND1"), "unknown"],
      [seen("id=TRN_BHZ1whvN, status=CAPTURED"), "unknown"],
      [error(409, "40040", "id=TRN_REFUND1, status=CAPTURED"), "unknown"],
    ] as const) {
      const io = ioWith([answered(200, { transactions: [SALE] }), error(400, "40044"), answer]);
      assert.equal((await globalpayments.void!(traceOf(orderOf()), io)).outcome, outcome);
    }
  });
});
