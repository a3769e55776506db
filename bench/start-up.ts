/**
 * Starting: npm run bench -- start-up [--rest 10]
 *
 * A first start in an empty folder, then starts on what it left, embedded and on PostgreSQL (BENCH_DATABASE_URL, default
 * postgres://root@127.0.0.1:5432/postgres; a database of its own is made there and dropped): from the command to the first 200 of /health,
 * and the resident memory, its most and after so many seconds at rest. Aim: 1.5 and 1.0 s; 350 and 200 MiB; a first start never over
 * 600 MiB. Memory is the sum of VmRSS over the process and those that it has started, every 20 ms, so that what they share counts for
 * each of them; at most: the highest sum, or the process's own VmHWM. A first start rests once it has rendered the prompts.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { freePort } from "../test/free-port.ts";
import { figure } from "./budgets.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const POLL_MS = 10;
const SAMPLE_MS = 20;
/** No prompt takes so long. */
const QUIET_MS = 3000;
const MASTER_KEY = randomBytes(32).toString("base64");

interface Started {
  seconds: number;
  /** Resident memory, MiB. */
  most: number;
  atRest: number;
}

/** A line of a process's memory as proc(5) has it, MiB; 0 when it has ended. */
function memoryOf(pid: number, line: "VmHWM" | "VmRSS"): number {
  const [, kib = "0"] = new RegExp(`^${line}:\\s+(\\d+) kB`, "m").exec(textOf(`/proc/${pid}/status`)) ?? [];
  return Number(kib) / 1024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function childrenOf(pid: number): number[] {
  const threads = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : [];
  return threads.flatMap((thread) => textOf(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number));
}

/** Resident memory of a process and those that it has started, MiB. One that has not begun its own program has no memory of its own yet. */
function memoryOfAll(pid: number): number {
  const program = textOf(`/proc/${pid}/cmdline`);
  const begun = childrenOf(pid).filter((child) => textOf(`/proc/${child}/cmdline`) !== program);
  return [pid, ...begun].reduce((sum, each) => sum + memoryOf(each, "VmRSS"), 0);
}

/** Resolves when no more prompts are being rendered into the data folder. */
async function rendered(pid: number, folder: string): Promise<void> {
  const count = () => (existsSync(join(folder, "prompts")) ? readdirSync(join(folder, "prompts")).length : 0);
  for (let [before, now] = [-1, 0]; now !== before || now === 0 || childrenOf(pid).length > 0; [before, now] = [now, count()])
    await delay(QUIET_MS);
}

async function start(folder: string, databaseUrl: string | null, restMs: number): Promise<Started> {
  const [port, sipPort] = [await freePort(), await freePort()];
  const began = performance.now();
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN, "serve"], {
    stdio: "ignore",
    env: {
      ...process.env,
      DATA_DIR: folder,
      PORT: String(port),
      SIP_PORT: String(sipPort),
      // As each database has them by default.
      SIMULATORS_PORT: databaseUrl === null ? "0" : "",
      LOG_LEVEL: "error",
      ...(databaseUrl !== null && { DATABASE_URL: databaseUrl, MASTER_KEY }),
    },
  });
  const pid = child.pid!;
  let most = 0;
  const sampling = setInterval(() => (most = Math.max(most, memoryOfAll(pid))), SAMPLE_MS);
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ status }) => status === 200,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`the service ended with status ${child.exitCode}`);
    await delay(POLL_MS);
  }
  const seconds = (performance.now() - began) / 1000;
  await rendered(pid, folder);
  await delay(restMs);
  clearInterval(sampling);
  const result = { seconds, most: Math.max(most, memoryOf(pid, "VmHWM")), atRest: memoryOfAll(pid) };
  child.kill("SIGTERM");
  await once(child, "exit");
  return result;
}

const { values } = parseArgs({ options: { rest: { type: "string", default: "10" } } });
const restMs = Number(values.rest) * 1000;
const folder = mkdtempSync(join(tmpdir(), "voicetill-start-"));
const server = process.env["BENCH_DATABASE_URL"] ?? "postgres://root@127.0.0.1:5432/postgres";
const name = `voicetill_bench_${randomBytes(4).toString("hex")}`;
const url = new URL(server);
url.pathname = `/${name}`;
const admin = new Client({ connectionString: server });
await admin.connect();
await admin.query(`create database ${name}`);
const show = (what: string, { seconds, most, atRest }: Started) =>
  console.log(
    `${what.padEnd(34)} ${seconds.toFixed(2).padStart(6)} s   ${most.toFixed(0).padStart(5)} MiB at most   ${atRest.toFixed(0).padStart(5)} MiB at rest`,
  );
try {
  const first = await start(join(folder, "embedded"), null, restMs);
  show("first start, embedded", first);
  figure("first_start", first.most);
  const embedded = await start(join(folder, "embedded"), null, restMs);
  show("on existing data, embedded", embedded);
  figure("start_embedded", embedded.seconds);
  figure("idle_embedded", embedded.atRest);
  const firstOnServer = await start(join(folder, "postgres"), url.href, restMs);
  show("first start, PostgreSQL", firstOnServer);
  const postgres = await start(join(folder, "postgres"), url.href, restMs);
  show("on existing data, PostgreSQL", postgres);
  figure("start_postgres", postgres.seconds);
  // What rendering the prompts leaves behind counts too.
  figure("idle_postgres", Math.max(firstOnServer.atRest, postgres.atRest));
} finally {
  await admin.query(`drop database ${name} with (force)`);
  await admin.end();
  rmSync(folder, { recursive: true, force: true });
}
console.log("done: from the command to the first 200 of /health");
