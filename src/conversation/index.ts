/**
 * The spoken collection of one card as a pure machine: `stepConversation(state, event)` returns the next state and what to do.
 * No timers, no audio, no gateway: `voice/` owns those. docs/conversation.md shows it from the caller's side.
 */
export type {
  ConversationEffect,
  ConversationEvent,
  FinishReason,
  PaymentResult,
  PromptName,
  Recordings,
  Sentence,
  Situation,
  TimerName,
  Wording,
} from "./contract.ts";
export { createCodeEntry } from "./code-entry.ts";
export { createConversation } from "./machine.ts";
export type { Conversation } from "./machine.ts";
export { type Sample, samplesOf } from "./samples.ts";
export { allSentences, askingPrompts, fixedPrompts, inEnglish, inWords, purpose, sentence } from "./sentences.ts";
export { ERRORS, ownSentences, RECORDABLE, SENTENCE_IDS, type Speaking, wordingFault } from "./wordings.ts";
export { type CallOutcome, connectingWords, unreachedWords } from "./transfer-words.ts";
