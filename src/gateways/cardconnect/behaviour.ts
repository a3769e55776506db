import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { orderId } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "cardconnect_retref", tokenize: "cardconnect_profile_id" },
  path: { charge: "/cardconnect/rest/auth", tokenize: "/cardconnect/rest/auth" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, password: new Secret("wrongpass") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  everyAnswerLost: { charge: "unknown", tokenize: "approved" },
  told: orderId,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored(kept, order, vendor) {
    const headers = {
      "Content-Type": "application/json",
      Authorization: `Basic ${Buffer.from("exampleuser:examplepass").toString("base64")}`,
    };
    const body = {
      merchid: "496160873888",
      orderid: `later-${order.sessionId}`,
      profile: kept["cardconnect_profile_id"],
      amount: "12.50",
      currency: "USD",
      ecomind: "E",
      cof: "M",
      cofscheduled: "N",
      capture: "Y",
    };
    const later = JSON.parse(await vendor.post("/cardconnect/rest/auth", headers, JSON.stringify(body))) as { respstat: string };
    return later.respstat === "A";
  },
};
