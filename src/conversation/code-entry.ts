import {
  type ConversationEffect,
  type ConversationEvent,
  type ConversationSetup,
  type FinishReason,
  type PromptName,
  POUND,
  STAR,
} from "./contract.ts";
import type { SentenceId } from "./languages/language.ts";
import type { Conversation } from "./machine.ts";
import { sentence } from "./sentences.ts";
import { NO_QUESTION, worded } from "./wordings.ts";

export type CodeEntrySetup = Pick<ConversationSetup, "language" | "wordings" | "recordings" | "timeouts">;

/** Of a short code. A ninth digit shows that something else is keyed, perhaps a card number: nothing of it is looked up or kept. */
const LENGTH = 8;
/** Wrong codes and silences of one call. */
const TRIES = 3;
/** After the last digit of what may be whole, ms. */
const WHOLE_MS = 2_000;
/** Between digits of what is not, ms, where the project says nothing else. */
const MORE_MS = 5_000;

/**
 * Asks a caller whose call named no session for the session's short code, by keypad (docs/conversation.md, The short code). It says nothing of
 * any session: whatever is wrong with a code, the words are the same. Finishes with `done` when its session is claimed.
 */
export function createCodeEntry(setup: CodeEntrySetup): Conversation {
  const entry = new CodeEntry(setup);
  return { feed: (event) => entry.feed(event) };
}

class CodeEntry {
  readonly #setup: CodeEntrySetup;
  #stage: "ringing" | "asking" | "looking" | "closing" | "over" = "ringing";
  #digits: number[] = [];
  #isTooLong = false;
  #wrong = 0;
  #speaking: PromptName | null = null;
  #effects: ConversationEffect[] = [];

  constructor(setup: CodeEntrySetup) {
    this.#setup = setup;
  }

  feed(event: ConversationEvent): readonly ConversationEffect[] {
    this.#effects = [];
    if (event.type === "hung_up" && this.#stage !== "over") this.#finish("hung_up");
    else if (event.type === "prompt_ended") this.#onPromptEnded(event.prompt);
    else if (this.#stage === "ringing" && event.type === "answered") this.#ask("ask_code", []);
    else if (this.#stage === "looking" && event.type === "code_looked_up") this.#onLookedUp(event.found);
    else if (this.#stage === "asking" && event.type === "dtmf") this.#onKey(event.digit);
    else if (this.#stage === "asking" && event.type === "timer") this.#onTimer();
    return this.#effects;
  }

  #onKey(digit: number): void {
    if (!Number.isInteger(digit) || digit < 0 || digit > POUND) return;
    // Behind a code that has ended by itself.
    if (digit === POUND && this.#digits.length === 0 && !this.#isTooLong) return;
    if (this.#speaking) this.#effects.push({ type: "stop_playback" });
    this.#speaking = null;
    this.#cancelTimers();
    if (digit === STAR) return this.#ask("ask_code", []);
    if (digit === POUND) return this.#submit();
    if (this.#digits.length === LENGTH) this.#isTooLong = true;
    if (this.#isTooLong) this.#wipe();
    else this.#digits.push(digit);
    const isWhole = this.#isTooLong || this.#digits.length === LENGTH;
    this.#effects.push({ type: "timer", name: "digits", ms: isWhole ? WHOLE_MS : (this.#setup.timeouts.betweenDigitsMs ?? MORE_MS) });
  }

  #onTimer(): void {
    if (this.#digits.length > 0 || this.#isTooLong) this.#submit();
    else this.#askAgain("ask_code", []);
  }

  #onPromptEnded(prompt: PromptName): void {
    if (prompt !== this.#speaking) return;
    this.#speaking = null;
    if (this.#stage === "closing") return this.#finish("abandoned");
    this.#effects.push({ type: "timer", name: "silence", ms: this.#setup.timeouts.firstDigitMs });
  }

  #submit(): void {
    if (this.#digits.length !== LENGTH) return this.#askAgain("code_unknown", ["code_unknown"]);
    this.#stage = "looking";
    this.#effects.push({ type: "look_up_code", code: this.#digits.join("") });
    this.#wipe();
  }

  #onLookedUp(found: "session" | "none" | "closed"): void {
    if (found === "session") return this.#finish("done");
    if (found === "closed") return this.#close(["code_unknown"]);
    this.#askAgain("code_unknown", ["code_unknown"]);
  }

  #askAgain(prompt: PromptName, lead: readonly SentenceId[]): void {
    if (++this.#wrong >= TRIES) this.#close(lead);
    else this.#ask(prompt, lead);
  }

  #ask(prompt: PromptName, lead: readonly SentenceId[]): void {
    this.#stage = "asking";
    this.#wipe();
    this.#isTooLong = false;
    this.#cancelTimers();
    this.#play(prompt, [...lead, "ask_code"]);
  }

  #close(lead: readonly SentenceId[]): void {
    this.#stage = "closing";
    this.#wipe();
    this.#cancelTimers();
    this.#effects.push({ type: "closing", reason: "abandoned" });
    this.#play("code_not_found", [...lead, "code_not_found", "say_goodbye"]);
  }

  #play(prompt: PromptName, ids: readonly SentenceId[]): void {
    const { language, timeouts: _, ...own } = this.#setup;
    const situation = { ...NO_QUESTION, attempt: this.#wrong + 1 };
    const said = ids.map((id) => sentence(language, id));
    this.#speaking = prompt;
    this.#effects.push({ type: "play", prompt, situation, sentences: worded(said, situation, own) });
  }

  #cancelTimers(): void {
    for (const name of ["silence", "digits"] as const) this.#effects.push({ type: "cancel_timer", name });
  }

  #wipe(): void {
    this.#digits.fill(0);
    this.#digits.length = 0;
  }

  #finish(reason: FinishReason): void {
    this.#stage = "over";
    this.#wipe();
    this.#cancelTimers();
    this.#effects.push({ type: "finish", reason });
  }
}
