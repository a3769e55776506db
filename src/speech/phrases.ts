import type { Command } from "#src/kernel/language.ts";
import { DIGIT_WORDS, MONTH_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";
import { AFTER_OH, type Acceptor, PAUSE, PRELUDE_WEIGHT, RARE_FILLER_WEIGHT, type Row, tableAcceptor } from "./acceptor.ts";
import { byLeftContext } from "./left-context.ts";
import { DATE_PRELUDE, NUMBER_PRELUDE } from "./prelude.ts";
import { type Expiry, expiryOf } from "./spoken-numbers.ts";

/** Grammars of dates, commands and the test word, and what their words mean. Every word must stand in `telephone.dict`. */

const isWord = (word: string) => word !== "";
const UNITS = DIGIT_WORDS.slice(1);
const DIGITS = ["oh", ...DIGIT_WORDS];
const MONTH_NUMBERS = ["ten", "eleven", "twelve"];
const after = (firsts: readonly string[], seconds: readonly string[]) =>
  firsts.flatMap((first) => seconds.map((second) => `${first} ${second}`));
const CENTURIES = ["", "twenty", "two zero", "two oh", "two thousand", "two thousand and"];
/** How much likelier a date is than one that was broken off. */
const BROKEN_WEIGHT = 0.01;

const MONTHS = [
  ...UNITS,
  ...MONTH_NUMBERS,
  ...after(["oh", "zero"], UNITS),
  ...UNITS.map((unit) => AFTER_OH + unit),
  ...after(["one"], ["zero", "oh", "one", "two"]),
];
const YEARS = [
  ...after(["twenty", "two"], DIGIT_WORDS.slice(2)),
  ...after(["three", "four"], DIGITS),
  "thirty",
  "forty",
  ...after(["thirty", "forty"], UNITS),
];

const dateOf = (text: string) => expiryOf(text.split(/[ _]/));

/** What a year begins with; by itself no year is over. */
const YEAR_BEGINNINGS = ["twenty", "two", "three", "four"];

/**
 * Month and year, all but `except`, or `only` this one, or the beginning of a date, which would else be heard as a whole one: "august twenty" was
 * August 2028. Years before 2022 are not listened for: "ten twenty" is the beginning of "ten twenty nine", and "nine two oh" sounds like "mango".
 */
export function expiryAcceptor({ except, only }: { except?: Expiry; only?: Expiry } = {}): Acceptor {
  const one = except ?? only;
  const isItsMonth = (month: string) => dateOf(`${month} thirty`)?.month === one?.month;
  const isItsYear = (year: string) => dateOf(`march ${year}`)?.year === one?.year;
  // The months of one kind of words lead to any year, that of `except` to any but its own.
  const rows = (kind: string, months: readonly string[], between: readonly string[]): Row[] =>
    (only ? [true] : [false, true]).flatMap((isItsOwn): Row[] => {
      const state = isItsOwn ? `${kind} of the one` : kind;
      return [
        ["date", state, months.filter((month) => isItsMonth(month) === isItsOwn)],
        [state, state, between],
        [state, isItsOwn ? "year of the one" : "year", CENTURIES],
        ...(only ? [] : [[state, "end", CENTURIES] as const]),
      ];
    });
  return byLeftContext(
    tableAcceptor([
      ["start", "start", DATE_PRELUDE.fillers, PRELUDE_WEIGHT],
      ["start", "start", DATE_PRELUDE.rareFillers, RARE_FILLER_WEIGHT],
      ["start", "date", DATE_PRELUDE.introductions, PRELUDE_WEIGHT],
      ["start", "date", [""]],
      ["start", "broken", [...DIGITS, ...MONTH_NUMBERS, ...MONTH_WORDS, "twenty", "thirty"], BROKEN_WEIGHT],
      ["broken", "broken", [...DIGITS, ...TENS_WORDS.filter(isWord), "slash"]],
      ["broken", "start", DATE_PRELUDE.corrections],
      ["broken", "paused", [PAUSE.word], PAUSE.weight],
      ["paused", "start", DATE_PRELUDE.correctionsAfterPause],
      // "Of" comes after a name alone: after "one" it would be heard in place of "oh". "Slash" comes after a number alone: "two slash" was "june slash".
      ...rows("name", MONTH_WORDS, ["of"]),
      ...rows("month", MONTHS, ["slash"]),
      ["year", "end", [...YEARS, ...YEAR_BEGINNINGS]],
      ["year of the one", "end", YEARS.filter((year) => isItsYear(year) === (only !== undefined))],
      ...(only ? [] : [["year of the one", "end", YEAR_BEGINNINGS] as const]),
    ]),
  );
}

export const EXPIRY = expiryAcceptor();

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

/** Each command, alone and with a "please". */
export const COMMAND_PHRASES: readonly string[] = Object.keys(COMMANDS).flatMap((command) => [command, `${command} please`]);

/** Words as near to the test word as English has them, and every phone: without alternatives a grammar finds its keyword in everything. */
const NEAR_WORDS = ["mangoes", "mang", "mangle", "manga", "tango", "bingo", "mongoose", "cargo", "man"];
/** How `telephone.dict` names words of a single phone. */
const PHONE = "ph-";
export const PHONES = "aa ae ah ao aw ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th uh uw v w y z zh"
  .split(" ")
  .map((phone) => `${PHONE}${phone}`);

/** How much likelier a keyword is than a filler: without it a long one is heard in phones. */
const FILLER_WEIGHT = 0.7;
/** About one in six. */
const KEYWORD_WEIGHT = 0.77;

/** A loop over keywords and fillers, each as one of so many. */
function spotter(keywords: readonly string[], fillers: readonly string[]): Acceptor {
  return byLeftContext(
    tableAcceptor([
      ["start", "loop", keywords, KEYWORD_WEIGHT],
      ["loop", "loop", keywords, KEYWORD_WEIGHT],
      ["start", "loop", fillers, KEYWORD_WEIGHT * FILLER_WEIGHT],
      ["loop", "loop", fillers, KEYWORD_WEIGHT * FILLER_WEIGHT],
      ["loop", "end", [""]],
    ]),
  );
}

/** The test word as callers answer with it. */
export const TEST_WORD_ANSWER = byLeftContext(
  tableAcceptor([
    ["start", "start", [...NUMBER_PRELUDE.fillers, ...NUMBER_PRELUDE.rareFillers], PRELUDE_WEIGHT],
    ["start", "word", NUMBER_PRELUDE.introductions, PRELUDE_WEIGHT],
    ["start", "word", [""]],
    ["word", "end", [TEST_WORD, `${TEST_WORD} please`]],
  ]),
);

export const SPOT_TEST_WORD = spotter([TEST_WORD], [...NEAR_WORDS, ...PHONES]);
/** Ordinary answers stand beside the commands: "nope" is not "help". */
export const SPOT_COMMAND = spotter(
  [...Object.keys(COMMANDS), "oh", ...DIGIT_WORDS, ...MONTH_WORDS, ...YES_WORDS, ...NO_WORDS, "please"],
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
