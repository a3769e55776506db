import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { bits, boolean, element, integer, octets, oid, sequence, set, tagged, time, utf8 } from "./der.ts";

/** A server's key and certificate and the authority that signed it, all PEM. Made anew at each start, kept nowhere. */
export interface Identity {
  key: string;
  cert: string;
  ca: string;
}

interface Party {
  name: Buffer;
  privateKey: KeyObject;
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Buffer;
  keyId: Buffer;
}

const ECDSA_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const DAY_MS = 86_400_000;

/** A certificate authority and a server certificate for `names` (DNS names and IP addresses), P-256, valid for a year. */
export function createIdentity(names: readonly string[], nowMs = Date.now()): Identity {
  const authority = createParty("Voicetill simulators' authority");
  const server = createParty("Voicetill simulators");
  const ca = certificate(authority, authority, nowMs, [
    extension("2.5.29.19", true, sequence(boolean(true))),
    extension("2.5.29.15", true, bits(Buffer.from([0x06]), 1)), // keyCertSign, cRLSign
    extension("2.5.29.14", false, octets(authority.keyId)),
  ]);
  const cert = certificate(server, authority, nowMs, [
    extension("2.5.29.19", true, sequence()),
    extension("2.5.29.15", true, bits(Buffer.from([0x80]), 7)), // digitalSignature
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"), oid("1.3.6.1.5.5.7.3.2"))), // serverAuth, clientAuth
    extension("2.5.29.17", false, sequence(...names.map(generalName))),
    extension("2.5.29.14", false, octets(server.keyId)),
    extension("2.5.29.35", false, sequence(tagged(0, authority.keyId, false))),
  ]);
  return { key: server.privateKey.export({ type: "pkcs8", format: "pem" }), cert, ca };
}

function createParty(commonName: string): Party {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  return {
    name: sequence(set(sequence(oid("2.5.4.3"), utf8(commonName)))),
    privateKey,
    publicKey: spki,
    keyId: createHash("sha1").update(spki).digest(),
  };
}

/** A version 3 certificate of `subject` signed by `issuer` (RFC 5280 section 4.1). */
function certificate(subject: Party, issuer: Party, nowMs: number, extensions: Buffer[]): string {
  const serial = randomBytes(16);
  serial[0] = 0x01;
  const body = sequence(
    tagged(0, integer(2)),
    integer(serial),
    ECDSA_SHA256,
    issuer.name,
    sequence(time(new Date(nowMs - DAY_MS)), time(new Date(nowMs + 365 * DAY_MS))),
    subject.name,
    subject.publicKey,
    tagged(3, sequence(...extensions)),
  );
  const der = sequence(body, ECDSA_SHA256, bits(sign("sha256", body, issuer.privateKey)));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
}

/** dNSName or iPAddress (RFC 5280 section 4.2.1.6). */
function generalName(name: string): Buffer {
  const version = isIP(name);
  if (version === 0) return element(0x82, Buffer.from(name));
  return element(0x87, version === 4 ? Buffer.from(name.split(".").map(Number)) : ipv6Bytes(name));
}

function ipv6Bytes(address: string): Buffer {
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
