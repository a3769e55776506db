import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "#src/kernel/clock.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { type Log, silentLog } from "#src/platform/index.ts";
import { type Progress, ProgressBoard } from "./progress.ts";
import { type Fixture, sessionsFixture } from "./testing.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());

const ID = "00000000-0000-4000-8000-000000000001";

/** The board of one process, listening. */
async function process() {
  const board = new ProgressBoard({ database: fixture.database, clock: systemClock, log: silentLog });
  return { board, stop: await board.listen(fixture.database) };
}

/** Resolves with the first progress of the session that is `wanted`. */
function heard(board: ProgressBoard, id: string, wanted: Progress["step"]): Promise<Progress> {
  return new Promise((resolve) => {
    const stop = board.watch(id, (progress) => {
      if (progress.step !== wanted) return;
      stop();
      resolve(progress);
    });
  });
}

test("a step told in one process is known in the others until it is taken back (R-434)", async () => {
  const [voice, api] = [await process(), await process()];
  const told = heard(api.board, ID, "asking_expiry");
  voice.board.tell(ID, { step: "asking_expiry", try: 2 });
  assert.deepEqual(await told, { step: "asking_expiry", try: 2 });
  assert.deepEqual(api.board.of(ID), { step: "asking_expiry", try: 2 });
  // What follows in the same channel comes later.
  const after = heard(api.board, "other", "charging");
  voice.board.tell(ID, null);
  voice.board.tell("other", { step: "charging", try: 1 });
  await after;
  assert.equal(api.board.of(ID), null);
  await Promise.all([voice.stop(), api.stop()]);
});

test("a process that starts while calls go on asks where they are (R-434)", async () => {
  const voice = await process();
  const known = heard(voice.board, ID, "confirming");
  voice.board.tell(ID, { step: "confirming", try: 1 });
  await known;
  const late = new ProgressBoard({ database: fixture.database, clock: systemClock, log: silentLog });
  const told = heard(late, ID, "confirming");
  const stop = await late.listen(fixture.database);
  assert.deepEqual(await told, { step: "confirming", try: 1 });
  await Promise.all([voice.stop(), stop()]);
});

/** A board whose notifications go through the test's hands. */
function byHand(notify: (payloads: readonly string[]) => Promise<void> = async () => {}) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const sent: string[] = [];
  const note = (event: string) => void lines.push(event);
  const log: Log = { ...silentLog, warn: note };
  let [hear, gap] = [(_payload: string) => {}, () => {}];
  const database = {
    batched: () => async (item: unknown) => {
      sent.push(item as string);
      await notify([item as string]);
      return undefined as never;
    },
    listen: async (_channel: string, onPayload: (payload: string) => void, onGap?: () => void) => {
      [hear, gap] = [onPayload, onGap ?? gap];
      return async () => {};
    },
  };
  const board = new ProgressBoard({ database, clock, log });
  return { board, database, clock, lines, sent, hear: (payload: string) => hear(payload), lose: () => gap() };
}

test("a database that cannot be reached costs a line in the log, no more (R-434)", async () => {
  const { board, lines } = byHand(() => Promise.reject(new Error("connection lost")));
  board.tell(ID, { step: "charging", try: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(lines, ["progress_not_told"]);
});

test("after a lost connection it asks again, and whoever is asked tells the steps of its own calls alone (R-434)", async () => {
  const { board, database, sent, hear, lose } = byHand();
  await board.listen(database);
  lose();
  assert.deepEqual(sent, ["?", "?"]);
  board.tell(ID, { step: "asking_zip", try: 1 });
  board.tell("gone", { step: "asking_zip", try: 1 });
  board.tell("gone", null);
  hear("another asking_cvv 1");
  sent.length = 0;
  hear("?");
  assert.deepEqual(sent, [`${ID} asking_zip 1`]);
});

test("a step of a newer version is none here, and what a dead process told is forgotten (R-434)", async () => {
  const { board, database, clock, hear } = byHand();
  await board.listen(database);
  hear(`${ID} asking_iris 1`);
  assert.equal(board.of(ID), null);
  hear(`${ID} asking_number 1`);
  clock.advance(20 * 60_000);
  hear("another asking_number 1");
  assert.equal(board.of(ID), null);
  assert.ok(board.of("another"));
});
