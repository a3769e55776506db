import assert from "node:assert/strict";
import { test } from "node:test";
import { type Address, SourceLock, type SourceState } from "./source-lock.ts";

const NEGOTIATED = { host: "203.0.113.5", port: 4000 };
const BEHIND_NAT = { host: "198.51.100.1", port: 31_000 };
const UNKNOWN_PEER = { host: "192.0.2.66", port: 4000 };

/** A stream of one packet each 20 ms from `source`, from `from` (ms) on; returns what was made of each. */
function stream(lock: SourceLock, source: Address, packets: number, from = 0, { ssrc = 7, every = 20, step = 1 } = {}): SourceState[] {
  return Array.from({ length: packets }, (_, index) =>
    lock.classify(source, { ssrc, sequence: (65_530 + index * step) & 0xffff }, from + index * every),
  );
}
const one = (lock: SourceLock, source: Address, now: number) => lock.classify(source, { ssrc: 1, sequence: 1 }, now);

test("the negotiated address locks at its first packet; others are foreign for good (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(one(lock, NEGOTIATED, 0), "locked");
  assert.ok(stream(lock, UNKNOWN_PEER, 100, 1).every((state) => state === "foreign"));
  assert.equal(one(lock, { ...NEGOTIATED, port: 4002 }, 5_000), "foreign");
  assert.deepEqual(lock.target, NEGOTIATED);
});

test("stray packets redirect nothing: neither five in a row, nor a burst, nor any number out of order (S-85)", () => {
  for (const [what, stray] of [
    ["five in a row", (lock: SourceLock) => stream(lock, UNKNOWN_PEER, 5)],
    ["a burst", (lock: SourceLock) => stream(lock, UNKNOWN_PEER, 100, 0, { every: 1 })],
    ["out of order", (lock: SourceLock) => stream(lock, UNKNOWN_PEER, 500, 0, { step: 4_321 })],
  ] as const) {
    const lock = new SourceLock(NEGOTIATED);
    assert.ok(
      stray(lock).every((state) => state === "foreign"),
      what,
    );
    assert.deepEqual(lock.target, NEGOTIATED, what);
  }
  const lock = new SourceLock(NEGOTIATED);
  for (let turn = 0; turn < 100; turn++) lock.classify(UNKNOWN_PEER, { ssrc: turn, sequence: turn }, turn * 20);
  assert.deepEqual(lock.target, NEGOTIATED, "another SSRC each time");
});

test("a peer behind NAT is answered once its stream has come in order for a while, and locked after one second (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  const states = stream(lock, BEHIND_NAT, 60, 10_000);
  assert.deepEqual([...new Set(states)], ["foreign", "learning", "locked"]);
  assert.ok(states.indexOf("learning") <= 10, "within 200 ms");
  assert.equal(states.indexOf("locked"), 50, "after 1 s");
  assert.deepEqual(lock.target, BEHIND_NAT);
  assert.equal(one(lock, NEGOTIATED, 11_500), "foreign");
});

test("a lost packet in between delays the learning no more than that (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  for (let index = 0; index < 14; index++) if (index % 4 !== 3) lock.classify(BEHIND_NAT, { ssrc: 7, sequence: index }, index * 20);
  assert.deepEqual(lock.target, BEHIND_NAT);
});

test("the negotiated address takes the stream over from whoever sent first, once (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(stream(lock, UNKNOWN_PEER, 20).at(-1), "learning");
  assert.equal(one(lock, NEGOTIATED, 500), "locked");
  assert.ok(stream(lock, UNKNOWN_PEER, 100, 501).every((state) => state === "foreign"));
  assert.deepEqual(lock.target, NEGOTIATED);
});

test("while one source is learned a second one is foreign, and before that strays do not disturb it (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  for (let index = 0; index < 20; index++) {
    for (let stray = 0; stray < 50; stray++) one(lock, { host: "192.0.2.66", port: 1_000 + 50 * index + stray }, index * 20);
    lock.classify(BEHIND_NAT, { ssrc: 7, sequence: index }, index * 20);
  }
  assert.deepEqual(lock.target, BEHIND_NAT);
  assert.ok(stream(lock, UNKNOWN_PEER, 20, 400).every((state) => state === "foreign"));
});

test("a new description with another address is learned anew, one with the same changes nothing (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  one(lock, NEGOTIATED, 0);
  lock.renegotiate({ ...NEGOTIATED });
  assert.ok(stream(lock, UNKNOWN_PEER, 100, 1).every((state) => state === "foreign"));
  const moved = { host: "203.0.113.6", port: 5000 };
  lock.renegotiate(moved);
  assert.deepEqual(lock.target, moved);
  assert.equal(one(lock, moved, 2), "locked");
  assert.equal(one(lock, NEGOTIATED, 3), "foreign");
});

test("what is still on its way from the former address counts, and leads nothing back there (RFC 3264 section 8.3.1)", () => {
  for (const [what, former, moved, signalling] of [
    ["another port", NEGOTIATED, { ...NEGOTIATED, port: 4002 }, null],
    ["another host", NEGOTIATED, { host: "203.0.113.6", port: 5000 }, null],
    ["behind NAT", { host: "192.0.2.10", port: 31_000 }, { host: "192.0.2.10", port: 31_002 }, "192.0.2.10"],
    ["behind NAT, signalled for by another host", BEHIND_NAT, { ...BEHIND_NAT, port: 31_002 }, null],
  ] as const) {
    const lock = new SourceLock(NEGOTIATED, signalling);
    stream(lock, former, 60);
    assert.equal(one(lock, former, 1_200), "locked", what);
    const described = what.startsWith("behind") ? { ...NEGOTIATED, port: 4002 } : moved;
    assert.equal(lock.renegotiate(described), true);
    assert.ok(
      stream(lock, former, 40, 1_220).every((state) => state === "locked"),
      what,
    );
    assert.deepEqual(lock.target, described, what);
    stream(lock, moved, 60, 2_020);
    assert.deepEqual([one(lock, moved, 3_220), one(lock, former, 3_240), lock.target], ["locked", "foreign", moved], what);
  }
});

test("a peer that has moved is sent to where it says, however long another address of its is heard: where it sends from is its own affair (RFC 3264 section 8.3.1, S-85)", () => {
  for (const moved of [
    { ...NEGOTIATED, port: 4002 },
    { host: "203.0.113.6", port: 5000 },
  ]) {
    const lock = new SourceLock(NEGOTIATED, NEGOTIATED.host);
    one(lock, NEGOTIATED, 0);
    lock.renegotiate(moved);
    assert.ok(stream(lock, NEGOTIATED, 3_000, 20).every((state) => state === "locked"));
    assert.deepEqual(lock.target, moved);
    assert.equal(lock.knows(NEGOTIATED.host), true, "its RTCP counts too");
    const strayed = Array.from({ length: 40 }, (_, index) => [
      one(lock, NEGOTIATED, 60_020 + index * 20),
      lock.classify(UNKNOWN_PEER, { ssrc: 9, sequence: index }, 60_021 + index * 20),
    ]);
    assert.ok(strayed.every(([former, stray]) => former === "locked" && stray === "foreign"));
    assert.equal(one(lock, moved, 61_000), "locked", "from its first packet on, also while the former address is heard");
    assert.deepEqual([one(lock, NEGOTIATED, 61_001), lock.target], ["foreign", moved]);
  }
});

test("a peer that moves twice is not led back to where it was first (RFC 3264 section 8.3.1)", () => {
  const lock = new SourceLock(NEGOTIATED, NEGOTIATED.host);
  one(lock, NEGOTIATED, 0);
  const [second, third] = [
    { ...NEGOTIATED, port: 4002 },
    { ...NEGOTIATED, port: 4004 },
  ];
  lock.renegotiate(second);
  lock.renegotiate(third);
  for (const former of [NEGOTIATED, second]) {
    assert.ok(stream(lock, former, 10, 20).every((state) => state === "locked"));
    assert.deepEqual(lock.target, third);
  }
  assert.deepEqual([one(lock, third, 300), lock.target], ["locked", third]);
});

test("a peer behind NAT whose new description leads to it no more than the one before is answered where it goes on, until another source is heard (S-85)", () => {
  for (const [described, isAnswered] of [
    [{ ...NEGOTIATED, port: 4002 }, true],
    [{ host: BEHIND_NAT.host, port: 4000 }, true],
    [{ host: "203.0.113.6", port: 5000 }, false],
  ] as const) {
    const lock = new SourceLock(NEGOTIATED);
    stream(lock, BEHIND_NAT, 60);
    lock.renegotiate({ ...NEGOTIATED, port: 4_444 });
    lock.renegotiate(described);
    assert.ok(stream(lock, BEHIND_NAT, 100, 1_300).every((state) => state === "locked"));
    assert.deepEqual(lock.target, isAnswered ? BEHIND_NAT : described);
    const elsewhere = { ...BEHIND_NAT, port: 31_002 };
    stream(lock, elsewhere, 60, 3_320);
    assert.deepEqual(lock.target, elsewhere);
  }
});

for (const [what, source, surer] of [
  ["another port of its host", { ...NEGOTIATED, port: 4002 }, NEGOTIATED],
  ["an unknown address", BEHIND_NAT, NEGOTIATED],
  ["an unknown address", BEHIND_NAT, { ...NEGOTIATED, port: 4002 }],
] as const) {
  test(`a peer that was heard from ${what} for long moves to a surer one, ${surer.port}: in order and while the former is silent (S-85)`, () => {
    const lock = new SourceLock(NEGOTIATED);
    stream(lock, source, 100);
    for (let index = 0; index < 20; index++) {
      assert.equal(lock.classify(surer, { ssrc: 9, sequence: index }, 2_000 + index * 20), "foreign", "while it is heard");
      assert.equal(one(lock, source, 2_010 + index * 20), "locked");
    }
    const states = stream(lock, surer, 20, 2_410);
    assert.deepEqual([...new Set(states)], ["foreign", "locked"]);
    assert.ok(states.indexOf("locked") <= 10, "within 200 ms");
    assert.deepEqual([one(lock, source, 2_900), lock.target], ["foreign", surer]);
  });
}

test("an encrypted stream is answered where its newest surer source is, not where the one before the description was (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  lock.lockTo(BEHIND_NAT);
  assert.equal(lock.ignores({ ...BEHIND_NAT, port: 9 }, 0), true, "no surer than the one that is heard");
  lock.lockTo(NEGOTIATED);
  assert.equal(lock.ignores(BEHIND_NAT, 0), true);
  lock.renegotiate({ ...NEGOTIATED, port: 4002 });
  lock.lockTo(NEGOTIATED);
  assert.equal(lock.target.port, 4002);
  lock.lockTo(BEHIND_NAT);
  assert.deepEqual(lock.target, BEHIND_NAT);
});

for (const [what, source, signalling] of [
  ["another port of the host that the description names", { ...NEGOTIATED, port: 4002 }, null],
  ["the host that signals", { host: "192.0.2.10", port: 31_000 }, "192.0.2.10"],
] as const) {
  test(`${what} counts from its first packet on, and only the negotiated address can still take its place (S-85)`, () => {
    const lock = new SourceLock(NEGOTIATED, signalling);
    assert.deepEqual([one(lock, source, 0), lock.target], ["locked", source]);
    assert.equal(one(lock, { ...source, port: 9_999 }, 20), "foreign", "not a second such port");
    assert.ok(stream(lock, UNKNOWN_PEER, 40, 20).every((state) => state === "foreign"));
    assert.equal(one(lock, NEGOTIATED, 900), "locked");
    assert.equal(one(lock, source, 920), "foreign");
    const later = new SourceLock(NEGOTIATED, signalling);
    one(later, source, 0);
    assert.equal(one(later, source, 999), "locked");
    assert.equal(one(later, NEGOTIATED, 1_000), "foreign", "locked after a second");
    assert.deepEqual(later.target, source);
  });
}

test("the host that signals takes over from an unknown peer who was learned just before (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED, BEHIND_NAT.host);
  assert.equal(stream(lock, UNKNOWN_PEER, 20).at(-1), "learning");
  assert.equal(one(lock, BEHIND_NAT, 500), "locked");
  assert.equal(stream(lock, UNKNOWN_PEER, 20, 501).at(-1), "foreign");
});

test("RTCP is believed from the peer's host, whatever its port", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(lock.knows(NEGOTIATED.host), true);
  assert.equal(lock.knows(UNKNOWN_PEER.host), false);
});
