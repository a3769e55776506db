import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { checkoutAmount, referenceOf } from "./requests.ts";

const checkout = GATEWAYS_BUILT.checkoutcom!;
const settings = settingsOf(checkout);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const BASE = "https://example1.api.sandbox.checkout.com";
const REFERENCE = referenceOf(orderOf());

/** The vendor's recordings, shortened. */
const PAYMENT = {
  id: "pay_gjulv7byhhwerb3jyx2547xlme",
  action_id: "act_t4u4g5ovx5huhk4ljrtyoo7eji",
  amount: 4995,
  currency: "USD",
  approved: true,
  status: "Authorized",
  auth_code: "655071",
  response_code: "10000",
  response_summary: "Approved",
  risk: { flagged: false },
  source: { id: "src_d5vdj6uzrktufj7tfzqewapd6u", type: "card", scheme: "Visa", last4: "4242", avs_check: "G", cvv_check: "Y" },
  reference: REFERENCE,
  scheme_id: "204565197912882",
};
const VERIFIED = { ...PAYMENT, amount: 0, status: "Card Verified" };
const declinedWith = (code: string) => ({
  ...PAYMENT,
  approved: false,
  status: "Declined",
  response_code: code,
  response_summary: "Declined - Do Not Honour",
});
const invalid = (...codes: string[]) => answered(422, { request_id: "911829c3", error_type: "request_invalid", error_codes: codes });
const found = (...data: object[]) => answered(200, { total_count: data.length, skip: 0, limit: 10, data });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => checkout.charge(orderOf(), ioWith(answers));
const lookUp = (order: Order, ...answers: GatewayAnswer[]) => checkout.lookUp!(traceOf(order), ioWith(answers));
const storing = (changes: Partial<Order> = {}) => orderOf({ mode: "tokenize", amountMinor: 0, ...changes });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const withKey = (key: string, environment: "test" | "live" = "test") =>
  checkout.checkSettings({ ...settings, environment, credentials: { ...settings.credentials, secret_key: new Secret(key) } });

describe("checkoutcom requests", () => {
  test("a telephone payment is one JSON body under an idempotency key, to the account's own host", async () => {
    const io = ioWith([answered(201, PAYMENT)]);
    const card = cardOf("4242424242424242", { month: "06", year: "2030", cvv: "100", zip: "77777", name: "Ada Lovelace" });
    await checkout.charge(orderOf({ card, description: "Invoice 42" }), io);
    const { request, body } = io.sent[0]!;
    assert.deepEqual([request.method, request.url], ["POST", `${BASE}/payments`]);
    assert.partialDeepStrictEqual(request.headers, {
      Authorization: "Bearer sk_sbox_examplesecretkeyabcdefgh234",
      "Content-Type": "application/json",
      "Cko-Idempotency-Key": `${SESSION}-1`,
    });
    assert.equal(
      body,
      '{"source":{"type":"card","number":"4242424242424242","expiry_month":6,"expiry_year":2030,"cvv":"100","name":"Ada Lovelace",' +
        '"billing_address":{"zip":"77777"},"store_for_future_use":false},"amount":4995,"currency":"USD","payment_type":"MOTO","capture":true,' +
        `"reference":"${REFERENCE}","description":"Invoice 42","processing_channel_id":"pc_zs5fqhybzc2e3jmq3efvybybpq",` +
        `"3ds":{"enabled":false},"metadata":{"session":"${SESSION}"}}`,
    );
    assert.match(REFERENCE, /^[a-z]{24}$/);
    assert.notEqual(referenceOf(orderOf({ attempt: 2 })), REFERENCE);
  });

  test("the widget is no telephone order and tells the shopper's IPv4 address; what is missing is left out", async () => {
    const io = ioWith([answered(201, PAYMENT)]);
    const card = () => cardOf("4242424242424242", { cvv: "", zip: null });
    await checkout.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", card: card(), description: null }), io);
    await checkout.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1", card: card() }), io);
    assert.match(io.sent[0]?.body ?? "", /"payment_type":"Regular".*"risk":\{"device":\{"network":\{"ipv4":"203\.0\.113\.7"\}\}\}/);
    assert.doesNotMatch(io.sent[0]?.body ?? "", /cvv|name|billing_address|description/);
    assert.doesNotMatch(io.sent[1]?.body ?? "", /risk/);
    const plain = ioWith([answered(201, PAYMENT)], {
      options: { moto: false },
      credentials: { secret_key: new Secret(" sk_sbox_x ") },
    });
    await checkout.charge(orderOf({ description: "Größe 42" }), plain);
    assert.deepEqual(
      [plain.sent[0]?.request.url, plain.sent[0]?.request.headers["Authorization"]],
      ["https://api.sandbox.checkout.com/payments", "Bearer sk_sbox_x"],
    );
    assert.match(plain.sent[0]?.body ?? "", /"payment_type":"Regular".*"description":"Gro\?e 42"/);
    assert.doesNotMatch(plain.sent[0]?.body ?? "", /processing_channel_id/);
  });

  test("a card is stored by a verification of nothing, whose source is kept", async () => {
    const io = ioWith([answered(201, VERIFIED)]);
    const outcome = await checkout.tokenize(storing({ amountMinor: 4995 }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      checkoutcom_payment_id: PAYMENT.id,
      checkoutcom_source_id: PAYMENT.source.id,
    });
    assert.match(io.sent[0]?.body ?? "", /"store_for_future_use":true\},"amount":0,"currency":"USD","payment_type":"MOTO","reference"/);
    const sourceless = await checkout.tokenize(storing(), ioWith([answered(201, { ...VERIFIED, source: { type: "card" } })]));
    assert.equal(sourceless.outcome, "unknown");
  });

  test("amounts are counted as the vendor counts them, and one that does not fit is refused before anything is sent", async () => {
    const amount = (currency: string, amountMinor: number) => checkoutAmount({ ...orderOf({ currency, amountMinor }), mode: "charge" });
    assert.deepEqual([amount("USD", 4995), amount("JPY", 500), amount("KWD", 1250)], [4995, 500, 1250]);
    assert.deepEqual([amount("CLP", 500), amount("ISK", 500), amount("TND", 1005), amount("CLF", 12345)], [50_000, 500, null, null]);
    const io = ioWith([answered(201, PAYMENT)]);
    assert.equal(codeOf(await checkout.charge(orderOf({ currency: "CLF", amountMinor: 12345 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
  });

  test("keys of another kind, platform or environment are named", () => {
    assert.equal(withKey("sk_sbox_examplesecretkeyabcdefgh234"), null);
    assert.equal(withKey("sk_examplesecretkeyabcdefgh234", "live"), null);
    assert.equal(withKey("sk_sboxexamplesecretkeyabcdefgh234"), null);
    assert.match(withKey("pk_sbox_examplesecretkeyabcdefgh234") ?? "", /public key/);
    assert.match(withKey("sk_test_0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0") ?? "", /previous platform/);
    assert.match(withKey("sk_0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "live") ?? "", /previous platform/);
    assert.match(withKey("sk_examplesecretkeyabcdefgh234") ?? "", /live key/);
    assert.match(withKey("sk_sbox_examplesecretkeyabcdefgh234", "live") ?? "", /sandbox key/);
    assert.match(withKey("secret") ?? "", /not a secret key/);
    const fault = (name: string, value: string) =>
      checkout.checkSettings({ ...settings, credentials: { ...settings.credentials, [name]: new Secret(value) } });
    assert.match(fault("prefix", "evil.example/") ?? "", /^prefix/);
    assert.match(fault("processing_channel_id", "pc_1") ?? "", /^processing_channel_id/);
  });
});

describe("checkoutcom responses", () => {
  test("every code of the vendor's table means what it says; what may have been taken is looked up", async () => {
    const rows: Readonly<Record<string, string>> = {
      do_not_honor: "20005",
      insufficient_funds: "20051",
      expired_card: "20054 30033",
      incorrect_number: "20014 20056 20101 30015",
      incorrect_cvc: "200N7 20055 20124 40104 20087",
      invalid_expiry: "20100",
      incorrect_zip: "40108 40111 20107 20123",
      card_not_supported: "20057 20062 20103 20039 20052 20053 20083 200T3 30016 30019",
      lost_or_stolen: "30004 30007 30036 30041 30043 20067",
      fraud_suspected:
        "20059 20063 20183 20105 30034 30037 40101 40103 40131 40139 40141 40149 40180 40201 40205 40999 41101 42206 43102 43301",
      limit_exceeded: "20038 20061 20065 20075 20121 200P1 200P9 30021 30022 30038 40150 40169 40170 40210 40239",
      authentication_required: "20150 20155 20159 40110 43401",
      card_declined:
        "20001 20002 20046 20060 20066 20078 20108 20179 20182 200N0 200R1 200R3 200R7 30035 30044 30046 20012 20099 20999 30999 constructor",
      processing_error: "20006 20019 20022 20030 20086 20088 20091 20092 20095 20096 20098",
      gateway_misconfigured: "20003 20013 20020 20031 20040 20058 20102 20104 20106 20109 20120 20156 20157 40102 40109 30020 30045 50001",
      unknown: "20094 20009 20068 20118",
    };
    for (const [ours, codes] of Object.entries(rows))
      for (const code of codes.split(" ")) assert.equal(codeOf(await charge(answered(201, declinedWith(code)))), ours, code);
    const later = async (code: string) => codeOf(await lookUp(orderOf(), found(declinedWith(code)), answered(200, declinedWith(code))));
    assert.deepEqual(
      [await later("20094"), await later("20009"), await later("20068")],
      ["duplicate_transaction", "processing_error", "processing_error"],
    );
  });

  test("a refused request says which field was wrong, and keys and rights are told apart from it", async () => {
    for (const [name, ours] of [
      ["card_expired", "expired_card"],
      ["card_number_invalid", "incorrect_number"],
      ["card_number_required", "incorrect_number"],
      ["card_expiry_month_invalid", "invalid_expiry"],
      ["card_expiry_year_required", "invalid_expiry"],
      ["cvv_invalid", "incorrect_cvc"],
      ["address_zip_invalid", "incorrect_zip"],
      ["card_disabled", "card_not_supported"],
      ["card_authorization_failed", "card_declined"],
      ["3ds_payment_required", "authentication_required"],
      ["api_calls_quota_exceeded", "gateway_unavailable"],
      // Faults behind the gateway: the payment may have been taken.
      ["processing_error", "unknown"],
      ["service_unavailable", "unknown"],
      ["issuer_network_unavailable", "unknown"],
      ["processing_channel_id_required", "gateway_misconfigured"],
      ["constructor", "gateway_misconfigured"],
    ] as const)
      assert.equal(codeOf(await charge(invalid(name))), ours, name);
    assert.equal(codeOf(await charge(answered(422, { error_type: "processing_error" }))), "gateway_misconfigured");
    for (const status of [401, 403]) assert.equal(codeOf(await charge(answered(status, ""))), "gateway_credentials_invalid");
    for (const status of [404, 405, 415]) {
      assert.equal(codeOf(await charge(answered(status, { error_type: "request_invalid" }))), "gateway_misconfigured");
      assert.equal(codeOf(await charge(answered(status, ""))), "unknown", "said by whom?");
    }
    // "Too many requests or duplicate request detected": the first one may be at work.
    for (const answer of [
      answered(429, { error_type: "too_many" }),
      answered(429, ""),
      LOST,
      answered(500, {}),
      answered(409, {}),
      answered(201, "<html>"),
      answered(200, PAYMENT),
    ])
      assert.equal((await charge(answer)).outcome, "unknown");
  });

  test("a decline keeps its payment and words; a channel without MOTO is told which switch to set", async () => {
    const outcome = await charge(answered(201, declinedWith("20005")));
    assert.ok(outcome.outcome === "declined");
    assert.deepEqual([outcome.processor, outcome.message], [{ checkoutcom_payment_id: PAYMENT.id }, "Declined - Do Not Honour"]);
    const moto = await charge(answered(201, declinedWith("20157")));
    assert.match((moto.outcome === "declined" && moto.reason) || "", /set moto to false/);
  });

  test("a payment that is flagged waits for the merchant to capture it, and is held for review until he has (R-405)", async () => {
    // What a risk rule does with a payment is the merchant's setting: one that is only flagged is approved under the rule's code.
    for (const flagged of [
      { risk: { flagged: true } },
      { response_code: "10100" },
      { response_code: "40101" },
      { response_code: "43101" },
    ]) {
      const held = await charge(answered(201, { ...PAYMENT, ...flagged }));
      assert.equal(codeOf(held), "held_for_review");
      assert.deepEqual(held.outcome === "declined" && held.processor, { checkoutcom_payment_id: PAYMENT.id });
      const shown = (status: string) =>
        lookUp(orderOf(), found({ id: PAYMENT.id, reference: REFERENCE }), answered(200, { ...PAYMENT, ...flagged, status }));
      assert.equal(codeOf(await shown("Authorized")), "held_for_review");
      assert.equal((await shown("Captured")).outcome, "approved");
      const verified = await checkout.tokenize(storing(), ioWith([answered(201, { ...VERIFIED, ...flagged })]));
      assert.match((verified.outcome === "approved" && verified.reason) || "", /flagged/);
    }
  });

  test("an approval keeps its checks, and nothing less than an approval counts", async () => {
    const outcome = await charge(answered(201, PAYMENT));
    assert.deepEqual(outcome, {
      outcome: "approved",
      capture: "captured",
      processor: { checkoutcom_payment_id: PAYMENT.id },
      webhookProcessor: {
        auth_code: "655071",
        response_code: "10000",
        avs_result_code: "G",
        cvv_result_code: "Y",
        network_trans_id: "204565197912882",
      },
    });
    for (const change of [
      { amount: 499 },
      { currency: "EUR" },
      { id: "ch_1" },
      { status: "constructor" },
      { status: "Card Verified" },
      { response_code: "20005" },
      { response_code: undefined },
      { approved: "true" },
      { approved: false, status: "Captured" },
      { reference: "another" },
    ])
      assert.equal((await charge(answered(201, { ...PAYMENT, ...change }))).outcome, "unknown", JSON.stringify(change));
  });

  test("a payment at work is read until it is decided; one that waits for a browser is refused", async () => {
    const works = { ...PAYMENT, approved: undefined, status: "Pending", response_code: undefined };
    const io = ioWith([answered(202, works), LOST, answered(200, works), answered(200, { ...PAYMENT, status: "Captured" })]);
    assert.equal((await checkout.charge(orderOf(), io)).outcome, "approved");
    assert.equal(io.sent[1]?.request.url, `${BASE}/payments/${PAYMENT.id}`);
    assert.equal(io.notes["payment"], PAYMENT.id);
    assert.equal((await charge(answered(202, works))).outcome, "unknown");
    assert.equal(
      (await charge(answered(201, { ...works, status: "Retry Scheduled" }), answered(200, declinedWith("20051")))).outcome,
      "declined",
    );
    const redirect = { ...works, _links: { redirect: { href: "https://3ds.example" } } };
    assert.equal(codeOf(await charge(answered(202, redirect))), "authentication_required");
    const known = ioWith([answered(200, PAYMENT)]);
    assert.equal((await checkout.lookUp!(traceOf(orderOf(), { payment: PAYMENT.id }), known)).outcome, "approved");
    assert.equal(known.sent[0]?.request.url, `${BASE}/payments/${PAYMENT.id}`);
  });

  test("a part of the amount is sent back and refused; where that is not confirmed it is unknown", async () => {
    const part = answered(201, { ...PAYMENT, response_code: "10010" });
    const none = answered(200, []);
    const io = ioWith([
      part,
      none,
      answered(202, { action_id: "act_1" }),
      answered(200, PAYMENT),
      answered(200, { ...PAYMENT, status: "Voided" }),
    ]);
    assert.equal(codeOf(await checkout.charge(orderOf(), io)), "card_declined");
    const { request, body } = io.sent[2]!;
    assert.deepEqual([request.url, body], [`${BASE}/payments/${PAYMENT.id}/reversals`, `{"reference":"${REFERENCE}"}`]);
    assert.equal(request.headers["Cko-Idempotency-Key"], `${SESSION}-1-reversal`);
    assert.equal(codeOf(await charge(part, none, answered(204, ""))), "card_declined");
    assert.equal((await charge(part, none, answered(403, ""))).outcome, "unknown");
    // Of a card that was declined nothing was taken, and there is nothing to send back.
    const declined = ioWith([answered(201, declinedWith("20010"))]);
    assert.equal(codeOf(await checkout.charge(orderOf(), declined)), "card_declined");
    assert.equal(declined.sent.length, 1);
    assert.equal((await charge(answered(201, { ...PAYMENT, status: "Declined" }))).outcome, "unknown");
    assert.equal((await charge(part, none, answered(202, {}), answered(200, PAYMENT))).outcome, "unknown");
  });

  test("a lost payment is found by its reference; a decline's code is read from its actions", async () => {
    const io = ioWith([found(PAYMENT), answered(200, { ...PAYMENT, status: "Captured" })]);
    assert.equal((await checkout.lookUp!(traceOf(orderOf()), io)).outcome, "approved");
    assert.deepEqual(
      io.sent.map(({ request }) => request.url),
      [`${BASE}/payments?reference=${REFERENCE}&limit=10&skip=0`, `${BASE}/payments/${PAYMENT.id}`],
    );
    const codeless = { ...declinedWith("x"), response_code: undefined };
    const inside = { ...codeless, actions: [{ response_code: "20051" }] };
    assert.equal(codeOf(await lookUp(orderOf(), found(codeless), answered(200, inside))), "insufficient_funds");
    const actions = answered(200, [{ type: "Authorization", response_code: "30041" }]);
    assert.equal(codeOf(await lookUp(orderOf(), found(codeless), answered(200, codeless), actions)), "lost_or_stolen");
    assert.equal(codeOf(await lookUp(orderOf(), found(codeless), answered(200, codeless), LOST)), "card_declined");
    assert.equal(codeOf(await lookUp(orderOf(), found(PAYMENT), answered(200, { ...PAYMENT, status: "Refunded" }))), "processing_error");
    assert.equal(
      (await lookUp(orderOf(), found({ ...PAYMENT, status: "Pending" }), answered(200, { ...PAYMENT, status: "Pending" }))).outcome,
      "pending",
    );
    assert.equal((await lookUp(storing(), found(VERIFIED), answered(200, VERIFIED))).outcome, "approved");
  });

  test("a look-up that finds nothing, or says nothing, is no refusal", async () => {
    assert.equal((await lookUp(orderOf(), found())).outcome, "absent");
    assert.equal((await lookUp(orderOf(), found({ ...PAYMENT, reference: "another" }))).outcome, "unknown");
    const twins = [found(PAYMENT, { ...PAYMENT, id: "pay_other" }), answered(200, PAYMENT), answered(200, { ...PAYMENT, id: "pay_other" })];
    assert.equal((await lookUp(orderOf(), ...twins)).outcome, "unknown");
    assert.equal((await lookUp(orderOf(), answered(200, { total_count: 20, data: [PAYMENT] }))).outcome, "unknown");
    assert.equal((await lookUp(orderOf(), found(PAYMENT), answered(404, {}))).outcome, "unknown");
    for (const answer of [LOST, answered(500, {}), answered(200, "[]")]) assert.equal((await lookUp(orderOf(), answer)).outcome, "unknown");
  });

  test("a second delivery that is refused as one does not end the payment: the first is looked up (R-422)", async () => {
    for (const refusal of [invalid("duplicate_request"), invalid("idempotency_key_in_use"), invalid("request_in_progress")])
      assert.equal((await charge(refusal)).outcome, "unknown");
    assert.equal((await charge(answered(422, { error_type: "duplicate_request" }))).outcome, "unknown");
    assert.equal((await charge(answered(409, {}))).outcome, "unknown");
  });

  test("a void or refund that was declined after it had been accepted is asked for again under a key of its own, one at work is not (R-422)", async () => {
    const action = (type: string, more: object = {}) => ({ id: "act_1", type, ...more });
    for (const [actions, key] of [
      [[action("Authorization", { approved: true, response_code: "10000" })], "reversal"],
      [[action("Refund")], "reversal"],
      [[action("Refund", { approved: true, response_code: "10000" })], "reversal"],
      [[action("Void", { approved: false })], "reversal"],
      [[action("Void", { approved: false, response_code: "20012" })], "reversal-1"],
      [[action("Refund", { approved: false, response_code: "20006" }), action("Void", { response_code: "20012" })], "reversal-2"],
      [[action("Capture", { approved: false, response_code: "20006" })], "reversal"],
    ] as const) {
      let reads = 0;
      const io = testIo(settingsOf(checkout), ({ url }) => {
        if (url.endsWith("/actions")) return Promise.resolve(answered(200, actions));
        if (url.endsWith("/reversals")) return Promise.resolve(answered(202, { action_id: "act_2" }));
        return Promise.resolve(answered(200, { ...PAYMENT, status: reads++ === 0 ? "Captured" : "Refunded" }));
      });
      assert.equal((await checkout.void!(traceOf(orderOf(), { payment: PAYMENT.id }), io)).outcome, "voided");
      const keys = io.sent.flatMap(({ request }) => request.headers["Cko-Idempotency-Key"] ?? []);
      assert.deepEqual(keys, [`${SESSION}-1-${key}`], JSON.stringify(actions));
    }
    const io = ioWith([answered(200, PAYMENT), LOST]);
    assert.equal((await checkout.void!(traceOf(orderOf(), { payment: PAYMENT.id }), io)).outcome, "unknown");
    assert.equal(io.sent.length, 2);
  });

  test("a stored card is taken out of the vendor's keeping by its source", async () => {
    const io = ioWith([found(VERIFIED), answered(200, VERIFIED), answered(204, "")]);
    assert.equal((await checkout.void!(traceOf(storing()), io)).outcome, "voided");
    assert.deepEqual([io.sent[2]?.request.method, io.sent[2]?.request.url], ["DELETE", `${BASE}/instruments/${PAYMENT.source.id}`]);
  });

  test("a stored card that is not there any more was taken out by a removal whose own answer was lost (R-422)", async () => {
    const removed = async (answer: GatewayAnswer) =>
      (await checkout.void!(traceOf(storing()), ioWith([found(VERIFIED), answered(200, VERIFIED), answer]))).outcome;
    assert.equal(await removed(answered(404, "")), "voided");
    for (const answer of [LOST, answered(401, ""), answered(403, ""), answered(500, "")]) assert.equal(await removed(answer), "unknown");
  });
});
