import { DIGIT_WORDS, TEEN_WORDS, TENS_WORDS } from "#src/kernel/number-words.ts";
import type { Prelude } from "./prelude.ts";
import { isSingleDigit, wordsOfDigit } from "./spoken-numbers.ts";

/** A finite-state grammar. An arc without a word is taken silently. */
export interface Acceptor {
  states: number;
  start: number;
  final: number;
  arcs: readonly Arc[];
  /** How freely words are added: the engine's word insertion penalty, a probability. */
  wordInsertion: number;
  /** How unlikely a path may become before it is given up; without it the engine's own measure. */
  beam?: number;
}

export interface Arc {
  from: number;
  to: number;
  word: string | null;
  /** Probability of the word beside the others; 1 for most. */
  weight: number;
}

/** Which strings of digits a grammar takes: an automaton over digits. */
export interface DigitRule {
  start: string;
  /** Where a digit leads from a state; to several where the automaton cannot know yet. */
  next(state: string, digit: number): readonly string[];
  /** The digits up to here are a whole string. */
  ends(state: string): boolean;
}

/** The engine's own word insertion penalty. Drawn-out digits are heard twice with it. */
export const WORD_INSERTION = 0.65;
/** For strings of digits: the best of 0.65 to 1e-5 on synthetic speech. */
export const DIGIT_INSERTION = 0.1;

/** How much likelier a digit is than "double", "forty" or "fifteen": without it, "four two" of some voices is heard as "four ten". */
export const GROUP_WEIGHT = 0.05;

/**
 * How `telephone.dict` names "oh" and the digit behind it in one word. The engine judges a word of a single sound as if silence came behind it: "six oh three"
 * was "six four three". In a longer word each sound is judged by its neighbours.
 */
export const AFTER_OH = "oh_";
/** It is as likely as two words: a weight counts 6.5 times as much as the penalty for each. */
const AFTER_OH_WEIGHT = DIGIT_INSERTION ** (1 / 6.5);

/** Silence as a word, as likely as the engine takes it between any two. */
export const PAUSE = { word: "<sil>", weight: 0.005 };

const START = 0;
const FINAL = 1;

const REPEATS = [
  ["double", 2],
  ["triple", 3],
] as const;

/** First digits of cards by length and what may follow each: 34 and 37 are American Express, 22 to 27 Mastercard, 35 JCB. */
const CARD_STARTS: ReadonlyMap<number, ReadonlyMap<number, string>> = new Map([
  [15, new Map([[3, "47"]])],
  [
    16,
    new Map([
      [2, "234567"],
      [3, "5"],
      [4, "0123456789"],
      [5, "0123456789"],
      [6, "0123456789"],
    ]),
  ],
]);

/** Phrases that lead from one named state to another, and their probability beside the others; the empty one is taken silently. */
export type Row = readonly [from: string, to: string, phrases: readonly string[], weight?: number];

/** The grammar of a table of phrases, from "start" to "end". Silent phrases must not follow each other: the engine takes one at a time. */
export function tableAcceptor(rows: readonly Row[], beam?: number): Acceptor {
  const ids = new Map([
    ["start", START],
    ["end", FINAL],
  ]);
  const idOf = (name: string) => ids.get(name) ?? (ids.set(name, ids.size), ids.size - 1);
  const arcs = rows.flatMap(([begin, end, phrases, weight = 1]) =>
    phrases.flatMap((phrase) => {
      const words = phrase.split(" ");
      let from = idOf(begin);
      return words.map((word, at): Arc => {
        const to = idOf(at === words.length - 1 ? end : `${begin} ${end} ${words.slice(0, at + 1).join(" ")}`);
        const arc = { from, to, word: word || null, weight: at === 0 ? weight : 1 };
        from = to;
        return arc;
      });
    }),
  );
  const unique = new Map(arcs.map((arc) => [`${arc.from} ${arc.to} ${arc.word}`, arc]));
  return {
    states: ids.size,
    start: START,
    final: FINAL,
    arcs: [...unique.values()],
    wordInsertion: WORD_INSERTION,
    ...(beam !== undefined && { beam }),
  };
}

/** The grammar of whole phrases, all as likely. */
export const phraseAcceptor = (phrases: readonly string[], beam?: number): Acceptor => tableAcceptor([["start", "end", phrases]], beam);

/** The grammar of any words in any order, one or more. */
export function loopAcceptor(words: readonly string[]): Acceptor {
  const arcs = words.flatMap((word) => [START, FINAL].map((from): Arc => ({ from, to: FINAL, word, weight: 1 })));
  return { states: FINAL + 1, start: START, final: FINAL, arcs, wordInsertion: WORD_INSERTION };
}

/** Any digits at all. */
export const ANY_DIGITS: DigitRule = { start: "none", next: () => ["some"], ends: (state) => state === "some" };

/** Any digits of these lengths. */
export const lengthRule = (lengths: readonly number[]): DigitRule => ({
  start: "0",
  next: (state) => (Number(state) < Math.max(...lengths) ? [String(Number(state) + 1)] : []),
  ends: (state) => lengths.includes(Number(state)),
});

/**
 * Digits of these lengths that begin like a payment card of theirs. A state is how many digits follow and, behind the first, which of them may come next: cards of
 * all lengths end alike, and what is one state is searched once.
 */
export const cardRule = (lengths: readonly number[]): DigitRule => ({
  start: "",
  next(state, digit) {
    if (state === "")
      return lengths.flatMap((length) => {
        const seconds = CARD_STARTS.get(length)?.get(digit);
        return seconds === undefined ? [] : [`${length - 1} ${seconds}`];
      });
    const [left, seconds] = state.split(" ");
    return state === "0" || seconds?.includes(String(digit)) === false ? [] : [String(Number(left) - 1)];
  },
  ends: (state) => state === "0",
});

/** These digits alone. */
export const onlyRule = (digits: readonly number[]): DigitRule => ({
  start: "0",
  next: (state, digit) => (digits[Number(state)] === digit ? [String(Number(state) + 1)] : []),
  ends: (state) => Number(state) === digits.length,
});

/** What a rule takes but for these digits: what else was said, if it was not they. */
export const exceptRule = (rule: DigitRule, digits: readonly number[]): DigitRule => {
  const parts = (state: string) => [state.slice(0, state.indexOf(" ")), state.slice(state.indexOf(" ") + 1)] as const;
  return {
    start: `0 ${rule.start}`,
    next(state, digit) {
      const [same, inner] = parts(state);
      const now = same !== "other" && digits[Number(same)] === digit ? String(Number(same) + 1) : "other";
      return rule.next(inner, digit).map((next) => `${now} ${next}`);
    },
    ends(state) {
      const [same, inner] = parts(state);
      return rule.ends(inner) && same !== String(digits.length);
    },
  };
};

/**
 * How much likelier an answer is to begin at once than after a filler or introduction, of which there are some thirty: at ten times as much
 * "it's four eight" and "so six" stood beside "eight four eight" and "oh six".
 */
export const PRELUDE_WEIGHT = 0.005;
/** The same for fillers that sound like "oh": as likely as the others, "so two one three nine" stood beside "oh two one three nine" in every voice. */
export const RARE_FILLER_WEIGHT = 0.000_15;
/** The same for one that was broken off, and for each word that corrects it. */
const RESTART_WEIGHT = 0.01;
const CORRECTION_WEIGHT = 0.05;

/** The grammar of digit strings of a rule, spoken digit by digit or in `groups` too: "double four", "triple four", "forty two", "fifteen"; or one of `phrases`. */
export function digitAcceptor(
  rule: DigitRule,
  { groups, prelude, phrases = [] }: { groups: boolean; prelude?: Prelude; phrases?: readonly string[] },
): Acceptor {
  const ids = new Map<string, number>();
  const arcs = new Map<string, Arc>();
  const waiting: string[] = [];
  const idOf = (key: string) => {
    const id = ids.get(key) ?? ids.size + 2;
    ids.set(key, id);
    return id;
  };
  /** By state, where each digit leads: asked for many times. */
  const leads = new Map<string, readonly (readonly string[])[]>();
  const nextOf = (state: string, digit: number): readonly string[] => {
    const known = leads.get(state) ?? DIGIT_WORDS.map((_, each) => rule.next(state, each));
    leads.set(state, known);
    return known[digit] ?? [];
  };
  const isLast = (state: string) => rule.ends(state) && DIGIT_WORDS.every((_, digit) => nextOf(state, digit).length === 0);
  const known = new Map<string, number>();
  /** The state's number; its arcs are made later. */
  const stateOf = (state: string): number => {
    const former = known.get(state);
    if (former !== undefined) return former;
    const id = isLast(state) ? FINAL : state === rule.start && !prelude ? START : idOf(`state ${state}`);
    known.set(state, id);
    if (id !== FINAL) waiting.push(state);
    return id;
  };
  const add = (from: number, to: number, word: string | null, weight = word === null || isSingleDigit(word) ? 1 : GROUP_WEIGHT) =>
    arcs.set(`${from} ${to} ${word}`, { from, to, word, weight });
  const addPhrase = (from: number, to: number, phrase: string, weight: number) => {
    const words = phrase.split(" ");
    for (const [at, word] of words.entries()) {
      const next = at === words.length - 1 ? to : idOf(`phrase ${from} ${to} ${words.slice(0, at + 1).join(" ")}`);
      add(from, next, word, at === 0 ? weight : 1);
      from = next;
    }
  };
  const after = (state: string, digits: readonly number[]): readonly string[] =>
    digits.reduce<readonly string[]>(
      (states, digit) =>
        states.length === 1 ? nextOf(states[0] ?? "", digit) : [...new Set(states.flatMap((each) => nextOf(each, digit)))],
      [state],
    );

  const digitArcs = (from: number, state: string, digit: number, times = 1): boolean => {
    const ends = after(
      state,
      Array.from({ length: times }, () => digit),
    );
    for (const end of ends) for (const word of wordsOfDigit(digit)) add(from, stateOf(end), word);
    return ends.length > 0;
  };
  /** "Oh" and the digit behind it as one word; after "double" and "triple" it counts so many times. */
  const afterOhArcs = (from: number, state: string, times = 1) => {
    for (let digit = 0; digit < 10; digit++)
      for (const end of after(state, [...Array.from({ length: times }, () => 0), digit]))
        for (const word of wordsOfDigit(digit)) add(from, stateOf(end), AFTER_OH + word, AFTER_OH_WEIGHT);
  };
  /** Words that can come after `state`, which `from` stands for; `units`: one to nine among them. */
  const arcsFrom = (from: number, state: string, units = true) => {
    afterOhArcs(from, state);
    for (let digit = 0; digit < 10; digit++) {
      if (units || digit === 0) digitArcs(from, state, digit);
      if (!groups) continue;
      for (const [word, times] of REPEATS) {
        const middle = idOf(`${word} ${state}`);
        if (digitArcs(middle, state, digit, times)) add(from, middle, word);
        if (digit === 0) afterOhArcs(middle, state, times);
      }
      for (const teen of after(state, [1, digit])) add(from, stateOf(teen), TEEN_WORDS[digit] ?? "");
      if (digit < 2) continue;
      for (const ten of after(state, [digit])) if (!isLast(ten)) add(from, unitStateOf(ten), TENS_WORDS[digit] ?? "");
    }
  };
  /** After "forty": a unit, or else it was 40, and what follows cannot begin with a unit, because that would be heard as 42. */
  const unitStateOf = (ten: string): number => {
    const key = `unit ${ten}`;
    if (ids.has(key)) return idOf(key);
    const from = idOf(key);
    for (let unit = 1; unit < 10; unit++) digitArcs(from, ten, unit);
    for (const round of after(ten, [0])) {
      if (rule.ends(round)) add(from, FINAL, null);
      if (!isLast(round)) arcsFrom(from, round, false);
    }
    return from;
  };

  const begin = stateOf(rule.start);
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    if (rule.ends(state)) add(stateOf(state), FINAL, null);
    arcsFrom(stateOf(state), state);
  }
  if (prelude) {
    const broken = idOf("broken off");
    const others = groups ? [...TEEN_WORDS, ...TENS_WORDS, ...REPEATS.map(([word]) => word)].filter((word) => word !== "") : [];
    add(START, begin, null);
    for (const phrase of phrases) addPhrase(START, FINAL, phrase, 1);
    for (const filler of prelude.fillers) addPhrase(START, START, filler, PRELUDE_WEIGHT);
    for (const filler of prelude.rareFillers) addPhrase(START, START, filler, RARE_FILLER_WEIGHT);
    for (const introduction of prelude.introductions) addPhrase(START, begin, introduction, PRELUDE_WEIGHT);
    for (const word of [...DIGIT_WORDS, "oh", ...DIGIT_WORDS.map((each) => AFTER_OH + each), ...others]) {
      const weight = isSingleDigit(word) ? 1 : word.startsWith(AFTER_OH) ? AFTER_OH_WEIGHT : GROUP_WEIGHT;
      add(START, broken, word, weight * RESTART_WEIGHT);
      add(broken, broken, word, weight);
    }
    const paused = idOf("paused");
    add(broken, paused, PAUSE.word, PAUSE.weight);
    for (const correction of prelude.corrections) addPhrase(broken, START, correction, CORRECTION_WEIGHT);
    for (const correction of prelude.correctionsAfterPause) addPhrase(paused, START, correction, CORRECTION_WEIGHT);
  }
  return { states: ids.size + 2, start: START, final: FINAL, arcs: [...arcs.values()], wordInsertion: DIGIT_INSERTION };
}
