// Installs what is missing before `npm start` and `npm run demo`; with `--dev`, as before `npm test`, also what only tests and
// checks need. Plain JavaScript for any Node.js >= 20: this file runs under the machine's own Node, before the pinned one of
// node_modules is there.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { binaryIn, runtimeFault } from "./runtime.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);

/** A checkout in which somebody develops keeps what it has. */
const withDev = process.argv.includes("--dev") || existsSync("node_modules/typescript");

/** True when every package of the lockfile that is needed stands in node_modules in the locked version. */
function isInstalled(withDev) {
  if (!existsSync("node_modules/.package-lock.json")) return false;
  const wanted = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
  const present = JSON.parse(readFileSync("node_modules/.package-lock.json", "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, entry]) =>
      path === "" || entry.optional === true || (entry.dev === true && !withDev) || present[path]?.version === entry.version,
  );
}

function npm(...args) {
  const cli = process.env.npm_execpath;
  const [command, prefix] = cli && /\.[cm]?js$/.test(cli) ? [process.execPath, [cli]] : ["npm", []];
  return spawnSync(command, [...prefix, ...args], { stdio: ["ignore", 2, 2], env: { ...process.env, npm_config_loglevel: "error" } });
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  process.stderr.write(`Voicetill needs Node.js 20 or later to install itself; this is ${process.version}.\n`);
  process.exit(1);
}

if (!isInstalled(withDev)) {
  process.stderr.write("Installing what is missing (npm ci) ...\n");
  const started = Date.now();
  // A registry that lacks a package of some other platform makes "npm ci" refuse; "npm install" goes by the same lockfile. It also
  // leaves in place what is there, which a running service may be using.
  const ways = [["ci"], ["install", "--no-save"]].slice(isInstalled(false) ? 1 : 0);
  if (!ways.some((way) => npm(...way, ...(withDev ? [] : ["--omit=dev"])).status === 0)) {
    process.stderr.write("Voicetill could not install its packages: see npm's message above. Is the npm registry reachable?\n");
    process.exit(1);
  }
  process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`);
}
// A machine with this Node.js or a later one runs the project on its own.
if (Number(process.versions.node.split(".")[0]) < 26) {
  if (!existsSync(binaryIn(root))) {
    // An npm that blocks install scripts leaves the package without its binary; run that one script by name.
    rmSync("node_modules/node/bin", { recursive: true, force: true });
    npm("rebuild", "node", "--ignore-scripts=false");
  }
  const fault = runtimeFault(root);
  if (fault !== null) {
    process.stderr.write(`${binaryIn(root)} ${fault}. Remove node_modules and start again, or use a Node.js 26 of your own.\n`);
    process.exit(1);
  }
}
