import type {
  Conversation,
  ConversationEffect,
  ConversationEvent,
  FinishReason,
  PromptName,
  TimerName,
  PaymentResult,
} from "#src/conversation/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { SpeechInput } from "./speech-input.ts";
import type { Prompts } from "./prompts.ts";

/** What a conversation needs of the call's audio. */
interface Playback {
  play(id: string, parts: { clip: string }[]): void;
  stopPlayback(): void;
}

export interface ConversationDriverDeps {
  machine: Conversation;
  playback: Playback;
  speechInput: SpeechInput;
  prompts: Prompts;
  clock: Clock;
  /** Charges or stores the card and wipes it. Never rejects. */
  settle(card: CardCells, mayRetry: boolean): Promise<PaymentResult>;
  /** Records the test word's synthetic payment; not `approved` when the session was no longer being collected. Never rejects. */
  skip(): Promise<PaymentResult>;
  /** For the call's log line: which prompt, never what was answered. */
  onPrompt(prompt: PromptName): void;
  onFinish(reason: FinishReason): void;
}

/** Carries out what the conversation machine asks for and tells it what happened. One at a time, in order. */
export class ConversationDriver {
  readonly #deps: ConversationDriverDeps;
  readonly #timers = new Map<TimerName, () => void>();
  /** Counts the prompts: a prompt that was replaced while it was being rendered is not played. */
  #saying = 0;
  #playing: { id: string; prompt: PromptName } | null = null;
  #isOver = false;

  constructor(deps: ConversationDriverDeps) {
    this.#deps = deps;
  }

  /** Something happened. Ignored once the conversation is over. */
  feed(event: ConversationEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#deps.machine.feed(event)) this.#perform(effect);
  }

  /** The media engine played `id` to its end. */
  played(id: string): void {
    if (this.#playing?.id !== id) return;
    const { prompt } = this.#playing;
    this.#playing = null;
    this.feed({ type: "prompt_ended", prompt });
  }

  #perform(effect: ConversationEffect): void {
    const { playback, speechInput } = this.#deps;
    switch (effect.type) {
      case "play":
        this.#say(effect.prompt, effect.parts);
        break;
      case "stop_playback":
        this.#saying++;
        this.#playing = null;
        playback.stopPlayback();
        break;
      case "listen":
        speechInput.listenFor(effect);
        break;
      case "stop_listening":
        speechInput.stopListening();
        break;
      case "timer":
        this.#setTimer(effect.name, effect.ms);
        break;
      case "cancel_timer":
        this.#timers.get(effect.name)?.();
        this.#timers.delete(effect.name);
        break;
      case "submit_card":
        void this.#deps.settle(effect.card, effect.mayRetry).then((result) => this.feed({ type: "payment_result", result }));
        break;
      case "skip":
        void this.#deps
          .skip()
          .then((result) => this.feed(result.kind === "approved" ? { type: "skipped" } : { type: "payment_result", result }));
        break;
      case "finish":
        this.#finish(effect.reason);
        break;
    }
  }

  #say(prompt: PromptName, parts: readonly string[]): void {
    const saying = ++this.#saying;
    this.#deps.onPrompt(prompt);
    const play = (clips: string[]) => {
      if (saying !== this.#saying || this.#isOver) return;
      const id = String(saying);
      this.#playing = { id, prompt };
      this.#deps.playback.stopPlayback();
      this.#deps.playback.play(
        id,
        clips.map((clip) => ({ clip })),
      );
    };
    const clips = this.#deps.prompts.clips(parts);
    if (Array.isArray(clips)) play(clips);
    else {
      // The former prompt must not talk on while this one is rendered.
      this.#deps.playback.stopPlayback();
      void clips.then(play, () => this.feed({ type: "prompt_ended", prompt }));
    }
  }

  #setTimer(name: TimerName, ms: number): void {
    this.#timers.get(name)?.();
    const cancel = this.#deps.clock.after(ms, () => {
      this.#timers.delete(name);
      this.feed({ type: "timer", name });
    });
    this.#timers.set(name, cancel);
  }

  #finish(reason: FinishReason): void {
    this.#isOver = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#deps.speechInput.close();
    this.#deps.onFinish(reason);
  }
}
