import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";

test("counters, gauges and timings appear in the exposition text under their names", async () => {
  const metrics = createMetrics();
  const settled = metrics.counter("settlements_total", "Settled attempts.", ["outcome"]);
  const prompt = metrics.timings("prompt_seconds", "Digit to prompt.");
  metrics.gauge("calls", "Live calls.", () => 3);
  settled({ outcome: "approved" });
  settled({ outcome: "approved" });
  prompt(30);
  const text = await metrics.text();
  assert.match(text, /^voicetill_settlements_total\{outcome="approved"\} 2$/m);
  assert.match(text, /^voicetill_calls 3$/m);
  assert.match(text, /^voicetill_prompt_seconds_bucket\{le="0\.05"\} 1$/m);
  assert.match(text, /^voicetill_prompt_seconds_sum 0\.03$/m);
});
