import type { Clock } from "#src/kernel/clock.ts";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { Random } from "#src/kernel/random.ts";
import type { PeerStatistics } from "./protocol.ts";
import type { ReceiverStatistics } from "./receiver-statistics.ts";
import { type ReportBlock, type Rtcp, readRtcp, writeRtcp } from "./rtcp.ts";

/**
 * Between two reports, ms, before chance moves it: the reduced minimum of RFC 3550 section 6.2, 360 s divided by the session's kbit/s, of
 * which G.711 has about 90 with SRTP over IPv6. With 1.5 times that and the compensation none is later than 5 s.
 */
const INTERVAL_MS = 4_000;
/** RFC 3550 section 6.3.1: e - 3/2. */
const COMPENSATION = Math.E - 1.5;
/** 1 January 1970 in NTP's seconds. */
const NTP_EPOCH = 2_208_988_800;
/** Units of the middle 32 bits of an NTP time in a second. */
const UNITS_PER_SECOND = 0x1_0000;
/** A round trip longer than this, s, is not one. */
const LONGEST_ROUND_TRIP_S = 60;
/** Two clocks may differ by so much, s, that a round trip comes out below zero. */
const ROUNDING_S = 0.01;
const CNAME_BYTES = 12;

/** The stream that we send. */
interface SentStream {
  readonly ssrc: number;
  readonly packets: number;
  /** Of payload. */
  readonly octets: number;
  /** The stream's timestamp at `now` (monotonic ms). */
  timestampAt(now: number): number;
}

interface RtcpSessionOptions {
  clock: Clock;
  random: Random;
  sent: SentStream;
  received: ReceiverStatistics;
  /** False: there is nowhere to send to. */
  transmit: (datagram: Uint8Array) => boolean;
}

/** The reports of one leg, both ways (RFC 3550 section 6). There are two participants, so nothing is reconsidered for others' sake. */
export class RtcpSession {
  readonly #options: RtcpSessionOptions;
  /** Random and for this call alone: it tells nothing of the host (RFC 7022 section 4.2). */
  readonly #cname: string;
  /** NTP times go as the monotonic clock does, from what the wall clock showed at first. */
  readonly #epochMs: number;
  #cancel: (() => void) | null = null;
  /** Packets sent until the last report; null before the first. */
  #reported: number | null = null;
  /** The peer's last sender report: of whom, its middle NTP time, when it came (monotonic ms). */
  #lastReport: { ssrc: number; ntpMiddle: number; at: number } | null = null;
  /** What the peer tells of our stream; null before it does. */
  peer: PeerStatistics | null = null;

  constructor(options: RtcpSessionOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#cname = Buffer.from(random.bytes(CNAME_BYTES)).toString("base64");
    this.#epochMs = clock.now() - clock.monotonic();
  }

  /** Sends reports from here on, the first after half the time (RFC 3550 section 6.2). */
  start(): void {
    if (!this.#cancel) this.#schedule(INTERVAL_MS / 2);
  }

  /** Says BYE, unless we have not been heard of at all (RFC 3550 section 6.3.7). */
  end(): void {
    this.#cancel?.();
    if (this.#reported !== null || this.#options.sent.packets > 0) this.#send(true);
  }

  /** Reads a datagram in the clear that came at `now` (monotonic ms); null when it is not sound. */
  receive(datagram: Uint8Array, now: number): Rtcp | null {
    const rtcp = readRtcp(datagram, this.#options.sent.ssrc);
    if (rtcp?.sender) this.#lastReport = { ...rtcp.sender, at: now };
    if (rtcp?.block) this.#note(rtcp.block, now);
    return rtcp;
  }

  #schedule(interval: number): void {
    const { clock, random } = this.#options;
    this.#cancel = clock.after((interval * (0.5 + random.fraction())) / COMPENSATION, () => {
      this.#send(false);
      this.#schedule(INTERVAL_MS);
    });
  }

  #send(isLeaving: boolean): void {
    const { clock, sent, received, transmit } = this.#options;
    const now = clock.monotonic();
    const { packets, octets, ssrc } = sent;
    const ms = this.#epochMs + now;
    const sender = packets > (this.#reported ?? 0) && {
      ntpSeconds: (Math.floor(ms / 1000) + NTP_EPOCH) >>> 0,
      ntpFraction: Math.floor(((ms % 1000) / 1000) * 0x1_0000_0000),
      timestamp: sent.timestampAt(now),
      packets,
      octets,
    };
    const statistics = received.report();
    const last = this.#lastReport?.ssrc === statistics?.ssrc ? this.#lastReport : null;
    const delay = last ? Math.round(((now - last.at) * UNITS_PER_SECOND) / 1000) >>> 0 : 0;
    const block = statistics && { ...statistics, lastReport: last?.ntpMiddle ?? 0, delay };
    if (transmit(writeRtcp({ ssrc, cname: this.#cname, sender: sender || null, block, isLeaving }))) this.#reported = packets;
  }

  #note({ lost, fractionLost, jitter, lastReport, delay }: ReportBlock, now: number): void {
    const ms = this.#epochMs + now;
    const units = Math.floor(((ms / 1000 + NTP_EPOCH) % 0x1_0000) * UNITS_PER_SECOND);
    const seconds = ((units - lastReport - delay) | 0) / UNITS_PER_SECOND;
    const isPlausible = lastReport !== 0 && seconds > -ROUNDING_S && seconds < LONGEST_ROUND_TRIP_S;
    this.peer = {
      lost: Math.max(0, lost),
      fractionLost: fractionLost / 256,
      jitterMs: (jitter * 1000) / SAMPLE_RATE_HZ,
      roundTripMs: isPlausible ? Math.max(0, seconds * 1000) : (this.peer?.roundTripMs ?? null),
    };
  }
}
