import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import * as fc from "fast-check";
import { systemRandom } from "#src/kernel/random.ts";
import { createMediaEngine } from "./index.ts";
import { writeRtcp } from "./rtcp.ts";
import { writeRtp } from "./rtp.ts";
import { SrtpSession } from "./srtp-session.ts";
import { eventPayload } from "./telephone-event.ts";

const HOST = "127.0.0.1";
const ROUNDS = 40;
const IN_A_ROUND = 60;
const SEED = 20_261_123;

const key = (first: number) => Uint8Array.from({ length: 30 }, (_, at) => first + at);
const press = (sequence: number, digit: number, ssrc = 5) =>
  writeRtp({
    marker: true,
    payloadType: 101,
    sequence,
    timestamp: sequence * 1_000,
    ssrc,
    payload: eventPayload(digit, 160, false),
  });
const report = writeRtcp({
  ssrc: 5,
  cname: "peer",
  block: {
    ssrc: 1,
    fractionLost: 0,
    lost: 0,
    highestSequence: 1,
    jitter: 0,
    lastReport: 0,
    delay: 0,
  },
});

/** Octets of any kind; or a sound packet cut short or with a wrong first or second octet, under an SSRC that is not the call's. */
const malformed = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.tuple(fc.constantFrom(press(1, 9, 0xbad), report), fc.nat(40)).map(([sound, length]) => sound.slice(0, length)),
  fc
    .tuple(fc.constantFrom(press(1, 9, 0xbad), report), fc.nat(1), fc.nat(255))
    .map(([sound, at, octet]) => Uint8Array.from(sound).with(at, octet)),
  fc.tuple(fc.integer({ min: 200, max: 207 }), fc.uint8Array({ maxLength: 80 })).map(([type, rest]) => Uint8Array.of(0x81, type, ...rest)),
);

for (const isEncrypted of [false, true]) {
  test(`malformed ${isEncrypted ? "SRTP and SRTCP" : "RTP and RTCP"} of the peer's address, by the thousand, leave the call every digit and add none`, async (t) => {
    const engine = createMediaEngine({
      bindHost: HOST,
      ports: [20_000, 29_999],
      random: systemRandom,
      onFailure: (error) => assert.fail(error),
    });
    await engine.start();
    t.after(() => engine.stop());
    const peer = createSocket("udp4");
    const { port } = peer.bindSync({ address: HOST, port: 0 });
    t.after(() => peer.close());
    const leg = await engine.open();
    const suite = "AES_CM_128_HMAC_SHA1_80";
    const session = new SrtpSession({ suite, sendKey: key(1), receiveKey: key(100) });
    const srtp = isEncrypted ? ({ suite, sendKey: key(100), receiveKey: key(1) } as const) : undefined;
    const pressed: number[] = [];
    const heard = new EventTarget();
    leg.on.dtmfDigit = (digit) => {
      pressed.push(digit);
      heard.dispatchEvent(new Event("digit"));
    };
    leg.start({
      host: HOST,
      port,
      payloadType: 0,
      eventPayloadType: 101,
      direction: "sendrecv",
      ...(srtp && { srtp }),
    });
    const hostile = fc.sample(malformed, { seed: SEED, numRuns: ROUNDS * IN_A_ROUND });
    for (let round = 0; round < ROUNDS; round++) {
      const came = once(heard, "digit");
      // The call is under way: its SSRC is known.
      const begun = round === 0 ? 0 : IN_A_ROUND;
      for (const [index, datagram] of hostile.slice(round * IN_A_ROUND, round * IN_A_ROUND + begun).entries()) {
        const isTampered = isEncrypted && index % 3 === 0 && datagram.length > 0;
        const sent = isTampered
          ? Uint8Array.from(session.protectRtcp(report))
              .with(9, datagram[0] ?? 0)
              .slice(0, -1)
          : datagram;
        peer.send(sent, leg.port + (index % 2), HOST);
      }
      const digit = press(round + 1, round % 12);
      peer.send(isEncrypted ? session.protect(digit)! : digit, leg.port, HOST);
      await came;
    }
    assert.deepEqual(
      pressed,
      Array.from({ length: ROUNDS }, (_, round) => round % 12),
    );
    assert.ok(engine.isRunning);
  });
}
