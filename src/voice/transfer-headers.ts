import { formatAmount } from "#src/kernel/money.ts";
import { mayHaveMoved } from "#src/kernel/payment.ts";
import type { Session } from "#src/sessions/index.ts";

/** What the agent that gets the caller back can read from the INVITE, without a request of its own. */
type PaymentSummary = Pick<
  Session,
  "id" | "status" | "phase" | "amountMinor" | "currency" | "cardBrand" | "cardLast4" | "errorCode" | "memory"
>;

/** Middleboxes cut or refuse header lines over 1,024 bytes, so that longer values are left out rather than broken. */
const MAX_HEADER_BYTES = 1024;
const MAX_PAYMENT_MEMORY_BYTES = 800;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** One short word for what the caller already heard, by the status that was spoken. */
const SAID: Readonly<Record<string, string>> = {
  "payment-success": "paid",
  "payment-authorized": "authorized",
  "payment-failed": "failed",
};

/** Where money may have moved, nobody was told that nothing was charged (src/conversation/sentences.ts, `declined`). */
const saidOf = (status: string, errorCode: string | null): string =>
  mayHaveMoved(errorCode) ? "not_completed" : (SAID[status] ?? "not_completed");

/**
 * Headers of the transfer-back INVITE: the three of R-325, and the `X-payment_` set whose underscores let
 * voice platforms use them as template variables (they cut off `X-` and keep the rest). Never card data beyond brand and
 * last four; no value can hold CR or LF.
 */
export function transferHeaders(payment: PaymentSummary): [string, string][] {
  // A charge that is under way has no outcome yet, and one whose answer was lost neither.
  const status = payment.phase === null ? payment.status : "unknown";
  const headers: [string, string][] = [
    ["X-Session-Id", payment.id],
    ["X-Payment-Status", status],
  ];
  const memory = payment.memory === null ? null : memoryHeader(payment.memory);
  if (memory !== null) headers.push(["X-Memory", memory]);
  const escaped = payment.memory === null ? null : encodeURIComponent(payment.memory);
  const fits = escaped !== null && escaped.length <= MAX_PAYMENT_MEMORY_BYTES;
  const variables: readonly (readonly [string, string | null])[] = [
    ["status", status.replace(/^payment-/, "")],
    ["session_id", payment.id],
    ["amount", formatAmount(payment.amountMinor, payment.currency)],
    ["currency", payment.currency],
    ["card_brand", payment.cardBrand],
    ["card_last4", payment.cardLast4],
    ["error_code", payment.errorCode],
    ["said", saidOf(status, payment.errorCode)],
    ["memory", fits ? escaped : null],
    ["memory_ref", escaped !== null && !fits ? payment.id : null],
  ];
  for (const [name, value] of variables) if (value !== null) headers.push([`X-payment_${name}`, value]);
  return headers.filter(([, value]) => PRINTABLE.test(value));
}

/** `memory` as a header value: as it is when printable ASCII, else base64url; null when it would be too long. */
function memoryHeader(memory: string): string | null {
  const isPlain = PRINTABLE.test(memory) && memory === memory.trim();
  const value = isPlain ? memory : Buffer.from(memory, "utf8").toString("base64url");
  return value.length <= MAX_HEADER_BYTES ? value : null;
}
