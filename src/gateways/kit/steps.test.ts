import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { approved, declined, unknown } from "./outcomes.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, orderOf, settingsOf, testIo } from "../testing.ts";
import type { GatewayAnswer, Outcome } from "../contract.ts";
import type { JsonObject } from "./json.ts";
import {
  allPages,
  anyApproved,
  basicAuth,
  codeTable,
  each,
  hmac,
  meanings,
  minorOfDecimal,
  payerIpOf,
  poll,
  readJson,
  scaledAmount,
  sendWithKey,
  storeAgain,
  theStanding,
  triage,
  twoPlaces,
  wordTable,
} from "./index.ts";

const settings = settingsOf(GATEWAYS_BUILT.stripe!);
const ioOf = (...answers: GatewayAnswer[]) => {
  let count = 0;
  return testIo(settings, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
};
const LOST: GatewayAnswer = { kind: "lost", reason: "reset" };
const NOT_SENT: GatewayAnswer = { kind: "not sent", reason: "refused" };
const build = () => ({ method: "POST", url: "https://vendor.example", headers: {} }) as const;
const codeOf = (result: object) => ("code" in result ? result.code : "outcome" in result ? result.outcome : "read");

test("a code table knows codes, ranges and beginnings, the longest first, and nothing that objects have", () => {
  const of = codeTable({ card_declined: "05 100-102", incorrect_cvc: "PMT-2000", fraud_suspected: "PMT-2*", lost_or_stolen: "07-09" });
  assert.deepEqual(["05", "101", "103", "PMT-2000", "PMT-2001", "08", "8"].map(of), [
    "card_declined",
    "card_declined",
    undefined,
    "incorrect_cvc",
    "fraud_suspected",
    "lost_or_stolen",
    undefined,
  ]);
  for (const word of ["constructor", "__proto__", "toString", "hasOwnProperty", ""]) {
    assert.equal(of(word), undefined);
    assert.equal(codeTable({ card_declined: "1" }, "processing_error")(word), "processing_error");
    assert.equal(wordTable({ paid: true })(word), undefined);
    assert.equal(meanings({ paid: "A C" })(word), undefined);
  }
  assert.throws(() => codeTable({ card_declined: "1", lost_or_stolen: "1" }), /twice/);
});

test("an answer means another thing for a request that can take money than for one that cannot (R-422)", () => {
  const cases: readonly (readonly [GatewayAnswer, nothing: string, money: string])[] = [
    [NOT_SENT, "gateway_unavailable", "gateway_unavailable"],
    [LOST, "gateway_unavailable", "unknown"],
    [answered(429, "{}"), "gateway_unavailable", "gateway_unavailable"],
    [answered(503, "{}"), "gateway_unavailable", "unknown"],
    [answered(409, "{}"), "gateway_unavailable", "unknown"],
    [answered(401, "<html>"), "gateway_credentials_invalid", "gateway_credentials_invalid"],
    [answered(403, "<html>"), "gateway_misconfigured", "gateway_misconfigured"],
    [answered(404, "<html>"), "gateway_misconfigured", "unknown"],
    [answered(200, "<html>"), "processing_error", "unknown"],
    [answered(200, "{}"), "read", "read"],
    [answered(402, "{}"), "read", "read"],
  ];
  for (const [answer, nothing, money] of cases) {
    assert.equal(codeOf(triage(answer, { effect: "nothing", read: readJson })), nothing);
    assert.equal(codeOf(triage(answer, { effect: "money", read: readJson })), money);
  }
  // In the words of a proxy a refusal says nothing: of keys and floods, whoever speaks of them, that nothing ran.
  const isVendors = (body: JsonObject) => body["code"] !== undefined;
  const foreign = (status: number, body: unknown = {}) =>
    codeOf(triage(answered(status, body), { effect: "money", read: readJson, isVendors }));
  assert.deepEqual(
    [400, 402, 404, 405, 422].map((status) => foreign(status)),
    Array.from({ length: 5 }, () => "unknown"),
  );
  assert.deepEqual(
    [401, 403, 429, 200].map((status) => foreign(status)),
    ["read", "read", "gateway_unavailable", "read"],
  );
  assert.equal(foreign(404, { code: "1" }), "read");
  // Where the vendor does not say that nothing ran.
  assert.equal(codeOf(triage(answered(429, "{}"), { effect: "money", read: readJson, flood: "unclear" })), "unknown");
});

test("after a lost try only what the vendor keeps under the key counts, unless nothing can have been done", async () => {
  const ends = async (effect: "nothing" | "money", ...answers: GatewayAnswer[]) => {
    const result = await sendWithKey(ioOf(...answers), build, { effect });
    return "kind" in result ? result.status : codeOf(result);
  };
  assert.equal(await ends("money", LOST, answered(200, "{}")), 200);
  assert.equal(await ends("money", LOST, answered(400, "{}")), "unknown");
  assert.equal(await ends("nothing", LOST, answered(400, "{}")), 400);
  assert.equal(await ends("money", answered(400, "{}")), 400);
  assert.equal(await ends("money", LOST), "unknown");
  assert.equal(await ends("money", NOT_SENT), "gateway_unavailable");
});

test("a try that cannot be made, for want of an access token, ends the repeats: unknown after a doubt", async () => {
  const refusal = declined("gateway_credentials_invalid");
  assert.deepEqual(await sendWithKey(ioOf(LOST), async () => refusal, { effect: "money" }), refusal);
  let tries = 0;
  const later = await sendWithKey(ioOf(LOST), async () => (++tries === 1 ? LOST : refusal), { effect: "money" });
  assert.equal(codeOf(later), "unknown");
});

test("polls and pages end at the deadline and at too many", async () => {
  const io = ioOf(LOST);
  assert.equal(await poll(io, async () => undefined), null);
  assert.ok(io.clock.monotonic() <= 60_000 && io.clock.monotonic() > 50_000);
  const page = async (cursor: number) => ({ items: [cursor], next: cursor < 3 ? cursor + 1 : null });
  assert.deepEqual(await allPages(1, page), [1, 2, 3]);
  assert.equal(await allPages(1, page, 2), null);
  assert.equal(await allPages(1, async () => null), null);
});

test("finds are read one after another, and one of two that stand is a doubt unless they take nothing", async () => {
  let atWork = 0;
  const read = await each(["card_declined", "expired_card"] as const, async (code) => {
    assert.equal(atWork++, 0);
    await Promise.resolve();
    atWork--;
    return declined(code);
  });
  const [one, two] = [approved({ id: "1" }), approved({ id: "2" })];
  assert.deepEqual([theStanding(read), theStanding([one, ...read]), theStanding([])].map(codeOf), ["expired_card", "approved", "absent"]);
  assert.equal(theStanding([one, two]).outcome, "unknown");
  assert.deepEqual([anyApproved([one, two]), anyApproved([...read, two]), anyApproved(read)], [one, two, read[1]]);
  assert.equal(anyApproved([]).outcome, "absent");
});

test("a payer's address is the shopper's, else this service's; with live money none is made up", () => {
  const told = (environment: "test" | "live", customerIp: string | null, own: string | null, egressIp: string | null, form?: "IPv4") => {
    const credentials = own === null ? {} : { ip_address: new Secret(own) };
    const address = payerIpOf(orderOf({ customerIp }), { settings: { environment, credentials }, egressIp }, form);
    return typeof address === "string" ? address : address.reason;
  };
  assert.equal(told("live", "2001:db8::1", "192.0.2.1", null), "2001:db8::1");
  assert.equal(told("live", "2001:db8::1", "192.0.2.1", "192.0.2.2", "IPv4"), "192.0.2.1");
  assert.equal(told("live", null, null, "192.0.2.2"), "192.0.2.2");
  assert.equal(told("test", null, null, null), "127.0.0.1");
  assert.equal(told("live", null, null, null), "ip_address or SIP_PUBLIC_HOST must say this service's public address");
  assert.equal(
    told("live", null, "2001:db8::2", null, "IPv4"),
    "ip_address or SIP_PUBLIC_HOST must say this service's public IPv4 address",
  );
});

test("amounts are never rounded, and a decimal of an answer is exact or none", () => {
  assert.equal(scaledAmount({ amountMinor: 1_255, currency: "KWD" }, 2), null);
  assert.equal(scaledAmount({ amountMinor: 500, currency: "JPY" }, 2), 50_000);
  assert.deepEqual(
    [4_995, 1_250, 1_255].map((amountMinor) => twoPlaces({ amountMinor, currency: amountMinor === 4_995 ? "USD" : "KWD" })),
    ["49.95", "1.25", null],
  );
  assert.equal(twoPlaces({ amountMinor: 500, currency: "JPY" }), "500.00");
  assert.deepEqual(
    ["49.95", "49.950", "-1", "", "x", "49.955"].map((text) => minorOfDecimal(text, "USD")),
    [4995, 4995, null, null, null, null],
  );
});

test("signatures and Basic credentials are the documents' own (RFC 4231 case 2, RFC 7617)", () => {
  const key = new Secret("Jefe");
  const mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  assert.equal(hmac("sha256", key, ["what do ya want ", "for nothing?"], "hex"), mac);
  assert.equal(hmac("sha256", new Secret(Buffer.from("Jefe").toString("base64")), ["what do ya want for nothing?"], "hex", "base64"), mac);
  assert.equal(basicAuth("Aladdin", new Secret("open sesame")), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
});

test("a card whose storing was lost and then refused may be stored all the same; one that was only refused is not (I4)", async () => {
  const stored = async (...outcomes: Outcome[]) => {
    const outcome = await storeAgain(ioOf(LOST), () => Promise.resolve(outcomes.shift()!));
    return [codeOf(outcome), outcome.outcome === "declined" && outcome.mayBeStored === true];
  };
  const refused = declined("incorrect_cvc");
  assert.deepEqual(await stored(refused), ["incorrect_cvc", false]);
  assert.deepEqual(await stored(unknown("lost"), refused), ["incorrect_cvc", true]);
  assert.deepEqual(await stored(unknown("lost"), approved({})), ["approved", false]);
  assert.deepEqual(await stored(unknown("lost"), unknown("lost"), unknown("lost")), ["gateway_unavailable", true]);
});
