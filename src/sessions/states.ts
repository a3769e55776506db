/**
 * The session's life as one table: state and event -> next state and what else happens. No other file compares a status
 * to decide what may follow; `transition.ts` turns a row of this table into one conditional UPDATE (docs/states.md).
 */

export const STATUSES = [
  "PENDING",
  "COLLECTING",
  "payment-success",
  "payment-authorized",
  "payment-failed",
  "expired",
  "cancelled",
  "abandoned",
] as const;
export type Status = (typeof STATUSES)[number];

/** Hidden inside COLLECTING: collecting the card, the gateway is being called, its answer was lost. */
export type Phase = "collecting" | "charging" | "unknown";

/** A status with its hidden phase, as one word for the table. */
export type State = Exclude<Status, "COLLECTING"> | Phase;

export type SessionEvent =
  /** A call or the first card from the widget takes the session, before `expires_at` by the database's clock. */
  | "claim"
  /** The call was released before anything was collected: CANCEL before the answer, or no ACK. */
  | "release"
  | "cancel"
  | "expire"
  /** The attempt is written and the gateway is about to be called. */
  | "charge"
  /** The gateway refused the card and the caller may try again. */
  | "retry"
  | "approve"
  | "authorize"
  | "fail"
  /** The gateway's answer was lost. */
  | "lose"
  /** The caller hung up, fell silent or was cut off before the gateway was called. */
  | "abandon"
  /** The test word of a test key's session (docs/interface.md, States and transitions). */
  | "skip";

interface Transition {
  to: State;
  /** Only while `expires_at` lies ahead ("before") or behind ("after"), by the database's clock. */
  deadline?: "before" | "after";
}

export const TRANSITIONS: Readonly<Record<State, Readonly<Partial<Record<SessionEvent, Transition>>>>> = {
  PENDING: {
    claim: { to: "collecting", deadline: "before" },
    cancel: { to: "cancelled", deadline: "before" },
    expire: { to: "expired", deadline: "after" },
  },
  collecting: {
    release: { to: "PENDING" },
    cancel: { to: "cancelled" },
    charge: { to: "charging" },
    fail: { to: "payment-failed" },
    abandon: { to: "abandoned" },
    skip: { to: "payment-success" },
  },
  charging: {
    retry: { to: "collecting" },
    approve: { to: "payment-success" },
    authorize: { to: "payment-authorized" },
    fail: { to: "payment-failed" },
    lose: { to: "unknown" },
  },
  unknown: {
    approve: { to: "payment-success" },
    authorize: { to: "payment-authorized" },
    fail: { to: "payment-failed" },
  },
  "payment-success": {},
  "payment-authorized": {},
  "payment-failed": {},
  expired: {},
  cancelled: {},
  abandoned: {},
};

const PHASES: ReadonlySet<string> = new Set<Phase>(["collecting", "charging", "unknown"]);

/** The row's two columns for a state. */
export function columnsOf(state: State): { status: Status; phase: Phase | null } {
  return PHASES.has(state) ? { status: "COLLECTING", phase: state as Phase } : { status: state as Status, phase: null };
}

/** The table's state for a row's two columns. */
export function stateOf(status: string, phase: string | null): State {
  return (status === "COLLECTING" ? (phase ?? "collecting") : status) as State;
}

/** States from which `event` may happen. */
export function sourcesOf(event: SessionEvent): readonly State[] {
  return (Object.keys(TRANSITIONS) as State[]).filter((state) => TRANSITIONS[state][event] !== undefined);
}

/** The state that `event` leads to: the same from wherever it is allowed. */
export function targetOf(event: SessionEvent): State {
  const targets = new Set(sourcesOf(event).map((state) => TRANSITIONS[state][event]!.to));
  const [target] = targets;
  if (target === undefined || targets.size > 1) throw new Error(`the event ${event} needs exactly one target state`);
  return target;
}

/** A final state has no way out. */
export function isTerminal(status: string): boolean {
  return status !== "PENDING" && status !== "COLLECTING";
}
