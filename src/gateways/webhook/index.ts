import type { Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { ANSWER_TIMEOUT_MS, SETTINGS, addressFault, forwardCard, settingsFault } from "./requests.ts";
import { noDecision, readDecision } from "./responses.ts";

/** Card forwarding: the merchant's own HTTPS endpoint decides (docs/interface.md, Card forwarding; ). */
export const gateway = kit.defineGateway({
  name: "webhook",
  settings: SETTINGS,
  capabilities: {
    idempotency: "none",
    lookUp: "by rule",
    voidBy: "none",
    absenceIsProofAfterMs: 0,
    oneAttempt: true,
    moto: false,
    verifiesOnTokenize: false,
    token: "whatever the merchant's endpoint answers as `token`",
    processorFields: {
      charge: "webhook_transaction_id",
      tokenize: "webhook_transaction_id webhook_token",
      inWebhook: { webhook_transaction_id: ["webhook_transaction_id"], webhook_token: ["webhook_token"] },
    },
    deadlineMs: ANSWER_TIMEOUT_MS,
  },
  credentialsIn: "block",
  sandbox: (endpoint) => ({
    url: endpoint.replace(/^http:/, "https:"),
    signing_secret: "whsec_c2ltdWxhdG9yIHNlY3JldCBvZiBjYXJkIGZvcndhcmRpbmc=",
  }),
  checkSettings: settingsFault,
  charge: forward,
  tokenize: forward,
  // Nobody can be asked, and the card is sent once only: a lost attempt has failed.
  lookUp: () => Promise.resolve(noDecision("the attempt was cut off: the endpoint may have acted on the card")),
});

/** Exactly one request, whatever comes of it. */
async function forward(order: Order, io: kit.Io<typeof SETTINGS>): Promise<Outcome> {
  if (addressFault(io.settings) !== null) return noDecision("the endpoint's address is not https: nothing was sent");
  return readDecision(await io.send(forwardCard(order, io.settings, io.clock.now())), order.mode);
}
