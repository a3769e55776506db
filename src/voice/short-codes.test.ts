import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { shortCodeOf } from "#src/sessions/index.ts";
import { admit } from "./admit.ts";
import type { NamedProject } from "./match.ts";
import { ShortCodes } from "./short-codes.ts";
import { TestCall, voiceFixture, type VoiceFixture } from "./testing.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
  await fixture.addNumber("+15550001111", fixture.projectId);
});
after(() => fixture.close());
afterEach(async () => {
  await fixture.database.db.deleteFrom("sessions").execute();
  seen += (await audited()).length;
});

/** Rows of the audit log that earlier tests have left: it only grows. */
let seen = 0;

const NOBODYS = "00000000-0000-4000-8000-000000000000";
const SOURCE = "198.51.100.7";
const setCodes = (on: boolean) =>
  fixture.database.db
    .updateTable("projects")
    .set({ voice: JSON.stringify({ short_code: on }) })
    .where("id", "=", fixture.projectId)
    .execute();
const audited = async () => {
  const rows = await fixture.database.db
    .selectFrom("audit_log")
    .selectAll()
    .where("action", "=", "call.short_code")
    .orderBy("id")
    .execute();
  return rows.slice(seen).map(({ object, source, result }) => ({ object, source, result }));
};
const dialled = async (code: string) => {
  const { incoming } = new TestCall({ to: `+15550001111*${code}`, from: "anonymous" });
  const admission = await admit(incoming, fixture.deps);
  return "status" in admission ? admission.status : admission.session.id;
};
/** A guard with a clock of its own. */
async function guard() {
  const { database, sessions, deps } = fixture;
  const clock = new ManualClock();
  const counted: string[] = [];
  const codes = new ShortCodes({ database, sessions, clock, log: silentLog, countCode: (result) => void counted.push(result) });
  const project = (await deps.projects.projectById(database.db, fixture.projectId))!;
  return {
    clock,
    project,
    counted,
    codes,
    find: (code: string, source = SOURCE, of: NamedProject = project) => codes.find(of, code, source),
  };
}

test("a code is eight digits of its session's id", () => {
  assert.equal(shortCodeOf("11111111-2222-4333-8444-000000000000"), "00000000");
  assert.equal(shortCodeOf("11111111-2222-4333-8444-00000000000a"), "00000010");
  assert.equal(shortCodeOf("11111111-2222-4333-8444-ffffffffffff"), "76710655");
});

test("a project with short codes answers a call that dials one, once, and the audit log has it; without them it is 404 (R-214, R-218)", async () => {
  const session = await fixture.create();
  await fixture.create();
  await setCodes(false);
  assert.equal(await dialled(shortCodeOf(session.id)), 404);
  await setCodes(true);
  assert.equal(await dialled(shortCodeOf(session.id)), session.id);
  assert.equal(await dialled(shortCodeOf(session.id)), 404, "it waits no more");
  assert.deepEqual(await audited(), [
    { object: `session ${session.id}`, source: SOURCE, result: "matched" },
    { object: `project ${fixture.projectId}`, source: SOURCE, result: "wrong" },
  ]);
});

test("a code reaches no other project's session, none that is over, and none of two that share it", async () => {
  const { find, project } = await guard();
  const other = await fixture.organization("elsewhere");
  const foreign = await fixture.create(other);
  const cancelled = await fixture.create();
  await fixture.sessions.apply(cancelled.id, "cancel");
  for (const { id } of [foreign, cancelled]) assert.equal(await find(shortCodeOf(id)), "none");
  const [first, second] = [await fixture.create(), await fixture.create()];
  const sameCode = `${second.id.slice(0, -12)}${first.id.slice(-12)}`;
  await fixture.database.db.updateTable("sessions").set({ id: sameCode }).where("id", "=", second.id).execute();
  assert.equal(await find(shortCodeOf(first.id), SOURCE, project), "several");
});

test("after ten wrong codes by one trunk no code of the project is looked at for ten minutes, by that trunk (S-83)", async () => {
  const { clock, project, counted, find } = await guard();
  const { id } = await fixture.create();
  const code = shortCodeOf(id);
  const wrong = code === "12345678" ? "12345679" : "12345678";
  for (let guess = 0; guess < 10; guess++) assert.equal(await find(wrong), "none");
  assert.equal(await find(code), "closed");
  assert.deepEqual(await find(code, "198.51.100.8"), { sessionId: id }, "another trunk has guessed nothing");
  assert.equal(await find(wrong, SOURCE, { ...project, id: NOBODYS }), "none", "nor has this one in another project");
  clock.advance(10 * 60_000 - 1);
  assert.equal(await find(code), "closed");
  clock.advance(1);
  assert.deepEqual(await find(code), { sessionId: id });
  assert.deepEqual(counted, [...Array<string>(10).fill("wrong"), "closed", "matched", "wrong", "closed", "matched"]);
  const results = (await audited()).map(({ result }) => result);
  assert.deepEqual(results, [...Array<string>(9).fill("wrong"), "wrong, closed", "matched", "wrong", "matched"]);
});

test("of a flood of calls for nobody the callers of thirty a minute are asked, for each trunk in each project (S-83)", async () => {
  const { clock, project, codes } = await guard();
  const flood = () => Array.from({ length: 32 }, () => codes.mayAsk(project, SOURCE)).filter(Boolean).length;
  assert.equal(flood(), 30);
  assert.equal(codes.mayAsk(project, "198.51.100.8"), true, "another trunk has sent none");
  assert.equal(codes.mayAsk({ ...project, id: NOBODYS }, SOURCE), true, "nor has this one to another project");
  clock.advance(59_999);
  assert.equal(flood(), 0);
  clock.advance(1);
  assert.equal(flood(), 30);
});
