import assert from "node:assert/strict";
import { test } from "node:test";
import { ULAW_SILENCE } from "#src/kernel/g711.ts";
import { JitterBuffer } from "./jitter-buffer.ts";
import type { RtpPacket } from "./rtp.ts";

function collect(): { jitterBuffer: JitterBuffer; frames: number[] } {
  const frames: number[] = [];
  const jitterBuffer = new JitterBuffer((frame) => {
    assert.equal(frame.length, 160);
    assert.ok(frame.every((code) => code === frame[0]));
    frames.push(frame[0] ?? -1);
  });
  return { jitterBuffer, frames };
}

function packet(index: number, changes: Partial<RtpPacket> = {}): RtpPacket {
  const sequence = (0xfffc + index) & 0xffff;
  return {
    marker: false,
    payloadType: 0,
    sequence,
    timestamp: (0xfffffe00 + index * 160) >>> 0,
    ssrc: 1,
    payload: new Uint8Array(),
    ...changes,
  };
}

function push(jitterBuffer: JitterBuffer, ...indexes: number[]): void {
  for (const index of indexes) jitterBuffer.push(packet(index), new Uint8Array(160).fill(index));
}

for (const [name, order, heard] of [
  ["in order", [0, 1, 2, 3], [0, 1, 2, 3]],
  ["swapped", [0, 2, 1, 3], [0, 1, 2, 3]],
  ["two late", [0, 2, 3, 1, 4], [0, 1, 2, 3, 4]],
  ["repeated", [0, 1, 1, 2, 0, 3], [0, 1, 2, 3]],
  ["one lost", [0, 1, 3, 4, 5, 6], [0, 1, ULAW_SILENCE, 3, 4, 5, 6]],
  ["one too late", [0, 2, 3, 4, 5, 1, 6], [0, ULAW_SILENCE, 2, 3, 4, 5, 6]],
] as [string, number[], number[]][]) {
  test(`packets that come ${name} are heard in order, holes as silence`, () => {
    const { jitterBuffer, frames } = collect();
    push(jitterBuffer, ...order);
    assert.deepEqual(frames, heard);
  });
}

test("silence for what was lost is told from a pause of the peer's", () => {
  const lost: boolean[] = [];
  const jitterBuffer = new JitterBuffer((_, isLost) => lost.push(isLost));
  push(jitterBuffer, 0, 2, 3, 4, 5);
  assert.deepEqual(lost, [false, true, false, false, false, false]);
  jitterBuffer.push(packet(6, { timestamp: packet(8).timestamp }), new Uint8Array(160));
  assert.deepEqual(lost.slice(6), [false, false, false]);
});

test("packets of 10 ms and of 30 ms are cut into frames of 20 ms", () => {
  for (const size of [80, 240]) {
    const { jitterBuffer, frames } = collect();
    for (let index = 0; index < 12; index++) jitterBuffer.push(packet(index, { timestamp: index * size }), new Uint8Array(size).fill(7));
    assert.equal(frames.length, (12 * size) / 160);
  }
});

test("keypad events take their places in the order and leave silence in the audio", () => {
  const { jitterBuffer, frames } = collect();
  push(jitterBuffer, 0);
  jitterBuffer.push(packet(1, { payloadType: 101 }), null);
  jitterBuffer.push(packet(2, { payloadType: 101, timestamp: packet(1).timestamp }), null);
  push(jitterBuffer, 3);
  assert.deepEqual(frames, [0, ULAW_SILENCE, ULAW_SILENCE, 3]);
});

test("a peer that pauses is heard as silence, and not as twice the silence when it goes on", () => {
  const { jitterBuffer, frames } = collect();
  push(jitterBuffer, 0);
  jitterBuffer.fill();
  jitterBuffer.fill();
  jitterBuffer.push(packet(1, { timestamp: packet(3).timestamp }), new Uint8Array(160).fill(1));
  assert.deepEqual(frames, [0, ULAW_SILENCE, ULAW_SILENCE, 1]);
});

test("a new SSRC starts anew, with nothing of the old stream lost or repeated", () => {
  const { jitterBuffer, frames } = collect();
  push(jitterBuffer, 0, 1);
  jitterBuffer.push(packet(0, { ssrc: 2, sequence: 40_000, timestamp: 5 }), new Uint8Array(160).fill(9));
  assert.deepEqual(frames, [0, 1, 9]);
});

test("all audio held is overwritten when it was heard and when it is dropped (S-24)", (t) => {
  const jitterBuffer = new JitterBuffer(() => {});
  push(jitterBuffer, 0, 2, 1, 7);
  const fill = t.mock.method(Uint8Array.prototype, "fill");
  const overwritten = () => fill.mock.calls.map(({ this: array }) => array as Uint8Array).filter((array) => array.length === 160);
  const audio = [4, 5, 3].map((index) => new Uint8Array(160).fill(index));
  fill.mock.resetCalls();
  for (const [at, index] of [4, 5, 3].entries()) jitterBuffer.push(packet(index), audio[at] as Uint8Array);
  assert.equal(overwritten().length, 3, "4, 5 and 3 were held back until they were heard");
  jitterBuffer.clear();
  assert.equal(overwritten().length, 5, "7 was dropped, and the frame in the making");
  assert.ok(overwritten().every((array) => array.every((code) => code === 0)));
});

test("audio that is held back for a missing packet outlives its datagram, which is wiped when it has been read", () => {
  const { jitterBuffer, frames } = collect();
  for (const index of [0, 2, 3, 1]) {
    const datagram = Buffer.alloc(160, index);
    jitterBuffer.push(packet(index), datagram);
    datagram.fill(0);
  }
  assert.deepEqual(frames, [0, 1, 2, 3]);
});
