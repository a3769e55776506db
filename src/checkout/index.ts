export { type Amount, CEILING } from "./amount.ts";
export { parseCallback } from "./callback.ts";
export { callbackAllowed, type TransferPolicy, userAllowed } from "./transfer-rules.ts";
export { type Checkout, createCheckout } from "./checkout.ts";
export type { CheckoutFault, CheckoutResult, Requester } from "./types.ts";
export { createTrunks, type Trunks } from "./trunks.ts";
export type { Trunk } from "#src/kernel/sip-trunk.ts";
