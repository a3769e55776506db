import { DIGIT_WORDS, MONTH_WORDS, TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";
import { DIGIT_INSERTION, GROUP_WEIGHT, WORD_INSERTION } from "./acceptor.ts";
import type { Command } from "./recognition-result.ts";

/** Grammars in JSGF (W3C note, 2000), and what their words mean. Every word must stand in `telephone.dict`. */

const any = (words: readonly string[]) => words.filter((word) => word !== "").join(" | ");

/** A grammar in JSGF, and how freely it adds words: the engine's word insertion penalty, a probability. */
export interface Phrases {
  jsgf: string;
  wordInsertion: number;
  beam?: number;
}

const phrases = (wordInsertion: number, ...rules: string[]): Phrases => ({
  jsgf: `#JSGF V1.0;\ngrammar g;\n${rules.map((rule) => `${rule};\n`).join("")}`,
  wordInsertion,
});

const NUMBERS = [
  `<digit> = oh | ${any(DIGIT_WORDS)}`,
  `<unit> = ${any(DIGIT_WORDS.slice(1))}`,
  `<ten> = ${any(TENS_WORDS)}`,
  `<teen> = ${any(TEEN_WORDS)}`,
];

/** Any string of digits, groups included. */
export const DIGITS = phrases(
  DIGIT_INSERTION,
  ...NUMBERS,
  `public <digits> = (/1/ <digit> | /${GROUP_WEIGHT}/ (<teen> | <ten> [<unit>] | (double | triple) <digit>))+`,
);

/** Month and year. Years before 2022 are not listened for: "ten twenty" is the beginning of "ten twenty nine". */
export const EXPIRY = phrases(
  WORD_INSERTION,
  ...NUMBERS,
  `<month> = (oh | zero) <unit> | <unit> | ten | eleven | twelve | one (zero | oh | one | two) | ${any(MONTH_WORDS)}`,
  `<twenties> = twenty (${any(DIGIT_WORDS.slice(2))})`,
  `<later> = (thirty | forty) [<unit>]`,
  `<single> = (two | three | four) <digit>`,
  `<year> = [twenty | two (zero | oh) | two thousand [and]] (<twenties> | <later> | <single>)`,
  `public <expiry> = <month> [slash | of] <year>`,
);

const YES_WORDS = ["yes", "yeah", "yep", "yup", "correct", "right", "sure", "okay"] as const;
const NO_WORDS = ["no", "nope", "nah", "wrong", "incorrect"] as const;

export const TEST_WORD = "mango";

export const COMMANDS: Readonly<Record<string, Command>> = {
  repeat: "repeat",
  "say again": "repeat",
  "say it again": "repeat",
  help: "help",
  "go back": "back",
  cancel: "cancel",
  operator: "operator",
};

/** Words as near to the test word as English has them, and every phone: without rivals a grammar hears its keyword in everything. */
const NEAR_WORDS = ["mangoes", "mang", "mangle", "manga", "tango", "bingo", "mongoose", "cargo", "man"];
/** How `telephone.dict` names words of a single phone. */
const PHONE = "ph-";
export const PHONES = "aa ae ah ao aw ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th uh uw v w y z zh"
  .split(" ")
  .map((phone) => `${PHONE}${phone}`);

/** A loop over keywords and fillers. Weights stand in one list of alternatives, because the engine normalises them list by list. */
function spotter(keywords: readonly string[], fillers: readonly string[]): Phrases {
  const weighted = [...keywords.map((word) => `/1/ ${word}`), ...fillers.map((word) => `/0.1/ ${word}`)];
  return phrases(WORD_INSERTION, `public <speech> = (${weighted.join(" | ")})+`);
}

export const SPOT_TEST_WORD = spotter([TEST_WORD], [...NEAR_WORDS, ...PHONES]);
/** Ordinary answers stand beside the commands: "nope" is not "help". */
export const SPOT_COMMAND = spotter(
  [...Object.keys(COMMANDS).map((phrase) => `(${phrase})`), "oh", ...DIGIT_WORDS, ...MONTH_WORDS, ...YES_WORDS, ...NO_WORDS, "please"],
  PHONES,
);

/** Breath and line noise around a command, in phones. */
const NOISES = 3;

/** The command that these words are, politeness and noise aside; a command inside a longer sentence is none. */
export function commandOf(words: readonly string[]): Command | null {
  const noises = words.filter((word) => word.startsWith(PHONE));
  if (noises.length > NOISES) return null;
  return COMMANDS[words.filter((word) => word !== "please" && !word.startsWith(PHONE)).join(" ")] ?? null;
}
