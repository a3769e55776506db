import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "./address.ts";
import { fieldKey, HeaderFields } from "./header-fields.ts";
import { SipRequest } from "./message.ts";
import { fromOctets, toOctets } from "./octets.ts";
import { splitList } from "./scanner.ts";
import { SipSyntaxError } from "./syntax-error.ts";
import { formatVia, parseVia } from "./via.ts";

test("a name-addr has a display name, a URI and header parameters", () => {
  const address = parseAddress('"J \\"R\\" Doe" <sip:j@example.com;lr?X-A=1> ; tag = a1;q="0.5"');
  assert.equal(address.display, 'J "R" Doe');
  assert.equal(address.uri.user, "j");
  assert.equal(address.uri.params.get("lr"), "");
  assert.equal(address.params.get("tag"), "a1");
  assert.equal(address.params.get("q"), "0.5");
});

test("the parameters behind a bare URI belong to the header (section 20.10)", () => {
  const address = parseAddress("sip:j@example.com;tag=a1");
  assert.equal(address.uri.params.get("tag"), null);
  assert.equal(address.params.get("tag"), "a1");
});

test("a display name needs neither quotes nor a space before the bracket (RFC 4475 3.1.1.6)", () => {
  assert.equal(parseAddress("caller two<sip:c@example.com>").display, "caller two");
  assert.equal(parseAddress("<sip:c@example.com>").display, null);
});

test("what should be quoted in a display name is read without quotes too, as telephones write it", () => {
  for (const display of ["Bell, Alexander", "AT&T", "Bell (home)", "#1 / [x] {y} @ $5?", "B\\e=ll|^"])
    assert.deepEqual(
      [parseAddress(`${display} <sip:a@b>;tag=1`).display, parseAddress(`${display} <sip:a@b>;tag=1`).params.get("tag")],
      [display, "1"],
    );
  const contacts = new SipRequest("INVITE", "sip:x", new HeaderFields().add("Contact", "Bell, Alexander (home) <sip:a@b>"));
  assert.deepEqual(
    contacts.addresses("contact").map(({ uri }) => uri.toString()),
    ["sip:a@b"],
  );
});

test("a display name in UTF-8 is read as text", () => {
  assert.equal(parseAddress(toOctets('"Zoë" <sip:z@example.com>')).display, "Zoë");
});

for (const malformed of [
  '"unbalanced <sip:a@b>',
  "sip:c@d <sip:a@b>",
  "sip:c@d;tag=1 <sip:a@b>",
  "Bell; Alexander <sip:a@b>",
  'Alexander "Bell" <sip:a@b>',
  "<sip:a@b",
  "<sip:a@b> junk",
  "<sip:a@b>;;",
  "<sip:a@b>;tag=",
  "< sip:a@b >",
  "sip:a@b?X-A=1",
  '"no uri"',
  "",
]) {
  test(`no address: ${malformed}`, () => {
    assert.throws(() => parseAddress(malformed), SipSyntaxError);
  });
}

test("a Via is read with white space wherever the grammar allows it, and only its first hop", () => {
  const { via, rest } = parseVia("SIP  /   2.0 / udp  Spindle.example.com : 5070  ;  branch  =   z9hG4bK9 ; rport ,SIP/2.0/TCP b");
  assert.deepEqual([via.version, via.transport, via.host, via.port], ["SIP/2.0", "UDP", "spindle.example.com", 5070]);
  assert.equal(via.params.get("branch"), "z9hG4bK9");
  assert.ok(via.params.has("rport"));
  assert.equal(rest, "SIP/2.0/TCP b");
  assert.equal(formatVia(via), "SIP/2.0/UDP spindle.example.com:5070;branch=z9hG4bK9;rport");
});

test("a Via keeps IPv6 hosts and odd branches", () => {
  const text = "SIP/2.0/TCP [2001:db8::9]:5060;branch=z9hG4bK/a=b+c;received=2001:db8::1";
  assert.equal(formatVia(parseVia(text).via), text);
});

for (const malformed of ["", "SIP/2.0/UDP", "SIP/2.0 host", "HTTP/1.1/UDP host", "SIP/2.0/UDP 192.0.2.15;;,;,,", "SIP/2.0/UDP a b"]) {
  test(`no Via: ${malformed}`, () => {
    assert.throws(() => parseVia(malformed), SipSyntaxError);
  });
}

test("lists are split at commas outside of quotes and brackets", () => {
  assert.deepEqual(splitList('"a, b" <sip:x,y@h>, <sip:z>;q="1,2" ,'), ['"a, b" <sip:x,y@h>', '<sip:z>;q="1,2"']);
});

test("headers are found by any case and by their compact form (R-211)", () => {
  const fields = new HeaderFields().add("v", "one").add("VIA", "two").add("X-Session-Id", "three");
  assert.deepEqual(fields.all("Via"), ["one", "two"]);
  assert.equal(fields.first("x-session-ID"), "three");
  assert.equal(fieldKey("constructor"), "constructor");
});

test("a header of ours cannot hold a line break, a NUL or a bad name (R-325, S-87)", () => {
  for (const value of ["a\r\nVia: b", "a\nb", "a\rb", "a\0b", "a\x7fb"]) {
    assert.throws(() => new HeaderFields().addText("X-Memory", value), TypeError);
  }
  for (const name of ["", "X Memory", "X:Memory", "X-Mem\r\n"]) assert.throws(() => new HeaderFields().addText(name, "a"), TypeError);
});

test("text leaves as UTF-8 octets and comes back as text", () => {
  assert.equal(toOctets("Zoë"), "Zo\xc3\xab");
  assert.equal(fromOctets("Zo\xc3\xab"), "Zoë");
});
