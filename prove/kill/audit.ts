import { readFileSync } from "node:fs";
import { sql } from "kysely";
import type { Db } from "#src/platform/index.ts";
import { stateOf, type SessionEvent, type State, TRANSITIONS } from "#src/sessions/states.ts";
import { output } from "./child.ts";
import type { Service } from "./service.ts";

/** The audit log after everything (I9): its chain, and that it tells the history of every session. */

/** What `voicetill audit verify` finds wrong, also against the head that the first run wrote down; called when nothing runs. */
export async function verifyChain({ env, logFile }: Service): Promise<string[]> {
  const [, head] = /"audit_head":"([^"]+)"/.exec(readFileSync(logFile, "utf8")) ?? [];
  if (head === undefined) return ["no run wrote its head down"];
  const { code, lines } = await output(["audit", "verify", "--json", "--head", head], env);
  const isWhole = code === 0 && (JSON.parse(lines.join("")) as { unsealed: number }).unsealed === 0;
  return isWhole ? [] : [`audit verify --head ${head} ended with ${code}: ${lines.join(" ")}`];
}

/** Sessions whose rows in the log are not one way through the table of states, from PENDING to where the session is. */
export async function brokenTrails(db: Db): Promise<{ id: string; what: string }[]> {
  const { rows } = await sql<{
    id: string;
    status: string;
    phase: string | null;
    changes: number;
    callback: string | null;
    trail: string[];
  }>`
    select s.id, s.status, s.phase, s.revision - 1 as changes, s.callback,
      coalesce(array_agg(a.action order by a.id) filter (where a.id is not null), '{}') as trail
    from sessions s left join audit_log a on a.object = s.id::text group by s.id`.execute(db);
  return rows.flatMap(({ id, status, phase, changes, callback, trail }) => {
    const told = `the audit log tells ${trail.join(", ") || "nothing"} of a session that is ${status}`;
    if (endOf(trail) !== stateOf(status, phase)) return [{ id, what: told }];
    // A hand-over changes the row without a line of its own.
    const isWhole = callback === null ? trail.length === changes : trail.length <= changes;
    return isWhole ? [] : [{ id, what: `${told} after ${changes} changes` }];
  });
}

/** Where these actions lead; null when one of them was not allowed. */
export function endOf(trail: readonly string[]): State | null {
  let state: State | null = "PENDING";
  for (const action of trail) state = (state && TRANSITIONS[state][action.replace("session.", "") as SessionEvent]?.to) ?? null;
  return state;
}
