import { parentPort, workerData } from "node:worker_threads";
import type { CounterValues } from "./world/counters.ts";
import type { Break } from "./world/state.ts";
import { World } from "./world/world.ts";

/** Runs worlds one after another in a thread of its own. */

export interface Task {
  seeds: readonly number[];
  sessions: number;
  traced: boolean;
}

export interface Finished {
  seed: number;
  sessions: number;
  breaks: Break[];
  /** The traces of the sessions that broke something, when asked for. */
  traces: string[];
  counters: CounterValues;
  fingerprint: string;
}

let world: World | null = null;
// I12: nothing may fail unheard.
process.on("unhandledRejection", (reason) => world?.break("I12", null, `unhandled rejection: ${String((reason as Error).stack)}`));

const { seeds, sessions, traced } = workerData as Task;
for (const seed of seeds) {
  world = new World(seed, { traced });
  try {
    await world.run(sessions);
  } catch (error) {
    world.break("I12", null, `the world ended: ${String((error as Error).stack)}`);
  }
  const broken = new Set(world.breaks.flatMap(({ session }) => session ?? []));
  const traces = [...broken].slice(0, 3).flatMap((id) => [`trace of ${id}`, ...world!.traceOf(id)]);
  const { faults, sometimes } = world.counters;
  const finished: Finished = {
    seed,
    sessions: world.tracks.size,
    breaks: world.breaks.slice(0, 20),
    traces: traced ? traces : [],
    counters: { faults, sometimes },
    fingerprint: world.fingerprint(),
  };
  parentPort?.postMessage(finished);
}
