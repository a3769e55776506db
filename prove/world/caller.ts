import type { Key, MediaLeg, PlayPart } from "#src/media/index.ts";
import { HASH } from "#src/media/index.ts";
import type { CallDialog, IncomingCall } from "#src/sip/index.ts";
import { parseDatagram } from "#src/sip/grammar/parse.ts";
import type { ServiceProcess } from "./process.ts";
import type { Track } from "./track.ts";
import type { World } from "./world.ts";

/** A caller with a telephone: hears prompts, presses keys, makes mistakes, hangs up. */

const DESCRIPTION = [
  "v=0",
  "o=- 1 1 IN IP4 198.51.100.7",
  "s=-",
  "c=IN IP4 198.51.100.7",
  "t=0 0",
  "m=audio 40000 RTP/AVP 0 101",
  "a=rtpmap:101 telephone-event/8000",
  "",
].join("\r\n");

/** What each card does at the vendors (`simulators/cards.ts`), and how often it is used. */
const CARDS = {
  "4242424242424242": 60,
  "4000000000000002": 10,
  "4000000000009995": 5,
  "4000000000000127": 6,
  "4000000000000119": 3,
  "4000000000000259": 6,
  "4000000000000333": 4,
} as const;

export const CARD_NUMBERS = Object.keys(CARDS);

const CANCELS_EARLY = 0.03;
const NEVER_ACKNOWLEDGES = 0.03;
const MISTYPES = 0.04;
const FALLS_SILENT = 0.02;

export class Caller {
  readonly callId: string;
  readonly track: Track;
  readonly #world: World;
  readonly #process: ServiceProcess;
  readonly #call: { cancelled: boolean };
  #dialog: { ended: boolean; onBye: ((reason: "bye") => void) | null } | null = null;
  readonly #began: number;
  #number = "";

  constructor(world: World, track: Track, process: ServiceProcess, callId: string) {
    const { random } = world;
    this.#world = world;
    this.track = track;
    this.#process = process;
    this.#began = world.scheduler.now;
    this.callId = callId;
    const call = {
      callId,
      request: inviteFor(track.id, callId),
      offer: DESCRIPTION,
      cancelled: false,
      answer: (description: string) => this.#answered(description),
      reject: (status: number) => {
        if (status === 486) {
          world.counters.saw("a second call was refused: the session was being collected");
          const isTwin = track.callers.some((other) => other !== this && this.#began - other.#began <= 5);
          if (isTwin) world.counters.saw("two calls within 5 ms: one was refused");
        }
        if (status === 410) world.counters.saw(`a call was refused: ${world.statusOf(track.id)}`);
      },
    };
    this.#call = call;
    process.voice.onInvite(call as unknown as IncomingCall);
    if (random.chance(CANCELS_EARLY)) {
      process.after(random.between(0, 20), () => {
        if (!this.#dialog) call.cancelled = true;
      });
    }
  }

  get isUp(): boolean {
    return this.#process.isAlive && this.#dialog !== null && !this.#dialog.ended;
  }

  hangUp(): void {
    if (!this.#dialog) this.#call.cancelled = true;
    else if (!this.#dialog.ended) {
      this.#dialog.ended = true;
      this.#dialog.onBye?.("bye");
    }
  }

  async #answered(description: string): Promise<CallDialog> {
    const { random } = this.#world;
    const port = Number(/m=audio (\d+)/.exec(description)?.[1]);
    const leg = this.#process.legs.get(port);
    if (leg) leg.caller = this;
    if (random.chance(NEVER_ACKNOWLEDGES)) {
      await this.#process.pass(32_000);
      throw new Error("no ACK");
    }
    const dialog = {
      ended: false,
      onBye: null,
      onKey: null,
      onAnswer: null,
      onReinvite: null,
      remoteSdp: null,
      bye: async () => {
        dialog.ended = true;
      },
    };
    this.#dialog = dialog;
    await this.#process.pass(random.between(5, 200));
    return dialog as unknown as CallDialog;
  }

  /** Hears the last words of a prompt, or interrupts it, and answers what was asked. */
  hear(words: string, leg: ModelLeg): void {
    const { random } = this.#world;
    if (random.chance(FALLS_SILENT)) return;
    const keys = this.#answerTo(words);
    if (keys === null) return;
    const patience = random.chance(0.3) ? random.between(300, 900) : random.between(1500, 6000);
    // A run of keys is one event: what happens between two of them is the dialog's own tests' matter.
    this.#process.after(patience, () => {
      if (this.#dialog?.ended !== false) return;
      for (const key of keys) leg.on.key(key);
    });
  }

  #answerTo(words: string): Key[] | null {
    const { random } = this.#world;
    const digits = (text: string) => Array.from(text, Number);
    if (/card number/.test(words)) {
      this.#number = random.weighted(CARDS);
      if (random.chance(MISTYPES)) return [...digits("4242424242424241"), HASH];
      return [...digits(this.#number), HASH];
    }
    if (/expiry date/.test(words)) return digits("1230");
    if (/security code/.test(words)) return digits("123");
    if (/zip code/.test(words)) return digits("94105");
    if (/Press one/.test(words)) return [random.chance(MISTYPES) ? 2 : 1];
    return null;
  }
}

/** A media leg whose prompts take a few seconds of virtual time. */
export class ModelLeg {
  readonly port: number;
  readonly on = { key() {}, speechStarted() {}, played(_id: string) {}, mediaLost() {}, audio() {} } as MediaLeg["on"];
  readonly #process: ServiceProcess;
  caller: Caller | null = null;
  #stop = () => {};

  constructor(process: ServiceProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  start(): void {}
  update(): void {}
  watchVoice(): void {}
  listen(): void {}
  stopListening(): void {}

  play(id: string, parts: PlayPart[]): void {
    const words = parts.map((part) => ("clip" in part ? part.clip : "")).join(" ");
    this.#stop = this.#process.after(1000 + 400 * parts.length, () => this.on.played(id));
    this.caller?.hear(words, this);
  }

  stopPlaying(): void {
    this.#stop();
  }

  async close() {
    this.#stop();
    this.#process.legs.delete(this.port);
    return { packetsIn: 0, packetsOut: 0, lost: 0, jitterMs: 0, ignored: 0, lateness: { p50: 0, p99: 0, max: 0 } };
  }
}

function inviteFor(sessionId: string, callId: string) {
  const text = [
    `INVITE sip:${sessionId}@till.example SIP/2.0`,
    "Via: SIP/2.0/UDP 198.51.100.7:5060;branch=z9hG4bKprove",
    "Max-Forwards: 70",
    "From: <sip:+14155550100@agent.example>;tag=1",
    `To: <sip:${sessionId}@till.example>`,
    `Call-ID: ${callId}`,
    "CSeq: 1 INVITE",
    "Contact: <sip:agent@198.51.100.7>",
    `X-Session-Id: ${sessionId}`,
    "Content-Length: 0",
    "",
    "",
  ].join("\r\n");
  const parsed = parseDatagram(Buffer.from(text));
  if (parsed.kind !== "request") throw new Error("the world's own INVITE is malformed");
  return parsed.request;
}
