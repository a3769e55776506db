import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatorError } from "#src/kernel/errors.ts";
import { Secret } from "#src/kernel/secret.ts";
import { destinationOf } from "./destination.ts";
import { createTrunks } from "#src/checkout/index.ts";
import { parseTrunk } from "#src/kernel/sip-trunk.ts";

const shop = { country: "US", voice: { transfer: { allow: [] } } };
const trunks = createTrunks({ sipTrunks: ["192.0.2.0/24"], sipOutbound: new Secret("sip:Trunk.Example") }, async () => ["198.51.100.9"]);
const noTrunk = createTrunks({ sipTrunks: [], sipOutbound: null }, async () => []);

test("a trunk is read with and without credentials, and anything else is refused", () => {
  const trunk = parseTrunk("sip:ada:s%40crets@trunk.example:5080;transport=tcp");
  assert.deepEqual([trunk?.host, trunk?.port, trunk?.transport, trunk?.credentials?.username], ["trunk.example", 5080, "tcp", "ada"]);
  assert.equal(trunk?.credentials?.password.reveal(), "s@crets");
  assert.deepEqual(parseTrunk("sip:10.0.0.1"), { host: "10.0.0.1", port: null, transport: "udp", credentials: null });
  const secure = parseTrunk("sip:ada:s@trunk.example;transport=TLS;digest=md5");
  assert.deepEqual([secure?.port, secure?.transport, secure?.credentials?.md5, trunk?.credentials?.md5], [null, "tls", true, false]);
  for (const bad of [
    "http://trunk",
    "sip:",
    "sip:host:port",
    "sip:host;transport=ws",
    "sip:host;digest=none",
    "sip:host;lr",
    "sip:a%zz@host",
    "sip:host:99999",
    "sip:host:0",
  ])
    assert.equal(parseTrunk(bad), null, bad);
});

test("a trunk that cannot be read stops the start, and is not repeated: it holds a password", () => {
  const broken = () => createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:a:hunter2@b;transport=ws") }, async () => []);
  assert.throws(broken, (error) => error instanceof OperatorError && !error.message.includes("hunter2"));
});

test("a trunk's hosts are those of SIP_TRUNKS and SIP_OUTBOUND, its addresses those that their names lead to", async () => {
  for (const host of ["192.0.2.7", "trunk.example", "TRUNK.example."]) assert.ok(trunks.isTrunkHost(host), host);
  for (const host of ["198.51.100.9", "pbx.example", ""]) assert.ok(!trunks.isTrunkHost(host), host);
  for (const address of ["192.0.2.7", "198.51.100.9"]) assert.ok(await trunks.isTrunkAddress(address), address);
  assert.equal(await trunks.isTrunkAddress("198.51.100.10"), false);
  assert.equal(await noTrunk.isTrunkAddress("127.0.0.1"), false);
});

test("a SIP URI is called directly, a number through the trunk, and without a trunk not at all (R-432)", () => {
  assert.deepEqual(destinationOf("sip:agent@sip.example;transport=tcp", shop, trunks), {
    target: "sip:agent@sip.example;transport=tcp",
    via: null,
    avoidsTrunks: false,
  });
  const number = destinationOf("tel:+1-415-555-0100", shop, trunks);
  assert.ok(typeof number === "object");
  assert.deepEqual([number.target, number.via], ["sip:+14155550100@Trunk.Example", trunks.outbound]);
  const withPort = createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:trunk.example:5080") }, async () => []);
  const there = destinationOf("+14155550100", shop, withPort);
  assert.equal(typeof there === "object" && there.target, "sip:+14155550100@trunk.example:5080");
  assert.equal(destinationOf("+14155550100", shop, noTrunk), "no trunk");
  assert.equal(destinationOf("nobody", shop, trunks), "not allowed");
});

test("a number that the project may not dial goes to no trunk, under whatever name (R-330)", () => {
  assert.equal(destinationOf("+19005551234", shop, trunks), "not allowed");
  assert.equal(destinationOf("sip:+19005551234@trunk.example", shop, trunks), "not allowed");
  const alias = destinationOf("sip:+19005551234@alias.example", shop, trunks);
  assert.equal(typeof alias === "object" && alias.avoidsTrunks, true);
  const emergency = destinationOf("sip:911@alias.example", shop, trunks);
  assert.equal(typeof emergency === "object" && emergency.avoidsTrunks, true);
  const own = destinationOf("sip:+14155550100@alias.example", shop, trunks);
  assert.equal(typeof own === "object" && own.avoidsTrunks, false);
});
