import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isFreePort } from "../../test/free-port.ts";
import { countBy } from "./count.ts";
import type { Service } from "./service.ts";

/** What a process holds and what it leaves behind (I12), as the kernel of Linux sees it. */

/** What its open descriptors are: `socket`, `pipe`, `anon_inode`. Files are left out: a database keeps those of its tables open. */
export function descriptorsOf(pid: number): Record<string, number> {
  const folder = `/proc/${pid}/fd`;
  const kinds = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).replace(/:?\[.*/, "");
    } catch {
      // It was closed in between.
      return "/";
    }
  });
  return countBy(kinds.filter((kind) => !kind.startsWith("/")));
}

/** What is open now and was not before. */
export function openedSince(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>): string[] {
  const more = Object.entries(now).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const);
  return more.filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`);
}

/** What is still there of a service that has ended: processes that have its settings, ports that are taken. */
export async function remainingResources({ env, ports }: Service): Promise<string[]> {
  const mark = `DATA_DIR=${env["DATA_DIR"]}\0`;
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark));
  const taken = await Promise.all(ports.map(async (port) => ((await isFreePort(port)) ? [] : [`port ${port}`])));
  return [...processes.map((pid) => `process ${pid}`), ...taken.flat()];
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

/** Lines of a service's output that are neither entries of its log nor what it says when it is ended: a warning of Node's, a stack. */
export function unexpectedLogLines({ logFile }: Service): string[] {
  const written = readFileSync(logFile, "utf8").split("\n");
  return written.filter((line) => line !== "" && !/^(\{.*\}|killed at [\w.]+|Draining \d+ calls.*)$/.test(line));
}
