import { readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CRASH_POINTS, type CrashAt, type CrashPoint } from "#src/kernel/crash-points.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { RecordedEntry } from "#simulators/ledger.ts";
import { SeededRandom } from "../random.ts";
import { type Child, start } from "./child.ts";
import { type Break, isFinal, judge } from "./judge.ts";
import type { Payer } from "./payer.ts";
import { AT_START, OUT_OF_REACH, Planner, type Scene, SCENES } from "./plans.ts";
import { type Mood, type Receiver, startReceiver } from "./receiver.ts";
import { freePort, Service, WEBHOOK_SECRET } from "./service.ts";
import { shop } from "./shopper.ts";
import { Track } from "./track.ts";

/** What ends a life. */
type Fate =
  | { kind: "point"; at: CrashAt; scene: Scene }
  | { kind: "time"; ms: number; scene: Scene }
  | { kind: "money taken"; scene: Scene };

export interface RoundReport {
  round: number;
  fate: string;
  /** The point at which it really died; "time" for a kill from outside, "money taken" for one right after a charge. */
  died: string;
  inFlight: Readonly<Record<string, number>>;
  /** Until the next process served, ms; null when that one died at its start. */
  restartMs: number | null;
}

/** A life whose end is given instead of drawn. */
export interface Step {
  point: CrashPoint;
  scene: Scene;
}

/** A life that is to die at a point lasts so long when the point is not reached, ms. */
const PATIENCE_MS = 7_000;
const LONGEST_RANDOM_MS = 5_000;
const LOOK_MS = 250;
/** Every so many lives one is left in peace for a while. */
const LIVES_TO_REST = 12;
const REST_MS = 18_000;
const SESSIONS = [4, 9] as const;
/** Where each vendor takes money or keeps a card: faults strike there, and the search for what became of it goes through. */
const TAKES = {
  stripe: "/v1/payment_intents",
  nmi: "/api/transact.php",
  authorizenet: "/xml/v1/request.api/create",
  webhook: "/",
  ecommpay: "/v2/payment/card",
} satisfies Partial<Record<GatewayName, string>>;
const FAULTS = ["reset_after", "slow", "http_500", "truncated"] as const;

/** One service, its vendors and its clients, through one life after another. */
export class Lane {
  readonly tracks: Track[] = [];
  readonly hits = new Map<string, number>();
  /** Decides what is tried; nothing that depends on the time of the day draws from it. */
  readonly random: SeededRandom;
  /** For what happens in between. */
  readonly #dice: SeededRandom;
  readonly planner: Planner;
  readonly service: Service;
  readonly receiver: Receiver;
  readonly #simulators: Child;
  readonly #simulatorsUrl: string;
  readonly #ledgerFile: string;
  readonly #payer: Payer;
  readonly #paying = new Set<Promise<void>>();
  #mood: () => Mood = () => "well";
  #isOver = false;
  /** Lives that ended before they served, at no crash point. */
  #startFailures = 0;
  #looking: Promise<void> = Promise.resolve();
  #crashed = new AbortController();
  /** By which the restart is timed. */
  #diedAt: number | null = null;
  #points: CrashPoint[];

  private constructor(random: SeededRandom, parts: Pick<Lane, "service" | "receiver"> & LaneParts) {
    this.random = random;
    this.#dice = new SeededRandom(Math.floor(random.fraction() * 2 ** 32));
    this.planner = new Planner(random);
    this.service = parts.service;
    this.receiver = parts.receiver;
    this.#simulators = parts.simulators;
    this.#simulatorsUrl = parts.simulatorsUrl;
    this.#ledgerFile = parts.ledgerFile;
    this.#payer = parts.payer;
    this.#points = shuffled(random, ALL_POINTS);
  }

  /** Starts vendors, receiver and the first life, and writes the settings. */
  static async open({ folder, random, payer, databaseUrl }: LaneOptions): Promise<Lane> {
    const ledgerFile = join(folder, "ledger.jsonl");
    const simulators = start(["simulators", "--port", "0", "--ledger", ledgerFile, "--json"], {}, () => {});
    const line = await simulators.first;
    if (line === null) throw new Error("the simulators did not start");
    const addresses = JSON.parse(line) as { url: string; ca: string };
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, addresses.ca);
    let mood: () => Mood = () => "well";
    const receiver = await startReceiver({ secret: WEBHOOK_SECRET, journal: join(folder, "webhooks.jsonl"), mood: () => mood() });
    const ports = [await freePort(), await freePort()] as const;
    const service = new Service({ folder, databaseUrl, simulatorsUrl: addresses.url, caFile, webhookUrl: receiver.url }, ports);
    const lane = new Lane(random, { service, receiver, simulators, simulatorsUrl: addresses.url, ledgerFile, payer });
    mood = () => lane.#mood();
    try {
      if (!(await service.begin(null))) throw new Error(`the service did not start; see ${folder}`);
      await service.apply();
    } catch (error) {
      await lane.close(false);
      throw error;
    }
    lane.#looking = lane.#look();
    return lane;
  }

  /** One life, from its start to its death. The first one was begun by `open`. */
  async round(round: number, scripted?: Step): Promise<RoundReport> {
    const fate = this.#fate(scripted);
    const before = this.#diedAt;
    if (this.service.life > 1 || fate.kind === "point") {
      if (this.service.isUp) await this.#end("SIGKILL");
      const began = await this.service.begin(fate.kind === "point" ? fate.at : null);
      if (!began && (await this.service.death).point === null) this.#startFailures++;
      if (!began) return this.#died(round, fate, null);
    }
    const restartMs = before === null ? null : this.service.readyAt - before;
    if (round % LIVES_TO_REST === 0) await Promise.race([this.service.death, pause(REST_MS)]);
    this.#crashed = new AbortController();
    await this.#arm(fate.scene);
    this.#begin(fate.scene);
    await this.#untilDeath(fate);
    return this.#died(round, fate, restartMs);
  }

  /** The last life is left in peace until everything is final and told, and is then ended in order. */
  async rest(peaceMs: number): Promise<void> {
    this.#mood = () => "well";
    await this.#control({ times: 0 });
    if (!this.service.isUp) await this.service.begin(null);
    const until = performance.now() + peaceMs;
    while (performance.now() < until && !this.#isOver && !this.isAtRest()) await delay(LOOK_MS);
  }

  isAtRest(): boolean {
    const told = new Set(this.receiver.hooks.filter(({ answered }) => answered === "204").map(({ body }) => body.session_id));
    return this.tracks.every((track) => track.isFinal && told.has(track.id ?? ""));
  }

  judge(atEnd: boolean): Break[] {
    const breaks = judge({ tracks: this.tracks, ledger: this.ledger(), hooks: this.receiver.hooks }, atEnd);
    const what = `the service did not start again, ${this.#startFailures} times`;
    return this.#startFailures > 0 ? [{ invariant: "E1", track: null, what }, ...breaks] : breaks;
  }

  ledger(): RecordedEntry[] {
    const lines = readFileSync(this.#ledgerFile, "utf8").split("\n");
    return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as RecordedEntry);
  }

  /** Looks at every session once more, the final ones too. */
  async lookAtAll(): Promise<void> {
    for (const track of this.tracks) if (track.id !== null) await this.#lookAt(track);
  }

  /** Ends every child; `graceful`: the service in order, which is given a minute. */
  async close(graceful: boolean): Promise<void> {
    this.#isOver = true;
    this.#crashed.abort();
    if (graceful && this.service.isUp) {
      this.service.signal("SIGTERM");
      await Promise.race([this.service.death, pause(60_000)]);
    }
    this.service.signal("SIGKILL");
    this.#simulators.process.kill("SIGTERM");
    await Promise.all([this.service.death, this.#simulators.ended, this.#looking]);
    this.receiver.close();
  }

  #fate(scripted?: Step): Fate {
    const { random } = this;
    if (scripted) return { kind: "point", at: { point: scripted.point, times: 1 }, scene: scripted.scene };
    const point = this.#nextPoint();
    if (point !== null) {
      const scene = SCENES[point] ?? {};
      const most = AT_START.has(point) || SCENES[point] ? 1 : point === "key_heard" ? 30 : 3;
      return { kind: "point", at: { point, times: 1 + Math.floor(random.fraction() * most) }, scene };
    }
    const fault = random.chance(0.4) ? { fault: random.pick(["slow", "reset_after", "hang"] as const) } : {};
    if (random.chance(0.35)) return { kind: "money taken", scene: fault };
    return { kind: "time", ms: random.between(0, LONGEST_RANDOM_MS), scene: fault };
  }

  /** Each point in turn until it was hit; then points and other ends, half and half. */
  #nextPoint(): CrashPoint | null {
    const open = this.#points.filter((point) => !this.hits.has(point));
    if (open.length > 0 && this.random.chance(0.85)) {
      const [first] = open;
      // One that was not reached has its next turn after the others.
      this.#points = [...this.#points.filter((point) => point !== first), first!];
      return first!;
    }
    return this.random.chance(0.5) ? this.random.pick(ALL_POINTS) : null;
  }

  async #arm(scene: Scene): Promise<void> {
    await this.#control({ times: 0 });
    this.#mood = () => {
      if (scene.badReceiver) return "answers 500";
      if (scene.alone) return "well";
      return this.#dice.chance(0.15) ? this.#dice.pick(["answers 500", "drops the connection"] as const) : "well";
    };
    if (scene.alone) return;
    if (scene.fault) await this.#control({ kind: scene.fault, times: 100 });
    else if (this.random.chance(0.3)) await this.#control({ kind: this.random.pick(FAULTS), times: 2 });
  }

  async #control(fault: { kind?: string; times: number }): Promise<void> {
    for (const [gateway, path] of Object.entries(TAKES)) {
      await fetch(`${this.#simulatorsUrl}/_faults`, { method: "POST", body: JSON.stringify({ gateway, path, kind: "hang", ...fault }) });
    }
  }

  /** Sets new sessions going, some of them as the scene wants them. */
  #begin(scene: Scene): void {
    const count = scene.alone ? 1 : Math.floor(this.random.between(SESSIONS[0], SESSIONS[1]));
    for (let number = 0; number < count; number++) {
      const track = new Track(this.planner.next(number < 3 ? scene : {}));
      this.tracks.push(track);
      const paying = this.#drive(track)
        .catch((error: unknown) => track.tell(`gave up: ${String((error as Error).stack)}`))
        .finally(() => this.#paying.delete(paying));
      this.#paying.add(paying);
    }
  }

  /** One session's client: makes it, through every death, and does what its plan says. */
  async #drive(track: Track): Promise<void> {
    const { channel, gateway, mode, amountMinor, behaviour, key } = track.plan;
    const { callback } = this.#payer;
    const isWidget = channel === "widget";
    const path = isWidget ? "/v1/widget-sessions" : "/v1/sessions";
    const voice = { caller: "+14155550100", amount: (amountMinor / 100).toFixed(2) };
    const body = {
      project: "shop",
      mode,
      gateway,
      ...(isWidget ? { amount_cents: amountMinor } : voice),
      ...(behaviour === "is handed back" && callback !== null ? { callback } : {}),
    };
    while (track.id === null) {
      const answer = await this.#request(track, "POST", path, body, { "idempotency-key": key });
      if (answer.status === 409 || answer.status === 503) continue;
      if (answer.status !== 201) throw new Error(`creation: ${answer.status} ${JSON.stringify(answer.body)}`);
      track.id = String(answer.body["session_id"]);
      track.ids.add(track.id);
      if (!isWidget) track.sipUri = String(answer.body["sip_uri"]);
    }
    if (this.#dice.chance(0.1)) {
      // The same creation once more: it must name the same session.
      const again = await this.#request(track, "POST", path, body, { "idempotency-key": key });
      if (again.status === 201) track.ids.add(String(again.body["session_id"]));
    }
    if (behaviour === "cancels before the call") return this.#cancel(track);
    const calling = isWidget ? shop(track, this.service, () => this.#isOver) : this.#payer.pay(track, this.#crashed.signal);
    if (behaviour === "cancels during the call") {
      await delay(isWidget ? this.#dice.between(0, 100) : this.#dice.between(300, 1_800));
      await this.#cancel(track);
    }
    await calling;
  }

  async #cancel(track: Track): Promise<void> {
    const answer = await this.#request(track, "POST", `/v1/sessions/${track.id}/cancel`);
    track.cancelAnswers.push(answer.status);
  }

  /** Until an answer comes: a request that a death swallowed is sent again. */
  async #request(track: Track, method: string, path: string, body?: object, headers?: Record<string, string>) {
    for (;;) {
      await this.service.up;
      try {
        const answer = await this.service.request(method, path, body, headers);
        track.tell(`${method} ${path.replace(/\/v1\/sessions/, "")}: ${answer.status}`);
        return answer;
      } catch {
        track.tell(`${method} ${path.replace(/\/v1\/sessions/, "")}: no answer`);
        if (this.#isOver) throw new Error("the run is over");
        await delay(50);
      }
    }
  }

  async #untilDeath(fate: Fate): Promise<void> {
    const { death } = this.service;
    if (fate.kind === "point") {
      const { terminateAfterMs, patienceMs = PATIENCE_MS } = fate.scene;
      if (terminateAfterMs !== undefined) {
        await Promise.race([death, pause(terminateAfterMs)]);
        this.service.signal("SIGTERM");
      }
      await Promise.race([death, pause(patienceMs)]);
    } else if (fate.kind === "time") await Promise.race([death, pause(fate.ms)]);
    else await this.#untilCharged();
    await this.#end("SIGKILL");
  }

  /** Resolves as soon as a vendor has recorded a charge of this life. */
  async #untilCharged(): Promise<void> {
    const before = this.ledger().length;
    const charged = Promise.withResolvers<void>();
    const watcher = watch(this.#ledgerFile, () => {
      const isTaken = this.ledger()
        .slice(before)
        .some(({ kind, outcome }) => (kind === "charge" || kind === "token") && outcome === "approved");
      if (isTaken) charged.resolve();
    });
    await Promise.race([charged.promise, pause(PATIENCE_MS)]);
    watcher.close();
  }

  async #end(signal: "SIGKILL"): Promise<void> {
    this.service.signal(signal);
    await this.service.death;
  }

  async #died(round: number, fate: Fate, restartMs: number | null): Promise<RoundReport> {
    const { point, drained } = await this.service.death;
    this.#diedAt = Date.now();
    this.#crashed.abort();
    const open = this.tracks.filter(({ isFinal }) => !isFinal);
    for (const track of open) {
      track.killedAt = this.#diedAt;
      track.tell(`the process is killed (${point ?? fate.kind})`);
    }
    const died = point ?? (drained ? "drained" : fate.kind === "point" ? "time" : fate.kind);
    this.hits.set(died, (this.hits.get(died) ?? 0) + 1);
    const wanted = fate.kind === "point" ? `${fate.at.point}:${fate.at.times}` : fate.kind;
    return { round, fate: wanted, died, inFlight: countBy(open.map((track) => track.seen.at(-1)?.status ?? "new")), restartMs };
  }

  /** Looks at every session that is not over, again and again, as a merchant's server would. */
  async #look(): Promise<void> {
    while (!this.#isOver) {
      for (const track of this.tracks.filter(({ id, isFinal }) => id !== null && !isFinal)) {
        if (this.#isOver || !this.service.isUp) break;
        await this.#lookAt(track);
      }
      await delay(LOOK_MS);
    }
  }

  async #lookAt(track: Track): Promise<void> {
    const answer = await this.service.request("GET", `/v1/sessions/${track.id}`).catch(() => null);
    if (!answer || (answer.status !== 200 && answer.status !== 404)) return;
    const { body } = answer;
    const status = answer.status === 404 ? "missing" : String(body["status"]);
    const error = body["error"] as { code: string } | null | undefined;
    const processor = JSON.stringify(body["processor"] ?? null);
    const completedAt = (body["completed_at"] as string | null | undefined) ?? null;
    const last = track.seen.at(-1);
    const seen = { at: Date.now(), status, completedAt, errorCode: error?.code ?? null, processor };
    if (last?.status !== status || last.completedAt !== completedAt || last.processor !== processor) {
      track.seen.push(seen);
      track.tell(`is ${status}${error ? ` (${error.code})` : ""}`);
    }
    if (isFinal(status)) track.finalAt ??= seen.at;
  }
}

interface LaneParts {
  simulators: Child;
  simulatorsUrl: string;
  ledgerFile: string;
  payer: Payer;
}

export interface LaneOptions {
  folder: string;
  random: SeededRandom;
  payer: Payer;
  databaseUrl: string | null;
}

const ALL_POINTS = (Object.keys(CRASH_POINTS) as CrashPoint[]).filter((point) => !OUT_OF_REACH.has(point));

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  return items
    .map((item) => [random.fraction(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}

/** A limit that nobody may still be waiting for when the run is over. */
const pause = (ms: number) => delay(ms, undefined, { ref: false });

export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
