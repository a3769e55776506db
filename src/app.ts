import { hkdfSync } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { createCheckout } from "./checkout/index.ts";
import type { Config } from "./config/index.ts";
import { GATEWAYS_BUILT as gateways } from "./gateways/index.ts";
import { systemClock } from "./kernel/clock.ts";
import { crashPoint } from "./kernel/crash-points.ts";
import { OperatorError } from "./kernel/errors.ts";
import { systemRandom } from "./kernel/random.ts";
import type { Secret } from "./kernel/secret.ts";
import { createInstruments } from "./instruments.ts";
import { createPayments } from "./payments/index.ts";
import {
  auditRun,
  createJobs,
  createMetrics,
  createOutbound,
  loadKeyring,
  openDatabase,
  openInstallationKeys,
  startAuditSealer,
  startLease,
  type Database,
  type InstallationKeys,
  type Log,
} from "./platform/index.ts";
import { startApiRole, startVoiceRole, type Core, type VoiceRole } from "./roles/index.ts";
import { createProjects, type Projects, type Starter } from "./projects/index.ts";
import { createSessions, type Sessions } from "./sessions/index.ts";
import { createWidget } from "./widget/index.ts";
import { createWebhooks, type Webhooks } from "./webhooks/index.ts";
import { startSimulators } from "#simulators/index.ts";
import { VERSION } from "./version.ts";

/** A running service, for `serve`, `demo` and the tests. */
export interface App {
  baseUrl: string;
  /** Host and port of the SIP listener; null when this process has no voice. */
  sip: { host: string; port: number } | null;
  simulatorsUrl: string | null;
  /** The demo project and its key; null with PostgreSQL. */
  starter: Starter | null;
  database: Database;
  keys: InstallationKeys;
  projects: Projects;
  sessions: Sessions;
  webhooks: Webhooks;
  readonly activeCalls: number;
  /** No new calls and no new requests; resolves when the running calls and charges are over, at the latest after `ms`. */
  drain(ms: number): Promise<void>;
  /** Ends everything. Safe to call twice. */
  stop(): Promise<void>;
}

export interface AppOptions {
  /** Looks at what was opened before anything listens or works; what it throws stops the start. */
  check?: (opened: Pick<App, "database" | "projects" | "keys">) => Promise<void>;
  /** Folder of rendered prompts; default: in the data folder. */
  promptCache?: string;
}

/** Builds the modules and starts the chosen roles. What was started is ended again when a later step fails. */
export async function startApp(config: Config, log: Log, options: AppOptions = {}): Promise<App> {
  const ends: (() => unknown)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    return await compose(config, log, options, ends, stop);
  } catch (error) {
    await stop();
    throw taken(error);
  }
}

async function compose(config: Config, log: Log, options: AppOptions, ends: (() => unknown)[], stop: () => Promise<void>): Promise<App> {
  const [clock, random] = [systemClock, systemRandom];
  const roles = new Set<string>(config.roles);
  const owner = `${hostname()}-${process.pid}-${random.uuid().slice(0, 8)}`;
  const ownHosts = hostsOf(config.databaseUrl, config.redisUrl);

  const database = await openDatabase({ databaseUrl: config.databaseUrl?.reveal() ?? null, dataDir: config.dataDir, log });
  ends.push(() => database.close());
  await database.migrate();

  const simulators = config.simulatorsPort === null ? null : await startSimulators({ port: config.simulatorsPort, host: "127.0.0.1" });
  if (simulators) ends.push(() => simulators.close());

  const metrics = createMetrics({ ofProcess: true });
  const instruments = createInstruments(metrics);
  const outbound = createOutbound({ allow: config.outboundAllow, ownHosts, extraCa: () => (simulators ? [simulators.ca] : []) });
  const jobs = createJobs(database, log);
  const keys = await openInstallationKeys(database, loadKeyring(config));
  const projects = createProjects({
    database,
    keys,
    random,
    gateways,
    simulatorsUrl: () => simulators?.url ?? null,
  });
  await options.check?.({ database, keys, projects });
  const webhooks = createWebhooks({ database, jobs, projects, gateways, outbound: instruments.webhooks(outbound), clock, random, log });
  const sessions = instruments.sessions(
    createSessions({ database, clock, random, log, onFinal: (tx, session) => webhooks.onFinal(tx, session) }),
  );
  const { phoneNumber, sessionTtlSeconds } = config;
  const checkout = createCheckout({ database, projects, gateways, clock, settings: { phoneNumber, sessionTtlSeconds } });
  const payments = instruments.payments(
    createPayments({ database, sessions, projects, gateways, outbound, clock, random, owner, log, onFound: instruments.countFound }),
    () => clock.monotonic(),
  );

  ends.push(await startLease({ database, clock, owner, roles: config.roles.join(","), masterKeys: () => keys.keyring.ids, log }));
  let endSealing = async () => {};
  ends.push(() => endSealing());
  ends.push(await auditRun(database, log, { owner, roles: config.roles, version: VERSION }));
  webhooks.registerDelivery();
  await jobs.start({ work: roles.has("worker") });
  ends.push(() => jobs.stop());
  let voice: VoiceRole | null = null;
  const own = { owner, calls: () => voice?.calls.callIds ?? [] };
  await sessions.start({ giveUp: (session) => payments.giveUp(session), own });
  ends.push(() => sessions.stop());
  // Wherever a card may be settled: a process takes up only its own attempts and those of the dead.
  ends.push(payments.startJanitor());
  if (roles.has("worker")) ends.push(webhooks.startSweep());

  const core: Core = {
    config,
    clock,
    random,
    owner,
    log,
    metrics,
    instruments,
    database,
    sessions,
    projects,
    checkout,
    payments,
    ownHosts,
    onEnd: (end) => void ends.push(end),
  };
  let publicUrl = config.baseUrl ?? "";
  const widget = createWidget({
    database,
    sessions,
    projects,
    payments,
    clock,
    random,
    owner,
    log,
    key: new Uint8Array(hkdfSync("sha256", keys.pepper, "", "voicetill widget", 32)),
    publicUrl: () => publicUrl,
  });
  voice = roles.has("voice") ? await startVoiceRole(core, options.promptCache ?? join(config.dataDir, "prompts")) : null;
  const api = roles.has("api") ? await startApiRole(core, { voice, widget }) : null;
  publicUrl = api ?? publicUrl;
  const starter = database.kind === "pglite" ? await projects.ensureStarter() : null;
  // A start that fails tells its one sentence and no head; the next process seals its rows.
  if (roles.has("worker")) endSealing = startAuditSealer({ database, key: keys.audit, clock, log });
  crashPoint("serving");

  return {
    baseUrl: api ?? "",
    sip: voice && { host: config.sipPublicHost, port: voice.port },
    simulatorsUrl: simulators?.url ?? null,
    starter,
    database,
    keys,
    projects,
    sessions,
    webhooks,
    get activeCalls() {
      return voice?.calls.activeCalls ?? 0;
    },
    async drain(ms) {
      crashPoint("drain_begun");
      voice?.calls.drain();
      voice?.userAgent.drain();
      widget.drain();
      const late = Promise.withResolvers<void>();
      const cancel = clock.after(ms, late.resolve);
      await Promise.race([Promise.all([voice?.calls.idle(), widget.idle()]), late.promise]);
      cancel();
      crashPoint("drained");
    },
    stop,
  };
}

/** Where our own services are, which no merchant may make us send anything to (S-50). */
function hostsOf(...addresses: (Secret | null)[]): string[] {
  const urls = addresses.flatMap((address) => (address ? [URL.parse(address.reveal())] : []));
  const hosts = urls.flatMap((url) => [url?.hostname ?? "", ...(url?.searchParams.getAll("host") ?? [])]);
  return hosts.map((host) => host.replace(/^\[|\]$/g, "")).filter((host) => host !== "" && !host.startsWith("/"));
}

/** A taken port is the operator's to free: one sentence instead of a stack. */
function taken(error: unknown): unknown {
  const { code, port, address } = error as { code?: string; port?: number; address?: string };
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const why = code === "EACCES" ? "may not be opened by this user" : "is taken by another program";
  return new OperatorError(
    `Port ${port ?? "?"} on ${address ?? "this machine"} ${why}. Choose another with PORT, SIP_PORT or SIMULATORS_PORT (0 = any free port).`,
    { cause: error },
  );
}
