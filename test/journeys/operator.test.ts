import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { startReceiver } from "#src/cli/receiver.ts";
import { takeDataFolder } from "#src/platform/db/data-folder.ts";
import { freePort } from "../free-port.ts";
import { openInstallation, ROOT, run, serve, WEBHOOK_SECRET } from "./installation.ts";
import { shared, startService } from "./service.ts";

/** What an operator may get wrong, and what unknown peers may send: a clear answer, and nothing is lost. */

const service = await shared(startService());
const { folder } = service;
const other = await shared(openInstallation({}, { embedded: true }));
/** For what starts on its own: a database is there already, because a first start takes seconds. */
const DATA_DIR = other.env["DATA_DIR"]!;

/** One sentence on standard error, exit status 1. */
async function refused(args: string[], env: Record<string, string>, sentence: RegExp): Promise<void> {
  const { status, stdout, stderr } = await run(args, {
    DATA_DIR: join(folder, "none"),
    PORT: "0",
    SIP_PORT: "0",
    SIMULATORS_PORT: "0",
    ...env,
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, sentence);
  assert.equal(stderr.trim().split("\n").length, 1, stderr);
  assert.equal(stdout, "");
}

test("a taken port ends the start in one sentence that names it", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  try {
    await refused(["serve"], { DATA_DIR, PORT: String(port) }, new RegExp(`${port}`));
    const sentence = new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is taken by another program\\. Choose another with SIP_PORT \\(0`);
    await refused(["serve"], { DATA_DIR, SIP_PORT: String(port) }, sentence);
  } finally {
    taken.close();
  }
});

test("an address that this machine does not have ends the start in one sentence", async () => {
  await refused(["serve"], { DATA_DIR, HOST: "192.0.2.1" }, /^HOST or SIP_HOST: 192\.0\.2\.1 is no address of this machine\.$/m);
  await refused(["serve"], { DATA_DIR, SIP_HOST: "192.0.2.1" }, /^HOST or SIP_HOST: 192\.0\.2\.1 is no address/m);
});

test("a service that is started while a command has the embedded folder says so, waits for its end and serves", async () => {
  const installation = await openInstallation({ SIMULATORS_PORT: "0" }, { embedded: true });
  const command = takeDataFolder(installation.env["DATA_DIR"]!);
  try {
    const starting = spawn(process.execPath, [join(ROOT, "scripts/voicetill.mjs"), "serve", "--json"], {
      env: { ...process.env, ...installation.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const told = await Promise.race([once(starting.stderr, "data"), once(starting, "close")]);
    const waiting = { event: "waiting_for_folder", path: installation.env["DATA_DIR"] };
    assert.partialDeepStrictEqual(JSON.parse(String(told[0])), waiting);
    command.release();
    const served = await Promise.race([once(starting.stdout, "data"), once(starting, "close")]);
    assert.match(String(served[0]), /"base_url":"http/);
    starting.kill();
    assert.equal((await once(starting, "close"))[0], 0);
  } finally {
    await installation.close();
  }
});

test("whoever reads what is printed may go away: the service goes on to its end, and a command ends without a word", async () => {
  const installation = await openInstallation({ SIMULATORS_PORT: "0" }, { embedded: true });
  try {
    const running = await serve(installation.env);
    running.child.stdout.destroy();
    running.child.stderr.destroy();
    // Its log tells of the trace, and at the stop of the audit log.
    await installation.json("sip", "trace");
    assert.equal((await fetch(`${running.baseUrl}/health/live`)).status, 200);
    assert.equal(await running.end(), 0);
  } finally {
    await installation.close();
  }
  const command = spawn(process.execPath, [join(ROOT, "scripts/voicetill.mjs"), "gateways", "--json"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  command.stdout.destroy();
  let words = "";
  command.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()));
  assert.deepEqual([(await once(command, "close"))[0], words], [0, ""]);
});

test("a command whose output cannot be written says so and fails", { skip: !existsSync("/dev/full") }, async () => {
  const full = openSync("/dev/full", "w");
  const command = spawn(process.execPath, [join(ROOT, "scripts/voicetill.mjs"), "gateways"], { stdio: ["ignore", full, "pipe"] });
  let words = "";
  command.stderr?.on("data", (chunk: Buffer) => (words += chunk.toString()));
  const [status] = (await once(command, "close")) as [number];
  closeSync(full);
  assert.deepEqual([status, words], [1, "Standard output cannot be written (ENOSPC).\n"]);
});

test("a test call says on standard error what it does for so long at the first time: it renders prompts", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-prompts-"));
  mkdirSync(join(folder, "prompts"));
  const child = spawn(process.execPath, [join(ROOT, "scripts/voicetill.mjs"), "call", "sip:x@127.0.0.1:9", "--json"], {
    env: { ...process.env, DATA_DIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  context.after(async () => {
    child.kill("SIGKILL");
    await closed;
    rmSync(folder, { recursive: true });
  });
  let [stdout, words] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()));
  await Promise.race([once(child.stderr, "data"), closed]);
  assert.match(words, /^Rendering what the service may say, .*\.\n$/);
  assert.equal(stdout, "");
});

test("the version is told", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  assert.deepEqual(await run(["--version"]), { status: 0, stdout: `${version}\n`, stderr: "" });
  assert.deepEqual(await run(["--version", "--json"]), { status: 0, stdout: `{"version":"${version}"}\n`, stderr: "" });
});

test("a bad setting is named, and so is a command that does not exist", async () => {
  await refused(["serve"], { PORT: "eighty" }, /^PORT: /);
  await refused(["serve"], { SIP_TRUNKS: "10.0.0.0/99" }, /^SIP_TRUNKS: /);
  await refused(["serve"], { DATABASE_URL: "mysql://x" }, /^DATABASE_URL: /);
  await refused(["serve"], { DATABASE_URL: "postgres://x/y", MASTER_KEY: "short" }, /^MASTER_KEY: /);
  await refused(["demo", "--outcome", "lunch"], {}, /^--outcome takes /);
  await refused(["demo", "--gateway", "webhook", "--outcome", "retry"], {}, /^--outcome retry is not for webhook/);
  await refused(["sevre"], {}, /^There is no command "sevre"; did you mean "serve"\? voicetill --help lists them\.$/m);
  await refused(["constructor"], {}, /^There is no command "constructor"; voicetill --help lists them\.$/m);
});

test("a bad apply file is refused with its line, and nothing of it is applied", async () => {
  const file = join(folder, "bad.yaml");
  writeFileSync(file, "organizations:\n  - slug: other\n    name: Other\n    projects:\n      - slug: shop\n        colour: green\n");
  await refused(["apply", file], service.env, /line 6.*colour/);
  writeFileSync(file, "organizations: [\n");
  await refused(["apply", file], service.env, /line \d+/);
  await refused(["apply", join(folder, "missing.yaml")], service.env, /cannot be read/);
  writeFileSync(file, Buffer.from("organizations:\n  - slug: other\n    name: Caf\xe9\n", "latin1"));
  await refused(["apply", file], service.env, /^The file ".*bad\.yaml" is not UTF-8\.$/m);
});

test(
  "a live key is refused on the embedded database, with the reason",
  { skip: process.env["TEST_DATABASE_URL"] ? "PostgreSQL takes live keys" : false },
  async () => {
    const file = join(folder, "live.yaml");
    writeFileSync(file, "organizations:\n  - slug: acme\n    name: Acme\n    api_keys:\n      - { name: live, mode: live }\n");
    await refused(["apply", file], service.env, /PostgreSQL|DATABASE_URL/);
  },
);

test("applying a file to a running service takes effect at once, and applying it again changes nothing", async () => {
  const file = join(folder, "good.yaml");
  writeFileSync(
    file,
    "organizations:\n  - slug: acme\n    name: Acme\n    projects:\n      - { slug: second, name: Second, phone_numbers: ['+15550009999'] }\n",
  );
  await service.json("apply", file);
  const { session_id } = await service.create({ project: "second" });
  assert.equal((await service.session(session_id))["project_slug"], "second");
  assert.deepEqual(await service.json("apply", file), { changes: [], generated: [] });
});

test("noise on the SIP port is met with 400 or silence, and a healthy request is answered after it", async () => {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const send = (bytes: Buffer) => socket.send(bytes, service.sip.port, "127.0.0.1");
  for (let seed = 1; seed <= 300; seed++)
    send(Buffer.from(Array.from({ length: (seed * 37) % 900 }, (_, index) => (index * seed * 31) & 0xff)));
  for (const text of [
    "INVITE\r\n\r\n",
    "INVITE sip:x SIP/2.0\r\nVia: nonsense\r\n\r\n",
    "SIP/2.0 999 \r\n\r\n",
    "\0\0\0\0",
    "OPTIONS sip:a@b SIP/9.9\r\n\r\n",
  ])
    send(Buffer.from(text));
  const answered = once(socket, "message").then(function wait([message]: Buffer[]): Promise<string> | string {
    const text = message?.toString() ?? "";
    return text.includes("health-check") ? text : once(socket, "message").then(wait as never);
  });
  const { port } = socket.address();
  send(
    Buffer.from(
      [
        "OPTIONS sip:127.0.0.1 SIP/2.0",
        `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bKhealth;rport`,
        "Max-Forwards: 70",
        "From: <sip:probe@127.0.0.1>;tag=1",
        "To: <sip:127.0.0.1>",
        "Call-ID: health-check",
        "CSeq: 1 OPTIONS",
        "Content-Length: 0",
        "",
        "",
      ].join("\r\n"),
    ),
  );
  assert.match(await answered, /^SIP\/2\.0 200 /);
  socket.close();
  assert.equal((await service.request("GET", "/health")).status, 200);
});

test("a webhook receiver that is down gets its event when it is back, the same one, once (R-349)", async () => {
  const port = await freePort();
  const endpoint = { url: `http://127.0.0.1:${port}/`, secret: WEBHOOK_SECRET };
  await service.apply({ slug: "acme", projects: [{ slug: "down", name: "Down", status_webhook: endpoint }] });
  const { session_id } = await service.create({ project: "down" });
  assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
  const received = Promise.withResolvers<unknown>();
  const receiver = await startReceiver(port, WEBHOOK_SECRET, ({ verified, body }) => received.resolve({ verified, ...(body as object) }));
  const event = (await received.promise) as Record<string, unknown>;
  assert.deepEqual([event["verified"], event["event"], event["session_id"]], [true, "payment.cancelled", session_id]);
  await receiver.close();
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} to npm start ends the service in order, and with it npm (R-292)`, async () => {
    // One of the two is a first start.
    const dataDir = signal === "SIGTERM" ? join(folder, "first") : DATA_DIR;
    const env = { ...process.env, DATA_DIR: dataDir, PORT: "0", SIP_PORT: "0", SIMULATORS_PORT: "0", SPEECH: "off" };
    const npm = spawn("npm", ["start"], { cwd: ROOT, env, stdio: ["ignore", "pipe", "ignore"], detached: true });
    const group = npm.pid!;
    try {
      // The pipe ends with the last process that holds it.
      const ended = once(npm, "close", { signal: AbortSignal.timeout(60_000) });
      createInterface({ input: npm.stdout }).on("line", (line) => /voicetill call/.test(line) && npm.kill(signal));
      await ended;
    } finally {
      endGroup(group);
    }
  });
}

/** What is left of a process group that was started here. */
function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}
