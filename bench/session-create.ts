/**
 * Making sessions: node bench/session-create.ts [rounds] [seconds]   (default 8 rounds of 1 s a contestant)
 *
 * POST /v1/sessions of the real API on PostgreSQL (keys, shared rate limit, validation and all), against a bare node:http +
 * pg server that makes the same row from the same body and against pgbench making that row, turn about in one run. DESIGN
 * section 6: at least 90 % of bare, towards 60 % of pgbench. BENCH_DATABASE_URL names the server (default postgres://root@127.0.0.1:5432/postgres); a database of its own is
 * made there and dropped.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Client, Pool } from "pg";
import { createApi } from "#src/api/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { openDatabase, silentLog } from "#src/platform/index.ts";
import { createProjects } from "#src/projects/index.ts";
import { createSessions } from "#src/sessions/index.ts";

const HOST = "127.0.0.1";
const CONNECTIONS = 32;
/** Requests are counted as for any limit. */
const NEVER_REACHED = 1_000_000_000;
/** As many as the service's own pool has. */
const POOL = 10;
const KEY = `svc_test_${"b".repeat(32)}`;
const MASTER_KEY = new Uint8Array(32).fill(1);
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
}
interface Measured {
  count: number;
  perSecond: number;
  p50: number;
  p99: number;
}

async function main(rounds: number, seconds: number): Promise<void> {
  const server = process.env["BENCH_DATABASE_URL"] ?? "postgres://root@127.0.0.1:5432/postgres";
  const name = `voicetill_bench_${randomBytes(4).toString("hex")}`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const children: ChildProcess[] = [];
  try {
    const script = await prepare(url.href);
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
    const measure = async ({ child, port }: typeof bare, duration: number): Promise<Measured & { cpu: number }> => {
      const before = await cpu(child);
      load.child.send({ port, seconds: duration } satisfies Load);
      const measured = ((await once(load.child, "message")) as [Measured])[0];
      return { ...measured, cpu: ((await cpu(child)) - before) / measured.count };
    };
    for (const contestant of [bare, ours]) await measure(contestant, 3);

    const totals = { bare: 0, ours: 0, pgbench: 0 };
    console.log(
      "round | bare: req/s    p50    p99 ms  CPU us | ours: req/s    p50    p99 ms  CPU us | pgbench/s | ours / bare | ours / pgbench",
    );
    for (let round = 1; round <= rounds; round++) {
      const ofBare = await measure(bare, seconds);
      const ofOurs = await measure(ours, seconds);
      const ofPgbench = pgbench(url, script, seconds);
      totals.bare += ofBare.perSecond;
      totals.ours += ofOurs.perSecond;
      totals.pgbench += ofPgbench;
      console.log(
        [
          String(round).padStart(5),
          show(ofBare),
          show(ofOurs),
          ofPgbench.toFixed(0).padStart(9),
          ratio(ofOurs.perSecond, ofBare.perSecond),
          ratio(ofOurs.perSecond, ofPgbench),
        ].join(" | "),
      );
    }
    console.log(`\nours / bare node:http + pg: ${ratio(totals.ours, totals.bare)} (target: at least 90 %)`);
    console.log(
      `ours / pgbench:             ${ratio(totals.ours, totals.pgbench)} (target: towards 60 %; bare itself: ${ratio(totals.bare, totals.pgbench)})`,
    );
  } finally {
    for (const child of children) child.disconnect();
    await Promise.all(children.map(async (child) => child.exitCode ?? once(child, "exit")));
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

const show = ({ perSecond, p50, p99, cpu }: Measured & { cpu: number }) =>
  `${perSecond.toFixed(0).padStart(11)} ${p50.toFixed(1).padStart(5)} ${p99.toFixed(1).padStart(8)} ${cpu.toFixed(0).padStart(7)}`;
const ratio = (part: number, whole: number) => `${((100 * part) / whole).toFixed(0)} %`.padStart(7);

/** Makes the tables and the project; answers pgbench's script. */
async function prepare(url: string): Promise<string> {
  const database = await openDatabase({ databaseUrl: url, dataDir: null });
  await database.migrate();
  await projectsOf(database).applyFile(JSON.stringify(PROJECTS), {});
  const { id, organization_id } = await database.db.selectFrom("projects").select(["id", "organization_id"]).executeTakeFirstOrThrow();
  await database.close();
  const values = `gen_random_uuid(), '${organization_id}', '${id}', 'test', 'voice', 'PENDING', 'charge', 'stripe', 4999, 'USD', '+14155550100'`;
  return `${INSERT(values)};\n`;
}

/** Transactions a second of the same insert, prepared, without any server of ours. */
function pgbench(url: URL, script: string, seconds: number): number {
  const options = ["-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", String(seconds), "-f", "-", url.href];
  const output = execFileSync("pgbench", options, { input: script, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
  return Number(/tps = ([\d.]+)/.exec(output)?.[1]);
}

const projectsOf = (database: Awaited<ReturnType<typeof openDatabase>>) =>
  createProjects({ database, masterKey: MASTER_KEY, random: systemRandom, gateways: GATEWAYS_BUILT, simulatorsUrl: () => null });

async function ours(url: string): Promise<() => Promise<void>> {
  const database = await openDatabase({ databaseUrl: url, dataDir: null });
  const sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog, onFinal: async () => {} });
  const app = createApi({
    database,
    sessions,
    projects: projectsOf(database),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    settings: {
      baseUrl: "http://127.0.0.1",
      version: "bench",
      rateLimitPerMinute: NEVER_REACHED,
      trustedProxies: [],
      phoneNumber: null,
      sessionTtlSeconds: 300,
    },
    sipUriFor: (id) => `sip:${id}@127.0.0.1`,
    probes: { sip: null, worker: null },
  });
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
  const server = createServer((request, response) => {
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
async function run({ port, seconds }: Load): Promise<Measured> {
  const request =
    `POST /v1/sessions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
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
      socket.write(request);
    };
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (!answer.endsWith("}")) return;
      if (!answer.startsWith("HTTP/1.1 201")) throw new Error(answer);
      latencies.push(performance.now() - sent);
      if (performance.now() < end) next();
      else socket.end();
    });
    next();
    await once(socket, "close");
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const perSecond = (latencies.length * 1000) / (performance.now() - began);
  latencies.sort((a, b) => a - b);
  const quantile = (fraction: number) => latencies[Math.floor(latencies.length * fraction)] ?? 0;
  return { count: latencies.length, perSecond, p50: quantile(0.5), p99: quantile(0.99) };
}

const [role = "8", argument = ""] = process.argv.slice(2);
if (role === "load") {
  process.on("message", (load: Load) => void run(load).then((measured) => process.send!(measured)));
  process.send!(0);
} else if (role === "ours" || role === "bare") {
  const stop = await (role === "ours" ? ours : bare)(argument);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!(user + system);
  });
  process.once("disconnect", () => void stop());
} else {
  await main(Number(role), Number(argument || 1));
}
