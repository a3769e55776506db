import assert from "node:assert/strict";
import { after } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type Received, startReceiver } from "#src/cli/receiver.ts";
import { freePort } from "../free-port.ts";
import { ask, openStream, type Shown } from "./processes.ts";
import { API_KEY, type Installation, openInstallation, organization, type Serving, serve, WEBHOOK_SECRET } from "./installation.ts";

/** A running service of one process, with its simulators and a receiver of its webhooks, reached through its entry points alone. */
export interface Service extends Installation {
  baseUrl: string;
  sip: { host: string; port: number; tls_port?: number | null };
  simulatorsUrl: string;
  pid(): number;
  /** Everything the process wrote, and those before it. */
  output: () => string;
  /** Status webhooks that no test has waited for yet, in the order they came. */
  webhooks: Received[];
  webhook(): Promise<Received>;
  request(method: string, path: string, body?: object): Promise<{ status: number; body: Shown }>;
  create(fields?: object): Promise<{ session_id: string; sip_uri: string }>;
  session(id: string): Promise<Shown>;
  /** Resolves when the session has this status, by its event stream. */
  until(id: string, status: string): Promise<Shown>;
  /** Ends the process: SIGTERM, or SIGKILL for no goodbye. */
  end(signal?: NodeJS.Signals): Promise<void>;
  /** The same settings, ports and database, anew. */
  restart(): Promise<void>;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  /** Fields of the project in the apply file. */
  project?: object;
  /** The address by which processes and commands reach the database, given its own. */
  through?: (databaseUrl: string) => string;
}

/** What the tests of a file share: closed after the last of them. */
export async function shared<T extends { close(): unknown }>(opening: Promise<T>): Promise<T> {
  const opened = await opening;
  after(() => opened.close());
  return opened;
}

export async function startService({ env = {}, project = {}, through = (url) => url }: ServiceOptions = {}): Promise<Service> {
  const ports = { PORT: String(await freePort()), SIP_PORT: String(await freePort()) };
  const installation = await openInstallation({ ...ports, SIMULATORS_PORT: "0", RATE_LIMIT_PER_MINUTE: "0", ...env });
  installation.env["DATABASE_URL"] = through(installation.env["DATABASE_URL"]!);
  const webhooks: Received[] = [];
  const waiting: ((received: Received) => void)[] = [];
  const receiver = await startReceiver(0, WEBHOOK_SECRET, (received) => {
    const next = waiting.shift();
    if (next) next(received);
    else webhooks.push(received);
  });
  let running = await serve(installation.env);
  let earlier = "";
  const addresses = ({ baseUrl, sip, simulatorsUrl }: Serving) => ({
    baseUrl,
    sip: sip ?? { host: "", port: 0 },
    simulatorsUrl: simulatorsUrl ?? "",
  });

  const service: Service = {
    ...installation,
    ...addresses(running),
    pid: () => running.child.pid ?? 0,
    output: () => earlier + running.output(),
    webhooks,
    webhook: () => {
      const first = webhooks.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => waiting.push(resolve));
    },
    request: (method, path, body) => ask(service.baseUrl + path, method, API_KEY, body && { body }),
    async create(fields = {}) {
      const order = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
      const { status, body } = await service.request("POST", "/v1/sessions", { ...order, ...fields });
      assert.equal(status, 201, JSON.stringify(body));
      return body as { session_id: string; sip_uri: string };
    },
    session: async (id) => (await service.request("GET", `/v1/sessions/${id}`)).body,
    async until(id, status) {
      const stream = await openStream(`${service.baseUrl}/v1/sessions/${id}/stream`, API_KEY);
      return await stream.until(status).finally(() => stream.close());
    },
    async end(signal) {
      await running.end(signal);
    },
    async restart() {
      earlier = service.output();
      running = await serve(installation.env);
      Object.assign(service, addresses(running));
    },
    async close() {
      await running.end();
      await receiver.close();
      await installation.close();
    },
  };
  await service.apply(organization({ status_webhook: { url: receiver.url, secret: WEBHOOK_SECRET }, ...project }));
  return service;
}

interface LedgerEntry {
  kind: string;
  outcome: string;
  reference: string | null;
  details?: Record<string, unknown>;
}

/** Charges, tokens and the like of one simulator, as its ledger has them. */
export async function ledger(simulatorsUrl: string, gateway: string): Promise<LedgerEntry[]> {
  const { body } = await ask(`${simulatorsUrl}/_ledger/${gateway}`, "GET", "");
  return (body as { entries: LedgerEntry[] }).entries;
}

/** What stripe's simulator was asked to charge for a session. */
export async function chargesOf(simulatorsUrl: string, sessionId: string): Promise<LedgerEntry[]> {
  const entries = await ledger(simulatorsUrl, "stripe");
  return entries.filter(({ kind, reference }) => kind === "charge" && reference?.startsWith(sessionId));
}

/** How many charges of a session stripe's simulator has approved. */
export async function approvedCharges(simulatorsUrl: string, sessionId: string): Promise<number> {
  return (await chargesOf(simulatorsUrl, sessionId)).filter(({ outcome }) => outcome === "approved").length;
}

/** Resolves when stripe's simulator has taken the money of this session. */
export async function untilCharged(simulatorsUrl: string, sessionId: string): Promise<void> {
  // The simulators may run in this very process: it is not to be kept busy by asking.
  while ((await approvedCharges(simulatorsUrl, sessionId)) === 0) await delay(20);
}

/** The gateway's next request below `path` meets this fault, once. */
export async function fault(simulatorsUrl: string, gateway: string, kind: string, path = "/"): Promise<void> {
  const { status } = await ask(`${simulatorsUrl}/_faults`, "POST", "", { body: { gateway, kind, path, times: 1 } });
  assert.equal(status, 200);
}
