import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send, Sent } from "../kit/wrong-requests.ts";
import { digestOf, follow, identifier, jwtOf, later, sale, search, sign, signatureOf, store, reverse } from "./wrong-requests.ts";

let simulators: Simulators;
let raw: Send;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  raw = senderTo(simulators, "cybersource");
  send = (sent) => raw(sign(sent));
});
after(() => simulators.close());

const ledger = async () =>
  (
    (await (await fetch(`${simulators.url}/_ledger/cybersource`)).json()) as {
      entries: { kind: string; reference: string; card: string }[];
    }
  ).entries;
const found = async (code: string) => (await send(search(code))).json;

/** The sheet's worked example. */
const BODY =
  '{"clientReferenceInformation":{"code":"9f1c2b7e5d6a4c0f8a21"},"processingInformation":{"capture":true,"commerceIndicator":"moto"},"paymentInformation":{"card":{"number":"4111111111111111","expirationMonth":"10","expirationYear":"2030","securityCode":"999","type":"001"}},"orderInformation":{"amountDetails":{"totalAmount":"12.34","currency":"USD"},"billTo":{"firstName":"Ada","lastName":"Lovelace","postalCode":"77777","country":"US"}}}';
const DATE = "Fri, 20 Nov 2026 22:00:00 GMT";

describe("the Cybersource simulator keeps to what Cybersource does", () => {
  test("requests are signed as in the sheet's worked examples, in either way and with no other secret", async () => {
    assert.equal(BODY.length, 436);
    const digest = digestOf(BODY);
    assert.equal(digest, "hXkZF+zefuECemeikty4V03m2a6uQ5gi2DVYSfxEX5I=");
    assert.equal(signatureOf("POST /pts/v2/payments", digest, DATE), "OGoUDN0TiI8X6GX45PzebufTGiwz/cenRyMXNZcuzMc=");
    assert.equal(
      signatureOf("GET /tss/v2/transactions/6750124114786780104953", null, DATE),
      "pTVq9YSqMRTJiidKtqY9NevyaR5WwwCYSBb3MA6tH7s=",
    );
    const claims = {
      digest,
      "digest-algorithm": "SHA-256",
      iat: 1795212000,
      exp: 1795212120,
      "request-host": "apitest.cybersource.com",
      "request-resource-path": "/pts/v2/payments",
      "request-method": "post",
      iss: "examplemid",
      jti: "11111111-2222-4333-8444-555555555555",
      "v-c-jwt-version": "2",
      "v-c-merchant-id": "examplemid",
    };
    assert.equal(jwtOf(claims).split(".")[2], "xOxsMNuzBBoP5pM80Okb7N_jSvecrVURjKxNa_DcEPY");
    for (const way of ["jwt", "http_signature"] as const) {
      assert.equal((await raw(sign(sale(), { way }))).status, 201);
      const get = { at: `GET /tss/v2/transactions/${(await send(sale())).json.id}` };
      assert.equal((await raw(sign(get, { way }))).status, 200);
      assert.equal((await raw(sign(sale(), { way, secret: "YW5vdGhlcg==" }))).status, 401);
    }
  });

  test("a token of another time, host, path, method or issuer is refused, and one that was used already", async () => {
    const iat = Math.floor(Date.now() / 1000);
    const wrong: object[] = [{ iat: iat - 200, exp: iat - 80 }, { iat, exp: iat + 121 }, { "request-host": "example.com" }];
    wrong.push({ "request-resource-path": "/pts/v2" }, { "request-method": "POST" }, { iss: "another" }, { "v-c-jwt-version": "1" });
    wrong.push({ digest: undefined }, { "digest-algorithm": undefined }, { "v-c-merchant-id": "wrong_shop" }, { jti: "" });
    for (const claims of wrong)
      assert.equal((await raw(sign(sale(), { claims: claims as Record<string, unknown> }))).status, 401, JSON.stringify(claims));
    const once = sign(sale());
    assert.deepEqual([(await raw(once)).status, (await raw(once)).status], [201, 401]);
  });

  test("a sale is authorized and captured, and found by our code and by the payment's id", async () => {
    const code = randomUUID();
    const { status, json, headers } = await send(sale({ code }));
    assert.deepEqual([status, json.status, json.orderInformation.amountDetails.authorizedAmount], [201, "AUTHORIZED", "12.34"]);
    assert.match(String(headers["v-c-correlation-id"]), /^[a-z]{24}$/);
    assert.match(json.id as string, /^[0-9]{22}$/);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.reference, last?.card], ["charge", code, "************1111"]);
    const { totalCount, _embedded } = await found(code);
    assert.deepEqual([totalCount, _embedded.transactionSummaries[0].id], [1, json.id]);
    const [auth, bill] = _embedded.transactionSummaries[0].applicationInformation.applications;
    assert.deepEqual([auth, bill.name], [{ name: "ics_auth", reasonCode: "100", rCode: "1", rFlag: "SOK" }, "ics_bill"]);
    assert.equal((await send({ at: `GET /tss/v2/transactions/${json.id}` })).json.clientReferenceInformation.code, code);
    assert.equal((await found("none"))._embedded, undefined);
    assert.equal(
      (await send(search(code, { query: `clientReferenceInformation.code:"${code}" AND submitTimeUtc:[NOW+1DAY TO NOW+2DAYS]` }))).json
        .totalCount,
      0,
    );
  });

  test("nothing is replayed: a request that is sent again charges again, unless the account has the protection", async () => {
    const sent = sale();
    assert.notEqual((await send(sent)).json.id, (await send(sent)).json.id);
    const guarded = (again: Sent) => raw(sign(again, { merchant: "vpc_shop" }));
    assert.equal((await guarded(sent)).status, 201);
    assert.equal((await guarded(sent)).json.reason, "DUPLICATE_REQUEST");
    const { body } = sale();
    const other = { ...(body as object), clientReferenceInformation: (sent.body as Record<string, unknown>)["clientReferenceInformation"] };
    assert.equal((await guarded({ ...sent, body: other })).json.reason, "DUPLICATE_REQUEST");
  });

  test("a decline is 201 and can be found", async () => {
    const code = randomUUID();
    const { status, json } = await send(sale({ code, card: { number: "4000000000000002" } }));
    assert.deepEqual([status, json.status, json.errorInformation.reason], [201, "DECLINED", "PROCESSOR_DECLINED"]);
    assert.equal((await found(code))._embedded.transactionSummaries[0].applicationInformation.rFlag, "DCARDREFUSED");
  });

  test("what the risk rules refuse leaves a hold that is reversed by the payment's id or by our own", async () => {
    for (const comments of ["AUTHORIZED_RISK_DECLINED", "AUTHORIZED_PENDING_REVIEW", "AVS_FAILED", "CV_FAILED", "PARTIAL_AUTHORIZED"]) {
      const code = randomUUID();
      const { json } = await send(sale({ code, comments }));
      assert.notEqual(json.status, "AUTHORIZED");
      assert.equal((await send(follow(json.id as string, "voids"))).json.reason, "NOT_VOIDABLE");
      assert.equal((await send(reverse(code, "reversals"))).json.status, "REVERSED");
      assert.equal((await send(follow(json.id as string, "reversals"))).json.reason, "AUTH_ALREADY_REVERSED");
    }
    const partial = (await send(sale({ comments: "PARTIAL_AUTHORIZED" }))).json;
    assert.equal(partial.orderInformation.amountDetails.authorizedAmount, "6.17");
    assert.equal((await send(sale({ comments: "DO_NOT_HONOR" }))).json.processorInformation.responseCode, "05");
    assert.equal((await send(sale({ comments: "PENDING_AUTHENTICATION" }))).json.status, "PENDING_AUTHENTICATION");
    assert.equal((await send(sale({ amount: "1500.00" }))).json.errorInformation.reason, "PROCESSOR_DECLINED");
  });

  test("a stored card is its number alone: the same card is the same identifier, and the charge brings the expiry", async () => {
    const first = (await send(store())).json;
    const { id } = first.tokenInformation.instrumentIdentifier;
    assert.equal((await send(store())).json.tokenInformation.instrumentIdentifier.id, id);
    const direct = await send(identifier());
    assert.deepEqual([direct.status, direct.json.id, direct.json.card.number], [200, id, "411111XXXXXX1111"]);
    assert.equal((await send(later(id as string))).json.status, "AUTHORIZED");
    assert.equal((await send(store({ number: "4000000000000002" }))).json.tokenInformation, undefined);
    assert.equal((await send({ at: `GET /tms/v1/instrumentidentifiers/${id}` })).json.state, "ACTIVE");
    assert.equal((await send({ at: `DELETE /tms/v1/instrumentidentifiers/${id}` })).status, 204);
    assert.equal((await send(later(id as string))).json.reason, "INVALID_DATA");
  });

  test("a sale is voided by our own identifier, a hold is captured, and what is settled is refunded", async () => {
    const code = randomUUID();
    const { id } = (await send(sale({ code }))).json;
    assert.equal((await send(reverse(code, "voids"))).json.status, "VOIDED");
    assert.equal((await send(reverse(code, "voids"))).json.reason, "NOT_VOIDABLE");
    assert.equal((await send(follow(id as string, "refunds"))).json.reason, "CAPTURE_ALREADY_VOIDED");
    assert.equal((await found(code))._embedded.transactionSummaries[0].applicationInformation.applications[2].name, "ics_void");
    const hold = (await send(sale({ capture: false }))).json.id as string;
    assert.equal((await send(follow(hold, "captures"))).json.status, "PENDING");
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "cybersource", kind: "settle" }) });
    assert.equal((await send(follow(hold, "voids"))).json.reason, "NOT_VOIDABLE");
    assert.equal((await send(follow(hold, "refunds"))).json.status, "PENDING");
  });

  test("an account without relaxed address requirements misses what the address lacks", async () => {
    const sent = sale();
    const { billTo } = (sent.body as { orderInformation: { billTo: object } }).orderInformation;
    const strict = () => raw(sign(sent, { merchant: "address_shop" }));
    const { json } = await strict();
    assert.deepEqual(json.details, [{ field: "orderInformation.billTo.address1", reason: "MISSING_FIELD" }]);
    Object.assign(billTo, { address1: "14 Main Street", locality: "Pecan Springs", email: "ada@lovelace.example" });
    assert.equal((await strict()).json.details[0].field, "orderInformation.billTo.administrativeArea");
    Object.assign(billTo, { administrativeArea: "TX" });
    assert.equal((await strict()).status, 201);
  });

  test("the index of payments lags behind them", async () => {
    const code = randomUUID();
    await send(sale({ code }));
    const arm = (times: number) =>
      fetch(`${simulators.url}/_faults`, {
        method: "POST",
        body: JSON.stringify({ gateway: "cybersource", kind: "lookup_lag", times, path: "/tss" }),
      });
    await arm(1);
    assert.deepEqual([(await found(code)).totalCount, (await found(code)).totalCount], [0, 1]);
  });
});
