import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { Clip } from "./clip.ts";
import { TelephoneEventReceiver } from "./telephone-event.ts";
import { Pacer } from "./pacer.ts";
import type { RtpPacket } from "./rtp.ts";
import { readRtp } from "./rtp.ts";
import { Sender } from "./sender.ts";

const LOUD = 0x20;
const FORMAT = { payloadType: 0, eventPayloadType: 101 } as const;

function rig(clock = new ManualClock(1_000)) {
  const sent: (RtpPacket & { at: number; loud: boolean })[] = [];
  const played: string[] = [];
  const sender = new Sender({
    clock,
    pacer: new Pacer(clock),
    seed: { ssrc: 7, sequence: 0xfffe, timestamp: 0xffffff00 },
    transmit: (datagram) => {
      const packet = readRtp(datagram) as RtpPacket;
      sent.push({ ...packet, payload: Uint8Array.from(packet.payload), at: clock.monotonic() - 1_000, loud: packet.payload[0] === LOUD });
      return false;
    },
    onPlayed: (id) => played.push(id),
    onPeriod: () => {},
  });
  const say = (id: string, packets: number) => sender.play(id, [{ clip: new Clip(new Uint8Array(160 * packets).fill(LOUD)) }]);
  return { clock, sent, played, sender, say };
}

test("the first packet leaves at once, then one every 20 ms, silence included", () => {
  const { clock, sent, sender } = rig();
  sender.resume(FORMAT);
  assert.deepEqual(
    sent.map(({ at }) => at),
    [0],
  );
  clock.advance(100);
  assert.deepEqual(
    sent.map(({ at }) => at),
    [0, 20, 40, 60, 80, 100],
  );
  assert.deepEqual(
    sent.map(({ sequence }) => sequence),
    [0xfffe, 0xffff, 0, 1, 2, 3],
  );
  assert.deepEqual(
    sent.slice(0, 3).map(({ timestamp }) => timestamp),
    [0xffffff00, 0xffffffa0, 0x40],
  );
});

test("what was played before the start is in the first packet", () => {
  const { sent, sender, say } = rig();
  say("greeting", 2);
  assert.equal(sent.length, 0);
  sender.resume(FORMAT);
  assert.deepEqual(
    sent.map(({ at, loud, marker }) => [at, loud, marker]),
    [[0, true, true]],
  );
});

test("a prompt that meets silence leaves in the same moment; the silence after it is on time again", () => {
  const { clock, sent, sender, say, played } = rig();
  sender.resume(FORMAT);
  clock.advance(46);
  say("a", 2);
  assert.deepEqual(sent.at(-1)?.at, 46);
  clock.advance(100);
  // Ahead of time by 14 ms while it talks, back at the real-time grid after it.
  assert.deepEqual(
    sent.map(({ at }) => at),
    [0, 20, 40, 46, 66, 100, 120, 140],
  );
  assert.deepEqual(
    sent.map(({ loud }) => loud),
    [false, false, false, true, true, false, false, false],
  );
  assert.deepEqual(
    sent.map(({ marker }) => marker),
    [false, false, false, true, false, false, false, false],
  );
  assert.deepEqual(
    sent.map(({ timestamp }) => (timestamp - 0xffffff00) >>> 0),
    [0, 160, 320, 480, 640, 800, 960, 1120],
  );
  assert.deepEqual(played, ["a"]);
});

test("a hundred short prompts do not make the stream run ahead of the clock", () => {
  const { clock, sent, sender, say } = rig();
  sender.resume(FORMAT);
  for (let prompt = 0; prompt < 100; prompt++) {
    clock.advance(73);
    say(String(prompt), 1);
  }
  clock.advance(100);
  const last = sent.at(-1);
  const ahead = (((last?.timestamp ?? 0) - 0xffffff00) >>> 0) / 8 - (last?.at ?? 0);
  assert.ok(ahead >= 0 && ahead <= 20, `${ahead} ms`);
});

test("a prompt that replaces another goes on in the next slot or earlier, never more than one period ahead", () => {
  const { clock, sent, sender, say, played } = rig();
  sender.resume(FORMAT);
  clock.advance(10);
  say("a", 50);
  clock.advance(45);
  sender.stopPlayback();
  say("b", 1);
  clock.advance(20);
  for (const { at, timestamp } of sent) assert.ok(((timestamp - 0xffffff00) >>> 0) / 8 - at <= 20);
  assert.deepEqual(played, ["b"]);
});

test("on hold nothing is sent; afterwards the timestamp has moved with the clock, the sequence number has not (R-226)", () => {
  const { clock, sent, sender } = rig();
  sender.resume(FORMAT);
  clock.advance(20);
  sender.pause();
  clock.advance(1_000);
  assert.equal(sent.length, 2);
  sender.resume({ ...FORMAT, payloadType: 8 });
  const [, before, after] = sent;
  assert.equal(((after?.sequence ?? 0) - (before?.sequence ?? 0)) & 0xffff, 1);
  assert.equal((((after?.timestamp ?? 0) - (before?.timestamp ?? 0)) >>> 0) / 8, 1_000);
  assert.equal(after?.payloadType, 8);
});

test("after a stall the time lost is skipped, not sent in a burst", () => {
  const { clock, sent, sender } = rig();
  sender.resume(FORMAT);
  const next = sender.onSlot(clock.monotonic() + 510);
  assert.equal(sent.length, 2);
  assert.equal((((sent[1]?.timestamp ?? 0) - (sent[0]?.timestamp ?? 0)) >>> 0) / 8, 500);
  assert.equal(next, 1_520);
});

test("a digit goes out under one timestamp, with a marker first and three end packets (RFC 4733 section 2.5.1)", () => {
  const { clock, sent, sender } = rig();
  sender.resume(FORMAT);
  clock.advance(15);
  sender.play("digits", [{ digit: 9, samples: 480 }]);
  clock.advance(50);
  const events = sent.filter(({ payloadType }) => payloadType === 101);
  assert.deepEqual(
    events.map(({ payload }) => [...payload]),
    [
      [9, 10, 0, 160],
      [9, 10, 1, 64],
      [9, 138, 1, 224],
      [9, 138, 1, 224],
      [9, 138, 1, 224],
    ],
  );
  assert.deepEqual(
    events.map(({ marker }) => marker),
    [true, false, false, false, false],
  );
  assert.equal(new Set(events.map(({ timestamp }) => timestamp)).size, 1);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    [0xffff, 0, 1, 2, 3],
  );
});

test("a digit during which the thread was held up is still one digit, and the peer counts it once (RFC 4733 section 2.5.1)", () => {
  const { clock, sent, sender } = rig();
  sender.resume(FORMAT);
  clock.advance(20);
  sender.play("digits", [{ digit: 9, samples: 480 }]);
  sender.onSlot(clock.monotonic() + 510);
  clock.advance(1_000);
  const receiver = new TelephoneEventReceiver();
  const events = sent.filter(({ payloadType }) => payloadType === 101);
  assert.equal(events.length, 5);
  assert.deepEqual(
    events.map((packet) => receiver.receive(packet)).filter((digit) => digit !== null),
    [9],
  );
});

/** The clock of a thread that may be held up: then time passes, and what was due runs late. */
class HeldUpClock extends ManualClock {
  #late: (() => void)[] | null = null;

  override after(ms: number, task: () => void): () => void {
    return super.after(ms, () => void (this.#late ? this.#late.push(task) : task()));
  }

  /** What falls due in these `ms` runs at their end. */
  holdUp(ms: number): void {
    const late = (this.#late = []) as (() => void)[];
    this.advance(ms);
    this.#late = null;
    for (const task of late) task();
  }
}

test("however often the thread is held up, timestamps are true to the clock, and a jump of them has a marker (RFC 3550 section 5.1)", () => {
  const { clock, sent, sender, say } = rig(new HeldUpClock(1_000));
  sender.resume(FORMAT);
  for (let turn = 0; turn < 300; turn++) {
    clock.advance((turn * 7) % 90);
    if (turn % 3 === 0) say(String(turn), turn % 5);
    if (turn % 4 === 0) (clock as HeldUpClock).holdUp((turn * 13) % 400);
  }
  let jumps = 0;
  for (const [index, packet] of sent.entries()) {
    const presented = ((packet.timestamp - 0xffffff00) >>> 0) / 8;
    assert.ok(presented - packet.at <= 20 && packet.at - presented <= 82, `sent at ${packet.at}, stamped ${presented}`);
    const previous = sent[index - 1];
    if (!previous) continue;
    assert.equal((packet.sequence - previous.sequence) & 0xffff, 1);
    const step = (packet.timestamp - previous.timestamp) >>> 0;
    assert.equal(step % 160, 0);
    assert.ok(step > 0 && (step === 160 || packet.marker), `step of ${step}`);
    if (step > 160) jumps++;
  }
  assert.ok(jumps > 20, `${jumps} jumps`);
});
