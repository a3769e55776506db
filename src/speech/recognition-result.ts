import type { Command } from "#src/kernel/language.ts";

/** What the caller is being asked, which decides what can be understood. */
export type ListenFor = "number" | "expiry" | "cvv" | "zip" | "name" | "yes_no";

/** Questions whose answer is a string of digits. */
export const hasDigits = (what: ListenFor): boolean => what === "number" || what === "cvv" || what === "zip";

/** One finished utterance. Digits are numbers in memory of their own, never text: strings stay in the worker that heard them. */
export type RecognitionResult =
  /**
   * Digits 0-9 in the order spoken, without those the caller had given before (`have`). `final`: together with those they are a whole
   * answer. `certain`: nothing else that could have been said is nearly as likely, and the line is quiet enough; otherwise ask again.
   */
  | { kind: "digits"; digits: Uint8Array<ArrayBuffer>; final: boolean; certain: boolean }
  /** Month 1-12, year in four digits. */
  | { kind: "expiry"; month: number; year: number; certain: boolean }
  /** A name as cards bear it: capitals, spaces, apostrophes. */
  | { kind: "name"; name: string; certain: boolean }
  | { kind: "yes" }
  | { kind: "no" }
  | { kind: "command"; command: Command }
  /** The test word, whole. */
  | { kind: "test_word" }
  /** Speech that means nothing here. */
  | { kind: "nothing" };

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
 * failed, which is the end of it; the words are constants.
 */
export type FromListener = { result: RecognitionResult; task: number } | { fault: string };

/** The worker's first message, unless it is a fault. */
export const READY = "ready";
