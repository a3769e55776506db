// The pinned Node.js: what stands in node_modules/node must be what this version of the project was made with. npm checks the package
// `node` by the lockfile, but that package has no binary: its install script fetches one from the registry, past the lockfile
// (docs/decisions/0013). Plain JavaScript for any Node.js >= 20.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const RUNTIME = {
  version: "26.10.0",
  /** SHA-256 of bin/node in the registry's package for each platform. */
  sha256: {
    "linux-x64": "ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da",
    "linux-arm64": "71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03",
    "darwin-arm64": "56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861",
    "darwin-x64": "083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31",
  },
};

export const binaryIn = (root) => join(root, "node_modules/node/bin/node");

/** Why the binary's bytes cannot be trusted, as the end of a sentence; null when they can, or when nothing is pinned for this platform. */
export function bytesFault(root, { runtime = RUNTIME, platform = `${process.platform}-${process.arch}` } = {}) {
  const file = binaryIn(root);
  if (!existsSync(file)) return "is not installed";
  const wanted = runtime.sha256[platform];
  return wanted === undefined || digestOf(file, root) === wanted
    ? null
    : `is not the Node.js ${runtime.version} that this project pins (SHA-256)`;
}

/** The same, and whether it runs and is the version it should be. Nothing is run whose bytes are wrong. */
export function runtimeFault(root, options = {}) {
  const { version } = options.runtime ?? RUNTIME;
  const fault = bytesFault(root, options);
  if (fault !== null) return fault;
  const { status, stdout } = spawnSync(binaryIn(root), ["--version"], { encoding: "utf8" });
  if (status !== 0) return "does not run on this machine";
  return stdout.trim() === `v${version}` ? null : `is ${stdout.trim()}, not v${version}`;
}

/** Reading 150 MB takes a second on a slow disk: the digest is kept beside the file's size and times, and read anew when they change. */
function digestOf(file, root) {
  const note = join(root, "node_modules/.voicetill-runtime.json");
  const { size, mtimeMs, ctimeMs, ino } = statSync(file);
  const seen = JSON.stringify([size, mtimeMs, ctimeMs, ino]);
  try {
    const noted = JSON.parse(readFileSync(note, "utf8"));
    if (noted.seen === seen) return noted.sha256;
  } catch {
    // There is no note yet, or not a readable one.
  }
  const sha256 = sha256Of(file);
  try {
    writeFileSync(note, JSON.stringify({ seen, sha256 }));
  } catch {
    // node_modules may be read-only: then it is read each time.
  }
  return sha256;
}

function sha256Of(file) {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(1 << 20);
  const descriptor = openSync(file, "r");
  try {
    for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(descriptor);
  }
  return hash.digest("hex");
}
