import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { addressOf, type Config } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Database, InstallationKeys } from "#src/platform/index.ts";
import type { App } from "../app.ts";

/** The modules that a command works with: those of the running service, or the same ones opened for the command alone. */
export type CommandModules = Pick<
  App,
  "database" | "keys" | "projects" | "sessions" | "webhooks" | "payments" | "checkout" | "trunks" | "baseUrl" | "sip"
>;

/** What a command needs when no service runs. */
export interface CommandOpening {
  /** The command may be the first ever to touch this installation, as `apply` may. */
  creates?: boolean;
  /** It looks at the database as it is and brings no migration. */
  asItIs?: boolean;
  /** It leaves the rows of the audit log as it found them, unsealed ones too. */
  leavesAudit?: boolean;
}

/** Opens the modules for one command. */
export async function openForCommand(
  config: Config,
  { creates, asItIs, leavesAudit }: CommandOpening,
): Promise<CommandModules & { close(): Promise<void> }> {
  if (!creates && config.embedded && !existsSync(join(config.dataDir, "database"))) {
    throw new OperatorError(
      `DATA_DIR: there is no installation in ${resolve(config.dataDir)} yet; npm start or voicetill apply makes one.`,
    );
  }
  // Hundreds of files, which a command that a running service answers does without.
  const { createEnds, openModules } = await import("../app.ts");
  const { silentLog } = await import("#src/platform/index.ts");
  const { onEnd, endAll } = createEnds();
  try {
    const modules = await openModules(config, silentLog, onEnd, { migrate: !asItIs });
    const { database, keys } = modules;
    if (!asItIs && !leavesAudit) onEnd(() => sealAudit(database, keys));
    return {
      ...modules,
      baseUrl: addressOf(config),
      sip: { host: config.sipPublicHost, port: config.sipPort, tlsPort: config.sipTlsPort },
      close: endAll,
    };
  } catch (error) {
    await endAll();
    throw error;
  }
}

/** What the command wrote: no worker may run for long. */
async function sealAudit(database: Database, { audit }: InstallationKeys): Promise<void> {
  const { ChainBrokenError, sealRows } = await import("#src/platform/index.ts");
  await sealRows(database, audit).catch((error: unknown) => {
    // The command has done its work; `audit verify` tells.
    if (!(error instanceof ChainBrokenError)) throw error;
  });
}
