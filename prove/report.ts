import { COLUMNS, countOf, ENOUGH_SESSIONS, neverHappened, RACES } from "./expected.ts";
import type { Simulation } from "./simulate.ts";

const HEADINGS: Readonly<Record<string, string>> = { none: "look-up" };

/** The matrix of faults by the state of the session they struck, the races that really happened, the breaks, and one closing line. */
export function report({ sessions, worlds, perWorld, seconds, breaks, traces, counters }: Simulation, seed: number): string {
  const lines = ["", ["fault".padEnd(32), ...COLUMNS.map((column) => (HEADINGS[column] ?? column).padStart(11))].join("")];
  for (const [fault] of [...counters.faults].sort(byName)) {
    const cells = COLUMNS.map((column) => String(countOf(counters, fault, column)).padStart(11));
    lines.push([fault.padEnd(32), ...cells].join(""));
  }
  lines.push("", "what really happened");
  const races = new Map([...Object.keys(RACES).map((race) => [race, 0] as const), ...counters.sometimes]);
  for (const [race, count] of [...races].sort(byName)) {
    lines.push(`${String(count).padStart(8)}  ${race.padEnd(86)}${RACES[race]?.join(", ") ?? ""}`.trimEnd());
  }
  if (breaks.length > 0) lines.push("", "broken invariants");
  for (const { seed, invariant, session, what } of breaks.slice(0, 20)) {
    lines.push(`  ${invariant}  seed ${seed}  ${session ?? ""}  ${what}`);
  }
  if (traces.length > 0) lines.push("", ...traces);
  const [first] = breaks;
  if (first) lines.push("", `again: npm run prove -- --sessions ${perWorld} --seed ${first.seed}`);
  const never = missing({ worlds, perWorld, counters });
  if (never.length > 0) lines.push("", "never happened, and must in a run of this size", ...never.map((what) => `  ${what}`));
  lines.push(
    "",
    `${worlds * perWorld} sessions asked for, ${sessions} made (the database was away for the others), ${worlds} world${worlds === 1 ? "" : "s"} from seed ${seed}, ${seconds.toFixed(0)} s: ` +
      `${breaks.length} broken invariants, ${never.length} races missed`,
  );
  return lines.join("\n");
}

/** How far a long run has come. */
export function progress({ worlds, perWorld, breaks }: Simulation, all: number): string {
  return `${worlds * perWorld} of ${all * perWorld} sessions, ${breaks.length} broken invariants`;
}

/** What a run of this size must have met and did not; nothing in a smaller one. */
export function missing({ worlds, perWorld, counters }: Pick<Simulation, "worlds" | "perWorld" | "counters">): string[] {
  return worlds * perWorld < ENOUGH_SESSIONS ? [] : neverHappened(counters);
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);
