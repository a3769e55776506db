import { type Change, CommandFault, note, type OrganizationKey } from "./change.ts";
import type { OrganizationValues } from "./shapes.ts";

/** Makes the organisation, or gives it its name. */
export async function saveOrganization(change: Change, values: OrganizationValues): Promise<void> {
  const { tx, random } = change;
  const object = `organization ${values.slug}`;
  const existing = await tx.selectFrom("organizations").select(["id", "name"]).where("slug", "=", values.slug).executeTakeFirst();
  if (!existing) {
    const id = random.uuid();
    await tx
      .insertInto("organizations")
      .values({ id, slug: values.slug, name: values.name ?? values.slug })
      .execute();
    await note(change, id, { object, action: "created" });
  } else if (values.name !== undefined && values.name !== existing.name) {
    await tx.updateTable("organizations").set({ name: values.name }).where("id", "=", existing.id).execute();
    await note(change, existing.id, { object, action: "changed" });
  }
}

/** The organisation of this slug; throws CommandFault when there is none. */
export async function organizationOf({ tx }: Pick<Change, "tx">, slug: string): Promise<OrganizationKey> {
  const found = await tx.selectFrom("organizations").select(["id", "slug"]).where("slug", "=", slug).executeTakeFirst();
  if (found) return found;
  const others = await tx.selectFrom("organizations").select("slug").orderBy("slug").limit(20).execute();
  const there = others.length === 0 ? "is none yet" : `are ${others.map((one) => one.slug).join(", ")}`;
  throw new CommandFault(["organization"], `there is no organization "${slug}"; there ${there}`);
}
