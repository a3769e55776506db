import { textOf } from "../database/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { type Gateway, GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { createPayments, type Payments } from "#src/payments/index.ts";
import type { Projects } from "#src/projects/index.ts";
import { type Database, type Log, type OutboundAnswer, type OutboundRequest, startLease } from "#src/platform/index.ts";
import { createSessions, type Sessions } from "#src/sessions/index.ts";
import { createCallService, type CallService } from "#src/voice/index.ts";
import { createWebhooks } from "#src/webhooks/index.ts";
import { createWidget, stripScripts, type Widget } from "#src/widget/index.ts";
import type { Connection } from "../database/index.ts";
import { databaseOver, type DatabaseLink, type DatabaseFault } from "./database-link.ts";
import { HttpEntryPoint } from "./http-entry-point.ts";
import { ModelRecogniser } from "./speech-input.ts";
import { projectsOf, SERVICE_URL } from "./fixtures.ts";
import { ModelLeg } from "./leg.ts";
import type { WorldState } from "./state.ts";

/** Made here once: a thread would bring its own time into the world. */
const SCRIPTS = stripScripts();
/** A vendor that cannot be asked what became of an attempt. */
const BLIND = Object.fromEntries(Object.entries(GATEWAYS_BUILT.stripe ?? {}).filter(([name]) => name !== "lookUp")) as unknown as Gateway;

/** A lost answer is written down seldom: the database fails so many times as often in it. */
const LOSING = 12;

/** As `src/cli/serve.ts` has it. */
const DRAIN_MS = 120_000;

/** What a process has around it. */
export interface ProcessWorld extends WorldState {
  readonly network: { send(process: ServiceProcess, request: OutboundRequest): Promise<OutboundAnswer> };
  readonly invariants: {
    logged(event: string, fields: object): void;
    drained(process: ServiceProcess, how: { since: number; isIdle: boolean }): void;
  };
  readonly calls: { outrun(id: string): void };
  readonly supervisor: { crash(process: ServiceProcess): void };
}

/** One run of one process of the service: the real modules, with everything they touch held by the world. */
export class ServiceProcess implements DatabaseLink {
  readonly world: ProcessWorld;
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly database: Database;
  readonly sessions: Sessions;
  readonly payments: Payments;
  readonly projects: Projects;
  readonly voice: CallService;
  readonly widget: Widget;
  readonly http: HttpEntryPoint;
  isAlive = true;
  /** It was told to end. */
  isDraining = false;
  /** Its wall clock is off by so much, ms. */
  skew = 0;
  /** It cannot reach the database until then. */
  cutOffUntil = 0;
  /** When the database failed it last, while it was in reach. */
  failedAt = 0;
  /** Media of the calls, by the port in their descriptions. */
  readonly legs = new Map<number, ModelLeg>();
  #lastPort = 10_000;
  readonly #connections = new Set<Connection>();
  /** The listening connection is lost. */
  #hasLostListener = false;
  readonly #listeners = new Set<{ channel: string; onPayload: (payload: string) => void; onGap: () => void }>();
  readonly #startDelivery: () => () => unknown;
  /** Ends what was started, the last first. */
  readonly #ends: (() => unknown)[] = [];

  constructor(world: ProcessWorld, owner: string) {
    this.world = world;
    this.owner = owner;
    const { random, scheduler } = world;
    const clock: Clock = {
      now: () => Math.floor(scheduler.now) + this.skew,
      monotonic: () => scheduler.now,
      after: (ms, task) => this.after(ms, task),
    };
    this.clock = clock;
    const notify = (event: string, fields: object = {}) => world.invariants.logged(event, fields);
    const log: Log = { debug: notify, info: notify, warn: notify, error: notify, child: () => log };
    this.log = log;
    const database = databaseOver(this, world.database, clock);
    this.database = database;
    const outbound = { send: (request: OutboundRequest) => world.network.send(this, request) };
    const projects = projectsOf(world);
    this.projects = projects;
    const webhooks = createWebhooks({ database, projects, gateways: GATEWAYS_BUILT, outbound, clock, random, log });
    const sessions = createSessions({ database, clock, random, log, outbox: webhooks.outbox });
    const gateways = world.isBlind ? { ...GATEWAYS_BUILT, stripe: BLIND } : GATEWAYS_BUILT;
    const payments = createPayments({ database, sessions, projects, gateways, outbound, clock, random, owner, log });
    this.sessions = sessions;
    this.payments = payments;
    this.voice = createCallService(
      {
        database,
        sessions,
        projects,
        payments: {
          ...payments,
          settle: async (input) => {
            const result = await payments.settle(input);
            if (result.kind === "refused") world.calls.outrun(input.session.id);
            return result;
          },
        },
        media: { open: async () => this.#openLeg(), loadClip: () => {}, unloadClip: () => {} } as never,
        voice: { render: async () => new Uint8Array(1) },
        endpoint: null,
        recogniser: new ModelRecogniser(this),
        admission: { refuse: () => null, drain: () => {} },
        clock,
        random,
        log,
        countStep: () => {},
        countCode: () => {},
        settings: {
          owner,
          languages: ["en-US"],
          mediaHost: "192.0.2.1",
          srtpRequired: false,
          publicHost: "till.example",
          phoneNumber: null,
          trunks: { outbound: null, isTrunkHost: () => false, isTrunkAddress: async () => false },
          transfers: { atOnce: 50, perDay: 500 },
        },
      },
      () => ({ mayReach: async () => false, invite: () => Promise.reject(new Error("no callbacks in this world")) }) as never,
    );
    const key = new Uint8Array(32).fill(6);
    const page = { publicUrl: () => SERVICE_URL, scripts: async () => SCRIPTS };
    this.widget = createWidget({ database, sessions, projects, payments, clock, random, owner, log, key, ...page });
    this.http = new HttpEntryPoint(this);
    this.#startDelivery = () => webhooks.startSweep();
  }

  /**
   * As `src/app.ts` starts the roles; `onlyDelivery` leaves out what looks after open sessions, when there are none.
   * Without the database it does not start, and the supervisor tries again.
   */
  async start({ onlyDelivery }: { onlyDelivery: boolean }): Promise<void> {
    try {
      if (!onlyDelivery) {
        const { database, clock, owner, log, sessions, payments } = this;
        this.#ends.push(await startLease({ database, clock, owner, roles: "api,voice,worker", log }));
        const own = { owner, calls: () => this.voice.callIds };
        await sessions.start({ giveUp: (session) => payments.giveUp(session), own });
        this.#ends.push(() => sessions.stop());
        this.#ends.push(payments.startJanitor());
      }
      this.#ends.push(this.#startDelivery());
    } catch {
      this.world.supervisor.crash(this);
    }
  }

  /** SIGTERM: no new calls and cards, those that run go on for a while; then everything ends in order, as `src/app.ts` ends it. */
  async drain(): Promise<void> {
    const since = this.world.scheduler.now;
    this.isDraining = true;
    this.voice.drain();
    this.widget.drain();
    const idle = Promise.all([this.voice.idle(), this.widget.idle()]).then(() => true);
    const isIdle = await Promise.race([idle, this.sleep(DRAIN_MS).then(() => false)]);
    this.world.invariants.drained(this, { since, isIdle });
    try {
      for (const end of this.#ends.splice(0).toReversed()) await end();
    } catch {
      // Without the database its lease stays behind and runs out.
    }
    this.crash();
  }

  /** The end, as by SIGKILL: nothing of it goes on, and the database rolls back what it had not committed. */
  crash(): void {
    this.isAlive = false;
    for (const connection of this.#connections) connection.cut();
    this.#connections.clear();
    this.#listeners.clear();
    this.http.close();
  }

  after(ms: number, task: () => void): () => void {
    return this.world.scheduler.after(ms, () => {
      if (this.isAlive) task();
    });
  }

  /** Resolves in `ms`, unless the process is dead by then. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  delay(): Promise<void> {
    return this.sleep(this.world.random.between(0.1, 2));
  }

  databaseFault(what: "statement" | "begin" | "commit", connection: Connection): DatabaseFault {
    const { world } = this;
    if (world.scheduler.now < this.cutOffUntil) return "lost before";
    if (!world.isChaos || connection.isCut) return "none";
    const changed = connection.changed("sessions");
    const isLosing = changed.some((row) => row["phase"] === "unknown");
    if (!world.random.chance((what === "commit" ? 0.02 : 0.002) * (isLosing ? LOSING : 1))) return "none";
    const fault = world.random.chance(0.5) ? "lost before" : "lost after";
    this.failedAt = world.scheduler.now;
    const name = what === "commit" ? (fault === "lost before" ? "commit failed" : "commit's answer lost") : "statement lost";
    for (const row of changed) world.strike(name, row, textOf(row["phase"] ?? row["status"]));
    return fault;
  }

  opened(connection: Connection): void {
    this.#connections.add(connection);
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection);
  }

  listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): () => void {
    const listener = { channel, onPayload, onGap };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A notification that was committed; the listening connection may be lost just then, hears nothing, and is back a while later. */
  notify(channel: string, payload: string): void {
    const { random, isChaos, scheduler } = this.world;
    if (this.#hasLostListener) return;
    if (scheduler.now < this.cutOffUntil || (isChaos && random.chance(0.01))) {
      this.#hasLostListener = true;
      this.after(random.between(1000, 20_000), () => {
        this.#hasLostListener = false;
        for (const { onGap } of this.#listeners) onGap();
      });
      return;
    }
    for (const listener of this.#listeners) {
      if (listener.channel === channel) this.after(random.between(0.1, 3), () => listener.onPayload(payload));
    }
  }

  #openLeg(): ModelLeg {
    const leg = new ModelLeg(this, ++this.#lastPort);
    this.legs.set(leg.port, leg);
    return leg;
  }
}
