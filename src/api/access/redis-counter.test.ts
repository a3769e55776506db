import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createClient } from "@redis/client";
import { systemClock } from "#src/kernel/clock.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createLog } from "#src/platform/index.ts";
import { createIdentity } from "#simulators/tls.ts";
import { callerOf, startTestApi } from "../testing.ts";
import type { RateCounter } from "./counter.ts";
import { redisCounter } from "./redis-counter.ts";
import { startRedis, type TestRedis, withoutRedis } from "./testing.ts";

/** What is Redis's own: an outage, a password, TLS. What it counts is told by counter.test.ts. */

const counters: { close(): void }[] = [];
after(() => counters.forEach((counter) => counter.close()));

async function counterOf(url: string) {
  let [log, fallbacks] = ["", 0];
  /** How long it was ready to wait for anything, ms. */
  const waits = new Set<number>();
  const waiting: { event: string; done: () => void }[] = [];
  const counter = await redisCounter({
    url: new Secret(url),
    clock: {
      ...systemClock,
      after(ms, task) {
        waits.add(ms);
        return systemClock.after(ms, task);
      },
    },
    log: createLog({
      level: "debug",
      format: "json",
      write: (line) => {
        log += line;
        waiting.filter(({ event }) => line.includes(event)).forEach(({ done }) => done());
      },
    }),
    onFallback: () => fallbacks++,
  });
  counters.push(counter);
  return {
    counter,
    waits,
    log: () => log,
    fallbacks: () => fallbacks,
    logged: (event: string) => new Promise<void>((done) => waiting.push({ event, done })),
  };
}

const allowedOf = async (counter: RateCounter, bucket: string, count: number) => {
  let allowed = 0;
  for (let n = 0; n < count; n++) if ((await counter.count(bucket, 20)).allowed) allowed++;
  return allowed;
};

describe("rate limits in Redis", { skip: withoutRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis?.close());

  test("a Redis that is away, then there, then away again: nobody is refused for its sake, and it is used again when it is back (R-063)", async () => {
    await redis.stop();
    const { counter, log, fallbacks, logged } = await counterOf(redis.url);
    assert.equal(await allowedOf(counter, "outage", 25), 20);
    assert.equal(fallbacks(), 25);
    assert.equal(log().match(/"redis_lost"/g)?.length, 1);

    const back = logged("redis_back");
    await redis.start();
    await back;
    assert.partialDeepStrictEqual(await counter.count("outage", 20), { allowed: true, used: 1 });
    assert.equal(fallbacks(), 25);

    const lost = logged("redis_lost");
    await redis.stop();
    await lost;
    assert.equal((await counter.count("outage", 20)).allowed, false);
    const again = logged("redis_back");
    await redis.start();
    await again;
    assert.equal((await counter.count("outage", 20)).used, 1);
  });

  test("a Redis that hangs delays the requests that wait for it once, no later ones, and is used again when it goes on", async () => {
    const { counter, waits, fallbacks, logged } = await counterOf(redis.url);
    waits.clear();
    redis.freeze();
    const lost = logged("redis_lost");
    const back = logged("redis_back");
    const counts = await Promise.all(Array.from({ length: 30 }, async () => counter.count("frozen", 20)));
    assert.equal(counts.filter(({ allowed }) => allowed).length, 20);
    assert.deepEqual([...waits], [250, 1000], "for the answer, and until the next connection");
    await lost;
    await counter.count("frozen", 20);
    assert.equal(fallbacks(), 31);
    redis.wake();
    await back;
    await counter.count("thawed", 20);
    assert.equal(fallbacks(), 31);
  });

  test("what is kept of an address goes by itself when its bucket is full again", async () => {
    const { counter } = await counterOf(redis.url);
    await counter.count("fleeting", 20);
    const client = await createClient({ url: redis.url }).connect();
    const ttl = await client.pTTL("voicetill:rate:fleeting");
    client.destroy();
    assert.ok(ttl > 0 && ttl <= 3_000, `${ttl} ms`);
  });

  test("over HTTP, two servers on one Redis give 20 of 30 requests, and go on when it dies in between (R-060, R-063)", async () => {
    const api = await startTestApi();
    const settings = { rateLimitPerMinute: 20 };
    const servers = await Promise.all(
      [1, 2].map(async () => api.another({ settings, deps: { rateCounter: (await counterOf(redis.url)).counter } })),
    );
    const statusOf = async (n: number) => (await callerOf(servers[n % 2]!)("GET", "/v1/auth/check")).statusCode;
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, n) => statusOf(n)));
    assert.deepEqual(
      [200, 429].map((wanted) => statuses.filter((status) => status === wanted).length),
      [20, 10],
    );
    await redis.stop();
    assert.deepEqual(await Promise.all([statusOf(0), statusOf(1)]), [200, 200]);
    await redis.start();
    for (const server of servers) await server.close();
    await api.close();
  });
});

test("the password of REDIS_URL is sent; a wrong one is named by its kind in the log and not shown", { skip: withoutRedis }, async () => {
  const redis = await startRedis(["--requirepass", "hunter2/%"]);
  try {
    const right = await counterOf(`redis://:hunter2%2F%25@127.0.0.1:${redis.port}/3`);
    await right.counter.count("bucket", 20);
    assert.equal(right.fallbacks(), 0);
    for (const [user, reason] of [
      [":swordfish@", "WRONGPASS"],
      ["", "NOAUTH"],
    ] as const) {
      const wrong = await counterOf(`redis://${user}127.0.0.1:${redis.port}`);
      assert.equal((await wrong.counter.count("bucket", 20)).used, 1);
      assert.equal(wrong.fallbacks(), 1);
      assert.match(wrong.log(), new RegExp(`"reason":"${reason}"`));
      assert.doesNotMatch(wrong.log(), /swordfish/);
    }
  } finally {
    await redis.close();
  }
});

test("rediss:// verifies the certificate: an authority that is trusted is, another is not", { skip: withoutRedis }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-redis-tls-"));
  const identity = createIdentity(["localhost"]);
  const files = Object.fromEntries(
    (["cert", "key", "ca"] as const).map((name) => {
      const file = join(folder, `${name}.pem`);
      writeFileSync(file, identity[name]);
      return [name, file];
    }),
  );
  const tls = ["--tls-cert-file", files["cert"]!, "--tls-key-file", files["key"]!, "--tls-ca-cert-file", files["ca"]!];
  const redis = await startRedis([...tls, "--tls-auth-clients", "no"], "tls-port");
  const trusted = getCACertificates("default");
  try {
    const untrusted = await counterOf(`rediss://localhost:${redis.port}`);
    await untrusted.counter.count("bucket", 20);
    assert.equal(untrusted.fallbacks(), 1);
    setDefaultCACertificates([...trusted, identity.ca]);
    // A handshake that takes over a second is given up: the next try counts.
    for (let fallbacks = 1; fallbacks > 0;) {
      const accepted = await counterOf(`rediss://localhost:${redis.port}`);
      await accepted.counter.count("bucket", 20);
      fallbacks = accepted.fallbacks();
    }
  } finally {
    setDefaultCACertificates(trusted);
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
