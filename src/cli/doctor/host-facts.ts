import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "#src/config/index.ts";

/** What this machine tells the doctor. Ports are tried by opening them for a moment. */
export interface HostFacts {
  ports: PortFact[];
  /** What SIP_PUBLIC_HOST resolves to; empty when it does not. */
  publicAddresses: string[];
  /** Soft limit of core dumps as the system words it: `0` when they are off. null where it cannot be read. */
  coreLimit: string | null;
  /** Devices and files that memory is swapped to. */
  swaps: string[];
  /** Files of master keys that lie in a checkout of some repository, this project's own folder included. */
  keyFilesInCheckout: string[];
  /** First and last port that the system gives to outgoing connections; null where it cannot be read. */
  ephemeral: [number, number] | null;
}

export interface PortFact {
  setting: "PORT" | "SIP_PORT" | "SIMULATORS_PORT";
  protocol: "TCP" | "UDP";
  port: number;
  state: "free" | "taken" | "not allowed" | "no such address";
}

/** Without `ports` none is tried: a service that starts opens them itself. */
export async function gatherFromHost(config: Config, { ports }: { ports: boolean }): Promise<HostFacts> {
  const limits = read("/proc/self/limits");
  const range = read("/proc/sys/net/ipv4/ip_local_port_range")?.trim().split(/\s+/).map(Number);
  return {
    ports: ports ? await tryPorts(config) : [],
    publicAddresses: (await lookup(config.sipPublicHost, { all: true }).catch(() => [])).map(({ address }) => address),
    coreLimit: limits === null ? null : (/^Max core file size\s+(\S+)/m.exec(limits)?.[1] ?? null),
    swaps: (read("/proc/swaps") ?? "")
      .split("\n")
      .slice(1)
      .flatMap((line) => line.split(/\s+/, 1))
      .filter((name) => name !== ""),
    keyFilesInCheckout: config.masterKeyFiles.filter(isInCheckout),
    ephemeral: range?.length === 2 ? [range[0]!, range[1]!] : null,
  };
}

const OWN_FOLDER = realpathSync(fileURLToPath(new URL("../../..", import.meta.url)));

/** By where the file really is: what a repository holds is one commit away from everybody who has it. */
function isInCheckout(file: string): boolean {
  let folder = dirname(realpathSync(file));
  for (;;) {
    if (folder === OWN_FOLDER || existsSync(join(folder, ".git"))) return true;
    const parent = dirname(folder);
    if (parent === folder) return false;
    folder = parent;
  }
}

async function tryPorts({ roles, host, port, sipHost, sipPort, simulatorsPort }: Config): Promise<PortFact[]> {
  const has = (role: string) => (roles as readonly string[]).includes(role);
  const wanted: [PortFact["setting"], PortFact["protocol"], string, number | null, boolean][] = [
    ["PORT", "TCP", host, port, has("api")],
    ["SIP_PORT", "UDP", sipHost, sipPort, has("voice")],
    ["SIP_PORT", "TCP", sipHost, sipPort, has("voice")],
    ["SIMULATORS_PORT", "TCP", "127.0.0.1", simulatorsPort, true],
  ];
  const facts: PortFact[] = [];
  for (const [setting, protocol, address, number, needed] of wanted) {
    // 0 is any free port: nothing to be tried.
    if (!needed || number === null || number === 0) continue;
    facts.push({
      setting,
      protocol,
      port: number,
      state: protocol === "TCP" ? await tryTcp(address, number) : await tryUdp(address, number),
    });
  }
  return facts;
}

async function tryTcp(host: string, port: number): Promise<PortFact["state"]> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return "free";
  } catch (error) {
    return stateOf(error);
  }
}

async function tryUdp(host: string, port: number): Promise<PortFact["state"]> {
  const { address, family } = await lookup(host).catch(() => ({ address: host, family: 4 }));
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  try {
    socket.bind({ address, port, exclusive: true });
    await once(socket, "listening");
    return "free";
  } catch (error) {
    return stateOf(error);
  } finally {
    socket.close();
  }
}

function stateOf(error: unknown): PortFact["state"] {
  const { code } = error as { code?: string };
  if (code === "EADDRINUSE") return "taken";
  return code === "EACCES" ? "not allowed" : "no such address";
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
