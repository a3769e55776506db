import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { ReceiverStatistics } from "./receiver-statistics.ts";
import { readRtcp, writeRtcp } from "./rtcp.ts";
import { RtcpSession } from "./rtcp-session.ts";

const OURS = 7;
const PEERS = 9;

function rig(fraction = 0.5) {
  const clock = new ManualClock();
  const sent = { ssrc: OURS, packets: 0, octets: 0, timestampAt: (now: number) => (now * 8) >>> 0 };
  const received = new ReceiverStatistics();
  const reports: { at: number; datagram: Uint8Array }[] = [];
  const session = new RtcpSession({
    clock,
    random: { ...systemRandom, fraction: () => fraction },
    sent,
    received,
    transmit: (datagram) => reports.push({ at: clock.monotonic(), datagram }) > 0,
  });
  const packet = (sequence: number) =>
    received.note(
      { ssrc: PEERS, sequence, timestamp: sequence * 160, marker: false, payloadType: 0, payload: new Uint8Array(160) },
      clock.monotonic(),
      true,
    );
  const last = () => reports.at(-1)?.datagram ?? new Uint8Array();
  return { clock, session, sent, reports, packet, last };
}

for (const fraction of [0, 0.5, 0.999]) {
  test(`the first report comes after half the time, further ones within 5 s each, as chance has it (${fraction}; RFC 3550 section 6.2)`, () => {
    const { clock, session, reports } = rig(fraction);
    const begun = clock.monotonic();
    session.start();
    session.start();
    for (let ms = 0; ms < 60_000; ms += 10) clock.advance(10);
    const times = [begun, ...reports.map(({ at }) => at)];
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    assert.ok(gaps.length >= 12);
    assert.ok(gaps.every((gap) => gap <= 5_000));
    assert.ok(Math.abs((gaps[0] ?? 0) * 2 - (gaps[1] ?? 0)) <= 40);
  });
}

test("a sender report is sent where RTP was since the last, a receiver report otherwise, both with what came of the peer's", () => {
  const { clock, session, sent, last, packet } = rig();
  session.start();
  sent.packets = 50;
  sent.octets = 8_000;
  packet(1);
  packet(3);
  clock.advance(2_000);
  assert.equal(last()[1], 200);
  assert.equal(Buffer.from(last()).readUInt32BE(20), 50);
  assert.equal(Buffer.from(last()).readUInt32BE(24), 8_000);
  assert.deepEqual(readRtcp(last(), PEERS)?.block, {
    ssrc: PEERS,
    fractionLost: Math.floor(256 / 3),
    lost: 1,
    highestSequence: 3,
    jitter: 20,
    lastReport: 0,
    delay: 0,
  });
  clock.advance(5_000);
  assert.equal(last()[1], 201);
});

test("the round trip is the peer's answer less the time that it held our report (RFC 3550 section 6.4.1)", () => {
  const { clock, session, sent, last } = rig();
  session.start();
  sent.packets = 1;
  clock.advance(1_642);
  const ntp = readRtcp(last(), PEERS)?.sender?.ntpMiddle ?? 0;
  clock.advance(120 + 500);
  const delay = 65_536 / 2;
  const block = { ssrc: OURS, fractionLost: 128, lost: 5, highestSequence: 9, jitter: 160, lastReport: ntp, delay };
  session.receive(writeRtcp({ ssrc: PEERS, cname: "p", block }), clock.monotonic());
  const { roundTripMs = null, ...told } = session.peer ?? {};
  assert.deepEqual(told, { lost: 5, fractionLost: 0.5, jitterMs: 20 });
  assert.ok(Math.abs((roundTripMs ?? 0) - 120) < 1, String(roundTripMs));
  // A report that answers none of ours, or one of tomorrow, changes nothing.
  for (const wrong of [0, (ntp + 0x4000_0000) >>> 0])
    session.receive(writeRtcp({ ssrc: PEERS, cname: "p", block: { ...block, lastReport: wrong } }), clock.monotonic());
  assert.equal(session.peer?.roundTripMs, roundTripMs);
});

test("the peer's own sender report is answered with its time and how long we have had it", () => {
  const { clock, session, packet, last } = rig();
  session.start();
  packet(1);
  const sender = { ntpSeconds: 0x1_2345, ntpFraction: 0x6789_abcd, timestamp: 1, packets: 1, octets: 160 };
  session.receive(writeRtcp({ ssrc: PEERS, cname: "p", sender }), clock.monotonic());
  clock.advance(1_700);
  const block = readRtcp(last(), PEERS)?.block;
  assert.equal(block?.lastReport, 0x2345_6789);
  assert.ok(Math.abs(((block?.delay ?? 0) * 1000) / 65_536 - 2_000 / (Math.E - 1.5)) < 1);
});

test("whoever has been heard of says BYE and no more; whoever has not says nothing (RFC 3550 section 6.3.7)", () => {
  const silent = rig();
  silent.session.start();
  silent.session.end();
  silent.clock.advance(60_000);
  assert.equal(silent.reports.length, 0);
  const { clock, session, sent, reports, last } = rig();
  session.start();
  sent.packets = 3;
  session.end();
  clock.advance(60_000);
  assert.equal(reports.length, 1);
  assert.deepEqual(readRtcp(last(), PEERS)?.leaving, [OURS]);
});
