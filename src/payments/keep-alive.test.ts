import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "#src/kernel/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { type KeepAliveDeps, startKeepAlive } from "./keep-alive.ts";

type Answer = Awaited<ReturnType<KeepAliveDeps["check"]>>;
const HOUR_MS = 3_600_000;

/** A worker's rounds against scripted answers, by project. */
function worker(answers: Record<string, Answer | Error>) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const lines: unknown[] = [];
  const warn = (event: string, { error: _error, ...fields } = {} as Record<string, unknown>) => void lines.push([event, fields]);
  const scopes = Object.keys(answers).map(
    (projectId) => ({ projectId, gateway: "quickbooks", environment: "live", currency: "USD" }) as const,
  );
  const days: number[] = [];
  const end = startKeepAlive({
    database: { db: null as never },
    clock,
    log: { ...silentLog, warn },
    projects: {
      unrenewedCredentials: async (_db, unused) => {
        days.push(unused);
        return scopes;
      },
    },
    async check({ projectId }) {
      asked.push(projectId);
      const answer = answers[projectId]!;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    while (clock.pending === 0) await turn();
  };
  return { asked, lines, days, end, pass };
}

test("an hour after the start and then daily, credentials that nobody used for 30 days are renewed, and a refusal is told", async () => {
  const { asked, lines, days, end, pass } = worker({
    a: { result: "accepted" },
    b: { result: "refused", reason: "HTTP 400: it gave no access token" },
    c: { result: "not reached", reason: "name not resolved" },
  });
  await pass(HOUR_MS - 1);
  assert.deepEqual(asked, []);
  await pass(1);
  assert.deepEqual([asked.join(""), days], ["abc", [30]]);
  const facts = { gateway: "quickbooks", environment: "live" };
  assert.deepEqual(lines, [
    ["credentials_not_renewed", { project: "b", ...facts, reason: "refused: HTTP 400: it gave no access token" }],
    ["credentials_not_renewed", { project: "c", ...facts, reason: "not reached: name not resolved" }],
  ]);
  await pass(24 * HOUR_MS - 1);
  assert.equal(asked.join(""), "abc");
  await pass(1);
  assert.equal(asked.join(""), "abcabc");
  await end();
});

test("a round that fails is told and made up for a day later", async () => {
  const { asked, lines, end, pass } = worker({ a: new Error("the database is away") });
  await pass(HOUR_MS);
  await pass(24 * HOUR_MS);
  assert.equal(asked.join(""), "aa");
  assert.deepEqual(lines, [
    ["credentials_renewal_failed", {}],
    ["credentials_renewal_failed", {}],
  ]);
  await end();
});
