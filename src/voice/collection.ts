import { createConversation, type FinishReason, type PaymentResult } from "#src/conversation/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import { sleep, within } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { AppError } from "#src/kernel/errors.ts";
import { spokenLanguage } from "#src/kernel/language.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { type DtmfDigit, type KeyPath, KeySource, type MediaLeg } from "#src/media/index.ts";
import type { Log } from "#src/platform/index.ts";
import type { Project } from "#src/projects/index.ts";
import { isTerminal, type Session } from "#src/sessions/index.ts";
import type { CallDialog } from "#src/sip/index.ts";
import { ConversationDriver } from "./conversation-driver.ts";
import { PaidElsewhere } from "./paid-elsewhere.ts";
import { SpeechInput } from "./speech-input.ts";
import { Steps } from "./steps.ts";
import type { CallDeps } from "./types.ts";

/** A call that takes longer has lost its caller. */
const LONGEST_CALL_MS = 15 * 60_000;

/** What a charge takes whose answer is lost, and whose result waits for a database that is away a minute: who has waited for longer is let go. */
const LONGEST_CHARGE_MS = 2 * 60_000;

/** How soon a session that could not be read is read again while the caller waits. */
const READ_AGAIN_MS = 500;

/** What ends a call from outside: as its dialog says, or without a word of it. */
export type HangUp = Parameters<NonNullable<CallDialog["onBye"]>>[0] | "media-lost" | "too-long" | "not-acknowledged" | "fault";

/** Whose card is collected, over which audio. */
interface CollectionInput {
  session: Session;
  project: Project;
  leg: MediaLeg;
}

/** The collection of one card and its payment: the conversation with the call's audio, and what may end it from outside. */
export class Collection {
  /** Why it ends: known when the last sentence begins, or when the caller hangs up before it. */
  readonly decided: Promise<FinishReason>;
  /** The last sentence was spoken, or the caller has hung up. */
  readonly finished: Promise<void>;
  readonly #input: CollectionInput;
  readonly #deps: CallDeps;
  readonly #log: Log;
  readonly #conversation: ConversationDriver;
  readonly #hungUp = new AbortController();
  readonly #cancelLimit: () => void;
  readonly #elsewhere: PaidElsewhere;
  readonly #keys: KeySource;
  /** The charge that the caller waits for, if one runs: a hang-up does not stop it. */
  #charging: Promise<unknown> = Promise.resolve();
  #settled: Promise<unknown> = Promise.resolve();
  #hungUpFor: HangUp | null = null;
  #isOverdue = false;

  constructor(input: CollectionInput, deps: CallDeps, log: Log) {
    this.#input = input;
    this.#deps = deps;
    this.#log = log;
    this.#keys = new KeySource(deps.clock);
    const decided = Promise.withResolvers<FinishReason>();
    const finished = Promise.withResolvers<void>();
    this.decided = decided.promise;
    this.finished = finished.promise;
    this.#conversation = this.#converse(decided.resolve, finished.resolve);
    this.#cancelLimit = deps.clock.after(LONGEST_CALL_MS, () => this.hangUp("too-long"));
    this.#elsewhere = new PaidElsewhere(input.session.id, deps, log, (event) => this.#conversation.feed(event));
  }

  /** Aborted when the caller has hung up. */
  get hungUp(): AbortSignal {
    return this.#hungUp.signal;
  }

  /** Why he has, or was; null: the line is his still. */
  get hungUpFor(): HangUp | null {
    return this.#hungUpFor;
  }

  /** The caller was told that nobody knows how his charge ends, because that could not be written for so long. */
  get isOverdue(): boolean {
    return this.#isOverdue;
  }

  /** Resolves when no charge is under way, told of or not: what a gateway has answered is in memory until it is written. */
  get settled(): Promise<unknown> {
    return this.#settled;
  }

  /** The caller hears us: the greeting may begin. */
  begin(): void {
    this.#conversation.feed({ type: "answered" });
    // What happened to the session between its claim and this collection reached nobody: a cancel, or the page of its link.
    this.#elsewhere.look();
  }

  /** A key of the caller's. `at`: when it was pressed, monotonic ms; absent: now. */
  press(digit: DtmfDigit, path: KeyPath, at?: number): void {
    if (!this.#keys.accepts(path)) return;
    this.#conversation.press(digit, at);
  }

  /** `why`: of the first one, for the log. */
  hangUp(why: HangUp): void {
    this.#hungUpFor ??= why;
    this.#hungUp.abort();
    this.#conversation.feed({ type: "hung_up" });
  }

  /** Nothing from outside ends it any more. Resolves when no charge of it is under way, or it is overdue. */
  async stop(): Promise<void> {
    this.#cancelLimit();
    this.#elsewhere.stop();
    await this.#charging;
  }

  #converse(onDecided: (reason: FinishReason) => void, onFinished: () => void): ConversationDriver {
    const { session, project, leg } = this.#input;
    const { recogniser, prompts, clock, sessions, countStep, settings } = this.#deps;
    const steps = new Steps((progress) => sessions.tellProgress(session.id, progress), countStep);
    const testWord = session.environment === "test" && project.voice.testWord;
    const speechInput: SpeechInput = new SpeechInput({ audio: leg, recogniser, testWord, feed: (event) => conversation.feed(event) });
    const conversation = new ConversationDriver({
      machine: createConversation({
        language: spokenLanguage(project.language, settings.languages),
        mode: session.mode,
        amountMinor: session.amountMinor,
        currency: session.currency,
        collect: project.voice.collect,
        attempts: project.voice.attempts,
        tries: project.voice.tries,
        merchant: project.voice.name,
        acceptedBrands: project.acceptedBrands,
        wordings: project.voice.prompts,
        recordings: project.voice.recordings,
        readBack: project.voice.readBack,
        timeouts: project.voice.timeouts,
        testWord,
        speech: recogniser !== null,
        spokenNames: recogniser?.understandsNames ?? false,
        country: project.country,
        transfersBack: session.callback !== null,
        nowMs: clock.now(),
      }),
      playback: leg,
      speechInput,
      prompts,
      clock,
      settle: (card, mayRetry) => this.#awaited(this.#elsewhere.during(() => this.#inTime(this.#settle(card, mayRetry)))),
      skip: () => this.#awaited(this.#elsewhere.during(() => this.#skip())),
      onPrompt: (prompt, situation) => {
        this.#log.debug("prompt", { prompt });
        steps.prompt(prompt, situation);
      },
      onClosing: (reason) => {
        steps.end(reason);
        onDecided(reason);
      },
      onFinish: (reason) => {
        steps.end(reason);
        onDecided(reason);
        onFinished();
      },
    });
    leg.on.dtmfDigit = (digit, at) => {
      crashPoint("digit_received");
      this.press(digit, "rtp", at);
    };
    leg.on.speechStarted = () => speechInput.speechStarted();
    leg.on.played = (id) => conversation.played(id);
    leg.on.mediaLost = () => this.hangUp("media-lost");
    return conversation;
  }

  #awaited<T>(charge: Promise<T>): Promise<T> {
    this.#charging = charge;
    return charge;
  }

  async #inTime(charge: Promise<PaymentResult>): Promise<PaymentResult> {
    this.#settled = charge;
    return await within(this.#deps.clock, LONGEST_CHARGE_MS, charge, () => {
      this.#isOverdue = true;
      this.#log.error("payment_overdue");
      return { kind: "unknown" };
    });
  }

  /** Never rejects. */
  async #settle(card: CardCells, mayRetry: boolean): Promise<PaymentResult> {
    const { session } = this.#input;
    try {
      for (;;) {
        const result = await this.#deps.payments.settle({ session, card, mayRetry }).catch((error: unknown) => this.#resultOfFault(error));
        if (result !== "not begun") return result;
      }
    } finally {
      card.wipe();
    }
  }

  /**
   * Only while the session is still being collected is it certain that nothing was sent; from the intent on, money may have moved. A database
   * that was away is waited for, as long as the caller waits: then the payment can still be begun.
   */
  async #resultOfFault(error: unknown): Promise<PaymentResult | "not begun"> {
    const { sessions, database, clock } = this.#deps;
    const { id } = this.#input.session;
    const read = () => sessions.find(database.db, id).catch(() => undefined);
    let current = await read();
    const wasAway = current === undefined || (error instanceof AppError && error.code === "unavailable");
    if (wasAway) {
      this.#log.error("payment_waits", { error });
      do {
        await sleep(clock, READ_AGAIN_MS);
        current = await read();
      } while (current === undefined && this.#callerWaits);
    }
    // Ended by another meanwhile, and by nothing that this call has sent.
    if (current && isTerminal(current.status)) return { kind: "refused" };
    if (current?.phase !== "collecting" || (wasAway && !this.#callerWaits)) {
      this.#log.error("payment_interrupted", { error });
      return { kind: "unknown" };
    }
    if (wasAway) return "not begun";
    this.#log.error("payment_not_started", { error });
    const { message } = DECLINES.processing_error;
    const failed = await sessions
      .apply(id, "fail", { errorCode: "processing_error", errorMessage: message, from: "collecting" })
      .catch(() => "not written");
    if (failed === null) return { kind: "refused" };
    return { kind: "declined", code: "processing_error", fix: null, final: true };
  }

  /** He has neither hung up nor been let go. */
  get #callerWaits(): boolean {
    return !this.#hungUp.signal.aborted && !this.#isOverdue;
  }

  /** The test word's synthetic payment. Never rejects. */
  #skip(): Promise<PaymentResult> {
    return this.#deps.payments.skip(this.#input.session).catch(() => ({ kind: "refused" }));
  }
}
