/** A capture file of one caller for SIPp to replay: PCMU silence and RFC 4733 keys, every 20 ms, on one SSRC. */

/** libpcap file header: magic, version 2.4, snap length 65535, Ethernet. */
const FILE_HEADER = Buffer.from("d4c3b2a1020004000000000000000000ffff000001000000", "hex");
const SSRC = 0x0a11ce00;
const EVENT_PAYLOAD_TYPE = 101;
const PACKET_MS = 20;
const SAMPLES = 160;

export interface Caller {
  /** Silence before the first key and after the last, ms. */
  leadMs: number;
  tailMs: number;
  keys: string;
  onMs: number;
  gapMs: number;
}

export function captureOf({ leadMs, tailMs, keys, onMs, gapMs }: Caller): Buffer {
  const records: Buffer[] = [FILE_HEADER];
  let [sequence, timestamp, clockMs] = [100, 16_000, 0];

  const packet = (payloadType: number, marker: boolean, at: number, payload: Buffer) => {
    const rtp = Buffer.alloc(12);
    rtp.writeUInt8(0x80, 0);
    rtp.writeUInt8((marker ? 0x80 : 0) | payloadType, 1);
    rtp.writeUInt16BE(sequence++ & 0xffff, 2);
    rtp.writeUInt32BE(at, 4);
    rtp.writeUInt32BE(SSRC, 8);
    const frame = udpFrame(Buffer.concat([rtp, payload]));
    const record = Buffer.alloc(16);
    record.writeUInt32LE(1 + Math.floor(clockMs / 1000), 0);
    record.writeUInt32LE((clockMs % 1000) * 1000, 4);
    record.writeUInt32LE(frame.length, 8);
    record.writeUInt32LE(frame.length, 12);
    records.push(record, frame);
  };
  const step = () => {
    clockMs += PACKET_MS;
    timestamp += SAMPLES;
  };
  const silence = (ms: number) => {
    for (let passed = 0; passed < ms; passed += PACKET_MS) {
      packet(0, passed === 0, timestamp, Buffer.alloc(SAMPLES, 0xff));
      step();
    }
  };

  silence(leadMs);
  for (const key of keys) {
    const [code, start, packets] = ["0123456789*#".indexOf(key), timestamp, onMs / PACKET_MS];
    const event = (index: number, isEnd: boolean) => {
      const payload = Buffer.from([code, (isEnd ? 0x80 : 0) | 10, 0, 0]);
      payload.writeUInt16BE(SAMPLES * index, 2);
      packet(EVENT_PAYLOAD_TYPE, index === 1 && !isEnd, start, payload);
    };
    for (let index = 1; index <= packets; index++) {
      event(index, false);
      step();
    }
    // RFC 4733 section 2.5.1.4: the end is sent three times.
    for (let copy = 0; copy < 3; copy++) event(packets, true);
    silence(gapMs);
  }
  silence(tailMs);
  return Buffer.concat(records);
}

/** Ethernet, IPv4 and UDP around a datagram; SIPp reads the payload and the times alone. */
function udpFrame(datagram: Buffer): Buffer {
  const ethernet = Buffer.alloc(14);
  ethernet.writeUInt16BE(0x0800, 12);
  const ip = Buffer.from("4500000000000000401100007f0000017f000001", "hex");
  ip.writeUInt16BE(28 + datagram.length, 2);
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(6000, 0);
  udp.writeUInt16BE(6002, 2);
  udp.writeUInt16BE(8 + datagram.length, 4);
  return Buffer.concat([ethernet, ip, udp, datagram]);
}
