import { textOf } from "../database/index.ts";
import type { Cancellation } from "#src/sessions/index.ts";

/** Statuses of a session whose money or card the merchant has. */
export const PAID: ReadonlySet<string> = new Set(["payment-success", "payment-authorized"]);

/** Somebody who calls for a session. */
export interface TrackedCaller {
  /** When the call began, ms. */
  readonly began: number;
  /** The call was answered and goes on. */
  readonly isUp: boolean;
  hangUp(): void;
}

/** Whoever pays a session in a browser. */
export interface TrackedShopper {
  /** Posts a card once more, whatever is going on. */
  postAgain(): void;
  /** A card of this shopper's is in the service's hands. */
  readonly isPosting: boolean;
  /** Closes every tab. */
  leave(): void;
  /** This process has a card of this shopper's. */
  isServedBy(owner: string): boolean;
}

/** All that clients observed of one session, for the checks. */
export interface Track {
  id: string;
  channel: "voice" | "widget";
  /** The merchant had the answer to its request. */
  isCreated: boolean;
  /** What polls answered, in the order of their answers; a poll begins after the one before has ended. */
  seen: { status: string; revision: number }[];
  cancellations: Cancellation[];
  callers: TrackedCaller[];
  shopper: TrackedShopper | null;
  /** The path of the page on which it is paid in a browser: a widget session's, or the link of a voice session that offers one. */
  page: string;
  /** The signed results that browsers were given. */
  results: Set<string>;
  /** Ids of the status webhooks that arrived, duplicates included. */
  webhooks: string[];
  /** When its last charge began, ms. */
  chargingAt: number | null;
  /** When it became final, ms. */
  finalAt: number | null;
  /** When "mango" and the last answer were said in one breath, ms. */
  mangoAt: number | null;
}

export function newTrack(id: string, channel: Track["channel"]): Track {
  return {
    id,
    channel,
    isCreated: false,
    seen: [],
    cancellations: [],
    callers: [],
    shopper: null,
    page: `/widget/${id}`,
    results: new Set(),
    webhooks: [],
    chargingAt: null,
    finalAt: null,
    mangoAt: null,
  };
}

/** One word for a session's row: its phase, its status, or "final". */
export function stateOf(row: { status?: unknown; phase?: unknown } | null | undefined): string {
  if (!row) return "none";
  if (row.phase) return textOf(row.phase);
  return row.status === "PENDING" ? "PENDING" : "final";
}
