import { parentPort, workerData } from "node:worker_threads";
import type { CounterValues } from "./world/counters.ts";
import { type Break, World } from "./world/world.ts";

/** Runs worlds one after another in a thread of its own. */

export interface Task {
  seeds: readonly number[];
  sessions: number;
  tells: boolean;
}

export interface Finished {
  seed: number;
  sessions: number;
  breaks: Break[];
  /** The stories of the sessions that broke something, when asked for. */
  stories: string[];
  counters: CounterValues;
  fingerprint: string;
}

let world: World | null = null;
// I12: nothing may fail unheard.
process.on("unhandledRejection", (reason) => world?.break("I12", null, `unhandled rejection: ${String((reason as Error).stack)}`));

const { seeds, sessions, tells } = workerData as Task;
for (const seed of seeds) {
  world = new World(seed, { tells });
  try {
    await world.run(sessions);
  } catch (error) {
    world.break("I12", null, `the world ended: ${String((error as Error).stack)}`);
  }
  const broken = new Set(world.breaks.flatMap(({ session }) => session ?? []));
  const stories = [...broken].slice(0, 3).flatMap((id) => [`story of ${id}`, ...world!.storyOf(id)]);
  const { faults, sometimes } = world.counters;
  const finished: Finished = {
    seed,
    sessions: world.tracks.size,
    breaks: world.breaks.slice(0, 20),
    stories: tells ? stories : [],
    counters: { faults, sometimes },
    fingerprint: world.fingerprint(),
  };
  parentPort?.postMessage(finished);
}
