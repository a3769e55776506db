import type { Gateway } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Session, SessionChanges, Sessions } from "#src/sessions/index.ts";
import type { SettleResult } from "./types.ts";

/** The test word (docs/interface.md, States and transitions; ): success without a card and without the gateway. */

const BRAND = "visa";
const LAST4 = "0000";
const AUTH_CODE = "TESTOK";

/** The synthetic transaction: under the gateway's own names in the session's detail, unprefixed in the webhook. */
function skipChanges(gateway: Gateway | undefined, nowMs: number): SessionChanges {
  const transactionId = `test_skip_${nowMs}`;
  const names = gateway?.capabilities.processorFields;
  return {
    processor: {
      ...(names && { [names.transactionId]: transactionId }),
      ...(names?.authCode !== undefined && { [names.authCode]: AUTH_CODE }),
      card_brand: BRAND,
      card_last4: LAST4,
      test_skip: true,
    },
    webhookProcessor: { transaction_id: transactionId, auth_code: AUTH_CODE },
    cardBrand: BRAND,
    cardLast4: LAST4,
  };
}

/** Ends a test session that is being collected; a live one is never touched. */
export async function skip(
  deps: { sessions: Pick<Sessions, "apply">; gateways: Partial<Record<string, Gateway>>; clock: Pick<Clock, "now"> },
  session: Session,
): Promise<SettleResult> {
  if (session.environment !== "test") return { kind: "refused", status: session.status };
  const skipped = await deps.sessions.apply(session.id, "skip", skipChanges(deps.gateways[session.gateway], deps.clock.now()));
  return skipped ? { kind: "approved", capture: "captured" } : { kind: "refused", status: session.status };
}
