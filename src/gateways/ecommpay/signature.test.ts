import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseJson } from "#src/kernel/json.ts";
import { Secret } from "#src/kernel/secret.ts";
import { cardOf } from "../testing.ts";
import { isSigned, piecesToSign, sign } from "./signature.ts";
import type { Signable } from "./signature.ts";

const KEY = new Secret("demo-secret-key");

describe("ecommpay's signature", () => {
  const general = { project_id: 12345, payment_id: "ps-7f3a-01" };
  const card = cardOf("4000000000000077", { year: "2030", month: "09", name: "JANE DOE" });
  const EXAMPLE =
    "avs_data:avs_post_code:SW1A 1AA;card:card_holder:JANE DOE;card:cvv:123;card:month:9;card:pan:4000000000000077;card:year:2030;" +
    "customer:id:cust-881;customer:ip_address:203.0.113.10;general:payment_id:ps-7f3a-01;general:project_id:12345;" +
    "payment:amount:1815;payment:currency:GBP;payment:description:Order 443;payment:moto_type:2";

  test("the sheet's vectors: a sale, a status request, and natural order with a boolean and a null", () => {
    const sale = {
      general,
      customer: { id: "cust-881", ip_address: "203.0.113.10" },
      payment: { amount: 1815, currency: "GBP", description: "Order 443", moto_type: 2 },
      card: { pan: card.number, year: 2030, month: 9, card_holder: "JANE DOE", cvv: card.cvv },
      avs_data: { avs_post_code: "SW1A 1AA" },
    };
    assert.equal(Buffer.concat(piecesToSign(sale).map((piece) => Buffer.from(piece))).toString(), EXAMPLE);
    assert.equal(sign(sale, KEY), "W0VT7nz/kkWpCugLUAfzfVGO1t5DzrqMgNoWKZZlvtFTRyzIZ/9/o78vQ5bHmNtLzwcRuCXiL7gEuU5Ta8vpsQ==");
    assert.equal(sign({ general }, KEY), "OfyqLkMq50gv3NqSUPSVudwSEX2NYqfi+k1NKRR9m6FwqNiOChllYzMAMo+7KbwLFSu9rPPg7QsIse+uWNYXpw==");
    const items = Array.from({ length: 11 }, (_none, q) => ({ q }));
    assert.equal(
      sign({ general, items, flag: true, note: null }, KEY),
      "Fal3Ev/FQX5m6aQEB9nJptpmXqw9BU2upMDUUK5Q7Lm2TdA8mw/6JE6w9kCO38b6BdnylxTxS8/r3ZD9ZoVMoQ==",
    );
    const token = { customer: { id: "cust-881", ip_address: "203.0.113.10", project_id: 12345 }, card: { ...sale.card, cvv: undefined } };
    assert.equal(sign(token, KEY), "07t5dEqFAfNgItM01/CpA2gbyoMZ72ncdbuPE3gv6dFQyGPKD5xXG75LCaD0hb0Ec2hnkVEnGlORUH/Y/eNaRQ==");
  });

  test("no piece of it is a string with digits of the card (R-258)", () => {
    const pieces = piecesToSign({ card: { pan: card.number, cvv: card.cvv, year: card.expYear } });
    assert.deepEqual(
      pieces.filter((piece) => typeof piece === "string"),
      ["card:cvv:", ";card:pan:", ";card:year:"],
    );
    assert.ok(pieces.some((piece) => typeof piece !== "string" && piece.buffer === card.number.bytes().buffer));
  });

  test("names with a colon double it, empty parts leave no line, signatures never sign themselves", () => {
    const text = (body: Signable) => piecesToSign(body).join("");
    assert.equal(text({ "a:b": "", c: {}, d: [], signature: "x", e: { signature: "y", f: false } }), "a::b:;e:f:0");
  });

  test("an answer whose numbers a double would change is verified as printed, and any change breaks it", () => {
    const text = '{"id":50288000101282251234,"amount":1.50,"ok":true}';
    const signature = sign(parseJson(text, { numbers: "text" }), KEY);
    const read = (json: string) => parseJson(json, { numbers: "text" }) as { [name: string]: never };
    assert.ok(isSigned(read(`${text.slice(0, -1)},"signature":"${signature}"}`), KEY));
    assert.ok(!isSigned(read(`${text.slice(0, -1).replace("1.50", "1.5")},"signature":"${signature}"}`), KEY));
    assert.ok(!isSigned(read(text), KEY));
  });

  test("an answer may carry its signature in `general`, as some of the vendor's messages do", () => {
    const signature = sign({ general: { project_id: 7 }, payment: { id: "a" } }, KEY);
    const read = (text: string) => parseJson(text, { numbers: "text" }) as { [name: string]: never };
    const signed = (id: string) => read(`{"general":{"project_id":7,"signature":"${signature}"},"payment":{"id":"${id}"}}`);
    assert.ok(isSigned(signed("a"), KEY));
    assert.ok(!isSigned(signed("b"), KEY));
    assert.ok(!isSigned(read('{"general":"x","payment":{"id":"a"}}'), KEY));
  });
});
