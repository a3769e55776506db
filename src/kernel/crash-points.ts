/**
 * Named places at which a test may have the process killed: one before and one after every step whose loss would matter
 * (E1, docs/decisions/0008). Inert unless armed, and a process arms at most one, at its start.
 * `npm run prove -- kill` kills a real service at each of them.
 */
export const CRASH_POINTS = {
  create_checked: "a session was asked for and may be made; nothing is written",
  create_inserted: "a session without an Idempotency-Key is committed; its answer is not made yet",
  create_kept: "the session and, under its Idempotency-Key, its answer are committed together; a repeat may come",
  create_answering: "the session is committed; nobody was told",
  cancel_asked: "a cancel was asked for; nothing is written",
  cancel_committed: "the cancel is committed; 204 was not sent",

  transition_updated: "a session's row has its new state; audit, notification and webhook are missing, nothing is committed",
  outbox_written: "a final state and its webhook's row are written, not committed",
  expiry_due: "the sweeper found an unused session past its time; it is not expired yet",
  orphan_found: "the sweeper found a session whose process died while collecting; it is not ended yet",

  card_posted: "a card came from a widget and is complete; nothing is written",
  try_counted: "the session is claimed, the try counted and its nonce used, not committed",
  try_committed: "the try is committed and keeps others out; its charge has not begun",
  try_settled: "what became of a try is written; others are kept out still",
  try_ended: "the next try may begin; the browser was not answered",

  call_matched: "a call names a session; the session is not claimed",
  call_claimed: "the session is claimed; the call is not answered",
  call_released: "the caller gave up before the answer and the session is given back; the call is not refused yet",
  call_answered: "the call is answered and acknowledged",
  key_heard: "a key of the caller's was heard",
  card_collected: "the card is complete; nothing is written",
  hang_up_heard: "the caller hung up; nothing is written",
  call_collected: "the conversation is over; what its end means is not written yet",
  giving_up: "a caller left unpaid; the session is not ended yet",
  call_ending: "everything is written; the caller is still on the line",
  transfer_dialling: "the caller is about to be handed back; nobody was called",
  transfer_answered: "the callback answered; nothing is written",
  transfer_reported: "the hand-over is written; the two are not joined yet",

  settle_prepared: "gateway and settings of a charge are known; nothing is written",
  intent_charging: "the session is charging in a transaction that is not committed; the attempt is not inserted",
  intent_inserted: "the attempt is inserted, not committed",
  intent_committed: "the attempt is committed; the gateway has heard nothing",
  request_built: "a request to a gateway is ready, to charge, look up or void; no byte is sent",
  answer_read: "a gateway's answer is in memory and nowhere else",
  notes_written: "the gateway's ids are noted with the attempt; its outcome is not known yet",
  outcome_known: "the outcome of a charge is in memory and nowhere else",
  result_unwritten: "an outcome is about to be written; its transaction has not begun",
  result_finished: "the attempt has its outcome, not committed; the session has not",
  result_moved: "attempt, session and webhook are written, not committed",
  result_committed: "the result is committed; nobody was told",
  retry_committed: "a decline is committed and the caller may try another card; nobody was told",
  loss_committed: "it is committed that the gateway's answer was lost; nobody looks for it yet",

  lease_written: "the process has said that it lives; it does nothing yet",
  lease_renewed: "the process has said again that it lives",
  attempt_adopted: "attempts of a dead process belong to this one; nobody looks for them yet",
  look_up_asked: "an attempt is about to be looked up at its gateway",
  look_up_answered: "the gateway told what became of an attempt; nothing is written",
  search_decided: "a search is about to write what it found out",
  search_given_up: "a search took too long and its session has ended as unknown; the operator was not told",
  reversal_begun: "money was taken for a session that had ended otherwise; it is about to be given back",

  connection_open: "a connection to a gateway or receiver stands; no byte is sent",
  answer_begun: "an answer has begun to come in; its body was not read",

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
let die = (_point: CrashPoint): void => {};

/** Has `end` called when `point` is reached for the `times`-th time from now on. Null disarms. */
export function armCrash(at: CrashAt | null, end: (point: CrashPoint) => void): void {
  armed = at?.point ?? null;
  left = at?.times ?? 0;
  die = end;
}

/** Says that the process is at `point`. Does nothing in a process that was not told to die there. */
export function crashPoint(point: CrashPoint): void {
  if (armed !== point || --left > 0) return;
  armed = null;
  die(point);
}
