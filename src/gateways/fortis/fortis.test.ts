import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const fortis = GATEWAYS_BUILT.fortis!;
const settings = settingsOf(fortis);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const REFERENCE = `${SESSION}-1`;
const ID = "31efa3732483237895c9a23d";
const TOKEN = "31efa5c0a1b2c3d4e5f60718";

const SALE = {
  id: ID,
  payment_method: "cc",
  last_four: "5454",
  transaction_amount: 4995,
  auth_amount: 4995,
  auth_code: "a37325",
  verbiage: "Test 7957",
  response_message: null,
  status_code: 101,
  reason_code_id: 1000,
  avs: "ZIP",
  cvv_response: "M",
  account_type: "mc",
  currency: "USD",
  currency_code: 840,
  transaction_api_id: REFERENCE,
};
const transaction = (change: object = {}, status = 201) => answered(status, { type: "Transaction", data: { ...SALE, ...change } });
const CHECK = { status_code: 121, transaction_amount: 0, auth_amount: 0 };
const declinedAs = (reason: number | string, status = 201) =>
  transaction({ status_code: 301, reason_code_id: reason, auth_code: null, auth_amount: 0 }, status);
const token = (change: object = {}) => answered(201, { type: "Token", data: { id: TOKEN, active: true, last_four: "5454", ...change } });
const list = (...items: object[]) => answered(200, { type: "TransactionsCollection", list: items.map((item) => ({ ...SALE, ...item })) });
const refusal = (
  field: string,
  meta: object = { details: [{ message: `"${field}" is wrong`, path: [field] }] },
  detail = "Precondition Failed",
) => answered(412, { type: "Error", id: "clj4ge1234004t9ptdoz34567", statusCode: 412, title: "Precondition Failed", detail, meta });
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const withCredentials = (more: Record<string, string>) => ({
  credentials: { ...settings.credentials, ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, new Secret(value)])) },
});
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => fortis.charge(orderOf(), ioWith(answers));
const lookUp = (...answers: GatewayAnswer[]) => fortis.lookUp!(traceOf(orderOf()), ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const callsOf = (io: ReturnType<typeof ioWith>) => io.sent.map(({ request: { method, url } }) => `${method} ${new URL(url).pathname}`);

describe("fortis requests", () => {
  test("a sale is one JSON body in minor units under three lower-case headers, and forbids a partial approval", async () => {
    const io = ioWith([transaction()], withCredentials({ product_transaction_id: "11ef69fdc6debc2cb1af505c" }));
    await fortis.charge(orderOf({ card: cardOf("5454545454545454", { month: "09", year: "2028", cvv: "999", name: "Jane Smith" }) }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://api.sandbox.fortis.tech/v1/transactions/cc/sale/keyed");
    assert.deepEqual(request.headers, {
      "user-id": "11ef69fdc8fd8db2b07213de",
      "user-api-key": "11ef9c5897f42ac2a072e521",
      "developer-id": "bEgKPZos",
      Accept: "application/json",
      "Content-Type": "application/json",
    });
    assert.equal(
      body,
      `{"transaction_amount":4995,"transaction_api_id":"${REFERENCE}","order_number":"3f6c0a5e9b1d4c7a8e215d0f7b6a1c01",` +
        '"location_id":"11ef69fdc684ae30b436c55b","product_transaction_id":"11ef69fdc6debc2cb1af505c","description":"Invoice 1001",' +
        '"account_number":"5454545454545454","exp_date":"0928","cvv":"999","account_holder_name":"Jane Smith",' +
        '"billing_address":{"postal_code":"44628"},"allow_partial_authorization_override":false}',
    );
  });

  test("each channel has its product, the one that there is serves both; what is missing, empty or misshapen is left out", async () => {
    const [voice, widget] = ["a".repeat(24), "b".repeat(24)];
    const productOf = async (channel: "voice" | "widget", credentials: Record<string, string>) => {
      const io = ioWith([transaction()], withCredentials(credentials));
      await fortis.charge(orderOf({ channel, description: "", card: cardOf("4111111111111111", { cvv: "", zip: "44/628" }) }), io);
      assert.doesNotMatch(io.sent[0]!.body, /cvv|description|billing_address|account_holder_name|ip/);
      return (JSON.parse(io.sent[0]!.body) as { product_transaction_id?: string }).product_transaction_id;
    };
    const both = { product_transaction_id: voice, product_transaction_id_widget: widget };
    assert.deepEqual([await productOf("voice", both), await productOf("widget", both)], [voice, widget]);
    assert.equal(await productOf("widget", { product_transaction_id: voice }), voice);
    assert.equal(await productOf("voice", { product_transaction_id_widget: widget }), widget);
    assert.equal(await productOf("voice", {}), undefined);
  });

  test("texts are cut to the vendor's limits, and a second card has an order number and an id of its own", async () => {
    const io = ioWith([transaction()]);
    await fortis.charge(
      orderOf({ attempt: 2, description: "d".repeat(65), card: cardOf("4111111111111111", { name: "n".repeat(33) }) }),
      io,
    );
    const sent = JSON.parse(io.sent[0]!.body) as Record<string, string>;
    assert.deepEqual([sent["description"]?.length, sent["account_holder_name"]?.length], [64, 32]);
    assert.deepEqual([sent["order_number"]?.slice(-2), sent["transaction_api_id"]], ["02", `${SESSION}-2`]);
  });

  test("a session of another currency than the products' is refused before anything is sent", async () => {
    const io = ioWith([transaction()]);
    const outcome = await fortis.charge(orderOf({ currency: "CAD" }), io);
    assert.equal(codeOf(outcome), "gateway_misconfigured");
    assert.match((outcome.outcome === "declined" && outcome.reason) || "", /setting currency/);
    assert.equal(io.sent.length, 0);
    const canadian = ioWith([transaction({ currency: "CAD" })], withCredentials({ currency: "CAD" }));
    assert.equal((await fortis.charge(orderOf({ currency: "CAD" }), canadian)).outcome, "approved");
  });

  test("a card is checked with its code and stored by the check; without the check it is stored unseen, never with its code", async () => {
    const io = ioWith([transaction(CHECK), token()]);
    const outcome = await fortis.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { fortis_token_id: TOKEN });
    assert.deepEqual(callsOf(io), ["POST /v1/transactions/cc/avs-only/keyed", "POST /v1/tokens/previous-transaction"]);
    assert.match(io.sent[0]!.body, /"cvv":"123"/);
    assert.doesNotMatch(io.sent[0]!.body, /transaction_amount|allow_partial/);
    assert.equal(io.sent[1]?.body, `{"location_id":"11ef69fdc684ae30b436c55b","previous_transaction_id":"${ID}"}`);
    const unseen = ioWith([token()], { options: { verify: false } });
    assert.equal((await fortis.tokenize(storing, unseen)).outcome, "approved");
    assert.equal(
      unseen.sent[0]?.body,
      '{"location_id":"11ef69fdc684ae30b436c55b","account_number":"4242424242424242","exp_date":"0360",' +
        `"billing_address":{"postal_code":"44628"},"token_api_id":"${REFERENCE}","title":"Voice 3f6c0a5e"}`,
    );
  });

  test("settings that cannot work are named", () => {
    const fault = (more: Record<string, string>) => fortis.checkSettings({ ...settings, ...withCredentials(more) });
    assert.equal(fault({}), null);
    assert.match(fault({ user_id: "jane" }) ?? "", /^user_id is not 24 to 36 hex digits/);
    assert.match(fault({ user_api_key: "a b" }) ?? "", /^user_api_key is not a key/);
    assert.match(fault({ developer_id: "" }) ?? "", /^developer_id is not a developer id/);
    assert.match(fault({ location_id: "here" }) ?? "", /^location_id is not/);
    assert.match(fault({ product_transaction_id: "moto" }) ?? "", /^product_transaction_id is not/);
    assert.match(fault({ currency: "usd" }) ?? "", /^currency is not/);
  });
});

describe("fortis responses", () => {
  test("every reason of the sheet's table means what it says, whatever status the decline has", async () => {
    const rows: Readonly<Record<string, string>> = {
      card_declined: "1500 1601 1599 1003 1661 1620 1623 1663 9999 constructor",
      do_not_honor: "1510 1602 1615 1624",
      insufficient_funds: "1616 1201 1657 1659",
      expired_card: "1622",
      invalid_expiry: "1614",
      incorrect_number: "1608 1631",
      incorrect_cvc: "1613 1656 1800",
      incorrect_zip: "1655",
      card_not_supported: "1625 1626 1518 1618",
      lost_or_stolen: "1520 1604 1606 1607",
      fraud_suspected: "1605 1301 1350 1399",
      limit_exceeded: "1619 1611 1652",
      processing_error: "1530 1531 1603 1627 1005 1621 1654 1662 1588 1664 1665",
      gateway_misconfigured: "1540 1628 1802 1650 1653 1612 1541 1004 1666",
    };
    for (const [ours, reasons] of Object.entries(rows))
      for (const reason of reasons.split(" ")) assert.equal(codeOf(await charge(declinedAs(Number(reason) || reason))), ours, reason);
    const outcome = await charge(declinedAs(1622, 400));
    assert.deepEqual(
      [codeOf(outcome), outcome.outcome === "declined" && outcome.processor],
      ["expired_card", { fortis_transaction_id: ID }],
    );
  });

  test("a refusal of our data names its field in any of the three forms of meta, or in its detail", async () => {
    for (const [field, ours] of Object.entries({
      account_number: "incorrect_number",
      exp_date: "invalid_expiry",
      cvv: "incorrect_cvc",
      postal_code: "incorrect_zip",
      location_id: "gateway_misconfigured",
    })) {
      assert.equal(codeOf(await charge(refusal(field))), ours, field);
      assert.equal(codeOf(await charge(refusal(field, { errors: { [field]: ["is wrong"] } }))), ours, field);
      assert.equal(codeOf(await charge(refusal(field, { message: `"${field}" is wrong` }))), ours, field);
      assert.equal(codeOf(await charge(refusal(field, {}, `"${field}" is wrong`))), ours, field);
    }
    const told = await charge(refusal("location_id"));
    assert.equal(told.outcome === "declined" && told.message, '"location_id" is wrong');
  });

  test("a refusal is one by its own status where its type is an id, as the vendor's example has it", async () => {
    const id = "clj4ge1234004t9ptdoz34567";
    const body = { type: id, title: "Precondition Failed", detail: '"account_number" must be a credit card' };
    assert.equal(codeOf(await charge(answered(412, { ...body, statusCode: 412 }))), "incorrect_number");
    for (const other of [{}, { statusCode: 500 }]) assert.equal(codeOf(await charge(answered(412, { ...body, ...other }))), "unknown");
  });

  test("words about the card are never passed on: they may repeat the value that they refuse", async () => {
    const words = '"cvv" with value "123" fails to match the Fortis pattern';
    for (const answer of [
      refusal("cvv", { details: [{ message: words }] }),
      refusal("cvv", { errors: { cvv: ['is "123"'] } }),
      refusal("cvv", {}, words),
      refusal("location_id", { details: [{ message: '"location_id" is wrong' }, { message: words }] }),
      refusal("exp_date", { message: '"exp_date" with value "0928" is wrong' }),
    ]) {
      const outcome = await charge(answer);
      assert.equal(outcome.outcome === "declined" && outcome.message, null, JSON.stringify(outcome));
    }
  });

  test("a used id or a duplicate is looked up before it counts", async () => {
    for (const answer of [refusal("transaction_api_id"), declinedAs(1801), declinedAs(1609)]) {
      const io = ioWith([answer, list(), list({})]);
      assert.equal((await fortis.charge(orderOf(), io)).outcome, "approved");
      assert.equal(io.sent.length, 3);
    }
  });

  test("keys are told by the status in either form; floods, faults and odd answers are unknown", async () => {
    assert.equal(
      codeOf(await charge(answered(401, { statusCode: 401, error: "Unauthorized", message: "Invalid token" }))),
      "gateway_credentials_invalid",
    );
    assert.equal(codeOf(await charge(answered(401, { type: "Error", title: "Unauthorized" }))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge(answered(403, "<html>"))), "gateway_credentials_invalid");
    for (const answer of [
      answered(429, { message: "Too Many Requests" }),
      answered(429, ""),
      answered(502, { message: "Internal server error" }),
      answered(504, { message: "Endpoint request timed out" }),
      answered(201, { type: "TransactionProcessing", async: { code: "x", link: "y" } }),
      answered(404, { message: "Not Found" }),
      answered(201, "<html>"),
      transaction({ status_code: 102 }),
      transaction({ status_code: "constructor" }),
      transaction({ id: "constructor" }),
      transaction({ auth_amount: null }),
      transaction({ transaction_amount: 499 }),
      transaction({ currency: "CAD" }),
      transaction({}, 500),
      LOST,
    ])
      assert.equal((await charge(answer)).outcome, "unknown", JSON.stringify(answer));
  });

  test("a part is voided before it is refused, and unknown when it cannot be", async () => {
    const voided = transaction({ status_code: 201, reason_code_id: 1200 }, 200);
    for (const part of [{ reason_code_id: 1201 }, { auth_amount: 1000 }]) {
      const io = ioWith([transaction(part), voided]);
      assert.equal(codeOf(await fortis.charge(orderOf(), io)), "insufficient_funds");
      assert.deepEqual(callsOf(io)[1], `PUT /v1/transactions/${ID}/void`);
      assert.equal((await charge(transaction(part), LOST)).outcome, "unknown");
    }
    assert.equal(codeOf(await lookUp(list({ reason_code_id: 1201 }), voided)), "insufficient_funds");
  });

  test("of a part that is settled already no more is refunded than was taken, and nothing while that is not known", async () => {
    const [closed, refunded] = [refusal("transaction_id"), transaction({ status_code: 111 }, 200)];
    const io = ioWith([list({ auth_amount: 1000 }), closed, list({ auth_amount: 1000 }), refunded]);
    assert.equal(codeOf(await fortis.lookUp!(traceOf(orderOf()), io)), "insufficient_funds");
    assert.equal(io.sent[3]?.body, '{"transaction_amount":1000}');
    const untold = ioWith([list({ reason_code_id: 1201, auth_amount: null }), closed, refunded]);
    assert.equal((await fortis.lookUp!(traceOf(orderOf()), untold)).outcome, "unknown");
    assert.equal(untold.sent.length, 2);
  });

  test("a check that is refused, or whose code does not match, stores nothing", async () => {
    for (const [answer, ours] of [
      [declinedAs(1616), "insufficient_funds"],
      [transaction({ ...CHECK, cvv_response: "N" }), "incorrect_cvc"],
      [refusal("exp_date"), "invalid_expiry"],
    ] as const) {
      const io = ioWith([answer]);
      const outcome = await fortis.tokenize(storing, io);
      assert.deepEqual([codeOf(outcome), outcome.outcome === "declined" && outcome.processor, io.sent.length], [ours, {}, 1]);
    }
  });

  test("a lost check is looked for and else made again under another id; a lost store is sent again", async () => {
    const found = ioWith([LOST, list(CHECK), LOST, token()]);
    assert.equal((await fortis.tokenize(storing, found)).outcome, "approved");
    assert.deepEqual(
      callsOf(found).map((call) => call.split("/").at(-1)),
      ["keyed", "transactions", "previous-transaction", "previous-transaction"],
    );
    const again = ioWith([LOST, list(), transaction(CHECK), token()]);
    assert.equal((await fortis.tokenize(storing, again)).outcome, "approved");
    assert.match(again.sent[2]!.body, new RegExp(`"transaction_api_id":"${REFERENCE}-2"`));
    assert.equal(codeOf(await fortis.tokenize(storing, ioWith([LOST]))), "gateway_unavailable");
    assert.equal(codeOf(await fortis.tokenize(storing, ioWith([transaction(CHECK), token({ active: false })]))), "gateway_unavailable");
  });
});

describe("fortis look-ups", () => {
  test("a sale is found by our id, whatever else the list shows; a refused twin does not hide it", async () => {
    const io = ioWith([list({ transaction_api_id: "other" }, { status_code: 301, reason_code_id: 1801 }, {})]);
    const found = await fortis.lookUp!(traceOf(orderOf()), io);
    assert.deepEqual(found.outcome === "approved" && found.processor, { fortis_transaction_id: ID });
    assert.equal(
      io.sent[0]?.request.url,
      "https://api.sandbox.fortis.tech/v1/transactions?filter_by%5B0%5D%5Bkey%5D=transaction_api_id" +
        `&filter_by%5B0%5D%5Boperator%5D=%3D&filter_by%5B0%5D%5Bvalue%5D=${REFERENCE}`,
    );
    assert.equal((await lookUp(list())).outcome, "absent");
    const paged = (total_count: number) =>
      lookUp(answered(200, { type: "TransactionsCollection", list: [], pagination: { type: "Pagination", total_count } }));
    assert.equal((await paged(0)).outcome, "absent");
    assert.equal((await paged(1)).outcome, "unknown", "none of what the vendor found");
    assert.equal((await lookUp(list({ transaction_api_id: "other" }))).outcome, "unknown", "the filter was ignored");
    assert.equal((await lookUp(list({}, { id: TOKEN }))).outcome, "unknown");
    assert.equal(codeOf(await lookUp(list({ status_code: 301, reason_code_id: 1616 }))), "insufficient_funds");
    assert.equal(codeOf(await lookUp(list({ status_code: 201 }))), "processing_error");
    for (const answer of [LOST, answered(412, { type: "Error" }), answered(200, {}), answered(500, { list: [] })])
      assert.equal((await lookUp(answer)).outcome, "unknown");
  });

  test("a twin that was refused as a duplicate says nothing of the sale: alone it is absent until absence is proof", async () => {
    const twin = { id: TOKEN, status_code: 301, reason_code_id: 1801, auth_amount: 0 };
    for (const reason_code_id of [1801, 1609]) assert.deepEqual(await lookUp(list({ ...twin, reason_code_id })), { outcome: "absent" });
    const io = ioWith([declinedAs(1801), list(twin), list(twin, {})]);
    assert.equal((await fortis.charge(orderOf(), io)).outcome, "approved");
    const never = ioWith([declinedAs(1801), list(twin)]);
    assert.equal((await fortis.charge(orderOf(), never)).outcome, "unknown");
    assert.equal(never.notes["refused_as"], "duplicate_transaction");
  });

  test("a sale is voided by its id, and refunded once its batch is closed", async () => {
    const refunded = transaction({ status_code: 111 }, 200);
    const io = ioWith([list({}), refusal("transaction_id"), list({}), refunded]);
    assert.equal((await fortis.void!(traceOf(orderOf()), io)).outcome, "voided");
    const look = "GET /v1/transactions";
    assert.deepEqual(callsOf(io), [look, `PUT /v1/transactions/${ID}/void`, look, `PATCH /v1/transactions/${ID}/refund`]);
    assert.equal(io.sent[3]?.body, '{"transaction_amount":4995}');
    // A void that arrived twice, and was refused for the first one: what is voided is not refunded.
    const twice = ioWith([list({}), refusal("transaction_id"), list({ status_code: 201 })]);
    assert.deepEqual([(await fortis.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], ["voided", 3]);
    assert.equal((await fortis.void!(traceOf(orderOf()), ioWith([list({}), LOST]))).outcome, "unknown");
    assert.equal((await fortis.void!(traceOf(orderOf()), ioWith([list()]))).outcome, "absent");
  });

  test("a refund without a clear answer is not sent again, one that was refused or never sent is (R-422)", async () => {
    const closed = refusal("transaction_id");
    const refunded = transaction({ status_code: 111 }, 200);
    const again = async (first: GatewayAnswer) => {
      const io = ioWith([list({}), closed, list({}), first]);
      assert.equal((await fortis.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([list({}), closed, list({}), refunded]);
      const { outcome } = await fortis.void!(traceOf(orderOf(), io.notes), later);
      return [outcome, callsOf(later).filter((call) => call.endsWith("/refund")).length];
    };
    const twins = [declinedAs(1801), declinedAs(1609)];
    for (const unclear of [LOST, answered(500, {}), declinedAs(1601, 500), transaction({ status_code: 102 }, 200), ...twins])
      assert.deepEqual(await again(unclear), ["unknown", 0], JSON.stringify(unclear));
    for (const refused of [closed, declinedAs(1601), { kind: "not sent", reason: "no connection" } as const])
      assert.deepEqual(await again(refused), ["voided", 1], JSON.stringify(refused));
    const part = ioWith([list({ auth_amount: 1000 }), closed, list({ auth_amount: 1000 }), LOST]);
    assert.equal((await fortis.lookUp!(traceOf(orderOf()), part)).outcome, "unknown");
    const later = ioWith([list({ auth_amount: 1000 }), closed, refunded]);
    assert.equal((await fortis.lookUp!(traceOf(orderOf(), part.notes), later)).outcome, "unknown");
    assert.equal(later.sent.length, 2);
  });

  test("a stored card is removed by the id that was noted", async () => {
    const io = ioWith([answered(204, "")]);
    assert.equal((await fortis.void!(traceOf(storing, { fortis_token_id: TOKEN }), io)).outcome, "voided");
    assert.deepEqual(callsOf(io), [`DELETE /v1/tokens/${TOKEN}`]);
    const perhapsStored = { outcome: "absent", mayBeStored: true };
    assert.deepEqual(await fortis.void!(traceOf(storing), io), perhapsStored);
    assert.equal((await fortis.void!(traceOf(storing, { token: TOKEN }), ioWith([LOST]))).outcome, "unknown");
    assert.deepEqual(await fortis.lookUp!(traceOf(storing), io), perhapsStored);
  });
});
