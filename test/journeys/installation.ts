import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock, within } from "#src/kernel/clock.ts";
import { createDatabase, migratedSnapshot } from "#src/platform/testing.ts";

/** An installation as its operator has it: a data folder, settings, a database; processes and commands of the program on it. */

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Rendered prompts are the same at every run and in every process: the first that needs one renders it for all. */
export const PROMPT_CACHE = join(ROOT, "node_modules/.cache/voicetill/prompts");
const PROGRAM = join(ROOT, "scripts/voicetill.mjs");
export const WEBHOOK_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const API_KEY = "svc_test_0123456789abcdefghijABCDEFGHIJ01";
const LOOPBACK = "127.0.0.0/8,::1/128";
const START_MS = 90_000;
/** Longer than the service takes to say what it has not ended. */
const END_MS = 140_000;

export interface Installation {
  folder: string;
  /** Settings of every process and command; a test may change them between two starts. */
  env: Record<string, string>;
  /** Applies a file with this organisation alone. */
  apply(organization: object): Promise<{ changes: object[] }>;
  /** What a command prints with --json; it must succeed. */
  json: <T = Record<string, unknown>>(...args: string[]) => Promise<T>;
  /** Runs a command that cannot be done: one sentence on standard error, nothing on standard output, exit status 1. */
  refused: (args: string[], sentence: RegExp) => Promise<void>;
  /** Forgets the data. */
  close(): Promise<void>;
}

/** `embedded`: PGlite, whatever PostgreSQL there is. */
export async function openInstallation(settings: Record<string, string>, { embedded = false } = {}): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-journey-"));
  const server = process.env["TEST_DATABASE_URL"];
  const database = server && !embedded ? await createDatabase(server) : null;
  const env: Record<string, string> = {
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    SIP_PORT: "0",
    SPEECH: "off",
    LOG_FORMAT: "json",
    LOG_LEVEL: "debug",
    DATABASE_URL: database?.url ?? "",
    ...(database && { MASTER_KEY: randomBytes(32).toString("base64"), OUTBOUND_ALLOW: LOOPBACK, SIP_TRUNKS: LOOPBACK }),
    ...settings,
  };
  mkdirSync(PROMPT_CACHE, { recursive: true });
  mkdirSync(env["DATA_DIR"]!, { mode: 0o700 });
  symlinkSync(PROMPT_CACHE, join(env["DATA_DIR"]!, "prompts"));
  if (!database) await unpackDatabase(join(env["DATA_DIR"]!, "database"));
  const json: Installation["json"] = async (...args) => {
    const { status, stdout, stderr } = await run([...args, "--json"], env);
    assert.equal(status, 0, stderr + stdout);
    return JSON.parse(stdout) as never;
  };
  return {
    folder,
    env,
    json,
    async refused(args, sentence) {
      const { status, stdout, stderr } = await run(args, env);
      assert.deepEqual([status, stdout, stderr.trim().split("\n").length], [1, "", 1], stderr);
      assert.match(stderr, sentence);
    },
    async apply(organization) {
      const file = join(folder, "apply.json");
      writeFileSync(file, JSON.stringify({ organizations: [organization] }));
      return await json<{ changes: object[] }>("apply", file).finally(() => rmSync(file));
    },
    async close() {
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An empty database saves each installation the seconds of a first start, which `npm start` goes through in the operator's journeys. */
async function unpackDatabase(folder: string): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  // The names in PGlite's tar begin with a slash; tar takes it away, and says so.
  execFileSync("tar", ["-xf", "-", "-C", folder], { input: await migratedSnapshot(), stdio: ["pipe", "ignore", "ignore"] });
}

/** The organisation of most journeys: a key and the project "shop". */
export function organization(project: object, apiKeys: object[] = [{ name: "journey", mode: "test", key: API_KEY }]): object {
  return { slug: "acme", name: "Acme", api_keys: apiKeys, projects: [{ slug: "shop", name: "Shop", currency: "USD", ...project }] };
}

/** A project's `gateways` when the simulators run on their own. */
export function stripeAt(simulatorsUrl: string): object {
  return { stripe: { test: { credentials: { secret_key: "sk_test_journey" }, endpoint: `${simulatorsUrl}/stripe` } } };
}

/** Runs a command of the program to its end. */
export async function run(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = start(args, env);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, stdout, stderr };
}

/** A process that serves. */
export interface Serving {
  /** As the process itself names it. */
  baseUrl: string;
  sip: { host: string; port: number } | null;
  simulatorsUrl: string | null;
  child: ReturnType<typeof start>;
  /** Everything it wrote, log lines included. */
  output: () => string;
  /** Sends the signal if it still runs, and resolves with the exit status, null after SIGKILL. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the service and resolves when it serves. */
export async function serve(env: Record<string, string>): Promise<Serving> {
  const child = start(["serve", "--json"], env);
  const exited = once(child, "exit") as Promise<[number | null]>;
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => (output += `${line}\n`));
  const first = await Promise.race([
    once(lines, "line", { signal: AbortSignal.timeout(START_MS) }).then(([line]) => line as string),
    exited.then(([code]) => assert.fail(`the service ended with status ${code} before it was ready: ${output}`)),
  ]);
  const { base_url, sip, simulators_url } = JSON.parse(first) as {
    base_url: string;
    sip: Serving["sip"];
    simulators_url: string | null;
  };
  return {
    baseUrl: base_url,
    sip,
    simulatorsUrl: simulators_url,
    child,
    output: () => output,
    async end(signal = "SIGTERM") {
      child.kill(signal);
      const late = () => assert.fail(`the service has not ended ${END_MS} ms after ${signal}: ${output}`);
      return (await within(systemClock, END_MS, exited, late))[0];
    },
  };
}

function start(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  // A test that was given up leaves nothing behind.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.removeListener("exit", kill));
  return child;
}
