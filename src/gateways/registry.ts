import { readdirSync } from "node:fs";
import { GATEWAYS } from "#src/kernel/payment.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Gateway } from "./contract.ts";

/** Folders beside this file whose name is a gateway's in the interface: each is an adapter, and its `index.ts` exports `gateway`. */
const folders = new Set(
  readdirSync(new URL(".", import.meta.url), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : [])),
);
const built = GATEWAYS.filter((name) => folders.has(name));
const modules = await Promise.all(
  built.map((name) => import(new URL(`${name}/index.ts`, import.meta.url).href) as Promise<{ gateway: Gateway }>),
);

/** Every gateway that is built, by its name, in the order of the interface. A new one is its folder. */
export const GATEWAYS_BUILT: Readonly<Partial<Record<GatewayName, Gateway>>> = Object.fromEntries(
  modules.map(({ gateway }) => [gateway.name, gateway]),
);
