import { isDeclineCode } from "#src/kernel/payment.ts";
import type { Session } from "#src/sessions/index.ts";
import { AccessTokens } from "./access-tokens.ts";
import { checkCredentials, type CheckScope, type CredentialsCheck } from "./credentials-check.ts";
import { lastDecline } from "./attempts.ts";
import { startJanitor } from "./janitor.ts";
import { errorOf } from "./outcome.ts";
import { createSearch } from "./reconcile.ts";
import { createReversals } from "./reversal.ts";
import { settle, type SettleInput } from "./settle.ts";
import { skip } from "./skip.ts";
import type { PaymentsDeps, SettleResult } from "./types.ts";

export { type DeclineRatio, highDeclineRatios } from "./decline-ratio.ts";
export { startKeepAlive } from "./keep-alive.ts";
export { deleteAttempts, isUnsettled } from "./retention.ts";
export { type AttemptView, attemptsOf, closeEntry, countOpen, needsOperator } from "./work-list.ts";
export type { CredentialsCheck };

export interface Payments {
  /**
   * Charges or stores the card by the charge protocol. The caller wipes the card afterwards. Throws when the intent could not be
   * written: then nothing was sent. AppError `unavailable`: the database was away, and the same card may be tried again.
   */
  settle(input: SettleInput): Promise<SettleResult>;
  /** The test word: success without the gateway, for a test session that is being collected. */
  skip(session: Session): Promise<SettleResult>;
  /**
   * No card comes any more: payment-failed when the last one was declined, else `isExhausted` says whether the tries are used up
   * or the payer left (abandoned). A running charge goes on.
   */
  giveUp(session: Session, isExhausted?: boolean): Promise<Session | null>;
  /** Asks the vendor, without a card, whether it takes the project's credentials. */
  checkCredentials(scope: CheckScope): Promise<CredentialsCheck>;
  /** Starts recovery; answers its stop. Needs the lease of `owner`. */
  startJanitor(): () => Promise<void>;
}

export function createPayments(deps: PaymentsDeps): Payments {
  const tokens = new AccessTokens(deps.clock);
  const reversals = createReversals(deps, tokens);
  const search = createSearch(deps, tokens, reversals);
  return {
    settle: (input) => settle(deps, tokens, search, reversals, input),
    skip: (session) => skip(deps, session),
    async giveUp(session, isExhausted = false) {
      const declined = await lastDecline(deps.database.db, session.id);
      const code = declined !== null && isDeclineCode(declined) ? declined : isExhausted ? "attempts_exhausted" : null;
      if (code === null) return await deps.sessions.apply(session.id, "abandon");
      return await deps.sessions.apply(session.id, "fail", { ...errorOf({ code }), from: "collecting" });
    },
    checkCredentials: (scope) => checkCredentials(deps, tokens, scope),
    startJanitor: () => startJanitor(deps, search, reversals),
  };
}
