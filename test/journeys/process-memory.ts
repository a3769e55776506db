import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Looks into the memory of a running process (S-60). Linux only. */

const CHUNK = 4 * 1024 * 1024;
const OVERLAP = 64;

/** Where any of the patterns stands in memory that the process can write to: pattern and kind of region, once for each place. */
export function findInMemory(pid: number, patterns: ReadonlyMap<string, Buffer>): string[] {
  const found: string[] = [];
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const bytes = Buffer.allocUnsafe(CHUNK + OVERLAP);
  try {
    for (const { start, end, name } of writableRegions(pid)) {
      for (let at = start; at < end; at += CHUNK) {
        const length = read(memory, bytes, at, Math.min(CHUNK + OVERLAP, end - at));
        const view = bytes.subarray(0, length);
        for (const [pattern, wanted] of patterns) {
          for (let hit = view.indexOf(wanted); hit !== -1 && hit < CHUNK; hit = view.indexOf(wanted, hit + 1)) {
            found.push(`${pattern} in ${name}`);
          }
        }
      }
    }
  } finally {
    bytes.fill(0);
    closeSync(memory);
  }
  return found;
}

function writableRegions(pid: number): { start: number; end: number; name: string }[] {
  return readFileSync(`/proc/${pid}/maps`, "latin1")
    .split("\n")
    .map((line) => /^([0-9a-f]+)-([0-9a-f]+) rw\S+ \S+ \S+ \S+ *(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, start = "", end = "", name = ""]) => ({
      start: parseInt(start, 16),
      end: parseInt(end, 16),
      name: name || "anonymous memory",
    }));
}

/** What can be read: a region may have gone since, and a page at its end may not exist. */
function read(memory: number, bytes: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, bytes, 0, length, at);
  } catch {
    return 0;
  }
}

/** The forms in which a process holds digits: text, two-byte text, one digit a byte, one a 32-bit or 64-bit number. */
export function formsOf(name: string, digits: string): [string, Buffer][] {
  const values = Array.from(digits, Number);
  const wide = (width: number) => {
    const bytes = Buffer.alloc(values.length * width);
    values.forEach((value, index) => bytes.writeUInt8(value, index * width));
    return bytes;
  };
  return [
    [`${name} as text`, Buffer.from(digits)],
    [`${name} as two-byte text`, Buffer.from(digits, "utf16le")],
    [`${name} as digits`, Buffer.from(values)],
    [`${name} as numbers`, wide(4)],
    [`${name} as long numbers`, wide(8)],
  ];
}
