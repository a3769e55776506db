import { OperatorError } from "#src/kernel/errors.ts";
import type { Random } from "#src/kernel/random.ts";
import { audit, type Database, type Db } from "#src/platform/index.ts";
import type { Difference } from "../export.ts";
import type { Gateways } from "../gateway-descriptor.ts";
import type { Vault } from "../vault.ts";

/** What commands did. `generated` holds keys and secrets that are shown here and never again. */
export interface ChangeReport {
  changes: { object: string; action: Action }[];
  generated: { object: string; secret: string }[];
  /** Of a trial alone: what would be otherwise than it is, without secrets. */
  differences?: Difference[];
}

export type Action = "created" | "changed" | "replaced" | "removed" | "enabled" | "revoked";

export type Path = readonly PropertyKey[];

/**
 * Why a command cannot be done. `path` leads from the command's `values` to the one that is at fault; `reason` has no capital letter and
 * no full stop, for whoever puts a place before it. No value that could be a secret is repeated.
 */
export class CommandFault extends OperatorError {
  readonly path: Path;
  readonly reason: string;
  /** What else is wrong with the same command. */
  others: readonly CommandFault[] = [];

  constructor(path: Path, reason: string) {
    super(`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
    this.name = "CommandFault";
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Takes every step, though one finds a fault, and throws CommandFault for all of them at the end. What is at fault writes nothing, so that
 * the steps behind it can be looked at too.
 */
export async function eachOf(steps: Iterable<() => Promise<unknown>>): Promise<void> {
  const faults: CommandFault[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      faults.push(error, ...error.others);
      error.others = [];
    }
  }
  const [first, ...others] = faults;
  if (first) throw Object.assign(first, { others });
}

/** Who gives the commands, for the audit log. */
export interface CommandSource {
  /** `apply`, `operator` ... */
  actor: string;
  /** An address, `command`. */
  source: string;
}

/** One run of commands: what its steps share. */
export interface Change {
  readonly tx: Db;
  readonly databaseKind: Database["kind"];
  readonly vault: Vault;
  readonly random: Random;
  readonly gateways: Gateways;
  readonly digestOf: (token: string) => Buffer;
  readonly recordings?: ReadonlyMap<string, Uint8Array>;
  readonly by: CommandSource;
  readonly report: ChangeReport;
  /** What is done when all commands of the run are: it may need what a later one of them gives up. */
  readonly later: (() => Promise<void>)[];
}

/** An organisation that commands work in. */
export interface OrganizationKey {
  id: string;
  slug: string;
}

/** A project with what its parts need to name themselves and to seal their secrets. */
export interface ProjectKey {
  id: string;
  organizationId: string;
  /** `<organisation>/<project>`, for the report. */
  label: string;
}

/** Reports a change and writes its row of the audit log, under `audited` where it has a name of its own there. */
export async function note(
  { tx, by, report }: Change,
  organizationId: string,
  change: ChangeReport["changes"][number],
  audited: { action?: string; details?: object } = {},
): Promise<void> {
  report.changes.push(change);
  await audit(tx, { organizationId, ...by, ...change, ...audited });
}
