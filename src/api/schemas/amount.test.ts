import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { JsonNumber } from "#src/kernel/json.ts";
import { toMinor } from "#src/kernel/money.ts";
import { BODY, startTestApi, type TestApi } from "../testing.ts";
import { amountField } from "./amount.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

/** Sends `token`, a piece of JSON, as the amount; answers what GET shows, or the type of the fault at the amount. */
async function send(token: string | null, changes: object = {}): Promise<string> {
  const { amount: _, ...rest } = { ...BODY, ...changes };
  const body = JSON.stringify(rest).replace(/}$/, token === null ? "}" : `,"amount":${token}}`);
  const response = await api.call("POST", "/v1/sessions", { body });
  if (response.statusCode === 201) return (await api.call("GET", `/v1/sessions/${response.json().session_id}`)).json().amount;
  assert.equal(response.statusCode, 422, token ?? "missing");
  const [item, ...more] = response.json().detail;
  assert.deepEqual(more, []);
  if (item.type !== "json_invalid") assert.deepEqual(item.loc, ["body", "amount"]);
  return item.type;
}

/** table C2: what is sent with mode charge in USD, and what comes of it. */
const TABLE: [outcome: string, tokens: string[]][] = [
  ["10.00", ["10", "10.0", "1e1", '"10"', '"10."', '"+10"', '"0010"', '"10.0"', '"10.00"', '"10.000"', "10.000", "1.0E+1", "100e-1"]],
  ["0.50", ['".5"', '"0.5"', "0.5", '"+.5"', '"00.50"']],
  ["0.10", ['"00.10"']],
  ["0.30", ["0.30000000000000004", "0.3"]],
  ["19.99", ["19.990000000000002", '"19.99"']],
  ["999999.99", ["999999.99", '"999999.99"']],
  ["decimal_max_places", ['"10.005"', "10.005", '"0.001"', "0.001", "1e-400", "1e-9", '"0.30000000000000004"', '"19.990000000000002"']],
  ["greater_than", ["0", "0.0", "-0", "-0.0", '"0"', '"-0"', '"0.00"', "0e5"]],
  ["greater_than_equal", ["-1", '"-1"', '"-0.01"', "-0.001"]],
  [
    "decimal_parsing",
    [
      '"1e3"',
      '"1E3"',
      '"0x10"',
      '"1_000"',
      '"1,000"',
      '"$10"',
      '" 10 "',
      '"10\\n"',
      '"١٠"',
      '"１０"',
      '"10 USD"',
      '""',
      '"-"',
      '"+"',
      '"."',
      '"+."',
      '"-."',
      '"--1"',
      '"++1"',
      '"1.2.3"',
    ],
  ],
  ["finite_number", ['"NaN"', '"Infinity"', '"-Infinity"', "1e400", "-1e400"]],
  ["json_invalid", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1"]],
  ["less_than_equal", ["9007199254740993", '"999999999999999999999"', "1000000", '"1000000"', "1e300"]],
  ["decimal_type", ["true", "false", "[]", "{}", "null"]],
];
for (const [outcome, tokens] of TABLE) {
  test(`amounts that come to ${outcome}: ${tokens.slice(0, 6).join(" ")} (R-110 to R-114, table C2)`, async () => {
    for (const token of tokens) assert.equal(await send(token), outcome, token);
  });
}

test("a missing amount is missing, and of two amounts the last counts (R-021)", async () => {
  assert.equal(await send(null), "missing");
  assert.equal(await send('1,"amount":2'), "2.00");
});

test("an amount may be of any length: zeros at either end are nothing, other digits are judged (R-437)", async () => {
  const zeros = "0".repeat(400);
  for (const token of [
    `"10.${zeros}"`,
    `10.${zeros}`,
    `"${zeros}10"`,
    `"+${zeros}10.${zeros}"`,
    `1${zeros}e-399`,
    `0.${zeros}1e402`,
    `10.${zeros}1`,
  ]) {
    assert.equal(await send(token), "10.00", token);
  }
  for (const token of [`"1${zeros}"`, `1${zeros}`, `"${"9".repeat(60_000)}"`, `"1${zeros}.5"`])
    assert.equal(await send(token), "less_than_equal");
  for (const token of [`"10.${zeros}1"`, `10.001${zeros}1`, `"0.${"9".repeat(60_000)}"`])
    assert.equal(await send(token), "decimal_max_places");
  assert.equal(await send(`"${"0".repeat(60_000)}"`), "greater_than");
  assert.equal(await send(`"${"0".repeat(60_000)}x"`), "decimal_parsing");
  assert.equal(await send(`"-${zeros}1"`), "greater_than_equal");
});

test("storing a card may cost nothing (R-111)", async () => {
  for (const token of ["0", "-0", '"0.00"', '"-0"']) assert.equal(await send(token, { mode: "tokenize" }), "0.00");
  for (const token of ["1e-400", "1e-9", '"0.001"']) assert.equal(await send(token, { mode: "tokenize" }), "decimal_max_places");
});

test("a currency without decimals takes whole amounts only (R-115)", async () => {
  for (const token of ["500", '"500.00"', "5e2"]) assert.equal(await send(token, { project: "yen" }), "500");
  assert.equal(await send("500.5", { project: "yen" }), "decimal_max_places");
  assert.equal(await send("999999", { project: "yen" }), "999999");
  assert.equal(await send("1000000", { project: "yen" }), "less_than_equal");
});

test("what is said of too large an amount is true of a currency without decimals too, also before the currency is known (R-114)", async () => {
  const most = async (path: string, fields: object) => {
    const response = await api.call("POST", path, { body: JSON.stringify({ ...fields, project: "yen" }) });
    const [item] = response.json<{ detail: { type: string; msg: string }[] }>().detail;
    return [
      item?.type,
      /(\S+) in a currency without decimals|equal to (\S+)$/
        .exec(item?.msg ?? "")
        ?.slice(1)
        .join(""),
    ];
  };
  const widget = { gateway: "stripe", mode: "charge" };
  assert.deepEqual(await most("/v1/sessions", { ...BODY, amount: 1_000_000 }), ["less_than_equal", "999999"]);
  assert.deepEqual(await most("/v1/widget-sessions", { ...widget, amount_cents: 100_000_000 }), ["less_than_equal", "999999"]);
  assert.deepEqual(await most("/v1/widget-sessions", { ...widget, amount_cents: 1_000_000 }), ["less_than_equal", "999999"]);
});

test("every whole number of cents arrives exactly, as number and as text (R-113)", () => {
  for (let cents = 1; cents <= 99_999_999; cents += cents < 100_000 ? 1 : 99_991) {
    for (const input of [new JsonNumber(String(cents / 100)), (cents / 100).toFixed(2)]) {
      const { decimal, noise } = amountField.parse(input);
      assert.equal(toMinor(decimal, "USD", noise), cents);
    }
  }
});
