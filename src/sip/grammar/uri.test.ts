import assert from "node:assert/strict";
import { test } from "node:test";
import { SipSyntaxError } from "./syntax-error.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { parseUri, SipUri } from "./uri.ts";

function sip(text: string): SipUri {
  const uri = parseUri(text);
  assert.ok(uri instanceof SipUri, text);
  return uri;
}

test("a SIP URI is read into user, host, port, parameters and headers (RFC 3261 section 19.1)", () => {
  const uri = sip("sip:alice:secret@Example.COM:5070;transport=TCP;lr?X-Session-Id=abc&subject=a%20b");
  assert.equal(uri.scheme, "sip");
  assert.equal(uri.user, "alice");
  assert.equal(uri.host, "example.com");
  assert.equal(uri.port, 5070);
  assert.equal(uri.params.get("Transport"), "TCP");
  assert.equal(uri.params.get("lr"), "");
  assert.equal(uri.params.get("maddr"), null);
  assert.equal(uri.headers.get("x-session-id"), "abc");
  assert.deepEqual([...uri.headers], [["X-Session-Id", "abc"], ["subject", "a b"]]); // prettier-ignore
});

test("escapes are decoded once, as UTF-8, and the URI keeps its own spelling", () => {
  const uri = sip("sip:%61l%C3%AFce%2540@host");
  assert.equal(uri.user, "alïce%40");
  assert.equal(uri.toString(), "sip:%61l%C3%AFce%2540@host");
  assert.equal(sip("sip:null-%00-null@host").user, "null-\0-null");
});

test("a user part may hold what looks like parameters, headers and ports (RFC 4475 3.1.1.9)", () => {
  const uri = sip("sip:user;par=u%40example.net?x=1,y/z@example.com;lr");
  assert.equal(uri.user, "user;par=u@example.net?x=1,y/z");
  assert.equal(uri.params.get("par"), null);
  assert.equal(uri.params.get("lr"), "");
});

test("an empty user part is none, as some proxies write it for a caller who has none", () => {
  const uri = sip("sip:@example.com:5070;lr");
  assert.deepEqual([uri.user, uri.host, uri.port, uri.params.get("lr")], [null, "example.com", 5070, ""]);
  assert.equal(uri.requestUri, "sip:@example.com:5070;lr");
});

test("an IPv6 host loses its brackets and gets them back on the wire", () => {
  const uri = sip("sip:[2001:db8::1]:5062");
  assert.equal(uri.host, "2001:db8::1");
  assert.equal(uri.port, 5062);
  assert.equal(formatHostPort(uri.host, uri.port), "[2001:db8::1]:5062");
});

test("a Request-URI is the URI without its headers and method parameter (section 19.1.5)", () => {
  assert.equal(sip("sip:a@b;method=REGISTER;lr?X-A=1").requestUri, "sip:a@b;lr");
});

test("a tel URI names its number, and has parameters (RFC 3966)", () => {
  assert.equal(parseUri("tel:+15551230000;ext=12;isub=a%20b").params.get("EXT"), "12");
  assert.equal(parseUri("urn:a;b=c").params.get("b"), null);
  assert.equal(parseUri("tel:+15551230000;phone-context=x").user, "+15551230000");
  assert.equal(parseUri("tel:555-0100;phone-context=+1-415").user, "+1-415555-0100", "a local number has its context before it");
  assert.equal(parseUri("tel:7042;phone-context=pbx.example").user, "", "a domain's own number is nobody else's");
  assert.equal(parseUri("urn:service:sos").user, null);
});

test("names that every object has are no parameters and no headers", () => {
  const uri = sip("sip:a@b");
  assert.equal(uri.params.get("constructor"), null);
  assert.equal(uri.headers.get("__proto__"), null);
});

for (const malformed of [
  "sip:",
  "sip:a@",
  "sip:a@host:",
  "sip:a@host:0",
  "sip:a@host:65536",
  "sip:a@host:50x",
  "sip:a b@host",
  "sip:a@b@c",
  "sip:a%4@host",
  "sip:a%zz@host",
  "sip:[2001:db8::1",
  "sip:[nonsense]",
  "sip:a@host;;lr",
  "sip:a@host;",
  "sip:a@host?name",
  "sip:a@host?=value",
  "<sip:a@host>",
  "no-scheme",
  "http:with space",
  `sip:${"a".repeat(1025)}@host`,
]) {
  test(`no URI: ${malformed.slice(0, 40)}`, () => {
    assert.throws(() => parseUri(malformed), SipSyntaxError);
  });
}
