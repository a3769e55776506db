export { addressOf, describeSettings, maskedSettings } from "./describe.ts";
export { coversInternet, overlaps } from "./coverage.ts";
export { misspeltSettings, readConfig, takeConfig } from "./read.ts";
export type { Config } from "./settings.ts";
export { isLoopbackHost } from "./types.ts";
