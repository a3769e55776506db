import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "#src/config/index.ts";
import { examine, type Facts } from "./checks.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const KEY = { organization: "acme", name: "web", mode: "live", state: "active", expires_at: null } as const;
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const KEY_TEXT = base64(Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 1));
const ENV = {
  DATABASE_URL: "postgres://db/voicetill",
  MASTER_KEY: KEY_TEXT,
  BASE_URL: "https://pay.example",
  TRUSTED_PROXIES: "10.0.0.9",
  SIP_HOST: "10.0.0.5",
  SIP_TRUNKS: "10.0.0.0/8",
};

const HOOK = { scope: "both", state: "on", https: true, host: "shop.example" } as const;
const TEST_HOOK = { scope: "test", state: "on", https: false, host: "shop.example" } as const;

type Changes = { env?: Record<string, string> } & { [Part in "host" | "installation" | "database" | "rest"]?: object };

/** A healthy installation with live keys, changed in one place. */
function facts({ env = {}, host = {}, installation = {}, database = {}, rest = {} }: Changes = {}): Facts {
  const healthy: object = {
    node: "v26.10.0",
    settingsFault: null,
    misspelt: [],
    config: readConfig({ ...ENV, ...env }),
    host: {
      ports: [],
      publicAddresses: ["10.0.0.5"],
      coreLimit: "0",
      swaps: [],
      proxy: "trusted",
      keyFilesInCheckout: [],
      sipCertificate: null,
      speechFault: null,
      dataDirFault: null,
      ephemeral: [32_768, 60_999],
      ...host,
    },
    databaseFault: null,
    database: {
      kind: "postgres",
      version: "17.2",
      skewMs: 3,
      unsafe: [],
      pendingMigrations: [],
      installation: {
        keys: [KEY],
        secrets: { opened: 4, failed: [] },
        projects: [
          {
            organization: "acme",
            project: "shop",
            archived: false,
            gateways: [{ gateway: "stripe", environment: "live" }],
            webhooks: [HOOK],
            numbers: [],
            trunks: [],
          },
        ],
        webhooks: { pending: 0, oldestSeconds: null, overdue: 0, dead: 0 },
        payments: { stuck: 0, searched: 0, unsettled: 0 },
        numberCallbacks: 0,
        credentials: [],
        processes: [{ owner: "a-1", roles: ["worker"] }],
        audit: { verified: 7, fault: null, overdue: 0 },
        ...installation,
      },
      ...database,
    },
    runsHere: true,
    nowMs: NOW,
    ...rest,
  };
  return healthy as Facts;
}

const shop = (differences: object) => ({
  projects: [
    {
      organization: "acme",
      project: "shop",
      archived: false,
      gateways: [{ gateway: "stripe", environment: "live" }],
      webhooks: [HOOK],
      numbers: [],
      trunks: [],
      ...differences,
    },
  ],
});
const DAY_MS = 86_400_000;
const certificate = (changes: object) => ({ sipCertificate: { isForHost: true, expiresMs: NOW + 90 * DAY_MS, ...changes } });
const CHECKED = { name: "acme/shop", gateway: "stripe", environment: "test" };
const SHOP = shop({}).projects[0];
const port = (state: string) => ({ ports: [{ setting: "PORT", protocol: "TCP", port: 8080, state }] });
const NO_LIVE = { keys: [{ ...KEY, mode: "test" }] };

/** What is wrong, and which check says so how loudly. */
const FAULTS: readonly (readonly [what: string, Changes, check: string, level: "warn" | "fail"])[] = [
  ["an old Node.js", { rest: { node: "v24.1.0" } }, "node", "fail"],
  [
    "a setting that cannot be read",
    { rest: { settingsFault: "PORT: x is not a port.", config: null, host: null, database: null } },
    "settings",
    "fail",
  ],
  ["a setting that is nearly one", { rest: { misspelt: [{ name: "RTP_PORT", meant: "RTP_PORTS" }] } }, "settings", "warn"],
  ["a database that is away", { rest: { database: null, databaseFault: { text: "away", absent: false } } }, "database", "fail"],
  ["no installation yet", { rest: { database: null, databaseFault: { text: "none", absent: true } } }, "database", "warn"],
  [
    "an embedded database's folder that cannot be written to",
    { env: { DATABASE_URL: "" }, host: { dataDirFault: "EROFS" }, database: { kind: "pglite" }, installation: NO_LIVE },
    "data folder",
    "fail",
  ],
  ["a folder for prompts that cannot be written to", { host: { dataDirFault: "EACCES" } }, "data folder", "warn"],
  ["a migration to come", { database: { pendingMigrations: ["0009_x.sql"], installation: null } }, "migrations", "warn"],
  ["a project's trunk that may not call", { installation: shop({ trunks: ["10.1.0.0/16", "203.0.113.0/28"] }) }, "project trunks", "fail"],
  ["a server that a power cut takes commits from", { database: { unsafe: ["fsync"] } }, "database", "warn"],
  ["a clock that is off, with live keys (S-19)", { database: { skewMs: -5001 } }, "clock", "fail"],
  ["a clock that is off, with test keys", { database: { skewMs: 9000 }, installation: NO_LIVE }, "clock", "warn"],
  ["another master key", { installation: { secrets: { opened: 1, failed: ["status_webhook of shop"] } } }, "master key", "fail"],
  ["a port of another program", { host: port("taken"), rest: { runsHere: false } }, "ports", "fail"],
  ["a port that needs root", { host: port("not allowed") }, "ports", "fail"],
  ["a public host without an address", { host: { publicAddresses: [] } }, "SIP address", "fail"],
  ["a public host whose addresses are all of the other family", { host: { publicAddresses: ["2001:db8::7"] } }, "SIP address", "fail"],
  ["a loopback address for trunks outside", { host: { publicAddresses: ["127.0.0.1"] } }, "SIP address", "fail"],
  ["a private address for public trunks", { env: { SIP_TRUNKS: "198.51.100.0/24,54.172.60.0/30" } }, "SIP address", "warn"],
  [
    "live credentials that the vendor refuses",
    { installation: { credentials: [{ ...CHECKED, environment: "live", result: "refused", reason: "HTTP 401" }] } },
    "gateway credentials",
    "fail",
  ],
  [
    "sandbox credentials that the vendor refuses",
    { installation: { credentials: [{ ...CHECKED, result: "refused", reason: "HTTP 401" }] } },
    "gateway credentials",
    "warn",
  ],
  [
    "a vendor that cannot be reached",
    { installation: { credentials: [{ ...CHECKED, environment: "live", result: "not reached", reason: "timed out" }] } },
    "gateway credentials",
    "warn",
  ],
  ["SIP on loopback with a public host", { env: { SIP_HOST: "127.0.0.1", SIP_PUBLIC_HOST: "sip.example" } }, "SIP address", "fail"],
  [
    "SIP on loopback with a public host, for a SIP proxy on this machine",
    { env: { SIP_HOST: "127.0.0.1", SIP_PUBLIC_HOST: "sip.example", SIP_TRUNKS: "127.0.0.1" } },
    "SIP address",
    "warn",
  ],
  ["TLS ended by nobody who is named", { env: { TRUSTED_PROXIES: "" } }, "proxy", "fail"],
  ["TLS ended by a proxy that is not named", { host: { proxy: "not trusted" } }, "proxy", "fail"],
  ["a BASE_URL that leads elsewhere", { host: { proxy: "not reached" }, rest: { runsHere: true } }, "proxy", "warn"],
  ["no trunks", { env: { SIP_TRUNKS: "" } }, "SIP trunks", "warn"],
  [
    "a certificate that cannot be read",
    { host: { sipCertificate: { fault: "SIP_TLS_CERT: the file x cannot be read" } } },
    "SIP TLS",
    "fail",
  ],
  ["a certificate for another host", { host: certificate({ isForHost: false }) }, "SIP TLS", "fail"],
  ["a certificate that has run out", { host: certificate({ expiresMs: NOW - 1 }) }, "SIP TLS", "fail"],
  ["a certificate that runs out soon", { host: certificate({ expiresMs: NOW + 13 * DAY_MS }) }, "SIP TLS", "warn"],
  ["trunks everywhere", { env: { SIP_TRUNKS: "0.0.0.0/0" } }, "SIP trunks", "fail"],
  ["trunks everywhere, in halves (R-440)", { env: { SIP_TRUNKS: "0.0.0.0/1,128.0.0.0/1" } }, "SIP trunks", "fail"],
  ["trunks everywhere in IPv6 (R-440)", { env: { SIP_TRUNKS: "10.0.0.0/8,::/1,8000::/1" } }, "SIP trunks", "fail"],
  ["trunks everywhere for a process that takes no calls (R-440)", { env: { SIP_TRUNKS: "0.0.0.0/0", ROLES: "api" } }, "SIP trunks", "fail"],
  ["few media ports", { env: { RTP_PORTS: "20000-20019" } }, "media", "warn"],
  ["media ports among the outgoing ones", { env: { RTP_PORTS: "40000-49999" } }, "media", "warn"],
  ["the SIP port among the media ports", { env: { SIP_PORT: "20010" } }, "media", "fail"],
  ["a recogniser that does not answer", { env: { SPEECH: "ws://[::1]:2700" }, host: { speechFault: "SPEECH: it." } }, "speech", "warn"],
  ["speech that leaves this machine", { env: { SPEECH: "wss://asr.example/en" } }, "speech", "warn"],
  [
    "sherpa without its package",
    {
      env: { SPEECH: "sherpa", SHERPA_ENCODER: "e", SHERPA_DECODER: "d", SHERPA_JOINER: "j", SHERPA_TOKENS: "t" },
      host: { speechFault: "SPEECH: none." },
    },
    "speech",
    "fail",
  ],
  ["a way to the metadata service", { env: { OUTBOUND_ALLOW: "0.0.0.0/0" } }, "outbound", "fail"],
  ["a way to everybody, in halves (R-440)", { env: { OUTBOUND_ALLOW: "0.0.0.0/1,128.0.0.0/1" } }, "outbound", "fail"],
  ["a way to everybody in IPv6 (R-440)", { env: { OUTBOUND_ALLOW: "2000::/3" } }, "outbound", "fail"],
  ["a way to this machine, with live keys", { env: { OUTBOUND_ALLOW: "127.0.0.0/8" } }, "outbound", "warn"],
  ["live keys without encryption", { env: { BASE_URL: "http://pay.example" } }, "encryption", "fail"],
  ["live keys without encryption and without BASE_URL (R-440)", { env: { BASE_URL: "", HOST: "10.0.0.5" } }, "encryption", "fail"],
  ["debug lines beside live keys (R-440)", { env: { LOG_LEVEL: "debug" } }, "log", "fail"],
  ["a master key of zeros, with live keys (R-440)", { env: { MASTER_KEY: base64(new Uint8Array(32)) } }, "master key", "fail"],
  [
    "a short master key filled up with zeros, with live keys (R-440)",
    { env: { MASTER_KEY: base64(Buffer.concat([Buffer.from("hunter2"), Buffer.alloc(25)])) } },
    "master key",
    "fail",
  ],
  ["a master key's file in a checkout, with live keys (R-440)", { host: { keyFilesInCheckout: ["./key"] } }, "master key", "fail"],
  ["a public listener without encryption", { env: { BASE_URL: "", HOST: "10.0.0.5" }, installation: NO_LIVE }, "encryption", "warn"],
  ["no key", { installation: { keys: [{ ...KEY, state: "revoked" }] } }, "keys", "warn"],
  ["a key about to expire", { installation: { keys: [{ ...KEY, expires_at: "2026-06-10T00:00:00Z" }] } }, "keys", "warn"],
  ["simulators beside live keys", { env: { SIMULATORS_PORT: "8090" } }, "simulators", "warn"],
  [
    "a live organisation without live credentials",
    { installation: shop({ gateways: [{ gateway: "stripe", environment: "test" }] }) },
    "projects",
    "warn",
  ],
  ["a project without credentials", { installation: { ...NO_LIVE, ...shop({ gateways: [] }) } }, "projects", "warn"],
  ["a project without a webhook", { installation: shop({ webhooks: [] }) }, "projects", "warn"],
  ["a live organisation with a webhook for test sessions alone", { installation: shop({ webhooks: [TEST_HOOK] }) }, "projects", "warn"],
  ["a disabled webhook", { installation: shop({ webhooks: [{ ...HOOK, state: "disabled" }] }) }, "projects", "warn"],
  [
    "a webhook to an address that requests may not go to",
    { installation: shop({ webhooks: [{ ...HOOK, host: "10.1.2.3" }] }) },
    "projects",
    "warn",
  ],
  [
    "a webhook over http that live sessions would need (R-431)",
    { installation: shop({ webhooks: [{ ...HOOK, https: false }] }) },
    "projects",
    "fail",
  ],
  [
    "a number that two organisations share (R-217)",
    { env: { PHONE_NUMBER: "+15550001111" }, installation: { projects: [SHOP, { ...SHOP, organization: "other" }] } },
    "phone numbers",
    "warn",
  ],
  [
    "a shared number that is one project's own (R-217)",
    {
      env: { PHONE_NUMBER: "+15550001111" },
      installation: {
        projects: [
          { ...SHOP, numbers: ["+15550001111"] },
          { ...SHOP, project: "b" },
        ],
      },
    },
    "phone numbers",
    "warn",
  ],
  [
    "webhooks that a worker leaves lying",
    { installation: { webhooks: { pending: 3, oldestSeconds: 300, overdue: 3, dead: 0 } } },
    "webhooks",
    "fail",
  ],
  [
    "webhooks without a worker",
    { installation: { webhooks: { pending: 3, oldestSeconds: 300, overdue: 3, dead: 0 }, processes: [] } },
    "webhooks",
    "warn",
  ],
  ["an old backlog", { installation: { webhooks: { pending: 3, oldestSeconds: 9000, overdue: 0, dead: 0 } } }, "webhooks", "warn"],
  ["dead letters", { installation: { webhooks: { pending: 0, oldestSeconds: null, overdue: 0, dead: 2 } } }, "webhooks", "warn"],
  ["attempts that nobody takes up", { installation: { payments: { stuck: 1, searched: 0, unsettled: 0 } } }, "payments", "fail"],
  [
    "attempts while nothing runs",
    { installation: { payments: { stuck: 1, searched: 0, unsettled: 0 }, processes: [] } },
    "payments",
    "warn",
  ],
  ["callbacks by number without a trunk (R-432)", { installation: { numberCallbacks: 3 } }, "transfers", "warn"],
  ["payments for the operator", { installation: { payments: { stuck: 0, searched: 0, unsettled: 1 } } }, "payments", "warn"],
  [
    "a broken audit chain (S-16)",
    { installation: { audit: { verified: 2, fault: "row 3 was changed", overdue: 0 } } },
    "audit log",
    "fail",
  ],
  ["an audit log that a worker leaves open", { installation: { audit: { verified: 2, fault: null, overdue: 4 } } }, "audit log", "fail"],
  [
    "an audit log without a worker",
    { installation: { audit: { verified: 2, fault: null, overdue: 4 }, processes: [] } },
    "audit log",
    "warn",
  ],
  ["core dumps (S-05)", { host: { coreLimit: "unlimited" } }, "memory", "warn"],
  ["swap (S-05)", { host: { swaps: ["/dev/sda2"] } }, "memory", "warn"],
];

test("a healthy installation is all ok, each check once", () => {
  const findings = examine(facts({ host: port("free") }));
  assert.deepEqual(
    findings.filter(({ level }) => level !== "ok"),
    [],
  );
  assert.ok(findings.length >= 14);
  assert.ok(findings.every(({ todo }) => todo === null));
});

for (const [what, changes, check, level] of FAULTS) {
  test(`the doctor notices ${what}, and says what to do`, () => {
    const wrong = examine(facts(changes)).filter((finding) => finding.level !== "ok");
    const own = wrong.filter((finding) => finding.check === check);
    assert.deepEqual(
      own.map((finding) => finding.level),
      [level],
      JSON.stringify(wrong),
    );
    assert.ok(own[0]?.todo);
  });
}

for (const [what, env, text] of [
  ["passwords", { SIP_USERS: "shop:geheim" }, /by password$/],
  [
    "client certificates",
    { SIP_TLS_PORT: "5061", SIP_TLS_CERT: "/c.pem", SIP_TLS_KEY: "/k.pem", SIP_TLS_CLIENT_CA: "/ca.pem" },
    /by certificate$/,
  ],
] as const) {
  test(`no trunks are needed where ${what} admit callers`, () => {
    const found = examine(facts({ env: { SIP_TRUNKS: "", ...env }, host: certificate({}) }));
    const [trunks] = found.filter(({ check }) => check === "SIP trunks");
    assert.equal(trunks?.level, "ok");
    assert.match(trunks.text, text);
    assert.equal(found.find(({ check }) => check === "SIP TLS")?.level, "ok");
  });
}

for (const [what, env] of [
  ["by name", { BASE_URL: "http://localhost:8080" }],
  ["by address", { BASE_URL: "http://127.0.0.2" }],
  ["by IPv6 address", { BASE_URL: "http://[::1]:8080" }],
  ["without BASE_URL", { BASE_URL: "" }],
] as const) {
  test(`http on loopback, ${what}, is allowed with live keys (R-440)`, () => {
    assert.deepEqual(
      examine(facts({ env })).filter(({ level }) => level !== "ok"),
      [],
    );
  });
}

test("each of several wrong settings is a finding of its own", () => {
  const settingsFault = "PORT: x is not a port.\nROLES: y is not a list.";
  const told = examine(facts({ rest: { settingsFault, config: null, host: null, database: null } }));
  assert.deepEqual(
    told.filter(({ level }) => level === "fail").map(({ check, text }) => [check, text]),
    [
      ["settings", "PORT: x is not a port."],
      ["settings", "ROLES: y is not a list."],
    ],
  );
});

test("what stops a start with live keys is no fault with test keys alone (R-440)", () => {
  const env = { MASTER_KEY: base64(new Uint8Array(32)), LOG_LEVEL: "debug", BASE_URL: "http://pay.example" };
  const failed = examine(facts({ env, installation: NO_LIVE, host: { keyFilesInCheckout: ["./key"] } })).filter(
    ({ level }) => level === "fail",
  );
  assert.deepEqual(failed, []);
});

test("before there is a live key, what would stop one is found when it is asked for (R-440)", () => {
  const env = { MASTER_KEY: base64(new Uint8Array(32)), LOG_LEVEL: "debug", BASE_URL: "http://pay.example" };
  const gateways = [{ gateway: "stripe", environment: "test" }];
  const installation = { ...shop({ gateways, webhooks: [{ ...HOOK, https: false }] }), ...NO_LIVE };
  const findings = examine(facts({ env, installation, database: { kind: "pglite" }, rest: { asLive: true } }));
  const found = findings.filter(({ level }) => level !== "ok").map(({ check, level }) => `${check}: ${level}`);
  const expected = ["database: fail", "master key: fail", "log: fail", "encryption: fail", "projects: warn", "projects: fail"];
  assert.deepEqual(found, expected);
});

test("an http webhook is no fault for test sessions, or where there is no live key (R-431)", () => {
  const webhooks = [TEST_HOOK, { ...HOOK, scope: "live" }];
  const projects = (changes: Changes) => examine(facts(changes)).filter(({ check }) => check === "projects");
  assert.deepEqual(
    projects({ installation: shop({ webhooks }) }).map(({ level }) => level),
    ["ok"],
  );
  assert.deepEqual(
    projects({ installation: { ...shop({ webhooks: [{ ...HOOK, https: false }] }), ...NO_LIVE } }).map(({ level }) => level),
    ["ok"],
  );
});

test("what to do about a data folder that cannot be written to depends on why", () => {
  const told = (dataDirFault: string) => examine(facts({ host: { dataDirFault } })).find(({ check }) => check === "data folder")?.todo;
  assert.match(told("ENOSPC") ?? "", /^free some space there/);
  assert.match(told("EACCES") ?? "", /^give it to the user/);
});

test("media ports are counted in pairs whose first is even", () => {
  const told = (range: string) => examine(facts({ env: { RTP_PORTS: range } })).find(({ check }) => check === "media")?.text;
  assert.match(told("20000-20200") ?? "", /^RTP_PORTS 20000-20200: 100 legs/);
  assert.match(told("20001-20200") ?? "", /^RTP_PORTS 20001-20200: 99 legs/);
});

test("a number that is shared inside one organisation, or is every project's own, is no fault (R-217)", () => {
  const env = { PHONE_NUMBER: "+15550001111" };
  for (const projects of [
    [SHOP, { ...SHOP, project: "b" }],
    [SHOP, { ...SHOP, organization: "other", numbers: ["+15550002222"] }],
  ]) {
    const found = examine(facts({ env, installation: { projects } })).find(({ check }) => check === "phone numbers");
    assert.equal(found?.level, "ok");
  }
});

test("callbacks by number are no fault where there is a trunk (R-432)", () => {
  const env = { SIP_OUTBOUND: "sip:trunk.example" };
  const found = examine(facts({ env, installation: { numberCallbacks: 3 } })).find(({ check }) => check === "transfers");
  assert.equal(found?.level, "ok");
});

test("a taken port is no fault while this installation's service runs here", () => {
  const findings = examine(facts({ host: port("taken") })).filter(({ check }) => check === "ports");
  assert.deepEqual(
    findings.map(({ level }) => level),
    ["ok"],
  );
});

test("the demo project is named beside those that were set up, which nothing is asked of", () => {
  const told = (projects: object[]) => examine(facts({ installation: { projects } })).filter(({ check }) => check === "projects");
  const demo = { organization: "demo", project: "demo", archived: false, gateways: [], webhooks: [], numbers: [], trunks: [] };
  assert.deepEqual(
    told([demo]).map(({ level, text }) => [level, text]),
    [["ok", "0 set up, and the demo project"]],
  );
  assert.deepEqual(
    told([{ ...demo, archived: true }]).map(({ text }) => text),
    ["0 set up"],
  );
});

test("a database that is away silences the checks that need it, and no others", () => {
  const checks = new Set(
    examine(facts({ rest: { database: null, databaseFault: { text: "away", absent: false } } })).map(({ check }) => check),
  );
  for (const silent of ["clock", "master key", "keys", "projects", "webhooks", "payments"]) assert.ok(!checks.has(silent), silent);
  for (const told of ["node", "settings", "database", "SIP address", "media", "memory"]) assert.ok(checks.has(told), told);
});
