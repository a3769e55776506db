import type { ConversationEffect, PromptName, Sentence, Situation, TimerName } from "./contract.ts";
import type { SentenceId, Values } from "./languages/language.ts";
import { QUESTIONS } from "./questions.ts";
import { sentence } from "./sentences.ts";
import type { ConversationState } from "./state.ts";
import { worded } from "./wordings.ts";

/** One step in the making. The state is this step's own copy, so its functions may write to it; nothing outside sees it yet. */
export interface Turn {
  state: { -readonly [K in keyof ConversationState]: ConversationState[K] };
  effects: ConversationEffect[];
}

/** A sentence in the call's language. */
export function say(turn: Turn, id: SentenceId, values?: Partial<Values>): Sentence {
  return sentence(turn.state.draft.setup.language, id, values);
}

export function play(turn: Turn, prompt: PromptName, sentences: readonly Sentence[]): void {
  turn.state.speaking = prompt;
  const situation = situationOf(turn);
  turn.effects.push({ type: "play", prompt, situation, sentences: worded(sentences, situation, turn.state.draft.setup) });
}

function situationOf({ state }: Turn): Situation {
  const { card } = state.draft;
  const brand = card.number.length > 0 ? card.brand : null;
  if (state.stage !== "asking") return { asks: null, attempt: Math.max(1, state.cards), error: null, brand };
  return { asks: state.asks, attempt: state.faults[state.asks] + state.misrecognised + 1, error: state.error, brand };
}

export function stopPlayback(turn: Turn): void {
  if (!turn.state.speaking) return;
  turn.state.speaking = null;
  turn.effects.push({ type: "stop_playback" });
}

export function listen(turn: Turn): void {
  const { asks, draft, speech } = turn.state;
  const rules = QUESTIONS[asks];
  if (speech)
    turn.effects.push({ type: "listen", what: rules.listenFor, have: draft.entry.length, lengths: rules.lengths?.(draft) ?? null });
}

export function stopListening(turn: Turn): void {
  if (turn.state.speech) turn.effects.push({ type: "stop_listening" });
}

export function setTimer(turn: Turn, name: TimerName, ms: number): void {
  turn.state.timers = [...turn.state.timers.filter((timer) => timer !== name), name];
  turn.effects.push({ type: "timer", name, ms });
}

export function cancelTimer(turn: Turn, name: TimerName): void {
  if (!turn.state.timers.includes(name)) return;
  turn.state.timers = turn.state.timers.filter((timer) => timer !== name);
  turn.effects.push({ type: "cancel_timer", name });
}

export function cancelTimers(turn: Turn): void {
  for (const name of turn.state.timers) cancelTimer(turn, name);
}

export function clearEntry(turn: Turn): void {
  turn.state.draft.entry.wipe();
  turn.state.keyed = false;
  turn.state.spoken = false;
}

/** Overwrites every digit of the conversation. */
export function wipe(turn: Turn): void {
  clearEntry(turn);
  turn.state.draft.card.wipe();
}
