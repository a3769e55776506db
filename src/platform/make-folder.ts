import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorCode } from "#src/kernel/errors.ts";

/**
 * Makes a folder and those above it that are missing. Throws what the file system says. Node.js 26 does this by itself too, but does
 * not come back where an existing parent says that it does not exist, as /proc does: here every folder is asked for once.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.toReversed()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Another process may have made it in between.
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
  if (!statSync(path).isDirectory()) throw Object.assign(new Error("it is a file"), { code: "ENOTDIR" });
}
