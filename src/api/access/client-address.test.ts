import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { clientReader } from "./client-address.ts";

const request = (remoteAddress: string | undefined, headers: object = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;
const keyFor = (trusted: string[], peer: string, forwarded?: string, more: object = {}) =>
  clientReader(trusted)(request(peer, { ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }), ...more })).key;

test("X-Forwarded-For of a peer that is not trusted counts for nothing (R-064)", () => {
  assert.equal(keyFor([], "203.0.113.9", "1.2.3.4"), "203.0.113.9");
  assert.equal(keyFor(["10.0.0.0/8"], "203.0.113.9", "1.2.3.4"), "203.0.113.9");
});

test("behind a trusted proxy the right-most address outside the list is the client (R-064)", () => {
  const trusted = ["10.0.0.0/8", "192.0.2.1"];
  assert.equal(keyFor(trusted, "10.1.1.1", "203.0.113.9"), "203.0.113.9");
  assert.equal(keyFor(trusted, "10.1.1.1", "1.2.3.4, 203.0.113.9"), "203.0.113.9");
  assert.equal(keyFor(trusted, "::ffff:10.1.1.1", "1.2.3.4 ,203.0.113.9, 192.0.2.1,10.9.9.9"), "203.0.113.9");
  assert.equal(keyFor(trusted, "10.1.1.1", "10.2.2.2, 10.3.3.3"), "10.2.2.2");
});

test("garbage in the header falls back to the peer, and no other header is believed (R-065)", () => {
  for (const garbage of ["", "unknown", "1.2.3", "1.2.3.4:80", "0x1.2.3.4", "1.2.3.4,", "<script>", "fe80::1%eth0"]) {
    assert.equal(keyFor(["10.0.0.0/8"], "10.1.1.1", garbage), "10.1.1.1", garbage);
  }
  const others = { forwarded: "for=1.2.3.4", "x-real-ip": "1.2.3.4", "cf-connecting-ip": "1.2.3.4" };
  assert.equal(keyFor(["10.0.0.0/8"], "10.1.1.1", undefined, others), "10.1.1.1");
});

test("more hops than proxies ever stand in a row are garbage, and are not read one by one (R-065, R-438)", () => {
  assert.equal(keyFor(["10.0.0.0/8"], "10.1.1.1", "1.2.3.4,".repeat(40) + "203.0.113.9"), "10.1.1.1");
});

test("IPv6 counts by its /64, IPv4 in IPv6's clothes as IPv4 (R-065)", () => {
  assert.equal(keyFor([], "2001:db8:1:2:3:4:5:6"), keyFor([], "2001:db8:1:2::1"));
  assert.notEqual(keyFor([], "2001:db8:1:2::1"), keyFor([], "2001:db8:1:3::1"));
  assert.equal(keyFor([], "::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(keyFor(["2001:db8::/32"], "2001:db8::1", "2600::1"), "2600:0:0:0::/64");
});

test("encryption is what a trusted proxy or the listener says (R-033)", () => {
  const read = clientReader(["10.0.0.0/8"]);
  assert.equal(read(request("10.1.1.1", { "x-forwarded-proto": "https" })).https, true);
  assert.equal(read(request("10.1.1.1", { "x-forwarded-proto": "http" })).https, false);
  assert.equal(read(request("203.0.113.9", { "x-forwarded-proto": "https" })).https, false);
  assert.equal(read({ socket: { remoteAddress: "203.0.113.9", encrypted: true }, headers: {} } as unknown as IncomingMessage).https, true);
});
