import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCallback } from "./callback.ts";
import { callbackAllowed } from "./transfer-rules.ts";

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
function allowed(text: string, of: ReturnType<typeof project>): boolean {
  const target = parseCallback(text);
  assert.ok(target, text);
  return callbackAllowed(target, of);
}

test("without a list callers go to the project's own country and to SIP hosts, never to dear numbers (R-330)", () => {
  const rows: [string, string, boolean][] = [
    ["+14155550100", "US", true],
    ["+14155550100", "GB", false],
    ["+442079460958", "GB", true],
    ["+442079460958", "US", false],
    ["+18765550100", "US", false],
    ["+19005550100", "US", false],
    ["+881612345678", "US", false],
    ["+883510000000001", "US", false],
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
