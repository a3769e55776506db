import { sql } from "kysely";
import type { LanguageTag } from "#src/kernel/language.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Db } from "#src/platform/index.ts";
import { createApiKey, revokeApiKey, saveApiKey } from "./commands/api-keys.ts";
import { type Change, type ChangeReport, CommandFault, type CommandSource } from "./commands/change.ts";
import { organizationOf, saveOrganization } from "./commands/organizations.ts";
import { saveProject } from "./commands/projects.ts";
import { type ApiKeyValues, type OrganizationValues, checked, type ProjectValues, type Shapes, shapesFor } from "./commands/shapes.ts";
import { differences, exportState } from "./export.ts";
import type { Gateways } from "./gateway-descriptor.ts";
import type { Vault } from "./vault.ts";

/**
 * Every change of settings that an operator can make. The values have the fields of the apply file's blocks (docs/operations.md, Apply file);
 * what they do not mention is left alone. The apply file, the command line and the dashboard give these commands and no others.
 */
export type Command =
  | { kind: "save organization"; values: OrganizationValues }
  /** Its row, numbers, status webhook, gateway credentials and integrations, as far as they are mentioned. */
  | { kind: "save project"; organization: string; values: ProjectValues }
  /** Makes the key of this name, or changes it. */
  | { kind: "save API key"; organization: string; values: ApiKeyValues }
  /** As "save API key", but refuses a name that was ever used. */
  | { kind: "create API key"; organization: string; values: ApiKeyValues }
  | { kind: "revoke API key"; id: string };

export interface CommandDeps {
  database: Database;
  vault: Vault;
  random: Random;
  gateways: Gateways;
  /** What calls can be spoken in. */
  languages: readonly LanguageTag[];
  /** Sounds of recordings as mu-law at 8 kHz, by the files' names in the apply file. */
  recordings?: ReadonlyMap<string, Uint8Array>;
  digestOf: (token: string) => Buffer;
}

/** Faults of several commands, each with which of them it is. */
export class CommandsFault extends Error {
  readonly faults: readonly { index: number; fault: CommandFault }[];

  constructor(faults: CommandsFault["faults"]) {
    super(faults.map(({ fault }) => fault.message).join(" "));
    this.name = "CommandsFault";
    this.faults = faults;
  }
}

/**
 * Carries the commands out in one transaction, one after another: all of them or none. Saying the same again changes nothing. Throws
 * CommandsFault for all that cannot be done: what is at fault writes nothing, so the others can be looked at too.
 */
export async function runCommands(deps: CommandDeps, by: CommandSource, commands: readonly Command[]): Promise<ChangeReport> {
  return await deps.database.transaction((tx) => carryOut(deps, tx, by, commands));
}

/** What `runCommands` would do, key by key, without its secrets; nothing is changed. Throws CommandsFault as it would. */
export async function tryCommands(deps: CommandDeps, by: CommandSource, commands: readonly Command[]): Promise<ChangeReport> {
  const state = (tx: Db) => exportState(tx, deps.vault, deps.gateways);
  let tried: ChangeReport = { changes: [], generated: [] };
  const asked = new Error("tried alone");
  await deps.database
    .transaction(async (tx) => {
      const before = await state(tx);
      const { changes, generated } = await carryOut(deps, tx, by, commands);
      const shown = generated.map(({ object }) => ({ object, secret: "(made when it is applied)" }));
      tried = { changes, generated: shown, differences: differences(before, await state(tx)) };
      throw asked;
    })
    .catch((error: unknown) => {
      if (error !== asked) throw error;
    });
  return tried;
}

async function carryOut(
  { database, ...deps }: CommandDeps,
  tx: Db,
  by: CommandSource,
  commands: readonly Command[],
): Promise<ChangeReport> {
  // One run at a time: two at once would both find an object missing and both make it.
  await sql`select pg_advisory_xact_lock(hashtext('voicetill apply'))`.execute(tx);
  const change: Change = { ...deps, tx, databaseKind: database.kind, by, report: { changes: [], generated: [] }, later: [] };
  const shapes = shapesFor(deps.gateways, deps.languages);
  const faults: { index: number; fault: CommandFault }[] = [];
  const attempt = async (index: number, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      faults.push(...[error, ...error.others].map((fault) => ({ index, fault })));
    }
  };
  const later: { index: number; step: () => Promise<void> }[] = [];
  for (const [index, command] of commands.entries()) {
    await attempt(index, () => run(change, shapes, command));
    later.push(...change.later.splice(0).map((step) => ({ index, step })));
  }
  for (const { index, step } of later) await attempt(index, step);
  if (faults.length > 0) throw new CommandsFault(faults);
  return change.report;
}

/** `runCommands` for one command; throws its CommandFault. */
export async function runCommand(deps: CommandDeps, by: CommandSource, command: Command): Promise<ChangeReport> {
  try {
    return await runCommands(deps, by, [command]);
  } catch (error) {
    throw error instanceof CommandsFault ? (error.faults[0]?.fault ?? error) : error;
  }
}

async function run(change: Change, shapes: Shapes, command: Command): Promise<void> {
  switch (command.kind) {
    case "save organization":
      return await saveOrganization(change, checked(shapes.organization, command.values));
    case "save project":
      return await saveProject(change, await organizationOf(change, command.organization), checked(shapes.project, command.values));
    case "save API key":
      return await saveApiKey(change, await organizationOf(change, command.organization), checked(shapes.apiKey, command.values));
    case "create API key":
      return await createApiKey(change, await organizationOf(change, command.organization), checked(shapes.apiKey, command.values));
    case "revoke API key":
      return await revokeApiKey(change, command.id);
  }
}
