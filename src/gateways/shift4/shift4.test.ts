import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const shift4 = GATEWAYS_BUILT.shift4!;
const settings = settingsOf(shift4, { credentials: { secret_key: new Secret("pr_test_EXAMPLE") } });
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const CHARGE = {
  id: "char_orHIzAMJlAKDGuQLKCjLuhJg",
  objectType: "charge",
  amount: 4995,
  currency: "USD",
  status: "successful",
  captured: true,
  refunded: false,
  metadata: { sessionId: SESSION, attempt: "1" },
};
const HOLD = { ...CHARGE, id: "char_hold", amount: 100, captured: false };
const CUSTOMER = {
  id: "cust_AoR0wvgntQWRUYMdZNLYMz5R",
  defaultCardId: "card_8P7OWXA5xiTS1ISnyZcum1KV",
  cards: [{ id: "card_8P7OWXA5xiTS1ISnyZcum1KV" }],
};
const SENT_BACK = answered(200, { id: "re_1", objectType: "refund", status: "successful" });
const STORED = { shift4_customer_id: CUSTOMER.id, shift4_card_id: CUSTOMER.defaultCardId };
const error = (code: string | undefined, more: object = {}, status = 402, type = "card_error") =>
  answered(status, { error: { type, ...(code !== undefined && { code }), message: "The card was declined.", ...more } });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => shift4.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("shift4 requests", () => {
  test("the vendor counts shillings of Uganda in hundredths, though ISO 4217 knows none, and all else as that does", async () => {
    for (const [currency, amountMinor, amount] of [
      ["UGX", 5000, 500_000],
      ["ISK", 5000, 5000],
      ["JPY", 5000, 5000],
      ["KWD", 5000, 5000],
    ] as const) {
      const io = ioWith([answered(200, { ...CHARGE, currency, amount })]);
      assert.equal((await shift4.charge(orderOf({ currency, amountMinor }), io)).outcome, "approved", currency);
      assert.match(io.sent[0]?.body ?? "", new RegExp(`"amount":${amount},"currency":"${currency}"`));
      const back = ioWith([answered(200, { hasMore: false, list: [{ ...CHARGE, currency, amount }] }), SENT_BACK]);
      assert.equal((await shift4.void!(traceOf(orderOf({ currency, amountMinor })), back)).outcome, "voided", currency);
      assert.match(back.sent[1]?.body ?? "", new RegExp(`"amount":${amount}}`));
    }
  });

  test("a charge is one JSON body under an idempotency key, the secret key as the user of Basic authentication", async () => {
    const io = ioWith([answered(200, CHARGE)]);
    await shift4.charge(orderOf({ card: cardOf("4111111111111111", { year: "2030", name: "Ada Byron" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://api.shift4.com/charges");
    assert.partialDeepStrictEqual(request.headers, {
      Authorization: "Basic cHJfdGVzdF9FWEFNUExFOg==",
      "Content-Type": "application/json",
      "Idempotency-Key": `${SESSION}-charge-1`,
    });
    assert.equal(
      body,
      '{"amount":4995,"currency":"USD","description":"Invoice 1001","captured":true,' +
        '"card":{"number":"4111111111111111","expMonth":"03","expYear":"2030","cvc":"123","cardholderName":"Ada Byron","addressZip":"44628"},' +
        `"metadata":{"sessionId":"${SESSION}","attempt":"1"}}`,
    );
  });

  test("the merchant account is the channel's; the widget tells the shopper's address; what is missing is left out", async () => {
    const credentials = {
      secret_key: new Secret("pr_test_EXAMPLE"),
      merchant_account_id: new Secret("ma_voice"),
      merchant_account_id_widget: new Secret("ma_widget"),
    };
    const io = ioWith([answered(200, CHARGE)], { credentials });
    const card = () => cardOf("4111111111111111", { cvv: "", zip: null });
    await shift4.charge(orderOf({ card: card(), description: null }), io);
    await shift4.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", card: card() }), io);
    assert.match(io.sent[0]?.body ?? "", /"merchantAccountId":"ma_voice"/);
    assert.doesNotMatch(io.sent[0]?.body ?? "", /cvc|addressZip|description|fraudCheckData/);
    assert.match(io.sent[1]?.body ?? "", /"fraudCheckData":\{"ipAddress":"203\.0\.113\.7"\}\},"merchantAccountId":"ma_widget"/);
  });

  test("a card is stored with a customer, verified by a hold that is released, and deleted again when the issuer refuses it", async () => {
    const io = ioWith([answered(200, CUSTOMER), answered(200, HOLD), SENT_BACK]);
    const outcome = await shift4.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, STORED);
    assert.deepEqual(
      io.sent.map(({ request, body }) => [request.method, new URL(request.url).pathname, (JSON.parse(body) as { amount?: number }).amount]),
      [
        ["POST", "/customers", undefined],
        ["POST", "/charges", 100],
        ["POST", "/refunds", undefined],
      ],
    );
    assert.match(io.sent[0]?.body ?? "", /"email":"session-3f6c0a5e9b1d4c7a8e21@payments\.invalid"/);
    assert.match(
      io.sent[1]?.body ?? "",
      /"captured":false,"customerId":"cust_AoR0wvgntQWRUYMdZNLYMz5R","card":"card_8P7OWXA5xiTS1ISnyZcum1KV"/,
    );
    assert.equal(io.sent[2]?.body, '{"chargeId":"char_hold"}');
    const refused = ioWith([answered(200, CUSTOMER), error("insufficient_funds"), answered(200, {})]);
    assert.equal(codeOf(await shift4.tokenize(storing, refused)), "insufficient_funds");
    assert.deepEqual(
      [refused.sent[2]?.request.method, refused.sent[2]?.request.url],
      ["DELETE", `https://api.shift4.com/customers/${CUSTOMER.id}`],
    );
    const unverified = ioWith([answered(200, CUSTOMER)], { options: { verify: false } });
    assert.equal((await shift4.tokenize(storing, unverified)).outcome, "approved");
    assert.equal(unverified.sent.length, 1);
  });

  test("settings that cannot work are named", () => {
    const fault = (key: string, environment: "test" | "live" = "test") =>
      shift4.checkSettings({ ...settings, environment, credentials: { secret_key: new Secret(key) } });
    assert.equal(fault("sk_test_x"), null);
    assert.equal(fault("sk_x", "live"), null);
    assert.match(fault("pu_test_x") ?? "", /public/);
    assert.match(fault("sk_x") ?? "", /live key/);
    assert.match(fault("pr_test_x", "live") ?? "", /test key/);
    assert.match(fault("sk_test_\u0001") ?? "", /secret_key/);
    const credentials = { secret_key: new Secret("sk_test_x"), merchant_account_id_widget: new Secret("12345") };
    assert.match(shift4.checkSettings({ ...settings, credentials }) ?? "", /merchant_account_id_widget/);
  });
});

describe("shift4 responses", () => {
  test("every code of the vendor's table means what it says, in an error and in a failed charge", async () => {
    const rows: Readonly<Record<string, string>> = {
      card_declined: "card_declined payment_method_declined invalid_account constructor",
      insufficient_funds: "insufficient_funds",
      expired_card: "expired_card",
      incorrect_number: "invalid_number incorrect_number",
      incorrect_cvc: "invalid_cvc incorrect_cvc",
      incorrect_zip: "incorrect_zip incorrect_address",
      invalid_expiry: "invalid_expiry_month invalid_expiry_year",
      lost_or_stolen: "lost_or_stolen",
      fraud_suspected: "suspected_fraud blacklisted",
      limit_exceeded: "limit_exceeded",
      do_not_honor: "do_not_try_again",
      authentication_required: "authentication_required",
      card_not_supported: "brand_not_supported",
      processing_error: "processing_error",
      gateway_misconfigured: "currency_not_supported amount_too_high amount_too_low",
    };
    for (const [ours, codes] of Object.entries(rows)) {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(error(code))), ours, code);
        assert.equal(codeOf(await charge(answered(200, { ...CHARGE, status: "failed", failureCode: code }))), ours, code);
      }
    }
    for (const [issuer, ours] of Object.entries({
      "05": "do_not_honor",
      "51": "insufficient_funds",
      "54": "expired_card",
      "41": "lost_or_stolen",
      "1A": "authentication_required",
      N7: "incorrect_cvc",
      "91": "processing_error",
    }))
      assert.equal(codeOf(await charge(error("card_declined", { issuerDeclineCode: issuer }))), ours, issuer);
    assert.equal(codeOf(await charge(error("expired_card", { issuerDeclineCode: "51" }))), "expired_card");
    assert.equal(codeOf(await charge(error(undefined, {}, 400, "invalid_request"))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(error(undefined, {}, 401, "invalid_request"))), "gateway_credentials_invalid");
    for (const status of [401, 403]) assert.equal(codeOf(await charge(answered(status, ""))), "gateway_credentials_invalid");
  });

  test("a decline keeps the charge that the vendor made for it", async () => {
    const outcome = await charge(error("card_declined", { chargeId: "char_mApucpvVbCJgo7x09Je4n9gC" }));
    assert.deepEqual(outcome.outcome === "declined" && outcome.processor, { shift4_charge_id: "char_mApucpvVbCJgo7x09Je4n9gC" });
  });

  test("a charge of another sum, in another state or without an id is unknown; one that is not captured is held", async () => {
    for (const change of [
      { amount: 499 },
      { currency: "EUR" },
      { status: "constructor" },
      { status: 7 },
      { id: "ch_1" },
      { refunded: true },
      { failureCode: "card_declined" },
      { metadata: { sessionId: "another", attempt: "1" } },
      { metadata: { sessionId: SESSION, attempt: "2" } },
    ])
      assert.equal((await charge(answered(200, { ...CHARGE, ...change }))).outcome, "unknown", JSON.stringify(change));
    const held = await charge(answered(200, { ...CHARGE, captured: false }));
    assert.equal(held.outcome === "approved" && held.capture, "authorized");
    assert.equal((await charge(answered(200, { ...CHARGE, status: undefined }))).outcome, "approved");
  });

  test("a charge at work is read until it is decided; one that waits for a browser is refused", async () => {
    const waits = answered(200, { ...CHARGE, status: "pending" });
    assert.equal((await charge(waits, waits, answered(200, CHARGE))).outcome, "approved");
    assert.equal((await charge(waits)).outcome, "unknown");
    const redirect = answered(200, { ...CHARGE, status: "pending", flow: { nextAction: "redirect" } });
    assert.equal(codeOf(await charge(redirect)), "authentication_required");
  });

  test("a lost charge is repeated under its key, then looked for by its metadata, page by page", async () => {
    const io = ioWith([LOST, error(undefined, {}, 500, "gateway_error"), answered(200, CHARGE)]);
    assert.equal((await shift4.charge(orderOf(), io)).outcome, "approved");
    assert.equal(new Set(io.sent.map(({ request }) => request.headers["Idempotency-Key"])).size, 1);
    assert.equal((await charge(LOST)).outcome, "unknown");
    assert.equal((await charge(error(undefined, {}, 400, "gateway_error"))).outcome, "unknown");
    const page = (items: object[], hasMore: boolean) => answered(200, { list: items, hasMore });
    const other = { ...CHARGE, id: "char_other", metadata: { sessionId: SESSION, attempt: "2" } };
    const search = ioWith([page([other], true), page([CHARGE], false)]);
    assert.equal((await shift4.lookUp!(traceOf(orderOf()), search)).outcome, "approved");
    assert.match(search.sent[1]?.request.url ?? "", /startingAfterId=char_other$/);
    const slow = ioWith([page([CHARGE], false)]);
    await shift4.lookUp!(traceOf(orderOf(), {}, 1_764_000_000_000), slow);
    assert.match(slow.sent[0]?.request.url ?? "", /\?created%5Bgte%5D=1763999100&limit=100$/);
    assert.equal((await shift4.lookUp!(traceOf(orderOf()), ioWith([page([other], false)]))).outcome, "absent");
    assert.equal((await shift4.lookUp!(traceOf(orderOf()), ioWith([LOST]))).outcome, "unknown");
  });

  test("a refused twin in the list hides no payment that stands or is at work; one that was sent back whole is none", async () => {
    const failed = { ...CHARGE, id: "char_failed", status: "failed", failureCode: "card_declined" };
    const found = async (...list: object[]) =>
      codeOf(await shift4.lookUp!(traceOf(orderOf()), ioWith([answered(200, { list, hasMore: false })])));
    assert.equal(await found(failed, { ...CHARGE, status: "pending" }), "pending");
    assert.equal(await found(failed, { ...CHARGE, status: "new" }), "unknown");
    assert.equal(await found(failed, CHARGE), "approved");
    assert.equal(await found(CHARGE, { ...CHARGE, status: "pending" }), "unknown");
    assert.equal(await found(failed, failed), "card_declined");
    assert.equal(await found({ ...CHARGE, refunded: true, amountRefunded: 4995 }), "processing_error");
    assert.equal(await found({ ...CHARGE, refunded: true, amountRefunded: 1000 }), "unknown");
  });

  test("a stored card whose verification was lost is found by the hold, which is then released", async () => {
    const notes = { customer: CUSTOMER.id, card: CUSTOMER.defaultCardId };
    const io = ioWith([answered(200, { list: [HOLD], hasMore: false }), SENT_BACK]);
    const found = await shift4.lookUp!(traceOf(storing, notes), io);
    assert.deepEqual(found.outcome === "approved" && found.processor, STORED);
    assert.equal(io.sent[1]?.body, '{"chargeId":"char_hold"}');
    // A customer whose answer was lost, and one whose hold is not there, may be stored all the same.
    const perhapsStored = { outcome: "absent", mayBeStored: true };
    assert.deepEqual(await shift4.lookUp!(traceOf(storing), io), perhapsStored);
    const none = answered(200, { list: [], hasMore: false });
    assert.deepEqual(await shift4.lookUp!(traceOf(storing, notes), ioWith([none])), perhapsStored);
    const removal = ioWith([none, answered(200, { id: CUSTOMER.id })]);
    assert.equal((await shift4.void!(traceOf(storing, notes), removal)).outcome, "voided");
    assert.match(removal.sent[1]?.request.url ?? "", /\/customers\/cust_/);
  });

  test("a customer whose every answer is lost fails, and may be stored; one that is refused, or never sent, is not (I4)", async () => {
    const store = async (...answers: GatewayAnswer[]) => {
      const outcome = await shift4.tokenize(storing, ioWith(answers));
      return [codeOf(outcome), outcome.outcome === "declined" && outcome.mayBeStored === true];
    };
    assert.deepEqual(await store(LOST), ["gateway_unavailable", true]);
    for (const wordless of ["<html>", {}, { id: CUSTOMER.id }])
      assert.deepEqual(await store(answered(200, wordless)), ["gateway_unavailable", true], JSON.stringify(wordless));
    const refused = answered(400, { error: { type: "invalid_request", message: "Invalid request" } });
    assert.deepEqual(await store(refused), ["gateway_misconfigured", false]);
    assert.deepEqual(await store(LOST, refused), ["gateway_unavailable", true]);
    assert.deepEqual(await store({ kind: "not sent", reason: "connection refused" }), ["gateway_unavailable", false]);
  });

  test("a card that was stored without a verification is found by the ids that were noted, and a void takes it away", async () => {
    const trace = traceOf(storing, { customer: CUSTOMER.id, card: CUSTOMER.defaultCardId });
    const io = ioWith([], { options: { verify: false } });
    assert.deepEqual(await shift4.lookUp!(trace, io), { outcome: "approved", capture: "captured", processor: STORED });
    const removal = ioWith([answered(200, { id: CUSTOMER.id })], { options: { verify: false } });
    assert.equal((await shift4.void!(trace, removal)).outcome, "voided");
    assert.equal(removal.sent[0]?.request.method, "DELETE");
  });

  test("a refused card whose removal has no answer may be stored: it is taken out later, or listed (I4)", async () => {
    const refused = error("insufficient_funds");
    for (const [answer, mayBeStored] of [
      [LOST, true],
      [answered(500, {}), true],
      [answered(200, {}), undefined],
      [answered(404, {}), undefined],
    ] as const) {
      const outcome = await shift4.tokenize(storing, ioWith([answered(200, CUSTOMER), refused, answer]));
      assert.deepEqual([codeOf(outcome), outcome.outcome === "declined" && outcome.mayBeStored], ["insufficient_funds", mayBeStored]);
    }
    const trace = traceOf(storing, { customer: CUSTOMER.id, card: CUSTOMER.defaultCardId });
    const list = answered(200, { list: [{ ...HOLD, status: "failed", failureCode: "insufficient_funds" }], hasMore: false });
    assert.equal((await shift4.void!(trace, ioWith([list, LOST]))).outcome, "unknown");
    assert.equal((await shift4.void!(trace, ioWith([list, answered(404, {})]))).outcome, "nothing to void");
  });

  test("a verification whose hold was released already is not released again", async () => {
    const notes = { customer: CUSTOMER.id, card: CUSTOMER.defaultCardId };
    const released = { ...HOLD, amount: 0, captured: true, refunded: true, refunds: [{ amount: 100, currency: "USD" }] };
    const io = ioWith([answered(200, { list: [released], hasMore: false })]);
    assert.deepEqual(await shift4.lookUp!(traceOf(storing, notes), io), { outcome: "approved", capture: "captured", processor: STORED });
    assert.equal(io.sent.length, 1);
  });
});

describe("shift4, reversals", () => {
  const KNOWN = { shift4_charge_id: CHARGE.id };
  const reverse = async (...answers: GatewayAnswer[]) => {
    const io = ioWith(answers);
    const { outcome } = await shift4.void!(traceOf(orderOf(), KNOWN), io);
    return { outcome, requests: io.sent.map(({ request: { method, url }, body }) => `${method} ${new URL(url).pathname} ${body}`.trim()) };
  };

  test("the amount of a charge is what refunds have left of it: one that was sent back whole ends, and a part is for the operator (R-422)", async () => {
    const cases: readonly (readonly [charge: object, outcome: string])[] = [
      [{ refunded: true, amountRefunded: 4995 }, "nothing to void"],
      [{ amount: 0, refunded: true, refunds: [{ created: 1_426_675_529_990, amount: 4995, currency: "USD" }] }, "nothing to void"],
      [{ amount: 0, refunded: true, refunds: [1995, 3000].map((amount) => ({ amount, status: "successful" })) }, "nothing to void"],
      [{ amount: 4695, refunded: true, refunds: [{ amount: 300 }] }, "unknown"],
      [{ amount: 0, refunded: true, refunds: [{ amount: 300 }] }, "unknown"],
      [{ amount: 0, refunded: true }, "unknown"],
    ];
    for (const [charge, outcome] of cases) {
      const found = await reverse(answered(200, { ...CHARGE, ...charge }), SENT_BACK);
      assert.deepEqual([found.outcome, found.requests.length], [outcome, 1], JSON.stringify(charge));
    }
  });

  test("nothing is sent while a refund is at work, and one that failed is none (R-422)", async () => {
    for (const status of ["pending", "another"])
      for (const more of [{}, { amount: 0, refunded: true, amountRefunded: 4995 }]) {
        const charge = { ...CHARGE, refunds: [{ amount: 4995, status }], ...more };
        assert.deepEqual(await reverse(answered(200, charge), SENT_BACK), {
          outcome: "unknown",
          requests: [`GET /charges/${CHARGE.id}`],
        });
      }
    const failed = { ...CHARGE, refunds: [{ amount: 4995, status: "failed" }] };
    assert.equal((await reverse(answered(200, failed), SENT_BACK)).outcome, "voided");
  });

  test("a refund names its sum, so that Shift4 refuses a second one, and counts once it is called successful", async () => {
    assert.deepEqual(await reverse(answered(200, CHARGE), SENT_BACK), {
      outcome: "voided",
      requests: [`GET /charges/${CHARGE.id}`, `POST /refunds {"chargeId":"${CHARGE.id}","amount":4995}`],
    });
    for (const status of ["pending", "failed", undefined, "constructor"])
      assert.equal((await reverse(answered(200, CHARGE), answered(200, { id: "re_1", status }))).outcome, "unknown");
  });

  test("a refund that was answered and not made is asked for under another key: its own would be answered the same (R-422)", async () => {
    const notes: Record<string, string> = { ...KNOWN };
    const keys = async (answer: GatewayAnswer) => {
      const io = testIo(settings, ({ method }) => Promise.resolve(method === "POST" ? answer : answered(200, CHARGE)));
      const { outcome } = await shift4.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      return [outcome, ...new Set(io.sent.slice(1).map(({ request }) => request.headers["Idempotency-Key"]))];
    };
    assert.deepEqual(await keys(LOST), ["unknown", `${SESSION}-refund-1`]);
    assert.deepEqual(await keys(answered(200, { id: "re_1", status: "failed" })), ["unknown", `${SESSION}-refund-1`]);
    assert.deepEqual(await keys(answered(502, "<html>")), ["unknown", `${SESSION}-refund1-1`]);
    assert.deepEqual(await keys(SENT_BACK), ["voided", `${SESSION}-refund2-1`]);
  });

  test("a payment whose id is known is read by it, however many the merchant has taken since", async () => {
    const others = answered(200, { list: [{ ...CHARGE, id: "char_other", metadata: {} }], hasMore: true });
    const io = testIo(settings, ({ method, url }) =>
      Promise.resolve(method === "POST" ? SENT_BACK : url.endsWith(CHARGE.id) ? answered(200, CHARGE) : others),
    );
    assert.deepEqual(await shift4.void!(traceOf(orderOf(), KNOWN), io), { outcome: "voided" });
    for (const answer of [LOST, answered(404, {}), answered(200, { ...CHARGE, id: "char_other" })])
      assert.equal((await reverse(answer, SENT_BACK)).outcome, "unknown");
  });
});
