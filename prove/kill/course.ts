import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createDatabase } from "#src/platform/testing.ts";
import { PROMPT_CACHE } from "../../test/journeys/paying.ts";
import { SeededRandom } from "../random.ts";
import { verifyChain } from "./audit.ts";
import type { Fates, Step } from "./fates.ts";
import { inspect } from "./inspect.ts";
import type { Break } from "./judge.ts";
import { Lane, type RoundReport } from "./lane.ts";
import { descriptorsOf, leftBehind, openedSince, strangeLines } from "./leaks.ts";
import { openTelephonePayer } from "./payer.ts";
import { progressLine } from "./report.ts";
import { filesBelow, findCards } from "./scan.ts";
import { eventually } from "./wait.ts";

/** What all lanes of a run have in common. */
export interface Course {
  seed: number;
  database: "embedded" | "postgres";
  folder: string;
  fates: Fates;
  /** The lives one after another, instead of the seed's choice. */
  script?: readonly Step[];
  /** From the last kill until everything must be final and delivered, ms. */
  peaceMs?: number;
  interrupted: AbortSignal;
  /** Of every lane, as they end. */
  readonly rounds: RoundReport[];
  readonly lanes: Lane[];
  print: (line: string) => void;
}

const POSTGRES = "postgres://root@127.0.0.1:5432/postgres";
/** The longest proof of absence takes three minutes, the second wait of a webhook five. */
const PEACE_MS = 420_000;
/** Until a quiet service has closed what it does not need, and until it has ended, ms. */
const QUIET_MS = 60_000;
/** Judging reads the whole ledger: now and then is enough. */
const ROUNDS_TO_JUDGE = 10;

/** One service from its first life to its orderly end; answers the broken invariants. An interrupt ends it early. */
export async function runLane(course: Course, share: number, number: number): Promise<Break[]> {
  const { interrupted, fates } = course;
  const folder = join(course.folder, `lane-${number}`);
  mkdirSync(folder);
  // What a service renders at its first start is the same everywhere.
  if (existsSync(PROMPT_CACHE)) cpSync(PROMPT_CACHE, join(folder, "data/prompts"), { recursive: true });
  const server = process.env["TEST_DATABASE_URL"] ?? POSTGRES;
  const database = course.database === "postgres" ? await createDatabase(server) : null;
  const databaseUrl = database?.url ?? null;
  const payer = await openTelephonePayer(PROMPT_CACHE);
  const random = new SeededRandom(course.seed * 1_000 + number);
  let lane: Lane | null = null;
  const onInterrupt = () => lane?.interrupt();
  interrupted.addEventListener("abort", onInterrupt, { once: true });
  try {
    lane = await Lane.open({ folder, random, fates, payer, databaseUrl });
    course.lanes.push(lane);
    await killAgainAndAgain(lane, course, share);
    const breaks = interrupted.aborted ? [] : await lastLife(lane, course);
    // Cut short, it has left much that is not over.
    const isWhole = !interrupted.aborted;
    await lane.close();
    const { breaks: inside, dump } = await inspect({ databaseUrl, dataDir: join(folder, "data") }, lane.tracks);
    if (isWhole) breaks.push(...inside, ...(await verifyChain(lane.service)).map(broken("I9")));
    const { cards, thorough } = lane.planner;
    const cardsFound = findCards([...filesBelow(folder), ...dump], cards, thorough);
    return [...lane.judge(isWhole), ...(isWhole ? breaks : []), ...cardsFound.map(broken("I8"))];
  } finally {
    await lane?.close();
    await payer.close();
    await database?.drop();
  }
}

const broken =
  (invariant: string) =>
  (what: string): Break => ({ invariant, track: null, what });

/** Until its share of lives is over, or an invariant is broken. */
async function killAgainAndAgain(lane: Lane, { script, interrupted, rounds, lanes, print }: Course, share: number): Promise<void> {
  for (let round = 1; round <= share && !interrupted.aborted; round++) {
    const done = await lane.round(round, script?.[round - 1]);
    rounds.push(done);
    print(progressLine(rounds.length, done, lanes));
    if (round % ROUNDS_TO_JUDGE === 0 && lane.judge(false).length > 0) return;
  }
}

/** The life that nobody kills: everything becomes final, what was opened is closed again, and it ends in order. */
async function lastLife(lane: Lane, { peaceMs = PEACE_MS, print }: Course): Promise<Break[]> {
  print(`waiting until ${lane.tracks.filter(({ isFinal }) => !isFinal).length} sessions are final`);
  await lane.rest(peaceMs);
  const held = await heldAfter(lane);
  await lane.lookAtAll();
  return [...held, ...(await endInOrder(lane))].map(broken("I12"));
}

/** What a service at rest holds after quiet sessions, and did not hold before them: the first ones are for what is opened once. */
async function heldAfter(lane: Lane): Promise<string[]> {
  const quiet = async () => {
    await lane.undisturbed();
    await lane.rest(QUIET_MS);
    await lane.service.hangUp();
  };
  await quiet();
  const before = descriptorsOf(lane.service.pid);
  await quiet();
  const held = () => openedSince(before, descriptorsOf(lane.service.pid));
  await eventually(() => held().length === 0, QUIET_MS);
  return held().map((what) => `still open after quiet sessions: ${what}`);
}

/** Ends the last life as its operator does; answers what is wrong about its end and what all lives wrote besides their log. */
async function endInOrder({ service }: Lane): Promise<string[]> {
  service.signal("SIGTERM");
  const hasEnded = await eventually(() => !service.isUp, QUIET_MS);
  if (!hasEnded) return ["it did not end within a minute of SIGTERM"];
  const { end } = await service.death;
  const left = (await leftBehind(service)).map((what) => `left behind: ${what}`);
  return [...(end === "in order" ? [] : [`after SIGTERM it ${end}`]), ...left, ...strangeLines(service)];
}
