/** The public face of the gateways: the contract and the registry. */
export * from "./contract.ts";
export { GATEWAYS_BUILT } from "./registry.ts";
