import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { OTHERS, WindowCounter } from "./window-counter.ts";

test("a name's window begins with its first count and begins again after its end", () => {
  const clock = new ManualClock();
  const counter = new WindowCounter({ clock, windowMs: 1000, most: 10 });
  assert.deepEqual(counter.count("a"), { name: "a", count: 1 });
  clock.advance(900);
  assert.deepEqual(counter.count("b"), { name: "b", count: 1 });
  assert.deepEqual(counter.count("a"), { name: "a", count: 2 });
  clock.advance(100);
  assert.deepEqual(counter.count("a"), { name: "a", count: 1 });
  assert.deepEqual(counter.count("b"), { name: "b", count: 2 });
});

test("names beyond the most that are told apart are counted together, until windows end", () => {
  const clock = new ManualClock();
  const counter = new WindowCounter({ clock, windowMs: 1000, most: 3 });
  for (const name of ["a", "b", "c"]) assert.equal(counter.count(name).name, name);
  assert.deepEqual(counter.count("d"), { name: OTHERS, count: 1 });
  assert.deepEqual(counter.count("e"), { name: OTHERS, count: 2 });
  assert.deepEqual(counter.count("a"), { name: "a", count: 2 });
  clock.advance(1000);
  assert.deepEqual(counter.count("d"), { name: "d", count: 1 });
});
