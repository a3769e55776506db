import { formatAmount } from "#src/kernel/money.ts";
import { mayHaveMoved } from "#src/kernel/payment.ts";
import { isTerminal, type Session } from "#src/sessions/index.ts";
import type { ToolAnswer } from "./types.ts";

/** What an agent is told of a payment: one sentence that it may say, one thing that it must not, and what to do next. */
interface Words {
  /** `payment_` variables of the transfer-back have the same words (src/voice/transfer-headers.ts). */
  status: string;
  say: (payment: { amount: string; card: string }) => string;
  doNotSay: string;
  next: string;
}

const NOT_DECLINED = "Do not say that the card was declined.";
const NOT_PAID = "Do not say that the payment went through.";
const AGAIN = "Ask whether the caller wants to try again; if so, call collect_payment.";
const NEVER_AGAIN = "Do not take another payment for the same thing.";

const WAITING: Words = {
  status: "waiting",
  say: () => "I will now connect you to our secure payment line.",
  doNotSay: NOT_PAID,
  next: "The payment has not begun. Transfer the call to transfer_to. Do not ask for card details.",
};
/** In a call from a browser, which cannot be transferred. */
const WAITING_FOR_LINK: Words = {
  status: "waiting",
  say: () => "The payment page is ready for you.",
  doNotSay: NOT_PAID,
  next: "The payment has not begun. Send the caller the link pay_url. Do not ask for card details.",
};
const IN_PROGRESS: Words = {
  status: "in_progress",
  say: () => "The payment is being taken at the moment.",
  doNotSay: NOT_PAID,
  next: "Wait until the caller is back. Do not start another payment.",
};
const UNKNOWN: Words = {
  status: "unknown",
  say: () => "I do not have the bank's answer yet. You will not be charged twice.",
  doNotSay: "Do not say that the payment went through, nor that the card was declined.",
  next: `${NEVER_AGAIN} Ask again in a minute, or tell the caller that they will be informed.`,
};
/** Nothing will be known later that is not known now, but the payment that was made first may be this caller's. */
const DUPLICATE: Words = {
  status: "unknown",
  say: () => "The same payment was made a moment ago, so this one was refused. Please do not pay again yet.",
  doNotSay: UNKNOWN.doNotSay,
  next: `${NEVER_AGAIN} Tell the caller that they will be informed.`,
};

const FINAL: Readonly<Record<string, Words>> = {
  "payment-success": {
    status: "success",
    say: ({ amount, card }) => `Your payment of ${amount}${card} went through.`,
    doNotSay: "Do not ask for card details.",
    next: `Go on with the conversation. ${NEVER_AGAIN}`,
  },
  "payment-authorized": {
    status: "authorized",
    say: ({ amount, card }) => `${amount}${card} is reserved and will be taken later.`,
    doNotSay: "Do not say that the money has been taken.",
    next: `Go on with the conversation. ${NEVER_AGAIN}`,
  },
  "payment-failed": {
    status: "failed",
    say: () => "The payment did not go through.",
    doNotSay: "Do not read out or guess the bank's reason, and do not ask for card details.",
    next: AGAIN,
  },
  expired: {
    status: "expired",
    say: () => "The payment line was not reached in time, and nothing was charged.",
    doNotSay: NOT_DECLINED,
    next: AGAIN,
  },
  cancelled: { status: "cancelled", say: () => "The payment was cancelled, and nothing was charged.", doNotSay: NOT_DECLINED, next: AGAIN },
  abandoned: {
    status: "abandoned",
    say: () => "The payment was not finished.",
    doNotSay: NOT_DECLINED,
    next: AGAIN,
  },
};

const STORED: Words = {
  status: "success",
  say: ({ card }) => `Your card${card.replace(" with the card", "")} is stored.`,
  doNotSay: "Do not say that anything was charged.",
  next: "Go on with the conversation. Do not ask for card details.",
};

function wordsFor({ status, phase, mode, errorCode }: Session): Words {
  if (status === "PENDING") return WAITING;
  if (errorCode === "duplicate_transaction") return DUPLICATE;
  // The caller was told not to try again yet.
  if (mayHaveMoved(errorCode)) return UNKNOWN;
  if (phase === "unknown" || phase === "charging") return UNKNOWN;
  if (!isTerminal(status)) return IN_PROGRESS;
  if (mode === "tokenize" && status === "payment-success") return STORED;
  return FINAL[status] ?? UNKNOWN;
}

/** Whether it is over and surely nothing was taken: only then may the same be asked for again. */
export function endedUnpaid({ status, errorCode }: Session): boolean {
  return isTerminal(status) && status !== "payment-success" && status !== "payment-authorized" && !mayHaveMoved(errorCode);
}

/** What became of a session, for the agent; `sipUri`: where its call goes while it waits; `link`: where its payment is made instead. */
export function paymentAnswer(session: Session, sipUri: string, link: string | null): ToolAnswer {
  const isWaiting = session.status === "PENDING";
  const words = isWaiting && link !== null ? WAITING_FOR_LINK : wordsFor(session);
  const amount = formatAmount(session.amountMinor, session.currency);
  const { cardBrand, cardLast4, errorCode } = session;
  const card = cardLast4 === null ? "" : ` with the card ending in ${cardLast4}`;
  return {
    kind: "answer",
    fields: {
      status: words.status,
      next: words.next,
      say: words.say({ amount: `${amount} ${session.currency}`, card }),
      do_not_say: words.doNotSay,
      amount,
      currency: session.currency,
      ...(cardBrand !== null && { card_brand: cardBrand }),
      ...(cardLast4 !== null && { card_last4: cardLast4 }),
      ...(errorCode !== null && { error_code: errorCode }),
      ...(isWaiting && (link === null ? { transfer_to: sipUri } : { pay_url: link })),
      session_id: session.id,
    },
  };
}
