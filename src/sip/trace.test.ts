import assert from "node:assert/strict";
import { test } from "node:test";
import { traceText } from "./trace.ts";

const of = (text: string) => traceText(Buffer.from(text, "latin1"));

test("a trace has the whole head and the session description of a message", () => {
  const message =
    "INVITE sip:a@b SIP/2.0\r\nFrom: <sip:c@d>;tag=1\r\nContent-Type: application/sdp\r\n\r\nv=0\r\no=- 1 1 IN IP4 192.0.2.1\r\n";
  assert.equal(of(message), message);
  assert.equal(of("ACK sip:a@b SIP/2.0\r\nCSeq: 1 ACK\r\n\r\n"), "ACK sip:a@b SIP/2.0\r\nCSeq: 1 ACK\r\n");
});

test("the key that an INFO brings is in no trace, nor is a body of another kind (S-70)", () => {
  for (const type of ["application/dtmf-relay", "application/dtmf", "multipart/mixed;boundary=x", "application/sdpx"]) {
    const text = of(`INFO sip:a@b SIP/2.0\r\nContent-Type: ${type}\r\n\r\nSignal=7\r\nDuration=160\r\n`);
    assert.ok(text.endsWith("\r\n\r\n(24 octets left out)\r\n"), text);
    assert.doesNotMatch(text, /Signal/);
  }
  assert.doesNotMatch(of("INFO sip:a@b SIP/2.0\r\n\r\nSignal=7\r\n"), /Signal/);
});

test("passwords' proofs, media keys and what a merchant has us carry are in no trace (S-70)", () => {
  const text = of(
    'INVITE sip:a@b;X-Memory=hidden SIP/2.0\r\nAuthorization: Digest username="u",\r\n response="hidden"\r\nPROXY-AUTHORIZATION: hidden\r\n' +
      "X-Memory: hidden\r\nX-X-Memory : hidden\r\nX-payment_memory: hidden\r\nUser-to-User: hidden\r\nTo: <sip:a@b?X-Memory=hidden&X-Session-Id=seen>\r\nc: application/sdp\r\n\r\n" +
      "v=0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:hidden\r\nk=clear:hidden\r\na=seen\n",
  );
  assert.doesNotMatch(text, /hidden|username/);
  assert.equal(text.match(/seen/g)?.length, 2);
  assert.equal(text.match(/\(left out\)/g)?.length, 10);
});
