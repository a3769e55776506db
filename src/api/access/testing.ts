import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../test/free-port.ts";

const PROGRAM = ["/usr/bin/redis-server", "/usr/bin/valkey-server"].find((path) => existsSync(path));

/** Why tests with a Redis are skipped here; false when they are not. */
export const withoutRedis = PROGRAM ? false : "needs redis-server (apt-get install redis-server)";

export interface TestRedis {
  port: number;
  url: string;
  /** Stops answering, its connections stay open; `wake` lets it go on. */
  freeze(): void;
  wake(): void;
  /** Ends the server; `start` brings it back on the same port, empty. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends it for good. */
  close(): Promise<void>;
}

/** A Redis of the test's own on a free port of loopback, with nothing on disk. `args`: further settings; `portSetting`: tls-port for TLS alone. */
export async function startRedis(args: readonly string[] = [], portSetting: "port" | "tls-port" = "port"): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-redis-"));
  const port = await freePort();
  let child: ReturnType<typeof launch>;

  function launch() {
    const ports = portSetting === "port" ? [] : ["--port", "0"];
    const settings = [
      ...ports,
      `--${portSetting}`,
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      folder,
      "--save",
      "",
      "--appendonly",
      "no",
      ...args,
    ];
    return spawn(PROGRAM!, settings, { stdio: ["ignore", "pipe", "inherit"] });
  }

  const redis: TestRedis = {
    port,
    url: `redis://127.0.0.1:${port}`,
    freeze: () => void child.kill("SIGSTOP"),
    wake: () => void child.kill("SIGCONT"),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    async start() {
      child = launch();
      const ready = Promise.withResolvers<void>();
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("Ready to accept connections")) ready.resolve();
      });
      child.once("exit", () => ready.reject(new Error(`${PROGRAM} ended: ${output}`)));
      await ready.promise;
    },
    async close() {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await redis.start();
  return redis;
}
