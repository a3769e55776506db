/**
 * Named places at which a test may have the process killed: one before and one after every step whose loss would matter
 * (E1, docs/decisions/0008). Inert unless armed, and a process arms at most one, at its start.
 * `npm run prove -- kill` kills a real service at each of them.
 */
export const CRASH_POINTS = {
  create_checked: "a valid session was requested; nothing is written",
  create_inserted: "a session without an Idempotency-Key is committed; its answer is not made yet",
  create_stored: "the session and, under its Idempotency-Key, its answer are committed together; a repeat may come",
  create_responding: "the session is committed; nobody was told",
  cancel_requested: "a cancel was requested; nothing is written",
  cancel_committed: "the cancel is committed; 204 was not sent",

  transition_updated: "a session's row has its new state; audit, notification and webhook are missing, nothing is committed",
  outbox_written: "a final state and its webhook's row are written, not committed",
  expiry_due: "the sweeper found an unused session past its time; it is not expired yet",
  unowned_session_found: "the sweeper found a session whose process died while collecting; it is not ended yet",

  card_posted: "a card came from a widget and is complete; nothing is written",
  try_counted: "the session is claimed, the try counted and its nonce used, not committed",
  try_committed: "the try is committed and other tries are refused; its charge has not begun",
  try_settled: "the result of a try is written; other tries are still refused",
  try_ended: "the next try may begin; the browser was not answered",

  call_matched: "a call names a session; the session is not claimed",
  call_claimed: "the session is claimed; the call is not answered",
  call_released: "the caller gave up before the answer and the session is PENDING again; the call is not refused yet",
  call_answered: "the call is answered and acknowledged",
  digit_received: "a DTMF digit of the caller's was received",
  card_collected: "the card is complete; nothing is written",
  hang_up_received: "the caller hung up; nothing is written",
  call_collected: "the conversation is over; what its end means is not written yet",
  abandoning: "a caller left unpaid; the session is not ended yet",
  call_ending: "everything is written; the caller is still on the line",
  transfer_dialling: "the transfer-back is about to be dialled",
  transfer_answered: "the callback answered; nothing is written",
  transfer_reported: "the transfer is written; the two legs are not joined yet",

  settle_prepared: "gateway and settings of a charge are known; nothing is written",
  intent_charging: "the session is charging in a transaction that is not committed; the attempt is not inserted",
  intent_inserted: "the attempt is inserted, not committed",
  intent_committed: "the attempt is committed; nothing was sent to the gateway",
  request_built: "a request to a gateway is ready, to charge, look up or void; no byte is sent",
  response_read: "a gateway's response is in memory and nowhere else",
  notes_written: "the gateway's ids are noted with the attempt; its outcome is not known yet",
  outcome_known: "the outcome of a charge is in memory and nowhere else",
  result_unwritten: "an outcome is about to be written; its transaction has not begun",
  result_finished: "the attempt has its outcome, not committed; the session has not",
  result_moved: "attempt, session and webhook are written, not committed",
  result_committed: "the result is committed; nobody was told",
  retry_committed: "a decline is committed and the caller may try another card; nobody was told",
  unknown_committed: "it is committed that the gateway's answer was lost; nothing reconciles it yet",

  lease_written: "the process has written its lease; it does nothing yet",
  lease_renewed: "the process has renewed its lease",
  attempt_adopted: "attempts of a dead process belong to this one; nothing reconciles them yet",
  look_up_started: "an attempt is about to be looked up at its gateway",
  look_up_answered: "the gateway told what became of an attempt; nothing is written",
  reconciliation_decided: "reconciliation is about to write what it found out",
  reconciliation_given_up: "reconciliation took too long and the session has ended as unknown; the operator was not told",
  reversal_begun: "money was taken for a session that had ended otherwise; it is about to be reversed",

  connection_open: "a connection to a gateway or receiver stands; no byte is sent",
  response_begun: "a response has begun to come in; its body was not read",

  webhook_woken: "webhooks of a project may be due; none is claimed",
  webhook_claimed: "a webhook is claimed for one try; it is not sent",
  webhook_answered: "a receiver answered a webhook; nothing is written",
  webhook_marked: "a webhook is marked as delivered",
  webhook_waiting: "a failed try and its next one are written, not committed",

  serving: "every role runs; the addresses were not printed",
  drain_begun: "the process was asked to end and takes no new calls",
  drained: "the last call is over; nothing is closed yet",
} as const;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Which point, and at which time of reaching it, counted from 1. */
export interface CrashAt {
  point: CrashPoint;
  times: number;
}

let armed: CrashPoint | null = null;
let left = 0;
let endProcess = (_point: CrashPoint): void => {};

/** Has `end` called when `point` is reached for the `times`-th time from now on. Null disarms. */
export function armCrash(at: CrashAt | null, end: (point: CrashPoint) => void): void {
  armed = at?.point ?? null;
  left = at?.times ?? 0;
  endProcess = end;
}

/** Says that the process is at `point`. Does nothing in a process that is not armed for it. */
export function crashPoint(point: CrashPoint): void {
  if (armed !== point || --left > 0) return;
  armed = null;
  endProcess(point);
}
