import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Insertable, Selectable } from "kysely";
import { parseE164 } from "#src/kernel/phone.ts";
import type { Db, Tables } from "#src/platform/index.ts";
import { contrastFault } from "../appearance.ts";
import { integrationsPlace, openIntegrations } from "../repository.ts";
import { merge, mergeWidget, readVoice, readWidget, type StoredRecordings } from "../settings.ts";
import { type Change, CommandFault, eachOf, note, type OrganizationKey, type ProjectKey } from "./change.ts";
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
  if (values.voice?.recordings) await saveRecordings(change, project);
  const { phone_numbers: numbers, status_webhook: webhook, gateways = {} } = values;
  await eachOf([
    async () => numbers && (await saveNumbers(change, project, numbers)),
    async () => webhook !== undefined && (await saveStatusWebhook(change, project, webhook)),
    () => saveGateways(change, project, gateways),
    async () => checkAppearance(values, existing),
    ...platformChecks(change, values, existing),
  ]);
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
    accepted_brands: values.accepted_brands ?? existing?.accepted_brands ?? [],
    archived: values.archived ?? existing?.archived ?? false,
    voice: merge(existing?.voice ?? {}, values.voice && { ...values.voice, ...namedRecordings(change, values.voice.recordings) }),
    widget: mergeWidget(existing?.widget ?? {}, values.widget),
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

function pick({ name, currency, language, country, accepted_brands, archived, voice, widget }: Row) {
  return { name, currency, language, country, accepted_brands, archived, voice, widget };
}

type Recordings = NonNullable<ProjectValues["voice"]>["recordings"];

const digestOf = (ulaw: Uint8Array) => createHash("sha256").update(ulaw).digest("hex");

/** The recordings as they are stored with the project: the file's name and what it sounds like. */
function namedRecordings({ recordings: sounds }: Change, recordings: Recordings): { recordings?: StoredRecordings } {
  if (!recordings) return {};
  const named = Object.entries(recordings).map(([id, file]) => {
    if (file === null) return [id, null];
    const ulaw = sounds?.get(file);
    if (!ulaw) throw new CommandFault(["voice", "recordings", id], "recordings are read by `voicetill apply` alone");
    return [id, { file, digest: digestOf(ulaw) }];
  });
  return { recordings: Object.fromEntries(named) as StoredRecordings };
}

/** Keeps the sounds that the project has by now, and no others. */
async function saveRecordings({ tx, recordings: sounds = new Map() }: Change, { id }: ProjectKey): Promise<void> {
  const { voice } = await tx.selectFrom("projects").select("voice").where("id", "=", id).executeTakeFirstOrThrow();
  const wanted = new Set(Object.values(readVoice(voice).recordings));
  const stored = (await tx.selectFrom("recordings").select("digest").where("project_id", "=", id).execute()).map(({ digest }) => digest);
  const surplus = stored.filter((digest) => !wanted.has(digest));
  if (surplus.length > 0) await tx.deleteFrom("recordings").where("project_id", "=", id).where("digest", "in", surplus).execute();
  const byDigest = new Map([...sounds.values()].map((ulaw) => [digestOf(ulaw), ulaw]));
  const missing = [...wanted].filter((digest) => !stored.includes(digest));
  const rows = missing.flatMap((digest) => ({ project_id: id, digest, ulaw: byDigest.get(digest)! }));
  if (rows.length > 0) await tx.insertInto("recordings").values(rows).execute();
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
  // null takes away: nothing is left of it, for a process of the version before either.
  const wanted: unknown = JSON.parse(JSON.stringify(merge(stored, values.integrations), (_key, value: unknown) => value ?? undefined));
  if (isDeepStrictEqual(wanted, stored)) return undefined;
  const sealed = vault.seal(integrationsPlace(project.id, project.organizationId), wanted);
  return { integrations: JSON.stringify({ sealed: Buffer.from(sealed).toString("base64") }) };
}

/** Colours are judged as they are shown: with those that are stored. */
function checkAppearance({ widget }: ProjectValues, existing: Row | undefined): void {
  if (!widget?.appearance) return;
  const { theme, variables } = readWidget(mergeWidget(existing?.widget ?? {}, widget)).appearance;
  const fault = contrastFault(variables, theme);
  if (fault !== null) throw new CommandFault(["widget", "appearance"], fault);
}

/**
 * A platform's map without its secret, as an export has it, stands for the one that is stored: where there is none it would be asked for
 * no longer.
 */
function platformChecks({ vault }: Change, { integrations = {} }: ProjectValues, existing: Row | undefined): (() => Promise<void>)[] {
  const stored = existing ? openIntegrations(vault, existing) : {};
  const missing = [
    integrations.alpha && { ...stored.alpha, ...integrations.alpha }.secret === undefined ? ["alpha", "secret"] : null,
    integrations.beta && { ...stored.beta, ...integrations.beta }.api_key === undefined ? ["beta", "api_key"] : null,
  ];
  return missing
    .filter((pair) => pair !== null)
    .map(([platform = "", field]) => async () => {
      throw new CommandFault(["integrations", platform], `${platform} needs ${field}`);
    });
}

/** `numbers` is the whole list; a number belongs to one project. */
async function saveNumbers(change: Change, project: ProjectKey, numbers: readonly string[]): Promise<void> {
  const { tx } = change;
  const wanted = [...new Set(numbers.map((number) => parseE164(number) ?? number))];
  const rows = await tx.selectFrom("phone_numbers").select("number").where("project_id", "=", project.id).execute();
  const own = rows.map(({ number }) => number);
  const surplus = own.filter((number) => !wanted.includes(number));
  const missing = wanted.filter((number) => !own.includes(number));
  if (surplus.length > 0) await tx.deleteFrom("phone_numbers").where("number", "in", surplus).execute();
  if (missing.length > 0) change.later.push(() => takeNumbers(tx, project, wanted, missing));
  if (surplus.length + missing.length === 0) return;
  const action = own.length === 0 ? "created" : wanted.length === 0 ? "removed" : "changed";
  await note(change, project.organizationId, { object: `phone numbers of ${project.label}`, action });
}

/** When every project of the run has given up what it does not want any more. */
async function takeNumbers(tx: Db, project: ProjectKey, wanted: readonly string[], missing: readonly string[]): Promise<void> {
  const taken = await tx.selectFrom("phone_numbers").select("number").where("number", "in", missing).execute();
  const index = wanted.findIndex((number) => taken.some((row) => row.number === number));
  if (index !== -1) throw new CommandFault(["phone_numbers", index], "this number belongs to another project");
  const values = missing.map((number) => ({ number, project_id: project.id }));
  await tx.insertInto("phone_numbers").values(values).execute();
}
