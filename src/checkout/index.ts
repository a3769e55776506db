export { type Callback, parseCallback } from "./callback.ts";
export { callbackAllowed } from "./transfer-rules.ts";
