import type { ProcessorNames } from "#src/gateways/index.ts";
import { JsonNumber } from "#src/kernel/json.ts";
import { formatAmount } from "#src/kernel/money.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { type Session, sessionFromJson } from "#src/sessions/index.ts";

/** What the merchant is told, once per session, when it is final (docs/interface.md, Status webhook; ). */

type AmountUnit = "dollars" | "cents";

/** `payment.` and the last word of the status. */
export function eventName(status: string): string {
  return `payment.${status.replace(/^payment-/, "")}`;
}

/** The body as the text that is signed and sent on every try. */
export function webhookBody(id: string, session: Session, unit: AmountUnit, gateways: WebhookNames): string {
  return jsonObject({
    id,
    event: eventName(session.status),
    session_id: session.id,
    status: session.status,
    amount: unit === "cents" ? session.amountMinor : majorUnits(session),
    amount_cents: session.amountMinor,
    currency: session.currency,
    mode: session.mode,
    environment: session.environment,
    gateway: session.gateway,
    project: session.projectSlug,
    caller: session.caller,
    description: session.description,
    memory: session.memory,
    card_brand: session.cardBrand,
    card_last4: session.cardLast4,
    processor: webhookProcessor(session, gateways),
    error: session.errorCode === null ? null : { code: session.errorCode, message: session.errorMessage },
    created_at: session.createdAt.toISOString(),
    completed_at: session.completedAt?.toISOString() ?? null,
  });
}

/** What the outbox keeps of a session until its body is made: the row as it became final, and what else the body tells. */
interface Snapshot {
  session: Record<string, unknown>;
  project_slug: string;
  amount_unit: AmountUnit;
}

/** The body of an event from what stands in its row: the text itself once it was made, else the snapshot. */
export function bodyOf(id: string, kept: unknown, gateways: WebhookNames): string {
  if (typeof kept === "string") return kept;
  const { session, project_slug, amount_unit } = kept as Snapshot;
  return webhookBody(id, sessionFromJson({ ...session, project_slug }), amount_unit, gateways);
}

/** 5000 USD cents as 50, 4999 as 49.99: from the decimal text, so that no double can come between. */
function majorUnits(session: Session): JsonNumber {
  const text = formatAmount(session.amountMinor, session.currency);
  return new JsonNumber(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/** What each built gateway's processor fields are called in webhooks. */
export type WebhookNames = Readonly<
  Partial<Record<GatewayName, { readonly capabilities: { readonly processorFields: Pick<ProcessorNames, "inWebhook"> } }>>
>;

/**
 * The names of a processor field in webhook form: those that the gateway lists. The interface calls the form "unprefixed" for
 * gateways without a list too: their fields have both names, so that either reading finds its key.
 */
function namesOf(gateway: GatewayName, gateways: WebhookNames, field: string): readonly string[] {
  const listed = gateways[gateway]?.capabilities.processorFields.inWebhook?.[field];
  if (listed) return listed;
  const prefix = `${gateway}_`;
  return field.startsWith(prefix) ? [field, field.slice(prefix.length)] : [field];
}

/** The processor object in webhook form, with what the gateway reports to webhooks only. null before any gateway answered. */
function webhookProcessor({ gateway, status, ...session }: Session, gateways: WebhookNames): Record<string, unknown> | null {
  if (session.processor === null && session.webhookProcessor === null) return null;
  const named = Object.entries(session.processor ?? {}).flatMap(([field, value]) =>
    namesOf(gateway, gateways, field).map((name) => [name, value]),
  );
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
