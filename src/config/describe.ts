import { type Environment, find, defaultContextOf } from "./read.ts";
import { type Setting, type SettingName, SETTINGS } from "./settings.ts";

/** The settings for `--help`: name, meaning and default of each. */
export function describeSettings(): string {
  const all = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];
  const entries = all.filter(([, setting]) => !setting.forTests);
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = entries.map(([name, setting]) => {
    const fallback = setting.defaultText ?? setting.default({ embedded: true, terminal: false });
    const shown = fallback === null ? "unset" : fallback === "" ? "empty" : fallback;
    return `  ${name.padEnd(width)}  ${setting.meaning}${shown === "unset" ? "" : ` (default: ${shown})`}`;
  });
  const secrets = entries.filter(([, setting]) => setting.secret).map(([name]) => name);
  return `${lines.join("\n")}\n\n  Secrets may be given as files instead: ${secrets.map((name) => `${name}_FILE`).join(", ")}.\n`;
}

export interface MaskedSetting {
  name: string;
  /** The text in force; `[set]` for a secret; null when unset. */
  value: string | null;
  source: "environment" | "file" | "default";
}

/** The settings in force for `voicetill config`, secrets masked. */
export function maskedSettings(env: Environment, terminal: boolean = process.stderr.isTTY ?? false): MaskedSetting[] {
  const context = defaultContextOf(env, terminal);
  return (Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]).flatMap(([name, setting]) => {
    const { text, source } = find(env, name, context);
    if (setting.forTests && text === null) return [];
    return [{ name, value: text === null ? null : setting.secret ? "[set]" : text, source }];
  });
}
