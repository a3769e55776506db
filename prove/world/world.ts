import { createHash } from "node:crypto";
import type { Change, Row } from "../database/index.ts";
import { ResponseChecker } from "./response-checker.ts";
import { SESSIONS_PER_WORLD } from "../expected.ts";
import { WebhookChecker } from "./webhook-checker.ts";
import { Supervisor } from "./supervisor.ts";
import { insertFixtures } from "./fixtures.ts";
import { InvariantChecker } from "./invariant-checker.ts";
import { ApiKeys } from "./api-keys.ts";
import { CallChecker } from "./call-checker.ts";
import { FaultInjector } from "./fault-injector.ts";
import { Network } from "./network.ts";
import { Workload } from "./workload.ts";
import { START, WorldState } from "./state.ts";
import { stateOf } from "./track.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const PROCESSES = 3;
const CREATING_MS = 4 * MINUTE;
const CHAOS_MS = 11 * MINUTE;
/** By then every session has ended (I10): the search for a lost answer takes ten minutes, the rest is margin. Where all is settled earlier, until then. */
const RECOVERY_MS = 26 * MINUTE;
/** The webhooks' schedule is over by then. */
const DELIVERY_MS = 80 * HOUR;

/** One seeded run: a database, a few processes that die and come back, vendors, receivers, merchants, callers, shoppers, and checkers. */
export class World extends WorldState {
  readonly network: Network;
  readonly invariants: InvariantChecker;
  readonly responses: ResponseChecker;
  readonly calls: CallChecker;
  readonly apiKeys: ApiKeys;
  readonly workload: Workload;
  readonly faults: FaultInjector;
  readonly supervisor: Supervisor;
  readonly webhooks: WebhookChecker;

  constructor(seed: number, options: { traced?: boolean } = {}) {
    super(seed, options);
    this.network = new Network(this);
    this.invariants = new InvariantChecker(this);
    this.responses = new ResponseChecker(this);
    this.calls = new CallChecker(this);
    this.apiKeys = new ApiKeys(this);
    this.workload = new Workload(this);
    this.faults = new FaultInjector(this);
    this.supervisor = new Supervisor(this);
    this.webhooks = new WebhookChecker(this);
    this.database.onCommit = (changes) => this.#committed(changes);
    this.database.onNotify = (channel, payload) => this.supervisor.notify(channel, payload);
    insertFixtures(this);
  }

  async run(sessions = SESSIONS_PER_WORLD): Promise<void> {
    const { scheduler, random, network } = this;
    for (let index = 0; index < PROCESSES; index++) this.supervisor.boot();
    for (let index = 0; index < sessions; index++) scheduler.after(random.between(1000, CREATING_MS), () => this.workload.create());
    this.faults.plan({ creating: CREATING_MS, chaos: CHAOS_MS });
    await scheduler.run(START + CHAOS_MS);

    // Recovery: everything can be reached again, and all must come to its end, whether the processes live on or not.
    this.isChaos = false;
    network.outageUntil = 0;
    if (random.chance(0.4)) this.supervisor.reconnectAll();
    else this.supervisor.replace();
    await scheduler.run(START + CHAOS_MS + RECOVERY_MS, () => this.isSettled);
    this.invariants.atRest();

    network.receiver.outageUntil = 0;
    this.supervisor.replace({ onlyDelivery: true });
    await scheduler.run(START + DELIVERY_MS, () => this.webhooks.isEverythingDelivered());
    this.webhooks.atTheEnd();
    this.supervisor.end();
  }

  /** The same for every run of the same seed: what the database holds at the end. */
  fingerprint(): string {
    const hash = createHash("sha256");
    for (const table of ["sessions", "payment_attempts", "widget_charges", "webhook_events", "audit_log"])
      hash.update(JSON.stringify(this.database.committed(table)));
    return hash.digest("hex").slice(0, 16);
  }

  #committed(changes: readonly Change[]): void {
    for (const change of changes) {
      const { table, after } = change;
      if (table === "payment_attempts") this.#attemptCommitted(change);
      if (table === "webhook_events") this.webhooks.eventCommitted(change);
      if (table === "api_keys") this.apiKeys.committed(after);
      if (table === "widget_charges" && after) this.recordTry(after);
      if (table === "sessions" && after) this.#sessionCommitted(change, after, changes);
    }
  }

  #attemptCommitted(change: Change): void {
    this.recordAttempt(change);
    this.invariants.attemptCommitted(change);
  }

  #sessionCommitted(change: Change, row: Row, changes: readonly Change[]): void {
    this.recordSession(change, row);
    this.invariants.sessionCommitted(change, changes);
    this.calls.sessionCommitted(change, changes);
    const track = this.recordState(change, row);
    if (track) this.faults.reached(track, stateOf(row));
  }
}
