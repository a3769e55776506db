/**
 * Every budget: npm run bench -- all [--rounds 3]
 *
 * Runs the benches that measure one, three times over, and prints of each the median and the range, its goal and whether it holds.
 * The anchors are measured in the same run, but for Asterisk's, which are those of calls.ts. On a machine that does anything else the
 * figures say little: the load at the end is shown.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Budget, type BudgetName, BUDGETS } from "./budgets.ts";

const RUNS = [["session-create", "--rounds", "3"], ["calls", "100"], ["streams"], ["speech-delay"], ["start-up"]] as const;

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });
const figures = new Map<string, number[]>();
const failed = new Set<string>();

async function run([name, ...options]: (typeof RUNS)[number]): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`${name}.ts`, import.meta.url)), ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, BENCH_FIGURES: "1" },
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const [, figure, value] = /^figure (\S+) (\S+)$/.exec(line) ?? [];
    if (figure === undefined) console.log(`  ${line}`);
    else figures.set(figure, [...(figures.get(figure) ?? []), Number(value)]);
  }
  const code = child.exitCode ?? ((await once(child, "exit")) as [number])[0];
  if (code !== 0) failed.add(name);
}

function resultOf({ goal, better }: Budget, all: readonly number[]): { middle: number; range: string; holds: boolean | null } {
  const sorted = all.toSorted((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] ?? Number.NaN;
  const holds = Number.isNaN(middle) ? null : better === "higher" ? middle >= goal : middle <= goal;
  return { middle, range: `${digits(sorted[0])} to ${digits(sorted.at(-1))}`, holds };
}

const digits = (value: number | undefined) => (value === undefined ? "-" : value >= 100 ? value.toFixed(0) : value.toFixed(2));

for (let round = 1; round <= Number(values.rounds); round++) {
  for (const one of RUNS) {
    console.log(`\nround ${round} of ${values.rounds}: ${one.join(" ")}`);
    await run(one);
  }
}

let [held, measuredCount] = [0, 0];
console.log(`\n${"".padEnd(92)} goal      median      range`);
for (const name of Object.keys(BUDGETS) as BudgetName[]) {
  const budget = BUDGETS[name];
  const { middle, range, holds } = resultOf(budget, figures.get(name) ?? []);
  if (holds !== null) measuredCount++;
  if (holds) held++;
  const said = holds === null ? "not measured" : holds ? "holds" : "DOES NOT HOLD";
  const goal = `${budget.better === "higher" ? ">=" : "<="} ${budget.goal}${budget.unit}`;
  console.log(`${budget.what.padEnd(92)} ${goal.padEnd(9)} ${digits(middle).padStart(6)}      ${range.padEnd(18)} ${said}`);
}
const broken = failed.size > 0 ? `; ended with a fault: ${[...failed].join(", ")}` : "";
console.log(`\n${held} of ${measuredCount} measured budgets hold, load ${loadavg()[0]?.toFixed(1)}${broken}`);
process.exit(failed.size > 0 ? 1 : 0);
