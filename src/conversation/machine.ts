import { onPause } from "./answers.ts";
import { awaitAnswer, greet, onSilence } from "./ask.ts";
import type { ConversationEffect, ConversationEvent, ConversationSetup, TimerName } from "./contract.ts";
import { callOff, finish, leave, succeed } from "./ending.ts";
import { askForPatience, onPaidElsewhere, onPatiencePromptEnded, onPaymentResult, onSkipRefused } from "./gateway.ts";
import { onDtmfDigit, onTypeAheadPause } from "./dtmf.ts";
import { onRecognised, onSpeechStarted, onSpeechUnavailable } from "./speech.ts";
import { startConversation, type ConversationState, type Stage } from "./state.ts";
import type { Turn } from "./turn.ts";

type Reactions = { [T in ConversationEvent["type"]]?: (turn: Turn, event: Extract<ConversationEvent, { type: T }>) => void };

/** What each event means in each stage. What is not in the table is passed over, as keys and speech are while the card is at the gateway. */
const REACTIONS: Readonly<Record<Stage, Reactions>> = {
  ringing: {
    answered: greet,
    speech_unavailable: (turn) => void (turn.state.speech = false),
    cancelled: (turn) => finish(turn, "cancelled"),
    hung_up: leave,
  },
  asking: {
    dtmf: onDtmfDigit,
    speech_started: onSpeechStarted,
    recognised: onRecognised,
    prompt_ended: awaitAnswer,
    timer: (turn, { name }) => TIMERS[name](turn),
    speech_unavailable: onSpeechUnavailable,
    payment_result: (turn, { result }) => onPaidElsewhere(turn, result),
    cancelled: callOff,
    hung_up: leave,
  },
  charging: {
    payment_result: (turn, { result }) => onPaymentResult(turn, result),
    prompt_ended: onPatiencePromptEnded,
    timer: (turn, { name }) => TIMERS[name](turn),
    hung_up: leave,
  },
  skipping: {
    skipped: succeed,
    payment_result: (turn, { result }) => onSkipRefused(turn, result),
    hung_up: leave,
  },
  closing: {
    prompt_ended: (turn) => finish(turn, turn.state.ending ?? "done"),
    hung_up: leave,
  },
  over: {},
};

const TIMERS: Readonly<Record<TimerName, (turn: Turn) => unknown>> = {
  silence: onSilence,
  digits: onPause,
  type_ahead: onTypeAheadPause,
  star: () => undefined,
  patience: askForPatience,
};

interface ConversationStep {
  state: ConversationState;
  effects: readonly ConversationEffect[];
}

/**
 * The conversation, one event further. Card and entry are shared between the states of a call: the state given is spent.
 * They are wiped as soon as no further question can need them, at the latest with the `finish` effect.
 */
export function stepConversation(before: ConversationState, event: ConversationEvent): ConversationStep {
  const turn: Turn = { state: { ...before, draft: { ...before.draft } }, effects: [] };
  const reaction = REACTIONS[before.stage][event.type];
  const noticed = reaction !== undefined && isCurrent(before, event);
  if (noticed && event.type === "timer") turn.state.timers = before.timers.filter((name) => name !== event.name);
  // The table pairs each event type with a reaction to it; the compiler cannot follow that through the look-up.
  if (noticed) reaction(turn, event as never);
  if (event.type === "recognised" && event.result.kind === "digits") event.result.digits.fill(0);
  return noticed ? turn : { state: before, effects: [] };
}

/** False for what a race delivers late (the end of a prompt that was replaced, say), and for the test word with a live key. */
function isCurrent({ draft, speaking, speech, timers }: ConversationState, event: ConversationEvent): boolean {
  if (event.type === "prompt_ended") return event.prompt === speaking;
  if (event.type === "timer") return timers.includes(event.name);
  if (event.type === "recognised" && event.result.kind === "test_word" && !draft.setup.testWord) return false;
  return speech || (event.type !== "speech_started" && event.type !== "recognised");
}

/** One call's conversation, for whoever would rather not hold its state. */
export interface Conversation {
  feed(event: ConversationEvent): readonly ConversationEffect[];
}

export function createConversation(setup: ConversationSetup): Conversation {
  let state = startConversation(setup);
  return {
    feed(event) {
      const step = stepConversation(state, event);
      state = step.state;
      return step.effects;
    },
  };
}
