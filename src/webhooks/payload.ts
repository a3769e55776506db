import { JsonNumber } from "#src/kernel/json.ts";
import { formatAmount } from "#src/kernel/money.ts";
import type { Session } from "#src/sessions/index.ts";

/** What the merchant is told, once per session, when it is final (SPEC, Status webhook; REQUIREMENTS J). */

export type AmountUnit = "dollars" | "cents";

/** `payment.` and the last word of the status. */
export function eventName(status: string): string {
  return `payment.${status.replace(/^payment-/, "")}`;
}

/** The body as the text that is signed and sent on every try. */
export function webhookBody(id: string, session: Session, unit: AmountUnit): string {
  return jsonObject({
    id,
    event: eventName(session.status),
    session_id: session.id,
    status: session.status,
    amount: unit === "cents" ? session.amountMinor : majorUnits(session),
    amount_cents: session.amountMinor,
    currency: session.currency,
    mode: session.mode,
    gateway: session.gateway,
    project: session.projectSlug,
    caller: session.caller,
    description: session.description,
    memory: session.memory,
    card_brand: session.cardBrand,
    card_last4: session.cardLast4,
    processor: webhookProcessor(session),
    error: session.errorCode === null ? null : { code: session.errorCode, message: session.errorMessage },
    created_at: session.createdAt.toISOString(),
    completed_at: session.completedAt?.toISOString() ?? null,
  });
}

/** 5000 USD cents as 50, 4999 as 49.99: from the decimal text, so that no double can come between. */
function majorUnits(session: Session): JsonNumber {
  const text = formatAmount(session.amountMinor, session.currency);
  return new JsonNumber(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/**
 * The processor object in webhook form: the detail's names, the same names without the gateway's prefix, and what the
 * gateway reports to webhooks only. null before any gateway answered.
 */
function webhookProcessor(session: Session): Record<string, unknown> | null {
  if (session.processor === null && session.webhookProcessor === null) return null;
  const prefix = session.gateway === "authorizenet" ? "authnet_" : `${session.gateway}_`;
  const processor: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(session.processor ?? {})) {
    processor[name] = value;
    if (name.startsWith(prefix)) processor[name.slice(prefix.length)] = value;
  }
  if (session.status === "payment-authorized") processor["auth_only"] = true;
  return { ...processor, ...session.webhookProcessor };
}

function jsonObject(members: Record<string, unknown>): string {
  const texts = Object.entries(members).map(([name, value]) => {
    const text = value instanceof JsonNumber ? value.text : JSON.stringify(value);
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${texts.join(",")}}`;
}
