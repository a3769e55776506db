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

/** Without CSRC list and extension. */
export const HEADER_BYTES = 12;

/** Reads a datagram, into `packet` where one is to be used again; null when it is not a sound RTP packet of version 2. */
export function readRtp(datagram: Uint8Array, packet = {} as RtpPacket): RtpPacket | null {
  if (datagram.length < HEADER_BYTES) return null;
  const first = byte(datagram, 0);
  if (first >> 6 !== 2) return null;
  const start = payloadStart(datagram);
  let end = datagram.length;
  if (first & 0x20) {
    const padding = byte(datagram, end - 1);
    if (padding === 0) return null;
    end -= padding;
  }
  if (start > end) return null;
  packet.marker = byte(datagram, 1) >= 0x80;
  packet.payloadType = byte(datagram, 1) & 0x7f;
  packet.sequence = word(datagram, 2);
  packet.timestamp = word(datagram, 4) * 0x10000 + word(datagram, 6);
  packet.ssrc = word(datagram, 8) * 0x10000 + word(datagram, 10);
  packet.payload = datagram.subarray(start, end);
  return packet;
}

/** Where the payload begins, behind CSRC list and extension; beyond the datagram's end when it is cut short. */
export function payloadStart(datagram: Uint8Array): number {
  const first = byte(datagram, 0);
  const start = HEADER_BYTES + (first & 0x0f) * 4;
  return first & 0x10 ? start + 4 + word(datagram, start + 2) * 4 : start;
}

/** Writes a packet without CSRC, extension or padding. Numbers wider than their field are cut. */
export function writeRtp(packet: RtpPacket): Uint8Array {
  // From Buffer's pool: a 172-byte ArrayBuffer of its own costs several times more.
  const datagram = Buffer.allocUnsafe(HEADER_BYTES + packet.payload.length);
  writeRtpHeader(datagram, packet.marker, packet.payloadType, packet.sequence, packet.timestamp, packet.ssrc);
  datagram.set(packet.payload, HEADER_BYTES);
  return datagram;
}

/** Writes the first `HEADER_BYTES` of a datagram whose payload is there already. */
export function writeRtpHeader(
  datagram: Uint8Array,
  marker: boolean,
  payloadType: number,
  sequence: number,
  timestamp: number,
  ssrc: number,
): void {
  datagram[0] = 0x80;
  datagram[1] = (marker ? 0x80 : 0) | (payloadType & 0x7f);
  putWord(datagram, 2, sequence);
  putWord(datagram, 4, timestamp >>> 16);
  putWord(datagram, 6, timestamp);
  putWord(datagram, 8, ssrc >>> 16);
  putWord(datagram, 10, ssrc);
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
