import { countBy } from "./count.ts";
import { type Evidence, isVoidedById, taken, unreversed } from "./invariants.ts";
import type { Track } from "./track.ts";

/** What a run waits for once nobody disturbs its service any more. */

/** From a charge to the end of its search, where nobody can tell what became of it. */
const SEARCH_MS = 600_000;

export interface Unfinished {
  track: Track;
  what: string;
}

/** The sessions that are not final, not told or not given back. One that could not be created will never be. */
export function unfinished({ tracks, ledger, hooks }: Evidence): Unfinished[] {
  const told = new Set(hooks.filter(({ answered }) => answered === "204").map(({ body }) => body.session_id));
  return tracks.flatMap((track) => {
    const { id, isFinal, hasGivenUp } = track;
    if (id === null) return hasGivenUp ? [] : [{ track, what: "not created" }];
    if (!isFinal) return [{ track, what: track.seen.at(-1)?.status ?? "not seen" }];
    if (unreversed(track, ledger).length > 0) return [{ track, what: "not given back" }];
    return told.has(id) ? [] : [{ track, what: "not told" }];
  });
}

/** How many of its sessions a run waits for after so many seconds, what they are, and until when where that is known. */
export function waitingLine(evidence: Evidence, seconds: number): string {
  const left = unfinished(evidence);
  const ends = new Map<string, number>();
  const names = left.map(({ track, what }) => {
    const name = `${track.plan.gateway} ${what}`;
    const began = taken(track, evidence.ledger)[0]?.at ?? track.killedAt;
    if (!track.isFinal && isVoidedById(track.plan) && began !== null)
      ends.set(name, Math.max(ends.get(name) ?? 0, new Date(began).getTime() + SEARCH_MS));
    return name;
  });
  const told = Object.entries(countBy(names)).map(([name, count]) => {
    const end = ends.get(name);
    return `${count} ${name}${end === undefined ? "" : ` (no vendor to ask: until ${new Date(end).toISOString().slice(11, 19)} UTC)`}`;
  });
  return `${String(Math.round(seconds)).padStart(4)} s  ${left.length} of ${evidence.tracks.length} left: ${told.toSorted().join(", ") || "none"}`;
}
