/** Media: session descriptions, RTP, keypad digits and prompts. All packets live in a worker thread of their own. */
export { createMediaEngine } from "./engine.ts";
export type { LegHandlers, MediaEngine, MediaLeg } from "./engine.ts";
export type { DtmfDigit } from "./telephone-event.ts";
export { HASH, STAR } from "./telephone-event.ts";
export type { AudioFrame } from "./listener.ts";
export type { LegStats, PlayPart } from "./protocol.ts";
export { acceptOffer, createOffer, readAnswer } from "./sdp.ts";
export type { LocalMedia, RemoteMedia } from "./sdp.ts";
