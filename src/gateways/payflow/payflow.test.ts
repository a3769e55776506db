import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { shortReference } from "../kit/index.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const payflow = GATEWAYS_BUILT.payflow!;
const CUSTREF = shortReference(orderOf().reference, 12);
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const credentials = {
  vendor: new Secret("acmemerchant"),
  user: new Secret("apiuser"),
  partner: new Secret("PayPal"),
  password: new Secret("p&ss=word1"),
};

const PAID =
  "RESULT=0&PNREF=A10A6AE7042E&RESPMSG=Approved&AUTHCODE=331PNI&AVSZIP=Y&BILLTOLASTNAME[12]=Smith & Sons&AMT=49.95&ACCT=1111&CARDTYPE=0";
const VERIFIED = "RESULT=0&PNREF=A10AA633AB30&RESPMSG=Verified&AVSADDR=X&AVSZIP=Y&CVV2MATCH=Y";
const refused = (result: string, more = "") => answered(200, `RESULT=${result}&PNREF=A10AA63244D1&RESPMSG=Declined${more}`);

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(payflow, { credentials }), ...changes }, () =>
    Promise.resolve(answers[Math.min(count++, answers.length - 1)]!),
  );
}
const charge = (...answers: GatewayAnswer[]): Promise<Outcome> => payflow.charge(orderOf(), ioWith(answers));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("payflow requests", () => {
  test("a sale is tagged with lengths, field by field, so that no text of a caller can become a parameter", async () => {
    const io = ioWith([answered(200, PAID)]);
    const card = cardOf("4111111111111111", { month: "09", year: "2028", name: 'Jané "J" Smith&Sons', zip: "48375-12" });
    await payflow.charge(orderOf({ card, description: "Invoice 1001" }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://pilot-payflowpro.paypal.com/");
    assert.deepEqual(request.headers, {
      "Content-Type": "text/namevalue",
      "X-VPS-REQUEST-ID": shortReference(`${orderOf().reference}/pay`, 32),
      "X-VPS-CLIENT-TIMEOUT": "45",
    });
    assert.equal(
      body,
      "TRXTYPE[1]=S&TENDER[1]=C&PARTNER[6]=PayPal&VENDOR[12]=acmemerchant&USER[7]=apiuser&PWD[10]=p&ss=word1&AMT[5]=49.95&CURRENCY[3]=USD" +
        "&ACCT[16]=4111111111111111&EXPDATE[4]=0928&CVV2[3]=123&BILLTOFIRSTNAME[8]=Jane 'J'&BILLTOLASTNAME[10]=Smith&Sons&BILLTOZIP[7]=4837512" +
        `&CUSTREF[12]=${CUSTREF}&COMMENT1[36]=${SESSION}&COMMENT2[12]=Invoice 1001&VERBOSITY[4]=HIGH`,
    );
  });

  test("a card is verified for nothing, or stored unseen where the processor verifies none, each under an id of its own", async () => {
    const io = ioWith([answered(200, VERIFIED)]);
    const outcome = await payflow.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { payflow_pnref: "A10AA633AB30" });
    assert.match(io.sent[0]?.body ?? "", /^TRXTYPE\[1\]=A&.*&AMT\[4\]=0\.00&CURRENCY\[3\]=USD&CARDONFILE\[4\]=CITI&/);
    const unseen = ioWith([
      answered(200, "RESULT=4&PNREF=V18A0C24920E&RESPMSG=Invalid amount"),
      answered(200, "RESULT=0&PNREF=A10AA633AB31&RESPMSG=Approved"),
    ]);
    assert.equal((await payflow.tokenize(storing, unseen)).outcome, "approved");
    assert.match(unseen.sent[1]?.body ?? "", /^TRXTYPE\[1\]=L&/);
    assert.doesNotMatch(unseen.sent[1]?.body ?? "", /AMT/);
    assert.equal(new Set(unseen.sent.map(({ request }) => request.headers["X-VPS-REQUEST-ID"])).size, 2);
  });

  test("what the vendor cannot take is never sent; settings that cannot work are named", async () => {
    const io = ioWith([answered(200, PAID)]);
    assert.equal(codeOf(await payflow.charge(orderOf({ currency: "BHD", amountMinor: 1234 }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
    const fault = (password: string) =>
      payflow.checkSettings({ ...settingsOf(payflow), credentials: { ...credentials, password: new Secret(password) } });
    assert.equal(fault("p&ss=word1"), null);
    assert.match(fault('a"b') ?? "", /password/);
    assert.match(fault("naïve") ?? "", /password/);
  });
});

describe("payflow responses", () => {
  test("every RESULT of the vendor's table means what it says", async () => {
    const rows = {
      card_declined: "12",
      do_not_honor: "13",
      incorrect_number: "23",
      invalid_expiry: "24",
      insufficient_funds: "50",
      limit_exceeded: "51 113 122 117",
      incorrect_zip: "112",
      incorrect_cvc: "114",
      card_not_supported: "2 25",
      fraud_suspected: "125 128 170 171 172",
      gateway_credentials_invalid: "1 26 27 28",
      gateway_misconfigured: "3 4 5 6 7 8 9 10 14 22 29 52 100 118 121 131",
      processing_error: "19 20 120 99 101 105 108 110 111 116 200 402 600 601 1000",
      gateway_unavailable: "102 115 1001",
    };
    for (const [ours, results] of Object.entries(rows))
      for (const result of results.split(" ")) assert.equal(codeOf(await charge(refused(result))), ours, result);
  });

  test("a plain decline is told apart by its checks and the processor's words", async () => {
    assert.equal(codeOf(await charge(refused("12", "&CVV2MATCH=N"))), "incorrect_cvc");
    assert.equal(codeOf(await charge(refused("12", "&RESPTEXT=EXPIRED CARD"))), "expired_card");
    assert.equal(codeOf(await charge(refused("12", "&ADDLMSGS=PICK UP CARD"))), "lost_or_stolen");
    assert.equal(codeOf(await charge(refused("117", "&AVSZIP=N"))), "incorrect_zip");
  });

  test("an answer without RESULT, with another amount, or without a reference decides nothing; answers that decide nothing are asked for again", async () => {
    for (const text of [
      "<html>502</html>",
      "RESULT=0&RESPMSG=Approved",
      "RESULT=0&PNREF=A10A6AE7042E&AMT=4.99",
      "PNREF=A10A6AE7042E",
      "RESULT=constructor",
      "RESULT=133&RESPMSG=Data mismatch in HTTP retry request",
      "RESULT=4711&PNREF=A10A6AE7042E&RESPMSG=Something new",
      "RESULT=0&RESULT=12",
    ])
      assert.equal((await charge(answered(200, text))).outcome, "unknown", text);
    // Its adapter to the processor gave up waiting, or was cut off: the processor may have taken it.
    for (const result of ["403", "404"]) assert.equal((await charge(refused(result))).outcome, "unknown", result);
    // A time-out of PayPal's own processor, which other libraries take for 104.
    const late = answered(200, "RESULT=1000&PNREF=A10AA63244D1&RESPMSG=Generic processor error: 10001-Timeout processing request");
    assert.equal((await charge(late)).outcome, "unknown");
    assert.equal((await charge(late, answered(200, `${PAID}&DUPLICATE=1`))).outcome, "approved");
    const io = ioWith([refused("104"), LOST, answered(200, `${PAID}&DUPLICATE=1`)]);
    assert.equal((await payflow.charge(orderOf(), io)).outcome, "approved");
    assert.equal(new Set(io.sent.map(({ body }) => body)).size, 1);
    assert.equal((await charge(LOST, refused("1"))).outcome, "unknown");
  });

  test("a RESULT that decides nothing has the code of the vendor's table once it is proven that nothing was taken, however often it was repeated", async () => {
    const rows = { processing_error: "103 107 133 403 404", gateway_unavailable: "11 104 106 109 150 151" };
    for (const [ours, results] of Object.entries(rows))
      for (const result of results.split(" ")) {
        const io = ioWith([refused(result)]);
        assert.equal((await payflow.charge(orderOf(), io)).outcome, "unknown", result);
        assert.equal(io.notes["refused_as"] ?? "gateway_unavailable", ours, result);
      }
    const late = ioWith([answered(200, "RESULT=1000&PNREF=A10AA63244D1&RESPMSG=10001-Timeout processing request")]);
    await payflow.charge(orderOf(), late);
    assert.equal(late.notes["refused_as"], "processing_error");
  });

  test("a replay on a request id that was never sent is looked up before it counts", async () => {
    const found = answered(200, "RESULT=0&PNREF=VB0A00000001&ORIGRESULT=0&ORIGPNREF=A10A6AE7042E&TRANSSTATE=6&RESPMSG=Approved&AMT=49.95");
    assert.equal((await charge(answered(200, `${PAID}&DUPLICATE=1`), found)).outcome, "approved");
    assert.equal(
      (await charge(answered(200, `${PAID}&DUPLICATE=2`), answered(200, "RESULT=19&RESPMSG=Original transaction ID not found"))).outcome,
      "unknown",
    );
  });

  test("what a fraud filter holds, or the bank approves in part, is voided and refused", async () => {
    const held = refused("126");
    const io = ioWith([held, answered(200, "RESULT=0&PNREF=A10A6AE70430&RESPMSG=Approved")]);
    assert.equal(codeOf(await payflow.charge(orderOf(), io)), "fraud_suspected");
    assert.match(io.sent[1]?.body ?? "", /^TRXTYPE\[1\]=V&.*&ORIGID\[12\]=A10AA63244D1$/);
    const settled = ioWith([held, refused("108"), answered(200, "RESULT=0&PNREF=A10A6AE70431&RESPMSG=Approved")]);
    assert.equal(codeOf(await payflow.charge(orderOf(), settled)), "fraud_suspected");
    assert.match(settled.sent[2]?.body ?? "", /^TRXTYPE\[1\]=C&.*&ORIGID\[12\]=A10AA63244D1$/);
    for (const unclear of ["1", "99", "102", "115", "4711"]) {
      const doubtful = ioWith([held, refused(unclear), answered(200, "RESULT=0&PNREF=A10A6AE70431")]);
      assert.equal((await payflow.charge(orderOf(), doubtful)).outcome, "unknown", unclear);
      assert.equal(doubtful.sent.length, 2, "no credit after a void that may have been taken");
    }
    assert.equal((await charge(held, LOST)).outcome, "unknown");
    for (const words of ["Partial Approval&AMT=10.00", "Partial Approval: 10.00"]) {
      const part = answered(200, `RESULT=0&PNREF=A10A6AE7042E&RESPMSG=${words}`);
      assert.equal(codeOf(await charge(part, answered(200, "RESULT=0&PNREF=A10A6AE70430"))), "insufficient_funds", words);
    }
  });

  test("what the merchant's rules refuse after the bank's approval is voided, so that no hold stays, and refused whatever comes of that", async () => {
    for (const [result, code] of [
      ["112", "incorrect_zip"],
      ["114", "incorrect_cvc"],
      ["117", "limit_exceeded"],
    ] as const)
      for (const voided of [answered(200, "RESULT=0&PNREF=A10A6AE70999"), refused("108"), LOST]) {
        const io = ioWith([refused(result), voided]);
        assert.equal(codeOf(await payflow.charge(orderOf(), io)), code);
        assert.match(io.sent[1]?.body ?? "", /^TRXTYPE\[1\]=V&.*&ORIGID\[12\]=A10AA63244D1$/);
        assert.equal(io.sent.length, 2);
      }
  });

  test("a held verification is voided, and no money is ever credited for it", async () => {
    const io = ioWith([refused("126"), refused("108"), answered(200, "RESULT=0&PNREF=A10A6AE70431")]);
    assert.equal((await payflow.tokenize(orderOf({ mode: "tokenize" }), io)).outcome, "unknown");
    assert.deepEqual(
      io.sent.map(({ body }) => body.slice(0, 12)),
      ["TRXTYPE[1]=A", "TRXTYPE[1]=V"],
    );
  });

  test("a reversal that was refused is asked for under another request id, as its own would be answered with the refusal; a lost one is not (R-422)", async () => {
    const found = answered(200, "RESULT=0&PNREF=VB0A00000001&ORIGPNREF=A10A6AE7042E&RESPMSG=Approved&ORIGRESULT=0&AMT=49.95");
    const done = answered(200, "RESULT=0&PNREF=A10A6AE70431");
    const notes: Record<string, string> = {};
    const reverse = async (...answers: GatewayAnswer[]) => {
      const io = ioWith([found, ...answers]);
      const { outcome } = await payflow.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      return [outcome, ...io.sent.slice(1).map(({ request }) => request.headers["X-VPS-REQUEST-ID"])];
    };
    const id = (step: string) => shortReference(`${orderOf().reference}/${step}`, 32);
    // A request with wrong keys is none that the vendor remembers.
    for (const open of [LOST, refused("104"), answered(502, "<html>"), refused("1")])
      assert.deepEqual(await reverse(open), ["unknown", id("void")], JSON.stringify(open));
    assert.deepEqual(await reverse(refused("115")), ["unknown", id("void")]);
    assert.deepEqual(await reverse(refused("108"), LOST), ["unknown", id("void1"), id("credit1")]);
    assert.deepEqual(await reverse(refused("108"), refused("102")), ["unknown", id("void1"), id("credit1")]);
    assert.deepEqual(await reverse(refused("108"), done), ["voided", id("void2"), id("credit2")]);
  });

  test("a repeat that the vendor could not compare with the first request decides nothing, and its refusal hides no payment", async () => {
    const found = "RESULT=0&PNREF=VB0A00000001&ORIGPNREF=A10A6AE7042E&AMT=49.95&ORIGRESULT=";
    for (const again of [PAID, "RESULT=12&PNREF=A10AA63244D1&RESPMSG=Declined"]) {
      const io = ioWith([LOST, answered(200, `${again}&DUPLICATE=-1`)]);
      assert.equal((await payflow.charge(orderOf(), io)).outcome, "unknown");
      assert.equal((await payflow.lookUp!(traceOf(orderOf(), io.notes), ioWith([answered(200, `${found}12`)]))).outcome, "unknown");
      const paid = await payflow.lookUp!(traceOf(orderOf(), io.notes), ioWith([answered(200, `${found}0`)]));
      assert.match(paid.outcome === "approved" ? (paid.reason ?? "") : "", /duplicates/);
    }
    assert.equal((await charge(answered(200, `${PAID}&DUPLICATE=-1`))).outcome, "approved");
  });

  test("an inquiry is judged by the original's result, not by its own", async () => {
    const look = (text: string) => payflow.lookUp!(traceOf(orderOf()), ioWith([answered(200, text)]));
    const found = "RESULT=0&PNREF=VB0A00000001&ORIGPNREF=A10A6AE7042E&RESPMSG=Approved";
    const paid = await look(`${found}&ORIGRESULT=0&AMT=49.95`);
    assert.deepEqual(paid.outcome === "approved" && paid.processor, { payflow_pnref: "A10A6AE7042E" });
    assert.equal(codeOf(await look(`${found}&ORIGRESULT=12`)), "card_declined");
    // An inquiry has no words of the original's, which alone tell a time-out among 1000.
    for (const open of ["104", "1000"]) assert.equal((await look(`${found}&ORIGRESULT=${open}`)).outcome, "unknown", open);
    assert.equal((await look("RESULT=19&RESPMSG=Original transaction ID not found")).outcome, "absent");
    assert.equal((await look("RESULT=1&RESPMSG=User authentication failed")).outcome, "unknown");
    assert.equal((await payflow.lookUp!(traceOf(orderOf()), ioWith([LOST]))).outcome, "unknown");
  });

  test("an approval that the vendor will not settle, or that was voided since, is none (R-422)", async () => {
    const look = (more: string, order = orderOf()) =>
      payflow.lookUp!(
        traceOf(order),
        ioWith([answered(200, `RESULT=0&PNREF=VB0A00000001&ORIGPNREF=A10A6AE7042E&RESPMSG=Approved&${more}`)]),
      );
    for (const state of ["6", "7", "8", "9"])
      assert.equal((await look(`ORIGRESULT=0&AMT=49.95&TRANSSTATE=${state}`)).outcome, "approved", state);
    for (const state of ["0", "1", "3", "4", "10", "11", "12", "14", "15", "16", "106", "206", "x", ""])
      assert.equal((await look(`ORIGRESULT=0&AMT=49.95&TRANSSTATE=${state}`)).outcome, "unknown", state);
    // No void, and no credit above all, of what was voided.
    for (const result of ["0", "126"])
      assert.equal(codeOf(await look(`ORIGRESULT=${result}&AMT=49.95&TRANSSTATE=1006`)), "processing_error", result);
    for (const state of ["0", "3", "8"])
      assert.equal((await look(`ORIGRESULT=0&AMT=0.00&TRANSSTATE=${state}`, storing)).outcome, "approved", state);
    assert.equal((await look("ORIGRESULT=0&AMT=0.00&TRANSSTATE=106", storing)).outcome, "unknown");
  });
});
