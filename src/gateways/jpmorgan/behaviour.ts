import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { orderNumber } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: {
    charge: "jpmorgan_transaction_id jpmorgan_state",
    tokenize: "jpmorgan_transaction_id jpmorgan_consumer_profile_id jpmorgan_payment_method_id jpmorgan_payment_token",
  },
  path: { charge: "/api/v2/payments", tokenize: "/api/v2/verifications" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, client_id: new Secret("CC-wrong-D00000-000000-TEST") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  told: orderNumber,
  neverActed: { outcome: "absent" },
  keepsStored: true,
};
