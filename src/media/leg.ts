import type { MessagePort } from "node:worker_threads";
import type { DtmfDigit } from "./telephone-event.ts";
import { type DtmfTiming, type LegStats, NO_STATS, type PlayPart, type ToWorker } from "./protocol.ts";
import type { RemoteMedia } from "./sdp.ts";

/** What a leg reports; assign the members of interest right after `open`. */
export interface LegHandlers {
  /** A digit was pressed: 0-9, 10 for *, 11 for #. Never log it. `at`: when, on the clock's monotonic scale; absent: now. */
  dtmfDigit(digit: DtmfDigit, at?: number): void;
  /** The caller has been speaking for about 200 ms; once for each utterance, only while watched. */
  speechStarted(): void;
  /** The last packet of `play(id)` or `sendDtmf(id)` was sent; not called for what was stopped. */
  played(id: string): void;
  /** Neither RTP nor RTCP came for 30 s although the peer may send, or the media thread died. */
  mediaLost(): void;
  /** The first audio came that goes on as early media, whatever the peer's description says; once for each `relayEarlyMedia`. */
  earlyAudio(): void;
  /** Received audio, mu-law, 20 ms at a time; only with `capture`. */
  audio(ulaw: Uint8Array): void;
}

/** One call leg. After `close` every method does nothing: hang-ups race with everything. */
export interface MediaLeg {
  /** The local RTP port. */
  readonly port: number;
  readonly on: LegHandlers;
  /** The peer's description is known: sends from here on, what was played before first. Keys in it move to the media thread. */
  start(remote: RemoteMedia): void;
  /** A new description of the same peer (re-INVITE): hold, other codec, other address. */
  update(remote: RemoteMedia): void;
  /** Appends to what the leg says. Throws on a clip that was not loaded. */
  play(id: string, parts: PlayPart[]): void;
  /** Says nothing more at once. */
  stopPlayback(): void;
  /** Reports `speechStarted` from here on, or no more. */
  watchVoice(on: boolean): void;
  /** Reports silence on the wire as lost media no more, or again: from the start on it does. */
  watchMedia(on: boolean): void;
  /** Streams received audio to `port` (see AudioFrame), up to 1 s of pre-roll first. The port is closed at the end. */
  listen(port: MessagePort): void;
  stopListening(): void;
  /** Presses digits towards the peer: for test callers. */
  sendDtmf(id: string, digits: DtmfDigit[], timing: DtmfTiming): void;
  /** A digit that this leg's peer pressed by SIP INFO, 0-15: in a bridge it goes on to the other peer, unless RTP has brought it. */
  relayDigit(digit: DtmfDigit): void;
  /** Resolves when every digit that had come before this call has been reported, or the leg is closed. */
  caughtUp(): Promise<void>;
  /** Frees the ports and wipes all audio held. */
  close(): Promise<LegStats>;
}

/** What a leg needs of the engine that made it. */
interface LegEngine {
  hasClip(name: string): boolean;
  tell(message: ToWorker, transfer?: (MessagePort | ArrayBuffer)[]): void;
}

/** The main thread's end of a leg of the media worker. */
export class Leg implements MediaLeg {
  readonly number: number;
  readonly port: number;
  readonly on: LegHandlers = { dtmfDigit() {}, speechStarted() {}, played() {}, mediaLost() {}, earlyAudio() {}, audio() {} };
  readonly #engine: LegEngine;
  readonly #closed = Promise.withResolvers<LegStats>();
  /** In the order of asking, as the worker answers. */
  readonly #catchingUp: (() => void)[] = [];
  #isClosed = false;
  #isLost = false;

  constructor(engine: LegEngine, number: number, port: number) {
    this.#engine = engine;
    this.number = number;
    this.port = port;
  }

  start(remote: RemoteMedia): void {
    // The thread may have died before anybody listened.
    if (this.#isLost) queueMicrotask(() => this.on.mediaLost());
    const { srtp } = remote;
    // Moved, not copied: they are overwritten there when the leg ends.
    const keys = srtp ? [srtp.sendKey.buffer as ArrayBuffer, srtp.receiveKey.buffer as ArrayBuffer] : [];
    this.#tell({ type: "remote", leg: this.number, remote }, keys);
  }

  update(remote: RemoteMedia): void {
    this.start(remote);
  }

  play(id: string, parts: PlayPart[]): void {
    const missing = parts.find((part) => "clip" in part && !this.#engine.hasClip(part.clip));
    if (missing) throw new Error(`clip not loaded: ${(missing as { clip: string }).clip}`);
    this.#tell({ type: "play", leg: this.number, id, parts });
  }

  stopPlayback(): void {
    this.#tell({ type: "stopPlayback", leg: this.number });
  }

  watchVoice(on: boolean): void {
    this.#tell({ type: "watchVoice", leg: this.number, on });
  }

  watchMedia(on: boolean): void {
    this.#tell({ type: "watchMedia", leg: this.number, on });
  }

  listen(port: MessagePort): void {
    this.#tell({ type: "listen", leg: this.number, port }, [port]);
  }

  stopListening(): void {
    this.#tell({ type: "stopListening", leg: this.number });
  }

  sendDtmf(id: string, digits: DtmfDigit[], timing: DtmfTiming): void {
    this.#tell({ type: "sendDtmf", leg: this.number, id, digits, timing });
  }

  relayDigit(digit: DtmfDigit): void {
    this.#tell({ type: "relayDigit", leg: this.number, digit });
  }

  caughtUp(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#tell({ type: "catchUp", leg: this.number });
    return new Promise((resolve) => this.#catchingUp.push(resolve));
  }

  onCaughtUp(): void {
    this.#catchingUp.shift()?.();
  }

  close(): Promise<LegStats> {
    this.#tell({ type: "close", leg: this.number });
    this.#isClosed = true;
    return this.#closed.promise;
  }

  /** The worker died. */
  onLost(): void {
    this.onClosed(NO_STATS);
    this.#isLost = true;
    this.on.mediaLost();
  }

  /** The worker has closed the leg, or died. */
  onClosed(stats: LegStats): void {
    this.#isClosed = true;
    for (const resolve of this.#catchingUp.splice(0)) resolve();
    this.#closed.resolve(stats);
  }

  #tell(message: ToWorker, transfer: (MessagePort | ArrayBuffer)[] = []): void {
    if (!this.#isClosed) this.#engine.tell(message, transfer);
  }
}
