import assert from "node:assert/strict";
import type { RemoteInfo, Socket } from "node:dgram";
import { createSocket } from "node:dgram";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { encodeUlaw } from "#src/kernel/g711.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { ReadingTurns } from "./arrival-times.ts";
import { Clip } from "./clip.ts";
import { eventPayload } from "./telephone-event.ts";
import { Pacer } from "./pacer.ts";
import type { LegEvent, LegOptions, LegStats } from "./protocol.ts";
import { readRtcp, writeRtcp } from "./rtcp.ts";
import type { RtpPacket } from "./rtp.ts";
import { isRtcp, readRtp, timestampDelta, writeRtp } from "./rtp.ts";
import type { RemoteMedia } from "./sdp.ts";
import { toneOf } from "./tones.ts";
import { SrtpSession } from "./srtp-session.ts";
import { WorkerLeg } from "./worker-leg.ts";

const HOST = "127.0.0.1";
const OPTIONS: LegOptions = { muted: true, capture: false, signallingHost: null };

const SENDING: LegOptions = { ...OPTIONS, muted: false };

/** A leg on a standing clock and a peer on a plain socket. */
function rig(t: { after(task: () => void): void }, options = OPTIONS, host = HOST) {
  const clock = new ManualClock();
  const emitter = new EventEmitter();
  const events: LegEvent[] = [];
  const deps = {
    clock,
    random: systemRandom,
    pacer: new Pacer(clock),
    turns: new ReadingTurns(() => clock.monotonic(), setImmediate),
    createDetector: () => ({ isSpeech: () => false, free() {} }),
    report: (event: LegEvent) => {
      events.push(event);
      emitter.emit("event");
    },
    mediaLostAfterMs: 30_000,
  };
  const peer = createSocket(host === HOST ? "udp4" : "udp6");
  const { port: peerPort } = peer.bindSync({ address: host, port: 0 });
  let port = 30_000;
  let leg: WorkerLeg | null = null;
  while (!leg) {
    try {
      leg = new WorkerLeg(deps, host, port, options, { ssrc: 1, sequence: 1, timestamp: 1 });
    } catch {
      port += 2;
    }
  }
  const opened = leg;
  let stats: LegStats | null = null;
  const close = () => (stats ??= opened.close());
  t.after(() => {
    close();
    peer.close();
  });
  const remote: RemoteMedia = { host, port: peerPort, payloadType: 0, eventPayloadType: 101, direction: "sendrecv" };
  /** Sends a digit and waits until the leg has reported it: everything sent to the RTP port before has then been handled. */
  let presses = 0;
  const digit = async () => {
    const timestamp = ++presses * 1_000;
    peer.send(
      writeRtp({ marker: true, payloadType: 101, sequence: presses, timestamp, ssrc: 5, payload: eventPayload(1, 160, false) }),
      port,
      host,
    );
    await once(emitter, "event");
  };
  const lost = () => events.filter(({ type }) => type === "mediaLost").length;
  const beginnings = () => events.filter(({ type }) => type === "earlyAudio").length;
  const digits = () => events.flatMap((event) => (event.type === "dtmfDigit" ? [event.digit] : []));
  const heard = () => events.filter(({ type }) => type === "audio").length;
  const digitCame = async (count: number) => {
    while (digits().length < count) await once(emitter, "event");
  };
  return { clock, leg: opened, close, peer, port, remote, digit, lost, digits, digitCame, heard, beginnings };
}

/** A receiver report without blocks (RFC 3550 section 6.4.2). */
const RTCP = Uint8Array.of(0x80, 201, 0, 1, 0, 0, 0, 1);

test("30 s without RTP and RTCP are reported as lost media, once; a packet starts the count anew (R-194, R-278)", async (t) => {
  const { clock, leg, remote, digit, lost } = rig(t);
  leg.setRemote(remote);
  clock.advance(29_999);
  leg.watch(clock.monotonic());
  assert.equal(lost(), 0);
  await digit();
  clock.advance(29_999);
  leg.watch(clock.monotonic());
  assert.equal(lost(), 0);
  clock.advance(1);
  leg.watch(clock.monotonic());
  leg.watch(clock.monotonic());
  assert.equal(lost(), 1);
});

test("silence is not reported while nobody watches for it, and counts anew from then on (R-321)", (t) => {
  const { clock, leg, remote, lost } = rig(t);
  leg.setRemote(remote);
  leg.watchMedia(false);
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      leg.watch(clock.monotonic());
    }
  };
  pass(60);
  leg.watchMedia(true);
  pass(29);
  assert.equal(lost(), 0);
  pass(1);
  assert.equal(lost(), 1);
});

for (const offset of [0, 1]) {
  test(`RTCP on the RTP port + ${offset} counts as life: the caller may be silent (R-278)`, async (t) => {
    const { clock, leg, peer, port, remote, lost } = rig(t);
    leg.setRemote(remote);
    // Lost media are reported again only after a sign of life; without one this would never be the second report.
    for (let turn = 0; turn < 1_000 && lost() < 2; turn++) {
      clock.advance(30_000);
      leg.watch(clock.monotonic());
      peer.send(RTCP, port + offset, HOST);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(lost(), 2);
  });
}

test("a leg that is on hold in either direction does not count as lost (R-226, RFC 3264 section 8.4)", (t) => {
  const { clock, leg, remote, lost } = rig(t);
  for (const direction of ["sendonly", "recvonly", "inactive"] as const) {
    leg.setRemote({ ...remote, direction });
    clock.advance(60_000);
    leg.watch(clock.monotonic());
  }
  assert.equal(lost(), 0);
  leg.setRemote(remote);
  clock.advance(30_000);
  leg.watch(clock.monotonic());
  assert.equal(lost(), 1);
});

const AGREEMENT = {
  suite: "AES_CM_128_HMAC_SHA1_80",
  sendKey: Uint8Array.from({ length: 30 }, (_, at) => at),
  receiveKey: Uint8Array.from({ length: 30 }, (_, at) => 100 + at),
} as const;
const agreed = () => ({ ...AGREEMENT, sendKey: AGREEMENT.sendKey.slice(), receiveKey: AGREEMENT.receiveKey.slice() });
const peersSide = () => new SrtpSession({ suite: AGREEMENT.suite, sendKey: agreed().receiveKey, receiveKey: agreed().sendKey });
const press = (sequence: number, digit: number) =>
  writeRtp({ marker: true, payloadType: 101, sequence, timestamp: sequence * 1_000, ssrc: 5, payload: eventPayload(digit, 160, false) });

test("an encrypted leg hears digits under the agreed key alone, each once, and locks to whoever has that key (R-227, S-85)", async (t) => {
  const { leg, peer, port, remote, digits, digitCame } = rig(t);
  const session = peersSide();
  // As behind NAT: the description names another port than the packets come from.
  leg.setRemote({ ...remote, port: remote.port + 2, srtp: agreed() });
  peer.send(press(1, 1), port, HOST);
  const sent = session.protect(press(2, 2))!;
  for (let copies = 0; copies < 3; copies++) peer.send(sent, port, HOST);
  peer.send(session.protect(press(3, 3))!, port, HOST);
  await digitCame(2);
  assert.deepEqual(digits(), [2, 3]);
});

test("an encrypted leg sends nothing in clear, and its RTCP counts only under the key (S-86)", async (t) => {
  const { clock, leg, peer, port, remote, lost } = rig(t, SENDING);
  const came = once(peer, "message");
  leg.setRemote({ ...remote, srtp: agreed() });
  const [datagram] = (await came) as [Buffer];
  assert.equal(datagram.length, 12 + 160 + 10);
  assert.notEqual(datagram[20], 0xff);
  const session = peersSide();
  assert.ok(session.unprotect(Uint8Array.from(datagram)));
  clock.advance(30_000);
  leg.watch(clock.monotonic());
  assert.equal(lost(), 1);
  for (let turn = 0; turn < 1_000 && lost() < 2; turn++) {
    clock.advance(30_000);
    leg.watch(clock.monotonic());
    peer.send(turn < 3 ? RTCP : session.protectRtcp(RTCP), port + 1, HOST);
    if (turn === 2) assert.equal(lost(), 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(lost(), 2);
});

/** A key's tones, 100 ms as five packets of audio, from this sequence number on. */
const tones = (sequence: number, digit: number, packets = 5) => {
  const ulaw = encodeUlaw(toneOf(digit, packets * 160));
  return Array.from({ length: packets }, (_, index) => {
    const payload = ulaw.subarray(index * 160, index * 160 + 160);
    return writeRtp({ marker: false, payloadType: 0, sequence: sequence + index, timestamp: (sequence + index) * 160, ssrc: 5, payload });
  });
};
const quiet = (sequence: number) =>
  writeRtp({ marker: false, payloadType: 0, sequence, timestamp: sequence * 160, ssrc: 5, payload: new Uint8Array(160).fill(0xff) });
const event = (sequence: number, digit: number) =>
  writeRtp({ marker: true, payloadType: 101, sequence, timestamp: sequence * 160, ssrc: 5, payload: eventPayload(digit, 160, false) });

test("tones count where events were agreed on and none comes; with the first event they are echoes, its own digit's included (R-227)", async (t) => {
  const { clock, leg, peer, port, remote, digits, digitCame } = rig(t);
  leg.setRemote(remote);
  const send = (...datagrams: Uint8Array[]) => {
    for (const datagram of datagrams) peer.send(datagram, port, HOST);
  };
  send(...tones(10, 4), quiet(15), quiet(16), quiet(17), ...tones(18, 7));
  await digitCame(2);
  assert.deepEqual(digits(), [4, 7]);
  // The event of the digit whose tones were heard already, then digits as both, then one as an event alone.
  send(event(23, 7), quiet(24), quiet(25), quiet(26), event(27, 9), ...tones(28, 9), quiet(33), quiet(34), quiet(35));
  await digitCame(3);
  clock.advance(1_000);
  send(event(36, 9), ...tones(37, 2), quiet(42), event(43, 5));
  await digitCame(5);
  assert.deepEqual(digits(), [4, 7, 9, 9, 5]);
});

test("events under our own number count where the peer has named none, once beside their tones; what is no key does not (R-227, R-228)", async (t) => {
  const { clock, leg, peer, port, remote, digits, digitCame } = rig(t);
  const send = (...datagrams: Uint8Array[]) => {
    for (const datagram of datagrams) peer.send(datagram, port, HOST);
  };
  const other = (sequence: number, payload: Uint8Array) =>
    send(writeRtp({ marker: true, payloadType: 101, sequence, timestamp: sequence * 160, ssrc: 5, payload }));
  leg.setRemote({ ...remote, eventPayloadType: null, ownEventPayloadType: 101 });
  send(...tones(10, 4), quiet(15), quiet(16), quiet(17), ...tones(18, 7), event(23, 7), quiet(24), quiet(25));
  await digitCame(2);
  send(event(27, 9), ...tones(28, 9), quiet(33), quiet(34), quiet(35));
  await digitCame(3);
  clock.advance(1_000);
  other(36, eventPayload(16, 160, false));
  other(37, Uint8Array.of(1, 0, 0, 160, 0, 0, 0, 0));
  other(38, Uint8Array.of(1, 0));
  send(event(39, 5));
  await digitCame(4);
  assert.deepEqual(digits(), [4, 7, 9, 5]);
  // Described once more, as to refresh the session: what came as an event has no echo still.
  leg.setRemote({ ...remote, eventPayloadType: null, ownEventPayloadType: 101 });
  send(...tones(40, 2), quiet(45), event(46, 8));
  await digitCame(5);
  assert.deepEqual(digits(), [4, 7, 9, 5, 8]);
});

test("packets lost in the middle of a digit's tones do not make two of it, a pause does (R-228)", async (t) => {
  const { leg, peer, port, remote, digits, digitCame } = rig(t);
  leg.setRemote({ ...remote, eventPayloadType: null });
  const held = (sequence: number, digit: number, ...lost: number[]) => tones(sequence, digit, 12).filter((_, at) => !lost.includes(at));
  const pause = (sequence: number) => Array.from({ length: 5 }, (_, at) => quiet(sequence + at));
  const stream = [...held(10, 4, 6), ...pause(22), ...held(27, 4, 5, 6), ...pause(39), ...tones(44, 7), ...pause(49)];
  for (const datagram of stream) peer.send(datagram, port, HOST);
  await digitCame(3);
  assert.deepEqual(digits(), [4, 4, 7]);
});

test("a caller who holds us is not heard: what comes then is music, and no tone of it a digit; a key as an event counts (R-226)", async (t) => {
  const { leg, peer, port, remote, digits, digitCame, heard } = rig(t, { ...OPTIONS, capture: true });
  const send = (...datagrams: Uint8Array[]) => {
    for (const datagram of datagrams) peer.send(datagram, port, HOST);
  };
  leg.setRemote(remote);
  send(...tones(10, 4), quiet(15), quiet(16), quiet(17));
  await digitCame(1);
  const before = heard();
  leg.setRemote({ ...remote, direction: "recvonly" });
  send(...tones(30, 5), quiet(35), quiet(36), quiet(37), event(38, 7));
  await digitCame(2);
  leg.setRemote({ ...remote, direction: "inactive" });
  send(...tones(50, 5), quiet(55), quiet(56), quiet(57), event(58, 8));
  await digitCame(3);
  assert.equal(heard(), before);
  leg.setRemote({ ...remote, eventPayloadType: null });
  send(...tones(200, 6), quiet(205), quiet(206), quiet(207));
  await digitCame(4);
  assert.deepEqual(digits(), [4, 7, 8, 6]);
  assert.ok(heard() > before);
});

test("the same key pressed as an event long after its tones is another press (R-228)", async (t) => {
  const { clock, leg, peer, port, remote, digits, digitCame } = rig(t);
  leg.setRemote(remote);
  for (const datagram of tones(10, 4)) peer.send(datagram, port, HOST);
  await digitCame(1);
  clock.advance(400);
  peer.send(event(35, 4), port, HOST);
  await digitCame(2);
  assert.deepEqual(digits(), [4, 4]);
});

for (const isEncrypted of [false, true]) {
  test(`a peer that moves its media is sent to and heard there at once, what it had sent before too; ${isEncrypted ? "SRTP" : "RTP"} (RFC 3264 section 8.3.1, S-85)`, async (t) => {
    const { clock, leg, peer, port, remote, digits, digitCame } = rig(t, SENDING);
    const session = isEncrypted ? peersSide() : null;
    const keys = () => (isEncrypted ? { srtp: agreed() } : {});
    const dress = (datagram: Uint8Array) => session?.protect(datagram) ?? datagram;
    const sent = (sequence: number, digit: number, ssrc: number) => {
      const datagram = press(sequence, digit);
      datagram[11] = ssrc;
      return dress(datagram);
    };
    const other = createSocket("udp4");
    const moved = other.bindSync({ address: HOST, port: 0 });
    t.after(() => other.close());
    leg.setRemote({ ...remote, ...keys() });
    peer.send(sent(1, 1, 5), port, HOST);
    await digitCame(1);
    clock.advance(2_000);
    leg.setRemote({ ...remote, port: moved.port, ...keys() });
    peer.send(sent(2, 2, 5), port, HOST);
    await digitCame(2);
    const elsewhere = once(other, "message");
    clock.advance(20);
    await elsewhere;
    other.send(sent(3, 3, 6), port, HOST);
    await digitCame(3);
    peer.send(sent(4, 9, 5), port, HOST);
    other.send(sent(5, 4, 6), port, HOST);
    await digitCame(4);
    assert.deepEqual(digits(), [1, 2, 3, 4]);
  });
}

test("reports follow a peer that moves, whatever came late from the former place", async (t) => {
  const { clock, leg, port, remote, digit } = rig(t);
  const [former, moved] = [createSocket("udp4"), createSocket("udp4")];
  const ports = [former, moved].map((socket) => socket.bindSync({ address: HOST, port: 0 }).port);
  t.after(() => [former, moved].forEach((socket) => socket.close()));
  leg.setRemote({ ...remote, rtcp: { host: HOST, port: ports[0] ?? 0 } });
  await digit();
  leg.setRemote({ ...remote, port: remote.port + 2, rtcp: { host: HOST, port: ports[1] ?? 0 } });
  for (const socket of [former, moved, former]) {
    // By the RTP port, so that it is read before the digit.
    socket.send(RTCP, port, HOST);
    await digit();
  }
  const next = report(moved);
  clock.advance(8_000);
  await next;
});

test("a codec under a number of the peer's own is sent and heard under that, and crosses a bridge as what it is (RFC 3551 section 6)", async (t) => {
  const one = rig(t, SENDING);
  const sent = once(one.peer, "message");
  one.leg.setRemote({ ...one.remote, payloadTypes: { 0: 107 } });
  const [first] = (await sent) as [Buffer];
  assert.deepEqual([first.length, (first[1] ?? 0) & 0x7f], [172, 107]);
  const other = rig(t);
  other.leg.setRemote({ ...other.remote, payloadType: 8, payloadTypes: { 8: 96 } });
  one.leg.bridge(other.leg);
  const relayed = once(other.peer, "message");
  one.peer.send(
    writeRtp({ marker: false, payloadType: 107, sequence: 1, timestamp: 1, ssrc: 5, payload: new Uint8Array(160).fill(0xff) }),
    one.port,
    HOST,
  );
  const [datagram] = (await relayed) as [Buffer];
  assert.deepEqual([(datagram[1] ?? 0) & 0x7f, datagram[12]], [96, 0xd5]);
});

test("an end of a bridge gets a packet of silence each second while the other end sends none, in one unbroken stream, and none while it holds (RFC 6263)", async (t) => {
  const [one, other] = [rig(t), rig(t)];
  for (const { leg, remote } of [one, other]) leg.setRemote(remote);
  one.leg.bridge(other.leg);
  const spoken = (sequence: number) =>
    writeRtp({ marker: false, payloadType: 0, sequence, timestamp: sequence * 160, ssrc: 5, payload: new Uint8Array(160).fill(0x22) });
  const received: Buffer[] = [];
  const next = async (cause: () => void) => {
    const came = once(other.peer, "message");
    cause();
    const [datagram] = (await came) as [Buffer];
    received.push(datagram);
    return datagram[12];
  };
  const pass = (ms: number) => {
    other.clock.advance(ms);
    other.leg.watch(other.clock.monotonic());
  };
  const say = (sequence: number) => () => one.peer.send(spoken(sequence), one.port, HOST);
  assert.equal(await next(say(1)), 0x22);
  pass(899);
  assert.equal(await next(say(2)), 0x22);
  assert.equal(await next(() => pass(1_000)), 0xff);
  pass(899);
  assert.equal(await next(() => pass(1_000)), 0xff);
  assert.equal(await next(say(3)), 0x22);
  other.leg.setRemote({ ...other.remote, direction: "inactive" });
  for (let second = 0; second < 3; second++) pass(1_000);
  other.leg.setRemote(other.remote);
  assert.equal(await next(say(4)), 0x22);
  for (const [index, datagram] of received.entries()) {
    const [before, now] = [received[index - 1] ?? datagram, datagram].map((bytes) => readRtp(bytes)!) as [RtpPacket, RtpPacket];
    if (index > 0) assert.equal((now.sequence - before.sequence) & 0xffff, 1);
    assert.ok(timestampDelta(now.timestamp, before.timestamp) >= (index > 0 ? 160 : 0), `${index}`);
  }
});

test("early media is heard from its first packet on, in place of what is played, which goes on when it ends; nothing goes the other way (RFC 3960)", async (t) => {
  const [callee, caller] = [rig(t, SENDING), rig(t, SENDING)];
  const heard: Buffer[] = [];
  const next = async (cause: () => void) => {
    const came = once(caller.peer, "message");
    cause();
    heard.push(((await came) as [Buffer])[0]);
    return heard.at(-1)?.[12];
  };
  const spoken = (sequence: number, payloadType = 0) =>
    writeRtp({ marker: false, payloadType, sequence, timestamp: sequence * 160, ssrc: 5, payload: new Uint8Array(160).fill(0x22) });
  const say = (sequence: number) => () => callee.peer.send(spoken(sequence), callee.port, HOST);
  const pass = (ms: number) => {
    for (const { clock, leg } of [callee, caller]) {
      clock.advance(ms);
      leg.watch(clock.monotonic());
    }
  };
  const toCallee = new Set<number | undefined>();
  callee.peer.on("message", (datagram: Buffer) => void toCallee.add(datagram[12]));
  assert.equal(await next(() => caller.leg.setRemote(caller.remote)), 0xff);
  assert.equal(await next(() => caller.leg.play("ringing", [{ clip: new Clip(new Uint8Array(16_000).fill(0x33)) }])), 0x33);
  callee.leg.setRemote(callee.remote);
  callee.leg.sendEarlyMediaTo(caller.leg);
  // Still the ringing tone: a description alone is no audio.
  assert.equal(await next(() => pass(20)), 0x33);
  assert.equal(await next(say(1)), 0x22);
  pass(100);
  assert.equal(await next(say(2)), 0x22);
  // The caller's voice and keys stay here, the callee's keys there.
  caller.peer.send(spoken(1), caller.port, HOST);
  await caller.digit();
  callee.peer.send(press(3, 7), callee.port, HOST);
  assert.equal(await next(say(4)), 0x22);
  assert.deepEqual([caller.digits(), [...toCallee]], [[1], [0xff]]);
  pass(899);
  assert.equal(await next(() => pass(1)), 0x33);
  assert.equal(await next(say(5)), 0x22);
  assert.equal(await next(() => void callee.close()), 0x33);
  for (const [index, datagram] of heard.entries()) {
    const [before, now] = [heard[index - 1] ?? datagram, datagram].map((bytes) => readRtp(bytes)!) as [RtpPacket, RtpPacket];
    if (index === 0) continue;
    assert.ok([1, 2].includes((now.sequence - before.sequence) & 0xffff), `${index}: ${now.sequence - before.sequence}`);
    assert.ok(timestampDelta(now.timestamp, before.timestamp) >= 160, `${index}`);
  }
});

test("early media ends in a bridge when the callee answers, in one unbroken stream (RFC 3960)", async (t) => {
  const [callee, caller] = [rig(t), rig(t, SENDING)];
  const heard: RtpPacket[] = [];
  const next = async (peer: Socket, cause: () => void) => {
    const came = once(peer, "message");
    cause();
    return readRtp(((await came) as [Buffer])[0])!;
  };
  const spoken = (sequence: number) =>
    writeRtp({ marker: false, payloadType: 0, sequence, timestamp: sequence * 160, ssrc: 5, payload: new Uint8Array(160).fill(0x22) });
  const say = (sequence: number) => () => callee.peer.send(spoken(sequence), callee.port, HOST);
  await next(caller.peer, () => caller.leg.setRemote(caller.remote));
  callee.leg.setRemote(callee.remote);
  callee.leg.sendEarlyMediaTo(caller.leg);
  for (const sequence of [1, 2]) heard.push(await next(caller.peer, say(sequence)));
  assert.equal(callee.beginnings(), 1);
  callee.leg.setRemote(callee.remote);
  caller.leg.bridge(callee.leg);
  for (const sequence of [3, 4]) heard.push(await next(caller.peer, say(sequence)));
  const { sequence: first } = heard[0]!;
  assert.deepEqual(
    heard.map(({ sequence, payload }) => [(sequence - first) & 0xffff, payload[0]]),
    [0, 1, 2, 3].map((step) => [step, 0x22]),
  );
  const crossed = await next(callee.peer, () => caller.peer.send(spoken(9), caller.port, HOST));
  assert.equal(crossed.payload[0], 0x22);
});

test("audio of a callee who says that he holds, from no address, is told of once each time that it is to be relayed; comfort noise is none (RFC 3264 section 8.4)", async (t) => {
  const [callee, caller] = [rig(t), rig(t, SENDING)];
  let sequence = 0;
  const say = (payloadType: number) => {
    const packet = { marker: false, payloadType, sequence: ++sequence, timestamp: sequence * 160, ssrc: 5, payload: new Uint8Array(160) };
    callee.peer.send(writeRtp(packet), callee.port, HOST);
    callee.clock.advance(20);
  };
  caller.leg.setRemote(caller.remote);
  callee.leg.setRemote({ ...callee.remote, host: "0.0.0.0", direction: "recvonly" });
  callee.leg.sendEarlyMediaTo(caller.leg);
  // From an address that nobody has named: once it has come in order for a while.
  for (; callee.beginnings() === 0; await turn()) say(0);
  callee.leg.setRemote({ ...callee.remote, direction: "inactive" });
  callee.leg.sendEarlyMediaTo(caller.leg);
  for (const payloadType of [13, 13]) say(payloadType);
  const relayed = once(caller.peer, "message");
  say(0);
  await relayed;
  say(0);
  await once(caller.peer, "message");
  assert.equal(callee.beginnings(), 2);
});

/** The next datagram of RTCP. */
async function report(socket: Socket): Promise<{ datagram: Buffer; port: number }> {
  for (;;) {
    const [datagram, { port }] = (await once(socket, "message")) as [Buffer, RemoteInfo];
    if (isRtcp(datagram)) return { datagram, port };
  }
}

for (const host of [HOST, "::1"]) {
  test(`reports go from the port beside the RTP to where the peer wants them, and BYE ends them; ${host} (RFC 3550 section 6, RFC 3605)`, async (t) => {
    const { clock, leg, close, port, remote, digit } = rig(t, OPTIONS, host);
    const reports = createSocket(host === HOST ? "udp4" : "udp6");
    t.after(() => reports.close());
    const rtcp = { host, port: reports.bindSync({ address: host, port: 0 }).port };
    leg.setRemote({ ...remote, rtcp });
    await digit();
    const first = report(reports);
    clock.advance(2_500);
    const { datagram, port: source } = await first;
    assert.equal(source, port + 1);
    assert.equal(datagram[1], 201);
    assert.equal(readRtcp(datagram, 5)?.block?.lost, 0);
    const last = report(reports);
    reports.send(writeRtcp({ ssrc: 5, cname: "p", block: { ...ABOUT_US, lost: 3 } }), port + 1, host);
    await digit();
    const { peer } = close();
    assert.deepEqual(readRtcp((await last).datagram, 5)?.leaving, [1]);
    assert.deepEqual(peer, { lost: 3, fractionLost: 0.25, jitterMs: 1, roundTripMs: null });
  });
}

const ABOUT_US = { ssrc: 1, fractionLost: 64, lost: 0, highestSequence: 1, jitter: 8, lastReport: 0, delay: 0 };

test("reports share the RTP port where that was agreed on, encrypted on an encrypted leg (RFC 5761, RFC 3711 section 3.4)", async (t) => {
  const { clock, leg, close, peer, port, remote, digitCame } = rig(t);
  const session = peersSide();
  leg.setRemote({ ...remote, rtcp: "muxed", srtp: agreed() });
  for (const since of [2_500, 5_000]) {
    peer.send(session.protectRtcp(writeRtcp({ ssrc: 5, cname: "p", block: ABOUT_US })), port, HOST);
    const next = report(peer);
    clock.advance(since);
    const { datagram, port: source } = await next;
    assert.equal(source, port);
    assert.equal(datagram.readUInt32BE(datagram.length - 14) >>> 31, 1);
    assert.equal(session.unprotectRtcp(Uint8Array.from(datagram.with(20, 1 ^ (datagram[20] ?? 0)))), null);
    const clear = session.unprotectRtcp(Uint8Array.from(datagram));
    assert.ok(clear && readRtcp(clear, 5));
    assert.equal(session.unprotectRtcp(Uint8Array.from(datagram)), null);
  }
  peer.send(session.protect(press(1, 1))!, port, HOST);
  await digitCame(1);
  assert.equal(close().peer?.lost, 0);
});

test("nobody else's and no broken RTCP is believed, nor any sent to a peer that holds us by 0.0.0.0", async (t) => {
  const { clock, leg, close, peer, port, remote, digit } = rig(t);
  leg.setRemote({ ...remote, rtcp: "muxed" });
  const unknown = createSocket("udp4");
  unknown.bindSync({ address: "127.0.0.2", port: 0 });
  t.after(() => unknown.close());
  const sound = writeRtcp({ ssrc: 5, cname: "p", block: ABOUT_US });
  unknown.send(sound, port, HOST);
  peer.send(sound.subarray(0, sound.length - 4), port, HOST);
  await digit();
  leg.setRemote({ ...remote, host: "0.0.0.0", direction: "inactive" });
  clock.advance(60_000);
  assert.equal(close().peer, null);
});

test("comfort noise and payload types nobody agreed on are a sign of life and no digit, and lose nothing (R-227, R-278)", async (t) => {
  const { clock, leg, close, peer, port, remote, digits, digitCame, lost } = rig(t);
  leg.setRemote({ ...remote, eventPayloadType: 96 });
  const send = (sequence: number, payloadType: number, payload: Uint8Array) =>
    peer.send(writeRtp({ marker: true, payloadType, sequence, timestamp: sequence * 160, ssrc: 5, payload }), port, HOST);
  send(1, 96, eventPayload(1, 160, false));
  // 101 is our own number for events, but this peer never heard of it: to him it may be any codec.
  for (const [index, payloadType] of [13, 101, 97, 126, 35].entries()) send(2 + index, payloadType, eventPayload(7, 160, false));
  send(7, 96, eventPayload(2, 160, false));
  await digitCame(2);
  assert.deepEqual(digits(), [1, 2]);
  clock.advance(29_999);
  send(8, 13, Uint8Array.of(70));
  send(9, 97, Uint8Array.of(1, 2, 3, 4));
  send(10, 96, eventPayload(3, 160, false));
  await digitCame(3);
  clock.advance(29_999);
  leg.watch(clock.monotonic());
  assert.equal(lost(), 0);
  const { packetsIn, lost: missing, ignored } = close();
  assert.deepEqual([packetsIn, missing, ignored], [10, 0, 5]);
});

test("events are read behind contributing sources and header extensions, and before padding (RFC 3550 section 5)", async (t) => {
  const { leg, peer, port, remote, digits, digitCame } = rig(t);
  leg.setRemote(remote);
  const dress = (sequence: number, digit: number, first: number, before: number[], after: number[]) => {
    const plain = writeRtp({
      marker: true,
      payloadType: 101,
      sequence,
      timestamp: sequence * 160,
      ssrc: 5,
      payload: eventPayload(digit, 160, false),
    });
    const datagram = Buffer.concat([plain.subarray(0, 12), Buffer.from(before), plain.subarray(12), Buffer.from(after)]);
    datagram[0] = first;
    peer.send(datagram, port, HOST);
  };
  dress(1, 4, 0x82, [9, 9, 9, 9, 8, 8, 8, 8], []);
  dress(2, 5, 0x90, [0xbe, 0xde, 0, 1, 7, 7, 7, 7], []);
  dress(3, 6, 0xa0, [], [0, 0, 0, 4]);
  dress(4, 7, 0xb1, [9, 9, 9, 9, 0xbe, 0xde, 0, 0], [2, 2]);
  // An extension longer than the packet, and padding longer than it.
  dress(5, 8, 0x90, [0xbe, 0xde, 0xff, 0xff], []);
  dress(6, 8, 0xa0, [], [0xff]);
  dress(7, 9, 0x80, [], []);
  await digitCame(5);
  assert.deepEqual(digits(), [4, 5, 6, 7, 9]);
});
