/**
 * The spoken collection of one card as a pure machine: `stepDialog(state, event)` answers the next state and what to do.
 * No timers, no audio, no gateway: `voice/` owns those. docs/conversation.md shows it from the caller's side.
 */
export { POUND, STAR } from "./contract.ts";
export type {
  CollectField,
  Command,
  DialogEffect,
  DialogEvent,
  DialogSetup,
  Field,
  FinishReason,
  Hearing,
  Listening,
  PromptName,
  Question,
  TimerName,
  Verdict,
} from "./contract.ts";
export { createDialog, stepDialog } from "./machine.ts";
export type { Dialog, DialogStep } from "./machine.ts";
export { askingPrompts, fixedPrompts } from "./sentences.ts";
export { startDialog } from "./state.ts";
export type { DialogState } from "./state.ts";
export { moneyInWords } from "./words.ts";
