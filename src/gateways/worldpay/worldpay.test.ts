import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { declined, takenBack } from "../kit/index.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { withEvents } from "./responses.ts";

const worldpay = GATEWAYS_BUILT.worldpay!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const NONE = answered(200, { _links: {}, _embedded: { payments: [] } });
const NO_EVENTS = answered(404, { errorName: "entityNotFound" });
const HREF = "https://try.access.worldpay.com/tokens/eyJrIjoxLCJkIjoiUW5rZHBX";

const PAID = {
  outcome: "sentForSettlement",
  paymentId: "payI-dUcet9fk4_X4qZU0hpU0",
  transactionReference: REFERENCE,
  schemeReference: "060720116005060",
  issuer: { authorizationCode: "675725" },
  riskFactors: [
    { type: "avs", detail: "address", risk: "notChecked" },
    { type: "avs", detail: "postcode", risk: "notChecked" },
  ],
  paymentInstrument: { type: "card/plain+masked", cardBin: "400000", lastFour: "2701", cardBrand: "visa" },
  _links: { self: { href: "https://try.access.worldpay.com/api/payments/eyJrIjoiazNhYjYzMiJ9" } },
};
const STORED = { ...PAID, outcome: "authorized", paymentId: "payT1", token: { href: HREF, tokenId: "9997095516055002467" } };
const refused = (refusalCode: string, refusalDescription = "no") =>
  answered(201, { outcome: "refused", paymentId: "payQ1", transactionReference: REFERENCE, refusalCode, refusalDescription });
const bad = (status: number, errorName: string, ...paths: string[]) =>
  answered(status, {
    errorName,
    message: "no",
    validationErrors: paths.map((jsonPath) => ({ errorName: "fieldHasInvalidValue", jsonPath })),
  });
const row = (lastEvent: string, more: object = {}) => ({
  paymentId: "payR1",
  transactionReference: REFERENCE,
  lastEvent,
  value: { currency: "USD", amount: 4995 },
  ...more,
});
const rows = (...payments: object[]) => answered(200, { _embedded: { payments } });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(worldpay), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => worldpay.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const reasonOf = (outcome: Outcome) => (outcome.outcome === "declined" ? (outcome.reason ?? "") : "");
const lookUp = (answers: GatewayAnswer[], startedAtMs?: number) => worldpay.lookUp!(traceOf(orderOf(), {}, startedAtMs), ioWith(answers));

describe("worldpay requests", () => {
  test("a telephone payment is the vendor's example, byte for byte, with both cancel rules named", async () => {
    const io = ioWith([answered(202, PAID)]);
    const card = cardOf("4000000000002701", { month: "05", year: "2035", cvv: "555", name: "Ada Byron" });
    await worldpay.charge(orderOf({ card, description: null }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://try.access.worldpay.com/api/payments");
    assert.deepEqual(request.headers, {
      "Content-Type": "application/json",
      Accept: "application/json",
      Authorization: "Basic RXhhbXBsZVVzZXIwMTpFeGFtcGxlUGFzczAx",
      "WP-Api-Version": "2024-06-01",
    });
    assert.equal(
      body,
      `{"transactionReference":"${REFERENCE}","merchant":{"entity":"default"},"channel":"moto","instruction":{"method":"card",` +
        '"paymentInstrument":{"type":"plain","cardHolderName":"Ada Byron","cardNumber":"4000000000002701","expiryDate":{"month":5,"year":2035},"cvc":"555"},' +
        '"narrative":{"line1":"Example Store"},"value":{"currency":"USD","amount":4995},' +
        '"settlement":{"auto":true,"cancelOn":{"cvcNotMatched":"enabled","avsNotMatched":"disabled"}}}}',
    );
  });

  test("the widget is ecom and tells the shopper's address; a telephone is ecom too where moto is off; no ZIP and no empty name are sent", async () => {
    const io = ioWith([answered(202, PAID)], { options: { moto: false, cvc_not_matched: "disabled" } });
    await worldpay.charge(orderOf({ description: "Büro & Söhne, 1001" }), io);
    await worldpay.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1" }), ioWith([answered(202, PAID)]));
    const sent = JSON.parse(io.sent[0]?.body ?? "") as { instruction: { paymentInstrument: object } };
    assert.partialDeepStrictEqual(sent, {
      channel: "ecom",
      orderReference: "Buro-Sohne-1001",
      instruction: { settlement: { cancelOn: { cvcNotMatched: "disabled" } } },
    });
    assert.deepEqual(Object.keys(sent.instruction.paymentInstrument), ["type", "cardNumber", "expiryDate", "cvc"]);
    const widget = ioWith([answered(202, PAID)]);
    await worldpay.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1" }), widget);
    assert.partialDeepStrictEqual(JSON.parse(widget.sent[0]?.body ?? ""), {
      channel: "ecom",
      instruction: { customer: { ipAddress: "2001:db8::1" } },
    });
  });

  test("a stored card is verified for nothing whatever the session's amount, with a name and a fresh namespace for each try", async () => {
    const io = ioWith([LOST, answered(201, STORED)]);
    const outcome = await worldpay.tokenize(orderOf({ mode: "tokenize", amountMinor: 100 }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { worldpay_payment_id: "payT1", worldpay_token_id: HREF });
    const bodies = io.sent.map(({ body }) => JSON.parse(body) as { instruction: Record<string, unknown> });
    assert.partialDeepStrictEqual(bodies[0], {
      instruction: {
        paymentInstrument: { cardHolderName: "Card Holder" },
        value: { currency: "USD", amount: 0 },
        customerAgreement: { type: "cardOnFile", storedCardUsage: "first" },
        tokenCreation: { type: "worldpay", namespace: REFERENCE },
      },
    });
    assert.equal("settlement" in (bodies[0]?.instruction ?? {}), false);
    assert.partialDeepStrictEqual(bodies[1], { instruction: { tokenCreation: { namespace: `${REFERENCE}-2` } } });
  });

  test("settings that Worldpay would refuse are named, and an amount of more than 32 bits is never sent", async () => {
    const fault = (more: Record<string, string>) => {
      const credentials = Object.fromEntries(Object.entries(more).map(([name, text]) => [name, new Secret(text)]));
      return worldpay.checkSettings({ ...settingsOf(worldpay), credentials: { ...settingsOf(worldpay).credentials, ...credentials } });
    };
    assert.equal(fault({ entity: "PO4012345678", narrative: "A, B./C-D 1" }), null);
    assert.match(fault({ entity: "PO-1" }) ?? "", /^entity/);
    assert.match(fault({ narrative: "Ada's Store" }) ?? "", /^narrative/);
    assert.match(fault({ narrative: "x".repeat(25) }) ?? "", /^narrative/);
    const io = ioWith([answered(202, PAID)]);
    assert.equal(codeOf(await worldpay.charge(orderOf({ amountMinor: 2 ** 31 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
  });
});

/** Refusal codes by ours, row by row. */
const CODES: readonly (readonly [ours: string, codes: string])[] = [
  ["do_not_honor", "5 05"],
  ["card_declined", "76 85 1 2 8 10 01 ZZ 9999"],
  ["insufficient_funds", "51"],
  ["limit_exceeded", "61 75"],
  ["expired_card", "33 54"],
  ["incorrect_number", "14 15 56 78"],
  ["incorrect_cvc", "55 38 82 97 N7"],
  ["lost_or_stolen", "4 7 41 43 04 07"],
  ["fraud_suspected", "34 59 63 83"],
  ["card_not_supported", "57 62 93"],
  ["authentication_required", "1A"],
  ["gateway_misconfigured", "3 58"],
  ["processing_error", "12 13 28 29 6 17 80 92 972 973"],
  ["gateway_unavailable", "91 96"],
];

describe("worldpay responses", () => {
  test("every refusal code means what it says, padded or not; 65 is told apart by its words", async () => {
    for (const [ours, codes] of CODES) for (const code of codes.split(" ")) assert.equal(codeOf(await charge(refused(code))), ours, code);
    assert.equal(codeOf(await charge(refused("65", "EXCEEDS WITHDRAWAL COUNT LIMIT"))), "limit_exceeded");
    assert.equal(codeOf(await charge(refused("65", "AUTHENTICATION REQUESTED"))), "authentication_required");
  });

  test("a capture at once is approved with the id, the approval code and the letters of the checks", async () => {
    const outcome = await charge(answered(202, PAID, { "wp-correlationid": "c-1" }));
    assert.ok(outcome.outcome === "approved");
    assert.deepEqual([outcome.capture, outcome.processor, outcome.supportId], ["captured", { worldpay_payment_id: PAID.paymentId }, "c-1"]);
    assert.deepEqual(outcome.webhookProcessor, { auth_code: "675725", avs_result_code: "U", cvv_result_code: "M" });
    const letters = async (...riskFactors: object[]) => {
      const { webhookProcessor } = (await charge(answered(202, { ...PAID, riskFactors }))) as { webhookProcessor: Record<string, string> };
      return `${webhookProcessor["avs_result_code"]}${webhookProcessor["cvv_result_code"]}`;
    };
    const risk = (type: string, detail: string | undefined, said = "notMatched") => ({ type, detail, risk: said });
    assert.equal(await letters(), "YM");
    assert.equal(await letters(risk("avs", "address"), risk("cvc", undefined, "not_checked")), "ZP");
    assert.equal(await letters(risk("avs", "postcode"), risk("cvc", undefined)), "AN");
    assert.equal(await letters(risk("avs", "address"), risk("avs", "postcode"), risk("cvc", undefined, "notSupplied")), "NS");
  });

  test("without paymentId the payment's own link names it, and without a link our reference does", async () => {
    const idOf = async (more: object) => {
      const outcome = await charge(answered(202, { ...PAID, paymentId: undefined, ...more }));
      return outcome.outcome === "approved" && outcome.processor["worldpay_payment_id"];
    };
    assert.equal(await idOf({}), "eyJrIjoiazNhYjYzMiJ9");
    assert.equal(await idOf({ _links: { self: { href: "https://try.access.worldpay.com/api/payments/a%2Fb%3D" } } }), "a/b=");
    assert.equal(await idOf({ _links: undefined }), REFERENCE);
  });

  test("a token's id, with the namespace of the try that stored it, stands in for a link that is too long to be kept", async () => {
    const token = { href: `${HREF}${"x".repeat(255)}`, tokenId: "9997095516055002467" };
    const long = answered(201, { ...STORED, token });
    for (const [answers, namespace] of [
      [[long], REFERENCE],
      [[LOST, long], `${REFERENCE}-2`],
    ] as const) {
      const outcome = await worldpay.tokenize(storing, ioWith(answers));
      assert.equal(outcome.outcome === "approved" && outcome.processor["worldpay_token_id"], `9997095516055002467/${namespace}`);
    }
    assert.equal(codeOf(await worldpay.tokenize(storing, ioWith([answered(201, { ...STORED, token: {} })]))), "gateway_unavailable");
    assert.equal(codeOf(await worldpay.tokenize(storing, ioWith([refused("41")]))), "lost_or_stolen");
  });

  test("a refused card whose answer has a token is for the operator, by the token's id: no interface takes it out (I4)", async () => {
    const { token } = STORED as { token?: object };
    const body = { outcome: "refused", paymentId: "payQ1", transactionReference: REFERENCE, refusalCode: "41", token };
    const outcome = await worldpay.tokenize(storing, ioWith([answered(201, body)]));
    assert.partialDeepStrictEqual(outcome, {
      outcome: "declined",
      code: "lost_or_stolen",
      mayBeStored: true,
      storedAs: "9997095516055002467",
    });
    assert.equal("mayBeStored" in (await worldpay.tokenize(storing, ioWith([refused("41")]))), false);
  });

  test("a namespace that holds the card already, of an earlier delivery perhaps, is left for the next one", async () => {
    const taken = bad(400, "bodyDoesNotMatchSchema", "$.instruction.tokenCreation.namespace");
    const io = ioWith([taken, answered(201, STORED)]);
    assert.equal((await worldpay.tokenize(storing, io)).outcome, "approved");
    const of = ({ body }: { body: string }) => /"namespace":"([^"]*)"/.exec(body)?.[1];
    assert.deepEqual(io.sent.map(of), [REFERENCE, `${REFERENCE}-2`]);
  });

  test("an approval that our own rule cancelled is a refusal of the code or the postal code; fraud and 3-D Secure are refusals", async () => {
    const cancelled = (...riskFactors: object[]) => charge(answered(202, { ...PAID, outcome: "sentForCancellation", riskFactors }));
    assert.equal(codeOf(await cancelled({ type: "cvc", risk: "notMatched" })), "incorrect_cvc");
    assert.equal(codeOf(await cancelled({ type: "avs", detail: "postcode", risk: "not_matched" })), "incorrect_zip");
    assert.equal(codeOf(await cancelled()), "card_declined");
    assert.equal(
      codeOf(await charge(answered(201, { outcome: "fraudHighRisk", transactionReference: REFERENCE, score: 96 }))),
      "fraud_suspected",
    );
    for (const outcome of ["3dsDeviceDataRequired", "3dsChallenged", "3dsAuthenticationFailed", "3dsUnavailable"])
      assert.equal(codeOf(await charge(answered(201, { outcome }))), "authentication_required");
  });

  test("what was only held is settled by its link, once: refused it stays held, without an answer it is in doubt", async () => {
    const linked = (href: string) =>
      answered(201, { ...PAID, outcome: "authorized", _actions: { settlePayment: { href, method: "POST" } } });
    const link = "https://try.access.worldpay.com/api/payments/eyJrIjoi%2F1%3D/settlements";
    const hold = linked(link);
    const settled = answered(202, { outcome: "sentForSettlement", _links: PAID._links });
    const captureOf = (outcome: Outcome) => (outcome.outcome === "approved" ? outcome.capture : outcome.outcome);
    const io = ioWith([hold, settled]);
    assert.deepEqual(await worldpay.charge(orderOf(), io), await charge(answered(202, PAID)));
    const [, { request, body } = assert.fail()] = io.sent;
    assert.equal(`${request.method} ${request.url}`, `POST ${link}`);
    assert.deepEqual([request.headers["WP-Api-Version"], request.headers["Accept"], body], ["2024-06-01", "application/json", ""]);
    for (const refusal of [bad(400, "actionIsNotAllowed"), bad(404, "endpointNotFound")])
      assert.equal(captureOf(await charge(hold, refusal)), "authorized");
    for (const doubt of [LOST, answered(500, ""), answered(202, "<html>"), answered(202, { outcome: "refused" })])
      assert.equal(captureOf(await charge(hold, doubt)), "unknown");
    for (const href of ["https://elsewhere.example/settlements", "https://try.access.worldpay.com/api/payments/../x/settlements"]) {
      const alone = ioWith([linked(href)]);
      assert.equal(captureOf(await worldpay.charge(orderOf(), alone)), "authorized");
      assert.equal(alone.sent.length, 1);
    }
    const riskFactors = [{ type: "cvc", risk: "notMatched" }];
    const mismatch = answered(201, { ...PAID, outcome: "authorized", riskFactors, _actions: { settlePayment: { href: link } } });
    for (const [rule, capture] of [
      ["enabled", "authorized"],
      ["disabled", "captured"],
    ] as const) {
      const ruled = ioWith([mismatch, settled], { options: { moto: true, cvc_not_matched: rule } });
      assert.equal(captureOf(await worldpay.charge(orderOf(), ruled)), capture, "the project's own rule about the code");
    }
    const storing = { ...STORED, _actions: { settlePayment: { href: "https://try.access.worldpay.com/api/payments/e/settlements" } } };
    const kept = ioWith([answered(201, storing)]);
    assert.equal((await worldpay.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), kept)).outcome, "approved");
    assert.equal(kept.sent.length, 1);
  });

  test("a hold is held; anything that Worldpay does not plainly say is unknown", async () => {
    const held = await charge(answered(201, { ...PAID, outcome: "authorized" }));
    assert.equal(held.outcome === "approved" && held.capture, "authorized");
    const odd = [
      answered(202, { ...PAID, outcome: "pending" }),
      answered(202, { ...PAID, transactionReference: "another" }),
      answered(200, PAID),
      answered(202, "<html>"),
      answered(404, "<html>"),
      answered(400, {}),
      answered(500, { errorName: "internalErrorOccurred" }),
      answered(503, ""),
      answered(429, ""),
      LOST,
    ];
    for (const answer of odd) assert.equal((await charge(answer)).outcome, "unknown", JSON.stringify(answer));
  });

  test("an approval of another payment or sum, in an odd form, or beside a refusal is none (R-422)", async () => {
    const odd = [
      { transactionReference: [REFERENCE] },
      { transactionReference: 7 },
      { value: { currency: "USD", amount: 1 } },
      { value: { currency: "EUR", amount: 4995 } },
      { value: [] },
      { amounts: { requested: 4995, totalAuthorized: 700, currency: "USD", partialAuthorization: true } },
      { amounts: { totalAuthorized: 4995, currency: "EUR" } },
      { errorName: "bodyDoesNotMatchSchema" },
      { refusalCode: "05" },
      { outcome: ["sentForSettlement"] },
    ];
    for (const change of odd)
      assert.equal((await charge(answered(202, { ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
    assert.equal((await charge(answered(202, `{"outcome":"refused",${JSON.stringify(PAID).slice(1)}`))).outcome, "unknown");
    assert.equal((await charge(answered(202, { ...PAID, value: { currency: "USD", amount: 4995 } }))).outcome, "approved");
    const whole = { amounts: { requested: 4995, totalAuthorized: 4995, currency: "USD", partialAuthorization: false } };
    assert.equal((await charge(answered(202, { ...PAID, ...whole }))).outcome, "approved");
    const io = ioWith([answered(201, { ...STORED, value: { currency: "USD", amount: 0 } })]);
    assert.equal((await worldpay.tokenize(storing, io)).outcome, "approved");
  });

  test("a refused request names the field, the switch or the credentials at fault", async () => {
    const instrument = "$.instruction.paymentInstrument";
    const codes: [GatewayAnswer, string][] = [
      [bad(400, "bodyDoesNotMatchSchema", `${instrument}.cardNumber`), "incorrect_number"],
      [bad(400, "bodyDoesNotMatchSchema", `${instrument}.expiryDate.year`), "invalid_expiry"],
      [bad(400, "bodyDoesNotMatchSchema", `${instrument}.cvc`), "incorrect_cvc"],
      [bad(400, "bodyDoesNotMatchSchema", `${instrument}.billingAddress.postalCode`), "incorrect_zip"],
      [bad(400, "bodyDoesNotMatchSchema", "$.instruction.narrative.line1"), "gateway_misconfigured"],
      [bad(401, "accessDenied"), "gateway_credentials_invalid"],
      [bad(403, "forbidden"), "gateway_credentials_invalid"],
      [answered(401, { message: "Unauthorized" }), "gateway_credentials_invalid"],
      [bad(404, "endpointNotFound"), "gateway_misconfigured"],
      [bad(406, "headerIsMissing"), "gateway_misconfigured"],
      [bad(415, "headerHasInvalidValue"), "gateway_misconfigured"],
    ];
    for (const [answer, code] of codes) assert.equal(codeOf(await charge(answer)), code);
    assert.match(reasonOf(await charge(bad(400, "bodyDoesNotMatchSchema", "$.channel"))), /moto to false/);
    assert.match(reasonOf(await charge(bad(403, "entityIsNotConfigured"))), /entity/);
  });
});

describe("worldpay look-ups", () => {
  const LONG_AGO = Date.now() - 3_600_000;

  test("both styles of the last event are read; an approval that has yet to settle is waited for, and held when it never does", async () => {
    for (const event of ["settlementRequestSubmitted", "Sent for Settlement", "settlementSucceeded", "saleSucceeded"])
      assert.equal((await lookUp([rows(row(event))])).outcome, "approved", event);
    for (const event of ["authorizationSucceeded", "Authorized"]) {
      assert.equal((await lookUp([rows(row(event))])).outcome, "pending");
      const held = await lookUp([rows(row(event))], LONG_AGO);
      assert.equal(held.outcome === "approved" && held.capture, "authorized");
    }
    for (const [event, code] of [
      ["authorizationRefused", "card_declined"],
      ["saleRefused", "card_declined"],
      ["saleFailed", "processing_error"],
      ["Error", "processing_error"],
      ["saleRequested", "pending"],
      ["saleTimedOut", "unknown"],
      // Asked for is not sent, and what timed out on its way may have left the money where it was.
      ["cancellationRequested", "pending"],
      ["refundRequested", "pending"],
      ["reversalRequested", "pending"],
      ["cancellationRequestSubmissionTimedOut", "unknown"],
      ["refundRequestSubmissionTimedOut", "unknown"],
      ["reversalRequestSubmissionTimedOut", "unknown"],
      ["cancellationFailed", "unknown"],
      ["Refund Failed", "unknown"],
      ["reversalRefused", "unknown"],
      ["refundedPartially", "unknown"],
      ["constructor", "unknown"],
    ] as const)
      assert.equal(codeOf(await lookUp([rows(row(event))])), code);
    for (const event of ["cancellationRequestSubmitted", "Send for Cancellation", "Expired"])
      assert.equal(codeOf(await lookUp([rows(row(event)), answered(200, { events: [{ eventName: event }] })])), "processing_error");
  });

  test("a payment's own events say why it was refused, and whether more than a part of it was sent back", async () => {
    const events = (...history: object[]) => answered(200, { ...row("refundRequestSubmitted"), events: history });
    const history = async (lastEvent: string, answer: GatewayAnswer) => {
      const io = ioWith([rows(row(lastEvent)), answer]);
      const found = await worldpay.lookUp!(traceOf(orderOf()), io);
      assert.equal(io.sent[1]?.request.url, "https://try.access.worldpay.com/paymentQueries/payments/payR1");
      return found;
    };
    const refusal = await history(
      "authorizationRefused",
      events(
        { eventName: "authorizationRequested" },
        { eventName: "authorizationRefused", description: "LOST CARD", code: "41", outcome: "refused" },
      ),
    );
    assert.equal(codeOf(refusal), "lost_or_stolen");
    assert.deepEqual(refusal.outcome === "declined" && refusal.processor, { worldpay_payment_id: "payR1" });
    for (const answer of [LOST, answered(404, {}), events()]) assert.equal(codeOf(await history("saleRefused", answer)), "card_declined");
    const part = { eventName: "refundRequested", type: "partialRefund", value: { currency: "USD", amount: 995 } };
    assert.equal(codeOf(await history("refundRequestSubmitted", events(part, { eventName: "refundRequestSubmitted" }))), "unknown");
    assert.equal(
      codeOf(await history("refundRequestSubmitted", events({ eventName: "refundRequested", type: "refund" }))),
      "processing_error",
    );
    for (const answer of [LOST, answered(200, row("refundRequestSubmitted"))])
      assert.equal(codeOf(await history("refundRequestSubmitted", answer)), "unknown", "nobody says how much");
  });

  test("a refusal with the code that a payment sent back has is a refusal, of which the events say why", () => {
    const events = answered(200, { events: [{ description: "LOST CARD", code: "41", outcome: "refused" }] });
    assert.equal(codeOf(withEvents(events, declined("processing_error"))), "lost_or_stolen");
    assert.equal(codeOf(withEvents(events, takenBack())), "processing_error");
  });

  test("the events are asked for with the type that the Card Payments API wants, and a header that it misses proves no absence", async () => {
    const io = ioWith([NONE, NO_EVENTS]);
    assert.equal((await worldpay.lookUp!(traceOf(orderOf()), io)).outcome, "absent");
    assert.partialDeepStrictEqual(io.sent[1]?.request.headers, {
      "Content-Type": "application/vnd.worldpay.payments-v7+json",
      Accept: "application/vnd.worldpay.payments-v7+json",
    });
    for (const status of [406, 415]) assert.equal((await lookUp([NONE, bad(status, "headerIsMissing")])).outcome, "unknown");
  });

  test("a payment of another sum, or two that stand, decide nothing; a refused one does not hide the one that stands", async () => {
    assert.equal((await lookUp([rows(row("settlementSucceeded", { value: { currency: "USD", amount: 1 } }))])).outcome, "unknown");
    assert.equal((await lookUp([rows(row("settlementSucceeded", { value: { currency: "EUR", amount: 4995 } }))])).outcome, "unknown");
    assert.equal((await lookUp([rows(row("settlementSucceeded"), row("settlementSucceeded"))])).outcome, "unknown");
    assert.equal((await lookUp([rows(row("authorizationRefused"), row("settlementSucceeded"))])).outcome, "approved");
  });

  test("only when neither the query nor the events have the payment is it absent; silence is neither", async () => {
    assert.equal((await lookUp([NONE, NO_EVENTS])).outcome, "absent");
    assert.equal((await lookUp([NONE, answered(403, {})])).outcome, "absent");
    assert.equal((await lookUp([NONE, answered(200, { lastEvent: "Sent for Settlement" })])).outcome, "approved");
    for (const answers of [
      [LOST],
      [answered(401, {})],
      [answered(200, {})],
      [NONE, LOST],
      [NONE, answered(503, {})],
      [NONE, answered(429, {})],
      [NONE, answered(408, {})],
      [NONE, answered(409, {})],
    ])
      assert.equal((await lookUp(answers)).outcome, "unknown");
  });

  test("a list that is cut is no proof, and events of another payment or sum decide nothing", async () => {
    const cut = (...payments: object[]) =>
      answered(200, { _links: { next: { href: "/paymentQueries/payments?page=2" } }, _embedded: { payments } });
    for (const list of [
      cut(),
      cut(row("authorizationRefused")),
      rows([row("settlementSucceeded")]),
      answered(200, { _embedded: { payments: {} } }),
    ])
      assert.equal((await lookUp([list, NO_EVENTS])).outcome, "unknown");
    assert.equal(
      (await lookUp([rows(row("settlementSucceeded"), { ...row("settlementSucceeded"), transactionReference: "another" })])).outcome,
      "unknown",
    );
    const events = (more: object) => lookUp([NONE, answered(200, { lastEvent: "Sent for Settlement", ...more })]);
    for (const more of [
      { transactionReference: "another" },
      { value: { currency: "USD", amount: 1 } },
      { value: { currency: "EUR", amount: 4995 } },
    ])
      assert.equal((await events(more)).outcome, "unknown", JSON.stringify(more));
    assert.equal((await events({ transactionReference: REFERENCE })).outcome, "approved");
  });

  test("a void follows the first link that reverses the payment, by its path alone, and nothing else counts as done", async () => {
    const links = (more: object) => answered(200, { paymentId: "payR1", _links: more });
    const cancel = { href: "https://elsewhere.example/payments/authorizations/cancellations/eyJrIj%3D" };
    const reverse = async (...answers: GatewayAnswer[]) => {
      const io = ioWith([rows(row("settlementRequestSubmitted")), ...answers]);
      return { result: (await worldpay.void!(traceOf(orderOf()), io)).outcome, last: io.sent.at(-1)!.request };
    };
    const done = await reverse(
      links({ "cardPayments:refund": { href: "/payments/settlements/refunds/full/x" }, "cardPayments:cancel": cancel }),
      answered(202, {}),
    );
    assert.equal(done.result, "voided");
    assert.equal(done.last.url, "https://try.access.worldpay.com/payments/authorizations/cancellations/eyJrIj%3D");
    assert.equal(done.last.headers["Content-Type"], "application/vnd.worldpay.payments-v7+json");
    assert.equal(done.last.headers["WP-Api-Version"], undefined);
    assert.equal((await reverse(links({ "cardPayments:cancel": cancel }), answered(400, {}))).result, "unknown");
    assert.equal((await reverse(links({ "cardPayments:cancel": { href: "/payments/authorizations/../../tokens" } }))).result, "unknown");
    assert.equal((await reverse(links({}))).result, "unknown");
  });

  test("a refund without a clear answer is not sent again, a cancellation is (R-422)", async () => {
    const links = (name: string, href: string) => answered(200, { paymentId: "payR1", _links: { [name]: { href } } });
    const cancel = links("cardPayments:cancel", "/payments/authorizations/cancellations/x");
    const refund = links("cardPayments:refund", "/payments/settlements/refunds/full/x");
    for (const [link, first, again] of [
      [refund, LOST, 0],
      [refund, answered(500, {}), 0],
      [refund, answered(429, {}), 0],
      [refund, answered(400, {}), 1],
      [cancel, LOST, 1],
    ] as const) {
      const reverse = async (notes: Record<string, string>, answer: GatewayAnswer) => {
        const io = ioWith([rows(row("settlementRequestSubmitted")), link, answer]);
        const { outcome } = await worldpay.void!(traceOf(orderOf(), notes), io);
        return { outcome, notes: io.notes, count: io.sent.filter(({ request }) => request.method === "POST").length };
      };
      const { outcome, notes } = await reverse({}, first);
      assert.equal(outcome, "unknown");
      const later = await reverse(notes, answered(202, {}));
      assert.deepEqual([later.outcome, later.count], [again === 1 ? "voided" : "unknown", again], JSON.stringify([link, first]));
    }
  });
});
