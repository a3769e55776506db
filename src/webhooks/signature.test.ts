import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { signatureHeaders, verifyWebhook } from "./signature.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const BODY = '{"event":"payment.success","session_id":"11111111-2222-4333-8444-555555555555"}';
const SECONDS = 1_795_000_000;
const NOW = SECONDS * 1000;

const sign = (...secrets: string[]) =>
  signatureHeaders(
    secrets.map((secret) => new Secret(secret)),
    "msg_synthetic01",
    SECONDS,
    BODY,
  );

test("the Standard Webhooks signature is the worked vector's: HMAC under the decoded secret (R-348)", () => {
  assert.equal(sign(SECRET)["webhook-signature"], "v1,q4htqfdvINRuoXi2qC9mwbmVW778M5oNYx8r5fML87g=");
  assert.equal(sign(SECRET)["webhook-timestamp"], "1795000000");
});

test("X-Signature is the worked vector's: HMAC under the whole secret string (R-240, R-348)", () => {
  assert.equal(sign("whsec_synthetic")["x-signature"], "t=1795000000,v1=1820b2764f3873586a9dd1248bb835fe727c7d5e539c65c2545e8c67b46ba573");
});

test("while a secret is rolled a receiver with either of them verifies", () => {
  const headers = sign(OTHER, SECRET);
  for (const secret of [OTHER, SECRET])
    assert.deepEqual(verifyWebhook(headers, BODY, secret, NOW), { verified: true, id: "msg_synthetic01" });
});

test("header names may come in any case", () => {
  const headers = Object.fromEntries(Object.entries(sign(SECRET)).map(([name, value]) => [name.toUpperCase(), value]));
  assert.equal(verifyWebhook(headers, BODY, SECRET, NOW).verified, true);
});

const good = sign(SECRET);
const refused: readonly (readonly [string, Record<string, string>, string, string, number])[] = [
  ["another secret", good, BODY, OTHER, NOW],
  ["a changed body", good, BODY.replace("success", "failed"), SECRET, NOW],
  ["another event id", { ...good, "webhook-id": "msg_other" }, BODY, SECRET, NOW],
  ["a signature 301 s old", good, BODY, SECRET, NOW + 301_000],
  ["a signature 301 s ahead", good, BODY, SECRET, NOW - 301_000],
  [
    "upper-case hex",
    { ...good, "x-signature": (good["x-signature"] ?? "").toUpperCase().replace("T=", "t=").replace("V1=", "v1=") },
    BODY,
    SECRET,
    NOW,
  ],
  ["one family only", { ...good, "x-signature": "" }, BODY, SECRET, NOW],
  ["the other family only", { ...good, "webhook-signature": "" }, BODY, SECRET, NOW],
  ["no headers", {}, BODY, SECRET, NOW],
];
for (const [name, headers, body, secret, now] of refused) {
  test(`${name} does not verify (S-33)`, () => assert.equal(verifyWebhook(headers, body, secret, now).verified, false));
}
