import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "shift4_charge_id", tokenize: "shift4_customer_id shift4_card_id" },
  path: { charge: "/charges", tokenize: "/charges" },
  wrong: { secret_key: "sk_test_wrong" },
  told: ({ sessionId }) => sessionId,
  neverActed: { outcome: "approved" },
  async chargeStored({ shift4_customer_id: customerId = "", shift4_card_id: card = "" }, _order, vendor) {
    const Authorization = `Basic ${Buffer.from("sk_test_SIMULATORsecretshift40042:").toString("base64")}`;
    const body = { amount: 2500, currency: "USD", customerId, card, type: "merchant_initiated" };
    return (await vendor.postJson("/charges", { Authorization }, body))["status"] === "successful";
  },
};
