import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import {
  CARD,
  NUMBER,
  SESSION,
  SHOPPER,
  STORED,
  UNCHECKED,
  ask,
  charge,
  hold,
  post,
  storedCharge,
  token,
  withCard,
} from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
let key = 0;
const as =
  (apiKey: string): Send =>
  (sent) =>
    senderTo(simulators, "adyen")({ ...sent, headers: { ...sent.headers, "X-API-Key": apiKey } });
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
beforeEach(() => {
  send = as(`AQEtest${++key}=`);
});
after(() => simulators.close());

interface Entry {
  kind: string;
  reference: string;
  id: string;
  outcome: string;
}
const ledger = async () => ((await (await fetch(`${simulators.url}/_ledger/adyen`)).json()) as { entries: Entry[] }).entries;

describe("the Adyen simulator keeps to what Adyen does", () => {
  test("the sheet's worked example is authorised and captured, under its reference", async () => {
    const { status, json, headers } = await send(charge());
    const { authCode, ...data } = json.additionalData;
    assert.deepEqual([status, json.resultCode, json.merchantReference], [200, "Authorised", SESSION]);
    assert.match(json.pspReference as string, /^[A-Z0-9]{16}$/);
    assert.match(authCode as string, /^\d{6}$/);
    assert.deepEqual(data, {
      cvcResult: "1 Matches",
      avsResult: "7 Both postal code and address match",
      refusalReasonRaw: "AUTHORISED",
      cardSummary: "1111",
      paymentMethod: "visa",
    });
    assert.ok(headers["idempotency-key"]);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", json.pspReference, SESSION]);
  });

  test("without captureDelayHours, with a delay or with manualCapture the money is held, not taken", async () => {
    for (const more of [{ captureDelayHours: undefined }, { captureDelayHours: 1 }, { additionalData: { manualCapture: "true" } }]) {
      assert.equal((await send(charge(more))).json.resultCode, "Authorised");
      assert.equal((await ledger()).at(-1)?.kind, "authorization");
    }
  });

  test("the holder's name or the acquirer's number orders a refusal, which has status 200", async () => {
    const named = (await send(charge(withCard({ holderName: "NOT_ENOUGH_BALANCE" })))).json;
    const ordered = (await send(charge({ additionalData: { RequestedTestAcquirerResponseCode: "12" } }))).json;
    for (const json of [named, ordered]) {
      assert.deepEqual([json.resultCode, json.refusalReasonCode, json.refusalReason], ["Refused", "12", "Not enough balance"]);
      assert.equal(json.additionalData.authCode, undefined);
    }
    const { json } = await send(
      charge({ additionalData: { RequestedTestAcquirerResponseCode: "1" }, ...withCard({ number: "4000000000000002" }) }),
    );
    assert.equal(json.resultCode, "Authorised");
  });

  test("the street orders an AVS result; without an address there is none to check, with N/A the postal code alone", async () => {
    const address = { street: "Test AVS result", [NUMBER]: "2", city: "N/A", postalCode: "94402", country: "ZZ" };
    const avsOf = async (billingAddress: object | undefined) =>
      (await send(charge({ billingAddress }))).json.additionalData.avsResult as string;
    assert.match(await avsOf(address), /^2 /);
    assert.match(await avsOf({ ...address, street: "N/A" }), /^6 /);
    assert.match(await avsOf(undefined), /^5 /);
  });

  test("a zero amount stores the card once per shopper, and only he is charged by it later", async () => {
    const dataOf = async (more = {}) => (await send(token(more))).json.additionalData as Record<string, string>;
    const first = await dataOf();
    assert.equal(first["tokenization.store.operationType"], "created");
    assert.equal(first["tokenization.shopperReference"], SHOPPER);
    assert.equal((await dataOf())["tokenization.store.operationType"], "alreadyExisting");
    const later = await dataOf(withCard({ expiryYear: "2031" }));
    assert.equal(later["tokenization.store.operationType"], "updated");
    assert.equal(later["tokenization.storedPaymentMethodId"], first["tokenization.storedPaymentMethodId"]);
    const entry = (await ledger()).at(-1);
    assert.deepEqual([entry?.kind, entry?.id], ["token", first["tokenization.storedPaymentMethodId"]]);
    assert.equal((await send(await storedCharge(send))).json.resultCode, "Authorised");
  });

  test("version 71 has the token under its older name", async () => {
    const sent = token();
    const { additionalData } = (await send({ ...sent, at: sent.at.replace("v72", "v71") })).json;
    assert.equal(additionalData["recurring.shopperReference"], SHOPPER);
    assert.match(additionalData["recurring.recurringDetailReference"] as string, /^[A-Z0-9]{16}$/);
    assert.equal(additionalData["tokenization.storedPaymentMethodId"], undefined);
  });

  test("a merchant who has switched no additional data on finds the token in the list, after its lag", async () => {
    const quiet = as("AQEquiet=");
    const { json } = await quiet(token());
    assert.deepEqual([json.resultCode, json.additionalData], ["Authorised", undefined]);
    const lag = (times: number) =>
      fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "adyen", kind: "lookup_lag", times }) });
    await lag(1);
    assert.deepEqual((await quiet(ask(STORED))).json.storedPaymentMethods, []);
    const [found] = (await quiet(ask(STORED))).json.storedPaymentMethods;
    assert.deepEqual([found.lastFour, found.type, found.expiryYear], ["1111", "scheme", "2030"]);
  });

  test("a card is stored without asking its issuer, and gone once it is removed", async () => {
    const { status, json } = await send(
      post("/storedPaymentMethods", { ...UNCHECKED, paymentMethod: { ...CARD, number: "4000000000000002" } }),
    );
    assert.deepEqual([status, json.lastFour, json.shopperReference], [201, "0002", SHOPPER]);
    assert.equal((await send(ask(STORED.replace("?", `/${json.id}?`), "DELETE"))).status, 204);
    assert.deepEqual((await send(ask(STORED))).json.storedPaymentMethods, []);
    assert.equal((await ledger()).filter(({ id }) => id === json.id).at(-1)?.kind, "void");
  });

  test("a repeated idempotency key gives the first answer, a refusal by the issuer too", async () => {
    for (const sent of [charge(), charge(withCard({ number: "4000000000009995" })), token()]) {
      const [first, again] = [await send(sent), await send(sent)];
      assert.deepEqual(again.json, first.json);
    }
    const wrong = charge({ returnUrl: undefined });
    assert.equal((await send(wrong)).status, 422);
    const mended = charge();
    assert.equal((await send({ ...mended, headers: { ...wrong.headers } })).json.resultCode, "Authorised");
  });

  test("two requests with one key at once: the second is told that the first is in progress", async () => {
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "adyen", kind: "slow", times: 1 }) });
    const sent = charge();
    const [first, second] = await Promise.all([send(sent), send(sent)]);
    const [approved, refused] = first.status === 200 ? [first, second] : [second, first];
    assert.equal(approved.json.resultCode, "Authorised");
    assert.deepEqual([refused.status, refused.json.errorCode, refused.headers["transient-error"]], [422, "704", "true"]);
  });

  test("a reversal cancels what is held and refunds what is captured; a cancellation by reference leaves captured money alone", async () => {
    const since = (await ledger()).length;
    const held = (await send(hold())).json.pspReference as string;
    const { status, json } = await send(post(`/payments/${held}/reversals`));
    assert.deepEqual([status, json.status, json.paymentPspReference], [201, "received", held]);
    const captured = (await send(charge())).json.pspReference as string;
    const cancelled = await send(post("/cancels", { paymentReference: SESSION, reference: "cancel-1" }));
    assert.deepEqual([cancelled.status, cancelled.json.status], [201, "received"]);
    await send(post(`/payments/${captured}/reversals`));
    await send(hold());
    await send(post("/cancels", { paymentReference: SESSION, reference: "cancel-2" }));
    assert.deepEqual(
      (await ledger()).slice(since).map(({ kind }) => kind),
      ["authorization", "void", "charge", "refund", "authorization", "void"],
    );
  });
});
