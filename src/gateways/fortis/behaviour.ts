import { at } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "fortis_transaction_id", tokenize: "fortis_token_id" },
  path: { charge: "/v1/transactions/cc/sale/keyed", tokenize: "/v1/tokens/previous-transaction" },
  wrong: { user_api_key: "wrong9c5897f42ac2a072e521" },
  lostRefundStaysUnknown: true,
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  storesAgain: true,
  async chargeStored({ fortis_token_id: token_id = "" }, { reference }, vendor) {
    const headers = {
      "user-id": "11ef69fdc8fd8db2b07213de",
      "user-api-key": "11ef9c5897f42ac2a072e521",
      "developer-id": "bEgKPZos",
    };
    const later = { transaction_amount: 2500, token_id, location_id: "11ef69fdc684ae30b436c55b", transaction_api_id: `${reference}-later` };
    return at(await vendor.postJson("/v1/transactions/cc/sale/token", headers, later), "data", "status_code") === 101;
  },
};
