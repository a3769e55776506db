import type { Gateway, GatewaySettings, LookUpResult, Outcome } from "#src/gateways/index.ts";
import { sleep } from "#src/kernel/clock.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { addNotes, findAttempt, outcomeOf, setReason } from "./attempts.ts";
import type { Attempt } from "./attempts.ts";
import { createGatewayIo } from "./gateway-io.ts";
import type { PaymentsDeps } from "./index.ts";
import { writeResult } from "./ledger.ts";
import { conclude, declinedBy } from "./outcome.ts";
import type { Conclusion } from "./outcome.ts";

/**
 * The search for what became of an attempt whose answer was lost: by look-up, else by void; never a new charge, and the
 * card is gone (DESIGN section 4). One search per attempt and process; the attempt's owner makes it.
 */
export interface Search {
  /** Attempts that this process is charging or searching: nobody else in it touches them. */
  readonly busy: Set<string>;
  /** Searches in the background if the attempt needs it. */
  begin(id: string): void;
  /** Gives back what an approved attempt took for a session that had ended otherwise. */
  undo(id: string): Promise<void>;
  /** Gateways whose attempts can be searched at all. */
  readonly searchable: readonly GatewayName[];
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
/** After a fault of our own side, mostly the database. */
const OUTAGE_WAIT = 5 * SECOND;
/** One look-up or void with all its requests. */
const LOOK_UP_MS = 30 * SECOND;

const VOIDED = "voided: its session had ended otherwise";
const NOT_VOIDED = "money taken for a session that had ended otherwise";

export function createSearch(deps: PaymentsDeps, tokens: AccessTokens): Search {
  const { database, sessions, projects, gateways, clock, log } = deps;
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();

  function begin(id: string): void {
    if (busy.has(id) || stopping.signal.aborted) return;
    busy.add(id);
    const whole = searchOn(id)
      // Only `stop` ends it early.
      .catch(() => {})
      .finally(() => {
        busy.delete(id);
        running.delete(whole);
      });
    running.add(whole);
  }

  /** Through every outage of the database. */
  async function searchOn(id: string): Promise<void> {
    for (;;) {
      try {
        await search(id);
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn("payment_search_interrupted", { attempt: id, error });
        await sleep(clock, OUTAGE_WAIT, stopping.signal);
      }
    }
  }

  async function search(id: string): Promise<void> {
    const outcome = await outcomeOf(database.db, id);
    if (outcome === "approved" || outcome === "declined") return;
    const attempt = await findAttempt(database.db, id);
    if (!attempt) return;
    // Ages are counted on the monotonic clock from the database's figure: no clock that is set can end a search early.
    const began = clock.monotonic() - attempt.ageMs;
    let { givenUp } = attempt;
    for (let round = 0; ; round++) {
      const age = () => clock.monotonic() - began;
      const known = await ask(attempt, age);
      if (known) {
        await decide(attempt, conclude(known, { brand: attempt.cardBrand, last4: attempt.cardLast4 }, false));
        return;
      }
      if (!givenUp && (age() >= GIVE_UP_AFTER || !canBeFound(gateways[attempt.gateway]))) {
        await giveUp(attempt);
        givenUp = true;
      }
      if (givenUp && !canBeFound(gateways[attempt.gateway])) return;
      await sleep(clock, givenUp ? LATE_WAIT : (WAITS[round] ?? LONG_WAIT), stopping.signal);
    }
  }

  /** The outcome, or null while it is not known. */
  async function ask(attempt: Attempt, age: () => number): Promise<Outcome | null> {
    const gateway = gateways[attempt.gateway];
    const found = await withIo(attempt, async (io) => {
      const result = await gateway?.lookUp?.(attempt.trace, io);
      if (result) return fromLookUp(result, age() >= (gateway?.capabilities.absenceIsProofAfterMs ?? Infinity));
      const undone = await gateway?.void?.(attempt.trace, io);
      return undone && undone.outcome !== "unknown" ? declinedBy("gateway_unavailable") : null;
    });
    return found ?? null;
  }

  /** Runs `work` with the endpoint that the attempt went to and the credentials of now; null when there are none. */
  async function withIo<T>(attempt: Attempt, work: (io: ReturnType<typeof createGatewayIo>["io"]) => Promise<T>): Promise<T | null> {
    const session = await sessions.find(database.db, attempt.trace.sessionId);
    if (!session) return null;
    const settings = await projects.gatewaySettings(database.db, session.projectId, attempt.gateway, attempt.environment);
    if (!settings) return null;
    const inForce: GatewaySettings = { ...settings, endpoint: attempt.endpoint };
    const { io, end } = createGatewayIo(
      { ...deps, tokens },
      {
        projectId: session.projectId,
        gateway: attempt.gateway,
        settings: inForce,
        deadlineMs: LOOK_UP_MS,
        note: (notes) => addNotes(database.db, attempt.id, notes),
      },
    );
    try {
      return await work(io);
    } finally {
      end();
    }
  }

  async function decide(attempt: Attempt, conclusion: Conclusion): Promise<void> {
    const written = await writeResult(deps, { id: attempt.id, sessionId: attempt.trace.sessionId }, conclusion);
    if (written === "late" && conclusion.attempt.outcome === "approved") await undo(attempt.id);
  }

  /** The session ends; the attempt stays open for the operator and for the search. */
  async function giveUp(attempt: Attempt): Promise<void> {
    const { changes } = conclude(declinedBy("outcome_unknown"), { brand: attempt.cardBrand, last4: attempt.cardLast4 }, false);
    const reason = "the outcome could not be established";
    await decide(attempt, { attempt: { outcome: "unknown", reason, givenUp: true }, event: "fail", changes });
    log.error("payment_outcome_unknown", facts(attempt));
  }

  async function undo(id: string): Promise<void> {
    try {
      const attempt = await findAttempt(database.db, id);
      if (!attempt) return;
      const gateway = gateways[attempt.gateway];
      const result = await withIo(attempt, async (io) => gateway?.void?.(attempt.trace, io));
      const reason = result?.outcome === "voided" ? VOIDED : NOT_VOIDED;
      log.error("payment_approved_too_late", { ...facts(attempt), reason });
      await setReason(database.db, id, reason);
    } catch (error) {
      log.error("payment_not_undone", { attempt: id, error });
    }
  }

  function facts({ trace, gateway }: Attempt) {
    return { session: trace.sessionId, gateway, attempt: trace.attempt };
  }

  return {
    busy,
    begin,
    undo,
    searchable: Object.values(gateways)
      .filter(canBeFound)
      .map(({ name }) => name),
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

function canBeFound(gateway: Gateway | undefined): boolean {
  return gateway?.lookUp !== undefined || gateway?.void !== undefined;
}

/** Absence proves that nothing was charged only once the vendor shows everything it took (`absenceIsProofAfterMs`). */
function fromLookUp(result: LookUpResult, absenceIsProof: boolean): Outcome | null {
  if (result.outcome === "approved" || result.outcome === "declined") return result;
  return result.outcome === "absent" && absenceIsProof ? declinedBy("gateway_unavailable") : null;
}
