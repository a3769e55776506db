import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { findBugs } from "../prove/bugs.ts";
import { neverHappened, RACES, SESSIONS_PER_WORLD } from "../prove/expected.ts";
import { simulate, type Simulation } from "../prove/simulate.ts";

describe("the deterministic simulation", () => {
  let simulation: Simulation;
  before(async () => {
    simulation = await simulate({ sessions: 20_000, seed: 1 });
  });

  test("no invariant breaks in 20,000 sessions of crashes, lost answers and races", () => {
    assert.deepEqual(simulation.breaks, []);
    assert.ok(simulation.sessions > 15_000, `only ${simulation.sessions} sessions`);
  });

  test("every fault struck in every state, and every race happened (R-197, R-217, R-220, R-245, R-249, R-270 to R-293, R-435)", () => {
    assert.deepEqual(neverHappened(simulation.counters), []);
    const section = Array.from({ length: 24 }, (_, index) => `R-${270 + index}`);
    assert.deepEqual([...new Set(Object.values(RACES).flat())].sort(), ["R-197", "R-217", "R-220", "R-245", "R-249", ...section, "R-435"]);
  });

  test("each hand-made bug of prove/bugs is found", async () => {
    assert.ok(await findBugs([], false));
  });

  test("the same seed gives the same world, to the last row", async () => {
    const again = await simulate({ sessions: SESSIONS_PER_WORLD, seed: 1 });
    assert.equal(again.fingerprints.get(1), simulation.fingerprints.get(1));
    assert.notEqual(simulation.fingerprints.get(1), simulation.fingerprints.get(2));
  });
});
