import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { shortReference } from "../kit/text.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const nmi = GATEWAYS_BUILT.nmi!;
const settings = settingsOf(nmi, { credentials: { security_key: new Secret(" 6457Thfj\n") } });
const ORDER = shortReference(orderOf().reference, 24);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

type Fields = Record<string, string>;
const APPROVED: Fields = {
  response: "1",
  responsetext: "SUCCESS",
  authcode: "123456",
  transactionid: "2762757839",
  avsresponse: "Z",
  cvvresponse: "M",
  orderid: ORDER,
  type: "sale",
  response_code: "100",
};
const STORED: Fields = { ...APPROVED, authcode: "", type: "validate", customer_vault_id: ORDER };

/** Values as the vendor writes them: blanks and all. */
function form(fields: Fields): GatewayAnswer {
  const text = Object.entries(fields).map((pair) => pair.join("="));
  return answered(200, text.join("&"));
}
const error = (code: string, text: string) =>
  form({ ...APPROVED, response: "3", responsetext: `${text} REFID:3162207528`, transactionid: "", response_code: code });
const refusal = (code: string, text = "DECLINE") => form({ ...APPROVED, response: "2", responsetext: text, response_code: code });

const xml = (inside: string) => answered(200, `<?xml version="1.0" encoding="UTF-8"?>\n<nm_response>${inside}</nm_response>`);
const NOTHING = xml(" ");

function transaction(parts: Fields = {}, action: Fields = {}, more = ""): string {
  const tags = (fields: Fields) =>
    Object.entries(fields)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("");
  const sale = { amount: "49.95", action_type: "sale", success: "1", response_text: "SUCCESS", response_code: "100", ...action };
  const head = {
    transaction_id: "2762757839",
    condition: "pendingsettlement",
    order_id: ORDER,
    authorization_code: "123456",
    avs_response: "Z",
    csc_response: "M",
    ...parts,
  };
  return `<transaction>${tags(head)}<action>${tags(sale)}</action>${more}</transaction>`;
}
const RECORD = `<customer_vault><customer id="${ORDER}"><customer_vault_id>${ORDER}</customer_vault_id></customer></customer_vault>`;

/** An io whose answers are given in turn; the last one goes on. */
function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settings, ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => nmi.charge(orderOf(), ioWith(answers));
const tokenize = (...answers: GatewayAnswer[]): Promise<Outcome> =>
  nmi.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), ioWith(answers));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("nmi requests", () => {
  test("a sale is one form, field by field as the sheet has it, and the key loses its stray blanks", async () => {
    const io = ioWith([form(APPROVED)]);
    const card = cardOf("4111111111111111", { year: "2030", month: "10", cvv: "999", zip: "77777", name: "Ada King Lovelace" });
    await nmi.charge(orderOf({ card, description: "Invoice #42 für Zoë\u2028" }), io);
    assert.equal(io.sent[0]?.request.url, "https://sandbox.nmi.com/api/transact.php");
    assert.equal(io.sent[0]?.request.headers["Content-Type"], "application/x-www-form-urlencoded;charset=UTF-8");
    assert.equal(
      io.sent[0]?.body,
      "security_key=6457Thfj&type=sale&payment=creditcard&amount=49.95&currency=USD&ccnumber=4111111111111111&ccexp=1030&cvv=999" +
        `&first_name=Ada%20King&last_name=Lovelace&zip=77777&orderid=${ORDER}&order_description=Invoice%20%2342%20fur%20Zoe` +
        "&industry=moto&dup_seconds=300",
    );
  });

  test("a missing code, name and ZIP are left out; the widget says so and sends an IPv4 address only; industry can be turned off", async () => {
    const card = () => cardOf("4111111111111111", { cvv: "", zip: null });
    const widget: Partial<Order> = { channel: "widget", customerIp: "203.0.113.9", description: null };
    const io = ioWith([form(APPROVED)]);
    await nmi.charge(orderOf({ ...widget, card: card() }), io);
    await nmi.charge(orderOf({ ...widget, customerIp: "2001:db8::1", card: card() }), io);
    const off = ioWith([form(APPROVED)], { options: { industry: false } });
    await nmi.charge(orderOf({ card: card() }), off);
    assert.ok(
      io.sent.every(({ body }) => !/cvv|first_name|last_name|zip|order_description/.test(body) && body.includes("industry=ecommerce")),
    );
    assert.deepEqual(
      io.sent.map(({ body }) => /ipaddress=[^&]*/.exec(body)?.[0]),
      ["ipaddress=203.0.113.9", undefined],
    );
    assert.ok(!off.sent[0]?.body.includes("industry"));
  });

  test("amounts have two places in every currency; a third place that matters is never sent", async () => {
    for (const [currency, amountMinor, sent] of [
      ["USD", 5, "0.05"],
      ["JPY", 500, "500.00"],
      ["BHD", 1230, "1.23"],
    ] as const) {
      const io = ioWith([form(APPROVED)]);
      assert.equal((await nmi.charge(orderOf({ currency, amountMinor }), io)).outcome, "approved");
      assert.match(io.sent[0]?.body ?? "", new RegExp(`&amount=${sent}&currency=${currency}&`));
    }
    const io = ioWith([form(APPROVED)]);
    assert.equal(codeOf(await nmi.charge(orderOf({ currency: "BHD", amountMinor: 1234 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
  });

  test("storing a card is one validation that also fills the vault, under an id of ours", async () => {
    const io = ioWith([form(STORED)]);
    const outcome = await nmi.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
      nmi_transaction_id: "2762757839",
      nmi_customer_vault_id: ORDER,
    });
    assert.match(io.sent[0]?.body ?? "", /&type=validate&payment=creditcard&amount=0\.00&ccnumber=/);
    assert.match(io.sent[0]?.body ?? "", new RegExp(`&customer_vault=add_customer&customer_vault_id=${ORDER}&orderid=${ORDER}&`));
    assert.match(io.sent[0]?.body ?? "", /&initiated_by=customer&stored_credential_indicator=stored$/);
  });

  test("a processor that cannot validate gets the card into the vault unasked, without its code", async () => {
    for (const cannot of [error("460", "Processor feature not available"), error("300", "Transaction type not supported by processor")]) {
      const added = form({
        response: "1",
        responsetext: "Customer Added",
        transactionid: "",
        response_code: "100",
        customer_vault_id: ORDER,
      });
      const io = ioWith([cannot, added]);
      const outcome = await nmi.tokenize(orderOf({ mode: "tokenize" }), io);
      assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { nmi_customer_vault_id: ORDER });
      assert.ok(!/type=|cvv=/.test(io.sent[1]?.body ?? "type="));
    }
  });

  test("a reseller's host replaces the vendor's, an endpoint replaces both; settings that cannot work are named", async () => {
    const credentials = { security_key: new Secret("k"), base_url: new Secret("https://reseller.transactiongateway.com/") };
    const io = ioWith([form(APPROVED)], { credentials });
    await nmi.charge(orderOf(), io);
    assert.equal(io.sent[0]?.request.url, "https://reseller.transactiongateway.com/api/transact.php");
    const simulated = ioWith([form(APPROVED)], { credentials, endpoint: "http://127.0.0.1:1/nmi" });
    await nmi.charge(orderOf(), simulated);
    assert.equal(simulated.sent[0]?.request.url, "http://127.0.0.1:1/nmi/api/transact.php");
    const fault = (given: Record<string, Secret>) => nmi.checkSettings({ ...settings, credentials: given });
    assert.equal(fault(credentials), null);
    assert.match(fault({}) ?? "", /security_key/);
    assert.match(fault({ security_key: new Secret("two words") }) ?? "", /security_key/);
    for (const url of ["http://reseller.example", "https://reseller.example/api", "https://a@reseller.example", "reseller"])
      assert.match(fault({ ...credentials, base_url: new Secret(url) }) ?? "", /base_url/, url);
  });
});

/** The sheet's section 6, row by row. */
const MAPPING: readonly (readonly [ours: string, codes: string])[] = [
  ["card_declined", "200 226 260 261 262 263 264 299"],
  ["do_not_honor", "201 240"],
  ["insufficient_funds", "202"],
  ["limit_exceeded", "203"],
  ["card_not_supported", "204"],
  ["incorrect_number", "220 221 222"],
  ["expired_card", "223"],
  ["invalid_expiry", "224"],
  ["incorrect_cvc", "225"],
  ["lost_or_stolen", "250 251 252"],
  ["fraud_suspected", "253"],
];
const ERRORS: readonly (readonly [code: string, text: string, ours: string])[] = [
  ["300", "Invalid Credit Card Number", "incorrect_number"],
  ["300", "The ccnumber field is required", "incorrect_number"],
  ["300", "The expiration date has expired", "invalid_expiry"],
  ["300", "CVV must be 3 or 4 digits", "incorrect_cvc"],
  ["300", "Invalid security code", "incorrect_cvc"],
  ["300", "AVS REJECTED", "incorrect_zip"],
  ["300", "We do not accept this Card Type", "card_not_supported"],
  ["300", "Authentication Failed", "gateway_credentials_invalid"],
  ["300", "Specified API key not found", "gateway_credentials_invalid"],
  ["300", "Authenticated user is invalid", "gateway_credentials_invalid"],
  ["300", "Sandbox accounts must use a sandbox domain", "gateway_misconfigured"],
  ["300", "This merchant is not set up to use the Customer Vault", "gateway_misconfigured"],
  ["300", "Invalid processor", "gateway_misconfigured"],
  ["300", "Currency not enabled", "gateway_misconfigured"],
  ["300", "Activity limit exceeded", "fraud_suspected"],
  ["300", "Something else", "processing_error"],
  ["301", "Rate limit exceeded", "gateway_unavailable"],
  ["410", "Invalid merchant configuration", "gateway_misconfigured"],
  ["411", "Merchant account is inactive", "gateway_misconfigured"],
  ["441", "Invalid transaction information", "processing_error"],
  ["460", "Requested feature not available", "gateway_misconfigured"],
  ["461", "Unsupported card type", "card_not_supported"],
];

describe("nmi responses", () => {
  test("an approval fills the named fields, and the webhook's own names besides (R-345)", async () => {
    assert.deepEqual(await charge(form(APPROVED)), {
      outcome: "approved",
      capture: "captured",
      processor: { nmi_transaction_id: "2762757839" },
      webhookProcessor: { auth_code: "123456", response_code: "100", avs_result_code: "Z", cvv_result_code: "M" },
    });
    const uuid = "8a1c7f5e-0b1d-4c7a-8e21-5d0f7b6a1c22";
    const outcome = await charge(form({ ...APPROVED, transactionid: uuid, kount_score: "", type: "" }));
    assert.equal(outcome.outcome === "approved" && outcome.processor["nmi_transaction_id"], uuid);
  });

  for (const [ours, codes] of MAPPING) {
    test(`${ours}: every decline code of the sheet (R-417)`, async () => {
      for (const code of codes.split(" ")) assert.equal(codeOf(await charge(refusal(code))), ours, code);
    });
  }
  for (const [code, text, ours] of ERRORS) {
    test(`error ${code} "${text}" is ${ours} (R-417)`, async () => {
      const outcome = await charge(error(code, text));
      assert.equal(codeOf(outcome), ours);
      assert.ok(!JSON.stringify(outcome).includes("REFID"));
    });
  }

  test("a merchant's own rule that declines with 200 is known by its words", async () => {
    assert.equal(codeOf(await charge(refusal("200", "CVV mismatch"))), "incorrect_cvc");
    assert.equal(codeOf(await charge(refusal("200", "AVS no match"))), "incorrect_zip");
  });

  test("a decline keeps its transaction's id and the vendor's words without long digit runs (R-423)", async () => {
    const outcome = await charge(refusal("202", "Insufficient funds 4242424242424242"));
    assert.deepEqual(outcome, {
      outcome: "declined",
      code: "insufficient_funds",
      message: "Insufficient funds",
      processor: { nmi_transaction_id: "2762757839" },
    });
  });

  test("errors that leave it open what the processor did are unknown; nothing is charged at 429 or when nothing was sent", async () => {
    for (const code of ["400", "420", "421", "430", "440", "0", "999"])
      assert.equal((await charge(error(code, "x"))).outcome, "unknown", code);
    assert.equal((await charge(LOST)).outcome, "unknown");
    for (const nothing of [answered(429, "<html>"), { kind: "not sent", reason: "refused" } as const])
      assert.equal(codeOf(await charge(nothing)), "gateway_unavailable");
  });

  test("what an error that leaves it open meant is kept for when nothing was made (R-417)", async () => {
    for (const [code, refused_as] of [
      ["400", "processing_error"],
      ["420", "gateway_unavailable"],
      ["421", "gateway_unavailable"],
      ["430", "processing_error"],
      ["440", "processing_error"],
    ] as const) {
      const io = ioWith([error(code, "x")]);
      assert.equal((await nmi.charge(orderOf(), io)).outcome, "unknown", code);
      assert.deepEqual(io.notes, { refused_as }, code);
      const storing = ioWith([error(code, "x")]);
      await nmi.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), storing);
      assert.deepEqual(storing.notes, { refused_as }, code);
    }
  });

  test("a duplicate is looked up, and again while the report lags behind: neither it nor an early absence is final", async () => {
    const duplicate = error("300", "Duplicate transaction");
    const first = await charge(form(APPROVED));
    assert.deepEqual(await charge(duplicate, xml(transaction())), first);
    const io = ioWith([duplicate, NOTHING, LOST, xml(transaction({ condition: "in_progress" })), xml(transaction())]);
    assert.deepEqual(await nmi.charge(orderOf(), io), first);
    assert.equal(io.clock.monotonic(), 2_000 + 5_000 + 15_000);
    const never = ioWith([duplicate, NOTHING]);
    assert.equal((await nmi.charge(orderOf(), never)).outcome, "unknown");
    assert.equal(never.clock.monotonic(), 2_000 + 5_000 + 15_000 + 30_000);
    assert.deepEqual(never.notes, { refused_as: "duplicate_transaction" });
    const record = error("300", "Duplicate Customer Vault Id");
    const validated = transaction({ condition: "complete", authorization_code: "" }, { action_type: "validate", amount: "0.00" });
    assert.deepEqual(await tokenize(record, xml(validated), xml(RECORD)), await tokenize(form(STORED)));
  });

  test("a part that was authorized is voided; without the void it is unknown", async () => {
    const partial = form({ ...APPROVED, amount_authorized: "20.00" });
    const voided = form({ ...APPROVED, responsetext: "Transaction Void Successful", type: "void" });
    assert.equal(codeOf(await charge(partial, voided)), "insufficient_funds");
    assert.equal((await charge(partial, LOST)).outcome, "unknown");
    assert.equal((await charge(form({ ...APPROVED, amount_authorized: "49.95" }))).outcome, "approved");
  });
});

describe("nmi look-up and void", () => {
  const lookUp = (...answers: GatewayAnswer[]) => nmi.lookUp!(traceOf(orderOf()), ioWith(answers));
  const lookUpStored = (...answers: GatewayAnswer[]) => nmi.lookUp!(traceOf(orderOf({ mode: "tokenize" })), ioWith(answers));

  test("asks by order id; the key is in the body and never in the address", async () => {
    const io = ioWith([NOTHING]);
    assert.deepEqual(await nmi.lookUp!(traceOf(orderOf()), io), { outcome: "absent" });
    assert.equal(io.sent[0]?.request.url, "https://sandbox.nmi.com/api/query.php");
    assert.equal(io.sent[0]?.body, `security_key=6457Thfj&order_id=${ORDER}`);
  });

  test("decides by the sale, whatever other actions and transactions stand beside it", async () => {
    const settle = "<action><amount>49.95</amount><action_type>settle</action_type><success>1</success></action>";
    const refund = transaction({ transaction_id: "9", condition: "complete" }, { action_type: "refund", amount: "-9.95" });
    const other = transaction({ order_id: "another" });
    const found = await lookUp(xml(other + transaction({ condition: "complete" }, {}, settle) + refund));
    assert.deepEqual(found, await charge(form(APPROVED)));
    assert.equal((await lookUp(xml(transaction() + transaction({ transaction_id: "2" })))).outcome, "unknown");
    const refusedTwin = transaction(
      { transaction_id: "2", condition: "failed" },
      { success: "0", response_code: "300", response_text: "Duplicate" },
    );
    assert.deepEqual(await lookUp(xml(transaction() + refusedTwin)), found);
    for (const report of [other, other + refusedTwin, other + transaction({ condition: "failed" }, { success: "0", response_code: "202" })])
      assert.equal((await lookUp(xml(report))).outcome, "unknown");
    assert.equal((await lookUp(xml(refund))).outcome, "unknown");
    const currencies = transaction({ condition: "complete" }).replace(
      "</transaction>",
      "<currency>USD</currency><currency>EUR</currency></transaction>",
    );
    assert.equal((await lookUp(xml(currencies))).outcome, "unknown");
  });

  test("a refund of the whole beside the sale, or as an action of it, is a payment that was sent back: nothing is sent again (R-422)", async () => {
    const settled = (...actions: string[]) => transaction({ condition: "complete" }, {}, actions.join(""));
    const action = (amount: string, success = "1") =>
      `<action><amount>${amount}</amount><action_type>refund</action_type><success>${success}</success></action>`;
    const beside = transaction({ transaction_id: "9", condition: "complete" }, { action_type: "refund", amount: "-49.95" });
    for (const report of [settled(action("-49.95")), settled(action("49.95")), settled() + beside])
      assert.partialDeepStrictEqual(await lookUp(xml(report)), { outcome: "declined", code: "processing_error" });
    const cancelled = ["canceled", "failed"].map((condition) =>
      transaction({ transaction_id: "9", condition }, { action_type: "refund", amount: "-49.95" }),
    );
    for (const report of [settled(action("-49.95", "0")), settled(action("-9.95")), ...cancelled.map((one) => settled() + one)])
      assert.equal((await lookUp(xml(report))).outcome, "approved");
  });

  test("a refused duplicate in the report is no refusal of the payment: alone it is absent until absence is proof", async () => {
    const twin = transaction(
      { transaction_id: "", condition: "failed" },
      { success: "0", response_code: "300", response_text: "Duplicate transaction REFID:1206192251" },
    );
    assert.deepEqual(await lookUp(xml(twin)), { outcome: "absent" });
    const io = ioWith([error("300", "Duplicate transaction"), xml(twin), xml(twin + transaction())]);
    assert.equal((await nmi.charge(orderOf(), io)).outcome, "approved");
  });

  test("so is one that the processor refused as a duplicate (430): its code is the payment's once absence is proof", async () => {
    const twin = transaction(
      { transaction_id: "2", condition: "failed" },
      { success: "0", response_code: "430", response_text: "Duplicate" },
    );
    assert.deepEqual(await lookUp(xml(twin)), { outcome: "absent" });
    assert.deepEqual(await lookUp(xml(twin + transaction())), await charge(form(APPROVED)));
  });

  test("a failed payment with code 300 is told by its words, as in the answer itself", async () => {
    const failed = (text: string) => xml(transaction({ condition: "failed" }, { success: "0", response_code: "300", response_text: text }));
    assert.equal(codeOf(await lookUp(failed("Invalid Credit Card Number REFID:1"))), "incorrect_number");
    assert.equal(codeOf(await lookUp(failed("Something else"))), "processing_error");
  });

  const CONDITIONS: readonly (readonly [condition: string, action: Fields, result: string])[] = [
    ["failed", { success: "0", response_code: "202", response_text: "Insufficient funds" }, "insufficient_funds"],
    ["failed", { success: "0", response_code: "400" }, "processing_error"],
    ["failed", {}, "unknown"],
    ["canceled", {}, "processing_error"],
    ["in_progress", {}, "pending"],
    ["unknown", {}, "pending"],
    ["pending", {}, "unknown"],
    ["abandoned", {}, "unknown"],
    ["complete", { success: "0" }, "unknown"],
    ["complete", { amount: "49.94" }, "unknown"],
    ["complete", { response_code: "200" }, "unknown"],
  ];
  for (const [condition, action, result] of CONDITIONS) {
    test(`condition ${condition} with ${JSON.stringify(action)} is ${result}`, async () => {
      assert.equal(codeOf(await lookUp(xml(transaction({ condition }, action)))), result);
    });
  }

  test("a refused question, another document and another currency are unknown, never absent", async () => {
    for (const answer of [
      xml("<error_response>Specified API key not found REFID:1</error_response>"),
      answered(200, "<html></html>"),
      answered(200, ""),
      answered(500, "<nm_response></nm_response>"),
      answered(200, "<nm_response>"),
      answered(200, '<!DOCTYPE x [<!ENTITY e "1">]><nm_response></nm_response>'),
      xml(transaction({ currency: "EUR" })),
    ])
      assert.equal((await lookUp(answer)).outcome, "unknown");
  });

  test("a stored card is what the vault holds", async () => {
    const validated = xml(transaction({ condition: "complete" }, { action_type: "validate", amount: "0.00" }));
    const refused = xml(
      transaction({ condition: "failed" }, { action_type: "validate", amount: "0.00", success: "0", response_code: "223" }),
    );
    assert.equal((await lookUpStored(validated, xml(RECORD))).outcome, "approved");
    assert.equal((await lookUpStored(NOTHING, xml(RECORD))).outcome, "approved");
    assert.equal(codeOf(await lookUpStored(refused)), "expired_card");
    assert.equal(codeOf(await lookUpStored(validated, NOTHING)), "gateway_misconfigured");
    const unsupported = { action_type: "validate", amount: "0.00", success: "0", response_code: "460" };
    const stored = await lookUpStored(xml(transaction({ condition: "failed" }, unsupported)), xml(RECORD));
    assert.deepEqual(stored.outcome === "approved" && stored.processor, { nmi_customer_vault_id: ORDER });
    assert.equal((await lookUpStored(refused, LOST)).outcome, "unknown");
    assert.equal((await lookUpStored(NOTHING, NOTHING)).outcome, "absent");
    assert.equal((await lookUpStored(NOTHING, LOST)).outcome, "unknown");
  });

  test("a validation that the processor could not make is no refusal of the card that was then stored unasked", async () => {
    const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
    const io = ioWith([error("460", "not supported"), LOST]);
    assert.equal((await nmi.tokenize(storing, io)).outcome, "unknown");
    const failed = xml(transaction({ condition: "failed" }, { action_type: "validate", success: "0", response_code: "460" }));
    const found = (...answers: GatewayAnswer[]) => nmi.lookUp!(traceOf(storing, io.notes), ioWith(answers));
    assert.deepEqual(await found(failed, NOTHING), { outcome: "absent" });
    assert.equal((await found(failed, xml(RECORD))).outcome, "approved");
    assert.equal(codeOf(await nmi.lookUp!(traceOf(storing), ioWith([failed, NOTHING]))), "gateway_misconfigured");
  });

  test("a void that comes after settlement becomes a refund", async () => {
    const settled = error("300", "Only transactions pending settlement can be voided");
    const complete = xml(transaction({ condition: "complete" }));
    const io = ioWith([complete, settled, complete, form({ ...APPROVED, type: "refund" })]);
    assert.deepEqual(await nmi.void!(traceOf(orderOf()), io), { outcome: "voided" });
    assert.match(io.sent[1]?.body ?? "", /&type=void&transactionid=2762757839$/);
    assert.match(io.sent[3]?.body ?? "", /&type=refund&transactionid=2762757839&amount=49\.95$/);
    const lost = await nmi.void!(traceOf(orderOf()), ioWith([xml(transaction()), LOST]));
    assert.equal(lost.outcome, "unknown");
    // A void that arrived twice, and was refused for the first one: what is voided is not refunded.
    const twice = ioWith([xml(transaction()), settled, xml(transaction({ condition: "canceled" }))]);
    assert.deepEqual([(await nmi.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], ["voided", 3]);
  });

  test("a refund whose answer was lost is not sent again while no report shows it: NMI does not say that it would refuse the second (R-422)", async () => {
    const settled = error("300", "Only transactions pending settlement can be voided");
    const complete = xml(transaction({ condition: "complete" }));
    const io = ioWith([complete, settled, complete, LOST]);
    assert.equal((await nmi.void!(traceOf(orderOf()), io)).outcome, "unknown");
    const later = ioWith([xml(transaction({ condition: "complete" })), settled, form({ ...APPROVED, type: "refund" })]);
    assert.equal((await nmi.void!(traceOf(orderOf(), io.notes), later)).outcome, "unknown");
    assert.equal(later.sent.length, 2);
  });
});

describe("nmi never takes an odd answer for a success (R-422)", () => {
  const ODD: readonly (readonly [name: string, answer: GatewayAnswer])[] = [
    ["HTML", answered(200, "<html>response=1&response_code=100</html>")],
    ["JSON", answered(200, APPROVED)],
    ["an empty body", answered(200, "")],
    ["a field twice", answered(200, "response=2&response=1&response_code=100&transactionid=1")],
    ["an approval of another order", form({ ...APPROVED, orderid: "another" })],
    ["an approval without a transaction", form({ ...APPROVED, transactionid: "" })],
    ["an approval of another kind", form({ ...APPROVED, type: "auth" })],
    ["a decline with code 100", refusal("100")],
    ["another status than 200", { ...form(APPROVED), status: 201 } as GatewayAnswer],
    ["invalid UTF-8", { kind: "answered", status: 200, headers: {}, body: Buffer.from([0x72, 0xff]) }],
  ];
  for (const [name, answer] of ODD) {
    test(`${name} is unknown`, async () => {
      assert.equal((await charge(answer)).outcome, "unknown");
    });
  }

  test("a validation without the record asked for is unknown", async () => {
    assert.equal((await tokenize(form({ ...STORED, customer_vault_id: "" }))).outcome, "unknown");
    assert.equal((await tokenize(form(APPROVED))).outcome, "unknown");
  });

  test("any deciding field replaced by anything else, and any bytes with any status, are never approved", async () => {
    const changed = fc.asyncProperty(fc.constantFrom("response", "response_code", "transactionid"), fc.string(), async (name, value) => {
      fc.pre(encodeURIComponent(value.toWellFormed()) !== value || !/^[A-Za-z0-9-]*$/.test(value));
      const fields = { ...APPROVED, [name]: encodeURIComponent(value.toWellFormed()) };
      assert.notEqual((await charge(form(fields))).outcome, "approved");
    });
    await fc.assert(changed, { numRuns: 200 });
    const bytes = fc.asyncProperty(fc.integer({ min: 100, max: 599 }), fc.uint8Array({ maxLength: 200 }), async (status, body) => {
      const answer: GatewayAnswer = { kind: "answered", status, headers: {}, body };
      for (const mode of ["charge", "tokenize"] as const) {
        assert.notEqual((await nmi[mode](orderOf({ mode }), ioWith([answer]))).outcome, "approved");
        assert.ok(!["approved", "absent"].includes((await nmi.lookUp!(traceOf(orderOf({ mode })), ioWith([answer]))).outcome));
      }
    });
    await fc.assert(bytes, { numRuns: 200 });
  });
});
