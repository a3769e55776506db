import type { Simulation } from "./simulate.ts";
import { SESSIONS_PER_WORLD } from "./world/world.ts";

const COLUMNS = ["PENDING", "collecting", "charging", "unknown", "final", "none"] as const;
const HEADINGS: Readonly<Record<string, string>> = { none: "look-up" };

/** The matrix of faults by the state of the session they struck, the races that really happened, the breaks, and one closing line. */
export function report({ sessions, worlds, seconds, breaks, stories, counters }: Simulation, seed: number): string {
  const lines = ["", ["fault".padEnd(24), ...COLUMNS.map((column) => (HEADINGS[column] ?? column).padStart(11))].join("")];
  for (const [fault, states] of [...counters.faults].sort(byName)) {
    const cells = COLUMNS.map((column) => String(column === "final" ? finals(states) : (states.get(column) ?? 0)).padStart(11));
    lines.push([fault.padEnd(24), ...cells].join(""));
  }
  lines.push("", "what really happened");
  for (const [race, count] of [...counters.sometimes].sort(byName)) lines.push(`${String(count).padStart(8)}  ${race}`);
  if (breaks.length > 0) lines.push("", "broken invariants");
  for (const { seed, invariant, session, what } of breaks.slice(0, 20)) {
    lines.push(`  ${invariant}  seed ${seed}  ${session ?? ""}  ${what}`);
  }
  if (stories.length > 0) lines.push("", ...stories);
  const [first] = breaks;
  if (first) lines.push("", `again: npm run prove -- --sessions ${Math.min(sessions, SESSIONS_PER_WORLD)} --seed ${first.seed}`);
  lines.push("", `${sessions} sessions in ${worlds} worlds from seed ${seed}, ${seconds.toFixed(0)} s: ${breaks.length} broken invariants`);
  return lines.join("\n");
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** The faults of a commit are counted by the status it was to write. */
function finals(states: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [state, count] of states) if (!COLUMNS.some((column) => column === state && column !== "final")) sum += count;
  return sum;
}
