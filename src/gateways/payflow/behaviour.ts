import type { Behaviour } from "../testing.ts";
import { customerReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "payflow_pnref", tokenize: "payflow_pnref" },
  path: { charge: "/", tokenize: "/" },
  wrong: { password: "wrongPassword" },
  told: customerReference,
  neverActed: { outcome: "approved" },
  keepsStored: true,
};
