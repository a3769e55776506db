import { PLACES } from "./workload.ts";
import type { Break } from "./invariants.ts";
import { countBy } from "./count.ts";
import type { Shard, RoundReport } from "./shard.ts";
import { killMatrix } from "./matrix.ts";
import type { Track } from "./track.ts";

export interface Tally {
  rounds: readonly RoundReport[];
  tracks: readonly Track[];
  breaks: readonly Break[];
  seconds: number;
  /** False when it was interrupted: then much is not over, and was not judged. */
  isWhole: boolean;
}

export function progressLine(number: number, { planned, died, inFlight, restartMs }: RoundReport, shards: readonly Shard[]): string {
  const sessions = shards.reduce((sum, { tracks }) => sum + tracks.length, 0);
  const flying = Object.entries(inFlight).map(([status, count]) => `${count} ${status}`);
  const end = planned.startsWith(`${died}:`) ? planned : `${planned} -> ${died}`;
  const restart = restartMs === null ? "" : `  (up again after ${restartMs} ms)`;
  return `${String(number).padStart(4)}  ${end.padEnd(40)} ${flying.join(", ") || "nothing in flight"} of ${sessions}${restart}`;
}

/** The closing tables and the one line that matters. */
export function report({ rounds, tracks, breaks, seconds, isWhole }: Tally): string {
  const lines = ["", ...killMatrix(rounds)];
  const table = (title: string, names: readonly string[]) => {
    lines.push("", title);
    const counts = Object.entries(countBy(names)).sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [name, count] of counts) lines.push(`${String(count).padStart(6)}  ${name}`);
  };
  table(
    "what payers did",
    tracks.map(({ plan }) => plan.behaviour),
  );
  table("how sessions ended", tracks.map(endOf));
  table(
    "how those ended whose vendor's answer a killed process never told",
    tracks.filter(({ hasLostAnswer }) => hasLostAnswer).map((track) => `${track.plan.gateway}: ${endOf(track)}`),
  );
  const restarts = rounds.flatMap(({ restartMs }) => restartMs ?? []);
  const recoveries = tracks.flatMap(({ killedAt, finalAt }) => (killedAt !== null && finalAt !== null ? [finalAt - killedAt] : []));
  lines.push("", `up again after a kill: ${quantiles(restarts)}`, `a session's last kill to its end: ${quantiles(recoveries)}`);
  if (breaks.length > 0) lines.push("", "broken invariants");
  for (const { invariant, track, what } of breaks.slice(0, 30)) {
    lines.push(`  ${invariant}  ${what}`, ...(track ? [`      ${track.describe()}`, ...track.events.map((line) => `      ${line}`)] : []));
  }
  const places = new Set(rounds.map(({ died }) => died).filter((name) => PLACES.includes(name)));
  lines.push(
    "",
    "I1 to I8, I10, I11 from what clients, vendors, receivers and the database had seen at the end; I9: audit verify, and every",
    "session's way through the table of states; I12: ends in order, unknown output, processes, ports and descriptors, not memory",
    `${places.size} of ${PLACES.length} places, ${seconds.toFixed(0)} s`,
    `${rounds.length} kills, ${tracks.length} sessions, ${breaks.length} broken invariants${isWhole ? "" : "; cut short, the end was not judged"}`,
  );
  return lines.join("\n");
}

function endOf(track: Track): string {
  const { status = "not created", errorCode = null } = track.seen.at(-1) ?? {};
  return errorCode === null ? status : `${status} (${errorCode})`;
}

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => `${((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000).toFixed(1)} s`;
  return sorted.length === 0 ? "none" : `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`;
}
