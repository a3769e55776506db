import type { Behaviour } from "../testing.ts";
import { codeOf } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "cybersource_payment_id", tokenize: "cybersource_payment_id cybersource_instrument_identifier_id" },
  path: { charge: "/pts/v2/payments", tokenize: "/pts/v2/payments" },
  wrong: { shared_secret: "YW5vdGhlci1zZWNyZXQtdGhhdC1zaWducy13cm9uZyE=" },
  lostRefundStaysUnknown: true,
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  told: codeOf,
  keepsStored: true,
  storesAgain: true,
};
