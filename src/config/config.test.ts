import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OperatorError } from "#src/kernel/errors.ts";
import { TRUNK_PRESETS } from "./trunk-presets.ts";
import { describeSettings, maskedSettings, misspeltSettings, readConfig, takeConfig } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "voicetill-config-"));
after(() => rmSync(folder, { recursive: true }));

const KEY = Buffer.alloc(32, 7).toString("base64");
const PRODUCTION = { DATABASE_URL: "postgres://till:hunter2@db/till", MASTER_KEY: KEY };

test("a recogniser of the operator's own may be on this machine, and on another over TLS", () => {
  for (const speech of [
    "ws://127.0.0.1:2700",
    "ws://localhost:2700/en",
    "ws://[::1]:2700",
    "ws://127.1:2700",
    "wss://asr.example/?model=en",
  ])
    assert.equal(readConfig({ SPEECH: speech }, false).speech, speech);
});

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
    voice: "embedded",
    logFormat: "json",
    sessionTtlSeconds: 300,
    retentionPersonalDays: 30,
    retentionDays: 400,
  });
  assert.equal(readConfig({}, true).logFormat, "pretty");
});

test("an endpoint's voice is one for all languages, or another for some", () => {
  const voice = "http://127.0.0.1:8880/v1/audio/speech";
  const config = readConfig({ VOICE: voice, VOICE_NAME: "nova, es-US=lola", VOICE_KEY: "hunter2" }, false);
  assert.partialDeepStrictEqual(config, { voice, voiceModel: "tts-1", voiceName: { all: "nova", of: { "es-US": "lola" } } });
  assert.equal(config.voiceKey?.reveal(), "hunter2");
});

test("with DATABASE_URL nothing of loopback is trusted and the simulators are off", () => {
  const config = readConfig(PRODUCTION, false);
  assert.partialDeepStrictEqual(config, { embedded: false, outboundAllow: [], sipTrunks: [], simulatorsPort: null });
  assert.equal(config.databaseUrl?.reveal(), PRODUCTION.DATABASE_URL);
  assert.doesNotMatch(JSON.stringify(config), /hunter2|BwcH/);
});

test("SIP_TRUNKS takes published ranges by their names, among others", () => {
  const { sipTrunks } = readConfig({ SIP_TRUNKS: "telnyx, 10.1.0.0/16,twilio" }, false);
  assert.deepEqual(sipTrunks.slice(0, 4), ["192.76.120.10", "64.16.250.10", "10.1.0.0/16", "54.172.60.0/30"]);
  for (const [name, { ranges }] of Object.entries(TRUNK_PRESETS)) {
    const addresses = ranges.map((range) => 2 ** (32 - Number(range.split("/")[1] ?? 32))).reduce((sum, count) => sum + count);
    assert.ok(addresses > 0 && addresses < 2 ** 16, `${name} is a carrier's, not everybody's`);
    assert.equal(readConfig({ SIP_TRUNKS: name }, false).sipTrunks.length, ranges.length);
  }
});

test("a dashboard can be off, and that alone: there is none", () => {
  for (const env of [{}, { DASHBOARD: "" }, { DASHBOARD: "off" }]) assert.equal(readConfig(env, false).dashboard, "off");
  assert.match(describeSettings(), /^ {2}DASHBOARD .*\(default: off\)$/m);
});

test("no more speech workers are kept ready than may run", () => {
  assert.partialDeepStrictEqual(readConfig({ SPEECH_WORKERS: "1" }, false), { speechWorkers: 1, speechReady: 1 });
  assert.partialDeepStrictEqual(readConfig({ SPEECH_WORKERS: "16" }, false), { speechReady: 2 });
  assert.throws(() => readConfig({ SPEECH_WORKERS: "many" }, false), /^OperatorError: SPEECH_WORKERS: /);
});

const FAULTS: [Record<string, string>, RegExp][] = [
  [{ PORT: "65536" }, /^PORT: "65536" is not a port from 0 to 65535\.$/],
  [{ PORT: "80a" }, /^PORT: /],
  [{ SIP_PORT: "-1" }, /^SIP_PORT: /],
  [{ HOST: "a b" }, /^HOST: /],
  [{ HOST: "999.1.1.1" }, /^HOST: "999\.1\.1\.1" is not a host name or address, without a port\.$/],
  [{ SIP_HOST: "till:5060" }, /^SIP_HOST: /],
  [{ SIP_PUBLIC_HOST: "203.0.113.10:5060" }, /^SIP_PUBLIC_HOST: "203\.0\.113\.10:5060" is not a host name or address, without a port\.$/],
  [{ SIP_PUBLIC_HOST: "0.0.0.0" }, /^SIP_PUBLIC_HOST: 0\.0\.0\.0 is no address that callers can send to\.$/],
  [{ BASE_URL: "ftp://pay.example" }, /^BASE_URL: /],
  [{ BASE_URL: "https://pay.example/?a=1" }, /^BASE_URL: /],
  [{ BASE_URL: "https://till@pay.example" }, /^BASE_URL: .* without user name, query and fragment\.$/],
  [{ DATABASE_URL: "mysql://till:hunter2@db" }, /^DATABASE_URL: its value is not a PostgreSQL address/],
  [{ DATABASE_URL: "postgres://db/till" }, /^MASTER_KEY: it must be set when DATABASE_URL is/],
  [{ MASTER_KEY: "c2hvcnQ=" }, /^MASTER_KEY: its value is not 32 bytes in base64/],
  [{ MASTER_KEY: KEY, MASTER_KEY_FILE: "/x" }, /^MASTER_KEY: it is set twice/],
  [{ MASTER_KEY_FILE: "/nowhere/key" }, /^MASTER_KEY_FILE: the file "\/nowhere\/key" cannot be read\.$/],
  [{ ROLES: "api,cook" }, /^ROLES: "api,cook" is not a list of api, voice, worker\.$/],
  [{ ROLES: "," }, /^ROLES: /],
  [{ OUTBOUND_ALLOW: "10.0.0.0/33" }, /^OUTBOUND_ALLOW: /],
  [
    { SIP_TRUNKS: "trunk.example" },
    /^SIP_TRUNKS: "trunk\.example" is not a list of address ranges such as 10\.0\.0\.0\/8 and of names: twilio, /,
  ],
  [{ SIP_TRUNKS: "twilio,constructor" }, /^SIP_TRUNKS: /],
  [{ SIP_HOST: "0.0.0.0" }, /^SIP_PUBLIC_HOST: it must be set when SIP_HOST is 0\.0\.0\.0/],
  [{ SPEECH_READY: "17", SPEECH_WORKERS: "16" }, /^SPEECH_READY: 17 cannot be kept ready when SPEECH_WORKERS is 16\.$/],
  [{ SIP_TLS_PORT: "5061" }, /^SIP_TLS_CERT: it must be set when SIP_TLS_PORT is\.$/m],
  [{ SIP_TLS_PORT: "5061", SIP_TLS_CERT: "/c" }, /^SIP_TLS_KEY: it must be set when SIP_TLS_PORT is\.$/],
  [{ SIP_TLS_KEY: "/k" }, /^SIP_TLS_PORT: it must be set when SIP_TLS_KEY is\.$/],
  [{ SIP_TLS_CLIENT_CA: "/ca" }, /^SIP_TLS_PORT: it must be set when SIP_TLS_CLIENT_CA is\.$/],
  [{ SIP_USERS: "ada:hunter2:x" }, /^SIP_USERS: its value is not a list such as name:password/],
  [{ SIP_USERS: "ada" }, /^SIP_USERS: its value is not a list/],
  [{ SIP_USERS: "ada:hunter2%zz" }, /^SIP_USERS: its value is not a list/],
  [{ REDIS_URL: "http://:hunter2@cache" }, /^REDIS_URL: its value is not a Redis address such as/],
  [{ REDIS_URL: "redis://:hunter2@" }, /^REDIS_URL: its value is not a Redis address/],
  [{ REDIS_URL: "redis://:hunter2@cache/first" }, /^REDIS_URL: its value is not a Redis address/],
  [{ REDIS_URL: "redis://:hunter2@cache:99999999" }, /^REDIS_URL: its value is not a Redis address/],
  [{ RTP_PORTS: "30000-20000" }, /^RTP_PORTS: /],
  [{ RTP_PORTS: "31001-31002" }, /^RTP_PORTS: "31001-31002" is not a range of ports .* with an even one and the next in it/],
  [{ SPEECH: "telepathy" }, /^SPEECH: "telepathy" is not one of embedded, sherpa, off, or the address of a recogniser: ws:\/\/ on this/],
  [{ SPEECH: "ws://asr.example:2700" }, /^SPEECH: "ws:\/\/asr\.example:2700" is not one of .*wss:\/\/ on any/],
  [{ SPEECH: "ws://10.0.0.7:2700" }, /^SPEECH: /],
  [{ SPEECH: "ws://0.0.0.0:2700" }, /^SPEECH: /],
  [{ SPEECH: "ws://localhost.example:2700" }, /^SPEECH: /],
  [{ SPEECH: "ws://127.0.0.1@asr.example" }, /^SPEECH: /],
  [{ SPEECH: "wss://user:word@asr.example" }, /^SPEECH: /],
  [{ SPEECH: "http://127.0.0.1:2700" }, /^SPEECH: /],
  [{ SPEECH_KEY: "two words" }, /^SPEECH_KEY: its value is not a key without spaces\.$/],
  [{ SHERPA_TOKENS: "a\nb" }, /^SHERPA_TOKENS: /],
  [{ SPEECH: "sherpa" }, /^SHERPA_ENCODER: it must be set when SPEECH is sherpa\.$/m],
  [{ SPEECH: "sherpa", SHERPA_ENCODER: "e", SHERPA_DECODER: "d", SHERPA_JOINER: "j" }, /^SHERPA_TOKENS: it must be set/],
  [{ VOICE: "flite" }, /^VOICE: "flite" is not embedded, or the http or https address/],
  [{ VOICE: "http://user@tts.example/v1/audio/speech" }, /^VOICE: /],
  [{ VOICE_NAME: "nova,de=lola" }, /^VOICE_NAME: "nova,de=lola" is not a voice's name, with others behind it/],
  [{ VOICE_KEY: "hunter2 x" }, /^VOICE_KEY: its value is not a key without spaces\.$/],
  [{ PHONE_NUMBER: "555" }, /^PHONE_NUMBER: /],
  [{ SESSION_TTL_SECONDS: "5" }, /^SESSION_TTL_SECONDS: /],
  [{ RETENTION_DAYS: "-1" }, /^RETENTION_DAYS: "-1" is not a number of days from 0 to 36500\.$/],
  [{ RETENTION_PERSONAL_DAYS: "a month" }, /^RETENTION_PERSONAL_DAYS: /],
  [{ RATE_LIMIT_PER_MINUTE: "1.5" }, /^RATE_LIMIT_PER_MINUTE: /],
  [{ MASTER_KEY_PREVIOUS: "hunter2" }, /^MASTER_KEY_PREVIOUS: its value is not 32 bytes in base64/],
  [{ TRUSTED_PROXIES: "172.16/12" }, /^TRUSTED_PROXIES: "172\.16\/12" is not a list of address ranges/],
  [{ SIP_TRUNKS: "10.0.0.0/8,010.0.0.0/8" }, /^SIP_TRUNKS: .* is not a list of address ranges/],
  [{ TRUSTED_PROXIES: "proxy.example" }, /^TRUSTED_PROXIES: "proxy\.example" is not a list of address ranges/],
  [{ SIP_PUBLIC_HOST: "a b" }, /^SIP_PUBLIC_HOST: /],
  [{ SIP_TLS_SRTP: "always" }, /^SIP_TLS_SRTP: "always" is not one of offered, required\.$/],
  [{ SIP_OUTBOUND: "hunter2@trunk" }, /^SIP_OUTBOUND: its value is not a trunk's address such as/],
  [{ SIP_OUTBOUND: "sip:trunk.example:99999" }, /^SIP_OUTBOUND: /],
  [{ SIP_OUTBOUND: "sip:ada:hunter2@trunk.example;transport=ws" }, /^SIP_OUTBOUND: /],
  [{ SIMULATORS_PORT: "off" }, /^SIMULATORS_PORT: "off" is not a port/],
  [{ LOG_LEVEL: "verbose" }, /^LOG_LEVEL: "verbose" is not one of debug, info, warn, error\.$/],
  [{ VOICE_MODEL: "two words" }, /^VOICE_MODEL: /],
  [{ VOICE_FORMAT: "mp3" }, /^VOICE_FORMAT: "mp3" is not one of wav, pcm\.$/],
  [{ LOG_FORMAT: "xml" }, /^LOG_FORMAT: /],
  [{ MAX_CALLS: "many" }, /^MAX_CALLS: "many" is not a whole number/],
  [{ MAX_CALLS: "0" }, /^MAX_CALLS: "0" is not a whole number from 1 to 1000000\.$/],
  [{ TRANSFERS_AT_ONCE: "-1" }, /^TRANSFERS_AT_ONCE: /],
  [{ AMOUNT_SUBCENT: "half" }, /^AMOUNT_SUBCENT: "half" is not one of reject, round_half_up/],
  [{ TRANSFERS_PER_DAY: "1e3" }, /^TRANSFERS_PER_DAY: /],
  [{ DASHBOARD: "on" }, /^DASHBOARD: "on" cannot be had: this version has no dashboard; leave it unset, or off\.$/],
  [{ DASHBOARD: "127.0.0.1:9090" }, /^DASHBOARD: "127\.0\.0\.1:9090" cannot be had: /],
  [{ VOICETILL_API_KEY: "svc_test_hunter2" }, /^VOICETILL_API_KEY: its value is not an API key, svc_test_ or svc_live_ and 32 letters/],
  [{ CRASH_AT: "nowhere" }, /^CRASH_AT: "nowhere" is not a crash point such as/],
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

test("all settings that are wrong are told at once, a sentence each", () => {
  const told = (env: Record<string, string>) => {
    try {
      return readConfig(env, false) && [];
    } catch (error) {
      return (error as Error).message.split("\n").map((sentence) => sentence.split(":")[0]);
    }
  };
  const wrong = { PORT: "http", ROLES: "api,web", MASTER_KEY: "short", DATABASE_URL_FILE: join(folder, "nowhere") };
  assert.deepEqual(told(wrong), ["PORT", "DATABASE_URL_FILE", "ROLES", "MASTER_KEY"]);
  // What follows from one setting for another is looked at once each is right by itself.
  assert.deepEqual(told({ ...wrong, SIP_HOST: "0.0.0.0" }), ["PORT", "DATABASE_URL_FILE", "ROLES", "MASTER_KEY"]);
  const { DATABASE_URL } = PRODUCTION;
  assert.deepEqual(told({ DATABASE_URL, SIP_HOST: "0.0.0.0", SIP_TLS_PORT: "5061" }), [
    "MASTER_KEY",
    "SIP_PUBLIC_HOST",
    "SIP_TLS_CERT",
    "SIP_TLS_KEY",
  ]);
});

test("a secret may stand in a file, its last line feed is not part of it", () => {
  const file = join(folder, "key");
  writeFileSync(file, `${KEY}\n`);
  const config = readConfig({ MASTER_KEY_FILE: file }, false);
  assert.equal(config.masterKey?.reveal(), KEY);
  assert.deepEqual(config.masterKeyFiles, [file]);
});

test("a secret's file that is empty is refused: the database that it was to name is not replaced by the embedded one", () => {
  const file = join(folder, "empty");
  writeFileSync(file, "\n");
  assert.throws(() => readConfig({ DATABASE_URL_FILE: file }, false), {
    message: `DATABASE_URL_FILE: the file ${JSON.stringify(file)} is empty.`,
  });
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
  assert.throws(() => maskedSettings({ PORT: "eighty" }), /^OperatorError: PORT: /);
});

test("where a setting is unset, what is in force in its place is shown with the setting that it comes from", () => {
  const value = (env: Record<string, string>, name: string) => {
    const found = maskedSettings(env, false).find((setting) => setting.name === name);
    return [found?.value, found?.source];
  };
  const here = { HOST: "::1", PORT: "81", SIP_HOST: "192.0.2.7", DATA_DIR: "/var/till" };
  assert.deepEqual(value(here, "BASE_URL"), ["http://[::1]:81", "PORT"]);
  assert.deepEqual(value(here, "SIP_PUBLIC_HOST"), ["192.0.2.7", "SIP_HOST"]);
  assert.deepEqual(value(here, "MASTER_KEY"), ["/var/till/master.key", "DATA_DIR"]);
  assert.deepEqual(value({ ...here, SIP_PUBLIC_HOST: "sip.example" }, "SIP_PUBLIC_HOST"), ["sip.example", "environment"]);
});

test("no setting is accepted that nothing outside this module reads from the settings", () => {
  const src = new URL("../", import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (name) => /(?<!\.test)\.ts$/.test(name) && !name.startsWith("config/"),
  );
  const text = files.map((name) => readFileSync(new URL(name, src), "utf8")).join("\n");
  // The only value of DASHBOARD asks for nothing.
  const names = Object.keys(readConfig({}, false)).filter((name) => name !== "dashboard");
  assert.ok(names.length > 30);
  // `config.name`, or out of it: `{ name } = config`, `({ name }: Config)`, `{ config: { name } }`.
  const isRead = (name: string) =>
    [
      `config\\??\\.${name}\\b`,
      `\\{[^{}]*\\b${name}\\b[^{}]*\\} = config\\b`,
      `\\{[^{}]*\\b${name}\\b[^{}]*\\}: (?:Config\\b|KeySources\\b|Pick<\\s*Config)`,
    ].some((pattern) => new RegExp(pattern).test(text));
  assert.deepEqual(
    names.filter((name) => !isRead(name)),
    [],
  );
});

test("every setting that can be wrong has a bad value above", () => {
  const refused = new Set(FAULTS.flatMap(([env]) => Object.keys(env)).map((name) => name.replace(/_FILE$/, "")));
  // Any text is a folder; the flag of the tests is refused like every other.
  assert.deepEqual(
    maskedSettings({})
      .filter(({ name }) => !refused.has(name))
      .map(({ name }) => name),
    ["DATA_DIR"],
  );
});

test("a name that is nearly a setting's is told with the one that was likely meant, other programs' are not", () => {
  for (const [name, meant] of [
    ["RTP_PORT", "RTP_PORTS"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["ROLE", "ROLES"],
    ["master_key_flie", "MASTER_KEY_FILE"],
    ["RATE_LIMIT_PER_MINUT", "RATE_LIMIT_PER_MINUTE"],
    ["TRUSTED_PROXYES", "TRUSTED_PROXIES"],
  ] as const)
    assert.deepEqual(misspeltSettings({ [name]: "x", PORT: "1", MASTER_KEY_FILE: "y" }), [{ name, meant }], name);
  const others =
    "PATH HOME HOST HOSTNAME USER SHELL TERM PWD LANG LANGUAGE LOGNAME MAIL EDITOR TZ CI DEBUG NODE_ENV NODE_OPTIONS PGHOST PGPORT PGDATA " +
    "DB_HOST DB_PORT REDIS_HOST REDIS_PORT SMTP_HOST SMTP_PORT HTTP_PORT APP_PORT WEB_PORT API_PORT LOG_FILE DOCKER_HOST HTTP_PROXY NO_PROXY";
  assert.deepEqual(misspeltSettings(Object.fromEntries(others.split(" ").map((name) => [name, "x"]))), []);
});
