import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplayWindow } from "./replay-window.ts";
import { readRtp, writeRtp } from "./rtp.ts";
import { SessionKeys, deriveKeys } from "./srtp-keys.ts";
import type { SrtpSuite } from "./srtp-keys.ts";
import { SrtpSession } from "./srtp-session.ts";
import { SrtpReceiver, SrtpSender } from "./srtp.ts";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
/** The master key and salt of RFC 3711 appendix B.3. */
const MASTER = hex("E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6");
const OTHER_MASTER = Uint8Array.from(MASTER, (byte) => byte ^ 0x55);
const SUITES: SrtpSuite[] = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"];
const SHA1_80: SrtpSuite = "AES_CM_128_HMAC_SHA1_80";

function packet(sequence: number, { ssrc = 5, payload = Uint8Array.of(1, 2, 3, 4) } = {}): Uint8Array {
  return writeRtp({
    marker: false,
    payloadType: 101,
    sequence: sequence & 0xffff,
    timestamp: 160 * sequence,
    ssrc,
    payload,
  });
}
const copy = (bytes: Uint8Array) => new Uint8Array(bytes);
const payloadOf = (datagram: Uint8Array | null) => datagram && [...(readRtp(datagram)?.payload ?? [])];

test("session keys are derived as in RFC 3711 appendix B.3", () => {
  const { key, salt, authenticationKey } = deriveKeys(MASTER, "rtp");
  assert.deepEqual(
    [key, salt, authenticationKey].map((bytes) => bytes.toString("hex").toUpperCase()),
    ["C61E7A93744F39EE10734AFE3FF7A087", "30CBBC08863D8C85D49DB34A9AE1", "CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"],
  );
});

test("the keystream of AES in counter mode is that of RFC 3711 appendix B.2", () => {
  const keys = {
    ...deriveKeys(MASTER, "rtp"),
    key: hex("2B7E151628AED2A6ABF7158809CF4F3C"),
    salt: hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD"),
  };
  const keystream = Buffer.alloc(48);
  new SessionKeys(keys).crypt(keystream, 0, 48, 0, 0);
  assert.equal(
    keystream.toString("hex").toUpperCase(),
    "E03EAD0935C95E80E166B16DD92B4EB4D23513162B02D0F72A43A2FE4A5F97AB41E95B3BB0A2E8DD477901E4FCA894C0",
  );
});

for (const suite of SUITES) {
  test(`${suite}: what one side protects the other reads, and nobody else (R-227)`, () => {
    const [sender, receiver] = [new SrtpSender(suite, MASTER), new SrtpReceiver(suite, MASTER)];
    const datagram = packet(1);
    const sent = sender.protect(datagram)!;
    assert.equal(sent.length, datagram.length + (suite === SHA1_80 ? 10 : 4));
    assert.notDeepEqual(sent.subarray(12, 16), datagram.subarray(12));
    assert.equal(new SrtpReceiver(suite, OTHER_MASTER).unprotect(copy(sent)), null);
    for (let at = 0; at < sent.length; at++) {
      const forged = copy(sent);
      forged[at] = (forged[at] ?? 0) ^ 1;
      const asItCame = copy(forged);
      assert.equal(receiver.unprotect(forged), null, `octet ${at} changed`);
      assert.deepEqual(forged, asItCame, "a packet that is refused is left as it was");
    }
    assert.deepEqual(payloadOf(receiver.unprotect(sent)), [1, 2, 3, 4]);
  });

  test(`${suite}: RTCP is encrypted, has 80 bits of tag, and counts once`, () => {
    const [sender, receiver] = [new SrtpSender(suite, MASTER), new SrtpReceiver(suite, MASTER)];
    const report = Uint8Array.of(0x80, 201, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4);
    const sent = sender.protectRtcp(report);
    assert.equal(sent.length, report.length + 14);
    assert.notDeepEqual(sent.subarray(8, 12), report.subarray(8));
    const again = copy(sent);
    const forged = copy(sent);
    forged[9] = (forged[9] ?? 0) ^ 1;
    assert.equal(receiver.unprotectRtcp(forged), null);
    assert.deepEqual([...(receiver.unprotectRtcp(sent) ?? [])], [...report]);
    assert.equal(receiver.unprotectRtcp(again), null);
    assert.deepEqual([...(receiver.unprotectRtcp(copy(sender.protectRtcp(report))) ?? [])], [...report]);
  });
}

for (const suite of SUITES) {
  test(`${suite}: a key identifier before each tag is passed over, whatever it says, and none is sent (RFC 3711 section 3.1)`, () => {
    const peer = new SrtpSession({ suite, sendKey: copy(MASTER), receiveKey: copy(OTHER_MASTER) });
    const ours = () => new SrtpSession({ suite, sendKey: copy(OTHER_MASTER), receiveKey: copy(MASTER), mkiBytes: 4 });
    const session = ours();
    const marked = (datagram: Uint8Array | null, tagBytes: number) => {
      const [sent, at] = [Buffer.from(datagram!), datagram!.length - tagBytes];
      return new Uint8Array(Buffer.concat([sent.subarray(0, at), Buffer.of(0, 0, 0, 1), sent.subarray(at)]));
    };
    const tagBytes = suite === SHA1_80 ? 10 : 4;
    for (let sequence = 1; sequence < 4; sequence++) {
      const datagram = marked(peer.protect(packet(sequence)), tagBytes);
      assert.deepEqual(payloadOf(session.unprotect(copy(datagram))), [1, 2, 3, 4]);
      for (let at = 0; at < datagram.length; at++) {
        const isMki = at >= datagram.length - tagBytes - 4 && at < datagram.length - tagBytes;
        const other = copy(datagram);
        other[at] = (other[at] ?? 0) ^ 1;
        assert.equal(ours().unprotect(other) !== null, isMki, `octet ${at}`);
      }
    }
    assert.equal(session.unprotect(copy(peer.protect(packet(9))!)), null, "without one");
    const report = Buffer.alloc(12, 7);
    assert.deepEqual(Buffer.from(session.unprotectRtcp(marked(peer.protectRtcp(report), 10))!), report);
    assert.deepEqual(payloadOf(peer.unprotect(session.protect(packet(1))!)), [1, 2, 3, 4]);
  });
}

test("a peer with several keys may send under any of them, at any time, and each packet counts once (RFC 3711 section 3.3.1)", () => {
  const both = new Uint8Array([...MASTER, ...OTHER_MASTER]);
  const receiver = new SrtpReceiver(SHA1_80, both);
  const first = new SrtpSender(SHA1_80, MASTER);
  const second = new SrtpSender(SHA1_80, OTHER_MASTER, first);
  for (const sequence of [65_534, 65_535]) assert.ok(receiver.unprotect(first.protect(packet(sequence))!));
  const former = first.protect(packet(65_536))!;
  // Its keys are others from here on, its count of roll-overs goes on.
  const sender = new SrtpSender(SHA1_80, OTHER_MASTER, first);
  const sent = sender.protect(packet(65_537))!;
  assert.deepEqual(payloadOf(receiver.unprotect(copy(sent))), [1, 2, 3, 4]);
  assert.deepEqual(payloadOf(receiver.unprotect(copy(former))), [1, 2, 3, 4], "what was under way");
  for (const again of [sent, former]) assert.equal(receiver.unprotect(copy(again)), null);
  const third = new Uint8Array(30).fill(9);
  assert.equal(receiver.unprotect(new SrtpSender(SHA1_80, third, sender).protect(packet(65_538))!), null, "under no key of these");
  const report = Buffer.alloc(12, 7);
  for (const one of [first, second]) {
    const protectedReport = one.protectRtcp(report);
    const other = new SrtpReceiver(SHA1_80, one === first ? OTHER_MASTER : MASTER);
    assert.equal(other.unprotectRtcp(copy(protectedReport)), null);
    assert.deepEqual(Buffer.from(new SrtpReceiver(SHA1_80, both).unprotectRtcp(copy(protectedReport))!), report);
  }
});

test("the counter of roll-overs goes on with the 65,536th packet, lost and reordered ones around it included (RFC 3711 section 3.3.1)", () => {
  const [sender, receiver] = [new SrtpSender(SHA1_80, MASTER), new SrtpReceiver(SHA1_80, MASTER)];
  const sent = Array.from({ length: 8 }, (_, index) => sender.protect(packet(65_532 + index))!);
  for (const index of [0, 1, 5, 3, 2, 4, 7]) assert.ok(receiver.unprotect(copy(sent[index]!)), `packet ${index}`);
  for (const index of [0, 5, 2, 7]) assert.equal(receiver.unprotect(copy(sent[index]!)), null, `packet ${index} again`);
  // Twice around: the sequence number of the first packet comes again, and is another packet.
  for (let sequence = 65_540; sequence < 131_080; sequence += 20_000) assert.ok(receiver.unprotect(sender.protect(packet(sequence))!));
  assert.ok(receiver.unprotect(sender.protect(packet(131_072))!));
  assert.equal(receiver.unprotect(copy(sent[7]!)), null);
});

test("a packet counts once, and one from before the window never: not a minute later, nor after the sequence numbers came round (S-85)", () => {
  const window = new ReplayWindow();
  for (const [index, isNew] of [
    [100, true],
    [100, false],
    [99, true],
    [227, true],
    [99, false],
    [100, false],
    [101, true],
    [101, false],
    [100 + 65_536, true],
    [227, false],
  ] as const) {
    assert.equal(window.isNew(index), isNew, String(index));
    if (isNew) window.note(index);
  }
});

test("a peer may use some streams at once, not any number: a stream forgotten could be replayed", () => {
  const receiver = new SrtpReceiver(SHA1_80, MASTER);
  const sent = Array.from({ length: 17 }, (_, ssrc) => new SrtpSender(SHA1_80, MASTER).protect(packet(1, { ssrc }))!);
  assert.deepEqual(
    sent.map((datagram) => receiver.unprotect(copy(datagram)) !== null),
    [...Array.from({ length: 16 }, () => true), false],
  );
  assert.equal(receiver.unprotect(copy(sent[0]!)), null);
});

test("a new key takes over with its first packet, the old one's last packets still count, and roll-overs are counted on", () => {
  const agreement = (sendKey: Uint8Array, receiveKey: Uint8Array) => ({
    suite: SHA1_80,
    sendKey: copy(sendKey),
    receiveKey: copy(receiveKey),
  });
  const [ours, theirs] = [new SrtpSession(agreement(OTHER_MASTER, MASTER)), new SrtpSession(agreement(MASTER, OTHER_MASTER))];
  for (const sequence of [65_535, 65_536]) assert.ok(ours.unprotect(theirs.protect(packet(sequence))!));
  const late = [65_537, 65_538].map((sequence) => theirs.protect(packet(sequence))!);
  const renewed = agreement(OTHER_MASTER, new Uint8Array(30).fill(9));
  ours.renew(renewed);
  assert.ok(ours.unprotect(late[0]!), "what was under way");
  theirs.renew(agreement(renewed.receiveKey, OTHER_MASTER));
  assert.ok(ours.unprotect(theirs.protect(packet(65_539))!), "under the new key");
  assert.equal(ours.unprotect(late[1]!), null, "the old key is forgotten");
  // Ours has stayed as it is.
  assert.ok(theirs.unprotect(ours.protect(packet(3, { ssrc: 6 }))!));
  // Some begin to count anew with a key.
  const anew = new Uint8Array(30).fill(8);
  ours.renew(agreement(OTHER_MASTER, anew));
  assert.ok(ours.unprotect(new SrtpSender(SHA1_80, anew).protect(packet(4))!));
});

test("keys are overwritten at the end, and a leg that has ended protects nothing with them", () => {
  const agreement = { suite: SHA1_80, sendKey: copy(MASTER), receiveKey: copy(MASTER) };
  const session = new SrtpSession(agreement);
  session.wipe();
  assert.ok([...agreement.sendKey, ...agreement.receiveKey].every((byte) => byte === 0));
  assert.equal(new SrtpReceiver(SHA1_80, MASTER).unprotect(session.protect(packet(1))!), null);
});

test("whatever comes is refused without an error: cut short, with a header longer than itself, or too long", () => {
  const receiver = new SrtpReceiver(SHA1_80, MASTER);
  const sent = new SrtpSender(SHA1_80, MASTER).protect(packet(1))!;
  for (let length = 0; length < sent.length; length++) {
    assert.equal(receiver.unprotect(copy(sent.subarray(0, length))), null);
    assert.equal(receiver.unprotectRtcp(copy(sent.subarray(0, length))), null);
  }
  assert.equal(receiver.unprotect(Uint8Array.from(sent, (byte, at) => (at === 0 ? 0x9f : byte))), null);
  assert.equal(receiver.unprotect(new Uint8Array(65_507).fill(0x80)), null);
});

test("nothing is protected twice under one index, nor from before the stream: the keystream would give both payloads away (RFC 3711 section 9.1)", () => {
  const sender = new SrtpSender(SHA1_80, MASTER);
  assert.ok(sender.protect(packet(10)));
  assert.equal(sender.protect(packet(10, { payload: Uint8Array.of(9, 9, 9, 9) })), null);
  assert.ok(sender.protect(packet(12)));
  assert.ok(sender.protect(packet(11)), "a packet out of order has an index of its own");
  assert.equal(sender.protect(packet(65_535)), null, "before the first roll-over there is none");
});

test("two new keys in a row, before a packet came under the first, lose no roll-over (RFC 3711 section 3.3.1)", () => {
  const keys = (receiveKey: Uint8Array) => ({
    suite: SHA1_80,
    sendKey: copy(OTHER_MASTER),
    receiveKey: copy(receiveKey),
  });
  const [first, second, third] = [MASTER, new Uint8Array(30).fill(9), new Uint8Array(30).fill(8)];
  const ours = new SrtpSession(keys(first));
  const theirs = new SrtpSession({
    suite: SHA1_80,
    sendKey: copy(first),
    receiveKey: copy(OTHER_MASTER),
  });
  for (const sequence of [65_535, 65_536]) assert.ok(ours.unprotect(theirs.protect(packet(sequence))!));
  for (const key of [second, third]) ours.renew(keys(key));
  theirs.renew({ suite: SHA1_80, sendKey: copy(third), receiveKey: copy(OTHER_MASTER) });
  assert.ok(ours.unprotect(theirs.protect(packet(65_537))!));
});
