import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "fortis_transaction_id", tokenize: "fortis_token_id" },
  path: { charge: "/v1/transactions/cc/sale/keyed", tokenize: "/v1/tokens/previous-transaction" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, user_api_key: new Secret("wrong9c5897f42ac2a072e521") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lostRefundStaysUnknown: true,
  lost: { outcome: "approved" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  storesAgain: true,
  async chargeStored({ fortis_token_id: token_id = "" }, { reference }, vendor) {
    const headers = {
      "user-id": "11ef69fdc8fd8db2b07213de",
      "user-api-key": "11ef9c5897f42ac2a072e521",
      "developer-id": "bEgKPZos",
      "Content-Type": "application/json",
      Accept: "application/json",
    };
    const later = { transaction_amount: 2500, token_id, location_id: "11ef69fdc684ae30b436c55b", transaction_api_id: `${reference}-later` };
    const body = await vendor.post("/v1/transactions/cc/sale/token", headers, JSON.stringify(later));
    return (JSON.parse(body) as { data?: { status_code?: number } }).data?.status_code === 101;
  },
};
