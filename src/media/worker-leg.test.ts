import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/clock.ts";
import { eventPayload } from "./telephone-event.ts";
import { Pacer } from "./pacer.ts";
import type { LegEvent, LegOptions } from "./protocol.ts";
import { writeRtp } from "./rtp.ts";
import type { RemoteMedia } from "./sdp.ts";
import { WorkerLeg } from "./worker-leg.ts";

const HOST = "127.0.0.1";
const OPTIONS: LegOptions = { muted: true, capture: false };

/** A leg on a standing clock and a peer on a plain socket. */
function rig(t: { after(task: () => void): void }) {
  const clock = new ManualClock();
  const emitter = new EventEmitter();
  const events: LegEvent[] = [];
  const deps = {
    clock,
    pacer: new Pacer(clock),
    createDetector: () => ({ isSpeech: () => false, free() {} }),
    report: (event: LegEvent) => {
      events.push(event);
      emitter.emit("event");
    },
    mediaLostAfterMs: 30_000,
  };
  const peer = createSocket("udp4");
  const { port: peerPort } = peer.bindSync({ address: HOST, port: 0 });
  let port = 30_000;
  let leg: WorkerLeg | null = null;
  while (!leg) {
    try {
      leg = new WorkerLeg(deps, HOST, port, OPTIONS, { ssrc: 1, sequence: 1, timestamp: 1 });
    } catch {
      port += 2;
    }
  }
  const opened = leg;
  t.after(() => {
    opened.close();
    peer.close();
  });
  const remote: RemoteMedia = { host: HOST, port: peerPort, payloadType: 0, eventPayloadType: 101, direction: "sendrecv" };
  /** Sends a digit and waits until the leg has reported it: everything sent to the RTP port before has then been handled. */
  let presses = 0;
  const digit = async () => {
    const timestamp = ++presses * 1_000;
    peer.send(
      writeRtp({ marker: true, payloadType: 101, sequence: presses, timestamp, ssrc: 5, payload: eventPayload(1, 160, false) }),
      port,
      HOST,
    );
    await once(emitter, "event");
  };
  const lost = () => events.filter(({ type }) => type === "mediaLost").length;
  return { clock, leg: opened, peer, port, remote, digit, lost };
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

test("a leg that we hold, or that is held both ways, does not count as lost (R-226)", (t) => {
  const { clock, leg, remote, lost } = rig(t);
  for (const direction of ["sendonly", "inactive"] as const) {
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
