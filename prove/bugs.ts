import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUGS = fileURLToPath(new URL("bugs/", import.meta.url));
const COPIED = ["src", "simulators", "prove", "migrations", "package.json"];
/** The world in which the bug is known to show, by a patch's own line: any change of the simulation may make it another one. */
const KNOWN = /^Found by: (--sessions \d+ --seed \d+)\n/m;
/** Where it is looked for otherwise: in small worlds, which are simulated at once, then in as many sessions as `npm test` simulates. */
const SEARCHES = ["--sessions 2000 --world 50 --until-break", "--sessions 20000 --until-break"];

interface Look {
  /** The first invariant that was broken; null: none. */
  broken: string | null;
  /** The world that breaks it again. */
  world: string | null;
  /** What the simulation said last. */
  last: string;
}

/**
 * Applies each bug to a copy of the tree and lets the simulation look for it; true when it found them all. `isRenewing`: the world in
 * which it was found is written into the patch, where that was another one. One copy serves many bugs: what a patch leaves alone is
 * compiled once.
 */
export async function findBugs(names: readonly string[], isRenewing: boolean): Promise<boolean> {
  const all = readdirSync(BUGS)
    .filter((name) => name.endsWith(".patch"))
    .sort();
  const chosen = all.filter((name) => names.length === 0 || names.includes(basename(name, ".patch")));
  const left = chosen.values();
  let found = 0;
  const worker = async () => {
    const copy = mkdtempSync(join(tmpdir(), "voicetill-bug-"));
    try {
      for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
      symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
      for (const name of left) if (await find(name, copy, isRenewing)) found++;
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  console.log(`\n${found} of ${chosen.length} hand-made bugs found`);
  return found === chosen.length && chosen.length > 0;
}

async function find(name: string, copy: string, isRenewing: boolean): Promise<boolean> {
  const file = join(BUGS, name);
  const patch = readFileSync(file, "utf8");
  const known = KNOWN.exec(patch)?.[1];
  const tell = (word: string, how: string) => console.log(`${word}  ${basename(name, ".patch").padEnd(36)} ${how}`);
  const applied = await run("git", ["apply", file], copy);
  if (applied.code !== 0) {
    tell("MISSED", `the patch does not apply: ${applied.stderr.trim().split("\n")[0] ?? ""}`);
    return false;
  }
  try {
    let look: Look | null = null;
    for (const search of known === undefined ? SEARCHES : [known, ...SEARCHES]) {
      look = await simulate(copy, search);
      if (look.broken === null) continue;
      const isElsewhere = search !== known && look.world !== null;
      if (isElsewhere && isRenewing) writeFileSync(file, renewed(patch, look.world!));
      tell("found ", look.broken + (isElsewhere ? `  (by ${look.world}${isRenewing ? "" : ": --renew writes it down"})` : ""));
      return true;
    }
    tell("MISSED", look?.last ?? "");
    return false;
  } finally {
    const reversed = await run("git", ["apply", "--reverse", file], copy);
    assert.equal(reversed.code, 0, reversed.stderr);
  }
}

/** The patch with the world that shows its bug, below the sentence that says what the bug is. */
const renewed = (patch: string, world: string): string => patch.replace(KNOWN, "").replace("\n", `\nFound by: ${world}\n`);

async function simulate(copy: string, search: string): Promise<Look> {
  const { code, stdout, stderr } = await run(process.execPath, ["prove/main.ts", ...search.split(" ")], copy);
  const broken = code === 1 ? (/^broken invariants\n(.+)/m.exec(stdout)?.[1]?.trim() ?? null) : null;
  const world = /^again: npm run prove -- (.+)$/m.exec(stdout)?.[1] ?? null;
  return { broken, world, last: (stdout || stderr).trim().split("\n").at(-1) ?? "" };
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
