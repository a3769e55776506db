import type { ListenFor, RecognitionResult } from "#src/kernel/recognition.ts";

export type { ListenFor, RecognitionResult };

/** Questions whose answer is a string of digits. */
export const hasDigits = (what: ListenFor): boolean => what === "number" || what === "cvv" || what === "zip";

/** The answer cannot go on: no need to wait for a longer silence. A name always can. */
export function isWhole(result: RecognitionResult): boolean {
  if (result.kind === "digits") return result.final && result.certain;
  if (result.kind === "name") return false;
  return result.kind === "expiry" ? result.certain : result.kind !== "nothing";
}

export interface ListenTask {
  /** Chosen by the sender, to tell results of one task from those of another. */
  id: number;
  what: ListenFor;
  /** The test word is obeyed: a test key. */
  testWord: boolean;
  /** Digits of this answer that are already there, keyed or spoken. */
  have: number;
  /** Digits that the whole answer may have; null: the usual ones of the question. */
  lengths: readonly number[] | null;
}

/** Main thread to speech worker. `listen` null: recognise nothing until told again. */
export type ToListener = { listen: ListenTask | null };

/**
 * Speech worker to main thread. `task`: the id of the task that the utterance was recognised for. `fault`: the recogniser behind the worker
 * failed, which is the end of it; the words are constants. `speech`: the caller begins to speak.
 */
export type FromListener = { result: RecognitionResult; task: number } | { fault: string } | { speech: true };

/** The worker's first message, unless it is a fault. */
export const READY = "ready";
