/**
 * A token bucket: it holds `limit` tokens and fills in `WINDOW_MS`. Of each only the moment at which it will be full again is
 * kept. A request takes a token or is refused, and a refused one takes none: whoever keeps asking is served again as tokens come back.
 */
export const WINDOW_MS = 60_000;
/** Rounding must not refuse a token that is there, ms. */
const ROUNDING_MS = 1;

/** What counting one request gave. */
export interface Count {
  allowed: boolean;
  /** Tokens that are missing at this moment, this request's included when it was allowed. */
  used: number;
  /** Until the bucket is full again, or, of a refused request, until the next token, ms. */
  resetMs: number;
}

/** Counts requests for the rate limits. */
export interface RateCounter {
  count(bucket: string, limit: number): Count | Promise<Count>;
  /** Forgets buckets that are full. Called about once a window. */
  sweep(): void | Promise<void>;
}

const tokenMs = (limit: number): number => WINDOW_MS / limit;

/** How many tokens there are in a bucket that is full again in `fullInMs`, 0 or less when it is full. */
export const tokensIn = (fullInMs: number, limit: number): number =>
  Math.floor((WINDOW_MS + ROUNDING_MS - Math.max(0, fullInMs)) / tokenMs(limit));

/** `fullInMs`: until the bucket is full again, after this request took its token. */
export function countOf(allowed: boolean, fullInMs: number, limit: number): Count {
  const used = Math.min(limit, Math.ceil((fullInMs - ROUNDING_MS) / tokenMs(limit)));
  return { allowed, used, resetMs: Math.max(1, allowed ? fullInMs : fullInMs + tokenMs(limit) - WINDOW_MS) };
}
