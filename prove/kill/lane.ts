import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../test/free-port.ts";
import { SeededRandom } from "../random.ts";
import { countBy } from "./count.ts";
import type { Fate, Fates, Step } from "./fates.ts";
import { type Break, judge, owed } from "./judge.ts";
import { Merchant } from "./merchant.ts";
import type { Payer } from "./payer.ts";
import { Planner, type Scene, SILENCE } from "./plans.ts";
import { type Mood, type Receiver, startReceiver } from "./receiver.ts";
import { Service, WEBHOOK_SECRET } from "./service.ts";
import { Silence } from "./silence.ts";
import { shop } from "./shopper.ts";
import { type Plan, Track } from "./track.ts";
import { Vendors } from "./vendors.ts";
import { eventually, pause } from "./wait.ts";

export interface RoundReport {
  fate: string;
  /** The point at which it really died; "time" for a kill from outside, "money taken" for one right after a charge. */
  died: string;
  inFlight: Readonly<Record<string, number>>;
  /** The payments that this life had begun or gone on with, and that were not over. */
  struck: readonly Plan[];
  /** Until the next process served, ms; null when that one died at its start. */
  restartMs: number | null;
}

/** A life that is to die at a point lasts so long when the point is not reached, ms. */
const PATIENCE_MS = 7_000;
const LOOK_MS = 250;
/** Every so many lives one is left in peace for a while. */
const LIVES_TO_REST = 12;
const REST_MS = 18_000;
const SESSIONS = [4, 9] as const;
/** So many of a life's sessions are as its scene wants them. */
const ON_STAGE = 3;
const FAULTS = ["reset_after", "slow", "http_500", "truncated"] as const;
/** In each of the first lives one payment is made whose vendor then says nothing: some are killed before they come that far. */
const SILENT_LIVES = 3;
/** Until a session that nobody knows of has expired and its webhook was tried again, ms. */
const UNKNOWN_MS = 30_000;

/** One service, its vendors and its clients, through one life after another. */
export class Lane {
  readonly tracks: Track[] = [];
  readonly planner: Planner;
  readonly service: Service;
  readonly receiver: Receiver;
  readonly vendors: Vendors;
  /** Decides what is tried; nothing that depends on the time of the day draws from it. */
  readonly #random: SeededRandom;
  /** For what happens in between. */
  readonly #dice: SeededRandom;
  readonly #fates: Fates;
  readonly #payer: Payer;
  readonly #merchant: Merchant;
  readonly #silence: Silence;
  #mood: () => Mood = () => "well";
  #isOver = false;
  /** Lives that ended by themselves and not in order, before they served or later. */
  #fallen = 0;
  #looking: Promise<void> = Promise.resolve();
  #crashed = new AbortController();
  /** By which the restart is timed. */
  #diedAt: number | null = null;

  private constructor({ random, fates, payer }: LaneOptions, parts: Pick<Lane, "service" | "receiver" | "vendors">) {
    this.#random = random;
    this.#dice = new SeededRandom(Math.floor(random.fraction() * 2 ** 32));
    this.planner = new Planner(random);
    this.#fates = fates;
    this.#payer = payer;
    this.service = parts.service;
    this.receiver = parts.receiver;
    this.vendors = parts.vendors;
    this.#silence = new Silence(parts.vendors);
    this.#merchant = new Merchant(parts.service, payer.callback, () => this.#isOver);
  }

  /** Starts vendors, receiver and the first life, and writes the settings. */
  static async open(options: LaneOptions): Promise<Lane> {
    const { folder, databaseUrl } = options;
    const vendors = await Vendors.start(folder);
    let mood: () => Mood = () => "well";
    const receiver = await startReceiver({ secret: WEBHOOK_SECRET, folder, mood: () => mood() });
    const ports = [await freePort(), await freePort()] as const;
    const service = new Service({ folder, databaseUrl, vendors, webhookUrl: receiver.url }, ports);
    const lane = new Lane(options, { service, receiver, vendors });
    mood = () => lane.#mood();
    try {
      if (!(await service.begin(null))) throw new Error(`the service did not start; see ${folder}`);
      await service.apply();
    } catch (error) {
      await lane.close();
      throw error;
    }
    lane.#looking = lane.#look();
    return lane;
  }

  /** One life, from its start to its death. The first one was begun by `open`. */
  async round(round: number, scripted?: Step): Promise<RoundReport> {
    const fate: Fate = scripted
      ? { kind: "point", at: { point: scripted.point, times: 1 }, scene: scripted.scene }
      : this.#fates.next(this.#silence.due());
    const before = this.#diedAt;
    if (this.service.life > 1 || fate.kind === "point") {
      if (this.service.isUp) await this.#kill();
      const began = await this.service.begin(fate.kind === "point" ? fate.at : null);
      if (!began) return this.#died(fate, null);
    }
    const restartMs = before === null ? null : this.service.readyAt - before;
    if (round % LIVES_TO_REST === 0) await Promise.race([this.service.death, pause(REST_MS)]);
    await this.#prepare(fate.scene);
    this.#begin(fate.scene);
    if (!scripted && round <= SILENT_LIVES) this.#add(SILENCE);
    await this.#untilDeath(fate);
    return this.#died(fate, restartMs);
  }

  /** The last life is left in peace until everything is final, told and given back; false when that took too long. */
  async rest(limitMs: number): Promise<boolean> {
    this.#mood = () => "well";
    await this.vendors.calm();
    await this.#silence.end({ everything: true });
    if (!this.service.isUp) await this.service.begin(null);
    const since = Date.now() - Math.max(0, ...this.tracks.map(({ unansweredAt }) => unansweredAt));
    if (since < UNKNOWN_MS) await pause(UNKNOWN_MS - since);
    return await eventually(() => this.#isOver || this.isAtRest(), limitMs);
  }

  /** New sessions in the life that runs, which nothing disturbs. */
  async undisturbed(): Promise<void> {
    await this.#prepare({ alone: true });
    for (const scene of CALM) this.#add(scene);
  }

  isAtRest(): boolean {
    const told = new Set(this.receiver.hooks.filter(({ answered }) => answered === "204").map(({ body }) => body.session_id));
    const ledger = this.vendors.ledger();
    return this.tracks.every((track) => track.isFinal && told.has(track.id ?? "") && owed(track, ledger).length === 0);
  }

  judge(atEnd: boolean): Break[] {
    const breaks = judge({ tracks: this.tracks, ledger: this.vendors.ledger(), hooks: this.receiver.hooks }, atEnd);
    const what = `the service ended by itself ${this.#fallen} times`;
    return this.#fallen > 0 ? [{ invariant: "I12", track: null, what }, ...breaks] : breaks;
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
    await Promise.all([this.service.death, this.vendors.close(), this.#looking]);
    this.receiver.close();
  }

  /** Arms the vendors' and the receiver's faults for a life that serves. */
  async #prepare(scene: Scene): Promise<void> {
    this.#crashed = new AbortController();
    await this.vendors.calm();
    await this.#silence.end({ everything: false });
    this.#mood = () => {
      if (scene.badReceiver) return "answers 500";
      if (scene.alone) return "well";
      return this.#dice.chance(0.15) ? this.#dice.pick(["answers 500", "drops the connection"] as const) : "well";
    };
    if (scene.alone) return;
    if (scene.fault) await this.vendors.strike(scene.fault, 100);
    else if (this.#random.chance(0.3)) await this.vendors.strike(this.#random.pick(FAULTS), 2);
  }

  /** Sets new sessions going, some of them as the scene wants them; at least one pays. */
  #begin(scene: Scene): void {
    const count = scene.alone ? 1 : Math.floor(this.#random.between(SESSIONS[0], SESSIONS[1]));
    const paying = scene.channel === "widget" ? "pays" : "pays and hangs up";
    this.#add({ behaviour: paying, ...scene });
    for (let number = 1; number < count; number++) this.#add(number < ON_STAGE ? scene : {});
  }

  #add(scene: Scene): void {
    const track = new Track(this.planner.next(scene));
    this.tracks.push(track);
    this.#drive(track).catch((error: unknown) => track.tell(`gave up: ${String((error as Error).stack)}`));
  }

  /** One session's client: makes it, through every death, and does what its plan says. */
  async #drive(track: Track): Promise<void> {
    const { channel, behaviour } = track.plan;
    const merchant = this.#merchant;
    await merchant.create(track);
    if (behaviour === SILENCE.behaviour) await this.#silence.begin(track);
    if (this.#dice.chance(0.1)) await merchant.createAgain(track);
    if (behaviour === "cancels before the call") return await merchant.cancel(track);
    const isWidget = channel === "widget";
    if (!isWidget) track.paidIn = this.service.life;
    const paying = isWidget ? shop(track, this.service, () => this.#isOver) : this.#payer.pay(track, this.#crashed.signal);
    if (behaviour === "cancels during the call") {
      await delay(isWidget ? this.#dice.between(0, 100) : this.#dice.between(300, 1_800));
      await merchant.cancel(track);
    }
    await paying;
  }

  async #untilDeath(fate: Fate): Promise<void> {
    const { death } = this.service;
    const { terminateAfterMs, patienceMs = PATIENCE_MS } = fate.scene;
    if (fate.kind === "time") await Promise.race([death, pause(fate.ms)]);
    else if (fate.kind === "money taken") await Promise.race([death, this.vendors.untilCharged(PATIENCE_MS)]);
    else {
      if (terminateAfterMs !== undefined) {
        await Promise.race([death, pause(terminateAfterMs)]);
        this.service.signal("SIGTERM");
      }
      await Promise.race([death, pause(patienceMs)]);
    }
    await this.#kill();
  }

  async #kill(): Promise<void> {
    this.service.signal("SIGKILL");
    await this.service.death;
  }

  async #died(fate: Fate, restartMs: number | null): Promise<RoundReport> {
    const { point, end } = await this.service.death;
    this.#diedAt = Date.now();
    this.#crashed.abort();
    if (end === "fell") this.#fallen++;
    const open = this.tracks.filter(({ isFinal }) => !isFinal);
    for (const track of open) {
      track.killedAt = this.#diedAt;
      track.tell(`the process is killed (${point ?? fate.kind})`);
    }
    const died = point ?? (end !== "killed" ? end : fate.kind === "point" ? "time" : fate.kind);
    this.#fates.hit(died);
    return {
      fate: fate.kind === "point" ? `${fate.at.point}:${fate.at.times}` : fate.kind,
      died,
      inFlight: countBy(open.map((track) => track.seen.at(-1)?.status ?? "new")),
      struck: open.filter(({ paidIn }) => paidIn === this.service.life).map(({ plan }) => plan),
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
const CALM: readonly Scene[] = (["pays and hangs up", "pays", "is declined, then pays", "cancels before the call"] as const).flatMap(
  (behaviour) => [
    { behaviour, channel: "voice", gateway: "stripe", keyless: false },
    { behaviour, channel: "widget", gateway: "nmi", keyless: false },
  ],
);

export interface LaneOptions {
  folder: string;
  random: SeededRandom;
  /** Shared with the lanes beside it. */
  fates: Fates;
  payer: Payer;
  databaseUrl: string | null;
}
