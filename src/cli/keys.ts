import { OperatorError } from "#src/kernel/errors.ts";
import { ALL_SCOPES, SCOPES } from "#src/kernel/scopes.ts";
import type { ApiKey, NewApiKey } from "#src/projects/index.ts";
import { operation, type Operations, runnerOf, type Sent } from "./operation.ts";
import { facts, moment, table } from "./table.ts";

const create = operation({
  arguments: "--org S --name N --mode test|live [--scopes a,b] [--expires T]",
  summary: "Makes an API key and prints it once. T: 90d, 12h, a date, or a time such as 2030-01-31T12:00:00Z.",
  options: {
    org: { type: "string" },
    name: { type: "string" },
    mode: { type: "string" },
    scopes: { type: "string" },
    expires: { type: "string" },
  },
  read({ org, name, mode, scopes, expires }): (Omit<NewApiKey, "expiresAt"> & { expires: string | null }) | null {
    if (org === undefined || name === undefined || mode === undefined) return null;
    if (mode !== "test" && mode !== "live") throw new OperatorError(`--mode takes test or live; "${mode}" is neither.`);
    const list = scopes === undefined ? null : scopes.split(",").map((scope) => scope.trim());
    const unknown = list?.find((scope) => !(ALL_SCOPES as readonly string[]).includes(scope));
    if (unknown !== undefined)
      throw new OperatorError(`--scopes: there is no scope ${JSON.stringify(unknown)}; the scopes are ${ALL_SCOPES.join(", ")}.`);
    return { organization: org, name, mode, scopes: list, expires: readExpiry(expires, Date.now()) };
  },
  async work({ projects }, { expires, ...wanted }) {
    const { key, shown } = await projects.createKey({ ...wanted, expiresAt: expires === null ? null : new Date(expires) });
    return { key, ...shown };
  },
  show: ({ key, ...shown }) =>
    `${facts([
      ["organization", shown.organization],
      ["name", shown.name],
      ["mode", shown.mode],
      ["scopes", scopesOf(shown)],
      ["expires", moment(shown.expires_at) ?? "never"],
    ])}\n\nShown once, keep it now:\n  ${key}`,
});

const list = operation({
  arguments: "[--org S]",
  summary: "The API keys, as far as they can be shown: beginning and last four characters.",
  options: { org: { type: "string" } },
  read: ({ org = null }) => ({ org }),
  work: ({ projects, database }, { org }) => projects.listKeys(database.db, org),
  show: (keys) =>
    keys.length === 0
      ? "There are no API keys."
      : table(
          ["ORGANIZATION", "NAME", "MODE", "KEY", "STATE", "MADE", "EXPIRES", "SCOPES"],
          keys.map((key) => [
            key.organization,
            key.name,
            key.mode,
            partsOf(key),
            key.revoked_at === null ? key.state : `revoked ${moment(key.revoked_at)}`,
            moment(key.created_at),
            moment(key.expires_at) ?? "never",
            scopesOf(key),
          ]),
        ),
});

const revoke = operation({
  arguments: "NAME-or-prefix",
  summary: "Revokes the one key that is meant, by its name, ORG/NAME or beginning; every process refuses it within a second.",
  options: {},
  takes: 1,
  read: (_, what: string) => ({ what }),
  async work({ projects }, { what }) {
    const { already, shown } = await projects.revokeKey(what);
    return { already, ...shown };
  },
  show: ({ already, ...key }) =>
    `${key.organization}/${key.name} (${partsOf(key)}) ${already ? "was revoked already," : "is revoked:"} ${moment(key.revoked_at)} UTC.`,
});

export const operations: Operations = { "keys create": create, "keys list": list, "keys revoke": revoke };
export const run = runnerOf("keys", operations);

function partsOf({ prefix, last4 }: Pick<Sent<ApiKey>, "prefix" | "last4">): string {
  return `${prefix}…${last4}`;
}

function scopesOf({ scopes }: Pick<Sent<ApiKey>, "scopes">): string {
  return SCOPES.every((scope) => scopes.includes(scope)) ? "all" : scopes.join(",");
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

/** `90d`, `12h`, a date (its first moment, UTC) or a time with its zone, as ISO text; throws OperatorError, also for a time that is over. */
export function readExpiry(text: string | undefined, nowMs: number): string | null {
  if (text === undefined) return null;
  const span = /^([1-9][0-9]{0,4})([hd])$/.exec(text);
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  // Date.parse takes the 31st of February for the 3rd of March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const isDay = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
  const at = span ? nowMs + Number(span[1]) * UNITS[span[2]!]! : isTime && isDay ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new OperatorError(`--expires takes 90d, 12h, a date or a time such as 2030-01-31T12:00:00Z; "${text}" is none of them.`);
  }
  if (at <= nowMs) throw new OperatorError(`--expires: ${text} is over already.`);
  return new Date(at).toISOString();
}
