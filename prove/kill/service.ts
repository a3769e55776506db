import { randomBytes } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { type Child, run, start } from "./child.ts";
import type { Vendors } from "./vendors.ts";

/** The service under test: one process after another on the same data, each with its end in sight. */

export const WEBHOOK_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const API_KEY = "svc_test_0123456789abcdefghijABCDEFGHIJ02";
const LOOPBACK = "127.0.0.0/8,::1/128";
/** So short that a session nobody calls expires while the run goes on. */
const TTL_SECONDS = 15;

export interface ServiceOptions {
  folder: string;
  /** Null: the embedded database. */
  databaseUrl: string | null;
  vendors: Pick<Vendors, "url" | "caFile">;
  webhookUrl: string;
}

/** What became of one run. */
export interface ProcessEnd {
  /** The place at which it killed itself; null when it ended otherwise. */
  place: string | null;
  /** By SIGKILL, in order after SIGTERM, or by a fault of its own. */
  end: "killed" | "in order" | "fell";
}

export class Service {
  readonly env: Record<string, string>;
  /** Of HTTP and of SIP, the same for every run. */
  readonly ports: readonly [http: number, sip: number];
  readonly #options: ServiceOptions;
  #child: Child | null = null;
  /** The connections that its clients keep. */
  #agent = new Agent();
  #baseUrl = "";
  #up = Promise.withResolvers<void>();
  #lastPlace: string | null = null;
  /** Of the present run; rejects never. */
  ended: Promise<ProcessEnd> = Promise.resolve({ place: null, end: "in order" });
  isUp = false;
  /** Counts the runs. */
  run = 0;
  readyAt = 0;

  constructor(options: ServiceOptions, ports: Service["ports"]) {
    this.#options = options;
    this.ports = ports;
    this.env = {
      DATA_DIR: join(options.folder, "data"),
      PORT: String(ports[0]),
      SIP_PORT: String(ports[1]),
      SIMULATORS_PORT: "",
      RATE_LIMIT_PER_MINUTE: "0",
      SESSION_TTL_SECONDS: String(TTL_SECONDS),
      SPEECH: "off",
      LOG_FORMAT: "json",
      LOG_LEVEL: "debug",
      OUTBOUND_ALLOW: LOOPBACK,
      SIP_TRUNKS: LOOPBACK,
      NODE_EXTRA_CA_CERTS: options.vendors.caFile,
      DATABASE_URL: options.databaseUrl ?? "",
      ...(options.databaseUrl === null ? {} : { MASTER_KEY: randomBytes(32).toString("base64") }),
    };
  }

  /** What every run wrote. */
  get logFile(): string {
    return join(this.#options.folder, "service.log");
  }

  get pid(): number {
    return this.#child?.process.pid ?? 0;
  }

  /** Starts the next run. Resolves when it serves, false when it died before. `crashAt`: as the setting. */
  async begin(crashAt: string | null): Promise<boolean> {
    this.run++;
    this.#lastPlace = null;
    const child = start(["serve", "--json"], { ...this.env, ...(crashAt !== null && { CRASH_AT: crashAt }) }, (line) => {
      appendFileSync(this.logFile, `${line}\n`);
      this.#lastPlace = /^killed at ([\w.]+)$/.exec(line)?.[1] ?? this.#lastPlace;
    });
    this.#child = child;
    this.ended = child.ended.then(({ code, signal }) => {
      if (this.isUp) this.#up = Promise.withResolvers<void>();
      this.isUp = false;
      return { place: this.#lastPlace, end: signal === "SIGKILL" ? "killed" : code === 0 ? "in order" : "fell" };
    });
    const line = await child.first;
    if (line === null) return false;
    this.#baseUrl = (JSON.parse(line) as { base_url: string }).base_url;
    this.readyAt = Date.now();
    this.isUp = true;
    this.#up.resolve();
    return true;
  }

  /** Resolves when a run serves. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  signal(signal: "SIGKILL" | "SIGTERM"): void {
    this.#child?.process.kill(signal);
  }

  /** Writes organisation, project, key and gateways: with the first run. */
  async apply(): Promise<void> {
    const file = join(this.#options.folder, "apply.json");
    writeFileSync(file, JSON.stringify(applyFile(this.#options)));
    await run(["apply", file], this.env);
  }

  /** One request to the API. Throws when no whole answer came. */
  async request(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(this.#baseUrl + path, {
      dispatcher: this.#agent,
      method,
      headers: { authorization: `Bearer ${API_KEY}`, ...(body ? { "content-type": "application/json" } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
  }

  /** A page as a browser gets it. */
  async page(path: string): Promise<string> {
    const response = await fetch(this.#baseUrl + path, { dispatcher: this.#agent, signal: AbortSignal.timeout(10_000) });
    return await response.text();
  }

  /** Its clients close their connections once what is under way there is over. */
  async hangUp(): Promise<void> {
    const before = this.#agent;
    this.#agent = new Agent();
    await before.close();
  }
}

function applyFile({ vendors, webhookUrl }: ServiceOptions): object {
  const gateways = Object.fromEntries(
    Object.values(GATEWAYS_BUILT).map((gateway) => {
      const endpoint = `${vendors.url}/${gateway.name}`;
      const secrets = Object.entries(gateway.sandboxCredentials(endpoint)).map(([name, secret]) => [name, secret.reveal()]);
      const fields = Object.fromEntries(secrets) as Record<string, string>;
      return [gateway.name, { test: gateway.credentialsIn === "block" ? fields : { credentials: fields, endpoint } }];
    }),
  );
  const status_webhook = { url: webhookUrl, secret: WEBHOOK_SECRET };
  const project = { slug: "shop", currency: "USD", status_webhook, gateways, voice: { transfer: { mode: "refer" } } };
  const organization = { slug: "acme", api_keys: [{ name: "kill", mode: "test", key: API_KEY }], projects: [project] };
  return { organizations: [organization] };
}
