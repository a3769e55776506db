import { API_KEY } from "#src/kernel/ids.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { TRUNK_PRESETS } from "./trunk-presets.ts";
import {
  atLeastOne,
  baseUrl,
  cidrs,
  count,
  crashAt,
  dashboard,
  days,
  file,
  folder,
  host,
  type Kind,
  oneOf,
  phone,
  port,
  portRange,
  redisUrl,
  secret,
  sipTrunk,
  sipUsers,
  someOf,
  speech,
  trunks,
  ttl,
  voice,
  voiceNames,
  word,
} from "./types.ts";

/** What a default may depend on. */
export interface DefaultContext {
  /** DATABASE_URL is unset: everything runs in this process, for test keys, on loopback. */
  embedded: boolean;
  /** Log lines go to a terminal. */
  terminal: boolean;
  /** As many as this machine has memory and cores for. */
  speechWorkers: number;
  /** As many as are kept ready of those that may run. */
  speechReady: number;
}

export interface Setting<T> {
  kind: Kind<T>;
  /** Text as if it had been set; null leaves the setting unset. */
  default: (context: DefaultContext) => string | null;
  /** How the help names the default when it is not one fixed text. */
  defaultText?: string;
  meaning: string;
  /** May be unset: its value is then null. */
  optional: boolean;
  /** Masked wherever it is shown, and may be given as a file: NAME_FILE. */
  secret: boolean;
  /** For this project's own tests: shown to nobody who did not set it. */
  forTests?: boolean;
}

type Fallback = string | ((context: DefaultContext) => string);

function required<T>(kind: Kind<T>, fallback: Fallback, meaning: string, defaultText?: string): Setting<T> {
  const text = typeof fallback === "string" ? () => fallback : fallback;
  return { kind, default: text, meaning, optional: false, secret: false, ...(defaultText === undefined ? {} : { defaultText }) };
}

function optional<T>(kind: Kind<T>, meaning: string, more: Partial<Setting<T | null>> = {}): Setting<T | null> {
  return { kind, default: () => null, meaning, optional: true, secret: false, ...more };
}

const LOOPBACK = "127.0.0.0/8,::1/128";
const loopbackWhenEmbedded = ({ embedded }: DefaultContext) => (embedded ? LOOPBACK : "");
const LOOPBACK_TEXT = `${LOOPBACK} with the embedded database, else empty`;

/** Every setting there is, by its environment variable. Nothing else reads the environment. */
export const SETTINGS = {
  HOST: required(host, "127.0.0.1", "address of the HTTP listener, which without the role api has health and metrics alone"),
  PORT: required(port, "8080", "port of the HTTP listener; 0 = any free port"),
  BASE_URL: optional(baseUrl, "public base address", { defaultText: "from HOST and PORT" }),
  DATABASE_URL: optional(
    secret("a PostgreSQL address such as postgres://user:password@host/database", /^postgres(ql)?:\/\/\S+$/),
    "PostgreSQL 15 or later; live keys work only with it",
    { secret: true, defaultText: "unset: embedded database in DATA_DIR" },
  ),
  DATA_DIR: required(folder, "./data", "folder of the embedded database and the generated master key"),
  REDIS_URL: optional(redisUrl, "Redis or Valkey that counts rate limits: redis://user:password@host:6379/0, or rediss:// with TLS", {
    secret: true,
    defaultText: "unset: counted in PostgreSQL, or in memory when embedded",
  }),
  ROLES: required(someOf("api", "voice", "worker"), "api,voice,worker", "which roles this process runs"),
  MASTER_KEY: optional(
    secret("32 bytes in base64, as `openssl rand -base64 32` prints them", /^[A-Za-z0-9+/]{43}=$/),
    "seals credentials: 32 bytes in base64",
    { secret: true, defaultText: "generated in DATA_DIR when embedded, else required" },
  ),
  MASTER_KEY_PREVIOUS: optional(
    secret("32 bytes in base64", /^[A-Za-z0-9+/]{43}=$/),
    "a second master key that opens too, while MASTER_KEY is being replaced",
    { secret: true },
  ),
  RATE_LIMIT_PER_MINUTE: required(count, "20", "requests a minute for each address and endpoint; 0 turns off every limit"),
  TRUSTED_PROXIES: required(cidrs, "", "address ranges whose X-Forwarded-For counts"),
  OUTBOUND_ALLOW: required(
    cidrs,
    loopbackWhenEmbedded,
    "address ranges outside the public address space that webhooks, card forwarding, gateway endpoints and callbacks may reach",
    LOOPBACK_TEXT,
  ),
  SIP_HOST: required(host, "127.0.0.1", "address of the SIP listener, UDP and TCP"),
  SIP_PORT: required(port, "5060", "port of the SIP listener; 0 = any free port"),
  SIP_PUBLIC_HOST: optional(host, "host in sip_uri, Contact and SDP", { defaultText: "SIP_HOST" }),
  SIP_TLS_PORT: optional(port, "port of the SIP listener for TLS, usually 5061; 0 = any free port", { defaultText: "unset: no TLS" }),
  SIP_TLS_CERT: optional(file, "file of the certificate and its chain for SIP_PUBLIC_HOST, PEM; read again when it changes"),
  SIP_TLS_KEY: optional(file, "file of the certificate's private key, PEM"),
  SIP_TLS_CLIENT_CA: optional(file, "file of authorities, PEM: whoever shows a certificate of theirs may send INVITE from any address"),
  SIP_TLS_SRTP: required(
    oneOf("offered", "required"),
    "offered",
    "media of calls over TLS: SRTP where both sides can, or 488 to whoever cannot; over UDP and TCP it is plain RTP",
  ),
  SIP_TRUNKS: required(
    trunks,
    loopbackWhenEmbedded,
    `address ranges that may send INVITE, and names that stand for published ones: ${Object.keys(TRUNK_PRESETS).join(", ")}`,
    LOOPBACK_TEXT,
  ),
  SIP_USERS: optional(
    sipUsers,
    "who may send INVITE from any address with a password: name:password,name:password;digest=md5 (escape @ : , ; % as %40 and so on)",
    { secret: true },
  ),
  SIP_OUTBOUND: optional(
    sipTrunk,
    "trunk for callbacks that are telephone numbers: sip:user:password@host:port;transport=udp, tcp or tls;digest=md5 if it knows nothing better",
    { secret: true },
  ),
  RTP_PORTS: required(portRange, "20000-29999", "UDP ports of the media"),
  SIMULATORS_PORT: optional(port, "port of the gateway simulators; 0 = any free port, empty = off", {
    default: ({ embedded }) => (embedded ? "8090" : null),
    defaultText: "8090 with the embedded database, else off",
  }),
  SPEECH: required(
    speech,
    "embedded",
    "what recognises speech: embedded, sherpa, the address of a recogniser of yours (ws://127.0.0.1:2700, or wss:// elsewhere), or off = keypad only",
  ),
  SPEECH_KEY: optional(secret("a key without spaces", /^\S+$/), "shown to the recogniser at an address as a Bearer token", {
    secret: true,
  }),
  SHERPA_ENCODER: optional(file, "with SPEECH=sherpa: file of the streaming transducer's encoder, ONNX"),
  SHERPA_DECODER: optional(file, "file of its decoder, ONNX"),
  SHERPA_JOINER: optional(file, "file of its joiner, ONNX"),
  SHERPA_TOKENS: optional(file, "file of its tokens, text"),
  VOICE: required(
    voice,
    "embedded",
    "what speaks the prompts: embedded, or the address of a text-to-speech endpoint (POST /v1/audio/speech), with the embedded voice for what it fails to say",
  ),
  VOICE_MODEL: required(word, "tts-1", "the model that the endpoint is asked for"),
  VOICE_NAME: required(
    voiceNames,
    "alloy",
    "the voice that the endpoint is asked for, others for some languages behind it: nova,es-US=lola",
  ),
  VOICE_FORMAT: required(oneOf("wav", "pcm"), "wav", "the form that the endpoint is asked for; pcm is 16-bit at 24 kHz"),
  VOICE_KEY: optional(secret("a key without spaces", /^\S+$/), "shown to the endpoint as a Bearer token", { secret: true }),
  SPEECH_READY: required(
    count,
    ({ speechReady }) => String(speechReady),
    "speech workers kept ready while calls come, some 80 MB each; one serves a call from when its caller first speaks until its end, and takes some 90 MB there",
    "2, or SPEECH_WORKERS where that is less",
  ),
  SPEECH_WORKERS: required(
    count,
    ({ speechWorkers }) => String(speechWorkers),
    "speech workers at once, those kept ready included; who speaks beyond is asked to use the keypad",
    "by memory and cores: 8 for each core, and no more than half the memory holds",
  ),
  LOG_LEVEL: required(oneOf("debug", "info", "warn", "error"), "info", "least important log lines that are written"),
  LOG_FORMAT: required(
    oneOf("pretty", "json"),
    ({ terminal }) => (terminal ? "pretty" : "json"),
    "form of the log lines",
    "pretty on a terminal, else json",
  ),
  AMOUNT_SUBCENT: required(
    oneOf("reject", "round_half_up"),
    "reject",
    "what becomes of an amount with a fraction of a cent, of a currency that has cents: refused with 422, or rounded half up",
  ),
  PHONE_NUMBER: optional(phone, "number answered where a project has none"),
  MAX_CALLS: required(atLeastOne, "1000", "calls at once; the next one is refused with 503"),
  TRANSFERS_AT_ONCE: required(count, "50", "callbacks dialled at once, by all processes together; beyond, transfers fail"),
  TRANSFERS_PER_DAY: required(count, "500", "callbacks dialled for each project in a day (UTC); beyond, transfers fail"),
  RETENTION_PERSONAL_DAYS: required(
    days,
    "30",
    "days after its end until a session forgets caller, memory, description and billing address; 0 = never",
  ),
  RETENTION_DAYS: required(days, "400", "days after its end until a session is deleted with its attempts and webhook; 0 = never"),
  DASHBOARD: required(dashboard, "off", "a dashboard; this version has none, so anything but off is refused"),
  SESSION_TTL_SECONDS: required(ttl, "300", "life of an unused voice session, in seconds"),
  VOICETILL_API_KEY: optional(
    secret("an API key, svc_test_ or svc_live_ and 32 letters and digits", API_KEY),
    "for `voicetill mcp` alone: the API key with which it uses a running service",
    { secret: true },
  ),
  CRASH_AT: optional(crashAt, "tests only: the process kills itself at this point", { forTests: true }),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Name>;
type ValueOf<Name extends SettingName> = (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;

/** The settings in force, in camel case: HOST is `host`, SIP_PUBLIC_HOST is `sipPublicHost`. Secrets are `Secret`s. */
export type Settings = { readonly [Name in SettingName as CamelCase<Name>]: ValueOf<Name> };

export interface Config extends Settings {
  /** DATABASE_URL is unset. */
  readonly embedded: boolean;
  readonly sipPublicHost: string;
  readonly masterKey: Secret | null;
  /** MASTER_KEY_FILE and MASTER_KEY_PREVIOUS_FILE, where they are set. */
  readonly masterKeyFiles: readonly string[];
}
