import { Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { Random } from "#src/kernel/random.ts";
import type { DtmfDigit } from "./telephone-event.ts";
import type { EngineSettings, FromWorker, DtmfTiming, LegOptions, LegStats, PlayPart, ToWorker } from "./protocol.ts";
import type { RemoteMedia } from "./sdp.ts";

export interface MediaEngineOptions {
  /** IP address literal to bind all media ports to; its family is the family of all media. */
  bindHost: string;
  /** First and last UDP port for media; each leg takes an even port and the next one. */
  ports: [number, number];
  random: Random;
  /** Default 30,000. */
  mediaLostAfterMs?: number;
  /** The media thread died: every leg is dead, and the engine with it. */
  onFailure(error: Error): void;
}

/** The main thread's handle on the media worker. */
export interface MediaEngine {
  /** Starts the worker thread; resolves when it is ready. */
  start(): Promise<void>;
  /** Registers mu-law audio at 8 kHz under `name`, once for all legs. */
  loadClip(name: string, ulaw: Uint8Array): void;
  /** Forgets a clip; whoever is playing it plays it to its end. */
  unloadClip(name: string): void;
  /** Binds a leg to a random free port of the range. Rejects when none can be had. */
  open(options?: Partial<LegOptions>): Promise<MediaLeg>;
  /** Joins two legs until one closes: each peer hears the other, digits included, and nothing from before. */
  bridge(a: MediaLeg, b: MediaLeg): void;
  /** Closes all legs and ends the thread. */
  stop(): Promise<void>;
}

/** What a leg reports; assign the members of interest right after `open`. */
export interface LegHandlers {
  /** A digit was pressed: 0-9, 10 for *, 11 for #. Never log it. */
  dtmfDigit(digit: DtmfDigit): void;
  /** The caller has been speaking for about 200 ms; once for each utterance, only while watched. */
  speechStarted(): void;
  /** The last packet of `play(id)` or `sendDtmf(id)` was sent; not called for what was stopped. */
  played(id: string): void;
  /** Neither RTP nor RTCP came for 30 s although the peer may send. */
  mediaLost(): void;
  /** Received audio, mu-law, 20 ms at a time; only with `capture`. */
  audio(ulaw: Uint8Array): void;
}

/** One call leg. After `close` every method does nothing: hang-ups race with everything. */
export interface MediaLeg {
  /** The local RTP port. */
  readonly port: number;
  readonly on: LegHandlers;
  /** The peer's description is known: sends from here on, what was played before first. */
  start(remote: RemoteMedia): void;
  /** A new description of the same peer (re-INVITE): hold, other codec, other address. */
  update(remote: RemoteMedia): void;
  /** Appends to what the leg says. Throws on a clip that was not loaded. */
  play(id: string, parts: PlayPart[]): void;
  /** Says nothing more at once. */
  stopPlayback(): void;
  /** Reports `speechStarted` from here on, or no more. */
  watchVoice(on: boolean): void;
  /** Streams received audio to `port` (see AudioFrame), up to 1 s of pre-roll first. The port is closed at the end. */
  listen(port: MessagePort): void;
  stopListening(): void;
  /** Presses digits towards the peer: for test callers. */
  sendDtmf(id: string, digits: DtmfDigit[], timing: DtmfTiming): void;
  /** Frees the ports and wipes all audio held. */
  close(): Promise<LegStats>;
}

const PORT_TRIES = 100;
const MEDIA_LOST_AFTER_MS = 30_000;

/** Creates the engine; nothing runs before `start`. */
export function createMediaEngine(options: MediaEngineOptions): MediaEngine {
  return new Engine(options);
}

class Engine implements MediaEngine {
  readonly #options: MediaEngineOptions;
  readonly #legs = new Map<number, Leg>();
  readonly #clips = new Set<string>();
  readonly #opening = new Map<number, (error: string | null) => void>();
  #worker: Worker | null = null;
  #lastLeg = 0;

  constructor(options: MediaEngineOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bindHost, mediaLostAfterMs = MEDIA_LOST_AFTER_MS } = this.#options;
    const settings: EngineSettings = { bindHost, mediaLostAfterMs };
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: settings, name: "media" });
    await new Promise<void>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("message", () => {
        worker.off("error", reject);
        resolve();
      });
    });
    worker.on("message", (message: FromWorker) => this.#onMessage(message));
    worker.on("error", (error) => this.#onFailure(error as Error));
    this.#worker = worker;
  }

  loadClip(name: string, ulaw: Uint8Array): void {
    this.#clips.add(name);
    this.tell({ type: "loadClip", name, ulaw });
  }

  unloadClip(name: string): void {
    this.#clips.delete(name);
    this.tell({ type: "unloadClip", name });
  }

  async open({ muted = false, capture = false }: Partial<LegOptions> = {}): Promise<MediaLeg> {
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const port = this.#randomPort();
      if ([...this.#legs.values()].some((leg) => leg.port === port)) continue;
      const number = ++this.#lastLeg;
      const leg = new Leg(this, number, port);
      this.#legs.set(number, leg);
      const error = await new Promise<string | null>((resolve) => {
        this.#opening.set(number, resolve);
        this.tell({ type: "open", leg: number, port, options: { muted, capture }, seed: this.#seed() });
      });
      if (error === null) return leg;
      this.#legs.delete(number);
      if (error !== "EADDRINUSE") throw new Error(`media port cannot be bound: ${error}`);
    }
    throw new Error("no free media port");
  }

  bridge(a: MediaLeg, b: MediaLeg): void {
    this.tell({ type: "bridge", leg: (a as Leg).number, other: (b as Leg).number });
  }

  async stop(): Promise<void> {
    const worker = this.#worker;
    await Promise.all([...this.#legs.values()].map((leg) => leg.close()));
    this.#worker = null;
    await worker?.terminate();
  }

  hasClip(name: string): boolean {
    return this.#clips.has(name);
  }

  tell(message: ToWorker, transfer: MessagePort[] = []): void {
    if (!this.#worker) throw new Error("the media engine is not running");
    this.#worker.postMessage(message, transfer);
  }

  #onMessage(message: FromWorker): void {
    if (message.type === "ready") return;
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
        return leg.on.dtmfDigit(message.digit);
      case "played":
        return leg.on.played(message.id);
      case "audio":
        return leg.on.audio(message.ulaw);
      case "speechStarted":
      case "mediaLost":
        return leg.on[message.type]();
    }
  }

  #onFailure(error: Error): void {
    this.#worker = null;
    for (const resolve of this.#opening.values()) resolve("the media thread died");
    for (const leg of this.#legs.values()) {
      leg.onClosed(NO_STATS);
      leg.on.mediaLost();
    }
    this.#legs.clear();
    this.#options.onFailure(error);
  }

  /** Even, evenly drawn from the range. */
  #randomPort(): number {
    const [first, last] = this.#options.ports;
    const lowest = first + (first % 2);
    const pairs = Math.floor((last - lowest + 1) / 2);
    return lowest + 2 * (this.#random32() % pairs);
  }

  #seed(): { ssrc: number; sequence: number; timestamp: number } {
    return { ssrc: this.#random32(), sequence: this.#random32() & 0xffff, timestamp: this.#random32() };
  }

  #random32(): number {
    return Buffer.from(this.#options.random.bytes(4)).readUInt32BE();
  }
}

const NO_STATS: LegStats = { packetsIn: 0, packetsOut: 0, lost: 0, jitterMs: 0, ignored: 0, lateness: { p50: 0, p99: 0, max: 0 } };

class Leg implements MediaLeg {
  readonly number: number;
  readonly port: number;
  readonly on: LegHandlers = { dtmfDigit() {}, speechStarted() {}, played() {}, mediaLost() {}, audio() {} };
  readonly #engine: Engine;
  readonly #closed = Promise.withResolvers<LegStats>();
  #isClosed = false;

  constructor(engine: Engine, number: number, port: number) {
    this.#engine = engine;
    this.number = number;
    this.port = port;
  }

  start(remote: RemoteMedia): void {
    this.#tell({ type: "remote", leg: this.number, remote });
  }

  update(remote: RemoteMedia): void {
    this.start(remote);
  }

  play(id: string, parts: PlayPart[]): void {
    const missing = parts.find((part) => "clip" in part && !this.#engine.hasClip(part.clip));
    if (missing) throw new Error(`clip not loaded: ${(missing as { clip: string }).clip}`);
    this.#tell({ type: "play", leg: this.number, id, parts });
  }

  stopPlayback(): void {
    this.#tell({ type: "stopPlayback", leg: this.number });
  }

  watchVoice(on: boolean): void {
    this.#tell({ type: "watchVoice", leg: this.number, on });
  }

  listen(port: MessagePort): void {
    this.#tell({ type: "listen", leg: this.number, port }, [port]);
  }

  stopListening(): void {
    this.#tell({ type: "stopListening", leg: this.number });
  }

  sendDtmf(id: string, digits: DtmfDigit[], timing: DtmfTiming): void {
    this.#tell({ type: "sendDtmf", leg: this.number, id, digits, timing });
  }

  close(): Promise<LegStats> {
    this.#tell({ type: "close", leg: this.number });
    this.#isClosed = true;
    return this.#closed.promise;
  }

  /** The worker has closed the leg, or died. */
  onClosed(stats: LegStats): void {
    this.#isClosed = true;
    this.#closed.resolve(stats);
  }

  #tell(message: ToWorker, transfer: MessagePort[] = []): void {
    if (!this.#isClosed) this.#engine.tell(message, transfer);
  }
}
