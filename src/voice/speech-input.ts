import type { MessagePort } from "node:worker_threads";
import type { ConversationEvent, Listening } from "#src/conversation/index.ts";
import type { Listener, Recogniser } from "#src/speech/index.ts";

/** What listening needs of the call's audio. */
interface Audio {
  /** Reports when somebody begins to speak. */
  watchVoice(on: boolean): void;
  /** Streams received audio to the recogniser's port, the moments before included. */
  listen(port: MessagePort): void;
  stopListening(): void;
}

export interface SpeechInputDeps {
  audio: Audio;
  /** Null when speech is switched off: then nothing is ever heard. */
  recogniser: Recogniser | null;
  testWord: boolean;
  feed(event: ConversationEvent): void;
}

/**
 * A call's hearing. A speech worker is taken from the pool when the caller first speaks, not when the call begins: most
 * callers use the keypad, and a worker serves one call only. Without a free worker the caller is asked to use the keypad.
 */
export class SpeechInput {
  readonly #deps: SpeechInputDeps;
  #what: { what: Listening; have: number } | null = null;
  #listener: Listener | null = null;
  #isAsking = false;
  #isClosed = false;

  constructor(deps: SpeechInputDeps) {
    this.#deps = deps;
  }

  listenFor(what: Listening, have: number): void {
    if (!this.#deps.recogniser) return;
    this.#what = { what, have };
    this.#deps.audio.watchVoice(true);
    this.#listener?.listenFor(what, { testWord: this.#deps.testWord, have });
  }

  deaf(): void {
    this.#what = null;
    this.#deps.audio.watchVoice(false);
    this.#listener?.deaf();
  }

  /** The media engine heard somebody begin to speak. */
  speechStarted(): void {
    if (!this.#what) return;
    this.#deps.feed({ type: "speech_started" });
    if (!this.#listener && !this.#isAsking) void this.#takeListener();
  }

  /** Ends the worker: its memory, where spoken digits were strings, goes back to the system. */
  close(): void {
    this.#isClosed = true;
    this.#what = null;
    this.#deps.audio.stopListening();
    void this.#listener?.stop();
    this.#listener = null;
  }

  async #takeListener(): Promise<void> {
    this.#isAsking = true;
    const listener = (await this.#deps.recogniser?.acquire()) ?? null;
    this.#isAsking = false;
    if (!listener) {
      if (!this.#isClosed) this.#deps.feed({ type: "speech_unavailable" });
      return;
    }
    if (this.#isClosed) {
      void listener.stop();
      return;
    }
    this.#listener = listener;
    listener.onHearing = (hearing) => {
      if (this.#what) this.#deps.feed({ type: "heard", hearing });
    };
    listener.onLost = () => {
      this.#listener = null;
      if (!this.#isClosed) this.#deps.feed({ type: "speech_unavailable" });
    };
    if (this.#what) listener.listenFor(this.#what.what, { testWord: this.#deps.testWord, have: this.#what.have });
    this.#deps.audio.listen(listener.port);
  }
}
