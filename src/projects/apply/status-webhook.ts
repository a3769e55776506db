import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { endpointPlace, webhookEndpoint } from "../repository.ts";
import { note } from "./run.ts";
import type { Run } from "./run.ts";
import type { ProjectKey } from "./projects.ts";
import type { StatusWebhookBlock } from "./schema.ts";

/**
 * The project's status webhook; null removes it. An endpoint that was switched off by its receiver's 410 is switched on
 * again by being applied.
 */
export async function applyStatusWebhook(run: Run, project: ProjectKey, block: StatusWebhookBlock | null): Promise<void> {
  const { tx, vault, random, report } = run;
  const object = `status webhook of ${project.label}`;
  const existing = await webhookEndpoint(tx, vault, project.id);
  if (block === null) {
    if (!existing) return;
    await tx.deleteFrom("webhook_endpoints").where("project_id", "=", project.id).execute();
    note(run, object, "removed");
    return;
  }

  const kept = existing?.secrets.map((secret) => secret.reveal());
  const secrets = block.secret ?? kept ?? [newSecret(random.bytes(32))];
  if (!block.secret && !kept) report.generated.push({ object, secret: secrets[0] ?? "" });
  const wanted = { url: block.url, secrets, amountUnit: block.amount_unit ?? existing?.amountUnit ?? "dollars" };
  const same = existing && isDeepStrictEqual(wanted, { url: existing.url, secrets: kept, amountUnit: existing.amountUnit });
  if (same && !existing.disabledAt) return;

  const row = {
    url: wanted.url,
    secrets: vault.seal(endpointPlace(project.id, project.organizationId), secrets),
    amount_unit: wanted.amountUnit,
    disabled_at: null,
  };
  await tx
    .insertInto("webhook_endpoints")
    .values({ project_id: project.id, ...row })
    .onConflict((conflict) => conflict.column("project_id").doUpdateSet({ ...row, updated_at: sql<Date>`clock_timestamp()` }))
    .execute();
  note(run, object, existing ? (same ? "enabled" : "changed") : "created");
}

/** `whsec_` and the base64 of random bytes, as Standard Webhooks writes it. */
export function newSecret(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}
