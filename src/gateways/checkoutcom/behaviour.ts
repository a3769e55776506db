import type { Behaviour } from "../testing.ts";
import { referenceOf } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "checkoutcom_payment_id", tokenize: "checkoutcom_payment_id checkoutcom_source_id" },
  path: { charge: "/payments", tokenize: "/payments" },
  wrong: { secret_key: "sk_sbox_wrong" },
  neverActed: { outcome: "absent" },
  told: referenceOf,
  async chargeStored({ checkoutcom_source_id: id = "", checkoutcom_payment_id: previous = "" }, order, vendor) {
    const headers = { Authorization: "Bearer sk_sbox_examplesecretkeyabcdefgh234", "Cko-Idempotency-Key": `${order.sessionId}-later` };
    const body = {
      source: { type: "id", id },
      amount: 2500,
      currency: "USD",
      payment_type: "Unscheduled",
      merchant_initiated: true,
      previous_payment_id: previous,
      reference: "later",
      processing_channel_id: "pc_zs5fqhybzc2e3jmq3efvybybpq",
    };
    return (await vendor.postJson("/payments", headers, body))["approved"] === true;
  },
};
