import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { SALE, ask, check, follow, lookUp, post, sale, stored } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
let user = 0;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
beforeEach(() => {
  const Authorization = basicOf(`exampleuser${++user}`, "examplepass");
  send = (sent) => senderTo(simulators, "cardconnect")({ ...sent, headers: { ...sent.headers, Authorization } });
});
after(() => simulators.close());

const settle = async () => {
  const fault = { gateway: "cardconnect", kind: "settle", times: 1 };
  await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
};
const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/cardconnect`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;

describe("the CardConnect simulator keeps to what CardPointe does", () => {
  test("the sheet's worked example is approved, its members shuffled among others that mean nothing", async () => {
    assert.equal(basicOf("exampleuser", "examplepass"), "Basic ZXhhbXBsZXVzZXI6ZXhhbXBsZXBhc3M=");
    const { status, json } = await send(sale());
    assert.deepEqual([status, json.respstat, json.respproc, json.respcode, json.amount], [200, "A", "FNOR", "00", "12.50"]);
    assert.match(json.token as string, /^947\d{9}1443$/);
    assert.deepEqual([json.account, json.cvvresp, json.avsresp, json.entrymode], [json.token, "M", "Y", "Moto"]);
    const orders = new Set<string>();
    for (let count = 0; count < 5; count++) orders.add(Object.keys((await send(sale())).json as object).join());
    assert.ok(orders.size > 1);
    assert.ok(Object.keys(json as object).some((name) => /^x\w{8}$/.test(name)));
  });

  test("an order id that is repeated charges again, and both are found under it as a list", async () => {
    const [first, again] = [await send(sale()), await send(sale())];
    assert.notEqual(again.json.retref, first.json.retref);
    const { json } = await send(lookUp(SALE.orderid));
    assert.deepEqual(
      json.map(({ retref }: { retref: string }) => retref),
      [again.json.retref, first.json.retref],
    );
  });

  test("an amount without a point is in minor units; without capture the money is only held", async () => {
    const { json } = await send(sale({ amount: "1250", capture: undefined }));
    assert.equal(json.amount, "12.50");
    const found = await send(lookUp(SALE.orderid, ""));
    assert.deepEqual([found.json.setlstat, found.json.lastfour, found.json.voidable], ["Authorized", "1443", "Y"]);
    const captured = await send(post("/capture", { merchid: "496160873888", retref: json.retref, amount: "10.00" }));
    assert.deepEqual([captured.json.respstat, captured.json.amount], ["A", "10.00"]);
    assert.equal((await ledger()).at(-1)?.kind, "capture");
  });

  test("a check keeps the card as a profile, the same one for the same card and holder; a refused check keeps none", async () => {
    const { json } = await send(check());
    assert.deepEqual([json.respstat, json.amount], ["A", "0.00"]);
    assert.match(json.profileid as string, /^\d{20}$/);
    const again = (await send(check({ orderid: "ps-again" }))).json;
    const other = (await send(check({ name: "JOHN DOE" }))).json;
    assert.deepEqual([again.profileid, other.profileid === json.profileid], [json.profileid, false]);
    assert.equal((await send(lookUp("ps-again"))).json.setlstat, "Zero Amount");
    const refused = (await send(check({ account: "4000000000000002" }))).json;
    assert.deepEqual([refused.respstat, refused.respcode, refused.profileid, refused.authcode], ["C", "51", undefined, undefined]);
    const later = await stored(send);
    assert.equal((await send(later)).json.respstat, "A");
    assert.equal((await send(ask(`/profile/${json.profileid}/1/496160873888`, "DELETE"))).json.respcode, "08");
    assert.equal((await send(later)).json.respcode, "96");
  });

  test("a part of the amount is approved for the card that has no more, and a processor's silence is a B", async () => {
    const part = (await send(sale({ account: "4387750101010101" }))).json;
    assert.deepEqual([part.respstat, part.respcode, part.amount], ["A", "10", "5.00"]);
    const silence = (await send(sale({ account: "4999006200620062" }))).json;
    assert.deepEqual([silence.respstat, silence.respproc, silence.respcode, silence.setlstat], ["B", "PPS", "62", "Declined"]);
  });

  test("letters of address and code follow the postal code and the code; none postal code is 55555", async () => {
    const letters = async (more: object) => {
      const { avsresp, cvvresp } = (await send(sale(more))).json;
      return [avsresp, cvvresp];
    };
    assert.deepEqual(await letters({ postal: "19112", cvv2: "111" }), ["N", "N"]);
    assert.deepEqual(await letters({ postal: "19113", cvv2: "222" }), ["Z", "P"]);
    assert.deepEqual(await letters({ postal: undefined, cvv2: undefined }), [" ", "X"]);
  });

  test("a void is for money that is not settled, a refund for money that is; a void by order id passes declined ones over", async () => {
    assert.equal((await send(await follow(send, "void"))).json.authcode, "REVERS");
    const settled = await follow(send, "refund", { amount: "2.50" });
    await settle();
    assert.deepEqual([(await send(settled)).json.respstat, (await send(settled)).json.amount], ["A", "2.50"]);
    const { retref } = (await send(sale({ orderid: "ps-two" }))).json;
    await send(sale({ orderid: "ps-two", account: "4000000000000002" }));
    const voided = await send(post("/voidByOrderId", { merchid: "496160873888", orderid: "ps-two" }));
    assert.deepEqual([voided.json.respstat, voided.json.retref], ["A", retref]);
    assert.equal((await ledger()).at(-1)?.reference, "ps-two");
  });

  test("an order id that could be a card number cannot be found again", async () => {
    await send(sale({ orderid: "4242-4242-4242-4242" }));
    assert.equal((await send(lookUp("4242-4242-4242-4242"))).json.respcode, "29");
  });

  test("CardSecure asks for no credentials and gives one card one token, unless another is wanted", async () => {
    const tokenize = async (more: object = {}) => {
      const body = { account: "4444333322221111", expiry: "0560", ...more };
      return (await senderTo(simulators, "cardconnect")({ at: "POST /cardsecure/api/v1/ccn/tokenize", body })).json.token as string;
    };
    const [first, again, other] = [await tokenize(), await tokenize(), await tokenize({ unique: true })];
    assert.match(first, /^944\d{9}1111$/);
    assert.deepEqual([again === first, other === first], [true, false]);
    assert.equal((await send(sale({ account: first }))).json.respstat, "A");
  });
});
