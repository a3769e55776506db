/** `npm run bench -- NAME [options]`: one measurement. Without a name, what there is to measure; each file's head says what its figures mean. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL(".", import.meta.url);
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".ts") && file !== "main.ts")
  .map((file) => file.slice(0, -".ts".length))
  // The others are parts of benches.
  .filter((each) => headOf(each).includes("npm run bench -- "));
const [name, ...options] = process.argv.slice(2);

if (name !== undefined && names.includes(name) && options.includes("--help")) {
  console.log(headOf(name).replaceAll(/^ \* ?/gm, ""));
} else if (name !== undefined && names.includes(name)) {
  spawn(process.execPath, [fileURLToPath(new URL(`${name}.ts`, FOLDER)), ...options], { stdio: "inherit" }).on("exit", (code) =>
    process.exit(code ?? 1),
  );
} else {
  console.log("Usage: npm run bench -- NAME [options]\n");
  for (const each of names) console.log(`  ${usage(each)}`);
  console.log("\nnpm run bench -- NAME --help says what its figures mean.");
  process.exit(name === undefined || name === "--help" ? 0 : 1);
}

/** The comment at a bench's head. */
function headOf(bench: string): string {
  return /\/\*\*\n([^]*?)\n \*\//.exec(readFileSync(new URL(`${bench}.ts`, FOLDER), "utf8"))?.[1] ?? "";
}

/** What a bench says of itself in its first lines: what it measures, its name and options. */
function usage(bench: string): string {
  const [, what = "", options = ""] = /\* (.+?): npm run bench -- \S+ ?(.*)/.exec(headOf(bench)) ?? [];
  return `${`${bench} ${options}`.padEnd(76)} ${what}`;
}
