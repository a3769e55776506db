/**
 * `npm run prove -- --sessions N [--seed S]`: the deterministic simulation (RELIABILITY section 3).
 * `npm run prove -- bugs`: the hand-made bugs of `prove/bugs/`, each of which it must find.
 * `npm run prove -- kill`: a real service killed at every crash point (`prove/kill/`).
 */
import { parseArgs } from "node:util";
import { findBugs } from "./bugs.ts";
import { missing, report } from "./report.ts";
import { simulate } from "./simulate.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: "string", default: "20000" },
    seed: { type: "string", default: "1" },
    "until-break": { type: "boolean", default: false },
    rounds: { type: "string" },
    lanes: { type: "string" },
    database: { type: "string" },
  },
});
const sessions = Number(values.sessions);
const seed = Number(values.seed);
const [command, ...others] = positionals;
if (command === "kill") {
  const { kill, readOptions } = await import("./kill/index.ts");
  const { breaks } = await kill({ ...readOptions(values), print: (line) => console.log(line) });
  process.exit(breaks.length === 0 ? 0 : 1);
}
if (!Number.isInteger(sessions) || sessions < 1 || !Number.isInteger(seed) || (command !== undefined && command !== "bugs")) {
  process.stderr.write("Usage: npm run prove -- [--sessions N] [--seed S] | bugs [NAME ...] | kill [--rounds N] [--seed S]\n");
  process.exit(1);
}
if (command === "bugs") process.exit((await findBugs(others)) ? 0 : 1);

// One world is a replay: then the broken sessions' stories are told.
const result = await simulate({ sessions, seed, untilBreak: values["until-break"], tells: sessions <= 300 });
console.log(report(result, seed));
process.exit(result.breaks.length === 0 && missing(result).length === 0 ? 0 : 1);
