import { type Row, textOf } from "../database/index.ts";
import { type ProcessWorld, ServiceProcess } from "./process.ts";
import { stateOf } from "./track.ts";

interface SupervisedWorld extends ProcessWorld {
  readonly invariants: ProcessWorld["invariants"] & { crashedWhileCharging(id: string): void };
}

/** The processes of the service and the supervisor that starts them again. */
export class Supervisor {
  readonly #world: SupervisedWorld;
  processes: ServiceProcess[] = [];
  #runs = 0;
  #onlyDelivery = false;

  constructor(world: SupervisedWorld) {
    this.#world = world;
  }

  /** All are killed, and one is started in their place. */
  replace({ onlyDelivery = false } = {}): void {
    this.#onlyDelivery = onlyDelivery;
    for (const process of this.processes) if (process.isAlive) this.crash(process);
    this.boot();
  }

  /** All go on, and can reach the database again. */
  reconnectAll(): void {
    for (const process of this.processes) process.cutOffUntil = 0;
  }

  end(): void {
    for (const process of this.processes) process.crash();
  }

  /** A notification that was committed. */
  notify(channel: string, payload: string): void {
    for (const process of this.processes) if (process.isAlive) process.notify(channel, payload);
  }

  boot(): void {
    const process = new ServiceProcess(this.#world, `process-${++this.#runs}`);
    this.processes = [...this.processes.filter(({ isAlive }) => isAlive), process];
    void process.start({ onlyDelivery: this.#onlyDelivery });
  }

  /** The process is killed; a supervisor starts it again, at once or after a while, unless its successor is there. */
  crash(process: ServiceProcess): void {
    if (!process.isAlive) return;
    if (this.#world.isChaos) for (const row of this.#world.openRows()) if (this.isHeldBy(row, process)) this.#struck(row);
    process.crash();
    if (process.isDraining && this.#world.isChaos) return;
    const wasChaos = this.#world.isChaos;
    this.#world.scheduler.after(this.#world.random.pick([500, 2000, 30_000]), () => {
      const isAlone = !this.processes.some(({ isAlive }) => isAlive);
      if (wasChaos ? this.#world.isChaos : isAlone) this.boot();
    });
  }

  /** The process is to end in order, and its successor starts at once, as in a deployment. */
  drain(process: ServiceProcess): void {
    for (const row of this.#world.openRows()) {
      if (!this.isHeldBy(row, process)) continue;
      this.#world.trace(textOf(row["id"]), () => `${process.owner} drains`);
      this.#world.strike("drain", row);
    }
    this.boot();
    void process.drain();
  }

  /** An attempt is being voided because its owner seemed dead: it was cut off, and is back just now. */
  reconnectOwnerOf(id: string): void {
    const owner = this.holderOf(id);
    if (!owner || owner.cutOffUntil <= this.#world.scheduler.now) return;
    this.#world.counters.occurred("a cut-off owner came back while its attempt was voided");
    owner.cutOffUntil = this.#world.scheduler.now + this.#world.random.between(0, 1500);
  }

  /** Money is to be given back, and just now the process that knows of it dies. */
  crashBeforeReversal(id: string, owner: string): void {
    this.#world.trace(id, () => "money is to be given back, and its process is killed");
    this.#world.strike("crash before the reversal", this.#world.rowOf(id));
    for (const process of this.processes) if (process === this.holderOf(id) || process.owner === owner) this.crash(process);
  }

  #struck(row: Row): void {
    this.#world.trace(textOf(row["id"]), () => "its process is killed");
    this.#world.strike("crash", row);
    if (stateOf(row) === "charging") this.#world.invariants.crashedWhileCharging(textOf(row["id"]));
  }

  any(): ServiceProcess | null {
    const living = this.processes.filter(({ isAlive }) => isAlive);
    return living.length > 0 ? this.#world.random.pick(living) : null;
  }

  /** Where a balancer sends a request that asks processes whether they are well: mostly not to one that ends or has no database. */
  serving(): ServiceProcess | null {
    const { random, scheduler } = this.#world;
    const serving = this.processes.filter((process) => process.isAlive && !process.isDraining && process.cutOffUntil <= scheduler.now);
    return serving.length > 0 && random.chance(0.5) ? random.pick(serving) : this.any();
  }

  /** The process that holds the session's call, or has its widget's card. */
  holderOf(id: string): ServiceProcess | null {
    const row = this.#world.rowOf(id);
    return (row && this.processes.find((process) => process.isAlive && this.isHeldBy(row, process))) ?? null;
  }

  isHeldBy(row: Row, { owner }: ServiceProcess): boolean {
    if (row["claimed_by"] === owner && row["channel"] === "voice") return true;
    const id = textOf(row["id"]);
    return this.#world.tracks.get(id)?.shopper?.isServedBy(owner) === true || this.#world.chargerOf(id) === owner;
  }
}
