import type { Behaviour } from "../testing.ts";
import { merchRefNum } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "qualpay_pg_id", tokenize: "qualpay_pg_id qualpay_card_id" },
  path: { charge: "/pg/sale", tokenize: "/pg/verify" },
  wrong: { security_key: "wrong1234567890" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  told: merchRefNum,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored({ qualpay_card_id: card_id = "" }, _order, vendor) {
    const Authorization = `Basic ${Buffer.from("TEST1234567890:").toString("base64")}`;
    const body = { merchant_id: 212000000001, amt_tran: 25.0, tran_currency: 840, card_id, moto_ecomm_ind: "1" };
    return (await vendor.postJson("/pg/sale", { Authorization }, body))["rcode"] === "000";
  },
};
