/**
 * Named places at which a test may have the process killed: before and after every commit and every request that matters, which few
 * functions see (E1, docs/decisions/0008). Inert unless armed, and a process arms at most one, at its start.
 * `npm run prove -- kill` kills a real service at each of them.
 */
export const CRASH_POINTS = {
  transition_unwritten: "a session is about to be moved by the event of this name, with all that goes along; nothing is written",
  transition_written: "a session was moved by the event of this name; committed, but for a widget's card, and nobody was told",
  transaction_uncommitted: "everything in a transaction is written; nothing is committed",
  transaction_committed: "a transaction is committed; nobody was told",

  request_unsent: "a request to a gateway or receiver is ready, to charge, look up, reverse or tell; no byte is sent",
  connection_open: "a connection to a gateway or receiver stands; no byte is sent",
  response_begun: "a response has begun to come in; its body was not read",
  response_read: "a gateway's or receiver's response is in memory and nowhere else",
  answer_unsent: "an answer to a merchant or browser is made; no byte of it is sent",

  digit_received: "a DTMF digit of the caller's was received",
  transfer_referring: "the caller's side is about to be asked to call the callback itself (REFER)",
  transfer_answered: "the callback answered; nothing is written",
  reversal_begun: "money was taken for a session that had ended otherwise; it is about to be reversed",
  serving: "every role runs; the addresses were not printed",
  drain_begun: "the process was asked to end and takes no new calls",
} as const;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Which point, of which name where it has names, and at which time of reaching it, counted from 1. */
export interface CrashAt {
  point: CrashPoint;
  /** Null: of any. */
  name: string | null;
  times: number;
}

let armed: CrashAt | null = null;
let left = 0;
let endProcess = (_place: string): void => {};

/** Has `end` called, with the point and its name, when it is reached for the `times`-th time from now on. Null disarms. */
export function armCrash(at: CrashAt | null, end: (place: string) => void): void {
  armed = at;
  left = at?.times ?? 0;
  endProcess = end;
}

/** Says that the process is at `point`. Does nothing in a process that is not armed for it. */
export function crashPoint(point: CrashPoint, name?: string): void {
  if (armed?.point !== point || (armed.name !== null && armed.name !== name) || --left > 0) return;
  armed = null;
  endProcess(name === undefined ? point : `${point}.${name}`);
}
