import { type MediaLeg, NO_STATS, type PlayPart } from "#src/media/index.ts";
import type { Recognised, ModelListener } from "./speech-input.ts";

/** The process that a leg belongs to. */
interface LegHost {
  readonly legs: Map<number, ModelLeg>;
  after(ms: number, task: () => void): () => void;
}

/** A media leg whose prompts take a few seconds of virtual time. */
export class ModelLeg {
  readonly port: number;
  readonly on = {
    dtmfDigit() {},
    speechStarted() {},
    played(_id: string) {},
    mediaLost() {},
    earlyAudio() {},
    audio() {},
  } as MediaLeg["on"];
  readonly #process: LegHost;
  /** Who hears what is played. */
  caller: { onPrompt(words: string, leg: ModelLeg): void } | null = null;
  #listener: ModelListener | null = null;
  #stop = () => {};

  constructor(process: LegHost, port: number) {
    this.#process = process;
    this.port = port;
  }

  start(): void {}
  update(): void {}
  watchVoice(): void {}
  watchMedia(): void {}

  listen(port: unknown): void {
    this.#listener = port as ModelListener;
  }

  stopListening(): void {
    this.#listener = null;
  }

  /** Somebody speaks, and is understood at the end of the utterance; of two things said in one breath one after the other. */
  speak(ms: number, results: readonly Recognised[]): void {
    this.on.speechStarted();
    this.#process.after(ms, () => {
      for (const one of results) this.#listener?.recognise(one);
    });
  }

  play(id: string, parts: PlayPart[]): void {
    const words = parts.map((part) => ("clip" in part ? part.clip : "")).join(" ");
    this.#stop = this.#process.after(1000 + 400 * parts.length, () => this.on.played(id));
    this.caller?.onPrompt(words, this);
  }

  stopPlayback(): void {
    this.#stop();
  }

  async caughtUp(): Promise<void> {}

  async close() {
    this.#stop();
    this.#process.legs.delete(this.port);
    return NO_STATS;
  }
}
