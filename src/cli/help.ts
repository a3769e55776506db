import { OperatorError } from "#src/kernel/errors.ts";

/** Prints `usage` when `args` ask for help; true when they did. */
export function isHelped(args: readonly string[], usage: string): boolean {
  const isAsked = args.includes("--help") || args.includes("-h");
  if (isAsked) process.stdout.write(`${usage}\n`);
  return isAsked;
}

/** How another port is chosen; the other commands take the settings. */
const PORT_OPTIONS: Readonly<Record<string, string>> = { listen: "--port", simulators: "--port" };

/** The port that `--port` names. */
export function portOf(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port > 65_535) throw new OperatorError(`--port takes a port from 0 to 65535; ${JSON.stringify(text)} is none.`);
  return port;
}

/** The one sentence for a fault of the operator's making, `command` being the one that met it; null for a fault of ours. */
export function mistakeOf(error: unknown, command: string): string | null {
  const { code, message } = error as Error & { code?: string };
  if (code?.startsWith("ERR_PARSE_ARGS")) return `${message.split(/[.\n]/, 1)[0] ?? ""}: voicetill ${command} --help tells more.`;
  return (
    portFault(error, () => PORT_OPTIONS[command]) ??
    (command === "serve" ? hostFault(error) : null) ??
    (error instanceof OperatorError ? error.message : null)
  );
}

const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is taken by another program",
  EACCES: "may not be opened by this user",
};

/** A host of the listeners' settings that is not this machine's, or that no name server knows. */
function hostFault(error: unknown): string | null {
  const { code, address, hostname, syscall = "" } = causeOf(error);
  if (code === "EADDRNOTAVAIL" && LISTENING.includes(syscall)) return `HOST or SIP_HOST: ${address} is no address of this machine.`;
  if (syscall === "getaddrinfo" && hostname) return `HOST, SIP_HOST or SIP_PUBLIC_HOST: no address is found for ${hostname}.`;
  return null;
}

interface Cause {
  code?: string;
  port?: number;
  address?: string;
  hostname?: string;
  syscall?: string;
}

const LISTENING = ["listen", "bind"];

function causeOf(error: unknown): Cause {
  return (error instanceof OperatorError ? (error.cause ?? error) : error) as Cause;
}

/** A port that could not be listened on, whatever tried to; a listener's own words are its cause's. `optionOf`: how it was chosen. */
export function portFault(error: unknown, optionOf: (port: number | undefined) => string | undefined): string | null {
  const { code = "", port, address, syscall = "" } = causeOf(error);
  const why = LISTENING.includes(syscall) ? PORT_FAULTS[code] : undefined;
  if (why === undefined) return null;
  const option = optionOf(port) ?? "PORT, SIP_PORT, SIP_TLS_PORT or SIMULATORS_PORT";
  return `Port ${port ?? "?"} on ${address ?? "this machine"} ${why}. Choose another with ${option} (0 = any free port).`;
}
