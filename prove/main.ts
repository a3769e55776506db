import { parseArgs } from "node:util";
import { isHelped, mistakeOf } from "#src/cli/help.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { findBugs } from "./bugs.ts";
import { missing, progress, report } from "./report.ts";
import { simulate } from "./simulate.ts";
import { SESSIONS_PER_WORLD } from "./world/world.ts";

const USAGE = `Usage: npm run prove -- [--sessions N] [--seed S] [--until-break]
       npm run prove -- bugs [NAME ...]
       npm run prove -- kill [--rounds N] [--seed S] [--shards N] [--database embedded|postgres]
Without a name, the deterministic simulation (docs/invariants.md, Simulation): N sessions (default 20000) in virtual time, under faults and races drawn
from the seed. A run of ${SESSIONS_PER_WORLD} sessions or fewer is one world: it prints the traces of those that broke.
  bugs   the hand-made bugs of prove/bugs, each of which the simulation must find
  kill   a real service, killed at every crash point and at other times, and checked against the simulators' ledgers
Ctrl-C ends the simulation with what it has so far. Exit status 0 when all was run, nothing broke and no fault or race was missed.`;

async function prove(args: string[]): Promise<boolean> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { sessions: text, seed: text, "until-break": { type: "boolean", default: false }, rounds: text, shards: text, database: text },
  });
  const whole = (name: "sessions" | "seed" | "rounds" | "shards", otherwise: number) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isInteger(value) || value < 1) throw new OperatorError(`--${name} takes a whole number from 1.`);
    return value;
  };
  const seed = whole("seed", 1);
  const [command, ...names] = positionals;
  switch (command) {
    case "bugs":
      return await findBugs(names);
    case "kill": {
      const { database = "embedded" } = values;
      if (database !== "embedded" && database !== "postgres") throw new OperatorError("--database takes embedded or postgres.");
      const { kill } = await import("./kill/index.ts");
      const print = (line: string) => console.log(line);
      return (await kill({ rounds: whole("rounds", 60), seed, shards: whole("shards", 1), database, print })).breaks.length === 0;
    }
    case undefined: {
      const sessions = whole("sessions", 20_000);
      const interrupted = new AbortController();
      process.once("SIGINT", () => interrupted.abort());
      const result = await simulate({
        sessions,
        seed,
        untilBreak: values["until-break"],
        traced: sessions <= SESSIONS_PER_WORLD,
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
