import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { armCrash, CRASH_POINTS, crashPoint } from "./crash-points.ts";

const SRC = fileURLToPath(new URL("..", import.meta.url));

test("every crash point is reached from exactly one place of the source, and every place is in the table", () => {
  const reached = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .flatMap((name) => [...readFileSync(join(SRC, name), "utf8").matchAll(/\bcrashPoint\("(\w+)"/g)].map((match) => match[1] ?? ""));
  assert.deepEqual(reached.toSorted(), Object.keys(CRASH_POINTS).toSorted());
});

test("a process dies at the time of reaching that it was armed for, once, and nowhere else", () => {
  const deaths: string[] = [];
  const die = (place: string) => void deaths.push(place);
  armCrash({ point: "transition_written", name: "charge", times: 3 }, die);
  for (let time = 1; time <= 5; time++) {
    crashPoint("transition_written", "approve");
    crashPoint("transition_unwritten", "charge");
    crashPoint("transition_written", "charge");
    assert.equal(deaths.length, time < 3 ? 0 : 1);
  }
  armCrash({ point: "transition_written", name: null, times: 1 }, die);
  crashPoint("transition_written", "approve");
  armCrash(null, die);
  crashPoint("transition_written", "charge");
  assert.deepEqual(deaths, ["transition_written.charge", "transition_written.approve"]);
});
