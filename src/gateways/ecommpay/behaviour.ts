import { createHmac } from "node:crypto";
import { textAt } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "ecommpay_payment_id ecommpay_operation_id", tokenize: "ecommpay_payment_id ecommpay_operation_id" },
  path: { charge: "/v2/payment/card/sale", tokenize: "/v2/payment/card/account_verification" },
  wrong: { secret_key: "wrong-secret-key" },
  everyAnswerLost: "approved",
  neverActed: { outcome: "approved" },
  showsAtOnce: true,
  keepsStored: true,
  async chargeStored(_kept, order, vendor) {
    const signed = (text: string) => createHmac("sha512", "demo-secret-key").update(text).digest("base64");
    const found = { project_id: 12345, payment_id: order.reference };
    const of = (id: string) => `general:payment_id:${id};general:project_id:12345`;
    const status = { general: { ...found, signature: signed(of(order.reference)) } };
    const token = textAt(await vendor.postJson("/v2/payment/status", {}, status), "account", "token");
    const customer = { id: order.sessionId, ip_address: "203.0.113.10" };
    const who = `customer:id:${customer.id};customer:ip_address:${customer.ip_address}`;
    const signature = signed(`${who};${of(`${order.reference}-later`)};payment:amount:2500;payment:currency:USD;token:${token}`);
    const general = { ...found, payment_id: `${order.reference}-later`, signature };
    const body = { general, customer, payment: { amount: 2500, currency: "USD" }, token };
    const later = await vendor.postJson("/v2/payment/card/sale/token", {}, body);
    const charged = (await vendor.ledger()).find(({ kind, reference }) => kind === "charge" && reference === general.payment_id);
    return later["status"] === "success" && charged?.outcome === "approved";
  },
};
