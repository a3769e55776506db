import type { Decoder } from "./decoder.ts";
import { UNDERSTAND, hasDigits } from "./fields.ts";
import type { AudioFrame, RecognitionResult, ListenFor, ListenOptions } from "./recognition-result.ts";
import { DIGITS, SPOT_COMMAND, SPOT_TEST_WORD, TEST_WORD, commandOf } from "./phrases.ts";
import { Utterance } from "./utterance.ts";
import { digitsOf } from "./words.ts";

/** Commands and the test word are short; in longer speech they are not looked for (VOICE section 2). */
const LONGEST_KEYWORD_MS = 2_000;
/** Under this level of speech over background nothing is certain. */
const CLEAR_DB = 15;

export interface UtteranceRecogniserDeps {
  /** Follows digits while they are spoken. */
  follower: Decoder;
  /** Decodes finished utterances. */
  judge: Decoder;
  onHearing(hearing: RecognitionResult): void;
}

/** One call's understanding: frames go in, hearings come out. Synchronous. */
export class UtteranceRecogniser {
  readonly #deps: UtteranceRecogniserDeps;
  readonly #utterance = new Utterance();
  #task: { what: ListenFor; options: ListenOptions } | null = null;
  /** The follower has an utterance begun. */
  #isFollowing = false;
  /** What the utterance was taken for at its latest pause, with no speech since. */
  #verdict: RecognitionResult | null = null;

  constructor(deps: UtteranceRecogniserDeps) {
    this.#deps = deps;
    deps.follower.use(DIGITS);
  }

  /** Hears answers to this question from here on; null: nothing. Speech begun before another question is forgotten. */
  listenFor(task: { what: ListenFor; options: ListenOptions } | null): void {
    const isSame = task !== null && task.what === this.#task?.what;
    this.#task = task;
    this.#verdict = null;
    if (!isSame) this.#close();
  }

  push(frame: AudioFrame): void {
    if (!this.#task) return;
    const turn = this.#utterance.push(frame);
    if (frame.speech) this.#verdict = null;
    if (turn === "begin") this.#begin();
    else if (this.#isFollowing) this.#deps.follower.feed(this.#utterance.latest());
    if (turn === "noise") this.#close();
    if (turn === "pause" && this.#isPlausible()) this.#verdict = this.#understand();
    if (turn === "rest") {
      this.#verdict ??= this.#isPlausible() ? this.#understand() : null;
      if (this.#verdict && isWhole(this.#verdict)) this.#answer(this.#verdict);
    }
    if (turn === "end") this.#answer(this.#verdict ?? this.#understand());
  }

  /** An utterance is under way: if no more frames come, feed silence. */
  get isWaiting(): boolean {
    return this.#utterance.isOpen;
  }

  #begin(): void {
    if (!this.#task || !hasDigits(this.#task.what)) return;
    this.#deps.follower.begin();
    this.#deps.follower.feed(this.#utterance.samples());
    this.#isFollowing = true;
  }

  /** A card number takes long to decode: not before it can be whole. Everything else is short. */
  #isPlausible(): boolean {
    if (this.#task?.what !== "number") return true;
    const heard = digitsOf(this.#deps.follower.peek())?.length ?? 0;
    return heard + this.#task.options.have >= 12 || this.#utterance.durationMs <= LONGEST_KEYWORD_MS;
  }

  #understand(): RecognitionResult {
    const { judge, follower } = this.#deps;
    if (!this.#task) return { kind: "nothing" };
    const { what, options } = this.#task;
    const samples = this.#utterance.samples();
    if (this.#utterance.durationMs <= LONGEST_KEYWORD_MS) {
      if (options.testWord) {
        judge.use(SPOT_TEST_WORD);
        if (judge.decode(samples).includes(TEST_WORD)) return { kind: "test_word" };
      }
      judge.use(SPOT_COMMAND);
      const command = commandOf(judge.decode(samples));
      if (command) return { kind: "command", command };
    }
    const free = this.#isFollowing ? digitsOf(follower.peek()) : null;
    return UNDERSTAND[what](judge, { samples, free, clear: this.#utterance.signalToNoiseDb >= CLEAR_DB }, options);
  }

  #answer(hearing: RecognitionResult): void {
    this.#close();
    this.#deps.onHearing(hearing);
  }

  #close(): void {
    if (this.#isFollowing) this.#deps.follower.end();
    this.#isFollowing = false;
    this.#verdict = null;
    this.#utterance.close();
  }
}

/** The answer cannot go on: no need to wait for a longer silence. */
function isWhole(hearing: RecognitionResult): boolean {
  return hearing.kind === "digits" ? hearing.final && hearing.certain : hearing.kind !== "nothing";
}
