import assert from "node:assert/strict";
import { test } from "node:test";
import type { Random } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { respond, SipRequest } from "../grammar/message.ts";
import { DigestClient } from "./digest.ts";

const random: Random = { uuid: () => "", bytes: (count) => new Uint8Array(count), fraction: () => 0 };
const TRUNK = "192.0.2.1";
function client(md5 = true): DigestClient {
  const digest = new DigestClient({ username: "Mufasa", password: new Secret("Circle of Life"), md5 }, random);
  digest.bind([TRUNK]);
  return digest;
}
const request = (method = "GET", uri = "/dir/index.html") => new SipRequest(method, uri, new HeaderFields().add("CSeq", `1 ${method}`));

function answered(challenges: readonly string[], status = 401, asked = request()): string | null {
  const header = status === 401 ? "WWW-Authenticate" : "Proxy-Authenticate";
  const response = respond(asked, status, null, { headers: challenges.map((value) => [header, value] as const) });
  return (
    client()
      .authorize(asked, response, TRUNK)
      ?.header(status === 401 ? "Authorization" : "Proxy-Authorization") ?? null
  );
}

test("MD5 with qop=auth is computed as RFC 7616 says", () => {
  // Computed with md5sum: HA1 = MD5(Mufasa:r:Circle of Life), HA2 = MD5(GET:/dir/index.html), cnonce twenty zeros.
  assert.equal(
    answered(['Digest realm="r", nonce="n", qop="auth"']),
    'Digest username="Mufasa", realm="r", nonce="n", uri="/dir/index.html", response="e53502665a965233dd1bda1c94f26732", qop=auth, nc=00000001, cnonce="00000000000000000000"',
  );
});

test("SHA-256 with qop=auth counts and carries our own nonce (RFC 8760)", () => {
  const value = answered(['Digest realm="r", nonce="n", qop="auth-int,auth", opaque="o", algorithm=SHA-256'], 407) ?? "";
  assert.match(value, /algorithm=SHA-256, opaque="o", qop=auth, nc=00000001, cnonce="00000000000000000000"$/);
  assert.match(value, /response="643d9d7d2200ab67a611224a554ba4ebd25b2814280d1b70b305189dcaf3ce45"/);
});

test("the first challenge that can be answered is answered (RFC 8760 section 2.4)", () => {
  const challenge = (realm: string, algorithm: string) => `Digest realm="${realm}", nonce="1", qop="auth", algorithm=${algorithm}`;
  assert.match(answered([challenge("a", "SHA-512-256"), challenge("b", "MD5")]) ?? "", /realm="a"/);
  assert.match(answered(['Basic realm="a"', challenge("b", "MD5-sess"), challenge("c", "MD5")]) ?? "", /realm="c"/);
});

test("a challenge that is malformed, or asks for what we cannot do, is not answered", () => {
  for (const challenge of [
    "",
    "Digest",
    'Digest realm="r", qop="auth"',
    'Digest realm="r", nonce="n"',
    'Digest realm="r", nonce="n", qop="auth-int"',
    'Digest nonce="n", qop="auth", realm="r',
    'Digest realm="r", nonce="n", qop="auth", algorithm=constructor',
    "Basic abc",
  ]) {
    assert.equal(answered([challenge]), null, challenge);
  }
});

test("the second refusal of one kind is final, a proxy's and a server's challenge are both answered", () => {
  const first = request();
  const digest = client();
  const challenge = (status: number, header: string, asked: SipRequest) =>
    respond(asked, status, null, { headers: [[header, 'Digest realm="r", nonce="n", qop="auth"']] });
  const second = digest.authorize(first, challenge(407, "Proxy-Authenticate", first), TRUNK);
  assert.ok(second);
  const third = digest.authorize(second, challenge(401, "WWW-Authenticate", second), TRUNK);
  assert.equal(third?.cseq.number, 3);
  assert.deepEqual([third?.fields.all("Authorization").length, third?.fields.all("Proxy-Authorization").length], [1, 1]);
  assert.equal(digest.authorize(second, challenge(407, "Proxy-Authenticate", second), TRUNK), null);
});

/** A 401 with these parameters besides realm and qop. */
const unauthorized = (asked: SipRequest, rest: string) =>
  respond(asked, 401, null, { headers: [["WWW-Authenticate", `Digest realm="r", qop="auth", ${rest}`]] });

test("each use of a nonce that a server gives again is counted (RFC 7616 section 3.4)", () => {
  const digest = client();
  const counts = ["one", "one", "two", "one"].map((nonce) => {
    const asked = request("BYE");
    return /nc=(\w+)/.exec(digest.authorize(asked, unauthorized(asked, `nonce="${nonce}"`), TRUNK)?.header("Authorization") ?? "")?.[1];
  });
  assert.deepEqual(counts, ["00000001", "00000002", "00000001", "00000003"]);
});

test("a nonce that has run out is replaced once in a request (RFC 7616 section 3.3)", () => {
  const digest = client();
  const first = request();
  const second = digest.authorize(first, unauthorized(first, 'nonce="one"'), TRUNK)!;
  assert.equal(digest.authorize(second, unauthorized(second, 'nonce="two", stale=false'), TRUNK), null);
  const third = digest.authorize(second, unauthorized(second, 'nonce="two", stale=TRUE'), TRUNK)!;
  assert.deepEqual([third.cseq.number, third.fields.all("Authorization").length], [3, 1]);
  assert.match(third.header("Authorization") ?? "", /nonce="two".*nc=00000001/);
  assert.equal(digest.authorize(third, unauthorized(third, 'nonce="three", stale=true'), TRUNK), null);
});

test("another address and another realm than the first are not answered", () => {
  const digest = client();
  const asked = request();
  const challenge = (realm: string) =>
    respond(asked, 401, null, { headers: [["WWW-Authenticate", `Digest realm="${realm}", nonce="n", qop="auth"`]] });
  digest.bind(["192.0.2.66"]);
  assert.equal(digest.authorize(asked, challenge("r"), "192.0.2.66"), null);
  assert.ok(digest.authorize(asked, challenge("r"), TRUNK));
  assert.equal(digest.authorize(asked, challenge("s"), TRUNK), null);
});

test("quotes in a realm stay inside their quotes", () => {
  assert.match(answered(['Digest realm="a\\"b\\\\c", nonce="n", qop="auth"']) ?? "", /realm="a\\"b\\\\c"/);
});

test("MD5 is answered to a trunk only where its address says so, SHA-256 always", () => {
  const asked = request();
  const challenged = (algorithm: string) =>
    respond(asked, 401, null, { headers: [["WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth"${algorithm}`]] });
  for (const algorithm of ["", ", algorithm=MD5"]) assert.equal(client(false).authorize(asked, challenged(algorithm), TRUNK), null);
  assert.ok(client(false).authorize(asked, challenged(", algorithm=SHA-256"), TRUNK));
});
