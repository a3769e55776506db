import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "opayo_vps_tx_id opayo_security_key", tokenize: "opayo_vps_tx_id opayo_security_key" },
  path: { charge: "/gateway/service/vspdirect-register.vsp", tokenize: "/gateway/service/vspdirect-register.vsp" },
  wrong: { vendor: "wrongvendor" },
  folded: { charge: { processing_error: "absent" } },
  neverActed: { outcome: "absent" },
};
