import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { ask, CARD, charge, follow, store, storedCharge } from "./wrong-requests.ts";

let simulators: Simulators;
const send: Send = (sent) => senderTo(simulators, "worldpay")(sent);
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/worldpay`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;
const holder = (cardHolderName: string) => charge({ paymentInstrument: { ...CARD, cardHolderName } });
const addressed = (postalCode: string, cancelOn: object) =>
  charge({
    paymentInstrument: { ...CARD, billingAddress: { address1: "1 Road", city: "London", countryCode: "GB", postalCode } },
    settlement: { auto: true, cancelOn },
  });
const look = async (reference: string) =>
  (await send(ask(`/paymentQueries/payments?transactionReference=${reference}`))).json._embedded.payments;

describe("the Worldpay simulator keeps to what Worldpay does", () => {
  test("the sheet's worked example is captured with status 202; its answer carries the id for the support", async () => {
    assert.equal(basicOf("ExampleUser01", "ExamplePass01"), "Basic RXhhbXBsZVVzZXIwMTpFeGFtcGxlUGFzczAx");
    const { status, json, headers } = await send(charge());
    assert.deepEqual([status, json.outcome, json.paymentInstrument.lastFour], [202, "sentForSettlement", "2701"]);
    assert.deepEqual(
      json.riskFactors.map(({ type, detail, risk }: Record<string, string>) => `${type} ${detail} ${risk}`),
      ["avs address notChecked", "avs postcode notChecked"],
    );
    assert.deepEqual(Object.keys(json._actions), ["refundPayment", "partiallyRefundPayment", "reversePayment"]);
    assert.ok(headers["wp-correlationid"]);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", json.paymentId, json.transactionReference]);
  });

  test("a decline has status 201 with code and words and neither issuer nor links; a second post is a second payment", async () => {
    const refused = await send(holder("REFUSED51"));
    assert.deepEqual([refused.status, refused.json.refusalCode, refused.json.refusalDescription], [201, "51", "LIMIT EXCEEDED"]);
    assert.deepEqual([refused.json.issuer, refused.json._links], [undefined, undefined]);
    assert.deepEqual((await send(holder("REFUSEDRC83MAC03"))).json.advice, { code: "03" });
    assert.equal((await send(holder("card_declined"))).json.outcome, "sentForSettlement", "any other name is authorised");
    const again = charge();
    const ids = [(await send(again)).json.paymentId, (await send(again)).json.paymentId];
    assert.notEqual(ids[0], ids[1]);
  });

  test("a code or address that does not match cancels an approval unless that was disabled; a match has no risk factor", async () => {
    const cvc = await send(charge({ paymentInstrument: { ...CARD, cvc: "444" }, settlement: { auto: true } }));
    assert.deepEqual([cvc.status, cvc.json.outcome, cvc.json._actions], [202, "sentForCancellation", undefined]);
    assert.equal((await send(addressed("FFFF", {}))).json.outcome, "sentForCancellation");
    const disabled = await send(addressed("JJJJ", { avsNotMatched: "disabled" }));
    assert.deepEqual([disabled.json.outcome, disabled.json.riskFactors.length], ["sentForSettlement", 2]);
    assert.deepEqual((await send(addressed("AAAA", {}))).json.riskFactors, []);
    assert.equal((await look(cvc.json.transactionReference as string))[0].lastEvent, "cancellationRequestSubmitted");
  });

  test("a stored card is charged by its link or by id and namespace; its namespace takes it once", async () => {
    const first = store();
    const { token, outcome } = (await send(first)).json;
    assert.equal(outcome, "authorized");
    const { namespace } = (first.body as { instruction: { tokenCreation: { namespace: string } } }).instruction.tokenCreation;
    assert.equal((await send(storedCharge({ type: "token", href: token.href }))).status, 202);
    assert.equal((await send(storedCharge({ type: "token", tokenId: token.tokenId, namespace }))).status, 202);
    assert.equal((await send(store({ tokenCreation: { type: "worldpay", namespace } }))).status, 400);
  });

  test("without settlement an approval is held until its link settles or cancels it, each once", async () => {
    const hold = async () => (await send(charge({ settlement: undefined }))).json;
    const held = await hold();
    assert.equal(held.outcome, "authorized");
    const settle = follow(held._actions.settlePayment.href as string);
    assert.deepEqual([(await send(settle)).json.outcome, (await send(settle)).status], ["sentForSettlement", 400]);
    const cancelled = await send(follow((await hold())._actions.cancelPayment.href as string));
    assert.deepEqual([cancelled.status, cancelled.json.outcome], [202, "sentForCancellation"]);
  });

  test("a payment is found by reference with relative links, and reversed by the link of the Card Payments API", async () => {
    const { transactionReference, paymentId } = (await send(charge())).json;
    const [found] = await look(transactionReference as string);
    assert.deepEqual([found.paymentId, found.lastEvent, found.value.amount], [paymentId, "settlementRequestSubmitted", 1250]);
    const detail = (await send(ask(found._links.self.href as string))).json;
    assert.equal((await send(follow(detail._links["cardPayments:reverse"].href as string))).status, 202);
    assert.deepEqual((await ledger()).at(-1)?.kind, "void");
    const events = (await send(ask(`/payments/events?transactionRef=${transactionReference}&entity=default`))).json;
    assert.equal(events.lastEvent, "Sent for Reversal");
    assert.deepEqual(await look("none"), []);
  });

  test("after the batch has closed a reversal is a refund", async () => {
    const { _actions } = (await send(charge())).json;
    const fault = { gateway: "worldpay", kind: "settle", times: 1, path: "/api/payments" };
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
    assert.equal((await send(follow(_actions.reversePayment.href as string))).json.outcome, "sentForReversal");
    assert.deepEqual((await ledger()).at(-1)?.kind, "refund");
  });

  test("a look-up does not find a payment as long as a lag was ordered", async () => {
    const { transactionReference } = (await send(charge())).json;
    const fault = { gateway: "worldpay", kind: "lookup_lag", times: 1, containing: transactionReference };
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
    const counts = [await look(transactionReference as string), await look(transactionReference as string)].map(({ length }) => length);
    assert.deepEqual(counts, [0, 1]);
  });
});
