import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "worldpay_payment_id", tokenize: "worldpay_payment_id worldpay_token_id" },
  path: { charge: "/api/payments", tokenize: "/api/payments" },
  wrong: { password: "wrongPass01" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  chargeStored: async ({ worldpay_token_id: href = "" }, { sessionId }, vendor) => {
    const Authorization = `Basic ${Buffer.from("ExampleUser01:ExamplePass01").toString("base64")}`;
    const headers = { Authorization, Accept: "application/json", "WP-Api-Version": "2024-06-01" };
    const later = await vendor.postJson("/api/payments", headers, {
      transactionReference: `later-${sessionId}`,
      merchant: { entity: "default" },
      instruction: {
        method: "card",
        paymentInstrument: { type: "token", href },
        customerAgreement: { type: "cardOnFile", storedCardUsage: "subsequent" },
        narrative: { line1: "Example Store" },
        value: { currency: "USD", amount: 1250 },
        settlement: { auto: true },
      },
    });
    return later["outcome"] === "sentForSettlement";
  },
};
