import assert from "node:assert/strict";
import dns from "node:dns/promises";
import { syncBuiltinESMExports } from "node:module";
import { mock, test } from "node:test";
import { mediaHosts } from "./media-hosts.ts";

/** A name with addresses of both families, the IPv6 one first, as resolvers of hosts with IPv6 sort them; other hosts are literals. */
const BOTH = [
  { address: "2001:db8::7", family: 6 },
  { address: "203.0.113.7", family: 4 },
];

const real = dns.lookup;
const looked = (host: string, options?: object) => (host === "till.example" ? Promise.resolve(BOTH) : real(host, options ?? {}));
mock.method(dns, "lookup", looked as typeof dns.lookup);
syncBuiltinESMExports();

test("callers are told the public name's address of the family that media is bound to, whichever comes first", async () => {
  const told = async (sipHost: string, sipPublicHost: string) => (await mediaHosts({ sipHost, sipPublicHost })).told;
  assert.equal(await told("0.0.0.0", "till.example"), "203.0.113.7");
  assert.equal(await told("::", "till.example"), "2001:db8::7");
  assert.equal(await told("127.0.0.1", "198.51.100.1"), "198.51.100.1");
  await assert.rejects(told("::", "198.51.100.1"), /^OperatorError: SIP_PUBLIC_HOST: 198\.51\.100\.1 has no IPv6 address/);
});
