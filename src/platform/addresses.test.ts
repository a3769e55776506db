import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { createReach, isInside, isPublic, parseCidrs } from "./addresses.ts";
import { createOutbound } from "./http.ts";

/** Ways to write an address of this machine or of a private network in a URL. */
const SPELLINGS = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.127.127.127",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0x7f.0x0.0x0.0x1",
  "017700000001",
  "0177.0.0.1",
  "0177.0x0.0.1",
  "127.0.0.1.",
  "0",
  "0.0.0.0",
  "0x0",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fec0::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "[100::1]",
  "[2001:db8::1]",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "[::ffff:169.254.169.254]",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "4294967295",
  // Parts in other bases, with zeros to spare, and short forms of private networks.
  "00000177.0.0.1",
  "0x7F000001",
  "0X7f.1",
  "0x7f.0.0x1",
  "127.0x1",
  "127.65535",
  "000000000000000000000000000000177.1",
  "10.1",
  "0xa.0.0.1",
  "012.0.0.1",
  "167772161",
  "0x0a000001",
  "192.168.257",
  "0xc0.0xa8.0.1",
  "0300.0250.0.1",
  "3232235521",
  "172.1048577",
  "0251.0376.0251.0376",
  "0xa9.0xfe.0xa9.0xfe",
  "169.254.43518",
  "025177524776",
  // Other dots, other digits, capitals, percent signs: the URL parser makes plain ones of them.
  "127．0．0．1",
  "127｡0｡0｡1",
  "１２７.0.0.1",
  "𝟏𝟐𝟕.0.0.1",
  "127%2E0%2E0%2E1",
  "%30x7f.1",
  "0x7F.00000000000000000001",
  "⑯⑨。②⑤④。⑯⑨｡②⑤④",
  // IPv6 round IPv4, and what IPv6 keeps for itself.
  "[0000:0000:0000:0000:0000:0000:0000:0001]",
  "[::ffff:0:127.0.0.1]",
  "[::FFFF:127.0.0.1]",
  "[::ffff:a00:1]",
  "[::ffff:c0a8:101]",
  "[::ffff:a9fe:a9fe]",
  "[::ffff:0.0.0.0]",
  "[::ffff:100.64.0.1]",
  "[::10.0.0.1]",
  "[64:ff9b::10.0.0.1]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b:1::7f00:1]",
  "[2002:a00:1::1]",
  "[2002:a9fe:a9fe::]",
  "[2002:c0a8:101::1]",
  "[2001:10::1]",
  "[2001:2::1]",
  "[3fff::1]",
  "[5f00::1]",
  "[feb0::1]",
  "[fdff:ffff::1]",
  "[ff05::1:3]",
  // Ranges of special use (IANA), last and first addresses.
  "0.255.255.255",
  "10.255.255.255",
  "100.127.255.255",
  "172.31.255.255",
  "192.0.0.8",
  "192.88.99.1",
  "198.19.255.255",
  "239.255.255.255",
  "250.1.1.1",
];

test("the list has a hundred spellings, none twice (R-260)", () => {
  assert.ok(SPELLINGS.length >= 100, `${SPELLINGS.length}`);
  assert.equal(new Set(SPELLINGS).size, SPELLINGS.length);
});

for (const spelling of SPELLINGS) {
  test(`${spelling} is refused before a packet is sent (R-260)`, async () => {
    const answer = await createOutbound({ allow: [], resolve: () => Promise.reject(new Error("no look-up")) }).send({
      method: "GET",
      url: `https://${spelling}/`,
      headers: {},
    });
    assert.deepEqual(answer, { kind: "not sent", reason: "address not allowed" });
  });
}

test("addresses of the open network are public", () => {
  for (const address of [
    "93.184.215.14",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
  ]) {
    assert.equal(isPublic(address), true, address);
  }
  assert.equal(isPublic("not an address"), false);
});

test("a range of an address that is not written out is refused: it would be another one", () => {
  for (const text of ["172.16/12", "010.0.0.0/8", "10.1", "0x7f.1", "10.0.0.0/33"])
    assert.throws(() => parseCidrs("X", [text]), { name: "OperatorError" }, text);
});

test("an address of this machine is not public, whatever its range (S-50)", () => {
  const own = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address.split("%")[0]!) ?? []);
  assert.ok(own.length > 0);
  for (const address of own) assert.equal(isPublic(address), false, address);
});

test("a range covers its addresses in every spelling of them, and no others", () => {
  const ranges = parseCidrs("X", ["10.0.0.0/8", "192.0.2.7", "fd00::/8"]);
  assert.deepEqual(
    ["10.255.0.1", "::ffff:10.0.0.1", "192.0.2.7", "fd12::1"].map((address) => isInside(address, ranges)),
    [true, true, true, true],
  );
  assert.deepEqual(
    ["11.0.0.1", "192.0.2.8", "fe00::1", "name.example"].map((address) => isInside(address, ranges)),
    [false, false, false, false],
  );
});

test("our own services are never reached, public or not, by whatever spelling, unless the operator listed them (S-50)", async () => {
  const resolve = async (name: string) =>
    name === "db.example" ? ["93.184.215.14", "2606:4700::1111"] : Promise.reject(new Error("unknown"));
  const ownHosts = ["db.example", "1.0.0.1", "gone.example"];
  const mayReach = createReach({ allow: [], ownHosts, resolve });
  for (const own of ["93.184.215.14", "::ffff:93.184.215.14", "2606:4700:0::1111", "1.0.0.1"])
    assert.equal(await mayReach([own]), false, own);
  assert.equal(await mayReach(["1.1.1.1", "93.184.215.14"]), false);
  assert.equal(await mayReach([]), false);
  assert.equal(await mayReach(["1.1.1.1", "93.184.215.15"]), true);
  assert.equal(await createReach({ allow: parseCidrs("X", ["93.184.215.14"]), ownHosts, resolve })(["93.184.215.14"]), true);

  const sent = { method: "GET", url: "https://merchant.example/", headers: {} } as const;
  const outbound = createOutbound({ allow: [], ownHosts: ["93.184.215.14"], resolve: async () => ["93.184.215.14"] });
  assert.deepEqual(await outbound.send(sent), { kind: "not sent", reason: "address not allowed" });
});
