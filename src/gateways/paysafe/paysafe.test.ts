import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const paysafe = GATEWAYS_BUILT.paysafe!;
const settings = settingsOf(paysafe);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const ACCOUNT = "https://api.test.paysafe.com/cardpayments/v1/accounts/1002158490";
const PROFILES = "https://api.test.paysafe.com/customervault/v1/profiles";

/** The vendor's recordings, shortened. */
const AUTH = {
  id: "cddbd29d-4983-4719-983a-c6a862895781",
  merchantRefNum: `${SESSION}-1`,
  status: "COMPLETED",
  amount: 4995,
  settleWithAuth: true,
  card: { type: "VI", lastDigits: "4242" },
  authCode: "544454",
  currencyCode: "USD",
  avsResponse: "MATCH",
  cvvVerification: "MATCH",
  settlements: [{ id: "9f2bd29d-4983-4719-983a-c6a862895999", status: "PENDING", amount: 4995 }],
};
const VERIFICATION = {
  id: "2b48475a-e3e7-47b0-8d84-66a331db9945",
  merchantRefNum: `${SESSION}-1-v`,
  status: "COMPLETED",
  currencyCode: "USD",
};
const PROFILE = {
  id: "bd4e8c66-b023-4b38-b499-bc6d447d1466",
  status: "ACTIVE",
  merchantCustomerId: `${SESSION}-1`,
  paymentToken: "PnCQ1xyGCB4sOEq",
  cards: [{ id: "77685b40-e953-4999-a161-d13b46a8232a", lastDigits: "4242", cardType: "VI", paymentToken: "Ct0RrnyIs4lizeH" }],
};
const error = (status: number, code: string, more: object = {}, body: object = {}) =>
  answered(status, { ...body, error: { code, message: "The card has been declined.", ...more } });
const fieldError = (field: string) => error(400, "5068", { fieldErrors: [{ field, error: "is wrong" }] });
const list = (...auths: object[]) => answered(200, { auths });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => paysafe.charge(orderOf(), ioWith(answers));
const storing = (changes: Partial<Order> = {}) => orderOf({ mode: "tokenize", amountMinor: 0, ...changes });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const withCredentials = (more: Record<string, string>, options = settings.options) => ({
  options,
  credentials: { ...settings.credentials, ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, new Secret(value)])) },
});

describe("paysafe requests", () => {
  test("a sale is authorized and settled in one step, under the account and the API key", async () => {
    const io = ioWith([answered(200, AUTH)]);
    const card = cardOf("4111111111111111", { month: "05", year: "2030", name: "Jane Ann Doe" });
    const outcome = await paysafe.charge(orderOf({ card }), io);
    const { request, body } = io.sent[0]!;
    assert.deepEqual([request.method, request.url], ["POST", `${ACCOUNT}/auths`]);
    assert.partialDeepStrictEqual(request.headers, {
      Authorization: "Basic dGVzdF9leGFtcGxlbWVyY2hhbnQ6Qi1xYTItMC0wMTIzNDU2Nzg5YWJjZGVm",
      "Content-Type": "application/json; charset=utf-8",
      Accept: "application/json",
    });
    assert.equal(
      body,
      `{"merchantRefNum":"${SESSION}-1","amount":4995,"settleWithAuth":true,"dupCheck":true,` +
        '"card":{"cardNum":"4111111111111111","cardExpiry":{"month":5,"year":2030},"cvv":"123"},' +
        '"profile":{"firstName":"Jane Ann","lastName":"Doe"},"billingDetails":{"zip":"44628"},"description":"Invoice 1001"}',
    );
    assert.deepEqual(outcome, {
      outcome: "approved",
      capture: "captured",
      processor: { paysafe_auth_id: AUTH.id },
      webhookProcessor: { auth_code: "544454", avs_result_code: "MATCH", cvv_result_code: "MATCH" },
    });
  });

  test("telephone orders go to their own account, and are marked where Paysafe allows it; the widget tells the shopper's address", async () => {
    const changes = withCredentials({ moto_account_id: "89987201", country: "CA" }, { ...settings.options, send_entry_mode_moto: true });
    const io = ioWith([answered(200, AUTH)], changes);
    await paysafe.charge(orderOf(), io);
    await paysafe.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7" }), io);
    const [voice, widget] = io.sent;
    assert.match(voice?.request.url ?? "", /\/accounts\/89987201\/auths$/);
    assert.match(voice?.body ?? "", /"entryMode":"MOTO",.*"billingDetails":\{"zip":"44628","country":"CA"\}/);
    assert.match(widget?.request.url ?? "", /\/accounts\/1002158490\/auths$/);
    assert.match(widget?.body ?? "", /"customerIp":"203\.0\.113\.7"/);
    assert.doesNotMatch(widget?.body ?? "", /entryMode/);
    const search = ioWith([list(AUTH)], changes);
    await paysafe.lookUp!(traceOf(orderOf(), { account: "89987201" }), search);
    assert.equal(
      search.sent[0]?.request.url,
      `https://api.test.paysafe.com/cardpayments/v1/accounts/89987201/auths?merchantRefNum=${SESSION}-1&limit=10`,
    );
  });

  test("characters that the vendor refuses become blanks, and what is missing is left out", async () => {
    const io = ioWith([answered(200, AUTH)]);
    const card = cardOf("4111111111111111", { cvv: "", zip: null, name: 'Ann "A" <Doe>' });
    await paysafe.charge(orderOf({ card, description: 'c/o 12;3^4*5[6]\\7 "8"' }), io);
    assert.match(io.sent[0]?.body ?? "", /"card":\{"cardNum":"4111111111111111","cardExpiry":\{"month":3,"year":2060\}\},"profile"/);
    assert.match(io.sent[0]?.body ?? "", /"description":"c o 12 3 4 5 6 7 8"/);
    assert.doesNotMatch(io.sent[0]?.body ?? "", /billingDetails|<|;/);
  });

  test("a card is verified with its issuer, then stored with a profile of its own; only a card's token is kept", async () => {
    const io = ioWith([answered(200, VERIFICATION), answered(201, PROFILE)], withCredentials({ country: "US" }));
    const outcome = await paysafe.tokenize(storing({ card: cardOf("4111111111111111", { name: "Jane Doe" }) }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { paysafe_payment_token: "Ct0RrnyIs4lizeH" });
    assert.deepEqual(
      io.sent.map(({ request }) => request.url),
      [`${ACCOUNT}/verifications`, PROFILES],
    );
    assert.equal(
      io.sent[0]?.body,
      `{"merchantRefNum":"${SESSION}-1-v","storedCredential":{"type":"ADHOC","occurrence":"INITIAL"},"dupCheck":true,` +
        '"card":{"cardNum":"4111111111111111","cardExpiry":{"month":3,"year":2060},"cvv":"123"},' +
        '"profile":{"firstName":"Jane","lastName":"Doe"},"billingDetails":{"zip":"44628","country":"US"},"description":"Invoice 1001"}',
    );
    assert.equal(
      io.sent[1]?.body,
      `{"merchantCustomerId":"${SESSION}-1","locale":"en_US","firstName":"Jane","lastName":"Doe",` +
        '"card":{"cardNum":"4111111111111111","cardExpiry":{"month":3,"year":2060},"holderName":"Jane Doe",' +
        '"billingAddress":{"zip":"44628","country":"US"}}}',
    );
    const nameless = ioWith([answered(200, VERIFICATION), answered(200, PROFILE)]);
    await paysafe.tokenize(storing({ card: cardOf("4111111111111111", { cvv: "" }) }), nameless);
    assert.doesNotMatch(nameless.sent[0]?.body ?? "", /storedCredential|cvv/);
    assert.match(nameless.sent[1]?.body ?? "", /"holderName":"Cardholder"\}\}$/);
  });

  test("settings that cannot work are named; a sum the account cannot take is refused before anything is sent", async () => {
    const fault = (more: Record<string, string>) => paysafe.checkSettings({ ...settings, ...withCredentials(more) });
    assert.equal(fault({ moto_account_id: "89987201" }), null);
    assert.match(fault({ account_id: "A1" }) ?? "", /^account_id/);
    assert.match(fault({ username: "a:b" }) ?? "", /^username/);
    assert.match(fault({ password: "a b" }) ?? "", /^password/);
    assert.match(fault({ currency: "usd" }) ?? "", /^currency/);
    const io = ioWith([answered(200, AUTH)]);
    assert.equal(codeOf(await paysafe.charge(orderOf({ currency: "CAD" }), io)), "gateway_misconfigured");
    assert.equal(codeOf(await paysafe.tokenize(storing({ currency: "CAD" }), io)), "gateway_misconfigured");
    // The vendor's own programs do not count them as ISO 4217 does.
    for (const currency of ["ISK", "XOF", "IQD"]) {
      const other = ioWith([answered(200, AUTH)], withCredentials({ currency }));
      assert.equal(codeOf(await paysafe.charge(orderOf({ currency }), other)), "gateway_misconfigured");
      assert.equal(other.sent.length, 0);
    }
    const dinars = ioWith([answered(200, AUTH)], withCredentials({ currency: "KWD" }));
    assert.equal(codeOf(await paysafe.charge(orderOf({ currency: "KWD", amountMinor: 1005 }), dinars)), "gateway_misconfigured");
    assert.deepEqual([io.sent.length, dinars.sent.length], [0, 0]);
    const stored = ioWith([answered(200, VERIFICATION), answered(200, PROFILE)], withCredentials({ currency: "KWD" }));
    assert.equal((await paysafe.tokenize(storing({ currency: "KWD", amountMinor: 1005 }), stored)).outcome, "approved");
  });
});

describe("paysafe responses", () => {
  test("every code of the vendor's table means what it says", async () => {
    const rows: Readonly<Record<string, string>> = {
      do_not_honor: "402:3009 402:3015 402:3057",
      card_declined: "402:3013 402:3014 402:3029 402:3030 402:3035 402:3037 402:3038 402:5021 402:3033 400:5501 400:5502 402:constructor",
      insufficient_funds: "402:3022",
      expired_card: "400:3006 402:3049",
      invalid_expiry: "402:3012 402:3045",
      incorrect_number: "400:3002 402:3017",
      incorrect_cvc: "400:3005 402:3019",
      incorrect_zip: "400:3004 402:3007",
      card_not_supported: "400:3001 400:3008 400:3026 402:3011 402:3024 402:3036 402:3040 402:3055",
      lost_or_stolen: "402:3016 402:3051 402:3052 402:3053",
      fraud_suspected: "402:3032 402:3050 402:3054 402:4001 402:4002",
      limit_exceeded: "402:3023 402:3027 402:3047",
      authentication_required: "402:3039 402:3060",
      processing_error: "402:3018 402:3020 402:3042 400:3025",
      gateway_unavailable: "429:1200",
      gateway_credentials_invalid: "401:5000 401:5275 401:5279 401:5280",
      gateway_misconfigured:
        "401:5040 400:5001 400:5023 400:5068 404:5269 403:5270 406:5271 405:5281 402:3046 402:3048 400:3064 400:toString",
      // A fault of the gateway, and what the acquirer leaves open, are looked up.
      unknown: "500:1000 500:1007 502:1001 502:3028 402:3041 402:3028 200:3041 200:1007 400:1003",
    };
    for (const [ours, all] of Object.entries(rows)) {
      for (const one of all.split(" ")) {
        const [status, code] = one.split(":") as [string, string];
        assert.equal(codeOf(await charge(error(Number(status), code))), ours, one);
      }
    }
    // What that was once no look-up shows a payment.
    for (const [code, refusedAs] of [
      ["3041", "processing_error"],
      ["1007", "gateway_unavailable"],
    ] as const) {
      const io = ioWith([error(402, code)]);
      await paysafe.charge(orderOf(), io);
      assert.equal(io.notes["refused_as"], refusedAs);
    }
    for (const [field, ours] of [
      ["card.cardNum", "incorrect_number"],
      ["card.cvv", "incorrect_cvc"],
      ["card.cardExpiry.month", "invalid_expiry"],
      ["billingDetails.zip", "incorrect_zip"],
      ["merchantRefNum", "gateway_misconfigured"],
    ] as const)
      assert.equal(codeOf(await charge(fieldError(field))), ours, field);
    for (const [raw, ours] of [
      ["51", "insufficient_funds"],
      ["54", "expired_card"],
      ["43", "lost_or_stolen"],
      ["99", "do_not_honor"],
    ] as const)
      assert.equal(codeOf(await charge(error(402, "3009", {}, { acquirerResponse: { responseCode: raw } }))), ours, raw);
  });

  test("a decline keeps the vendor's id and words; an error in an answer of status 200 is a decline too", async () => {
    const outcome = await charge(error(402, "3022", {}, { id: "c671d488-3f27-46f1-b0a7-2123e4e68f35" }));
    assert.ok(outcome.outcome === "declined");
    assert.deepEqual(outcome.processor, { paysafe_auth_id: "c671d488-3f27-46f1-b0a7-2123e4e68f35" });
    assert.equal(outcome.message, "The card has been declined.");
    assert.equal(codeOf(await charge(error(200, "3022", {}, { ...AUTH, status: "FAILED" }))), "insufficient_funds");
    for (const status of [200, 402]) assert.equal((await charge(error(status, "3022", {}, AUTH))).outcome, "unknown", String(status));
    assert.equal(codeOf(await charge(answered(200, { ...AUTH, status: "FAILED" }))), "card_declined");
  });

  test("only the statuses that the vendor gives before it processes anything are refusals, whatever code the body has", async () => {
    for (const status of [302, 408, 409, 410, 425]) assert.equal((await charge(error(status, "5999"))).outcome, "unknown", String(status));
    assert.equal((await charge(answered(409, {}))).outcome, "unknown");
    assert.equal(codeOf(await charge(error(404, "5999"))), "gateway_misconfigured");
  });

  test("an empty error beside a completed payment is no decline, and one without a code says nothing", async () => {
    assert.equal((await charge(answered(200, { ...AUTH, error: null }))).outcome, "approved");
    assert.equal((await charge(answered(200, { ...AUTH, error: {} }))).outcome, "unknown");
  });

  test("another amount, no id and an unknown status are no approval; a sale that is only held is told so", async () => {
    for (const change of [{ amount: 499 }, { id: "a b" }, { status: "DONE" }, { status: undefined }, { amount: undefined }])
      assert.equal((await charge(answered(200, { ...AUTH, ...change }))).outcome, "unknown", JSON.stringify(change));
    for (const body of ["<html>", "[]", '{"id":1']) assert.equal((await charge(answered(200, body))).outcome, "unknown");
    for (const held of [{ settleWithAuth: false }, { settlements: [], availableToSettle: 4995 }]) {
      const outcome = await charge(answered(200, { ...AUTH, ...held }));
      assert.equal(outcome.outcome === "approved" && outcome.capture, "authorized");
    }
    assert.equal(codeOf(await charge(answered(200, { ...AUTH, status: "CANCELLED" }))), "processing_error");
  });

  test("an answer about another payment decides nothing and touches none, nor does one that contradicts itself (R-422)", async () => {
    const alone = async (answer: GatewayAnswer) => {
      const io = ioWith([answer]);
      assert.equal((await paysafe.charge(orderOf(), io)).outcome, "unknown", JSON.stringify(answer));
      assert.equal(io.sent.length, 1);
    };
    for (const merchantRefNum of ["another", [AUTH.merchantRefNum], 7]) {
      for (const change of [{}, { status: "HELD" }, { status: "RECEIVED" }, { status: "FAILED" }, { currencyCode: "EUR" }])
        await alone(answered(200, { ...AUTH, ...change, merchantRefNum }));
      await alone(error(402, "3022", {}, { merchantRefNum }));
    }
    for (const change of [
      { currencyCode: ["EUR"] },
      { settlements: [{ ...AUTH.settlements[0], status: "FAILED" }] },
      { settlements: [{ ...AUTH.settlements[0], amount: 499 }] },
      { settlements: [AUTH.settlements[0], AUTH.settlements[0]] },
    ])
      await alone(answered(200, { ...AUTH, ...change }));
    for (const body of [{}, { error: {} }, { error: "no" }]) await alone(answered(402, body));
    assert.equal(codeOf(await charge(answered(401, {}))), "gateway_credentials_invalid");
  });

  test("another customer's profile is never given out as the stored card, nor taken away", async () => {
    const other = { ...PROFILE, merchantCustomerId: "another" };
    assert.equal(
      codeOf(await paysafe.tokenize(storing(), ioWith([answered(200, VERIFICATION), answered(200, other)]))),
      "gateway_unavailable",
    );
    const look = (...answers: object[]) => paysafe.lookUp!(traceOf(storing()), ioWith(answers.map((answer) => answered(200, answer))));
    assert.equal((await look(PROFILE, PROFILE)).outcome, "approved");
    assert.equal((await look(PROFILE, other)).outcome, "unknown");
    const io = ioWith([answered(200, PROFILE), answered(200, PROFILE), answered(200, other)]);
    assert.equal((await paysafe.void!(traceOf(storing()), io)).outcome, "unknown");
    assert.ok(io.sent.every(({ request }) => request.method === "GET"));
  });

  test("a payment held by the risk rules is cancelled and refused; where that fails its outcome is unknown", async () => {
    const io = ioWith([answered(202, { ...AUTH, status: "HELD" }), answered(200, { ...AUTH, status: "CANCELLED" })]);
    assert.equal(codeOf(await paysafe.charge(orderOf(), io)), "fraud_suspected");
    const { request, body } = io.sent[1]!;
    assert.deepEqual([request.method, request.url, body], ["PUT", `${ACCOUNT}/auths/${AUTH.id}`, '{"status":"CANCELLED"}']);
    assert.equal((await charge(answered(200, { ...AUTH, status: "HELD" }), error(500, "1000"))).outcome, "unknown");
  });

  test("a payment at work is read until it is decided", async () => {
    const works = answered(200, { ...AUTH, status: "RECEIVED" });
    const io = ioWith([works, LOST, works, answered(200, AUTH)]);
    assert.equal((await paysafe.charge(orderOf(), io)).outcome, "approved");
    assert.equal(io.sent[1]?.request.url, `${ACCOUNT}/auths/${AUTH.id}`);
    assert.equal((await charge(works)).outcome, "unknown");
    assert.equal((await paysafe.lookUp!(traceOf(orderOf()), ioWith([list({ ...AUTH, status: "RECEIVED" })]))).outcome, "pending");
  });

  test("a payment in another currency than the account is said to have is sent back", async () => {
    const other = { ...AUTH, currencyCode: "EUR" };
    const io = ioWith([answered(200, other), list(other), answered(200, { id: "x", status: "CANCELLED" }), answered(200, { id: "y" })]);
    assert.equal(codeOf(await paysafe.charge(orderOf(), io)), "gateway_misconfigured");
    assert.deepEqual(
      io.sent.slice(2).map(({ request, body }) => [request.method, request.url, body]),
      [
        ["PUT", `${ACCOUNT}/settlements/${AUTH.settlements[0]?.id}`, '{"status":"CANCELLED"}'],
        ["POST", `${ACCOUNT}/auths/${AUTH.id}/voidauths`, `{"merchantRefNum":"${SESSION}-1-void","amount":4995}`],
      ],
    );
    assert.equal((await charge(answered(200, other), list(other), LOST)).outcome, "unknown");
  });

  test("a used reference is looked up: what stands under it counts, and nothing at all stays unknown", async () => {
    const used = error(409, "5031");
    assert.equal((await charge(used, list(AUTH))).outcome, "approved");
    assert.equal(codeOf(await charge(used, list({ ...AUTH, status: undefined, error: { code: "3022" } }))), "insufficient_funds");
    assert.equal((await charge(used, list())).outcome, "unknown");
    const lookUp = (...answers: GatewayAnswer[]) => paysafe.lookUp!(traceOf(orderOf()), ioWith(answers));
    assert.equal((await lookUp(list())).outcome, "absent");
    // The search was for one reference: who shows others has not answered it.
    for (const merchantRefNum of ["another", undefined]) assert.equal((await lookUp(list({ ...AUTH, merchantRefNum }))).outcome, "unknown");
    assert.equal((await lookUp(list(AUTH, AUTH))).outcome, "unknown");
    assert.equal((await lookUp(error(404, "5269"))).outcome, "unknown");
    assert.equal((await lookUp(LOST)).outcome, "unknown");
    assert.equal(codeOf(await lookUp(list({ ...AUTH, settlements: [{ id: "s", status: "CANCELLED" }] }))), "processing_error");
  });

  test("a settlement that went out with the batch is refunded", async () => {
    const io = ioWith([list(AUTH), list(AUTH), error(400, "3415"), answered(200, { id: "r-1", status: "PENDING" })]);
    assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, "voided");
    assert.equal(io.sent[3]?.request.url, `${ACCOUNT}/settlements/${AUTH.settlements[0]?.id}/refunds`);
    assert.equal(io.sent[3]?.body, `{"merchantRefNum":"${SESSION}-1-refund","amount":4995,"dupCheck":true}`);
    assert.equal((await paysafe.void!(traceOf(orderOf()), ioWith([list(AUTH), list(AUTH), error(400, "3406")]))).outcome, "unknown");
  });

  test("the release of a hold whose settlement was cancelled is asked for until it is answered", async () => {
    const cancelled = answered(200, { id: "x", status: "CANCELLED" });
    const io = ioWith([list(AUTH), list(AUTH), cancelled, LOST, answered(503, "busy"), answered(200, { id: "y", status: "COMPLETED" })]);
    assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, "voided");
    assert.equal(io.sent.filter(({ request }) => request.url.endsWith("/voidauths")).length, 3);
  });

  test("a payment whose settlement is gone, as its cancellation's answer was lost, is a hold and released (R-422)", async () => {
    const held = list({ ...AUTH, settlements: [], availableToSettle: 4995 });
    const io = ioWith([held, held, answered(200, { id: "y", status: "COMPLETED" })]);
    assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, "voided");
    assert.match(io.sent[2]?.request.url ?? "", /\/voidauths$/);
    assert.equal((await paysafe.void!(traceOf(orderOf()), ioWith([held, held, error(409, "5031")]))).outcome, "unknown");
    assert.equal((await paysafe.void!(traceOf(orderOf()), ioWith([held, held, LOST]))).outcome, "unknown");
  });

  test("a payment that the merchant refunded by hand is not refunded again, as a whole or in part (R-422)", async () => {
    for (const [status, availableToRefund, outcome, refunds] of [
      ["COMPLETED", 0, "nothing to void", 0],
      ["COMPLETED", 1000, "unknown", 0],
      ["COMPLETED", 4995, "voided", 1],
      ["COMPLETED", undefined, "voided", 1],
      // Nothing can have been refunded before the batch is through.
      ["PENDING", 0, "voided", 1],
      ["RECEIVED", 0, "voided", 1],
      ["PROCESSING", 0, "voided", 1],
    ] as const) {
      const shown = list({ ...AUTH, settlements: [{ ...AUTH.settlements[0], status, availableToRefund }] });
      const io = ioWith([shown, shown, error(400, "3415"), answered(200, { id: "r-1", status: "PENDING" })]);
      assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, outcome);
      assert.equal(io.sent.filter(({ request }) => request.url.endsWith("/refunds")).length, refunds);
    }
  });

  test("a settlement is out of the batch only when it says so", async () => {
    for (const status of ["PENDING", "PROCESSING", "COMPLETED", undefined]) {
      const io = ioWith([list(AUTH), list(AUTH), answered(200, { id: "x", status }), answered(200, { id: "y", status: "COMPLETED" })]);
      assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, "unknown", String(status));
    }
  });

  test("a used reference of the refund counts as one that was made only where nothing is left to refund (R-422)", async () => {
    const left = (availableToRefund?: unknown, status = "COMPLETED") =>
      list({ ...AUTH, settlements: [{ ...AUTH.settlements[0], status, availableToRefund }] });
    const [batched, used] = [error(400, "3415"), error(409, "5031")];
    for (const [shown, cancelled, refunded, outcome] of [
      [left(0), batched, used, "voided"],
      // A refund that was refused has used its reference too, and gave nothing back.
      [left(4995), batched, used, "unknown"],
      [left(1), batched, used, "unknown"],
      [left(""), batched, used, "unknown"],
      [left(), batched, used, "unknown"],
      [left(0, "PROCESSING"), batched, used, "unknown"],
      [left(0), batched, error(402, "3406"), "unknown"],
      [left(0), batched, answered(200, { id: "r-1", status: "FAILED" }), "unknown"],
      [left(0), used, used, "unknown"],
    ] as const) {
      const io = ioWith([left(4995), shown, cancelled, refunded]);
      assert.equal((await paysafe.void!(traceOf(orderOf()), io)).outcome, outcome);
    }
  });

  test("a refund that was refused is made under another reference, since its own is used; one without a clear answer is not (R-422)", async () => {
    const notes: Record<string, string> = {};
    const refundAs = async (answer: GatewayAnswer) => {
      const io = ioWith([list(AUTH), list(AUTH), error(400, "3415"), answer]);
      const { outcome } = await paysafe.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      return [outcome, (JSON.parse(io.sent[3]?.body ?? "") as { merchantRefNum: string }).merchantRefNum];
    };
    const reference = `${SESSION}-1-refund`;
    for (const open of [
      LOST,
      error(500, "1007"),
      error(429, "1200"),
      error(401, "5279"),
      error(409, "5031"),
      error(402, "3417"),
      answered(400, ""),
    ])
      assert.deepEqual(await refundAs(open), ["unknown", reference], JSON.stringify(open));
    assert.deepEqual(await refundAs(error(402, "3406")), ["unknown", reference]);
    assert.deepEqual(await refundAs(answered(200, { id: "r-1", status: "FAILED" })), ["unknown", `${reference}1`]);
    assert.deepEqual(await refundAs(answered(200, { id: "r-2", status: "PENDING" })), ["voided", `${reference}2`]);
  });

  test("a lost verification is looked up, and made again under another reference where it never arrived", async () => {
    const io = ioWith([LOST, answered(200, { verifications: [VERIFICATION] }), answered(200, PROFILE)]);
    assert.equal((await paysafe.tokenize(storing(), io)).outcome, "approved");
    assert.equal(io.sent[1]?.request.url, `${ACCOUNT}/verifications?merchantRefNum=${SESSION}-1-v&limit=10`);
    const second = answered(200, { ...VERIFICATION, merchantRefNum: `${SESSION}-1-v2` });
    const again = ioWith([LOST, answered(200, { verifications: [] }), second, answered(200, PROFILE)]);
    assert.equal((await paysafe.tokenize(storing(), again)).outcome, "approved");
    assert.match(again.sent[2]?.body ?? "", new RegExp(`"merchantRefNum":"${SESSION}-1-v2"`));
    const twice = ioWith([error(409, "5031"), answered(200, { verifications: [VERIFICATION] }), answered(200, PROFILE)]);
    assert.equal((await paysafe.tokenize(storing(), twice)).outcome, "approved");
    const held = ioWith([answered(200, { ...VERIFICATION, status: "HELD" })]);
    assert.equal(codeOf(await paysafe.tokenize(storing(), held)), "fraud_suspected");
  });

  test("a profile that was stored before is adopted; an address that the vault does not take is left out", async () => {
    const exists = error(409, "7505", { message: `exists - ${PROFILE.id}` });
    const io = ioWith([answered(200, VERIFICATION), exists, answered(200, { id: PROFILE.id }), answered(200, PROFILE)]);
    assert.equal((await paysafe.tokenize(storing(), io)).outcome, "approved");
    assert.deepEqual(
      io.sent.slice(2).map(({ request }) => request.url),
      [`${PROFILES}?merchantCustomerId=${SESSION}-1`, `${PROFILES}/${PROFILE.id}?fields=addresses,cards`],
    );
    const answers = [answered(200, VERIFICATION), fieldError("card.billingAddress.street"), answered(200, PROFILE)];
    const bare = ioWith(answers, withCredentials({ country: "US" }));
    assert.equal((await paysafe.tokenize(storing(), bare)).outcome, "approved");
    assert.doesNotMatch(bare.sent[2]?.body ?? "", /billingAddress/);
    assert.equal(codeOf(await paysafe.tokenize(storing(), ioWith([answered(200, VERIFICATION), error(400, "7508")]))), "incorrect_number");
    assert.equal(codeOf(await paysafe.tokenize(storing(), ioWith([answered(200, VERIFICATION), error(409, "7504")]))), "processing_error");
  });

  test("a customer's token, two cards and no profile at all are no stored card", async () => {
    const found = (profile: object) =>
      paysafe.lookUp!(traceOf(storing()), ioWith([answered(200, { id: PROFILE.id }), answered(200, profile)]));
    assert.equal((await found(PROFILE)).outcome, "approved");
    assert.equal((await found({ ...PROFILE, cards: [{ paymentToken: PROFILE.paymentToken }] })).outcome, "unknown");
    assert.equal((await found({ ...PROFILE, cards: [PROFILE.cards[0], PROFILE.cards[0]] })).outcome, "unknown");
    assert.equal((await paysafe.lookUp!(traceOf(storing()), ioWith([error(404, "5269")]))).outcome, "absent");
    for (const body of ["{}", '{"message":"no Route matched with those values"}', "<html>", ""])
      assert.equal((await paysafe.lookUp!(traceOf(storing()), ioWith([answered(404, body)]))).outcome, "unknown", body);
    assert.equal((await paysafe.lookUp!(traceOf(storing()), ioWith([LOST]))).outcome, "unknown");
  });
});
