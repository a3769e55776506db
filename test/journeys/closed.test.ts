import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { shared, startService } from "./service.ts";

/** What a running process keeps to itself. */

/** Loaded before the service: on SIGUSR2 it prints the environment as the service's own code finds it. */
const WATCHER = `process.on("SIGUSR2", () => console.error("environment " + JSON.stringify(process.env) + " end"))`;
const KEY = Buffer.alloc(32, 7).toString("base64");

test("a running service has no secret left in its environment, and SIGUSR1 opens no debugger (S-34, S-60)", async () => {
  const service = await shared(
    startService({ env: { MASTER_KEY: KEY, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WATCHER)}` } }),
  );
  process.kill(service.pid(), "SIGUSR1");
  process.kill(service.pid(), "SIGUSR2");
  while (!/environment .* end/.test(service.output())) await service.request("GET", "/health/live");
  assert.match(service.output(), /"DATA_DIR"/);
  assert.ok(!service.output().includes(KEY), "the master key is still in the environment");
  assert.doesNotMatch(service.output(), /Debugger listening/);
});

test("a fault that nobody catches ends the process without a word of what it quotes (S-61, S-70)", async () => {
  const fault = `process.on("SIGUSR2", () => { throw Object.assign(new TypeError("of 4242" + "424242424242"), { card: "4242" + "424242424242" }) })`;
  const service = await shared(startService({ env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` } }));
  process.kill(service.pid(), "SIGUSR2");
  while (isAlive(service.pid())) await sleep(20);
  assert.match(service.output(), /process_died.*TypeError/);
  assert.doesNotMatch(service.output(), /4242424242424242/);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
