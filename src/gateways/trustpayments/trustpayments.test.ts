import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { orderReference } from "./requests.ts";

const trustpayments = GATEWAYS_BUILT.trustpayments!;
const REFERENCE = orderReference(orderOf());
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

/** The sheet's recorded answer, to our order. */
const PAID = {
  transactionstartedtimestamp: "2026-04-19 08:08:22",
  livestatus: "0",
  issuer: "SecureTrading Test Issuer1",
  errorcode: "0",
  errormessage: "Ok",
  orderreference: REFERENCE,
  transactionreference: "57-9-123456",
  paymenttypedescription: "VISA",
  baseamount: "4995",
  currencyiso3a: "USD",
  accounttypedescription: "MOTO",
  acquirerresponsecode: "00",
  requesttypedescription: "AUTH",
  authcode: "TEST24",
  maskedpan: "411111######1111",
  settlestatus: "0",
  securityresponsesecuritycode: "2",
  securityresponseaddress: "0",
  securityresponsepostcode: "2",
};
const DECLINED = {
  ...PAID,
  errorcode: "70000",
  errormessage: "Decline",
  acquirerresponsecode: "05",
  authcode: "DECLINED",
  settlestatus: "3",
};
const CHECKED = { ...PAID, requesttypedescription: "ACCOUNTCHECK", transactionreference: "57-9-123457", baseamount: "0" };
const UPDATED = { requesttypedescription: "TRANSACTIONUPDATE", errorcode: "0", errormessage: "Ok" };
const error = (errorcode: string, errordata?: string | string[], requesttypedescription = "ERROR") => ({
  errorcode,
  errormessage: "No.",
  errordata,
  requesttypedescription,
});
const said = (...response: object[]) => answered(200, { requestreference: "W42-afw1kgbu", version: "1.00", response, secrand: "T" });
const records = (...found: object[]) =>
  said({ requesttypedescription: "TRANSACTIONQUERY", errorcode: "0", errormessage: "Ok", found: String(found.length), records: found });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(trustpayments), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => trustpayments.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const store = (...answers: GatewayAnswer[]): Promise<Outcome> => trustpayments.tokenize(storing, ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const requestOf = (body: string) => (JSON.parse(body) as { request: Record<string, unknown>[] }).request[0]!;

describe("trustpayments requests", () => {
  test("a sale is the sheet's JSON at the one path, its user named twice, every value a text", async () => {
    const io = ioWith([said(PAID)]);
    const card = cardOf("4111111111111111", { month: "09", year: "2028", name: "Jane Smith", zip: "TR45 6ST" });
    const outcome = await trustpayments.charge(orderOf({ card }), io);
    assert.deepEqual(outcome, {
      outcome: "approved",
      capture: "captured",
      processor: { trustpayments_transaction_reference: "57-9-123456" },
      webhookProcessor: { auth_code: "TEST24", response_code: "0" },
    });
    const { request, body } = io.sent[0]!;
    assert.equal(`${request.method} ${request.url}`, "POST https://webservices.securetrading.net/json/");
    assert.deepEqual(request.headers, {
      Accept: "application/json",
      "Content-Type": "application/json;charset=utf-8",
      Authorization: "Basic d2Vic2VydmljZXNAbWVyY2hhbnQuY29tOlBhc3N3MHJkMV4=",
    });
    assert.equal(
      body,
      '{"alias":"webservices@merchant.com","version":"1.00","request":[{"requesttypedescriptions":["AUTH"],' +
        '"sitereference":"test_site12345","accounttypedescription":"MOTO","currencyiso3a":"USD","baseamount":"4995",' +
        `"orderreference":"${REFERENCE}","pan":"4111111111111111","expirydate":"09/2028","securitycode":"123",` +
        '"billingfirstname":"Jane","billinglastname":"Smith","billingpostcode":"TR45 6ST","customfield1":"Invoice 1001",' +
        '"settlestatus":"0","credentialsonfile":"0"}]}',
    );
  });

  test("an order reference has 25 characters at most and is another one for the next card", () => {
    const [first, second] = [orderReference(orderOf()), orderReference({ reference: orderOf({ attempt: 2 }).reference })];
    assert.match(first, /^ps[a-z]{22}$/);
    assert.notEqual(first, second);
  });

  test("the widget is ECOM with the shopper's address, telephone payments are so where MOTO is off; empty fields are left out", async () => {
    const sent = async (order: Partial<Order>, options = {}) => {
      const io = ioWith([said(PAID)], { options: { ...settingsOf(trustpayments).options, ...options } });
      await trustpayments.charge(orderOf(order), io);
      return io.sent[0]!.body;
    };
    const card = cardOf("4111111111111111", { cvv: "", zip: null });
    const widget = await sent({ card, channel: "widget", customerIp: "2001:db8::7", description: " " });
    assert.partialDeepStrictEqual(requestOf(widget), { accounttypedescription: "ECOM", customerip: "2001:db8::7" });
    assert.doesNotMatch(widget, /securitycode|billing|customfield|""/);
    assert.equal(requestOf(await sent({}, { moto: false }))["accounttypedescription"], "ECOM");
    assert.equal(requestOf(await sent({ currency: "JPY", amountMinor: 500 }))["baseamount"], "500");
  });

  test("telephone payments may have a site of their own, which the look-up remembers", async () => {
    const credentials = { ...settingsOf(trustpayments).credentials, moto_sitereference: new Secret("test_phone1") };
    const io = ioWith([LOST, records(PAID)], { credentials });
    const order = orderOf();
    assert.equal((await trustpayments.charge(order, io)).outcome, "unknown");
    assert.equal((await trustpayments.lookUp!(traceOf(order, io.notes), io)).outcome, "approved");
    assert.equal(requestOf(io.sent[0]!.body)["sitereference"], "test_phone1");
    assert.deepEqual(requestOf(io.sent[1]!.body), {
      requesttypedescriptions: ["TRANSACTIONQUERY"],
      filter: { sitereference: [{ value: "test_phone1" }], orderreference: [{ value: REFERENCE }] },
    });
    const widget = ioWith([said(PAID)], { credentials });
    await trustpayments.charge(orderOf({ channel: "widget" }), widget);
    assert.equal(requestOf(widget.sent[0]!.body)["sitereference"], "test_site12345");
  });

  test("a card is checked for nothing and flagged as stored", async () => {
    const io = ioWith([said(CHECKED)]);
    const outcome = await trustpayments.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { trustpayments_transaction_reference: "57-9-123457" });
    const request = requestOf(io.sent[0]!.body);
    assert.partialDeepStrictEqual(request, { requesttypedescriptions: ["ACCOUNTCHECK"], baseamount: "0", credentialsonfile: "1" });
    assert.equal(request["settlestatus"], undefined);
  });

  test("credentials are refused by name, a site of the other environment too", () => {
    const fault = (credentials: Record<string, string>, changes: Partial<GatewaySettings> = {}) =>
      trustpayments.checkSettings({
        ...settingsOf(trustpayments),
        ...changes,
        credentials: {
          ...settingsOf(trustpayments).credentials,
          ...Object.fromEntries(Object.entries(credentials).map(([name, value]) => [name, new Secret(value)])),
        },
      });
    assert.match(fault({ username: "a:b" }) ?? "", /^username is not/);
    assert.match(fault({ sitereference: "test-site" }) ?? "", /^sitereference is not/);
    assert.match(fault({ sitereference: "site12345" }) ?? "", /^sitereference is a live site/);
    assert.match(fault({ moto_sitereference: "phone1" }) ?? "", /^moto_sitereference is a live site/);
    assert.match(fault({ base_url: "http://webservices.securetrading.us" }) ?? "", /^base_url is not/);
    const live = { environment: "live", endpoint: trustpayments.hosts.live } as const;
    assert.match(fault({}, live) ?? "", /^sitereference is a test site/);
    assert.equal(fault({ sitereference: "site12345", base_url: "https://webservices.securetrading.us" }, live), null);
  });
});

/** The sheet's codes; behind the sign the field or the acquirer's code. */
const CODES: Readonly<Record<string, string>> = {
  insufficient_funds: "70000/51 60042",
  expired_card: "70000/54 70000/33",
  incorrect_number: "70000/14 70000/15 31000 10003 30000:pan",
  lost_or_stolen: "70000/41 70000/43 70000/04 70000/07",
  fraud_suspected: "70000/34 70000/59 70000/63 30002 60036 60044 60500",
  card_not_supported: "70000/57 70000/58 70000/62 60043 60045 10103 31007",
  limit_exceeded: "70000/61 70000/65",
  authentication_required: "70000/1A 71000 88888 60022 30004",
  incorrect_cvc: "70000/82 70000/N7 31001 30000:securitycode",
  do_not_honor: "70000/05 72000",
  card_declined: "70000/ZZ 70000/constructor",
  invalid_expiry: "31002 31003 31004 10100 30000:expirydate 30000:expirymonth 30000:expiryyear",
  incorrect_zip: "30000:billingpostcode",
  gateway_misconfigured:
    "30000:sitereference 30000:constructor 30001 30003 30007 30009 30010 40000 60012 60018 60025 60027 60028 60029 60035 60040 20008 10205",
  gateway_credentials_invalid: "6 30006 30008 60023 61002",
  processing_error: "88000 79001 90007 60030",
  unknown: "70001 60010 60034 60038 60020 50000 50001 50012 50016 51000 79000 60039 99999 62000 12 constructor",
};

describe("trustpayments responses", () => {
  for (const [ours, codes] of Object.entries(CODES)) {
    test(`what means ${ours} in both modes (R-417)`, async () => {
      for (const word of codes.split(" ")) {
        const [code = "", acquirer, field] = [word.split(/[/:]/)[0], word.split("/")[1], word.split(":")[1]];
        const refused = (type: string) =>
          acquirer === undefined
            ? said(error(code, field === undefined ? undefined : [field]))
            : said({ ...DECLINED, acquirerresponsecode: acquirer, requesttypedescription: type });
        assert.equal(codeOf(await charge(refused("AUTH"))), ours, word);
        assert.equal(codeOf(await store(refused("ACCOUNTCHECK"))), ours === "unknown" ? "gateway_unavailable" : ours, word);
      }
    });
  }

  test("a fault is one of the processing once no query shows the payment, where the bank was not there it was away (R-417)", async () => {
    for (const [codes, refusedAs] of [
      ["70001 60010 60034 79000 60039 62000 99999", "processing_error"],
      ["60038", "gateway_misconfigured"],
      ["50000 51000 60020", undefined],
    ] as const)
      for (const code of codes.split(" ")) {
        const io = ioWith([said(error(code))]);
        await trustpayments.charge(orderOf(), io);
        assert.equal(io.notes["refused_as"], refusedAs, code);
      }
  });

  test("a decline keeps its reference; Mastercard's 65 asks for authentication, a wrong security code is the better reason", async () => {
    const declined = (more: object) => charge(said({ ...DECLINED, ...more }));
    const outcome = await declined({});
    assert.deepEqual(outcome.outcome === "declined" && [outcome.message, outcome.processor], [
      "Decline",
      { trustpayments_transaction_reference: "57-9-123456" },
    ]);
    assert.equal(
      codeOf(await declined({ acquirerresponsecode: "65", paymenttypedescription: "MASTERCARDDEBIT" })),
      "authentication_required",
    );
    assert.equal(codeOf(await declined({ securityresponsesecuritycode: "4" })), "incorrect_cvc");
    assert.equal(codeOf(await declined({ securityresponsesecuritycode: "4", acquirerresponsecode: "51" })), "insufficient_funds");
    assert.equal(codeOf(await charge(said(error("30000", "securitycode")))), "incorrect_cvc");
  });

  test("a site without an account for telephone payments is told of the option", async () => {
    for (const code of ["60028", "40000", "30009"]) {
      const outcome = await charge(said(error(code)));
      assert.match((outcome.outcome === "declined" && outcome.reason) || "", /option moto/);
    }
  });

  test("authorized money stands by its settle status; a suspended one is cancelled and refused", async () => {
    for (const settlestatus of ["0", "1", "10", "100"]) assert.equal((await charge(said({ ...PAID, settlestatus }))).outcome, "approved");
    assert.equal(codeOf(await charge(said({ ...PAID, settlestatus: "3" }))), "card_declined");
    for (const [checks, code] of [
      [{}, "fraud_suspected"],
      [{ securityresponsesecuritycode: "4" }, "incorrect_cvc"],
      [{ securityresponsepostcode: "4" }, "incorrect_zip"],
    ] as const) {
      const suspended = said({ ...PAID, ...checks, settlestatus: "2" });
      const io = ioWith([suspended, said(UPDATED)]);
      assert.equal(codeOf(await trustpayments.charge(orderOf(), io)), code);
      assert.deepEqual(requestOf(io.sent[1]!.body), {
        requesttypedescriptions: ["TRANSACTIONUPDATE"],
        filter: { sitereference: [{ value: "test_site12345" }], transactionreference: [{ value: "57-9-123456" }] },
        updates: { settlestatus: "3" },
      });
      assert.equal((await charge(suspended, LOST)).outcome, "unknown");
    }
  });

  test("a refusal of money that somebody may still release, as after a risk referral, is cancelled before it counts (R-422)", async () => {
    const referred = { ...PAID, errorcode: "60500", errormessage: "Risk Referral", settlestatus: "2" };
    const io = ioWith([said(referred), said(UPDATED)]);
    assert.equal(codeOf(await trustpayments.charge(orderOf(), io)), "fraud_suspected");
    assert.partialDeepStrictEqual(requestOf(io.sent[1]!.body), {
      filter: { transactionreference: [{ value: "57-9-123456" }] },
      updates: { settlestatus: "3" },
    });
    assert.equal((await charge(said(referred), LOST)).outcome, "unknown");
    assert.equal((await charge(said({ ...referred, transactionreference: undefined }), said(UPDATED))).outcome, "unknown");
    const cancelled = ioWith([said({ ...referred, settlestatus: "3" })]);
    assert.equal(codeOf(await trustpayments.charge(orderOf(), cancelled)), "fraud_suspected");
    assert.equal(cancelled.sent.length, 1);
  });

  test("any other sum, currency, status, type or reference is never approved (R-422)", async () => {
    const odd = [
      { baseamount: "4996" },
      { baseamount: undefined },
      { currencyiso3a: "GBP" },
      { settlestatus: undefined },
      { settlestatus: "constructor" },
      { requesttypedescription: "THREEDQUERY" },
      { requesttypedescription: "ERROR" },
      { transactionreference: undefined },
      { transactionreference: "57 9" },
      { errorcode: undefined },
    ];
    for (const change of odd) assert.equal((await charge(said({ ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
    for (const answer of [answered(200, "<html>"), answered(200, PAID), said(), answered(500, {}), answered(400, "no"), LOST])
      assert.equal((await charge(answer)).outcome, "unknown");
    for (const body of ["<html>", {}, PAID]) assert.equal(codeOf(await charge(answered(401, body))), "gateway_credentials_invalid");
    for (const body of ["", "<html>", {}]) assert.equal((await charge(answered(429, body))).outcome, "unknown");
    assert.equal((await charge(said({ ...PAID, requesttypedescription: "THREEDQUERY" }, PAID))).outcome, "approved");
  });

  test("an answer about another order, or with two results, decides nothing and cancels nothing (R-422)", async () => {
    const alone = async (...response: object[]) => {
      const io = ioWith([said(...response)]);
      assert.equal((await trustpayments.charge(orderOf(), io)).outcome, "unknown", JSON.stringify(response));
      assert.equal(io.sent.length, 1);
    };
    for (const orderreference of ["another", [REFERENCE], 7])
      for (const one of [PAID, DECLINED, { ...PAID, settlestatus: "2" }]) await alone({ ...one, orderreference });
    await alone({ ...PAID, currencyiso3a: ["GBP"] });
    for (const twice of [
      [PAID, PAID],
      [DECLINED, PAID],
      [PAID, DECLINED],
      [PAID, error("50000")],
      [error("30000"), error("50000")],
    ])
      await alone(...twice);
    assert.equal((await charge(answered(401, { response: [DECLINED, PAID] }))).outcome, "unknown");
    assert.equal((await charge(answered(200, { response: PAID }))).outcome, "unknown");
    assert.equal((await store(said({ ...CHECKED, orderreference: "another" }), said(CHECKED))).outcome, "approved");
  });

  test("a refusal of money that is to be settled all the same is neither, nor is an approval with a refusal's code", async () => {
    for (const authcode of ["DECLINED", "46-DECLINED"]) assert.equal((await charge(said({ ...PAID, authcode }))).outcome, "unknown");
    for (const settlestatus of ["0", "1", "10", "100"])
      assert.equal((await charge(said({ ...DECLINED, settlestatus }))).outcome, "unknown");
    assert.equal(codeOf(await charge(said({ ...DECLINED, settlestatus: undefined }))), "do_not_honor");
    assert.equal(codeOf(await store(said({ ...DECLINED, requesttypedescription: "ACCOUNTCHECK", settlestatus: "0" }))), "do_not_honor");
  });

  test("a check whose security code did not match stores nothing that is told; a lost one is sent again, then queried", async () => {
    assert.equal(codeOf(await store(said({ ...CHECKED, securityresponsesecuritycode: "4" }))), "incorrect_cvc");
    assert.equal((await store(said({ ...CHECKED, securityresponsesecuritycode: "0", settlestatus: undefined }))).outcome, "approved");
    assert.equal((await store(LOST, answered(500, ""), said(CHECKED))).outcome, "approved");
    assert.equal((await store(LOST, LOST, LOST, records(CHECKED, CHECKED))).outcome, "approved");
    assert.equal(codeOf(await store(LOST)), "gateway_unavailable");
  });
});

describe("trustpayments look-ups", () => {
  const look = (answer: GatewayAnswer, order = orderOf()) => trustpayments.lookUp!(traceOf(order), ioWith([answer]));

  test("a record is judged by its own code, not by the query's", async () => {
    assert.equal((await look(records(PAID))).outcome, "approved");
    assert.equal(codeOf(await look(records({ ...DECLINED, acquirerresponsecode: "51" }))), "insufficient_funds");
    assert.equal(codeOf(await look(records({ ...PAID, settlestatus: "3" }))), "card_declined");
    assert.equal((await look(records({ ...PAID, errorcode: "60010", settlestatus: "3" }))).outcome, "unknown");
    assert.equal((await look(records({ ...PAID, baseamount: "1" }))).outcome, "unknown");
    assert.equal((await look(records({ ...PAID, currencyiso3a: undefined }))).outcome, "approved");
    assert.equal((await look(records({ ...PAID, currencyiso3a: "GBP" }))).outcome, "unknown");
  });

  test("no record is absent, two that stand are a doubt, others' and refunds are none of it", async () => {
    assert.equal((await look(records())).outcome, "absent");
    assert.equal((await look(said({ requesttypedescription: "TRANSACTIONQUERY", errorcode: "0", found: "0" }))).outcome, "absent");
    assert.equal((await look(records(DECLINED, PAID))).outcome, "approved");
    assert.equal((await look(records(PAID, { ...PAID, transactionreference: "57-9-123458" }))).outcome, "unknown");
    assert.equal((await look(records({ ...PAID, requesttypedescription: "REFUND" }))).outcome, "absent");
    // The query asked for one order: who shows others has not answered it.
    for (const orderreference of ["another", undefined, [REFERENCE]])
      for (const list of [records({ ...PAID, orderreference }), records(DECLINED, { ...PAID, orderreference })])
        assert.equal((await look(list)).outcome, "unknown");
    assert.equal((await look(records(CHECKED), storing)).outcome, "approved");
  });

  test("a query that was not answered says nothing", async () => {
    const odd = [LOST, answered(401, ""), answered(500, {}), said(error("60019")), said(error("0")), said({ ...UPDATED, errorcode: "0" })];
    const noList = said({ requesttypedescription: "TRANSACTIONQUERY", errorcode: "0", found: "1" });
    const fewer = (found: string, ...list: object[]) =>
      said({ requesttypedescription: "TRANSACTIONQUERY", errorcode: "0", found, records: list });
    const twice = { requesttypedescription: "TRANSACTIONQUERY", errorcode: "0", found: "0", records: [] };
    for (const answer of [...odd, noList, fewer("1"), fewer("2", DECLINED), fewer("constructor"), said(twice, twice)])
      assert.equal((await look(answer)).outcome, "unknown");
  });

  test("a payment is cancelled, once it is settled refunded; a stored card stays", async () => {
    const reverse = (order: Order, ...answers: GatewayAnswer[]) => {
      const io = ioWith(answers);
      return trustpayments.void!(traceOf(order), io).then((result) => [result.outcome, io.sent] as const);
    };
    assert.equal((await reverse(orderOf(), records(PAID), said(UPDATED)))[0], "voided");
    const refund = { requesttypedescription: "REFUND", errorcode: "0", transactionreference: "57-9-123460" };
    // "Transaction not updatable" is the vendor's word for one that is settled.
    const [outcome, sent] = await reverse(orderOf(), records(PAID), said(error("60017")), records(PAID), said(refund));
    assert.equal(outcome, "voided");
    assert.deepEqual(requestOf(sent[3]!.body), {
      requesttypedescriptions: ["REFUND"],
      sitereference: "test_site12345",
      parenttransactionreference: "57-9-123456",
      baseamount: "4995",
      orderreference: PAID.orderreference,
    });
    // A cancellation that arrived twice, and was refused for the first one: what is cancelled is not refunded.
    const twice = await reverse(orderOf(), records(PAID), said(error("60017")), records({ ...PAID, settlestatus: "3" }));
    assert.deepEqual([twice[0], twice[1].length], ["voided", 3]);
    const made = { ...refund, orderreference: PAID.orderreference, baseamount: "4995", settlestatus: "0" };
    assert.equal((await reverse(orderOf(), records(PAID, made)))[0], "nothing to void", "its answer was lost");
    for (const other of [{ errorcode: "70000" }, { baseamount: "995" }, { settlestatus: "3" }])
      assert.equal((await reverse(orderOf(), records(PAID, { ...made, ...other }), said(UPDATED)))[0], "voided");
    for (const answer of [LOST, said(error("50000")), said(error("30006")), answered(500, {})])
      assert.equal((await reverse(orderOf(), records(PAID), answer))[0], "unknown");
    assert.equal((await reverse(orderOf(), records()))[0], "absent");
    assert.equal((await reverse(storing, records(CHECKED)))[0], "unknown");
  });

  test("a refund whose answer was lost is not sent again while no query shows it: there is no check for a second (R-422)", async () => {
    const io = ioWith([records(PAID), said(error("20004")), records(PAID), LOST]);
    assert.equal((await trustpayments.void!(traceOf(orderOf()), io)).outcome, "unknown");
    const refund = { requesttypedescription: "REFUND", errorcode: "0", transactionreference: "57-9-123460" };
    const later = ioWith([records(PAID), said(error("20004")), said(refund)]);
    assert.equal((await trustpayments.void!(traceOf(orderOf(), io.notes), later)).outcome, "unknown");
    assert.equal(later.sent.length, 2);
  });
});
