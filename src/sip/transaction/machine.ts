import type { Clock } from "#src/kernel/clock.ts";
import { TIMERS, T2, type TimerName } from "./timers.ts";

export type State = "trying" | "calling" | "proceeding" | "completed" | "confirmed" | "accepted" | "terminated";

/** What happens to a transaction: a message from the peer or from its user, a timer, a transport error. */
export type Event = "request" | "ack" | "provisional" | "success" | "failure" | "error" | TimerName;

export type Effect =
  /** Send the message the event brought, and keep it for "resend". */
  | "send"
  | "resend"
  /** Hand the message the event brought to the transaction's user. */
  | "deliver"
  /** INVITE client: acknowledge the non-2xx response the event brought (RFC 3261 section 17.1.1.3). */
  | "acknowledge"
  /** INVITE server: send 100 Trying. */
  | "trying"
  /** Tell the user that no answer, or no ACK, came. */
  | "timeout"
  /** Tell the user that the transport failed. */
  | "transport failed"
  | `start ${TimerName}`
  /** Start the retransmission timer at its cap (timer E while Proceeding, section 17.1.2.2). */
  | `slow ${TimerName}`;

export type Step = readonly [next: State, ...effects: Effect[]];

/** One of the four machines. An event without a step in the current state is ignored. */
export interface Machine {
  readonly begin: Step;
  readonly states: Readonly<Partial<Record<State, Readonly<Partial<Record<Event, Step>>>>>>;
}

/** The hands of a machine. */
interface Actions<Message> {
  send(message: Message): void;
  deliver(message: Message): void;
  acknowledge(message: Message): void;
  trying(): void;
  failed(why: "timeout" | "transport"): void;
  terminated(): void;
}

/**
 * Runs a machine for one transaction. Entering another state stops every timer that state has no step for,
 * which is what RFC 3261 asks of each of them.
 */
export class MachineRun<Message> {
  readonly #machine: Machine;
  readonly #actions: Actions<Message>;
  readonly #clock: Clock;
  readonly #reliable: boolean;
  readonly #timers = new Map<TimerName, () => void>();
  readonly #intervals = new Map<TimerName, number>();
  #state: State = "terminated";
  #last: Message | null = null;

  constructor(machine: Machine, actions: Actions<Message>, clock: Clock, reliable: boolean) {
    this.#machine = machine;
    this.#actions = actions;
    this.#clock = clock;
    this.#reliable = reliable;
  }

  get state(): State {
    return this.#state;
  }

  begin(message: Message | null): void {
    this.#take(this.#machine.begin, message);
  }

  handle(event: Event, message: Message | null = null): void {
    const step = this.#machine.states[this.#state]?.[event];
    if (step) this.#take(step, message);
  }

  /** Ends the transaction at once, telling nobody. */
  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#state = "terminated";
  }

  #take([next, ...effects]: Step, message: Message | null): void {
    this.#enter(next);
    for (const effect of effects) this.#run(effect, message);
    if (next === "terminated") this.#actions.terminated();
  }

  #enter(next: State): void {
    if (next === this.#state) return;
    this.#state = next;
    for (const [timer, cancel] of this.#timers) {
      if (this.#machine.states[next]?.[timer]) continue;
      cancel();
      this.#timers.delete(timer);
    }
  }

  #run(effect: Effect, message: Message | null): void {
    if (effect === "send") this.#last = message;
    if (effect === "send" || effect === "resend") {
      if (this.#last !== null) this.#actions.send(this.#last);
    } else if (effect === "trying") this.#actions.trying();
    else if (effect === "timeout") this.#actions.failed("timeout");
    else if (effect === "transport failed") this.#actions.failed("transport");
    else if (effect === "deliver" || effect === "acknowledge") {
      if (message !== null) this.#actions[effect](message);
    } else this.#start(effect.split(" ") as ["start" | "slow", TimerName]);
  }

  #start([how, name]: ["start" | "slow", TimerName]): void {
    const { first, reliable, next } = TIMERS[name];
    const previous = this.#intervals.get(name);
    const initial = this.#reliable && reliable !== undefined ? reliable : first;
    if (initial === null) return;
    const interval = how === "slow" ? T2 : previous !== undefined && next ? next(previous) : initial;
    this.#intervals.set(name, interval);
    this.#timers.get(name)?.();
    const cancel = this.#clock.after(interval, () => {
      this.#timers.delete(name);
      this.handle(name);
    });
    this.#timers.set(name, cancel);
  }
}
