import type { CounterValues } from "./world/counters.ts";

/**
 * What a run of this size must have met: a race that never happened was not proved ("sometimes" properties). Each race names the rows that it exercises; test/prove.test.ts cites the same.
 */
export const ENOUGH_SESSIONS = 20_000;

/** Sessions in one world: enough to share the loops that run in every process, few enough to read what happened. */
export const SESSIONS_PER_WORLD = 400;

/** The states of a session in the order of the matrix; "none": a look-up, which names no session. */
export const COLUMNS = ["PENDING", "collecting", "charging", "unknown", "final", "none"] as const;
type Column = (typeof COLUMNS)[number];

const OPEN: readonly Column[] = ["collecting", "charging", "unknown"];
const ENDING: readonly Column[] = [...OPEN, "final"];
const ASKED: readonly Column[] = ["charging", "none"];

/** Each fault by the states in which it must have struck. */
const FAULTS: Readonly<Record<string, readonly Column[]>> = {
  cancel: ["PENDING", ...ENDING],
  "clock step": ["PENDING", ...OPEN],
  "commit failed": ENDING,
  "commit's answer lost": ENDING,
  crash: OPEN,
  "crash before the reversal": ["charging", "unknown"],
  "database cut off": ENDING,
  "database cut off, long": ENDING,
  drain: OPEN,
  "gateway down": ASKED,
  "gateway: 500 after": ASKED,
  "gateway: 500 before": ASKED,
  "gateway: duplicated": ASKED,
  "gateway: garbage": ASKED,
  "gateway: late": ASKED,
  "gateway: lost after": ASKED,
  "gateway: lost before": ASKED,
  "gateway: not sent": ASKED,
  "hang-up": ENDING,
  "receiver down": ["final"],
  "receiver: 500": ["final"],
  "receiver: answer lost": ["final"],
  "receiver: not sent": ["final"],
  "receiver: time-out": ["final"],
  "second call": ["PENDING", ...ENDING],
  "statement lost": ENDING,
  // The widget's session is looked up by what the vendor was asked for a charge; the look-ups themselves name none.
  "widget: cancel": ["PENDING", ...ENDING],
  "widget: clock step": ["PENDING", "charging", "unknown"],
  "widget: commit failed": ENDING,
  "widget: commit's answer lost": ENDING,
  "widget: crash": ["PENDING", ...OPEN],
  "widget: crash before the reversal": ["charging"],
  "widget: database cut off": OPEN,
  "widget: database cut off, long": OPEN,
  "widget: drain": OPEN,
  "widget: gateway down": ["charging"],
  "widget: gateway: 500 after": ["charging"],
  "widget: gateway: 500 before": ["charging"],
  "widget: gateway: duplicated": ["charging"],
  "widget: gateway: garbage": ["charging"],
  "widget: gateway: late": ["charging"],
  "widget: gateway: lost after": ["charging"],
  "widget: gateway: lost before": ["charging"],
  "widget: gateway: not sent": ["charging"],
  "widget: second post": ["PENDING", ...ENDING],
  "widget: statement lost": ENDING,
  "widget: tabs closed": ["PENDING", ...ENDING],
};

/** Each race by the rows it exercises. */
export const RACES: Readonly<Record<string, readonly string[]>> = {
  "a cancel was obeyed: PENDING": ["R-270"],
  "a cancel was obeyed: collecting": ["R-270"],
  "a cancel came too late: charging": ["R-270", "R-271"],
  "a cancel came too late: unknown": ["R-271"],
  "a call was refused: expired, not yet swept": ["R-272"],
  "a call took the session in its last 25 ms": ["R-272"],
  "a cancel was obeyed in the last 10 ms": ["R-273"],
  "a cancel came after the time was over": ["R-273"],
  "a caller hung up within 20 ms after the charge began": ["R-274"],
  "a caller left after a decline: payment-failed with it": ["R-275"],
  "a second call was refused: the session was being collected": ["R-278"],
  "two calls within 5 ms: one was refused": ["R-220", "R-279"],
  "a forwarded card was approved": ["R-245"],
  "a forwarded card was decided, and its answer lost": ["R-249"],
  "a poll saw the end before its webhook arrived": ["R-285"],
  "a webhook arrived twice": ["R-285"],
  "a crash while charging, no money taken yet": ["R-286"],
  "a crash after the money was taken": ["R-286"],
  "money taken before a crash became a success": ["R-286"],
  "another process took up an attempt": ["R-286"],
  "a process that was taken for dead went on with its attempt": ["R-286"],
  "a lost answer was cleared up: payment-success": ["R-287"],
  "a lost answer was cleared up: payment-failed": ["R-287"],
  "a search was given up after ten minutes": ["R-287"],
  "money was found after the end": ["R-287"],
  "an attempt is voided unseen": ["R-287"],
  "a cut-off owner came back while its attempt was voided": ["R-287"],
  "a reversal is done": ["R-287"],
  "a reversal is done, after a crash": ["R-286", "R-287"],
  "a webhook was refused: its process's clock had jumped": ["R-288"],
  "a project had no credentials at the charge: payment-failed": ["R-289"],
  "two sessions of one caller: a call took the newest": ["R-217", "R-276"],
  "two sessions of one caller: one had ended, and a call took the other": ["R-276"],
  "two merchants' sessions of one caller: the number that was dialled chose the older": ["R-277"],
  "two organisations' sessions of one caller, and nobody's number: neither": ["R-217", "R-277"],
  "a widget session was called: 404": ["R-280"],
  "a card was posted to a voice session: 404": ["R-281"],
  "a card was posted twice at once: one was refused": ["R-282"],
  "two tabs paid at once: one was refused": ["R-282"],
  "two processes were posted a card at once: one was refused": ["R-282"],
  "a card's answer was lost and it was posted again: 409": ["R-283"],
  "a card's answer was lost and it was posted again: 410, with the result": ["R-283"],
  "a card took the session in its last 25 ms": ["R-197"],
  "a card came after the time was over, not yet swept": ["R-197"],
  "a shopper left after a decline: payment-failed with it": ["R-197"],
  "a cancel was obeyed while a card was on its way": ["R-284"],
  "a cancel came too late for a widget: charging": ["R-284"],
  "a cancel came too late for a widget: unknown": ["R-284"],
  "a key was revoked in mid-session: it could not read any more": ["R-290"],
  "a key was revoked in mid-session: the session was paid": ["R-290"],
  "a draining process refused a call": ["R-292"],
  "a draining process refused a card": ["R-292"],
  "a drain ended when nothing was left": ["R-292"],
  "a draining process finished a charge": ["R-292"],
  "mango and a complete card at once: mango won": ["R-293"],
  "mango and a complete card at once: the card won": ["R-293"],
  "a webhook's retry went to the address it was changed to": ["R-291"],
  "a link was paid while its caller waited": ["R-435"],
  "a link was paid without a call": ["R-435"],
  "a link was paid after the call's card was declined": ["R-435"],
  "a call and a link's card at once: the card of the call was charged": ["R-435"],
  "a link's card was declined while its caller waited": ["R-435"],
  "a link's card took the session before any call": ["R-435"],
  "a call was refused: the link's card had the session": ["R-435"],
  "a caller hung up while the link's card was at the gateway": ["R-274", "R-435"],
  "a cancel came too late for a link: charging": ["R-271", "R-435"],
  "a link's card came after the end": ["R-435"],
  "a link's card came after the time was over": ["R-435"],
};

/** How often a fault struck in a state. A commit's faults are counted under the status it was to write: all but the open ones are final. */
export function countOf({ faults }: CounterValues, fault: string, column: Column): number {
  const states = faults.get(fault) ?? new Map<string, number>();
  if (column !== "final") return states.get(column) ?? 0;
  let sum = 0;
  for (const [state, count] of states) if (state === "final" || !COLUMNS.some((other) => other === state)) sum += count;
  return sum;
}

/** What did not happen although a large run must meet it, in words. */
export function neverHappened(counters: CounterValues): string[] {
  return [
    ...Object.entries(FAULTS).flatMap(([fault, columns]) =>
      columns
        .filter((column) => countOf(counters, fault, column) === 0)
        .map((column) => `${fault}, ${column === "none" ? "look-up" : column}`),
    ),
    ...Object.keys(RACES).filter((race) => !counters.sometimes.has(race)),
  ];
}
