import assert from "node:assert/strict";
import test from "node:test";
import { speak } from "./flite.ts";

test("a text sounds the same whatever was spoken before it", () => {
  const first = speak("Thank you.", "slt");
  speak("Press one, or say: yes, that's right. If not, press two.", "rms", { stretch: 1.3 });
  assert.deepEqual(speak("Thank you.", "slt"), first);
});
