import { formatHostPort } from "#src/kernel/host-port.ts";
import { type Environment, find, defaultContextOf, readConfig } from "./read.ts";
import { type Config, type Setting, type SettingName, SETTINGS } from "./settings.ts";

/** The settings for `--help`: name, meaning and default of each. */
export function describeSettings(): string {
  const all = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];
  const entries = all.filter(([, setting]) => !setting.forTests);
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = entries.map(([name, setting]) => {
    const fallback = setting.defaultText ?? setting.default({ embedded: true, terminal: false, speechWorkers: 0, speechReady: 0 });
    const shown = fallback === null ? "unset" : fallback === "" ? "empty" : fallback;
    return `  ${name.padEnd(width)}  ${setting.meaning}${shown === "unset" ? "" : ` (default: ${shown})`}`;
  });
  const secrets = entries.filter(([, setting]) => setting.secret).map(([name]) => name);
  return `${lines.join("\n")}\n\n  Secrets may be given as files instead: ${secrets.map((name) => `${name}_FILE`).join(", ")}.\n`;
}

interface MaskedSetting {
  name: string;
  /** The text in force; `[set]` for a secret; null when unset. */
  value: string | null;
  /** A setting, when the value follows from it. */
  source: "environment" | "file" | "default" | SettingName;
}

/** What is in force where a setting is unset and another decides. */
const DERIVED: Readonly<Partial<Record<SettingName, (config: Config) => Pick<MaskedSetting, "value" | "source">>>> = {
  BASE_URL: (config) => ({ value: addressOf(config), source: "PORT" }),
  SIP_PUBLIC_HOST: ({ sipPublicHost }) => ({ value: sipPublicHost, source: "SIP_HOST" }),
  MASTER_KEY: ({ dataDir }) => ({ value: `${dataDir}/master.key`, source: "DATA_DIR" }),
};

/** Where the service is when it runs with these settings: `BASE_URL`, else the listener's own address. */
export function addressOf({ baseUrl, host, port }: Pick<Config, "baseUrl" | "host" | "port">): string {
  return baseUrl ?? `http://${formatHostPort(host, port)}`;
}

/** The settings in force for `voicetill config`, secrets masked. Throws OperatorError for one that cannot be read. */
export function maskedSettings(env: Environment, terminal: boolean = process.stderr.isTTY ?? false): MaskedSetting[] {
  const context = defaultContextOf(env, terminal);
  const config = readConfig(env, terminal);
  return (Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]).flatMap(([name, setting]) => {
    const { text, source } = find(env, name, context);
    if (setting.forTests && text === null) return [];
    const derived = text === null ? DERIVED[name]?.(config) : undefined;
    return [{ name, value: text === null ? null : setting.secret ? "[set]" : text, source, ...derived }];
  });
}
