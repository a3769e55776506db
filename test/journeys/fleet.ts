import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownDatabase, launch, run } from "./service.ts";

/** Several processes of one installation, each with roles of its own. With one process it may also run embedded. */

export interface FleetProcess {
  /** As the process itself names it. */
  baseUrl: string;
  sip: { host: string; port: number } | null;
  child: ChildProcess;
  output: () => string;
  /** Sends the signal and resolves with the exit status, null after SIGKILL. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface Fleet {
  /** What commands such as `apply` need to reach this installation. */
  env: Record<string, string>;
  databaseUrl: string;
  start(roles: string, env?: Record<string, string>): Promise<FleetProcess>;
  apply(organization: object): Promise<void>;
  /** Ends every process that still runs, and forgets the data. */
  close(): Promise<void>;
}

/** A session as the interface shows it. */
export type Shown = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  body: Shown;
}

/** `embedded`: PGlite, whatever PostgreSQL there is. */
export async function openFleet({ embedded = false } = {}): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-fleet-"));
  const database = embedded ? null : await ownDatabase();
  const loopback = "127.0.0.0/8,::1/128";
  const env: Record<string, string> = {
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    SIP_PORT: "0",
    SIMULATORS_PORT: "",
    SPEECH: "off",
    LOG_FORMAT: "json",
    LOG_LEVEL: "debug",
    DATABASE_URL: database?.url ?? "",
    ...(database ? { MASTER_KEY: randomBytes(32).toString("base64"), OUTBOUND_ALLOW: loopback, SIP_TRUNKS: loopback } : {}),
  };
  const processes: FleetProcess[] = [];

  return {
    env,
    databaseUrl: database?.url ?? "",
    async start(roles, more = {}) {
      let output = "";
      const { child, addresses } = await launch({ ...env, ROLES: roles, ...more }, (text) => (output += text)).catch((cause: unknown) => {
        throw new Error(`no process with the roles ${roles}: ${output}`, { cause });
      });
      const exited = once(child, "exit") as Promise<[number | null]>;
      const started: FleetProcess = {
        baseUrl: addresses.baseUrl,
        sip: addresses.sip,
        child,
        output: () => output,
        async end(signal = "SIGTERM") {
          child.kill(signal);
          return (await exited)[0];
        },
      };
      processes.push(started);
      return started;
    },
    async apply(organization) {
      const file = join(folder, `${randomBytes(4).toString("hex")}.json`);
      writeFileSync(file, JSON.stringify({ organizations: [organization] }));
      const { status, stderr } = await run(["apply", file], env);
      assert.equal(status, 0, stderr);
    },
    async close() {
      const running = processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
      await Promise.all(running.map((started) => started.end("SIGKILL")));
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A port that is free for both UDP and TCP at this moment. */
export async function freePort(): Promise<number> {
  const tcp = createServer().listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4").bind(port, "127.0.0.1");
  await once(udp, "listening");
  await Promise.all([new Promise((done) => tcp.close(done)), new Promise<void>((done) => udp.close(done))]);
  return port;
}

export async function ask(url: string, method: string, key: string, { body, headers = {} }: { body?: object; headers?: object } = {}) {
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: { authorization: `Bearer ${key}`, ...(body ? { "content-type": "application/json" } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const answer: Answer = { status: response.status, headers: response.headers, body: text === "" ? {} : (JSON.parse(text) as Shown) };
  return answer;
}

export interface StreamReader {
  /** Every session shown so far. */
  shown: Shown[];
  /** Resolves with the session when the stream shows this status; rejects when it ends before. */
  until(status: string): Promise<Shown>;
  /** Resolves with everything that was sent, when the server has ended the stream. */
  ended: Promise<string>;
}

/** Opens a session's event stream. Resolves when its first event is there. */
export async function openStream(url: string, key: string, headers: object = {}): Promise<StreamReader> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, ...headers } });
  assert.equal(response.status, 200);
  const shown: Shown[] = [];
  const waiting = new Set<{ status: string; resolve: (session: Shown) => void; reject: (error: Error) => void }>();
  const first = Promise.withResolvers<void>();

  const read = async (): Promise<string> => {
    let [text, seen] = ["", 0];
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      const events = text.split("\n\n").slice(0, -1);
      for (; seen < events.length; seen++) {
        const data = /^data: ?(.*)$/m.exec(events[seen]!)?.[1];
        if (data === undefined) continue;
        const session = JSON.parse(data) as Shown;
        shown.push(session);
        first.resolve();
        for (const wish of waiting) if (wish.status === session["status"]) wish.resolve(session);
      }
    }
    return text;
  };
  const ended = read().finally(() => {
    for (const { status, reject } of waiting) reject(new Error(`the stream ended without ${status}`));
  });
  ended.catch(() => undefined);
  await Promise.race([first.promise, ended]);

  return {
    shown,
    ended,
    until: async (status) => {
      const known = shown.find((session) => session["status"] === status);
      if (known) return known;
      const { promise, resolve, reject } = Promise.withResolvers<Shown>();
      const wish = { status, resolve, reject };
      waiting.add(wish);
      return await promise.finally(() => waiting.delete(wish));
    },
  };
}
