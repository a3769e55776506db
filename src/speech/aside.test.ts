import assert from "node:assert/strict";
import test from "node:test";
import { startAside } from "./aside.ts";
import { loadWholeDecoders } from "./decoder.ts";
import { phraseAcceptor } from "./acceptor.ts";
import { EXPIRY } from "./phrases.ts";
import { utteranceOf } from "./testing.ts";

test("a decoding aside has the outcome of one in line, also where those before it are not waited for", async () => {
  const [decoders, second] = await Promise.all([loadWholeDecoders(), startAside()]);
  const { aside } = second;
  const dates = ["march twenty thirty", "may twenty thirty one"].map((text) => Float32Array.from(utteranceOf(text), (x) => x / 32_768));
  const once = phraseAcceptor(["may twenty thirty one", "march twenty thirty"]);
  // The grammar of all dates is sent whole twice, and is known from then on.
  const tasks = [...dates, ...dates].flatMap((samples) => [
    { grammar: EXPIRY, samples },
    { grammar: once, samples },
  ]);
  for (const kind of ["batch", "scoring"] as const) {
    const outcomes = tasks.map(({ grammar, samples }) => aside(kind, grammar, samples));
    for (const [at, { grammar, samples }] of tasks.entries())
      if (at % 3 > 0) assert.deepEqual(outcomes[at]?.(), decoders.aside(kind, grammar, samples)());
  }
  assert.equal(aside("scoring", EXPIRY, new Float32Array(0))(), null);
  await second.stop();
});
