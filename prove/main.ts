import { parseArgs } from "node:util";
import { isHelped, mistakeOf } from "#src/cli/help.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { findBugs } from "./bugs.ts";
import { missing, progress, report } from "./report.ts";
import { simulate } from "./simulate.ts";
import { SESSIONS_PER_WORLD } from "./expected.ts";

const USAGE = `Usage: npm run prove -- [--sessions N] [--seed S] [--world N] [--until-break]
       npm run prove -- bugs [--renew] [NAME ...]
       npm run prove -- kill [--rounds N] [--seed S] [--shards N] [--database embedded|postgres]
Without a name, the deterministic simulation (docs/invariants.md, Simulation): N sessions (default 20000) in virtual time, under faults and races drawn
from the seed, in worlds of ${SESSIONS_PER_WORLD} (--world). A run of one world prints the traces of those that broke.
  bugs   the hand-made bugs of prove/bugs, each of which the simulation must find: in the world that its patch names, else in 20000
         sessions; --renew then writes the first world that shows it into the patch
  kill   a real service, killed at every crash point and at other times, and checked against the simulators' ledgers; at its end it waits until every
         session is final: ten minutes from the last charge whose answer was lost at a vendor that cannot be asked
Ctrl-C ends the simulation with what it has so far. Exit status 0 when all was run, nothing broke and no fault or race was missed.`;

async function prove(args: string[]): Promise<boolean> {
  const [text, bool] = [{ type: "string" }, { type: "boolean", default: false }] as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { sessions: text, seed: text, "until-break": bool, renew: bool, world: text, rounds: text, shards: text, database: text },
  });
  const whole = (name: "sessions" | "seed" | "world" | "rounds" | "shards", otherwise: number) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isInteger(value) || value < 1) throw new OperatorError(`--${name} takes a whole number from 1.`);
    return value;
  };
  const seed = whole("seed", 1);
  const [command, ...names] = positionals;
  switch (command) {
    case "bugs":
      return await findBugs(names, values.renew);
    case "kill": {
      const { database = "embedded" } = values;
      if (database !== "embedded" && database !== "postgres") throw new OperatorError("--database takes embedded or postgres.");
      const { kill } = await import("./kill/index.ts");
      const print = (line: string) => console.log(line);
      const { breaks, isWhole } = await kill({ rounds: whole("rounds", 60), seed, shards: whole("shards", 1), database, print });
      return isWhole && breaks.length === 0;
    }
    case undefined: {
      const sessions = whole("sessions", 20_000);
      const perWorld = whole("world", SESSIONS_PER_WORLD);
      const interrupted = new AbortController();
      process.once("SIGINT", () => interrupted.abort());
      const result = await simulate({
        sessions,
        seed,
        perWorld,
        untilBreak: values["until-break"],
        traced: sessions <= perWorld,
        signal: interrupted.signal,
        onWorld: everyTenSeconds((soFar, worlds) => process.stderr.write(`${progress(soFar, worlds)}\n`)),
      });
      console.log(report(result, seed));
      return !interrupted.signal.aborted && result.breaks.length === 0 && missing(result).length === 0;
    }
    default:
      throw new OperatorError(`There is nothing to prove by the name of "${command}": npm run prove -- --help tells more.`);
  }
}

function everyTenSeconds<T extends unknown[]>(tell: (...what: T) => void): (...what: T) => void {
  let told = performance.now();
  return (...what) => {
    if (performance.now() - told < 10_000) return;
    told = performance.now();
    tell(...what);
  };
}

const args = process.argv.slice(2);
try {
  process.exit(isHelped(args, USAGE) || (await prove(args)) ? 0 : 1);
} catch (error) {
  process.stderr.write(`${mistakeOf(error, "npm run prove -- --help") ?? (error as Error).stack ?? String(error)}\n`);
  process.exit(1);
}
