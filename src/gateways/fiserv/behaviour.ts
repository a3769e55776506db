import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "fiserv_transaction_id fiserv_order_id fiserv_state", tokenize: "fiserv_payment_token fiserv_order_id" },
  path: { charge: "/gateway/v2/payments", tokenize: "/gateway/v2/payment-tokens" },
  wrong: { api_secret: "anotherSecret0042" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  storesAgain: true,
};
