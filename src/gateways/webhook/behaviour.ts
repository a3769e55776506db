import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "webhook_transaction_id", tokenize: "webhook_transaction_id webhook_token" },
  path: { charge: "/", tokenize: "/" },
  told: ({ sessionId }) => sessionId,
  wrong: { signing_secret: "whsec_another_secret_of_a_good_length" },
  refusedCredentials: "webhook_gateway_error",
  lost: { outcome: "declined", code: "webhook_gateway_error" },
  everyAnswerLost: "declined",
  neverActed: { outcome: "declined", code: "webhook_gateway_error" },
};
