import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Sent } from "../kit/wrong-requests.ts";
import { check, later, post, query, referenceOf, SALE, sale, update } from "./wrong-requests.ts";

let simulators: Simulators;
let orders = 0;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

const send = (sent: Sent) => senderTo(simulators, "trustpayments")(sent);
const first = async (sent: Sent) => (await send(sent)).json.response[0];
const newOrder = () => `order-${++orders}`;
const settle = async () => {
  const fault = { gateway: "trustpayments", kind: "settle", times: 1 };
  await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
};

describe("the Trust Payments simulator keeps to what the Webservices API does", () => {
  test("the sheet's worked example is approved, in strings alone", async () => {
    assert.equal(basicOf("webservices@merchant.com", "Passw0rd1^"), "Basic d2Vic2VydmljZXNAbWVyY2hhbnQuY29tOlBhc3N3MHJkMV4=");
    const { status, json } = await send(sale());
    const [answer] = json.response;
    assert.deepEqual(
      [status, json.version, json.secrand, answer.errorcode, answer.settlestatus, answer.livestatus],
      [200, "1.00", "T", "0", "0", "0"],
    );
    assert.deepEqual([answer.maskedpan, answer.baseamount, answer.orderreference], ["411111######1111", "2500", SALE.orderreference]);
    assert.deepEqual(
      [answer.securityresponsesecuritycode, answer.securityresponseaddress, answer.securityresponsepostcode],
      ["2", "0", "2"],
    );
    assert.match(answer.transactionreference as string, /^57-9-\d{6}$/);
    assert.ok(Object.values(answer as object).every((value) => typeof value === "string"));
  });

  test("a decline has a reference, the acquirer's code and DECLINED where the approval code stands", async () => {
    const { errorcode, errormessage, acquirerresponsecode, authcode, settlestatus, transactionreference } = await first(
      sale({ pan: "4000000000009995" }),
    );
    assert.deepEqual([errorcode, errormessage, acquirerresponsecode, authcode, settlestatus], ["70000", "Decline", "51", "DECLINED", "3"]);
    assert.match(transactionreference as string, /^57-9-/);
  });

  test("a repeated order reference is charged again, and a query finds both with their own codes", async () => {
    const orderreference = newOrder();
    await send(sale({ orderreference }));
    await send(sale({ orderreference, pan: "4000000000009987" }));
    const { errorcode, found, records } = await first(query(orderreference));
    assert.deepEqual([errorcode, found, records.length], ["0", "2", 2]);
    const codes = records.map((record: { errorcode: string; settlestatus: string }) => [record.errorcode, record.settlestatus]);
    assert.deepEqual(codes, [
      ["70000", "3"],
      ["0", "0"],
    ]);
    const nothing = await first(query(newOrder()));
    assert.deepEqual([nothing.errorcode, nothing.found, nothing.records], ["0", "0", []]);
  });

  test("a payment whose code or postal code does not match is approved and suspended; it settles or is cancelled by an update", async () => {
    for (const more of [{ securitycode: "214" }, { billingpostcode: "TR12 3ST" }, { settlestatus: "2" }]) {
      const answer = await first(sale(more));
      assert.deepEqual([answer.errorcode, answer.settlestatus], ["0", "2"]);
      assert.equal((await first(update(answer.transactionreference, "3"))).errorcode, "0");
      assert.equal((await first(update(answer.transactionreference, "0"))).errorcode, "60017");
    }
    const orderreference = newOrder();
    const released = await referenceOf(send, sale({ orderreference, settlestatus: "2" }));
    assert.equal((await first(update(released, "0"))).errorcode, "0");
    assert.equal((await first(query(orderreference))).records[0].settlestatus, "0");
    await settle();
    assert.equal((await first(query(orderreference))).records[0].settlestatus, "100");
    assert.equal((await first(update(released, "3"))).errorcode, "60017");
  });

  test("an account check of a wrong code is errorcode 0 all the same, and its reference cannot be charged", async () => {
    for (const more of [{ pan: "4000000000000127" }, { securitycode: "214" }]) {
      const answer = await first(check(more));
      assert.deepEqual([answer.errorcode, answer.securityresponsesecuritycode], ["0", "4"]);
      const refused = await first(later(answer.transactionreference as string));
      assert.deepEqual([refused.errorcode, refused.errordata], ["30000", ["parenttransactionreference"]]);
    }
  });

  test("a checked card, or one of a payment that stored it, is charged by its reference without number and code", async () => {
    for (const sent of [check(), sale({ credentialsonfile: "1" })]) {
      const answer = await first(later(await referenceOf(send, sent)));
      assert.deepEqual([answer.errorcode, answer.maskedpan, answer.securityresponsesecuritycode], ["0", "411111######1111", "0"]);
    }
    const { errorcode } = await first(later(await referenceOf(send, sale())));
    assert.equal(errorcode, "30000");
  });

  test("a refund goes against a payment that is due today, in parts up to the whole", async () => {
    const parenttransactionreference = await referenceOf(send, sale());
    const refund = (baseamount: string) =>
      first(post("REFUND", { sitereference: SALE.sitereference, parenttransactionreference, baseamount }));
    assert.deepEqual(
      [(await refund("1000")).errorcode, (await refund("1500")).errorcode, (await refund("1")).errorcode],
      ["0", "0", "20005"],
    );
  });
});
