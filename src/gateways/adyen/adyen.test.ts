import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const adyen = GATEWAYS_BUILT.adyen!;
const credentials = { api_key: new Secret("AQEexample"), merchant_account: new Secret("YourCompanyECOM") };
const MOTO = { moto_merchant_account: new Secret("YourCompanyMOTO") };
const settings = settingsOf(adyen, { credentials });
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const PSP = "993617895204576J";
const AUTHORISED = {
  additionalData: {
    cvcResult: "1 Matches",
    authCode: "044925",
    avsResult: "4 AVS not supported for this card type",
    refusalReasonRaw: "AUTHORISED",
    cardSummary: "1111",
    paymentMethod: "visa",
  },
  pspReference: PSP,
  resultCode: "Authorised",
  merchantReference: `${SESSION}-1`,
};
const STORED = {
  ...AUTHORISED,
  additionalData: { ...AUTHORISED.additionalData, "recurring.recurringDetailReference": "8315202663743702" },
};
const refused = (code: string | undefined, more: object = {}) =>
  answered(200, {
    additionalData: { cvcResult: "0 Unknown" },
    pspReference: "8514775559925128",
    refusalReason: "Refused",
    ...(code !== undefined && { refusalReasonCode: code }),
    resultCode: "Refused",
    merchantReference: `${SESSION}-1`,
    ...more,
  });
const fault = (status: number, errorCode: string, errorType = "validation") =>
  answered(status, { status, errorCode, message: "Not like this.", errorType });
const RECEIVED = answered(201, { status: "received", pspReference: "993617895204576K" });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const pay = (answers: readonly GatewayAnswer[], order: Order = orderOf()): Promise<Outcome> => adyen[order.mode](order, ioWith(answers));
const storing = () => orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const bodyOf = (io: ReturnType<typeof ioWith>, index = 0) => JSON.parse(io.sent[index]?.body ?? "{}") as Record<string, unknown>;

describe("adyen requests", () => {
  test("a charge is the vendor's JSON under the key and an idempotency key, captured at once and marked as a telephone order", async () => {
    const io = ioWith([answered(200, AUTHORISED)]);
    await adyen.charge(orderOf({ card: cardOf("4111111111111111", { year: "2030", cvv: "737", name: "Ada Lovelace" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://checkout-test.adyen.com/v72/payments");
    assert.partialDeepStrictEqual(request.headers, { "X-API-Key": "AQEexample", "Content-Type": "application/json" });
    assert.match(request.headers["Idempotency-Key"] ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(
      body,
      `{"amount":{"currency":"USD","value":4995},"merchantAccount":"YourCompanyECOM","reference":"${SESSION}-1",` +
        '"paymentMethod":{"type":"scheme","number":"4111111111111111","expiryMonth":"03","expiryYear":"2030","cvc":"737","holderName":"Ada Lovelace"},' +
        '"shopperInteraction":"Moto","captureDelayHours":0,"returnUrl":"https://example.com/none",' +
        '"billingAddress":{"street":"N/A","houseNumberOrName":"N/A","city":"N/A","postalCode":"44628","country":"ZZ"},' +
        `"merchantOrderReference":"${SESSION}","metadata":{"session":"${SESSION}","description":"Invoice 1001"}}`,
    );
  });

  test("a card is stored by an authorisation of nothing, for a shopper who is named after the session", async () => {
    const io = ioWith([answered(200, STORED)]);
    const outcome = await adyen.tokenize(storing(), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      adyen_psp_reference: PSP,
      adyen_stored_payment_method_id: "8315202663743702",
    });
    assert.partialDeepStrictEqual(bodyOf(io), {
      amount: { currency: "USD", value: 0 },
      shopperReference: `sess-${SESSION}`,
      storePaymentMethod: true,
      recurringProcessingModel: "UnscheduledCardOnFile",
      shopperInteraction: "Moto",
    });
    assert.doesNotMatch(io.sent[0]?.body ?? "", /captureDelayHours/);
  });

  test("telephone orders go to their own account; the widget does not, tells the shopper's address and may ask for no 3-D Secure", async () => {
    const both = { ...credentials, ...MOTO };
    const voice = ioWith([answered(200, AUTHORISED)], { credentials: both });
    await adyen.charge(orderOf(), voice);
    assert.equal(bodyOf(voice)["merchantAccount"], "YourCompanyMOTO");
    assert.equal(voice.notes["merchant_account"], "YourCompanyMOTO");
    const options = { ...settings.options, no_3d_secure: true, zip_check: false };
    const widget = ioWith([answered(200, AUTHORISED)], { credentials: both, options });
    const bare = cardOf("4111111111111111", { cvv: "" });
    await adyen.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", description: null, card: bare }), widget);
    assert.partialDeepStrictEqual(bodyOf(widget), {
      merchantAccount: "YourCompanyECOM",
      shopperInteraction: "Ecommerce",
      shopperIP: "203.0.113.7",
      authenticationData: { attemptAuthentication: "never" },
    });
    assert.doesNotMatch(widget.sent[0]?.body ?? "", /cvc|holderName|billingAddress|description/);
    const unmarked = ioWith([answered(200, AUTHORISED)], { credentials: both, options: { ...settings.options, moto: false } });
    await adyen.charge(orderOf(), unmarked);
    assert.partialDeepStrictEqual(bodyOf(unmarked), { merchantAccount: "YourCompanyECOM", shopperInteraction: "Ecommerce" });
  });

  test("the live host is the company's own, with one more part in the path", async () => {
    const live = { ...credentials, live_url_prefix: new Secret("1797a841fbb37ca7-AdyenDemo") };
    const io = ioWith([answered(200, AUTHORISED)], { credentials: live, environment: "live", endpoint: adyen.hosts.live });
    await adyen.charge(orderOf(), io);
    assert.equal(io.sent[0]?.request.url, "https://1797a841fbb37ca7-AdyenDemo-checkout-live.adyenpayments.com/checkout/v72/payments");
  });

  test("a second attempt has a reference and a key of its own", async () => {
    const keys = [];
    for (const attempt of [1, 2]) {
      const io = ioWith([answered(200, AUTHORISED)]);
      await adyen.charge(orderOf({ attempt, reference: `${SESSION}-${attempt}` }), io);
      keys.push(io.sent[0]?.request.headers["Idempotency-Key"], bodyOf(io)["reference"]);
    }
    assert.equal(new Set(keys).size, 4);
  });

  test("Adyen counts some currencies without decimals, and an amount that has them is refused before anything is sent", async () => {
    const io = ioWith([answered(200, { ...AUTHORISED, amount: { currency: "IDR", value: 500 } })]);
    assert.equal((await adyen.charge(orderOf({ currency: "IDR", amountMinor: 50_000 }), io)).outcome, "approved");
    assert.deepEqual(bodyOf(io)["amount"], { currency: "IDR", value: 500 });
    const broken = ioWith([LOST]);
    assert.equal(codeOf(await adyen.charge(orderOf({ currency: "CVE", amountMinor: 50_001 }), broken)), "gateway_misconfigured");
    assert.equal(broken.sent.length, 0);
  });

  test("Adyen counts crowns of Iceland and pesos of Chile in hundredths, though ISO 4217 knows none", async () => {
    for (const currency of ["ISK", "CLP"]) {
      const io = ioWith([answered(200, { ...AUTHORISED, amount: { currency, value: 279_000 } })]);
      assert.equal((await adyen.charge(orderOf({ currency, amountMinor: 2_790 }), io)).outcome, "approved");
      assert.deepEqual(bodyOf(io)["amount"], { currency, value: 279_000 });
    }
  });

  test("a key may hold any visible character in its last part", () => {
    const api_key = new Secret("AQEexample/1w==-AbCd+=-a&(b)%C[$d,2{*V_");
    assert.equal(adyen.checkSettings(settingsOf(adyen, { credentials: { ...credentials, api_key } })), null);
  });

  test("settings that cannot work are named", () => {
    const wrong = (changes: object, environment: "test" | "live" = "test") =>
      adyen.checkSettings({ ...settings, environment, credentials: { ...credentials, ...changes } }) ?? "";
    assert.equal(wrong({}), "");
    assert.match(wrong({ api_key: new Secret("sk_test_x") }), /^api_key/);
    assert.match(wrong({ merchant_account: new Secret("Your Company") }), /^merchant_account/);
    assert.match(wrong({ moto_merchant_account: new Secret("") }), /^moto_merchant_account/);
    assert.match(wrong({}, "live"), /^live_url_prefix/);
    assert.match(wrong({ live_url_prefix: new Secret("evil.example/x") }, "live"), /^live_url_prefix/);
  });
});

describe("adyen responses", () => {
  test("every reason of a refusal means what the vendor's table says", async () => {
    const rows: Readonly<Record<string, string>> = {
      card_declined: "2 17 18 19 25 26 27 33 46 999 constructor",
      do_not_honor: "3",
      insufficient_funds: "12",
      expired_card: "6",
      incorrect_number: "8",
      incorrect_cvc: "24",
      incorrect_zip: "32",
      limit_exceeded: "28 29",
      card_not_supported: "10 23 34 35",
      lost_or_stolen: "5",
      fraud_suspected: "14 20 22 31",
      authentication_required: "11 38 39 42",
      processing_error: "4 7 15 16 21",
      gateway_unavailable: "9",
    };
    for (const [ours, codes] of Object.entries(rows))
      for (const code of codes.split(" ")) assert.equal(codeOf(await pay([refused(code)])), ours, code);
    assert.equal(codeOf(await pay([refused(undefined)])), "card_declined");
    assert.equal(codeOf(await pay([refused("16", { resultCode: "Cancelled" })])), "processing_error");
  });

  test("the issuer's own code refines a plain refusal and nothing else", async () => {
    const raw = (words: string) => ({ additionalData: { refusalReasonRaw: words } });
    assert.equal(codeOf(await pay([refused("2", raw("51 : Insufficient funds"))])), "insufficient_funds");
    assert.equal(codeOf(await pay([refused("2", raw("05 : Do not honor"))])), "do_not_honor");
    // It stands there in more than one spelling, and by itself.
    assert.equal(codeOf(await pay([refused("2", raw("05: Do not honor"))])), "do_not_honor");
    assert.equal(codeOf(await pay([refused(undefined, raw("14 :Invalid card number"))])), "incorrect_number");
    assert.equal(
      codeOf(await pay([refused("2", { additionalData: { refusalCodeRaw: "51", refusalReasonRaw: "DECLINED" } })])),
      "insufficient_funds",
    );
    assert.equal(codeOf(await pay([refused("2", raw("REFUSED"))])), "card_declined");
    assert.equal(codeOf(await pay([refused("27", raw("51 : Insufficient funds"))])), "card_declined");
    const outcome = await pay([refused("6")]);
    assert.deepEqual(outcome.outcome === "declined" && outcome.processor, { adyen_psp_reference: "8514775559925128" });
  });

  test("a refusal without its number is told by the vendor's name for it", async () => {
    const names: Readonly<Record<string, string>> = {
      "Expired Card": "expired_card",
      "Not enough balance": "insufficient_funds",
      "CVC Declined": "incorrect_cvc",
      "3D Not Authenticated": "authentication_required",
      FRAUD: "fraud_suspected",
      Refused: "card_declined",
      constructor: "card_declined",
    };
    for (const [refusalReason, ours] of Object.entries(names))
      assert.equal(codeOf(await pay([refused(undefined, { refusalReason })])), ours, refusalReason);
    assert.equal(codeOf(await pay([refused("2", { refusalReason: "Expired Card" })])), "card_declined", "the number counts first");
  });

  test("every error code means what the vendor's table says, and a broken set-up is no outage", async () => {
    const rows: Readonly<Record<string, string>> = {
      incorrect_number: "101 102 109 193",
      incorrect_cvc: "103 153",
      invalid_expiry: "129 140 141",
      incorrect_zip: "104 117 131 132 133 134 135",
      card_not_supported: "907",
      limit_exceeded: "916",
      authentication_required: "105 921_1",
      gateway_credentials_invalid: "010 10",
      gateway_misconfigured: "107 138 194 901 905 905_2 931 950 957",
      processing_error: "0 000 14_030 702 130 167 177 constructor",
    };
    for (const [ours, codes] of Object.entries(rows))
      for (const code of codes.split(" ")) assert.equal(codeOf(await pay([fault(422, code)])), ours, code);
    assert.equal(codeOf(await pay([fault(401, "000", "security")])), "gateway_credentials_invalid");
    assert.equal(codeOf(await pay([fault(403, "901", "security")])), "gateway_misconfigured");
    assert.equal(codeOf(await pay([fault(403, "x", "security")])), "gateway_credentials_invalid");
    assert.equal(codeOf(await pay([fault(500, "905", "configuration")])), "gateway_misconfigured");
    assert.equal(codeOf(await pay([fault(500, "x", "configuration")])), "gateway_misconfigured");
    assert.equal(codeOf(await pay([fault(500, "702")])), "processing_error");
    for (const answer of [fault(500, "905", "internal"), fault(422, "903", "internal"), fault(422, "703")])
      assert.equal(codeOf(await pay([answer])), "unknown");
    assert.equal(codeOf(await pay([answered(429, {})])), "gateway_unavailable");
  });

  test("an approval tells the checks to the webhook, by their numbers", async () => {
    const outcome = await pay([answered(200, AUTHORISED)]);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.webhookProcessor], [
      { adyen_psp_reference: PSP },
      { auth_code: "044925", response_code: "0", avs_result_code: "4", cvv_result_code: "1" },
    ]);
    assert.equal((await pay([answered(200, { pspReference: PSP, resultCode: "Authorised" })])).outcome, "approved");
  });

  test("a payment that goes to manual review is captured by nobody before that, and held for review (R-405)", async () => {
    const reviewed = (fraudManualReview: string) =>
      answered(200, { ...AUTHORISED, additionalData: { ...AUTHORISED.additionalData, fraudManualReview, fraudResultType: "AMBER" } });
    const held = await pay([reviewed("true")]);
    assert.equal(codeOf(held), "held_for_review");
    assert.deepEqual(held.outcome === "declined" && held.processor, { adyen_psp_reference: PSP });
    assert.equal((await pay([reviewed("false")])).outcome, "approved");
  });

  test("what is neither plainly yes nor plainly no is unknown", async () => {
    const odd: object[] = [{ resultCode: "Pending" }, { resultCode: "Received" }, { resultCode: "constructor" }, { resultCode: null }];
    odd.push({ pspReference: "short" }, { merchantReference: "another" }, { amount: { currency: "USD", value: 499 } });
    odd.push({ amount: { currency: "EUR", value: 4995 } }, { resultCode: "Error" }, { resultCode: "Error", refusalReasonCode: "0" });
    for (const change of odd)
      assert.equal(codeOf(await pay([answered(200, { ...AUTHORISED, ...change })])), "unknown", JSON.stringify(change));
    assert.equal(codeOf(await pay([answered(200, { ...AUTHORISED, resultCode: "Error", refusalReasonCode: "4" })])), "processing_error");
    assert.equal(codeOf(await pay([answered(302, {})])), "unknown");
    for (const resultCode of ["RedirectShopper", "IdentifyShopper", "ChallengeShopper", "PresentToShopper"])
      assert.equal(codeOf(await pay([answered(200, { ...AUTHORISED, resultCode })])), "authentication_required");
  });

  test("an outcome that is not known keeps the pspReference of its answer for Adyen's support, but never a card number that looks like one", async () => {
    const supportId = async (answer: GatewayAnswer, order = orderOf()) => {
      const outcome = await pay([answer], order);
      assert.equal(outcome.outcome, "unknown");
      return outcome.supportId;
    };
    for (const change of [
      { resultCode: "Pending" },
      { resultCode: "Error" },
      { amount: { currency: "EUR", value: 4995 } },
      { merchantReference: 7 },
    ])
      assert.equal(await supportId(answered(200, { ...AUTHORISED, ...change })), PSP, JSON.stringify(change));
    assert.equal(await supportId(answered(402, AUTHORISED)), PSP);
    assert.equal(await supportId(answered(500, { errorCode: "x", errorType: "internal", pspReference: PSP })), PSP);
    assert.equal(await supportId(answered(200, { ...AUTHORISED, resultCode: "Pending", pspReference: "4242424242424242" })), undefined);
  });

  test("another sum that was authorised under our reference is noted to be sent back by its pspReference; another payment's never is", async () => {
    const other = { ...AUTHORISED, amount: { currency: "USD", value: 499 } };
    const authorised = (authorisedAmountValue: string, authorisedAmountCurrency = "USD") => ({
      ...AUTHORISED,
      additionalData: { ...AUTHORISED.additionalData, authorisedAmountValue, authorisedAmountCurrency },
    });
    for (const answer of [other, authorised("499")]) {
      const paid = ioWith([answered(200, answer)]);
      assert.equal((await adyen.charge(orderOf(), paid)).outcome, "unknown");
      assert.deepEqual(paid.notes, { adyen_psp_reference: PSP });
    }
    assert.equal((await pay([answered(200, authorised("4995"))])).outcome, "approved");
    // The payer's own currency, at a rate that only the vendor knows.
    assert.equal((await pay([answered(200, authorised("4600", "EUR"))])).outcome, "approved");
    for (const merchantReference of ["another", undefined, [`${SESSION}-1`]]) {
      const io = ioWith([answered(200, { ...other, merchantReference })]);
      assert.equal((await adyen.charge(orderOf(), io)).outcome, "unknown");
      assert.deepEqual(io.notes, {});
    }
  });

  test("an approval of our reference under a status that is none is noted, so that it can be sent back by its pspReference", async () => {
    for (const status of [202, 302, 400, 422, 500, 503]) {
      const io = ioWith([answered(status, AUTHORISED)]);
      assert.equal((await adyen.charge(orderOf(), io)).outcome, "unknown", String(status));
      assert.deepEqual(io.notes, { adyen_psp_reference: PSP }, String(status));
      const back = ioWith([RECEIVED]);
      assert.equal((await adyen.void!(traceOf(orderOf(), io.notes), back)).outcome, "voided");
      assert.match(back.sent[0]?.request.url ?? "", new RegExp(`/payments/${PSP}/reversals$`));
    }
    for (const answer of [
      { ...AUTHORISED, merchantReference: "another" },
      { ...AUTHORISED, resultCode: "Refused" },
    ]) {
      const io = ioWith([answered(500, answer)]);
      assert.equal((await adyen.charge(orderOf(), io)).outcome, "unknown");
      assert.deepEqual(io.notes, {});
    }
  });

  test("an approval names this payment and this sum, where it names any, in no odd form", async () => {
    const odd = [
      { merchantReference: [`${SESSION}-1`] },
      { merchantReference: 1 },
      { amount: [] },
      { amount: "49.95" },
      { resultCode: ["Authorised"] },
    ];
    odd.push({ pspReference: [PSP] } as never);
    for (const change of odd)
      assert.equal(codeOf(await pay([answered(200, { ...AUTHORISED, ...change })])), "unknown", JSON.stringify(change));
    assert.equal(codeOf(await pay([answered(200, `{"resultCode":"Refused",${JSON.stringify(AUTHORISED).slice(1)}`)])), "unknown");
  });

  test("a lost charge is sent again under its key, also while the first one is at work; a refusal after that proves nothing", async () => {
    const io = ioWith([LOST, fault(422, "704"), answered(500, "oops"), answered(200, AUTHORISED)]);
    assert.equal((await adyen.charge(orderOf(), io)).outcome, "approved");
    assert.equal(new Set(io.sent.map(({ request }) => request.headers["Idempotency-Key"])).size, 1);
    assert.equal(io.sent.length, 4);
    assert.equal(codeOf(await pay([fault(422, "704")])), "unknown");
    assert.equal(codeOf(await pay([LOST, fault(401, "000", "security")])), "unknown");
    assert.equal(codeOf(await pay([LOST, refused("12")])), "insufficient_funds");
  });

  test("a part of the amount is sent back before the card is refused, and is unknown when that fails", async () => {
    const part = answered(200, { ...AUTHORISED, resultCode: "PartiallyAuthorised" });
    const io = ioWith([part, RECEIVED]);
    assert.equal(codeOf(await adyen.charge(orderOf(), io)), "insufficient_funds");
    assert.equal(io.sent[1]?.request.url, `https://checkout-test.adyen.com/v72/payments/${PSP}/reversals`);
    assert.equal(io.sent[1]?.body, '{"merchantAccount":"YourCompanyECOM"}');
    const kept = ioWith([part, fault(403, "901", "security")]);
    assert.equal(codeOf(await adyen.charge(orderOf(), kept)), "unknown");
    assert.deepEqual(kept.notes, { adyen_psp_reference: PSP });
  });

  test("the stored card's id is taken from the answer, newer names first, else from the list; without one the switch is named", async () => {
    const idOf = (outcome: Outcome) =>
      outcome.outcome === "approved" ? outcome.processor["adyen_stored_payment_method_id"] : outcome.outcome;
    const newer = { ...STORED.additionalData, "tokenization.storedPaymentMethodId": "KHQC5N7G84BLNK43" };
    assert.equal(idOf(await pay([answered(200, { ...STORED, additionalData: newer })], storing())), "KHQC5N7G84BLNK43");
    const inMethod = { ...AUTHORISED, paymentMethod: { storedPaymentMethodId: "KHQC5N7G84BLNK44" } };
    assert.equal(idOf(await pay([answered(200, inMethod)], storing())), "KHQC5N7G84BLNK44");
    const list = (ids: readonly string[]) => answered(200, { storedPaymentMethods: ids.map((id) => ({ id, type: "scheme" })) });
    const io = ioWith([answered(200, AUTHORISED), list([]), list(["KHQC5N7G84BLNK45"])]);
    assert.equal(idOf(await adyen.tokenize(storing(), io)), "KHQC5N7G84BLNK45");
    assert.equal(
      io.sent[2]?.request.url,
      `https://checkout-test.adyen.com/v72/storedPaymentMethods?merchantAccount=YourCompanyECOM&shopperReference=sess-${SESSION}`,
    );
    const never = await pay([answered(200, AUTHORISED), list([])], storing());
    assert.equal(codeOf(never), "gateway_misconfigured");
    assert.match((never.outcome === "declined" && never.message) || "", /Recurring details/);
  });

  test("a payment is reversed by the pspReference that was noted, on the account that it was made on", async () => {
    const paid = ioWith([answered(200, AUTHORISED)], { credentials: { ...credentials, ...MOTO } });
    await adyen.charge(orderOf(), paid);
    const io = ioWith([RECEIVED]);
    assert.deepEqual(await adyen.void!(traceOf(orderOf(), paid.notes), io), { outcome: "voided" });
    assert.equal(io.sent[0]?.request.url, `https://checkout-test.adyen.com/v72/payments/${PSP}/reversals`);
    assert.equal(io.sent[0]?.body, '{"merchantAccount":"YourCompanyMOTO"}');
    assert.equal((await adyen.void!(traceOf(orderOf(), paid.notes), ioWith([fault(422, "167")]))).outcome, "unknown");
  });

  test("without an answer a cancellation is asked for by our reference, and nothing is claimed of it", async () => {
    const io = ioWith([RECEIVED]);
    assert.equal((await adyen.void!(traceOf(orderOf()), io)).outcome, "unknown");
    assert.equal(io.sent[0]?.request.url, "https://checkout-test.adyen.com/v72/cancels");
    assert.equal(
      io.sent[0]?.body,
      `{"merchantAccount":"YourCompanyECOM","paymentReference":"${SESSION}-1","reference":"cancel-${SESSION}-1"}`,
    );
  });

  test("a stored card is taken out of the vendor's keeping by the shopper's list", async () => {
    const list = answered(200, { storedPaymentMethods: [{ id: "KHQC5N7G84BLNK45" }] });
    const io = ioWith([list, answered(204, "")]);
    assert.deepEqual(await adyen.void!(traceOf(storing()), io), { outcome: "voided" });
    assert.deepEqual(
      [io.sent[1]?.request.method, new URL(io.sent[1]?.request.url ?? "").pathname],
      ["DELETE", "/v72/storedPaymentMethods/KHQC5N7G84BLNK45"],
    );
    const none = answered(200, { storedPaymentMethods: [] });
    assert.deepEqual(await adyen.void!(traceOf(storing()), ioWith([none])), { outcome: "nothing to void" });
    assert.equal((await adyen.void!(traceOf(storing()), ioWith([LOST]))).outcome, "unknown");
    assert.equal((await adyen.void!(traceOf(storing()), ioWith([list, LOST]))).outcome, "unknown");
  });
});
