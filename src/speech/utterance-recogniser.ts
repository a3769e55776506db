import type { Decoders } from "./decoder.ts";
import { UNDERSTAND, hasDigits } from "./fields.ts";
import type { AudioFrame, Command, ListenTask, RecognitionResult } from "./recognition-result.ts";
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
    const { batch, streaming } = this.#deps;
    if (!this.#task) return { kind: "nothing" };
    const { what, testWord } = this.#task;
    const samples = this.#utterance.samples();
    if (this.#utterance.durationMs <= LONGEST_KEYWORD_MS) {
      if (testWord) {
        batch.use(SPOT_TEST_WORD);
        if (batch.decode(samples).includes(TEST_WORD)) return { kind: "test_word" };
      }
      const command = what === "yes_no" ? null : this.#command(samples);
      if (command) return { kind: "command", command };
    }
    const free = this.#isStreaming ? digitsOf(streaming.peek()) : null;
    return UNDERSTAND[what](this.#deps, { samples, free, clear: this.#utterance.signalToNoiseDb >= CLEAR_DB }, this.#task);
  }

  /** A command at a question of digits or dates; among yes and no they are answers like these. */
  #command(samples: Float32Array): Command | null {
    const { batch } = this.#deps;
    batch.use(SPOT_COMMAND);
    return commandOf(batch.decode(samples));
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
  return result.kind === "digits" ? result.final && result.certain : result.kind !== "nothing";
}
