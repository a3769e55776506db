import type {
  Conversation,
  ConversationEffect,
  ConversationEvent,
  FinishReason,
  PaymentResult,
  PromptName,
  Sentence,
  Situation,
  TimerName,
} from "#src/conversation/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { PlayPart } from "#src/media/index.ts";
import type { SpeechInput } from "./speech-input.ts";
import type { Prompts } from "./prompts.ts";
import { partsOf } from "./playback.ts";
import { WAITING } from "./steps.ts";
import { waitingTone } from "./tones.ts";

/** What a conversation needs of the call's audio. */
interface Playback {
  play(id: string, parts: PlayPart[]): void;
  stopPlayback(): void;
  /** Resolves when every digit that had come before this call has been reported. */
  caughtUp(): Promise<void>;
}

interface ConversationDriverDeps {
  machine: Conversation;
  playback: Playback;
  speechInput: SpeechInput;
  prompts: Prompts;
  clock: Clock;
  /** Charges or stores the card and wipes it. Never rejects. */
  settle(card: CardCells, mayRetry: boolean): Promise<PaymentResult>;
  /** Records the test word's synthetic payment; not `approved` when the session was no longer being collected. Never rejects. */
  skip(): Promise<PaymentResult>;
  /** Claims the session that a short code names. Never rejects. */
  lookUpCode?(code: string): Promise<"session" | "none" | "closed">;
  /** A prompt begins: which and why, never what was answered. */
  onPrompt(prompt: PromptName, situation: Situation): void;
  /** The last sentence begins. */
  onClosing(reason: FinishReason): void;
  onFinish(reason: FinishReason): void;
}

/** Before the first word: between the caller and us are those who open his path on our 200, and the word's beginning would be lost. */
const OPENING: readonly PlayPart[] = [{ silenceMs: 300 }];

/** Until the next sentence, which stops it. */
const WAITING_TONE = waitingTone(10_000);

interface Timer {
  name: TimerName;
  /** Monotonic ms. */
  due: number;
  cancel: () => void;
}

/**
 * Carries out what the conversation machine asks for and tells it what happened. One at a time, in order: digits and timers in the
 * order of when a digit was pressed and a timer was due, however late either is noticed by a thread that was held up.
 */
export class ConversationDriver {
  readonly #deps: ConversationDriverDeps;
  readonly #timers = new Map<TimerName, Timer>();
  /** When what the machine was last told happened, monotonic ms. */
  #now = Number.NEGATIVE_INFINITY;
  /** Counts the prompts: a prompt that was replaced while it was being rendered is not played. */
  #saying = 0;
  #playing: { id: string; prompt: PromptName } | null = null;
  #hasSpoken = false;
  #isOver = false;

  constructor(deps: ConversationDriverDeps) {
    this.#deps = deps;
  }

  /** Something happened. Ignored once the conversation is over. */
  feed(event: ConversationEvent, at = this.#deps.clock.monotonic()): void {
    if (this.#isOver) return;
    this.#now = Math.max(this.#now, at);
    for (const effect of this.#deps.machine.feed(event)) this.#perform(effect);
  }

  /** A digit was pressed at `at`, monotonic ms. */
  press(digit: number, at = this.#deps.clock.monotonic()): void {
    for (const timer of [...this.#timers.values()].sort((a, b) => a.due - b.due)) if (timer.due < at) this.#fire(timer);
    this.feed({ type: "dtmf", digit }, at);
  }

  /** The media engine played `id` to its end. */
  played(id: string): void {
    if (this.#playing?.id !== id) return;
    const { prompt } = this.#playing;
    this.#playing = null;
    const saying = this.#saying;
    this.feed({ type: "prompt_ended", prompt });
    // The payment may have been decided while it was said: then more is said already.
    if (WAITING.has(prompt) && saying === this.#saying && !this.#isOver) this.#deps.playback.play("waiting", WAITING_TONE);
  }

  #perform(effect: ConversationEffect): void {
    const { playback, speechInput } = this.#deps;
    switch (effect.type) {
      case "play":
        this.#deps.onPrompt(effect.prompt, effect.situation);
        this.#say(effect.prompt, effect.sentences);
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
        this.#cancelTimer(effect.name);
        break;
      case "submit_card":
        void this.#deps.settle(effect.card, effect.mayRetry).then((result) => this.feed({ type: "payment_result", result }));
        break;
      case "skip":
        void this.#deps
          .skip()
          .then((result) => this.feed(result.kind === "approved" ? { type: "skipped" } : { type: "payment_result", result }));
        break;
      case "look_up_code":
        void this.#deps.lookUpCode?.(effect.code).then((found) => this.feed({ type: "code_looked_up", found }));
        break;
      case "closing":
        this.#deps.onClosing(effect.reason);
        break;
      case "finish":
        this.#finish(effect.reason);
        break;
    }
  }

  #say(prompt: PromptName, sentences: readonly Sentence[]): void {
    const saying = ++this.#saying;
    const { playback, prompts } = this.#deps;
    // The former prompt must not talk on while this one is rendered.
    playback.stopPlayback();
    const playToEnd = (clips: readonly string[]) => {
      if (saying !== this.#saying || this.#isOver) return;
      const id = String(saying);
      this.#playing = { id, prompt };
      playback.play(id, this.#opened(partsOf(clips)));
    };
    const clips = prompts.clips(sentences);
    if (Array.isArray(clips)) return playToEnd(clips);
    // What is there already is spoken while the rest, an amount above all, is rendered.
    const [first] = sentences;
    const beginning = first === undefined ? [] : prompts.clips([first]);
    const begun = Array.isArray(beginning) ? beginning : [];
    if (begun.length > 0) playback.play(`${saying} begun`, this.#opened(partsOf(begun)));
    void clips.then(
      (all) => playToEnd(all.slice(begun.length)),
      () => saying === this.#saying && this.feed({ type: "prompt_ended", prompt }),
    );
  }

  #opened(parts: readonly PlayPart[]): PlayPart[] {
    const opening = this.#hasSpoken ? [] : OPENING;
    this.#hasSpoken = true;
    return [...opening, ...parts];
  }

  #setTimer(name: TimerName, ms: number): void {
    this.#cancelTimer(name);
    const due = this.#now + ms;
    const { clock, playback } = this.#deps;
    // Digits pressed before may still be on their way.
    const cancel = clock.after(Math.max(0, due - clock.monotonic()), () => void playback.caughtUp().then(() => this.#fire(timer)));
    const timer: Timer = { name, due, cancel };
    this.#timers.set(name, timer);
  }

  /** Nothing when it was cancelled or set anew meanwhile. */
  #fire(timer: Timer): void {
    if (this.#timers.get(timer.name) !== timer) return;
    this.#cancelTimer(timer.name);
    this.feed({ type: "timer", name: timer.name }, timer.due);
  }

  #cancelTimer(name: TimerName): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  #finish(reason: FinishReason): void {
    this.#isOver = true;
    for (const name of this.#timers.keys()) this.#cancelTimer(name);
    this.#deps.speechInput.close();
    this.#deps.onFinish(reason);
  }
}
