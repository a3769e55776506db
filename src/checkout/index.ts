export { type Amount, CEILING } from "./amount.ts";
export { parseCallback } from "./callback.ts";
export { type Checkout, createCheckout } from "./checkout.ts";
export type { CheckoutFault, CheckoutResult, Requester, VoiceRequest, WidgetRequest } from "./types.ts";
