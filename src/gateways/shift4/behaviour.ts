import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "shift4_charge_id", tokenize: "shift4_customer_id shift4_card_id" },
  path: { charge: "/charges", tokenize: "/charges" },
  wrongCredentials: () => ({ credentials: { secret_key: new Secret("sk_test_wrong") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  told: ({ sessionId }) => sessionId,
  neverActed: { outcome: "approved" },
  async chargeStored({ shift4_customer_id: customerId = "", shift4_card_id: card = "" }, _order, vendor) {
    const headers = {
      Authorization: `Basic ${Buffer.from("sk_test_SIMULATORsecretshift40042:").toString("base64")}`,
      "Content-Type": "application/json",
    };
    const body = JSON.stringify({ amount: 2500, currency: "USD", customerId, card, type: "merchant_initiated" });
    return (JSON.parse(await vendor.post("/charges", headers, body)) as { status: string }).status === "successful";
  },
};
