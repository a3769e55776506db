import { sql } from "kysely";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { countOpen, type CredentialsCheck } from "#src/payments/index.ts";
import { type ChainReport, livingProcesses, pendingMigrations, verifyChain } from "#src/platform/index.ts";
import type { ApiKey, ProjectOverview } from "#src/projects/index.ts";
import { countNumberCallbacks } from "#src/sessions/index.ts";
import { type Backlog, backlogOf } from "#src/webhooks/index.ts";
import type { CommandModules } from "../modules.ts";

/** What the database tells the doctor. Gathered where the database is: with embedded storage by the running service. */
export interface DatabaseFacts {
  kind: "pglite" | "postgres";
  version: string;
  /** The database's clock less this machine's, ms. */
  skewMs: number;
  /** Settings of a server that are off and without which a power cut takes away what was committed. The embedded database is known to have none. */
  unsafe: string[];
  pendingMigrations: string[];
  /** null while migrations are pending: the tables may not be there. */
  installation: Installation | null;
}

export interface Installation {
  keys: Pick<ApiKey, "organization" | "name" | "mode" | "state" | "expires_at">[];
  secrets: { opened: number; failed: string[] };
  projects: ProjectOverview[];
  webhooks: Backlog;
  payments: { stuck: number; searched: number; unsettled: number };
  /** Sessions of the last week whose callback is a telephone number. */
  numberCallbacks: number;
  /** What the vendors say of each project's own credentials; null when they were not asked. */
  credentials: ({ name: string; gateway: GatewayName; environment: Environment } & CredentialsCheck)[] | null;
  processes: { owner: string; roles: string[] }[];
  /** null when it was not asked: reading the whole log takes its time. */
  audit: Pick<ChainReport, "verified" | "fault" | "overdue"> | null;
}

export async function gatherFromDatabase(
  { database, projects, keys, payments }: Pick<CommandModules, "database" | "projects" | "keys" | "payments">,
  /** With what takes its time: the whole audit log is read, and every vendor is asked. */
  { thorough }: { thorough: boolean },
): Promise<DatabaseFacts> {
  const { db } = database;
  const { rows: versions } = await sql<{ server_version: string }>`show server_version`.execute(db);
  const asked = Date.now();
  const { rows: clocks } = await sql<{ ms: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  const answered = Date.now();
  const { rows: unsafe } = await sql<{ name: string }>`select name from pg_settings
    where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`.execute(db);
  const pending = await pendingMigrations(db);
  const overview = pending.length > 0 ? [] : await projects.overview(db);
  return {
    kind: database.kind,
    version: versions[0]!.server_version,
    skewMs: Math.round(clocks[0]!.ms - (asked + answered) / 2),
    unsafe: database.kind === "pglite" ? [] : unsafe.map(({ name }) => name),
    pendingMigrations: pending,
    installation:
      pending.length > 0
        ? null
        : {
            keys: (await projects.listKeys(db, null)).map(({ organization, name, mode, state, expires_at }) => ({
              organization,
              name,
              mode,
              state,
              expires_at,
            })),
            secrets: await projects.unopenedSecrets(db),
            projects: overview,
            webhooks: await backlogOf(db),
            payments: await countOpen(db),
            numberCallbacks: await countNumberCallbacks(db),
            processes: await livingProcesses(db),
            credentials: thorough ? await askVendors(overview, payments) : null,
            audit: thorough ? await verifyChain(db, keys.audit) : null,
          },
  };
}

/** Asks for all projects at a time; one that is archived takes no payments. */
async function askVendors(projects: readonly ProjectOverview[], payments: CommandModules["payments"]) {
  const own = projects
    .filter(({ archived }) => !archived)
    .flatMap(({ id: projectId, organization, project, currency, gateways }) =>
      gateways.map((of) => ({ ...of, projectId, currency, name: `${organization}/${project}` })),
    );
  return await Promise.all(
    own.map(async ({ name, ...scope }) => {
      const { gateway, environment } = scope;
      return { name, gateway, environment, ...(await payments.checkCredentials(scope)) };
    }),
  );
}
