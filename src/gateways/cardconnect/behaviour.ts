import type { Behaviour } from "../testing.ts";
import { orderId } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "cardconnect_retref", tokenize: "cardconnect_profile_id" },
  path: { charge: "/cardconnect/rest/auth", tokenize: "/cardconnect/rest/auth" },
  wrong: { password: "wrongpass" },
  everyAnswerLost: { charge: "unknown", tokenize: "approved" },
  told: orderId,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored(kept, order, vendor) {
    const Authorization = `Basic ${Buffer.from("exampleuser:examplepass").toString("base64")}`;
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
    return (await vendor.postJson("/cardconnect/rest/auth", { Authorization }, body))["respstat"] === "A";
  },
};
