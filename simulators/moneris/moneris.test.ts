import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { followUp, purchase, purchaseOf, request, store, storedPurchase, valueOf } from "./wrong-requests.ts";

let simulators: Simulators;
const send: Send = (sent) => senderTo(simulators, "moneris")(sent);
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

const arm = (fault: object) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "moneris", times: 1, ...fault }) });
const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/moneris`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;
const DUPLICATE = "The transaction was not sent to the host because of a duplicate order id";

describe("the Moneris simulator keeps to what Moneris does", () => {
  test("the sheet's worked example is approved with a padded message in a receipt of type text/html", async () => {
    const answer = await send(purchase());
    assert.match(answer.headers["content-type"] ?? "", /^text\/html/);
    assert.ok(answer.text.startsWith('<?xml version="1.0" standalone="yes"?><response><receipt><ReceiptId>3f6c0a5e-'));
    const said = ["ResponseCode", "ISO", "Complete", "TransAmount", "CardType", "TimedOut", "AvsResultCode", "CvdResultCode", "Ticket"];
    assert.deepEqual(
      said.map((name) => valueOf(answer, name)),
      ["027", "01", "true", "12.50", "V", "false", "Y", "1M", "null"],
    );
    assert.equal(valueOf(answer, "Message"), "APPROVED           *                    =");
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", valueOf(answer, "TransID"), valueOf(answer, "ReceiptId")]);
  });

  test("amounts decide for cards that are not uniform, with the issuer's code beside the response code", async () => {
    const codesOf = async (amount: string, pan = "4111111111111111") => {
      const answer = await send(purchase({ amount, pan }));
      return `${valueOf(answer, "ResponseCode")} ${valueOf(answer, "ISO")}`;
    };
    assert.deepEqual(
      [await codesOf("1.05"), await codesOf("0.51"), await codesOf("9.54"), await codesOf("55.00"), await codesOf("125.00")],
      ["481 05", "481 51", "482 54", "421 41", "482 54"],
    );
    assert.deepEqual([await codesOf("10.05"), await codesOf("1.05", "4242424242424242")], ["027 01", "027 01"]);
  });

  test("an order id is taken once, by whatever type and however it ended, in its own store alone", async () => {
    const members = purchaseOf({ pan: "4000000000000002" });
    assert.equal(valueOf(await send(request("purchase", members)), "ResponseCode"), "481");
    const again = await send(request("preauth", { ...members, pan: "4242424242424242" }));
    assert.deepEqual([valueOf(again, "Message"), valueOf(again, "Complete"), valueOf(again, "ResponseCode")], [DUPLICATE, "false", "null"]);
    assert.equal(valueOf(await send(request("purchase", members, { store_id: "store1" })), "ResponseCode"), "481");
  });

  test("a status check finds the receipt of its order, charges nothing, and finds nothing as long as a lag was ordered", async () => {
    const members = purchaseOf();
    const check = request("purchase", members, { status_check: "true" });
    assert.equal(valueOf(await send(check), "StatusMessage"), "Not Found");
    const first = await send(request("purchase", members));
    const found = await send(check);
    assert.deepEqual([valueOf(found, "StatusMessage"), valueOf(found, "TransID")], ["Found", valueOf(first, "TransID")]);
    await arm({ kind: "lookup_lag", path: "/gateway2/servlet/MpgRequest/status_check" });
    assert.equal(valueOf(await send(check), "StatusMessage"), "Not Found");
    assert.equal((await ledger()).filter(({ kind, reference }) => kind === "charge" && reference === members["order_id"]).length, 1);
  });

  test("the vault stores what every purchase declines, as often as it is sent, until it is deleted", async () => {
    const stored = [await send(store({ pan: "4000000000000002" })), await send(store({ pan: "4000000000000002" }))];
    const [one = "", other = ""] = stored.map((answer) => valueOf(answer, "DataKey"));
    assert.ok(/^[A-Za-z0-9]{25}$/.test(one) && one !== other);
    assert.deepEqual([valueOf(stored[0]!, "ResSuccess"), valueOf(stored[0]!, "masked_pan")], ["true", "4000***0002"]);
    assert.equal(valueOf(await send(storedPurchase(one)), "ResponseCode"), "481");
    assert.equal(valueOf(await send(request("res_delete", { data_key: one })), "ResSuccess"), "true");
    assert.equal(valueOf(await send(storedPurchase(one)), "Message"), "Cancelled: Invalid data key");
  });

  test("a purchase is corrected before the batch closes and refunded after, each once", async () => {
    const first = await send(purchase());
    const correction = followUp("purchasecorrection", first);
    const members = (correction.body as { request: { purchasecorrection: Record<string, string> } }).request.purchasecorrection;
    const check = request("purchasecorrection", members, { status_check: "true" });
    assert.equal(valueOf(await send(check), "StatusMessage"), "Not Found");
    assert.deepEqual([valueOf(await send(correction), "TransType"), valueOf(await send(correction), "Complete")], ["11", "false"]);
    const shown = await send(check);
    assert.deepEqual([valueOf(shown, "StatusMessage"), valueOf(shown, "TransType")], ["Found", "11"]);
    const second = await send(purchase());
    await arm({ kind: "settle" });
    assert.equal(valueOf(await send(followUp("purchasecorrection", second)), "Complete"), "false");
    const refund = followUp("refund", second, { amount: "12.50" });
    assert.deepEqual([valueOf(await send(refund), "Complete"), valueOf(await send(refund), "Complete")], ["true", "false"]);
    const held = await send(request("preauth", purchaseOf()));
    assert.equal(valueOf(await send(followUp("completion", held, { comp_amount: "10.00" })), "TransAmount"), "10.00");
  });

  test("a document with a transaction too many is refused", async () => {
    const { body } = purchase();
    const twice = { ...(body as { request: object }).request, preauth: purchaseOf() };
    const answer = await send({ at: "POST /gateway2/servlet/MpgRequest", format: "xml", body: { request: twice } });
    assert.equal(valueOf(answer, "Message"), "The document is not well-formed XML.");
  });
});
