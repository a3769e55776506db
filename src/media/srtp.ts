import { timingSafeEqual } from "node:crypto";
import { bufferOf } from "#src/kernel/bytes.ts";
import { ReplayWindow } from "./replay-window.ts";
import { HEADER_BYTES, payloadStart, sequenceDelta } from "./rtp.ts";
import { type SrtpSuite, LONGEST_DATAGRAM, MASTER_BYTES, RTCP_TAG_BYTES, SessionKeys, deriveKeys, TAG_BYTES } from "./srtp-keys.ts";

const ROLLOVER_BYTES = 4;
const INDEX_BYTES = 4;
const RTCP_HEADER_BYTES = 8;
const ENCRYPTED_BIT = 0x8000_0000;
/** An RTCP index has 31 bits. */
const LAST_RTCP_INDEX = 0x7fff_ffff;
/** Streams of one peer whose packets are remembered; further ones are refused, for a forgotten one could be replayed. */
const MAX_STREAMS = 16;

/** Protects what one leg sends (RFC 3711 section 3.3). One SSRC, its sequence numbers from below 2^15 on. */
export class SrtpSender {
  readonly #rtp: SessionKeys;
  readonly #rtcp: SessionKeys;
  readonly #tagBytes: number;
  /** Indices of the packets sent: each is roll-over counter and sequence number. */
  readonly #sent: ReplayWindow;
  #rtcpIndex = 0;

  /** `former`: whose stream goes on under this key; its roll-over counter goes on too (RFC 3711 section 3.3.1). */
  constructor(suite: SrtpSuite, master: Uint8Array, former?: SrtpSender) {
    this.#rtp = new SessionKeys(deriveKeys(master, "rtp"));
    this.#rtcp = new SessionKeys(deriveKeys(master, "rtcp"));
    this.#tagBytes = TAG_BYTES[suite];
    this.#sent = new ReplayWindow(former ? former.#sent.highest : -1);
  }

  /**
   * The RTP packet, encrypted and with its tag, in a buffer of its own. `datagram` stays as it is. Null where its index has been used or
   * lies before the stream: the same keystream on two payloads would give both away (RFC 3711 section 9.1).
   */
  protect(datagram: Uint8Array): Uint8Array | null {
    const { length } = datagram;
    const packet = Buffer.allocUnsafe(length + Math.max(this.#tagBytes, ROLLOVER_BYTES));
    packet.set(datagram);
    const index = indexOf(packet.readUInt16BE(2), this.#sent.highest);
    if (index < 0 || !this.#sent.isNew(index)) return null;
    this.#sent.note(index);
    this.#rtp.crypt(packet, HEADER_BYTES, length, packet.readUInt32BE(8), index);
    packet.writeUInt32BE(rollover(index), length);
    this.#rtp.authenticate(packet.subarray(0, length + ROLLOVER_BYTES)).copy(packet, length, 0, this.#tagBytes);
    return packet.subarray(0, length + this.#tagBytes);
  }

  /** The compound RTCP packet, encrypted, with its index and tag (RFC 3711 section 3.4). */
  protectRtcp(datagram: Uint8Array): Uint8Array {
    const { length } = datagram;
    const packet = Buffer.alloc(length + INDEX_BYTES + RTCP_TAG_BYTES);
    packet.set(datagram);
    const index = this.#rtcpIndex++ & LAST_RTCP_INDEX;
    this.#rtcp.crypt(packet, RTCP_HEADER_BYTES, length, packet.readUInt32BE(4), index);
    packet.writeUInt32BE((ENCRYPTED_BIT | index) >>> 0, length);
    this.#rtcp.authenticate(packet.subarray(0, length + INDEX_BYTES)).copy(packet, length + INDEX_BYTES, 0, RTCP_TAG_BYTES);
    return packet;
  }

  wipe(): void {
    this.#rtp.wipe();
    this.#rtcp.wipe();
  }
}

/** Checks and decrypts what one peer sends. Nothing forged and nothing replayed comes through, however late. */
export class SrtpReceiver {
  /** Of each master key, the one that came last first: a sender changes from one to the other, and goes on counting. */
  readonly #rtp: SessionKeys[];
  readonly #rtcp: SessionKeys[];
  readonly #tagBytes: number;
  readonly #mkiBytes: number;
  /** By SSRC. */
  readonly #streams = new Map<number, ReplayWindow>();
  readonly #rtcpStreams = new Map<number, ReplayWindow>();
  /** The streams as they were under the former keys: their roll-over counters go on (RFC 3711 section 3.3.1). */
  readonly #former: ReadonlyMap<number, ReplayWindow>;

  /**
   * `master`: of several keys one behind the other. `mkiBytes`: of the key's identifier in front of each tag, which is not read: the tag itself
   * tells whose it is.
   */
  constructor(suite: SrtpSuite, master: Uint8Array, mkiBytes = 0, former?: SrtpReceiver) {
    const masters = Array.from({ length: master.length / MASTER_BYTES }, (_, at) =>
      master.subarray(at * MASTER_BYTES, (at + 1) * MASTER_BYTES),
    );
    this.#rtp = masters.map((one) => new SessionKeys(deriveKeys(one, "rtp")));
    this.#rtcp = masters.map((one) => new SessionKeys(deriveKeys(one, "rtcp")));
    this.#tagBytes = TAG_BYTES[suite];
    this.#mkiBytes = mkiBytes;
    this.#former = former ? new Map([...former.#former, ...former.#streams]) : new Map();
  }

  /** Decrypts in place: the RTP packet within `datagram`, or null when it is forged, replayed or none; `datagram` is then as it was. */
  unprotect(datagram: Uint8Array): Uint8Array | null {
    const end = datagram.length - this.#tagBytes - this.#mkiBytes;
    if (datagram.length > LONGEST_DATAGRAM || end < HEADER_BYTES) return null;
    const packet = bufferOf(datagram);
    const start = payloadStart(packet);
    if (start > end) return null;
    const ssrc = packet.readUInt32BE(8);
    const sequence = packet.readUInt16BE(2);
    const stream = this.#streams.get(ssrc);
    const former = stream ? undefined : this.#former.get(ssrc);
    // Some senders count from zero again under a new key.
    const possible = stream ? [stream] : former ? [new ReplayWindow(former.highest), new ReplayWindow()] : [new ReplayWindow()];
    if (!stream && this.#streams.size >= MAX_STREAMS) return null;
    for (const window of possible) {
      const index = indexOf(sequence, window.highest);
      if (index < 0 || !window.isNew(index)) continue;
      const keys = this.#keysOf(packet, end, rollover(index));
      if (!keys) continue;
      window.note(index);
      this.#streams.set(ssrc, window);
      keys.crypt(packet, start, end, ssrc, index);
      return datagram.subarray(0, end);
    }
    return null;
  }

  /** The compound RTCP packet within `datagram`, decrypted in place; null when it is forged, replayed or none. */
  unprotectRtcp(datagram: Uint8Array): Uint8Array | null {
    const tagAt = datagram.length - RTCP_TAG_BYTES;
    const end = tagAt - this.#mkiBytes - INDEX_BYTES;
    if (datagram.length > LONGEST_DATAGRAM || end < RTCP_HEADER_BYTES) return null;
    const packet = bufferOf(datagram);
    const ssrc = packet.readUInt32BE(4);
    const word = packet.readUInt32BE(end);
    const index = word & LAST_RTCP_INDEX;
    const window = this.#rtcpStreams.get(ssrc) ?? new ReplayWindow();
    if (!window.isNew(index) || (!this.#rtcpStreams.has(ssrc) && this.#rtcpStreams.size >= MAX_STREAMS)) return null;
    const keys = authentic(this.#rtcp, packet.subarray(0, end + INDEX_BYTES), packet.subarray(tagAt));
    if (!keys) return null;
    window.note(index);
    this.#rtcpStreams.set(ssrc, window);
    if (word >= ENCRYPTED_BIT) keys.crypt(packet, RTCP_HEADER_BYTES, end, ssrc, index);
    return datagram.subarray(0, end);
  }

  wipe(): void {
    for (const keys of [...this.#rtp, ...this.#rtcp]) keys.wipe();
  }

  /** Null: the packet is forged. The tag covers it and the roll-over counter, which is put behind the packet for as long as it is computed. */
  #keysOf(packet: Buffer, end: number, roc: number): SessionKeys | null {
    const trailer = Buffer.from(packet.subarray(end));
    packet.writeUInt32BE(roc, end);
    const keys = authentic(this.#rtp, packet.subarray(0, end + ROLLOVER_BYTES), trailer.subarray(this.#mkiBytes));
    trailer.copy(packet, end);
    return keys;
  }
}

/** Those keys, from then on the first of all, by which `tag` is the beginning of the HMAC over `bytes`; null: none. */
function authentic(all: SessionKeys[], bytes: Uint8Array, tag: Uint8Array): SessionKeys | null {
  const keys = all.find((one) => timingSafeEqual(one.authenticate(bytes).subarray(0, tag.length), tag));
  if (!keys) return null;
  if (keys !== all[0]) all.unshift(...all.splice(all.indexOf(keys), 1));
  return keys;
}

/** The index nearest to the newest one that has this sequence number (RFC 3711 section 3.3.1); negative: there is none. */
function indexOf(sequence: number, highest: number): number {
  return highest < 0 ? sequence : highest + sequenceDelta(sequence, highest % 0x1_0000);
}

function rollover(index: number): number {
  return Math.floor(index / 0x1_0000) % 0x1_0000_0000;
}
