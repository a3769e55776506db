import { sql } from "kysely";
import type { Random } from "#src/kernel/random.ts";
import { audit, type Database, type Db } from "#src/platform/index.ts";
import type { Gateways } from "../gateway-descriptor.ts";
import type { Vault } from "../vault.ts";
import { readDocument } from "./document.ts";
import type { ApplyDocument } from "./document.ts";
import { applyApiKeys } from "./api-keys.ts";
import { applyProject } from "./projects.ts";
import { note } from "./run.ts";
import type { ApplyReport, Run } from "./run.ts";
import { applySchema } from "./schema.ts";
import type { ApplyFile, OrganizationBlock } from "./schema.ts";

export interface ApplyDeps {
  database: Database;
  vault: Vault;
  random: Random;
  gateways: Gateways;
  digestOf: (token: string) => Buffer;
}

/**
 * Brings the installation to what `text` declares, in one transaction (docs/operations.md, Apply file). Applying the same text again
 * changes nothing; what it does not mention is left alone. Throws OperatorError with the line of the fault, and then
 * nothing is changed.
 */
export async function applyFile(deps: ApplyDeps, text: string, env: Readonly<Record<string, string | undefined>>): Promise<ApplyReport> {
  const { database, ...rest } = deps;
  const document = readDocument(text, env);
  const file = validate(document, deps.gateways);
  return await database.transaction(async (tx) => {
    // One apply at a time: two at once would both find an object missing and both make it.
    await sql`select pg_advisory_xact_lock(hashtext('voicetill apply'))`.execute(tx);
    const run: Run = { ...rest, tx, databaseKind: database.kind, document, report: { changes: [], generated: [] } };
    for (const [index, organization] of file.organizations.entries()) {
      const before = run.report.changes.length;
      const organizationId = await applyOrganization(run, organization, ["organizations", index]);
      await writeAudit(tx, organizationId, run.report.changes.slice(before));
    }
    return run.report;
  });
}

function validate(document: ApplyDocument, gateways: Gateways): ApplyFile {
  const result = applySchema(gateways).safeParse(document.value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue?.path.map(String).join(".") ?? "";
  if (issue?.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    document.refuse(issue.path, `unknown key "${key}"${where === "" ? "" : ` in ${where}`}`, key);
  }
  return document.refuse(issue?.path ?? [], `${where === "" ? "the file" : where}: ${issue?.message ?? "invalid"}`);
}

/** Answers the organisation's id. */
async function applyOrganization(run: Run, block: OrganizationBlock, path: readonly PropertyKey[]): Promise<string> {
  const { tx, random } = run;
  const object = `organization ${block.slug}`;
  const existing = await tx.selectFrom("organizations").select(["id", "name"]).where("slug", "=", block.slug).executeTakeFirst();
  const id = existing?.id ?? random.uuid();
  if (!existing) {
    await tx
      .insertInto("organizations")
      .values({ id, slug: block.slug, name: block.name ?? block.slug })
      .execute();
    note(run, object, "created");
  } else if (block.name !== undefined && block.name !== existing.name) {
    await tx.updateTable("organizations").set({ name: block.name }).where("id", "=", id).execute();
    note(run, object, "changed");
  }
  const organization = { id, slug: block.slug };
  await applyApiKeys(run, organization, block.api_keys ?? [], [...path, "api_keys"]);
  for (const [index, project] of (block.projects ?? []).entries()) {
    await applyProject(run, organization, project, [...path, "projects", index]);
  }
  return id;
}

async function writeAudit(tx: Db, organizationId: string, changes: ApplyReport["changes"]): Promise<void> {
  await audit(tx, ...changes.map((change) => ({ organizationId, actor: "apply", source: "command", ...change })));
}
