import { sql } from "kysely";
import type { Db } from "#src/platform/index.ts";
import type { Change } from "../database/index.ts";
import type { WorldState } from "./state.ts";

interface JobWorld extends WorldState {
  readonly supervisor: { any(): { wakeDelivery(projectId: string): void } | null };
}

/** The queue as pg-boss promises it: a job exists when its transaction is committed; it runs at least once, now and then late or never. */
export class JobQueue {
  readonly #world: JobWorld;

  constructor(world: JobWorld) {
    this.#world = world;
  }

  async send(tx: Db, queue: string, data: object, startAfterMs: number): Promise<void> {
    await sql`insert into jobs (queue, data, start_after)
      values (${queue}, ${JSON.stringify(data)}, clock_timestamp() + ${startAfterMs} * interval '1 millisecond')`.execute(tx);
  }

  committed({ after }: Change): void {
    if (!after) return;
    const { scheduler, random, isChaos, counters } = this.#world;
    if (isChaos && random.chance(0.02)) return counters.occurred("a job was lost");
    const wait = Number(after["start_after"]) - scheduler.now;
    const { projectId } = after["data"] as { projectId: string };
    scheduler.after(Math.max(wait, 0) + random.between(1, isChaos ? 2000 : 20), () => this.#run(projectId));
  }

  #run(projectId: string): void {
    const { supervisor, scheduler } = this.#world;
    const process = supervisor.any();
    if (process) process.wakeDelivery(projectId);
    else scheduler.after(2000, () => this.#run(projectId));
  }
}
