import type { Declined, Outcome, ProcessorFields } from "#src/gateways/index.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { SessionChanges, SessionEvent } from "#src/sessions/index.ts";
import type { AttemptResult } from "./attempts.ts";

/** What an outcome means for the attempt and its session: pure. */
export interface OutcomeEffects {
  attempt: AttemptResult;
  event: SessionEvent;
  changes: SessionChanges;
}

export interface CardFacts {
  brand: string;
  last4: string;
}

const LONGEST_FIELD = 255;

/** `mayRetry`: another card may be tried in the same call, so a correctable decline leaves the session open. */
export function effectsOf(outcome: Outcome, card: CardFacts, mayRetry: boolean): OutcomeEffects {
  if (outcome.outcome === "unknown") {
    return { attempt: { outcome: "unknown", reason: outcome.reason, givenUp: false }, event: "lose", changes: {} };
  }
  if (outcome.outcome === "approved") {
    return {
      attempt: { outcome: "approved", reason: outcome.reason ?? null },
      event: outcome.capture === "authorized" ? "authorize" : "approve",
      changes: answered(outcome, card),
    };
  }
  const retry = mayRetry && DECLINES[outcome.code].callerMayRetry;
  return {
    attempt: { outcome: "declined", declineCode: outcome.code, reason: outcome.reason ?? null },
    event: retry ? "retry" : "fail",
    changes: { ...answered(outcome, card), ...(retry ? {} : errorOf(outcome)) },
  };
}

/** A decline of our own making, in the words of the table. */
export function declinedBy(code: DeclineCode): Declined {
  return { outcome: "declined", code, message: null, processor: {} };
}

/** The session's error: the merchant's own code and words from card forwarding, else ours, never without words. */
export function errorOf(outcome: Pick<Declined, "code" | "publicCode" | "message">): { errorCode: string; errorMessage: string | null } {
  const own = outcome.publicCode === undefined;
  return {
    errorCode: outcome.publicCode ?? outcome.code,
    errorMessage: outcome.message ?? (own ? DECLINES[outcome.code].message : null),
  };
}

/** The processor object: the gateway's ids, and the card's brand and last four from the card itself. */
function answered(
  outcome: { processor: ProcessorFields; webhookProcessor?: Record<string, string | boolean> },
  card: CardFacts,
): SessionChanges {
  return {
    processor: { ...capped(outcome.processor), card_brand: card.brand, card_last4: card.last4 },
    webhookProcessor: capped(outcome.webhookProcessor ?? {}),
    cardBrand: card.brand,
    cardLast4: card.last4,
  };
}

/** Without fields that are longer than any vendor's id: cut, they would name something else. */
function capped<T extends string | boolean>(fields: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== "string" || value.length <= LONGEST_FIELD));
}
