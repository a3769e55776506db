/**
 * `npm run prove -- kill [--rounds N] [--seed S] [--database embedded|postgres] [--lanes N]`: a real service, killed at every
 * crash point and at random times, with real calls under way (RELIABILITY E1, docs/decisions/0008).
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatorError } from "#src/kernel/errors.ts";
import { SeededRandom } from "../random.ts";
import { inspect } from "./inspect.ts";
import type { Break } from "./judge.ts";
import { Lane, type RoundReport, type Step } from "./lane.ts";
import { openTelephonePayer } from "./payer.ts";
import { progressLine, report } from "./report.ts";
import { filesBelow, findCards } from "./scan.ts";
import { createDatabase } from "./service.ts";

export interface KillOptions {
  rounds: number;
  seed: number;
  database: "embedded" | "postgres";
  /** Services that run side by side. */
  lanes: number;
  /** The lives one after another, instead of the seed's choice. */
  script?: readonly Step[];
  /** From the last kill until everything must be final and delivered, ms. */
  peaceMs?: number;
  print: (line: string) => void;
}

const PROMPTS = fileURLToPath(new URL("../../node_modules/.cache/voicetill/prompts", import.meta.url));
const POSTGRES = "postgres://root@127.0.0.1:5432/postgres";
/** The longest proof of absence takes three minutes, the second wait of a webhook five. */
const PEACE_MS = 420_000;
/** Judging reads the whole ledger: now and then is enough. */
const ROUNDS_TO_JUDGE = 10;

/** Kills a service over and over; answers the broken invariants. An interrupt ends it early, with its tally. */
export async function kill(options: KillOptions): Promise<{ breaks: Break[]; rounds: RoundReport[]; sessions: number }> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "voicetill-kill-"));
  const interrupted = new AbortController();
  const onInterrupt = () => interrupted.abort();
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  const rounds: RoundReport[] = [];
  const lanes: Lane[] = [];
  const breaks: Break[] = [];
  try {
    const shares = Array.from({ length: options.lanes }, (_, lane) => Math.ceil((options.rounds - lane) / options.lanes));
    await Promise.all(
      shares.map(async (share, number) => {
        breaks.push(...(await runLane({ ...options, share, number, folder, interrupted: interrupted.signal, rounds, lanes })));
      }),
    );
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onInterrupt);
  }
  const tracks = lanes.flatMap((lane) => lane.tracks);
  options.print(report({ rounds, tracks, breaks, seconds: (performance.now() - began) / 1000 }));
  if (breaks.length === 0) rmSync(folder, { recursive: true, force: true });
  else options.print(`evidence: ${folder}\nagain: npm run prove -- kill --rounds ${options.rounds} --seed ${options.seed}`);
  return { breaks, rounds, sessions: tracks.length };
}

interface LaneRun extends Omit<KillOptions, "rounds" | "lanes"> {
  share: number;
  number: number;
  folder: string;
  interrupted: AbortSignal;
  rounds: RoundReport[];
  lanes: Lane[];
}

async function runLane({ share, number, folder: parent, interrupted, rounds, lanes, ...options }: LaneRun): Promise<Break[]> {
  const folder = join(parent, `lane-${number}`);
  mkdirSync(folder);
  // What a service renders at its first start is the same everywhere.
  if (existsSync(PROMPTS)) cpSync(PROMPTS, join(folder, "data/prompts"), { recursive: true });
  const server = process.env["TEST_DATABASE_URL"] ?? POSTGRES;
  const [databaseUrl, drop] = options.database === "postgres" ? await createDatabase(server) : [null, async () => {}];
  const payer = await openTelephonePayer(PROMPTS);
  const random = new SeededRandom(options.seed * 1_000 + number);
  let lane: Lane | null = null;
  // A round that is under way ends with its service.
  const onInterrupt = () => lane?.service.signal("SIGKILL");
  interrupted.addEventListener("abort", onInterrupt, { once: true });
  try {
    lane = await Lane.open({ folder, random, payer, databaseUrl });
    lanes.push(lane);
    for (let round = 1; round <= share && !interrupted.aborted; round++) {
      const done = await lane.round(round, options.script?.[round - 1]);
      rounds.push(done);
      options.print(progressLine(done, lane.tracks.length));
      if (round % ROUNDS_TO_JUDGE === 0 && lane.judge(false).length > 0) break;
    }
    if (!interrupted.aborted) {
      options.print(`${share} rounds done; waiting until ${lane.tracks.filter(({ isFinal }) => !isFinal).length} sessions are final`);
      await Promise.race([
        lane.rest(options.peaceMs ?? PEACE_MS),
        new Promise<void>((resolve) => interrupted.addEventListener("abort", () => resolve())),
      ]);
      await lane.lookAtAll();
    }
    const isWhole = !interrupted.aborted;
    const breaks = lane.judge(isWhole);
    await lane.close(true);
    const { breaks: inside, dump } = await inspect({ databaseUrl, dataDir: join(folder, "data") }, lane.tracks);
    const { cards, thorough } = lane.planner;
    const cardsFound = findCards([...filesBelow(folder), ...dump], cards, thorough);
    return [...breaks, ...(isWhole ? inside : []), ...cardsFound.map((what) => ({ invariant: "I8", track: null, what }))];
  } finally {
    await lane?.close(false);
    await payer.close();
    await drop();
  }
}

/** Reads the command line of the verb. */
export function readOptions(values: Readonly<Record<string, string | boolean | undefined>>): Omit<KillOptions, "print"> {
  const whole = (name: string, fallback: number) => {
    const value = Number(values[name] ?? fallback);
    if (!Number.isInteger(value) || value < 1) throw new OperatorError(`--${name} takes a whole number from 1.`);
    return value;
  };
  const database = values["database"] ?? "embedded";
  if (database !== "embedded" && database !== "postgres") throw new OperatorError("--database takes embedded or postgres.");
  return { rounds: whole("rounds", 60), seed: whole("seed", 1), lanes: whole("lanes", 1), database };
}
