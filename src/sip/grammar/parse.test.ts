import assert from "node:assert/strict";
import { test } from "node:test";
import { respond, type SipRequest } from "./message.ts";
import { type Parsed, parseDatagram } from "./parse.ts";

const HEAD = [
  "INVITE sip:bob@example.com SIP/2.0",
  "Via: SIP/2.0/UDP 192.0.2.1:5070;branch=z9hG4bK1;rport",
  'From: "A" <sip:a@example.com>;tag=1',
  "To: <sip:bob@example.com>",
  "Call-ID: c1",
  "CSeq: 0007 INVITE",
  "Contact: <sip:a@192.0.2.1>",
];

function parse(lines: readonly string[], body = ""): Parsed {
  return parseDatagram(Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1"));
}

function request(lines: readonly string[], body = ""): SipRequest {
  const parsed = parse(lines, body);
  assert.equal(parsed.kind, "request");
  return parsed.request;
}

function refused(parsed: Parsed): number {
  assert.equal(parsed.kind, "malformed");
  return parsed.status;
}

const replaced = (header: string, by: string) => HEAD.map((line) => (line.startsWith(header) ? by : line));
const without = (header: string) => HEAD.filter((line) => !line.startsWith(header));

test("a request is read with its typed headers", () => {
  const invite = request(HEAD);
  assert.equal(invite.method, "INVITE");
  assert.equal(invite.uri.user, "bob");
  assert.equal(invite.fromTag, "1");
  assert.equal(invite.toTag, null);
  assert.deepEqual(invite.cseq, { number: 7, method: "INVITE" });
  assert.equal(invite.sdp, null);
});

test("folded lines are one line, and unknown headers may hold anything (RFC 4475 3.1.1.1)", () => {
  const invite = request([...HEAD, "X-Folded: one", "  two", "\tthree", "Odd: ;;,,;;,;"]);
  assert.equal(invite.header("x-folded"), "one two three");
  assert.equal(invite.header("odd"), ";;,,;;,;");
});

test("octets behind Content-Length are ignored, and without it the body is the rest of the datagram (section 18.3)", () => {
  assert.equal(Buffer.from(request([...HEAD, "l: 3"], "abcdef").body).toString(), "abc");
  assert.equal(Buffer.from(request(HEAD, "abcdef").body).toString(), "abcdef");
});

test("empty lines before a request are skipped, and a datagram of nothing else is nothing", () => {
  assert.equal(parseDatagram(Buffer.from(`\r\n\r\n${HEAD.join("\r\n")}\r\n\r\n`)).kind, "request");
  assert.equal(parseDatagram(Buffer.from("\r\n\r\n")).kind, "nothing");
  assert.equal(parseDatagram(Buffer.alloc(0)).kind, "nothing");
});

test("From, To, Call-ID, CSeq and every Via are echoed octet for octet, with a tag added to To (section 8.2.6)", () => {
  const lines = replaced("From", 'From: "\xe9\\\x07" <sip:a@example.com>;tag=1;x="\xff"');
  const response = respond(request([...lines, "Via: SIP/2.0/TCP b, SIP/2.0/SCTP c"]), 404, "t1")
    .toBytes()
    .toString("latin1");
  for (const line of [...lines.slice(1, 3), "To: <sip:bob@example.com>;tag=t1", "Call-ID: c1", "CSeq: 0007 INVITE"]) {
    assert.ok(response.includes(`\r\n${line}\r\n`), line);
  }
  assert.ok(response.startsWith("SIP/2.0 404 Not Found\r\n"));
  assert.ok(response.includes("\r\nVia: SIP/2.0/TCP b, SIP/2.0/SCTP c\r\n"));
  assert.ok(response.endsWith("Content-Length: 0\r\n\r\n"));
});

test("a To that has a tag keeps it", () => {
  const response = respond(request(replaced("To", "To: <sip:bob@example.com>;tag=mine")), 481, "other");
  assert.equal(response.fields.first("to"), "<sip:bob@example.com>;tag=mine");
});

const MALFORMED: Readonly<Record<string, readonly [status: number, lines: readonly string[]]>> = {
  "another version": [505, replaced("INVITE", "INVITE sip:bob@example.com SIP/3.0")],
  "a Request-URI over 1 KiB": [414, replaced("INVITE", `INVITE sip:${"b".repeat(1024)}@example.com SIP/2.0`)],
  "a Request-URI in brackets": [400, replaced("INVITE", "INVITE <sip:bob@example.com> SIP/2.0")],
  "two spaces in the Request-Line": [400, replaced("INVITE", "INVITE  sip:bob@example.com SIP/2.0")],
  "no Via": [400, without("Via")],
  "no From": [400, without("From")],
  "no To": [400, without("To")],
  "no Call-ID": [400, without("Call-ID")],
  "no CSeq": [400, without("CSeq")],
  "two From": [400, [...HEAD, "f: <sip:x@y>;tag=2"]],
  "two Content-Length": [400, [...HEAD, "l: 0", "Content-Length: 0"]],
  "a negative Content-Length": [400, [...HEAD, "l: -1"]],
  "a Content-Length past the datagram": [400, [...HEAD, "l: 9999999999999999999999"]],
  "a CSeq of 2^32": [400, replaced("CSeq", "CSeq: 4294967296 INVITE")],
  "a CSeq of another method": [400, replaced("CSeq", "CSeq: 7 OPTIONS")],
  "Max-Forwards over 255": [400, [...HEAD, "Max-Forwards: 256"]],
  "a header without a name": [400, [...HEAD, ": value"]],
  "a header without a colon": [400, [...HEAD, "nonsense"]],
  "a NUL in a header": [400, [...HEAD, "X-A: a\0b"]],
  "a bare line feed in a header": [400, [...HEAD, "X-A: a\nVia: b"]],
  "a line over 8 KiB": [400, [...HEAD, `X-A: ${"a".repeat(8192)}`]],
  "a line over 8 KiB by folding": [400, [...HEAD, "X-A: a", ...Array.from({ length: 90 }, () => ` ${"b".repeat(100)}`)]],
  "129 headers": [400, [...HEAD, ...Array.from({ length: 123 }, (_, index) => `X-${index}: 1`)]],
};
for (const [what, [status, lines]] of Object.entries(MALFORMED)) {
  test(`${what} is answered ${status} (S-84)`, () => {
    assert.equal(refused(parse(lines)), status);
  });
}

test("headers of 8 KiB and 128 of them are taken (S-84)", () => {
  const many = Array.from({ length: 120 }, (_, index) => `X-${index}: 1`);
  assert.equal(request([...HEAD, ...many, `X-Long: ${"a".repeat(8_000)}`]).header("x-long")?.length, 8_000);
});

test("an unknown method is well formed whatever its CSeq says, so that it can be answered 501 (RFC 4475 3.1.2.18)", () => {
  assert.equal(request(replaced("INVITE", "NEWMETHOD sip:bob@example.com SIP/2.0")).method, "NEWMETHOD");
});

test("nothing can be answered to an ACK, to a response and to noise", () => {
  const silent = (lines: readonly string[]) => {
    const parsed = parse(lines);
    assert.equal(parsed.kind === "malformed" && parsed.request, null);
  };
  silent(["ACK sip:bob@example.com SIP/2.0"]);
  silent(["SIP/2.0 4294967301 huge"]);
  silent(["SIP/2.0 200 OK", ...HEAD.slice(1), "Via: SIP/2.0/UDP second"]);
  silent(["GET / HTTP/1.1", "Host: a"]);
  silent(["\xff\xfe\x00"]);
});

test("a response may have any reason, or none (RFC 4475 3.1.1.12 and .13)", () => {
  for (const line of ["SIP/2.0 200 = 2**3 * 5**2 \xd0\xbd", "SIP/2.0 100 ", "SIP/2.0 100"]) {
    assert.equal(parse([line, ...HEAD.slice(1, 6)]).kind, "response");
  }
});

test("hostile headers of full length are refused or taken, never thrown at us (S-84)", () => {
  for (const seed of [" ", "\t", ";", ",", '"', "<", "a:", "%", "\\", "a=", ";a", ',"', '\\"', "a@", "[", "sip:"]) {
    for (const name of ["Via", "From", "To", "CSeq", "Contact", "Max-Forwards"]) {
      const hostile = `${name}: ${seed.repeat(Math.floor(8_000 / seed.length))}`;
      // Nobody reads the Contact of a request before it is needed.
      assert.equal(parse([...without(name), hostile]).kind, name === "Contact" ? "request" : "malformed", `${name}: ${seed}`);
    }
  }
});
