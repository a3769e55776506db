import { once } from "node:events";
import { Worker, type MessagePort } from "node:worker_threads";
import { sleep, systemClock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import { rtpPairs } from "#src/kernel/rtp-ports.ts";
import { Leg, type MediaLeg } from "./leg.ts";
import type { EngineSettings, FromWorker, LegOptions, ToWorker } from "./protocol.ts";

interface MediaEngineOptions {
  /** IP address literal to bind all media ports to; its family is the family of all media. */
  bindHost: string;
  /** First and last UDP port for media; each leg takes an even port and the next one. */
  ports: [number, number];
  random: Random;
  /** Default 30,000. */
  mediaLostAfterMs?: number;
  /** Each 250 ms: how late nine of ten packets at most have left since the last time, ms. */
  onLateness?(ms: number): void;
  /** The media thread died, or could not be started again: every leg is lost. Another thread is being started. */
  onFailure(error: Error): void;
}

/** The main thread's handle on the media worker. */
export interface MediaEngine {
  /** Starts the worker thread; resolves when it is ready. One that dies later is replaced by another, which knows the same clips. */
  start(): Promise<void>;
  /** False from the death of the thread until another has taken its place. */
  readonly isRunning: boolean;
  /** Registers mu-law audio at 8 kHz under `name`, once for all legs. */
  loadClip(name: string, ulaw: Uint8Array): void;
  /** Forgets a clip; whoever is playing it plays it to its end. */
  unloadClip(name: string): void;
  /** Binds a leg to a free port of the range, found from a random one on, waiting for a thread that is being started. Rejects when all are taken. */
  open(options?: Partial<LegOptions>): Promise<MediaLeg>;
  /** Joins two legs until one closes: each peer hears the other, digits included, and nothing from before. */
  bridge(a: MediaLeg, b: MediaLeg): void;
  /**
   * Whoever is on `to` hears the peer of `from`, who rings still, while audio comes from there, in place of what is played to him; nothing goes the
   * other way. Until `bridge`, or until one closes.
   */
  relayEarlyMedia(from: MediaLeg, to: MediaLeg): void;
  /** Closes all legs and ends the thread. */
  stop(): Promise<void>;
}

/** Somebody else has the port, or this user may not have it. */
const TAKEN: ReadonlySet<string> = new Set(["EADDRINUSE", "EACCES"]);
const MEDIA_LOST_AFTER_MS = 30_000;
/** Until the next try when the thread could not be started again. */
const RESTART_AGAIN_MS = 1_000;

/** Creates the engine; nothing runs before `start`. */
export function createMediaEngine(options: MediaEngineOptions): MediaEngine {
  return new Engine(options);
}

class Engine implements MediaEngine {
  readonly #options: MediaEngineOptions;
  readonly #legs = new Map<number, Leg>();
  /** In memory that the thread shares, so that the next one has them too. */
  readonly #clips = new Map<string, Uint8Array>();
  readonly #opening = new Map<number, (error: string | null) => void>();
  #worker: Worker | null = null;
  /** The latest start of a thread. */
  #starting: Promise<void> | null = null;
  #isStopped = false;
  #lastLeg = 0;

  constructor(options: MediaEngineOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#starting = this.#startThread();
    return this.#starting;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  loadClip(name: string, ulaw: Uint8Array): void {
    const shared = new Uint8Array(new SharedArrayBuffer(ulaw.length));
    shared.set(ulaw);
    this.#clips.set(name, shared);
    this.#worker?.postMessage({ type: "loadClip", name, ulaw: shared } satisfies ToWorker);
  }

  unloadClip(name: string): void {
    this.#clips.delete(name);
    this.#worker?.postMessage({ type: "unloadClip", name } satisfies ToWorker);
  }

  async open({ muted = false, capture = false, signallingHost = null }: Partial<LegOptions> = {}): Promise<MediaLeg> {
    if (!this.#starting) throw new Error("the media engine is not running");
    await this.#starting;
    for (const port of this.#portsFromRandom()) {
      if ([...this.#legs.values()].some((leg) => leg.port === port)) continue;
      const number = ++this.#lastLeg;
      const leg = new Leg(this, number, port);
      this.#legs.set(number, leg);
      const error = await new Promise<string | null>((resolve) => {
        this.#opening.set(number, resolve);
        this.tell({ type: "open", leg: number, port, options: { muted, capture, signallingHost }, seed: this.#seed() });
      });
      if (error === null) return leg;
      this.#legs.delete(number);
      if (!TAKEN.has(error)) throw new Error(`media port cannot be bound: ${error}`);
    }
    throw new Error("no free media port");
  }

  bridge(a: MediaLeg, b: MediaLeg): void {
    this.tell({ type: "bridge", leg: (a as Leg).number, other: (b as Leg).number });
  }

  relayEarlyMedia(from: MediaLeg, to: MediaLeg): void {
    this.tell({ type: "earlyMedia", leg: (from as Leg).number, other: (to as Leg).number });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#starting?.catch(() => {});
    const worker = this.#worker;
    await Promise.all([...this.#legs.values()].map((leg) => leg.close()));
    this.#worker = null;
    await worker?.terminate();
  }

  hasClip(name: string): boolean {
    return this.#clips.has(name);
  }

  /** Nothing while there is no thread: then there is no leg either that it could concern. */
  tell(message: ToWorker, transfer: (MessagePort | ArrayBuffer)[] = []): void {
    this.#worker?.postMessage(message, transfer);
  }

  async #startThread(): Promise<void> {
    const { bindHost, mediaLostAfterMs = MEDIA_LOST_AFTER_MS } = this.#options;
    const settings: EngineSettings = { bindHost, mediaLostAfterMs };
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: settings, name: "media" });
    // An error of the thread rejects it.
    const gone = once(worker, "exit").then(
      ([status]) => new Error(`the media thread ended with status ${status}`),
      (error: Error) => error,
    );
    const failure = await Promise.race([once(worker, "message").then(() => null), gone]);
    if (failure) throw failure;
    worker.on("message", (message: FromWorker) => this.#onMessage(message));
    for (const [name, ulaw] of this.#clips) worker.postMessage({ type: "loadClip", name, ulaw } satisfies ToWorker);
    this.#worker = worker;
    void gone.then((error) => {
      if (this.#worker === worker) void this.#replaceThread(error);
    });
  }

  /** Ends every leg as lost and starts another thread, however often it takes. */
  async #replaceThread(error: Error): Promise<void> {
    this.#worker = null;
    for (const resolve of this.#opening.values()) resolve("the media thread died");
    this.#opening.clear();
    const lost = [...this.#legs.values()];
    this.#legs.clear();
    this.#starting = this.#startThread();
    for (const leg of lost) leg.onLost();
    this.#options.onFailure(error);
    while (!this.#isStopped) {
      const failure = await this.#starting.then(
        () => null,
        (cause: Error) => cause,
      );
      if (!failure) return;
      this.#options.onFailure(failure);
      await sleep(systemClock, RESTART_AGAIN_MS);
      this.#starting = this.#startThread();
    }
  }

  #onMessage(message: FromWorker): void {
    if (message.type === "ready") return;
    if (message.type === "lateness") return this.#options.onLateness?.(message.ms);
    const leg = this.#legs.get(message.leg);
    if (!leg) return;
    switch (message.type) {
      case "opened":
        this.#opening.get(message.leg)?.(message.error);
        return void this.#opening.delete(message.leg);
      case "closed":
        this.#legs.delete(message.leg);
        return leg.onClosed(message.stats);
      case "dtmfDigit":
        return leg.on.dtmfDigit(message.digit, message.at);
      case "caughtUp":
        return leg.onCaughtUp();
      case "played":
        return leg.on.played(message.id);
      case "audio":
        return leg.on.audio(message.ulaw);
      case "speechStarted":
      case "mediaLost":
      case "earlyAudio":
        return leg.on[message.type]();
    }
  }

  /** The even ports of the range, all of them once, from one that is evenly drawn. */
  *#portsFromRandom(): Generator<number> {
    const { lowest, count } = rtpPairs(...this.#options.ports);
    const drawn = this.#random32() % count;
    for (let step = 0; step < count; step++) yield lowest + 2 * ((drawn + step) % count);
  }

  /** Sequence numbers begin in the lower half: an SRTP peer that misses our first packets still counts the first roll-over. */
  #seed(): { ssrc: number; sequence: number; timestamp: number } {
    return { ssrc: this.#random32(), sequence: this.#random32() & 0x7fff, timestamp: this.#random32() };
  }

  #random32(): number {
    return Buffer.from(this.#options.random.bytes(4)).readUInt32BE();
  }
}
