import type { GatewayName } from "#src/kernel/payment.ts";
import type { Gateway } from "./contract.ts";
import { authorizenet } from "./authorizenet/index.ts";
import { ecommpay } from "./ecommpay/index.ts";
import { nmi } from "./nmi/index.ts";
import { guarded } from "./kit/guard.ts";
import { stripe } from "./stripe/index.ts";
import { webhook } from "./webhook/index.ts";

/** Every gateway that is built, by its name in the interface. A new one is its folder and one line here. */
export const GATEWAYS_BUILT: Readonly<Partial<Record<GatewayName, Gateway>>> = {
  stripe: guarded(stripe),
  authorizenet: guarded(authorizenet),
  webhook: guarded(webhook),
  nmi: guarded(nmi),
  ecommpay: guarded(ecommpay),
};
