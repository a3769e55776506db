import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "#src/config/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { systemRandom } from "#src/kernel/random.ts";
import {
  ChainBrokenError,
  createJobs,
  createOutbound,
  type Database,
  type InstallationKeys,
  loadKeyring,
  openDatabase,
  openInstallationKeys,
  sealRows,
  silentLog,
} from "#src/platform/index.ts";
import { createProjects } from "#src/projects/index.ts";
import { createSessions } from "#src/sessions/index.ts";
import { createWebhooks } from "#src/webhooks/index.ts";
import type { Rooms } from "./operation.ts";

/** What a command needs of the rooms when no service runs. */
export interface Opening {
  /** The command may be the first ever to touch this installation, as `apply` may. */
  creates?: boolean;
  /** It may send a job: a webhook's wake-up. */
  jobs?: boolean;
  /** It looks at the database as it is and brings no migration. */
  asItIs?: boolean;
  /** It leaves the rows of the audit log as it found them, unsealed ones too. */
  leavesAudit?: boolean;
}

/** Opens the rooms for one command. Nothing of the service is started: no listener, no delivery, no recovery. */
export async function openRooms(
  config: Config,
  { creates, jobs: needsJobs, asItIs, leavesAudit }: Opening,
): Promise<Rooms & { close(): Promise<void> }> {
  if (!creates && config.embedded && !existsSync(join(config.dataDir, "database"))) {
    throw new OperatorError(`DATA_DIR: there is no installation in ${config.dataDir} yet; npm start or voicetill apply makes one.`);
  }
  const [clock, random, log] = [systemClock, systemRandom, silentLog];
  const database = await openDatabase({ databaseUrl: config.databaseUrl?.reveal() ?? null, dataDir: config.dataDir });
  const ends: (() => Promise<void>)[] = [() => database.close()];
  const close = async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    if (!asItIs) await database.migrate();
    const keys = await openInstallationKeys(database, loadKeyring(config));
    if (!asItIs && !leavesAudit) ends.push(() => sealAudit(database, keys));
    const projects = createProjects({ database, keys, random, gateways: GATEWAYS_BUILT, simulatorsUrl: () => null });
    const jobs = createJobs(database, log);
    const webhooks = createWebhooks({
      database,
      jobs,
      projects,
      gateways: GATEWAYS_BUILT,
      outbound: createOutbound({ allow: config.outboundAllow }),
      clock,
      random,
      log,
    });
    if (needsJobs) {
      webhooks.registerDelivery();
      ends.push(() => jobs.stop());
      await jobs.start({ work: false });
    }
    const sessions = createSessions({ database, clock, random, log, onFinal: (tx, session) => webhooks.onFinal(tx, session) });
    return { database, keys, projects, sessions, webhooks, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the command wrote: no worker may run for long. */
async function sealAudit(database: Database, { audit }: InstallationKeys): Promise<void> {
  await sealRows(database, audit).catch((error: unknown) => {
    // The command has done its work; `audit verify` tells.
    if (!(error instanceof ChainBrokenError)) throw error;
  });
}
