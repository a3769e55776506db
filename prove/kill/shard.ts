import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../test/free-port.ts";
import { SeededRandom } from "../random.ts";
import { countBy } from "./count.ts";
import type { PlannedKill, KillSchedule, ScriptedKill } from "./kill-schedule.ts";
import { type Break, checkInvariants, type Evidence, taken } from "./invariants.ts";
import { Merchant } from "./merchant.ts";
import type { Payer } from "./payer.ts";
import { unfinished, waitingLine } from "./rest.ts";
import { WorkloadPlanner, type Scenario, GATEWAY_SILENCE } from "./workload.ts";
import { type ReceiverFault, type Receiver, startReceiver } from "./webhook-receiver.ts";
import { Service, WEBHOOK_SECRET } from "./service.ts";
import { GatewaySilence } from "./gateway-silence.ts";
import { payInFrame } from "./shopper.ts";
import { type Plan, Track } from "./track.ts";
import { Vendors } from "./vendors.ts";
import { eventually, pause } from "./wait.ts";

export interface RoundReport {
  planned: string;
  /** The place at which it really died; "time" for a kill from outside, "money taken" for one right after a charge. */
  died: string;
  inFlight: Readonly<Record<string, number>>;
  /** The payments that this run had begun or gone on with, and that were not over. */
  struck: readonly Plan[];
  /** Until the next process served, ms; null when that one died at its start. */
  restartMs: number | null;
}

/** A run that is to die at a point lasts so long when the point is not reached, ms. */
const PATIENCE_MS = 7_000;
const LOOK_MS = 250;
/** Every so many runs one is left alone for a while. */
const ROUNDS_BETWEEN_RESTS = 12;
const REST_MS = 18_000;
const SESSIONS = [4, 9] as const;
/** So many of a run's sessions are as its scenario wants them. */
const SCENARIO_SESSIONS = 3;
const FAULTS = ["reset_after", "slow", "http_500", "truncated"] as const;
/** In each of the first runs one payment is made whose vendor then says nothing: some are killed before they come that far. */
const SILENT_ROUNDS = 3;
/** Until a session that nobody knows of has expired and its webhook was tried again, ms. */
const UNKNOWN_MS = 30_000;
/** How often a run tells how far its rest is. */
const TOLD_EVERY_MS = 30_000;

/** One service, its vendors and its clients, through one run after another. */
export class Shard {
  readonly tracks: Track[] = [];
  readonly planner: WorkloadPlanner;
  readonly service: Service;
  readonly receiver: Receiver;
  readonly vendors: Vendors;
  /** Decides what is tried; nothing that depends on the time of the day draws from it. */
  readonly #random: SeededRandom;
  /** For what happens in between. */
  readonly #timing: SeededRandom;
  readonly #schedule: KillSchedule;
  readonly #payer: Payer;
  readonly #merchant: Merchant;
  readonly #silence: GatewaySilence;
  #receiverFault: () => ReceiverFault = () => "none";
  #isOver = false;
  /** Runs that ended by themselves and not in order, before they served or later. */
  #ownEnds = 0;
  #looking: Promise<void> = Promise.resolve();
  #crashed = new AbortController();
  /** By which the restart is timed. */
  #endedAt: number | null = null;

  private constructor({ random, schedule, payer }: ShardOptions, parts: Pick<Shard, "service" | "receiver" | "vendors">) {
    this.#random = random;
    this.#timing = new SeededRandom(Math.floor(random.fraction() * 2 ** 32));
    this.planner = new WorkloadPlanner(random);
    this.#schedule = schedule;
    this.#payer = payer;
    this.service = parts.service;
    this.receiver = parts.receiver;
    this.vendors = parts.vendors;
    this.#silence = new GatewaySilence(parts.vendors);
    this.#merchant = new Merchant(parts.service, payer.callback, () => this.#isOver);
  }

  /** Starts vendors, receiver and the first run, and writes the settings. */
  static async open(options: ShardOptions): Promise<Shard> {
    const { folder, databaseUrl } = options;
    const vendors = await Vendors.start(folder);
    let receiverFault: () => ReceiverFault = () => "none";
    const receiver = await startReceiver({ secret: WEBHOOK_SECRET, folder, receiverFault: () => receiverFault() });
    const ports = [await freePort(), await freePort()] as const;
    const service = new Service({ folder, databaseUrl, vendors, webhookUrl: receiver.url }, ports);
    const shard = new Shard(options, { service, receiver, vendors });
    receiverFault = () => shard.#receiverFault();
    try {
      if (!(await service.begin(null))) throw new Error(`the service did not start; see ${folder}`);
      await service.apply();
    } catch (error) {
      await shard.close();
      throw error;
    }
    shard.#looking = shard.#look();
    return shard;
  }

  /** One run, from its start to its end. The first one was begun by `open`. */
  async round(round: number, scripted?: ScriptedKill): Promise<RoundReport> {
    const planned: PlannedKill = scripted ? { kind: "point", times: 1, ...scripted } : this.#schedule.next(this.#silence.due());
    const before = this.#endedAt;
    if (this.service.run > 1 || planned.kind === "point") {
      if (this.service.isUp) await this.#kill();
      const began = await this.service.begin(planned.kind === "point" ? `${planned.place}:${planned.times}` : null);
      if (!began) return this.#ended(planned, null);
    }
    const restartMs = before === null ? null : this.service.readyAt - before;
    if (round % ROUNDS_BETWEEN_RESTS === 0) await Promise.race([this.service.ended, pause(REST_MS)]);
    await this.#prepare(planned.scenario);
    this.#begin(planned.scenario);
    if (!scripted && round <= SILENT_ROUNDS) this.#add(GATEWAY_SILENCE);
    await this.#untilEnd(planned);
    return this.#ended(planned, restartMs);
  }

  /** The last run is left alone until everything is final, told and given back, at most so long; `tell`: now and then, how far that is. */
  async rest(limitMs: number, tell: (line: string) => void = () => {}): Promise<void> {
    this.#receiverFault = () => "none";
    await this.vendors.stopFaults();
    await this.#silence.end({ everything: true });
    if (!this.service.isUp) await this.service.begin(null);
    const knownAt = Math.max(0, ...this.tracks.map(({ unansweredAt }) => unansweredAt)) + UNKNOWN_MS;
    const isOver = () => this.#isOver || (Date.now() >= knownAt && unfinished(this.evidence()).length === 0);
    const began = performance.now();
    const tellLine = () => tell(waitingLine(this.evidence(), (performance.now() - began) / 1000));
    const telling = setInterval(tellLine, TOLD_EVERY_MS);
    await eventually(isOver, limitMs + Math.max(0, knownAt - Date.now()));
    clearInterval(telling);
    tellLine();
  }

  /** New sessions in the present run, which nothing disturbs. */
  async undisturbed(): Promise<void> {
    await this.#prepare({ alone: true });
    for (const scenario of WITHOUT_FAULTS) this.#add(scenario);
  }

  evidence(): Evidence {
    return { tracks: this.tracks, ledger: this.vendors.ledger(), hooks: this.receiver.hooks };
  }

  check(atEnd: boolean): Break[] {
    const breaks = checkInvariants(this.evidence(), atEnd);
    const what = `the service ended by itself ${this.#ownEnds} times`;
    return this.#ownEnds > 0 ? [{ invariant: "I12", track: null, what }, ...breaks] : breaks;
  }

  /** Looks at every session once more, the final ones too. */
  async lookAtAll(): Promise<void> {
    for (const track of this.tracks) if (track.id !== null) await this.#merchant.look(track);
  }

  /** The round or the rest that is under way ends with its service. */
  interrupt(): void {
    this.#isOver = true;
    this.service.signal("SIGKILL");
  }

  /** Ends every child. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#crashed.abort();
    this.service.signal("SIGKILL");
    await Promise.all([this.service.ended, this.vendors.close(), this.#looking]);
    this.receiver.close();
  }

  /** Arms the vendors' and the receiver's faults for a run that serves. */
  async #prepare(scenario: Scenario): Promise<void> {
    this.#crashed = new AbortController();
    await this.vendors.stopFaults();
    await this.#silence.end({ everything: false });
    this.#receiverFault = () => {
      if (scenario.badReceiver) return "answers 500";
      if (scenario.alone) return "none";
      return this.#timing.chance(0.15) ? this.#timing.pick(["answers 500", "drops the connection"] as const) : "none";
    };
    if (scenario.alone) return;
    if (scenario.fault) await this.vendors.strike(scenario.fault, 100);
    else if (this.#random.chance(0.3)) await this.vendors.strike(this.#random.pick(FAULTS), 2);
  }

  /** Sets new sessions going, some of them as the scenario wants them; at least one pays. */
  #begin(scenario: Scenario): void {
    const count = scenario.alone ? 1 : Math.floor(this.#random.between(SESSIONS[0], SESSIONS[1]));
    const paying = scenario.channel === "widget" ? "pays" : "pays and hangs up";
    this.#add({ behaviour: paying, ...scenario });
    for (let number = 1; number < count; number++) this.#add(number < SCENARIO_SESSIONS ? scenario : {});
  }

  #add(scenario: Scenario): void {
    const track = new Track(this.planner.next(scenario));
    this.tracks.push(track);
    this.#drive(track).catch((error: unknown) => {
      track.hasGivenUp = true;
      track.trace(`gave up: ${String((error as Error).stack)}`);
    });
  }

  /** One session's client: makes it, through every crash, and does what its plan says. */
  async #drive(track: Track): Promise<void> {
    const { channel, behaviour } = track.plan;
    const merchant = this.#merchant;
    await merchant.create(track);
    if (behaviour === GATEWAY_SILENCE.behaviour) await this.#silence.begin(track);
    if (this.#timing.chance(0.1)) await merchant.createAgain(track);
    if (behaviour === "cancels before the call") return await merchant.cancel(track);
    const isWidget = channel === "widget";
    if (!isWidget) track.paidIn = this.service.run;
    const paying = isWidget ? payInFrame(track, this.service, () => this.#isOver) : this.#payer.pay(track, this.#crashed.signal);
    if (behaviour === "cancels during the call") {
      await delay(isWidget ? this.#timing.between(0, 100) : this.#timing.between(300, 1_800));
      await merchant.cancel(track);
    }
    await paying;
  }

  async #untilEnd(planned: PlannedKill): Promise<void> {
    const { ended } = this.service;
    const { terminateAfterMs, patienceMs = PATIENCE_MS } = planned.scenario;
    if (planned.kind === "time") await Promise.race([ended, pause(planned.ms)]);
    else if (planned.kind === "money taken") await Promise.race([ended, this.vendors.untilCharged(PATIENCE_MS, planned.scenario.gateway)]);
    else {
      if (terminateAfterMs !== undefined) {
        await Promise.race([ended, pause(terminateAfterMs)]);
        this.service.signal("SIGTERM");
      }
      await Promise.race([ended, pause(patienceMs)]);
    }
    await this.#kill();
  }

  async #kill(): Promise<void> {
    this.service.signal("SIGKILL");
    await this.service.ended;
  }

  async #ended(planned: PlannedKill, restartMs: number | null): Promise<RoundReport> {
    const { place, end } = await this.service.ended;
    this.#endedAt = Date.now();
    this.#crashed.abort();
    if (end === "fell") this.#ownEnds++;
    const open = this.tracks.filter(({ isFinal }) => !isFinal);
    const ledger = this.vendors.ledger();
    for (const track of open) {
      track.hasLostAnswer ||= taken(track, ledger).length > 0;
      track.killedAt = this.#endedAt;
      track.trace(`the process is killed (${place ?? planned.kind})`);
    }
    const died = place ?? (end !== "killed" ? end : planned.kind === "point" ? "time" : planned.kind);
    this.#schedule.hit(died);
    return {
      planned: planned.kind === "point" ? `${planned.place}:${planned.times}` : planned.kind,
      died,
      inFlight: countBy(open.map((track) => track.seen.at(-1)?.status ?? "new")),
      struck: open.filter(({ paidIn }) => paidIn === this.service.run).map(({ plan }) => plan),
      restartMs,
    };
  }

  /** Looks at every session that is not over, again and again, as a merchant's server would. */
  async #look(): Promise<void> {
    while (!this.#isOver) {
      for (const track of this.tracks.filter(({ id, isFinal }) => id !== null && !isFinal)) {
        if (this.#isOver || !this.service.isUp) break;
        await this.#merchant.look(track);
      }
      await delay(LOOK_MS);
    }
  }
}

/** What a service does when nobody disturbs it: one of each. */
const WITHOUT_FAULTS: readonly Scenario[] = (
  ["pays and hangs up", "pays", "is declined, then pays", "cancels before the call"] as const
).flatMap((behaviour) => [
  { behaviour, channel: "voice", gateway: "stripe", keyless: false },
  { behaviour, channel: "widget", gateway: "nmi", keyless: false },
]);

export interface ShardOptions {
  folder: string;
  random: SeededRandom;
  /** Shared with the shards beside it. */
  schedule: KillSchedule;
  payer: Payer;
  databaseUrl: string | null;
}
