import { isKeepable, type Declined, type Outcome, type ProcessorFields } from "#src/gateways/index.ts";
import { DECLINES, isDeclineCode, type DeclineCode } from "#src/kernel/payment.ts";
import type { SessionChanges, SessionEvent } from "#src/sessions/index.ts";
import { keepable, type AttemptResult } from "./attempts.ts";

/** What an outcome means for the attempt and its session: pure. */
export interface OutcomeEffects {
  attempt: AttemptResult;
  event: SessionEvent;
  changes: SessionChanges;
}

interface CardFacts {
  brand: string;
  last4: string;
}

/** Longest message of a merchant's. */
const LONGEST_MESSAGE = 500;

/** `mayRetry`: another card may be tried in the same call, so a correctable decline leaves the session open. */
export function effectsOf(outcome: Outcome, card: CardFacts, mayRetry: boolean): OutcomeEffects {
  if (outcome.outcome === "unknown") {
    return { attempt: { outcome: "unknown", reason: outcome.reason, givenUp: false, notes: notesOf(outcome) }, event: "lose", changes: {} };
  }
  if (outcome.outcome === "approved") {
    return {
      attempt: { outcome: "approved", reason: outcome.reason ?? null, notes: notesOf(outcome) },
      event: outcome.capture === "authorized" ? "authorize" : "approve",
      changes: answered(outcome, card),
    };
  }
  const retry = mayRetry && DECLINES[outcome.code].callerMayRetry;
  return {
    attempt: {
      outcome: "declined",
      declineCode: outcome.code,
      reason: outcome.reason ?? null,
      ...(outcome.mayBeStored && { mayBeStored: true }),
      notes: notesOf(outcome),
    },
    event: retry ? "retry" : "fail",
    changes: { ...answered(outcome, card), ...(retry ? {} : errorOf(outcome)) },
  };
}

/** A decline of our own making, in the words of the table. */
export function declinedBy(code: DeclineCode): Declined {
  return { outcome: "declined", code, message: null, processor: {} };
}

/**
 * The session's error: the merchant's own code and words from card forwarding, else ours, never without words. A vendor's
 * words are not told: it has others for the same decline in an answer and in a look-up, and some say that a card is stolen.
 */
export function errorOf(outcome: Pick<Declined, "code" | "publicCode" | "publicMessage">): {
  errorCode: string;
  errorMessage: string | null;
} {
  const { code, publicCode, publicMessage } = outcome;
  const ownCode = publicCode !== undefined && isKeepable(publicCode) ? publicCode : code;
  const ownMessage = publicMessage !== undefined && isKeepable(publicMessage, undefined, LONGEST_MESSAGE) ? publicMessage : null;
  return { errorCode: ownCode, errorMessage: ownMessage ?? (ownCode === code ? DECLINES[code].message : null) };
}

/** The processor object: the gateway's ids, and the card's brand and last four from the card itself. */
function answered(
  outcome: { processor: ProcessorFields; webhookProcessor?: Record<string, string | boolean> },
  card: CardFacts,
): SessionChanges {
  return {
    processor: { ...keepable(outcome.processor), card_brand: card.brand, card_last4: card.last4 },
    webhookProcessor: keepable(outcome.webhookProcessor ?? {}),
    cardBrand: card.brand,
    cardLast4: card.last4,
  };
}

/** What the attempt keeps for the operator and for a reversal: the gateway's ids, the id that its support asks for, and its words. */
function notesOf(outcome: Outcome): Record<string, string> {
  const ids = outcome.outcome === "unknown" ? {} : outcome.processor;
  return keepable({
    ...ids,
    ...(outcome.supportId !== undefined && { support_id: outcome.supportId }),
    ...(outcome.outcome === "declined" && outcome.message !== null && { said: outcome.message }),
    ...(outcome.outcome === "declined" && outcome.storedAs !== undefined && { stored_as: outcome.storedAs }),
  });
}

const PLAIN = /^[\x20-\x7e]{0,255}$/;

/**
 * The same result without any text that came from outside and is more than plain ASCII, for a database that refuses one of
 * them: the outcome must be written, its words need not.
 */
export function withoutTexts({ attempt, event, changes }: OutcomeEffects): OutcomeEffects {
  const plain = <T>(fields: Readonly<Record<string, T>> | undefined) =>
    fields &&
    (Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== "string" || PLAIN.test(value))) as Record<string, T>);
  const { processor, webhookProcessor, errorCode: code } = changes;
  return {
    attempt: { ...attempt, notes: plain(attempt.notes) ?? {} },
    event,
    changes: {
      ...changes,
      ...(processor && { processor: plain(processor) }),
      ...(webhookProcessor && { webhookProcessor: plain(webhookProcessor) }),
      ...(code !== undefined && { errorMessage: code !== null && isDeclineCode(code) ? DECLINES[code].message : null }),
    } as SessionChanges,
  };
}
