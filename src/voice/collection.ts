import { createConversation, type FinishReason, type PaymentResult } from "#src/conversation/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import type { DtmfDigit, MediaLeg } from "#src/media/index.ts";
import type { Log } from "#src/platform/index.ts";
import type { Project } from "#src/projects/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { ConversationDriver } from "./conversation-driver.ts";
import { PaidElsewhere } from "./paid-elsewhere.ts";
import { SpeechInput } from "./speech-input.ts";
import type { CallDeps } from "./types.ts";

/** A call that takes longer has lost its caller. */
const LONGEST_CALL_MS = 15 * 60_000;

/** Whose card is collected, over which audio. */
export interface CollectionInput {
  session: Session;
  project: Project;
  leg: MediaLeg;
}

/** The collection of one card and its payment: the conversation with the call's audio, and what may end it from outside. */
export class Collection {
  /** Why it is over. */
  readonly finished: Promise<FinishReason>;
  readonly #input: CollectionInput;
  readonly #deps: CallDeps;
  readonly #log: Log;
  readonly #conversation: ConversationDriver;
  readonly #hungUp = new AbortController();
  readonly #cancelLimit: () => void;
  readonly #elsewhere: PaidElsewhere;
  /** The charge that runs, if one does: a hang-up does not stop it. */
  #charging: Promise<unknown> = Promise.resolve();

  constructor(input: CollectionInput, deps: CallDeps, log: Log) {
    this.#input = input;
    this.#deps = deps;
    this.#log = log;
    const finished = Promise.withResolvers<FinishReason>();
    this.finished = finished.promise;
    this.#conversation = this.#converse(finished.resolve);
    this.#cancelLimit = deps.clock.after(LONGEST_CALL_MS, () => this.hangUp());
    this.#elsewhere = new PaidElsewhere(input.session.id, deps, log, (event) => this.#conversation.feed(event));
  }

  /** Aborted when the caller has hung up. */
  get hungUp(): AbortSignal {
    return this.#hungUp.signal;
  }

  /** The caller hears us: the greeting may begin. */
  begin(): void {
    this.#conversation.feed({ type: "answered" });
    // The page of its link may have been at it before the call was.
    if (this.#input.session.offersLink) this.#elsewhere.look();
  }

  press(digit: DtmfDigit): void {
    this.#conversation.feed({ type: "dtmf", digit });
  }

  hangUp(): void {
    crashPoint("hang_up_received");
    this.#hungUp.abort();
    this.#conversation.feed({ type: "hung_up" });
  }

  /** Nothing from outside ends it any more. Resolves when no charge of it is under way. */
  async stop(): Promise<void> {
    this.#cancelLimit();
    this.#elsewhere.stop();
    await this.#charging;
  }

  #converse(onFinish: (reason: FinishReason) => void): ConversationDriver {
    const { session, project, leg } = this.#input;
    const { recogniser, prompts, clock } = this.#deps;
    const testWord = session.environment === "test" && project.voice.testWord;
    const speechInput: SpeechInput = new SpeechInput({ audio: leg, recogniser, testWord, feed: (event) => conversation.feed(event) });
    const conversation = new ConversationDriver({
      machine: createConversation({
        mode: session.mode,
        amountMinor: session.amountMinor,
        currency: session.currency,
        collect: project.voice.collect,
        attempts: project.voice.attempts,
        testWord,
        speech: recogniser !== null,
        country: project.country,
        nowMs: clock.now(),
      }),
      playback: leg,
      speechInput,
      prompts,
      clock,
      settle: (card, mayRetry) => this.#awaited(this.#elsewhere.during(() => this.#settle(card, mayRetry))),
      skip: () => this.#awaited(this.#elsewhere.during(() => this.#skip())),
      onPrompt: (prompt) => this.#log.debug("prompt", { prompt }),
      onFinish,
    });
    leg.on.dtmfDigit = (digit) => {
      crashPoint("digit_received");
      this.press(digit);
    };
    leg.on.speechStarted = () => speechInput.speechStarted();
    leg.on.played = (id) => conversation.played(id);
    leg.on.mediaLost = () => this.hangUp();
    return conversation;
  }

  #awaited<T>(charge: Promise<T>): Promise<T> {
    this.#charging = charge;
    return charge;
  }

  /** Never rejects. */
  async #settle(card: CardCells, mayRetry: boolean): Promise<PaymentResult> {
    const { session } = this.#input;
    crashPoint("card_collected");
    try {
      return await this.#deps.payments.settle({ session, card, mayRetry });
    } catch (error) {
      return await this.#resultOfFault(error);
    } finally {
      card.wipe();
    }
  }

  /** Only while the session is still being collected is it certain that nothing was sent; from the intent on, money may have moved. */
  async #resultOfFault(error: unknown): Promise<PaymentResult> {
    const { sessions, database } = this.#deps;
    const { id } = this.#input.session;
    const current = await sessions.find(database.db, id).catch(() => null);
    if (current?.phase !== "collecting") {
      this.#log.error("payment_interrupted", { error });
      return { kind: "unknown" };
    }
    this.#log.error("payment_not_started", { error });
    const { message } = DECLINES.processing_error;
    const failed = await sessions
      .apply(id, "fail", { errorCode: "processing_error", errorMessage: message, from: "collecting" })
      .catch(() => "not written");
    if (failed === null) return { kind: "refused" };
    return { kind: "declined", code: "processing_error", fix: null, final: true };
  }

  /** The test word's synthetic payment. Never rejects. */
  #skip(): Promise<PaymentResult> {
    return this.#deps.payments.skip(this.#input.session).catch(() => ({ kind: "refused" }));
  }
}
