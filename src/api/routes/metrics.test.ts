import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createMetrics } from "#src/platform/index.ts";
import { callerOf, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

const metrics = createMetrics();
metrics.counter("sessions_created_total", "Sessions made.")();
const scrape = async (options: object = {}) => {
  const app = api.another({ deps: { metrics }, settings: { trustedProxies: ["10.0.0.0/8"], rateLimitPerMinute: 1 } });
  const answer = await callerOf(app)("GET", "/metrics", { key: null, ...options });
  await app.close();
  return answer;
};

test("a scraper on this machine or at a trusted address reads the numbers without a key or a limit", async () => {
  for (const remoteAddress of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"]) {
    const { statusCode, payload, headers } = await scrape({ remoteAddress });
    assert.equal(statusCode, 200, remoteAddress);
    assert.match(String(headers["content-type"]), /^text\/plain; version=0\.0\.4/);
    assert.match(payload, /^voicetill_sessions_created_total 1$/m);
    assert.equal(headers["ratelimit-limit"], undefined);
  }
});

test("to everybody else, and through a proxy, there is no such path", async () => {
  const refused = [
    { remoteAddress: "192.0.2.1" },
    ...["x-forwarded-for", "forwarded", "x-real-ip", "via"].map((name) => ({
      remoteAddress: "127.0.0.1",
      headers: { [name]: "127.0.0.1" },
    })),
    { remoteAddress: "10.1.2.3", headers: { "x-forwarded-for": "192.0.2.1" } },
  ];
  for (const options of refused) {
    const { statusCode, payload } = await scrape(options);
    assert.deepEqual([statusCode, payload], [404, '{"detail":"Not Found"}']);
  }
});

test("the numbers are not there under a public name, so that no page of the web can read them through a name it points here", async () => {
  const status = async (host: string, baseUrl = "https://pay.merchant.example") => {
    const app = api.another({ deps: { metrics }, settings: { baseUrl } });
    const { statusCode } = await callerOf(app)("GET", "/metrics", { key: null, remoteAddress: "127.0.0.1", headers: { host } });
    await app.close();
    return statusCode;
  };
  for (const host of ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "10.1.2.3", "voicetill:8080", "LOCALHOST."]) {
    assert.equal(await status(host), 200, host);
  }
  const refused = [
    "pay.merchant.example",
    "rebound.attacker.example:8080",
    "127.0.0.1.nip.example",
    "localhost.attacker.example",
    "a b",
    "@x",
  ];
  for (const host of refused) assert.equal(await status(host), 404, host);
  assert.equal(await status("203.0.113.7", "https://203.0.113.7"), 404);
  assert.equal(await status("127.0.0.1:8080", "http://127.0.0.1:8080"), 200);
});
