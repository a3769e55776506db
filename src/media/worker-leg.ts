import type { RemoteInfo } from "node:dgram";
import type { MessagePort } from "node:worker_threads";
import { SAMPLES_PER_PACKET, alawToUlaw, decodeUlaw } from "#src/kernel/g711.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import { ArrivalTimes, type ReadingTurns } from "./arrival-times.ts";
import { digitParts } from "./digit-parts.ts";
import { JitterBuffer } from "./jitter-buffer.ts";
import { KeySource } from "./key-source.ts";
import { type DtmfDigit, HASH, isKey, TelephoneEventReceiver } from "./telephone-event.ts";
import { type LegSockets, bindLegSockets } from "./leg-sockets.ts";
import { Listener } from "./listener.ts";
import type { Pacer } from "./pacer.ts";
import type { PlaylistPart } from "./playlist.ts";
import type { DtmfTiming, LegEvent, LegOptions, LegStats } from "./protocol.ts";
import { codecOf, rename } from "./payload-types.ts";
import { ReceiverStatistics } from "./receiver-statistics.ts";
import { Relay, type RelayTarget } from "./relay.ts";
import { RtcpSession } from "./rtcp-session.ts";
import { RtcpTarget } from "./rtcp-target.ts";
import { type RtpPacket, isRtcp, readRtp } from "./rtp.ts";
import { isUnspecified, type RemoteMedia } from "./sdp.ts";
import { type OutgoingFormat, type StreamPacket, type StreamSeed, Sender } from "./sender.ts";
import { type Address, type SourceState, SourceLock } from "./source-lock.ts";
import { SrtpSession } from "./srtp-session.ts";
import { SsrcCheck } from "./ssrc-check.ts";
import { ToneReceiver } from "./tones.ts";
import type { VoiceActivity } from "./voice-activity.ts";

interface WorkerLegDeps {
  clock: Clock;
  random: Random;
  pacer: Pacer;
  turns: ReadingTurns;
  createDetector: () => VoiceActivity;
  report(event: LegEvent): void;
  mediaLostAfterMs: number;
}

/** One frame while it is looked at. */
const SAMPLES = new Int16Array(SAMPLES_PER_PACKET);
/** The event of a digit begins at most so long after its tones were heard; the next press of the same key later. */
const TONE_AHEAD_MS = 150;
/** Frames lost in a row that end no digit heard as tones; in more of them it may have been pressed again (ITU-T Q.24: pauses of 40 ms). */
const MOST_LOST = 2;
/** RFC 3389. */
const COMFORT_NOISE = 13;
/** No audio for this long: the peer has stopped sending because its caller is silent. */
const QUIET_AFTER_MS = 100;

/** Without a packet towards one end of a bridge, looked at each second; RFC 6263 section 5 has 15 s, some time-outs are shorter. */
const LONGEST_SILENCE_MS = 900;

/** A digit that crosses a bridge in another form, before it is known how long it is held: as a telephone presses it. */
const RELAYED: DtmfTiming = { onMs: 120, gapMs: 60 };
const RELAYED_ID = "relayed";

/** The other end, and the way there. */
interface Bridged {
  other: WorkerLeg;
  relay: Relay;
}

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
  readonly #rtcp: RtcpSession;
  readonly #rtcpTarget = new RtcpTarget();
  readonly #arrivals: ArrivalTimes;
  /** The packet that is being read. */
  readonly #packet = {} as RtpPacket;
  readonly #tones = new ToneReceiver();
  /** The last digit heard as tones. */
  #tone: { digit: DtmfDigit; at: number } | null = null;
  /** Frames in a row that never came. */
  #lost = 0;
  /** The peer sends its digits as events: tones beside them are echoes of the same digits. */
  #sendsEvents = false;
  #remote: RemoteMedia | null = null;
  #lock: SourceLock | null = null;
  /** Null: plain RTP. */
  #srtp: SrtpSession | null = null;
  readonly #ssrc = new SsrcCheck();
  /** Whose stream `#ssrc` checks. */
  #target: Address | null = null;
  #sourceState: SourceState = "foreign";
  #bridged: Bridged | null = null;
  /** How the peer's digits cross the bridge. */
  readonly #keys: KeySource;
  /** Whose early media this leg's peer hears in place of what is played to it, while there is any. */
  #early: WorkerLeg | null = null;
  /** Audio of this leg's peer has come since it is relayed as early media. */
  #isEarlyHeard = false;
  /** Digits of the other leg, of INFO or as tones, that are being sent in place of its audio. */
  #relaying = 0;
  /** When a packet was sent to this end of a bridge. */
  #sentAt = 0;
  #ignored = 0;
  #lastAudio = 0;
  #lastPacketAt = 0;
  /** When the newest packet came. */
  #receivedAt = 0;
  #mediaLost = false;
  #isMediaWatched = true;

  /** Binds the leg's ports; throws when one is taken. */
  constructor(deps: WorkerLegDeps, bindHost: string, port: number, options: LegOptions, seed: StreamSeed) {
    this.#deps = deps;
    this.#options = options;
    this.#arrivals = new ArrivalTimes(deps.turns);
    this.#keys = new KeySource(deps.clock);
    this.#sockets = bindLegSockets(bindHost, port, {
      onRtp: (datagram, source) => this.#onRtp(datagram, source),
      onRtcp: (datagram, source) => this.#onRtcp(datagram, source),
    });
    this.#listener = new Listener(deps.createDetector, () => deps.report({ type: "speechStarted" }));
    this.#jitterBuffer = new JitterBuffer((frame, isLost) => this.#onFrame(frame, isLost));
    this.#sender = new Sender({
      clock: deps.clock,
      pacer: deps.pacer,
      seed,
      transmit: (datagram) => this.#transmit(datagram),
      onPlayed: (id) => {
        if (id !== RELAYED_ID) deps.report({ type: "played", id });
        // When the packet has left.
        else if (--this.#relaying === 0) queueMicrotask(() => this.#endRelaying());
      },
      onPeriod: (now) => this.#onPeriod(now),
    });
    this.#rtcp = new RtcpSession({
      clock: deps.clock,
      random: deps.random,
      sent: this.#sender,
      received: this.#statistics,
      transmit: (datagram) => this.#transmitRtcp(datagram),
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
    const reported = this.#remote && this.#lock && this.#rtcpTarget.of(this.#remote, this.#lock.target);
    const isMoved = this.#lock !== null && !isUnspecified(remote.host) && this.#lock.renegotiate(remote);
    // He may send tones from here on.
    if (isMoved || (remote.eventPayloadType === null && this.#remote?.eventPayloadType !== null)) this.#sendsEvents = false;
    this.#remote = remote;
    this.#setKeys(remote);
    this.#lock ??= new SourceLock(remote, this.#options.signallingHost);
    this.#rtcpTarget.renegotiate(isMoved ? reported : null);
    this.#lastPacketAt = now;
    this.#mediaLost = false;
    this.#applyFormat();
    this.#rtcp.start();
  }

  play(id: string, parts: PlaylistPart[]): void {
    if (!this.#options.muted && !this.#bridged) this.#sender.play(id, parts);
  }

  stopPlayback(): void {
    this.#sender.stopPlayback();
  }

  /** Digits as telephone events, or as tones to a peer without them. */
  sendDtmf(id: string, digits: DtmfDigit[], timing: DtmfTiming): void {
    const asEvent = this.#remote !== null && this.#remote.eventPayloadType !== null;
    this.play(id, digitParts(digits, timing, asEvent));
  }

  /** A digit that the peer pressed by INFO goes on to the other end of the bridge. */
  relayDigit(digit: DtmfDigit): void {
    if (this.#bridged && this.#keys.accepts("info")) this.#bridged.other.#sendRelayed(digit);
  }

  #sendRelayed(digit: DtmfDigit): void {
    const { format } = this;
    // A to D are no keys of a telephone: there are no tones of them here.
    if (!format || (format.eventPayloadType === null && digit > HASH)) return;
    this.#relaying++;
    this.#sender.play(RELAYED_ID, digitParts([digit], RELAYED, format.eventPayloadType !== null));
    this.#sender.resume(format);
  }

  /** The other end's own packets follow again. */
  #endRelaying(): void {
    if (this.#relaying > 0 || !this.#bridged) return;
    this.#sender.pause();
    this.#bridged.other.#bridged?.relay.rejoin();
  }

  #dropRelayed(): void {
    if (this.#relaying === 0) return;
    this.#relaying = 0;
    this.#sender.stopPlayback();
    this.#endRelaying();
  }

  watchVoice(on: boolean): void {
    this.#listener.watch(on);
  }

  watchMedia(on: boolean): void {
    this.#isMediaWatched = on;
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

  /**
   * The other leg's peer hears this one's, which has not answered yet, from its first packet on and as long as packets come, in place of what is
   * played to him. Nothing of him goes here (RFC 3960).
   */
  sendEarlyMediaTo(other: WorkerLeg): void {
    this.#isEarlyHeard = false;
    if (this.#bridged) return;
    this.#bridged = { other, relay: new Relay(other, null) };
    other.#early = this;
    this.#sentAt = this.#deps.clock.monotonic();
    this.#sender.pause();
    this.#dropAudio();
  }

  /** Declares the media lost, once, after a long silence on the wire, and breaks ours; called about every second. */
  watch(now: number): void {
    this.#breakSilence(now);
    // Who holds us promises no audio, whatever he may send (RFC 3264 section 8.4): the call lives until its own limits.
    if (this.#remote?.direction !== "sendrecv" || !this.#isMediaWatched) return void (this.#lastPacketAt = now);
    if (this.#mediaLost || now - this.#lastPacketAt < this.#deps.mediaLostAfterMs) return;
    this.#mediaLost = true;
    this.#deps.report({ type: "mediaLost" });
  }

  /** Closes the ports at once and overwrites all audio and digits held. */
  close(): LegStats {
    this.#partBoth();
    this.#rtcp.end();
    this.#remote = null;
    this.#sender.stopPlayback();
    this.#sender.pause();
    this.#sockets.close();
    this.#dropAudio();
    this.#telephoneEvents.clear();
    this.#srtp?.wipe();
    return {
      packetsIn: this.#statistics.packets,
      packetsOut: this.#sender.packets,
      lost: this.#statistics.lost,
      jitterMs: this.#statistics.jitterMs,
      ignored: this.#ignored,
      peer: this.#rtcp.peer,
    };
  }

  /** Routers and peers take a stream without packets for a dead one, also while the other end of the bridge holds or has nothing to say. */
  #breakSilence(now: number): void {
    const { format } = this;
    if (this.#early && now - this.#sentAt >= LONGEST_SILENCE_MS) this.#applyFormat();
    if (!this.#bridged || !format || this.#relaying > 0 || now - this.#sentAt < LONGEST_SILENCE_MS) return;
    this.#sender.sendSilence(format);
    this.#sentAt = now;
    this.#bridged.other.#bridged?.relay.rejoin();
  }

  joint(now: number): { sequence: number; timestamp: number } {
    return this.#sender.joint(now);
  }

  forward(packet: StreamPacket): void {
    if (this.#relaying > 0) return;
    if (this.#early) this.#sender.pause();
    this.#sentAt = this.#deps.clock.monotonic();
    this.#sender.forward(packet);
  }

  #join(other: WorkerLeg): void {
    if (this.#bridged && this.#bridged.other !== other) this.#partBoth();
    this.#early = null;
    this.#bridged = { other, relay: new Relay(other, this.#telephoneEvents.newest) };
    this.#sentAt = this.#deps.clock.monotonic();
    this.#sender.stopPlayback();
    this.#sender.pause();
    this.#dropAudio();
  }

  #partBoth(): void {
    const other = this.#bridged?.other ?? this.#early;
    this.#part();
    if (other) other.#part();
  }

  #part(): void {
    this.#dropRelayed();
    this.#bridged = null;
    this.#early = null;
    this.#applyFormat();
  }

  #applyFormat(): void {
    if (!this.format) this.#dropRelayed();
    const isSending = this.#bridged ? this.#relaying > 0 : !this.#options.muted;
    if (this.format && isSending) this.#sender.resume(this.format);
    else this.#sender.pause();
    if (this.#early) this.#early.#bridged?.relay.rejoin();
  }

  #dropAudio(): void {
    this.#listener.clear();
    this.#jitterBuffer.clear();
    this.#tones.clear();
    this.#tone = null;
  }

  #setKeys({ srtp }: RemoteMedia): void {
    if (srtp && this.#srtp) this.#srtp.renew(srtp);
    else if (srtp) this.#srtp = new SrtpSession(srtp);
  }

  #transmit(datagram: Uint8Array): boolean {
    const target = this.#lock?.target;
    if (target === undefined) return false;
    if (this.#remote?.payloadTypes) rename(datagram, this.#remote.payloadTypes);
    if (!this.#srtp) return this.#sockets.send(datagram, target.port, target.host);
    const packet = this.#srtp.protect(datagram);
    if (packet) this.#sockets.send(packet, target.port, target.host);
    return false;
  }

  #onRtp(datagram: Uint8Array, source: RemoteInfo): void {
    this.#arrivals.noteRead();
    if (isRtcp(datagram)) this.#onRtcp(datagram, source);
    else {
      const packet = this.#open(datagram, source);
      if (!packet || !this.#receive(packet, source)) this.#ignored++;
    }
    // The datagram holds what the caller said or pressed; the garbage collector frees memory without overwriting it.
    datagram.fill(0);
  }

  /** False: there is nowhere to send to. */
  #transmitRtcp(datagram: Uint8Array): boolean {
    const target = this.#remote && this.#lock && this.#rtcpTarget.of(this.#remote, this.#lock.target);
    if (!target) return false;
    const packet = this.#srtp ? this.#srtp.protectRtcp(datagram) : datagram;
    if (this.#remote?.rtcp === "muxed") this.#sockets.send(packet, target.port, target.host);
    else this.#sockets.sendRtcp(packet, target.port, target.host);
    return true;
  }

  #onRtcp(datagram: Uint8Array, { address, port }: RemoteInfo): void {
    const named = this.#remote?.rtcp;
    const isNamed = typeof named === "object" && named.host === address;
    if (!isRtcp(datagram) || !(isNamed || this.#lock?.knows(address))) return;
    const packet = this.#srtp ? this.#srtp.unprotectRtcp(datagram) : datagram;
    const now = this.#deps.clock.monotonic();
    const rtcp = packet && this.#rtcp.receive(packet, now);
    if (!rtcp) return;
    this.#rtcpTarget.learn({ host: address, port });
    for (const ssrc of rtcp.leaving) this.#ssrc.leave(ssrc);
    this.#notePacket(now);
  }

  /** The packet in the clear: of an encrypted stream one that the peer has made, which tells its address as well. */
  #open(datagram: Uint8Array, { address, port }: RemoteInfo): Uint8Array | null {
    const lock = this.#lock;
    if (!this.#srtp || !lock) return datagram;
    const source = { host: address, port };
    const packet = lock.ignores(source, this.#deps.clock.monotonic()) ? null : this.#srtp.unprotect(datagram);
    if (packet) lock.lockTo(source);
    return packet;
  }

  /** A peer that is somewhere else now has another stream: whatever comes first counts. */
  #followTarget({ target }: SourceLock): void {
    if (this.#target === target) return;
    this.#target = target;
    this.#ssrc.reset();
  }

  #notePacket(now: number): void {
    this.#lastPacketAt = now;
    this.#mediaLost = false;
  }

  /** False when the packet is not the peer's or not of a kind agreed on. */
  #receive(datagram: Uint8Array, { address, port }: RemoteInfo): boolean {
    const packet = readRtp(datagram, this.#packet);
    if (!packet || !this.#lock) return false;
    const payloadType = codecOf(packet.payloadType, this.#remote?.payloadTypes);
    packet.payloadType = payloadType;
    const isEvent = this.#isEvent(packet);
    const isAudio = payloadType === 0 || payloadType === 8;
    // What was not agreed on says that a peer lives and which sequence numbers it has used, but not who it is.
    if (!isEvent && !isAudio && payloadType !== COMFORT_NOISE && !this.#ssrc.isMain(packet.ssrc)) return false;
    const now = this.#deps.clock.monotonic();
    this.#sourceState = this.#lock.classify({ host: address, port }, packet, now);
    if (this.#sourceState === "foreign") return false;
    this.#followTarget(this.#lock);
    if (!this.#ssrc.accepts(packet, isEvent, now, this.#arrivals.readUntil)) return false;
    this.#notePacket(now);
    this.#statistics.note(packet, now, isAudio);
    if (!isEvent && !isAudio) {
      this.#jitterBuffer.push(packet, null);
      return payloadType === COMFORT_NOISE;
    }
    if (this.#bridged) {
      const isEarly = this.#bridged.other.#early === this;
      if (isEarly && isAudio && !this.#isEarlyHeard) this.#deps.report({ type: "earlyAudio" });
      this.#isEarlyHeard ||= isEarly && isAudio;
      const crosses = !isEvent || (!isEarly && this.#keys.accepts("rtp"));
      if (crosses) this.#relay(packet, isEvent, now, this.#bridged);
    } else this.#hear(packet, isEvent, now);
    return true;
  }

  /** To the other end; a digit as tones where it agreed on no events. */
  #relay(packet: RtpPacket, isEvent: boolean, now: number, { other, relay }: Bridged): void {
    if (!isEvent || other.format?.eventPayloadType !== null) return relay.forward(packet, isEvent, now);
    const digit = this.#telephoneEvents.receive(packet);
    if (digit !== null) other.#sendRelayed(digit);
  }

  /** Of a peer that has named no events what comes under our number may be anything, unless it looks like a key. */
  #isEvent({ payloadType, payload }: RtpPacket): boolean {
    const { eventPayloadType = null, ownEventPayloadType } = this.#remote ?? {};
    return payloadType === eventPayloadType || (payloadType === ownEventPayloadType && (eventPayloadType !== null || isKey(payload)));
  }

  /** Of who holds us the keys alone: he hears none of our questions, and what comes in place of his voice is music or an announcement. */
  #hear(packet: RtpPacket, isEvent: boolean, now: number): void {
    this.#receivedAt = this.#arrivals.of(packet, now);
    if (isEvent) {
      // Not while the source is being learned: whoever sent first must not be able to press digits.
      if (this.#sourceState === "locked") this.#hearEvent(packet);
      this.#jitterBuffer.push(packet, null);
    } else if (this.format) {
      this.#lastAudio = now;
      const { payload } = packet;
      this.#jitterBuffer.push(packet, packet.payloadType === 8 ? alawToUlaw(payload, payload) : payload);
    }
  }

  #hearEvent(packet: RtpPacket): void {
    const digit = this.#telephoneEvents.receive(packet);
    // Of the first digit the tones may have been there before the event was.
    const tone = this.#sendsEvents ? null : this.#tone;
    this.#sendsEvents = true;
    this.#tone = null;
    const isHeard = tone?.digit === digit && this.#receivedAt - tone.at < TONE_AHEAD_MS;
    if (digit !== null && !isHeard) this.#reportDigit(digit);
  }

  #hearTone(digit: DtmfDigit): void {
    this.#tone = { digit, at: this.#receivedAt };
    this.#reportDigit(digit);
  }

  #reportDigit(digit: DtmfDigit): void {
    this.#deps.report({ type: "dtmfDigit", digit, at: this.#receivedAt });
  }

  #onFrame(frame: Uint8Array, isLost: boolean): void {
    this.#listener.hear(frame);
    if (this.#options.capture) this.#deps.report({ type: "audio", ulaw: new Uint8Array(frame) });
    if (this.#sendsEvents || this.#sourceState !== "locked") return;
    this.#lost = isLost ? this.#lost + 1 : 0;
    // Taken for a pause, one packet lost in the middle of a digit would make two of it.
    if (isLost && this.#lost <= MOST_LOST) return;
    this.#tones.receive(decodeUlaw(frame, SAMPLES), (digit) => this.#hearTone(digit));
    SAMPLES.fill(0);
  }

  #onPeriod(now: number): void {
    if (this.#listener.isListening && now - this.#lastAudio > QUIET_AFTER_MS) this.#jitterBuffer.fill();
  }
}
