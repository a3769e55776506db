import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { simulate, type Simulation } from "../prove/simulate.ts";

/** Races and faults that a run of this size must have met: a run that never met them proves nothing about them. */
const MUST_HAPPEN = [
  "a cancel was obeyed",
  "a cancel came too late: charging",
  "a call was refused: expired, not yet swept",
  "a second call was refused: the session was being collected",
  "a crash while charging, no money taken yet",
  "a crash after the money was taken",
  "money taken before a crash became a success",
  "another process took up an attempt",
  "a lost answer was cleared up: payment-success",
  "a lost answer was cleared up: payment-failed",
  "a webhook arrived twice",
  "a job was lost",
];

const MUST_STRIKE: readonly (readonly [fault: string, state: string])[] = [
  ["crash", "collecting"],
  ["crash", "charging"],
  ["cancel", "PENDING"],
  ["cancel", "collecting"],
  ["cancel", "charging"],
  ["hang-up", "charging"],
  ["second call", "charging"],
  ["commit failed", "charging"],
  ["commit's answer lost", "charging"],
  ["database cut off", "charging"],
  ["gateway: lost before", "charging"],
  ["gateway: lost after", "charging"],
  ["gateway: late", "charging"],
  ["receiver: time-out", "final"],
];

describe("the deterministic simulation", () => {
  let simulation: Simulation;
  before(async () => {
    simulation = await simulate({ sessions: 2000, seed: 1 });
  });

  test("no invariant breaks in 2,000 sessions of crashes, lost answers and races (R-220, R-270 to R-289)", () => {
    assert.deepEqual(simulation.breaks, []);
    assert.ok(simulation.sessions > 1500, `only ${simulation.sessions} sessions`);
  });

  test("every named race and fault really happened in it (R-270 to R-284)", () => {
    const { faults, sometimes } = simulation.counters;
    assert.deepEqual(
      MUST_HAPPEN.filter((race) => !sometimes.has(race)),
      [],
    );
    assert.deepEqual(
      MUST_STRIKE.filter(([fault, state]) => !faults.get(fault)?.has(state)),
      [],
    );
  });

  test("the same seed gives the same world, to the last row", async () => {
    const again = await simulate({ sessions: 300, seed: 1 });
    assert.equal(again.fingerprints.get(1), simulation.fingerprints.get(1));
    assert.notEqual(simulation.fingerprints.get(1), simulation.fingerprints.get(2));
  });
});
