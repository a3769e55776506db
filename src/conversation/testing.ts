import type { CardCells } from "#src/kernel/card.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Command } from "#src/kernel/language.ts";
import type { RecognitionResult } from "#src/kernel/recognition.ts";
import {
  POUND,
  STAR,
  type ConversationEffect,
  type ConversationEvent,
  type ConversationSetup,
  type FinishReason,
  type PromptName,
  type Sentence,
  type Situation,
  type TimerName,
  type PaymentResult,
} from "./contract.ts";
import { stepConversation } from "./machine.ts";
import { inWords } from "./sentences.ts";
import { startConversation, type ConversationState } from "./state.ts";

/** For tests: 15 March 2027, noon UTC. */
export const NOW_MS = Date.UTC(2027, 2, 15, 12);
export const VISA = "4242424242424242";
export const MASTERCARD = "5555555555554444";
export const AMEX = "378282246310005";

export const SETUP: ConversationSetup = {
  language: "en-US",
  mode: "charge",
  amountMinor: 4995,
  currency: "USD",
  collect: ["number", "expiry", "cvv", "zip"],
  attempts: 3,
  tries: 3,
  merchant: null,
  acceptedBrands: [],
  wordings: [],
  readBack: true,
  timeouts: { firstDigitMs: 10_000, betweenDigitsMs: null },
  testWord: true,
  speech: true,
  spokenNames: false,
  country: "US",
  transfersBack: false,
  nowMs: NOW_MS,
};

/** What the gateway got, as text: a test's own card is no secret. */
export interface Charged {
  number: string;
  expiry: string;
  cvv: string;
  zip: string | null;
  mayRetry: boolean;
}

/** The keys that spell `text`, capitals and spaces, as a careful caller presses them. */
export function multiTap(text: string): string {
  const letters = ["", "", "ABC", "DEF", "GHI", "JKL", "MNO", "PQRS", "TUV", "WXYZ"];
  return Array.from(text).reduce((keys, letter) => {
    const key = letter === " " ? 0 : letters.findIndex((each) => each.includes(letter));
    const presses = String(key).repeat(Math.max(1, (letters[key]?.indexOf(letter) ?? 0) + 1));
    return keys + (key > 0 && keys.endsWith(String(key)) ? "1" : "") + presses;
  }, "");
}

const PROMPT_MS = 4_000;
const KEY_MS = 200;
const textOf = (bytes: Uint8Array) => String.fromCharCode(...bytes);

/** A call to the machine: carries out its effects on a clock of its own, with prompts that take four seconds. */
export class TestCall {
  readonly clock = new ManualClock(NOW_MS);
  /** Names of the prompts, in the order they began. */
  readonly prompts: PromptName[] = [];
  /** What was said last. */
  sentences: readonly Sentence[] = [];
  readonly charged: Charged[] = [];
  readonly handedOut: CardCells[] = [];
  skips = 0;
  said = "";
  asks: string | null = null;
  situation: Situation | null = null;
  playing: PromptName | null = null;
  listening: Omit<Extract<ConversationEffect, { type: "listen" }>, "type"> | null = null;
  /** How the call was decided to end, while the last sentence is spoken and after. */
  closing: FinishReason | null = null;
  finished: FinishReason | null = null;
  state: ConversationState;
  readonly #timers = new Map<TimerName, () => void>();
  #stopPrompt = () => {};

  constructor(setup: Partial<ConversationSetup> = {}) {
    this.state = startConversation({ ...SETUP, tries: setup.attempts ?? SETUP.tries, ...setup });
  }

  /** An answered call whose greeting is being spoken. */
  static answered(setup: Partial<ConversationSetup> = {}): TestCall {
    return new TestCall(setup).happens({ type: "answered" });
  }

  happens(event: ConversationEvent): this {
    const step = stepConversation(this.state, event);
    this.state = step.state;
    for (const effect of step.effects) this.#perform(effect);
    return this;
  }

  /** Keys, 200 ms each. */
  keys(keys: string): this {
    for (const key of keys) {
      this.happens({ type: "dtmf", digit: key === "*" ? STAR : key === "#" ? POUND : Number(key) });
      this.passes(KEY_MS);
    }
    return this;
  }

  /** One group a prompt, each keyed a second after its prompt began. */
  keysOnePerPrompt(...groups: string[]): this {
    for (const group of groups) this.passes(1000).keys(group);
    return this;
  }

  /** The caller listens to the end of the prompt. */
  listens(): this {
    while (this.playing) this.passes(PROMPT_MS);
    return this;
  }

  passes(ms: number): this {
    this.clock.advance(ms);
    return this;
  }

  recognises(result: RecognitionResult): this {
    return this.happens({ type: "speech_started" }).happens({ type: "recognised", result });
  }

  saysDigits(digits: string, { final = true, certain = true } = {}): this {
    return this.recognises({ kind: "digits", digits: Uint8Array.from(digits, Number), final, certain });
  }

  says(command: Command): this {
    return this.recognises({ kind: "command", command });
  }

  /** Everything keyed up to the read-back, prompts interrupted. */
  givesCard(number = VISA): this {
    return this.keysOnePerPrompt(`${number}#`, "0330#", number === AMEX ? "1234#" : "123#", "94105#").passes(1000);
  }

  paymentResult(result: PaymentResult): this {
    return this.listens().happens({ type: "payment_result", result });
  }

  /** The prompt the caller heard last, after listening to its end. */
  get prompt(): PromptName | undefined {
    return this.prompts.at(-1);
  }

  /** No digit of the conversation is in memory. */
  get isWiped(): boolean {
    const { card, entry } = this.state.draft;
    const cells = [card.number, card.expMonth, card.expYear, card.cvv, entry];
    return (
      cells.every((cell) => cell.length === 0 && cell.bytes(0, 32).every((byte) => byte === 0)) &&
      card.postalCode === null &&
      card.cardholderName === null
    );
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  #perform(effect: ConversationEffect): void {
    if (this.finished) throw new Error(`an effect after finish: ${effect.type}`);
    switch (effect.type) {
      case "look_up_code":
        throw new Error("a conversation about a card asks for no code");
      case "play":
        this.#stopPrompt();
        this.prompts.push(effect.prompt);
        this.sentences = effect.sentences;
        this.said = inWords(effect.sentences);
        this.asks = effect.situation.asks;
        this.situation = effect.situation;
        this.playing = effect.prompt;
        this.#stopPrompt = this.clock.after(PROMPT_MS, () => {
          this.playing = null;
          this.happens({ type: "prompt_ended", prompt: effect.prompt });
        });
        break;
      case "stop_playback":
        this.#stopPrompt();
        this.playing = null;
        break;
      case "listen":
        this.listening = { what: effect.what, have: effect.have, lengths: effect.lengths };
        break;
      case "stop_listening":
        this.listening = null;
        break;
      case "timer":
        this.#cancel(effect.name);
        this.#timers.set(
          effect.name,
          this.clock.after(effect.ms, () => {
            this.#timers.delete(effect.name);
            this.happens({ type: "timer", name: effect.name });
          }),
        );
        break;
      case "cancel_timer":
        this.#cancel(effect.name);
        break;
      case "submit_card":
        this.handedOut.push(effect.card);
        this.charged.push({
          number: textOf(effect.card.number.bytes()),
          expiry: `${textOf(effect.card.expMonth.bytes())}/${textOf(effect.card.expYear.bytes())}`,
          cvv: textOf(effect.card.cvv.bytes()),
          zip: effect.card.postalCode,
          mayRetry: effect.mayRetry,
        });
        break;
      case "skip":
        this.skips++;
        break;
      case "closing":
        this.closing = effect.reason;
        break;
      case "finish":
        this.#stopPrompt();
        this.playing = null;
        this.finished = effect.reason;
        break;
    }
  }

  #cancel(name: TimerName): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}

export const APPROVED: PaymentResult = { kind: "approved" };
