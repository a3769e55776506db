#!/usr/bin/env node
// The entry point: plain JavaScript for any Node.js, so that a wrong one never runs the TypeScript behind it silently.
// Runs `src/main.ts`, or with `--script FILE` another file of the project, under the pinned Node.js 26.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { isatty } from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";
import { binaryIn, bytesFault } from "./runtime.mjs";

const MAJOR = 26;
const root = fileURLToPath(new URL("..", import.meta.url));
const pinned = binaryIn(root);
const [first, second, ...others] = process.argv.slice(2);
const [file, args] = first === "--script" ? [second, others] : ["src/main.ts", process.argv.slice(2)];

if (Number(process.versions.node.split(".")[0]) >= MAJOR) {
  // node:wasi and node:sqlite say "experimental" on every start; an operator can do nothing about it.
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    if ((rest[0]?.type ?? rest[0]) !== "ExperimentalWarning") emitWarning.call(process, warning, ...rest);
  };
  // A name that no server answers for holds one of the threads that look names up, half of all, for ten seconds and more: with Node's four
  // two of them, a merchant's webhooks say, kept every gateway's name waiting. A thread that waits holds ten kilobytes. They are begun
  // all at once, which a command that ends soon need not wait for.
  if (file === "src/main.ts" && /^(serve|-.*)?$/.test(args[0] ?? "")) process.env.UV_THREADPOOL_SIZE ??= "128";
  // Types are stripped and modules compiled once, not at every start: half of it, this process's and its threads'. They are as
  // trustworthy as the packages beside them; in a folder that cannot be written nothing is kept.
  process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/voicetill`;
  const { enableCompileCache } = await import("node:module"); // Node.js 20 has none, and must read this file too.
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
  process.argv = [process.argv[0], `${root}${file}`, ...args];
  await import(pathToFileURL(`${root}${file}`).href);
} else if (existsSync(pinned) && bytesFault(root) !== null) {
  process.stderr.write(`${pinned} ${bytesFault(root)}: it is not run. Remove node_modules and run "npm ci".\n`);
  process.exit(1);
} else if (existsSync(pinned)) {
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // Ctrl-C reaches the child from the terminal itself; sent on, it would be the second signal, which ends at once.
  const atTerminal = [0, 1, 2].some((fd) => isatty(fd));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => (signal === "SIGINT" && atTerminal) || child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
} else {
  process.stderr.write(
    `Voicetill runs on Node.js ${MAJOR}; this is ${process.version} and the pinned one is not installed. ` +
      `Run "npm ci" (with install scripts allowed for the package "node"), or use Node.js ${MAJOR}.\n`,
  );
  process.exit(1);
}
