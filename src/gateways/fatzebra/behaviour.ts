import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "fatzebra_purchase_id", tokenize: "fatzebra_card_token" },
  path: { charge: "/v1.0/purchases", tokenize: "/v1.0/purchases" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, token: new Secret("wrong") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  neverActed: { outcome: "absent" },
  keepsStored: true,
  async chargeStored({ fatzebra_card_token: card_token = "" }, order, vendor) {
    const headers = { Authorization: `Basic ${Buffer.from("TEST:TEST").toString("base64")}`, "Content-Type": "application/json" };
    const body = JSON.stringify({
      amount: 2500,
      currency: "AUD",
      reference: `later-${order.sessionId}`,
      customer_ip: "203.0.113.10",
      card_token,
      extra: { ecm: "32", card_on_file: true, stored_credential_indicator: "S" },
    });
    const later = JSON.parse(await vendor.post("/v1.0/purchases", headers, body)) as { response: { successful: boolean } };
    return later.response.successful;
  },
};
