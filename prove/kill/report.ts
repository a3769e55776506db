import { CRASH_POINTS } from "#src/kernel/crash-points.ts";
import type { Break } from "./judge.ts";
import { countBy, type RoundReport } from "./lane.ts";
import { OUT_OF_REACH } from "./plans.ts";
import type { Track } from "./track.ts";

export interface Tally {
  rounds: readonly RoundReport[];
  tracks: readonly Track[];
  breaks: readonly Break[];
  seconds: number;
}

export function progressLine({ round, fate, died, inFlight, restartMs }: RoundReport, sessions: number): string {
  const flying = Object.entries(inFlight).map(([status, count]) => `${count} ${status}`);
  const end = fate.startsWith(`${died}:`) ? fate : `${fate} -> ${died}`;
  const restart = restartMs === null ? "" : `  (up again after ${restartMs} ms)`;
  return `${String(round).padStart(4)}  ${end.padEnd(40)} ${flying.join(", ") || "nothing in flight"} of ${sessions}${restart}`;
}

/** The closing table and the one line that matters. */
export function report({ rounds, tracks, breaks, seconds }: Tally): string {
  const died = countBy(rounds.map((round) => round.died));
  const lines = ["", "killed at"];
  for (const point of Object.keys(CRASH_POINTS)) {
    const count = died[point] ?? 0;
    const note = count === 0 && OUT_OF_REACH.has(point as keyof typeof CRASH_POINTS) ? "  (not in a short run)" : "";
    lines.push(`${String(count).padStart(6)}  ${point}${note}`);
  }
  const others = Object.entries(died).filter(([name]) => !Object.hasOwn(CRASH_POINTS, name));
  for (const [name, count] of others) lines.push(`${String(count).padStart(6)}  ${name}`);

  const table = (title: string, names: readonly string[]) => {
    lines.push("", title);
    const counts = Object.entries(countBy(names)).sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [name, count] of counts) lines.push(`${String(count).padStart(6)}  ${name}`);
  };
  table(
    "gateways",
    tracks.map(({ plan }) => `${plan.gateway} ${plan.mode} by ${plan.channel}`),
  );
  table(
    "what payers did",
    tracks.map(({ plan }) => plan.behaviour),
  );
  table(
    "how sessions ended",
    tracks.map((track) => {
      const last = track.seen.at(-1);
      return `${last?.status ?? "not created"}${last?.errorCode ? ` (${last.errorCode})` : ""}`;
    }),
  );
  const restarts = rounds.flatMap(({ restartMs }) => restartMs ?? []);
  const recoveries = tracks.flatMap(({ killedAt, finalAt }) => (killedAt !== null && finalAt !== null ? [finalAt - killedAt] : []));
  lines.push("", `up again after a kill: ${quantiles(restarts)}`, `a session's last kill to its end: ${quantiles(recoveries)}`);
  if (breaks.length > 0) lines.push("", "broken invariants");
  for (const { invariant, track, what } of breaks.slice(0, 30)) {
    lines.push(`  ${invariant}  ${what}`, ...(track ? [`      ${track.describe()}`, ...track.story.map((line) => `      ${line}`)] : []));
  }
  const points = Object.keys(died).filter((name) => Object.hasOwn(CRASH_POINTS, name)).length;
  lines.push(
    "",
    `${points} of ${Object.keys(CRASH_POINTS).length} points, ${seconds.toFixed(0)} s`,
    `${rounds.length} kills, ${tracks.length} sessions, ${breaks.length} broken invariants`,
  );
  return lines.join("\n");
}

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => `${((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000).toFixed(1)} s`;
  return sorted.length === 0 ? "none" : `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`;
}
