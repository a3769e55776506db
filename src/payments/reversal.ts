import { crashPoint } from "#src/kernel/crash-points.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { Background } from "#src/platform/index.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { findAttempt, PERHAPS_STORED } from "./attempts.ts";
import { withAttempt } from "./gateway-io.ts";
import type { PaymentsDeps } from "./types.ts";
import { claimReversals, endReversal, hastenReversals, postponeReversal, type DueReversal } from "./reversal-rows.ts";

/**
 * Gives back what was taken for a session that ended otherwise (I3, I4). That it must be done is a state of the attempt's
 * row, written with the news; here it is worked off, by whichever process comes first, until the gateway confirms.
 */
export interface Reversals {
  /** One try now, if it is due and nobody else is at it. */
  tryNow(id: string): Promise<void>;
  /** The same in the background. */
  begin(id: string): void;
  /** The gateway's settings were saved: the next round begins what is put off for longer, because other credentials may be what was missing. */
  wake(gateway: GatewayName): void;
  /** Begins all that is due. */
  round(): Promise<void>;
  /** Resolves when the tries under way are over. */
  stop(): Promise<void>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** After the first, second, ... try that did not succeed; then always the last. */
const WAITS: readonly number[] = [5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE];
/** Then it is the operator's. */
const GIVE_UP_AFTER = 24 * 60 * MINUTE;

const DONE = "voided: its session had ended otherwise";
const NOTHING = "nothing to void: the gateway holds nothing of it";
const FAILED = "money taken for a session that had ended otherwise";

type Result = { reversal: "done" | "failed"; reason: string } | null;

export function createReversals(deps: PaymentsDeps, tokens: AccessTokens): Reversals {
  const { database, gateways, log } = deps;
  const background = new Background();
  const saved = new Set<GatewayName>();

  /** A fault leaves the turn to run out. */
  const attend = async (due: DueReversal) => {
    try {
      await reverse(due);
    } catch (error) {
      log.error("reversal_failed", { attempt: due.id, error });
    }
  };

  async function tryNow(id: string): Promise<void> {
    for (const due of await claimReversals(database.db, id)) await attend(due);
  }

  async function reverse({ id, tries, ageMs }: DueReversal): Promise<void> {
    const attempt = await findAttempt(database.db, id);
    if (!attempt) return;
    const gateway = gateways[attempt.gateway];
    crashPoint("reversal_begun");
    const tried = gateway?.void && (await withAttempt(deps, tokens, attempt, async (io) => gateway.void?.(attempt.trace, io)));
    const answer = tried?.answer;
    let result: Result = null;
    // A stored card that is gone was taken out; money that the gateway took is somewhere, though its look-up has not found it.
    const tookMoney = attempt.wasTaken && attempt.trace.mode === "charge";
    const isNothing = answer?.outcome === "nothing to void" || (answer?.outcome === "absent" && !tookMoney);
    if (answer?.outcome === "voided") result = { reversal: "done", reason: DONE };
    else if (answer?.outcome === "absent" && answer.mayBeStored) result = { reversal: "failed", reason: PERHAPS_STORED };
    // Before that the gateway may only not show it yet.
    else if (isNothing && tried?.unchanged && attempt.ageMs >= gateway!.capabilities.absenceIsProofAfterMs)
      result = { reversal: "done", reason: NOTHING };
    else if (gateway?.void === undefined || ageMs >= GIVE_UP_AFTER)
      result = { reversal: "failed", reason: attempt.trace.mode === "tokenize" ? PERHAPS_STORED : FAILED };
    if (!result) return await postponeReversal(database.db, id, WAITS[tries - 1] ?? WAITS.at(-1)!);
    await endReversal(database.db, id, result.reversal, result.reason);
    const facts = { session: attempt.trace.sessionId, gateway: attempt.gateway, attempt: attempt.trace.attempt, tries };
    if (result.reversal === "done") log.warn("payment_reversed", { ...facts, reason: result.reason });
    else if (attempt.trace.mode === "tokenize") log.warn("stored_card_left", { ...facts, reason: result.reason });
    else log.error("payment_not_reversed", { ...facts, reason: result.reason });
  }

  return {
    tryNow,
    // Whatever comes in the way: the janitor's next round finds it due.
    begin: (id) => void background.run(tryNow(id).catch((error: unknown) => log.error("reversal_failed", { attempt: id, error }))),
    wake: (gateway) => void saved.add(gateway),
    async round() {
      for (const gateway of saved) {
        await hastenReversals(database.db, gateway);
        saved.delete(gateway);
      }
      for (const due of await claimReversals(database.db)) void background.run(attend(due));
    },
    stop: () => background.idle(),
  };
}
