import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const cybersource = GATEWAYS_BUILT.cybersource!;
const settings = settingsOf(cybersource);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const CODE = "3f6c0a5e9b1d4c7a8e215d0f7b6a01";
const ID = "6750124114786780104953";

const AUTHORIZED = {
  clientReferenceInformation: { code: CODE },
  id: ID,
  orderInformation: { amountDetails: { authorizedAmount: "49.95", currency: "USD" } },
  processorInformation: { approvalCode: "888888", networkTransactionId: "123456789619999", responseCode: "100", avs: { code: "X" } },
  status: "AUTHORIZED",
};
const STORED = {
  ...AUTHORIZED,
  orderInformation: { amountDetails: { authorizedAmount: "0.00", currency: "USD" } },
  tokenInformation: { instrumentidentifierNew: true, instrumentIdentifier: { id: "7010000000016241111", state: "ACTIVE" } },
};
const refused = (reason: string, more: object = {}) =>
  answered(201, { id: ID, status: "DECLINED", errorInformation: { reason, message: "Decline - General decline of the card." }, ...more });
const invalid = (reason: string, ...fields: string[]) =>
  answered(400, { status: "INVALID_REQUEST", reason, message: "Declined", details: fields.map((field) => ({ field, reason })) });
const REVERSED = answered(201, { id: "1", status: "REVERSED" });
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => cybersource.charge(orderOf(), ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const pathsOf = (io: ReturnType<typeof ioWith>) => io.sent.map(({ request }) => new URL(request.url).pathname);

describe("cybersource requests", () => {
  test("a sale is one JSON body, by telephone moto, its code the session's and the attempt's", async () => {
    const io = ioWith([answered(201, AUTHORIZED)]);
    await cybersource.charge(orderOf({ card: cardOf("4111111111111111", { name: "Ada Lovelace", year: "2030" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://apitest.cybersource.com/pts/v2/payments");
    assert.partialDeepStrictEqual(request.headers, {
      Accept: "application/hal+json;charset=utf-8",
      "Content-Type": "application/json;charset=utf-8",
    });
    assert.match(request.headers["Authorization"] ?? "", /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    assert.equal(
      body,
      `{"clientReferenceInformation":{"code":"${CODE}","transactionId":"${CODE}","comments":"Invoice 1001"},` +
        '"processingInformation":{"capture":true,"commerceIndicator":"moto"},' +
        '"paymentInformation":{"card":{"number":"4111111111111111","expirationMonth":"03","expirationYear":"2030","securityCode":"123","type":"001"}},' +
        '"orderInformation":{"amountDetails":{"totalAmount":"49.95","currency":"USD"},' +
        '"billTo":{"firstName":"Ada","lastName":"Lovelace","postalCode":"44628"}}}',
    );
  });

  test("the widget is the internet with the shopper's address; what is not known is left out; a second card has another code", async () => {
    const io = ioWith([answered(201, AUTHORIZED)]);
    const card = cardOf("5555555555554444", { cvv: "", zip: null });
    await cybersource.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", card, description: null, attempt: 2 }), io);
    const body = io.sent[0]?.body ?? "";
    assert.match(body, /"commerceIndicator":"internet"/);
    assert.match(body, /"type":"002"\}/);
    assert.match(body, /"deviceInformation":\{"ipAddress":"203\.0\.113\.7"\}\}$/);
    assert.match(body, /"code":"3f6c0a5e9b1d4c7a8e215d0f7b6a02"/);
    assert.doesNotMatch(body, /billTo|securityCode|comments/);
  });

  test("stand-ins fill what a payer gave not, and postal codes have the vendor's dash and blank", async () => {
    const credentials = {
      ...settings.credentials,
      billing_street: new Secret("1 Market St"),
      billing_zip: new Secret("94105"),
      billing_country: new Secret("US"),
      billing_email: new Secret("payments@shop.example"),
    };
    const billTo = async (zip: string | null) => {
      const io = ioWith([answered(201, AUTHORIZED)], { credentials });
      await cybersource.charge(orderOf({ card: cardOf("4111111111111111", { zip }) }), io);
      return JSON.stringify((JSON.parse(io.sent[0]!.body) as { orderInformation: { billTo: object } }).orderInformation.billTo);
    };
    const stood = (zip: string) => `{"address1":"1 Market St","postalCode":"${zip}","country":"US","email":"payments@shop.example"}`;
    assert.equal(await billTo(null), stood("94105"));
    assert.equal(await billTo("446281234"), stood("44628-1234"));
    assert.equal(await billTo("A1B2C3"), stood("A1B 2C3"));
  });

  test("amounts have the currency's own places", async () => {
    const io = ioWith([answered(201, { ...AUTHORIZED, orderInformation: {} })]);
    await cybersource.charge(orderOf({ currency: "JPY", amountMinor: 1234 }), io);
    assert.match(io.sent[0]?.body ?? "", /"totalAmount":"1234","currency":"JPY"/);
  });

  test("a card is stored by an authorization of nothing that makes an instrument identifier", async () => {
    const io = ioWith([answered(201, STORED)]);
    const outcome = await cybersource.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      cybersource_payment_id: ID,
      cybersource_instrument_identifier_id: "7010000000016241111",
    });
    assert.match(
      io.sent[0]?.body ?? "",
      /"processingInformation":\{"capture":false,"commerceIndicator":"moto","actionList":\["TOKEN_CREATE"\],"actionTokenTypes":\["instrumentIdentifier"\],"authorizationOptions":\{"initiator":\{"type":"customer","credentialStoredOnFile":true\}\}\}/,
    );
    assert.match(io.sent[0]?.body ?? "", /"totalAmount":"0\.00"/);
  });

  test("a lost store is sent again under another transactionId; one without an identifier is none", async () => {
    const io = ioWith([LOST, answered(201, STORED)]);
    assert.equal((await cybersource.tokenize(storing, io)).outcome, "approved");
    const ids = io.sent.map(
      ({ body }) => (JSON.parse(body) as { clientReferenceInformation: { transactionId: string } }).clientReferenceInformation,
    );
    assert.equal(new Set(ids.map(({ transactionId }) => transactionId)).size, 2);
    assert.ok(ids.every(({ transactionId }) => /^[a-z0-9]{30}$/.test(transactionId)));
    const bare = { ...STORED, tokenInformation: undefined };
    const none = ioWith([answered(201, bare)]);
    const outcome = await cybersource.tokenize(storing, none);
    assert.deepEqual([codeOf(outcome), none.sent.length], ["gateway_misconfigured", 1]);
    assert.match((outcome.outcome === "declined" && outcome.message) || "", /Token Management Service/);
    const odd = { ...STORED, tokenInformation: { instrumentIdentifier: { id: "7010 1" } } };
    assert.equal(codeOf(await cybersource.tokenize(storing, ioWith([answered(201, odd)]))), "gateway_unavailable");
  });

  test("a store that is refused with keys that are good for a search may have arrived before: it is sent again (I4)", async () => {
    const shutOut = answered(401, { response: { rmsg: "Authentication Failed" } });
    const good = answered(201, { totalCount: 0 });
    const outcomes = [
      [shutOut, shutOut],
      [shutOut, good, answered(201, STORED)],
      [shutOut, good, shutOut, good, shutOut, good],
    ].map((answers) => cybersource.tokenize(storing, ioWith(answers)));
    const [wrong, again, always] = await Promise.all(outcomes);
    assert.deepEqual(
      [wrong, again, always].map((one) => one && codeOf(one)),
      ["gateway_credentials_invalid", "approved", "gateway_unavailable"],
    );
    assert.deepEqual(
      [wrong, always].map((one) => one?.outcome === "declined" && one.mayBeStored === true),
      [false, true],
    );
  });

  test("settings that cannot work are named", () => {
    const fault = (change: Record<string, string>) =>
      cybersource.checkSettings({
        ...settings,
        credentials: {
          ...settings.credentials,
          ...Object.fromEntries(Object.entries(change).map(([name, value]) => [name, new Secret(value)])),
        },
      });
    assert.equal(fault({}), null);
    assert.match(fault({ merchant_id: "acme shop" }) ?? "", /^merchant_id is not/);
    assert.match(fault({ key_id: "key" }) ?? "", /^key_id is not a UUID/);
    assert.match(fault({ shared_secret: "short" }) ?? "", /^shared_secret is not Base64/);
    assert.match(fault({ billing_country: "USA" }) ?? "", /^billing_country is not/);
    assert.match(fault({ base_url: "http://api.in.cybersource.com" }) ?? "", /^base_url is not an https address/);
    for (const base of ["https://cybersource.com.shop.example", "https://api.shop.example", "https://api.cybersource.com/pts"])
      assert.match(fault({ base_url: base }) ?? "", /^base_url is not an https address of cybersource\.com/, base);
    assert.equal(fault({ base_url: "https://api.in.cybersource.com" }), null);
  });
});

describe("cybersource responses", () => {
  test("every reason of the sheet's table means what it says, as a decline and as an invalid request", async () => {
    const rows: Readonly<Record<string, string>> = {
      card_declined: "GENERAL_DECLINE PROCESSOR_DECLINED PAYMENT_REFUSED CONTACT_PROCESSOR BLOCKED_BY_CARDHOLDER DECLINED_CHECK",
      insufficient_funds: "INSUFFICIENT_FUND",
      limit_exceeded: "EXCEEDS_CREDIT_LIMIT ALLOWABLE_PIN_RETRIES_EXCEEDED",
      expired_card: "EXPIRED_CARD",
      incorrect_number: "INVALID_ACCOUNT INVALID_CARD",
      incorrect_cvc: "INVALID_CVN CVN_NOT_MATCH",
      card_not_supported: "CARD_TYPE_NOT_ACCEPTED INVALID_CARD_TYPE UNAUTHORIZED_CARD NOT_SUPPORTED",
      lost_or_stolen: "STOLEN_LOST_CARD",
      fraud_suspected:
        "DECISION_PROFILE_REJECT DECISION_PROFILE_REVIEW SCORE_EXCEEDS_THRESHOLD BLACKLISTED_CUSTOMER SUSPENDED_ACCOUNT CUSTOMER_WATCHLIST_MATCH DAGGREJECTED DAGGDENIED DSYSREJECTED",
      authentication_required: "CONSUMER_AUTHENTICATION_REQUIRED CONSUMER_AUTHENTICATION_FAILED PENDING_AUTHENTICATION",
      processing_error: "ISSUER_UNAVAILABLE PROCESSOR_ERROR",
      gateway_unavailable: "PROCESSOR_UNAVAILABLE",
      gateway_misconfigured: "INVALID_MERCHANT_CONFIGURATION INVALID_PAYMENT_ID INVALID_AMOUNT",
    };
    for (const [ours, reasons] of Object.entries(rows)) {
      for (const reason of reasons.split(" ")) {
        assert.equal(codeOf(await charge(refused(reason))), ours, reason);
        assert.equal(codeOf(await charge(invalid(reason))), ours, reason);
      }
    }
    assert.equal(codeOf(await charge(refused("PROCESSOR_DECLINED", { processorInformation: { responseCode: "05" } }))), "do_not_honor");
    assert.equal(codeOf(await charge(refused("constructor"))), "card_declined");
    assert.equal(codeOf(await charge(invalid("constructor"))), "gateway_misconfigured");
  });

  test("an invalid request names its field; an address that the account wants is named with what helps", async () => {
    const fields: Readonly<Record<string, string>> = {
      "paymentInformation.card.number": "incorrect_number",
      "paymentInformation.card.securityCode": "incorrect_cvc",
      "paymentInformation.card.expirationYear": "invalid_expiry",
      "orderInformation.billTo.postalCode": "incorrect_zip",
      "orderInformation.amountDetails.currency": "gateway_misconfigured",
    };
    for (const [field, ours] of Object.entries(fields)) assert.equal(codeOf(await charge(invalid("INVALID_DATA", field))), ours, field);
    const wanted = await charge(invalid("MISSING_FIELD", "orderInformation.billTo.email"));
    assert.ok(wanted.outcome === "declined" && wanted.code === "gateway_misconfigured");
    assert.match(wanted.message ?? "", /relaxed address requirements.*billing_/);
    const whole = await charge(invalid("MISSING_FIELD", "orderInformation.billTo.postalCode", "orderInformation.billTo.address1"));
    assert.match((whole.outcome === "declined" && `${whole.code} ${whole.message}`) || "", /^gateway_misconfigured .*relaxed address/);
    const zero = await cybersource.tokenize(storing, ioWith([invalid("INVALID_DATA", "orderInformation.amountDetails.totalAmount")]));
    assert.match((zero.outcome === "declined" && zero.message) || "", /amount of zero/);
  });

  test("statuses: keys, addresses, floods and faults; 201 in a state that is not documented is unknown", async () => {
    for (const [status, ours] of Object.entries({
      401: "gateway_credentials_invalid",
      403: "gateway_credentials_invalid",
      404: "gateway_misconfigured",
      405: "gateway_misconfigured",
      415: "gateway_misconfigured",
      429: "gateway_unavailable",
      502: "unknown",
      503: "unknown",
      200: "unknown",
    }))
      assert.equal(codeOf(await charge(answered(Number(status), { response: { rmsg: "Authentication Failed" } }))), ours, status);
    assert.equal(codeOf(await charge(answered(403, "<html>"))), "gateway_credentials_invalid");
    for (const change of [
      { status: "constructor" },
      { status: undefined },
      { id: undefined },
      { orderInformation: { amountDetails: { authorizedAmount: "4.99", currency: "USD" } } },
      { orderInformation: { amountDetails: { authorizedAmount: "49.95", currency: "EUR" } } },
    ])
      assert.equal(codeOf(await charge(answered(201, { ...AUTHORIZED, ...change }))), "unknown", JSON.stringify(change));
    assert.equal(codeOf(await charge(answered(201, { encryptedResponse: "eyJ" }))), "unknown");
    for (const reason of ["SYSTEM_ERROR", "SERVER_TIMEOUT", "SERVICE_TIMEOUT"])
      for (const answer of [refused(reason), invalid(reason)]) assert.equal(codeOf(await charge(answer)), "unknown", reason);
    for (const body of [{}, { message: "Bad Request" }]) assert.equal(codeOf(await charge(answered(400, body))), "unknown");
    assert.equal(codeOf(await charge(answered(201, { ...AUTHORIZED, status: "PENDING_AUTHENTICATION" }))), "authentication_required");
  });

  test("what Decision Manager holds is held for review, with the payment's id and no reversal", async () => {
    for (const status of ["AUTHORIZED_PENDING_REVIEW", "PENDING_REVIEW"]) {
      const io = ioWith([answered(201, { ...AUTHORIZED, status })]);
      const outcome = await cybersource.charge(orderOf(), io);
      assert.deepEqual(
        [codeOf(outcome), outcome.outcome === "declined" && outcome.processor],
        ["held_for_review", { cybersource_payment_id: ID }],
      );
      assert.equal(io.sent.length, 1);
    }
  });

  test("a hold that the vendor's own rules refused is released, and the refusal stands in any case", async () => {
    for (const [answer, ours] of [
      [refused("AVS_FAILED"), "incorrect_zip"],
      [refused("CV_FAILED"), "incorrect_cvc"],
      [answered(201, { ...AUTHORIZED, status: "AUTHORIZED_RISK_DECLINED" }), "fraud_suspected"],
    ] as const) {
      const io = ioWith([answer, REVERSED]);
      assert.equal(codeOf(await cybersource.charge(orderOf(), io)), ours);
      assert.deepEqual(pathsOf(io), ["/pts/v2/payments", `/pts/v2/payments/${ID}/reversals`]);
      assert.match(io.sent[1]?.body ?? "", /"reversalInformation":\{"amountDetails":\{"totalAmount":"49\.95","currency":"USD"\}/);
      const stays = await charge(answer, LOST);
      assert.match((stays.outcome === "declined" && stays.reason) || "", /will lapse/);
    }
  });

  test("a part is sent back before it is refused, and unknown when it cannot be", async () => {
    const part = answered(201, {
      ...AUTHORIZED,
      status: "PARTIAL_AUTHORIZED",
      orderInformation: { amountDetails: { authorizedAmount: "10.00", currency: "USD" } },
    });
    const io = ioWith([part, REVERSED]);
    assert.equal(codeOf(await cybersource.charge(orderOf(), io)), "insufficient_funds");
    assert.match(io.sent[1]?.body ?? "", /"totalAmount":"10\.00"/);
    assert.equal((await charge(part, LOST)).outcome, "unknown");
  });

  test("what was never taken is never refunded, and a card that is stored has nothing to release", async () => {
    const part = answered(201, {
      ...AUTHORIZED,
      status: "PARTIAL_AUTHORIZED",
      orderInformation: { amountDetails: { authorizedAmount: "10.00", currency: "USD" } },
    });
    for (const [answer, outcome] of [
      [part, "unknown"],
      [refused("AVS_FAILED"), "incorrect_zip"],
    ] as const) {
      const io = ioWith([answer, answered(400, { reason: "INVALID_DATA" })]);
      assert.equal(codeOf(await cybersource.charge(orderOf(), io)), outcome);
      assert.deepEqual(pathsOf(io).slice(1), [`/pts/v2/payments/${ID}/reversals`, `/pts/v2/payments/${ID}/voids`]);
    }
    const io = ioWith([refused("AVS_FAILED")]);
    const stored = await cybersource.tokenize(orderOf({ mode: "tokenize" }), io);
    assert.deepEqual([codeOf(stored), stored.outcome === "declined" && stored.reason, io.sent.length], ["incorrect_zip", undefined, 1]);
  });
});

describe("cybersource look-ups", () => {
  test("a hold that is reversed already counts as released", async () => {
    const gone = answered(400, { status: "INVALID_REQUEST", reason: "AUTH_ALREADY_REVERSED" });
    const part = answered(201, { ...AUTHORIZED, status: "PARTIAL_AUTHORIZED" });
    assert.equal(codeOf(await cybersource.charge(orderOf(), ioWith([part, gone]))), "insufficient_funds");
    const settled = answered(400, { status: "INVALID_REQUEST", reason: "TRANSACTION_ALREADY_REVERSED_OR_SETTLED" });
    assert.equal(codeOf(await cybersource.charge(orderOf(), ioWith([part, settled]))), "unknown");
  });

  const summary = (change: object = {}) => ({
    id: ID,
    clientReferenceInformation: { code: CODE },
    applicationInformation: {
      applications: [
        { name: "ics_auth", reasonCode: "100", rCode: "1", rFlag: "SOK" },
        { name: "ics_bill", reasonCode: "100", rCode: "1", rFlag: "SOK" },
      ],
    },
    orderInformation: { amountDetails: { totalAmount: "49.95", currency: "USD" } },
    ...change,
  });
  const found = (...items: object[]) => answered(201, { totalCount: items.length, _embedded: { transactionSummaries: items } });
  const lookUp = (...answers: GatewayAnswer[]) => cybersource.lookUp!(traceOf(orderOf()), ioWith(answers));
  const ran = (reasonCode: string) => summary({ applicationInformation: { applications: [{ name: "ics_auth", reasonCode }] } });

  test("a payment is searched for by its code", async () => {
    const io = ioWith([found(summary())]);
    assert.equal((await cybersource.lookUp!(traceOf(orderOf()), io)).outcome, "approved");
    assert.equal(
      io.sent[0]?.body,
      `{"save":false,"name":"lookup","timezone":"UTC","query":"clientReferenceInformation.code:${CODE} AND submitTimeUtc:[NOW/DAY-7DAYS TO NOW/DAY+1DAY}",` +
        '"offset":0,"limit":100,"sort":"id:asc,submitTimeUtc:asc"}',
    );
  });

  test("what is found is read by its reason codes; other codes, sums and an unreadable answer decide nothing", async () => {
    for (const [reasonCode, ours] of Object.entries({
      203: "card_declined",
      204: "insufficient_funds",
      202: "expired_card",
      230: "incorrect_cvc",
      205: "lost_or_stolen",
      480: "held_for_review",
      150: "unknown",
      constructor: "unknown",
    }))
      assert.equal(codeOf(await lookUp(found(ran(reasonCode)))), ours, reasonCode);
    const applications = (...codes: [name: string, reasonCode: string][]) =>
      found(summary({ applicationInformation: { applications: codes.map(([name, reasonCode]) => ({ name, reasonCode })) } }));
    assert.equal((await lookUp(applications(["ics_auth", "100"], ["ics_bill", "100"], ["ics_afs", "102"]))).outcome, "unknown");
    assert.equal((await lookUp(applications(["ics_auth", "100"], ["ics_bill", "100"], ["ics_void", "102"]))).outcome, "unknown");
    assert.equal(codeOf(await lookUp(applications(["ics_auth", "100"], ["ics_decision", "481"]))), "fraud_suspected");
    for (const name of ["ics_void", "ics_auth_reversal"])
      assert.equal(codeOf(await lookUp(applications(["ics_auth", "100"], ["ics_bill", "100"], [name, "100"]))), "processing_error");
    assert.equal((await lookUp(found(ran("203"), summary()))).outcome, "approved");
    assert.equal((await lookUp(found(summary(), summary({ id: "2" })))).outcome, "unknown");
    assert.equal((await lookUp(found(summary({ clientReferenceInformation: { code: "other" } })))).outcome, "unknown");
    assert.equal((await lookUp(found(summary({ orderInformation: { amountDetails: { totalAmount: "1.00" } } })))).outcome, "unknown");
    assert.equal((await lookUp(found(summary({ applicationInformation: {} })))).outcome, "unknown");
    assert.equal((await lookUp(answered(201, { totalCount: 0 }))).outcome, "absent");
    assert.equal((await lookUp(answered(201, { totalCount: 101, _embedded: { transactionSummaries: [summary()] } }))).outcome, "unknown");
    for (const answer of [LOST, answered(404, {}), answered(201, {}), answered(201, "<html>")])
      assert.equal((await lookUp(answer)).outcome, "unknown");
  });

  test("a second delivery that was refused as a duplicate hides no payment, and is none by itself (R-422)", async () => {
    assert.equal((await lookUp(found(ran("104"), summary({ id: "2" })))).outcome, "approved");
    assert.equal((await lookUp(found(ran("104")))).outcome, "absent");
    const io = ioWith([invalid("DUPLICATE_REQUEST"), found(ran("104")), found(ran("104"), summary({ id: "2" }))]);
    assert.equal((await cybersource.charge(orderOf(), io)).outcome, "approved");
  });

  test("a payment that is found authorized and not captured is a hold, which a reversal releases; one whose capture was refused is released at once", async () => {
    const applications = (...codes: [name: string, reasonCode: string][]) =>
      found(summary({ applicationInformation: { applications: codes.map(([name, reasonCode]) => ({ name, reasonCode })) } }));
    const held = await lookUp(applications(["ics_auth", "100"]));
    assert.equal(held.outcome === "approved" && held.capture, "authorized");
    const io = ioWith([applications(["ics_auth", "100"]), REVERSED]);
    assert.equal((await cybersource.void!(traceOf(orderOf()), io)).outcome, "voided");
    assert.equal(io.sent.at(-1)?.request.url, `https://apitest.cybersource.com/pts/v2/payments/${ID}/reversals`);
    const refused = ioWith([applications(["ics_auth", "100"], ["ics_bill", "233"]), REVERSED]);
    assert.equal(codeOf(await cybersource.lookUp!(traceOf(orderOf()), refused)), "card_declined");
    assert.match(refused.sent[1]?.request.url ?? "", /reversals$/);
    const reviewed = ioWith([applications(["ics_auth", "100"], ["ics_decision", "480"]), REVERSED]);
    assert.equal(codeOf(await cybersource.lookUp!(traceOf(orderOf()), reviewed)), "held_for_review");
    assert.equal(reviewed.sent.length, 1, "the merchant decides");
  });

  test("a hold that the vendor's own rules refused is released when it is found, too; what the issuer refused holds nothing", async () => {
    for (const [reasonCode, code, reversals] of [
      ["200", "incorrect_zip", 1],
      ["230", "incorrect_cvc", 1],
      ["481", "fraud_suspected", 1],
      ["203", "card_declined", 0],
      ["480", "held_for_review", 0],
    ] as const)
      for (const answer of [REVERSED, LOST]) {
        const io = ioWith([found(ran(reasonCode)), answer]);
        assert.equal(codeOf(await cybersource.lookUp!(traceOf(orderOf()), io)), code);
        const made = pathsOf(io).filter((path) => path === `/pts/v2/payments/${ID}/reversals`).length;
        assert.equal(made, reversals, reasonCode);
      }
    assert.equal((await lookUp(found(ran("200"), summary()), REVERSED)).outcome, "approved");
  });

  test("nothing found is no absence where the attempt is older than what the search shows", async () => {
    const days = (count: number) => traceOf(orderOf(), {}, Date.now() - count * 86_400_000);
    const none = () => ioWith([answered(201, { totalCount: 0 })]);
    assert.equal((await cybersource.lookUp!(days(5), none())).outcome, "absent");
    assert.equal((await cybersource.lookUp!(days(7), none())).outcome, "unknown");
    assert.equal((await cybersource.lookUp!(days(7), ioWith([found(summary())]))).outcome, "approved");
  });

  test("a payment is voided by its id, and refunded once it is settled", async () => {
    const io = ioWith([found(summary()), answered(400, { reason: "NOT_VOIDABLE" }), answered(201, { id: "2", status: "PENDING" })]);
    assert.equal((await cybersource.void!(traceOf(orderOf()), io)).outcome, "voided");
    assert.deepEqual(pathsOf(io).slice(1), [`/pts/v2/payments/${ID}/voids`, `/pts/v2/payments/${ID}/refunds`]);
    assert.equal(io.sent[1]?.body, `{"clientReferenceInformation":{"code":"${CODE}v"}}`);
    assert.equal((await cybersource.void!(traceOf(orderOf()), ioWith([found(summary()), LOST]))).outcome, "unknown");
    assert.equal((await cybersource.void!(traceOf(orderOf()), ioWith([answered(201, { totalCount: 0 })]))).outcome, "absent");
  });

  test("a refund without a clear answer is not sent again, one that was refused or never sent is (R-422)", async () => {
    const no = (reason: string) => answered(400, { reason });
    const closed = no("NOT_VOIDABLE");
    const again = async (first: GatewayAnswer) => {
      const io = ioWith([found(summary()), closed, first]);
      assert.equal((await cybersource.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([found(summary()), closed, answered(201, { id: "2", status: "PENDING" })]);
      return [(await cybersource.void!(traceOf(orderOf(), io.notes), later)).outcome, later.sent.length];
    };
    for (const unclear of [
      LOST,
      answered(502, { reason: "SERVER_TIMEOUT" }),
      answered(201, { status: "DECLINED" }),
      no("DUPLICATE_REQUEST"),
    ])
      assert.deepEqual(await again(unclear), ["unknown", 2], JSON.stringify(unclear));
    for (const plain of [no("INVALID_DATA"), { kind: "not sent", reason: "no connection" } as const])
      assert.deepEqual(await again(plain), ["voided", 3], JSON.stringify(plain));
  });

  test("a void whose answer was lost is done where the refund is refused because of it; one that is not ours is not (R-422)", async () => {
    const lost = ioWith([found(summary()), LOST]);
    assert.equal((await cybersource.void!(traceOf(orderOf()), lost)).outcome, "unknown");
    const gone = [answered(400, { reason: "NOT_VOIDABLE" }), answered(400, { reason: "CAPTURE_ALREADY_VOIDED" })];
    for (const [notes, outcome] of [
      [lost.notes, "voided"],
      [{}, "unknown"],
    ] as const)
      assert.equal((await cybersource.void!(traceOf(orderOf(), notes), ioWith([found(summary()), ...gone]))).outcome, outcome);
  });

  test("a void that is a duplicate may have been taken before, and no refund follows it (R-422)", async () => {
    const io = ioWith([found(summary()), answered(400, { reason: "DUPLICATE_REQUEST" }), answered(201, { id: "2", status: "PENDING" })]);
    assert.equal((await cybersource.void!(traceOf(orderOf()), io)).outcome, "unknown");
    assert.equal(io.sent.length, 2);
  });

  test("a duplicate is looked up until the first one shows", async () => {
    const io = ioWith([invalid("DUPLICATE_REQUEST"), answered(201, { totalCount: 0 }), found(summary())]);
    assert.equal((await cybersource.charge(orderOf(), io)).outcome, "approved");
  });
});
