import { readFile } from "node:fs/promises";
import { InferenceSession, Tensor, env } from "onnxruntime-web";
import { withoutPrelude } from "./prelude.ts";
import { MONTH_WORDS } from "#src/kernel/number-words.ts";
import { digitsOf, expiryOf, isNumberWord, soundAlikes } from "./spoken-numbers.ts";
import type { AnswerRule, Weighed, WeighingTask } from "./verifier-thread.ts";
import { CAPITALS, MARKS, OTHER_WORDS, TOKENS } from "./word-tokens.ts";

/**
 * Utterance verification: a second recogniser, Moonshine tiny (27 million weights, MIT), judges what the first one heard, word for word. It
 * writes text token by token, each from the sound and from the text so far. Given the first one's text, one pass tells how likely it holds
 * each word for at its place; where it hears another one, it goes on from there by itself. Synchronous but in name: it belongs in a thread.
 */

const MODEL = new URL("model/tiny/quantized/", import.meta.resolve("@moonshine-ai/moonshine-js"));
/** Shape of the model: its layers, heads, and the values of one. */
const LAYERS = 6;
const HEADS = 8;
const HEAD_VALUES = 36;
/** Peak of what it is given: it was trained on speech near full scale. */
const PEAK = 0.7;
/** A word less likely than this was misheard: the second recogniser goes on from there by itself. */
const MISHEARD = 0.5;
/** Natural logarithm from which on a text has no word that is doubtful. */
const LIKELY = -0.7;
/** As unlikely as any word counts. */
const LEAST_PROBABILITY = 1e-6;
/** Words of a sixteen digits' number, and of a broken-off one before it, are fewer. */
const MOST_WORDS = 40;
/** Words read ahead behind a misheard one. */
const FEW_WORDS = 2;
/** "December two thousand and thirty one", and as many again. */
const MOST_DATE_WORDS = 12;

const tokensOf = (word: string): readonly number[] => TOKENS[word] ?? [];
/** "O" is how the model writes some an "oh". */
const NUMBER_WORDS = Object.keys(TOKENS).filter((word) => isNumberWord(word) || word === "o");
const DATE_WORDS = [...NUMBER_WORDS, ...MONTH_WORDS, "slash", "of", "and", "thousand"];

/** The words of an answer, and the tokens among which one that begins a word is likely: at the beginning of a text, and later. */
interface Vocabulary {
  words: readonly string[];
  initial: readonly number[];
  later: readonly number[];
}

/** Without a check digit what is no answer is likely too. */
function vocabularyOf(words: readonly string[], others: readonly number[]): Vocabulary {
  const later = [...new Set([...words.map((word) => tokensOf(word)[0] ?? 0), ...others])];
  return { words, later, initial: others.length > 0 ? [...new Set([...later, ...Object.values(CAPITALS)])] : later };
}

const VOCABULARIES: Readonly<Record<AnswerRule["what"], Vocabulary>> = {
  card: vocabularyOf(NUMBER_WORDS, []),
  digits: vocabularyOf(NUMBER_WORDS, OTHER_WORDS),
  date: vocabularyOf(DATE_WORDS, OTHER_WORDS),
};
/** "Zero" and "oh" are one digit: which of them is no difference. */
const ZERO_WORDS = ["zero", "oh", "o"];
const ZEROS = ZERO_WORDS.map((word) => tokensOf(word)[0] ?? 0);

/** Silence behind an utterance, in samples at 8 kHz, so that the sound does not end with the last word. */
const TAIL = 2_400;

/** Half the length of the filter that doubles the rate, in samples at 8 kHz. */
const HALF_LENGTH = 8;
/** Its taps half-way between two samples: a sinc with Hann's window. */
const BETWEEN = Float64Array.from({ length: 2 * HALF_LENGTH }, (_, at) => {
  const distance = at - HALF_LENGTH + 0.5;
  return (Math.sin(Math.PI * distance) / (Math.PI * distance)) * (0.5 + 0.5 * Math.cos((Math.PI * distance) / (HALF_LENGTH + 0.5)));
});

/** Samples at 8 kHz as the model takes them: at 16 kHz, near full scale. */
export function toSixteenKilohertz(samples: Float32Array): Float32Array<ArrayBuffer> {
  const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-6);
  const doubled = new Float32Array(2 * (samples.length + TAIL));
  for (let at = 0; at < samples.length; at++) {
    let between = 0;
    for (let tap = 0; tap < 2 * HALF_LENGTH; tap++) between += (samples[at - HALF_LENGTH + 1 + tap] ?? 0) * (BETWEEN[tap] ?? 0);
    doubled[2 * at] = ((samples[at] ?? 0) / peak) * PEAK;
    doubled[2 * at + 1] = (between / peak) * PEAK;
  }
  return doubled;
}

const logitsAt = (logits: readonly Float32Array[], place: number): Float32Array => logits[place] ?? new Float32Array(0);

/** Probabilities of `tokens` among themselves, by the model's logits for one place. */
function shares(logits: Float32Array, tokens: readonly number[]): Map<number, number> {
  const highest = Math.max(...tokens.map((token) => logits[token] ?? -Infinity));
  const weights = tokens.map((token) => Math.exp((logits[token] ?? -Infinity) - highest));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return new Map(tokens.map((token, at) => [token, (weights[at] ?? 0) / sum]));
}

const shareOf = (among: ReadonlyMap<number, number>, tokens: readonly number[]): number =>
  tokens.reduce((sum, token) => sum + (among.get(token) ?? 0), 0);

/** The probability that the text ends behind a word, by the logits behind it. */
const endShare = (logits: Float32Array): number => shareOf(shares(logits, ENDINGS), [MARKS.stop, MARKS.end]);

/** The likelier of two tokens for zero stands for both. */
function likeliest(among: ReadonlyMap<number, number>): number {
  const [spoken = 0] = ZEROS.toSorted((a, b) => (among.get(b) ?? 0) - (among.get(a) ?? 0));
  let best = { token: spoken, share: shareOf(among, ZEROS) };
  for (const [token, share] of among) if (share > best.share && !ZEROS.includes(token)) best = { token, share };
  return best.token;
}

/** What may come behind so many tokens of these words: their next token, or what ends a word. */
const ENDINGS = [MARKS.comma, MARKS.stop, MARKS.end];
function nextTokens(words: readonly string[], length: number): number[] {
  const next = words.map((word) => tokensOf(word)[length]);
  return [...new Set(next.flatMap((token) => (token === undefined ? ENDINGS : [token])))];
}

const beginningWith = (among: readonly string[], tokens: readonly number[]): string[] =>
  among.filter((word) => tokens.every((token, at) => tokensOf(word)[at] === token));

/** Whether `words` hold a whole answer that may end there, must end there, or is too short yet. */
function extentOf(words: readonly string[], rule: AnswerRule): "short" | "whole" | "full" | "over" {
  const answer = withoutPrelude(words);
  if (rule.what === "date") {
    const date = expiryOf(answer);
    return date === null ? (answer.length > MOST_DATE_WORDS ? "over" : "short") : date.year % 10 === 0 ? "whole" : "full";
  }
  const digits = digitsOf(answer) ?? [];
  const wanted = rule.what === "card" ? [digits[0] === 3 && (digits[1] === 4 || digits[1] === 7) ? 15 : 16] : rule.lengths;
  if (digits.length > Math.max(...wanted)) return "over";
  if (digits.length === Math.max(...wanted)) return "full";
  return wanted.includes(digits.length) ? "whole" : "short";
}

/** The decoder's memory of what it has read: by name, its tensors. */
type Past = Record<string, Tensor>;
const PAST = Array.from({ length: LAYERS }, (_, layer) =>
  ["decoder", "encoder"].flatMap((part) => ["key", "value"].map((kind) => `${layer}.${part}.${kind}`)),
).flat();
/** Of them what depends on the text alone grows with it. */
const isOfText = (name: string): boolean => name.includes("decoder");

/** The memory of the first `length` tokens. */
function beginningOf(past: Past, length: number): Past {
  const shorten = (tensor: Tensor) => {
    const [, , whole = 0] = tensor.dims;
    if (whole === length) return tensor;
    const values = tensor.data as Float32Array;
    const kept = new Float32Array(HEADS * length * HEAD_VALUES);
    for (let head = 0; head < HEADS; head++)
      kept.set(values.subarray(head * whole * HEAD_VALUES, (head * whole + length) * HEAD_VALUES), head * length * HEAD_VALUES);
    return new Tensor("float32", kept, [1, HEADS, length, HEAD_VALUES]);
  };
  return Object.fromEntries(Object.entries(past).map(([name, tensor]) => [name, isOfText(name) ? shorten(tensor) : tensor]));
}

const NO_PAST: Past = Object.fromEntries(PAST.map((name) => [name, new Tensor("float32", [], [0, HEADS, 1, HEAD_VALUES])]));

/** An utterance as the model hears it, and the text that was read with it last: with the next one only what differs is read. */
export interface Sound {
  heard: Tensor;
  ids: readonly number[];
  /** Behind each token. */
  logits: Float32Array[];
  past: Past;
}

/** A word that the model writes, as far as the words read tell; `end`: the probability that the text ends behind it, null when that is not read yet. */
interface Written {
  word: string;
  end: number | null;
}

/** What it writes at `place`, where `expected` was read; null: no word of an answer. */
function nextWord(
  logits: readonly Float32Array[],
  place: number,
  expected: string | undefined,
  { words: known, later }: Vocabulary,
): Written | null {
  const read = expected === undefined ? [] : tokensOf(expected);
  const first = likeliest(shares(logitsAt(logits, place), later));
  if (OTHER_WORDS.includes(first)) return null;
  const tokens = [ZEROS.includes(first) && ZEROS.includes(read[0] ?? 0) ? (read[0] ?? 0) : first];
  const wordOf = () => {
    const [word = ""] = beginningWith(known, tokens).toSorted((a, b) => tokensOf(a).length - tokensOf(b).length);
    return word === "o" ? "oh" : word;
  };
  while (tokens.every((token, at) => token === read[at])) {
    const behindThese = logitsAt(logits, place + tokens.length);
    const among = shares(behindThese, nextTokens(beginningWith(known, tokens), tokens.length));
    const [next = 0, nextShare = 0] = [...among].filter(([each]) => !ENDINGS.includes(each)).toSorted(([, a], [, b]) => b - a)[0] ?? [];
    if (nextShare <= shareOf(among, ENDINGS)) return { word: wordOf(), end: endShare(behindThese) };
    tokens.push(next);
  }
  return { word: wordOf(), end: null };
}

/** Where `text` goes on behind `word`, which is said in place of what it has at `at`, or stands close by. */
const behind = (text: readonly string[], at: number, word: string): number =>
  ([at, at + 1, at + 2, at - 1].find((each) => text[each] === word) ?? at) + 1;

/** Overwrites the utterance and what was read. */
export function forget({ heard, logits }: Sound): void {
  (heard.data as Float32Array).fill(0);
  for (const each of logits) each.fill(0);
}

/** As the model reads words: a comma behind each of them. */
const idsOf = (words: readonly string[]): number[] => [MARKS.begin, ...words.flatMap((word) => [...tokensOf(word), MARKS.comma])];

/** The model. */
export class Verifier {
  readonly #encoder: InferenceSession;
  readonly #decoder: InferenceSession;

  private constructor(encoder: InferenceSession, decoder: InferenceSession) {
    this.#encoder = encoder;
    this.#decoder = decoder;
  }

  static async load(): Promise<Verifier> {
    env.logLevel = "fatal";
    env.wasm.numThreads = 1;
    const load = async (file: string) =>
      await InferenceSession.create(await readFile(new URL(file, MODEL)), { executionProviders: ["wasm"] });
    return new Verifier(await load("encoder_model.onnx"), await load("decoder_model_merged.onnx"));
  }

  /** Hears an utterance of 8 kHz. */
  async hear(samples: Float32Array): Promise<Sound> {
    const sound = toSixteenKilohertz(samples);
    const { last_hidden_state: heard } = await this.#encoder.run({ input_values: new Tensor("float32", sound, [1, sound.length]) });
    sound.fill(0);
    return { heard: heard as Tensor, ids: [], logits: [], past: {} };
  }

  /** As `Verifying.weigh`. Texts with a word that is unknown are left out. */
  async weigh(sound: Sound, { words: text, rule }: WeighingTask): Promise<Weighed[]> {
    const weighed = new Map<string, Weighed>();
    const weigh = async (words: readonly string[]): Promise<string[] | null> => {
      const key = words.join(" ");
      if (weighed.has(key) || words.length === 0 || words.some((word) => tokensOf(word).length === 0)) return null;
      const first = words.length - withoutPrelude(words).length;
      const { likely, end } = await this.#likelihoods(sound, words, rule);
      const answer = likely.slice(first);
      const likelihood = [...answer, end].reduce((sum, share) => sum + Math.log(Math.max(share, LEAST_PROBABILITY)), 0);
      weighed.set(key, { words: [...words], likelihood });
      const misheard = answer.findIndex((share) => share < MISHEARD);
      return likelihood < LIKELY ? words.slice(0, first + Math.max(0, misheard)) : null;
    };
    const heard = await weigh(text);
    if (heard) await weigh(await this.#goOn(sound, text, heard.length, rule));
    // A card's check digit tells them apart, and a date has none.
    if (rule.what === "digits")
      for (const like of Array.from(weighed.values(), ({ words }) => soundAlikes(words)).flat()) await weigh(like);
    return [...weighed.values()];
  }

  /** How likely each word is at its place, and the end behind the last. */
  async #likelihoods(sound: Sound, words: readonly string[], rule: AnswerRule): Promise<{ likely: number[]; end: number }> {
    const ids = idsOf(words);
    const places = words.map((_, at) => idsOf(words.slice(0, at)).length - 1);
    const { words: known, initial, later } = VOCABULARIES[rule.what];
    const logits = await this.#read(sound, ids);
    const likely = words.map((word, at) => {
      const place = places[at] ?? 0;
      const tokens = tokensOf(word);
      const among = shares(logitsAt(logits, place), at === 0 ? initial : later);
      const spellings = ZERO_WORDS.includes(word) ? ZERO_WORDS : [word];
      let share = shareOf(
        among,
        spellings.flatMap((each) => [tokensOf(each)[0] ?? 0, ...(at === 0 && CAPITALS[each] !== undefined ? [CAPITALS[each]] : [])]),
      );
      for (let length = 1; length <= tokens.length; length++) {
        const next = nextTokens(beginningWith(known, tokens.slice(0, length)), length);
        if (next.length > 1)
          share *= shareOf(
            shares(logitsAt(logits, place + length), next),
            tokens[length] === undefined ? ENDINGS : tokens.slice(length, length + 1),
          );
      }
      // That the answer goes on: behind a comma the model writes a word whether one was said or not.
      const ending = at > 0 && rule.what !== "card" ? endShare(logitsAt(logits, place - 1)) : 0;
      return share * (1 - ending);
    });
    return { likely, end: endShare(logitsAt(logits, ids.length - 2)) };
  }

  /**
   * The first `length` words of `text`, and what it writes behind them until the answer ends. That is mostly the rest of the text with a word
   * changed, left out or put in: it is read ahead, and counts as far as each word is the one that would have been written.
   */
  async #goOn(sound: Sound, text: readonly string[], length: number, rule: AnswerRule): Promise<string[]> {
    const said = text.slice(0, length);
    let at = length;
    /** Read in place of what the text has there. */
    let other: string | null = null;
    /** Words read ahead: few where one was misheard, since another often was. */
    let ahead = text.length;
    for (let reads = 0; reads < MOST_WORDS; reads++) {
      const until = at + ahead;
      const logits = await this.#read(sound, idsOf([...said, ...(other === null ? [] : [other]), ...text.slice(at, until)]));
      let isRead = true;
      while (isRead) {
        const expected: string | undefined = other ?? (at < until ? text[at] : undefined);
        const written = nextWord(logits, idsOf(said).length - 1, expected, VOCABULARIES[rule.what]);
        if (!written) return said;
        const { word, end } = written;
        isRead = end !== null && word === expected;
        if (end === null) {
          ahead = expected === undefined ? 2 * ahead : FEW_WORDS;
          if (other === null) at = behind(text, at, word);
          other = word;
          continue;
        }
        said.push(word);
        if (other === null) at++;
        other = null;
        const extent = extentOf(said, rule);
        if (extent === "over" || extent === "full" || (extent === "whole" && end >= MISHEARD) || said.length >= MOST_WORDS) return said;
      }
    }
    return said;
  }

  /** Reads a text from where it differs from the one read before; the logits behind each of its tokens. */
  async #read(sound: Sound, ids: readonly number[]): Promise<readonly Float32Array[]> {
    const known = ids.findIndex((id, at) => id !== sound.ids[at]);
    if (known < 0) return sound.logits;
    const past = known === 0 ? NO_PAST : beginningOf(sound.past, known);
    const unread = ids.slice(known);
    const outputs = await this.#decoder.run({
      ...Object.fromEntries(Object.entries(past).map(([name, tensor]) => [`past_key_values.${name}`, tensor])),
      input_ids: new Tensor("int64", BigInt64Array.from(unread, BigInt), [1, unread.length]),
      encoder_hidden_states: sound.heard,
      use_cache_branch: new Tensor("bool", [known > 0]),
    });
    // What it made of the sound comes with the first text alone.
    const latest = (name: string) => (known === 0 || isOfText(name) ? outputs[`present.${name}`] : past[name]) as Tensor;
    sound.past = Object.fromEntries(PAST.map((name) => [name, latest(name)]));
    const { data, dims } = outputs["logits"] as Tensor;
    const size = dims[2] ?? 0;
    const rows = unread.map((_, at) => (data as Float32Array).subarray(at * size, (at + 1) * size));
    sound.logits = [...sound.logits.slice(0, known), ...rows];
    sound.ids = ids;
    return sound.logits;
  }
}
