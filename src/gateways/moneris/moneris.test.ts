import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const moneris = GATEWAYS_BUILT.moneris!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const NOT_SENT: GatewayAnswer = { kind: "not sent", reason: "connection refused" };
const FILLING = "           *                    =";

const PAID = {
  ReceiptId: REFERENCE,
  ReferenceNum: "660148420010137130",
  ResponseCode: "027",
  ISO: "01",
  AuthCode: "655371",
  TransType: "00",
  Complete: "true",
  Message: `APPROVED${FILLING}`,
  TransAmount: "49.95",
  CardType: "V ",
  TransID: "69785-0_98",
  TimedOut: "false",
  AvsResultCode: "Z",
  CvdResultCode: "1M",
};
const VERIFIED = { ...PAID, TransType: "06", TransAmount: "0.00", IssuerId: "355689484440192" };
const STORED = {
  DataKey: "LAmXQeZwdtzUtz1QI1vF6etR2",
  ReceiptId: "null",
  ResponseCode: "001",
  Complete: "true",
  TimedOut: "false",
  ResSuccess: "true",
};
const receipt = (fields: Readonly<Record<string, string>>) =>
  answered(
    200,
    `<?xml version="1.0" standalone="yes"?><response><receipt>${Object.entries(fields)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("")}</receipt></response>`,
  );
const receiptText = (answer: GatewayAnswer) => (answer.kind === "answered" ? Buffer.from(answer.body).toString() : "");
const declined = (ResponseCode: string, ISO = "05", more: object = {}) =>
  receipt({ ...PAID, ResponseCode, ISO, AuthCode: "000000", Message: `DECLINED${FILLING}`, ...more });
const unasked = (Message: string) =>
  receipt({ ReceiptId: "null", ResponseCode: "null", TransID: "null", Complete: "false", TimedOut: "false", Message });
const found = receipt({ ...PAID, StatusCode: "001", StatusMessage: "Found" });
const notFound = receipt({
  ReceiptId: REFERENCE,
  ResponseCode: "null",
  Complete: "false",
  TimedOut: "false",
  StatusCode: "050",
  StatusMessage: "Not Found",
});

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(moneris), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!), 100_000);
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => moneris.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const checks = (io: ReturnType<typeof ioWith>) => io.sent.map(({ body }) => body.includes("<status_check>true</status_check>"));

describe("moneris requests", () => {
  test("a telephone purchase has the vendor's elements in the vendor's order, byte for byte, the expiry as YYMM", async () => {
    const io = ioWith([receipt(PAID)]);
    await moneris.charge(orderOf({ card: cardOf("4242424242424242", { month: "05", year: "2030", cvv: "198", zip: "M1M 1M1" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://mpg1t.moneris.io/gateway2/servlet/MpgRequest");
    assert.deepEqual(request.headers, { "Content-Type": "text/xml" });
    assert.equal(
      body,
      '<?xml version="1.0" encoding="UTF-8"?><request><store_id>store5</store_id><api_token>yesguy</api_token><purchase>' +
        `<order_id>${REFERENCE}</order_id><cust_id>${SESSION.replaceAll("-", "")}</cust_id><amount>49.95</amount><pan>4242424242424242</pan>` +
        "<expdate>3005</expdate><crypt_type>1</crypt_type><dynamic_descriptor>Invoice 1001</dynamic_descriptor>" +
        "<avs_info><avs_street_number></avs_street_number><avs_street_name></avs_street_name><avs_zipcode>M1M1M1</avs_zipcode></avs_info>" +
        "<cvd_info><cvd_indicator>1</cvd_indicator><cvd_value>198</cvd_value></cvd_info></purchase></request>",
    );
  });

  test("the widget is crypt_type 7, a telephone too where moto is off; a store without fraud tools is sent neither ZIP nor code", async () => {
    const widget = ioWith([receipt(PAID)]);
    await moneris.charge(orderOf({ channel: "widget", description: "Büro <1001> & a very long text" }), widget);
    assert.match(widget.sent[0]?.body ?? "", /<crypt_type>7<.*<dynamic_descriptor>Buro 1001 &amp; a very l<\//);
    // Characters that the vendor asks to keep out of customer ids are in no other text either.
    const marked = ioWith([receipt(VERIFIED), receipt(STORED)]);
    await moneris.tokenize({ ...storing, description: "50% [off]? {a^b} \\ $5=five 漢" }, marked);
    assert.match(marked.sent[1]?.body ?? "", /<note>50 off a b 5 five<\/note>/);
    const plain = ioWith([receipt(PAID)], { options: { avs_enabled: false, cvd_enabled: false, moto: false } });
    await moneris.charge(orderOf(), plain);
    assert.match(
      plain.sent[0]?.body ?? "",
      /<crypt_type>7<\/crypt_type><dynamic_descriptor>Invoice 1001<\/dynamic_descriptor><\/purchase>/,
    );
  });

  test("a card is verified as a first use, then stored with the issuer's id and without its code", async () => {
    const io = ioWith([receipt(VERIFIED), receipt(STORED)]);
    const outcome = await moneris.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.webhookProcessor], [
      { moneris_data_key: STORED.DataKey },
      { issuer_id: "355689484440192" },
    ]);
    const [verification = "", store = ""] = io.sent.map(({ body }) => body);
    assert.match(
      verification,
      /<card_verification><order_id>.*<\/cvd_info><cof_info><issuer_id><\/issuer_id><payment_indicator>C<\/payment_indicator><payment_information>0<\/payment_information><\/cof_info><\/card_verification>/,
    );
    assert.match(
      store,
      /<res_add_cc><cust_id>\w{32}<\/cust_id><phone><\/phone><email><\/email><note>Invoice 1001<\/note><pan>.*<\/avs_info><cof_info><issuer_id>355689484440192<\/issuer_id><\/cof_info><\/res_add_cc>/,
    );
    assert.ok(!store.includes("cvd_"));
    const without = ioWith([receipt({ ...VERIFIED, IssuerId: "null" }), receipt({ ...STORED, ResponseCode: "027" })]);
    assert.equal((await moneris.tokenize(storing, without)).outcome, "approved");
    assert.ok(!without.sent[1]?.body.includes("cof_info"));
  });

  test("a session in another currency than the store's, or beyond seven places, is never sent; settings that cannot work are named", async () => {
    for (const change of [{ currency: "CAD" }, { currency: "JPY" }, { amountMinor: 1_000_000_000 }]) {
      const io = ioWith([receipt(PAID)]);
      assert.equal(codeOf(await moneris.charge(orderOf(change), io)), "gateway_misconfigured");
      assert.equal(io.sent.length, 0);
    }
    const fault = (name: string, text: string) =>
      moneris.checkSettings({ ...settingsOf(moneris), credentials: { ...settingsOf(moneris).credentials, [name]: new Secret(text) } });
    assert.equal(fault("currency", "CAD"), null);
    assert.match(fault("currency", "EUR") ?? "", /^currency/);
    assert.match(fault("store_id", "store 5") ?? "", /^store_id/);
    assert.match(fault("api_token", "yes-guy") ?? "", /^api_token/);
  });
});

/** Response codes by ours, row by row. */
const CODES: readonly (readonly [ours: string, codes: string])[] = [
  ["card_declined", "50 050 55 74 100 437 438 481 485 909 88 101 102 431 434 436 440 477 483 421 408 416 422 423 426"],
  ["insufficient_funds", "76"],
  ["expired_card", "51 430 482 484 901"],
  ["invalid_expiry", "208 475"],
  ["incorrect_number", "70 71 73 75 97 200 206 429"],
  ["incorrect_cvc", "486 487 489 490"],
  ["lost_or_stolen", "52 57 72 478 479 480 902 903"],
  ["card_not_supported", "56 59 105 252 60"],
  ["limit_exceeded", "65 77 82 86 94 95 106 107 110 112 204 905 907 908"],
  ["do_not_honor", "58 89 93 111 906"],
  ["processing_error", "476 441 209 999"],
  ["gateway_misconfigured", "427 150 960 961 963 964 965"],
  ["gateway_unavailable", "115 121 212 435 439 800 809 811 899"],
];

describe("moneris responses", () => {
  test("every response code from 50 on means what it says, padded or not", async () => {
    for (const [ours, codes] of CODES) for (const code of codes.split(" ")) assert.equal(codeOf(await charge(declined(code))), ours, code);
  });

  test("the issuer's own code says more than the group of a plain decline or of a fault, and nothing against a code that is plain", async () => {
    const pairs =
      "481 51 insufficient_funds, 482 54 expired_card, 421 41 lost_or_stolen, 421 43 lost_or_stolen, 421 14 incorrect_number, 421 57 card_not_supported, 421 62 card_not_supported, 481 61 limit_exceeded, 481 65 limit_exceeded, 481 82 incorrect_cvc, 481 05 card_declined, 76 05 insufficient_funds, 476 03 gateway_misconfigured, 476 13 processing_error, 476 96 processing_error, 999 51 insufficient_funds";
    for (const pair of pairs.split(", ")) {
      const [code = "", iso = "", ours = ""] = pair.split(" ");
      assert.equal(codeOf(await charge(declined(code, iso))), ours, pair);
    }
  });

  test("an approval has its id, the approval code and the letters of the checks; the padding of its words is cut off", async () => {
    const outcome = await charge(receipt(PAID));
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.webhookProcessor], [
      { moneris_txn_id: "69785-0_98" },
      { auth_code: "655371", reference_num: "660148420010137130", avs_result_code: "Z", cvv_result_code: "M" },
    ]);
    const unchecked = await charge(receipt({ ...PAID, AvsResultCode: "null", CvdResultCode: "null" }));
    assert.partialDeepStrictEqual(unchecked, { webhookProcessor: { avs_result_code: "U", cvv_result_code: "U" } });
    const refusal = await charge(declined("481"));
    assert.deepEqual(refusal.outcome === "declined" && [refusal.message, refusal.processor], [
      "DECLINED",
      { moneris_txn_id: "69785-0_98" },
    ]);
  });

  test("what was refused before the host was asked is told apart by its words", async () => {
    const words: [string, string][] = [
      ["API token mismatch", "gateway_credentials_invalid"],
      ["Invalid store id", "gateway_credentials_invalid"],
      ["Cancelled: Invalid pan", "incorrect_number"],
      ["Cancelled: Invalid expdate", "invalid_expiry"],
      ["Cancelled: cvd_value must be digits", "incorrect_cvc"],
      ["Cancelled: avs_zipcode is too long", "incorrect_zip"],
      ["Cancelled: Transaction type is not allowed", "gateway_misconfigured"],
    ];
    for (const [message, code] of words) assert.equal(codeOf(await charge(unasked(message))), code, message);
  });

  test("whatever Moneris does not plainly say is unknown, after one status check that does not say it either", async () => {
    const odd: GatewayAnswer[] = [
      receipt({ ...PAID, TimedOut: "true", Complete: "false" }),
      receipt({ ...PAID, TransAmount: "4.99" }),
      receipt({ ...PAID, ReceiptId: "another" }),
      receipt({ ...PAID, TransID: "null" }),
      receipt({ ...PAID, ResponseCode: "null" }),
      receipt({ ...PAID, ResponseCode: "constructor" }),
      receipt({ ...PAID, Complete: "false" }),
      // A field that stands there twice says nothing, nor is it missing.
      answered(200, receiptText(unasked("duplicate")).replace("</receipt>", "<ResponseCode>027</ResponseCode></receipt>")),
      answered(200, receiptText(receipt(PAID)).replace("</receipt>", "<TransAmount>4.99</TransAmount></receipt>")),
      declined("481", "05", { ReceiptId: "another" }),
      unasked("Global Error Receipt"),
      unasked("null"),
      unasked("Cancelled: the request timed out"),
      declined("113"),
      declined("810"),
      answered(200, ""),
      answered(200, "<html><body>down</body></html>"),
      answered(502, ""),
      LOST,
    ];
    for (const answer of odd) {
      const io = ioWith([answer, LOST]);
      assert.equal((await moneris.charge(orderOf(), io)).outcome, "unknown", JSON.stringify(answer));
      assert.deepEqual(checks(io), [false, true]);
    }
  });
});

describe("moneris and lost answers", () => {
  test("a lost answer is found by the same request with status_check between the token and the purchase", async () => {
    const io = ioWith([LOST, found]);
    assert.equal((await moneris.charge(orderOf(), io)).outcome, "approved");
    const [purchase = "", check = ""] = io.sent.map(({ body }) => body);
    assert.equal(check, purchase.replace("</api_token>", "</api_token><status_check>true</status_check>"));
    assert.deepEqual(io.notes, { purchase: "sent", moneris_txn_id: "69785-0_98" });
    assert.equal(codeOf(await charge(LOST, receipt({ ...PAID, ResponseCode: "481", StatusCode: "001" }))), "card_declined");
    const failed = receipt({ ...PAID, ResponseCode: "481", StatusCode: "481", StatusMessage: "Found" });
    const again = ioWith([LOST, failed]);
    assert.equal(codeOf(await moneris.charge(orderOf(), again)), "card_declined");
    assert.deepEqual(checks(again), [false, true]);
  });

  test("a purchase that Moneris does not know of is sent once more under its order id, which can be taken but once", async () => {
    const again = ioWith([LOST, notFound, receipt(PAID)]);
    assert.equal((await moneris.charge(orderOf(), again)).outcome, "approved");
    assert.deepEqual(checks(again), [false, true, false]);
    // Any status but 200 is a fault of the gateway.
    for (const status of [429, 503]) {
      const flooded = ioWith([answered(status, ""), found]);
      assert.equal((await moneris.charge(orderOf(), flooded)).outcome, "approved");
      assert.deepEqual(checks(flooded), [false, true]);
    }
    const late = ioWith([LOST, notFound, unasked("The transaction was not sent to the host because of a duplicate order id"), found]);
    assert.equal((await moneris.charge(orderOf(), late)).outcome, "approved");
    assert.equal(codeOf(await charge(LOST, notFound, declined("481"))), "card_declined");
  });

  test("the second request's refusal counts only when it came to the host: the first may still be on its way", async () => {
    assert.equal(codeOf(await charge(NOT_SENT)), "gateway_unavailable");
    for (const second of [NOT_SENT, unasked("API token mismatch"), answered(429, "")])
      assert.equal((await charge(LOST, notFound, second)).outcome, "unknown");
    const never = ioWith([LOST, notFound, LOST, notFound]);
    assert.equal((await moneris.charge(orderOf(), never)).outcome, "unknown");
    assert.deepEqual(checks(never), [false, true, false, true]);
  });

  test("a duplicate order id is our own request come twice: the status check says what became of it", async () => {
    const duplicate = unasked("The transaction was not sent to the host because of a duplicate order id");
    assert.equal((await charge(duplicate, found)).outcome, "approved");
    assert.equal((await charge(declined("78"), found)).outcome, "approved");
    assert.equal((await charge(duplicate, LOST)).outcome, "unknown");
  });

  test("a verification without any answer is a refusal, since it moves nothing; a lost store is sent again", async () => {
    assert.equal(codeOf(await moneris.tokenize(storing, ioWith([LOST]))), "gateway_unavailable");
    const io = ioWith([LOST, receipt({ ...VERIFIED, StatusCode: "001" }), LOST, receipt(STORED)]);
    assert.equal((await moneris.tokenize(storing, io)).outcome, "approved");
    assert.equal(codeOf(await moneris.tokenize(storing, ioWith([declined("487")]))), "incorrect_cvc");
    const odd = [receipt({ ...STORED, DataKey: "null" }), receipt({ ...STORED, ResSuccess: "false" }), LOST];
    for (const answer of odd)
      assert.equal(codeOf(await moneris.tokenize(storing, ioWith([receipt(VERIFIED), answer]))), "gateway_unavailable");
  });

  test("an approval stands when no note can be written any more (I3)", async () => {
    const io = ioWith([receipt(PAID)]);
    const note = io.note.bind(io);
    io.note = (notes) => (io.sent.length > 0 ? Promise.reject(new Error("the database is away")) : note(notes));
    assert.equal((await moneris.charge(orderOf(), io)).outcome, "approved");
  });

  test("a purchase is corrected by its order id and its own, or refunded once its batch is closed", async () => {
    const voided = async (notes: Record<string, string>, ...answers: GatewayAnswer[]) => {
      const io = ioWith(answers);
      return { result: (await moneris.void!(traceOf(orderOf(), notes), io)).outcome, bodies: io.sent.map(({ body }) => body) };
    };
    const notes = { purchase: "sent", txn: "69785-0_98" };
    const corrected = await voided(notes, receipt({ ...PAID, TransType: "11" }));
    assert.equal(corrected.result, "voided");
    assert.match(
      corrected.bodies[0] ?? "",
      new RegExp(
        `<purchasecorrection><order_id>${REFERENCE}</order_id><txn_number>69785-0_98</txn_number><crypt_type>7</crypt_type></purchasecorrection>`,
      ),
    );
    const refunded = await voided(notes, unasked("Cancelled: batch is closed"), notFound, receipt({ ...PAID, TransType: "04" }));
    assert.equal(refunded.result, "voided");
    assert.match(refunded.bodies[1] ?? "", /<status_check>true<\/status_check><purchasecorrection>/);
    assert.match(refunded.bodies[2] ?? "", /<refund><order_id>.*<amount>49.95<\/amount><txn_number>69785-0_98<\/txn_number>/);
    assert.equal((await voided(notes, LOST)).result, "unknown");
    // A second reversal is refused because of the first, whose answer was lost; else it is just refused.
    const none = unasked("Cancelled: the Purchase does not allow it");
    assert.equal((await voided({ ...notes, void: "sent" }, none, none)).result, "voided");
    assert.equal((await voided({ ...notes, void: "sent" }, unasked("Invalid store"))).result, "unknown");
    assert.equal((await voided({ ...notes, void: "refused" }, none, none)).result, "unknown");
    assert.equal((await voided({}, LOST)).result, "nothing to void");
    assert.equal(
      (await voided({ purchase: "sent", moneris_txn_id: "69785-0_98" }, receipt({ ...PAID, TransType: "11" }))).result,
      "voided",
    );
    const idless = await voided({ purchase: "sent" }, receipt(PAID));
    assert.deepEqual([idless.result, idless.bodies], ["unknown", []]);
  });

  test("a correction that arrived twice, and was refused for the first one, is done, and no refund follows it (R-422)", async () => {
    const again = async (check: GatewayAnswer) => {
      const io = ioWith([
        unasked("Cancelled: the Purchase does not allow it"),
        check,
        unasked("Cancelled: the Purchase does not allow it"),
      ]);
      const { outcome } = await moneris.void!(traceOf(orderOf(), { purchase: "sent", moneris_txn_id: "69785-0_98" }), io);
      return [outcome, io.sent.length];
    };
    const correction = { ...PAID, TransType: "11", StatusCode: "001", StatusMessage: "Found" };
    assert.deepEqual(await again(receipt(correction)), ["voided", 2]);
    assert.deepEqual(await again(receipt({ ...correction, TimedOut: "true" })), ["unknown", 2]);
    assert.deepEqual(await again(LOST), ["unknown", 2]);
    // What shows no correction says nothing of it: the refund, which is refused where there was one.
    for (const shown of [
      found,
      notFound,
      receipt({ ...correction, ReceiptId: "another" }),
      receipt({ ...correction, ResponseCode: "481" }),
    ])
      assert.deepEqual(await again(shown), ["unknown", 3]);
  });

  test("a correction that is called a duplicate may have been made before, and no refund follows it (R-422)", async () => {
    const io = ioWith([declined("078"), receipt({ ...PAID, TransType: "04" })]);
    const notes = { purchase: "sent", moneris_txn_id: "69785-0_98" };
    assert.equal((await moneris.void!(traceOf(orderOf(), notes), io)).outcome, "unknown");
    assert.equal(io.sent.length, 1);
  });

  test("a refund whose answer was lost is not sent again: Moneris does not say that it would refuse the second (R-422)", async () => {
    const notes = { purchase: "sent", moneris_txn_id: "69785-0_98" };
    const closed = unasked("Cancelled: batch is closed");
    const io = ioWith([closed, notFound, LOST]);
    assert.equal((await moneris.void!(traceOf(orderOf(), notes), io)).outcome, "unknown");
    const later = ioWith([closed, receipt({ ...PAID, TransType: "04" })]);
    assert.equal((await moneris.void!(traceOf(orderOf(), { ...notes, ...io.notes }), later)).outcome, "unknown");
    assert.equal(later.sent.length, 1);
  });

  test("a card that was stored too late is taken out of the vault by its data key; one without a key may be stored (I4)", async () => {
    const kept = ioWith([receipt(VERIFIED), receipt(STORED)]);
    await moneris.tokenize(storing, kept);
    const removed = async (answer: GatewayAnswer, notes = kept.notes) => {
      const io = ioWith([answer]);
      return [(await moneris.void!(traceOf(storing, notes), io)).outcome, /<res_delete>.*<\/res_delete>/.exec(io.sent[0]?.body ?? "")?.[0]];
    };
    const sent = `<res_delete><data_key>${STORED.DataKey}</data_key></res_delete>`;
    assert.deepEqual(await removed(receipt(STORED)), ["voided", sent]);
    assert.deepEqual(await removed(unasked("Cancelled: Invalid data key")), ["absent", sent]);
    for (const unclear of [LOST, unasked("API token mismatch"), receipt({ ...STORED, ResSuccess: "false" })])
      assert.deepEqual(await removed(unclear), ["unknown", sent]);
    assert.deepEqual(await moneris.void!(traceOf(storing), ioWith([LOST])), { outcome: "absent", mayBeStored: true });
  });
});
