import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { EXAMPLE, signatureOf } from "./wrong-requests.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

type Body = Record<string, Record<string, unknown>>;
/** The sheet's own vector for its example. */
const SIGNATURE = "W0VT7nz/kkWpCugLUAfzfVGO1t5DzrqMgNoWKZZlvtFTRyzIZ/9/o78vQ5bHmNtLzwcRuCXiL7gEuU5Ta8vpsQ==";

interface Answer {
  status: number;
  text: string;
  body: Record<string, unknown> & {
    payment?: Record<string, unknown>;
    operations?: Record<string, unknown>[];
    account?: Record<string, unknown>;
  };
}

async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = { "Content-Type": "application/json" },
): Promise<Answer> {
  const answer = await fetch(`${simulators.url}/ecommpay${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, text, body: JSON.parse(text) as Answer["body"] };
}
const signed = (path: string, body: Body, part = "general") =>
  post(path, { ...body, [part]: { ...body[part], signature: signatureOf(body) } });

let payments = 0;
function sale(changes: Body = {}): Body {
  const body: Body = { ...EXAMPLE, general: { project_id: 12345, payment_id: `p-${++payments}` } };
  return { ...body, ...Object.fromEntries(Object.entries(changes).map(([part, members]) => [part, { ...body[part], ...members }])) };
}
const status = ({ general = {} }: Body) => signed("/v2/payment/status", { general });

describe("the ecommpay simulator keeps to what ecommpay does", () => {
  test("the sheet's example passes with the sheet's signature, once", async () => {
    const body = { ...EXAMPLE, general: { ...EXAMPLE["general"], signature: SIGNATURE } };
    const first = await post("/v2/payment/card/sale", body);
    assert.deepEqual([first.status, first.body["status"], first.body["payment_id"]], [200, "success", "ps-7f3a-01"]);
    const second = await post("/v2/payment/card/sale", body);
    assert.deepEqual([second.status, second.body["code"]], [400, "3041"]);
  });

  test("Visa needs its code by telephone, Mastercard does not", async () => {
    const without = (pan: string) => {
      const { cvv: _cvv, ...card } = EXAMPLE["card"]!;
      return { ...sale(), card: { ...card, pan } };
    };
    assert.equal((await signed("/v2/payment/card/sale", without("4000000000000077"))).body["code"], "3141");
    assert.equal((await signed("/v2/payment/card/sale", without("5555555555554444"))).body["status"], "success");
  });

  test("unknown to the first poll, at work at the second, then settled and signed, with slashes escaped", async () => {
    const body = sale();
    await signed("/v2/payment/card/sale", body);
    assert.equal((await status(body)).body["code"], "3061");
    assert.equal((await status(body)).body.payment?.["status"], "processing");
    const settled = await status(body);
    assert.equal(settled.body.payment?.["status"], "success");
    assert.match(settled.text, /"id":\d{16},"type":"sale"/);
    assert.match(settled.text, /"signature":"[A-Za-z0-9+\\/]+=="/);
    assert.ok(!/[^\\]\//.test(settled.text));
    assert.equal((await status(sale())).body["code"], "3061");
  });

  test("the vendor's own cards: a challenge in the web alone, a part of a large amount, a stored card that is refused later", async () => {
    const settle = async (path: string, body: Body) => {
      await signed(path, body);
      await status(body);
      await status(body);
      return (await status(body)).body;
    };
    const challenge = sale({ card: { pan: "4314220000000056" } });
    const { moto_type: _moto, ...web } = challenge["payment"]!;
    assert.equal((await settle("/v2/payment/card/sale", { ...challenge, payment: web })).payment?.["status"], "awaiting 3ds result");
    assert.equal((await settle("/v2/payment/card/sale", sale({ card: { pan: "4314220000000056" } }))).payment?.["status"], "success");
    const part = await settle("/v2/payment/card/sale", sale({ card: { pan: "5126160000356675" }, payment: { amount: 20_000 } }));
    assert.deepEqual(part.payment?.["sum"], { amount: 12_000, currency: "GBP" });
    const kept = sale({ card: { pan: "4000000000000135", save: true }, payment: { amount: 0 } });
    const { account } = await settle("/v2/payment/card/account_verification", kept);
    assert.match(String(account?.["token"]), /^[a-z]{64}$/);
  });

  test("a refund is asynchronous, never more than was taken, and shows as refunded", async () => {
    const body = sale();
    await signed("/v2/payment/card/sale", body);
    const refund = (amount: number) => ({ general: body["general"]!, payment: { amount, currency: "GBP", description: "Refund" } });
    assert.equal((await signed("/v2/payment/card/refund", refund(1816))).body["code"], "3024");
    assert.equal((await signed("/v2/payment/card/refund", refund(1815))).body["status"], "success");
    assert.equal((await signed("/v2/payment/card/refund", refund(1))).body["code"], "3023");
    assert.equal((await status(body)).body.payment?.["status"], "processing");
    assert.equal((await status(body)).body.payment?.["status"], "refunded");
  });

  test("an authorization waits for its capture or is cancelled; a captured one is not", async () => {
    const settled = async (body: Body) => {
      for (let poll = 0; poll < 2; poll++) await status(body);
      return (await status(body)).body.payment?.["status"];
    };
    const [captured, cancelled] = [sale(), sale()];
    for (const body of [captured, cancelled]) await signed("/v2/payment/card/auth", body);
    assert.equal(await settled(captured), "awaiting capture");
    await signed("/v2/payment/card/capture", { general: captured["general"]! });
    assert.equal(await settled(captured), "success");
    assert.equal((await signed("/v2/payment/card/cancel", { general: captured["general"]! })).body["code"], "3023");
    await signed("/v2/payment/card/cancel", { general: cancelled["general"]! });
    assert.equal(await settled(cancelled), "cancelled");
  });

  test("a saved card is charged by its account's id and its token, for its own customer", async () => {
    const body = sale({ card: { save: true } });
    await signed("/v2/payment/card/sale", body);
    for (let poll = 0; poll < 2; poll++) await status(body);
    const { id, token } = (await status(body)).body.account ?? {};
    const { card: _card, ...rest } = sale();
    const saved = { ...rest, account: { id } };
    assert.equal((await signed("/v2/payment/card/sale/saved", saved)).body["status"], "success");
    const other = { ...saved, general: sale()["general"]!, customer: { ...EXAMPLE["customer"], id: "cust-2" } };
    assert.equal((await signed("/v2/payment/card/sale/saved", other)).body["code"], "3101");
    assert.match(String(token), /^[a-z]{64}$/);
  });

  test("a project that keeps no cards gives a token on request only", async () => {
    const kept = sale({ general: { project_id: 99999 }, card: { save: true }, payment: { amount: 0 } });
    await signed("/v2/payment/card/account_verification", kept);
    await status(kept);
    await status(kept);
    assert.equal((await status(kept)).body.account?.["token"], undefined);
    const { cvv: _cvv, ...card } = EXAMPLE["card"]!;
    const token = await signed("/v2/customer/card/tokenize", { customer: { ...EXAMPLE["customer"], project_id: 99999 }, card }, "customer");
    assert.match(String(token.body["token"]), /^[a-z]{64}$/);
  });
});
