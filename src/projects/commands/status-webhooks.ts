import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { endpointName, endpointPlace, type EndpointScope, type WebhookEndpoint, webhookEndpoints } from "../repository.ts";
import { newSecret } from "../webhook-secret.ts";
import { type Change, note, type ProjectKey } from "./change.ts";
import type { EndpointBlock, StatusWebhookBlock } from "./shapes.ts";

/** An endpoint with its secrets in the open, as it is compared and written. */
type Endpoint = Omit<WebhookEndpoint, "secrets"> & { secrets: string[] };
type Endpoints = Partial<Record<EndpointScope, Endpoint>>;

const SCOPES = ["both", "test", "live"] as const;

/**
 * The project's status webhook, one for both environments or one for each; null removes it. An endpoint that was switched
 * off by its receiver's 410 is switched on again by being saved.
 */
export async function saveStatusWebhook(change: Change, project: ProjectKey, block: StatusWebhookBlock | null): Promise<void> {
  const stored = opened(await webhookEndpoints(change.tx, change.vault, project.id));
  const wanted = wantedEndpoints(change, project, block, stored);
  for (const scope of SCOPES) {
    const next = wanted[scope];
    if (next) await save(change, project, scope, next, stored[scope]);
    else if (stored[scope]) {
      await change.tx.deleteFrom("webhook_endpoints").where("project_id", "=", project.id).where("environment", "=", scope).execute();
      await note(change, project.organizationId, { object: objectOf(project, scope), action: "removed" });
    }
  }
}

/** When one endpoint becomes two, or two become one, secret and unit stay: live payments depend on them. */
function wantedEndpoints(change: Change, project: ProjectKey, block: StatusWebhookBlock | null, stored: Endpoints): Endpoints {
  if (block === null) return {};
  if ("url" in block) return { both: endpointOf(change, objectOf(project, "both"), block, stored.both ?? stored.live ?? stored.test) };
  const wanted: Endpoints = {};
  for (const environment of ["test", "live"] as const) {
    const own = block[environment];
    const before = stored[environment] ?? stored.both;
    const next = own ? endpointOf(change, objectOf(project, environment), own, before) : own === undefined ? before : undefined;
    if (next) wanted[environment] = next;
  }
  return wanted;
}

function endpointOf({ random, report }: Change, object: string, block: EndpointBlock, before: Endpoint | undefined): Endpoint {
  const secrets = block.secret ?? before?.secrets ?? [newSecret(random.bytes(32))];
  if (!block.secret && !before) report.generated.push({ object, secret: secrets[0] ?? "" });
  return { url: block.url, secrets, amountUnit: block.amount_unit ?? before?.amountUnit ?? "dollars", disabledAt: null };
}

async function save(
  change: Change,
  project: ProjectKey,
  scope: EndpointScope,
  next: Endpoint,
  existing: Endpoint | undefined,
): Promise<void> {
  if (isDeepStrictEqual(next, existing)) return;
  const row = {
    url: next.url,
    secrets: change.vault.seal(endpointPlace(project.id, project.organizationId, scope), next.secrets),
    amount_unit: next.amountUnit,
    disabled_at: next.disabledAt,
  };
  await change.tx
    .insertInto("webhook_endpoints")
    .values({ project_id: project.id, environment: scope, ...row })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "environment"]).doUpdateSet({ ...row, updated_at: sql<Date>`clock_timestamp()` }),
    )
    .execute();
  const isEnabled = isDeepStrictEqual(next, { ...existing, disabledAt: null });
  const action = existing ? (isEnabled ? "enabled" : "changed") : "created";
  await note(change, project.organizationId, { object: objectOf(project, scope), action });
}

function opened(endpoints: Partial<Record<EndpointScope, WebhookEndpoint>>): Endpoints {
  const entries = Object.entries(endpoints).map(([scope, endpoint]): [string, Endpoint] => [
    scope,
    { ...endpoint, secrets: endpoint.secrets.map((secret) => secret.reveal()) },
  ]);
  return Object.fromEntries(entries);
}

const objectOf = (project: ProjectKey, scope: EndpointScope) => `${endpointName(scope)} of ${project.label}`;
