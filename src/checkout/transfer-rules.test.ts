import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { parseCallback } from "./callback.ts";
import { callbackAllowed } from "./transfer-rules.ts";
import { createTrunks } from "./trunks.ts";

test("a callback is a phone number or a SIP URI with a host, and nothing that could smuggle a header (R-124)", () => {
  for (const good of [
    "+14155550100",
    "+1 (415) 555-0100",
    "tel:+14155550100",
    "sip:agent@pbx.example",
    "SIPS:+14155550100@pbx.example:5061;transport=tls;lr",
    "sip:192.0.2.1",
    "sip:agent@[2001:db8::1]:5060",
    "sip:a%20b@pbx.example",
    "sip:agent@localhost",
  ]) {
    assert.ok(parseCallback(good), good);
  }
  for (const bad of [
    "",
    "4155550100",
    "tel:4155550100",
    "tel:+14155550100;ext=1",
    "sip:",
    "sip:@pbx.example",
    "sip:4155550100",
    "sip:agent@",
    "sip:agent:secret@pbx.example",
    "sip:agent@pbx.example?Replaces=x",
    "sip:agent@pbx.example\r\nX-Evil: 1",
    "sip:agent@pbx.example\n",
    "sip:agent%0d%0a@pbx.example",
    "<sip:agent@pbx.example>",
    '"Agent" <sip:agent@pbx.example>',
    "sip:agent@pbx.example:99999",
    "sip:agent@pbx.example:0",
    "sip:agent@pbx.example;x=<y>",
    "sip:agent@-pbx-",
    "sip:agent@münchen.example",
    "http://pbx.example",
    "sip:a b@pbx.example",
  ]) {
    assert.equal(parseCallback(bad), null, bad);
  }
});

const project = (country: string, ...allow: string[]) => ({ country, voice: { transfer: { allow } } });
const { isTrunkHost } = createTrunks({ sipTrunks: ["192.0.2.0/24"], sipOutbound: new Secret("sip:trunk.example") }, async () => []);
function allowed(text: string, of: ReturnType<typeof project>): boolean {
  const target = parseCallback(text);
  assert.ok(target, text);
  return callbackAllowed(target, of, isTrunkHost);
}

test("without a list callers go to the project's own country and to SIP hosts, never to premium-rate numbers (R-330)", () => {
  const rows: [string, string, boolean][] = [
    ["+14155550100", "US", true],
    ["+14155550100", "GB", false],
    ["+442079460958", "GB", true],
    ["+442079460958", "US", false],
    ["+18765550100", "US", false],
    ["+19005550100", "US", false],
    ["+881612345678", "US", false],
    ["+883510000000001", "US", false],
    // Guernsey's, as it is and with a digit behind it that exchanges ignore.
    ["+441481960194", "GB", false],
    ["+4414819601940", "GB", false],
    ["+4420794609580", "GB", true],
    ["sip:agent@pbx.example", "US", true],
  ];
  for (const [text, country, expected] of rows) assert.equal(allowed(text, project(country)), expected, `${text} ${country}`);
});

test("with a list they go where it says (R-330)", () => {
  const listed = project("US", "+1", "+44", "sip:*.merchant.example", "sip:pbx.example");
  const rows: [string, boolean][] = [
    ["+14155550100", true],
    ["+442079460958", true],
    ["+4930123456", false],
    ["+19005550100", false],
    ["sip:agent@pbx.example", true],
    ["sips:agent@PBX.example", true],
    ["sip:agent@a.b.merchant.example", true],
    ["sip:agent@merchant.example", false],
    ["sip:agent@evilmerchant.example", false],
    ["sip:agent@pbx.example.evil.example", false],
  ];
  for (const [text, expected] of rows) assert.equal(allowed(text, listed), expected, text);
  assert.equal(allowed("sip:agent@pbx.example", project("US", "+1")), false);
});

test("numbers that cost extra are refused whatever is allowed: premium-rate, shared-cost, personal and satellite ones (R-330)", () => {
  const everything = project("US", "+", "+1", "+4", "+8", "+9", "sip:*.example", "sip:trunk.example");
  for (const [what, number] of [
    ["premium rate, US", "+19005551234"],
    ["premium rate, GB", "+449012345678"],
    ["premium rate, with digits dialled on behind it", "+1900555123499"],
    ["shared cost, GB", "+448431234567"],
    ["shared cost, DE", "+491801234567"],
    ["personal number, GB", "+447012345678"],
    ["personal number, US", "+15002345678"],
    ["satellite, Inmarsat", "+870773123456"],
    ["satellite, Iridium", "+881612345678"],
    ["international network", "+882162345678"],
    ["international network", "+883510000000001"],
    ["universal personal telecommunication", "+878101234567"],
    ["international shared cost", "+80812345678"],
    ["international premium rate", "+979123456789"],
    ["a code without a country", "+888123456789"],
  ] as const) {
    assert.equal(allowed(number, everything), false, `${what} ${number}`);
    assert.equal(allowed(`sip:${number}@trunk.example`, everything), false, `${what} ${number} at the trunk`);
  }
  for (const number of ["+14155550100", "+442079460958", "+493012345678", "+80012345678"])
    assert.equal(allowed(number, everything), true, number);
});

test("a local number in a tel: callback is read behind its phone-context, and is none where that is a domain (R-124)", () => {
  assert.deepEqual(parseCallback("tel:555-0100;phone-context=+1-415"), { kind: "phone", number: "+14155550100" });
  assert.equal(allowed("tel:555-1234;phone-context=+1-900", project("US")), false, "the rules are those of the whole number");
  for (const bad of [
    "tel:+14155550100;phone-context=x;ext=5",
    "tel:14155550100;phone-context=pbx.example",
    "tel:555-0100;ext=5;phone-context=+1-415",
  ])
    assert.equal(parseCallback(bad), null, bad);
});

test("an address of a trunk is one however it is spelled (R-330)", () => {
  const trunks = createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:[2001:DB8::1]:5060") }, async () => []);
  for (const host of ["[2001:db8:0::1]", "[2001:0db8:0:0:0:0:0:1]"]) assert.equal(trunks.isTrunkHost(host), true, host);
  const ipv4 = createTrunks({ sipTrunks: [], sipOutbound: new Secret("sip:198.51.100.9") }, async () => []);
  assert.equal(ipv4.isTrunkHost("[::ffff:198.51.100.9]"), true);
  assert.equal(isTrunkHost("[::ffff:192.0.2.1]"), true);
});

test("a sip callback at a trunk obeys the rules for numbers when its user part reads as one (R-330)", () => {
  const rows: [string, boolean][] = [
    ["sip:+19005551234@trunk.example", false],
    ["sip:19005551234@trunk.example", false],
    ["sip:9005551234@trunk.example", false],
    ["sip:01119005551234@trunk.example", false],
    ["sip:0019005551234@trunk.example", false],
    ["sip:1-900-555-1234@TRUNK.example.", false],
    ["sip:1.900.(555).1234@192.0.2.7:5080", false],
    ["sip:%2B19005551234@trunk.example", false],
    ["sip:+1900%35551234@trunk.example", false],
    ["sip:+19005551234;phone-context=+44@trunk.example;user=phone", false],
    ["sip:+442079460958@trunk.example", false],
    ["sip:*67+14155550100@trunk.example", false],
    ["sip:+14155550100@trunk.example", true],
    ["sip:14155550100@trunk.example", true],
    ["sip:4155550100@192.0.2.7", true],
    ["sip:12345@trunk.example", true],
    ["sip:agent@trunk.example", true],
    ["sip:agent900555@trunk.example", true],
    ["sip:trunk.example", true],
    ["sip:+19005551234@pbx.example", true],
    ["sip:+442079460958@pbx.example", true],
  ];
  for (const [text, expected] of rows) assert.equal(allowed(text, project("US")), expected, text);
  // What stands behind a semicolon may be dialled too: the prefix of a local number (RFC 3966 section 5.1.5), where it was ported to (RFC 4694).
  const hidden: [string, boolean][] = [
    ["sip:1234;phone-context=+1900555@trunk.example;user=phone", false],
    ["sip:1234;phone%2Dcontext=%2B1900555@trunk.example", false],
    ["sip:+14155550100;npdi;rn=+19005551234@trunk.example", false],
    ["sip:+14155550100;ext=123@trunk.example", true],
    ["sip:agent;lang=en@trunk.example", true],
    ["sip:,19005551234@trunk.example", false],
    ["sip:1&900$555=1234@trunk.example", false],
    ["sip:1900%E2%80%8B5551234@trunk.example", false],
    ["sip:1234;phone-context=+1900555@pbx.example", true],
  ];
  for (const [text, expected] of hidden) assert.equal(allowed(text, project("US")), expected, text);
  const listed = project("US", "+44", "sip:trunk.example");
  assert.equal(allowed("sip:+442079460958@trunk.example", listed), true);
  assert.equal(allowed("sip:+14155550100@trunk.example", listed), false);
  assert.equal(allowed("sip:+442079460958@trunk.example", project("US", "+44")), false, "the host must be allowed too");
});

type Dialled = [country: string, ...users: string[]];

/** Whether each of these may be dialled at a trunk by `projectIn` of its country. */
function assertAtTrunk(dialled: readonly Dialled[], projectIn: (country: string) => ReturnType<typeof project>, expected: boolean): void {
  for (const [country, ...users] of dialled)
    for (const user of users) assert.equal(allowed(`sip:${user}@trunk.example`, projectIn(country)), expected, `${country} ${user}`);
}

test("short numbers of emergency, operators and services are dialled by no trunk, whatever is allowed; extensions are (R-330)", () => {
  const everything = (country: string) => project(country, "+", "sip:trunk.example", "sip:*.example", "sip:192.0.2.7");
  const refused: Dialled[] = [
    [
      "US",
      "911",
      "112",
      "411",
      "611",
      "988",
      "0",
      "00",
      "9-1-1",
      "9%311",
      "+911",
      "911%23",
      "*67911",
      "%2331%23112",
      "1234,911",
      "911;ext=5",
    ],
    ["DE", "112", "110", "115", "0"],
    ["GB", "999", "112", "101", "118500"],
    ["FR", "15", "17", "18", "118218"],
    ["AU", "000"],
    ["DE", "11833", "911"],
  ];
  assertAtTrunk(refused, everything, false);
  const extensions: Dialled[] = [
    ["US", "12345", "101", "201", "2110", "4000", "agent", "agent911", "*97"],
    ["DE", "201", "300", "4110", "12345"],
  ];
  assertAtTrunk(extensions, everything, true);
  assert.equal(allowed("sip:911@pbx.example", everything("US")), true, "no trunk");
});

test("what stands behind an outside-line prefix is looked at too: 9911 may dial 911 at a switchboard, 9011... abroad (R-330)", () => {
  const everything = (country: string) => project(country, "+", "sip:trunk.example");
  const refused: Dialled[] = [
    [
      "US",
      "9911",
      "9-911",
      "9112",
      "0911",
      "9411",
      "9988",
      "*679911",
      "9911%23",
      "1234,9911",
      "99005551234",
      "9900555123499",
      "919005551234",
      "901119005551234",
    ],
    ["GB", "9999", "9112", "9118500", "909012345678"],
    ["DE", "0112", "0110", "009001234567", "9112"],
    ["AU", "0000"],
  ];
  assertAtTrunk(refused, everything, false);
  // Abroad by the prefix, where the project has its own country alone.
  for (const user of ["9011442079460958", "9-011-44-20-7946-0958"])
    assert.equal(allowed(`sip:${user}@trunk.example`, project("US")), false, user);
  const numbers: Dialled[] = [
    ["US", "9175550100", "914155550100", "94155550100", "9000", "9100", "0014155550100"],
    ["GB", "02079460958", "902079460958", "9400"],
    ["DE", "030123456", "0030123456", "9400", "4911"],
    ["IT", "0199123456"],
  ];
  assertAtTrunk(numbers, everything, true);
  assert.equal(allowed("sip:9911@pbx.example", project("US")), true, "no trunk");
  assert.equal(allowed("sip:+919005551234@trunk.example", everything("US")), true, "a plus is no prefix");
});
