import { isDeepStrictEqual } from "node:util";
import type { Insertable, Selectable } from "kysely";
import { parseE164 } from "#src/kernel/phone.ts";
import type { Tables } from "#src/platform/index.ts";
import { integrationsPlace, openIntegrations } from "../repository.ts";
import { merge } from "../settings.ts";
import { note } from "./run.ts";
import type { Run } from "./run.ts";
import { applyGateways } from "./gateways.ts";
import type { ProjectBlock } from "./schema.ts";
import { checkSeparateSecrets } from "./separate-secrets.ts";
import { applyStatusWebhook } from "./status-webhook.ts";

type Row = Selectable<Tables["projects"]>;

/** A project of the file with what its parts need to name themselves and to seal their secrets. */
export interface ProjectKey {
  id: string;
  organizationId: string;
  /** `<organisation>/<project>`, for the report. */
  label: string;
}

export async function applyProject(
  run: Run,
  organization: { id: string; slug: string },
  block: ProjectBlock,
  path: readonly PropertyKey[],
): Promise<void> {
  const existing = await run.tx
    .selectFrom("projects")
    .selectAll()
    .where("organization_id", "=", organization.id)
    .where("slug", "=", block.slug)
    .executeTakeFirst();
  const project: ProjectKey = {
    id: existing?.id ?? run.random.uuid(),
    organizationId: organization.id,
    label: `${organization.slug}/${block.slug}`,
  };
  await applyRow(run, project, block, existing);
  if (block.phone_numbers) await applyNumbers(run, project, block.phone_numbers, [...path, "phone_numbers"]);
  if (block.status_webhook !== undefined) await applyStatusWebhook(run, project, block.status_webhook);
  await applyGateways(run, project, block.gateways ?? {}, [...path, "gateways"]);
  await checkSeparateSecrets(run, project, path);
}

async function applyRow(run: Run, project: ProjectKey, block: ProjectBlock, existing: Row | undefined): Promise<void> {
  const { tx } = run;
  const object = `project ${project.label}`;
  const language = block.language ?? existing?.language ?? "en-US";
  const columns = {
    name: block.name ?? existing?.name ?? block.slug,
    currency: block.currency ?? existing?.currency ?? "USD",
    language,
    country: block.country ?? existing?.country ?? countryOf(language),
    archived: block.archived ?? existing?.archived ?? false,
    voice: merge(existing?.voice ?? {}, block.voice),
    widget: merge(existing?.widget ?? {}, block.widget),
  };
  const integrations = sealIntegrations(run, project, block, existing);
  const json = { voice: JSON.stringify(columns.voice), widget: JSON.stringify(columns.widget), ...integrations };

  if (!existing) {
    const row: Insertable<Tables["projects"]> = {
      id: project.id,
      organization_id: project.organizationId,
      slug: block.slug,
      ...columns,
      ...json,
    };
    await tx.insertInto("projects").values(row).execute();
    note(run, object, "created");
  } else if (integrations || !isDeepStrictEqual(columns, pick(existing))) {
    await tx
      .updateTable("projects")
      .set({ ...columns, ...json })
      .where("id", "=", project.id)
      .execute();
    note(run, object, "changed");
  }
}

function pick({ name, currency, language, country, archived, voice, widget }: Row) {
  return { name, currency, language, country, archived, voice, widget };
}

/** The region of the language tag, written or most likely: en-US gives US, de gives DE. */
function countryOf(language: string): string {
  return new Intl.Locale(language).maximize().region ?? "US";
}

/** The column's new text, or nothing when the block says what is already sealed. */
function sealIntegrations(
  { vault }: Run,
  project: ProjectKey,
  block: ProjectBlock,
  existing: Row | undefined,
): { integrations: string } | undefined {
  if (!block.integrations) return undefined;
  const stored = existing ? openIntegrations(vault, existing) : {};
  const wanted = merge(stored, block.integrations);
  if (isDeepStrictEqual(wanted, stored)) return undefined;
  const sealed = vault.seal(integrationsPlace(project.id, project.organizationId), wanted);
  return { integrations: JSON.stringify({ sealed: Buffer.from(sealed).toString("base64") }) };
}

/** The file's list is the whole list; a number belongs to one project. */
async function applyNumbers(run: Run, project: ProjectKey, numbers: readonly string[], path: readonly PropertyKey[]): Promise<void> {
  const { tx, document } = run;
  const wanted = [...new Set(numbers.map((number) => parseE164(number) ?? number))];
  const rows = await tx.selectFrom("phone_numbers").selectAll().execute();
  const ownerOf = new Map(rows.map((row) => [row.number, row.project_id]));
  for (const [index, number] of wanted.entries()) {
    const owner = ownerOf.get(number);
    if (owner !== undefined && owner !== project.id) document.refuse([...path, index], "this number belongs to another project");
  }
  const surplus = rows.filter((row) => row.project_id === project.id && !wanted.includes(row.number)).map((row) => row.number);
  const missing = wanted.filter((number) => !ownerOf.has(number));
  if (surplus.length > 0) await tx.deleteFrom("phone_numbers").where("number", "in", surplus).execute();
  if (missing.length > 0) {
    const values = missing.map((number) => ({ number, project_id: project.id }));
    await tx.insertInto("phone_numbers").values(values).execute();
  }
  if (surplus.length + missing.length > 0) note(run, `phone numbers of ${project.label}`, "changed");
}
