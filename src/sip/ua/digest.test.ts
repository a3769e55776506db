import assert from "node:assert/strict";
import { test } from "node:test";
import type { Random } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { Fields } from "../grammar/fields.ts";
import { respond, SipRequest } from "../grammar/message.ts";
import { authorize } from "./digest.ts";

const random: Random = { uuid: () => "", bytes: (count) => new Uint8Array(count), fraction: () => 0 };
const credentials = { username: "Mufasa", password: new Secret("Circle of Life") };
const request = (method = "GET", uri = "/dir/index.html") => new SipRequest(method, uri, new Fields().add("CSeq", `1 ${method}`));

function answered(challenges: readonly string[], status = 401, asked = request()): string | null {
  const header = status === 401 ? "WWW-Authenticate" : "Proxy-Authenticate";
  const response = respond(asked, status, null, { headers: challenges.map((value) => [header, value] as const) });
  return authorize(asked, response, credentials, random)?.header(status === 401 ? "Authorization" : "Proxy-Authorization") ?? null;
}

test("the response of a challenge without qop is RFC 2069's", () => {
  // Computed with md5sum: HA1 = MD5(Mufasa:r:Circle of Life), HA2 = MD5(GET:/dir/index.html).
  const value = answered(['Digest realm="r", nonce="n"']);
  assert.equal(value, 'Digest username="Mufasa", realm="r", nonce="n", uri="/dir/index.html", response="0bab5c24c08a1ef94a6cc3d446ce558a"');
});

test("SHA-256 with qop=auth counts and carries our own nonce (RFC 8760)", () => {
  const value = answered(['Digest realm="r", nonce="n", qop="auth-int,auth", opaque="o", algorithm=SHA-256'], 407) ?? "";
  assert.match(value, /algorithm=SHA-256, opaque="o", qop=auth, nc=00000001, cnonce="00000000000000000000"$/);
  assert.match(value, /response="643d9d7d2200ab67a611224a554ba4ebd25b2814280d1b70b305189dcaf3ce45"/);
});

test("the first challenge that can be answered is answered (RFC 8760 section 2.4)", () => {
  assert.match(answered(['Digest realm="a", nonce="1", algorithm=SHA-512-256', 'Digest realm="b", nonce="2"']) ?? "", /realm="a"/);
  assert.match(
    answered(['Basic realm="a"', 'Digest realm="b", nonce="2", algorithm=MD5-sess', 'Digest realm="c", nonce="3"']) ?? "",
    /realm="c"/,
  );
});

test("a challenge that is malformed, or asks for what we cannot do, is not answered", () => {
  for (const challenge of [
    "",
    "Digest",
    'Digest realm="r"',
    'Digest realm="r", nonce="n", qop="auth-int"',
    'Digest realm="r',
    'Digest realm="r", nonce="n", algorithm=constructor',
    "Basic abc",
  ]) {
    assert.equal(answered([challenge]), null, challenge);
  }
});

test("the second refusal of one kind is final, a proxy's and a server's challenge are both answered", () => {
  const first = request();
  const challenge = (status: number, header: string, asked: SipRequest) =>
    respond(asked, status, null, { headers: [[header, 'Digest realm="r", nonce="n"']] });
  const second = authorize(first, challenge(407, "Proxy-Authenticate", first), credentials, random);
  assert.ok(second);
  const third = authorize(second, challenge(401, "WWW-Authenticate", second), credentials, random);
  assert.equal(third?.cseq.number, 3);
  assert.deepEqual([third?.fields.all("Authorization").length, third?.fields.all("Proxy-Authorization").length], [1, 1]);
  assert.equal(authorize(second, challenge(407, "Proxy-Authenticate", second), credentials, random), null);
});

test("quotes in a realm stay inside their quotes", () => {
  assert.match(answered(['Digest realm="a\\"b\\\\c", nonce="n"']) ?? "", /realm="a\\"b\\\\c"/);
});
