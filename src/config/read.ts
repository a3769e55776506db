import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { OperatorError } from "#src/kernel/errors.ts";
import { nearest } from "#src/kernel/nearest.ts";
import { type Config, type Setting, type SettingName, SETTINGS, type DefaultContext } from "./settings.ts";
import { count } from "./types.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a setting's text came from. */
export interface Found {
  text: string | null;
  source: "environment" | "file" | "default";
}

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
const ANY_ADDRESS = new Set(["0.0.0.0", "::"]);

/** Reads and checks every setting. Throws OperatorError: a sentence for each that is wrong, in a line of its own, that names it and says why. */
export function readConfig(env: Environment, terminal: boolean = process.stderr.isTTY ?? false): Config {
  const context = defaultContextOf(env, terminal);
  const faults: OperatorError[] = [];
  const read = (name: SettingName) => {
    try {
      return parse(name, SETTINGS[name], find(env, name, context));
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      faults.push(error);
      return null;
    }
  };
  const settings = Object.fromEntries(SETTING_NAMES.map((name) => [camelCase(name), read(name)])) as unknown as Config;
  refuse(faults.map(({ message }) => message));

  refuse([
    ...(!context.embedded && settings.masterKey === null
      ? ["MASTER_KEY: it must be set when DATABASE_URL is; `openssl rand -base64 32` makes one."]
      : []),
    ...publicHostFaults(settings),
    ...sipTlsFaults(settings),
    ...sherpaFaults(settings),
    ...speechFaults(settings),
  ]);
  const masterKeyFiles = ["MASTER_KEY_FILE", "MASTER_KEY_PREVIOUS_FILE"].flatMap((name) => env[name] || []);
  return { ...settings, sipPublicHost: settings.sipPublicHost ?? settings.sipHost, masterKeyFiles, embedded: context.embedded };
}

function refuse(sentences: readonly string[]): void {
  if (sentences.length > 0) throw new OperatorError(sentences.join("\n"));
}

function publicHostFaults({ sipPublicHost, sipHost }: Config): string[] {
  if (!ANY_ADDRESS.has(sipPublicHost ?? sipHost)) return [];
  return [
    sipPublicHost === null
      ? `SIP_PUBLIC_HOST: it must be set when SIP_HOST is ${sipHost}: callers need one address to send to.`
      : `SIP_PUBLIC_HOST: ${sipPublicHost} is no address that callers can send to.`,
  ];
}

function sipTlsFaults({ sipTlsPort, sipTlsCert, sipTlsKey, sipTlsClientCa }: Config): string[] {
  const files = Object.entries({ SIP_TLS_CERT: sipTlsCert, SIP_TLS_KEY: sipTlsKey });
  if (sipTlsPort !== null) return files.flatMap(([name, path]) => (path === null ? [`${name}: it must be set when SIP_TLS_PORT is.`] : []));
  const [set] = [...files, ["SIP_TLS_CLIENT_CA", sipTlsClientCa]].find(([, path]) => path !== null) ?? [];
  return set ? [`SIP_TLS_PORT: it must be set when ${set} is.`] : [];
}

function sherpaFaults({ speech, sherpaEncoder, sherpaDecoder, sherpaJoiner, sherpaTokens }: Config): string[] {
  if (speech !== "sherpa") return [];
  const files = { SHERPA_ENCODER: sherpaEncoder, SHERPA_DECODER: sherpaDecoder, SHERPA_JOINER: sherpaJoiner, SHERPA_TOKENS: sherpaTokens };
  return Object.entries(files).flatMap(([name, path]) => (path === null ? [`${name}: it must be set when SPEECH is sherpa.`] : []));
}

function speechFaults({ speechReady, speechWorkers }: Config): string[] {
  return speechReady > speechWorkers ? [`SPEECH_READY: ${speechReady} cannot be kept ready when SPEECH_WORKERS is ${speechWorkers}.`] : [];
}

/**
 * As `readConfig`, and takes the secrets out of `env`: what this process runs or starts later cannot find them there (S-34).
 * The kernel still shows the first environment to this user and to root (/proc/PID/environ): NAME_FILE keeps a secret out of that too.
 */
export function takeConfig(env: Record<string, string | undefined>): Config {
  const config = readConfig(env);
  for (const [name, { secret }] of Object.entries(SETTINGS)) if (secret) delete env[name];
  return config;
}

export function defaultContextOf(env: Environment, terminal: boolean): DefaultContext {
  // Some 90 MB each, with room; recognition takes a core for a part of what is said.
  const speechWorkers = Math.max(2, Math.min(8 * availableParallelism(), Math.floor(totalmem() / 2 / 200e6)));
  const wanted = count.read(env["SPEECH_WORKERS"]?.trim() ?? "");
  const speechReady = Math.min(2, wanted ?? speechWorkers);
  // Also where what is set cannot be used: of that the setting itself tells.
  const embedded = !env["DATABASE_URL"]?.trim() && !env["DATABASE_URL_FILE"];
  return { embedded, terminal, speechWorkers, speechReady };
}

/**
 * The text in force: what was set, or the default. An empty text empties a list and unsets an optional setting; it leaves
 * every other at its default, as `NAME=${NAME:-}` in a compose file means it.
 */
export function find(env: Environment, name: SettingName, context: DefaultContext): Found {
  const setting: Setting<unknown> = SETTINGS[name];
  const given = textOf(env, name);
  if (given.text === "" && setting.optional) return { ...given, text: null };
  const usable = given.text !== null && (given.text !== "" || setting.kind.read("") !== undefined);
  return usable ? given : { text: setting.default(context), source: "default" };
}

function textOf(env: Environment, name: SettingName): Found {
  const plain = env[name]?.trim();
  const file = SETTINGS[name].secret ? env[`${name}_FILE`] : undefined;
  if (plain && file) throw new OperatorError(`${name}: it is set twice, as ${name} and as ${name}_FILE.`);
  return file ? { text: readSecret(name, file), source: "file" } : { text: plain ?? null, source: "environment" };
}

function readSecret(name: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new OperatorError(`${name}_FILE: the file ${JSON.stringify(file)} cannot be read.`, { cause });
  }
  // A secret that is not there yet is not one that nobody wants: without DATABASE_URL everything would run embedded.
  if (text === "") throw new OperatorError(`${name}_FILE: the file ${JSON.stringify(file)} is empty.`);
  return text;
}

function parse(name: SettingName, { kind, secret }: Setting<unknown>, { text }: Found): unknown {
  if (text === null) return null;
  const value = kind.read(text);
  if (value !== undefined) return value;
  throw new OperatorError(`${name}: ${kind.complaint(secret ? "its value" : JSON.stringify(text))}.`);
}

/** Few letters apart are names of other programs' settings too, such as SMTP_PORT. */
const LETTERS_A_FAULT = 5;

/** What stands in the environment, is no setting, and is spelled so much like one that it was likely meant to be it. */
export function misspeltSettings(env: Environment): { name: string; meant: string }[] {
  const known = Object.entries(SETTINGS).flatMap(([name, { secret }]) => (secret ? [name, `${name}_FILE`] : [name]));
  return Object.keys(env).flatMap((name) => {
    const meant = known.includes(name) ? null : nearest(name, known, LETTERS_A_FAULT);
    return meant === null ? [] : [{ name, meant }];
  });
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
