import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { GatewayName } from "#src/kernel/payment.ts";

/**
 * A session paid by the test word has no gateway's answer: it shows the synthetic transaction beside the gateway's own
 * fields (docs/interface.md, States and transitions; R-234).
 */
const TEST_SKIP = ["test_skip", "transaction_id", "auth_code"];

/** Which fields a session of this gateway may show (docs/interface.md, Processor object): those that the gateway names. */
export function processorFieldsOf(gateway: GatewayName): readonly string[] {
  const { charge = [], tokenize = [] } = GATEWAYS_BUILT[gateway]?.capabilities.processorFields ?? {};
  return [...new Set([...charge, ...tokenize, "card_brand", "card_last4", ...TEST_SKIP])];
}
