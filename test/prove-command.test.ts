import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { test } from "node:test";
import { ROOT } from "./journeys/installation.ts";

function prove(...args: string[]) {
  return spawnSync(process.execPath, ["prove/main.ts", ...args], { cwd: ROOT, encoding: "utf8" });
}

test("a mistake on the command line of the proofs ends in one sentence and status 1, help in status 0", () => {
  const mistakes: [string[], RegExp][] = [
    [["--sessions", "many"], /^--sessions takes a whole number from 1\.\n$/],
    [["kill", "--rounds", "0"], /^--rounds takes a whole number from 1\.\n$/],
    [["kill", "--database", "sqlite"], /^--database takes embedded or postgres\.\n$/],
    [["--session", "3"], /^Unknown option '--session': .* --help tells more\.\n$/],
    [["bug"], /^There is nothing to prove by the name of "bug": .* --help tells more\.\n$/],
  ];
  for (const [args, sentence] of mistakes) {
    const { status, stdout, stderr } = prove(...args);
    assert.deepEqual([status, stdout], [1, ""], args.join(" "));
    assert.match(stderr, sentence);
  }
  const { status, stdout } = prove("kill", "--help");
  assert.equal(status, 0);
  assert.match(stdout, /--rounds N/);
});

test("a small simulation prints what really happened and ends with one line", () => {
  const { status, stdout } = prove("--sessions", "20", "--seed", "3");
  assert.equal(status, 0);
  assert.match(stdout, /\n20 sessions asked for, .* 1 world from seed 3, .*: 0 broken invariants, 0 races missed\n$/);
});

test("every hand-made bug still applies to the source", () => {
  const patches = globSync("prove/bugs/*.patch", { cwd: ROOT });
  assert.ok(patches.length >= 24);
  for (const patch of patches) {
    const { status, stderr } = spawnSync("git", ["apply", "--check", patch], { cwd: ROOT, encoding: "utf8" });
    assert.equal(status, 0, `${patch}: ${stderr}`);
  }
});
