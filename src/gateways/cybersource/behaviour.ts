import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { codeOf } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "cybersource_payment_id", tokenize: "cybersource_payment_id cybersource_instrument_identifier_id" },
  path: { charge: "/pts/v2/payments", tokenize: "/pts/v2/payments" },
  wrongCredentials: ({ credentials }) => ({
    credentials: { ...credentials, shared_secret: new Secret("YW5vdGhlci1zZWNyZXQtdGhhdC1zaWducy13cm9uZyE=") },
  }),
  refusedCredentials: "gateway_credentials_invalid",
  lostRefundStaysUnknown: true,
  lost: { outcome: "approved" },
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  told: codeOf,
  keepsStored: true,
  storesAgain: true,
};
