/**
 * What the recogniser understands at the first utterance: npm run bench -- speech [--quick] [--fields number,ZIP] [--seed 6]
 *
 * Card numbers, expiry dates, security codes, ZIP codes and the test word, in the ways that callers say them, by ten speakers in five
 * synthetic voices; on a clean line, with 3 % of the 20 ms frames lost, and in pink noise of 20 dB. All of it goes through the voice
 * activity detector and the recogniser that a call's audio goes through, and what comes out is joined as the conversation does.
 *
 * right   taken, and what was said
 * again   asked again: doubtful, or refused by the conversation, as a date in the past is
 * wrong   taken, and not what was said: each is named below the table
 *
 * Each cell reads right/again/wrong. `--quick`: three utterances a cell in place of ten. `--again` names those asked again too.
 * Thresholds were chosen on seeds 1 to 5; the figures to judge by are those of other seeds, 6 unless it is given.
 *
 * The voices are synthetic: read the figures as a comparison between versions, not as a forecast for people. How long callers wait:
 * `npm run bench -- speech-delay`.
 */
import { parseArgs } from "node:util";
import { Cell, isCompleteNumber, isUnexpired } from "#src/kernel/card.ts";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { loadVoiceActivity } from "#src/media/voice-activity.ts";
import { SPEAKERS } from "../test/answer-samples.ts";
import { loadDecoders } from "#src/speech/decoder.ts";
import type { ListenFor, RecognitionResult } from "#src/speech/recognition-result.ts";
import { framesOf } from "#src/speech/testing.ts";
import { createVerifier, verifyingBy } from "#src/speech/verifier-thread.ts";
import { UtteranceRecogniser } from "#src/speech/utterance-recogniser.ts";
import { type Chance, FIELD_FORMS, type FieldSample, chanceOf } from "./field-samples.ts";
import { audioOf } from "./field-audio.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    fields: { type: "string" },
    forms: { type: "string" },
    lines: { type: "string" },
    count: { type: "string" },
    seed: { type: "string", default: "6" },
  },
});
const COUNT = Number(values.count ?? (values.quick ? 3 : SPEAKERS.length));
const isChosen = (list: string | undefined, name: string) => list === undefined || list.split(",").includes(name);

/** When the cards of the corpus are paid with: none of them has expired. */
const TODAY = Date.UTC(2026, 0, 1);

/** Noise whose power falls by 3 dB an octave: the sum of random walks renewed at halving rates (Voss and McCartney). */
function pinkNoise(length: number, chance: Chance): Float64Array {
  const rows = Array.from({ length: 12 }, () => chance.fraction());
  return Float64Array.from({ length }, (_, at) => {
    rows[Math.clz32(at & -at || 1) ^ 31] = chance.fraction();
    return rows.reduce((sum, row) => sum + row, 0) + chance.fraction() - (rows.length + 1) / 2;
  });
}

const power = (samples: ArrayLike<number>) => Array.from(samples).reduce((sum, sample) => sum + sample * sample, 0) / samples.length;

type Line = (samples: Int16Array<ArrayBuffer>, chance: Chance) => Int16Array<ArrayBuffer>;
const LINES: Readonly<Record<string, Line>> = {
  clean: (samples) => samples,
  "3 % loss": (samples, chance) => {
    const damaged = samples.slice();
    for (let at = 0; at < damaged.length; at += 160) if (chance.fraction() < 0.03) damaged.fill(0, at, at + 160);
    return damaged;
  },
  "pink 20 dB": (samples, chance) => {
    const noise = pinkNoise(samples.length, chance);
    const gain = Math.sqrt(power(samples.filter((sample) => Math.abs(sample) > 100)) / power(noise) / 100);
    return samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, Math.round(sample + (noise[at] ?? 0) * gain))));
  },
};

let onResult: (result: RecognitionResult) => void = () => {};
const verifier = createVerifier();
const decoders = await loadDecoders(verifyingBy(verifier.connect()));
await verifier.start();
const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => onResult(result) });
const createDetector = await loadVoiceActivity();

interface Outcome {
  kind: "right" | "again" | "wrong";
  recognised: string;
}

/** What the conversation would have at the first utterance: parts are joined, and doubt at any of them is asked about. */
function outcomeOf({ what, said, lengths }: FieldSample, samples: Int16Array): Outcome {
  let taken = "";
  let isOver = false;
  let doubted = "";
  let have = 0;
  const listen = () => recogniser.listenFor({ id: 1, what, have, lengths, testWord: true });
  onResult = (result) => {
    if (isOver) return;
    if (result.kind === "digits" && result.certain && !result.final) {
      taken += result.digits.join("");
      have += result.digits.length;
      return listen();
    }
    if (result.kind === "nothing" && have > 0) return;
    isOver = true;
    const text = textOf(result);
    const isTaken = result.kind !== "nothing" && !("certain" in result && !result.certain);
    const whole = taken + text;
    if (isTaken && isAccepted(what, result, whole)) taken = whole;
    else [taken, doubted] = ["", whole];
  };
  recogniser.listenFor(null);
  listen();
  const detector = createDetector();
  for (const { frame } of framesOf(samples)) recogniser.push({ frame, speech: detector.isSpeech(decodeUlaw(frame)) });
  detector.free();
  recogniser.listenFor(null);
  if (!isOver || taken === "") return { kind: said === "" ? "right" : "again", recognised: isOver ? `(${doubted})` : `${taken}...` };
  // A command, or digits of no card, are no answer of the field: the conversation goes on.
  const isAnswer = /^[\d/]+$|^mango$/.test(taken);
  if (taken === said) return { kind: "right", recognised: taken };
  if (said === "" && (!isAnswer || taken !== "mango") && what === "number" && taken.length < 12)
    return { kind: "right", recognised: taken };
  return { kind: "wrong", recognised: taken };
}

/** The conversation checks a number and a date before it takes them: what fails is asked again. */
function isAccepted(what: ListenFor, result: RecognitionResult, whole: string): boolean {
  if (result.kind === "expiry") return isUnexpired(result.month, result.year, TODAY);
  return what !== "number" || result.kind !== "digits" || isCompleteNumber(Cell.from(Array.from(whole, Number)));
}

function textOf(result: RecognitionResult): string {
  if (result.kind === "digits") return result.digits.join("");
  if (result.kind === "expiry") return `${result.month}/${result.year}`;
  if (result.kind === "command") return result.command;
  return result.kind === "test_word" ? "mango" : "";
}

const choices = {
  fields: Object.keys(FIELD_FORMS),
  forms: Object.values(FIELD_FORMS).flatMap((forms) => Object.keys(forms)),
  lines: Object.keys(LINES),
} as const;
for (const [option, there] of Object.entries(choices)) {
  const unknown = values[option as keyof typeof choices]?.split(",").find((name) => !there.includes(name));
  if (unknown === undefined) continue;
  console.error(`--${option}: there is no "${unknown}"; there are ${[...new Set(there)].join(", ")}.`);
  process.exit(1);
}

const names: string[] = [];
const cell = (outcomes: readonly Outcome[]) =>
  (["right", "again", "wrong"] as const).map((kind) => String(outcomes.filter((outcome) => outcome.kind === kind).length)).join("/");

let workedMs = 0;
let audioMs = 0;
console.log(
  `${"field".padEnd(12)}${"form".padEnd(20)}${Object.keys(LINES)
    .map((line) => line.padEnd(14))
    .join("")}`,
);
for (const [field, forms] of Object.entries(FIELD_FORMS)) {
  if (!isChosen(values.fields, field)) continue;
  const totals: Record<string, Outcome[]> = {};
  for (const [form, make] of Object.entries(forms)) {
    if (!isChosen(values.forms, form)) continue;
    // Each form has the same utterances whatever else is measured.
    const seed = Array.from(`${field} ${form}`).reduce(
      (sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0,
      Number(values.seed) * 1_000_003,
    );
    const chance = chanceOf(seed);
    const samples = Array.from({ length: COUNT }, (_, speaker) => {
      const sample = make(chance);
      return { sample, speaker, audio: audioOf(sample, speaker + Number(values.seed)) };
    });
    const cells = Object.entries(LINES).map(([line, damage]) => {
      if (!isChosen(values.lines, line)) return "".padEnd(14);
      const outcomes = samples.map(({ sample, speaker, audio }) => {
        const damaged = damage(audio, chanceOf(seed + speaker));
        const start = performance.now();
        const outcome = outcomeOf(sample, damaged);
        workedMs += performance.now() - start;
        audioMs += audio.length / 8;
        if (outcome.kind === "wrong" || (values.again && outcome.kind === "again"))
          names.push(
            `${outcome.kind} ${field}, ${form}, ${line}, speaker ${(speaker + Number(values.seed)) % SPEAKERS.length}: "${sample.stretches.join(" ... ")}" ${sample.said} heard ${outcome.recognised}`,
          );
        return outcome;
      });
      (totals[line] ??= []).push(...outcomes);
      return cell(outcomes).padEnd(14);
    });
    console.log(`${field.padEnd(12)}${form.padEnd(20)}${cells.join("")}`);
  }
  console.log(
    `${field.padEnd(12)}${"together".padEnd(20)}${Object.keys(LINES)
      .map((line) => cell(totals[line] ?? []).padEnd(14))
      .join("")}`,
  );
}
for (const name of names) console.log(name);
console.log(`${(workedMs / audioMs).toFixed(3)} seconds of work for a second of audio, pauses included`);
await verifier.stop();
