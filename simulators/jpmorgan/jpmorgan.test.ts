import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { PAYMENT, VERIFICATION, request } from "./wrong-requests.ts";

let simulators: Simulators;
const send: Send = (sent) => senderTo(simulators, "jpmorgan")(sent);
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

test("a stored card is charged by its two ids", async () => {
  const stored = (await send(await request(send, "POST /api/v2/verifications", VERIFICATION))).json;
  const { consumerProfileId, paymentMethodId } = stored.accountHolder.consumerProfileInfo;
  const later = {
    ...PAYMENT,
    paymentMethodType: { consumerProfile: { consumerProfileId, paymentMethodId } },
    initiatorType: "MERCHANT",
    accountOnFile: "STORED",
  };
  const paid = await send(await request(send, "POST /api/v2/payments", later));
  assert.deepEqual([paid.status, paid.json.transactionState], [200, "CLOSED"]);
});

test("amounts decide, and a decline has status 200", async () => {
  const refused = await send(await request(send, "POST /api/v2/payments", { ...PAYMENT, amount: 52_100 }));
  assert.deepEqual([refused.status, refused.json.responseStatus, refused.json.responseCode], [200, "DENIED", "INSUFFICIENT_FUNDS"]);
});

test("a request-id is taken once, and finds its payment afterwards", async () => {
  const first = await request(send, "POST /api/v2/payments", PAYMENT);
  const paid = await send(first);
  const again = await request(send, "POST /api/v2/payments", PAYMENT);
  const id = first.headers?.["request-id"] ?? "";
  assert.equal((await send({ ...again, headers: { ...again.headers, "request-id": id } })).status, 409);
  const found = await send(await request(send, `GET /api/v2/payments?requestIdentifier=${id}`));
  assert.equal(found.json.transactionId, paid.json.transactionId);
});

test("what was captured at once cannot be voided", async () => {
  const { transactionId } = (await send(await request(send, "POST /api/v2/payments", PAYMENT))).json;
  assert.equal((await send(await request(send, `PATCH /api/v2/payments/${transactionId}`, { isVoid: true }))).status, 412);
});
