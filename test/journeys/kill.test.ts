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
  { place: "transition_written.charge", scenario: { ...paying, gateway: "webhook" } },
  { place: "answer_unsent", scenario: { ...paying, behaviour: "never calls" } },
  { place: "response_read", scenario: { ...paying, gateway: "nmi", mode: "charge" } },
  { place: "transition_written.approve", scenario: { ...paying, gateway: "authorizenet" } },
  // Its only request: the answer to a webhook.
  { place: "response_read", scenario: { behaviour: "cancels before the call", alone: true, patienceMs: 30_000 } },
];

test("killed at the worst moments the service charges once, loses nothing and traced its receiver (R-146, R-249, R-285)", async () => {
  const lines: string[] = [];
  const { breaks, rounds } = await kill({
    rounds: SCRIPT.length,
    seed: 1,
    shards: 1,
    database: process.env["TEST_DATABASE_URL"] ? "postgres" : "embedded",
    script: SCRIPT,
    recoveryMs: 200_000,
    print: (line) => lines.push(line),
  });
  assert.deepEqual(
    rounds.map(({ died }) => died),
    SCRIPT.map(({ place }) => place),
    lines.join("\n"),
  );
  assert.equal(breaks.length, 0, lines.join("\n"));
});
