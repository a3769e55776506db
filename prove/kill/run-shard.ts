import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createDatabase } from "#src/platform/testing.ts";
import { PROMPT_CACHE } from "../../test/journeys/installation.ts";
import { SeededRandom } from "../random.ts";
import { verifyChain } from "./audit.ts";
import type { KillSchedule, ScriptedKill } from "./kill-schedule.ts";
import { inspect } from "./inspect.ts";
import type { Break } from "./invariants.ts";
import { Shard, type RoundReport } from "./shard.ts";
import { descriptorsOf, remainingResources, openedSince, unexpectedLogLines } from "./leaks.ts";
import { openTelephonePayer } from "./payer.ts";
import { progressLine } from "./report.ts";
import { filesBelow, findCards } from "./scan.ts";
import { eventually } from "./wait.ts";

/** What all shards of a run have in common. */
export interface RunContext {
  seed: number;
  database: "embedded" | "postgres";
  folder: string;
  schedule: KillSchedule;
  /** The runs one after another, instead of the seed's choice. */
  script?: readonly ScriptedKill[];
  /** From the last kill until everything must be final and delivered, ms. */
  recoveryMs?: number;
  interrupted: AbortSignal;
  /** Of every shard, as they end. */
  readonly rounds: RoundReport[];
  readonly shards: Shard[];
  print: (line: string) => void;
}

const POSTGRES = "postgres://root@127.0.0.1:5432/postgres";
/** A search where nobody can be asked is given up after ten minutes; the longest proof of absence takes three. */
const RECOVERY_MS = 720_000;
/** Until a quiet service has closed what it does not need, and until it has ended, ms. */
const QUIET_MS = 60_000;
/** Judging reads the whole ledger: now and then is enough. */
const ROUNDS_BETWEEN_CHECKS = 10;

/** One service from its first run to its orderly end; returns the broken invariants. An interrupt ends it early. */
export async function runShard(context: RunContext, share: number, number: number): Promise<Break[]> {
  const { interrupted, schedule } = context;
  const folder = join(context.folder, `shard-${number}`);
  mkdirSync(folder);
  // What a service renders at its first start is the same everywhere.
  if (existsSync(PROMPT_CACHE)) cpSync(PROMPT_CACHE, join(folder, "data/prompts"), { recursive: true });
  const server = process.env["TEST_DATABASE_URL"] ?? POSTGRES;
  const database = context.database === "postgres" ? await createDatabase(server) : null;
  const databaseUrl = database?.url ?? null;
  const payer = await openTelephonePayer(PROMPT_CACHE);
  const random = new SeededRandom(context.seed * 1_000 + number);
  let shard: Shard | null = null;
  const onInterrupt = () => shard?.interrupt();
  interrupted.addEventListener("abort", onInterrupt, { once: true });
  try {
    shard = await Shard.open({ folder, random, schedule, payer, databaseUrl });
    context.shards.push(shard);
    await killRepeatedly(shard, context, share);
    const breaks = interrupted.aborted ? [] : await finalRun(shard, context);
    // Cut short, it has left much that is not over.
    const isWhole = !interrupted.aborted;
    await shard.close();
    const { breaks: inside, dump } = await inspect({ databaseUrl, dataDir: join(folder, "data") }, shard.tracks, shard.vendors.ledger());
    if (isWhole) breaks.push(...inside, ...(await verifyChain(shard.service)).map(broken("I9")));
    context.print("looking for card numbers in every file and table");
    const { cards, thorough } = shard.planner;
    const cardsFound = findCards([...filesBelow(folder), ...dump], cards, thorough);
    return [...shard.check(isWhole), ...(isWhole ? breaks : []), ...cardsFound.map(broken("I8"))];
  } finally {
    await shard?.close();
    await payer.close();
    await database?.drop();
  }
}

const broken =
  (invariant: string) =>
  (what: string): Break => ({ invariant, track: null, what });

/** Until its share of runs is over, or an invariant is broken. */
async function killRepeatedly(shard: Shard, { script, interrupted, rounds, shards, print }: RunContext, share: number): Promise<void> {
  for (let round = 1; round <= share && !interrupted.aborted; round++) {
    const done = await shard.round(round, script?.[round - 1]);
    rounds.push(done);
    print(progressLine(rounds.length, done, shards));
    if (round % ROUNDS_BETWEEN_CHECKS === 0 && shard.check(false).length > 0) return;
  }
}

/** The run that nobody kills: everything becomes final, what was opened is closed again, and it ends in order. */
async function finalRun(shard: Shard, { recoveryMs = RECOVERY_MS, interrupted, print }: RunContext): Promise<Break[]> {
  print(`waiting, at most ${recoveryMs / 1_000} s, until every session is final and told and what must be is given back`);
  await shard.rest(recoveryMs, print);
  if (interrupted.aborted) return [];
  print("looking what stays open after quiet sessions, and ending the service");
  const held = await heldAfter(shard);
  await shard.lookAtAll();
  return [...held, ...(await endInOrder(shard))].map(broken("I12"));
}

/** What a service at rest holds after quiet sessions, and did not hold before them: the first ones are for what is opened once. */
async function heldAfter(shard: Shard): Promise<string[]> {
  const quiet = async () => {
    await shard.undisturbed();
    await shard.rest(QUIET_MS);
    await shard.service.hangUp();
  };
  await quiet();
  const before = descriptorsOf(shard.service.pid);
  await quiet();
  const held = () => openedSince(before, descriptorsOf(shard.service.pid));
  await eventually(() => held().length === 0, QUIET_MS);
  return held().map((what) => `still open after quiet sessions: ${what}`);
}

/** Ends the last run as its operator does; returns what is wrong about its end and what all runs wrote besides their log. */
async function endInOrder({ service }: Shard): Promise<string[]> {
  service.signal("SIGTERM");
  const hasEnded = await eventually(() => !service.isUp, QUIET_MS);
  if (!hasEnded) return ["it did not end within a minute of SIGTERM"];
  const { end } = await service.ended;
  const left = (await remainingResources(service)).map((what) => `left behind: ${what}`);
  return [...(end === "in order" ? [] : [`after SIGTERM it ${end}`]), ...left, ...unexpectedLogLines(service)];
}
