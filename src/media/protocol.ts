import type { MessagePort } from "node:worker_threads";
import type { DtmfDigit } from "./telephone-event.ts";
import type { RemoteMedia } from "./sdp.ts";
import type { StreamSeed } from "./sender.ts";

/** One part of what a leg says: a clip registered before, mu-law audio at 8 kHz, or silence. */
export type PlayPart = { clip: string } | { ulaw: Uint8Array } | { silenceMs: number };

/** How digits are sent: each is down for `onMs`, then up for `gapMs`. */
export interface DtmfTiming {
  onMs: number;
  gapMs: number;
}

export interface LegOptions {
  /** Sends nothing of its own, neither silence nor prompts; a bridge still forwards to it. */
  muted: boolean;
  /** Reports all received audio. For test callers. */
  capture: boolean;
  /** Where the peer's SIP comes from: media from there are believed at once (S-85). */
  signallingHost: string | null;
}

/** How our stream arrives, as the peer's last RTCP report tells. */
export interface PeerStatistics {
  /** Packets that never reached it. */
  lost: number;
  /** Share (0-1) of those that it expected since the report before. */
  fractionLost: number;
  jitterMs: number;
  /** Null: no report of ours has been answered. */
  roundTripMs: number | null;
}

/** Counts of one leg, taken when it closed. */
export interface LegStats {
  packetsIn: number;
  packetsOut: number;
  /** Packets that never came (RFC 3550 section 6.4.1). */
  lost: number;
  jitterMs: number;
  /** Packets from other sources or of other payload types, and datagrams that are no RTP. */
  ignored: number;
  /** Null: the peer has sent no report on us. */
  peer: PeerStatistics | null;
}

/** Of a leg that carried nothing. */
export const NO_STATS: LegStats = {
  packetsIn: 0,
  packetsOut: 0,
  lost: 0,
  jitterMs: 0,
  ignored: 0,
  peer: null,
};

export interface EngineSettings {
  bindHost: string;
  mediaLostAfterMs: number;
}

/** Main thread to media worker. `leg` is the engine's number of a leg. */
export type ToWorker =
  | { type: "loadClip"; name: string; ulaw: Uint8Array }
  | { type: "unloadClip"; name: string }
  | { type: "open"; leg: number; port: number; options: LegOptions; seed: StreamSeed }
  | { type: "remote"; leg: number; remote: RemoteMedia }
  | { type: "play"; leg: number; id: string; parts: PlayPart[] }
  | { type: "stopPlayback"; leg: number }
  | { type: "sendDtmf"; leg: number; id: string; digits: DtmfDigit[]; timing: DtmfTiming }
  | { type: "relayDigit"; leg: number; digit: DtmfDigit }
  | { type: "watchVoice"; leg: number; on: boolean }
  | { type: "watchMedia"; leg: number; on: boolean }
  | { type: "listen"; leg: number; port: MessagePort }
  | { type: "stopListening"; leg: number }
  | { type: "bridge"; leg: number; other: number }
  | { type: "earlyMedia"; leg: number; other: number }
  | { type: "catchUp"; leg: number }
  | { type: "close"; leg: number };

/** What happens on a leg. A digit is one small number, reported as it comes: no message ever holds two digits. `at`: monotonic ms. */
export type LegEvent =
  | { type: "dtmfDigit"; digit: DtmfDigit; at: number }
  | { type: "speechStarted" }
  | { type: "played"; id: string }
  | { type: "mediaLost" }
  | { type: "earlyAudio" }
  | { type: "audio"; ulaw: Uint8Array };

/** Media worker to main thread. */
export type FromWorker =
  | { type: "ready" }
  | { type: "lateness"; ms: number }
  | { type: "opened"; leg: number; error: string | null }
  | { type: "caughtUp"; leg: number }
  | { type: "closed"; leg: number; stats: LegStats }
  | (LegEvent & { leg: number });
