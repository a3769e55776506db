import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { passesLuhn } from "./kit/cards.ts";
import { Faults, readFault } from "./kit/faults.ts";
import { Ledger } from "./kit/ledger.ts";
import type { Answer, Simulator, SimulatorFactory, SimulatorTools } from "./kit/simulator.ts";
import { listen } from "./listener.ts";
import { createIdentity } from "./tls.ts";

const LARGEST_BODY = 1024 * 1024;
const SLOW_MS = 3_000;

export interface Simulators {
  /** http address, without a trailing slash. */
  url: string;
  /** The same port over TLS; its certificate is signed by `ca`. */
  httpsUrl: string;
  port: number;
  /** PEM. */
  ca: string;
  close(): Promise<void>;
}

/** Every simulator is found by its folder: `simulators/<name>/index.ts` exports `simulator`. */
export function simulatorNames(): string[] {
  const folder = import.meta.dirname;
  return readdirSync(folder).filter((name) => name !== "kit" && existsSync(join(folder, name, "index.ts")));
}

/** A vendor's program is loaded with the first request to it: a service starts sooner, and most talk to one or two. */
function loadingSimulators(ledger: Ledger): (name: string) => Promise<Simulator> {
  const loaded = new Map<string, Promise<Simulator>>();
  const load = async (name: string) => {
    const { simulator } = (await import(`./${name}/index.ts`)) as { simulator: SimulatorFactory };
    return simulator({ ...TOOLS, record: (entry) => ledger.record({ gateway: name, ...entry }) });
  };
  return (name) => {
    const simulator = loaded.get(name) ?? load(name);
    loaded.set(name, simulator);
    return simulator;
  };
}

/** Starts every gateway's simulator on one port, each under `/<gateway>` (docs/operations.md, Simulators). `port` 0 takes any free one. */
export async function startSimulators(options: { port: number; host: string; ledgerFile?: string }): Promise<Simulators> {
  const ledger = new Ledger(options.ledgerFile ?? null);
  const faults = new Faults();
  const names = simulatorNames();
  const simulatorOf = loadingSimulators(ledger);
  const identity = createIdentity([...new Set(["localhost", "127.0.0.1", "::1", options.host])]);

  const handle = async (request: IncomingMessage, response: ServerResponse, cut: () => void): Promise<void> => {
    if (!isServed(request, options.host)) return send(response, { status: 421, body: { error: "this host name is not served here" } });
    const url = new URL(request.url ?? "/", "http://simulators");
    const body = await readBody(request);
    if (body === null) return cut();
    const [, first = "", ...rest] = url.pathname.split("/");
    const path = `/${rest.join("/")}`;
    if (names.includes(first))
      return serve({ name: first, simulator: await simulatorOf(first), faults, request, response, url, path, body, cut });
    const [status, answer] = control(request.method ?? "", url.pathname, body, { ledger, faults, names });
    send(response, { status, body: answer });
  };

  const listener = await listen({ ...options, identity }, (request, response, cut) => {
    handle(request, response, cut).catch(cut);
  });
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${listener.port}`,
    httpsUrl: `https://${host}:${listener.port}`,
    port: listener.port,
    ca: identity.ca,
    close: async () => {
      await listener.close();
      ledger.close();
    },
  };
}

/**
 * Only loopback names and addresses, or the listener's own, are served: a web page must not reach the simulators by a name of its
 * own that resolves to 127.0.0.1 (DNS rebinding).
 */
function isServed({ headers, socket }: IncomingMessage, ownHost: string): boolean {
  const [, bracketed, name = bracketed] = /^(?:\[([0-9a-f:]+)\]|([^:]+))(?::[0-9]+)?$/.exec(headers.host?.toLowerCase() ?? "") ?? [];
  if (name === undefined) return false;
  if (/^(localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|::1)$/.test(name) || name.endsWith(".localhost")) return true;
  return name === ownHost.toLowerCase() || name === socket.localAddress?.replace(/^::ffff:/, "");
}

const TOOLS: Omit<SimulatorTools, "record"> = {
  now: () => Date.now(),
  // Letters alone: no id can look like a card number to a scanner.
  id: (prefix, length = 24) => prefix + Array.from(randomBytes(length), (byte) => String.fromCharCode(97 + (byte % 26))).join(""),
  digits: (length) => {
    for (;;) {
      const number = `1${Array.from(randomBytes(length - 1), (byte) => byte % 10).join("")}`;
      if (!passesLuhn(number)) return number;
    }
  },
};

/** The pages that belong to no vendor: the index, the ledger, the faults. */
function control(
  method: string,
  path: string,
  body: Buffer,
  { ledger, faults, names }: { ledger: Ledger; faults: Faults; names: string[] },
): [number, object] {
  if (method === "GET" && path === "/") {
    return [200, { simulators: names.map((name) => `/${name}`), ledger: names.map((name) => `/_ledger/${name}`), faults: "/_faults" }];
  }
  const ledgerOf = names.find((name) => path === `/_ledger/${name}`);
  if (method === "GET" && ledgerOf !== undefined) return [200, { gateway: ledgerOf, entries: ledger.of(ledgerOf) }];
  if (method === "POST" && path === "/_faults") {
    const fault = readFault(parse(body), names);
    if (typeof fault === "string") return [400, { error: fault }];
    faults.arm(fault);
    return [200, { armed: fault }];
  }
  return [404, { error: "no such simulator or page: GET / lists them" }];
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

interface Served {
  name: string;
  simulator: Simulator;
  faults: Faults;
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  /** Without the gateway's prefix. */
  path: string;
  body: Buffer;
  cut: () => void;
}

/** One vendor request, with the fault that strikes it. */
async function serve({ name, simulator, faults, request, response, url, path, body, cut }: Served): Promise<void> {
  const operation = simulator.operationOf?.({ path, headers: request.headers, body });
  const struck = { gateway: name, path: operation === undefined ? path : `${path}/${operation}`, query: url.search, body };
  const fault = faults.strike(struck);
  if (fault === "reset_before") return cut();
  if (faults.settles(struck)) simulator.settle?.();
  if (faults.expiresTokens(struck)) simulator.expireTokens?.();
  let lag: number | undefined;
  const answer = await simulator.handle({
    method: request.method ?? "",
    path,
    query: url.searchParams,
    headers: request.headers,
    body,
    secure: "encrypted" in request.socket,
    work: () => (fault === "slow" ? delay(SLOW_MS, undefined, { ref: false }) : Promise.resolve()),
    lookUpLag: () => (lag ??= faults.lookUpLag(struck)),
  });
  if (answer === "reset" || fault === "reset_after") return cut();
  if (answer.lost || fault === "hang") return;
  if (fault === "http_500")
    send(response, { status: 500, headers: { "content-type": "text/html" }, body: "<h1>Internal Server Error</h1>" });
  else if (fault === "garbage") send(response, { ...answer, headers: { "content-type": "text/html" }, body: '<html>\u0000]}{"' });
  else if (fault === "truncated") truncate(response, answer);
  else send(response, answer);
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? "text/plain" : "application/json";
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text), ...headers });
  response.end(text);
}

/** Announces the whole body, sends half of it and ends the connection. */
function truncate(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length, ...headers });
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
}

/** The whole body, or null when it is larger than any vendor takes. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
