import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { SipRequest } from "../grammar/message.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { Access, type AccessOptions } from "./access.ts";
import { stampVia } from "./layer.ts";
import { SourceLimit } from "./source-limit.ts";
import { addressesOf, locate, type Resolver, type Target } from "./locate.ts";
import type { Flow } from "./transport.ts";
import { plainAddress } from "#src/kernel/host-port.ts";

const accessOf = (trunks: readonly string[], more: Partial<AccessOptions> = {}, clock = new ManualClock()) =>
  new Access({ trunks, byPassword: false, byCertificate: false, ...more }, clock);

test("trunks are addresses and CIDRs of either family; everybody else is an unknown peer (S-80)", () => {
  const access = accessOf(["192.0.2.0/24", "198.51.100.7", "2001:db8::/32"]);
  for (const address of ["192.0.2.255", "198.51.100.7", "2001:db8:1::1"]) assert.equal(access.isTrunk(address), true, address);
  for (const address of ["192.0.3.0", "198.51.100.8", "2001:db9::1", "127.0.0.1", ""])
    assert.equal(access.admits(address), "refused", address);
});

test("a trunk that is no address is named to the operator", () => {
  for (const trunk of ["", "sip.example.com", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/x"]) {
    assert.throws(() => accessOf([trunk]), (error) => error instanceof OperatorError && error.message.includes(`"${trunk}"`)); // prettier-ignore
  }
});

test("whom we call is admitted until the last of our calls to it is over, but is no trunk", () => {
  const access = accessOf([]);
  const first = access.expect("192.0.2.1");
  const second = access.expect("192.0.2.1");
  first();
  first();
  assert.equal(access.admits("192.0.2.1"), "guest");
  assert.equal(access.isTrunk("192.0.2.1"), false);
  second();
  assert.equal(access.admits("192.0.2.1"), "refused");
});

test("an IPv4 peer of a dual-stack socket is called by its IPv4 address", () => {
  assert.equal(plainAddress("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(plainAddress("2001:db8::1"), "2001:db8::1");
});

const DNS: Resolver = {
  addresses: (name) => Promise.resolve({ "a.example": ["192.0.2.1", "192.0.2.2"], "b.example": ["192.0.2.3"] }[name] ?? []),
  services: (name) =>
    Promise.resolve(
      {
        "_sip._udp.trunk.example": [
          { name: "b.example", port: 5080, priority: 20, weight: 1 },
          { name: "a.example", port: 5070, priority: 10, weight: 1 },
        ],
        "_sip._tcp.tcponly.example": [{ name: "b.example", port: 5060, priority: 1, weight: 0 }],
      }[name] ?? [],
    ),
};
const found = async (host: string, port: number | null = null, protocol: Target["protocol"] = null) => {
  const hops = await locate({ host, port, protocol }, DNS, systemRandom);
  return hops.map((hop) => `${hop.protocol} ${hop.address}:${hop.port}`);
};

test("a server is found by address, by port, or by its service records in their order (RFC 3263)", async () => {
  assert.deepEqual(await found("192.0.2.9"), ["udp 192.0.2.9:5060"]);
  assert.deepEqual(await found("2001:db8::1", 5070, "tcp"), ["tcp 2001:db8::1:5070"]);
  assert.deepEqual(await found("a.example", 5090), ["udp 192.0.2.1:5090", "udp 192.0.2.2:5090"]);
  assert.deepEqual(await found("trunk.example"), ["udp 192.0.2.1:5070", "udp 192.0.2.2:5070", "udp 192.0.2.3:5080"]);
  assert.deepEqual(await found("tcponly.example"), ["tcp 192.0.2.3:5060"]);
  assert.deepEqual(await found("b.example"), ["udp 192.0.2.3:5060"]);
  assert.deepEqual(await found("nowhere.example"), []);
});

test("a server's addresses are those that its service records and its own name lead to", async () => {
  const resolver: Resolver = { ...DNS, addresses: async (name) => (name === "trunk.example" ? ["192.0.2.4"] : await DNS.addresses(name)) };
  const all = (host: string, port: number | null) => addressesOf({ host, port, protocol: "udp" }, resolver);
  assert.deepEqual((await all("trunk.example", null)).toSorted(), ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
  assert.deepEqual([...new Set(await all("trunk.example", 5060))], ["192.0.2.4"]);
  assert.deepEqual([await all("[2001:db8::1]", null), await all("nowhere.example", null)], [["2001:db8::1"], []]);
  assert.deepEqual([await all("[2001:DB8:0:0::01]", null), await all("[::ffff:192.0.2.9]", null)], [["2001:db8::1"], ["192.0.2.9"]]);
});

const flow: Flow = {
  protocol: "udp",
  reliable: false,
  address: "192.0.2.77",
  port: 4321,
  open: true,
  listening: true,
  onClose: () => () => {},
  renewed: () => Promise.reject(new Error("not asked for")),
  keep: () => () => {},
  certified: false,
  settled: () => {},
  send: () => Promise.resolve(),
};
const stamped = (via: string) => {
  const request = new SipRequest("OPTIONS", "sip:a", new HeaderFields().add("v", via).add("Via", "SIP/2.0/UDP second"));
  stampVia(request, flow);
  return request.fields.all("via");
};

test("the top Via is told where the request came from, and only the top one (RFC 3581 section 4)", () => {
  assert.deepEqual(stamped("SIP/2.0/UDP a;rport;branch=z9hG4bK1, SIP/2.0/UDP b"), [
    "SIP/2.0/UDP a;branch=z9hG4bK1;rport=4321;received=192.0.2.77, SIP/2.0/UDP b",
    "SIP/2.0/UDP second",
  ]);
});

test("a Via without rport gets none, and a forged received is replaced", () => {
  assert.equal(stamped("SIP/2.0/UDP a:5070;received=203.0.113.1;branch=x")[0], "SIP/2.0/UDP a:5070;branch=x;received=192.0.2.77");
});

test("guests are let in where a password or certificate may follow, and no more of them than can be borne (S-83)", () => {
  const clock = new ManualClock();
  const count = (admits: () => string, wanted: string) => Array.from({ length: 1_000 }, admits).filter((one) => one === wanted).length;
  const closed = accessOf(["192.0.2.1"], { byCertificate: true }, clock);
  assert.equal(closed.admits("198.51.100.1"), "refused");
  assert.equal(
    count(() => closed.admitsHandshake("198.51.100.1"), "guest"),
    5,
  );
  const guarded = accessOf(["192.0.2.1"], { byPassword: true }, clock);
  assert.equal(
    count(() => guarded.admits("198.51.100.1"), "guest"),
    100,
  );
  let forged = 0;
  assert.equal(
    count(() => guarded.admits(`203.0.113.${forged++}`), "guest"),
    400,
    "all of them together 500 in the second",
  );
  assert.equal(
    count(() => guarded.admits("192.0.2.1"), "known"),
    1_000,
    "a trunk is heard all the while",
  );
  clock.advance(1_000);
  assert.equal(
    count(() => guarded.admits("198.51.100.1"), "guest"),
    100,
  );
});

test("more sources than are counted are refused until some have been quiet (S-83)", () => {
  const clock = new ManualClock();
  const limit = new SourceLimit(clock, 2);
  for (let source = 0; source < 10_000; source++) assert.equal(limit.allows(String(source)), true);
  assert.equal(limit.allows("one more"), false);
  clock.advance(500);
  assert.equal(limit.allows("one more"), true);
});
