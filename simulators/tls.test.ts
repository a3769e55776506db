import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { connect, createServer } from "node:tls";
import { bits, integer, oid, sequence, time } from "./der.ts";
import { createIdentity } from "./tls.ts";

const hex = (bytes: Buffer): string => bytes.toString("hex");

describe("DER (X.690)", () => {
  test("integers are positive and of the shortest form", () => {
    assert.equal(hex(integer(0)), "020100");
    assert.equal(hex(integer(127)), "02017f");
    assert.equal(hex(integer(128)), "02020080");
    assert.equal(hex(integer(Buffer.from([0, 0, 1]))), "020101");
  });

  test("object identifiers pack their arcs in sevens (section 8.19)", () => {
    assert.equal(hex(oid("1.2.840.10045.4.3.2")), "06082a8648ce3d040302");
    assert.equal(hex(oid("2.5.29.17")), "0603551d11");
  });

  test("lengths of 128 bytes and more take the long form", () => {
    assert.equal(hex(sequence(Buffer.alloc(127)).subarray(0, 2)), "307f");
    assert.equal(hex(sequence(Buffer.alloc(128)).subarray(0, 3)), "308180");
    assert.equal(hex(sequence(Buffer.alloc(256)).subarray(0, 4)), "30820100");
  });

  test("bit strings say how many bits are unused; times change form in 2050 (RFC 5280 section 4.1.2.5)", () => {
    assert.equal(hex(bits(Buffer.from([0x06]), 1)), "03020106");
    assert.equal(time(new Date("2026-11-20T21:00:03.999Z")).toString("latin1").slice(2), "261120210003Z");
    assert.equal(time(new Date("2050-01-01T00:00:00Z")).toString("latin1").slice(2), "20500101000000Z");
  });
});

describe("the simulators' certificate", () => {
  const identity = createIdentity(["localhost", "127.0.0.1", "::1"]);

  /** What a strict client says when it connects to the server under `name`. */
  async function check(name: string, ca: string | undefined): Promise<string> {
    const server = createServer({ key: identity.key, cert: identity.cert }, (socket) => socket.end());
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const result = await new Promise<string>((resolve) => {
      const socket = connect({ host: "127.0.0.1", port, servername: name === "localhost" ? name : "", ...(ca && { ca }) }, () => {
        resolve("accepted");
        socket.destroy();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
    await new Promise((resolve) => server.close(resolve));
    return result;
  }

  test("node's own TLS client accepts it when it trusts the authority, and only then", async () => {
    assert.equal(await check("localhost", identity.ca), "accepted");
    assert.equal(await check("127.0.0.1", identity.ca), "accepted");
    assert.notEqual(await check("localhost", undefined), "accepted");
    assert.notEqual(await check("localhost", createIdentity(["localhost"]).ca), "accepted");
  });

  test("it names the hosts, is signed by the authority and cannot sign others", () => {
    const leaf = new X509Certificate(identity.cert);
    const authority = new X509Certificate(identity.ca);
    assert.equal(leaf.subjectAltName, "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1");
    assert.ok(leaf.verify(authority.publicKey) && leaf.checkIssued(authority));
    assert.ok(authority.ca && !leaf.ca);
    assert.ok(leaf.checkIP("::1") !== undefined && leaf.checkIP("127.0.0.2") === undefined);
    // serverAuth and clientAuth: carriers that want a certificate of both sides are tried with it.
    assert.deepEqual(leaf.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  });
});
