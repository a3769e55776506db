import type { Behaviour } from "../testing.ts";
import { externalReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "clover_charge_id", tokenize: "clover_customer_id" },
  path: { charge: "/v1/charges", tokenize: "/v1/charges" },
  wrong: { private_key: "wrong" },
  told: externalReference,
  neverActed: { outcome: "approved" },
  storesAgain: true,
  async chargeStored({ clover_customer_id: source = "" }, order, vendor) {
    const headers = {
      Authorization: "Bearer ab86a5e8-48f3-b3bd-8c45-d415e9867833",
      "idempotency-key": `later-${order.sessionId}`,
      "x-forwarded-for": "203.0.113.10",
    };
    const stored_credentials = { sequence: "SUBSEQUENT", is_scheduled: false, initiator: "MERCHANT" };
    const later = await vendor.postJson("/v1/charges", headers, { amount: 2500, currency: "usd", source, stored_credentials });
    return later["status"] === "succeeded";
  },
};
