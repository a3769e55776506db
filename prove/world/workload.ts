import { textOf } from "../database/index.ts";
import type { Cancellation, NewSession, Session } from "#src/sessions/index.ts";
import { Caller, type CallerWorld } from "./caller.ts";
import { NUMBERS, offersLink, organizationOf, PROJECTS, SERVICE_URL, UNASSIGNED_NUMBER } from "./fixtures.ts";
import type { ExchangeObserver } from "./http-entry-point.ts";
import type { CallSetup } from "./invite.ts";
import type { ServiceProcess } from "./process.ts";
import { chargeOf, Shopper, type ShopperWorld } from "./shopper.ts";
import type { Track } from "./track.ts";

/** Merchants make sessions, callers and shoppers come to pay them, polls look at them. */

/** How a session is found by whoever pays it: named in the call, by the caller's number, at its address in a browser. */
const ROUTE_WEIGHTS = { named: 66, "by number": 8, widget: 26 } as const;
type Route = keyof typeof ROUTE_WEIGHTS;
/** Of those that may: the caller opens the session's link too, before, during or instead of the call. */
const OPENS_THE_LINK = 0.45;

/** Callers who pay several merchants, and one merchant several times. */
const REPEAT_CALLERS = ["+14155550101", "+14155550102", "+14155550103", "+14155550104"] as const;
const UNKNOWN_CALLER = "+14155550100";

interface WorkloadWorld extends CallerWorld, ShopperWorld {
  readonly supervisor: { any(): ServiceProcess | null; serving(): ServiceProcess | null };
  readonly calls: CallerWorld["calls"] & { dialled(caller: Caller): void };
  readonly responses: ShopperWorld["responses"] & { followStray(track: Track): ExchangeObserver };
  readonly invariants: { cancelled(track: Track, result: Cancellation): void; polled(track: Track, session: Session | null): void };
  readonly apiKeys: { watch(track: Track): void };
  readonly faults: { inject(fault: "hang up", track: Track): void };
}

export class Workload {
  readonly #world: WorkloadWorld;
  #calls = 0;

  constructor(world: WorkloadWorld) {
    this.#world = world;
  }

  /** A merchant makes a session; once it has the answer, the session's life goes its way. */
  create(): void {
    const world = this.#world;
    const { random } = world;
    const process = world.supervisor.serving();
    if (!process) return;
    const gateway = random.chance(0.8) ? "stripe" : "webhook";
    const way = random.weighted(ROUTE_WEIGHTS);
    const projectId = random.pick(PROJECTS);
    const input: NewSession = {
      organizationId: organizationOf(projectId),
      projectId,
      environment: "test",
      channel: way === "widget" ? "widget" : "voice",
      mode: random.chance(0.75) ? "charge" : "tokenize",
      gateway,
      amountMinor: 100 + Math.floor(random.between(0, 100_000)),
      currency: "USD",
      caller: way === "by number" ? random.pick(REPEAT_CALLERS) : null,
      description: null,
      callback: null,
      memory: null,
      connectedAccount: null,
      billingAddress: null,
      ttlSeconds: random.pick([60, 120, 300]),
    };
    process.sessions.create(process.database.db, input).then(
      ({ id }) => {
        const track = world.trackOf(id);
        track.isCreated = true;
        const link = process.widget.linkFor({ id, offersLink: input.channel === "voice" && offersLink(projectId), status: "PENDING" });
        if (link !== null) track.page = link.slice(SERVICE_URL.length);
        process.after(0, () => this.#schedulePayments(track, input, way));
      },
      () => world.counters.occurred("a session was refused: the database was away"),
    );
  }

  #schedulePayments(track: Track, input: NewSession, way: Route): void {
    const { random, scheduler, apiKeys } = this.#world;
    const ends = scheduler.now + input.ttlSeconds * 1000;
    if (way === "named") this.#scheduleCalls(track, ends);
    if (way === "named" && offersLink(input.projectId) && random.chance(OPENS_THE_LINK)) this.#scheduleVisits(track, ends);
    if (way === "by number") this.#scheduleCallsByNumber(input);
    if (way === "widget") this.#scheduleVisits(track, ends);
    for (let polls = 0; polls < 2; polls++) scheduler.after(random.between(0, 90_000), () => this.poll(track));
    if (random.chance(0.05)) scheduler.after(ends - scheduler.now + random.between(-10, 10), () => this.cancel(track));
    if (random.chance(0.05)) apiKeys.watch(track);
    if (random.chance(0.02)) scheduler.after(random.between(0, 60_000), () => this.misuse(track));
  }

  #scheduleCalls(track: Track, ends: number): void {
    const { random, scheduler, faults } = this.#world;
    const first = random.weighted({ soon: 78, late: 10, never: 8, twice: 4 });
    if (first === "soon") scheduler.after(random.between(500, 20_000), () => this.call(track));
    if (first === "twice") {
      const at = random.between(500, 20_000);
      scheduler.after(at, () => this.call(track));
      scheduler.after(at + random.between(0, 3), () => this.call(track));
    }
    if (first === "late") {
      const late = random.chance(0.5) ? random.between(-25, 5) : random.between(0, 1500);
      scheduler.after(ends - scheduler.now + late, () => this.call(track));
    }
    if (random.chance(0.03)) scheduler.after(random.between(0, 60_000), () => faults.inject("hang up", track));
  }

  /** The caller dials the merchant that it means, or another, or a number that names none. */
  #scheduleCallsByNumber({ caller, projectId }: NewSession): void {
    const { random, scheduler } = this.#world;
    const own = NUMBERS[PROJECTS.indexOf(projectId as (typeof PROJECTS)[0])]!;
    const to = random.chance(0.6) ? own : random.pick([UNASSIGNED_NUMBER, UNASSIGNED_NUMBER, ...NUMBERS]);
    for (const at of [random.between(2000, 40_000), random.between(40_000, 80_000)])
      scheduler.after(at, () => this.#dial({ sessionId: null, from: caller!, to }, null));
  }

  #scheduleVisits(track: Track, ends: number): void {
    const { random, scheduler } = this.#world;
    const shopper = (track.shopper = new Shopper(this.#world, track));
    const first = random.weighted({ soon: 66, late: 12, never: 6, "two tabs": 16 });
    if (first === "soon") scheduler.after(random.between(500, 20_000), () => shopper.visit());
    if (first === "two tabs") scheduler.after(random.between(500, 20_000), () => shopper.visit(2));
    if (first === "late") shopper.visitAt(ends + random.between(-25, 15));
  }

  call({ id }: Track): void {
    this.#dial({ sessionId: id, from: UNKNOWN_CALLER, to: id }, this.#world.trackOf(id));
  }

  #dial(what: Omit<CallSetup, "callId">, track: Track | null): void {
    const world = this.#world;
    const process = world.supervisor.serving();
    if (!process) return;
    const setup = { ...what, callId: `call-${++this.#calls}` };
    const caller = new Caller(world, process, setup, track, () => this.#dial(what, track));
    world.calls.dialled(caller);
  }

  /** A widget's session is called, by somebody for whom another may be waiting; a telephone's is asked for in a browser. */
  misuse(track: Track): void {
    const world = this.#world;
    if (track.channel === "widget")
      return this.#dial({ sessionId: track.id, from: world.random.pick(REPEAT_CALLERS), to: NUMBERS[0] }, track);
    const process = world.supervisor.serving();
    const nonce = `${"A".repeat(22)}.${"A".repeat(43)}`;
    void process?.http.ask(chargeOf(track.id, nonce, "4242424242424242"), world.responses.followStray(track));
    void process?.http.ask({ method: "GET", path: `/widget/${track.id}` }, world.responses.followStray(track));
  }

  cancel(track: Track): void {
    const world = this.#world;
    const process = world.supervisor.any();
    if (!process) return;
    const row = world.rowOf(track.id);
    world.strike("cancel", row);
    const organizationId = organizationOf(textOf(row?.["project_id"]));
    process.sessions.cancel(track.id, { organizationId, environment: "test" }).then(
      (answer) => world.invariants.cancelled(track, answer),
      () => {},
    );
  }

  poll(track: Track): void {
    const process: ServiceProcess | null = this.#world.supervisor.any();
    if (!process) return;
    const before = track.seen.length;
    process.sessions.find(process.database.db, track.id).then(
      (session) => {
        // One poll at a time: answers that crossed prove nothing about their order.
        if (track.seen.length === before) this.#world.invariants.polled(track, session);
      },
      () => {},
    );
  }
}
