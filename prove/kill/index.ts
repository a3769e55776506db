/**
 * `npm run prove -- kill [--rounds N] [--seed S] [--database embedded|postgres] [--shards N]`: a real service, killed at every
 * crash point and at random times, with real calls under way (E1, docs/decisions/0008).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "../random.ts";
import { type RunContext, runShard } from "./run-shard.ts";
import { KillSchedule, type ScriptedKill } from "./kill-schedule.ts";
import type { Break } from "./invariants.ts";
import type { RoundReport } from "./shard.ts";
import { report } from "./report.ts";

export interface KillOptions {
  rounds: number;
  seed: number;
  database: "embedded" | "postgres";
  /** Services that run side by side. */
  shards: number;
  /** The runs one after another, instead of the seed's choice. */
  script?: readonly ScriptedKill[];
  /** From the last kill until everything must be final and delivered, ms. */
  recoveryMs?: number;
  print: (line: string) => void;
}

/** Kills a service over and over; returns the broken invariants. An interrupt ends it early, with its tally: then it is not whole. */
export async function kill(options: KillOptions): Promise<{ breaks: Break[]; rounds: RoundReport[]; isWhole: boolean }> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "voicetill-kill-"));
  const interrupted = new AbortController();
  const onInterrupt = () => interrupted.abort();
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  const context: RunContext = {
    ...options,
    folder,
    schedule: new KillSchedule(new SeededRandom(options.seed)),
    interrupted: interrupted.signal,
    rounds: [],
    shards: [],
  };
  const shares = Array.from({ length: options.shards }, (_, shard) => Math.ceil((options.rounds - shard) / options.shards));
  // One that fails ends the others, which end their children.
  const ends = await Promise.allSettled(
    shares.map(async (share, number) => {
      try {
        return await runShard(context, share, number);
      } catch (error) {
        interrupted.abort();
        throw error;
      }
    }),
  );
  process.off("SIGINT", onInterrupt);
  process.off("SIGTERM", onInterrupt);
  const breaks = ends.flatMap((end) => {
    if (end.status === "rejected") throw end.reason;
    return end.value;
  });
  const { rounds, shards } = context;
  const tracks = shards.flatMap((shard) => shard.tracks);
  const isWhole = !interrupted.signal.aborted;
  const { rounds: asked, seed, database, shards: beside } = options;
  if (breaks.length === 0) rmSync(folder, { recursive: true, force: true });
  else
    options.print(
      `evidence: ${folder}\nagain: npm run prove -- kill --rounds ${asked} --seed ${seed} --database ${database} --shards ${beside}`,
    );
  options.print(report({ rounds, tracks, breaks, seconds: (performance.now() - began) / 1000, isWhole }));
  return { breaks, rounds, isWhole };
}
