/** Timer values of RFC 3261 table 4, ms. */
export const T1 = 500;
export const T2 = 4_000;
const T4 = 5_000;

export const TRANSACTION_LIFE = 64 * T1;
/** RFC 3261 section 17.2.1: an INVITE not answered within this time is answered 100. */
const TRYING_DELAY = 200;

/** How long a callee may ring before somebody on the way ends that (RFC 3261 section 16.6). */
export const LONGEST_RINGING = 180_000;

/** The letters of RFC 3261 table 4 and RFC 6026; "100" delays the server's 100 Trying. */
export type TimerName = "A" | "B" | "C" | "D" | "M" | "E" | "F" | "K" | "G" | "H" | "I" | "J" | "L" | "100";

interface Timer {
  first: number;
  /** The value on a reliable transport where it differs; null: not used there. */
  reliable?: number | null;
  /** The next interval of a timer that is started again. */
  next?: (interval: number) => number;
}

const double = (interval: number) => 2 * interval;
const doubleUpToT2 = (interval: number) => Math.min(2 * interval, T2);

export const TIMERS: Readonly<Record<TimerName, Timer>> = {
  "100": { first: TRYING_DELAY },
  A: { first: T1, reliable: null, next: double },
  B: { first: TRANSACTION_LIFE },
  C: { first: LONGEST_RINGING },
  D: { first: 32_000, reliable: 0 },
  E: { first: T1, reliable: null, next: doubleUpToT2 },
  F: { first: TRANSACTION_LIFE },
  G: { first: T1, reliable: null, next: doubleUpToT2 },
  H: { first: TRANSACTION_LIFE },
  I: { first: T4, reliable: 0 },
  J: { first: TRANSACTION_LIFE, reliable: 0 },
  K: { first: T4, reliable: 0 },
  L: { first: TRANSACTION_LIFE },
  M: { first: TRANSACTION_LIFE },
};
