import { PromptDetector, type PromptFingerprint } from "./prompt-detector.ts";

/** A frame louder than this on the mu-law scale (0-127) is somebody speaking. */
const LOUD = 0x30;
/** An unknown prompt counts as asked when it has been quiet for this long. */
const PROMPT_OVER_MS = 700;

interface Waiter {
  isDone(): boolean;
  resolve(): void;
}

/** What a scripted caller has heard so far, and promises about what it will hear. */
export class PromptTracker {
  readonly #detector: PromptDetector;
  readonly #onPrompt: (text: string) => void;
  /** Every known prompt heard, in order. */
  readonly heard: string[] = [];
  #read = 0;
  #marked = 0;
  #askedSinceMark: string | null = null;
  #quietMs = 0;
  #spokeSinceMark = false;
  #waiters: Waiter[] = [];

  constructor(known: readonly PromptFingerprint[], onPrompt: (text: string) => void) {
    this.#detector = new PromptDetector(known, (prompt) => this.#onDetected(prompt));
    this.#onPrompt = onPrompt;
  }

  /** 20 ms of received audio. */
  push(ulaw: Uint8Array): void {
    const isLoud = ulaw.some((code) => (~code & 0x7f) > LOUD);
    this.#quietMs = isLoud ? 0 : this.#quietMs + ulaw.length / 8;
    if (isLoud) this.#spokeSinceMark = true;
    this.#detector.push(ulaw);
    this.#settle();
  }

  /** What comes from here on is the answer to what the caller is about to do. */
  mark(): void {
    this.#askedSinceMark = null;
    this.#marked = this.heard.length;
    this.#read = this.heard.length;
    this.#spokeSinceMark = false;
  }

  /** True when the last question since the mark has these words. */
  isAskedSinceMark(words: string): boolean {
    return this.#askedSinceMark?.toLowerCase().includes(words.toLowerCase()) ?? false;
  }

  /** Until any known prompt was heard since the mark. */
  untilSpokenTo(): Promise<void> {
    return this.#until(() => this.heard.length > this.#marked);
  }

  /** Until something was asked since the mark: a known question, or with an unknown service any speech that has ended. */
  untilAsked(): Promise<void> {
    return this.#until(
      () => this.#askedSinceMark !== null || (this.heard.length === 0 && this.#spokeSinceMark && this.#quietMs >= PROMPT_OVER_MS),
    );
  }

  /** Until a prompt with these words is heard that was not waited for before. */
  untilHeard(words: string): Promise<void> {
    const wanted = words.toLowerCase();
    return this.#until(() => {
      const at = this.heard.findIndex((text, index) => index >= this.#read && text.toLowerCase().includes(wanted));
      if (at >= 0) this.#read = at + 1;
      return at >= 0;
    });
  }

  #onDetected({ text, asks }: PromptFingerprint): void {
    this.heard.push(text);
    if (asks) this.#askedSinceMark = text;
    this.#onPrompt(text);
  }

  #until(isDone: () => boolean): Promise<void> {
    if (isDone()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ isDone, resolve }));
  }

  #settle(): void {
    this.#waiters = this.#waiters.filter((waiter) => {
      const done = waiter.isDone();
      if (done) waiter.resolve();
      return !done;
    });
  }
}
