import type { Row } from "../database/index.ts";
import { PROJECTS } from "./fixtures.ts";
import type { ServiceProcess } from "./process.ts";
import { stateOf, type Track } from "./track.ts";
import type { WorldState } from "./state.ts";

/** The fault injector: makes faults and races happen where they hurt instead of hoping for them. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is done to a session that reaches a state. "hang up": a browser's tabs are closed; "second call": another post. */
const FAULT_WEIGHTS = { cancel: 25, "hang up": 20, "second call": 15, crash: 12, "cut off": 10, drain: 6, poll: 25 } as const;
/** How often, in percent. */
const PERCENT_BY_STATE = { PENDING: 5, collecting: 10, charging: 45, unknown: 95, final: 15 } as const;
/** A widget's session is being collected for a few milliseconds only. */
const WIDGET_COLLECTING = 40;
export type SessionFault = keyof typeof FAULT_WEIGHTS;

/** Not so often that nobody ever comes to pay. */
const CRASHES_APART_MS = 8 * SECOND;
const DRAINS_APART_MS = 15 * SECOND;

interface FaultyWorld extends WorldState {
  readonly supervisor: {
    any(): ServiceProcess | null;
    serving(): ServiceProcess | null;
    holderOf(id: string): ServiceProcess | null;
    isHeldBy(row: Row, process: ServiceProcess): boolean;
    crash(process: ServiceProcess): void;
    drain(process: ServiceProcess): void;
  };
  readonly workload: { call(track: Track): void; cancel(track: Track): void; poll(track: Track): void };
  readonly network: { outageUntil: number; lookUpsFailUntil: number; readonly receiver: { outageUntil: number } };
}

export class FaultInjector {
  readonly #world: FaultyWorld;
  #lastCrash = 0;
  #lastDrain = 0;

  constructor(world: FaultyWorld) {
    this.#world = world;
  }

  /** What happens to the whole world within `creating` and `chaos` ms. */
  plan({ creating, chaos }: { creating: number; chaos: number }): void {
    const world = this.#world;
    const { scheduler, random, network } = world;
    const soon = () => random.between(MINUTE, 5 * MINUTE);
    if (random.chance(0.4)) {
      // Longer than the search for an outcome lasts, or short.
      const length = random.pick([random.between(5, 60) * SECOND, 13 * MINUTE]);
      scheduler.after(soon(), () => void (network.outageUntil = scheduler.now + length));
    }
    if (random.chance(0.4))
      scheduler.after(soon(), () => void (network.receiver.outageUntil = scheduler.now + random.between(10, 600) * SECOND));
    // Charges go through, but nobody tells what became of one: the phase unknown lasts.
    if (random.chance(0.5)) {
      const length = random.pick([random.between(60, 240) * SECOND, 13 * MINUTE]);
      scheduler.after(soon(), () => void (network.lookUpsFailUntil = scheduler.now + length));
    }
    scheduler.after(soon(), () => void (world.withdrawnUntil = scheduler.now + random.between(2, 15) * SECOND));
    for (let index = 0; index < 3; index++) {
      scheduler.after(random.between(0, chaos), () => this.#kill(world.supervisor.any()));
      scheduler.after(random.between(0, creating), () => this.#drain(world.supervisor.serving()));
      scheduler.after(random.between(0, creating), () => {
        const process = world.supervisor.any();
        if (process) this.#stepClock(process, random.pick([-1, 1]) * random.pick([random.between(1, 60) * SECOND, HOUR]));
      });
      scheduler.after(random.between(0, chaos), () => {
        const project = random.pick(PROJECTS);
        world.addresses.set(project, { version: (world.addresses.get(project)?.version ?? 0) + 1, since: scheduler.now });
      });
    }
  }

  /** The session has reached a state: now and then somebody acts in this very moment, or shortly after. */
  reached(track: Track, state: string): void {
    const world = this.#world;
    const { random, scheduler } = world;
    if (!world.isChaos || !(state in PERCENT_BY_STATE)) return;
    const isBrief = state === "collecting" && track.channel === "widget";
    if (!random.chance((isBrief ? WIDGET_COLLECTING : PERCENT_BY_STATE[state as keyof typeof PERCENT_BY_STATE]) / 100)) return;
    // Only its owner knows what becomes of a forwarded card.
    if (state === "charging" && world.rowOf(track.id)?.["gateway"] === "webhook" && random.chance(0.15))
      scheduler.after(random.between(0, 300), () => this.inject("cut off", track));
    // The answer is lost seldom, and then for long: more happens to it.
    for (let count = state === "unknown" ? 2 : 1; count > 0; count--) {
      const fault = random.weighted(FAULT_WEIGHTS);
      const soon = random.between(0, 4);
      const delay = isBrief ? soon : random.pick([soon, soon, random.between(0, 400), random.between(0, 10_000)]);
      scheduler.after(delay, () => this.inject(fault, track));
    }
  }

  inject(fault: SessionFault, track: Track): void {
    const world = this.#world;
    const holder = world.supervisor.holderOf(track.id);
    world.trace(track.id, () => fault);
    if (fault === "poll") return world.workload.poll(track);
    if (fault === "cancel") return world.workload.cancel(track);
    if (fault === "second call") return this.#payTwice(track);
    if (fault === "hang up") return this.#hangUp(track);
    if (!holder || !world.isChaos) return;
    if (fault === "crash") return this.#kill(holder);
    if (fault === "drain") return this.#drain(holder);
    // Where nobody can be asked, for longer than its attempt may last.
    const long = () => (world.isBlind ? world.random.between(60_000, 150_000) : world.random.between(20_000, 40_000));
    const length = world.random.pick([50, 2000, long(), long()]);
    world.strike(length < 20_000 ? "database cut off" : "database cut off, long", world.rowOf(track.id));
    holder.cutOffUntil = Math.max(holder.cutOffUntil, world.scheduler.now + length);
  }

  #payTwice(track: Track): void {
    const world = this.#world;
    const isPosted = track.shopper !== null && (track.channel === "widget" || world.random.chance(0.5));
    world.strike(isPosted ? "second post" : "second call", world.rowOf(track.id));
    if (isPosted) track.shopper?.postAgain();
    else world.workload.call(track);
  }

  #hangUp(track: Track): void {
    const world = this.#world;
    if (track.shopper && (track.channel === "widget" || world.random.chance(0.3))) {
      world.strike("tabs closed", world.rowOf(track.id));
      return track.shopper.leave();
    }
    const caller = track.callers.find(({ isUp }) => isUp);
    if (!caller) return;
    world.strike("hang-up", world.rowOf(track.id));
    if (track.chargingAt !== null && world.scheduler.now - track.chargingAt <= 20)
      world.counters.occurred("a caller hung up within 20 ms after the charge began");
    if (world.stateOf(track.id) === "charging" && track.shopper?.isPosting)
      world.counters.occurred("a caller hung up while the link's card was at the gateway");
    caller.hangUp();
  }

  #kill(process: ServiceProcess | null): void {
    const { scheduler } = this.#world;
    if (!process || scheduler.now - this.#lastCrash < CRASHES_APART_MS) return;
    this.#lastCrash = scheduler.now;
    this.#world.supervisor.crash(process);
  }

  #drain(process: ServiceProcess | null): void {
    const { scheduler } = this.#world;
    if (!process || process.isDraining || scheduler.now - this.#lastDrain < DRAINS_APART_MS) return;
    this.#lastDrain = scheduler.now;
    this.#world.supervisor.drain(process);
  }

  /** Its wall clock jumps. */
  #stepClock(process: ServiceProcess, ms: number): void {
    process.skew = ms;
    for (const row of this.#world.openRows()) {
      if (stateOf(row) === "PENDING" || this.#world.supervisor.isHeldBy(row, process)) this.#world.strike("clock step", row);
    }
  }
}
