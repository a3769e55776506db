import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { merchRefNum } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "qualpay_pg_id", tokenize: "qualpay_pg_id qualpay_card_id" },
  path: { charge: "/pg/sale", tokenize: "/pg/verify" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, security_key: new Secret("wrong1234567890") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  told: merchRefNum,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored({ qualpay_card_id: card_id = "" }, _order, vendor) {
    const authorization = `Basic ${Buffer.from("TEST1234567890:").toString("base64")}`;
    const body = JSON.stringify({ merchant_id: 212000000001, amt_tran: 25.0, tran_currency: 840, card_id, moto_ecomm_ind: "1" });
    const headers = { Authorization: authorization, "Content-Type": "application/json" };
    return (JSON.parse(await vendor.post("/pg/sale", headers, body)) as { rcode: string }).rcode === "000";
  },
};
