import { at } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "fatzebra_purchase_id", tokenize: "fatzebra_card_token" },
  path: { charge: "/v1.0/purchases", tokenize: "/v1.0/purchases" },
  wrong: { token: "wrong" },
  neverActed: { outcome: "absent" },
  keepsStored: true,
  async chargeStored({ fatzebra_card_token: card_token = "" }, order, vendor) {
    const Authorization = `Basic ${Buffer.from("TEST:TEST").toString("base64")}`;
    const later = await vendor.postJson(
      "/v1.0/purchases",
      { Authorization },
      {
        amount: 2500,
        currency: "AUD",
        reference: `later-${order.sessionId}`,
        customer_ip: "203.0.113.10",
        card_token,
        extra: { ecm: "32", card_on_file: true, stored_credential_indicator: "S" },
      },
    );
    return at(later, "response", "successful") === true;
  },
};
