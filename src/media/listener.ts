import type { MessagePort } from "node:worker_threads";
import { type AudioFrame, SAMPLES_PER_PACKET, decodeUlaw } from "#src/kernel/g711.ts";
import type { VoiceActivity } from "./voice-activity.ts";

/** Pre-roll: what the caller said before the recogniser was there. 1 s of the 2 s that S-24 allows. */
const RING_FRAMES = 50;
/** Frames in one message: 60 ms, a third of the messages for at most 40 ms of delay. */
const BATCH = 3;
/** Frames of speech, less frames of silence, that make a barge-in: 200 ms (docs/decisions/0012). */
const ONSET = 10;

/** One frame while it is looked at. */
const SAMPLES = new Int16Array(SAMPLES_PER_PACKET);

/** What the detector said of a frame in the ring. */
const [UNHEARD, QUIET, SPEECH] = [0, 1, 2];

/**
 * Received audio on its way to a recogniser. The last second is kept in a ring; while watched, it is told when somebody
 * begins to speak. A listener gets the ring first, then every frame, each marked as speech or not, on a port of its own
 * that bypasses the main thread.
 */
export class Listener {
  readonly #createDetector: () => VoiceActivity;
  readonly #onSpeechStarted: () => void;
  readonly #ring = new Uint8Array(RING_FRAMES * SAMPLES_PER_PACKET);
  readonly #activity = new Uint8Array(RING_FRAMES);
  /** Frames ever put into the ring since it was last emptied. */
  #ringed = 0;
  #port: MessagePort | null = null;
  #detector: VoiceActivity | null = null;
  #batch: AudioFrame[] = [];
  #watching = false;
  #onset = 0;
  #speaking = false;

  constructor(createDetector: () => VoiceActivity, onSpeechStarted: () => void) {
    this.#createDetector = createDetector;
    this.#onSpeechStarted = onSpeechStarted;
  }

  get isListening(): boolean {
    return this.#port !== null;
  }

  /** Reports the beginning of speech, once an utterance, from here on or no more. */
  watch(on: boolean): void {
    this.#watching = on;
    this.#onset = 0;
    this.#speaking = false;
    if (on) this.#detector ??= this.#createDetector();
    else this.#retire();
  }

  /** Streams to `port` from here on, what the ring holds first. */
  start(port: MessagePort): void {
    this.stop();
    this.#port = port;
    this.#detector ??= this.#createDetector();
    port.on("close", () => {
      if (this.#port === port) this.stop();
    });
    const oldest = Math.max(0, this.#ringed - RING_FRAMES);
    for (let index = oldest; index < this.#ringed; index++) {
      const activity = this.#activity[index % RING_FRAMES];
      const frame = this.#slot(index);
      this.#deliver(frame, activity === UNHEARD ? this.#isSpeech(frame) : activity === SPEECH);
    }
    this.#emptyRing();
    this.#flush();
  }

  /** Ends the stream: what is left is sent, the port is closed. Audio from here on is the next listener's pre-roll. */
  stop(): void {
    const port = this.#port;
    if (!port) return;
    this.#flush();
    this.#port = null;
    port.close();
    this.#retire();
  }

  /** Takes one frame of 160 mu-law samples; it is copied. */
  hear(frame: Uint8Array): void {
    const speech = this.#detector ? this.#isSpeech(frame) : null;
    if (this.#port) this.#deliver(frame, speech ?? false);
    else {
      this.#activity[this.#ringed % RING_FRAMES] = speech === null ? UNHEARD : speech ? SPEECH : QUIET;
      this.#slot(this.#ringed++).set(frame);
    }
  }

  /** Ends the stream and the watch, and overwrites all audio held (S-24). */
  clear(): void {
    this.watch(false);
    this.stop();
    this.#emptyRing();
  }

  #retire(): void {
    if (this.#port || this.#watching) return;
    this.#detector?.free();
    this.#detector = null;
  }

  #slot(index: number): Uint8Array {
    const start = (index % RING_FRAMES) * SAMPLES_PER_PACKET;
    return this.#ring.subarray(start, start + SAMPLES_PER_PACKET);
  }

  #emptyRing(): void {
    this.#ring.fill(0);
    this.#ringed = 0;
  }

  #isSpeech(frame: Uint8Array): boolean {
    const speech = this.#detector?.isSpeech(decodeUlaw(frame, SAMPLES)) ?? false;
    SAMPLES.fill(0);
    if (this.#watching) this.#noteOnset(speech);
    return speech;
  }

  #deliver(frame: Uint8Array, speech: boolean): void {
    // Not `slice`: of a Buffer that is no copy, and a datagram is wiped when it has been read.
    this.#batch.push({ frame: new Uint8Array(frame), speech });
    if (this.#batch.length >= BATCH) this.#flush();
  }

  #noteOnset(speech: boolean): void {
    this.#onset = Math.min(ONSET, Math.max(0, this.#onset + (speech ? 1 : -1)));
    if (this.#onset === 0) this.#speaking = false;
    if (this.#onset < ONSET || this.#speaking) return;
    this.#speaking = true;
    this.#onSpeechStarted();
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    this.#port?.postMessage(this.#batch);
    for (const { frame } of this.#batch) frame.fill(0);
    this.#batch = [];
  }
}
