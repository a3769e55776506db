/** Media: session descriptions, RTP, keypad digits and prompts. All packets live in a worker thread of their own. */
export { createMediaEngine } from "./engine.ts";
export type { MediaEngine } from "./engine.ts";
export { KeySource, type KeyPath } from "./key-source.ts";
export type { LegHandlers, MediaLeg } from "./leg.ts";
export type { DtmfDigit } from "./telephone-event.ts";
export { HASH, STAR } from "./telephone-event.ts";
export { Lateness } from "./lateness.ts";
export { type LegStats, NO_STATS, type PlayPart } from "./protocol.ts";
export { acceptOffer, createOffer, isUnspecified, readAnswer } from "./sdp.ts";
export type { LocalMedia, RemoteMedia } from "./sdp.ts";
