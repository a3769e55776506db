import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "usaepay_refnum", tokenize: "usaepay_card_key" },
  path: { charge: "/api/v2/transactions", tokenize: "/api/v2/transactions" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, api_pin: new Secret("999999") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lostRefundStaysUnknown: true,
  lost: { outcome: "approved" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
};
