import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { Counters } from "./world/counters.ts";
import type { Break } from "./world/state.ts";
import { SESSIONS_PER_WORLD } from "./expected.ts";
import type { Finished, Task } from "./worker.ts";

export interface Simulation {
  sessions: number;
  worlds: number;
  /** Sessions that were asked for in each world. */
  perWorld: number;
  seconds: number;
  breaks: Break[];
  traces: string[];
  counters: Counters;
  /** By seed. */
  fingerprints: Map<number, string>;
}

export interface Options {
  /** At least so many, rounded up to whole worlds. */
  sessions: number;
  /** Seed of the first world; the next has the next. */
  seed: number;
  /** In each world; fewer are simulated sooner, and meet one another seldom. */
  perWorld?: number;
  /** Ends with the first world that breaks something. */
  untilBreak?: boolean;
  /** Keeps the traces of sessions that broke something. */
  traced?: boolean;
  /** Aborted: what has been simulated so far is the result. */
  signal?: AbortSignal;
  /** After each world. */
  onWorld?: (soFar: Simulation, worlds: number) => void;
}

/** Runs worlds on every core. The seeds alone decide what happens, whatever thread they run on. */
export async function simulate(options: Options): Promise<Simulation> {
  const { sessions, seed, untilBreak = false, traced = false, signal, onWorld } = options;
  const began = performance.now();
  const perWorld = Math.min(sessions, options.perWorld ?? SESSIONS_PER_WORLD);
  const worlds = Math.max(1, Math.ceil(sessions / perWorld));
  const result: Simulation = {
    sessions: 0,
    worlds: 0,
    perWorld,
    seconds: 0,
    breaks: [],
    traces: [],
    counters: new Counters(),
    fingerprints: new Map(),
  };
  const threads = Math.min(worlds, availableParallelism());
  const workers = Array.from({ length: threads }, (_, index) => {
    const seeds = Array.from({ length: worlds }, (_, world) => seed + world).filter((_, world) => world % threads === index);
    return new Worker(new URL("worker.ts", import.meta.url), { workerData: { seeds, sessions: perWorld, traced } satisfies Task });
  });
  const stop = () => {
    for (const worker of workers) void worker.terminate();
  };
  signal?.addEventListener("abort", stop, { once: true });
  const take = ({ seed, sessions, breaks, traces, counters, fingerprint }: Finished) => {
    result.worlds++;
    result.sessions += sessions;
    result.breaks.push(...breaks);
    result.traces.push(...traces);
    result.counters.add(counters);
    result.fingerprints.set(seed, fingerprint);
    onWorld?.(result, worlds);
    if (untilBreak && breaks.length > 0) stop();
  };
  await Promise.all(
    workers.map(
      (worker) =>
        new Promise<void>((resolve, reject) => {
          worker.on("message", take);
          worker.on("error", reject);
          worker.on("exit", () => resolve());
        }),
    ),
  );
  signal?.removeEventListener("abort", stop);
  result.seconds = (performance.now() - began) / 1000;
  return result;
}
