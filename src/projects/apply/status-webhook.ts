import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { endpointName, endpointPlace, type EndpointScope, type WebhookEndpoint, webhookEndpoints } from "../repository.ts";
import { note } from "./run.ts";
import type { Run } from "./run.ts";
import type { ProjectKey } from "./projects.ts";
import type { EndpointBlock, StatusWebhookBlock } from "./schema.ts";

/** An endpoint with its secrets in the open, as it is compared and written. */
type Endpoint = Omit<WebhookEndpoint, "secrets"> & { secrets: string[] };
type Endpoints = Partial<Record<EndpointScope, Endpoint>>;

const SCOPES = ["both", "test", "live"] as const;

/**
 * The project's status webhook, one for both environments or one for each; null removes it. An endpoint that was switched
 * off by its receiver's 410 is switched on again by being applied.
 */
export async function applyStatusWebhook(run: Run, project: ProjectKey, block: StatusWebhookBlock | null): Promise<void> {
  const stored = opened(await webhookEndpoints(run.tx, run.vault, project.id));
  const wanted = wantedEndpoints(run, project, block, stored);
  for (const scope of SCOPES) {
    const next = wanted[scope];
    if (next) await save(run, project, scope, next, stored[scope]);
    else if (stored[scope]) {
      await run.tx.deleteFrom("webhook_endpoints").where("project_id", "=", project.id).where("environment", "=", scope).execute();
      note(run, objectOf(project, scope), "removed");
    }
  }
}

/** When one endpoint becomes two, or two become one, secret and unit stay: live payments depend on them. */
function wantedEndpoints(run: Run, project: ProjectKey, block: StatusWebhookBlock | null, stored: Endpoints): Endpoints {
  if (block === null) return {};
  if ("url" in block) return { both: endpointOf(run, objectOf(project, "both"), block, stored.both ?? stored.live ?? stored.test) };
  const wanted: Endpoints = {};
  for (const environment of ["test", "live"] as const) {
    const own = block[environment];
    const before = stored[environment] ?? stored.both;
    const next = own ? endpointOf(run, objectOf(project, environment), own, before) : own === undefined ? before : undefined;
    if (next) wanted[environment] = next;
  }
  return wanted;
}

function endpointOf({ random, report }: Run, object: string, block: EndpointBlock, before: Endpoint | undefined): Endpoint {
  const secrets = block.secret ?? before?.secrets ?? [newSecret(random.bytes(32))];
  if (!block.secret && !before) report.generated.push({ object, secret: secrets[0] ?? "" });
  return { url: block.url, secrets, amountUnit: block.amount_unit ?? before?.amountUnit ?? "dollars", disabledAt: null };
}

async function save(run: Run, project: ProjectKey, scope: EndpointScope, next: Endpoint, existing: Endpoint | undefined): Promise<void> {
  if (isDeepStrictEqual(next, existing)) return;
  const row = {
    url: next.url,
    secrets: run.vault.seal(endpointPlace(project.id, project.organizationId, scope), next.secrets),
    amount_unit: next.amountUnit,
    disabled_at: next.disabledAt,
  };
  await run.tx
    .insertInto("webhook_endpoints")
    .values({ project_id: project.id, environment: scope, ...row })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "environment"]).doUpdateSet({ ...row, updated_at: sql<Date>`clock_timestamp()` }),
    )
    .execute();
  const isEnabled = isDeepStrictEqual(next, { ...existing, disabledAt: null });
  note(run, objectOf(project, scope), existing ? (isEnabled ? "enabled" : "changed") : "created");
}

function opened(endpoints: Partial<Record<EndpointScope, WebhookEndpoint>>): Endpoints {
  const entries = Object.entries(endpoints).map(([scope, endpoint]): [string, Endpoint] => [
    scope,
    { ...endpoint, secrets: endpoint.secrets.map((secret) => secret.reveal()) },
  ]);
  return Object.fromEntries(entries);
}

const objectOf = (project: ProjectKey, scope: EndpointScope) => `${endpointName(scope)} of ${project.label}`;

/** `whsec_` and the base64 of random bytes, as Standard Webhooks writes it. */
export function newSecret(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}
