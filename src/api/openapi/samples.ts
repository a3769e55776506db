import type { Session } from "#src/sessions/index.ts";

/**
 * One invented payment and how it can end: what the examples of the description and of docs/webhooks.md are made from, by the
 * code that makes the real answers and webhooks.
 */

const SESSION: Session = {
  id: "5f0c8f0e-6a54-4c1e-9d7a-0b8f3f6a2e91",
  organizationId: "0d4f6b1e-3c52-4b7f-8a4e-1f2d3c4b5a69",
  projectId: "7a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
  projectSlug: "shop",
  environment: "test",
  channel: "voice",
  status: "PENDING",
  phase: null,
  mode: "charge",
  gateway: "stripe",
  amountMinor: 4995,
  currency: "USD",
  caller: "+14155550100",
  description: "Invoice 1001",
  callback: null,
  memory: null,
  connectedAccount: null,
  billingAddress: null,
  processor: null,
  webhookProcessor: null,
  cardBrand: null,
  cardLast4: null,
  errorCode: null,
  errorMessage: null,
  transferStatus: null,
  claimedBy: null,
  callId: null,
  offersLink: false,
  revision: 1,
  createdAt: new Date("2026-11-20T10:00:00.000Z"),
  updatedAt: new Date("2026-11-20T10:01:12.345Z"),
  expiresAt: new Date("2026-11-20T10:05:00.000Z"),
  completedAt: new Date("2026-11-20T10:01:12.345Z"),
};

const withCard = (processor: Record<string, string | boolean>, last4 = "4242"): Partial<Session> => ({
  processor: { ...processor, card_brand: "visa", card_last4: last4 },
  webhookProcessor: {},
  cardBrand: "visa",
  cardLast4: last4,
});

const AUTHORIZENET = {
  authnet_transaction_id: "80012345678",
  authnet_auth_code: "A1B2C3",
  authnet_response_code: "1",
  authnet_avs_result_code: "Z",
  authnet_cvv_result_code: "M",
  authnet_cavv_result_code: "",
  authnet_network_trans_id: "ABCDEF0123456789",
};

const sample = (status: Session["status"], changes: Partial<Session> = {}): Session => ({ ...SESSION, status, ...changes });

export const SAMPLES = {
  charged: sample(
    "payment-success",
    withCard({
      stripe_charge_id: "ch_3PExample0001",
      stripe_payment_intent_id: "pi_3PExample0001",
      receipt_url: "https://pay.stripe.com/receipts/example",
    }),
  ),
  stored: sample("payment-success", {
    ...withCard({ payment_method_id: "pm_1PExample0001", stripe_customer_id: "cus_Example0001" }),
    mode: "tokenize",
    amountMinor: 0,
  }),
  "charged by authorizenet": sample("payment-success", {
    ...withCard({ ...AUTHORIZENET, authnet_capture_status: "captured" }),
    gateway: "authorizenet",
  }),
  held: sample("payment-authorized", { ...withCard({ ...AUTHORIZENET, authnet_capture_status: "authorized" }), gateway: "authorizenet" }),
  forwarded: sample("payment-success", { ...withCard({ webhook_transaction_id: "tx_1001" }), gateway: "webhook" }),
  declined: sample("payment-failed", {
    ...withCard({ stripe_payment_intent_id: "pi_3PExample0002" }, "9995"),
    errorCode: "insufficient_funds",
    errorMessage: "The card has insufficient funds.",
  }),
  expired: sample("expired", { updatedAt: SESSION.expiresAt, completedAt: SESSION.expiresAt }),
  cancelled: sample("cancelled"),
  abandoned: sample("abandoned"),
  "paid by the test word": sample("payment-success", {
    ...withCard({ stripe_charge_id: "test_skip_1795168872345", test_skip: true }, "0000"),
    webhookProcessor: { transaction_id: "test_skip_1795168872345", auth_code: "TESTOK" },
  }),
} as const satisfies Record<string, Session>;

/** The same payment while it waits for its call. */
export const WAITING = sample("PENDING", { updatedAt: SESSION.createdAt, completedAt: null });

/** And while its caller is asked for the card. */
export const COLLECTING = sample("COLLECTING", { phase: "collecting", updatedAt: new Date("2026-11-20T10:00:20.000Z"), completedAt: null });
