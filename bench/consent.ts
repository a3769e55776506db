/**
 * What a line can say at the read-back without confirming a payment: npm run bench -- consent [--speakers 3]
 *
 * Digits, words, sentences, likenesses of yes and no, and sounds that are no speech, then yes and no themselves, all through the same
 * recogniser as a call's audio: mu-law, clean, with 3 % of the 20 ms frames lost, and in noise of 20 dB. Each phrase by so many speakers
 * of ten, each speaker on another line.
 *
 * yes, no   taken for it: must be 0 in the upper part, at least 500 utterances
 * stop      taken for "cancel" or "operator", which end the call; other commands are counted as command
 * again     not understood: asked again, then the key is asked for
 *
 * Last, the time from the last word of an answer to its result, with audio at its real pace. The voices are synthetic.
 */
import { parseArgs } from "node:util";
import { ANSWERS_SPOKEN, LINES, NO_ANSWERS, SOUNDS, SPEAKERS, sampleOf } from "../test/answer-samples.ts";
import { loadDecoders } from "#src/speech/decoder.ts";
import { createRecogniser } from "#src/speech/index.ts";
import { framesOf, onLine } from "#src/speech/testing.ts";
import { UtteranceRecogniser } from "#src/speech/utterance-recogniser.ts";
import { recogniserDelay } from "./recogniser-delay.ts";
import type { RecognitionResult } from "#src/speech/recognition-result.ts";

const { values } = parseArgs({ options: { speakers: { type: "string", default: "3" } } });
const speakers = Number(values.speakers);
const lines = Object.entries(LINES);

let results: RecognitionResult[] = [];
const recogniser = new UtteranceRecogniser({ ...(await loadDecoders()), onResult: (result) => results.push(result) });

/** What the conversation would make of `samples`: its first result. Whether a frame is speech is judged on the clean audio. */
function outcomeOf(samples: Int16Array<ArrayBuffer>, line: (samples: Int16Array<ArrayBuffer>) => Int16Array): string {
  const flags = framesOf(samples);
  results = [];
  recogniser.listenFor({ id: 1, what: "yes_no", have: 0, lengths: null, testWord: false });
  for (const [at, { frame }] of framesOf(Int16Array.from(line(samples))).entries())
    recogniser.push({ frame, speech: flags[at]?.speech ?? false });
  recogniser.listenFor(null);
  const result = results.find(({ kind }) => kind !== "nothing") ?? { kind: "nothing" };
  if (result.kind === "command") return result.command === "cancel" || result.command === "operator" ? "stop" : "command";
  return result.kind === "nothing" ? "again" : result.kind;
}

const COLUMNS = ["yes", "no", "stop", "command", "again"];
function row(name: string, outcomes: readonly string[]): void {
  const counts = COLUMNS.map((column) => String(outcomes.filter((outcome) => outcome === column).length).padStart(8));
  console.log(`${name.padEnd(36)}${String(outcomes.length).padStart(6)}${counts.join("")}`);
}
const head = (title: string) => console.log(`\n${title.padEnd(36)}   all${COLUMNS.map((column) => column.padStart(8)).join("")}`);

/** Outcomes of `texts` by `count` speakers, each on the line after the last one's, or all on `only`. What was taken for something else than `meant` is named. */
let turn = 0;
function said(texts: readonly string[], meant: string, count: number, only?: string): string[] {
  return texts.flatMap((text) =>
    Array.from({ length: count }, () => {
      const speaker = turn++;
      const name = only ?? Object.keys(LINES)[speaker % lines.length] ?? "clean";
      const outcome = outcomeOf(sampleOf(text, speaker), LINES[name] ?? ((samples) => samples));
      if (outcome !== "again" && outcome !== meant) console.log(`  "${text}" by speaker ${speaker % SPEAKERS.length}, ${name}: ${outcome}`);
      return outcome;
    }),
  );
}

head("answers nothing");
const all: string[] = [];
for (const [kind, texts] of Object.entries(NO_ANSWERS)) {
  const outcomes = said(texts, "again", speakers);
  all.push(...outcomes);
  row(kind, outcomes);
}
const sounds = [...SOUNDS].map(([, sound], at) => outcomeOf(onLine(sound), lines[at % lines.length]?.[1] ?? ((samples) => samples)));
row("no speech", sounds);
row("together", [...all, ...sounds]);

for (const [answer, phrases] of Object.entries(ANSWERS_SPOKEN)) {
  head(`means ${answer}`);
  for (const phrase of phrases) row(phrase, said([phrase], answer, SPEAKERS.length));
  for (const name of Object.keys(LINES)) row(`${phrases[0]}, ${name}`, said([phrases[0]], answer, SPEAKERS.length, name));
}

/** With audio at its real pace, through a worker of the pool. */
const pool = createRecogniser({ ready: 1, max: 1 });
await pool.expectSpeech();
const listener = await pool.acquire();
if (!listener) throw new Error("no listener");
const waits: number[] = [];
for (const speaker of SPEAKERS.keys()) {
  const frames = framesOf(sampleOf(speaker % 2 ? ANSWERS_SPOKEN.no[0] : ANSWERS_SPOKEN.yes[0], speaker));
  const task = { id: speaker, what: "yes_no", have: 0, lengths: null, testWord: true } as const;
  waits.push(await recogniserDelay(listener, task, frames));
  listener.stopListening();
}
await pool.stop();
const sorted = waits.toSorted((a, b) => a - b).map(Math.round);
console.log(
  `\nend of an answer to its result, with a test key: median ${sorted[sorted.length >> 1]} ms, longest ${sorted.at(-1)} ms of ${sorted.length} (500 ms of it silence)`,
);
