import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Session } from "#src/sessions/index.ts";
import { SessionStream } from "./session-stream.ts";

/** A response whose peer reads only when told to. */
class FakeResponse extends EventEmitter {
  readonly socket = null;
  written = "";
  writableLength = 0;
  state: "open" | "ended" | "destroyed" = "open";

  write(text: string): void {
    this.written += text;
    this.writableLength += text.length;
  }
  drain(): void {
    this.writableLength = 0;
  }
  end(): void {
    this.state = "ended";
    this.emit("close");
  }
  destroy(): void {
    this.state = "destroyed";
    this.emit("close");
  }
}

const clock = new ManualClock();
const session = (changes: Partial<Session>): Session =>
  ({
    id: "s",
    status: "PENDING",
    revision: 1,
    processor: null,
    errorCode: null,
    amountMinor: 1000,
    currency: "USD",
    gateway: "stripe",
    memory: null,
    createdAt: new Date(clock.now()),
    updatedAt: new Date(clock.now()),
    expiresAt: new Date(clock.now() + 300_000),
    completedAt: null,
    ...changes,
  }) as Session;

function start(read: () => Promise<Session | null>) {
  const response = new FakeResponse();
  let closed = 0;
  const stream = new SessionStream(response as unknown as ServerResponse, read, clock, () => closed++);
  return { response, stream, closedTimes: () => closed };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a reader that lets more than 64 KiB pile up is dropped, one large event is not too much (R-177)", () => {
  const { response, stream, closedTimes } = start(async () => null);
  const memory = "\u0001".repeat(16 * 1024);
  stream.show(session({ memory }));
  assert.equal(response.state, "open");
  assert.ok(response.written.length > 64 * 1024);
  response.drain();
  stream.show(session({ memory, status: "COLLECTING", revision: 2 }));
  assert.equal(response.state, "open");
  stream.show(session({ memory, status: "abandoned", revision: 3 }));
  assert.deepEqual([response.state, closedTimes(), clock.pending], ["destroyed", 1, 0]);
});

test("a peer that takes nothing for 30 s is gone (R-176)", () => {
  const { response, stream } = start(async () => null);
  stream.show(session({}));
  clock.advance(15_000);
  assert.equal(response.state, "open");
  clock.advance(15_000);
  assert.deepEqual([response.state, clock.pending], ["destroyed", 0]);
});

test("a failed read is made again, and a change during a read causes one more (R-179)", async () => {
  const answers = [
    new Error("database"),
    session({}),
    session({ status: "cancelled", revision: 2, completedAt: new Date(clock.now() + 5) }),
  ];
  let reads = 0;
  const { response, stream } = start(async () => {
    const answer = answers[reads++]!;
    if (answer instanceof Error) throw answer;
    if (reads === 2) stream.changed();
    return answer;
  });
  stream.changed();
  await settled();
  assert.equal(response.written, "");
  clock.advance(250);
  await settled();
  assert.deepEqual([reads, response.state, clock.pending], [3, "ended", 0]);
  assert.match(response.written, /"PENDING".*\n\nid: 5\ndata: .*"cancelled".*\n\n$/s);
});

test("a state that was read earlier than the one on the stream is not shown (R-179)", () => {
  const { response, stream } = start(async () => null);
  stream.show(session({ status: "COLLECTING", revision: 3 }));
  const shown = response.written;
  stream.show(session({ status: "PENDING", revision: 1 }));
  assert.equal(response.written, shown);
  response.destroy();
});
