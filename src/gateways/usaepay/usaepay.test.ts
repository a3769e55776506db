import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CURRENCIES } from "#src/kernel/money.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { shortReference } from "../kit/index.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const usaepay = GATEWAYS_BUILT.usaepay!;
const REFERENCE = orderOf().reference;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

const PAID = {
  type: "transaction",
  refnum: "3225593736",
  is_duplicate: "N",
  result_code: "A",
  cvc: { result_code: "M" },
  auth_amount: "49.95",
  orderid: REFERENCE,
};
const SAVED = { type: "transaction", refnum: "", result_code: "A", savedcard: { type: "Visa", key: "tqb9-o076-tpfk-lb8l" } };
const refused = (error_code: string | number, result_code: string | undefined = "D", more: object = {}) =>
  answered(200, { ...PAID, result_code, error: "no", error_code, ...more });
const listed = (...items: object[]) => answered(200, { type: "list", limit: 100, offset: 0, data: items, total: items.length });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(usaepay), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => usaepay.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("usaepay requests", () => {
  test("a sale is one JSON body under a hash over key, seed and PIN, as the vendor's example has it", async () => {
    const io = ioWith([answered(200, PAID)]);
    const card = cardOf("4000100011112224", { month: "09", year: "2030", name: "Ada Byron" });
    await usaepay.charge(orderOf({ card }), { ...io, random: { ...io.random, uuid: () => "k3p9q2r7s1t5v8w0" } });
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://sandbox.usaepay.com/api/v2/transactions");
    assert.equal(
      request.headers["Authorization"],
      "Basic X0V4YW1wbGVLZXlBQUFBQkJCQkNDQ0NEREREMTIzNDU6czIvazNwOXEycjdzMXQ1djh3MC82MzViZTg3MDI3MDQxOTgzYzFiMDAyNTU1M2YyYWMwODFhYzQ2NTI4OWJlOTkxNWY3ZTQ1NDk1YmVhODg0ZTg3",
    );
    assert.equal(
      body,
      `{"command":"sale","amount":"49.95","invoice":"${shortReference(REFERENCE, 10)}","orderid":"${REFERENCE}","description":"Invoice 1001",` +
        '"creditcard":{"number":"4000100011112224","expiration":"0930","cardholder":"Ada Byron","cvc":"123","avs_zip":"44628"}}',
    );
  });

  test("each request has a seed of its own; other currencies go by number; the widget tells an IPv4 address; an endpoint key replaces v2", async () => {
    const credentials = { ...settingsOf(usaepay).credentials, endpoint_key: new Secret("myKey1") };
    const io = ioWith([answered(200, { ...PAID, auth_amount: undefined })], { credentials });
    await usaepay.charge(
      orderOf({
        currency: "EUR",
        channel: "widget",
        customerIp: "203.0.113.7",
        description: null,
        card: cardOf("4000100011112224", { cvv: "", zip: null }),
      }),
      io,
    );
    await usaepay.charge(orderOf({ currency: "EUR" }), io);
    assert.equal(io.sent[0]?.request.url, "https://sandbox.usaepay.com/api/myKey1/transactions");
    assert.partialDeepStrictEqual(JSON.parse(io.sent[0]?.body ?? ""), { currency: "978", clientip: "203.0.113.7" });
    assert.doesNotMatch(io.sent[0]?.body ?? "", /cvc|avs_zip|description|ignore_duplicate/);
    assert.equal(new Set(io.sent.map(({ request }) => request.headers["Authorization"])).size, 2);
    const taken = CURRENCIES.filter(
      (currency) => usaepay.refusalOf!(orderOf({ currency, amountMinor: 1000 }), settingsOf(usaepay)) === null,
    );
    assert.equal(taken.length, 81, "of the vendor's list what is a currency today");
    const none = ioWith([answered(200, PAID)]);
    assert.equal(codeOf(await usaepay.charge(orderOf({ currency: "XAF" }), none)), "gateway_misconfigured");
    assert.equal(none.sent.length, 0);
  });

  test("a card is stored without an issuer, or verified by a hold of nothing that is released", async () => {
    const io = ioWith([answered(200, SAVED)], { options: { verify: false } });
    const outcome = await usaepay.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { usaepay_card_key: "tqb9-o076-tpfk-lb8l" });
    assert.match(io.sent[0]?.body ?? "", /^\{"command":"cc:save","creditcard":\{/);
    const held = ioWith([answered(200, { ...SAVED, refnum: "3225593737" }), answered(200, PAID)]);
    assert.equal((await usaepay.tokenize(storing, held)).outcome, "approved");
    assert.partialDeepStrictEqual(JSON.parse(held.sent[0]?.body ?? ""), { command: "authonly", amount: "0.00", save_card: true });
    assert.equal(held.sent[1]?.body, '{"command":"cc:void:release","refnum":"3225593737"}');
    const francs = ioWith([answered(200, SAVED)]);
    await usaepay.tokenize({ ...storing, currency: "XAF" }, francs);
    assert.doesNotMatch(francs.sent[0]?.body ?? "", /"currency"/, "of no money in a currency that the vendor does not list");
    const cannot = ioWith([refused("81003", "E"), answered(200, SAVED)]);
    assert.equal((await usaepay.tokenize(storing, cannot)).outcome, "approved");
    assert.match(cannot.sent[1]?.body ?? "", /^\{"command":"cc:save"/);
  });
});

describe("usaepay reversals", () => {
  test("a refund without a clear answer is not sent again, one that was refused or never sent is (R-422)", async () => {
    const again = async (first: GatewayAnswer) => {
      const io = ioWith([listed(PAID), refused(10128, "E"), listed(PAID), first]);
      assert.equal((await usaepay.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([listed(PAID), refused(10128, "E"), listed(PAID), answered(200, { ...PAID, refnum: "3225593999" })]);
      return [(await usaepay.void!(traceOf(orderOf(), io.notes), later)).outcome, later.sent.length];
    };
    for (const unclear of [LOST, answered(502, "<html>"), refused(90909, "E"), refused(31, "E"), refused(93, "E")])
      assert.deepEqual(await again(unclear), ["unknown", 2], JSON.stringify(unclear));
    for (const plain of [refused(10128, "E"), refused(10251), { kind: "not sent", reason: "no connection" } as const])
      assert.deepEqual(await again(plain), ["voided", 4], JSON.stringify(plain));
  });

  test("a payment is refunded only after a void that was plainly refused, and settings that cannot work are named", async () => {
    const back = answered(200, { ...PAID, refnum: "3225593999" });
    const settled = ioWith([listed(PAID), refused(10128, "E"), listed(PAID), back]);
    assert.equal((await usaepay.void!(traceOf(orderOf()), settled)).outcome, "voided");
    assert.equal(settled.sent[3]?.body, '{"command":"refund","refnum":"3225593736"}');
    const unnamed = answered(200, { ...PAID, result_code: "E" });
    for (const unclear of [refused(90909, "E"), refused(4, "E"), refused(23, "E"), unnamed, answered(502, "<html>"), LOST]) {
      const doubtful = ioWith([listed(PAID), unclear, back]);
      assert.equal((await usaepay.void!(traceOf(orderOf()), doubtful)).outcome, "unknown");
      assert.equal(doubtful.sent.length, 2);
    }
    const fault = (more: Record<string, string>) =>
      usaepay.checkSettings({
        ...settingsOf(usaepay),
        credentials: {
          ...settingsOf(usaepay).credentials,
          ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, new Secret(value)])),
        },
      });
    assert.equal(fault({}), null);
    assert.match(fault({ api_key: "my key" }) ?? "", /api_key/);
    assert.match(fault({ api_pin: "86 4213" }) ?? "", /api_pin/);
  });
});

describe("usaepay responses", () => {
  test("every code of the vendor's table means what it says, as text, as number and padded", async () => {
    const rows = {
      incorrect_number: "11 12 13 14 10214 50014 64614 65204 65308 89114 89406 10060 56965 56966 56967 65318",
      invalid_expiry: "15 16 85 10005 65205 40452",
      expired_card: "17 10280 50054 64654 89154",
      incorrect_cvc: "10116 10282 10297 57855 64697 65248 65376 89612 78855",
      incorrect_zip: "34 2034 120 10107 10109 10110",
      insufficient_funds: "10151 10251 50051 57852 64651 71051 203 303 78852",
      limit_exceeded: "10265 50061 50065 64661 64665 65217 71061 71065 89611 32 70 40011",
      do_not_honor: "10205 50005 64605 65240 71005",
      lost_or_stolen: "10204 50004 50007 50041 50043 64604 64607 64641 64643 65202 65215",
      card_not_supported:
        "10257 10262 10215 80015 30001 91 92 10003 50057 50058 64138 64657 64662 65358 71057 89613 10057 30002 30004 65317 65359 65360",
      card_declined: "10127 15000 65200 43 10225 10278",
      fraud_suspected: "10139 10106 10160 10115 10293 50093 71093",
      authentication_required: "10117",
      gateway_credentials_invalid: "23 28 30 20002 20006 20008 21002 10118 10140",
      gateway_misconfigured: "6 7 80 112 109 20005 20007 20010 50003 64603 70007 70010 59001 10051 10054 57286 65999 40034",
      gateway_unavailable: "4 9 10 18 19 155 50091 50096 64691 64712",
      // The connection to the processor broke, or its answer came late, blank or malformed: it may have said yes.
      unknown: "27 9001 10132 40007 40008 40009 40018 40409 59002 64668 65220 70002 70015 70016 81001 89191 89201 90909 900001",
      processing_error: "20019 20001 71 10128",
    };
    for (const [ours, codes] of Object.entries(rows)) {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(refused(code))), ours, code);
        assert.equal(codeOf(await charge(refused(Number(code), "E"))), ours, code);
        assert.equal(codeOf(await charge(refused(code.padStart(5, "0")))), ours, code);
      }
    }
    assert.equal(codeOf(await charge(refused("99999"))), "card_declined");
    assert.equal(codeOf(await charge(refused("99999", "E"))), "unknown", "an error that the vendor does not list may follow a yes");
    const unlisted = ioWith([refused("99999", "E")]);
    await usaepay.charge(orderOf(), unlisted);
    assert.deepEqual(unlisted.notes, { refused_as: "processing_error" }, "what it is when nothing was made");
    assert.equal(codeOf(await charge(refused("99999", "V"))), "authentication_required");
    assert.equal(codeOf(await charge(refused("99999", "D", { cvc: { result_code: "N" } }))), "incorrect_cvc");
  });

  test("refusals outside a transaction have another member's name and say what the status says", async () => {
    assert.equal(
      codeOf(await charge(answered(401, { error: "API authentication failed", errorcode: 21002 }))),
      "gateway_credentials_invalid",
    );
    assert.equal(codeOf(await charge(answered(403, { error: "API authentication failed" }))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(answered(401, { error: "Access Denied", errorcode: 156 }))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(answered(429, { error: "API Rate Limit Exceed", errorcode: 155 }))), "gateway_unavailable");
    assert.equal(codeOf(await charge(answered(200, { error: "Unknown command", error_code: 20019 }))), "processing_error");
  });

  test("another sum, no reference number, and an undocumented result decide nothing; a part is voided", async () => {
    for (const change of [
      { auth_amount: "4.99" },
      { refnum: "" },
      { result_code: "constructor" },
      { error_code: "10251" },
      { error_code: 20019 },
    ])
      assert.equal((await charge(answered(200, { ...PAID, ...change }))).outcome, "unknown", JSON.stringify(change));
    for (const [status, body] of [
      [200, {}],
      [202, PAID],
      [202, {}],
      [302, {}],
      [404, {}],
    ] as const)
      assert.equal((await charge(answered(status, body))).outcome, "unknown", `${status} ${JSON.stringify(body)}`);
    assert.equal((await charge(answered(200, { ...PAID, error_code: "00000" }))).outcome, "approved");
    const io = ioWith([answered(200, { ...PAID, result_code: "P", auth_amount: "10.00" }), answered(200, PAID)]);
    assert.equal(codeOf(await usaepay.charge(orderOf(), io)), "card_declined");
    assert.equal(io.sent[1]?.body, '{"command":"void","refnum":"3225593736"}');
  });

  test("the answer to another request decides nothing", async () => {
    const own = { invoice: shortReference(REFERENCE, 10) };
    assert.equal((await charge(answered(200, { ...PAID, ...own }))).outcome, "approved");
    assert.equal((await charge(answered(200, { ...PAID, invoice: "" }))).outcome, "approved");
    assert.equal((await charge(answered(200, { ...PAID, invoice: "INV-001" }))).outcome, "unknown");
    assert.equal((await charge(refused("10251", "D", { invoice: "INV-001" }))).outcome, "unknown");
    assert.equal(codeOf(await charge(refused("10251", "D", own))), "insufficient_funds");
  });

  test("a folded answer is another payment's until the look-up shows that it is ours", async () => {
    assert.equal(
      (await charge(answered(200, { ...PAID, is_duplicate: "Y" }), listed({ ...PAID, orderid: "another" }, PAID))).outcome,
      "approved",
    );
    assert.equal((await charge(answered(200, { ...PAID, is_duplicate: "Y" }), listed({ ...PAID, orderid: "another" }))).outcome, "unknown");
  });

  test("a look-up reads page after page of the newest and takes the one that stands", async () => {
    const look = (...answers: GatewayAnswer[]) => usaepay.lookUp!(traceOf(orderOf()), ioWith(answers));
    const full = Array.from({ length: 100 }, (_none, index) => ({ ...PAID, refnum: String(index), orderid: "another" }));
    const paged = ioWith([listed(...full), listed({ ...PAID, result_code: "D" }, PAID)]);
    assert.equal((await usaepay.lookUp!(traceOf(orderOf()), paged)).outcome, "approved");
    assert.match(paged.sent[1]?.request.url ?? "", /limit=100&offset=100$/);
    const early = ioWith([listed({ ...full[0], created: "2020-01-01 00:00:00" }, ...full.slice(2), PAID), LOST]);
    assert.equal((await usaepay.lookUp!(traceOf(orderOf()), early)).outcome, "approved", "found: no older page is read");
    const cut = { ...PAID, orderid: REFERENCE.slice(0, 20), invoice: shortReference(REFERENCE, 10) };
    assert.equal((await look(listed(cut))).outcome, "approved", "known by its invoice where the order id was cut");
    const older = full.map((item) => ({ ...item, created: "2020-01-01 00:00:00" }));
    assert.equal((await look(listed(...older), LOST)).outcome, "absent", "older than the attempt: no older page is read");
    assert.equal((await look(listed())).outcome, "absent");
    assert.equal((await look(listed(...full))).outcome, "unknown");
    assert.equal((await look(listed({ ...PAID, trantype: "Voided Sale" }))).outcome, "declined");
    assert.equal((await look(LOST)).outcome, "unknown");
  });

  test("a listed sale that was refused as a duplicate says nothing of the first one, on whatever page that is (R-422)", async () => {
    const twin = { ...PAID, refnum: "3225593740", result_code: "E", error_code: "31" };
    const look = (...answers: GatewayAnswer[]) => usaepay.lookUp!(traceOf(orderOf()), ioWith(answers));
    assert.equal((await look(listed(twin))).outcome, "absent");
    assert.equal((await look(listed(twin, PAID))).outcome, "approved");
    assert.equal(codeOf(await look(listed({ ...PAID, result_code: "D", error_code: "10251" }, twin))), "insufficient_funds");
    const others = Array.from({ length: 99 }, (_none, index) => ({ ...PAID, refnum: String(index), orderid: "another" }));
    assert.equal((await look(listed(twin, ...others), listed(PAID))).outcome, "approved");
  });

  test("a refund that carries our order is no sale: of the whole, it took the sale back (R-422)", async () => {
    const back = { ...PAID, refnum: "3225593999", trantype: "Credit Card Refund (Credit)", auth_amount: undefined, amount: "49.95" };
    const look = (...answers: GatewayAnswer[]) => usaepay.lookUp!(traceOf(orderOf()), ioWith(answers));
    assert.equal(codeOf(await look(listed(back, PAID))), "processing_error");
    assert.equal((await look(listed({ ...back, amount: "1.00" }, PAID))).outcome, "approved");
    assert.equal((await look(listed({ ...back, result_code: "E" }, PAID))).outcome, "approved");
    assert.equal((await look(listed({ ...back, trantype: "Voided Credit Card Refund (Credit)" }, PAID))).outcome, "approved");
    const others = Array.from({ length: 99 }, (_none, index) => ({ ...PAID, refnum: String(index), orderid: "another" }));
    assert.equal(codeOf(await look(listed(back, ...others), listed(PAID))), "processing_error");
  });

  test("a void that arrived twice, and was refused for the first one, is followed by no refund: one of a voided sale would be money of the merchant's (R-422)", async () => {
    const refusedVoid = answered(200, { result_code: "E", error_code: 10128, error: "The transaction is voided." });
    const taken = async (then: GatewayAnswer) => {
      const io = ioWith([listed(PAID), refusedVoid, then, answered(200, PAID)]);
      const { outcome } = await usaepay.void!(traceOf(orderOf()), io);
      return [outcome, io.sent.filter(({ body }) => body.includes('"refund"')).length];
    };
    assert.deepEqual(await taken(listed({ ...PAID, status_code: "V" })), ["voided", 0]);
    assert.deepEqual(await taken(listed(PAID)), ["voided", 1], "it is settled");
    assert.deepEqual(await taken(LOST), ["unknown", 0], "the list says nothing");
  });

  test("a fault behind the gateway, or none that is named, decides nothing, also where the list shows it (R-422)", async () => {
    const look = (change: object) => usaepay.lookUp!(traceOf(orderOf()), ioWith([listed({ ...PAID, ...change })]));
    for (const change of [{ result_code: "E", error_code: "90909" }, { result_code: "E", error_code: 27 }, { result_code: "E" }]) {
      assert.equal((await look(change)).outcome, "unknown", JSON.stringify(change));
      assert.equal((await charge(answered(200, { ...PAID, ...change }), listed())).outcome, "unknown", JSON.stringify(change));
    }
    assert.equal(codeOf(await look({ result_code: "E", error_code: "17" })), "expired_card");
    assert.equal(codeOf(await look({ result_code: "E", error_code: "99999" })), "processing_error", "the list shows its end");
    assert.equal(codeOf(await look({ result_code: "D" })), "card_declined");
    // The vendor's status codes: a fault after the processing, and a hold that was released.
    assert.equal((await look({ status_code: "E", status: "Error" })).outcome, "unknown");
    assert.equal(codeOf(await look({ status_code: "R", status: "Released" })), "processing_error");
    assert.equal(codeOf(await look({ status_code: "V" })), "processing_error");
  });

  test("a lost store is sent again, since it takes nothing", async () => {
    assert.equal((await usaepay.tokenize(storing, ioWith([LOST, answered(500, {}), answered(200, SAVED)]))).outcome, "approved");
    assert.equal(codeOf(await usaepay.tokenize(storing, ioWith([LOST]))), "gateway_unavailable");
  });

  test("a result that the vendor does not document, or an approval with another status, says nothing of the card: it may be stored (I4)", async () => {
    for (const odd of [answered(200, { ...SAVED, result_code: "" }), answered(400, SAVED)]) {
      const outcome = await usaepay.tokenize(storing, ioWith([odd]));
      assert.ok(outcome.outcome === "declined" && outcome.mayBeStored === true, JSON.stringify(outcome));
    }
  });
});
