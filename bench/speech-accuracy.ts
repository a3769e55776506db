/**
 * What the recogniser understands, and how long it takes: npm run bench -- speech-accuracy [--all]
 *
 * Flite's four voices at several rates read card numbers, dates and the rest over a telephone line: clean, with 3 % of the 20 ms frames
 * lost, and under pink noise of 20 dB. All of it goes through the same recogniser as a call's audio. `--all` takes three times as long.
 *
 * right     utterances recognised exactly
 * accepted  utterances the service would take without asking again
 * wrong     of those, the ones that were not what was said
 * load      seconds of work for a second of audio, pauses included
 *
 * The anchor is docs/decisions/0012 (flite voices, clean / 3 % loss / pink noise 20 dB; its own corpus). The voices are synthetic: read the
 * figures as a comparison between versions, not as a forecast for people.
 */
import { encodeUlaw } from "#src/kernel/g711.ts";
import { loadDecoders } from "#src/speech/decoder.ts";
import { UtteranceRecogniser } from "#src/speech/utterance-recogniser.ts";
import type { FliteVoice } from "#src/speech/flite.ts";
import type { RecognitionResult, ListenFor } from "#src/speech/recognition-result.ts";
import { recogniserDelay } from "./recogniser-delay.ts";
import { createRecogniser } from "#src/speech/index.ts";
import { framesOf, utteranceOf } from "#src/speech/testing.ts";
import { DIGIT_WORDS, MONTH_WORDS, TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";

const SIZE = process.argv.includes("--all") ? 3 : 1;

let seed = 20;
const fraction = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return seed / 0x8000_0000;
};
const below = (count: number) => Math.floor(fraction() * count);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const digits = (count: number) => Array.from({ length: count }, () => below(10));

const word = (digit: number) => (digit === 0 ? pick(["zero", "oh"]) : (DIGIT_WORDS[digit] ?? ""));
const read = (list: readonly number[]) => list.map(word).join(" ");
function readPair(tens: number, units: number): string {
  if (tens === 0) return read([tens, units]);
  if (tens === 1) return TEEN_WORDS[units] ?? "";
  return `${TENS_WORDS[tens]} ${units === 0 ? "" : DIGIT_WORDS[units]}`.trim();
}

function luhn(number: readonly number[]): number {
  return number.toReversed().reduce((sum, digit, at) => sum + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0) % 10;
}

function card(length: 15 | 16): number[] {
  for (;;) {
    const number = digits(length);
    number[0] = length === 15 ? 3 : pick([2, 4, 4, 5, 6]);
    if (luhn(number) === 0) return number;
  }
}

const groupsOf = (number: readonly number[]) =>
  (number.length === 15 ? [0, 4, 10, 15] : [0, 4, 8, 12, 16]).map((at, index, all) => number.slice(at, all[index + 1])).slice(0, -1);

interface Sample {
  what: ListenFor;
  text: string;
  /** What must be recognised. */
  said: string;
  testWord?: boolean;
}

/** Steps of the conversation, each with its generator and how many utterances. */
const STEPS: Readonly<Record<string, { count: number; anchor: string; make: (this: void, index: number) => Sample }>> = {
  "card, digit by digit": {
    count: 9,
    anchor: "97 / 97 / 83 %, accepted 97 / 94 / 86 %",
    make(index) {
      const number = card(index % 4 === 3 ? 15 : 16);
      return { what: "number", text: index % 2 ? groupsOf(number).map(read).join(", ") : read(number), said: number.join("") };
    },
  },
  "card, in pairs": {
    count: 4,
    anchor: "-",
    make() {
      const number = card(16);
      const pairs = groupsOf(number).map(([a = 0, b = 0, c = 0, d = 0]) =>
        a === b ? `double ${word(a)} ${read([c, d])}` : `${readPair(a, b)} ${readPair(c, d)}`,
      );
      return { what: "number", text: pairs.join(", "), said: number.join("") };
    },
  },
  "card that fails Luhn": {
    count: 4,
    anchor: "-",
    make() {
      const number = card(16);
      const at = below(16);
      number[at] = ((number[at] ?? 0) + 1 + below(8)) % 10;
      return { what: "number", text: groupsOf(number).map(read).join(", "), said: number.join("") };
    },
  },
  "part of a card": {
    count: 4,
    anchor: "-",
    make() {
      const part = digits(pick([4, 6, 8]));
      return { what: "number", text: read(part), said: part.join("") };
    },
  },
  expiry: {
    count: 8,
    anchor: "92 / 92 / 58 %",
    make(index) {
      const month = 1 + below(12);
      const year = 26 + below(9);
      const two = (value: number) => [Math.floor(value / 10), value % 10];
      const spoken = readPair(Math.floor(year / 10), year % 10);
      const number = month < 10 ? `${pick(["oh", "zero"])} ${DIGIT_WORDS[month]}` : (TEEN_WORDS[month - 10] ?? "");
      const text = [
        `${number} ${spoken}`,
        `${MONTH_WORDS[month - 1]} twenty ${spoken}`,
        `${number} slash ${spoken}`,
        read([...two(month), ...two(year)]),
        read([...two(month), 2, 0, ...two(year)]),
        `${MONTH_WORDS[month - 1]} ${spoken}`,
      ][index % 6];
      return { what: "expiry", text: text ?? "", said: `${month}/20${year}` };
    },
  },
  "security code": {
    count: 8,
    anchor: "96 / 96 / 58 %",
    make(index) {
      const code = digits(index % 3 === 2 ? 4 : 3);
      return { what: "cvv", text: read(code), said: code.join("") };
    },
  },
  ZIP: {
    count: 8,
    anchor: "96 / 92 / 54 %",
    make() {
      const zip = digits(5);
      return { what: "zip", text: read(zip), said: zip.join("") };
    },
  },
  "yes or no": {
    count: 8,
    anchor: "100 / 96 / 88 %",
    make(index) {
      const yes = index % 2 === 0;
      const text = pick(
        yes
          ? ["yes", "yeah", "yep", "correct", "right", "that's right", "yes it is"]
          : ["no", "nope", "wrong", "no that's wrong", "not correct"],
      );
      return { what: "yes_no", text, said: yes ? "yes" : "no" };
    },
  },
  "test word": {
    count: 9,
    anchor: "96 / 93 / 75 % (with near words)",
    make(index) {
      const near = [
        "mangoes",
        "mang",
        "man go",
        "mongoose",
        "tango",
        "manga",
        "mangle",
        "cargo",
        "yes",
        "four two four",
        "march thirty",
        "no",
      ];
      const text = index % 2 === 0 ? "mango" : (near[(index >> 1) % near.length] ?? "");
      return { what: pick(["number", "cvv", "yes_no"]), text, said: index % 2 === 0 ? "mango" : "", testWord: true };
    },
  },
};

const VOICES: readonly [FliteVoice, number][] = [
  ["slt", 1],
  ["rms", 1],
  ["awb", 1.1],
  ["kal16", 1],
  ["rms", 0.9],
  ["slt", 1.2],
  ["kal16", 1.15],
  ["awb", 1],
];

/** Noise whose power falls by 3 dB an octave: the sum of random walks renewed at halving rates (Voss and McCartney). */
function pinkNoise(length: number): Float64Array {
  const rows = Array.from({ length: 12 }, fraction);
  return Float64Array.from({ length }, (_, at) => {
    rows[Math.clz32(at & -at || 1) ^ 31] = fraction();
    return rows.reduce((sum, row) => sum + row, 0) + fraction() - (rows.length + 1) / 2;
  });
}

const power = (samples: ArrayLike<number>) => Array.from(samples).reduce((sum, sample) => sum + sample * sample, 0) / samples.length;

const CONDITIONS: Readonly<Record<string, (samples: Int16Array) => Int16Array>> = {
  clean: (samples) => samples,
  "3 % loss": (samples) => {
    const damaged = samples.slice();
    for (let at = 0; at < damaged.length; at += 160) if (fraction() < 0.03) damaged.fill(0, at, at + 160);
    return damaged;
  },
  "pink 20 dB": (samples) => {
    const noise = pinkNoise(samples.length);
    const gain = Math.sqrt(power(samples.filter((sample) => Math.abs(sample) > 100)) / power(noise) / 100);
    return samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, Math.round(sample + (noise[at] ?? 0) * gain))));
  },
};

function textOf(result: RecognitionResult): string {
  if (result.kind === "digits") return result.digits.join("");
  if (result.kind === "expiry") return `${result.month}/${result.year}`;
  return result.kind === "test_word" ? "mango" : result.kind;
}
const isTaken = (result: RecognitionResult) => result.kind !== "nothing" && !("certain" in result && !result.certain);

let results: RecognitionResult[] = [];
const utteranceRecogniser = new UtteranceRecogniser({ ...(await loadDecoders()), onResult: (result) => results.push(result) });

console.log("step                   condition   right      accepted   wrong  load   anchor: right at clean / loss / pink");
for (const [step, { count, anchor, make }] of Object.entries(STEPS)) {
  const samples = Array.from({ length: count * SIZE }, (_, index) => {
    const sample = make(index);
    const [voice, stretch] = VOICES[index % VOICES.length] ?? ["rms", 1];
    return { ...sample, audio: utteranceOf(sample.text, { voice, stretch }) };
  });
  for (const [condition, damage] of Object.entries(CONDITIONS)) {
    let right = 0;
    let accepted = 0;
    let wrong = 0;
    let worked = 0;
    let audioMs = 0;
    for (const { what, said, testWord = false, audio } of samples) {
      // Whether it is speech is judged on the clean audio: the detector is measured elsewhere.
      const flags = framesOf(audio).map(({ speech }) => speech);
      const damaged = damage(audio);
      results = [];
      utteranceRecogniser.listenFor(null);
      utteranceRecogniser.listenFor({ id: 1, what, have: 0, lengths: null, testWord });
      const start = performance.now();
      for (const [at, speech] of flags.entries())
        utteranceRecogniser.push({ frame: encodeUlaw(damaged.subarray(at * 160, at * 160 + 160)), speech });
      worked += performance.now() - start;
      audioMs += flags.length * 20;
      const isTestWord = results.some(({ kind }) => kind === "test_word");
      const recognised = testWord ? (isTestWord ? "mango" : "") : results.map(textOf).join(" ");
      const taken = testWord ? isTestWord : results.length > 0 && results.every(isTaken);
      if (recognised === said) right++;
      if (taken) accepted++;
      if (taken && (recognised !== said || step.includes("fails"))) wrong++;
    }
    const share = (part: number) => `${Math.round((100 * part) / samples.length)} %`.padEnd(6);
    console.log(
      `${step.padEnd(23)}${condition.padEnd(12)}${String(right).padStart(3)} ${share(right)} ${String(accepted).padStart(3)} ${share(accepted)} ${String(wrong).padStart(3)}    ${(worked / audioMs).toFixed(3)}  ${condition === "clean" ? anchor : ""}`,
    );
  }
}

/** A pool of two, and the time from the end of speech to the result with audio at its real pace. */
const before = process.memoryUsage().rss;
const started = performance.now();
const recogniser = createRecogniser({ size: 2 });
await recogniser.start();
console.log(
  `\npool of 2: ready in ${Math.round(performance.now() - started)} ms, ${Math.round((process.memoryUsage().rss - before) / 2 / 1e6)} MB a worker`,
);
const listener = await recogniser.acquire();
if (!listener) throw new Error("no listener");
const waits: number[] = [];
for (let round = 0; round < 3; round++) {
  const frames = framesOf(utteranceOf(groupsOf(card(16)).map(read).join(", "), { voice: "kal16", afterMs: 1_500 }));
  waits.push(await recogniserDelay(listener, { id: 1, what: "number", have: 0, lengths: null, testWord: false }, frames));
}
console.log(
  `end of a spoken 16-digit number to its result: ${waits.map((wait) => `${Math.round(wait)} ms`).join(", ")} (anchor: 500 ms of silence)`,
);
console.log(`after them the worker of that call: ${Math.round((process.memoryUsage().rss - before) / 1e6)} MB for the pool`);
await recogniser.stop();
