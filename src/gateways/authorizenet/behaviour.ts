import { shortReference } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: {
    charge:
      "authnet_transaction_id authnet_auth_code authnet_response_code authnet_avs_result_code authnet_cvv_result_code authnet_cavv_result_code authnet_network_trans_id authnet_capture_status",
    tokenize: "authnet_customer_profile_id authnet_payment_profile_id",
  },
  path: {
    charge: "/xml/v1/request.api/createTransactionRequest",
    tokenize: "/xml/v1/request.api/createCustomerProfileRequest",
  },
  wrong: { transaction_key: "wrongKey00000001" },
  lostRefundStaysUnknown: true,
  told: ({ reference }) => shortReference(reference, 20),
  folded: { tokenize: { insufficient_funds: "card_declined" } },
  neverActed: { outcome: "absent" },
};
