import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "opayo_vps_tx_id opayo_security_key", tokenize: "opayo_vps_tx_id opayo_security_key" },
  path: { charge: "/gateway/service/vspdirect-register.vsp", tokenize: "/gateway/service/vspdirect-register.vsp" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, vendor: new Secret("wrongvendor") } }),
  refusedCredentials: "gateway_credentials_invalid",
  folded: { charge: { processing_error: "absent" } },
  lost: { outcome: "approved" },
  neverActed: { outcome: "absent" },
};
