import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { externalReference } from "./requests.ts";

const clover = GATEWAYS_BUILT.clover!;
const settings = settingsOf(clover);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const ID = "KYZ5X18N6ZX7P";
const REFERENCE = externalReference(orderOf());

const TOKEN = answered(200, { id: "clv_1TSTABCDefgHI23jKL4m5nOP", object: "token", card: { last4: "4242", brand: "VISA" } });
const CHARGE = {
  id: ID,
  object: "charge",
  amount: 4995,
  amount_refunded: 0,
  currency: "usd",
  created: 1_718_153_645_000,
  captured: true,
  paid: true,
  status: "succeeded",
  ref_num: 987_654_321,
  auth_code: "123456",
  external_reference_id: REFERENCE,
  source: { id: "clv_1TSTABCDefgHI23jKL4m5nOP", last4: "4242", address_zip_check: "pass", cvc_check: "pass" },
};
const CUSTOMER = { id: "SSHHCDEXTF550", object: "customer", sources: { object: "list", data: ["ND2EFTHF8HM34"] } };
const HOLD = { ...CHARGE, id: "HOLD111111111", amount: 100, captured: false };
const RELEASED = answered(200, { id: "REFUND1111111", object: "refund" });
const paid = (changes: object = {}) => answered(200, { ...CHARGE, ...changes });
const error = (code: string | undefined, message = "", more: object = {}, status = 402) =>
  answered(status, { message: `${status}`, error: { type: "card_error", code, message, ...more } });
const page = (items: object[], has_more = false) => answered(200, { object: "list", url: "/v1/charges", data: items, has_more });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!), 90_000);
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => clover.charge(orderOf(), ioWith([TOKEN, ...answers]));
const storing = (changes: Partial<Order> = {}) => orderOf({ mode: "tokenize", amountMinor: 0, ...changes });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const pathsOf = ({ sent }: ReturnType<typeof ioWith>) => sent.map(({ request }) => `${request.method} ${new URL(request.url).pathname}`);

describe("clover requests", () => {
  test("the card becomes a token on one host under the public key, the token a charge on the other under the private one", async () => {
    const io = ioWith([TOKEN, paid()]);
    await clover.charge(orderOf({ card: cardOf("4242424242424242", { year: "2030", name: "Ada Lovelace" }) }), io);
    const [token, payment] = io.sent;
    assert.equal(token?.request.url, "https://token-sandbox.dev.clover.com/v1/tokens");
    assert.partialDeepStrictEqual(token.request.headers, { apikey: "9f1c2b7e5d6a4c0f8a213b6d2c1e0f9a", "User-Agent": "Voicetill/1.0" });
    assert.equal(token.request.headers["Authorization"], undefined);
    assert.equal(
      token.body,
      '{"card":{"number":"4242424242424242","exp_month":"03","exp_year":"2030","cvv":"123","name":"Ada Lovelace","address_zip":"44628"}}',
    );
    assert.equal(payment?.request.url, "https://scl-sandbox.dev.clover.com/v1/charges");
    assert.partialDeepStrictEqual(payment.request.headers, {
      Authorization: "Bearer ab86a5e8-48f3-b3bd-8c45-d415e9867833",
      "x-forwarded-for": "203.0.113.10",
      "Content-Type": "application/json",
      Accept: "application/json",
    });
    assert.match(payment.request.headers["idempotency-key"] ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(
      payment.body,
      '{"amount":4995,"currency":"usd","source":"clv_1TSTABCDefgHI23jKL4m5nOP","ecomind":"moto","capture":true,' +
        `"description":"Invoice 1001","external_reference_id":"${REFERENCE}","metadata":{"session":"${SESSION}","attempt":"1"}}`,
    );
    assert.match(REFERENCE, /^[a-z]{12}$/);
  });

  test("the widget's payer typed the card and has an address of his own; live money is not taken under a made-up one", async () => {
    const io = ioWith([TOKEN, paid()]);
    await clover.charge(orderOf({ channel: "widget", customerIp: "198.51.100.7", description: null }), io);
    assert.equal(io.sent[1]?.request.headers["x-forwarded-for"], "198.51.100.7");
    assert.match(io.sent[1].body, /"ecomind":"ecom","capture":true,"external_reference_id"/);
    const { ip_address: _address, ...credentials } = settings.credentials;
    const nowhere = ioWith([TOKEN, paid()], { environment: "live", endpoint: clover.hosts.live, credentials });
    assert.equal(codeOf(await clover.charge(orderOf(), nowhere)), "gateway_misconfigured");
    assert.equal(nowhere.sent.length, 0);
  });

  test("another currency and an amount beyond the vendor's largest are refused before anything is sent", async () => {
    const io = ioWith([TOKEN]);
    assert.equal(codeOf(await clover.charge(orderOf({ currency: "EUR" }), io)), "gateway_misconfigured");
    assert.equal(codeOf(await clover.charge(orderOf({ amountMinor: 100_000_000 }), io)), "limit_exceeded");
    assert.equal(io.sent.length, 0);
  });

  test("a stored card is a customer of its own, with an address of the project's domain, verified by a hold that is released", async () => {
    const domain = { ...settings.credentials, customer_email_domain: new Secret("customers.example.com") };
    const io = ioWith([TOKEN, answered(200, CUSTOMER), answered(200, HOLD), RELEASED], { credentials: domain });
    const outcome = await clover.tokenize(storing({ card: cardOf("4242424242424242", { name: "Ada Byron Lovelace" }) }), io);
    assert.deepEqual(outcome.outcome === "approved" && [outcome.processor, outcome.reason], [
      { clover_customer_id: "SSHHCDEXTF550" },
      undefined,
    ]);
    assert.equal(
      io.sent[1]?.body,
      `{"ecomind":"moto","email":"${REFERENCE}@customers.example.com","firstName":"Ada Byron","lastName":"Lovelace",` +
        '"name":"Ada Byron Lovelace","source":"clv_1TSTABCDefgHI23jKL4m5nOP"}',
    );
    assert.match(io.sent[2]?.body ?? "", /^\{"amount":100,"currency":"usd","source":"SSHHCDEXTF550","ecomind":"moto","capture":false,/);
    assert.equal(io.sent[3]?.body, '{"charge":"HOLD111111111","reason":"requested_by_customer"}');
    const plain = ioWith([TOKEN, answered(200, CUSTOMER)], { options: { verify: false } });
    assert.equal((await clover.tokenize(storing(), plain)).outcome, "approved");
    assert.match(plain.sent[1]?.body ?? "", /@payments\.invalid","source"/);
    assert.equal(plain.sent.length, 2);
  });

  test("settings that cannot work are named", () => {
    const fault = (changes: Record<string, string>) => {
      const changed = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, new Secret(value)]));
      return clover.checkSettings({ ...settings, credentials: { ...settings.credentials, ...changed } }) ?? "";
    };
    assert.equal(fault({}), "");
    assert.match(fault({ public_key: "ab86a5e8-48f3-b3bd-8c45-d415e9867833" }), /public_key/);
    assert.match(fault({ private_key: "9f1c2b7e5d6a4c0f8a213b6d2c1e0f9a" }), /private_key/);
    assert.match(fault({ customer_email_domain: "me@example.com" }), /customer_email_domain/);
    assert.match(fault({ ip_address: "here" }), /ip_address/);
  });
});

describe("clover responses", () => {
  test("every code of the vendor's table means what it says, in an error and in a failed charge", async () => {
    const rows: Readonly<Record<string, string>> = {
      card_declined: "card_declined",
      expired_card: "expired_card",
      incorrect_number: "incorrect_number invalid_number",
      incorrect_cvc: "incorrect_cvc invalid_cvc",
      invalid_expiry: "invalid_expiry_month invalid_expiry_year",
      incorrect_zip: "incorrect_zip postal_code_invalid",
      card_not_supported: "invalid_card_type",
      limit_exceeded: "amount_too_large invalid_charge_amount",
      processing_error: "processing_error missing resource_missing card_on_file_missing order_already_paid",
      gateway_misconfigured: "email_invalid",
      gateway_credentials_invalid: "api_key_expired authentication_error",
      gateway_unavailable: "rate_limit",
    };
    for (const [ours, codes] of Object.entries(rows)) {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(error(code, "", {}, 400))), ours, code);
        assert.equal(codeOf(await charge(paid({ status: "failed", paid: false, failure_code: code }))), ours, code);
      }
    }
    assert.equal(codeOf(await charge(error("constructor", "", { type: "invalid_request_error" }, 400))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(error(undefined))), "card_declined");
    assert.equal(codeOf(await charge(answered(401, { message: "401 Unauthorized" }))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(answered(403, { message: "403 Forbidden" }))), "gateway_misconfigured");
  });

  test("the words of a refusal by the issuer say more than its one code, under either spelling of decline_code", async () => {
    for (const [words, ours] of Object.entries({
      "DECLINED: Insufficient funds": "insufficient_funds",
      "DECLINED: Do not honor": "do_not_honor",
      "Lost card": "lost_or_stolen",
      "Pick up card": "lost_or_stolen",
      "Exceeds withdrawal limit": "limit_exceeded",
      "CVV mismatch": "incorrect_cvc",
      "AVS failed": "incorrect_zip",
      "DECLINED: declined": "card_declined",
    })) {
      assert.equal(codeOf(await charge(error("card_declined", words))), ours, words);
      assert.equal(
        codeOf(await charge(paid({ status: "failed", paid: false, failure_code: "card_declined", failure_message: words }))),
        ours,
        words,
      );
    }
    assert.equal(codeOf(await charge(error("card_declined", "", { declineCode: "insufficient_funds" }))), "insufficient_funds");
    assert.equal(codeOf(await charge(error("card_declined", "", { decline_code: "issuer_declined" }, 400))), "card_declined");
    for (const [decline_code, ours] of [
      ["do_not_honor", "do_not_honor"],
      ["lost_card", "lost_or_stolen"],
      ["expired_card", "expired_card"],
      ["incorrect_cvc", "incorrect_cvc"],
    ] as const)
      assert.equal(codeOf(await charge(error("card_declined", "The card was declined.", { decline_code }, 400))), ours);
  });

  test("an error of the card whose code is not known is a decline, not a fault of the project's settings", async () => {
    for (const code of ["constructor", undefined]) assert.equal(codeOf(await charge(error(code, "", {}, 400))), "card_declined");
    assert.equal(codeOf(await charge(error("constructor", "Insufficient funds", {}, 400))), "insufficient_funds");
  });

  test("a fault of the vendor's own is no refusal, whatever its status: the charge is repeated under its key", async () => {
    for (const fault of ["api_error", "api_connection_error"]) {
      for (const answer of [error(fault, "", {}, 400), error(undefined, "", { type: fault }, 402)]) {
        assert.equal((await charge(answer, paid())).outcome, "approved", fault);
        assert.equal((await charge(answer)).outcome, "unknown", fault);
      }
      assert.equal(codeOf(await charge(paid({ status: "failed", paid: false, failure_code: fault }))), "gateway_unavailable");
      assert.equal(codeOf(await clover.charge(orderOf(), ioWith([error(fault, "", {}, 400)]))), "gateway_unavailable", "no bank was asked");
    }
  });

  test("a 402 without an error names no charge that could be read again, so that it is looked up", async () => {
    for (const body of [{}, { message: "402 Payment Required" }, { error: null }])
      assert.equal((await charge(answered(402, body))).outcome, "unknown", JSON.stringify(body));
  });

  test("a charge that is failed and paid at once, or succeeded and not paid, is neither a decline nor an approval", async () => {
    for (const change of [{ status: "failed" }, { paid: false }, { status: "failed", failure_code: "card_declined" }])
      assert.equal((await charge(paid(change))).outcome, "unknown", JSON.stringify(change));
  });

  test("a number that the token's host refuses is an incorrect one; its outage is no doubt, because no bank was asked", async () => {
    const refused = (answer: GatewayAnswer) => clover.charge(orderOf(), ioWith([answer]));
    assert.equal(codeOf(await refused(error("invalid_request", "", {}, 400))), "incorrect_number");
    assert.equal(codeOf(await refused(error("invalid_number", "", {}, 400))), "incorrect_number");
    assert.equal(codeOf(await refused(error("invalid_request_error", "", { type: "invalid_request_error" }, 400))), "incorrect_number");
    assert.equal(codeOf(await refused(answered(401, { message: "401 Unauthorized" }))), "gateway_credentials_invalid");
    assert.equal(codeOf(await refused(LOST)), "gateway_unavailable");
    assert.equal(codeOf(await refused(answered(200, { id: "tok_1" }))), "gateway_unavailable");
  });

  test("an approval has its id, its sum and the issuer's answers; the webhook gets them", async () => {
    const outcome = await charge(paid());
    assert.ok(outcome.outcome === "approved");
    assert.deepEqual(outcome.processor, { clover_charge_id: ID });
    assert.deepEqual(outcome.webhookProcessor, {
      auth_code: "123456",
      ref_num: "987654321",
      avs_result_code: "pass",
      cvv_result_code: "pass",
    });
    const held = await charge(paid({ captured: false }));
    assert.equal(held.outcome === "approved" && held.capture, "authorized");
    for (const change of [{ amount: 499 }, { currency: "cad" }, { id: "" }, { status: "constructor" }, { paid: undefined }, { error: {} }])
      assert.equal((await charge(paid(change))).outcome, "unknown", JSON.stringify(change));
  });

  test("a charge at work is read until it is decided; a part of the amount is sent back", async () => {
    assert.equal((await charge(paid({ status: "pending" }), paid({ status: "pending" }), paid())).outcome, "approved");
    assert.equal((await charge(paid({ status: "pending" }))).outcome, "unknown");
    const io = ioWith([TOKEN, paid({ partial_auth: true, amount: 1000 }), answered(200, { id: "R" })]);
    assert.equal(codeOf(await clover.charge(orderOf(), io)), "insufficient_funds");
    assert.equal(io.sent[2]?.body, `{"charge":"${ID}","reason":"requested_by_customer"}`);
    const stuck = ioWith([TOKEN, paid({ partial_auth: true }), answered(400, {})]);
    assert.equal((await clover.charge(orderOf(), stuck)).outcome, "unknown");
  });

  test("a refusal that names its charge is believed once the charge is read, and sent back where it stands", async () => {
    const refused = error("card_declined", "DECLINED", { charge: "QZ8ABCDEFGH12" });
    const believed = ioWith([TOKEN, refused, paid({ id: "QZ8ABCDEFGH12", status: "failed", paid: false })]);
    const outcome = await clover.charge(orderOf(), believed);
    assert.deepEqual(outcome.outcome === "declined" && outcome.processor, { clover_charge_id: "QZ8ABCDEFGH12" });
    assert.deepEqual(pathsOf(believed), ["POST /v1/tokens", "POST /v1/charges", "GET /v1/charges/QZ8ABCDEFGH12"]);
    assert.equal(codeOf(await charge(refused, answered(404, { message: "404 Not Found" }))), "card_declined");
    const standing = ioWith([TOKEN, refused, paid({ id: "QZ8ABCDEFGH12" }), answered(200, { id: "R" })]);
    assert.equal(codeOf(await clover.charge(orderOf(), standing)), "card_declined");
    assert.equal(pathsOf(standing).at(-1), "POST /v1/refunds");
    assert.equal((await charge(refused, LOST)).outcome, "unknown");
    assert.equal((await charge(refused, paid({ status: "pending" }))).outcome, "unknown");
  });

  test("a lost charge is repeated with the same token under the same key; a spent token then says nothing", async () => {
    const io = ioWith([TOKEN, LOST, answered(503, ""), answered(200, "<html>"), paid()]);
    assert.equal((await clover.charge(orderOf(), io)).outcome, "approved");
    const payments = io.sent.slice(1);
    assert.equal(new Set(payments.map(({ request }) => request.headers["idempotency-key"])).size, 1);
    assert.equal(new Set(payments.map(({ body }) => body)).size, 1);
    assert.equal((await charge(LOST, error("token_already_used", "", {}, 400))).outcome, "unknown");
    assert.equal((await charge(LOST)).outcome, "unknown");
    assert.equal(codeOf(await charge(LOST, error("card_declined", "DECLINED", {}, 400))), "card_declined");
    assert.equal(codeOf(await charge(answered(429, {}))), "gateway_unavailable");
  });

  test("a key that another body has used is looked up: the first one may have taken the money", async () => {
    const used = answered(400, { message: "400", error: { type: "idempotency_error" } });
    assert.equal((await charge(used, page([CHARGE]))).outcome, "approved");
    assert.equal((await charge(used, page([]))).outcome, "unknown");
  });

  test("a token that is spent already was spent by another delivery of the request, perhaps: the charge is looked up (R-422)", async () => {
    const spent = error("token_already_used", "", { type: "invalid_request_error" }, 400);
    assert.equal((await charge(spent, page([CHARGE]))).outcome, "approved");
    const naming = ioWith([TOKEN, error("token_already_used", "", { charge: ID }, 400), page([CHARGE])]);
    assert.equal((await clover.charge(orderOf(), naming)).outcome, "approved");
    assert.doesNotMatch(pathsOf(naming).join(), /refunds/);
    const io = ioWith([TOKEN, spent, page([])]);
    assert.equal((await clover.charge(orderOf(), io)).outcome, "unknown");
    // What it is called once it is proven that there is no charge.
    assert.equal(io.notes["refused_as"], "processing_error");
    assert.equal((await clover.tokenize(storing(), ioWith([TOKEN, spent, page([])]))).outcome, "unknown");
  });

  test("a look-up goes through the newest charges until they are older than the attempt", async () => {
    const startedAtMs = CHARGE.created;
    const other = { ...CHARGE, id: "OTHER11111111", external_reference_id: "abcdefghijkl" };
    const trace = traceOf(orderOf(), {}, startedAtMs);
    const io = ioWith([page([other], true), page([CHARGE], true), page([{ ...other, created: startedAtMs - 3_600_000 }], true)]);
    assert.equal((await clover.lookUp!(trace, io)).outcome, "approved");
    assert.deepEqual(
      io.sent.map(({ request }) => new URL(request.url).search),
      ["?limit=100", "?limit=100&starting_after=OTHER11111111", `?limit=100&starting_after=${ID}`],
    );
    const found = async (...answers: GatewayAnswer[]) => codeOf(await clover.lookUp!(trace, ioWith(answers)));
    assert.equal(await found(page([other])), "absent");
    assert.equal(await found(page([{ ...CHARGE, status: "pending" }])), "pending");
    assert.equal(await found(page([{ ...CHARGE, amount_refunded: 4995 }])), "processing_error");
    assert.equal(await found(page([{ ...CHARGE, amount_refunded: 100 }])), "unknown");
    assert.equal(await found(page([CHARGE, { ...CHARGE, id: "TWIN111111111" }])), "unknown");
    assert.equal(await found(page([{ ...CHARGE, status: "failed", paid: false }, CHARGE])), "approved");
    assert.equal(await found(answered(401, {})), "unknown");
    assert.equal(await found(LOST), "unknown");
  });

  test("a list that does not begin with the newest charges is read to its end before a charge counts as absent", async () => {
    const startedAtMs = CHARGE.created;
    const old = (id: string, ageMs: number) => ({ ...CHARGE, id, external_reference_id: "abcdefghijkl", created: startedAtMs - ageMs });
    const rising = page([old("OLD1111111111", 9_000_000), old("OLD2222222222", 3_600_000)], true);
    const trace = traceOf(orderOf(), {}, startedAtMs);
    assert.equal((await clover.lookUp!(trace, ioWith([rising, page([CHARGE])]))).outcome, "approved");
    assert.equal((await clover.lookUp!(trace, ioWith([rising]))).outcome, "unknown");
    const falling = page([old("OLD2222222222", 3_600_000), old("OLD1111111111", 9_000_000)], true);
    assert.equal((await clover.lookUp!(trace, ioWith([falling]))).outcome, "absent");
  });

  test("a list need not say that it has no more, and may begin with the charge that the last one ended with", async () => {
    const trace = traceOf(orderOf(), {}, CHARGE.created);
    const other = { ...CHARGE, id: "OTHER11111111", external_reference_id: "abcdefghijkl" };
    const bare = (items: object[]) => answered(200, { object: "list", url: "/v1/charges", data: items });
    const found = async (...answers: GatewayAnswer[]) => (await clover.lookUp!(trace, ioWith(answers))).outcome;
    assert.equal(await found(bare([CHARGE])), "approved");
    assert.equal(await found(bare([])), "absent");
    const full = Array.from({ length: 100 }, (_none, index) => ({ ...other, id: `OTHER${String(10_000_000 + index)}` }));
    assert.equal(await found(bare(full), bare([CHARGE])), "approved", "a full page may have a next one");
    assert.equal(await found(page([other, CHARGE], true), page([CHARGE, other])), "approved");
    assert.equal(await found(answered(200, { object: "list", data: [CHARGE], has_more: "no" })), "unknown");
  });

  test("a charge whose reference the list leaves out is known by its session and attempt", async () => {
    const { external_reference_id: _reference, ...bare } = CHARGE;
    const found = async (attempt: string) =>
      (await clover.lookUp!(traceOf(orderOf()), ioWith([page([{ ...bare, metadata: { session: SESSION, attempt } }])]))).outcome;
    assert.deepEqual([await found("1"), await found("2")], ["approved", "absent"]);
  });

  test("an empty error beside a charge is no doubt", async () => {
    assert.equal((await charge(paid({ error: null }))).outcome, "approved");
  });

  test("a customer whose answer is lost is asked for again under its key, and no money is in doubt", async () => {
    const store = (...answers: GatewayAnswer[]) => clover.tokenize(storing(), ioWith([TOKEN, ...answers]));
    const io = ioWith([TOKEN, LOST, answered(200, CUSTOMER), answered(200, HOLD), RELEASED]);
    assert.equal((await clover.tokenize(storing(), io)).outcome, "approved");
    assert.deepEqual(io.notes, { customer: "SSHHCDEXTF550", source: "ND2EFTHF8HM34" });
    assert.equal(codeOf(await store(LOST)), "gateway_unavailable");
    const isKept = async (...answers: GatewayAnswer[]) => {
      const outcome = await store(...answers);
      return outcome.outcome === "declined" && outcome.mayBeStored === true;
    };
    assert.equal(codeOf(await store(error("email_invalid", "", {}, 400))), "gateway_misconfigured");
    assert.deepEqual(await Promise.all([isKept(LOST), isKept(answered(200, {})), isKept(LOST, error("email_invalid", "", {}, 400))]), [
      true,
      true,
      true,
    ]);
    assert.equal(await isKept(error("email_invalid", "", {}, 400)), false);
    assert.equal(codeOf(await store(error("invalid_cvc", "", {}, 400))), "incorrect_cvc");
    assert.deepEqual(await clover.lookUp!(traceOf(storing()), ioWith([LOST])), { outcome: "absent", mayBeStored: true });
  });

  test("a card that its issuer refuses is taken out of the vendor's keeping; a hold that stays is told to the operator", async () => {
    const io = ioWith([TOKEN, answered(200, CUSTOMER), error("card_declined", "Insufficient funds"), answered(200, {})]);
    const refused = await clover.tokenize(storing(), io);
    assert.deepEqual([codeOf(refused), refused.outcome === "declined" && refused.processor], ["insufficient_funds", {}]);
    assert.equal(pathsOf(io).at(-1), "DELETE /v1/customers/SSHHCDEXTF550/sources/ND2EFTHF8HM34");
    const used = answered(400, { message: "400", error: { type: "idempotency_error" } });
    const first = ioWith([TOKEN, answered(200, CUSTOMER), used, page([HOLD]), RELEASED]);
    assert.equal((await clover.tokenize(storing(), first)).outcome, "approved");
    assert.doesNotMatch(pathsOf(first).join(), /DELETE/);
    const refusal = error("card_declined", "fraud", { charge: HOLD.id });
    const released = ioWith([TOKEN, answered(200, CUSTOMER), refusal, answered(200, { ...HOLD, amount_refunded: 100 }), answered(200, {})]);
    assert.equal(codeOf(await clover.tokenize(storing(), released)), "card_declined");
    assert.equal(pathsOf(released).includes("POST /v1/refunds"), false);
    const stuck = await clover.tokenize(storing(), ioWith([TOKEN, answered(200, CUSTOMER), answered(200, HOLD), answered(400, {})]));
    assert.match((stuck.outcome === "approved" && stuck.reason) || "", /will lapse/);
  });

  test("a refused card whose removal has no answer may be stored: it is taken out later, or listed (I4)", async () => {
    const refused = error("card_declined", "Insufficient funds");
    const nameless = answered(200, { ...CUSTOMER, sources: { object: "list", data: [] } });
    for (const [customer, answer, mayBeStored] of [
      [answered(200, CUSTOMER), LOST, true],
      [answered(200, CUSTOMER), answered(500, {}), true],
      [nameless, answered(200, {}), true],
      [answered(200, CUSTOMER), answered(200, {}), undefined],
      [answered(200, CUSTOMER), answered(404, {}), undefined],
    ] as const) {
      const outcome = await clover.tokenize(storing(), ioWith([TOKEN, customer, refused, answer]));
      assert.deepEqual([codeOf(outcome), outcome.outcome === "declined" && outcome.mayBeStored], ["insufficient_funds", mayBeStored]);
    }
    const trace = traceOf(storing(), { customer: "SSHHCDEXTF550", source: "ND2EFTHF8HM34" }, CHARGE.created);
    const list = page([{ ...HOLD, status: "failed", paid: false, failure_code: "card_declined" }]);
    assert.equal((await clover.void!(trace, ioWith([list, LOST]))).outcome, "unknown");
    assert.equal((await clover.void!(trace, ioWith([list, answered(404, {})]))).outcome, "nothing to void");
  });

  test("a verification that the vendor captured at once is sent back as a hold is, so that the payer is charged nothing", async () => {
    const taken = { ...HOLD, captured: true };
    const io = ioWith([TOKEN, answered(200, CUSTOMER), answered(200, taken), RELEASED]);
    assert.equal((await clover.tokenize(storing(), io)).outcome, "approved");
    assert.equal(io.sent[3]?.body, `{"charge":"${HOLD.id}","reason":"requested_by_customer"}`);
    const trace = traceOf(storing(), { customer: "SSHHCDEXTF550", source: "ND2EFTHF8HM34" }, CHARGE.created);
    const later = ioWith([page([taken]), RELEASED]);
    assert.equal((await clover.lookUp!(trace, later)).outcome, "approved");
    assert.deepEqual(pathsOf(later), ["GET /v1/charges", "POST /v1/refunds"]);
    const refusal = error("card_declined", "fraud", { charge: HOLD.id });
    const refused = ioWith([TOKEN, answered(200, CUSTOMER), refusal, answered(200, taken), RELEASED, answered(200, {})]);
    assert.equal(codeOf(await clover.tokenize(storing(), refused)), "card_declined");
    assert.ok(pathsOf(refused).includes("POST /v1/refunds"));
  });

  test("a lost verification is found by its hold, which is released once; a void takes the card away", async () => {
    const trace = traceOf(storing(), { customer: "SSHHCDEXTF550", source: "ND2EFTHF8HM34" }, CHARGE.created);
    const io = ioWith([page([HOLD]), RELEASED]);
    assert.equal((await clover.lookUp!(trace, io)).outcome, "approved");
    assert.deepEqual(pathsOf(io), ["GET /v1/charges", "POST /v1/refunds"]);
    assert.deepEqual(await clover.lookUp!(trace, ioWith([page([])])), { outcome: "absent", mayBeStored: true });
    const removal = ioWith([page([{ ...HOLD, amount_refunded: 100 }]), answered(200, {})]);
    assert.equal((await clover.void!(trace, removal)).outcome, "voided");
    assert.deepEqual(pathsOf(removal), ["GET /v1/charges", "DELETE /v1/customers/SSHHCDEXTF550/sources/ND2EFTHF8HM34"]);
    assert.equal((await clover.void!(trace, ioWith([page([]), answered(200, {})]))).outcome, "voided", "without its hold too");
  });
});

describe("clover, reversals", () => {
  const trace = traceOf(orderOf(), {}, CHARGE.created);
  const REFUND = { id: "REFUND1111111", object: "refund", amount: 4995, charge: ID, status: "succeeded" };

  test("what refunds have left of a charge decides: failed, cancelled and voided ones sent nothing back, one at work leaves it open (R-422)", async () => {
    const refunds = (...data: object[]) => ({ refunds: { object: "list", data: data.map((one) => ({ ...REFUND, ...one })) } });
    for (const [change, outcome, sent] of [
      [{ amount_refunded: 4995, ...refunds({}) }, "nothing to void", 0],
      [{ amount_refunded: 4995, refunded: true }, "nothing to void", 0],
      [{ amount_refunded: undefined, refunded: true, ...refunds({ amount: 995 }, { amount: 4000 }) }, "nothing to void", 0],
      [{ amount_refunded: undefined, refunded: true }, "unknown", 0],
      [{ amount_refunded: 995, ...refunds({ amount: 995 }) }, "unknown", 0],
      [{ amount_refunded: 4995, ...refunds({ status: "pending" }) }, "unknown", 0],
      [{ ...refunds({ status: "pending" }) }, "unknown", 0],
      [{ amount_refunded: 4995, ...refunds({ status: "failed" }) }, "unknown", 0],
      [{ amount_refunded: 4995, ...refunds({ voided: true }) }, "unknown", 0],
      [{ ...refunds({ status: "failed" }, { status: "canceled" }, { voided: true }) }, "voided", 1],
      [{ ...refunds() }, "voided", 1],
    ] as const) {
      const io = ioWith([page([{ ...CHARGE, ...change }]), answered(200, REFUND)]);
      const found = await clover.void!(trace, io);
      const made = pathsOf(io).filter((path) => path === "POST /v1/refunds").length;
      assert.deepEqual([found.outcome, made], [outcome, sent], JSON.stringify(change));
    }
  });

  test("a refund counts once it is called successful: it may be at work, have failed, or be another charge's", async () => {
    for (const [answer, outcome] of [
      [REFUND, "voided"],
      [{ ...REFUND, status: undefined }, "voided"],
      [{ ...REFUND, status: "pending" }, "unknown"],
      [{ ...REFUND, status: "failed" }, "unknown"],
      [{ ...REFUND, charge: "ANOTHER111111" }, "unknown"],
      ["<html>", "unknown"],
    ] as const)
      assert.equal((await clover.void!(trace, ioWith([page([CHARGE]), answered(200, answer)]))).outcome, outcome, JSON.stringify(answer));
  });

  test("a refund that failed is asked for again under a key of its own, one at work or lost under its first (R-422)", async () => {
    const keys: Record<string, string | undefined> = {};
    for (const [name, first] of Object.entries({
      failed: answered(200, { ...REFUND, status: "failed" }),
      pending: answered(200, { ...REFUND, status: "pending" }),
      lost: LOST,
    })) {
      const io = ioWith([page([CHARGE]), first]);
      assert.equal((await clover.void!(trace, io)).outcome, "unknown");
      const later = ioWith([page([CHARGE]), answered(200, REFUND)]);
      assert.equal((await clover.void!({ ...trace, notes: io.notes }, later)).outcome, "voided");
      const keyOf = (one: typeof io) => one.sent.at(-1)?.request.headers["idempotency-key"];
      assert.equal(keyOf(later) === keyOf(io), name !== "failed", name);
      keys[name] = keyOf(later);
    }
    assert.equal(keys["pending"], keys["lost"]);
  });

  test("a refund that failed after it was at work, or was taken back since, is asked for again under another key (R-422)", async () => {
    const first = ioWith([page([CHARGE]), answered(200, { ...REFUND, status: "pending" })]);
    assert.equal((await clover.void!(trace, first)).outcome, "unknown");
    const keyOf = (one: typeof first) => one.sent.at(-1)?.request.headers["idempotency-key"];
    for (const since of [{ status: "failed" }, { voided: true }]) {
      const shown = { ...CHARGE, refunds: { object: "list", data: [{ ...REFUND, ...since }] } };
      const later = ioWith([page([shown]), answered(200, { ...REFUND, status: "pending" })]);
      await clover.void!({ ...trace, notes: first.notes }, later);
      assert.notEqual(keyOf(later), keyOf(first));
      // Of the second one, which the list does not show yet, nothing is known: it keeps its key.
      const last = ioWith([page([shown]), answered(200, REFUND)]);
      assert.equal((await clover.void!({ ...trace, notes: { ...first.notes, ...later.notes } }, last)).outcome, "voided");
      assert.equal(keyOf(last), keyOf(later));
    }
  });

  test("a part that a look-up finds is sent back and refused, and one that was sent back is not again", async () => {
    const part = { ...CHARGE, amount: 2000, partial_auth: true };
    const io = ioWith([page([part]), answered(200, REFUND)]);
    assert.equal(codeOf((await clover.lookUp!(trace, io)) as Outcome), "insufficient_funds");
    assert.deepEqual(pathsOf(io), ["GET /v1/charges", "POST /v1/refunds"]);
    assert.equal((await clover.lookUp!(trace, ioWith([page([part]), LOST]))).outcome, "unknown");
    const sentBack = ioWith([page([{ ...part, amount_refunded: 2000 }]), answered(200, REFUND)]);
    assert.equal((await clover.lookUp!(trace, sentBack)).outcome, "declined");
    assert.deepEqual(pathsOf(sentBack), ["GET /v1/charges"]);
  });
});
