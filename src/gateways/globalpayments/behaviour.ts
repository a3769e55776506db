import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "globalpayments_transaction_id", tokenize: "globalpayments_payment_method_id" },
  path: { charge: "/ucp/transactions", tokenize: "/ucp/payment-methods" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, app_key: new Secret("anotherAppKey0001") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { outcome: "approved" },
  keepsStored: true,
};
