import { type Config, coversInternet, overlaps } from "#src/config/index.ts";
import { rtpPairs } from "#src/kernel/rtp-ports.ts";
import { isInside, parseCidrs } from "#src/platform/index.ts";
import { sentenceOf } from "../gateways.ts";
import type { Sent } from "../operation.ts";
import type { DatabaseFacts, Installation } from "./database-facts.ts";
import { fail, type Finding, ok, type Result, warn } from "./finding.ts";
import type { HostFacts } from "./host-facts.ts";
import { checkSipAddress, isLoopback } from "./sip-address.ts";
import { checkSpeech } from "./speech.ts";
import { checkStatusWebhooks } from "./status-webhooks.ts";

/** Everything the doctor knows. Null: it could not be found out, and another check says why. */
export interface Facts {
  /** `process.version`. */
  node: string;
  /** Why the settings cannot be read. */
  settingsFault: string | null;
  /** In the environment of this command: no settings, but nearly. */
  misspelt: readonly { name: string; meant: string }[];
  config: Config | null;
  host: HostFacts | null;
  /** Why the database cannot be asked. `absent`: there is no embedded installation yet. */
  databaseFault: { text: string; absent: boolean } | null;
  database: Sent<DatabaseFacts> | null;
  /** A service of this installation runs on this machine. */
  runsHere: boolean;
  /** Judged as though there were live keys, before there are. */
  asLive: boolean;
  nowMs: number;
}

const NODE_MAJOR = 26;
/** S-19. */
const MOST_SKEW_MS = 5_000;
const SOON_MS = 14 * 86_400_000;
const HOUR_S = 3600;
const FEW_CALLS = 50;

/** The checks in the order they are told. One that has nothing to look at returns nothing. */
const CHECKS: Readonly<Record<string, (facts: Facts) => Result[]>> = {
  node: ({ node }) =>
    Number(node.slice(1).split(".")[0]) >= NODE_MAJOR
      ? [ok(`Node.js ${node}`)]
      : [fail(`Node.js ${node}, where ${NODE_MAJOR} is needed`, "run npm ci, which installs the pinned one")],

  settings: ({ settingsFault, misspelt, config }) => [
    ...(settingsFault === null
      ? [ok(`${config?.embedded === false ? "PostgreSQL" : "embedded database"}, roles ${config?.roles.join(", ")}`)]
      : settingsFault.split("\n").map((sentence) => fail(sentence, "set it right; npm start -- --help lists the settings"))),
    ...misspelt.map(({ name, meant }) =>
      warn(`${name} is no setting and is passed over`, `name it ${meant}, if it is meant for this service`),
    ),
  ],

  database: ({ database, databaseFault, config, asLive }) => {
    if (databaseFault?.absent)
      return [warn(databaseFault.text, "nothing, if this is to be a new installation; else set DATA_DIR to its folder")];
    if (databaseFault) return [fail(databaseFault.text, "put this right first: the other checks need the database")];
    if (!database) return [];
    if (asLive && database.kind === "pglite") return [fail("live keys work with PostgreSQL only", "set DATABASE_URL")];
    const name =
      database.kind === "pglite" ? `embedded PostgreSQL ${database.version} in ${config?.dataDir}` : `PostgreSQL ${database.version}`;
    if (database.unsafe.length > 0)
      return [
        warn(`${name} has ${database.unsafe.join(" and ")} off: a power cut could lose a payment`, "switch it on in postgresql.conf"),
      ];
    return [ok(name)];
  },

  "data folder": ({ host, config }) => {
    const fault = host?.dataDirFault ?? null;
    if (!config || fault === null) return [];
    const text = `DATA_DIR ${config.dataDir} cannot be written to (${fault})`;
    const todo = `${fault === "ENOSPC" ? "free some space there" : "give it to the user that the service runs as"}, or set DATA_DIR to another folder`;
    if (config.embedded) return [fail(text, todo)];
    return config.roles.includes("voice")
      ? [warn(`${text}: prompts are rendered anew at each start, and no SIP trace is written`, todo)]
      : [];
  },

  migrations: ({ database }) => {
    if (!database) return [];
    const { pendingMigrations: pending } = database;
    if (pending.length === 0) return [ok("the database is of this version")];
    return [warn(`${pending.length} to be applied: ${pending.join(", ")}`, "run voicetill migrate, or start the service, which does it")];
  },

  clock: (facts) => {
    if (!facts.database) return [];
    const ms = facts.database.skewMs;
    if (Math.abs(ms) <= MOST_SKEW_MS) return [ok(`the database's clock differs by ${Math.abs(ms)} ms`)];
    const text = `the database's clock is ${Math.round(Math.abs(ms) / 1000)} s ${ms > 0 ? "ahead of" : "behind"} this machine's`;
    return [(hasLiveKeys(facts) ? fail : warn)(text, "run a time service (NTP) on both machines")];
  },

  "master key": (facts) => {
    const results = keyResults(facts);
    const opens = installed(facts, ({ secrets: { opened, failed } }) => {
      if (failed.length > 0) {
        return [
          fail(
            `it does not open ${failed.length} sealed: ${failed.slice(0, 3).join(", ")}`,
            "start with the MASTER_KEY that belongs to this database",
          ),
        ];
      }
      return results.length > 0 ? [] : [ok(opened === 0 ? "nothing is sealed yet" : `it opens what is sealed (${opened})`)];
    });
    return [...results, ...opens];
  },

  log: (facts) =>
    facts.config?.logLevel === "debug" && hasLiveKeys(facts)
      ? [fail("LOG_LEVEL is debug, which live keys rule out", "set it to info: debug lines are for building, not for payments")]
      : [],

  ports: ({ host, runsHere }) =>
    (host?.ports ?? []).map(({ setting, protocol, port, state }) => {
      const name = `${setting} ${port}/${protocol}`;
      if (state === "free") return ok(`${name} is free`);
      if (state === "taken" && runsHere) return ok(`${name} is in use, and this installation's service runs here`);
      const why = {
        taken: "is taken by another program",
        "not allowed": "may not be opened by this user",
        "no such address": "is on an address that this machine has not",
      };
      return fail(`${name} ${why[state]}`, `choose another with ${setting}, or free it`);
    }),

  "SIP address": ({ host, config }) => (host && config?.roles.includes("voice") ? [checkSipAddress(config, host.publicAddresses)] : []),

  "SIP trunks": ({ config }) => {
    if (!config) return [];
    const listed = config.sipTrunks.join(", ");
    if (coversInternet(config.sipTrunks))
      return [fail(`SIP_TRUNKS ${listed} is everybody: anybody may call`, "list only the addresses of your trunks and agents")];
    if (!config.roles.includes("voice")) return [];
    if (config.sipTrunks.length > 0) return [ok(listed)];
    const otherwise = admittedBesides(config);
    if (otherwise.length > 0) return [ok(`no addresses: callers are admitted ${otherwise.join(" and ")}`)];
    return [warn("SIP_TRUNKS is empty: every call is ignored", "list the addresses of your trunks and agents")];
  },

  "project trunks": (facts) =>
    installed(facts, ({ projects }) => {
      const { config } = facts;
      if (!config?.roles.includes("voice") || admittedBesides(config).length > 0) return [];
      const outside = projects
        .filter(({ archived }) => !archived)
        .flatMap(({ organization, project, trunks }) =>
          trunks.filter((trunk) => !overlaps(trunk, config.sipTrunks)).map((trunk) => `${trunk} (${organization}/${project})`),
        );
      if (outside.length === 0) return [];
      const text = `voice.trunks names ${outside.join(", ")}, outside of SIP_TRUNKS: calls from there get no answer`;
      return [fail(text, "list the address in SIP_TRUNKS too, or take it out of the apply file")];
    }),

  "SIP TLS": ({ host, config, nowMs }) => {
    const certificate = host?.sipCertificate ?? null;
    if (certificate === null || !config?.roles.includes("voice")) return [];
    const files = "set SIP_TLS_CERT to the certificate with its chain and SIP_TLS_KEY to its key, PEM";
    if ("fault" in certificate) return [fail(certificate.fault, files)];
    const { isForHost, expiresMs } = certificate;
    const day = new Date(expiresMs).toISOString().slice(0, 10);
    if (!isForHost)
      return [
        fail(
          `the certificate is not for SIP_PUBLIC_HOST ${config.sipPublicHost}: callers that look at it do not connect`,
          "get one for the name that callers dial",
        ),
      ];
    const todo = "renew it: the files are read again when they change";
    if (expiresMs <= nowMs) return [fail(`the certificate ran out on ${day}`, todo)];
    if (expiresMs - nowMs < SOON_MS) return [warn(`the certificate runs out on ${day}`, todo)];
    return [ok(`a certificate for ${config.sipPublicHost} until ${day}`)];
  },

  media: ({ config, host }) => {
    if (!config?.roles.includes("voice")) return [];
    const { first, last } = config.rtpPorts;
    const { count: calls } = rtpPairs(first, last);
    if (config.sipPort >= first && config.sipPort <= last)
      return [fail(`SIP_PORT ${config.sipPort} lies in RTP_PORTS`, "move one of them")];
    const results = [];
    if (calls < FEW_CALLS)
      results.push(
        warn(`RTP_PORTS ${first}-${last} is enough for ${calls} legs`, "widen it: a call takes one leg, a call handed back two"),
      );
    if (host?.ephemeral && first <= host.ephemeral[1] && last >= host.ephemeral[0]) {
      results.push(warn(`RTP_PORTS ${first}-${last} overlaps the system's outgoing ports ${host.ephemeral.join("-")}`, "move one of them"));
    }
    return results.length > 0 ? results : [ok(`RTP_PORTS ${first}-${last}: ${calls} legs, one a call, two when it is handed back`)];
  },

  speech: ({ config, host }) => (config ? checkSpeech(config, host?.speechFault ?? null) : []),

  outbound: (facts) => {
    const { config } = facts;
    if (!config) return [];
    if (config.outboundAllow.length === 0) return [ok("requests go to public addresses only")];
    const ranges = parseCidrs("OUTBOUND_ALLOW", config.outboundAllow);
    const listed = config.outboundAllow.join(", ");
    if (coversInternet(config.outboundAllow))
      return [fail(`OUTBOUND_ALLOW ${listed} is everybody: it guards nothing`, "list only the hosts that webhooks and gateways need")];
    if (isInside("169.254.169.254", ranges)) {
      return [fail(`OUTBOUND_ALLOW ${listed} reaches the cloud's metadata service`, "list only the hosts that webhooks and gateways need")];
    }
    if (isInside("127.0.0.1", ranges) && hasLiveKeys(facts)) {
      return [warn(`OUTBOUND_ALLOW ${listed} lets a webhook's address reach this machine, with live keys`, "take loopback out")];
    }
    return [ok(`besides public addresses: ${listed}`)];
  },

  encryption: (facts) => {
    const { config } = facts;
    if (!config || (config.baseUrl === null && !config.roles.includes("api"))) return [];
    if (config.baseUrl?.startsWith("https:") || isLoopback(config.baseUrl === null ? config.host : new URL(config.baseUrl).hostname))
      return [];
    const text = `BASE_URL is ${config.baseUrl ?? `not set and HOST is ${config.host}`}: API keys travel unencrypted`;
    const todo = "put a proxy with TLS before it and set BASE_URL to its https address";
    return [hasLiveKeys(facts) ? fail(`${text}, which live keys rule out`, todo) : warn(text, todo)];
  },

  proxy: ({ config, host, runsHere }) => {
    if (!config?.roles.includes("api") || !config.baseUrl?.startsWith("https:")) return [];
    const todo = "set TRUSTED_PROXIES to the address that the proxy's requests come from, and have it send X-Forwarded-Proto: https";
    if (config.trustedProxies.length === 0)
      return [fail("BASE_URL is https and TRUSTED_PROXIES is empty: whoever ends TLS is not believed, and every request is refused", todo)];
    if (host?.proxy === "not trusted")
      return [
        fail(
          `the proxy at ${config.baseUrl} is not one of TRUSTED_PROXIES ${config.trustedProxies.join(", ")}, or does not send X-Forwarded-Proto: every request is refused`,
          todo,
        ),
      ];
    if (host?.proxy === "trusted") return [ok(`${config.baseUrl} leads here over TLS`)];
    if (!runsHere || host?.proxy !== "not reached") return [];
    return [
      warn(
        `${config.baseUrl} does not answer as this service, asked from this machine`,
        "see that the name leads to the proxy, and the proxy to HOST and PORT",
      ),
    ];
  },

  keys: (facts) =>
    installed(facts, ({ keys }) => {
      const active = keys.filter(({ state }) => state === "active");
      if (active.length === 0) return [warn("there is no API key in force", "make one: voicetill keys create")];
      const soon = active.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) - facts.nowMs < SOON_MS);
      if (soon.length > 0) {
        const names = soon.map(({ organization, name, expires_at }) => `${organization}/${name} (${expires_at?.slice(0, 10)})`);
        return [warn(`about to expire: ${names.join(", ")}`, "make their successors: voicetill keys create")];
      }
      const live = active.filter(({ mode }) => mode === "live").length;
      return [ok(`${live} live, ${active.length - live} test`)];
    }),

  simulators: (facts) =>
    isSimulated(facts) && hasLiveKeys(facts)
      ? [warn("the simulators are on beside live keys: payments of test keys go there", "unset SIMULATORS_PORT in production")]
      : [],

  projects: (facts) =>
    installed(facts, ({ projects, keys }) => {
      const results: Result[] = [];
      const own = projects.filter(({ archived, organization, project }) => !archived && !(organization === STARTER && project === STARTER));
      for (const { organization, project, gateways, webhooks } of own) {
        const name = `${organization}/${project}`;
        const isLive =
          facts.asLive || keys.some((key) => key.organization === organization && key.mode === "live" && key.state === "active");
        const has = (environment: string) => gateways.some((gateway) => gateway.environment === environment);
        if (isLive && !has("live"))
          results.push(warn(`${name} has no live gateway credentials`, "apply them: voicetill gateways prints their names"));
        else if (gateways.length === 0 && !isSimulated(facts))
          results.push(
            warn(`${name} has no gateway credentials, and the simulators are off`, "apply them: voicetill gateways prints their names"),
          );
        results.push(...checkStatusWebhooks(name, webhooks, isLive, parseCidrs("OUTBOUND_ALLOW", facts.config?.outboundAllow ?? [])));
      }
      const besides = own.length < projects.filter(({ archived }) => !archived).length ? ", and the demo project" : "";
      return results.length > 0 ? results : [ok(`${own.length} set up${besides}`)];
    }),

  "gateway credentials": (facts) =>
    installed(facts, ({ credentials }) => {
      if (credentials === null || credentials.length === 0) return [];
      const results = credentials.flatMap(({ name, gateway, environment, ...check }): Result[] => {
        if (check.result === "accepted" || check.result === "cannot be asked") return [];
        const text = `${gateway} (${environment}) of ${name}: ${sentenceOf(check)}`;
        if (check.result === "not reached") {
          const isRefused = check.reason === "address not allowed";
          return [
            warn(text, `${isRefused ? "list its address in OUTBOUND_ALLOW" : "see that this machine reaches the vendor"}, then ask again`),
          ];
        }
        return [(environment === "live" ? fail : warn)(text, "apply the right ones; voicetill gateways says where the vendor shows them")];
      });
      const accepted = credentials.filter(({ result }) => result === "accepted").length;
      return results.length > 0 ? results : [ok(`the vendors take ${accepted} of ${credentials.length}, the others cannot be asked`)];
    }),

  "phone numbers": (facts) =>
    installed(facts, ({ projects }) => {
      const { config } = facts;
      const number = config?.phoneNumber ?? null;
      if (!config?.roles.includes("voice") || number === null) return [];
      const own = projects.filter(({ archived }) => !archived);
      const sharing = own.filter(({ numbers }) => numbers.length === 0);
      const todo = "give each project phone_numbers of its own in the apply file";
      const owner = own.find(({ numbers }) => numbers.includes(number));
      if (owner && sharing.length > 0) {
        const name = `${owner.organization}/${owner.project}`;
        return [
          warn(`PHONE_NUMBER ${number} is ${name}'s own: whoever dials it reaches no session of ${sharing.length} other projects`, todo),
        ];
      }
      const organizations = new Set(sharing.map(({ organization }) => organization));
      if (organizations.size < 2) return [ok(`PHONE_NUMBER ${number} serves one organisation at most`)];
      const who = `projects of ${organizations.size} organisations share PHONE_NUMBER ${number}`;
      return [warn(`${who}: a caller whom two of them wait for, and whose call names no session, is refused`, todo)];
    }),

  webhooks: (facts) =>
    installed(facts, ({ webhooks: { pending, oldestSeconds, overdue, dead }, processes }) => {
      const results: Result[] = [];
      const works = processes.some(({ roles }) => roles.includes("worker"));
      if (overdue > 0 && works)
        results.push(
          fail(`${overdue} are overdue although a worker runs`, "see the log of the worker: webhook_delivery_broken, webhook_sweep_failed"),
        );
      if (overdue > 0 && !works) results.push(warn(`${overdue} are overdue, and no worker runs`, "start a process with the role worker"));
      if (oldestSeconds !== null && oldestSeconds > HOUR_S) {
        results.push(
          warn(
            `the oldest of ${pending} pending waits for ${Math.floor(oldestSeconds / HOUR_S)} h`,
            "voicetill webhooks list --failed shows what the receiver answers",
          ),
        );
      }
      if (dead > 0) results.push(warn(`given up: ${dead}`, "voicetill webhooks list --dead, then voicetill webhooks resend"));
      return results.length > 0 ? results : [ok(`${pending} pending`)];
    }),

  transfers: (facts) =>
    installed(facts, ({ numberCallbacks }) => {
      if (!facts.config?.roles.includes("voice") || numberCallbacks === 0) return [];
      if (facts.config.sipOutbound !== null)
        return [ok(`telephone numbers are dialled by SIP_OUTBOUND (callbacks in a week: ${numberCallbacks})`)];
      const text = `transfers to a telephone number asked for in the last week: ${numberCallbacks}; there is no trunk that dials one`;
      return [warn(`${text}: their transfer_status is failed`, "set SIP_OUTBOUND to the trunk that takes such calls")];
    }),

  payments: (facts) =>
    installed(facts, ({ payments: { stuck, searched, unsettled }, processes }) => {
      const results: Result[] = [];
      if (stuck > 0 && processes.length > 0)
        results.push(fail(`attempts past their time that nobody takes up: ${stuck}`, "see the log: payment_janitor_failed"));
      if (stuck > 0 && processes.length === 0)
        results.push(warn(`attempts that wait for a process to find their outcome: ${stuck}`, "start the service"));
      if (unsettled > 0) results.push(warn(`payments to be looked into: ${unsettled}`, "voicetill unmatched list"));
      return results.length > 0 ? results : [ok(`${searched} being looked for at their gateway, none to look into`)];
    }),

  "audit log": (facts) =>
    installed(facts, ({ audit, processes }) => {
      if (audit === null) return [];
      const { verified, fault, overdue } = audit;
      if (fault !== null) return [fail(fault, "keep a copy of the database, and find out who had access: voicetill audit verify")];
      const works = processes.some(({ roles }) => roles.includes("worker"));
      if (overdue > 0 && works) return [fail(`not sealed although a worker runs: ${overdue} of its rows`, "see the log of the worker")];
      if (overdue > 0) return [warn(`not sealed, and no worker runs: ${overdue} of its rows`, "start a process with the role worker")];
      return [ok(`its chain is whole (rows: ${verified})`)];
    }),

  memory: ({ host }) => {
    if (!host) return [];
    const results: Result[] = [];
    if (host.coreLimit !== null && host.coreLimit !== "0") {
      results.push(warn("core dumps are on: a crash could write a card to the disk", "start the service with ulimit -c 0 (LimitCORE=0)"));
    }
    if (host.swaps.length > 0) {
      results.push(warn(`memory may be swapped to ${host.swaps.join(", ")}`, "turn swap off, or see that it is encrypted"));
    }
    return results.length > 0 ? results : [ok(host.coreLimit === null ? "no swap in use" : "no core dumps, no swap")];
  },
};

/** How callers from addresses outside of SIP_TRUNKS are admitted. */
function admittedBesides({ sipUsers, sipTlsPort, sipTlsClientCa }: Config): string[] {
  return [
    ...((sipUsers ?? []).length > 0 ? ["by password"] : []),
    ...(sipTlsPort !== null && sipTlsClientCa !== null ? ["by certificate"] : []),
  ];
}

/** The demo project of an embedded installation: made to be tried out, not to be set up. */
const STARTER = "demo";

export function examine(facts: Facts): Finding[] {
  return Object.entries(CHECKS).flatMap(([check, look]) => look(facts).map((result) => ({ check, ...result })));
}

function installed({ database }: Facts, look: (installation: Sent<Installation>) => Result[]): Result[] {
  return database?.installation ? look(database.installation) : [];
}

/** Half of the key's 32 bytes: with fewer that are not padding the key is as good as guessed. */
const LEAST_KEY_BYTES = 16;

/** What is wrong with the master key itself, which only matters once there is something to steal (R-440). */
function keyResults(facts: Facts): Result[] {
  if (!hasLiveKeys(facts)) return [];
  const results: Result[] = [];
  const key = facts.config?.masterKey;
  const bytes = key && Buffer.from(key.reveal(), "base64");
  const isZero = (byte: number) => byte === 0;
  if (bytes?.every(isZero)) results.push(fail("MASTER_KEY is all zeros", "make one with openssl rand -base64 32, and rotate to it"));
  else if (bytes && bytes.filter((byte) => !isZero(byte)).length < LEAST_KEY_BYTES)
    results.push(fail("MASTER_KEY is a short key filled up with zeros", "make one with openssl rand -base64 32, and rotate to it"));
  for (const file of facts.host?.keyFilesInCheckout ?? [])
    results.push(fail(`the master key's file ${file} lies in a checkout, which live keys rule out`, "move it out of every repository"));
  return results;
}

function hasLiveKeys({ asLive, database }: Facts): boolean {
  return asLive || (database?.installation?.keys.some(({ mode, state }) => mode === "live" && state === "active") ?? false);
}

function isSimulated({ config }: Facts): boolean {
  return config !== null && config.simulatorsPort !== null;
}
