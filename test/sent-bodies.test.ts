import assert from "node:assert/strict";
import { test } from "node:test";
import { componentSchemas } from "#src/api/openapi/components.ts";
import { ajvOf } from "#src/api/openapi/testing.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { answered, cardOf, orderOf, settingsOf, testIo } from "#src/gateways/testing.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { Session } from "#src/sessions/index.ts";
import { webhookBody } from "#src/webhooks/payload.ts";

/** What the service sends to merchants, held against the webhooks section of /openapi.json. */

const ajv = ajvOf(Object.fromEntries(Object.entries(componentSchemas()).map(([name, schema]) => [name, closed(schema)])));

/** Additional fields are no fault of a receiver, but here each must be described. */
function closed(schema: object): object {
  return "properties" in schema ? { ...schema, additionalProperties: false } : schema;
}
function assertFits(name: string, body: string): void {
  assert.ok(ajv.validate({ $ref: `#/components/schemas/${name}` }, JSON.parse(body)), `${ajv.errorsText()} ${body}`);
}

const SESSION = {
  id: "11111111-2222-4333-8444-555555555555",
  projectSlug: "shop",
  status: "payment-success",
  mode: "charge",
  gateway: "stripe",
  amountMinor: 4999,
  currency: "USD",
  caller: "+14155550100",
  description: null,
  memory: "m",
  processor: { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "4242" },
  webhookProcessor: {},
  cardBrand: "visa",
  cardLast4: "4242",
  errorCode: null,
  errorMessage: null,
  environment: "test",
  createdAt: new Date("2026-11-20T10:00:00.000Z"),
  completedAt: new Date("2026-11-20T10:01:00.000Z"),
} as unknown as Session;

test("status webhooks fit their published schema, every field described (R-032, R-341, R-342)", () => {
  const nothing = { processor: null, webhookProcessor: null, cardBrand: null, cardLast4: null, caller: null };
  const cases: Partial<Session>[] = [
    {},
    { ...nothing, status: "expired" },
    { ...nothing, status: "cancelled" },
    { ...nothing, status: "abandoned" },
    { ...nothing, status: "payment-failed", errorCode: "card_declined", errorMessage: null },
    { status: "payment-authorized", gateway: "authorizenet", processor: { authnet_transaction_id: "1" } },
    { processor: { test_skip: true, transaction_id: "test_skip_1", auth_code: "TESTOK" } },
  ];
  for (const changes of cases) {
    for (const unit of ["dollars", "cents"] as const)
      assertFits("StatusWebhook", webhookBody("evt_1", { ...SESSION, ...changes }, unit, GATEWAYS_BUILT));
  }
});

test("forwarded cards fit their published schema, every field described (R-032, R-242)", async () => {
  const webhook = GATEWAYS_BUILT.webhook!;
  const credentials = {
    url: new Secret("https://merchant.example/cards"),
    signing_secret: new Secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhM="),
  };
  for (const card of [cardOf("4242424242424242"), cardOf("378282246310005", { name: "Zoë", zip: null })]) {
    const io = testIo(settingsOf(webhook, { credentials }), () => Promise.resolve(answered(200, { success: true })));
    await webhook.charge(orderOf({ card, description: null, caller: null }), io);
    assert.equal(io.sent.length, 1);
    assertFits("CardForwarding", io.sent[0]!.body);
  }
});
