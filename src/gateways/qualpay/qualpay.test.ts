import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const qualpay = GATEWAYS_BUILT.qualpay!;
const settings = settingsOf(qualpay);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const PG_ID = "d24ac6189b0b11e6966ca68d5edbef41";
const CARD_ID = "86e1b00d9b0811e68df3069d8f743581";
const CHECKS = { auth_code: "T37500", auth_avs_result: "Z", auth_cvv2_result: "M" };
const APPROVED = { rcode: "000", rmsg: "Approved T37500", pg_id: PG_ID, ...CHECKS };
const VERIFIED = { ...APPROVED, rmsg: "No reason to decline T86456", card_id: CARD_ID, card_number: "4111xxxxxx111111" };
const refused = (status: number, rcode: string | undefined, rmsg = "Decline") =>
  answered(status, { ...(rcode !== undefined && { rcode }), rmsg, pg_id: PG_ID });
const ROW = {
  pg_id: PG_ID,
  merch_ref_num: `${SESSION}-1 Invoice 1001`,
  amt_tran: 49.95,
  request_type: "sale",
  tran_status: "C",
  rcode: "000",
  tran_time: "2060-01-01 00:00:00",
};
const report = (...rows: object[]) => answered(200, { code: 0, message: "Success", data: rows, totalPages: 1, totalRecords: rows.length });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const pay = (answer: GatewayAnswer, order: Order = orderOf()): Promise<Outcome> => qualpay[order.mode](order, ioWith([answer]));
const find = (...answers: GatewayAnswer[]) => qualpay.lookUp!(traceOf(orderOf()), ioWith(answers));
const storing = () =>
  orderOf({ mode: "tokenize", amountMinor: 0, card: cardOf("4111111111111111", { year: "2030", name: "Ada Lovelace" }) });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("qualpay requests", () => {
  test("a sale is the vendor's JSON, amounts and ids as numbers, with the key as the user of Basic authentication", async () => {
    const io = ioWith([answered(200, APPROVED)]);
    await qualpay.charge(
      orderOf({ card: cardOf("4111111111111111", { year: "2030", cvv: "152", name: "Ada Lovelace", zip: "94402-1234" }) }),
      io,
    );
    const { request, body } = io.sent[0]!;
    assert.deepEqual([request.method, request.url], ["POST", "https://api-test.qualpay.com/pg/sale"]);
    assert.equal(request.headers["Authorization"], "Basic VEVTVDEyMzQ1Njc4OTA6");
    assert.equal(
      body,
      '{"merchant_id":212000000001,"developer_id":"Voicetill","amt_tran":49.95,"tran_currency":840,' +
        '"card_number":"4111111111111111","exp_date":"0330","cvv2":"152","cardholder_name":"Ada Lovelace","avs_zip":"944021234",' +
        `"moto_ecomm_ind":"1","purchase_id":"${/"purchase_id":"([a-z]{25})"/.exec(body)?.[1]}","merch_ref_num":"${SESSION}-1 Invoice 1001",` +
        '"duplicate_seconds":300}',
    );
  });

  test("a card is verified and stored by one call, or stored unseen, with the members that each call knows", async () => {
    const io = ioWith([answered(200, VERIFIED)]);
    const outcome = await qualpay.tokenize(storing(), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { qualpay_pg_id: PG_ID, qualpay_card_id: CARD_ID });
    assert.equal(io.sent[0]?.request.url, "https://api-test.qualpay.com/pg/verify");
    assert.equal(
      io.sent[0]?.body,
      '{"merchant_id":212000000001,"card_number":"4111111111111111","exp_date":"0330","cvv2":"123","cardholder_name":"Ada Lovelace",' +
        `"avs_zip":"44628","moto_ecomm_ind":"1","tokenize":true,"merch_ref_num":"${SESSION}-1 Invoice 1001"}`,
    );
    const unseen = ioWith([answered(200, { ...VERIFIED, rmsg: "Token request complete" })], { options: { verify: false } });
    assert.equal((await qualpay.tokenize(storing(), unseen)).outcome, "approved");
    assert.equal(unseen.sent[0]?.request.url, "https://api-test.qualpay.com/pg/tokenize");
    assert.deepEqual(Object.keys(JSON.parse(unseen.sent[0]?.body ?? "{}") as object), [
      "merchant_id",
      "card_number",
      "exp_date",
      "cvv2",
      "cardholder_name",
      "avs_zip",
    ]);
  });

  test("a postal code with letters goes along with a sale, and not where a card is stored, which takes digits alone", async () => {
    const card = () => cardOf("4111111111111111", { zip: "K1A 0B1" });
    const paid = ioWith([answered(200, APPROVED)]);
    await qualpay.charge(orderOf({ card: card() }), paid);
    assert.match(paid.sent[0]?.body ?? "", /"avs_zip":"K1A0B1"/);
    for (const verify of [true, false]) {
      const io = ioWith([answered(200, VERIFIED)], { options: { verify } });
      await qualpay.tokenize(orderOf({ mode: "tokenize", amountMinor: 0, card: card() }), io);
      assert.doesNotMatch(io.sent[0]?.body ?? "", /avs_zip/);
    }
  });

  test("the widget is e-commerce and tells the shopper's address; location and profile are sent where they are set", async () => {
    const credentials = { ...settings.credentials, loc_id: new Secret("0001"), profile_id: new Secret("21200001000300000978") };
    const io = ioWith([answered(200, APPROVED)], { credentials });
    const bare = cardOf("4111111111111111", { cvv: "", zip: null });
    await qualpay.charge(orderOf({ channel: "widget", customerIp: "203.0.113.7", description: null, card: bare }), io);
    const body = JSON.parse(io.sent[0]?.body ?? "{}") as Record<string, unknown>;
    assert.partialDeepStrictEqual(body, {
      moto_ecomm_ind: "7",
      client_ip: "203.0.113.7",
      merch_ref_num: `${SESSION}-1`,
      loc_id: "0001",
      profile_id: "21200001000300000978",
    });
    for (const name of ["cvv2", "avs_zip", "cardholder_name"]) assert.ok(!(name in body), name);
    // The vendor's examples are dotted, and its simulator takes no other.
    const sixth = ioWith([answered(200, APPROVED)]);
    await qualpay.charge(orderOf({ channel: "widget", customerIp: "2001:db8::7" }), sixth);
    assert.doesNotMatch(sixth.sent[0]?.body ?? "", /client_ip/);
  });

  test("an amount has two decimals in any currency; one that has no room in them is refused unsent", async () => {
    const amountOf = async (currency: string, amountMinor: number) => {
      const io = ioWith([answered(200, APPROVED)]);
      const outcome = await qualpay.charge(orderOf({ currency, amountMinor }), io);
      return io.sent.length === 0 ? codeOf(outcome) : /"amt_tran":[0-9.]+,"tran_currency":[0-9]+/.exec(io.sent[0]?.body ?? "")?.[0];
    };
    assert.equal(await amountOf("USD", 1000), '"amt_tran":10.00,"tran_currency":840');
    assert.equal(await amountOf("JPY", 500), '"amt_tran":500.00,"tran_currency":392');
    assert.equal(await amountOf("AUD", 1), '"amt_tran":0.01,"tran_currency":36');
    assert.equal(await amountOf("KWD", 1234), "gateway_misconfigured");
    assert.equal(await amountOf("KWD", 1230), '"amt_tran":1.23,"tran_currency":414');
    assert.equal(await amountOf("XOF", 500), '"amt_tran":500.00,"tran_currency":952');
    assert.equal(await amountOf("USD", 1_000_000_000_000), "gateway_misconfigured");
  });

  test("settings that cannot work are named", () => {
    const fault = (name: string, value: string) =>
      qualpay.checkSettings({ ...settings, credentials: { ...settings.credentials, [name]: new Secret(value) } }) ?? "";
    assert.equal(fault("loc_id", "0001"), "");
    const wrong = { merchant_id: "0212000000001", security_key: "two words", loc_id: "00001", profile_id: "2120" };
    for (const [name, value] of Object.entries(wrong)) assert.ok(fault(name, value).startsWith(`${name} is not `), name);
  });
});

describe("qualpay responses", () => {
  test("every code of the issuer and of the gateway means what the vendor's table says", async () => {
    const issuers: Readonly<Record<string, string>> = {
      do_not_honor: "001 002 005",
      gateway_misconfigured: "003 058",
      lost_or_stolen: "004 007 041 043",
      card_not_supported: "012 057 062",
      processing_error: "013 019 096",
      incorrect_number: "014 015",
      insufficient_funds: "051",
      expired_card: "054",
      fraud_suspected: "059 063",
      limit_exceeded: "061 065",
      incorrect_cvc: "0N7 082",
      authentication_required: "01A",
      gateway_unavailable: "091 092",
      card_declined: "0R0 0R1 0R3 085 0ZZ",
    };
    for (const [ours, codes] of Object.entries(issuers))
      for (const code of codes.split(" ")) assert.equal(codeOf(await pay(refused(402, code))), ours, code);
    const gateways: Readonly<Record<string, string>> = {
      processing_error: "100 102 103 104 105 109 112 199 405",
      gateway_credentials_invalid: "101",
      incorrect_zip: "106",
      invalid_expiry: "107",
      incorrect_number: "108",
      gateway_misconfigured: "110 111",
    };
    for (const [ours, codes] of Object.entries(gateways))
      for (const code of codes.split(" ")) assert.equal(codeOf(await pay(refused(400, code))), ours, code);
    assert.equal(codeOf(await pay(refused(402, "065", "SCA required"))), "authentication_required");
    assert.equal(codeOf(await pay(refused(401, "101", "Invalid id or key"))), "gateway_credentials_invalid");
    assert.equal(codeOf(await pay(answered(403, "Forbidden"))), "gateway_credentials_invalid");
    assert.equal(codeOf(await pay(refused(404, undefined))), "gateway_misconfigured");
  });

  test("an approval tells code, words and checks to the webhook; the code is a text and never a number", async () => {
    const outcome = await pay(answered(200, APPROVED));
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.webhookProcessor], [
      { qualpay_pg_id: PG_ID },
      {
        auth_code: "T37500",
        response_code: "000",
        response_message: "Approved T37500",
        avs_result_code: "Z",
        cvv_result_code: "M",
      },
    ]);
    for (const rcode of ["0N7", "085", "00", 0, null]) assert.equal((await pay(answered(200, { ...APPROVED, rcode }))).outcome, "unknown");
    assert.equal((await pay(answered(200, { ...APPROVED, pg_id: "1" }))).outcome, "unknown");
  });

  test("what does not say that nothing was taken is unknown", async () => {
    for (const [status, rcode] of [
      [500, "999"],
      [509, "998"],
      [504, "998"],
      [409, "401"],
      [429, "100"],
      [429, undefined],
      [400, "998"],
      [400, "051"],
      [400, "401"],
      [400, "constructor"],
      [400, undefined],
      [402, "010"],
      [402, "000"],
      [402, "108"],
      [402, ""],
    ] as const)
      assert.equal((await pay(refused(status, rcode))).outcome, "unknown", `${status} ${rcode}`);
    assert.equal((await pay(LOST)).outcome, "unknown");
  });

  test("a duplicate, told by its code or its words, is looked up before anything is said", async () => {
    for (const duplicate of [refused(402, "094"), refused(400, "113", "Possible duplicate transaction")]) {
      const found = ioWith([duplicate, report(ROW)]);
      assert.equal((await qualpay.charge(orderOf(), found)).outcome, "approved");
      const never = ioWith([duplicate, report()]);
      assert.equal((await qualpay.charge(orderOf(), never)).outcome, "unknown");
      assert.equal(never.notes["refused_as"], "duplicate_transaction");
    }
  });

  test("a sale that was refused as a duplicate says nothing of the first one, which the report may not show yet (R-422)", async () => {
    const twin = { ...ROW, pg_id: PG_ID.replace("d", "e"), tran_status: "D", rcode: "094" };
    const bySaid = { ...twin, tran_status: "F", rcode: "113", rmsg: "Possible duplicate transaction" };
    for (const row of [twin, bySaid]) {
      assert.equal((await find(report(row))).outcome, "absent");
      assert.equal((await find(report(row, ROW))).outcome, "approved");
      assert.equal((await find(report(row, { ...ROW, tran_status: "H" }))).outcome, "pending");
      assert.equal(codeOf(await find(report({ ...ROW, tran_status: "D", rcode: "051" }, row))), "insufficient_funds");
    }
    // The report has no words, and the duplicate's code is not published.
    const unsaid = { ...twin, tran_status: "F", rcode: "113" };
    assert.equal((await find(report(unsaid))).outcome, "absent");
    assert.equal((await find(report(unsaid, ROW))).outcome, "approved");
    assert.equal(codeOf(await find(report({ ...unsaid, rcode: "108" }))), "incorrect_number");
    const other = { ...twin, tran_status: "F", rcode: "100" };
    const asked = ioWith([refused(400, "100", "Possible duplicate transaction"), report(other), report(other, ROW)]);
    assert.equal((await qualpay.charge(orderOf(), asked)).outcome, "approved");
    const early = ioWith([refused(402, "094"), report(twin), report(twin, ROW)]);
    assert.equal((await qualpay.charge(orderOf(), early)).outcome, "approved");
  });

  test("a part of the amount is voided before the card is refused, and is unknown when that fails", async () => {
    const part = answered(200, { ...APPROVED, rcode: "010", amt_tran: 20 });
    const io = ioWith([part, answered(200, APPROVED)]);
    assert.equal(codeOf(await qualpay.charge(orderOf(), io)), "insufficient_funds");
    assert.equal(io.sent[1]?.request.url, `https://api-test.qualpay.com/pg/void/${PG_ID}`);
    assert.equal(io.sent[1]?.body, '{"merchant_id":212000000001}');
    assert.equal(codeOf(await qualpay.charge(orderOf(), ioWith([part, LOST]))), "unknown");
    // The amount is told of a part alone.
    assert.equal(codeOf(await qualpay.charge(orderOf(), ioWith([answered(200, { ...APPROVED, amt_tran: 20 }), part, LOST]))), "unknown");
    const told = ioWith([answered(200, { ...APPROVED, amt_tran: 20 }), answered(200, APPROVED)]);
    assert.equal(codeOf(await qualpay.charge(orderOf(), told)), "insufficient_funds");
    assert.equal((await pay(answered(200, { ...APPROVED, amt_tran: 49.95 }))).outcome, "approved");
  });

  test("085 is a yes to a verification alone, and a stored card has an id; a lost store is sent again", async () => {
    const noReason = answered(200, { ...VERIFIED, rcode: "085" });
    assert.equal((await pay(noReason, storing())).outcome, "approved");
    const unseen = ioWith([noReason], { options: { verify: false } });
    assert.equal(codeOf(await qualpay.tokenize(storing(), unseen)), "gateway_unavailable");
    assert.equal(codeOf(await pay(answered(200, APPROVED), storing())), "gateway_unavailable");
    assert.equal(codeOf(await pay(refused(402, "0N7"), storing())), "incorrect_cvc");
    const io = ioWith([LOST, answered(200, VERIFIED)]);
    assert.equal((await qualpay.tokenize(storing(), io)).outcome, "approved");
    assert.equal(io.sent.length, 2);
  });
});

describe("qualpay look-ups and reversals", () => {
  test("the report is read newest first, and every status of a sale means what the vendor's table says", async () => {
    const io = ioWith([report(ROW)]);
    assert.equal((await qualpay.lookUp!(traceOf(orderOf()), io)).outcome, "approved");
    assert.equal(
      io.sent[0]?.request.url,
      "https://api-test.qualpay.com/platform/reporting/transaction-requests?count=100&order_on=tran_time&order_by=desc&page=0",
    );
    for (const tran_status of ["A", "C", "S", "P", "N"]) assert.equal((await find(report({ ...ROW, tran_status }))).outcome, "approved");
    assert.equal((await find(report({ ...ROW, tran_status: "H" }))).outcome, "pending");
    for (const tran_status of ["V", "v", "K"]) assert.equal(codeOf(await find(report({ ...ROW, tran_status }))), "processing_error");
    for (const tran_status of ["D", "F", "R"])
      assert.equal(codeOf(await find(report({ ...ROW, tran_status, rcode: "051" }))), "insufficient_funds");
    for (const rcode of ["998", "999"])
      assert.equal(codeOf(await find(report({ ...ROW, tran_status: "F", rcode }))), "gateway_unavailable");
    assert.equal((await find(report({ ...ROW, tran_status: "constructor" }))).outcome, "unknown");
  });

  test("only a sale with our whole reference and the amount counts", async () => {
    for (const change of [{ merch_ref_num: `${SESSION}-11` }, { merch_ref_num: null }, { request_type: "verify" }])
      assert.equal((await find(report({ ...ROW, ...change }))).outcome, "absent", JSON.stringify(change));
    for (const change of [{ amt_tran: 49.96 }, { pg_id: null }])
      assert.equal((await find(report({ ...ROW, ...change }))).outcome, "unknown", JSON.stringify(change));
    // A part that was voided again: nothing of it is left.
    for (const tran_status of ["V", "v", "K"])
      assert.equal(codeOf(await find(report({ ...ROW, amt_tran: 20, tran_status }))), "processing_error", tran_status);
    assert.equal((await find(report(ROW, { ...ROW, tran_status: "D" }))).outcome, "approved");
    assert.equal((await find(report(ROW, ROW))).outcome, "unknown");
  });

  test("pages are read until a row is older than the attempt; what is no report is no absence", async () => {
    const others = (tran_time: string) => Array.from({ length: 100 }, () => ({ ...ROW, merch_ref_num: "other", tran_time }));
    const io = ioWith([report(...others("2060-01-01 00:00:00")), report(ROW)]);
    assert.equal((await qualpay.lookUp!(traceOf(orderOf()), io)).outcome, "approved");
    assert.match(io.sent[1]?.request.url ?? "", /&page=1$/);
    const old = ioWith([report(...others("2020-01-01T00:00:00")), report(ROW)]);
    assert.equal((await qualpay.lookUp!(traceOf(orderOf()), old)).outcome, "absent");
    assert.equal(old.sent.length, 1);
    assert.equal((await find(report(...others("a time of another form")))).outcome, "unknown");
    const short = answered(200, { code: 0, data: [{ ...ROW, merch_ref_num: "other" }], totalPages: 2, totalRecords: 2 });
    const shorter = ioWith([short, report(ROW)]);
    assert.equal((await qualpay.lookUp!(traceOf(orderOf()), shorter)).outcome, "approved");
    for (const answer of [LOST, answered(403, {}), answered(200, "[]"), answered(200, { code: 7, data: [] })])
      assert.equal((await find(answer)).outcome, "unknown");
  });

  test("a sale is voided until the batch closes and refunded afterwards", async () => {
    const closed = refused(409, "401", "Void failed");
    const io = ioWith([report(ROW), closed, report(ROW), answered(200, APPROVED)]);
    assert.deepEqual(await qualpay.void!(traceOf(orderOf()), io), { outcome: "voided" });
    const posted = (sent: typeof io.sent) => sent.filter(({ request }) => request.url.includes("/pg/"));
    assert.deepEqual(
      posted(io.sent).map(({ request, body }) => [new URL(request.url).pathname, body]),
      [
        [`/pg/void/${PG_ID}`, '{"merchant_id":212000000001}'],
        [`/pg/refund/${PG_ID}`, '{"merchant_id":212000000001,"amt_tran":49.95}'],
      ],
    );
    const credentials = { ...settings.credentials, loc_id: new Secret("0001"), profile_id: new Secret("21200001000300000978") };
    const placed = ioWith([report(ROW), closed, report(ROW), answered(200, APPROVED)], { credentials });
    assert.deepEqual(await qualpay.void!(traceOf(orderOf()), placed), { outcome: "voided" });
    for (const { body } of posted(placed.sent)) assert.match(body, /"loc_id":"0001","profile_id":"21200001000300000978"/);
    assert.equal((await qualpay.void!(traceOf(orderOf()), ioWith([report(ROW), LOST]))).outcome, "unknown");
    for (const unclear of [LOST, refused(409, "402", "Refund failed"), refused(400, "104", "Invalid amount"), refused(500, "999", "Error")])
      assert.equal((await qualpay.void!(traceOf(orderOf()), ioWith([report(ROW), closed, report(ROW), unclear]))).outcome, "unknown");
    // A void that arrived twice, and was refused for the first one: what is voided is not refunded.
    const twice = ioWith([report(ROW), closed, report({ ...ROW, tran_status: "V" })]);
    assert.deepEqual([(await qualpay.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], ["voided", 3]);
    assert.deepEqual(await qualpay.void!(traceOf(orderOf()), ioWith([report()])), { outcome: "absent" });
  });

  test("what the report shows as refunded whole was sent back, and is not refunded again (R-422)", async () => {
    const refunded = report({ ...ROW, tran_status: "S", amt_refunded: 49.95 });
    assert.deepEqual(await qualpay.void!(traceOf(orderOf()), ioWith([refunded])), { outcome: "nothing to void" });
    for (const amt_refunded of [0, 20, null]) assert.equal((await find(report({ ...ROW, amt_refunded }))).outcome, "approved");
  });

  test("a refund without a clear answer is not sent again, one that never left is (R-422)", async () => {
    const closed = refused(409, "401", "Void failed");
    for (const [first, outcome, sent] of [
      [LOST, "unknown", 2],
      [refused(500, "999", "Error"), "unknown", 2],
      [{ kind: "not sent", reason: "no connection" }, "voided", 4],
    ] as const) {
      const io = ioWith([report(ROW), closed, report(ROW), first]);
      assert.equal((await qualpay.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([report(ROW), closed, report(ROW), answered(200, APPROVED)]);
      assert.equal((await qualpay.void!(traceOf(orderOf(), io.notes), later)).outcome, outcome);
      assert.equal(later.sent.length, sent);
    }
  });
});
