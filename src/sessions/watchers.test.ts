import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Fixture, sessionsFixture } from "./testing.ts";
import { listenForChanges, Watchers } from "./watchers.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
  await fixture.sessions.start();
});
after(async () => {
  await fixture.sessions.stop();
  await fixture.close();
});

/** Resolves with the next call of the watcher that it returns. */
function expectCall() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { called: promise, watcher: () => resolve() };
}

test("a watcher hears each committed change of its session and none of another's", async () => {
  const [mine, other] = [await fixture.create(), await fixture.create()];
  let calls = 0;
  const { called, watcher } = expectCall();
  const unwatch = fixture.sessions.watch(mine.id, () => {
    calls++;
    watcher();
  });
  await fixture.sessions.apply(other.id, "claim");
  await assert.rejects(
    fixture.database.transaction(async (tx) => {
      await fixture.sessions.transition(tx, mine.id, "claim");
      throw new Error("rolled back");
    }),
  );
  await fixture.sessions.apply(mine.id, "claim");
  await called;
  assert.equal(calls, 1);

  unwatch();
  const last = expectCall();
  fixture.sessions.watch(mine.id, last.watcher);
  await fixture.sessions.setTransferStatus(mine.id, "busy");
  await last.called;
  assert.equal(calls, 1, "it had left");
});

test("a watcher that is called finds the change it was called for (R-163)", async () => {
  const { id } = await fixture.create();
  const { called, watcher } = expectCall();
  fixture.sessions.watch(id, watcher);
  const cancelled = fixture.sessions.cancel(id, fixture.scope);
  await called;
  assert.equal((await fixture.sessions.find(fixture.database.db, id))?.status, "cancelled");
  await cancelled;
});

test("after a lost connection every watcher is called", async () => {
  const watchers = new Watchers();
  let gap: (() => void) | undefined;
  const database = {
    listen: async (_channel: string, _onPayload: (payload: string) => void, onGap?: () => void) => {
      gap = onGap;
      return async () => {};
    },
  };
  const called: string[] = [];
  watchers.watch("a", () => called.push("a"));
  watchers.watch("a", () => called.push("a again"));
  watchers.watch("b", () => called.push("b"))();
  await listenForChanges(database, watchers);
  gap?.();
  assert.deepEqual(called, ["a", "a again"]);
});
