import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { shortReference } from "../kit/index.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const opayo = GATEWAYS_BUILT.opayo!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const lines = (fields: Readonly<Record<string, string>>) =>
  answered(
    200,
    Object.entries({ VPSProtocol: "4.00", ...fields })
      .map((pair) => pair.join("="))
      .join("\r\n"),
  );
const IDS = { VPSTxId: "{D5B43220-E93C-ED13-6643-D22224BD1CDB}", SecurityKey: "7OYK4OHM7Y" };
const PAID = {
  Status: "OK",
  StatusDetail: "0000 : The Authorisation was Successful.",
  ...IDS,
  TxAuthNo: "8769237",
  AVSCV2: "ALL MATCH",
  "3DSecureStatus": "NOTCHECKED",
};
const STORED = {
  Status: "REGISTERED",
  StatusDetail: "0014 : The Transaction was Registered Successfully.",
  ...IDS,
  "3DSecureStatus": "NOTCHECKED",
};
const invalid = (code: string, status = "INVALID") => lines({ Status: status, StatusDetail: `${code} : no.` });
const reported = (fields: Readonly<Record<string, string>>) =>
  `<vspaccess>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("")}</vspaccess>`;
const report = (fields: Readonly<Record<string, string>>) => answered(200, reported(fields));
const KNOWN = {
  errorcode: "0000",
  vpstxid: IDS.VPSTxId,
  txstateid: "16",
  status: "Successfully authorised transaction.",
  securitykey: IDS.SecurityKey,
  vpsauthcode: "8769237",
};
const UNKNOWN_CODE = report({ errorcode: "0043" });
const REFUND_CODE = `refund-${shortReference(REFERENCE, 24)}`;

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(opayo), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => opayo.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("opayo requests", () => {
  test("a telephone payment is one form with name and address for payer and delivery, outside 3-D Secure", async () => {
    const io = ioWith([lines(PAID)]);
    const card = cardOf("4929000000006", { month: "09", year: "2028", name: "Jané Smith" });
    await opayo.charge(orderOf({ card, currency: "GBP", amountMinor: 2500 }), io);
    assert.equal(io.sent[0]?.request.url, "https://sandbox.opayo.eu.elavon.com/gateway/service/vspdirect-register.vsp");
    const address = (kind: string) =>
      `&${kind}Surname=Smith&${kind}Firstnames=Jane&${kind}Address1=NA&${kind}City=NA&${kind}PostCode=44628&${kind}Country=GB`;
    assert.equal(
      io.sent[0]?.body,
      `VPSProtocol=4.00&TxType=PAYMENT&Vendor=acmevendor&VendorTxCode=${REFERENCE}&Amount=25.00&Currency=GBP&Description=Invoice%201001` +
        "&CardHolder=Jane%20Smith&CardNumber=4929000000006&ExpiryDate=0928&CV2=123&CardType=VISA" +
        `${address("Billing")}${address("Delivery")}&AccountType=M&Apply3DSecure=2&ApplyAVSCV2=3`,
    );
  });

  test("the project's address stands in for what a caller does not give, and names of other scripts are left to it", async () => {
    const credentials = {
      vendor: new Secret("acmevendor"),
      address1: new Secret("1 High Street"),
      city: new Secret("Leeds"),
      country: new Secret("IE"),
    };
    const io = ioWith([lines(PAID)], { credentials, options: { moto: true, avs_cv2_rules: true, three_d_secure: "off" } });
    await opayo.charge(orderOf({ description: null, card: cardOf("5404000000000001", { zip: null, cvv: "", name: "山田" }) }), io);
    const form = new URLSearchParams(io.sent[0]?.body);
    assert.deepEqual(
      [
        "BillingSurname",
        "BillingFirstnames",
        "BillingAddress1",
        "BillingCity",
        "BillingPostCode",
        "BillingCountry",
        "CardHolder",
        "CardType",
        "Description",
        "ApplyAVSCV2",
      ].map((name) => form.get(name)),
      ["Holder", "Card", "1 High Street", "Leeds", "000", "IE", "Card Holder", "MC", "Payment", "0"],
    );
    assert.ok(!form.has("CV2"));
  });

  test("the widget is e-commerce with the browser's fields, an IPv4 address only, and no challenge", async () => {
    const io = ioWith([lines(PAID)]);
    await opayo.charge(orderOf({ channel: "widget", customerIp: "203.0.113.9" }), io);
    await opayo.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1" }), io);
    const [first, second] = io.sent.map(({ body }) => new URLSearchParams(body));
    assert.deepEqual(
      ["AccountType", "Apply3DSecure", "ClientIPAddress", "BrowserJavascriptEnabled", "ChallengeWindowSize"].map((name) =>
        first?.get(name),
      ),
      ["E", "2", "203.0.113.9", "0", "05"],
    );
    assert.ok(first?.get("ThreeDSNotificationURL") && !second?.has("ClientIPAddress"));
    await opayo.charge(orderOf({ channel: "widget", customerIp: "2001:db8::1" }), { ...io, egressIp: "198.51.100.7" });
    assert.equal(new URLSearchParams(io.sent[2]?.body).get("ClientIPAddress"), "198.51.100.7");
  });

  test("an American address has its state, a name of one letter is none", async () => {
    const credentials = { vendor: new Secret("acmevendor"), country: new Secret("US"), state: new Secret("TX") };
    const io = ioWith([lines(PAID)], { credentials });
    await opayo.charge(orderOf({ card: cardOf("4929000000006", { name: "X" }) }), io);
    const form = new URLSearchParams(io.sent[0]?.body);
    assert.deepEqual(
      ["BillingState", "DeliveryState", "CardHolder"].map((name) => form.get(name)),
      ["TX", "TX", "Card Holder"],
    );
  });

  test("a card is registered for the session's sum, or for the project's ceiling when there is none", async () => {
    const io = ioWith([lines(STORED)]);
    const outcome = await opayo.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      opayo_vps_tx_id: IDS.VPSTxId,
      opayo_security_key: IDS.SecurityKey,
    });
    await opayo.tokenize(orderOf({ mode: "tokenize" }), io);
    const [first, second] = io.sent.map(({ body }) => new URLSearchParams(body));
    assert.deepEqual(
      ["TxType", "Amount", "COFUsage", "InitiatedType", "MITType"].map((name) => first?.get(name)),
      ["AUTHENTICATE", "100.00", "FIRST", "CIT", "UNSCHEDULED"],
    );
    assert.equal(second?.get("Amount"), "49.95");
    await opayo.tokenize(orderOf({ mode: "tokenize", amountMinor: 0, currency: "JPY" }), io);
    assert.equal(new URLSearchParams(io.sent[2]?.body).get("Amount"), "100");
  });

  test("the look-up is signed as the vendor's example is", async () => {
    const credentials = {
      vendor: new Secret("acmevendor"),
      reporting_user: new Secret("apiuser"),
      reporting_password: new Secret("s3cretPw1"),
    };
    const io = ioWith([report(KNOWN)], { credentials });
    await opayo.lookUp!(traceOf(orderOf({ reference: "ps-4f0c6f0e8d3b" })), io);
    assert.equal(io.sent[0]?.request.url, "https://sandbox.opayo.eu.elavon.com/access/access.htm");
    assert.equal(
      new URLSearchParams(io.sent[0]?.body).get("XML"),
      "<vspaccess><command>getTransactionDetail</command><vendor>acmevendor</vendor><user>apiuser</user>" +
        "<vendortxcode>ps-4f0c6f0e8d3b</vendortxcode><signature>e95ad3a912332dd5f36d651524ed9d64</signature></vspaccess>",
    );
  });

  test("brands and amounts that the vendor cannot take are never sent; settings that cannot work are named", async () => {
    const io = ioWith([lines(PAID)]);
    assert.equal(codeOf(await opayo.charge(orderOf({ card: cardOf("6200000000000005") }), io)), "card_not_supported");
    assert.equal(codeOf(await opayo.charge(orderOf({ currency: "BHD", amountMinor: 1234 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
    const fault = (more: Record<string, string>) =>
      opayo.checkSettings({
        ...settingsOf(opayo),
        credentials: {
          vendor: new Secret("acmevendor"),
          ...Object.fromEntries(Object.entries(more).map(([name, text]) => [name, new Secret(text)])),
        },
      });
    assert.equal(fault({}), null);
    assert.match(fault({ vendor: "a vendor of some length" }) ?? "", /vendor/);
    assert.match(fault({ reporting_user: "x" }) ?? "", /reporting_password/);
    assert.match(fault({ country: "GBR" }) ?? "", /country/);
    assert.match(fault({ country: "US" }) ?? "", /state/);
    assert.match(fault({ address1: "x".repeat(51) }) ?? "", /address1/);
    assert.match(fault({ token_ceiling: "lots" }) ?? "", /token_ceiling/);
  });
});

describe("opayo responses", () => {
  test("the bank's code tells why a payment was not authorised, and the ids of it are kept", async () => {
    const rows = {
      do_not_honor: "05 01 02",
      insufficient_funds: "51",
      limit_exceeded: "61 65",
      expired_card: "54 33",
      incorrect_number: "14 15",
      lost_or_stolen: "41 43 04 07",
      fraud_suspected: "34 59 63",
      card_not_supported: "57 58 62",
      incorrect_cvc: "82 N7",
      card_declined: "99 constructor",
    };
    for (const [ours, codes] of Object.entries(rows)) {
      for (const code of codes.split(" ")) {
        const outcome = await charge(
          lines({ Status: "NOTAUTHED", StatusDetail: "2000 : The Authorisation was Declined by the bank.", ...IDS, DeclineCode: code }),
        );
        assert.equal(codeOf(outcome), ours, code);
        assert.equal(outcome.outcome === "declined" && outcome.processor["opayo_vps_tx_id"], IDS.VPSTxId);
      }
    }
  });

  test("65 is a bank's wish for authentication where one could have been asked for, of Mastercard in e-commerce, and else a limit", async () => {
    const said = lines({
      Status: "NOTAUTHED",
      StatusDetail: "2000 : The Authorisation was Declined by the bank.",
      ...IDS,
      DeclineCode: "65",
    });
    const mastercard = cardOf("5404000000000001");
    const byPhone = { moto: true, avs_cv2_rules: false, three_d_secure: "off" };
    for (const [order, options, expected] of [
      [orderOf({ card: mastercard, channel: "widget" }), byPhone, "authentication_required"],
      [orderOf({ card: mastercard }), { ...byPhone, moto: false }, "authentication_required"],
      [orderOf({ card: mastercard }), byPhone, "limit_exceeded"],
      [orderOf({ channel: "widget" }), byPhone, "limit_exceeded"],
    ] as const)
      assert.equal(codeOf(await opayo.charge(order, ioWith([said], { options }))), expected);
  });

  test("the account's own rules say which check failed", async () => {
    const rejected = (more: Readonly<Record<string, string>>) =>
      charge(lines({ Status: "REJECTED", StatusDetail: "2001 : no", ...IDS, ...more }));
    assert.equal(codeOf(await rejected({ CV2Result: "NOTMATCHED", PostCodeResult: "NOTMATCHED" })), "incorrect_cvc");
    assert.equal(codeOf(await rejected({ CV2Result: "MATCHED", PostCodeResult: "NOTMATCHED" })), "incorrect_zip");
    assert.equal(codeOf(await rejected({})), "card_declined");
    const detail = "4026 : 3D-Authentication failed. This vendor's rules require a successful 3D-Authentication.";
    assert.equal(codeOf(await rejected({ StatusDetail: detail, CV2Result: "NOTMATCHED" })), "authentication_required");
  });

  test("what the vendor's reader refuses is told apart by its code", async () => {
    const rows = {
      incorrect_number: "5011 5026 3048 3051 3062 4048 5010 1007 5015",
      expired_card: "5013",
      invalid_expiry: "3050 3052 5014 5028 5016 2226",
      incorrect_cvc: "5017 5018 5019",
      card_not_supported: "4021 4022 4043 1008",
      incorrect_zip: "3016 3027 3090 5022 5023 5055",
      limit_exceeded: "5025",
      gateway_credentials_invalid: "4000 4020 3034 4047",
      gateway_misconfigured: "4006 4008 3100 3227 4032 5005 3999",
      authentication_required: "4026 4027 4046 5029",
    };
    for (const [ours, codes] of Object.entries(rows)) {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(invalid(code))), ours, code);
        assert.equal(codeOf(await charge(invalid(code, "MALFORMED"))), ours, code);
      }
    }
    const moto = await charge(invalid("3099"));
    assert.match(moto.outcome === "declined" ? (moto.reason ?? "") : "", /moto/);
  });

  test("a challenge cannot be shown on the telephone", async () => {
    assert.equal(
      codeOf(await charge(lines({ Status: "3DAUTH", StatusDetail: "2007 : Please redirect", ACSURL: "https://acs.example/a?b=c" }))),
      "authentication_required",
    );
  });

  test("any other status, an approval without its ids, and the other mode's success decide nothing", async () => {
    for (const fields of [
      { ...PAID, Status: "OK REPEATED" },
      { ...PAID, Status: "ERROR" },
      { ...PAID, Status: "PENDING" },
      { ...PAID, Status: "constructor" },
      { ...PAID, SecurityKey: "" },
      STORED,
      { StatusDetail: "0000 : x" },
    ])
      assert.equal((await charge(lines(fields))).outcome, "unknown", JSON.stringify(fields));
    for (const status of [429, 503]) assert.equal((await charge(answered(status, ""))).outcome, "unknown");
    assert.equal((await opayo.tokenize(storing, ioWith([lines(PAID)]))).outcome, "unknown");
  });

  test("a time-out or fault behind the vendor decides nothing, whatever status it comes with", async () => {
    for (const code of "2002 2003 2008 5003 5994 5996 5997 6000".split(" "))
      for (const status of ["NOTAUTHED", "INVALID", "MALFORMED", "REJECTED", "ERROR"])
        assert.equal((await charge(invalid(code, status))).outcome, "unknown", `${status} ${code}`);
  });

  test("a fault that Opayo names is what a payment ends with that is found not to have been made, a time-out is none (R-417)", async () => {
    for (const [refused_as, details] of [
      ["processing_error", ["2003 : no.", "5003 : Internal Server Error.", "5994 : no.", "6000 : no.", "The server is busy."]],
      ["gateway_unavailable", ["2002 : no.", "2008 : no.", "5996 : The bank did not answer in time.", "5997 : no."]],
    ] as const)
      for (const StatusDetail of details)
        for (const verb of ["charge", "tokenize"] as const) {
          const io = ioWith([lines({ Status: "ERROR", StatusDetail })]);
          assert.equal((await opayo[verb](orderOf({ mode: verb }), io)).outcome, "unknown");
          assert.deepEqual(io.notes, { refused_as }, StatusDetail);
        }
    const other = ioWith([lines({ Status: "PENDING" })]);
    await opayo.charge(orderOf(), other);
    assert.deepEqual(other.notes, {});
  });

  test("an approval with a refusal's code, a time-out's, or another's transaction code is none (R-422)", async () => {
    for (const change of [
      { StatusDetail: "5996 : The bank did not answer in time." },
      { DeclineCode: "51" },
      { DeclineCode: "05" },
      { VendorTxCode: "another" },
    ])
      assert.equal((await charge(lines({ ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
    for (const change of [{ DeclineCode: "00" }, { DeclineCode: "" }, { VendorTxCode: orderOf().reference }])
      assert.equal((await charge(lines({ ...PAID, ...change }))).outcome, "approved", JSON.stringify(change));
    assert.equal((await charge(lines({ Status: "INVALID", StatusDetail: "5011 : no.", VendorTxCode: "another" }))).outcome, "unknown");
  });

  test("a report that says anything twice, or that an authorised payment failed, decides nothing", async () => {
    const look = (answer: GatewayAnswer) => opayo.lookUp!(traceOf(orderOf()), ioWith([answer]));
    const text = (answer: GatewayAnswer) => (answer.kind === "answered" ? Buffer.from(answer.body).toString() : "");
    const whole = text(report({ ...KNOWN, vendortxcode: orderOf().reference, amount: "49.95", currency: "USD" }));
    assert.equal((await look(answered(200, whole))).outcome, "approved");
    for (const more of [
      "<amount>4.99</amount>",
      "<currency>EUR</currency>",
      "<vendortxcode>another</vendortxcode>",
      "<txstateid>20</txstateid>",
      "<status>Transaction declined by the bank.</status>",
      "<errorcode>0043</errorcode>",
    ])
      assert.equal((await look(answered(200, whole.replace("</vspaccess>", `${more}</vspaccess>`)))).outcome, "unknown", more);
    assert.equal((await look(report({ ...KNOWN, status: "Transaction was voided." }))).outcome, "unknown");
  });

  test("a code that was used before is looked up: the payment that stands is ours", async () => {
    assert.equal((await charge(invalid("4042"), report(KNOWN))).outcome, "approved");
    assert.equal((await charge(invalid("4042"), report({ errorcode: "0043" }))).outcome, "unknown");
  });

  test("a used code is one without its number too, as older answers word it (R-422)", async () => {
    const StatusDetail = "The VendorTxCode '984297' has been used before.  Each transaction you send should have a unique VendorTxCode.";
    const used = lines({ Status: "INVALID", StatusDetail });
    assert.equal((await charge(used, report({ ...KNOWN, vendortxcode: REFERENCE }))).outcome, "approved");
    assert.equal((await charge(used, UNKNOWN_CODE)).outcome, "unknown");
  });

  test("a payment that the merchant took back was taken back, and what failed at Opayo was no refusal of the bank (R-417)", async () => {
    for (const [txstateid, status, code] of [
      ["1", "Transaction failed registration. Either an INVALID or MALFORMED response was returned.", "processing_error"],
      ["10", "Transaction REJECTED by the Fraud Rules you have in place.", "card_declined"],
      ["12", "Transaction DECLINED by the bank (NOTAUTHED).", "card_declined"],
      ["13", "An ERROR occurred at Sage Pay which cancelled this transaction.", "processing_error"],
      ["17", "Transaction Timed Out at Authorisation Stage.", "unknown"],
      ["18", "Transaction VOIDed by the Vendor.", "processing_error"],
      ["23", "Transaction could not be settled with the bank and has been failed by the Sage Pay systems.", "processing_error"],
    ] as const) {
      const found = await opayo.lookUp!(traceOf(orderOf()), ioWith([report({ ...KNOWN, vendortxcode: REFERENCE, txstateid, status })]));
      assert.equal(codeOf(found), code, status);
    }
  });

  test("a look-up says what stands, what was never there, and when it cannot know", async () => {
    const look = (answer: GatewayAnswer, order = orderOf()) => opayo.lookUp!(traceOf(order), ioWith([answer]));
    const stands = await look(report(KNOWN));
    // The vendor's reports are ISO-8859-1, and hold the address that was given.
    const western = `<?xml version="1.0" encoding="ISO-8859-1" ?>${reported({ ...KNOWN, billingcity: "Orl\u00e9ans" })}`;
    assert.deepEqual(await look({ kind: "answered", status: 200, headers: {}, body: Buffer.from(western, "latin1") }), stands);
    assert.deepEqual(stands.outcome === "approved" && stands.processor, {
      opayo_vps_tx_id: IDS.VPSTxId,
      opayo_security_key: IDS.SecurityKey,
    });
    assert.equal((await look(report({ errorcode: "0043" }))).outcome, "absent");
    for (const answer of [
      report({ errorcode: "0010" }),
      report({ ...KNOWN, txstateid: "2", status: "At 3D-Secure" }),
      report({ ...KNOWN, securitykey: "" }),
      report({ ...KNOWN, vendortxcode: "another" }),
      report({ ...KNOWN, amount: "4.99", currency: "USD" }),
      report({ ...KNOWN, amount: "49.95", currency: "EUR" }),
      LOST,
    ])
      assert.equal((await look(answer)).outcome, "unknown");
    assert.equal((await look(report({ ...KNOWN, txstateid: "20", status: "Transaction declined by the bank." }))).outcome, "declined");
    assert.equal((await look(report({ ...KNOWN, txstateid: "14", status: "Transaction REGISTERED." }), storing)).outcome, "approved");
    assert.equal((await look(report({ ...KNOWN, amount: "1,049.95" }), orderOf({ amountMinor: 104_995 }))).outcome, "approved");
    const blind = ioWith([report(KNOWN)], { credentials: { vendor: new Secret("acmevendor") } });
    assert.equal((await opayo.lookUp!(traceOf(orderOf()), blind)).outcome, "unknown");
    assert.equal(blind.sent.length, 0);
  });

  test("a payment is voided with what the look-up gave, refunded when that is too late; a registration is cancelled", async () => {
    const taken = lines({ Status: "OK", StatusDetail: "2005 : The Void was Successful." });
    const day = ioWith([report(KNOWN), UNKNOWN_CODE, taken]);
    assert.equal((await opayo.void!(traceOf(orderOf()), day)).outcome, "voided");
    assert.match(day.sent[2]?.body ?? "", /TxType=VOID&Vendor=acmevendor&.*&SecurityKey=7OYK4OHM7Y&TxAuthNo=8769237$/);
    const late = ioWith([report(KNOWN), UNKNOWN_CODE, invalid("4045"), report(KNOWN), taken]);
    assert.equal((await opayo.void!(traceOf(orderOf()), late)).outcome, "voided");
    // A void that arrived twice, and was refused for the first one: what is voided is not refunded.
    const voided = report({ ...KNOWN, txstateid: "18", status: "Transaction VOIDed by the Vendor." });
    const twice = ioWith([report(KNOWN), UNKNOWN_CODE, invalid("4037"), voided]);
    assert.deepEqual([(await opayo.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], ["voided", 4]);
    assert.match(late.sent[4]?.body ?? "", /TxType=REFUND&.*&RelatedSecurityKey=7OYK4OHM7Y&RelatedTxAuthNo=8769237$/);
    for (const unclear of [LOST, invalid("5003", "ERROR"), invalid("2002"), answered(502, "<html>")]) {
      const doubtful = ioWith([report(KNOWN), UNKNOWN_CODE, unclear, taken]);
      assert.equal((await opayo.void!(traceOf(orderOf()), doubtful)).outcome, "unknown");
      assert.equal(doubtful.sent.length, 3, "no refund after a void that may have been taken");
    }
    const cancel = ioWith([report({ ...KNOWN, txstateid: "14", status: "Transaction REGISTERED." }), taken]);
    assert.equal((await opayo.void!(traceOf(storing), cancel)).outcome, "voided");
    assert.match(cancel.sent[1]?.request.url ?? "", /\/cancel\.vsp$/);
  });

  test("a refund whose answer was lost is found by its own code, and nothing is sent while it is not known to be made (R-422)", async () => {
    const refund = { ...KNOWN, vendortxcode: REFUND_CODE, amount: "49.95", currency: "USD" };
    for (const [found, outcome] of [
      [report(refund), "voided"],
      // A refusal uses the code up, and gives nothing back.
      [report({ ...refund, txstateid: "18", status: "Transaction declined by the bank." }), "unknown"],
      [report({ ...refund, status: "Transaction cancelled." }), "unknown"],
      [report({ ...refund, amount: "9.95" }), "unknown"],
      [report({ ...refund, vendortxcode: REFERENCE }), "unknown"],
      [report(KNOWN), "unknown"],
      [report({ errorcode: "0044" }), "unknown"],
      [LOST, "unknown"],
    ] as const) {
      const io = ioWith([report(KNOWN), found]);
      assert.equal((await opayo.void!(traceOf(orderOf()), io)).outcome, outcome);
      assert.equal(io.sent.length, 2);
      assert.match(decodeURIComponent(io.sent[1]?.body ?? ""), new RegExp(`<vendortxcode>${REFUND_CODE}<`));
    }
  });

  test("a payment that the merchant refunded by hand, a part or all, is neither refunded again nor taken for one that stands (R-422)", async () => {
    const refunded = report({ ...KNOWN, refunded: "YES" });
    const io = ioWith([refunded, UNKNOWN_CODE, invalid("4045")]);
    assert.equal((await opayo.void!(traceOf(orderOf()), io)).outcome, "unknown");
    assert.equal(io.sent.length, 2);
    const own = report({ ...KNOWN, vendortxcode: REFUND_CODE, amount: "49.95", currency: "USD", refunded: "NO" });
    assert.equal((await opayo.void!(traceOf(orderOf()), ioWith([refunded, own]))).outcome, "voided");
    assert.equal((await opayo.lookUp!(traceOf(orderOf()), ioWith([refunded]))).outcome, "unknown");
    assert.equal((await opayo.lookUp!(traceOf(orderOf()), ioWith([report({ ...KNOWN, refunded: "NO" })]))).outcome, "approved");
  });

  test("a refund that the report shows as refused is made under another code the next time, as its own is used up (R-422)", async () => {
    const declined = report({ ...KNOWN, vendortxcode: REFUND_CODE, txstateid: "18", status: "Transaction declined by the bank." });
    const first = ioWith([report(KNOWN), declined]);
    assert.equal((await opayo.void!(traceOf(orderOf()), first)).outcome, "unknown");
    const made = lines({ Status: "OK", StatusDetail: "0000 : The Authorisation was Successful." });
    const next = ioWith([report(KNOWN), UNKNOWN_CODE, invalid("4045"), report(KNOWN), made]);
    assert.equal((await opayo.void!(traceOf(orderOf(), first.notes), next)).outcome, "voided");
    const codes = [1, 4].map((index) => /refund-[a-z]{24}/.exec(decodeURIComponent(next.sent[index]?.body ?? ""))?.[0]);
    assert.equal(codes[0], codes[1]);
    assert.notEqual(codes[0], REFUND_CODE);
  });

  test("a refund that the bank refused is not known to be made, though its code was used up and an answer before was lost (R-422)", async () => {
    const declined = report({ ...KNOWN, vendortxcode: REFUND_CODE, txstateid: "18", status: "Transaction declined by the bank." });
    const io = testIo(settingsOf(opayo), ({ url, body }) => {
      if (url.endsWith("/access.htm"))
        return Promise.resolve(decodeURIComponent(Buffer.from(body ?? []).toString()).includes(REFUND_CODE) ? declined : report(KNOWN));
      return Promise.resolve(invalid(url.endsWith("/void.vsp") ? "4045" : "4042"));
    });
    assert.equal((await opayo.void!(traceOf(orderOf(), { reversal: "sent" }), io)).outcome, "unknown");
  });
});
