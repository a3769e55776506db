import assert from "node:assert/strict";
import { test } from "node:test";
import type { DtmfDigit } from "./telephone-event.ts";
import { HASH, TelephoneEventReceiver, STAR, eventPayload } from "./telephone-event.ts";
import type { RtpPacket } from "./rtp.ts";

/** 60 ms of digit: three packets while it is down, the last of them three times with the end bit. */
const DURATIONS = [160, 320, 480, 480, 480];
const ENDS = [2, 3, 4];

function press(digit: DtmfDigit, timestamp: number, ssrc = 1, sequence = 0): RtpPacket[] {
  return DURATIONS.map((duration, index) => ({
    marker: index === 0,
    payloadType: 101,
    sequence: sequence === 0 ? 0 : (sequence + index) & 0xffff,
    timestamp: timestamp >>> 0,
    ssrc,
    payload: eventPayload(digit, duration, index >= 2),
  }));
}

function received(packets: RtpPacket[]): DtmfDigit[] {
  const receiver = new TelephoneEventReceiver();
  return packets.map((packet) => receiver.receive(packet)).filter((digit) => digit !== null);
}

/** Every subset of the packets of one digit. */
function subsets(packets: RtpPacket[]): RtpPacket[][] {
  return Array.from({ length: 2 ** packets.length }, (_, mask) => packets.filter((_, index) => mask & (1 << index)));
}

test("a digit is reported at its first packet and never again (R-228)", () => {
  const receiver = new TelephoneEventReceiver();
  assert.deepEqual(
    press(5, 1_000).map((packet) => receiver.receive(packet)),
    [5, null, null, null, null],
  );
});

test("all twelve digits are told apart", () => {
  const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, STAR, HASH];
  assert.deepEqual(received(digits.flatMap((digit, index) => press(digit, 1_000 + index * 480))), digits);
});

test("whatever is lost of two equal digits without a gap, each counts once while one of its packets arrives (R-228)", () => {
  let cases = 0;
  for (const first of subsets(press(4, 1_000))) {
    for (const second of subsets(press(4, 1_480))) {
      const expected = (first.length > 0 ? 1 : 0) + (second.length > 0 ? 1 : 0);
      assert.equal(received([...first, ...second]).length, expected);
      cases++;
    }
  }
  assert.equal(cases, 1_024);
});

for (const lost of [[2], [3, 4], [2, 3], ENDS]) {
  test(`with end packets ${lost.join(", ")} lost a repeated digit counts each time (R-228)`, () => {
    const kept = (packets: RtpPacket[]) => packets.filter((_, index) => !lost.includes(index));
    assert.deepEqual(received([...kept(press(7, 1_000)), ...kept(press(7, 1_480)), ...kept(press(7, 1_960))]), [7, 7, 7]);
  });
}

test("in any order of one digit's packets it counts once (R-228)", () => {
  const orders = (items: RtpPacket[]): RtpPacket[][] =>
    items.length < 2 ? [items] : items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
  for (const order of orders(press(9, 77))) assert.deepEqual(received(order), [9]);
});

test("packets of two digits mixed at their border count once each, in order (R-228)", () => {
  const [a, b] = [press(1, 1_000), press(2, 1_480)];
  const mixed = [a[0], a[1], a[2], b[0], a[3], b[1], a[4], b[2], b[4], b[3]] as RtpPacket[];
  assert.deepEqual(received(mixed), [1, 2]);
});

test("a digit overtaken by a later one is not put behind it: a zero before a nine must not become a nine before a zero (R-228)", () => {
  const [zero, nine, five] = [press(0, 1_000, 1, 0xfffc), press(9, 1_480, 1, 0x1_0001), press(5, 1_960, 1, 0x1_0006)];
  assert.deepEqual(received([...nine, ...zero, ...five]), [9, 5]);
  assert.deepEqual(received([...zero.slice(0, 1), ...nine, ...zero.slice(1), ...five]), [0, 9, 5]);
});

test("a sender whose timestamps begin anew under the same SSRC is heard on", () => {
  assert.deepEqual(received([...press(1, 90_000, 1, 500), ...press(2, 1_000, 1, 505), ...press(3, 2_000, 1, 20_000)]), [1, 2, 3]);
});

test("a whole number typed with 0 ms gaps and every second packet lost comes through (R-228)", () => {
  const digits = [4, 2, 4, 2, 4, 2, 4, 2, 4, 4, 4, 4, 2, 2, 2, 2, HASH];
  const packets = digits.flatMap((digit, index) => press(digit, 0xffff_f000 + index * 480));
  assert.deepEqual(received(packets.filter((_, index) => index % 2 === 0)), digits);
});

test("the same timestamp of another SSRC is another digit", () => {
  assert.deepEqual(received([...press(3, 1_000, 1), ...press(3, 1_000, 2)]), [3, 3]);
});

test("a digit held for over 8 s is one digit although its timestamp moves on (RFC 4733 section 2.5.1.3)", () => {
  const segment = (timestamp: number, duration: number, marker: boolean, ended: boolean) => ({
    ...(press(6, timestamp)[0] as RtpPacket),
    marker,
    payload: eventPayload(6, duration, ended),
  });
  const packets = [
    segment(1_000, 160, true, false),
    segment(1_000, 0xffff, false, false),
    segment(1_000 + 0xffff, 160, false, false),
    segment(1_000 + 0xffff, 320, false, true),
  ];
  assert.deepEqual(received(packets), [6]);
});

for (const [name, cut, step] of [
  ["50 packets a second", 160, 65_440],
  ["20 packets a second", 400, 65_200],
  ["10 packets a second", 800, 64_800],
] as const) {
  test(`a digit held for over 8 s is one digit where its segment is cut at a whole packet, of ${name} (RFC 4733 section 2.5.1.3)`, () => {
    const packet = (timestamp: number, duration: number, marker = false) => ({
      ...(press(6, timestamp)[0] as RtpPacket),
      marker,
      payload: eventPayload(6, duration, false),
    });
    const [first, next] = [packet(1_000, cut, true), packet(1_000 + step, cut)];
    assert.deepEqual(received([first, packet(1_000, step), next]), [6]);
    // The last of the segment is lost.
    assert.deepEqual(received([first, packet(1_000, step - cut), next]), [6]);
    // Pressed anew: a marker.
    assert.deepEqual(received([first, packet(1_000, step), { ...next, marker: true }]), [6, 6]);
  });
}

test("a digit pressed again 8 s later counts though its first packet and every end before it are lost", () => {
  const again = press(6, 1_000 + 65_440).slice(1);
  assert.deepEqual(received([...press(6, 1_000).slice(0, 2), ...again]), [6, 6]);
});

test("a sender that moves the timestamp with every packet presses one digit", () => {
  const packets = press(8, 1_000).map((packet, index) => ({ ...packet, timestamp: 1_000 + (DURATIONS[index] ?? 0) }));
  assert.deepEqual(received(packets), [8]);
});

/** Packets of a sender that counts them, from `sequence` on. */
function counted(packets: RtpPacket[], sequence = 100): RtpPacket[] {
  return packets.map((packet, index) => ({ ...packet, sequence: (sequence + index) & 0xffff }));
}

test("digits of a sender that gives all of them one timestamp are told apart, the same one twice included (R-228)", () => {
  const digits = [4, 2, 4, 4, HASH];
  const packets = counted(digits.flatMap((digit) => press(digit, 1_000)));
  assert.deepEqual(received(packets), digits);
  // Each without its first packet, whose marker says that it is new.
  assert.deepEqual(received(packets.filter((_, index) => index % DURATIONS.length > 0)), digits);
  const twice = packets.flatMap((packet) => [packet, packet]);
  assert.deepEqual(received(twice), digits, "what the network sends twice has one number");
});

test("what is late of a digit counts no more when the next one has the same timestamp (R-228)", () => {
  const [four, two] = [counted(press(4, 1_000)), counted(press(2, 1_000), 105)];
  assert.deepEqual(
    received([...four.slice(0, 4), ...two.slice(0, 2), four[4]!, ...two.slice(2), ...counted(press(4, 1_000), 110)]),
    [4, 2, 4],
  );
});

test("a digit whose end is repeated under later timestamps is one, and pressed again it counts (R-228)", () => {
  const repeated = (packets: RtpPacket[]) =>
    counted(packets.map((packet, index) => ({ ...packet, timestamp: packet.timestamp + 160 * Math.max(0, index - 2) })));
  assert.deepEqual(received(repeated(press(1, 1_000))), [1]);
  assert.deepEqual(received([...repeated(press(1, 1_000)), ...press(1, 1_640), ...press(2, 2_120)]), [1, 1, 2]);
  // One whose timestamps begin anew, and of which the end alone arrives.
  assert.deepEqual(received([...press(1, 90_000, 1, 500), press(1, 1_000, 1, 505)[3]!]), [1, 1]);
});

test("events that are no digits and short payloads are passed over", () => {
  const flash = press(16, 1_000);
  const short = press(1, 5_000).map((packet) => ({ ...packet, payload: packet.payload.subarray(0, 3) }));
  assert.deepEqual(received([...flash, ...short, ...press(12, 9_000)]), []);
});

test("an event that is sent again never counts, not after a hundred others and minutes either (R-228)", () => {
  const receiver = new TelephoneEventReceiver();
  const press = (index: number) =>
    receiver.receive({
      marker: true,
      payloadType: 101,
      sequence: (index * 10) & 0xffff,
      timestamp: index * 8_000,
      ssrc: 5,
      payload: eventPayload(index % 10, 160, false),
    });
  const first = Array.from({ length: 300 }, (_, index) => press(index));
  assert.ok(first.every((digit, index) => digit === index % 10));
  assert.ok(first.every((_, index) => press(index) === null));
});
