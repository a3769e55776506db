import { sql } from "kysely";
import type { Random } from "#src/kernel/random.ts";
import type { Database } from "#src/platform/index.ts";
import { createApiKey, revokeApiKey, saveApiKey } from "./commands/api-keys.ts";
import { type Change, type ChangeReport, CommandFault, type CommandSource } from "./commands/change.ts";
import { organizationOf, saveOrganization } from "./commands/organizations.ts";
import { saveProject } from "./commands/projects.ts";
import { type ApiKeyValues, type OrganizationValues, checked, type ProjectValues, type Shapes, shapesFor } from "./commands/shapes.ts";
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
  digestOf: (token: string) => Buffer;
}

/** A fault of one of several commands. */
export class CommandsFault extends Error {
  /** Which of them. */
  readonly index: number;
  readonly fault: CommandFault;

  constructor(index: number, fault: CommandFault) {
    super(fault.message, { cause: fault });
    this.name = "CommandsFault";
    this.index = index;
    this.fault = fault;
  }
}

/**
 * Carries the commands out in one transaction, one after another: all of them or none. Saying the same again changes nothing. Throws
 * CommandsFault for the first that cannot be done.
 */
export async function runCommands(
  { database, ...deps }: CommandDeps,
  by: CommandSource,
  commands: readonly Command[],
): Promise<ChangeReport> {
  return await database.transaction(async (tx) => {
    // One run at a time: two at once would both find an object missing and both make it.
    await sql`select pg_advisory_xact_lock(hashtext('voicetill apply'))`.execute(tx);
    const change: Change = { ...deps, tx, databaseKind: database.kind, by, report: { changes: [], generated: [] } };
    const shapes = shapesFor(deps.gateways);
    for (const [index, command] of commands.entries()) {
      try {
        await run(change, shapes, command);
      } catch (error) {
        throw error instanceof CommandFault ? new CommandsFault(index, error) : error;
      }
    }
    return change.report;
  });
}

/** `runCommands` for one command; throws its CommandFault. */
export async function runCommand(deps: CommandDeps, by: CommandSource, command: Command): Promise<ChangeReport> {
  try {
    return await runCommands(deps, by, [command]);
  } catch (error) {
    throw error instanceof CommandsFault ? error.fault : error;
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
