/**
 * The spoken collection of one card as a pure machine: `stepConversation(state, event)` returns the next state and what to do.
 * No timers, no audio, no gateway: `voice/` owns those. docs/conversation.md shows it from the caller's side.
 */
export type { ConversationEffect, ConversationEvent, FinishReason, Listening, PromptName, TimerName, PaymentResult } from "./contract.ts";
export { createConversation } from "./machine.ts";
export type { Conversation } from "./machine.ts";
export { askingPrompts, fixedPrompts } from "./sentences.ts";
