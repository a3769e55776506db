/**
 * Making sessions: npm run bench -- session-create [--rounds 8] [--seconds 1] [--connections 1,8,32]
 *
 * POST /v1/sessions of the real API on PostgreSQL (keys, shared rate limit, validation and all), with and without an
 * Idempotency-Key of its own on each request, against a bare node:http + pg server that makes the same row from the same body
 * (and knows neither keys nor limits nor idempotency) and against pgbench making that row with as many clients, turn about in one run. Aim:
 * 1.3 times the bare server at 8 and 32 connections, 0.9 at one. Then GET /v1/sessions/{id} and GET by caller against the bare server reading
 * the same row by a prepared statement: aim 0.8. BENCH_DATABASE_URL names the server (default
 * postgres://root@127.0.0.1:5432/postgres); a database of its own is made there and dropped.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { parseArgs } from "node:util";
import { Client, Pool } from "pg";
import { systemRandom } from "#src/kernel/random.ts";
import { figure } from "./budgets.ts";
import { apiOver, openModules } from "./modules.ts";

const HOST = "127.0.0.1";
/** Requests are counted as for any limit. */
const NEVER_REACHED = 1_000_000_000;
/** As many as the service's own pool has. */
const POOL = 10;
const KEY = `svc_test_${"b".repeat(32)}`;
const BODY = JSON.stringify({ project: "shop", caller: "+14155550100", amount: 49.99, mode: "charge", gateway: "stripe" });
const PROJECTS = {
  organizations: [
    {
      slug: "acme",
      name: "Acme",
      api_keys: [{ name: "bench", mode: "test", key: KEY }],
      projects: [
        {
          slug: "shop",
          name: "Shop",
          currency: "USD",
          country: "US",
          gateways: { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } },
        },
      ],
    },
  ],
};

const INSERT = (values: string) => `insert into sessions
  (id, organization_id, project_id, environment, channel, status, mode, gateway, amount_minor, currency, caller, expires_at)
  values (${values}, now() + interval '300 s') returning id, created_at`;

interface Load {
  port: number;
  seconds: number;
  connections: number;
  /** `keyed`: a creation with an Idempotency-Key of its own on every request. */
  what: "create" | "keyed" | "read" | "find";
  /** The session that is read. */
  id: string;
}
interface Measured {
  count: number;
  perSecond: number;
  p50: number;
  p99: number;
}

async function main({ rounds, seconds, connections }: { rounds: number; seconds: number; connections: number[] }): Promise<void> {
  const server = process.env["BENCH_DATABASE_URL"] ?? "postgres://root@127.0.0.1:5432/postgres";
  const name = `voicetill_bench_${randomBytes(4).toString("hex")}`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const children: ChildProcess[] = [];
  try {
    const { script, id } = await prepare(url.href);
    const start = async (role: string) => {
      const child = fork(new URL(import.meta.url), [role, url.href]);
      children.push(child);
      return { child, port: ((await once(child, "message")) as [number])[0] };
    };
    const [bare, ours, load] = [await start("bare"), await start("ours"), await start("load")];
    const cpu = async (of: ChildProcess): Promise<number> => {
      of.send("cpu");
      return ((await once(of, "message")) as [number])[0];
    };
    const measure = async ({ child, port }: typeof bare, by: Omit<Load, "port" | "id">): Promise<Measured & { cpu: number }> => {
      const before = await cpu(child);
      load.child.send({ port, id, ...by } satisfies Load);
      const measured = ((await once(load.child, "message")) as [Measured])[0];
      return { ...measured, cpu: ((await cpu(child)) - before) / measured.count };
    };
    for (const target of [bare, ours]) {
      for (const what of ["create", "keyed", "read", "find"] as const) await measure(target, { seconds: 2, connections: 32, what });
    }
    for (const count of connections) {
      const measureOne = async (target: typeof bare, what: Load["what"]) => measure(target, { seconds, connections: count, what });
      const of: Record<"bare" | "pgbench", { bare: number[]; ours: number[]; keyed: number[] }> = {
        bare: { bare: [], ours: [], keyed: [] },
        pgbench: { bare: [], ours: [], keyed: [] },
      };
      console.log(
        `\n${count} connection${count === 1 ? "" : "s"}\nround |${["bare", "ours", "ours with key"].map(heading).join("|")}| pgbench/s`,
      );
      for (let round = 1; round <= rounds; round++) {
        const [ofBare, ofOurs, ofKeyed] = [
          await measureOne(bare, "create"),
          await measureOne(ours, "create"),
          await measureOne(ours, "keyed"),
        ];
        const ofPgbench = pgbench(url, script, seconds, count);
        for (const [anchor, perSecond] of [
          ["bare", ofBare.perSecond],
          ["pgbench", ofPgbench],
        ] as const) {
          of[anchor].bare.push(ofBare.perSecond / perSecond);
          of[anchor].ours.push(ofOurs.perSecond / perSecond);
          of[anchor].keyed.push(ofKeyed.perSecond / perSecond);
        }
        console.log(
          `${String(round).padStart(5)} | ${[show(ofBare), show(ofOurs), show(ofKeyed)].join(" | ")} | ${ofPgbench.toFixed(0).padStart(9)}`,
        );
      }
      console.log(
        `median of the rounds, of bare (target: 130 %, 90 % at one connection): ours ${middle(of.bare.ours)}, with key ${middle(of.bare.keyed)};  ` +
          `of pgbench (towards 60 %): bare ${middle(of.pgbench.bare)}, ours ${middle(of.pgbench.ours)}, with key ${middle(of.pgbench.keyed)}`,
      );
      figure(`create_${count}`, median(of.bare.ours));
      figure(`keyed_${count}`, median(of.bare.keyed));
      for (const what of ["read", "find"] as const) {
        const ratios: number[] = [];
        console.log(`${what === "read" ? "GET" : "GET by caller"}\nround |${["bare", "ours"].map(heading).join("|")}`);
        for (let round = 1; round <= rounds; round++) {
          const [ofBare, ofOurs] = [await measureOne(bare, what), await measureOne(ours, what)];
          ratios.push(ofOurs.perSecond / ofBare.perSecond);
          console.log(`${String(round).padStart(5)} | ${[show(ofBare), show(ofOurs)].join(" | ")}`);
        }
        console.log(`median of the rounds, of bare (target: 80 %): ${middle(ratios)}`);
        figure(`${what}_${count}`, median(ratios));
      }
    }
  } finally {
    for (const child of children) child.disconnect();
    await Promise.all(children.map(async (child) => child.exitCode ?? once(child, "exit")));
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

const heading = (name: string) => ` ${name.padEnd(14)} req/s    p50    p99 ms CPU us `;
const show = ({ perSecond, p50, p99, cpu }: Measured & { cpu: number }) =>
  `${perSecond.toFixed(0).padStart(20)} ${p50.toFixed(2).padStart(6)} ${p99.toFixed(2).padStart(9)} ${cpu.toFixed(0).padStart(6)}`;
const median = (ratios: number[]) => ratios.toSorted((a, b) => a - b)[ratios.length >> 1]!;
const middle = (ratios: number[]) => `${(100 * median(ratios)).toFixed(0)} %`;

/** Whose session is read. */
const READ_CALLER = "+14155550199";

/** Makes the tables, the project and a session to be read; answers pgbench's script and that session's id. */
async function prepare(url: string): Promise<{ script: string; id: string }> {
  const { database, projects } = await openModules(url);
  await database.migrate();
  await projects.applyFile(JSON.stringify(PROJECTS), {});
  const { id, organization_id } = await database.db.selectFrom("projects").select(["id", "organization_id"]).executeTakeFirstOrThrow();
  const client = new Client({ connectionString: url });
  await client.connect();
  const read = `gen_random_uuid(), '${organization_id}', '${id}', 'test', 'voice', 'PENDING', 'charge', 'stripe', 4999, 'USD', '${READ_CALLER}'`;
  const { rows } = await client.query<{ id: string }>(INSERT(read));
  await client.query("update sessions set expires_at = now() + interval '1 hour'");
  await client.end();
  await database.close();
  const values = `gen_random_uuid(), '${organization_id}', '${id}', 'test', 'voice', 'PENDING', 'charge', 'stripe', 4999, 'USD', '+14155550100'`;
  return { script: `${INSERT(values)};\n`, id: rows[0]!.id };
}

/** Transactions a second of the same insert, prepared, without any server of ours. */
function pgbench(url: URL, script: string, seconds: number, connections: number): number {
  const clients = String(connections);
  const options = ["-n", "-M", "prepared", "-c", clients, "-j", connections === 1 ? "1" : "2", "-T", String(seconds), "-f", "-", url.href];
  const output = execFileSync("pgbench", options, { input: script, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
  return Number(/tps = ([\d.]+)/.exec(output)?.[1]);
}

async function ours(url: string): Promise<() => Promise<void>> {
  const modules = await openModules(url);
  const { database } = modules;
  const app = apiOver(modules, NEVER_REACHED);
  await app.listen({ host: HOST, port: 0 });
  process.send!((app.server.address() as AddressInfo).port);
  return async () => {
    await app.close();
    await database.close();
  };
}

/** The least that can be done: parse, insert by a prepared statement, answer. */
async function bare(url: string): Promise<() => Promise<void>> {
  const pool = new Pool({ connectionString: url, max: POOL });
  const { rows } = await pool.query("select id, organization_id from projects");
  const { id, organization_id } = rows[0] as { id: string; organization_id: string };
  const text = INSERT(Array.from({ length: 11 }, (_, index) => `$${index + 1}`).join(", "));
  const create = async (body: string) => {
    const { caller, amount, mode, gateway } = JSON.parse(body);
    const values = [
      systemRandom.uuid(),
      organization_id,
      id,
      "test",
      "voice",
      "PENDING",
      mode,
      gateway,
      Math.round(amount * 100),
      "USD",
      caller,
    ];
    const { rows } = await pool.query<{ id: string; created_at: Date }>({ name: "create", text, values });
    const row = rows[0]!;
    return {
      session_id: row.id,
      status: "created",
      phone_number: null,
      sip_uri: `sip:${row.id}@127.0.0.1`,
      created_at: row.created_at.toISOString(),
    };
  };
  const [byId, byCaller] = [
    { name: "read", text: "select * from sessions where id = $1 and organization_id = $2 and environment = $3" },
    {
      name: "find",
      text: `select * from sessions where caller = $1 and organization_id = $2 and environment = $3 and completed_at is null
        order by created_at desc limit 1`,
    },
  ];
  const find = async (path: string) => {
    const caller = new URL(path, "http://bench").searchParams.get("caller");
    const values = [caller ?? path.slice(path.lastIndexOf("/") + 1), organization_id, "test"];
    return (await pool.query({ ...(caller === null ? byId : byCaller), values })).rows[0] as unknown;
  };
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      void find(request.url ?? "").then((row) => {
        const text = JSON.stringify(row);
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
      });
      return;
    }
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      void create(body).then((created) => {
        const text = JSON.stringify(created);
        response.writeHead(201, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
      });
    });
  });
  server.listen(0, HOST);
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
  return async () => {
    server.close();
    server.closeAllConnections();
    await pool.end();
  };
}

/** Keep-alive connections with one request each under way: raw sockets, so that the generator takes little of the machine. */
async function run({ port, seconds, connections, what, id }: Load): Promise<Measured> {
  const head = `POST /v1/sessions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;
  const rest = `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
  const requests: Readonly<Record<Load["what"], () => string>> = {
    create: () => head + rest,
    keyed: () => `${head}Idempotency-Key: ${systemRandom.uuid()}\r\n${rest}`,
    read: () => get(`/v1/sessions/${id}`),
    find: () => get(`/v1/sessions?caller=${encodeURIComponent(READ_CALLER)}`),
  };
  const request = requests[what];
  const latencies: number[] = [];
  const end = performance.now() + seconds * 1000;
  const one = async () => {
    const socket = connect(port, HOST);
    await once(socket, "connect");
    let answer = "";
    let sent = 0;
    const next = () => {
      answer = "";
      sent = performance.now();
      socket.write(request());
    };
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (!answer.endsWith("}")) return;
      if (!/^HTTP\/1\.1 20[01]/.test(answer)) throw new Error(answer);
      latencies.push(performance.now() - sent);
      if (performance.now() < end) next();
      else socket.end();
    });
    next();
    await once(socket, "close");
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  const perSecond = (latencies.length * 1000) / (performance.now() - began);
  latencies.sort((a, b) => a - b);
  const quantile = (fraction: number) => latencies[Math.floor(latencies.length * fraction)] ?? 0;
  return { count: latencies.length, perSecond, p50: quantile(0.5), p99: quantile(0.99) };
}

const [role = "", argument = ""] = process.argv.slice(2);
if (role === "load") {
  process.on("message", (load: Load) => void run(load).then((measured) => process.send!(measured)));
  process.send!(0);
} else if (role === "prepare") {
  await prepare(argument);
} else if (role === "ours" || role === "bare") {
  const stop = await (role === "ours" ? ours : bare)(argument);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!(user + system);
  });
  process.once("disconnect", () => void stop());
} else {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "8" },
      seconds: { type: "string", default: "1" },
      connections: { type: "string", default: "1,8,32" },
    },
  });
  await main({ rounds: Number(values.rounds), seconds: Number(values.seconds), connections: values.connections.split(",").map(Number) });
}
