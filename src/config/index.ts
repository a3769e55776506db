export { describeSettings, type MaskedSetting, maskedSettings } from "./describe.ts";
export { type Environment, readConfig } from "./read.ts";
export type { Config } from "./settings.ts";
export type { PortRange } from "./types.ts";
