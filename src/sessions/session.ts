import type { Selectable } from "kysely";
import type { BillingAddress, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";
import type { Tables } from "#src/platform/index.ts";
import type { Phase, Status } from "./states.ts";

/** What a session is created with. */
export interface Terms {
  organizationId: string;
  projectId: string;
  environment: Environment;
  channel: "voice" | "widget";
  mode: Mode;
  gateway: GatewayName;
  /** Whole minor units of `currency`. */
  amountMinor: number;
  currency: string;
  caller: string | null;
  description: string | null;
  callback: string | null;
  memory: string | null;
  connectedAccount: string | null;
  billingAddress: BillingAddress | null;
}

/** One payment session, as the other modules see it. */
export interface Session extends Terms {
  id: string;
  projectSlug: string;
  status: Status;
  phase: Phase | null;
  processor: Record<string, string | boolean> | null;
  webhookProcessor: Record<string, string | boolean> | null;
  cardBrand: string | null;
  cardLast4: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  transferStatus: string | null;
  /** The process that holds the call, and the call. */
  claimedBy: string | null;
  callId: string | null;
  /** A voice session whose project lets it be paid in a browser too. */
  offersLink: boolean;
  /** Grows by one with each change: the id of the stream's events. */
  revision: number;
  createdAt: Date;
  /** Later after each change, by a millisecond at least. */
  updatedAt: Date;
  expiresAt: Date;
  /** Set once, with the final status. */
  completedAt: Date | null;
}

/** What `fromRow` needs besides the row's own columns, as SQL: of a session (a table's or CTE's name) that is joined with its project. */
export const derivedColumns = (session: "sessions" | "moved") => ({
  project_slug: "projects.slug",
  offers_link: `${session}.channel = 'voice' and projects.voice @> '{"pay_url": true}'`,
  overdue: `${session}.status = 'PENDING' and ${session}.expires_at <= clock_timestamp()`,
});

/** All that `fromRow` needs. */
export const columnsOfSession = (session: "sessions" | "moved") =>
  [`${session}.*`, ...Object.entries(derivedColumns(session)).map(([name, text]) => `${text} as ${name}`)].join(", ");

export type Row = Selectable<Tables["sessions"]> & { project_slug: string; offers_link: boolean; overdue: boolean };

/**
 * A row as a session. An unused session past its time reads as expired even before the sweeper has come by, with the very
 * values that the sweeper will write.
 */
export function fromRow(row: Row): Session {
  const session: Session = {
    id: row.id,
    organizationId: row.organization_id,
    projectId: row.project_id,
    projectSlug: row.project_slug,
    environment: row.environment,
    channel: row.channel,
    status: row.status as Status,
    phase: row.phase as Phase | null,
    mode: row.mode,
    gateway: row.gateway,
    amountMinor: row.amount_minor,
    currency: row.currency,
    caller: row.caller,
    description: row.description,
    callback: row.callback,
    memory: row.memory,
    connectedAccount: row.stripe_account,
    billingAddress: row.billing_address,
    processor: row.processor,
    webhookProcessor: row.webhook_processor,
    cardBrand: row.card_brand,
    cardLast4: row.card_last4,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    transferStatus: row.transfer_status,
    claimedBy: row.claimed_by,
    callId: row.call_id,
    offersLink: row.offers_link,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    completedAt: row.completed_at,
  };
  if (!row.overdue) return session;
  return {
    ...session,
    status: "expired",
    revision: row.revision + 1,
    updatedAt: new Date(Math.max(row.expires_at.getTime(), row.updated_at.getTime() + 1)),
    completedAt: row.expires_at,
  };
}

const TIMES = ["created_at", "updated_at", "expires_at", "completed_at"] as const;

/** A session from its row as PostgreSQL tells it in JSON, with `project_slug`; for what was kept of one that is final. */
export function sessionFromJson(json: Readonly<Record<string, unknown>>): Session {
  const times = TIMES.map((name) => [name, json[name] === null ? null : new Date(json[name] as string)]);
  return fromRow({ ...json, ...Object.fromEntries(times), offers_link: false, overdue: false } as Row);
}
