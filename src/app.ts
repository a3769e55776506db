import { hostname } from "node:os";
import { join } from "node:path";
import { createCheckout, createTrunks } from "./checkout/index.ts";
import type { Config } from "./config/index.ts";
import { GATEWAYS_BUILT as gateways } from "./gateways/index.ts";
import { systemClock, within } from "./kernel/clock.ts";
import { crashPoint } from "./kernel/crash-points.ts";
import { unbracketed } from "./kernel/host-port.ts";
import { spokenLanguages } from "./kernel/language.ts";
import { systemRandom } from "./kernel/random.ts";
import type { Secret } from "./kernel/secret.ts";
import { createInstruments } from "./instruments.ts";
import { createPayments } from "./payments/index.ts";
import {
  auditRun,
  createMetrics,
  createOutbound,
  loadKeyring,
  openDatabase,
  isSealed,
  openInstallationKeys,
  startLease,
  type Log,
  isGlobal,
} from "./platform/index.ts";
import type { ApiRole } from "./roles/api.ts";
import type { Modules, OnEnd } from "./roles/modules.ts";
import type { VoiceRole } from "./roles/voice.ts";
import { createProjects, type Starter } from "./projects/index.ts";
import { createSessions } from "./sessions/index.ts";
import { createWebhooks } from "./webhooks/index.ts";
import type { Simulators } from "#simulators/index.ts";
import { VERSION } from "./version.ts";

/**
 * The one composition root. `startApp` runs the service: it opens the modules, starts what every process runs, then its roles, whose
 * code is loaded only where they run. `openModules` is also what commands work with when no service runs.
 */

/** A running service, for `serve`, `demo` and the tests. */
export interface App extends Pick<
  Modules,
  "database" | "keys" | "projects" | "sessions" | "webhooks" | "payments" | "checkout" | "trunks"
> {
  /** Where it is reached: the interface, or health and metrics of a process without the role `api`; empty when neither is. */
  baseUrl: string;
  /** Host and port of the SIP listener; null when this process has no voice. */
  sip: { host: string; port: number; tlsPort: number | null } | null;
  simulatorsUrl: string | null;
  /** The demo project and its key; null with PostgreSQL. */
  starter: Starter | null;
  readonly activeCalls: number;
  /** No new calls and no new requests; resolves when the running calls and charges are over, at the latest after `ms`. */
  drain(ms: number): Promise<void>;
  /** Ends everything. Safe to call twice. */
  stop(): Promise<void>;
}

interface AppOptions {
  /** Looks at what was opened before anything listens or works; what it throws stops the start. */
  check?: (opened: Modules) => Promise<void>;
  /** Folder of rendered prompts; default: in the data folder. */
  promptCache?: string;
}

/** Opens the modules and starts the chosen roles. What was started is ended again when a later step fails. */
export async function startApp(config: Config, log: Log, options: AppOptions = {}): Promise<App> {
  const { onEnd, endAll } = createEnds();
  try {
    const simulators = await simulatorsOf(config, onEnd);
    const modules = await openModules(config, log, onEnd, { simulators, isService: true });
    await options.check?.(modules);
    return await startRoles(modules, simulators, options, endAll);
  } catch (error) {
    await endAll();
    throw error;
  }
}

/** What is to be ended: in the reverse order of its start. */
export function createEnds(): { onEnd: OnEnd; endAll: () => Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    onEnd: (end) => void ends.push(end),
    endAll: async () => {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}

interface Opening {
  /** Bring the database to this version first. Default: yes. */
  migrate?: boolean;
  /** What test keys without credentials are charged at. Default: nothing. */
  simulators?: Simulators | null;
  /** The modules are for a process that goes on: count what it uses. Default: they are for one command. */
  isService?: boolean;
}

/** Opens the database and builds the modules on it. Nothing of the service is started: no listener, no delivery, no recovery. */
export async function openModules(config: Config, log: Log, onEnd: OnEnd, opening: Opening = {}): Promise<Modules> {
  const { migrate = true, simulators = null, isService = false } = opening;
  const [clock, random] = [systemClock, systemRandom];
  const owner = `${hostname()}-${process.pid}-${random.uuid().slice(0, 8)}`;
  const ownHosts = hostsOf(config.databaseUrl, config.redisUrl);

  const database = await openDatabase({ databaseUrl: config.databaseUrl?.reveal() ?? null, dataDir: config.dataDir, log });
  onEnd(() => database.close());
  if (migrate) await database.migrate();
  const keys = await openInstallationKeys(database, loadKeyring({ ...config, isSealed: await isSealed(database.db) }));
  const metrics = createMetrics({ ofProcess: isService });
  const instruments = createInstruments(metrics);
  const outbound = createOutbound({ allow: config.outboundAllow, ownHosts, extraCa: simulators ? [simulators.ca] : [] });

  const projects = createProjects({
    database,
    keys,
    random,
    gateways,
    simulatorsUrl: () => simulators?.url ?? null,
    languages: spokenLanguages(config.voice),
  });
  const webhooks = createWebhooks({ database, projects, gateways, outbound: instruments.webhooks(outbound), clock, random, log });
  const sessions = instruments.sessions(createSessions({ database, clock, random, log, outbox: webhooks.outbox }));
  const trunks = createTrunks(config, async ({ host, port, transport }) => {
    const { addressesOf } = await import("./sip/index.ts");
    return await addressesOf({ host, port, protocol: transport });
  });
  const { phoneNumber, sessionTtlSeconds } = config;
  const rules = {
    phoneNumber,
    sessionTtlSeconds,
    roundsFractions: config.amountSubcent === "round_half_up",
    isTrunkHost: trunks.isTrunkHost,
    dialsNumbers: trunks.outbound !== null,
    dialsTls: config.sipTlsPort !== null,
  };
  const checkout = createCheckout({ database, projects, gateways, clock, log, settings: rules });
  const payments = instruments.payments(
    createPayments({
      database,
      sessions,
      projects,
      gateways,
      outbound,
      clock,
      random,
      egressIp: isGlobal(config.sipPublicHost) ? config.sipPublicHost : null,
      owner,
      log,
      onFound: instruments.countReconciled,
    }),
    () => clock.monotonic(),
  );
  const host = { config, clock, random, owner, log, metrics, instruments, ownHosts, onEnd };
  return { ...host, database, keys, outbound, projects, webhooks, sessions, checkout, trunks, payments };
}

async function simulatorsOf({ simulatorsPort: port }: Config, onEnd: OnEnd): Promise<Simulators | null> {
  if (port === null) return null;
  const { startSimulators } = await import("#simulators/index.ts");
  const simulators = await startSimulators({ port, host: "127.0.0.1" });
  onEnd(() => simulators.close());
  return simulators;
}

async function startRoles(
  modules: Modules,
  simulators: Simulators | null,
  { promptCache = join(modules.config.dataDir, "prompts") }: AppOptions,
  stop: () => Promise<void>,
): Promise<App> {
  const { config, clock, owner, log, database, keys, projects, webhooks, sessions, payments, checkout, onEnd } = modules;
  const roles = new Set<string>(config.roles);
  const worker = roles.has("worker") ? await import("./roles/worker.ts") : null;

  onEnd(await startLease({ database, clock, owner, roles: config.roles.join(","), masterKeys: () => keys.keyring.ids, log }));
  // Ended after everything below: what ends writes rows too.
  let endSealing = async () => {};
  onEnd(() => endSealing());
  onEnd(await auditRun(database, log, { owner, roles: config.roles, version: VERSION }));

  const workerRole = worker?.startWorkerRole(modules) ?? null;
  let voice: VoiceRole | null = null;
  const own = { owner, calls: () => voice?.calls.callIds ?? [] };
  await sessions.start({ giveUp: (session) => payments.giveUp(session), own });
  onEnd(() => sessions.stop());
  // Wherever a card may be settled: a process takes up only its own attempts and those of the dead.
  onEnd(payments.startJanitor());
  const starter = database.kind === "pglite" ? await projects.ensureStarter() : null;

  if (roles.has("voice")) voice = await (await import("./roles/voice.ts")).startVoiceRole(modules, promptCache);
  const api: ApiRole | null = roles.has("api")
    ? await (await import("./roles/api.ts")).startApiRole(modules, { voice, worker: workerRole })
    : null;
  const baseUrl = api?.url ?? (await (await import("./roles/status.ts")).startStatus(modules, { voice, worker: workerRole })) ?? "";
  // A start that fails tells its one sentence and no head of the audit log; the next process seals its rows.
  if (worker) endSealing = worker.startSealing(modules);
  crashPoint("serving");

  return {
    baseUrl,
    sip: voice && { host: config.sipPublicHost, ...voice.ports },
    simulatorsUrl: simulators?.url ?? null,
    starter,
    database,
    keys,
    projects,
    sessions,
    webhooks,
    payments,
    checkout,
    trunks: modules.trunks,
    get activeCalls() {
      return voice?.calls.activeCalls ?? 0;
    },
    async drain(ms) {
      crashPoint("drain_begun");
      voice?.drain();
      api?.drain();
      await within(clock, ms, Promise.all([voice?.idle(), api?.idle()]), () => null);
    },
    stop,
  };
}

/** Where our own services are, which no merchant may make us send anything to (S-50). */
function hostsOf(...addresses: (Secret | null)[]): string[] {
  const urls = addresses.flatMap((address) => (address ? [URL.parse(address.reveal())] : []));
  const hosts = urls.flatMap((url) => [url?.hostname ?? "", ...(url?.searchParams.getAll("host") ?? [])]);
  return hosts.map(unbracketed).filter((host) => host !== "" && !host.startsWith("/"));
}
