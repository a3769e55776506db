import { complete } from "./answers.ts";
import { awaitAnswer, greet, onSilence } from "./ask.ts";
import type { ConversationEffect, ConversationEvent, ConversationSetup, TimerName } from "./contract.ts";
import { callOff, finish, leave, succeed } from "./ending.ts";
import { askForPatience, onPatiencePromptEnded, onVerdict } from "./gateway.ts";
import { onDtmfDigit, openGate } from "./dtmf.ts";
import { onHeard, onSpeechStarted, onSpeechUnavailable } from "./speech.ts";
import { startDialog } from "./state.ts";
import type { DialogState, Stage } from "./state.ts";
import type { Turn } from "./turn.ts";

type Reactions = { [T in ConversationEvent["type"]]?: (turn: Turn, event: Extract<ConversationEvent, { type: T }>) => void };

/** What each event means in each stage. What is not in the table is not noticed: keys and speech while the card is at the gateway, say. */
const REACTIONS: Readonly<Record<Stage, Reactions>> = {
  ringing: {
    answered: greet,
    speech_unavailable: (turn) => void (turn.state.speech = false),
    cancelled: (turn) => finish(turn, "cancelled"),
    hung_up: leave,
  },
  asking: {
    key: onDtmfDigit,
    speech_started: onSpeechStarted,
    heard: onHeard,
    prompt_ended: awaitAnswer,
    timer: (turn, { name }) => TIMERS[name](turn),
    speech_unavailable: onSpeechUnavailable,
    cancelled: callOff,
    hung_up: leave,
  },
  charging: {
    settled: (turn, { verdict }) => onVerdict(turn, verdict),
    prompt_ended: onPatiencePromptEnded,
    timer: (turn, { name }) => TIMERS[name](turn),
    hung_up: leave,
  },
  skipping: {
    skipped: succeed,
    settled: callOff,
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
  digits: complete,
  keys: openGate,
  patience: askForPatience,
};

export interface DialogStep {
  state: DialogState;
  effects: readonly ConversationEffect[];
}

/**
 * The conversation, one event further. Card and entry are shared between the states of a call: the state given is spent.
 * They are wiped as soon as no further question can need them, at the latest with the `finish` effect.
 */
export function stepDialog(before: DialogState, event: ConversationEvent): DialogStep {
  const turn: Turn = { state: { ...before, draft: { ...before.draft } }, effects: [] };
  const reaction = REACTIONS[before.stage][event.type];
  const noticed = reaction !== undefined && isCurrent(before, event);
  if (noticed && event.type === "timer") turn.state.timers = before.timers.filter((name) => name !== event.name);
  // The table pairs each event type with a reaction to it; the compiler cannot follow that through the look-up.
  if (noticed) reaction(turn, event as never);
  if (event.type === "heard" && event.hearing.kind === "digits") event.hearing.digits.fill(0);
  return noticed ? turn : { state: before, effects: [] };
}

/** False for what a race delivers late (the end of a prompt that was replaced, say), and for the test word with a live key. */
function isCurrent({ draft, speaking, speech, timers }: DialogState, event: ConversationEvent): boolean {
  if (event.type === "prompt_ended") return event.prompt === speaking;
  if (event.type === "timer") return timers.includes(event.name);
  if (event.type === "heard" && event.hearing.kind === "test_word" && !draft.setup.testWord) return false;
  return speech || (event.type !== "speech_started" && event.type !== "heard");
}

/** One call's conversation, for whoever would rather not hold its state. */
export interface Dialog {
  feed(event: ConversationEvent): readonly ConversationEffect[];
}

export function createConversation(setup: ConversationSetup): Dialog {
  let state = startDialog(setup);
  return {
    feed(event) {
      const step = stepDialog(state, event);
      state = step.state;
      return step.effects;
    },
  };
}
