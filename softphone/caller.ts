import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { askingPrompts, fixedPrompts } from "#src/conversation/index.ts";
import { EMBEDDED_LANGUAGE } from "#src/kernel/language.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { systemRandom } from "#src/kernel/random.ts";
import {
  acceptOffer,
  createMediaEngine,
  createOffer,
  HASH,
  readAnswer,
  STAR,
  type DtmfDigit,
  type MediaEngine,
  type MediaLeg,
} from "#src/media/index.ts";
import {
  createUserAgent,
  type CallDialog,
  type IncomingCall,
  type InviteFailed,
  type OutgoingCall,
  type UserAgent,
} from "#src/sip/index.ts";
import { createSynthesiser, type Synthesiser } from "#src/speech/index.ts";
import { fingerprintOf, isHeardIn, type PromptFingerprint } from "./prompt-detector.ts";
import { PromptTracker } from "./prompt-tracker.ts";
import type { Turn, Way } from "./script.ts";
import { readWav } from "./wav.ts";

/** Digits as a hurried person presses them. */
const DTMF_TIMING = { onMs: 80, gapMs: 60 };
/** A recogniser that has not asked again by then has understood. */
const UNDERSTOOD_AFTER_MS = 4_000;
/** No prompt of ours keeps a caller waiting longer. */
const PATIENCE_MS = 40_000;

export interface CallOptions {
  /** SIP URI. */
  target: string;
  /** SIP URI; without it a number of this telephone's own. */
  from?: string;
  headers?: [string, string][];
  turns: readonly Turn[];
  /** A sentence with words that vary, such as an amount: the report says whether it was heard, all of it. */
  listensFor?: string;
  /** Each thing that happens, for a timeline; digits and words of the caller are never part of it. */
  onEvent?: (what: string) => void;
  /** What is heard, mu-law at 8000 Hz, as it comes: of a call that fails there is no report. */
  onAudio?: (ulaw: Uint8Array) => void;
  /** Aborted: the caller gives up while it rings, or drops the line at once without waiting for the other side. */
  signal?: AbortSignal;
  dtmfTiming?: typeof DTMF_TIMING;
  /** How long the caller waits for one thing before this fails, ms; default: 40 s. */
  patienceMs?: number;
}

export interface CallReport {
  answered: boolean;
  /** Final SIP status of the INVITE. */
  status: number;
  endedBy: "service" | "caller";
  prompts: string[];
  /** Null: nothing was listened for. */
  heardSentence: boolean | null;
  /** Everything that was heard, mu-law at 8000 Hz. */
  audio: Uint8Array;
}

export interface AnsweredCall {
  /** X- fields of the INVITE, by name. */
  headers: Record<string, string>;
  dialog: CallDialog;
  /** What the other side says and presses, and what it hears. */
  leg: MediaLeg;
  /** Resolves when the other side has hung up. */
  ended: Promise<void>;
  hangUp(): Promise<void>;
}

/** A telephone: a user agent, media and a voice of its own. It shares nothing with the service it calls. */
export interface Telephone {
  call(options: CallOptions): Promise<CallReport>;
  /** Answers the next call that comes in, and says what its INVITE carried. */
  answerNext(): Promise<AnsweredCall>;
  /** Where `answerNext` is called. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * `host`: the address of this machine that it listens at and calls from. `onMissing`: called for each prompt of the service that is not in the
 * folder; until all are rendered nobody is called.
 */
export async function openTelephone(cacheDir: string, host: string = "127.0.0.1", onMissing: () => void = () => {}): Promise<Telephone> {
  let onCall: ((call: IncomingCall) => void) | null = null;
  const media = createMediaEngine({
    bindHost: host,
    ports: [30_000, 39_999],
    random: systemRandom,
    onFailure: (error) => {
      throw error;
    },
  });
  const userAgent = createUserAgent({
    clock: systemClock,
    random: systemRandom,
    host,
    port: 0,
    publicHost: host,
    userAgent: "Voicetill test telephone",
    trunks: ["127.0.0.0/8", "::1/128"],
    onInvite: (call) => (onCall ? onCall(call) : call.reject(480)),
  });
  const voice = createSynthesiser({ cacheDir, onMissing });
  // A man's voice, to be told from the service's; nothing he says is kept: it may be a card number.
  const own = createSynthesiser({ cacheDir: null, voice: "kal16", isAnnouncer: false });
  await media.start();
  const { port } = await userAgent.start();
  let known: Promise<PromptFingerprint[]> | null = null;

  return {
    address: `sip:agent@${formatHostPort(host, port)}`,
    async call(options) {
      const sought = options.listensFor === undefined ? null : Buffer.from(await voice.render(options.listensFor));
      const report = await placeCall(options, { host, userAgent, media, voice: own, known: (known ??= learn(voice)) });
      return { ...report, heardSentence: sought && isHeardIn(report.audio, sought) };
    },
    answerNext: () =>
      new Promise((resolve, reject) => {
        onCall = (call) => {
          onCall = null;
          answer(call, media, host).then(resolve, reject);
        };
      }),
    async close() {
      await userAgent.stop();
      await media.stop();
      await Promise.all([voice.stop(), own.stop()]);
    },
  };
}

interface Tools {
  host: string;
  userAgent: UserAgent;
  media: MediaEngine;
  /** The caller's. */
  voice: Synthesiser;
  /** What the service may say. */
  known: Promise<PromptFingerprint[]>;
}

/** Every prompt of the service, as this telephone's own voice renders it. */
async function learn(voice: Synthesiser): Promise<PromptFingerprint[]> {
  const questions = new Set(askingPrompts(EMBEDDED_LANGUAGE));
  const texts = fixedPrompts(EMBEDDED_LANGUAGE);
  const audio = await Promise.all(texts.map(async (text) => Buffer.from(await voice.render(text))));
  return texts.flatMap((text, index) => {
    const own = audio[index] ?? Buffer.alloc(0);
    return fingerprintOf(
      text,
      questions.has(text),
      own,
      audio.filter((other) => other !== own),
    );
  });
}

async function placeCall(
  options: CallOptions,
  { host, userAgent, media, voice, known }: Tools,
): Promise<Omit<CallReport, "heardSentence">> {
  const { target, from = `sip:+15555550100@${formatHostPort(host, null)}`, headers = [], onEvent = () => {} } = options;
  const leg = await media.open({ capture: true });
  const heard: Uint8Array[] = [];
  const prompts = new PromptTracker(await known, (text) => onEvent(`heard: ${text}`));
  leg.on.audio = (ulaw) => {
    heard.push(ulaw);
    options.onAudio?.(ulaw);
    prompts.push(ulaw);
  };

  const local = { host, port: leg.port, sessionId: "1", previous: null };
  const offer = createOffer(local);
  const outgoing = begun(() => userAgent.invite({ target, from, offer, headers, ringTimeoutMs: 30_000 }));
  onEvent("INVITE sent");
  const giveUp = () => outgoing.cancel();
  options.signal?.addEventListener("abort", giveUp);
  let dialog: CallDialog;
  try {
    const answer = await outgoing.answered;
    const agreed = readAnswer(answer.sdp, offer);
    if (agreed.kind === "refused") throw new OperatorError(`The answer's session description is unusable: ${agreed.detail}.`);
    dialog = answer.dialog;
    leg.start(agreed.remote);
  } catch (error) {
    await leg.close();
    const { status, reason } = error as Partial<InviteFailed>;
    if (status === undefined) throw error;
    onEvent(`refused with ${status}${reason ? `: ${reason.replaceAll(/\p{C}/gu, "")}` : ""}`);
    return { answered: false, status, endedBy: "service", prompts: [], audio: new Uint8Array() };
  }
  onEvent("answered");

  const ended = Promise.withResolvers<"over">();
  dialog.onBye = () => ended.resolve("over");
  if (dialog.ended) ended.resolve("over");
  const drop = () => ended.resolve("over");
  options.signal?.removeEventListener("abort", giveUp);
  options.signal?.addEventListener("abort", drop);
  if (options.signal?.aborted) drop();
  const { patienceMs = PATIENCE_MS } = options;
  const speaker = new Speaker(leg, voice, prompts, onEvent, patienceMs, options.dtmfTiming);
  let endedBy: CallReport["endedBy"] = "service";
  try {
    for (const turn of options.turns) {
      const done = await Promise.race([speaker.take(turn).then(() => "done" as const), ended.promise]);
      if (done === "over") break;
      if (turn.do === "hang up") {
        endedBy = "caller";
        await dialog.bye();
        break;
      }
    }
    if (endedBy === "service") await within(ended.promise, "the service to hang up", prompts, patienceMs);
  } finally {
    options.signal?.removeEventListener("abort", drop);
    const bye = dialog.ended ? null : dialog.bye();
    if (options.signal?.aborted) bye?.catch(() => undefined);
    else await bye;
    await leg.close();
  }
  onEvent(`hung up by the ${endedBy}`);
  return { answered: true, status: 200, endedBy, prompts: prompts.heard, audio: Buffer.concat(heard) };
}

/** A target, caller or header that cannot stand in a SIP message is the mistake of whoever gave it. */
function begun(invite: () => OutgoingCall): OutgoingCall {
  try {
    return invite();
  } catch (cause) {
    throw new OperatorError(`This call cannot be made, ${(cause as Error).message}: see its target, caller and headers.`, { cause });
  }
}

/** Carries out turns on one leg. */
class Speaker {
  readonly #leg: MediaLeg;
  readonly #voice: Synthesiser;
  readonly #prompts: PromptTracker;
  readonly #onEvent: (what: string) => void;
  readonly #patienceMs: number;
  readonly #dtmfTiming: typeof DTMF_TIMING;
  #count = 0;

  constructor(
    leg: MediaLeg,
    voice: Synthesiser,
    prompts: PromptTracker,
    onEvent: (what: string) => void,
    patienceMs: number,
    dtmfTiming = DTMF_TIMING,
  ) {
    this.#patienceMs = patienceMs;
    this.#dtmfTiming = dtmfTiming;
    this.#leg = leg;
    this.#voice = voice;
    this.#prompts = prompts;
    this.#onEvent = onEvent;
  }

  async take(turn: Turn): Promise<void> {
    switch (turn.do) {
      case "wait":
        return await delay(turn.seconds * 1000);
      case "wait for":
        return await within(this.#prompts.untilHeard(turn.text), `"${turn.text}"`, this.#prompts, this.#patienceMs);
      case "wait for a prompt":
        return await within(this.#prompts.untilAsked(), "a prompt", this.#prompts, this.#patienceMs);
      case "dtmf":
        this.#onEvent(`keyed ${turn.digits.length} digits`);
        return await this.#played((id) => this.#leg.sendDtmf(id, turn.digits.split("").map(digitOf), this.#dtmfTiming));
      case "say": {
        const ulaw = await this.#voice.render(turn.text);
        this.#onEvent("spoke");
        return await this.#played((id) => this.#leg.play(id, [{ ulaw }]));
      }
      case "answer":
        return await this.#answer(turn.question, turn.ways);
      case "play": {
        const ulaw = readWav(readFileSync(turn.file));
        this.#onEvent("spoke");
        return await this.#played((id) => this.#leg.play(id, [{ ulaw }]));
      }
      case "confirm if asked":
        await this.#prompts.untilHeard("is that right");
        return await this.take({ do: "dtmf", digits: "1" });
      case "hang up":
        return;
    }
  }

  /** As a person does who is not understood: whoever hears the same question again answers it again. */
  async #answer(question: string, ways: readonly Way[]): Promise<void> {
    await this.take({ do: "wait for", text: question });
    for (const [index, way] of ways.entries()) {
      if ("say" in way) await this.take({ do: "say", text: way.say });
      const isMisheard = "say" in way && way.digits !== undefined && (await this.#isSpokenToSoon());
      if (way.digits !== undefined && !isMisheard) await this.take({ do: "dtmf", digits: way.digits });
      if (index === ways.length - 1) return;
      await within(this.#prompts.untilAsked(), "the next question", this.#prompts, this.#patienceMs);
      if (!this.#prompts.isAskedSinceMark(question)) return;
    }
  }

  /** Silence means that what was said was taken as far as it went. */
  async #isSpokenToSoon(): Promise<boolean> {
    return await Promise.race([this.#prompts.untilSpokenTo().then(() => true), delay(UNDERSTOOD_AFTER_MS, false)]);
  }

  #played(start: (id: string) => void): Promise<void> {
    const id = `turn ${++this.#count}`;
    this.#prompts.mark();
    return new Promise((resolve) => {
      this.#leg.on.played = (played) => {
        if (played === id) resolve();
      };
      start(id);
    });
  }
}

function digitOf(key: string): DtmfDigit {
  if (key === "*") return STAR;
  return key === "#" ? HASH : Number(key);
}

async function within(event: Promise<unknown>, what: string, prompts: PromptTracker, patienceMs: number): Promise<void> {
  const late = new AbortController();
  const limit = delay(patienceMs, undefined, { signal: late.signal, ref: false }).then(() => {
    const last = (prompts.heard.at(-1) ?? "nothing").replace(/\.$/, "");
    throw new OperatorError(`Waited ${patienceMs / 1000} s for ${what}; last heard: ${last}${last.endsWith("?") ? "" : "."}`);
  });
  try {
    await Promise.race([event, limit]);
  } finally {
    late.abort();
    limit.catch(() => undefined);
  }
}

async function answer(call: IncomingCall, media: MediaEngine, host: string): Promise<AnsweredCall> {
  const leg = await media.open();
  const agreed = call.offer === null ? null : acceptOffer(call.offer, { host, port: leg.port, sessionId: "1", previous: null });
  if (agreed?.kind !== "agreed") {
    call.reject(488);
    throw new Error("the call has no usable offer");
  }
  const headers = Object.fromEntries(
    call.request.fields.names.filter((name) => /^x-/i.test(name)).map((name) => [name, call.request.header(name) ?? ""]),
  );
  leg.start(agreed.remote);
  const dialog = await call.answer(agreed.answer);
  const ended = new Promise<void>((resolve) => {
    dialog.onBye = () => void leg.close().then(() => resolve());
  });
  return {
    headers,
    dialog,
    leg,
    ended,
    async hangUp() {
      if (!dialog.ended) await dialog.bye();
      await leg.close();
    },
  };
}
