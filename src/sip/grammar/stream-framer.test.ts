import assert from "node:assert/strict";
import { test } from "node:test";
import { type Frame, StreamFramer } from "./stream-framer.ts";

const message = (callId: string, body = "") =>
  [
    "OPTIONS sip:a@b SIP/2.0",
    "Via: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bK1",
    "From: <sip:a@b>;tag=1",
    "To: <sip:a@b>",
    `Call-ID: ${callId}`,
    "CSeq: 1 OPTIONS",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");

/** Frames in words: the Call-ID of a message, "ping", or "lost 400". */
function words(frames: readonly Frame[]): string[] {
  return frames.map((frame) => {
    if (frame.kind === "ping") return "ping";
    const { parsed } = frame;
    if (parsed.kind === "request") return `${parsed.request.callId} ${Buffer.from(parsed.request.body).toString()}`.trim();
    return `${frame.kind} ${parsed.kind === "malformed" ? parsed.status : parsed.kind}`;
  });
}

test("two messages in one segment are two messages (section 18.3)", () => {
  assert.deepEqual(words(new StreamFramer().feed(Buffer.from(message("a", "body") + message("b")))), ["a body", "b"]);
});

test("a message in segments of one byte is one message, once", () => {
  const framer = new StreamFramer();
  const frames = [...Buffer.from(message("a", "x".repeat(500)) + message("b"))].flatMap((byte) => framer.feed(Buffer.of(byte)));
  assert.deepEqual(words(frames), [`a ${"x".repeat(500)}`, "b"]);
  assert.equal(framer.pending, false);
});

test("whatever way a stream is cut, the same messages come out", () => {
  const stream = Buffer.from(`\r\n${message("a", "12\r\n\r\n34")}\r\n\r\n${message("b")}`);
  for (let cut = 1; cut < stream.length; cut++) {
    const framer = new StreamFramer();
    const frames = [...framer.feed(stream.subarray(0, cut)), ...framer.feed(stream.subarray(cut))];
    assert.deepEqual(words(frames), ["a 12\r\n\r\n34", "ping", "b"], `cut at ${cut}`);
  }
});

test("a double CRLF between messages is a ping, a single one is not (RFC 5626 section 4.4.1)", () => {
  const framer = new StreamFramer();
  assert.deepEqual(words(framer.feed(Buffer.from("\r\n\r\n"))), ["ping"]);
  assert.deepEqual(words(framer.feed(Buffer.from("\r\n"))), []);
  assert.deepEqual(words(framer.feed(Buffer.from("\r\n"))), ["ping"]);
  assert.equal(framer.pending, false);
});

test("a message without Content-Length, or with a bad one, loses the framing and is answered 400", () => {
  for (const bad of ["X-No: 1", "Content-Length: -999", "Content-Length: 0\r\nl: 5", "Content-Length: 1 2"]) {
    const framer = new StreamFramer();
    const frames = framer.feed(Buffer.from(message("a").replace("Content-Length: 0", bad) + message("b")));
    assert.deepEqual(words(frames), ["lost 400"]);
    assert.deepEqual(framer.feed(Buffer.from(message("c"))), []);
  }
});

test("a message too large is answered 513 as soon as that is known (S-84)", () => {
  const framer = new StreamFramer();
  assert.deepEqual(words(framer.feed(Buffer.from(message("a").replace("Length: 0", "Length: 70000")))), ["lost 513"]);
  const endless = new StreamFramer();
  const frames = Array.from({ length: 20 }, () => endless.feed(Buffer.from(`OPTIONS sip:a SIP/2.0${"x".repeat(4_000)}`))).flat();
  assert.deepEqual(words(frames), ["lost 513"]);
});

test("a message whose body has not come yet is pending", () => {
  const framer = new StreamFramer();
  assert.deepEqual(framer.feed(Buffer.from(message("a").replace("Length: 0", "Length: 10"))), []);
  assert.equal(framer.pending, true);
  assert.deepEqual(words(framer.feed(Buffer.from("0123456789"))), ["a 0123456789"]);
  assert.equal(framer.pending, false);
});
