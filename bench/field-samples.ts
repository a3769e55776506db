import { holdsLuhn } from "#src/kernel/card.ts";
import { DIGIT_WORDS, MONTH_WORDS, tensInWords } from "#src/kernel/number-words.ts";
import type { ListenFor } from "#src/speech/recognition-result.ts";

/** What callers say when a field is asked for, in the ways that they say it: for measurements. Reproducible by its seed. */

/** Evenly spread numbers of a seed. */
export interface Chance {
  /** 0 to 1. */
  fraction(): number;
  /** 0 to `count` - 1. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T;
  digits(count: number): number[];
}

export function chanceOf(seed: number): Chance {
  const fraction = () => {
    seed = (seed + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(fraction() * count);
  return {
    fraction,
    below,
    pick: (list) => list[below(list.length)] as never,
    digits: (count) => Array.from({ length: count }, () => below(10)),
  };
}

/** An utterance: stretches of speech, `gapMs` of silence between them. */
export interface FieldSample {
  what: ListenFor;
  stretches: readonly string[];
  gapMs: number;
  /** What it means: digits, month/year, "mango"; empty: nothing that may be taken. */
  said: string;
  /** Digits that the conversation knows the answer to have; null for those of the question. */
  lengths: readonly number[] | null;
}

/** Pause of a caller who reads group by group, longer than most sentences have. */
const SLOW_MS = 1_200;
const NO_GAP = 0;
const RESTART_MS = 300;
const LEAD_INS = ["it's", "my number is", "um", "okay", "okay it's", "the number is", "yes it's", "it is", "sure it's", "um it's"];
const CORRECTIONS = ["no wait", "sorry", "no sorry", "wait", "let me start over", "oh sorry"];

const luhn = (number: readonly number[]) => holdsLuhn(number.length, (fromEnd) => number.at(-fromEnd)!);

function card(chance: Chance): number[] {
  const length = chance.below(5) === 0 ? 15 : 16;
  for (;;) {
    const number = chance.digits(length);
    if (length === 15) number.splice(0, 2, 3, chance.pick([4, 7]));
    else
      number.splice(
        0,
        2,
        ...chance.pick([
          [4, number[1] ?? 0],
          [4, number[1] ?? 0],
          [5, 1 + ((number[1] ?? 0) % 5)],
          [2, 2 + ((number[1] ?? 0) % 5)],
          [6, 5],
        ]),
      );
    if (luhn(number)) return number;
  }
}

/** Gives each group of four of a card a doubled digit, and the card its check digit. */
function cardWithDoubles(chance: Chance): number[] {
  for (;;) {
    const number = card(chance);
    for (const at of [4, 8]) number[at + 1] = number[at] ?? 0;
    if (luhn(number)) return number;
  }
}

const groupsOf = (number: readonly number[]): number[][] =>
  (number.length === 15 ? [0, 4, 10] : number.length === 16 ? [0, 4, 8, 12] : number.length === 5 ? [0, 3] : [0]).map((at, index, all) =>
    number.slice(at, all[index + 1]),
  );

function word(chance: Chance, digit: number): string {
  return digit === 0 ? chance.pick(["zero", "oh"]) : (DIGIT_WORDS[digit] ?? "");
}
const read = (chance: Chance, digits: readonly number[]) => digits.map((digit) => word(chance, digit)).join(" ");

function inPairs(chance: Chance, digits: readonly number[]): string {
  const words: string[] = [];
  for (let at = digits.length % 2; at < digits.length; at += 2) {
    const [tens = 0, units = 0] = digits.slice(at, at + 2);
    words.push(tens === 0 ? read(chance, [tens, units]) : tensInWords(tens * 10 + units));
  }
  return [...digits.slice(0, digits.length % 2).map((digit) => word(chance, digit)), ...words].join(" ");
}

function withDoubles(chance: Chance, digits: readonly number[]): string {
  const words: string[] = [];
  for (let at = 0; at < digits.length; at++) {
    const repeats = digits[at] === digits[at + 1];
    words.push(repeats ? `double ${word(chance, digits[at] ?? 0)}` : word(chance, digits[at] ?? 0));
    if (repeats) at++;
  }
  return words.join(" ");
}

type Spoken = Pick<FieldSample, "stretches"> & Partial<Pick<FieldSample, "gapMs">>;

/** Ways to say digits. `groups`: read group by group. */
const FORMS: Readonly<Record<string, (chance: Chance, digits: readonly number[]) => Spoken>> = {
  groups: (chance, digits) => ({
    stretches: [
      groupsOf(digits)
        .map((group) => read(chance, group))
        .join(", "),
    ],
  }),
  "one run": (chance, digits) => ({ stretches: [read(chance, digits)] }),
  pairs: (chance, digits) => ({
    stretches: [
      groupsOf(digits)
        .map((group) => inPairs(chance, group))
        .join(", "),
    ],
  }),
  doubles: (chance, digits) => ({
    stretches: [
      groupsOf(digits)
        .map((group) => withDoubles(chance, group))
        .join(", "),
    ],
  }),
  "lead-in": (chance, digits) => ({
    stretches: [
      `${chance.pick(LEAD_INS)} ${groupsOf(digits)
        .map((group) => read(chance, group))
        .join(", ")}`,
    ],
  }),
  restarted: (chance, digits) => {
    const wrong = digits.slice(0, Math.max(1, Math.min(6, digits.length - 1)));
    wrong[wrong.length - 1] = ((wrong.at(-1) ?? 0) + 1 + chance.below(8)) % 10;
    return {
      stretches: [
        read(chance, wrong),
        chance.pick(CORRECTIONS),
        groupsOf(digits)
          .map((group) => read(chance, group))
          .join(", "),
      ],
      gapMs: RESTART_MS,
    };
  },
  "slow groups": (chance, digits) => ({
    stretches: (digits.length > 4 ? groupsOf(digits) : [digits.slice(0, -1), digits.slice(-1)]).map((group) => read(chance, group)),
    gapMs: SLOW_MS,
  }),
};

const two = (value: number) => [Math.floor(value / 10), value % 10];

/** Ways to say an expiry date. */
const DATES: Readonly<Record<string, (chance: Chance, month: number, year: number) => Spoken>> = {
  numbers: (chance, month, year) => ({
    stretches: [`${month < 10 ? `${chance.pick(["oh", "zero"])} ${DIGIT_WORDS[month]}` : tensInWords(month)} ${tensInWords(year)}`],
  }),
  "month by name": (chance, month, year) => ({
    stretches: [`${MONTH_WORDS[month - 1]} ${chance.pick(["", "twenty "])}${tensInWords(year)}`],
  }),
  slash: (_, month, year) => ({ stretches: [`${tensInWords(month)} slash ${tensInWords(year)}`] }),
  "digit by digit": (chance, month, year) => ({ stretches: [read(chance, [...two(month), ...chance.pick([[], [2, 0]]), ...two(year)])] }),
  "lead-in": (chance, month, year) => ({
    stretches: [
      `${chance.pick(["it's", "it expires in", "expires", "um", "okay", "it's", "the date is"])} ${MONTH_WORDS[month - 1]} twenty ${tensInWords(year)}`,
    ],
  }),
  restarted: (chance, month, year) => ({
    stretches: [
      MONTH_WORDS[(month + chance.below(10)) % 12] ?? "",
      chance.pick(CORRECTIONS),
      `${MONTH_WORDS[month - 1]} twenty ${tensInWords(year)}`,
    ],
    gapMs: RESTART_MS,
  }),
  slow: (_, month, year) => ({ stretches: [MONTH_WORDS[month - 1] ?? "", `twenty ${tensInWords(year)}`], gapMs: SLOW_MS }),
  "slow year": (_, month, year) => ({ stretches: [`${MONTH_WORDS[month - 1]} twenty`, tensInWords(year)], gapMs: SLOW_MS }),
};

/** Not the test word. */
const NEAR_WORDS =
  "mangoes, mang, mongoose, tango, manga, mangle, cargo, bingo, domingo, man go home, let me go, yes, no, four two four, march thirty";

type Make = (chance: Chance) => FieldSample;

const spoken = (what: ListenFor, said: string, lengths: readonly number[] | null, { stretches, gapMs = NO_GAP }: Spoken): FieldSample => ({
  what,
  stretches,
  gapMs,
  said,
  lengths,
});

function digitForms(what: ListenFor, digitsOf: (chance: Chance, form: string) => number[], isKnown: boolean): Record<string, Make> {
  return Object.fromEntries(
    Object.entries(FORMS).map(([form, say]): [string, Make] => [
      form,
      (chance) => {
        const digits = digitsOf(chance, form);
        return spoken(what, digits.join(""), isKnown ? [digits.length] : null, say(chance, digits));
      },
    ]),
  );
}

/** A short answer; for "doubles" with one in it. */
const short = (length: (chance: Chance) => number) => (chance: Chance, form: string) => {
  const digits = chance.digits(length(chance));
  if (form === "doubles") digits[1] = digits[0] ?? 0;
  return digits;
};

/** By field and form, how an utterance is made. */
export const FIELD_FORMS: Readonly<Record<string, Readonly<Record<string, Make>>>> = {
  number: {
    ...digitForms("number", (chance, form) => (form === "doubles" ? cardWithDoubles(chance) : card(chance)), false),
    // The check digit finds one wrong digit: it may never be heard as the card it is not.
    "one digit misread": (chance) => {
      const digits = card(chance);
      const at = 1 + chance.below(digits.length - 1);
      digits[at] = ((digits[at] ?? 0) + 1 + chance.below(8)) % 10;
      return spoken("number", "", null, FORMS["groups"]?.(chance, digits) ?? { stretches: [] });
    },
  },
  expiry: Object.fromEntries(
    Object.entries(DATES).map(([form, say]): [string, Make] => [
      form,
      (chance) => {
        const [month, year] = [1 + chance.below(12), 26 + chance.below(9)];
        return spoken("expiry", `${month}/20${year}`, null, say(chance, month, year));
      },
    ]),
  ),
  code: digitForms(
    "cvv",
    short((chance) => chance.pick([3, 3, 4])),
    true,
  ),
  ZIP: digitForms(
    "zip",
    short(() => 5),
    true,
  ),
  "test word": {
    alone: () => spoken("number", "mango", null, { stretches: ["mango"] }),
    "in a sentence": (chance) => spoken("expiry", "mango", null, { stretches: [chance.pick(["mango please", "it's mango", "um mango"])] }),
    "near words": (chance) => spoken("number", "", null, { stretches: [chance.pick(NEAR_WORDS.split(", "))] }),
  },
};
