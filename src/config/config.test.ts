import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OperatorError } from "#src/kernel/errors.ts";
import { describeSettings, maskedSettings, readConfig, takeConfig } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "voicetill-config-"));
after(() => rmSync(folder, { recursive: true }));

const KEY = Buffer.alloc(32, 7).toString("base64");
const PRODUCTION = { DATABASE_URL: "postgres://till:hunter2@db/till", MASTER_KEY: KEY };

test("with nothing set the service runs embedded on loopback, simulators on", () => {
  assert.partialDeepStrictEqual(readConfig({}, false), {
    embedded: true,
    host: "127.0.0.1",
    port: 8080,
    databaseUrl: null,
    dataDir: "./data",
    roles: ["api", "voice", "worker"],
    rateLimitPerMinute: 20,
    outboundAllow: ["127.0.0.0/8", "::1/128"],
    sipTrunks: ["127.0.0.0/8", "::1/128"],
    sipPublicHost: "127.0.0.1",
    rtpPorts: { first: 20000, last: 29999 },
    simulatorsPort: 8090,
    speech: "embedded",
    logFormat: "json",
    sessionTtlSeconds: 300,
    retentionPersonalDays: 30,
    retentionDays: 400,
  });
  assert.equal(readConfig({}, true).logFormat, "pretty");
});

test("with DATABASE_URL nothing of loopback is trusted and the simulators are off", () => {
  const config = readConfig(PRODUCTION, false);
  assert.partialDeepStrictEqual(config, { embedded: false, outboundAllow: [], sipTrunks: [], simulatorsPort: null });
  assert.equal(config.databaseUrl?.reveal(), PRODUCTION.DATABASE_URL);
  assert.doesNotMatch(JSON.stringify(config), /hunter2|BwcH/);
});

const FAULTS: [Record<string, string>, RegExp][] = [
  [{ PORT: "65536" }, /^PORT: "65536" is not a port from 0 to 65535\.$/],
  [{ PORT: "80a" }, /^PORT: /],
  [{ SIP_PORT: "-1" }, /^SIP_PORT: /],
  [{ HOST: "a b" }, /^HOST: /],
  [{ BASE_URL: "ftp://pay.example" }, /^BASE_URL: /],
  [{ BASE_URL: "https://pay.example/?a=1" }, /^BASE_URL: /],
  [{ DATABASE_URL: "mysql://till:hunter2@db" }, /^DATABASE_URL: its value is not a PostgreSQL address/],
  [{ DATABASE_URL: "postgres://db/till" }, /^MASTER_KEY: it must be set when DATABASE_URL is/],
  [{ MASTER_KEY: "c2hvcnQ=" }, /^MASTER_KEY: its value is not 32 bytes in base64/],
  [{ MASTER_KEY: KEY, MASTER_KEY_FILE: "/x" }, /^MASTER_KEY: it is set twice/],
  [{ MASTER_KEY_FILE: "/nowhere/key" }, /^MASTER_KEY_FILE: the file "\/nowhere\/key" cannot be read\.$/],
  [{ ROLES: "api,cook" }, /^ROLES: "api,cook" is not a list of api, voice, worker\.$/],
  [{ ROLES: "," }, /^ROLES: /],
  [{ OUTBOUND_ALLOW: "10.0.0.0/33" }, /^OUTBOUND_ALLOW: /],
  [{ SIP_TRUNKS: "trunk.example" }, /^SIP_TRUNKS: /],
  [{ SIP_HOST: "0.0.0.0" }, /^SIP_PUBLIC_HOST: it must be set when SIP_HOST is 0\.0\.0\.0/],
  [{ SIP_TLS_PORT: "5061" }, /^SIP_TLS_PORT: it must be left unset: SIP is spoken over UDP and TCP/],
  [{ SIP_TLS_KEY: "-----BEGIN hunter2" }, /^SIP_TLS_KEY: it must be left unset/],
  [{ REDIS_URL: "http://:hunter2@cache" }, /^REDIS_URL: its value is not a Redis address such as/],
  [{ REDIS_URL: "redis://:hunter2@" }, /^REDIS_URL: its value is not a Redis address/],
  [{ REDIS_URL: "redis://:hunter2@cache/first" }, /^REDIS_URL: its value is not a Redis address/],
  [{ REDIS_URL: "redis://:hunter2@cache:99999999" }, /^REDIS_URL: its value is not a Redis address/],
  [{ RTP_PORTS: "30000-20000" }, /^RTP_PORTS: /],
  [{ SPEECH: "telepathy" }, /^SPEECH: "telepathy" is not one of embedded, off\.$/],
  [{ PHONE_NUMBER: "555" }, /^PHONE_NUMBER: /],
  [{ SESSION_TTL_SECONDS: "5" }, /^SESSION_TTL_SECONDS: /],
  [{ RETENTION_DAYS: "-1" }, /^RETENTION_DAYS: "-1" is not a number of days from 0 to 36500\.$/],
  [{ RETENTION_PERSONAL_DAYS: "a month" }, /^RETENTION_PERSONAL_DAYS: /],
  [{ RATE_LIMIT_PER_MINUTE: "1.5" }, /^RATE_LIMIT_PER_MINUTE: /],
];

for (const [env, sentence] of FAULTS) {
  test(`a bad setting is one sentence that names it and shows no secret: ${JSON.stringify(env).slice(0, 60)}`, () => {
    assert.throws(
      () => readConfig(env, false),
      (error) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, sentence);
        assert.doesNotMatch(error.message, /hunter2|c2hvcnQ/);
        return true;
      },
    );
  });
}

test("a secret may stand in a file, its last line feed is not part of it", () => {
  const file = join(folder, "key");
  writeFileSync(file, `${KEY}\n`);
  const config = readConfig({ MASTER_KEY_FILE: file }, false);
  assert.equal(config.masterKey?.reveal(), KEY);
  assert.deepEqual(config.masterKeyFiles, [file]);
});

test("a service's secrets are gone from the environment once they are read, and nothing else is (S-34)", () => {
  const env: Record<string, string | undefined> = { ...PRODUCTION, PORT: "9000", REDIS_URL: "redis://:hunter2@cache", PATH: "/bin" };
  assert.equal(takeConfig(env).databaseUrl?.reveal(), PRODUCTION.DATABASE_URL);
  assert.deepEqual(env, { PORT: "9000", PATH: "/bin" });
});

test("an empty value empties a list, unsets what may be unset, and leaves the rest at its default", () => {
  const config = readConfig({ SIP_TRUNKS: "", SIMULATORS_PORT: "", PORT: "", DATABASE_URL: "" }, false);
  assert.partialDeepStrictEqual(config, { embedded: true, sipTrunks: [], simulatorsPort: null, port: 8080 });
});

test("the help lists every setting with its default", () => {
  const help = describeSettings();
  for (const { name } of maskedSettings({})) assert.match(help, new RegExp(`^  ${name} +\\S`, "m"));
  assert.match(help, /^ {2}PORT .*\(default: 8080\)$/m);
});

test("the settings in force are shown with their source, secrets masked", () => {
  const shown = maskedSettings({ ...PRODUCTION, PORT: "9000" }, false);
  assert.doesNotMatch(JSON.stringify(shown), /hunter2|BwcH/);
  const of = (name: string) => shown.find((setting) => setting.name === name);
  assert.deepEqual(of("DATABASE_URL"), { name: "DATABASE_URL", value: "[set]", source: "environment" });
  assert.deepEqual(of("PORT"), { name: "PORT", value: "9000", source: "environment" });
  assert.deepEqual(of("SIP_PORT"), { name: "SIP_PORT", value: "5060", source: "default" });
});
