import { isDeepStrictEqual } from "node:util";
import type { Insertable, Selectable } from "kysely";
import { parseE164 } from "#src/kernel/phone.ts";
import type { Tables } from "#src/platform/index.ts";
import { integrationsPlace, openIntegrations } from "../repository.ts";
import { merge } from "../settings.ts";
import { type Change, CommandFault, note, type OrganizationKey, type ProjectKey } from "./change.ts";
import { saveGateways } from "./gateways.ts";
import { checkSeparateSecrets } from "./separate-secrets.ts";
import type { ProjectValues } from "./shapes.ts";
import { saveStatusWebhook } from "./status-webhooks.ts";

type Row = Selectable<Tables["projects"]>;

/** Makes the project of this slug, or changes what `values` mention of it. */
export async function saveProject(change: Change, organization: OrganizationKey, values: ProjectValues): Promise<void> {
  const existing = await change.tx
    .selectFrom("projects")
    .selectAll()
    .where("organization_id", "=", organization.id)
    .where("slug", "=", values.slug)
    .executeTakeFirst();
  const project: ProjectKey = {
    id: existing?.id ?? change.random.uuid(),
    organizationId: organization.id,
    label: `${organization.slug}/${values.slug}`,
  };
  await saveRow(change, project, values, existing);
  if (values.phone_numbers) await saveNumbers(change, project, values.phone_numbers);
  if (values.status_webhook !== undefined) await saveStatusWebhook(change, project, values.status_webhook);
  await saveGateways(change, project, values.gateways ?? {});
  await checkSeparateSecrets(change, project);
}

async function saveRow(change: Change, project: ProjectKey, values: ProjectValues, existing: Row | undefined): Promise<void> {
  const { tx } = change;
  const object = `project ${project.label}`;
  const language = values.language ?? existing?.language ?? "en-US";
  const columns = {
    name: values.name ?? existing?.name ?? values.slug,
    currency: values.currency ?? existing?.currency ?? "USD",
    language,
    country: values.country ?? existing?.country ?? countryOf(language),
    archived: values.archived ?? existing?.archived ?? false,
    voice: merge(existing?.voice ?? {}, values.voice),
    widget: merge(existing?.widget ?? {}, values.widget),
  };
  const integrations = sealIntegrations(change, project, values, existing);
  const json = { voice: JSON.stringify(columns.voice), widget: JSON.stringify(columns.widget), ...integrations };

  if (!existing) {
    const row: Insertable<Tables["projects"]> = {
      id: project.id,
      organization_id: project.organizationId,
      slug: values.slug,
      ...columns,
      ...json,
    };
    await tx.insertInto("projects").values(row).execute();
    await note(change, project.organizationId, { object, action: "created" });
  } else if (integrations || !isDeepStrictEqual(columns, pick(existing))) {
    await tx
      .updateTable("projects")
      .set({ ...columns, ...json })
      .where("id", "=", project.id)
      .execute();
    await note(change, project.organizationId, { object, action: "changed" });
  }
}

function pick({ name, currency, language, country, archived, voice, widget }: Row) {
  return { name, currency, language, country, archived, voice, widget };
}

/** The region of the language tag, written or most likely: en-US gives US, de gives DE. */
function countryOf(language: string): string {
  return new Intl.Locale(language).maximize().region ?? "US";
}

/** The column's new text, or nothing when `values` say what is already sealed. */
function sealIntegrations(
  { vault }: Change,
  project: ProjectKey,
  values: ProjectValues,
  existing: Row | undefined,
): { integrations: string } | undefined {
  if (!values.integrations) return undefined;
  const stored = existing ? openIntegrations(vault, existing) : {};
  const wanted = merge(stored, values.integrations);
  if (isDeepStrictEqual(wanted, stored)) return undefined;
  const sealed = vault.seal(integrationsPlace(project.id, project.organizationId), wanted);
  return { integrations: JSON.stringify({ sealed: Buffer.from(sealed).toString("base64") }) };
}

/** `numbers` is the whole list; a number belongs to one project. */
async function saveNumbers(change: Change, project: ProjectKey, numbers: readonly string[]): Promise<void> {
  const { tx } = change;
  const wanted = [...new Set(numbers.map((number) => parseE164(number) ?? number))];
  const rows = await tx.selectFrom("phone_numbers").selectAll().execute();
  const ownerOf = new Map(rows.map((row) => [row.number, row.project_id]));
  for (const [index, number] of wanted.entries()) {
    const owner = ownerOf.get(number);
    if (owner !== undefined && owner !== project.id)
      throw new CommandFault(["phone_numbers", index], "this number belongs to another project");
  }
  const surplus = rows.filter((row) => row.project_id === project.id && !wanted.includes(row.number)).map((row) => row.number);
  const missing = wanted.filter((number) => !ownerOf.has(number));
  if (surplus.length > 0) await tx.deleteFrom("phone_numbers").where("number", "in", surplus).execute();
  if (missing.length > 0) {
    const values = missing.map((number) => ({ number, project_id: project.id }));
    await tx.insertInto("phone_numbers").values(values).execute();
  }
  if (surplus.length + missing.length === 0) return;
  await note(change, project.organizationId, { object: `phone numbers of ${project.label}`, action: "changed" });
}
