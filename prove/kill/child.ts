import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../scripts/voicetill.mjs", import.meta.url));

/** How a child ended: its status, or the signal that ended it. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** One run of the program. */
export interface Child {
  process: ChildProcess;
  /** The first line it prints; null when it ended before. */
  first: Promise<string | null>;
  ended: Promise<Ended>;
}

/** Starts a command of the program. `onLine` is given everything else that it writes. */
export function start(args: string[], env: Record<string, string>, onLine: (line: string) => void): Child {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
  const lines = createInterface({ input: child.stdout });
  const first = Promise.race([once(lines, "line").then(([line]) => line as string), ended.then(() => null)]);
  lines.on("line", onLine);
  createInterface({ input: child.stderr }).on("line", onLine);
  return { process: child, first, ended };
}

/** Runs a command to its end, however it ends; answers everything that it wrote. */
export async function output(args: string[], env: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
  const lines: string[] = [];
  const { code } = await start(args, env, (line) => lines.push(line)).ended;
  return { code, lines };
}

/** Runs a command to its end; throws with what it wrote unless it ended well. */
export async function run(args: string[], env: Record<string, string>): Promise<void> {
  const { code, lines } = await output(args, env);
  if (code !== 0) throw new Error(`voicetill ${args[0]} ended with ${code}: ${lines.join("\n")}`);
}
