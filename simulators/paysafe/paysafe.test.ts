import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { ACCOUNT, ask, auth, cancellation, follow, post, profile, settlementOf, tokenAuth, verification } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "paysafe");
});
after(() => simulators.close());

const settleBatch = () =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "paysafe", kind: "settle", times: 1 }) });
const referenceOf = (sent: { body?: unknown }) => (sent.body as { merchantRefNum: string }).merchantRefNum;
const found = async (reference: string, kind = "auths") =>
  (await send(ask(`${ACCOUNT}/${kind}?merchantRefNum=${encodeURIComponent(reference)}&limit=10`))).json[kind];

describe("the Paysafe simulator keeps to what Paysafe does", () => {
  test("the sheet's worked example is charged in the account's currency, its settlement pending under another id", async () => {
    assert.equal(
      basicOf("test_examplemerchant", "B-qa2-0-0123456789abcdef"),
      "Basic dGVzdF9leGFtcGxlbWVyY2hhbnQ6Qi1xYTItMC0wMTIzNDU2Nzg5YWJjZGVm",
    );
    const { status, json } = await send(auth());
    const { lastDigits, type } = json.card;
    assert.deepEqual(
      [status, json.status, json.amount, json.currencyCode, type, lastDigits],
      [200, "COMPLETED", 1250, "USD", "VI", "1111"],
    );
    assert.deepEqual([json.settlements[0].status, json.settlements[0].amount], ["PENDING", 1250]);
    assert.notEqual(json.settlements[0].id, json.id);
    const euro = await send({ ...auth(), at: "POST /cardpayments/v1/accounts/1002158491/auths" });
    assert.equal(euro.json.currencyCode, "EUR");
  });

  test("a decline has an id, no status, its code also in a header, and uses its reference up", async () => {
    const sent = auth({}, { cardNum: "4000000000009995" });
    const { status, json, headers } = await send(sent);
    assert.deepEqual([status, json.error.code, json.status], [402, "3022", undefined]);
    assert.equal(json.error.message, "The card has been declined due to insufficient funds.");
    assert.equal(headers["x-application-status-code"], "3022");
    assert.equal((await send(sent)).json.error.code, "5031");
    const [failed] = await found(referenceOf(sent));
    assert.deepEqual([failed.id, failed.status, failed.error.code], [json.id, "FAILED", "3022"]);
  });

  test("a reference is refused again on its account, not replayed, unless the check is waived", async () => {
    const sent = auth();
    assert.equal((await send(sent)).status, 200);
    const { status, json } = await send(sent);
    assert.deepEqual([status, json.error.code, json.id], [409, "5031", undefined]);
    assert.equal((await send({ ...sent, at: "POST /cardpayments/v1/accounts/1002158491/auths" })).status, 200);
    assert.equal((await send(auth({ merchantRefNum: referenceOf(sent), dupCheck: false }))).status, 200);
    assert.equal((await found(referenceOf(sent))).length, 2);
    assert.equal((await found("never sent")).length, 0);
  });

  test("a verification takes nothing and is found among verifications alone", async () => {
    const sent = verification();
    const { json } = await send(sent);
    assert.deepEqual([json.status, json.amount, json.settlements], ["COMPLETED", undefined, undefined]);
    assert.equal((await found(referenceOf(sent), "verifications"))[0].id, json.id);
    assert.equal((await found(referenceOf(sent))).length, 0);
  });

  test("a sale is undone by cancelling its settlement and releasing the hold, after the batch by a refund", async () => {
    const id = (await send(auth())).json.id as string;
    const release = () => post(`${ACCOUNT}/auths/${id}/voidauths`, follow());
    assert.equal((await send(release())).json.error.code, "3502");
    const settlement = (await send(ask(`${ACCOUNT}/auths/${id}`))).json.settlements[0].id as string;
    const refund = (of: string) => post(`${ACCOUNT}/settlements/${of}/refunds`, follow());
    assert.equal((await send(refund(settlement))).json.error.code, "3406");
    assert.equal((await send(cancellation(settlement))).json.status, "CANCELLED");
    assert.equal((await send(release())).json.status, "COMPLETED");
    assert.equal((await send(ask(`${ACCOUNT}/auths/${id}`))).json.status, "CANCELLED");
    const later = await settlementOf(send);
    await settleBatch();
    assert.equal((await send(cancellation(later))).json.error.code, "3415");
    assert.equal((await send(refund(later))).json.status, "PENDING");
    assert.equal((await send(refund(later))).json.error.code, "5068");
  });

  test("the vault keeps a card that every issuer refuses; its C token pays until the profile goes, its P token never", async () => {
    const refused = await send(profile({}, { cardNum: "4000000000000002" }));
    assert.deepEqual([refused.status, refused.json.cards[0].cardType], [200, "VI"]);
    assert.match(refused.json.cards[0].paymentToken as string, /^C/);
    assert.match(refused.json.paymentToken as string, /^P/);
    const sale = await tokenAuth(send);
    assert.equal((await send(sale)).json.status, "COMPLETED");
    const customer = (await send(profile())).json;
    const again = await send(profile({ merchantCustomerId: customer.merchantCustomerId }));
    assert.deepEqual([again.status, again.json.error.code], [409, "7505"]);
    assert.ok((again.json.links[0].href as string).endsWith(`/customervault/v1/profiles/${customer.id}`));
    const shown = (await send(ask(`/customervault/v1/profiles?merchantCustomerId=${customer.merchantCustomerId}`))).json;
    assert.deepEqual([shown.id, shown.cards], [customer.id, undefined]);
    const whole = (await send(ask(`/customervault/v1/profiles/${customer.id}?fields=addresses,cards`))).json;
    assert.equal(whole.cards[0].paymentToken, customer.cards[0].paymentToken);
    const removed = await send(ask(`/customervault/v1/profiles/${customer.id}`, "DELETE"));
    assert.deepEqual([removed.status, removed.text], [200, ""]);
    const gone = await tokenAuth(send, { card: { paymentToken: customer.cards[0].paymentToken } });
    assert.equal((await send(gone)).json.error.code, "5501");
  });
});
