import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

type Fields = Record<string, string>;
const SALE: Fields = {
  security_key: "key",
  type: "sale",
  amount: "12.34",
  currency: "USD",
  ccnumber: "4111111111111111",
  ccexp: "1060",
  cvv: "999",
  zip: "77777",
};

async function send(page: "transact" | "query", fields: Fields, headers: Fields = {}): Promise<string> {
  const body = new URLSearchParams(fields);
  const answer = await fetch(`${simulators.url}/nmi/api/${page}.php`, { method: "POST", body, headers });
  assert.equal(answer.status, 200);
  return answer.text();
}
const transact = async (fields: Fields) => Object.fromEntries(new URLSearchParams(await send("transact", fields)));
const query = (fields: Fields) => send("query", { security_key: "key", ...fields });
let orders = 0;
const orderId = () => `order-${++orders}`;

describe("the NMI simulator keeps to what NMI does", () => {
  test("the vendor's triggers: small amounts decline, ZIP 77777 and code 999 match", async () => {
    const small = await transact({ ...SALE, amount: "0.99" });
    assert.deepEqual([small["response"], small["response_code"]], ["2", "200"]);
    const good = await transact({ ...SALE, amount: "20.01", address1: "888" });
    assert.deepEqual([good["response"], good["avsresponse"], good["cvvresponse"]], ["1", "Y", "M"]);
  });

  test("the same card and amount again is a duplicate whatever the order, unless the window is closed; a uniform card only with its own order", async () => {
    const amount = "30.01";
    assert.equal((await transact({ ...SALE, amount, orderid: orderId() }))["response"], "1");
    assert.match((await transact({ ...SALE, amount, orderid: orderId() }))["responsetext"] ?? "", /^Duplicate transaction REFID/);
    assert.equal((await transact({ ...SALE, amount, orderid: orderId(), dup_seconds: "0" }))["response"], "1");
    const uniform = { ...SALE, ccnumber: "4242424242424242", amount, orderid: orderId() };
    assert.equal((await transact(uniform))["response"], "1");
    assert.equal((await transact({ ...uniform, orderid: orderId() }))["response"], "1");
    assert.match((await transact(uniform))["responsetext"] ?? "", /^Duplicate/);
  });

  test("a void is possible once; a refused question is an error_response, an unknown order an empty report", async () => {
    const orderid = orderId();
    const { transactionid: id = "" } = await transact({ ...SALE, amount: "40.01", orderid });
    const voiding = { security_key: "key", type: "void", transactionid: id };
    assert.match((await transact({ ...voiding, type: "refund", amount: "40.01" }))["responsetext"] ?? "", /settled/);
    assert.equal((await transact(voiding))["responsetext"], "Transaction Void Successful");
    assert.match((await transact(voiding))["responsetext"] ?? "", /^Only transactions pending settlement can be voided REFID/);
    assert.match(await query({ order_id: orderid }), /<condition>canceled<\/condition>.*<action_type>void<\/action_type>/);
    assert.match(await query({ order_id: "none" }), /<nm_response><\/nm_response>/);
    assert.match(await query({ security_key: "wrong" }), /<error_response>Specified API key not found REFID:\d+<\/error_response>/);
  });

  test("after the batch has closed a payment is refunded, not voided", async () => {
    const orderid = orderId();
    const { transactionid: id = "" } = await transact({ ...SALE, amount: "41.01", orderid });
    const arm = (fault: object) =>
      fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "nmi", times: 1, ...fault }) });
    await arm({ kind: "settle", path: "/api/transact.php/void" });
    const voiding = { security_key: "key", type: "void", transactionid: id };
    assert.match((await transact(voiding))["responsetext"] ?? "", /^Only transactions pending settlement/);
    assert.match((await transact({ ...voiding, type: "refund", amount: "41.02" }))["responsetext"] ?? "", /balance/);
    assert.equal((await transact({ ...voiding, type: "refund", amount: "41.01" }))["response"], "1");
    const report = await query({ order_id: orderid });
    assert.match(report, /<condition>complete<\/condition>.*sale<.*settle<.*<amount>-41.01<\/amount><action_type>refund</);
  });

  test("a look-up does not find a payment as long as a lag was ordered", async () => {
    const orderid = orderId();
    await transact({ ...SALE, amount: "42.01", orderid });
    const fault = { gateway: "nmi", kind: "lookup_lag", times: 2, containing: orderid };
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
    const found = async () => (await query({ order_id: orderid })).includes("<transaction>");
    assert.deepEqual([await found(), await found(), await found()], [false, false, true]);
  });

  test("the vault: an id once, gone when deleted, and charged only with the marks of a stored card", async () => {
    const id = `vault-${orderId()}`;
    const validate = { ...SALE, type: "validate", amount: "0.00", customer_vault: "add_customer", customer_vault_id: id, dup_seconds: "0" };
    assert.equal((await transact(validate))["customer_vault_id"], id);
    assert.match((await transact(validate))["responsetext"] ?? "", /Customer Vault Id/);
    assert.match(await query({ report_type: "customer_vault", customer_vault_id: id }), new RegExp(`<customer_vault_id>${id}<`));
    const later = { security_key: "key", type: "sale", amount: "50.01", customer_vault_id: id };
    assert.equal((await transact(later))["response"], "3");
    assert.equal((await transact({ ...later, stored_credential_indicator: "used", initiated_by: "merchant" }))["response"], "1");
    const gone = { security_key: "key", customer_vault: "delete_customer", customer_vault_id: id };
    assert.equal((await transact(gone))["responsetext"], "Customer Deleted");
    assert.equal((await transact(gone))["response"], "3");
  });
});
