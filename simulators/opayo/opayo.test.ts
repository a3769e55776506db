import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send, Sent } from "../kit/wrong-requests.ts";
import { following, linesOf, made, register, report } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "opayo");
});
after(() => simulators.close());

const linesFor = async (sent: Sent | Promise<Sent>) => linesOf(await send(await sent));

describe("the Opayo simulator keeps to what Opayo does", () => {
  test("the address line 88, the postcode 412 and the code 123 match, others do not", async () => {
    assert.equal((await linesFor(register()))["AVSCV2"], "ALL MATCH");
    const other = await linesFor(register({ BillingPostCode: "SW1A 1AA", CV2: "999" }));
    assert.deepEqual([other["AVSCV2"], other["AddressResult"], other["CV2Result"]], ["NO DATA MATCHES", "MATCHED", "NOTMATCHED"]);
    assert.equal(
      (await linesFor(register({ BillingAddress1: "1", BillingPostCode: "1", CV2: "999", ApplyAVSCV2: "1" })))["Status"],
      "REJECTED",
    );
  });

  test("a decline has the bank's code, and its VendorTxCode is used up", async () => {
    const sent = register({ CardNumber: "4000000000009995" });
    const declined = await linesFor(sent);
    assert.deepEqual([declined["Status"], declined["DeclineCode"], declined["BankAuthCode"]], ["NOTAUTHED", "51", ""]);
    assert.match((await linesFor(sent))["StatusDetail"] ?? "", /^4042/);
  });

  test("a report finds a payment whose answer was lost, with the keys that a void needs", async () => {
    const sent = register({ CardNumber: "4000000000000259", VendorTxCode: "ps-lost" });
    const answer = await Promise.race([send(sent).catch(() => "cut"), new Promise((resolve) => setImmediate(resolve, "open"))]);
    assert.equal(answer, "open");
    const seen = async () => (await send(report("ps-lost"))).text;
    while (!(await seen()).includes("<errorcode>0000<")) await new Promise((resolve) => setImmediate(resolve));
    const text = await seen();
    const member = (name: string) => new RegExp(`<${name}>([^<]*)<`).exec(text)?.[1] ?? "";
    assert.deepEqual([member("txstateid"), member("last4digits"), member("amount")], ["16", "0259", "25.00"]);
    const original = {
      VendorTxCode: "ps-lost",
      VPSTxId: member("vpstxid"),
      SecurityKey: member("securitykey"),
      TxAuthNo: member("vpsauthcode"),
    };
    assert.match((await linesFor(following(send, "VOID", original)))["StatusDetail"] ?? "", /^2005/);
  });

  test("what is settled is refunded, not voided", async () => {
    const sent = await following(send, "VOID");
    await fetch(`${simulators.url}/_faults`, {
      method: "POST",
      body: JSON.stringify({ gateway: "opayo", kind: "settle", path: "/gateway/service/void" }),
    });
    assert.match((await linesFor(sent))["StatusDetail"] ?? "", /^4037/);
    assert.equal((await linesFor(following(send, "REFUND")))["Status"], "OK");
  });

  test("a registration takes no money, is authorised up to 115 % and cancelled", async () => {
    const { original, related } = await made(send, { TxType: "AUTHENTICATE" });
    const authorise = { TxType: "AUTHORISE", Amount: "20.00", Description: "Later", ...related };
    const at = (service: string, body: Record<string, string>): Sent => ({
      at: `POST /gateway/service/${service}.vsp`,
      body: { VPSProtocol: "4.00", Vendor: "acmevendor", ...body },
      format: "form",
    });
    assert.equal((await linesFor(at("authorise", authorise)))["Status"], "OK");
    assert.match((await linesFor(at("authorise", { ...authorise, VendorTxCode: "ps-again" })))["StatusDetail"] ?? "", /^4044/);
    const { VendorTxCode = "", VPSTxId = "", SecurityKey = "" } = original;
    assert.equal((await linesFor(at("cancel", { TxType: "CANCEL", VendorTxCode, VPSTxId, SecurityKey })))["Status"], "OK");
  });

  test("a token pays again until it is removed", async () => {
    const { Token = "" } = await linesFor(register({ CreateToken: "1" }));
    const { body, ...rest } = register({ Token, COFUsage: "SUBSEQUENT" });
    const {
      CardNumber: _number,
      CardHolder: _holder,
      ExpiryDate: _expiry,
      CardType: _type,
      CV2: _code,
      ...kept
    } = body as Record<string, string>;
    assert.equal((await linesFor({ ...rest, body: kept }))["Status"], "OK");
    const remove = { VPSProtocol: "4.00", Vendor: "acmevendor", TxType: "REMOVETOKEN", Token };
    assert.equal((await linesFor({ at: "POST /gateway/service/removetoken.vsp", body: remove, format: "form" }))["Status"], "OK");
    assert.match((await linesFor({ ...rest, body: { ...kept, VendorTxCode: "ps-gone" } }))["StatusDetail"] ?? "", /^4050/);
  });

  test("a browser payment that must be authenticated is sent to its bank", async () => {
    const browser = {
      AccountType: "E",
      ClientIPAddress: "203.0.113.7",
      ThreeDSNotificationURL: "https://shop.example/3ds",
      ChallengeWindowSize: "05",
    };
    const more = {
      BrowserJavascriptEnabled: "0",
      BrowserAcceptHeader: "*/*",
      BrowserLanguage: "en",
      BrowserUserAgent: "x",
      Apply3DSecure: "1",
    };
    assert.equal((await linesFor(register({ ...browser, ...more })))["Status"], "3DAUTH");
    assert.equal((await linesFor(register({ ...browser, ...more, CardHolder: "SUCCESSFUL" })))["3DSecureStatus"], "OK");
  });
});
