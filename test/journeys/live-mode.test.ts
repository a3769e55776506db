import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openInstallation, ROOT, run, serve, type Installation } from "./installation.ts";

/** Live keys are there; each start has its own settings. */
const SAFE = { LOG_LEVEL: "info", OUTBOUND_ALLOW: "", SIP_TRUNKS: "127.0.0.0/8" };
const LIVE = {
  slug: "acme",
  name: "Acme",
  api_keys: [{ name: "live", mode: "live" }],
  projects: [{ slug: "shop", name: "Shop", status_webhook: { url: "http://127.0.0.1:1024/hook" } }],
};

const UNSAFE: readonly (readonly [what: string, env: Record<string, string>, sentence: RegExp])[] = [
  ["a BASE_URL without TLS", { BASE_URL: "http://pay.example" }, /- BASE_URL is http:\/\/pay\.example: .*\.$/m],
  ["a public HOST without a BASE_URL", { HOST: "0.0.0.0" }, /- BASE_URL is not set and HOST is 0\.0\.0\.0: .*\.$/m],
  ["debug lines", { LOG_LEVEL: "debug" }, /- LOG_LEVEL is debug.*\.$/m],
  ["trunks of everybody", { SIP_TRUNKS: "0.0.0.0/0" }, /- SIP_TRUNKS 0\.0\.0\.0\/0 is everybody.*\.$/m],
  ["trunks of everybody in halves", { SIP_TRUNKS: "0.0.0.0/1,128.0.0.0/1" }, /- SIP_TRUNKS .* is everybody.*\.$/m],
  ["a way out to everybody in IPv6 halves", { OUTBOUND_ALLOW: "::/1,8000::/1" }, /- OUTBOUND_ALLOW .* is everybody.*\.$/m],
];

describe(
  "with live keys (R-440)",
  { skip: process.env["TEST_DATABASE_URL"] ? false : "live keys need PostgreSQL: TEST_DATABASE_URL" },
  () => {
    let installation: Installation;
    before(async () => {
      installation = await openInstallation({ ...SAFE, SIMULATORS_PORT: "" });
      await installation.apply(LIVE);
    });
    after(() => installation.close());

    const refuses = async (env: Record<string, string>, sentence: RegExp) => {
      const starting = serve({ ...installation.env, ...env }).then((serving) => serving.end());
      await assert.rejects(starting, (error: Error) => {
        assert.match(error.message, /ended with status 1 before it was ready: There are live keys/);
        assert.match(error.message, sentence);
        return true;
      });
    };

    for (const [what, env, sentence] of UNSAFE) {
      test(`the service refuses to start on ${what}, in a sentence (R-440)`, () => refuses(env, sentence));
    }

    test("each fault has its own sentence (R-440, S-02)", async () => {
      const env = { LOG_LEVEL: "debug", BASE_URL: "http://pay.example" };
      await refuses(env, /^- LOG_LEVEL/m);
      await refuses(env, /^- BASE_URL/m);
    });

    test("the service refuses to start on a master key inside the checkout (R-440)", async () => {
      const folder = join(ROOT, `.key-${process.pid}`);
      mkdirSync(folder);
      try {
        const file = join(folder, "master.key");
        writeFileSync(file, installation.env["MASTER_KEY"]!, { mode: 0o600 });
        await refuses({ MASTER_KEY: "", MASTER_KEY_FILE: file }, /- the master key's file .* lies in a checkout.*\.$/m);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    for (const [what, bytes, sentence] of [
      ["of zeros", Buffer.alloc(32), /- MASTER_KEY is all zeros.*\.$/m],
      ["that is too short", Buffer.concat([Buffer.from("hunter2"), Buffer.alloc(25)]), /- MASTER_KEY is a short key.*\.$/m],
    ] as const) {
      test(`the service refuses to start on a master key ${what} (R-440)`, async () => {
        const weak = await openInstallation({ ...SAFE, MASTER_KEY: bytes.toString("base64") });
        try {
          await weak.apply(LIVE);
          await refuses(weak.env, sentence);
        } finally {
          await weak.close();
        }
      });
    }

    test("it starts with http on loopback, and tells in the log what only a running service can mend (R-440, R-431)", async () => {
      const env = { ...installation.env, BASE_URL: "http://localhost:8080" };
      const serving = await serve(env);
      assert.equal(await serving.end(), 0);
      assert.match(serving.output(), /"event":"check_failed","reason":"projects: acme\/shop: its status_webhook is not https/);
      const { stdout } = await run(["doctor", "--json"], env);
      const findings = JSON.parse(stdout) as { check: string; level: string }[];
      assert.deepEqual(
        findings.filter(({ level }) => level === "fail").map(({ check }) => check),
        ["projects"],
      );
    });

    test("without live keys the same settings start (R-440)", async () => {
      const tests = await openInstallation({ ...SAFE, LOG_LEVEL: "debug", BASE_URL: "http://pay.example", SIP_TRUNKS: "0.0.0.0/0" });
      try {
        assert.equal(await (await serve(tests.env)).end(), 0);
      } finally {
        await tests.close();
      }
    });
  },
);
