/** RTP packets (RFC 3550 section 5.1), read and written without state. */
export interface RtpPacket {
  marker: boolean;
  /** 0-127. */
  payloadType: number;
  /** 16 bits. */
  sequence: number;
  /** 32 bits, unsigned, in samples. */
  timestamp: number;
  /** 32 bits, unsigned. */
  ssrc: number;
  /** A view of the datagram, not a copy. CSRC list, extension and padding are left out. */
  payload: Uint8Array;
}

const HEADER_BYTES = 12;

/** Reads a datagram; null when it is not a sound RTP packet of version 2. */
export function readRtp(datagram: Uint8Array): RtpPacket | null {
  if (datagram.length < HEADER_BYTES) return null;
  const first = byte(datagram, 0);
  if (first >> 6 !== 2) return null;
  let start = HEADER_BYTES + (first & 0x0f) * 4;
  let end = datagram.length;
  if (first & 0x10) {
    if (start + 4 > end) return null;
    start += 4 + word(datagram, start + 2) * 4;
  }
  if (first & 0x20) {
    const padding = byte(datagram, end - 1);
    if (padding === 0) return null;
    end -= padding;
  }
  if (start > end) return null;
  return {
    marker: byte(datagram, 1) >= 0x80,
    payloadType: byte(datagram, 1) & 0x7f,
    sequence: word(datagram, 2),
    timestamp: word(datagram, 4) * 0x10000 + word(datagram, 6),
    ssrc: word(datagram, 8) * 0x10000 + word(datagram, 10),
    payload: datagram.subarray(start, end),
  };
}

/** Writes a packet without CSRC, extension or padding. Numbers wider than their field are cut. */
export function writeRtp(packet: RtpPacket): Uint8Array {
  // From Buffer's pool: a 172-byte ArrayBuffer of its own costs several times more.
  const datagram = Buffer.allocUnsafe(HEADER_BYTES + packet.payload.length);
  datagram[0] = 0x80;
  datagram[1] = (packet.marker ? 0x80 : 0) | (packet.payloadType & 0x7f);
  putWord(datagram, 2, packet.sequence);
  putWord(datagram, 4, packet.timestamp >>> 16);
  putWord(datagram, 6, packet.timestamp);
  putWord(datagram, 8, packet.ssrc >>> 16);
  putWord(datagram, 10, packet.ssrc);
  datagram.set(packet.payload, HEADER_BYTES);
  return datagram;
}

/** True for RTCP on the RTP port: packet types 192-223 (RFC 5761 section 4). */
export function isRtcp(datagram: Uint8Array): boolean {
  return datagram.length >= 8 && byte(datagram, 0) >> 6 === 2 && byte(datagram, 1) >= 192 && byte(datagram, 1) <= 223;
}

/** How far sequence number `a` is ahead of `b`, -32768 to 32767, wrap-around minded. */
export function sequenceDelta(a: number, b: number): number {
  return ((a - b) << 16) >> 16;
}

/** How far timestamp `a` is ahead of `b` in samples, wrap-around minded. */
export function timestampDelta(a: number, b: number): number {
  return (a - b) | 0;
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function word(bytes: Uint8Array, at: number): number {
  return (byte(bytes, at) << 8) | byte(bytes, at + 1);
}

function putWord(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = (value >>> 8) & 0xff;
  bytes[at + 1] = value & 0xff;
}
