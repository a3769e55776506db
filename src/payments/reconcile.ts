import { REFUSED_AS, type Gateway, type LookUpResult, type Outcome } from "#src/gateways/index.ts";
import { sleep } from "#src/kernel/clock.ts";
import { isDeclineCode, type GatewayName } from "#src/kernel/payment.ts";
import { Background } from "#src/platform/index.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { decisionOf, findAttempt, PERHAPS_STORED, type Attempt } from "./attempts.ts";
import { type SeenCredentials, withAttempt } from "./gateway-io.ts";
import type { PaymentsDeps } from "./types.ts";
import { tellOfForwarding, writeResult } from "./ledger.ts";
import { effectsOf, declinedBy, type OutcomeEffects } from "./outcome.ts";
import { requireReversalOfUnknown } from "./reversal-rows.ts";
import type { Reversals } from "./reversal.ts";

/**
 * The search for what became of an attempt whose answer was lost: by look-up, else by void; never a new charge, and the
 * card is gone (docs/invariants.md, The charge protocol). One search per attempt and process; the attempt's owner makes it.
 */
export interface Search {
  /** Attempts that this process is charging or searching: nobody else in it touches them. */
  readonly busy: Set<string>;
  /**
   * Searches in the background if the attempt needs it. `startedAt`: when this process began the attempt, monotonic ms; left out: the
   * database's clock says how old it is.
   */
  begin(id: string, startedAt?: number): void;
  /** The gateway's settings were saved: what waits to ask it again asks now, because other credentials may be what was missing. */
  wake(gateway: GatewayName): void;
  /** Gateways whose attempts can be searched at all. */
  readonly reconcilable: readonly GatewayName[];
  /** Ends all searches; the next process takes them up. */
  stop(): Promise<void>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const WAITS: readonly number[] = [1, 2, 5, 10].map((seconds) => seconds * SECOND);
const LONG_WAIT = 30 * SECOND;
/** After this long the session ends as outcome_unknown; the attempt is still looked for, at this distance. */
const GIVE_UP_AFTER = 10 * MINUTE;
const LATE_WAIT = 10 * MINUTE;
/** Then it is the operator's alone. Janitors take up nothing older either. */
const END_AFTER = GIVE_UP_AFTER + 24 * 60 * MINUTE;
/** After a fault of our own side, mostly the database. */
const OUTAGE_WAIT = 5 * SECOND;
/** What a living owner may need after the deadline to write its answer down. */
const GRACE = 5 * SECOND;
/** The same where nobody can be asked: an owner that is only cut off from the database is the one who knows. */
const GRACE_UNASKABLE = 30 * SECOND;
const NOBODY_KNOWS = "its answer was lost, and the gateway cannot be asked: to be given back";

export function createSearch(deps: PaymentsDeps, tokens: AccessTokens, reversals: Reversals): Search {
  const { database, gateways, clock, log } = deps;
  const busy = new Set<string>();
  const background = new Background();
  const seen: SeenCredentials = new Map();
  const waiting = new Set<{ gateway: GatewayName; wake: () => void }>();
  const stopping = new AbortController();

  function begin(id: string, startedAt?: number): void {
    if (busy.has(id) || stopping.signal.aborted) return;
    busy.add(id);
    // Only `stop` ends it early.
    const whole = searchOn(id, startedAt).catch(() => {});
    void background.run(
      whole.finally(() => {
        busy.delete(id);
        seen.delete(id);
      }),
    );
  }

  /** Through every outage of the database. */
  async function searchOn(id: string, startedAt?: number): Promise<void> {
    for (;;) {
      try {
        await search(id, startedAt);
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn("payment_reconciliation_interrupted", { attempt: id, error });
        await sleep(clock, OUTAGE_WAIT, stopping.signal);
      }
    }
  }

  async function search(id: string, startedAt?: number): Promise<void> {
    let began = startedAt;
    for (let round = 0; ; round++) {
      // Anew each round: what the last one noted, a refund that was sent above all, says what this one may send.
      const attempt = await findAttempt(database.db, id);
      if (!attempt || attempt.outcome === "approved" || attempt.outcome === "declined") return;
      // Ages are counted on the monotonic clock, of another process's attempt from the database's first figure: no clock that is set can
      // end a search early.
      const start = (began ??= clock.monotonic() - attempt.ageMs);
      const age = () => clock.monotonic() - start;
      const known = await ask(attempt, age);
      if (known) {
        await decide(attempt, effectsOf(known, { brand: attempt.cardBrand, last4: attempt.cardLast4 }, false));
        return;
      }
      const gateway = gateways[attempt.gateway];
      const left = ownerIsThroughAfter(attempt, gateway) - age();
      let { givenUp } = attempt;
      if (!givenUp && (age() >= GIVE_UP_AFTER || (!canBeFound(gateway) && left <= 0))) {
        await giveUp(attempt);
        givenUp = true;
      }
      if (givenUp && (!canBeFound(gateway) || age() >= END_AFTER)) return;
      const wait = givenUp ? LATE_WAIT : (WAITS[round] ?? LONG_WAIT);
      await pause(attempt.gateway, left > 0 && !isAskable(gateway) ? Math.min(wait, left) : wait);
    }
  }

  /** Until it is time, or the gateway's settings were saved. */
  async function pause(gateway: GatewayName, ms: number): Promise<void> {
    const woken = new AbortController();
    const waits = { gateway, wake: () => woken.abort() };
    waiting.add(waits);
    try {
      await sleep(clock, ms, AbortSignal.any([stopping.signal, woken.signal]));
    } catch (error) {
      if (stopping.signal.aborted) throw error;
    } finally {
      waiting.delete(waits);
    }
  }

  /**
   * The outcome, or null while it is not known. What the gateway has on its books counts at any time. What it does not
   * have, and what an interface's rule says of a lost answer, counts only once no living owner can know better
   * (docs/decisions/0009).
   */
  async function ask(attempt: Attempt, age: () => number): Promise<Outcome | null> {
    const gateway = gateways[attempt.gateway];
    if (!gateway) return null;
    const isOwnerThrough = () => age() >= ownerIsThroughAfter(attempt, gateway);
    if (gateway.lookUp) {
      if (!isAskable(gateway) && !isOwnerThrough()) return null;
      const found = await withAttempt(deps, tokens, attempt, async (io) => gateway.lookUp?.(attempt.trace, io), seen);
      if (!found?.answer) return null;
      if (found.answer.outcome === "absent" && found.answer.mayBeStored)
        return isOwnerThrough() ? { ...declinedBy("gateway_unavailable"), mayBeStored: true } : null;
      const absenceIsProof = found.unchanged && isOwnerThrough() && age() >= gateway.capabilities.absenceIsProofAfterMs;
      return fromLookUp(found.answer, absenceIsProof, attempt.trace.notes);
    }
    if (!gateway.void || !isOwnerThrough()) return null;
    await requireReversalOfUnknown(database.db, attempt.id, NOBODY_KNOWS);
    await reversals.tryNow(attempt.id);
    const reversal = (await decisionOf(database.db, attempt.id))?.reversal;
    // No money moved: the card is on the operator's list.
    if (reversal === "failed" && attempt.trace.mode === "tokenize") return { ...declinedBy("gateway_unavailable"), reason: PERHAPS_STORED };
    return reversal === "done" ? refusedBefore(attempt.trace.notes) : null;
  }

  async function decide(attempt: Attempt, effects: OutcomeEffects): Promise<void> {
    const written = await writeResult(deps, { id: attempt.id, sessionId: attempt.trace.sessionId }, effects, stopping.signal);
    const gateway = gateways[attempt.gateway];
    if (gateway) tellOfForwarding(deps, gateway, attempt.trace.sessionId, effects.attempt);
    if (effects.attempt.outcome === "declined" && effects.attempt.mayBeStored) reversals.begin(attempt.id);
    if (written === "written") deps.onFound?.(attempt.gateway, effects.attempt.outcome);
    else if (effects.attempt.outcome === "approved") {
      log.error("payment_approved_too_late", facts(attempt));
      reversals.begin(attempt.id);
    }
  }

  /** The session ends; the attempt stays open for the operator and for the search. */
  async function giveUp(attempt: Attempt): Promise<void> {
    const { changes } = effectsOf(declinedBy("outcome_unknown"), { brand: attempt.cardBrand, last4: attempt.cardLast4 }, false);
    const reason = "the outcome could not be established";
    await decide(attempt, { attempt: { outcome: "unknown", reason, givenUp: true, notes: {} }, event: "fail", changes });
    log.error("payment_outcome_unknown", facts(attempt));
  }

  function facts({ trace, gateway }: Attempt) {
    return { session: trace.sessionId, gateway, attempt: trace.attempt };
  }

  return {
    busy,
    begin,
    wake(name) {
      for (const { gateway, wake } of waiting) if (gateway === name) wake();
    },
    reconcilable: Object.values(gateways)
      .filter(canBeFound)
      .map(({ name }) => name),
    async stop() {
      stopping.abort();
      await background.idle();
    },
  };
}

function canBeFound(gateway: Gateway | undefined): boolean {
  return gateway?.lookUp !== undefined || gateway?.void !== undefined;
}

/** Somebody outside the service knows what became of the attempt, or can reverse it. */
function isAskable(gateway: Gateway | undefined): boolean {
  return canBeFound(gateway) && (gateway?.void !== undefined || gateway?.capabilities.lookUp !== "by rule");
}

/** The attempt's age from which its owner, if it lives after all, has no answer that it could still write down, ms. */
function ownerIsThroughAfter({ outcome, deadlineMs }: Attempt, gateway: Gateway | undefined): number {
  return outcome === "unknown" ? 0 : deadlineMs + (isAskable(gateway) ? GRACE : GRACE_UNASKABLE);
}

/**
 * Absence proves that nothing was charged only once the vendor shows everything it took (`absenceIsProofAfterMs`). A refusal
 * that was no proof by itself, such as a duplicate, then counts.
 */
function fromLookUp(result: LookUpResult, absenceIsProof: boolean, notes: Readonly<Record<string, string>>): Outcome | null {
  if (result.outcome === "approved" || result.outcome === "declined") return result;
  if (result.outcome !== "absent" || !absenceIsProof) return null;
  return refusedBefore(notes);
}

/** What the vendor said of a payment that is not made. */
function refusedBefore(notes: Readonly<Record<string, string>>): Outcome {
  const refusedAs = notes[REFUSED_AS];
  return declinedBy(refusedAs !== undefined && isDeclineCode(refusedAs) ? refusedAs : "gateway_unavailable");
}
