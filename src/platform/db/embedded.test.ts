import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FolderInUse } from "#src/kernel/errors.ts";
import { copyNewDatabase } from "./copied-database.ts";
import { takeDataFolder, whyNotOpened } from "./data-folder.ts";
import { initdb } from "./initdb.ts";
import { openDatabase } from "./open.ts";

const root = mkdtempSync(join(tmpdir(), "voicetill-data-"));
after(() => rmSync(root, { recursive: true, force: true }));
const cache = join(root, "cache");
const CHILD = fileURLToPath(new URL("../../../test/embedded-child.ts", import.meta.url));

interface Writer {
  process: ChildProcess;
  lines: string[];
  /** Resolves when `count` lines have come. */
  printed(count: number): Promise<void>;
}

function startWriter(folder: string): Writer {
  const child = spawn(process.execPath, [CHILD, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const waiter of waiting) if (lines.length >= waiter.count) waiter.resolve();
  });
  return {
    process: child,
    lines,
    printed: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        if (lines.length >= count) resolve();
      }),
  };
}

test("of new databases for many folders one is made, and the others are its copies", async () => {
  const folders = ["killed", "damaged"].map((name) => join(root, name));
  for (const folder of folders) await copyNewDatabase(folder, cache);
  assert.equal(readdirSync(cache).length, 1);
  for (const folder of folders) assert.ok(existsSync(join(folder, "database/global/pg_control")));
});

test("where no new database can be kept none is copied", async () => {
  const file = join(root, "no-cache");
  writeFileSync(file, "");
  await assert.rejects(copyNewDatabase(join(root, "uncopied"), file));
  assert.equal(existsSync(join(root, "uncopied")), false);
});

test("a second process is refused by name; after kill -9 of the first the next one has every acknowledged row", async () => {
  const folder = join(root, "killed");
  await copyNewDatabase(folder, cache);
  const first = startWriter(folder);
  await first.printed(1);

  const second = startWriter(folder);
  const [code] = await once(second.process, "close");
  assert.equal(code, 1);
  const words = `DATA_DIR: the folder ${folder} is in use by another voicetill process: the service that runs already, or a command.`;
  assert.deepEqual(second.lines, [`OperatorError: ${words}`]);

  await first.printed(50);
  first.process.kill("SIGKILL");
  await once(first.process, "close");

  const database = await openDatabase({ databaseUrl: null, dataDir: folder });
  const rows = await database.db.selectFrom("organizations").select("id").execute();
  await database.close();
  const stored = new Set(rows.map(({ id }) => id));
  const lost = first.lines.filter((id) => !stored.has(id));
  assert.deepEqual(lost, []);
});

test("what a first start that was cut short has left is taken away, and a database that stands is left alone", async () => {
  const folder = join(root, "half");
  const first = takeDataFolder(folder);
  const cutShort = Promise.withResolvers<string>();
  void first.begin((path) => {
    writeFileSync(join(path, "PG_VERSION"), "18");
    cutShort.resolve(path);
    return new Promise(() => {});
  });
  const unfinished = await cutShort.promise;
  first.release();
  assert.equal(existsSync(first.path), false);

  const second = takeDataFolder(folder);
  assert.equal(existsSync(unfinished), false);
  await second.begin(async (path) => writeFileSync(join(path, "PG_VERSION"), "18"));
  second.release();

  const third = takeDataFolder(folder);
  await third.begin(() => assert.fail("there is one"));
  assert.deepEqual(readdirSync(third.path), ["PG_VERSION"]);
  third.release();
});

test("a database that cannot be made is one sentence, and leaves nothing", async () => {
  const folder = takeDataFolder(join(root, "full"));
  const full = async (path: string) => {
    writeFileSync(join(path, "PG_VERSION"), "18");
    throw new Error("ENOSPC");
  };
  const message = `DATA_DIR: no database could be made in the folder ${join(root, "full")}; there may be too little space or memory.`;
  await assert.rejects(folder.begin(full), { name: "OperatorError", message });
  assert.deepEqual(
    readdirSync(join(root, "full")).filter((name) => !name.startsWith("database.lock")),
    [],
  );
  folder.release();
});

test("what stands where the database belongs is never taken for nothing", async () => {
  const folder = takeDataFolder(join(root, "other"));
  mkdirSync(folder.path);
  writeFileSync(join(folder.path, "base"), "half a back-up");
  await folder.begin(() => assert.fail("it is not empty"));
  assert.deepEqual(readdirSync(folder.path), ["base"]);
  folder.release();
});

test("initdb that fails says why", async () => {
  await assert.rejects(initdb(join(root, "missing", "folder")), /ENOENT/);
});

test("killed while initdb runs, the service takes it along, and the next start makes a database", async () => {
  const folder = join(root, "killed-at-initdb");
  mkdirSync(folder);
  const watching = watch(folder);
  const begun = once(watching, "change");
  // Their common stderr closes when both have ended.
  const service = spawn(process.execPath, [CHILD, folder], { stdio: ["ignore", "ignore", "pipe"] });
  service.stderr.resume();
  const ended = once(service, "close");
  await begun;
  watching.close();
  while (!readdirSync(folder).some((name) => existsSync(join(folder, name, "PG_VERSION")))) await setImmediate();
  service.kill("SIGKILL");
  await ended;
  assert.equal(existsSync(join(folder, "database")), false);

  const database = await openDatabase({ databaseUrl: null, dataDir: folder });
  assert.equal(await database.ping(30_000), true);
  await database.close();
  assert.deepEqual(
    readdirSync(folder)
      .toSorted()
      .filter((name) => !name.startsWith("database.lock")),
    ["database"],
  );
});

test("one process cannot take the same folder twice either", () => {
  const folder = join(root, "twice");
  const first = takeDataFolder(folder);
  assert.throws(() => takeDataFolder(folder), { name: "OperatorError", message: /in use by another voicetill process/ });
  first.release();
  takeDataFolder(folder).release();
});

test("a folder inside what only looks like one is one sentence, not an endless wait", { skip: !existsSync("/proc/self") }, () => {
  const code = `import { takeDataFolder } from ${JSON.stringify(new URL("./data-folder.ts", import.meta.url).href)};
    try { takeDataFolder("/proc/voicetill/data"); } catch (error) { console.log(error.name, error.message); }`;
  const { stdout, signal } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", code], {
    timeout: 20_000,
    encoding: "utf8",
  });
  assert.equal(signal, null);
  assert.equal(stdout, "OperatorError DATA_DIR: the folder /proc/voicetill/data cannot be made.\n");
});

test("a folder that cannot be made is one sentence", () => {
  const file = join(root, "a-file");
  writeFileSync(file, "");
  assert.throws(() => takeDataFolder(join(file, "data")), { name: "OperatorError", message: /^DATA_DIR: / });
});

test("the database is closed to other users of the machine, also in a data folder that was open to them", () => {
  const folder = join(root, "open");
  mkdirSync(join(folder, "database"), { recursive: true });
  for (const path of [folder, join(folder, "database")]) chmodSync(path, 0o777);
  const taken = takeDataFolder(folder);
  assert.equal(statSync(taken.path).mode & 0o777, 0o700);
  taken.release();
});

test("a damaged database is refused in one sentence and left as it is", async () => {
  const folder = join(root, "damaged");
  await copyNewDatabase(folder, cache);
  const database = await openDatabase({ databaseUrl: null, dataDir: folder });
  await database.close();
  const control = join(folder, "database/global/pg_control");
  writeFileSync(control, "");
  await assert.rejects(openDatabase({ databaseUrl: null, dataDir: folder }), {
    name: "OperatorError",
    message: `DATA_DIR: the embedded database in ${join(folder, "database")} cannot be opened; it may be damaged. Put a back-up in its place, or move it away to begin anew.`,
  });
  assert.equal(statSync(control).size, 0);
});

test("a lock that cannot be taken, as on a full disk, is not another process that has it", () => {
  const folder = join(root, "no-lock");
  mkdirSync(folder);
  writeFileSync(join(folder, "database.lock"), "x".repeat(4096));
  const message = `DATA_DIR: the folder ${folder} cannot be written to.`;
  assert.throws(
    () => takeDataFolder(folder),
    (error: Error) => error.message === message && !(error instanceof FolderInUse),
  );
});

test("a database that cannot be opened on a full disk is not called damaged, which would have it moved away", () => {
  const full = whyNotOpened("/var/till/database", 3_000_000);
  assert.equal(
    full,
    "DATA_DIR: the embedded database in /var/till/database cannot be opened: only 3 MB are free there. Free some space first.",
  );
  assert.match(whyNotOpened("/var/till/database", 40_000_000), /it may be damaged/);
});
