export { startApiRole } from "./api.ts";
export type { Core } from "./core.ts";
export { startVoiceRole, type VoiceRole } from "./voice.ts";
