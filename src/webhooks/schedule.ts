/** When a webhook is tried again: pure arithmetic over the schedule of R-349 (Standard Webhooks' example, about 76 hours). */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits after the first, second, ... failed try, ms. After the last of them the event is dead. */
const WAITS: readonly number[] = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

const JITTER = 0.2;
const LONGEST_RETRY_AFTER = 24 * HOUR;

/**
 * Milliseconds until the next try after `failedTries` failures, spread by +-20 %, or null when there is none left.
 * `retryAfterMs` is what the receiver asked for: it lengthens the wait, up to a day, and never shortens it.
 */
export function nextWait(failedTries: number, fraction: number, retryAfterMs: number | null): number | null {
  const wait = WAITS[failedTries - 1];
  if (wait === undefined) return null;
  const spread = wait * (1 + JITTER * (2 * fraction - 1));
  return Math.round(Math.max(spread, Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER)));
}

/** Retry-After (RFC 9110 section 10.2.3), seconds or an HTTP date, as ms from `nowMs`; null when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^[0-9]{1,9}$/.test(value.trim())) return Number(value.trim()) * SECOND;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
