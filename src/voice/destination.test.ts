import assert from "node:assert/strict";
import { test } from "node:test";
import { destinationOf, parseTrunk } from "./destination.ts";

test("a trunk is read with and without credentials, and anything else is refused", () => {
  const trunk = parseTrunk("sip:ada:s%40crets@trunk.example:5080;transport=tcp");
  assert.deepEqual([trunk?.host, trunk?.port, trunk?.transport, trunk?.credentials?.username], ["trunk.example", 5080, "tcp", "ada"]);
  assert.equal(trunk?.credentials?.password.reveal(), "s@crets");
  assert.deepEqual(parseTrunk("sip:10.0.0.1"), { host: "10.0.0.1", port: 5060, transport: "udp", credentials: null });
  for (const bad of ["http://trunk", "sip:", "sip:host:port", "sip:host;transport=ws"]) assert.equal(parseTrunk(bad), null, bad);
});

test("a SIP URI is called directly, a number through the trunk, and without a trunk not at all", () => {
  const trunk = parseTrunk("sip:trunk.example");
  assert.deepEqual(destinationOf("sip:agent@sip.example;transport=tcp", trunk), {
    target: "sip:agent@sip.example;transport=tcp",
    via: null,
  });
  assert.equal(destinationOf("sip:[::1]:5070", null)?.target, "sip:[::1]:5070");
  assert.equal(destinationOf("tel:+1-415-555-0100", trunk)?.target, "sip:+14155550100@trunk.example:5060");
  assert.equal(destinationOf("+14155550100", null), null);
  assert.equal(destinationOf("nobody", trunk), null);
});
