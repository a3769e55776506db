import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";

const SIPP = "/usr/bin/sipp";
export const withoutSipp = existsSync(SIPP) ? false : "needs SIPp (apt-get install sip-tester)";

export interface Sipp {
  /** Where it listens on loopback. */
  port: number;
  /** Resolves when it has ended by itself: empty when every call went as its scenario says, else what it wrote. */
  ended: Promise<string>;
  /** The messages that it received so far and that begin with this method or status line, in order. */
  received(start: string): string[];
  close(): Promise<void>;
}

/**
 * Runs a scenario: with `target`, HOST:PORT, it calls, else it waits for calls. `files` lie beside the scenario, by name. Media ports
 * are taken from `mediaPort` on.
 */
export async function startSipp({
  scenario,
  files = {},
  target,
  mediaPort,
  args = [],
}: {
  scenario: string;
  files?: Record<string, Uint8Array>;
  target?: string;
  mediaPort: number;
  args?: string[];
}): Promise<Sipp> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-sipp-"));
  for (const [name, content] of Object.entries({ "scenario.xml": scenario, ...files })) writeFileSync(join(folder, name), content);
  const port = await freePort();
  const own = ["-sf", "scenario.xml", "-i", "127.0.0.1", "-mi", "127.0.0.1", "-p", String(port), "-mp", String(mediaPort), "-nostdin"];
  const trace = ["-trace_msg", "-message_file", "messages.log"];
  const child: ChildProcess = spawn(SIPP, [...(target ? [target] : []), ...own, ...trace, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)));
  const closed = once(child, "close") as Promise<[number | null]>;
  return {
    port,
    ended: closed.then(([status]) => (status === 0 ? "" : `SIPp ended with ${status}\n${output}`)),
    received: (start) =>
      readFileSync(join(folder, "messages.log"), "utf8")
        .split(/^-{10,}.*$/m)
        .flatMap((entry) => /message received \[\d+\] bytes ?:\s*([\s\S]*)/.exec(entry)?.[1] ?? [])
        .filter((message) => message.startsWith(start)),
    async close() {
      child.kill("SIGKILL");
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Values of a message's headers by lower-case name. */
export function headersOf(message: string): Record<string, string> {
  const [head = ""] = message.split(/\r?\n\r?\n/);
  const lines = [...head.matchAll(/^([^:\r\n ]+) *: *(.*?)\r?$/gm)];
  return Object.fromEntries(lines.map(([, name = "", value = ""]) => [name.toLowerCase(), value]));
}
