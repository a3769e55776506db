import type { NewSession } from "#src/sessions/index.ts";
import { Caller } from "./caller.ts";
import { ORGANIZATION, PROJECTS } from "./furniture.ts";
import type { ServiceProcess } from "./process.ts";
import type { Track } from "./track.ts";
import type { World } from "./world.ts";

/** What somebody does when a session reaches a state: the nemesis that makes races happen instead of hoping for them. */
const DEEDS = { cancel: 25, "hang up": 20, "second call": 15, crash: 12, "cut off": 10, poll: 25 } as const;
/** How often, in percent. */
const MOMENTS = { PENDING: 5, collecting: 10, charging: 45, unknown: 95, final: 15 } as const;
type Deed = keyof typeof DEEDS;

/** Merchants, callers and the nemesis: everybody who acts upon the service from outside. */
export class People {
  readonly #world: World;
  #calls = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** A merchant makes a session; once it has the answer, the session's life goes its way. */
  create(): void {
    const world = this.#world;
    const { random } = world;
    const process = world.anyProcess();
    if (!process) return;
    const gateway = random.chance(0.8) ? "stripe" : "webhook";
    const input: NewSession = {
      organizationId: ORGANIZATION,
      projectId: random.pick(PROJECTS),
      environment: "test",
      channel: "voice",
      mode: random.chance(0.75) ? "charge" : "tokenize",
      gateway,
      amountMinor: 100 + Math.floor(random.between(0, 100_000)),
      currency: "USD",
      caller: null,
      description: null,
      callback: null,
      memory: null,
      stripeAccount: null,
      billingAddress: null,
      ttlSeconds: random.pick([60, 120, 300]),
    };
    process.sessions.create(process.database.db, input).then(
      ({ id }) => {
        const track = world.trackOf(id);
        track.isCreated = true;
        process.after(0, () => this.#live(track, input.ttlSeconds * 1000));
      },
      () => world.counters.saw("a session was refused: the database was away"),
    );
  }

  #live(track: Track, ttlMs: number): void {
    const { random, scheduler } = this.#world;
    const first = random.weighted({ soon: 78, late: 10, never: 8, twice: 4 });
    if (first === "soon") scheduler.after(random.between(500, 20_000), () => this.call(track));
    if (first === "twice") {
      const at = random.between(500, 20_000);
      scheduler.after(at, () => this.call(track));
      scheduler.after(at + random.between(0, 3), () => this.call(track));
    }
    if (first === "late")
      scheduler.after(ttlMs + (random.chance(0.5) ? random.between(-25, 5) : random.between(0, 1500)), () => this.call(track));
    for (let polls = 0; polls < 2; polls++) scheduler.after(random.between(0, 90_000), () => this.poll(track));
    if (random.chance(0.03)) scheduler.after(random.between(0, 60_000), () => this.#do("hang up", track));
    if (random.chance(0.05)) scheduler.after(ttlMs + random.between(-10, 10), () => this.cancel(track));
  }

  /** The session has reached a state: now and then somebody acts in this very moment, or shortly after. */
  reached(track: Track, state: string): void {
    const world = this.#world;
    const { random, scheduler } = world;
    if (!world.isChaos || !(state in MOMENTS) || !random.chance(MOMENTS[state as keyof typeof MOMENTS] / 100)) return;
    // Only its owner knows what becomes of a forwarded card.
    if (state === "charging" && world.rowOf(track.id)?.["gateway"] === "webhook" && random.chance(0.15))
      scheduler.after(random.between(0, 300), () => this.#do("cut off", track));
    // The answer is lost seldom, and then for long: more happens to it.
    for (let deeds = state === "unknown" ? 2 : 1; deeds > 0; deeds--) {
      const deed = random.weighted(DEEDS);
      const delay = random.pick([random.between(0, 4), random.between(0, 4), random.between(0, 400), random.between(0, 10_000)]);
      scheduler.after(delay, () => this.#do(deed, track));
    }
  }

  #do(deed: Deed, track: Track): void {
    const world = this.#world;
    const state = world.stateOf(track.id);
    const holder = world.holderOf(track.id);
    world.tell(track.id, () => deed);
    if (deed === "poll") return this.poll(track);
    if (deed === "cancel") return this.cancel(track);
    if (deed === "second call") {
      world.counters.strike("second call", state);
      return this.call(track);
    }
    if (deed === "hang up") {
      const caller = track.callers.find(({ isUp }) => isUp);
      if (!caller) return;
      world.counters.strike("hang-up", state);
      if (track.chargingAt !== null && world.scheduler.now - track.chargingAt <= 20)
        world.counters.saw("a caller hung up within 20 ms after the charge began");
      return caller.hangUp();
    }
    if (!holder || !world.isChaos) return;
    if (deed === "crash") return world.kill(holder);
    // Where nobody can be asked, for longer than its attempt may last.
    const long = () => (world.isBlind ? world.random.between(60_000, 150_000) : world.random.between(20_000, 40_000));
    const length = world.random.pick([50, 2000, long(), long()]);
    world.counters.strike(length < 20_000 ? "database cut off" : "database cut off, long", state);
    holder.cutOffUntil = Math.max(holder.cutOffUntil, world.scheduler.now + length);
  }

  call(track: Track): void {
    const process = this.#world.anyProcess();
    if (process) track.callers.push(new Caller(this.#world, track, process, `call-${++this.#calls}`));
  }

  cancel(track: Track): void {
    const world = this.#world;
    const process = world.anyProcess();
    if (!process) return;
    world.counters.strike("cancel", world.stateOf(track.id));
    process.sessions.cancel(track.id, { organizationId: ORGANIZATION, environment: "test" }).then(
      (answer) => world.judge.cancelled(track, answer),
      () => {},
    );
  }

  poll(track: Track): void {
    const process: ServiceProcess | null = this.#world.anyProcess();
    if (!process) return;
    const before = track.seen.length;
    process.sessions.find(process.database.db, track.id).then(
      (session) => {
        // One poll at a time: answers that crossed prove nothing about their order.
        if (track.seen.length === before) this.#world.judge.polled(track, session);
      },
      () => {},
    );
  }
}
