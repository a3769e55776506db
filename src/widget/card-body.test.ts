import assert from "node:assert/strict";
import { test } from "node:test";
import {
  array,
  assert as check,
  constant,
  constantFrom,
  dictionary,
  jsonValue,
  oneof,
  property,
  string,
  tuple,
  uint8Array,
} from "fast-check";
import { CardCells } from "#src/kernel/card.ts";
import { readCardBody } from "./card-body.ts";
import { scanCard } from "./card-scan.ts";

const NOW = Date.UTC(2026, 10, 15);
const CARD = { number: "4242424242424242", exp_month: "12", exp_year: "2030", cvv: "123" };
const encode = (text: string) => new TextEncoder().encode(text);
const read = (body: unknown, cvvNeeded = true) =>
  readCardBody(typeof body === "string" ? encode(body) : encode(JSON.stringify(body)), { nowMs: NOW, cvvNeeded, acceptedBrands: [] });
const cardOf = (fields: object) => {
  const card = read({ card: { ...CARD, ...fields } });
  assert.ok(card instanceof CardCells, JSON.stringify(card));
  return card;
};
const faultsOf = (fields: object) => {
  const faults = read({ card: { ...CARD, ...fields } });
  assert.ok(Array.isArray(faults));
  return faults.map(({ loc, kind }) => `${loc.join(".")}: ${kind}`);
};
const text = (cell: { bytes(): Uint8Array }) => Buffer.from(cell.bytes()).toString();

test("a card is read from the bytes: separators dropped, months and years in every usual form, escapes undone (R-366)", () => {
  const forms = [
    {},
    { number: "4242 4242-4242 4242" },
    { exp_month: 12, exp_year: 30 },
    { exp_year: "30" },
    { number: "4242\u{34}24242424242" },
  ];
  for (const fields of forms) {
    const card = cardOf(fields);
    assert.deepEqual(
      [text(card.number), text(card.expMonth), text(card.expYear), text(card.cvv)],
      ["4242424242424242", "12", "2030", "123"],
    );
    assert.deepEqual([card.postalCode, card.cardholderName], [null, null]);
  }
  const escaped = read(`{"card":{"number":"\\u0034242424242424242","exp_month":"4","exp_year":"2027","cvv":"12\\u0033"}} `);
  assert.ok(escaped instanceof CardCells);
  assert.deepEqual([text(escaped.number), text(escaped.expMonth), text(escaped.cvv)], ["4242424242424242", "04", "123"]);
  const named = cardOf({ cardholder_name: ' Zo\u00eb "Z" O\u2019Neil ', postal_code: "SW1A 1AA", unknown: [{ deep: [1, 2.5e3, null] }] });
  assert.deepEqual([named.cardholderName, named.postalCode], ['Zo\u00eb "Z" O\u2019Neil', "SW1A 1AA"]);
  const longest = "\u0e2a\u{1f600}".repeat(50);
  assert.equal(cardOf({ cardholder_name: longest }).cardholderName, longest);
  assert.equal(cardOf({ cardholder_name: "", postal_code: null }).cardholderName, null);
});

test("every fault is named with its place and without what was sent, all at once (R-366, R-005)", () => {
  assert.deepEqual(faultsOf({ number: undefined, exp_month: null, exp_year: undefined, cvv: null }), [
    "card.number: missing",
    "card.exp_month: missing",
    "card.exp_year: missing",
    "card.cvv: missing",
  ]);
  const single: [object, string][] = [
    [{ number: 4242424242424242 }, "card.number: not a string"],
    [{ number: "4242424242424241" }, "card.number: not a card number"],
    [{ number: "4242" }, "card.number: not a card number"],
    [{ number: "4242424242424242x" }, "card.number: not a card number"],
    [{ number: "4".repeat(40) }, "card.number: not a card number"],
    [{ number: "\u0004\u0002" }, "card.number: not a card number"],
    [{ exp_month: "13" }, "card.exp_month: not a month"],
    [{ exp_month: "0" }, "card.exp_month: not a month"],
    [{ exp_month: "-1" }, "card.exp_month: not a month"],
    [{ exp_month: 1.5 }, "card.exp_month: not a month"],
    [{ exp_month: true }, "card.exp_month: not a string or number"],
    [{ exp_year: "203" }, "card.exp_year: not a year"],
    [{ exp_year: "20300" }, "card.exp_year: not a year"],
    [{ exp_year: "" }, "card.exp_year: not a year"],
    [{ exp_month: "10", exp_year: "26" }, "card.exp_year: expired"],
    [{ cvv: "12" }, "card.cvv: not a security code"],
    [{ cvv: "1234" }, "card.cvv: not a security code"],
    [{ cvv: 123 }, "card.cvv: not a string"],
    [{ postal_code: "4242424242424242" }, "card.postal_code: not a postal code"],
    [{ postal_code: "9410<" }, "card.postal_code: not a postal code"],
    [{ postal_code: 94105 }, "card.postal_code: not a string"],
    [{ cardholder_name: "4242 4242 4242 4242" }, "card.cardholder_name: not a name"],
    [{ cardholder_name: "\uff14\uff12\uff14\uff12 \u0664\u0662" }, "card.cardholder_name: not a name"],
    [{ cardholder_name: "A\nB" }, "card.cardholder_name: not a name"],
    [{ cardholder_name: "x".repeat(101) }, "card.cardholder_name: not a name"],
    [{ number: "\uff14242424242424242" }, "card.number: not a card number"],
    [{ cardholder_name: {} }, "card.cardholder_name: not a string"],
  ];
  for (const [fields, expected] of single) assert.deepEqual(faultsOf(fields), [expected], JSON.stringify(fields));
});

test("the security code may be left out where the project does not ask for it, and has four digits for American Express", () => {
  const { cvv, ...rest } = CARD;
  assert.ok(read({ card: rest }, false) instanceof CardCells);
  assert.ok(read({ card: { ...CARD, number: "378282246310005", cvv: "1234" } }) instanceof CardCells);
  assert.ok(Array.isArray(read({ card: { ...CARD, number: "378282246310005", cvv } })));
});

test("where a project names the brands that it accepts, a card of another one is refused, and of none that we know too", () => {
  const rules = { nowMs: NOW, cvvNeeded: false, acceptedBrands: ["mastercard", "amex"] } as const;
  const readNumber = (number: string) => {
    const { cvv: _, ...rest } = CARD;
    return readCardBody(encode(JSON.stringify({ card: { ...rest, number } })), rules);
  };
  for (const number of ["4242424242424242", "6011111111111117", "7000000000000005"])
    assert.deepEqual(readNumber(number), [{ loc: ["card", "number"], kind: "not an accepted brand" }], number);
  assert.deepEqual(readNumber("4242424242424241"), [{ loc: ["card", "number"], kind: "not a card number" }]);
  for (const number of ["5555555555554444", "378282246310005"]) assert.ok(readNumber(number) instanceof CardCells, number);
});

test("what is no JSON object with a card says where it stops being one", () => {
  const bodies: [string, (string | number)[], string][] = [
    ["{", [1], "not JSON"],
    ['{"card":{"number":"42', [21], "not JSON"],
    ['{"card":{}} x', [12], "not JSON"],
    ['{"card":{"number":"4\n"}}', [20], "not JSON"],
    ['{"card":{"number":"\\x"}}', [19], "not JSON"],
    ['{"card":01}', [9], "not JSON"],
    ['{"card":{},}', [11], "not JSON"],
    [`{"card":${"[".repeat(100)}`, [71], "not JSON"],
    ["null", [], "missing"],
    ["[]", [], "not an object"],
    ['"4242424242424242"', [], "not an object"],
    ["{}", ["card"], "missing"],
    ['{"card":"4242424242424242"}', ["card"], "not an object"],
  ];
  for (const [body, loc, kind] of bodies) assert.deepEqual(read(body), [{ loc, kind }], body);
  assert.deepEqual(readCardBody(Uint8Array.of(0x22, 0xff, 0x22), { nowMs: NOW, cvvNeeded: true, acceptedBrands: [] }), [
    { loc: [0], kind: "not JSON" },
  ]);
});

test("of two members with one name the last counts", () => {
  const twice = read('{"card":{"number":"1"},"card":{"cvv":"9","number":"4242424242424242","exp_month":1,"exp_year":31,"cvv":"123"}}');
  assert.ok(twice instanceof CardCells);
  assert.equal(text(twice.cvv), "123");
});

test("the scanner takes for JSON what JSON.parse takes for JSON, and nothing else", () => {
  const noise = array(constantFrom(...Array.from('{}[]",:\\u0019.eE+- \ntrufalsnc')), { maxLength: 12 }).map((parts) => parts.join(""));
  const texts = oneof(
    jsonValue().map((value) => JSON.stringify(value)),
    noise,
    tuple(dictionary(string(), jsonValue()), noise).map(([value, tail]) => JSON.stringify(value) + tail),
    constant('{"card":{"number":"1"}}'),
  );
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  check(
    property(texts, (text) => {
      assert.equal(scanCard(encode(text)).kind !== "broken", isJson(text), text);
    }),
    { numRuns: 2000 },
  );
});

test("bytes of every kind are read without throwing", () => {
  check(
    property(uint8Array({ maxLength: 60 }), (bytes) => {
      readCardBody(bytes, { nowMs: NOW, cvvNeeded: true, acceptedBrands: [] });
      readCardBody(Buffer.concat([encode('{"card":{"number":"'), bytes, encode('"}}')]), {
        nowMs: NOW,
        cvvNeeded: true,
        acceptedBrands: [],
      });
    }),
  );
});
