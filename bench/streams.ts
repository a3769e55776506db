/**
 * Open streams: npm run bench -- streams [--streams 2000] [--changes 500]
 *
 * GET /v1/sessions/{id}/stream of the real API on PostgreSQL, in a process of its own: resident memory, descriptors and
 * LISTENs for so many idle streams, and the time from a change's commit (made by this process) to its event at the client (a
 * third process). Aim: at most 25 KiB a stream, 20 ms at p99. Memory is read after a full collection; of fewer streams it is
 * mostly the heap's steps. The limits of are off. BENCH_DATABASE_URL names the server; a database of its own is made there and dropped.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type AddressInfo, connect, type Socket } from "node:net";
import { parseArgs } from "node:util";
import { Client } from "pg";
import type { NewSession, Sessions } from "#src/sessions/index.ts";
import { figure } from "./budgets.ts";
import { apiOver, openModules } from "./modules.ts";

const HOST = "127.0.0.1";
const KEY = `svc_test_${"s".repeat(32)}`;
const ORGANIZATION = {
  slug: "acme",
  name: "Acme",
  api_keys: [{ name: "bench", mode: "test", key: KEY }],
  projects: [{ slug: "shop", name: "Shop", currency: "USD", country: "US" }],
};
/** Streams opened at a time. */
const OPENING = 50;

/** Milliseconds that mean the same in all three processes. */
const now = () => performance.timeOrigin + performance.now();

interface State {
  rss: number;
  descriptors: number;
}
interface Seen {
  session: string;
  at: number;
}

async function main({ streams, changes }: { streams: number; changes: number }): Promise<void> {
  const server = process.env["BENCH_DATABASE_URL"] ?? "postgres://root@127.0.0.1:5432/postgres";
  const name = `voicetill_bench_${randomBytes(4).toString("hex")}`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const children: ChildProcess[] = [];
  const modules = await openModules(url.href);
  try {
    await modules.database.migrate();
    await modules.projects.applyFile(JSON.stringify({ organizations: [ORGANIZATION] }), {});
    const start = async (role: string, execArgv: string[] = []) => {
      const child = fork(new URL(import.meta.url), ["--role", role, "--database", url.href], { execArgv });
      children.push(child);
      return { child, first: ((await once(child, "message")) as [number])[0] };
    };
    const api = await start("server", ["--expose-gc"]);
    const clients = await start("clients");
    const state = async (): Promise<State> => {
      api.child.send("state");
      return ((await once(api.child, "message")) as [State])[0];
    };
    const opened = async (sessions: string[]) => {
      clients.child.send({ port: api.first, sessions });
      await done(clients.child);
    };

    const { id: projectId, organization_id: organizationId } = await modules.database.db
      .selectFrom("projects")
      .select(["id", "organization_id"])
      .executeTakeFirstOrThrow();
    const make = (count: number) =>
      Promise.all(
        Array.from(
          { length: count },
          async () => (await modules.sessions.create(modules.database.db, { ...SESSION, organizationId, projectId })).id,
        ),
      );

    // What the first streams cost once, code and pools, is not the streams'.
    const warm = await make(200);
    await opened(warm);
    for (const id of warm) await modules.sessions.apply(id, "cancel");
    const before = await state();
    const ids = await make(streams);
    const began = now();
    await opened(ids);
    const seconds = (now() - began) / 1000;
    const after = await state();
    const perStream = (after.rss - before.rss) / streams;
    console.log(`${streams} idle streams, opened in ${seconds.toFixed(1)} s`);
    console.log(
      `resident memory: ${mib(before.rss)} before, ${mib(after.rss)} with them: ${(perStream / 1024).toFixed(1)} KiB a stream (target: at most 25)`,
    );
    figure("stream_memory", perStream / 1024);
    console.log(`descriptors: ${before.descriptors} before, ${after.descriptors} with them`);
    const { rows } = await admin.query(
      "select count(*)::int as listeners from pg_stat_activity where datname = $1 and application_name = 'voicetill listener'",
      [name],
    );
    console.log(`connections that listen: ${(rows[0] as { listeners: number }).listeners}, one a process (this one has none)`);

    const delays = await measureChanges(modules.sessions, clients.child, ids.slice(0, changes));
    console.log(
      `change to event, ${delays.length} changes: p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms (target: at most 20), longest ${quantile(delays, 1)} ms`,
    );
    figure("event_p99", Number(quantile(delays, 0.99)));

    clients.child.send("close");
    await done(clients.child);
    let left = await state();
    for (let tries = 0; tries < 50 && left.descriptors > before.descriptors; tries++) left = await state();
    console.log(`after they left: ${mib(left.rss)}, ${left.descriptors} descriptors`);
  } finally {
    for (const child of children) child.disconnect();
    await Promise.all(children.map(async (child) => child.exitCode ?? once(child, "exit")));
    await modules.database.close();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

const SESSION: Omit<NewSession, "organizationId" | "projectId"> = {
  environment: "test",
  channel: "voice",
  mode: "charge",
  gateway: "stripe",
  amountMinor: 4999,
  currency: "USD",
  caller: "+14155550100",
  description: null,
  callback: null,
  memory: null,
  connectedAccount: null,
  billingAddress: null,
  ttlSeconds: 3600,
};

/** The clients have done what they were told; what they saw meanwhile comes in between. */
async function done(clients: ChildProcess): Promise<void> {
  for (;;) if (((await once(clients, "message")) as unknown[])[0] === "done") return;
}

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
const quantile = (sorted: number[], fraction: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? NaN).toFixed(1);

/** Claims one session after the other; returns the sorted times, in ms, from each commit to its event. */
async function measureChanges(sessions: Sessions, clients: ChildProcess, ids: string[]): Promise<number[]> {
  const seen = new Map<string, number>();
  const committed = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const wanted = new Set(ids);
  clients.on("message", ({ session, at }: Seen) => {
    if (!wanted.has(session)) return;
    seen.set(session, at);
    if (seen.size === ids.length) all.resolve();
  });
  for (const id of ids) {
    await sessions.claim(id, { owner: "bench", callId: id });
    committed.set(id, now());
  }
  await all.promise;
  clients.removeAllListeners("message");
  // The event may overtake the news of the commit.
  return ids.map((id) => Math.max(0, seen.get(id)! - committed.get(id)!)).toSorted((a, b) => a - b);
}

async function serve(url: string): Promise<void> {
  const modules = await openModules(url);
  const { database, sessions } = modules;
  await sessions.start();
  const app = apiOver(modules, 0);
  await app.listen({ host: HOST, port: 0 });
  process.on("message", () => {
    globalThis.gc!();
    process.send!({ rss: process.memoryUsage.rss(), descriptors: readdirSync("/proc/self/fd").length } satisfies State);
  });
  process.once(
    "disconnect",
    () =>
      void app
        .close()
        .then(() => sessions.stop())
        .then(() => database.close()),
  );
  process.send!((app.server.address() as AddressInfo).port);
}

/** Raw sockets: 5,000 of Node's HTTP clients would be what is measured. */
function beClients(): void {
  const sockets: Socket[] = [];
  const openOne = (port: number, session: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(port, HOST);
      sockets.push(socket);
      let events = 0;
      socket.on("connect", () =>
        socket.write(`GET /v1/sessions/${session}/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${KEY}\r\n\r\n`),
      );
      socket.on("error", () => {});
      socket.on("data", (chunk: Buffer) => {
        if (!chunk.includes("data: {")) return;
        if (events++ === 0) resolve();
        else process.send!({ session, at: now() } satisfies Seen);
      });
    });
  const close = async (socket: Socket) => {
    if (!socket.closed) await once(socket.destroy(), "close");
  };
  const obey = async (message: { port: number; sessions: string[] } | "close") => {
    if (message === "close") {
      await Promise.all(sockets.map(close));
      process.send!("done");
      return;
    }
    const waiting = [...message.sessions];
    const opener = async () => {
      for (let session = waiting.pop(); session; session = waiting.pop()) await openOne(message.port, session);
    };
    await Promise.all(Array.from({ length: OPENING }, opener));
    process.send!("done");
  };
  process.on("message", (message: Parameters<typeof obey>[0]) => void obey(message));
  process.send!(0);
}

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "2000" },
    changes: { type: "string", default: "500" },
    role: { type: "string", default: "main" },
    database: { type: "string", default: "" },
  },
});
if (values.role === "server") await serve(values.database);
else if (values.role === "clients") beClients();
else await main({ streams: Number(values.streams), changes: Number(values.changes) });
