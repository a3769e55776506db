import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "braintree_transaction_id", tokenize: "braintree_customer_id braintree_payment_method_token" },
  path: { charge: "/graphql/chargeCreditCard", tokenize: "/graphql/vaultCreditCard" },
  wrong: { private_key: "wrong0123456789abcdef" },
  storesAgain: true,
  neverActed: { outcome: "absent" },
};
