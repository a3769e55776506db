import type { RemoteInfo } from "node:dgram";
import type { MessagePort } from "node:worker_threads";
import { SAMPLES_PER_PACKET, alawToUlaw, decodeUlaw, encodeUlaw } from "#src/kernel/g711.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { Clip, SAMPLES_PER_MS } from "./clip.ts";
import { JitterBuffer } from "./jitter-buffer.ts";
import type { DtmfDigit } from "./telephone-event.ts";
import { TelephoneEventReceiver } from "./telephone-event.ts";
import type { LegSockets } from "./leg-sockets.ts";
import { bindLegSockets } from "./leg-sockets.ts";
import { Listener } from "./listener.ts";
import type { Pacer } from "./pacer.ts";
import type { PlaylistPart } from "./playlist.ts";
import type { DtmfTiming, LegEvent, LegOptions, LegStats } from "./protocol.ts";
import { ReceiverStatistics } from "./receiver-statistics.ts";
import { Relay } from "./relay.ts";
import type { RelayTarget } from "./relay.ts";
import type { RtpPacket } from "./rtp.ts";
import { isRtcp, readRtp } from "./rtp.ts";
import type { RemoteMedia } from "./sdp.ts";
import { OFFERED_EVENT_PAYLOAD_TYPE } from "./sdp.ts";
import type { OutgoingFormat, StreamPacket, StreamSeed } from "./sender.ts";
import { Sender } from "./sender.ts";
import type { SourceState } from "./source-lock.ts";
import { SourceLock } from "./source-lock.ts";
import { SsrcCheck } from "./ssrc-check.ts";
import { ToneReceiver, toneOf } from "./tones.ts";
import type { VoiceActivity } from "./voice-activity.ts";

export interface WorkerLegDeps {
  clock: Clock;
  pacer: Pacer;
  createDetector: () => VoiceActivity;
  report(event: LegEvent): void;
  mediaLostAfterMs: number;
}

/** No audio for this long: the peer has stopped sending because its caller is silent. */
const QUIET_AFTER_MS = 100;

/** One call leg inside the media worker: its sockets, what it sends, what it hears. */
export class WorkerLeg implements RelayTarget {
  readonly #deps: WorkerLegDeps;
  readonly #options: LegOptions;
  readonly #sockets: LegSockets;
  readonly #sender: Sender;
  readonly #listener: Listener;
  readonly #jitterBuffer: JitterBuffer;
  readonly #telephoneEvents = new TelephoneEventReceiver();
  readonly #statistics = new ReceiverStatistics();
  #tones: ToneReceiver | null = null;
  #remote: RemoteMedia | null = null;
  #lock: SourceLock | null = null;
  readonly #ssrc = new SsrcCheck();
  #sourceState: SourceState = "foreign";
  #bridged: { other: WorkerLeg; relay: Relay } | null = null;
  #ignored = 0;
  #lastAudio = 0;
  #lastPacketAt = 0;
  #mediaLost = false;

  /** Binds the leg's ports; throws when one is taken. */
  constructor(deps: WorkerLegDeps, bindHost: string, port: number, options: LegOptions, seed: StreamSeed) {
    this.#deps = deps;
    this.#options = options;
    this.#sockets = bindLegSockets(bindHost, port, {
      onRtp: (datagram, source) => this.#onRtp(datagram, source),
      onRtcp: (datagram, source) => this.#onRtcp(datagram, source),
    });
    this.#listener = new Listener(deps.createDetector, () => deps.report({ type: "speechStarted" }));
    this.#jitterBuffer = new JitterBuffer((frame) => this.#onFrame(frame));
    this.#sender = new Sender({
      clock: deps.clock,
      pacer: deps.pacer,
      seed,
      transmit: (datagram) => this.#transmit(datagram),
      onPlayed: (id) => deps.report({ type: "played", id }),
      onPeriod: (now) => this.#onPeriod(now),
    });
  }

  /** How the peer may be sent to; null before there is a peer and while it holds us. */
  get format(): OutgoingFormat | null {
    const remote = this.#remote;
    return remote && (remote.direction === "sendrecv" || remote.direction === "sendonly") ? remote : null;
  }

  /** The first or a new description of the peer. */
  setRemote(remote: RemoteMedia): void {
    const now = this.#deps.clock.monotonic();
    this.#remote = remote;
    const isHeld = remote.host === "0.0.0.0" || remote.host === "::";
    if (!this.#lock) this.#lock = new SourceLock(remote);
    else if (!isHeld && this.#lock.renegotiate(remote)) this.#ssrc.reset();
    // With telephone-event agreed on, tones in the audio are echoes of the same digits.
    this.#tones = remote.eventPayloadType === null ? (this.#tones ?? new ToneReceiver()) : null;
    this.#lastPacketAt = now;
    this.#mediaLost = false;
    this.#applyFormat();
  }

  play(id: string, parts: PlaylistPart[]): void {
    if (!this.#options.muted && !this.#bridged) this.#sender.play(id, parts);
  }

  stopPlayback(): void {
    this.#sender.stopPlayback();
  }

  /** Digits as telephone events, or as tones to a peer without them. */
  sendDtmf(id: string, digits: DtmfDigit[], { onMs, gapMs }: DtmfTiming): void {
    const samples = Math.ceil((onMs * SAMPLES_PER_MS) / SAMPLES_PER_PACKET) * SAMPLES_PER_PACKET;
    const gap: PlaylistPart[] = gapMs > 0 ? [{ clip: Clip.silence(gapMs * SAMPLES_PER_MS) }] : [];
    const asEvent = this.#remote !== null && this.#remote.eventPayloadType !== null;
    const down = (digit: DtmfDigit): PlaylistPart =>
      asEvent ? { digit, samples } : { clip: new Clip(encodeUlaw(toneOf(digit, samples))) };
    this.play(
      id,
      digits.flatMap((digit) => [down(digit), ...gap]),
    );
  }

  watchVoice(on: boolean): void {
    this.#listener.watch(on);
  }

  listen(port: MessagePort): void {
    this.#listener.start(port);
  }

  stopListening(): void {
    this.#listener.stop();
  }

  /** Joins two legs: each hears what the other's peer says from here on, and nothing from before. */
  bridge(other: WorkerLeg): void {
    this.#join(other);
    other.#join(this);
  }

  /** Declares the media lost, once, after a long silence on the wire; called about every second. */
  watch(now: number): void {
    const direction = this.#remote?.direction;
    if (direction !== "sendrecv" && direction !== "recvonly") {
      this.#lastPacketAt = now;
      return;
    }
    if (this.#mediaLost || now - this.#lastPacketAt < this.#deps.mediaLostAfterMs) return;
    this.#mediaLost = true;
    this.#deps.report({ type: "mediaLost" });
  }

  /** Closes the ports at once and overwrites all audio and digits held. */
  close(): LegStats {
    this.#partBoth();
    this.#remote = null;
    this.#sender.stopPlayback();
    this.#sender.pause();
    this.#sockets.close();
    this.#dropAudio();
    this.#telephoneEvents.clear();
    const { lateness } = this.#sender;
    return {
      packetsIn: this.#statistics.packets,
      packetsOut: this.#sender.packets,
      lost: this.#statistics.lost,
      jitterMs: this.#statistics.jitterMs,
      ignored: this.#ignored,
      lateness: { p50: lateness.quantile(0.5), p99: lateness.quantile(0.99), max: lateness.max },
    };
  }

  joint(now: number): { sequence: number; timestamp: number } {
    return this.#sender.joint(now);
  }

  forward(packet: StreamPacket): void {
    this.#sender.forward(packet);
  }

  #join(other: WorkerLeg): void {
    if (this.#bridged?.other !== other) this.#partBoth();
    this.#bridged = { other, relay: new Relay(other, this.#telephoneEvents.newest) };
    this.#sender.stopPlayback();
    this.#sender.pause();
    this.#dropAudio();
  }

  #partBoth(): void {
    const other = this.#bridged?.other;
    this.#part();
    if (other) other.#part();
  }

  #part(): void {
    this.#bridged = null;
    this.#applyFormat();
  }

  #applyFormat(): void {
    if (this.format && !this.#options.muted && !this.#bridged) this.#sender.resume(this.format);
    else this.#sender.pause();
  }

  #dropAudio(): void {
    this.#listener.clear();
    this.#jitterBuffer.clear();
    this.#tones?.clear();
  }

  #transmit(datagram: Uint8Array): void {
    const target = this.#lock?.target;
    if (target) this.#sockets.send(datagram, target.port, target.host);
  }

  #onRtp(datagram: Uint8Array, source: RemoteInfo): void {
    if (isRtcp(datagram)) this.#onRtcp(datagram, source);
    else if (!this.#receive(datagram, source)) this.#ignored++;
    // The datagram holds what the caller said or pressed; the garbage collector frees memory without overwriting it.
    datagram.fill(0);
  }

  #onRtcp(datagram: Uint8Array, source: RemoteInfo): void {
    if (isRtcp(datagram) && this.#lock?.knows(source.address)) this.#notePacket(this.#deps.clock.monotonic());
  }

  #notePacket(now: number): void {
    this.#lastPacketAt = now;
    this.#mediaLost = false;
  }

  /** False when the packet is not the peer's or not of a kind agreed on. */
  #receive(datagram: Uint8Array, { address, port }: RemoteInfo): boolean {
    const packet = readRtp(datagram);
    if (!packet || !this.#lock) return false;
    const isEvent = this.#isEvent(packet.payloadType);
    const isAudio = packet.payloadType === 0 || packet.payloadType === 8;
    if (!isEvent && !isAudio) return false;
    const now = this.#deps.clock.monotonic();
    this.#sourceState = this.#lock.classify({ host: address, port }, packet, now);
    if (this.#sourceState === "foreign" || !this.#ssrc.accepts(packet, isEvent, now)) return false;
    this.#notePacket(now);
    this.#statistics.note(packet, now, isAudio);
    if (this.#bridged) this.#bridged.relay.forward(packet, isEvent, now);
    else this.#hear(packet, isEvent, now);
    return true;
  }

  /** The peer's own payload type; after an offer of ours also that of the offer (RFC 3264 section 6.1 lets them differ). */
  #isEvent(payloadType: number): boolean {
    const agreed = this.#remote?.eventPayloadType ?? null;
    return agreed !== null && (payloadType === agreed || payloadType === OFFERED_EVENT_PAYLOAD_TYPE);
  }

  #hear(packet: RtpPacket, isEvent: boolean, now: number): void {
    if (isEvent) {
      // Not while the source is being learned: whoever sent first must not be able to press digits.
      const digit = this.#sourceState === "locked" ? this.#telephoneEvents.receive(packet) : null;
      if (digit !== null) this.#deps.report({ type: "dtmfDigit", digit });
      this.#jitterBuffer.push(packet, null);
    } else {
      this.#lastAudio = now;
      this.#jitterBuffer.push(packet, packet.payloadType === 8 ? alawToUlaw(packet.payload) : packet.payload.slice());
    }
  }

  #onFrame(frame: Uint8Array): void {
    this.#listener.hear(frame);
    if (this.#options.capture) this.#deps.report({ type: "audio", ulaw: frame.slice() });
    if (!this.#tones || this.#sourceState !== "locked") return;
    const samples = decodeUlaw(frame);
    this.#tones.receive(samples, (digit) => this.#deps.report({ type: "dtmfDigit", digit }));
    samples.fill(0);
  }

  #onPeriod(now: number): void {
    if (this.#listener.isListening && now - this.#lastAudio > QUIET_AFTER_MS) this.#jitterBuffer.fill();
  }
}
