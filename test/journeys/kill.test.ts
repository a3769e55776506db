import assert from "node:assert/strict";
import { test } from "node:test";
import { kill } from "../../prove/kill/index.ts";
import type { ScriptedKill } from "../../prove/kill/kill-schedule.ts";

/**
 * A real service that kills itself at the points where money or a payment could be lost, with a real call under way each
 * time. `npm run prove -- kill` does it at every point, again and again.
 */

const paying = { behaviour: "pays and hangs up", alone: true, patienceMs: 30_000 } as const;

/** One run each. The gateways are those whose truth is told at once: a proof of absence takes minutes. */
const SCRIPT: readonly ScriptedKill[] = [
  // First, because its attempt counts as lost only when its deadline has passed.
  { point: "intent_committed", scenario: { ...paying, gateway: "webhook" } },
  { point: "create_stored", scenario: { ...paying, behaviour: "never calls" } },
  { point: "response_read", scenario: { ...paying, gateway: "nmi", mode: "charge" } },
  { point: "result_moved", scenario: { ...paying, gateway: "authorizenet" } },
  { point: "webhook_answered", scenario: { ...paying, gateway: "stripe" } },
];

test("killed at the worst moments the service charges once, loses nothing and traced its receiver (R-146, R-249, R-285)", async () => {
  const lines: string[] = [];
  const { breaks, rounds } = await kill({
    rounds: SCRIPT.length,
    seed: 1,
    shards: 1,
    database: process.env["TEST_DATABASE_URL"] ? "postgres" : "embedded",
    script: SCRIPT,
    recoveryMs: 120_000,
    print: (line) => lines.push(line),
  });
  assert.deepEqual(
    rounds.map(({ died }) => died),
    SCRIPT.map(({ point }) => point),
    lines.join("\n"),
  );
  assert.equal(breaks.length, 0, lines.join("\n"));
});
