import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { customerReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "payflow_pnref", tokenize: "payflow_pnref" },
  path: { charge: "/", tokenize: "/" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, password: new Secret("wrongPassword") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  told: customerReference,
  neverActed: { outcome: "approved" },
  keepsStored: true,
};
