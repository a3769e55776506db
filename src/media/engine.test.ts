import assert from "node:assert/strict";
import type { Socket } from "node:dgram";
import { createSocket } from "node:dgram";
import { EventEmitter, on, once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { ULAW_SILENCE, alawToUlaw, decodeUlaw, encodeUlaw, ulawToAlaw } from "#src/kernel/g711.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { AudioFrame } from "#src/kernel/g711.ts";
import type { MediaLeg, RemoteMedia } from "./index.ts";
import { createMediaEngine } from "./index.ts";
import { eventPayload } from "./telephone-event.ts";
import type { RtpPacket } from "./rtp.ts";
import { readRtp, sequenceDelta, timestampDelta, writeRtp } from "./rtp.ts";
import { ToneReceiver, toneOf } from "./tones.ts";

const HOST = "127.0.0.1";
const engine = createMediaEngine({
  bindHost: HOST,
  ports: [20_000, 29_999],
  random: systemRandom,
  mediaLostAfterMs: 400,
  onFailure: (error) => {
    throw error;
  },
});

before(() => engine.start());
after(() => engine.stop());

function remote(port: number, changes: Partial<RemoteMedia> = {}): RemoteMedia {
  return { host: HOST, port, payloadType: 0, eventPayloadType: 101, direction: "sendrecv", ...changes };
}

/** The worker has done what it was told before: messages keep their order. */
const workerHasRead = async () => void (await (await engine.open()).close());

/** What a leg reports, as an emitter a test can await. */
function events(leg: MediaLeg): EventEmitter {
  const emitter = new EventEmitter();
  leg.on.dtmfDigit = (digit) => emitter.emit("digit", digit);
  leg.on.played = (id) => emitter.emit("played", id);
  leg.on.mediaLost = () => emitter.emit("mediaLost");
  leg.on.speechStarted = () => emitter.emit("speechStarted");
  leg.on.audio = (ulaw) => emitter.emit("audio", ulaw);
  return emitter;
}

/** A peer under the test's control: a plain socket. */
class Peer {
  readonly socket: Socket;
  readonly received: RtpPacket[] = [];
  sequence = 100;
  timestamp = 5_000;
  ssrc = 0x1234_5678;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("message", (datagram: Uint8Array) => {
      const packet = readRtp(datagram);
      if (packet) this.received.push(packet);
    });
  }

  static async open(t: { after(task: () => void): void }, host = HOST): Promise<Peer> {
    const socket = createSocket("udp4");
    socket.bind(0, host);
    await once(socket, "listening");
    t.after(() => socket.close());
    return new Peer(socket);
  }

  get port(): number {
    return this.socket.address().port;
  }

  send(port: number, changes: Partial<RtpPacket> = {}): void {
    const { sequence, timestamp, ssrc } = this;
    const payload = new Uint8Array(160).fill(ULAW_SILENCE);
    this.socket.send(writeRtp({ marker: false, payloadType: 0, sequence, timestamp, ssrc, payload, ...changes }), port, HOST);
    this.sequence = (this.sequence + 1) & 0xffff;
    this.timestamp += 160;
  }

  digit(port: number, digit: number): void {
    const timestamp = this.timestamp;
    for (const [duration, ended] of [
      [160, false],
      [320, false],
      [480, true],
      [480, true],
      [480, true],
    ] as const) {
      this.send(port, { payloadType: 101, timestamp, payload: eventPayload(digit, duration, ended) });
    }
  }

  /** Resolves when `count` packets that fit have come since the start. */
  async packets(count: number, fits: (packet: RtpPacket) => boolean = () => true): Promise<RtpPacket[]> {
    for (;;) {
      const fitting = this.received.filter(fits);
      if (fitting.length >= count) return fitting;
      await once(this.socket, "message");
    }
  }
}

const isLoud = (packet: RtpPacket) => packet.payload.some((code) => code !== ULAW_SILENCE);
const speech = encodeUlaw(toneOf(5, 1_600));

test("two legs play to each other and each hears the other's prompt whole", async (t) => {
  const a = await engine.open({ capture: true });
  const b = await engine.open({ capture: true });
  t.after(() => Promise.all([a.close(), b.close()]));
  // What is silent is left out: where a starved thread is late, silence stands in for the packet that has not come.
  const sounds = (ulaw: Uint8Array) => [...ulaw].filter((code) => code !== ULAW_SILENCE);
  const sent = sounds(speech);
  const received: number[] = [];
  const done = new Promise<void>((resolve) => {
    b.on.audio = (ulaw) => {
      received.push(...sounds(ulaw));
      if (received.length >= sent.length) resolve();
    };
  });
  engine.loadClip("tone", speech);
  a.start(remote(b.port));
  b.start(remote(a.port));
  const played = once(events(a), "played");
  a.play("prompt", [{ clip: "tone" }]);
  assert.deepEqual(await played, ["prompt"]);
  await done;
  assert.deepEqual(received, sent);
});

test("a clip that was unloaded is played no more, but where it is being played it is heard to its end", async (t) => {
  const a = await engine.open();
  t.after(() => a.close());
  a.start(remote(9));
  engine.loadClip("gone", speech);
  const played = once(events(a), "played");
  a.play("prompt", [{ clip: "gone" }]);
  engine.unloadClip("gone");
  assert.throws(() => a.play("again", [{ clip: "gone" }]), /not loaded/);
  assert.deepEqual(await played, ["prompt"]);
});

test("digits sent by one leg arrive at the other once each and in order (R-228)", async (t) => {
  const a = await engine.open();
  const b = await engine.open();
  t.after(() => Promise.all([a.close(), b.close()]));
  const digits: number[] = [];
  const emitter = events(b);
  emitter.on("digit", (digit: number) => digits.push(digit));
  const sender = events(a);
  a.start(remote(b.port));
  b.start(remote(a.port));
  a.sendDtmf("digits", [4, 4, 0, 10, 11, 7], { onMs: 40, gapMs: 0 });
  await once(sender, "played");
  // Silence behind the digits proves that no copy of the last one is still to come.
  while (digits.length < 6) await once(emitter, "digit");
  assert.deepEqual(digits, [4, 4, 0, 10, 11, 7]);
});

test("without telephone-event digits are sent and heard as tones in the audio (R-227)", async (t) => {
  const a = await engine.open();
  const b = await engine.open();
  t.after(() => Promise.all([a.close(), b.close()]));
  const digits: number[] = [];
  const emitter = events(b);
  emitter.on("digit", (digit: number) => digits.push(digit));
  a.start(remote(b.port, { eventPayloadType: null, payloadType: 8 }));
  b.start(remote(a.port, { eventPayloadType: null, payloadType: 8 }));
  a.sendDtmf("digits", [1, 1, 9, 11], { onMs: 60, gapMs: 60 });
  while (digits.length < 4) await once(emitter, "digit");
  assert.deepEqual(digits, [1, 1, 9, 11]);
});

test("a prompt played into silence leaves at once with the marker bit and contiguous numbers", async (t) => {
  const peer = await Peer.open(t);
  const leg = await engine.open();
  t.after(() => leg.close());
  leg.start(remote(peer.port));
  const emitter = events(leg);
  for (let round = 0; round < 3; round++) {
    await peer.packets(peer.received.length + 2);
    leg.play(`prompt ${round}`, [{ ulaw: speech }]);
    await once(emitter, "played");
  }
  await peer.packets(30, isLoud);
  const { received } = peer;
  for (const [index, packet] of received.entries()) {
    const previous = received[index - 1];
    if (!previous) continue;
    assert.equal(sequenceDelta(packet.sequence, previous.sequence), 1);
    const samples = timestampDelta(packet.timestamp, previous.timestamp);
    assert.equal(packet.ssrc, previous.ssrc);
    // A pacer that the machine has let wait skips whole packets and says so by the marker.
    if (samples !== 160) assert.ok(samples > 160 && samples % 160 === 0 && packet.marker, `${samples} samples`);
    else assert.equal(packet.marker, isLoud(packet) && !isLoud(previous));
  }
});

test("packets of a third host are ignored, its digits too (S-85)", async (t) => {
  const peer = await Peer.open(t);
  const unknownPeer = await Peer.open(t);
  const leg = await engine.open();
  const digits: number[] = [];
  const emitter = events(leg);
  emitter.on("digit", (digit: number) => digits.push(digit));
  leg.start(remote(peer.port));
  await peer.packets(1);
  peer.send(leg.port);
  unknownPeer.digit(leg.port, 6);
  unknownPeer.send(leg.port);
  peer.digit(leg.port, 1);
  await once(emitter, "digit");
  const stats = await leg.close();
  assert.deepEqual(digits, [1]);
  assert.equal(stats.ignored, 6);
  assert.equal(unknownPeer.received.length, 0);
});

test("five stray packets redirect no audio: the prompt goes to the negotiated address (S-85)", async (t) => {
  const peer = await Peer.open(t);
  const unknownPeer = await Peer.open(t, "127.0.0.2");
  const leg = await engine.open();
  t.after(() => leg.close());
  for (let stray = 0; stray < 5; stray++) unknownPeer.send(leg.port);
  leg.start(remote(peer.port));
  for (let stray = 0; stray < 5; stray++) unknownPeer.send(leg.port);
  leg.play("prompt", [{ ulaw: speech }]);
  await peer.packets(10, isLoud);
  assert.equal(unknownPeer.received.length, 0);
});

test("before the bridge the other leg gets 0 packets, after it only what came after (R-425)", async (t) => {
  const caller = await Peer.open(t);
  const agent = await Peer.open(t);
  const callerLeg = await engine.open();
  const agentLeg = await engine.open({ muted: true });
  t.after(() => Promise.all([callerLeg.close(), agentLeg.close()]));
  const emitter = events(callerLeg);
  callerLeg.start(remote(caller.port));
  agentLeg.start(remote(agent.port, { payloadType: 8, eventPayloadType: 96 }));
  agent.send(agentLeg.port, { payloadType: 8 });
  agentLeg.play("never", [{ ulaw: speech }]);

  const secret = new Uint8Array(160).fill(0x11);
  for (let packet = 0; packet < 5; packet++) caller.send(callerLeg.port, { payload: secret });
  const timestamp = caller.timestamp;
  caller.send(callerLeg.port, { payloadType: 101, timestamp, payload: eventPayload(3, 160, false) });
  assert.deepEqual(await once(emitter, "digit"), [3]);
  assert.equal(agent.received.length, 0);

  engine.bridge(callerLeg, agentLeg);
  await workerHasRead();
  // The digit was down when the bridge was made: the rest of it stays here.
  caller.send(callerLeg.port, { payloadType: 101, timestamp, payload: eventPayload(3, 320, true) });
  const spoken = new Uint8Array(160).fill(0x22);
  caller.send(callerLeg.port, { payload: spoken });
  caller.digit(callerLeg.port, 7);
  const atAgent = await agent.packets(6);
  assert.deepEqual(
    atAgent.map((packet) => packet.payloadType),
    [8, 96, 96, 96, 96, 96],
  );
  assert.deepEqual([...(atAgent[0]?.payload ?? [])], [...ulawToAlaw(spoken)]);
  assert.equal(atAgent[1]?.payload[0], 7);
  assert.notEqual(atAgent[0]?.ssrc, caller.ssrc);

  agent.send(agentLeg.port, { payloadType: 8, payload: ulawToAlaw(spoken) });
  const [answered] = await caller.packets(1, (packet) => packet.payload[0] === 0x22);
  assert.equal(answered?.payloadType, 0);
});

test("a caller hears what his callee says before it answers, and is not heard there (RFC 3960)", async (t) => {
  const [caller, callee] = [await Peer.open(t), await Peer.open(t)];
  const [callerLeg, calleeLeg] = [await engine.open(), await engine.open()];
  t.after(() => Promise.all([callerLeg.close(), calleeLeg.close()]));
  const emitter = events(callerLeg);
  callerLeg.start(remote(caller.port));
  calleeLeg.start(remote(callee.port));
  engine.relayEarlyMedia(calleeLeg, callerLeg);
  await workerHasRead();
  callee.send(calleeLeg.port, { payload: new Uint8Array(160).fill(0x22) });
  await caller.packets(1, ({ payload }) => payload[0] === 0x22);
  caller.send(callerLeg.port, { payload: new Uint8Array(160).fill(0x11) });
  caller.digit(callerLeg.port, 7);
  assert.deepEqual(await once(emitter, "digit"), [7]);
  assert.deepEqual(
    callee.received.filter(({ payloadType, payload }) => payloadType !== 0 || payload[0] !== ULAW_SILENCE),
    [],
  );
});

test("a digit of INFO crosses a bridge as telephone event, or as tones where there are none, in one unbroken stream, and once when RTP brings it too (R-226, R-228)", async (t) => {
  const caller = await Peer.open(t);
  const agent = await Peer.open(t);
  const callerLeg = await engine.open();
  const agentLeg = await engine.open({ muted: true, capture: true });
  t.after(() => Promise.all([callerLeg.close(), agentLeg.close()]));
  callerLeg.start(remote(caller.port, { eventPayloadType: null }));
  agentLeg.start(remote(agent.port));
  caller.send(callerLeg.port);
  agent.send(agentLeg.port);
  await caller.packets(1);
  engine.bridge(callerLeg, agentLeg);
  await workerHasRead();
  const spoken = new Uint8Array(160).fill(0x22);
  const isSpoken = ({ payload }: RtpPacket) => payload[0] === 0x22;
  for (let packet = 0; packet < 2; packet++) caller.send(callerLeg.port, { payload: spoken });
  await agent.packets(2, isSpoken);

  callerLeg.relayDigit(7);
  callerLeg.relayDigit(11);
  const isLast = ({ payloadType, payload: [code, flags = 0] }: RtpPacket) => payloadType === 101 && code === 11 && flags >= 0x80;
  await agent.packets(3, isLast);
  // What is said meanwhile is not heard: the digit takes its place.
  const silence = ({ payloadType, sequence }: RtpPacket) =>
    payloadType === 0 && sequenceDelta(sequence, agent.received.find(isLast)!.sequence) > 0;
  await agent.packets(3, silence);
  while (agent.received.filter(isSpoken).length < 3) {
    caller.send(callerLeg.port, { payload: spoken });
    // As a telephone does: more would be lost on the way.
    await setTimeout(20);
  }
  const pressed = agent.received.filter(({ payloadType, marker }) => payloadType === 101 && marker).map(({ payload }) => payload[0]);
  assert.deepEqual(pressed, [7, 11]);
  for (const [index, packet] of agent.received.entries()) {
    const previous = agent.received[index - 1];
    if (!previous) continue;
    assert.deepEqual([packet.ssrc, sequenceDelta(packet.sequence, previous.sequence)], [previous.ssrc, 1]);
    assert.ok(timestampDelta(packet.timestamp, previous.timestamp) >= 0);
  }

  const tones = caller.received.length;
  agentLeg.relayDigit(5);
  const loud = await caller.packets(6, (packet) => isLoud(packet) && caller.received.indexOf(packet) >= tones);
  assert.ok(loud.every(({ payloadType }) => payloadType === 0));

  const agentsEvents = agent.received.filter(({ payloadType }) => payloadType === 101).length;
  callerLeg.update(remote(caller.port));
  await workerHasRead();
  caller.digit(callerLeg.port, 7);
  caller.send(callerLeg.port, { payload: new Uint8Array(160).fill(0x33) });
  await agent.packets(1, ({ payload }) => payload[0] === 0x33);
  assert.equal(agent.received.filter(({ payloadType }) => payloadType === 101).length, agentsEvents, "the same key by RTP");
});

test("telephone events cross a bridge as tones to an end that agreed on none, one for each, and what is said after them follows (R-226, R-228)", async (t) => {
  const caller = await Peer.open(t);
  const agent = await Peer.open(t);
  const callerLeg = await engine.open();
  const agentLeg = await engine.open({ muted: true });
  t.after(() => Promise.all([callerLeg.close(), agentLeg.close()]));
  callerLeg.start(remote(caller.port));
  agentLeg.start(remote(agent.port, { payloadType: 8, eventPayloadType: null }));
  agent.send(agentLeg.port, { payloadType: 8 });
  const emitter = events(callerLeg);
  caller.digit(callerLeg.port, 3);
  assert.deepEqual(await once(emitter, "digit"), [3]);
  engine.bridge(callerLeg, agentLeg);
  await workerHasRead();
  for (const digit of [7, 7, 10]) caller.digit(callerLeg.port, digit);
  const heard: number[] = [];
  const receiver = new ToneReceiver();
  let read = 0;
  while (heard.length < 3) {
    await agent.packets(read + 1);
    for (const { payload, payloadType } of agent.received.slice(read)) {
      assert.equal(payloadType, 8);
      receiver.receive(decodeUlaw(alawToUlaw(payload), new Int16Array(payload.length)), (digit) => heard.push(digit));
    }
    read = agent.received.length;
  }
  assert.deepEqual(heard, [7, 7, 10]);
  const spoken = new Uint8Array(160).fill(0x22);
  while (!agent.received.some(({ payload }) => payload[0] === ulawToAlaw(spoken)[0])) {
    caller.send(callerLeg.port, { payload: spoken });
    await setTimeout(20);
  }
});

test("when one end of a bridge closes, the other sends silence again in its own unbroken stream", async (t) => {
  const caller = await Peer.open(t);
  const agent = await Peer.open(t);
  const callerLeg = await engine.open();
  const agentLeg = await engine.open({ muted: true });
  t.after(() => callerLeg.close());
  callerLeg.start(remote(caller.port));
  agentLeg.start(remote(agent.port));
  await caller.packets(2);
  engine.bridge(callerLeg, agentLeg);
  agent.send(agentLeg.port, { payload: speech.slice(0, 160) });
  await caller.packets(1, isLoud);
  await agentLeg.close();
  const count = caller.received.length;
  await caller.packets(count + 2);
  for (const [index, packet] of caller.received.entries()) {
    const previous = caller.received[index - 1];
    if (!previous) continue;
    assert.equal(packet.ssrc, previous.ssrc);
    assert.equal(sequenceDelta(packet.sequence, previous.sequence), 1);
    assert.ok(timestampDelta(packet.timestamp, previous.timestamp) > 0);
  }
});

test("a listener's port gets the pre-roll, then each frame, and is closed at the end", async (t) => {
  const peer = await Peer.open(t);
  const leg = await engine.open();
  const emitter = events(leg);
  leg.start(remote(peer.port));
  await peer.packets(1);
  for (let packet = 0; packet < 10; packet++) peer.send(leg.port, { payload: new Uint8Array(160).fill(packet) });
  peer.digit(leg.port, 1);
  await once(emitter, "digit");
  const { port1, port2 } = new MessageChannel();
  leg.listen(port2);
  const frames: AudioFrame[] = [];
  for await (const [batch] of on(port1, "message") as AsyncIterable<[AudioFrame[]]>) {
    frames.push(...batch);
    if (frames.length >= 10) break;
  }
  assert.deepEqual(
    frames.slice(0, 10).map(({ frame }) => frame[0]),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.equal(frames[0]?.frame.length, 160);
  const closed = once(port1, "close");
  leg.stopListening();
  await closed;
  await leg.close();
});

test("a leg that hears nothing reports its media as lost (R-194, R-278)", async (t) => {
  const peer = await Peer.open(t);
  const leg = await engine.open();
  t.after(() => leg.close());
  const lost = once(events(leg), "mediaLost");
  leg.start(remote(peer.port));
  await lost;
});

test("on hold nothing is sent; the prompt goes on after it (R-226)", async (t) => {
  const peer = await Peer.open(t);
  const leg = await engine.open();
  t.after(() => leg.close());
  leg.start(remote(peer.port));
  await peer.packets(2);
  leg.update(remote(peer.port, { direction: "recvonly" }));
  await (await engine.open()).close();
  peer.received.length = 0;
  const emitter = events(leg);
  leg.play("later", [{ ulaw: speech }]);
  peer.digit(leg.port, 2);
  await once(emitter, "digit");
  assert.equal(peer.received.length, 0);
  leg.update(remote(peer.port, { payloadType: 8 }));
  await once(emitter, "played");
  const [first] = await peer.packets(1);
  assert.equal(first?.payloadType, 8);
  assert.deepEqual([...(first?.payload ?? [])], [...ulawToAlaw(speech.slice(0, 160))]);
});

test("a closed leg's ports are free at once and the leg takes no more orders (S-85)", async () => {
  const leg = await engine.open();
  const stats = await leg.close();
  assert.equal(stats.packetsOut, 0);
  leg.play("x", [{ silenceMs: 20 }]);
  const socket = createSocket("udp4");
  socket.bindSync({ address: HOST, port: leg.port });
  socket.close();
});

test("a taken port is passed over, a full range is refused", async (t) => {
  const blocker = createSocket("udp4");
  t.after(() => blocker.close());
  const { port } = blocker.bindSync({ address: HOST, port: 0 });
  const even = port - (port % 2);
  const tight = createMediaEngine({ bindHost: HOST, ports: [even, even + 1], random: systemRandom, onFailure: assert.fail });
  await tight.start();
  t.after(() => tight.stop());
  await assert.rejects(tight.open(), /no free media port/);
});

test("a call takes whatever port of the range is left, when other programs have the rest (S-85)", async (t) => {
  const [first, last] = [19_920, 19_927];
  for (let port = first; port < last - 1; port += 2) {
    const blocker = createSocket("udp4");
    t.after(() => blocker.close());
    // Every other one by its RTCP port alone.
    blocker.bindSync({ address: HOST, port: port + ((port >> 1) % 2) });
  }
  const random = { ...systemRandom, bytes: (count: number) => new Uint8Array(count) };
  const tight = createMediaEngine({ bindHost: HOST, ports: [first, last], random, onFailure: assert.fail });
  await tight.start();
  t.after(() => tight.stop());
  assert.equal((await tight.open()).port, last - 1);
});

test("a thousand legs, opened and ended with failures between them, leave every port of the range free (S-85)", async (t) => {
  const few = createMediaEngine({ bindHost: HOST, ports: [19_960, 19_967], random: systemRandom, onFailure: assert.fail });
  await few.start();
  t.after(() => few.stop());
  for (let opened = 0; opened < 1_000; opened += 4) {
    const legs = await Promise.all(Array.from({ length: 4 }, () => few.open()));
    assert.equal(new Set(legs.map(({ port }) => port)).size, 4);
    if (opened % 100 === 0) await assert.rejects(few.open(), /no free media port/);
    await Promise.all(legs.map((leg) => leg.close()));
  }
});

test("a clip that was never loaded cannot be played", async (t) => {
  const leg = await engine.open();
  t.after(() => leg.close());
  assert.throws(() => leg.play("x", [{ clip: "missing" }]), /clip not loaded/);
});

/** A thread that meets a fault: digits that are none. */
const breakThread = (leg: MediaLeg) => leg.sendDtmf("none", null as never, { onMs: 1, gapMs: 1 });

test("a media thread that dies loses its legs, and another one takes new calls with the clips of before", async (t) => {
  const failures: Error[] = [];
  const mortal = createMediaEngine({
    bindHost: HOST,
    ports: [20_000, 29_999],
    random: systemRandom,
    onFailure: (error) => failures.push(error),
  });
  await mortal.start();
  t.after(() => mortal.stop());
  mortal.loadClip("kept", speech);
  mortal.loadClip("gone", speech);
  const [one, other, waiting] = await Promise.all([mortal.open(), mortal.open(), mortal.open()]);
  const peer = await Peer.open(t);
  one.start(remote(peer.port));
  const lost = Promise.all([once(events(one), "mediaLost"), once(events(other), "mediaLost")]);
  breakThread(one);
  await lost;
  assert.deepEqual([mortal.isRunning, failures.length], [false, 1]);
  mortal.unloadClip("gone");
  // What was lost takes no orders and is closed already; who had not listened yet is told when he begins.
  one.play("x", [{ clip: "kept" }]);
  mortal.bridge(one, other);
  await Promise.all([one.caughtUp(), one.close(), other.close()]);
  const late = once(events(waiting), "mediaLost");
  waiting.start(remote(peer.port));
  await late;

  const next = await mortal.open();
  t.after(() => next.close());
  assert.deepEqual([mortal.isRunning, failures.length], [true, 1]);
  next.start(remote(peer.port));
  next.play("again", [{ clip: "kept" }]);
  await peer.packets(3, isLoud);
  assert.throws(() => next.play("x", [{ clip: "gone" }]), /not loaded/);
});

test("a leg that is being opened when the thread dies is refused", async (t) => {
  const mortal = createMediaEngine({ bindHost: HOST, ports: [20_000, 29_999], random: systemRandom, onFailure() {} });
  await mortal.start();
  t.after(() => mortal.stop());
  breakThread(await mortal.open());
  await assert.rejects(mortal.open(), /the media thread died/);
});
