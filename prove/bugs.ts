import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUGS = new URL("bugs/", import.meta.url);
const COPIED = ["src", "simulators", "prove", "migrations", "package.json"];
/** Each bug must be found within so many sessions: those of `npm test`. */
const SESSIONS = "20000";

/** Applies each bug to a copy of the tree and lets the simulation look for it; true when it found them all. */
export async function findBugs(names: readonly string[]): Promise<boolean> {
  const all = readdirSync(BUGS)
    .filter((name) => name.endsWith(".patch"))
    .sort();
  const chosen = all.filter((name) => names.length === 0 || names.includes(basename(name, ".patch")));
  let found = 0;
  for (const name of chosen) {
    const result = await look(fileURLToPath(new URL(name, BUGS)));
    if (result.isFound) found++;
    console.log(`${result.isFound ? "found " : "MISSED"}  ${basename(name, ".patch").padEnd(36)} ${result.how}`);
  }
  console.log(`\n${found} of ${chosen.length} hand-made bugs found`);
  return found === chosen.length && chosen.length > 0;
}

async function look(patch: string): Promise<{ isFound: boolean; how: string }> {
  const copy = mkdtempSync(join(tmpdir(), "voicetill-bug-"));
  try {
    for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    const applied = await run("git", ["apply", patch], copy);
    if (applied.code !== 0) return { isFound: false, how: `the patch does not apply: ${applied.stderr.trim().split("\n")[0] ?? ""}` };
    const { code, stdout, stderr } = await run(process.execPath, ["prove/main.ts", "--sessions", SESSIONS, "--until-break"], copy);
    const first = /^broken invariants\n(.+)/m.exec(stdout)?.[1]?.trim();
    return { isFound: code === 1 && first !== undefined, how: first ?? (stdout || stderr).trim().split("\n").at(-1) ?? "" };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function run(command: string, args: string[], cwd: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...said }));
  });
}
