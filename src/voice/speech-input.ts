import { isDeepStrictEqual } from "node:util";
import type { MessagePort } from "node:worker_threads";
import type { ConversationEffect, ConversationEvent } from "#src/conversation/index.ts";
import type { Listener, Recogniser } from "#src/speech/index.ts";

/** What listening needs of the call's audio. */
interface Audio {
  /** Reports when somebody begins to speak. */
  watchVoice(on: boolean): void;
  /** Streams received audio to the recogniser's port, the moments before included. */
  listen(port: MessagePort): void;
  stopListening(): void;
}

type Task = Omit<Extract<ConversationEffect, { type: "listen" }>, "type">;

interface SpeechInputDeps {
  audio: Audio;
  /** Null when speech is switched off: then nothing is ever heard. */
  recogniser: Pick<Recogniser, "acquire" | "expectSpeech"> | null;
  testWord: boolean;
  feed(event: ConversationEvent): void;
}

/**
 * A call's speech recognition. A speech worker is taken from the pool when the caller first speaks, not when the call begins: most
 * callers use the keypad, and a worker serves one call only. Without a free worker the caller is asked to use the keypad.
 */
export class SpeechInput {
  readonly #deps: SpeechInputDeps;
  #task: (Task & { id: number }) | null = null;
  /** Counts the tasks. */
  #tasks = 0;
  #listener: Listener | null = null;
  #isAsking = false;
  #isClosed = false;

  constructor(deps: SpeechInputDeps) {
    this.#deps = deps;
    // A worker takes a second to start, the first question some seconds to be asked.
    void deps.recogniser?.expectSpeech();
  }

  listenFor({ what, have, lengths }: Task): void {
    if (!this.#deps.recogniser) return;
    // The same question again, with the same digits there, is the same task: an answer to it that is under way still counts.
    if (!isDeepStrictEqual(this.#task && { ...this.#task, id: 0 }, { id: 0, what, have, lengths }))
      this.#task = { id: ++this.#tasks, what, have, lengths };
    this.#deps.audio.watchVoice(true);
    if (this.#listener) this.#instruct(this.#listener);
  }

  stopListening(): void {
    this.#task = null;
    this.#deps.audio.watchVoice(false);
    this.#listener?.stopListening();
  }

  /** The media engine heard somebody begin to speak. */
  speechStarted(): void {
    if (!this.#task) return;
    this.#deps.feed({ type: "speech_started" });
    if (!this.#listener && !this.#isAsking) void this.#takeListener();
  }

  /** Ends the worker: its memory, where spoken digits were strings, goes back to the system. */
  close(): void {
    this.#isClosed = true;
    this.#task = null;
    this.#deps.audio.stopListening();
    void this.#listener?.stop();
    this.#listener = null;
  }

  #instruct(listener: Listener): void {
    if (this.#task) listener.listenFor({ ...this.#task, testWord: this.#deps.testWord });
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
    listener.onResult = (result, task) => {
      // What was said to a former question is no answer to this one: it could confirm a card.
      if (task === this.#task?.id) this.#deps.feed({ type: "recognised", result });
    };
    listener.onLost = () => this.#lose();
    this.#instruct(listener);
    try {
      this.#deps.audio.listen(listener.port);
    } catch {
      // The worker died on its way here: a closed port cannot be handed over.
      void listener.stop();
      this.#lose();
    }
  }

  /** The call goes on by keypad. */
  #lose(): void {
    this.#listener = null;
    if (this.#isClosed) return;
    this.#deps.audio.stopListening();
    this.#deps.feed({ type: "speech_unavailable" });
  }
}
