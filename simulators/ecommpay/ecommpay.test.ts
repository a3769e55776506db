import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

type Body = Record<string, Record<string, unknown>>;
const EXAMPLE: Body = {
  general: { project_id: 12345, payment_id: "ps-7f3a-01" },
  customer: { id: "cust-881", ip_address: "203.0.113.10" },
  payment: { amount: 1815, currency: "GBP", description: "Order 443", moto_type: 2 },
  card: { pan: "4000000000000077", year: 2030, month: 9, card_holder: "JANE DOE", cvv: "123" },
  avs_data: { avs_post_code: "SW1A 1AA" },
};
/** The sheet's own vector for the body above. */
const SIGNATURE = "W0VT7nz/kkWpCugLUAfzfVGO1t5DzrqMgNoWKZZlvtFTRyzIZ/9/o78vQ5bHmNtLzwcRuCXiL7gEuU5Ta8vpsQ==";

/** For bodies of two levels without lists: enough for what is sent here. */
function signatureOf(body: Body): string {
  const lines = Object.entries(body).flatMap(([part, members]) =>
    Object.entries(members).map(([name, value]) => `${part}:${name}:${typeof value === "boolean" ? Number(value) : String(value)}`),
  );
  return createHmac("sha512", "demo-secret-key").update(lines.sort().join(";")).digest("base64");
}

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

describe("the ecommpay simulator refuses what ecommpay refuses", () => {
  test("the sheet's example passes with the sheet's signature, once", async () => {
    const body = { ...EXAMPLE, general: { ...EXAMPLE["general"], signature: SIGNATURE } };
    const first = await post("/v2/payment/card/sale", body);
    assert.deepEqual([first.status, first.body["status"], first.body["payment_id"]], [200, "success", "ps-7f3a-01"]);
    const second = await post("/v2/payment/card/sale", body);
    assert.deepEqual([second.status, second.body["code"]], [400, "3041"]);
  });

  const cases: readonly (readonly [changes: Body, code: string])[] = [
    [{ general: { payment_id: "a b" } }, "2004"],
    [{ general: { project_id: "12345" } }, "2004"],
    [{ customer: { ip_address: "home" } }, "2004"],
    [{ payment: { amount: 18.15 } }, "2004"],
    [{ payment: { amount: 0 } }, "2004"],
    [{ payment: { moto_type: 3 } }, "2004"],
    [{ payment: { total: 1 } }, "2004"],
    [{ card: { year: 30 } }, "2004"],
    [{ card: { month: 13 } }, "3020"],
    [{ card: { year: 2020 } }, "3021"],
    [{ card: { pan: "4000 0000 0000 0077" } }, "2004"],
  ];
  for (const [changes, code] of cases) {
    test(`a sale with ${JSON.stringify(changes)} is refused with ${code}`, async () => {
      const answer = await signed("/v2/payment/card/sale", sale(changes));
      assert.deepEqual([answer.status, answer.body["status"], answer.body["code"]], [400, "error", code]);
    });
  }

  test("a missing and a wrong signature, another content type, another path", async () => {
    assert.equal((await post("/v2/payment/card/sale", sale())).body["code"], "3262");
    const wrong = sale({ general: { signature: SIGNATURE } });
    assert.equal((await post("/v2/payment/card/sale", wrong)).body["code"], "3261");
    assert.equal((await post("/v2/payment/card/sale", {}, { "Content-Type": "text/plain" })).status, 422);
    assert.equal((await post("/v1/payment", {})).status, 404);
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
