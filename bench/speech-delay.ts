/**
 * How long callers wait for what they said: npm run bench -- speech-delay [--callers 4] [--rounds 3] [--seed 6]
 *
 * From the end of speech to its result, with several callers at once who speak all the time, their audio at its real pace, through workers of
 * the pool that calls use: in each round card number, expiry date, security code, ZIP code and another number. The first number of each is not
 * counted: the second recogniser loads meanwhile. A result comes 360 ms after the end of speech at the earliest; 500 ms after it when more could
 * follow, 900 ms when it is no answer, and 2 s when digits seem to be missing.
 */
import { parseArgs } from "node:util";
import { createRecogniser } from "#src/speech/index.ts";
import type { ListenTask } from "#src/speech/recognition-result.ts";
import { framesOf } from "#src/speech/testing.ts";
import { FIELD_FORMS, chanceOf } from "./field-samples.ts";
import { figure } from "./budgets.ts";
import { audioOf } from "./field-audio.ts";
import { recogniserDelay } from "./recogniser-delay.ts";

const { values } = parseArgs({
  options: {
    callers: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    seed: { type: "string", default: "6" },
  },
});
const CALLERS = Number(values.callers);

/** One caller's answers, rendered before any is spoken: rendering would hold up what the others say. */
function answersOf(caller: number): { task: ListenTask; frames: ReturnType<typeof framesOf> }[] {
  const chance = chanceOf(Number(values.seed) * 1_000_003 + caller);
  return Array.from({ length: Number(values.rounds) }, (_, round) => round).flatMap((round) =>
    ["number", "expiry", "code", "ZIP", "number"].flatMap((field, id) => {
      const forms = Object.values(FIELD_FORMS[field] ?? {});
      const sample = forms[round % forms.length]?.(chance);
      if (!sample) return [];
      const task = { id, what: sample.what, have: 0, lengths: sample.lengths, testWord: false };
      return [{ task, frames: framesOf(audioOf(sample, caller * 3 + round)) }];
    }),
  );
}

const answers = Array.from({ length: CALLERS }, (_, caller) => answersOf(caller));
const pool = createRecogniser({ ready: CALLERS, max: CALLERS });
await pool.expectSpeech();
const delays = await Promise.all(
  answers.map(async (own) => {
    const listener = await pool.acquire();
    if (!listener) throw new Error("no worker for this caller");
    const waits: number[] = [];
    for (const { task, frames } of own) {
      waits.push(await recogniserDelay(listener, task, frames));
      listener.stopListening();
    }
    return waits.slice(1);
  }),
);
await pool.stop();
const sorted = delays.flat().toSorted((a, b) => a - b);
const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
console.log(sorted.map((delay) => Math.round(delay)).join(" "));
console.log(
  `end of speech to its result, ${CALLERS} callers at once, ${sorted.length} utterances: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms (budget 700)`,
);
figure("speech_p95", at(0.95));
