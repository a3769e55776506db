import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "receipt_url stripe_charge_id stripe_payment_intent_id", tokenize: "payment_method_id stripe_customer_id" },
  path: { charge: "/v1/payment_intents", tokenize: "/v1/setup_intents" },
  wrong: { secret_key: "sk_test_wrong" },
  neverActed: { outcome: "approved" },
  async chargeStored({ stripe_customer_id: customer = "", payment_method_id: paymentMethod = "" }, _order, vendor) {
    const headers = {
      Authorization: "Bearer sk_test_simulator",
      "Stripe-Version": "2022-11-15",
      "Content-Type": "application/x-www-form-urlencoded",
    };
    const kept = `customer=${customer}&payment_method=${paymentMethod}`;
    const body = `amount=2500&currency=usd&${kept}&payment_method_types[0]=card&off_session=true&confirm=true`;
    const later = JSON.parse(await vendor.post("/v1/payment_intents", headers, body)) as { status: string };
    return later.status === "succeeded";
  },
};
