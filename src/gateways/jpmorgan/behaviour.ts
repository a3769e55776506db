import type { Behaviour } from "../testing.ts";
import { orderNumber } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: {
    charge: "jpmorgan_transaction_id jpmorgan_state",
    tokenize: "jpmorgan_transaction_id jpmorgan_consumer_profile_id jpmorgan_payment_method_id jpmorgan_payment_token",
  },
  path: { charge: "/api/v2/payments", tokenize: "/api/v2/verifications" },
  wrong: { client_id: "CC-wrong-D00000-000000-TEST" },
  told: orderNumber,
  neverActed: { outcome: "absent" },
  keepsStored: true,
};
