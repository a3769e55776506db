import { SPEAKERS } from "../test/answer-samples.ts";
import { onLine, speechOf } from "#src/speech/testing.ts";
import type { FieldSample } from "./field-samples.ts";

/** The sample spoken by speaker number `speaker`, on a quiet line. */
export function audioOf({ stretches, gapMs }: FieldSample, speaker: number): Int16Array<ArrayBuffer> {
  const gap = new Float64Array(gapMs * 8);
  const parts = stretches.flatMap((text, at) => {
    const speech = speechOf(text, SPEAKERS[speaker % SPEAKERS.length]);
    return at === 0 ? [speech] : [gap, speech];
  });
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return onLine(all, { beforeMs: 1_500, afterMs: 3_000 });
}
