import assert from "node:assert/strict";
import { test } from "node:test";
import { ALAW_SILENCE, ULAW_SILENCE, ulawToAlaw } from "#src/kernel/g711.ts";
import { Clip } from "./clip.ts";
import { Playlist } from "./playlist.ts";

const clip = (samples: number, code: number) => ({ clip: new Clip(new Uint8Array(samples).fill(code)) });

function start(): { playlist: Playlist; finished: string[] } {
  const finished: string[] = [];
  return { playlist: new Playlist((id) => finished.push(id)), finished };
}

const DATAGRAM = new Uint8Array(162);

function payload(playlist: Playlist, payloadType: 0 | 8 = 0): number[] | null {
  return playlist.next(payloadType, DATAGRAM, 2)?.kind === "audio" ? [...DATAGRAM.subarray(2)] : null;
}

test("parts follow each other inside one packet, the last packet is filled up with silence", () => {
  const { playlist, finished } = start();
  playlist.add("a", [clip(100, 1), clip(100, 2)]);
  assert.deepEqual(payload(playlist), [...Array<number>(100).fill(1), ...Array<number>(60).fill(2)]);
  assert.deepEqual(finished, []);
  assert.deepEqual(payload(playlist), [...Array<number>(40).fill(2), ...Array<number>(120).fill(ULAW_SILENCE)]);
  assert.deepEqual(finished, ["a"]);
  assert.equal(payload(playlist), null);
  assert.equal(playlist.isEmpty, true);
});

test("two prompts follow each other without a gap, each reported with its own last packet", () => {
  const { playlist, finished } = start();
  playlist.add("a", [clip(80, 1)]);
  playlist.add("b", [clip(80, 2)]);
  assert.deepEqual(payload(playlist), [...Array<number>(80).fill(1), ...Array<number>(80).fill(2)]);
  assert.deepEqual(finished, ["a", "b"]);
});

test("a codec changed in the middle of a prompt goes on in the other law", () => {
  const { playlist } = start();
  playlist.add("a", [clip(240, 0x21)]);
  payload(playlist, 0);
  const [code] = ulawToAlaw(Uint8Array.of(0x21));
  assert.deepEqual(payload(playlist, 8), [...Array<number>(80).fill(code as number), ...Array<number>(80).fill(ALAW_SILENCE)]);
});

test("a digit begins in a packet of its own and counts its duration up", () => {
  const { playlist, finished } = start();
  playlist.add("digits", [clip(10, 1), { digit: 5, samples: 320 }, clip(160, 2)]);
  assert.equal(playlist.next(0, DATAGRAM, 2)?.kind, "audio");
  assert.deepEqual(playlist.next(0, DATAGRAM, 2), { kind: "digit", digit: 5, position: 160, last: false });
  assert.deepEqual(playlist.next(0, DATAGRAM, 2), { kind: "digit", digit: 5, position: 320, last: true });
  assert.equal(payload(playlist)?.[0], 2);
  assert.deepEqual(finished, ["digits"]);
});

test("what was stopped is never reported as finished; an empty prompt is, at once", () => {
  const { playlist, finished } = start();
  playlist.add("a", [clip(500, 1)]);
  payload(playlist);
  playlist.clear();
  assert.equal(payload(playlist), null);
  playlist.add("b", []);
  assert.equal(payload(playlist), null);
  assert.deepEqual(finished, ["b"]);
});
