import { bufferOf } from "#src/kernel/bytes.ts";

/** What a receiver tells of one stream (RFC 3550 section 6.4.1). */
export interface ReportBlock {
  /** Whose stream. */
  ssrc: number;
  /** Share of the packets lost since the last report, in 256ths. */
  fractionLost: number;
  /** Packets lost since the beginning; negative where duplicates outnumber them. 24 bits. */
  lost: number;
  /** Sequence number of the newest packet, with its cycles above 16 bits. */
  highestSequence: number;
  /** In samples. */
  jitter: number;
  /** Middle 32 bits of the NTP time in the last sender report; 0: none has come. */
  lastReport: number;
  /** Time since then, in 65,536ths of a second. */
  delay: number;
}

/** What a sender report tells of the sender's own stream (RFC 3550 section 6.4.1). */
interface SenderInfo {
  ntpSeconds: number;
  ntpFraction: number;
  /** The moment of the NTP time in the stream's own timestamps. */
  timestamp: number;
  packets: number;
  octets: number;
}

/** One compound packet, as far as it concerns us. */
export interface Rtcp {
  /** Whose sender report is in it; null: none. */
  sender: { ssrc: number; ntpMiddle: number } | null;
  /** What is told of our stream. */
  block: ReportBlock | null;
  /** Who leaves. */
  leaving: number[];
}

const [SENDER_REPORT, RECEIVER_REPORT, SOURCE_DESCRIPTION, BYE] = [200, 201, 202, 203];
const [HEADER_BYTES, SSRC_BYTES, SENDER_BYTES, BLOCK_BYTES] = [4, 4, 20, 24];
const CNAME = 1;
const MAX_LOST = 0x7f_ffff;

/**
 * Reads a datagram; null when one packet of the compound is not sound (RFC 3550 appendix A.2). That a report comes first is not insisted
 * on (RFC 5506). `ours`: our SSRC. Types we do not know are passed over.
 */
export function readRtcp(datagram: Uint8Array, ours: number): Rtcp | null {
  const bytes = bufferOf(datagram);
  const rtcp: Rtcp = { sender: null, block: null, leaving: [] };
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < HEADER_BYTES) return null;
    const first = bytes.readUInt8(at);
    const end = at + HEADER_BYTES + 4 * bytes.readUInt16BE(at + 2);
    if (first >> 6 !== 2 || end > bytes.length) return null;
    const padding = first & 0x20 ? bytes.readUInt8(end - 1) : 0;
    const isPadded = (first & 0x20) !== 0;
    // Padding stands at the end of the whole compound alone (RFC 3550 section 6.4.1).
    if (isPadded && (end !== bytes.length || padding === 0 || padding % 4 !== 0 || at + HEADER_BYTES + padding > end)) return null;
    if (!readPacket(bytes.subarray(at, end - padding), first & 0x1f, ours, rtcp)) return null;
    at = end;
  }
  return bytes.length > 0 ? rtcp : null;
}

/** False when the packet is too short for the `count` of its header. */
function readPacket(packet: Buffer, count: number, ours: number, rtcp: Rtcp): boolean {
  const type = packet.readUInt8(1);
  if (type === BYE) {
    if (packet.length < HEADER_BYTES + count * SSRC_BYTES) return false;
    for (let index = 0; index < count; index++) rtcp.leaving.push(packet.readUInt32BE(HEADER_BYTES + index * SSRC_BYTES));
    return true;
  }
  if (type !== SENDER_REPORT && type !== RECEIVER_REPORT) return true;
  const blocks = HEADER_BYTES + SSRC_BYTES + (type === SENDER_REPORT ? SENDER_BYTES : 0);
  if (packet.length < blocks + count * BLOCK_BYTES) return false;
  if (type === SENDER_REPORT) rtcp.sender = { ssrc: packet.readUInt32BE(4), ntpMiddle: packet.readUInt32BE(10) };
  for (let index = 0; index < count; index++) {
    const block = readBlock(packet, blocks + index * BLOCK_BYTES);
    if (block.ssrc === ours) rtcp.block = block;
  }
  return true;
}

function readBlock(packet: Buffer, at: number): ReportBlock {
  return {
    ssrc: packet.readUInt32BE(at),
    fractionLost: packet.readUInt8(at + 4),
    lost: packet.readIntBE(at + 5, 3),
    highestSequence: packet.readUInt32BE(at + 8),
    jitter: packet.readUInt32BE(at + 12),
    lastReport: packet.readUInt32BE(at + 16),
    delay: packet.readUInt32BE(at + 20),
  };
}

interface Report {
  ssrc: number;
  /** Short-term, of no meaning beyond this call (RFC 7022). At most 255 ASCII characters. */
  cname: string;
  /** Absent: nothing was sent since the last report. */
  sender?: SenderInfo | null;
  block?: ReportBlock | null;
  /** It is our last one. */
  isLeaving?: boolean;
}

/** A compound packet: sender or receiver report, CNAME, and BYE where we leave (RFC 3550 section 6.1). */
export function writeRtcp({ ssrc, cname, sender, block, isLeaving = false }: Report): Uint8Array {
  const report = packetOf(
    sender ? SENDER_REPORT : RECEIVER_REPORT,
    block ? 1 : 0,
    (sender ? SENDER_BYTES : 0) + (block ? BLOCK_BYTES : 0),
    ssrc,
  );
  if (sender) {
    report.writeUInt32BE(sender.ntpSeconds, 8);
    report.writeUInt32BE(sender.ntpFraction, 12);
    report.writeUInt32BE(sender.timestamp, 16);
    report.writeUInt32BE(sender.packets % 0x1_0000_0000, 20);
    report.writeUInt32BE(sender.octets % 0x1_0000_0000, 24);
  }
  if (block) writeBlock(report, report.length - BLOCK_BYTES, block);
  // At least one zero octet ends the list of items, and more fill the word.
  const description = packetOf(SOURCE_DESCRIPTION, 1, 4 * Math.floor((2 + cname.length) / 4 + 1), ssrc);
  description.writeUInt8(CNAME, 8);
  description.writeUInt8(cname.length, 9);
  description.write(cname, 10, "latin1");
  return Buffer.concat(isLeaving ? [report, description, packetOf(BYE, 1, 0, ssrc)] : [report, description]);
}

function packetOf(type: number, count: number, bytes: number, ssrc: number): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES + SSRC_BYTES + bytes);
  packet.writeUInt8(0x80 | count, 0);
  packet.writeUInt8(type, 1);
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  packet.writeUInt32BE(ssrc, 4);
  return packet;
}

function writeBlock(packet: Buffer, at: number, block: ReportBlock): void {
  packet.writeUInt32BE(block.ssrc, at);
  packet.writeUInt8(block.fractionLost, at + 4);
  packet.writeIntBE(Math.max(-MAX_LOST - 1, Math.min(block.lost, MAX_LOST)), at + 5, 3);
  packet.writeUInt32BE(block.highestSequence, at + 8);
  packet.writeUInt32BE(block.jitter, at + 12);
  packet.writeUInt32BE(block.lastReport, at + 16);
  packet.writeUInt32BE(block.delay, at + 20);
}
