/**
 * `npm test`: everything that this machine can run, in order from quick to slow, and at the end what was left out and
 * how to enable it. `npm test -- unit` runs one leg; the names are those of LEGS.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** Where PostgreSQL may be: what the environment names, else the usual local server without a password. */
const CANDIDATES = [
  process.env.TEST_DATABASE_URL,
  "postgres://root@127.0.0.1:5432/postgres",
  "postgres://postgres@127.0.0.1:5432/postgres",
];

async function reachablePostgres(): Promise<string | null> {
  for (const url of CANDIDATES) {
    if (!url) continue;
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    try {
      await client.connect();
      await client.query("select 1");
      return url;
    } catch {
      continue;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return null;
}

interface Leg {
  name: string;
  what: string;
  /** Null when the leg can run here, else why not and what would enable it. */
  missing: string | null;
  command: string[];
  env?: Record<string, string>;
}

const node = process.execPath;
const bin = (name: string) => `node_modules/.bin/${name}`;
/** By `test-files.ts`: `node --test` begins files in the order of their names. */
const nodeTest = (files: string[], options: string[] = [], ...flags: string[]) => [
  node,
  "--disable-warning=ExperimentalWarning",
  ...flags,
  "scripts/test-files.ts",
  ...options,
  ...files,
];
/** Those named begin first: what takes long and begins last is left alone at the end. */
function longestFirst(files: string[], names: string): string[] {
  const longest = names.split(" ");
  const rank = (file: string) => (longest.includes(nameOf(file)) ? longest.indexOf(nameOf(file)) : longest.length);
  return files.sort().sort((a, b) => rank(a) - rank(b));
}
const nameOf = (file: string) => basename(file, ".test.ts");

const postgres = await reachablePostgres();
/** By itself: it keeps every core busy. */
const simulation = ["test/prove.test.ts"];
const speech = longestFirst(globSync("src/speech/*.test.ts"), "utterance-recogniser answers recogniser verification");
const units = longestFirst(
  globSync(["src/**/*.test.ts", "simulators/**/*.test.ts", "softphone/**/*.test.ts", "test/*.test.ts"], {
    exclude: [...simulation, ...speech],
  }),
  "behaviour hostile-words gateways embedded apply-file page payable raw-http wrong-requests widget-sessions languages",
);
/** Most files are over before V8's optimising of PGlite's program has paid for itself; the recogniser's programs run long enough. */
const UNOPTIMISED = "--liftoff-only";
/** What opens a database does it by a `testing.ts`, or reads where the server is. */
const opensDatabase = (file: string) => /testing\.ts"|TEST_DATABASE_URL/.test(readFileSync(file, "utf8"));
const onDatabase = longestFirst(
  globSync(
    ["src/{platform,sessions,projects,payments,webhooks,widget,retention,alarms,api}/**/*.test.ts", "src/voice/statements.test.ts"],
    // What takes long there and is the same on any database: connections, pages, Redis.
    { exclude: ["embedded", "page", "raw-http", "connections", "redis-counter"].map((name) => `src/**/${name}.test.ts`) },
  ).filter(opensDatabase),
  "gateways widget-sessions hostile-requests stream recovery",
);
const journeys = longestFirst(
  globSync("test/journeys/*.test.ts"),
  "demo commands calls database-away widget kill recogniser operator every-gateway transfer-back authorizenet drain voices mcp peers cluster usage crash",
);
/** What the database has no part in: card forms, gateways, telephones, examples. Once, on PGlite, is enough. */
const onAnyDatabase =
  "authorizenet closed demo every-gateway examples flood ipv6 mcp memory operator peers recogniser transfer-back usage voices widget".split(
    " ",
  );
const journeysOnPostgres = journeys.filter((file) => !onAnyDatabase.includes(nameOf(file)));
/** A test that was given up after its time may leave what never ends: its file ends all the same. */
const JOURNEY = ["--setup=test/journeys/render-prompts.ts", "--timeout=400000", "--force-exit"];
/** One more than there are cores, because some always wait; two where they wait for a server. With more, calls and pages starve on a slow machine. */
const concurrency = (more: number) => `--concurrency=${availableParallelism() + more}`;
const UNIT_TIME = "--timeout=300000";
const noPostgres = postgres ? null : "no PostgreSQL answers: start one and set TEST_DATABASE_URL=postgres://user@host/database";

const LEGS: Leg[] = [
  { name: "types", what: "type check", missing: null, command: [bin("tsc")] },
  { name: "browser-types", what: "type check of what browsers run", missing: null, command: [bin("tsc"), "-p", "src/widget/browser"] },
  { name: "lint", what: "type-aware lint", missing: null, command: [bin("oxlint"), "--type-aware"] },
  { name: "format", what: "format", missing: null, command: [bin("oxfmt"), "--check"] },
  {
    name: "unit",
    what: "unit tests on PGlite",
    missing: null,
    command: nodeTest(units, [concurrency(1), UNIT_TIME], UNOPTIMISED),
    env: { TEST_DATABASE_URL: "" },
  },
  { name: "speech", what: "recogniser and voices", missing: null, command: nodeTest(speech, [concurrency(1), UNIT_TIME]) },
  {
    name: "simulation",
    what: "payments simulated, every race and fault; hand-made bugs that it must find",
    missing: null,
    command: nodeTest(simulation),
  },
  {
    name: "postgres",
    what: "the same database tests on PostgreSQL",
    missing: noPostgres,
    command: nodeTest(onDatabase, ["--setup=test/database-template.ts", concurrency(2), UNIT_TIME]),
    env: { TEST_DATABASE_URL: postgres ?? "" },
  },
  {
    name: "journeys",
    what: "journeys on PGlite",
    missing: null,
    command: nodeTest(journeys, [concurrency(1), ...JOURNEY]),
    env: { TEST_DATABASE_URL: "" },
  },
  {
    name: "journeys-postgres",
    what: "journeys on PostgreSQL, where the database matters",
    missing: noPostgres,
    command: nodeTest(journeysOnPostgres, [concurrency(1), ...JOURNEY]),
    env: { TEST_DATABASE_URL: postgres ?? "" },
  },
];

/** Programs that some tests need; those tests skip themselves aloud without them. */
const PEERS = [
  {
    program: "sipp",
    paths: ["/usr/bin/sipp"],
    what: "calls from SIPp",
    enable: "apt-get install sip-tester (and run as root: its media replay needs it)",
  },
  { program: "baresip", paths: ["/usr/bin/baresip"], what: "calls from baresip", enable: "apt-get install baresip-core" },
  {
    program: "redis-server",
    paths: ["/usr/bin/redis-server", "/usr/bin/valkey-server"],
    what: "rate limits counted in Redis",
    enable: "apt-get install redis-server",
  },
  {
    program: "kamailio",
    paths: ["/usr/sbin/kamailio"],
    what: "two voice processes behind a SIP balancer",
    enable: "apt-get install --no-install-recommends kamailio",
  },
  {
    program: "chromium",
    paths: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"],
    what: "pages in a browser",
    enable: "apt-get install chromium",
  },
];

function run(leg: Leg): Promise<boolean> {
  const [command = "", ...args] = leg.command;
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...leg.env } });
    child.on("error", () => resolve(false));
    child.on("exit", (code) => resolve(code === 0));
  });
}

const chosen = process.argv.slice(2);
if (chosen.includes("--help")) {
  console.log("Usage: npm test -- [LEG ...]\n");
  for (const { name, what, missing } of LEGS) console.log(`  ${name.padEnd(18)} ${what}${missing ? ` (${missing})` : ""}`);
  process.exit(0);
}
const unknown = chosen.filter((name) => !LEGS.some((leg) => leg.name === name));
if (unknown.length > 0) {
  process.stderr.write(`No such leg: ${unknown.join(", ")}. There are: ${LEGS.map((leg) => leg.name).join(", ")}.\n`);
  process.exit(1);
}

const results: { leg: Leg; result: "passed" | "failed" | "left out"; seconds: number }[] = [];
for (const leg of LEGS.filter((leg) => chosen.length === 0 || chosen.includes(leg.name))) {
  if (leg.missing) {
    results.push({ leg, result: "left out", seconds: 0 });
    continue;
  }
  console.log(`\n--- ${leg.name}: ${leg.what}`);
  const started = performance.now();
  const passed = await run(leg);
  results.push({ leg, result: passed ? "passed" : "failed", seconds: Math.round((performance.now() - started) / 1000) });
  if (!passed && ["types"].includes(leg.name)) break;
}

console.log("\n--- summary");
for (const { leg, result, seconds } of results) {
  console.log(
    `${result.padEnd(9)} ${leg.name.padEnd(18)} ${String(seconds).padStart(4)} s  ${leg.missing ? `${leg.what}: ${leg.missing}` : leg.what}`,
  );
}
for (const peer of PEERS.filter(({ paths }) => !paths.some((path) => existsSync(path)))) {
  console.log(`left out  ${peer.program.padEnd(18)}         ${peer.what}: ${peer.enable}`);
}
const failed = results.filter(({ result }) => result === "failed").length;
const passed = results.filter(({ result }) => result === "passed").length;
console.log(`\nlegs: ${passed} passed, ${failed} failed, ${results.length - passed - failed} skipped`);
process.exit(failed === 0 ? 0 : 1);
