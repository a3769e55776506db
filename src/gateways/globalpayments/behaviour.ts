import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "globalpayments_transaction_id", tokenize: "globalpayments_payment_method_id" },
  path: { charge: "/ucp/transactions", tokenize: "/ucp/payment-methods" },
  wrong: { app_key: "anotherAppKey0001" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { outcome: "approved" },
  keepsStored: true,
};
