/** A word of a transcript, as `wordsOf` spells words. */
export interface HeardWord {
  word: string;
  /** 0 to 1; null where the recogniser says nothing about it. */
  confidence: number | null;
}

/** One utterance at a recogniser of the operator's own. */
export interface Transcription {
  /** The next samples, 8 kHz, -1 to 1. */
  feed(samples: Float32Array): void;
  /** What was heard up to here; it may still change. */
  peek(): readonly HeardWord[];
  /** The utterance is over. What was heard, whole; rejects with a RecogniserFault. */
  finish(): Promise<readonly HeardWord[]>;
  /** Forgets the utterance. */
  cancel(): void;
}

/** A recogniser of the operator's own (`SPEECH`): audio of an utterance goes in while it is spoken, its words come out. */
export interface StreamingRecogniser {
  begin(): Transcription;
}

/** Why nothing was recognised. The message is a constant: it reaches the log. */
export class RecogniserFault extends Error {}

/** What recognises speech. */
export type SpeechEngine =
  | { kind: "embedded" }
  /** A server that speaks the protocol of docs/operations.md. `key` is shown to it as a Bearer token. */
  | { kind: "websocket"; url: string; key: string | null }
  | { kind: "sherpa"; files: SherpaFiles };

/** Paths of a streaming transducer's files. */
export interface SherpaFiles {
  encoder: string;
  decoder: string;
  joiner: string;
  tokens: string;
}
