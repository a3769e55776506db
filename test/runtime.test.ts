import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";

interface Runtime {
  version: string;
  sha256: Record<string, string>;
}
interface Options {
  runtime?: Runtime;
  platform?: string;
}
const { RUNTIME, binaryIn, bytesFault, runtimeFault } = (await import(new URL("../scripts/runtime.mjs", import.meta.url).href)) as {
  RUNTIME: Runtime;
  binaryIn: (root: string) => string;
  bytesFault: (root: string, options?: Options) => string | null;
  runtimeFault: (root: string, options?: Options) => string | null;
};

const root = mkdtempSync(join(tmpdir(), "voicetill-runtime-"));
const file = binaryIn(root);
const PROGRAM = "#!/bin/sh\necho v1.2.3\n";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const pinned: Options = { platform: "here", runtime: { version: "1.2.3", sha256: { here: sha256(PROGRAM) } } };

function install(text: string): void {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}
beforeEach(() => rmSync(join(root, "node_modules"), { recursive: true, force: true }));
after(() => rmSync(root, { recursive: true }));

test("the pinned Node.js of this machine is what the project pins, and the lockfile has the same version", () => {
  const json = (path: string) =>
    JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as Record<string, Record<string, unknown>>;
  assert.equal(json("../package.json")["dependencies"]?.["node"], RUNTIME.version);
  const locked = json("../package-lock.json")["packages"]?.["node_modules/node"] as { version: string } | undefined;
  assert.equal(locked?.version, RUNTIME.version);
  const here = new URL("..", import.meta.url).pathname;
  // A machine with a Node.js of its own may have none.
  if (existsSync(binaryIn(here))) assert.equal(runtimeFault(here), null);
  assert.equal(new Set(Object.values(RUNTIME.sha256)).size, 4);
});

test("a binary with the pinned bytes and version is taken, at once and again", () => {
  install(PROGRAM);
  assert.equal(runtimeFault(root, pinned), null);
  assert.equal(runtimeFault(root, pinned), null);
  assert.equal(bytesFault(root, pinned), null);
});

test("a binary with other bytes is not even run, also when it takes the place of one that was checked", () => {
  const ran = join(root, "ran");
  const other = `#!/bin/sh\ntouch ${ran}\necho v1.2.3\n`;
  install(other);
  assert.match(runtimeFault(root, pinned) ?? "", /is not the Node\.js 1\.2\.3 that this project pins/);
  assert.throws(() => readFileSync(ran), /ENOENT/);
  install(PROGRAM);
  assert.equal(runtimeFault(root, pinned), null);
  install(other);
  assert.match(bytesFault(root, pinned) ?? "", /is not the Node\.js 1\.2\.3/);
  assert.throws(() => readFileSync(ran), /ENOENT/);
});

test("where nothing is pinned for the platform the version decides", () => {
  install(PROGRAM);
  assert.equal(runtimeFault(root, { ...pinned, platform: "elsewhere" }), null);
  install("#!/bin/sh\necho v1.2.4\n");
  assert.equal(runtimeFault(root, { ...pinned, platform: "elsewhere" }), "is v1.2.4, not v1.2.3");
});

test("a missing binary and one that does not run are named", () => {
  assert.equal(runtimeFault(root, pinned), "is not installed");
  install("#!/bin/sh\nexit 1\n");
  assert.equal(runtimeFault(root, { ...pinned, platform: "elsewhere" }), "does not run on this machine");
});

test("sixty-four look-ups of names that no server answers for delay no other in the service: half of all threads may look up (S-50)", () => {
  const project = new URL("..", import.meta.url).pathname;
  const script = join(root, "threads.mjs");
  const body = `import { readdirSync } from "node:fs"; import { readFile } from "node:fs/promises";
    setImmediate(async () => { await readFile("/proc/self/stat"); console.log("threads:", readdirSync("/proc/self/task").length); });`;
  writeFileSync(script, body);
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env;
  const threadsOf = (...command: string[]) => {
    const args = ["--import", script, join(project, "scripts/voicetill.mjs"), ...command, "--help"];
    return Number(/threads: (\d+)/.exec(execFileSync(process.execPath, args, { env, encoding: "utf8" }))?.[1]);
  };
  assert.ok(threadsOf("serve") > 2 * 64);
  assert.ok(threadsOf("doctor") < 64);
});
