import { createSocket } from "node:dgram";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, isIP } from "node:net";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "#src/config/index.ts";
import { errorCode } from "#src/kernel/errors.ts";

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
  /**
   * What a request to an https BASE_URL met, the way merchants come: this service, which believes the proxy before it or does not, or no
   * answer of this service. null when it was not asked.
   */
  proxy: "trusted" | "not trusted" | "not reached" | null;
  /** What SIP is spoken over TLS with, or why it cannot be; null when SIP is not spoken over TLS. */
  sipCertificate: SipCertificate | { fault: string } | null;
  /** The system's word for why nothing can be written to DATA_DIR, or made where it is to be; null when it can, or was not tried. */
  dataDirFault: string | null;
  /** Why what `SPEECH` names recognises nothing; null when it does, or was not asked. */
  speechFault: string | null;
  /** First and last port that the system gives to outgoing connections; null where it cannot be read. */
  ephemeral: [number, number] | null;
}

interface SipCertificate {
  /** It names SIP_PUBLIC_HOST. */
  isForHost: boolean;
  /** When it runs out, Unix time in ms. */
  expiresMs: number;
}

interface PortFact {
  setting: "PORT" | "SIP_PORT" | "SIP_TLS_PORT" | "SIMULATORS_PORT";
  protocol: "TCP" | "UDP";
  port: number;
  state: "free" | "taken" | "not allowed" | "no such address";
}

/** Without `ports` none is tried, and nothing is asked over the network: a service that starts opens them itself. */
export async function gatherFromHost(config: Config, { ports }: { ports: boolean }): Promise<HostFacts> {
  const limits = read("/proc/self/limits");
  const range = read("/proc/sys/net/ipv4/ip_local_port_range")?.trim().split(/\s+/).map(Number);
  return {
    ports: ports ? await tryPorts(config) : [],
    publicAddresses: (await lookup(config.sipPublicHost, { all: true }).catch(() => [])).map(({ address }) => address),
    proxy: ports && config.baseUrl?.startsWith("https:") ? await askProxy(config.baseUrl) : null,
    coreLimit: limits === null ? null : (/^Max core file size\s+(\S+)/m.exec(limits)?.[1] ?? null),
    swaps: (read("/proc/swaps") ?? "")
      .split("\n")
      .slice(1)
      .flatMap((line) => line.split(/\s+/, 1))
      .filter((name) => name !== ""),
    keyFilesInCheckout: config.masterKeyFiles.filter(isInCheckout),
    sipCertificate: readSipCertificate(config),
    dataDirFault: ports ? tryToWrite(config.dataDir) : null,
    speechFault: ports && config.roles.includes("voice") ? await askRecogniser(config) : null,
    ephemeral: range?.length === 2 ? [range[0]!, range[1]!] : null,
  };
}

/** By doing it: root may by its rights, and not on what is mounted read-only. */
function tryToWrite(dataDir: string): string | null {
  let folder = resolve(dataDir);
  while (!existsSync(folder)) folder = dirname(folder);
  let made: string | null = null;
  try {
    made = mkdtempSync(join(folder, "voicetill-doctor-"));
    writeFileSync(join(made, "file"), new Uint8Array(65_536));
    return null;
  } catch (error) {
    return errorCode(error) || "unknown";
  } finally {
    if (made !== null) rmSync(made, { recursive: true, force: true });
  }
}

/** The files as the service would read them. */
function readSipCertificate({ sipTlsPort, sipTlsCert, sipTlsKey, sipTlsClientCa, sipPublicHost }: Config): HostFacts["sipCertificate"] {
  if (sipTlsPort === null || sipTlsCert === null || sipTlsKey === null) return null;
  const files = { SIP_TLS_CERT: sipTlsCert, SIP_TLS_KEY: sipTlsKey, ...(sipTlsClientCa !== null && { SIP_TLS_CLIENT_CA: sipTlsClientCa }) };
  const unreadable = Object.entries(files).find(([, path]) => read(path) === null);
  if (unreadable) return { fault: `${unreadable[0]}: the file ${unreadable[1]} cannot be read` };
  try {
    const certificate = new X509Certificate(read(sipTlsCert) ?? "");
    if (!certificate.checkPrivateKey(createPrivateKey(read(sipTlsKey) ?? "")))
      return { fault: `SIP_TLS_KEY ${sipTlsKey} is not the key of the certificate ${sipTlsCert}` };
    // As a SIP domain (RFC 5922 section 7.1), an address or a host name.
    const isForHost =
      (certificate.subjectAltName ?? "").split(", ").includes(`URI:sip:${sipPublicHost}`) ||
      (isIP(sipPublicHost) ? certificate.checkIP(sipPublicHost) : certificate.checkHost(sipPublicHost)) !== undefined;
    return { isForHost, expiresMs: certificate.validToDate.getTime() };
  } catch {
    return { fault: "SIP_TLS_CERT and SIP_TLS_KEY are no certificate and key in PEM" };
  }
}

/** Its code is loaded where it is asked. */
async function askRecogniser(config: Config): Promise<string | null> {
  if (config.speech === "embedded" || config.speech === "off") return null;
  const { speechFault } = await import("#src/roles/speech.ts");
  return await speechFault(config);
}

const PROXY_MS = 5_000;

/** A request without a key: a service that takes its hop for encrypted asks for one, another sends it to the address it came by. */
async function askProxy(baseUrl: string): Promise<HostFacts["proxy"]> {
  try {
    const url = `${baseUrl}/v1/auth/check`;
    const { status, headers } = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(PROXY_MS) });
    if (status === 308 && headers.get("location") === url) return "not trusted";
    return status === 401 || status === 429 ? "trusted" : "not reached";
  } catch {
    return "not reached";
  }
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

async function tryPorts({ roles, host, port, sipHost, sipPort, sipTlsPort, simulatorsPort }: Config): Promise<PortFact[]> {
  const has = (role: string) => (roles as readonly string[]).includes(role);
  const wanted: [PortFact["setting"], PortFact["protocol"], string, number | null, boolean][] = [
    ["PORT", "TCP", host, port, true],
    ["SIP_PORT", "UDP", sipHost, sipPort, has("voice")],
    ["SIP_PORT", "TCP", sipHost, sipPort, has("voice")],
    ["SIP_TLS_PORT", "TCP", sipHost, sipTlsPort, has("voice")],
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
  const code = errorCode(error);
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
