import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "braintree_transaction_id", tokenize: "braintree_customer_id braintree_payment_method_token" },
  path: { charge: "/graphql/chargeCreditCard", tokenize: "/graphql/vaultCreditCard" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, private_key: new Secret("wrong0123456789abcdef") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  storesAgain: true,
  neverActed: { outcome: "absent" },
};
