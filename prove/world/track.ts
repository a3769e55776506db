import { textOf } from "../database/index.ts";
import type { Cancellation } from "#src/sessions/index.ts";
import type { Caller } from "./caller.ts";
import type { Shopper } from "./shopper.ts";

/** Statuses of a session whose money or card the merchant has. */
export const PAID: ReadonlySet<string> = new Set(["payment-success", "payment-authorized"]);

/** All that clients observed of one session, for the checks. */
export interface Track {
  id: string;
  channel: "voice" | "widget";
  /** The merchant had the answer to its request. */
  isCreated: boolean;
  /** What polls answered, in the order of their answers; a poll begins after the one before has ended. */
  seen: { status: string; revision: number }[];
  cancellations: Cancellation[];
  callers: Caller[];
  /** Whoever pays it in a browser. */
  shopper: Shopper | null;
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
