import type { ConversationEvent, PaymentResult } from "#src/conversation/index.ts";
import { isDeclineCode } from "#src/kernel/payment.ts";
import type { Log } from "#src/platform/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { CallDeps } from "./types.ts";

/** How soon a session that could not be read is read again while the caller waits for it. */
const READ_AGAIN_MS = 1_000;

type Deps = Pick<CallDeps, "sessions" | "database" | "clock">;
type Feed = (event: ConversationEvent) => void;

/**
 * What others do to the session of a call, told to its conversation: the merchant cancels it, or the page of its link pays it
 * . The call's own charges are none of this: while one runs nothing is told, and afterwards the session is read anew.
 */
export class PaidElsewhere {
  readonly #id: string;
  readonly #deps: Deps;
  readonly #log: Log;
  readonly #feed: Feed;
  readonly #unwatch: () => void;
  #cancelRead = () => {};
  /** Charges that the call itself has begun; what was read before or while one ran says nothing of others. */
  #own = 0;
  #ownRuns = false;
  #isReading = false;
  #isStale = false;
  /** The conversation waits for the other payment. */
  #isAwaited = false;
  #isOver = false;

  constructor(id: string, deps: Deps, log: Log, feed: Feed) {
    this.#id = id;
    this.#deps = deps;
    this.#log = log;
    this.#feed = feed;
    this.#unwatch = deps.sessions.watch(id, () => this.look());
  }

  /** Reads the session, once more when it changes while it is being read. */
  look(): void {
    this.#isStale = true;
    if (!this.#isReading) void this.#read();
  }

  /** Nothing is told any more. */
  stop(): void {
    this.#isOver = true;
    this.#unwatch();
    this.#cancelRead();
  }

  /** The call's own charge. When another way of paying was first, that is what it comes to. Never rejects if `charge` does not. */
  async during(charge: () => Promise<PaymentResult>): Promise<PaymentResult> {
    this.#own++;
    this.#ownRuns = true;
    const result = await charge();
    const wasFirst = result.kind === "refused" && (await this.#isPaidElsewhere());
    this.#ownRuns = false;
    // Final: what is read from here on is the call's own doing.
    if (!wasFirst && (result.kind !== "declined" || result.final)) this.#isOver = true;
    if (wasFirst) this.#isAwaited = true;
    this.look();
    return wasFirst ? { kind: "elsewhere" } : result;
  }

  /** Refused, and not because the merchant has cancelled it. When it cannot be read it is looked at until it can. */
  async #isPaidElsewhere(): Promise<boolean> {
    const { sessions, database } = this.#deps;
    try {
      const session = await sessions.find(database.db, this.#id);
      return session !== null && resultOf(session) !== "over";
    } catch (error) {
      this.#log.warn("session_not_read", { error });
      return true;
    }
  }

  async #read(): Promise<void> {
    const { sessions, database, clock } = this.#deps;
    this.#isReading = true;
    try {
      while (this.#isStale && !this.#ownRuns && !this.#isOver) {
        this.#isStale = false;
        const own = this.#own;
        const session = await sessions.find(database.db, this.#id);
        if (own !== this.#own) this.#isStale = true;
        else if (session && !this.#isOver) this.#tell(session);
      }
    } catch (error) {
      // A cancel that goes unseen here is seen by the charge, which is refused; a payment is waited for.
      this.#log.warn("session_not_read", { error });
      this.#cancelRead();
      if (this.#isAwaited && !this.#isOver) this.#cancelRead = clock.after(READ_AGAIN_MS, () => this.look());
    } finally {
      this.#isReading = false;
    }
  }

  #tell(session: Session): void {
    const result = resultOf(session);
    if (result === "over") {
      if (session.status === "cancelled") this.#feed({ type: "cancelled" });
      if (this.#isAwaited) this.#feed({ type: "payment_result", result: { kind: "refused" } });
      return;
    }
    if (result.kind === "open" && !this.#isAwaited) return;
    const wasAwaited = this.#isAwaited;
    this.#isAwaited = result.kind === "elsewhere";
    if (!(wasAwaited && this.#isAwaited)) this.#feed({ type: "payment_result", result });
  }
}

/** What a session that the call is not charging has come to; `over`: it ended without a payment. */
function resultOf({ status, phase, errorCode }: Session): PaymentResult | "over" {
  if (status === "payment-success" || status === "payment-authorized") return { kind: "approved" };
  if (status === "payment-failed") {
    const code = errorCode !== null && isDeclineCode(errorCode) ? errorCode : "card_declined";
    return { kind: "declined", code, fix: null, final: true };
  }
  if (phase === "charging") return { kind: "elsewhere" };
  if (phase === "unknown") return { kind: "unknown" };
  return phase === "collecting" ? { kind: "open" } : "over";
}
