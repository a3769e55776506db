import type { Command } from "./language.ts";

/** What the caller is being asked, which decides what can be understood. */
export type ListenFor = "number" | "expiry" | "cvv" | "zip" | "name" | "yes_no";

/** One finished utterance, as the recogniser understood it. Digits are numbers in memory of their own, never text: strings stay where they were heard. */
export type RecognitionResult =
  /**
   * Digits 0-9 in the order spoken, to be put behind those that the caller had given before. `final`: together with those they are a whole
   * answer. `certain`: nothing else that could have been said is nearly as likely, and the line is quiet enough; otherwise ask again.
   * The conversation overwrites the array once it has read it.
   */
  | { kind: "digits"; digits: Uint8Array<ArrayBuffer>; final: boolean; certain: boolean }
  /** Month 1-12; year as spoken, two or four digits. */
  | { kind: "expiry"; month: number; year: number; certain: boolean }
  /** A name as cards bear it: capitals, spaces, apostrophes. */
  | { kind: "name"; name: string; certain: boolean }
  | { kind: "yes" }
  | { kind: "no" }
  | { kind: "command"; command: Command }
  /** The test word, whole. */
  | { kind: "test_word" }
  /** Speech, or a noise like it, that means nothing here. */
  | { kind: "nothing" };
