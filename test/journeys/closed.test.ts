import assert from "node:assert/strict";
import { test } from "node:test";
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
