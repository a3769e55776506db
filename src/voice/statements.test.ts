import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Client } from "pg";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Log } from "#src/platform/index.ts";
import type { Scope } from "#src/sessions/index.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import { Events, TestCall, voiceFixture, type VoiceFixture } from "./testing.ts";

/** How often PostgreSQL is asked: every query of a connection is counted, `begin` and `commit` included. */

const isOnPostgres = Boolean(process.env["TEST_DATABASE_URL"]);
const options = { skip: isOnPostgres ? false : "round trips are PostgreSQL's: set TEST_DATABASE_URL" };

let fixture: VoiceFixture;
before(async () => {
  if (isOnPostgres) fixture = await voiceFixture();
});
after(() => fixture?.close());

/** What was asked, by the name of the prepared statement without its number; what has none by its text. */
let asked: string[] = [];
// oxlint-disable-next-line typescript/unbound-method -- called with the connection that was asked
const { query } = Client.prototype;
beforeEach(() => {
  asked = [];
  Client.prototype.query = function counted(this: Client, ...args: unknown[]) {
    const { name, text } = (typeof args[0] === "string" ? { text: args[0] } : args[0]) as { name?: string; text: string };
    const statement = name?.replace(/_\d+$/, "") ?? text;
    // Steps are told beside the call, several at a time (docs/decisions/0015). What a connection is told is told once, when it is opened.
    if (statement !== "tell_progress" && !statement.startsWith("set default_")) asked.push(statement);
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as typeof query;
});
afterEach(() => {
  Client.prototype.query = query;
});

const ANSWERS: readonly (readonly [question: RegExp, keys: readonly number[]])[] = [
  [/card number/i, [4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 11]],
  [/expiry date/i, [1, 2, 3, 0, 11]],
  [/security code/i, [1, 2, 3, 11]],
  [/zip code/i, [9, 4, 1, 0, 5, 11]],
  [/press one/i, [1]],
];

test(
  "a call that names its session asks once before its 200, once for what happened meanwhile, once for each later transition, and once for how it ended",
  options,
  async () => {
    const { id } = await fixture.create({ callback: null });
    const call = new TestCall({ callId: id, to: id });
    asked = [];
    const admission = await admit(call.incoming, fixture.deps);
    assert.ok(!("status" in admission));
    assert.deepEqual(asked, ["session_claim"]);
    const leg = fixture.media.legs.at(-1)!;
    leg.onPlayed = (words) => {
      for (const key of ANSWERS.find(([question]) => question.test(words))?.[1] ?? []) leg.on.dtmfDigit(key);
    };
    // Time stands still until the conversation is over; then the line is held for a moment.
    const [clock, lines] = [new ManualClock(), new Events()];
    const note = (event: string) => lines.note(event);
    const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
    const running = runCall(call.incoming, admission, { ...fixture.deps, clock, log });
    await lines.until("call_collected");
    while (!lines.seen.includes("call_ended")) {
      clock.advance(10);
      await turn();
    }
    await running;
    // What happened meanwhile is asked while the conversation goes on.
    assert.deepEqual(asked.toSorted(), ["session_approve", "session_charge", "session_claim", "sessions_by_id", "sessions_by_id"]);
  },
);

test("cancel, expiry and the report of a transfer are one statement each, and no transaction", options, async () => {
  const [cancelled, expired] = [await fixture.create(), await fixture.create()];
  await fixture.expireIn(expired.id, -1000);
  asked = [];
  const scope: Scope = fixture.scope;
  assert.equal((await fixture.sessions.cancel(cancelled.id, scope)).kind, "cancelled");
  assert.ok(await fixture.sessions.apply(expired.id, "expire"));
  await fixture.sessions.setTransferStatus(cancelled.id, "skipped");
  assert.deepEqual(asked, ["session_cancel", "session_expire", "transfer_status"]);
});

test("a call by number asks three times: whose number or trunk it is, who waits, and the claim", options, async () => {
  await fixture.addNumber("+15550001111", fixture.projectId);
  const { id } = await fixture.create({ caller: "+14155550177" });
  asked = [];
  const admission = await admit(new TestCall({ to: "+15550001111", from: "+14155550177" }).incoming, fixture.deps);
  assert.equal("status" in admission ? admission.why : admission.session.id, id);
  assert.deepEqual(asked, ["project_of_call", "waiting_by_callers", "session_claim"]);
});
