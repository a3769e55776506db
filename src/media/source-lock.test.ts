import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceLock } from "./source-lock.ts";

const NEGOTIATED = { host: "203.0.113.5", port: 4000 };
const BEHIND_NAT = { host: "198.51.100.1", port: 31_000 };
const UNKNOWN_PEER = { host: "192.0.2.66", port: 4000 };

test("the negotiated address locks at its first packet; others are foreign for good (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(lock.judge(NEGOTIATED, 0), "locked");
  assert.equal(lock.judge(UNKNOWN_PEER, 1), "foreign");
  assert.equal(lock.judge({ ...NEGOTIATED, port: 4002 }, 5_000), "foreign");
  assert.deepEqual(lock.target, NEGOTIATED);
});

test("a peer behind NAT is answered at once and locked after one second (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.deepEqual(lock.target, NEGOTIATED);
  assert.equal(lock.judge(BEHIND_NAT, 10_000), "learning");
  assert.deepEqual(lock.target, BEHIND_NAT);
  assert.equal(lock.judge(BEHIND_NAT, 10_999), "learning");
  assert.equal(lock.judge(BEHIND_NAT, 11_000), "locked");
  assert.equal(lock.judge(NEGOTIATED, 11_001), "foreign");
});

test("the negotiated address takes the stream over from whoever sent first, once (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(lock.judge(UNKNOWN_PEER, 0), "learning");
  assert.equal(lock.judge(NEGOTIATED, 500), "locked");
  assert.equal(lock.judge(UNKNOWN_PEER, 501), "foreign");
  assert.deepEqual(lock.target, NEGOTIATED);
});

test("while one source is learned a second unknown one is foreign (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  lock.judge(BEHIND_NAT, 0);
  assert.equal(lock.judge(UNKNOWN_PEER, 1), "foreign");
});

test("a new description with another address is learned anew, one with the same changes nothing (S-85)", () => {
  const lock = new SourceLock(NEGOTIATED);
  lock.judge(NEGOTIATED, 0);
  lock.renegotiate({ ...NEGOTIATED });
  assert.equal(lock.judge(UNKNOWN_PEER, 1), "foreign");
  const moved = { host: "203.0.113.6", port: 5000 };
  lock.renegotiate(moved);
  assert.deepEqual(lock.target, moved);
  assert.equal(lock.judge(moved, 2), "locked");
  assert.equal(lock.judge(NEGOTIATED, 3), "foreign");
});

test("RTCP is believed from the peer's host, whatever its port", () => {
  const lock = new SourceLock(NEGOTIATED);
  assert.equal(lock.knows(NEGOTIATED.host), true);
  assert.equal(lock.knows(UNKNOWN_PEER.host), false);
});
