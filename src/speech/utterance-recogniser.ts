import type { Decoders } from "./decoder.ts";
import { UNDERSTAND, hasDigits } from "./fields.ts";
import type { AudioFrame, ListenTask, RecognitionResult } from "./recognition-result.ts";
import { DIGITS, SPOT_COMMAND, SPOT_TEST_WORD, TEST_WORD, commandOf } from "./phrases.ts";
import { Utterance } from "./utterance.ts";
import { digitsOf } from "./spoken-numbers.ts";

/** Commands and the test word are short; in longer speech they are not looked for (docs/decisions/0012). */
const LONGEST_KEYWORD_MS = 2_000;
/** Under this level of speech over background nothing is certain. */
const CLEAR_DB = 15;

export interface UtteranceRecogniserDeps extends Decoders {
  onResult(result: RecognitionResult, task: number): void;
}

/** One call's understanding: frames go in, results come out. Synchronous. */
export class UtteranceRecogniser {
  readonly #deps: UtteranceRecogniserDeps;
  readonly #utterance = new Utterance();
  #task: ListenTask | null = null;
  /** The streaming has an utterance begun. */
  #isStreaming = false;
  /** What the utterance was taken for at its latest pause, with no speech since. */
  #result: RecognitionResult | null = null;

  constructor(deps: UtteranceRecogniserDeps) {
    this.#deps = deps;
  }

  /** Recognises answers to this question from here on; null: nothing. Speech begun before another question is forgotten. */
  listenFor(task: ListenTask | null): void {
    const isSame = task !== null && task.what === this.#task?.what;
    this.#task = task;
    this.#result = null;
    if (!isSame) this.#close();
  }

  push(frame: AudioFrame): void {
    if (!this.#task) return;
    const event = this.#utterance.push(frame);
    if (frame.speech) this.#result = null;
    if (event === "begin") this.#begin();
    else if (this.#isStreaming) this.#deps.streaming.feed(this.#utterance.latest());
    if (event === "noise") this.#close();
    if (event === "pause" && this.#isPlausible()) this.#result = this.#understand();
    if (event === "rest") {
      this.#result ??= this.#isPlausible() ? this.#understand() : null;
      if (this.#result && isWhole(this.#result)) this.#answer(this.#result);
    }
    if (event === "end") this.#answer(this.#result ?? this.#understand());
  }

  /** An utterance is under way: if no more frames come, feed silence. */
  get isWaiting(): boolean {
    return this.#utterance.isOpen;
  }

  #begin(): void {
    if (!this.#task || !hasDigits(this.#task.what)) return;
    this.#deps.streaming.use(DIGITS);
    this.#deps.streaming.begin();
    this.#deps.streaming.feed(this.#utterance.samples());
    this.#isStreaming = true;
  }

  /** A card number takes long to decode: not before it can be whole. Everything else is short. */
  #isPlausible(): boolean {
    if (this.#task?.what !== "number") return true;
    const heard = digitsOf(this.#deps.streaming.peek())?.length ?? 0;
    return heard + this.#task.have >= 12 || this.#utterance.durationMs <= LONGEST_KEYWORD_MS;
  }

  #understand(): RecognitionResult {
    const task = this.#task;
    if (!task) return { kind: "nothing" };
    const samples = this.#utterance.samples();
    const free = this.#isStreaming ? digitsOf(this.#deps.streaming.peek()) : null;
    const clear = this.#utterance.signalToNoiseDb >= CLEAR_DB;
    const answer = () => UNDERSTAND[task.what](this.#deps, { samples, free, clear }, task);
    if (task.what !== "yes_no") return this.#testWord(samples) ?? this.#command(samples) ?? answer();
    // A sure answer is no test word, and commands are answers like it there: the caller waits less for a yes.
    const result = answer();
    return result.kind === "nothing" ? (this.#testWord(samples) ?? result) : result;
  }

  #testWord(samples: Float32Array): RecognitionResult | null {
    if (!this.#task?.testWord || !this.#isKeyword) return null;
    this.#deps.batch.use(SPOT_TEST_WORD);
    return this.#deps.batch.decode(samples).includes(TEST_WORD) ? { kind: "test_word" } : null;
  }

  #command(samples: Float32Array): RecognitionResult | null {
    if (!this.#isKeyword) return null;
    this.#deps.batch.use(SPOT_COMMAND);
    const command = commandOf(this.#deps.batch.decode(samples));
    return command && { kind: "command", command };
  }

  /** The utterance is short enough for a keyword. */
  get #isKeyword(): boolean {
    return this.#utterance.durationMs <= LONGEST_KEYWORD_MS;
  }

  #answer(result: RecognitionResult): void {
    const task = this.#task?.id ?? 0;
    this.#close();
    this.#deps.onResult(result, task);
  }

  #close(): void {
    if (this.#isStreaming) this.#deps.streaming.end();
    this.#isStreaming = false;
    this.#result = null;
    this.#utterance.close();
  }
}

/** The answer cannot go on: no need to wait for a longer silence. */
function isWhole(result: RecognitionResult): boolean {
  if (result.kind === "digits") return result.final && result.certain;
  return result.kind === "expiry" ? result.certain : result.kind !== "nothing";
}
