import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { CARD, CHARGE, refresh, request } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "quickbooks");
});
after(() => simulators.close());

const charges = "POST /quickbooks/v4/payments/charges";
const arm = (fault: object) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "quickbooks", ...fault }) });

describe("the QuickBooks simulator keeps to what Intuit does", () => {
  test("a refresh token is replaced, the old one goes on for a day, and an ended access token is refused", async () => {
    const first = await send(refresh("RT1-mine"));
    assert.notEqual(first.json.refresh_token, "RT1-mine");
    assert.equal((await send(refresh("RT1-mine"))).status, 200);
    assert.equal((await send(refresh(first.json.refresh_token as string))).status, 200);
    await arm({ kind: "expire_tokens", path: "/quickbooks/v4" });
    const refused = await send(await request(send, charges, CHARGE));
    assert.deepEqual([refused.status, refused.json.code], [401, "AuthenticationFailed"]);
    assert.equal(refused.headers["www-authenticate"], 'Bearer realm="Intuit", error="invalid_token"');
  });

  test("a Request-Id charges once, and refuses another charge", async () => {
    const sent = await request(send, charges, CHARGE);
    const [first, again] = [await send(sent), await send(sent)];
    assert.deepEqual([first.status, first.json.status, again.json], [201, "CAPTURED", first.json]);
    assert.equal((await send({ ...sent, body: { ...CHARGE, amount: "26.00" } })).json.errors[0].detail, "Request-Id");
  });

  test("a decline is a charge with status 201, or an error with words", async () => {
    const declined = await send(await request(send, charges, { ...CHARGE, card: { ...CARD, number: "4000000000000002" } }));
    assert.deepEqual([declined.status, declined.json.status, declined.json.authCode], [201, "DECLINED", undefined]);
    const poor = await send(await request(send, charges, { ...CHARGE, card: { ...CARD, number: "4000000000009995" } }));
    assert.deepEqual([poor.status, poor.json.errors[0].code], [400, "PMT-5000"]);
    assert.match(poor.json.errors[0].message as string, /insufficient/);
    const emulated = await send(await request(send, charges, { ...CHARGE, card: { ...CARD, name: "emulate=10401" } }));
    assert.equal(emulated.json.status, "DECLINED");
    const named = await send(await request(send, charges, { ...CHARGE, card: { ...CARD, name: "card_declined" } }));
    assert.equal(named.json.status, "CAPTURED", "no name but emulate=... decides");
  });

  test("a charge is voided by its Request-Id before the batch closes, and refunded whenever", async () => {
    const [one, other] = [await request(send, charges, CHARGE), await request(send, charges, CHARGE)];
    await send(one);
    const { id } = (await send(other)).json as { id: string };
    const voidOf = ({ headers }: typeof one) => request(send, `POST /quickbooks/v4/payments/txn-requests/${headers?.["Request-Id"]}/void`);
    assert.equal((await send(await voidOf(one))).json.status, "ISSUED");
    await arm({ kind: "settle" });
    assert.equal((await send(await voidOf(other))).status, 400);
    const { headers = {} } = other;
    assert.equal((await send({ at: `GET /quickbooks/v4/payments/charges/${id}`, headers })).json.status, "SETTLED");
    assert.equal((await send(await request(send, `${charges}/${id}/refunds`, { amount: "25.00" }))).json.type, "REFUND");
  });

  test("a card is stored once per customer, by itself or from a single-use token, and charged on file", async () => {
    const cards = "POST /quickbooks/v4/customers/c-1/cards";
    const stored = await send(await request(send, cards, CARD));
    assert.equal((await send(await request(send, cards, CARD))).status, 400);
    const { value } = (await send({ at: "POST /quickbooks/v4/payments/tokens", headers: { "Request-Id": "t-1" }, body: { card: CARD } }))
      .json;
    const from = "POST /quickbooks/v4/customers/c-2/cards/createFromToken";
    assert.equal((await send(await request(send, from, { value }))).status, 201);
    assert.equal((await send(await request(send, from, { value }))).json.errors[0].detail, "value");
    const { card: _card, ...rest } = CHARGE;
    assert.equal((await send(await request(send, charges, { ...rest, cardOnFile: stored.json.id }))).json.status, "CAPTURED");
    const remove = { ...(await request(send, `DELETE /quickbooks/v4/customers/c-1/cards/${stored.json.id}`)), body: "" };
    assert.deepEqual([(await send(remove)).status, (await send(remove)).status], [204, 404]);
  });
});
