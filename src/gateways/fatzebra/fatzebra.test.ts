import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const fatzebra = GATEWAYS_BUILT.fatzebra!;
const settings = settingsOf(fatzebra);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const ID = "071-P-1VQZVNTX";
const REFERENCE = orderOf().reference;

const PURCHASE = {
  authorization: "945272",
  id: ID,
  card_number: "424242XXXXXX4242",
  card_token: "ybmdvs1611pq5l1gl8g4",
  amount: 4995,
  decimal_amount: 49.95,
  successful: true,
  message: "Approved",
  reference: REFERENCE,
  currency: "USD",
  transaction_id: ID,
  response_code: "00",
  captured: true,
  captured_amount: 4995,
  cvv_match: "M",
};
const said = (response: object = {}, outer: object = {}, status = 200) =>
  answered(status, { successful: true, response: { ...PURCHASE, ...response }, errors: [], test: true, ...outer });
const refused = (response_code: string, more: object = {}) =>
  said({ successful: false, authorization: "0", message: "Declined", response_code, captured: false, captured_amount: null, ...more });
const wrong = (errors: string[], response: object = {}, status = 422) =>
  answered(status, { successful: false, response, errors, test: true });
const HOLD = { amount: 100, captured: false, captured_amount: null };
/** The answer to a void; and the purchase when it is read afterwards, as the vendor's recordings have it. */
const VOIDED = said({ message: "Voided", captured_amount: 0 });
const GONE = { successful: false, message: "Voided", captured_amount: 0 };
const MISSING = wrong(["Could not find Purchase"], {}, 404);

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!), 90_000);
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => fatzebra.charge(orderOf(), ioWith(answers));
const storing = (changes: Partial<Order> = {}) => orderOf({ mode: "tokenize", amountMinor: 0, ...changes });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const pathsOf = ({ sent }: ReturnType<typeof ioWith>) => sent.map(({ request }) => `${request.method} ${new URL(request.url).pathname}`);

describe("fatzebra requests", () => {
  test("a purchase is one JSON body under HTTP Basic, a telephone order of its own reference", async () => {
    const io = ioWith([said()]);
    await fatzebra.charge(orderOf({ card: cardOf("5123456789012346", { month: "09", year: "2028", name: "Jane Smith" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://gateway.pmnts-sandbox.io/v1.0/purchases");
    assert.partialDeepStrictEqual(request.headers, {
      Authorization: "Basic VEVTVDpURVNU",
      "Content-Type": "application/json",
      Accept: "application/json",
    });
    assert.equal(
      body,
      `{"amount":4995,"currency":"USD","reference":"${SESSION}-1","card_holder":"Jane Smith","card_number":"5123456789012346",` +
        '"card_expiry":"09/2028","cvv":"123","customer_ip":"203.0.113.10","capture":true,' +
        `"metadata":{"session":"${SESSION}","description":"Invoice 1001"},"extra":{"ecm":"21","card_on_file":false}}`,
    );
  });

  test("the widget's shopper has an address of his own; a holder without a name has a placeholder", async () => {
    const io = ioWith([said()]);
    await fatzebra.charge(orderOf({ channel: "widget", customerIp: "198.51.100.7", description: null }), io);
    await fatzebra.charge(orderOf({ channel: "widget", customerIp: "2001:db8::7" }), io);
    assert.match(io.sent[0]?.body ?? "", /"card_holder":"Cardholder"/);
    assert.match(
      io.sent[0]?.body ?? "",
      new RegExp(`"customer_ip":"198.51.100.7","capture":true,"metadata":\\{"session":"${SESSION}"\\},"extra":\\{"ecm":"31"`),
    );
    assert.match(io.sent[1]?.body ?? "", /"customer_ip":"203\.0\.113\.10"/);
  });

  test("live money is not taken under a made-up address", async () => {
    const { ip_address: _address, ...credentials } = settings.credentials;
    const nowhere = ioWith([said()], { environment: "live", endpoint: fatzebra.hosts.live, credentials });
    assert.equal(codeOf(await fatzebra.charge(orderOf(), nowhere)), "gateway_misconfigured");
    assert.equal(codeOf(await fatzebra.tokenize(storing(), nowhere)), "gateway_misconfigured");
    assert.equal(nowhere.sent.length, 0);
    const sandbox = ioWith([said()], { credentials });
    await fatzebra.charge(orderOf(), sandbox);
    assert.match(sandbox.sent[0]?.body ?? "", /"customer_ip":"127\.0\.0\.1"/);
  });

  test("a card is stored by a hold that is released at once, or unseen under our reference as its alias", async () => {
    const io = ioWith([said(HOLD), VOIDED]);
    const outcome = await fatzebra.tokenize(storing(), io);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.reason], [
      { fatzebra_card_token: PURCHASE.card_token },
      undefined,
    ]);
    assert.match(io.sent[0]?.body ?? "", /^\{"amount":100,.*"capture":false,.*"card_on_file":true,"stored_credential_indicator":"I"\}\}$/);
    assert.equal(io.sent[1]?.request.url, `https://gateway.pmnts-sandbox.io/v1.0/purchases/void?id=${ID}`);
    assert.equal(io.sent[1].body, "{}");
    const unseen = ioWith(
      [LOST, answered(200, { successful: true, response: { token: "66ox2h1e2x93495ynv3o", authorized: true }, errors: [] })],
      {
        options: { verify: false },
      },
    );
    const stored = await fatzebra.tokenize(storing(), unseen);
    assert.deepEqual(stored.outcome === "approved" && stored.processor, { fatzebra_card_token: "66ox2h1e2x93495ynv3o" });
    assert.equal(
      unseen.sent[1]?.body,
      `{"card_holder":"Cardholder","card_number":"4242424242424242","card_expiry":"03/2060","cvv":"123","alias":"${REFERENCE}"}`,
    );
    assert.deepEqual(pathsOf(unseen), ["POST /v1.0/credit_cards", "POST /v1.0/credit_cards"]);
  });

  test("settings that cannot work are named", () => {
    const fault = (changes: Record<string, string>) => {
      const changed = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, new Secret(value)]));
      return fatzebra.checkSettings({ ...settings, credentials: { ...settings.credentials, ...changed } }) ?? "";
    };
    assert.equal(fault({}), "");
    assert.match(fault({ username: "TEST:TEST" }), /username/);
    assert.match(fault({ token: "TEST " }), /token/);
    assert.match(fault({ ip_address: "here" }), /ip_address/);
  });
});

describe("fatzebra responses", () => {
  test("every response_code of the vendor's table means what it says, whatever the words beside it", async () => {
    const rows: Readonly<Record<string, string>> = {
      do_not_honor: "01 02 05",
      insufficient_funds: "51",
      expired_card: "33 54",
      incorrect_number: "14 15 56",
      incorrect_cvc: "82",
      card_not_supported: "12 31 39 40 42 52 53 57 58",
      lost_or_stolen: "04 07 35 36 37 41 43",
      fraud_suspected: "34 59",
      limit_exceeded: "13 38 61 65 75",
      gateway_misconfigured: "03 60",
      processing_error: "06 19 22 25 30 90 96",
      gateway_unavailable: "91 92",
      card_declined: "62 93 77 constructor",
    };
    for (const [ours, codes] of Object.entries(rows))
      for (const code of codes.split(" ")) assert.equal(codeOf(await charge(refused(code))), ours, code);
    // A fault, and a request in progress, may stand with a payment that was made: the look-up tells, and until then nothing does.
    for (const code of ["09", "99"]) {
      assert.equal(codeOf(await charge(refused(code))), "unknown", code);
      assert.equal(codeOf(await fatzebra.lookUp!(traceOf(orderOf()), ioWith([refused(code)]))), "processing_error", code);
    }
    const outcome = await charge(refused("05"));
    assert.deepEqual(outcome.outcome === "declined" && outcome.processor, { fatzebra_purchase_id: ID });
    for (const fraud_result of ["Deny", "Challenge"])
      assert.equal(codeOf(await charge(refused("05", { fraud_result }))), "fraud_suspected");
  });

  test("a refused field is told by the errors' texts, with any status", async () => {
    for (const [text, ours] of Object.entries({
      "Card number is invalid": "incorrect_number",
      "Card Number is required": "incorrect_number",
      "CVV is required": "incorrect_cvc",
      "Expiry date can't be blank": "invalid_expiry",
      "Card has expired, check the expiry": "expired_card",
      "Currency XYZ is not valid for this merchant. Permitted currencies: AUD": "gateway_misconfigured",
      "Amount is invalid": "gateway_misconfigured",
      "Reference can't be blank": "gateway_misconfigured",
    }))
      for (const status of [200, 400, 422]) assert.equal(codeOf(await charge(wrong([text], {}, status))), ours, text);
  });

  test("a refused field beside the code of a fault is looked up, and counts once nothing is found or the purchase is one that failed (R-417)", async () => {
    for (const order of [orderOf(), storing()])
      for (const [text, ours] of Object.entries({
        "CVV is required": "incorrect_cvc",
        "Currency XYZ is not valid for this merchant": "gateway_misconfigured",
        "System error": "processing_error",
      })) {
        const io = ioWith([wrong([text], { response_code: "99", id: ID, successful: false, message: null })]);
        assert.equal((await fatzebra[order.mode](order, io)).outcome, "unknown", text);
        // Reconciliation ends an attempt that is proven absent by this note.
        assert.equal(io.notes["refused_as"], ours);
        const trace = traceOf(order, io.notes);
        const failed = refused("99", { id: ID, message: null });
        assert.equal(codeOf(await fatzebra.lookUp!(trace, ioWith([failed]))), ours, text);
        assert.equal(codeOf(await fatzebra.lookUp!(trace, ioWith([refused("51")]))), "insufficient_funds");
        assert.equal((await fatzebra.lookUp!(trace, ioWith([MISSING]))).outcome, "absent");
      }
    const fault = ioWith([wrong(["x"], {}, 500)]);
    assert.equal((await fatzebra.charge(orderOf(), fault)).outcome, "unknown");
    assert.deepEqual(fault.notes, {});
    const twin = traceOf(orderOf(), { refused_as: "duplicate_transaction" });
    assert.equal(codeOf(await fatzebra.lookUp!(twin, ioWith([refused("99")]))), "processing_error");
  });

  test("a fault and whatever says neither yes nor no is unknown, and so is status 429", async () => {
    for (const answer of [
      LOST,
      answered(500, { successful: false, errors: ["x"] }),
      answered(429, {}),
      answered(200, "<html>"),
      wrong([], {}),
      wrong(["System error"]),
      wrong(["The request timed out, please try again"], {}, 200),
      wrong(["System error"], { response_code: "99", id: ID, successful: false, message: null }),
      said({}, { successful: undefined }),
      said({ successful: "true" }),
      said({ successful: true }, { successful: false }),
    ])
      assert.equal((await charge(answer)).outcome, "unknown", JSON.stringify(answer));
    for (const status of [401, 403]) {
      assert.equal(codeOf(await charge(answered(status, "no"))), "gateway_credentials_invalid");
      assert.equal(codeOf(await charge(wrong(["Denied"], {}, status))), "gateway_credentials_invalid");
    }
  });

  test("flags, code and capture that belie each other are neither a decline nor an approval", async () => {
    assert.equal((await charge(said({ response_code: "51" }))).outcome, "unknown");
    for (const change of [{ captured: true }, { response_code: "00" }])
      assert.equal((await charge(refused("05", change))).outcome, "unknown", JSON.stringify(change));
    assert.equal((await charge(wrong(["Card number is invalid"], { ...PURCHASE, successful: false }))).outcome, "unknown");
    for (const status of [302, 404, 422]) assert.equal((await charge(said({}, {}, status))).outcome, "unknown", String(status));
  });

  test("an approval is of the whole amount, captured, in the currency asked for", async () => {
    const outcome = await charge(said());
    assert.ok(outcome.outcome === "approved");
    assert.deepEqual([outcome.capture, outcome.processor], ["captured", { fatzebra_purchase_id: ID }]);
    assert.deepEqual(outcome.webhookProcessor, { auth_code: "945272", response_code: "00" });
    assert.equal((await charge(said({ response_code: "08", authorization: 945_272, fraud_result: "Challenge" }))).outcome, "approved");
    for (const change of [
      { id: "123" },
      { captured: null },
      { captured_amount: 5000 },
      { captured_amount: null },
      { currency: "AUD" },
      { fraud_result: "Deny" },
    ])
      assert.equal((await charge(said(change))).outcome, "unknown", JSON.stringify(change));
  });

  test("money that was only held is released and not taken for a payment; in doubt until it is", async () => {
    const held = said({ captured: false, captured_amount: null });
    const io = ioWith([held, VOIDED]);
    assert.equal(codeOf(await fatzebra.charge(orderOf(), io)), "gateway_misconfigured");
    assert.equal(io.sent[1]?.request.url, `https://gateway.pmnts-sandbox.io/v1.0/purchases/void?id=${ID}`);
    assert.equal(codeOf(await fatzebra.lookUp!(traceOf(orderOf()), ioWith([held, VOIDED]))), "gateway_misconfigured");
    for (const answer of [LOST, said({ successful: false, message: "Not Voided" }, {}, 422)])
      assert.equal((await charge(held, answer)).outcome, "unknown");
    for (const change of [{ amount: 1000 }, { currency: "AUD" }, { fraud_result: "Challenge" }])
      assert.equal((await charge(said({ captured: false, captured_amount: null, ...change }), VOIDED)).outcome, "unknown");
  });

  test("a part of the amount is voided, or refunded once it is settled, and else in doubt", async () => {
    const part = said({ response_code: "10", captured_amount: 1000 });
    assert.equal(codeOf(await charge(part, VOIDED)), "insufficient_funds");
    const settled = ioWith([part, said({ successful: false, message: "Not Voided" }, {}, 422), part, said()]);
    assert.equal(codeOf(await fatzebra.charge(orderOf(), settled)), "insufficient_funds");
    assert.equal(settled.sent[3]?.body, `{"transaction_id":"${ID}","amount":1000,"reference":"${REFERENCE}-r1"}`);
    assert.equal((await charge(part, LOST)).outcome, "unknown");
  });

  test("a purchase is looked up by its reference, and absent only in the vendor's own words", async () => {
    const found = async (answer: GatewayAnswer) => codeOf(await fatzebra.lookUp!(traceOf(orderOf()), ioWith([answer])));
    const io = ioWith([said()]);
    await fatzebra.lookUp!(traceOf(orderOf()), io);
    assert.equal(io.sent[0]?.request.url, `https://gateway.pmnts-sandbox.io/v1.0/purchases/${REFERENCE}`);
    assert.equal(await found(said()), "approved");
    assert.equal(await found(refused("51")), "insufficient_funds");
    assert.equal(await found(MISSING), "absent");
    assert.equal(await found(answered(404, "<html>")), "unknown");
    assert.equal(await found(answered(404, {})), "unknown");
    assert.equal(await found(answered(401, {})), "unknown");
    // A purchase that was refused before the bank was asked: the inner flag decides of one that is ours.
    for (const [reference, code] of [
      [REFERENCE, "processing_error"],
      ["another", "unknown"],
    ] as const)
      assert.equal(await found(wrong(["CVV is required"], { id: ID, reference, successful: false, response_code: "99" }, 200)), code);
    assert.equal(await found(said({}, { successful: false })), "unknown");
    assert.equal(await found(said({ reference: "another" })), "unknown");
    assert.equal(await found(LOST), "unknown");
  });

  test("a used reference and the bank's duplicate are looked up: the first one may be ours", async () => {
    const used = wrong(["Reference has already been taken"]);
    assert.equal((await charge(used, said())).outcome, "approved");
    assert.equal(codeOf(await charge(used, refused("51"))), "insufficient_funds");
    assert.equal((await charge(used, MISSING)).outcome, "unknown");
    assert.equal(codeOf(await charge(refused("94"), refused("94"))), "duplicate_transaction");
  });

  test("the release of the hold that verified a card is asked for until it is answered", async () => {
    const io = ioWith([said(HOLD), LOST, answered(502, "<html>"), VOIDED]);
    const outcome = await fatzebra.tokenize(storing(), io);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.reason], [
      { fatzebra_card_token: PURCHASE.card_token },
      undefined,
    ]);
    assert.deepEqual(pathsOf(io).slice(1), Array(3).fill("POST /v1.0/purchases/void"));
  });

  test("a lost hold is found by its reference, released, and its card kept", async () => {
    assert.equal((await fatzebra.tokenize(storing(), ioWith([LOST]))).outcome, "unknown");
    const io = ioWith([said(HOLD), VOIDED]);
    const found = await fatzebra.lookUp!(traceOf(storing()), io);
    assert.deepEqual(found.outcome === "approved" && found.processor, { fatzebra_card_token: PURCHASE.card_token });
    assert.deepEqual(pathsOf(io), [`GET /v1.0/purchases/${REFERENCE}`, "POST /v1.0/purchases/void"]);
    assert.equal((await fatzebra.lookUp!(traceOf(storing()), ioWith([MISSING]))).outcome, "absent");
  });

  test("a purchase that was voided stands no more; a hold that was released has verified its card all the same", async () => {
    const gone = await fatzebra.lookUp!(traceOf(orderOf()), ioWith([said(GONE)]));
    assert.deepEqual([codeOf(gone), gone.outcome === "declined" && gone.processor], ["processing_error", { fatzebra_purchase_id: ID }]);
    assert.equal((await fatzebra.void!(traceOf(orderOf()), ioWith([said(GONE)]))).outcome, "nothing to void", "its answer was lost");
    const released = { ...HOLD, ...GONE };
    const closed = said({ successful: false, message: "Not Voided" }, {}, 422);
    const kept = await fatzebra.lookUp!(traceOf(storing()), ioWith([said(released), closed]));
    assert.deepEqual(kept.outcome === "approved" && [kept.processor, kept.reason], [
      { fatzebra_card_token: PURCHASE.card_token },
      undefined,
    ]);
    assert.equal((await fatzebra.lookUp!(traceOf(storing()), ioWith([said({ ...released, amount: 50 }), closed]))).outcome, "declined");
    assert.equal((await charge(said(GONE))).outcome, "unknown", "no answer to a payment");
  });

  test("a refund that the bank declined is asked for again under a reference of its own, one that a fault left open is not (R-422)", async () => {
    const closed = said({ successful: false, message: "Not Voided" }, {}, 422);
    for (const [first, second] of [
      [refused("05"), "r2"],
      [refused("99"), "r1"],
      [refused("09"), "r1"],
      [LOST, "r1"],
    ] as const) {
      const io = ioWith([said(), closed, said(), first]);
      assert.equal((await fatzebra.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([said(), closed, said(), said({ message: "Approved" })]);
      assert.equal((await fatzebra.void!(traceOf(orderOf(), io.notes), later)).outcome, "voided");
      assert.match(later.sent.at(-1)?.body ?? "", new RegExp(`"reference":"${REFERENCE}-${second}"`), JSON.stringify(first));
    }
  });

  test("a void that arrived twice, and was refused for the first one, is followed by no refund (R-422)", async () => {
    const closed = said({ successful: false, message: "Not Voided" }, {}, 422);
    for (const [shown, outcome] of [
      [said(GONE), "voided"],
      [LOST, "unknown"],
    ] as const) {
      const twice = ioWith([said(), closed, shown]);
      assert.deepEqual([(await fatzebra.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], [outcome, 3]);
    }
  });

  test("a used reference of the refund means that it was made only while an answer is missing: a refusal that came ends that (R-422)", async () => {
    const closed = said({ successful: false, message: "Not Voided" }, {}, 422);
    const used = wrong(["Reference has already been taken"]);
    const again = async (notes: Record<string, string>, ...answers: GatewayAnswer[]) => {
      const io = ioWith([said(), ...answers]);
      const { outcome } = await fatzebra.void!(traceOf(orderOf(), notes), io);
      return { outcome, notes: { ...notes, ...io.notes } };
    };
    const lost = await again({}, closed, said(), LOST);
    assert.equal(lost.outcome, "unknown");
    assert.equal((await again(lost.notes, closed, said(), used)).outcome, "voided");
    const refusedSince = await again(lost.notes, closed, said(), refused("51"));
    assert.equal(refusedSince.outcome, "unknown");
    assert.equal((await again(refusedSince.notes, closed, said(), used)).outcome, "unknown");
    const neverSent = await again({}, { kind: "not sent", reason: "no connection" });
    assert.equal((await again(neverSent.notes, closed, said(), used)).outcome, "unknown");
  });

  test("a refused card is not stored; a hold that may stand and a missing token are told", async () => {
    const refusal = await fatzebra.tokenize(storing(), ioWith([refused("51", HOLD)]));
    assert.deepEqual([codeOf(refusal), refusal.outcome === "declined" && refusal.processor], ["insufficient_funds", {}]);
    const stuck = await fatzebra.tokenize(storing(), ioWith([said(HOLD), LOST]));
    assert.match((stuck.outcome === "approved" && stuck.reason) || "", /not known/);
    assert.equal(codeOf(await fatzebra.tokenize(storing(), ioWith([said({ ...HOLD, card_token: null }), VOIDED]))), "processing_error");
    assert.equal(codeOf(await fatzebra.tokenize(storing(), ioWith([said({ ...HOLD, amount: 50 }), VOIDED]))), "insufficient_funds");
    assert.deepEqual(await fatzebra.void!(traceOf(storing()), ioWith([LOST])), { outcome: "absent", mayBeStored: true });
  });
});
