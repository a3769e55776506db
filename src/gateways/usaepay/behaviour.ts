import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "usaepay_refnum", tokenize: "usaepay_card_key" },
  path: { charge: "/api/v2/transactions", tokenize: "/api/v2/transactions" },
  wrong: { api_pin: "999999" },
  lostRefundStaysUnknown: true,
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
};
