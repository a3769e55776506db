import type { AudioFrame } from "#src/kernel/g711.ts";
import { type ListenTask, type RecognitionResult, isWhole } from "./recognition-result.ts";
import type { HeardWord, StreamingRecogniser, Transcription } from "./streaming-recogniser.ts";
import { understandTranscript } from "./transcript.ts";
import { Utterance } from "./utterance.ts";
import { isVoice } from "./voicing.ts";

export interface TranscriptRecogniserDeps {
  recogniser: StreamingRecogniser;
  onResult(result: RecognitionResult, task: number): void;
  /** The recogniser failed: nothing more will be understood. */
  onFault(error: unknown): void;
}

/**
 * One call's understanding by a recogniser of the operator's own. Where an utterance begins and ends is found here, as for the embedded
 * one: the recogniser has each utterance alone, and nothing of what is said to no question.
 */
export class TranscriptRecogniser {
  readonly #deps: TranscriptRecogniserDeps;
  readonly #utterance = new Utterance();
  #task: ListenTask | null = null;
  #transcription: Transcription | null = null;
  /** Counts the questions: what was said to a former one is no answer. */
  #question = 0;
  /** Utterances whose transcripts are still to come, in their order. */
  #answered: Promise<unknown> = Promise.resolve();

  constructor(deps: TranscriptRecogniserDeps) {
    this.#deps = deps;
  }

  /** As of the embedded recogniser: null is nothing, and another question forgets what was being said. */
  listenFor(task: ListenTask | null): void {
    const isSame = task !== null && task.what === this.#task?.what && task.have === this.#task.have;
    this.#task = task;
    if (isSame) return;
    this.#question++;
    this.#close()?.cancel();
  }

  push(frame: AudioFrame): void {
    if (!this.#task) return;
    const event = this.#utterance.push(frame, false);
    if (event === "begin") {
      this.#transcription = this.#deps.recogniser.begin();
      this.#transcription.feed(this.#utterance.samples());
    } else this.#transcription?.feed(this.#utterance.latest());
    if (event === "noise") this.#close()?.cancel();
    else if (event === "rest" && isWhole(this.#heardSoFar(this.#task))) this.#finish(this.#task);
    else if (event === "end" && !mayGoOn(this.#task, this.#heardSoFar(this.#task))) this.#finish(this.#task);
    else if (event === "timeout") this.#finish(this.#task);
  }

  /** An utterance is under way: if no more frames come, feed silence. */
  get isWaiting(): boolean {
    return this.#utterance.isOpen;
  }

  #heardSoFar(task: ListenTask): RecognitionResult {
    return understandTranscript(this.#transcription?.peek() ?? [], task);
  }

  #finish({ what }: ListenTask): void {
    // Consent is a voice's, whatever a recogniser makes of a hiss.
    const isSpoken = what !== "yes_no" || isVoice(this.#utterance.samples());
    const words = this.#close()?.finish() ?? Promise.resolve([]);
    const question = this.#question;
    this.#answered = Promise.all([words, this.#answered]).then(
      ([heard]) => question === this.#question && this.#answer(isSpoken ? heard : []),
      (error: unknown) => this.#deps.onFault(error),
    );
  }

  #answer(heard: readonly HeardWord[]): void {
    if (!this.#task) return;
    const task = this.#task;
    const result = understandTranscript(heard, task);
    // What the conversation will have once it knows: speech that goes on meanwhile belongs behind it.
    if (result.kind === "digits" && result.certain && !result.final) this.#task = { ...task, have: task.have + result.digits.length };
    this.#deps.onResult(result, task.id);
  }

  #close(): Transcription | null {
    const transcription = this.#transcription;
    this.#transcription = null;
    this.#utterance.close();
    return transcription;
  }
}

/** Fewer digits were heard than the answer has, or no date yet: the caller reads slowly. */
function mayGoOn({ what }: ListenTask, result: RecognitionResult): boolean {
  return what === "expiry" ? result.kind === "nothing" : result.kind === "digits" && !result.final;
}
