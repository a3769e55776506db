import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send, Sent } from "../kit/wrong-requests.ts";
import { following, membersOf, sale } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "payflow");
});
after(() => simulators.close());

const membersFor = async (sent: Sent | Promise<Sent>) => membersOf(await send(await sent));
const settle = () => fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "payflow", kind: "settle" }) });

describe("the Payflow simulator keeps to what Payflow does", () => {
  test("the sheet's worked example is approved: a tagged value may hold & and =", async () => {
    const body =
      "TRXTYPE[1]=S&TENDER[1]=C&PARTNER[6]=PayPal&VENDOR[12]=acmemerchant&USER[7]=apiuser&PWD[10]=p&ss=word1&ACCT[16]=4111111111111111&EXPDATE[4]=0960&CVV2[3]=123&AMT[5]=25.00&CURRENCY[3]=USD&BILLTOFIRSTNAME[4]=Jane&BILLTOLASTNAME[12]=Smith & Sons&BILLTOZIP[5]=48375&CUSTREF[12]=4f0c6f0e8d3b&INVNUM[7]=INV1001&COMMENT1[12]=Invoice 1001&VERBOSITY[4]=HIGH";
    const answer = await membersFor({ at: "POST /", headers: { "X-VPS-REQUEST-ID": "example" }, body, format: "nameValue" });
    assert.deepEqual([answer["RESULT"], answer["RESPMSG"], answer["ACCT"], answer["CARDTYPE"]], ["0", "Approved", "1111", "0"]);
  });

  test("a request id is replayed whatever comes with it, errors too; an order id is told apart", async () => {
    const first = sale();
    const { PNREF } = await membersFor(first);
    const again = await membersFor({ ...sale({ AMT: "99.00" }), headers: first.headers ?? {} });
    assert.deepEqual([again["PNREF"], again["DUPLICATE"], again["AMT"]], [PNREF, "1", "25.00"]);
    const wrong = sale({ EXPDATE: "1360" });
    await send(wrong);
    const { headers = {} } = wrong;
    assert.deepEqual([(await membersFor({ ...sale(), headers }))["RESULT"]], ["24"]);
    const { PNREF: ordered } = await membersFor(sale({ ORDERID: "o-1" }));
    const repeated = await membersFor(sale({ ORDERID: "o-1" }));
    assert.deepEqual([repeated["PNREF"], repeated["DUPLICATE"]], [ordered, "2"]);
  });

  test("street, ZIP and code are checked by the vendor's triggers", async () => {
    const checks = async (more: Record<string, string>) => {
      const { AVSADDR, AVSZIP, CVV2MATCH } = await membersFor(sale(more));
      return [AVSADDR, AVSZIP, CVV2MATCH];
    };
    assert.deepEqual(await checks({ BILLTOSTREET: "123 Main", BILLTOZIP: "48375", CVV2: "123" }), ["Y", "Y", "Y"]);
    assert.deepEqual(await checks({ BILLTOSTREET: "444 Main", BILLTOZIP: "94402", CVV2: "400" }), ["N", "N", "N"]);
    assert.deepEqual(await checks({ BILLTOSTREET: "Main", CVV2: "000" }), ["X", "X", undefined]);
  });

  test("the code does not change what a test card is refused for", async () => {
    const refused = async (ACCT: string) => {
      const { RESULT, CVV2MATCH } = await membersFor(sale({ ACCT, CVV2: "456" }));
      return [RESULT, CVV2MATCH];
    };
    assert.deepEqual(await refused("4000000000000002"), ["12", "Y"]);
    assert.deepEqual(await refused("4000000000000069"), ["12", "Y"]);
    assert.deepEqual(await refused("4000000000000127"), ["114", "N"]);
  });

  test("an expired card is told by the processor's text alone", async () => {
    const expired = await membersFor(sale({ ACCT: "4000000000000069" }));
    assert.deepEqual([expired["RESULT"], expired["RESPTEXT"]], ["12", "EXPIRED CARD"]);
  });

  test("an inquiry tells what became of the latest payment with its reference", async () => {
    await send(sale({ CUSTREF: "ref1", ACCT: "4000000000009995" }));
    const inquiry = () =>
      following(send, "I", { CUSTREF: "ref1" }).then(({ body, ...rest }) => ({ ...rest, body: { ...(body as Record<string, string>) } }));
    const ask = async () => {
      const sent = await inquiry();
      delete (sent.body as Record<string, string | undefined>)["ORIGID"];
      return membersFor(sent);
    };
    assert.deepEqual([(await ask())["RESULT"], (await ask())["ORIGRESULT"], (await ask())["TRANSSTATE"]], ["0", "50", "1"]);
    await send(sale({ CUSTREF: "ref1" }));
    assert.deepEqual([(await ask())["ORIGRESULT"], (await ask())["TRANSSTATE"]], ["0", "6"]);
    await settle();
    assert.equal((await ask())["TRANSSTATE"], "8");
  });

  test("a payment is voided before the batch closes and credited after", async () => {
    const original = sale();
    const credit = await following(send, "C", {}, original);
    const { ORIGID = "" } = credit.body as Record<string, string>;
    assert.equal((await membersFor(credit))["RESULT"], "105");
    await settle();
    assert.equal((await membersFor(following(send, "V", { ORIGID })))["RESULT"], "108");
    assert.equal((await membersFor(following(send, "C", { ORIGID })))["RESULT"], "0");
  });

  test("a checked or uploaded card is charged by its PNREF", async () => {
    const { PNREF: ORIGID = "", RESPMSG } = await membersFor(sale({ AMT: "0.00" }, "A"));
    assert.equal(RESPMSG, "Verified");
    assert.equal((await membersFor(following(send, "S", { ORIGID, AMT: "25.00" })))["RESPMSG"], "Approved");
  });
});
