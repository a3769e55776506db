import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { GATEWAYS, type GatewayName } from "#src/kernel/payment.ts";

/** What the description lists: the gateways that are built. Validation takes every name of the interface. */
export const DESCRIBED_GATEWAYS = GATEWAYS.filter((name) => name in GATEWAYS_BUILT) as [GatewayName, ...GatewayName[]];
