import type { Decoders } from "./decoder.ts";
import { FREE_DIGITS, UNDERSTAND, expectAnswer, isFull, missingOf } from "./fields.ts";
import { GivenUp, whileNotVain } from "./giving-up.ts";
import type { FramesAhead } from "./listening.ts";
import { withoutPrelude } from "./prelude.ts";
import type { AudioFrame } from "#src/kernel/g711.ts";
import { type ListenTask, type RecognitionResult, hasDigits, isWhole } from "./recognition-result.ts";
import { SPOT_COMMAND, SPOT_TEST_WORD, TEST_WORD, TEST_WORD_ANSWER, commandOf } from "./phrases.ts";
import { NOISY_DB, UNTIL_COMPLETE, Utterance } from "./utterance.ts";
import { digitsOf } from "./spoken-numbers.ts";

/** Commands and the test word are short; in longer speech they are not looked for (docs/decisions/0012). */
const LONGEST_KEYWORD_MS = 2_000;
/** Under this level of speech over background nothing is certain. */
const CLEAR_DB = 10;

/** By event, digits of a card number from which on it may be whole, and how many of another answer may be missing: the free grammar loses one now and then. */
const PLAUSIBLE = { pause: { number: 14, missing: 0 }, complete: { number: 12, missing: 1 }, rest: { number: 12, missing: Infinity } };

export interface UtteranceRecogniserDeps extends Decoders {
  onResult(result: RecognitionResult, task: number): void;
  /** The caller begins to speak. */
  onSpeech?: () => void;
  /** What is pushed next: a caller who speaks on is heard while a pause is decoded. */
  framesAhead?: FramesAhead;
}

/** One call's understanding: frames go in, results come out. Synchronous. */
export class UtteranceRecogniser {
  readonly #deps: UtteranceRecogniserDeps;
  readonly #utterance = new Utterance();
  #task: ListenTask | null = null;
  /** The streaming decoder has an utterance begun. */
  #isStreaming = false;
  /** What the utterance was taken for at its latest pause, with no speech since. */
  #result: RecognitionResult | null = null;

  constructor(deps: UtteranceRecogniserDeps) {
    this.#deps = deps;
  }

  /**
   * Recognises answers to this question from here on; null: nothing. Speech begun before another question is forgotten, and so is speech
   * that a key came into: its digits would land behind those keyed after them.
   */
  listenFor(task: ListenTask | null): void {
    const isSame = task !== null && task.what === this.#task?.what && task.have === this.#task.have;
    this.#task = task;
    this.#result = null;
    if (!isSame) this.#close();
  }

  push(frame: AudioFrame): void {
    if (!this.#task) return;
    // Consent is judged on the sound as it was.
    const event = this.#utterance.push(frame, this.#task.what !== "yes_no");
    if (frame.speech) this.#result = null;
    if (event === "begin") this.#begin();
    else if (this.#isStreaming) this.#deps.streaming.feed(this.#utterance.latest());
    if (event === "noise") this.#close();
    if (event === "pause") this.#result ??= this.#isPlausible(event) ? this.#understandUnlessSpokenOn() : null;
    if (event === "complete" || event === "rest") this.#result ??= this.#isPlausible(event) ? this.#understand() : null;
    if (event === "complete" && this.#result && isFull(this.#task, this.#result)) this.#answer(this.#result);
    if (event === "rest" && this.#result && (isWhole(this.#result) || this.#isDoubtful(this.#result))) this.#answer(this.#result);
    if (event === "end") {
      this.#result ??= this.#understand();
      if (!this.#mayGoOn(this.#result)) this.#answer(this.#result);
    }
    if (event === "timeout") this.#answer(this.#result ?? this.#understand());
  }

  /** An utterance is under way: if no more frames come, feed silence. */
  get isWaiting(): boolean {
    return this.#utterance.isOpen;
  }

  #begin(): void {
    if (!this.#task) return;
    this.#deps.onSpeech?.();
    expectAnswer(this.#deps, this.#task);
    if (!hasDigits(this.#task.what)) return;
    this.#deps.streaming.use(FREE_DIGITS);
    this.#deps.streaming.begin();
    this.#deps.streaming.feed(this.#utterance.samples());
    this.#isStreaming = true;
  }

  /** Digits so far by the decoder that follows them, those of a broken-off attempt left out; null when it follows none. */
  #free(): number[] | null {
    const followed = this.#followed();
    return followed && digitsOf(withoutPrelude(followed));
  }

  /** All words so far by that decoder. */
  #followed(): string[] | null {
    return this.#isStreaming ? this.#deps.streaming.peek() : null;
  }

  /** Fewer digits were heard than the answer has, or no date yet: the caller reads slowly. */
  #mayGoOn(result: RecognitionResult): boolean {
    if (!this.#task || isWhole(result)) return false;
    if (this.#task.what === "expiry") return result.kind === "nothing";
    if (result.kind === "digits" && !result.final) return true;
    return missingOf(this.#task, this.#free()) > 0;
  }

  /** As many digits were said as the answer has, and it has to be asked again: waiting makes nothing of it certain. */
  #isDoubtful(result: RecognitionResult): boolean {
    return this.#task !== null && result.kind === "digits" && result.final && missingOf(this.#task, this.#free()) === 0;
  }

  /** A decoding begun between two groups delays the one that counts: none is begun while digits are missing. */
  #isPlausible(event: keyof typeof PLAUSIBLE): boolean {
    if (!this.#task) return false;
    const { number, missing } = PLAUSIBLE[event];
    if (this.#task.what !== "number") return missingOf(this.#task, this.#free()) <= missing;
    const count = this.#free()?.length ?? 0;
    return count + this.#task.have >= number || (event !== "pause" && this.#utterance.durationMs <= LONGEST_KEYWORD_MS);
  }

  /** Null when the caller speaks on, which makes vain what is decoded at a pause: the decoding that counts would come behind it. */
  #understandUnlessSpokenOn(): RecognitionResult | null {
    const { framesAhead } = this.#deps;
    const isSpokenOn = () => framesAhead?.(UNTIL_COMPLETE).some(({ speech }) => speech) ?? false;
    try {
      return this.#understand(whileNotVain(this.#deps, isSpokenOn));
    } catch (error) {
      if (error instanceof GivenUp) return null;
      throw error;
    }
  }

  #understand(decoders: Decoders = this.#deps): RecognitionResult {
    const task = this.#task;
    if (!task) return { kind: "nothing" };
    const samples = task.what === "yes_no" ? this.#utterance.samples() : this.#utterance.compact();
    const followed = this.#followed();
    const free = followed && digitsOf(withoutPrelude(followed));
    const snr = this.#utterance.signalToNoiseDb;
    const line = snr < CLEAR_DB ? "bad" : snr < NOISY_DB ? "noisy" : "quiet";
    // Before the answer, which finds "nine four oh" in it; but after one to the read-back, where commands are answers too.
    const testWord = task.what === "yes_no" ? null : this.#testWord(decoders, samples);
    if (testWord) return testWord;
    const result = UNDERSTAND[task.what](decoders, { samples, free, followed: followed ?? [], line }, task);
    // A sure answer is no keyword: the caller waits less. Nor are digits that were compared with the commands, sure or not.
    if (isWhole(result) || (result.kind === "digits" && result.final && line !== "bad")) return result;
    return (task.what === "yes_no" ? this.#testWord(decoders, samples) : this.#command(decoders, samples)) ?? result;
  }

  /** Where any digits are likelier than an answer with the word, it was heard in them. */
  #testWord({ batch, scoring }: Decoders, samples: Float32Array): RecognitionResult | null {
    if (!this.#task?.testWord || !this.#isKeyword) return null;
    batch.use(SPOT_TEST_WORD);
    if (!batch.decode(samples).includes(TEST_WORD)) return null;
    const [digits, answer] = [FREE_DIGITS, TEST_WORD_ANSWER].map((grammar) => {
      scoring.use(grammar);
      return scoring.score(samples);
    });
    return digits && (!answer || digits.score > answer.score) ? null : { kind: "test_word" };
  }

  #command({ batch }: Decoders, samples: Float32Array): RecognitionResult | null {
    if (!this.#isKeyword) return null;
    batch.use(SPOT_COMMAND);
    const command = commandOf(batch.decode(samples));
    return command && { kind: "command", command };
  }

  /** The utterance is short enough for a keyword. */
  get #isKeyword(): boolean {
    return this.#utterance.durationMs <= LONGEST_KEYWORD_MS;
  }

  #answer(result: RecognitionResult): void {
    const task = this.#task;
    this.#close();
    // What the conversation will have once it knows: speech that goes on meanwhile belongs behind it.
    if (task && result.kind === "digits" && result.certain && !result.final)
      this.#task = { ...task, have: task.have + result.digits.length };
    this.#deps.onResult(result, task?.id ?? 0);
  }

  #close(): void {
    if (this.#isStreaming) this.#deps.streaming.end();
    this.#isStreaming = false;
    this.#result = null;
    this.#utterance.close();
  }
}
