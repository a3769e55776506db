import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { resolvedOf, settingsOf } from "../testing.ts";
import { SETTINGS } from "./requests.ts";
import { signedHeaders } from "./signature.ts";

/** The vendor sheet's worked examples: the secret is made up. */
const NOW_MS = Date.UTC(2026, 10, 20, 22);
const by = {
  clock: { now: () => NOW_MS, monotonic: () => 0 },
  random: { ...systemRandom, uuid: () => "11111111-2222-4333-8444-555555555555" },
};
const BODY = Buffer.from(
  '{"clientReferenceInformation":{"code":"9f1c2b7e5d6a4c0f8a21"},"processingInformation":{"capture":true,"commerceIndicator":"moto"},' +
    '"paymentInformation":{"card":{"number":"4111111111111111","expirationMonth":"10","expirationYear":"2030","securityCode":"999","type":"001"}},' +
    '"orderInformation":{"amountDetails":{"totalAmount":"12.34","currency":"USD"},"billTo":{"firstName":"Ada","lastName":"Lovelace",' +
    '"postalCode":"77777","country":"US"}}}',
);
const POST = { method: "POST", host: "apitest.cybersource.com", path: "/pts/v2/payments", body: BODY } as const;
const GET = { method: "GET", host: POST.host, path: "/tss/v2/transactions/6750124114786780104953", body: undefined } as const;

const cybersource = GATEWAYS_BUILT.cybersource!;
const sandbox = settingsOf(cybersource);
const settings = (auth_type: string, more: Record<string, Secret> = {}) =>
  resolvedOf(SETTINGS, { ...sandbox, options: { auth_type }, credentials: { ...sandbox.credentials, ...more } });

describe("cybersource signatures", () => {
  test("an HTTP Signature is the sheet's worked example, with a body and without", () => {
    assert.equal(BODY.length, 436);
    assert.deepEqual(signedHeaders(POST, settings("http_signature"), by), {
      "v-c-merchant-id": "examplemid",
      Date: "Fri, 20 Nov 2026 22:00:00 GMT",
      Digest: "SHA-256=hXkZF+zefuECemeikty4V03m2a6uQ5gi2DVYSfxEX5I=",
      Signature:
        'keyid="0f0e0d0c-0b0a-4908-8706-050403020100", algorithm="HmacSHA256", ' +
        'headers="host date request-target digest v-c-merchant-id", signature="OGoUDN0TiI8X6GX45PzebufTGiwz/cenRyMXNZcuzMc="',
    });
    const { Digest, Signature } = signedHeaders(GET, settings("http_signature"), by);
    assert.equal(Digest, undefined);
    assert.match(
      Signature ?? "",
      /headers="host date request-target v-c-merchant-id", signature="pTVq9YSqMRTJiidKtqY9NevyaR5WwwCYSBb3MA6tH7s="$/,
    );
  });

  test("a JWT is the sheet's worked example; one without a body has no digest", () => {
    const { Authorization = "", ...others } = signedHeaders(POST, settings("jwt"), by);
    const [header = "", claims = "", signature] = Authorization.replace(/^Bearer /, "").split(".");
    const decoded = (part: string) => Buffer.from(part, "base64url").toString();
    assert.deepEqual(others, {});
    assert.equal(decoded(header), '{"alg":"HS256","typ":"JWT","kid":"0f0e0d0c-0b0a-4908-8706-050403020100"}');
    assert.equal(
      decoded(claims),
      '{"digest":"hXkZF+zefuECemeikty4V03m2a6uQ5gi2DVYSfxEX5I=","digest-algorithm":"SHA-256","iat":1795212000,"exp":1795212120,' +
        '"request-host":"apitest.cybersource.com","request-resource-path":"/pts/v2/payments","request-method":"post",' +
        '"iss":"examplemid","jti":"11111111-2222-4333-8444-555555555555","v-c-jwt-version":"2","v-c-merchant-id":"examplemid"}',
    );
    assert.equal(signature, "xOxsMNuzBBoP5pM80Okb7N_jSvecrVURjKxNa_DcEPY");
    const bare = signedHeaders(GET, settings("jwt"), by)["Authorization"]?.split(".")[1] ?? "";
    assert.deepEqual(Object.keys(JSON.parse(decoded(bare)) as object).slice(0, 2), ["iat", "exp"]);
  });

  test("with a meta key the portfolio issues the JWT and stands on the signed line, the merchant in the header", () => {
    const portfolio_id = new Secret("acme_portfolio");
    const claims = signedHeaders(POST, settings("jwt", { portfolio_id }), by)["Authorization"]?.split(".")[1] ?? "";
    const { iss, "v-c-merchant-id": merchant } = JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, string>;
    assert.deepEqual([iss, merchant], ["acme_portfolio", "examplemid"]);
    const signed = signedHeaders(POST, settings("http_signature", { portfolio_id }), by);
    assert.equal(signed["v-c-merchant-id"], "examplemid");
    assert.notEqual(signed["Signature"], signedHeaders(POST, settings("http_signature"), by)["Signature"]);
  });
});
