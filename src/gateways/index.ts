/** The public face of the gateways: the contract, the registry, and what the charge protocol needs of the kit. */
export * from "./contract.ts";
export { REFUSED_AS } from "./kit/repeat.ts";
export { isKeepable } from "./kit/scrub.ts";
export { GATEWAYS_BUILT } from "./registry.ts";
