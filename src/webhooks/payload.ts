import { JsonNumber } from "#src/kernel/json.ts";
import { formatAmount } from "#src/kernel/money.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
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

/** The interface's names of authorizenet's fields that keep their prefix (SPEC: tokenize keys), and the one that `auth_only` replaces. */
const AUTHORIZENET_TOKENS = ["authnet_customer_profile_id", "authnet_payment_profile_id"];
const AUTHORIZENET_DETAIL_ONLY = ["authnet_capture_status"];

/**
 * The names of a processor field in webhook form. SPEC lists those of three gateways: `authorizenet` without its
 * prefix, `fiserv` and `webhook` with theirs. It calls the form "unprefixed" for the others too, without a list: they have
 * both names, so that either reading finds its key.
 */
function webhookNames(gateway: GatewayName, name: string): string[] {
  if (gateway === "fiserv" || gateway === "webhook" || AUTHORIZENET_TOKENS.includes(name)) return [name];
  if (AUTHORIZENET_DETAIL_ONLY.includes(name)) return [];
  if (gateway === "authorizenet") return [name.replace(/^authnet_/, "")];
  const prefix = `${gateway}_`;
  return name.startsWith(prefix) ? [name, name.slice(prefix.length)] : [name];
}

/** The processor object in webhook form, with what the gateway reports to webhooks only. null before any gateway answered. */
function webhookProcessor({ gateway, status, ...session }: Session): Record<string, unknown> | null {
  if (session.processor === null && session.webhookProcessor === null) return null;
  const named = Object.entries(session.processor ?? {}).flatMap(([name, value]) => webhookNames(gateway, name).map((own) => [own, value]));
  return {
    ...Object.fromEntries(named),
    ...(status === "payment-authorized" && { auth_only: true }),
    ...session.webhookProcessor,
  };
}

function jsonObject(members: Record<string, unknown>): string {
  const texts = Object.entries(members).map(([name, value]) => {
    const text = value instanceof JsonNumber ? value.text : JSON.stringify(value);
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${texts.join(",")}}`;
}
