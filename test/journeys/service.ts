import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { startReceiver, type Received } from "#src/cli/receiver.ts";

/** A running service as its operator has it: a process of its own, spoken to over its doors alone. */

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(ROOT, "scripts/voicetill.mjs");
export const WEBHOOK_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const API_KEY = "svc_test_0123456789abcdefghijABCDEFGHIJ01";
const START_MS = 90_000;

export interface Service {
  baseUrl: string;
  sip: { host: string; port: number };
  simulatorsUrl: string;
  folder: string;
  env: Record<string, string>;
  pid(): number;
  /** Everything the process wrote, log lines included. */
  output(): string;
  /** Status webhooks, in the order they came. */
  webhooks: Received[];
  webhook(): Promise<Received>;
  request(method: string, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  create(fields?: object): Promise<{ session_id: string; sip_uri: string }>;
  session(id: string): Promise<Record<string, unknown>>;
  /** Resolves when the session has this status, by its event stream. */
  until(id: string, status: string): Promise<Record<string, unknown>>;
  /** SIGTERM, and its end. */
  end(): Promise<void>;
  /** SIGKILL: no goodbye. */
  kill(): Promise<void>;
  /** The same settings and the same database, anew. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  /** Fields of the project in the apply file. */
  project?: object;
}

/** Runs a command of the program to its end. */
export async function run(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, stdout, stderr };
}

/** A database of its own on the server of TEST_DATABASE_URL; null: the embedded one. */
export async function ownDatabase(): Promise<{ url: string; drop(): Promise<void> } | null> {
  const server = process.env["TEST_DATABASE_URL"];
  if (!server) return null;
  const name = `voicetill_journey_${randomBytes(6).toString("hex")}`;
  const administer = async (sql: string) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await administer(`create database ${name} template template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(`drop database ${name} with (force)`) };
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-journey-"));
  const database = await ownDatabase();
  const webhooks: Received[] = [];
  const waiting: ((received: Received) => void)[] = [];
  const receiver = await startReceiver(0, WEBHOOK_SECRET, (received) => {
    const next = waiting.shift();
    if (next) next(received);
    else webhooks.push(received);
  });
  const loopback = "127.0.0.0/8,::1/128";
  const env: Record<string, string> = {
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    SIP_PORT: "0",
    SIMULATORS_PORT: "0",
    RATE_LIMIT_PER_MINUTE: "0",
    LOG_FORMAT: "json",
    LOG_LEVEL: "debug",
    DATABASE_URL: database?.url ?? "",
    ...(database ? { MASTER_KEY: randomBytes(32).toString("base64"), OUTBOUND_ALLOW: loopback, SIP_TRUNKS: loopback } : {}),
    ...options.env,
  };
  let output = "";
  let child: ChildProcess | null = null;

  const service: Service = {
    baseUrl: "",
    sip: { host: "", port: 0 },
    simulatorsUrl: "",
    folder,
    env,
    pid: () => child?.pid ?? 0,
    output: () => output,
    webhooks,
    webhook: () => {
      const first = webhooks.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => waiting.push(resolve));
    },
    async request(method, path, body) {
      const response = await fetch(service.baseUrl + path, {
        method,
        headers: { authorization: `Bearer ${API_KEY}`, ...(body ? { "content-type": "application/json" } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
    },
    async create(fields = {}) {
      const { status, body } = await service.request("POST", "/v1/sessions", {
        project: "shop",
        caller: "+14155550100",
        amount: "49.95",
        mode: "charge",
        gateway: "stripe",
        ...fields,
      });
      assert.equal(status, 201, JSON.stringify(body));
      return body as unknown as { session_id: string; sip_uri: string };
    },
    session: async (id) => (await service.request("GET", `/v1/sessions/${id}`)).body,
    until: (id, status) => untilStatus(service, id, status),
    async end() {
      const ending = child;
      if (!ending || ending.exitCode !== null) return;
      ending.kill("SIGTERM");
      await once(ending, "exit");
    },
    async kill() {
      const dying = child;
      if (!dying || dying.exitCode !== null) return;
      dying.kill("SIGKILL");
      await once(dying, "exit");
    },
    async restart() {
      const started = await launch(
        { ...env, PORT: new URL(service.baseUrl).port, SIP_PORT: String(service.sip.port) },
        (text) => (output += text),
      );
      child = started.child;
      Object.assign(service, started.addresses);
    },
    async stop() {
      if (child && child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      await receiver.close();
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const started = await launch(env, (text) => (output += text));
  child = started.child;
  Object.assign(service, started.addresses);
  const file = join(folder, "apply.json");
  writeFileSync(
    file,
    JSON.stringify({
      organizations: [
        {
          slug: "acme",
          name: "Acme",
          api_keys: [{ name: "journey", mode: "test", key: API_KEY }],
          projects: [
            {
              slug: "shop",
              name: "Shop",
              currency: "USD",
              status_webhook: { url: receiver.url, secret: WEBHOOK_SECRET },
              ...options.project,
            },
          ],
        },
      ],
    }),
  );
  const applied = await run(["apply", file], env);
  assert.equal(applied.status, 0, applied.stderr);
  return service;
}

export async function launch(env: Record<string, string>, onOutput: (text: string) => void) {
  const child = spawn(process.execPath, [PROGRAM, "serve", "--json"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.on("data", (chunk: Buffer) => onOutput(chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => onOutput(`${line}\n`));
  const first = await Promise.race([
    once(lines, "line", { signal: AbortSignal.timeout(START_MS) }).then(([line]) => line as string),
    once(child, "exit").then(([code]) => assert.fail(`the service ended with status ${code} before it was ready`)),
  ]);
  const { base_url, sip, simulators_url } = JSON.parse(first) as { base_url: string; sip: Service["sip"]; simulators_url: string };
  return { child, addresses: { baseUrl: base_url, sip, simulatorsUrl: simulators_url } };
}

async function untilStatus(service: Service, id: string, status: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.baseUrl}/v1/sessions/${id}/stream`, {
    headers: { authorization: `Bearer ${API_KEY}` },
  });
  assert.equal(response.status, 200);
  let [text, last] = ["", "nothing"];
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      const session = data === undefined ? null : (JSON.parse(data) as Record<string, unknown>);
      last = session ? String(session["status"]) : last;
      if (last === status) return session ?? {};
    }
  }
  throw new assert.AssertionError({ message: `the stream ended with ${last}, not with ${status}` });
}

/** Charges, tokens and the like of one simulator, as its ledger has them. */
export async function ledger(
  simulatorsUrl: string,
  gateway: string,
): Promise<{ kind: string; outcome: string; reference: string | null }[]> {
  const response = await fetch(`${simulatorsUrl}/_ledger/${gateway}`);
  return ((await response.json()) as { entries: { kind: string; outcome: string; reference: string | null }[] }).entries;
}
