import assert from "node:assert/strict";
import { test } from "node:test";
import { alawToUlaw } from "#src/kernel/g711.ts";
import { type DownDigit, eventPayload } from "./telephone-event.ts";
import type { RelayTarget } from "./relay.ts";
import { Relay } from "./relay.ts";
import type { RtpPacket } from "./rtp.ts";
import type { OutgoingFormat, StreamPacket } from "./sender.ts";

const PCMU: OutgoingFormat = { payloadType: 0, eventPayloadType: 101 };

function rig(format: OutgoingFormat | null, heldDigit: DownDigit | null = null) {
  const sent: StreamPacket[] = [];
  let joints = 0;
  const target: RelayTarget = {
    get format() {
      return format;
    },
    joint: () => ({ sequence: 500 + 100 * joints++, timestamp: 70_000 }),
    forward: (packet) => sent.push(packet),
  };
  const hold = (on: boolean) => (format = on ? null : PCMU);
  return { relay: new Relay(target, heldDigit), sent, hold };
}

function packet(changes: Partial<RtpPacket> = {}): RtpPacket {
  return {
    marker: false,
    payloadType: 0,
    sequence: 0xffff,
    timestamp: 0xffffffff,
    ssrc: 1,
    payload: Uint8Array.of(1, 2),
    ...changes,
  };
}

test("numbers are shifted by a constant: loss and order stay as they are", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 });
  for (const step of [0, 1, 4, 3]) {
    relay.forward(packet({ sequence: (0xffff + step) & 0xffff, timestamp: (0xffffffff + step * 160) >>> 0 }), false, 0);
  }
  assert.deepEqual(
    sent.map(({ sequence }) => sequence),
    [500, 501, 504, 503],
  );
  assert.deepEqual(
    sent.map(({ timestamp }) => timestamp),
    [70_000, 70_160, 70_640, 70_480],
  );
});

test("a new SSRC is joined on anew", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 });
  relay.forward(packet(), false, 0);
  relay.forward(packet({ ssrc: 2, sequence: 9 }), false, 0);
  assert.deepEqual(
    sent.map(({ sequence }) => sequence),
    [500, 600],
  );
});

test("PCMA becomes PCMU and events take the target's payload type", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 96 });
  relay.forward(packet({ payloadType: 8 }), false, 0);
  relay.forward(packet({ payloadType: 101, payload: eventPayload(5, 160, false) }), true, 0);
  assert.deepEqual(
    sent.map(({ payloadType }) => payloadType),
    [0, 96],
  );
  assert.deepEqual([...(sent[0]?.payload ?? [])], [...alawToUlaw(Uint8Array.of(1, 2))]);
  assert.deepEqual([...(sent[1]?.payload ?? [])], [...eventPayload(5, 160, false)]);
});

test("a target without events gets none, a held target gets nothing", () => {
  const event = packet({ payloadType: 101, payload: eventPayload(5, 160, false) });
  const without = rig({ payloadType: 0, eventPayloadType: null });
  without.relay.forward(event, true, 0);
  assert.equal(without.sent.length, 0);
  const held = rig(null);
  held.relay.forward(packet(), false, 0);
  assert.equal(held.sent.length, 0);
});

test("a digit that was down before the bridge is not relayed, the next one is (R-425)", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 }, { ssrc: 1, timestamp: 1_000, duration: 320 });
  const event = (timestamp: number) => packet({ payloadType: 101, timestamp, payload: eventPayload(5, 320, true) });
  relay.forward(event(1_000), true, 0);
  relay.forward(event(840), true, 0);
  assert.equal(sent.length, 0);
  relay.forward(event(1_160), true, 0);
  assert.equal(sent.length, 1);
});

test("a digit that is held for over 8 s while the bridge is made stays here to its end, the next one crosses (S-24, RFC 4733 section 2.5.1.3)", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 }, { ssrc: 1, timestamp: 1_000, duration: 320 });
  const event = (timestamp: number, marker: boolean) =>
    packet({ payloadType: 101, timestamp, marker, payload: eventPayload(5, 320, false) });
  for (const segment of [1, 2]) relay.forward(event(1_000 + segment * 0xffff, false), true, 0);
  assert.equal(sent.length, 0);
  relay.forward(event(1_000 + 3 * 0xffff, true), true, 0);
  assert.equal(sent.length, 1);
});

test("a digit held while the bridge is made stays here also from a sender that moves its timestamp along, the next one crosses (S-24)", () => {
  // 7 is down for 800 samples when the bridge is made: each packet says its own time.
  const { relay, sent } = rig(PCMU, { ssrc: 1, timestamp: 5_640, duration: 800 });
  const event = (key: number, timestamp: number, duration: number, { ended = false, marker = false } = {}) =>
    relay.forward(packet({ timestamp, marker, payload: eventPayload(key, duration, ended) }), true, 0);
  event(7, 5_800, 960);
  // One packet is lost, and one comes late.
  event(7, 6_120, 1_280);
  event(7, 5_960, 1_120);
  for (let copy = 0; copy < 3; copy++) event(7, 6_280, 1_440, { ended: true });
  assert.equal(sent.length, 0);
  for (let duration = 160; duration <= 2_400; duration += 160) event(5, 6_280 + 480 + duration, duration);
  assert.equal(sent.length, 15);
});

test("a digit pressed after the one that was held crosses whole, however long it is held", () => {
  const { relay, sent } = rig(PCMU, { ssrc: 1, timestamp: 5_000, duration: 800 });
  for (let duration = 160; duration <= 3_200; duration += 160) {
    relay.forward(packet({ timestamp: 6_120, payload: eventPayload(5, duration, false) }), true, 0);
  }
  assert.equal(sent.length, 20);
});

test("digits under an SSRC of their own keep one timestamp each, and no sequence number comes twice", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 96 });
  for (let step = 0; step < 4; step++) {
    relay.forward(packet({ sequence: 10 + step, timestamp: 160 * step }), false, 0);
    relay.forward(
      packet({
        ssrc: 2,
        sequence: 900 + step,
        timestamp: 5_000,
        payload: eventPayload(5, 160 * (step + 1), false),
      }),
      true,
      0,
    );
  }
  const events = sent.filter(({ payloadType }) => payloadType === 96);
  assert.equal(events.length, 4);
  assert.equal(new Set(events.map(({ timestamp }) => timestamp)).size, 1);
  assert.equal(new Set(sent.map(({ sequence }) => sequence)).size, 8);
  const audio = sent.filter(({ payloadType }) => payloadType === 0).map(({ timestamp }) => timestamp);
  assert.deepEqual(audio, [70_000, 70_160, 70_320, 70_480]);
});

test("a packet from before the bridge that comes late is not relayed: its number there is used (RFC 3711 section 9.1, R-425)", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 });
  for (const sequence of [50, 49, 51]) relay.forward(packet({ sequence }), false, 0);
  assert.deepEqual(
    sent.map(({ sequence }) => sequence),
    [500, 501],
  );
});

test("a call of an hour is relayed to its end: numbers that come round again are not from before it", () => {
  const { relay, sent } = rig({ payloadType: 0, eventPayloadType: 101 });
  const packets = 180_000;
  for (let step = 0; step < packets; step++) {
    relay.forward(packet({ sequence: (50 + step) & 0xffff, timestamp: (160 * step) >>> 0 }), false, 20 * step);
  }
  assert.equal(sent.length, packets);
  assert.equal(sent.at(-1)?.sequence, (500 + packets - 1) & 0xffff);
});

test("after a hold of any length the stream goes on where it was", () => {
  const { relay, sent, hold } = rig(PCMU);
  const packets = 40_000;
  for (let step = 0; step <= packets + 1; step++) {
    hold(step > 0 && step <= packets);
    relay.forward(packet({ sequence: step & 0xffff, timestamp: 160 * step }), false, 20 * step);
  }
  assert.deepEqual(
    sent.map(({ sequence, timestamp }) => [sequence, timestamp]),
    [
      [500, 70_000],
      [600, 70_000 + 160 * (packets + 1)],
    ],
  );
});
