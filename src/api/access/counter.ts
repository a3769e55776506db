/**
 * A sliding window of 60 s, counted in slots of 3 s. A request is forgotten when its whole slot has left the window, so
 * that the limit holds in every 60 s, and a refused client waits at most one slot too long.
 */
export const WINDOW_MS = 60_000;
export const SLOT_MS = 3000;

/** What counting one request gave. */
export interface Count {
  allowed: boolean;
  /** Requests that count at this moment, this one included when it was allowed. */
  used: number;
  /** Until the oldest of them is forgotten, ms. */
  resetMs: number;
}

/** Counts requests for the rate limits. A refused one does not count: whoever keeps asking is served again when the window allows it. */
export interface RateCounter {
  count(bucket: string, limit: number): Count | Promise<Count>;
  /** Forgets what no longer counts. Called about once a window. */
  sweep(): void | Promise<void>;
}
