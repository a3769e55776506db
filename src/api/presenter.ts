import { formatAmount } from "#src/kernel/money.ts";
import { isTerminal, type Session, type Step } from "#src/sessions/index.ts";
import type { Opened } from "#src/widget/index.ts";
import { processorFieldsOf } from "./schemas/processor.ts";

/** What goes out is built here field by field, so that a new column stays inside until someone lets it out. */

/** SessionGetResponse (docs/interface.md): every field present, null where there is nothing. */
export function sessionView(session: Session) {
  return {
    session_id: session.id,
    status: session.status,
    is_terminal: isTerminal(session.status),
    processor: processorView(session),
    error: session.errorCode === null ? null : { code: session.errorCode, message: session.errorMessage },
    amount: formatAmount(session.amountMinor, session.currency),
    currency: session.currency,
    mode: session.mode,
    description: session.description,
    caller: session.caller,
    project_slug: session.projectSlug,
    gateway: session.gateway,
    callback: session.callback,
    memory: session.memory,
    transfer_status: session.transferStatus,
    created_at: session.createdAt.toISOString(),
    updated_at: session.updatedAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    completed_at: session.completedAt?.toISOString() ?? null,
  };
}

/**
 * What the widget's frame may know: what the shopper sees anyway, and nothing of the merchant's, the gateway or
 * whoever paid before. Anyone who has the id can read it.
 */
export function widgetView({ session, project, processing, triesLeft }: Opened) {
  const { appearance } = project.widget;
  return {
    session_id: session.id,
    status: session.status,
    amount_cents: session.amountMinor,
    currency: session.currency,
    mode: session.mode,
    description: session.description,
    project_name: project.name,
    appearance,
    required_fields: appearance.fields,
    processing,
    attempts_left: triesLeft,
    expires_at: session.expiresAt.toISOString(),
  };
}

/** The same with what the stream leaves out: the step and, absent where there is none, the link to pay. */
export function detailView(session: Session, step: Step | null, payUrl: string | null = null) {
  return { ...sessionView(session), step, ...(payUrl !== null && { pay_url: payUrl }) };
}

/** The gateway's fields and no other's; null until the gateway answered. */
function processorView({ processor, gateway, cardBrand, cardLast4 }: Session): Record<string, string | boolean> | null {
  if (processor === null) return null;
  const view: Record<string, string | boolean> = {};
  for (const name of processorFieldsOf(gateway)) {
    const value = processor[name];
    if (value !== undefined && value !== null) view[name] = value;
  }
  if (cardBrand !== null) view["card_brand"] = cardBrand;
  if (cardLast4 !== null) view["card_last4"] = cardLast4;
  return view;
}
