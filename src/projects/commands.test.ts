import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { type Command, CommandFault, type Projects } from "./index.ts";
import { testProjects } from "./testing.ts";

const BY = { actor: "key:1", source: "192.0.2.1" };
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

describe("the commands that change settings", () => {
  let database: Database;
  let projects: Projects;
  before(async () => {
    database = await testDatabase();
    projects = testProjects(database);
    await projects.change(BY, { kind: "save organization", values: { slug: "acme", name: "Acme" } });
    await save({ slug: "shop", phone_numbers: ["+15550001111"] });
  });
  after(() => database.close());

  type ProjectValues = Extract<Command, { kind: "save project" }>["values"];
  const save = (values: ProjectValues) => projects.change(BY, { kind: "save project", organization: "acme", values });

  test("a change is audited under whoever made it, once; saying the same again changes nothing (S-16)", async () => {
    const values: ProjectValues = { slug: "shop", name: "The shop" };
    assert.deepEqual((await save(values)).changes, [{ object: "project acme/shop", action: "changed" }]);
    assert.deepEqual(await save(values), { changes: [], generated: [] });
    const rows = await database.db
      .selectFrom("audit_log")
      .select(["actor", "source", "action"])
      .where("object", "=", "project acme/shop")
      .orderBy("id")
      .execute();
    assert.deepEqual(
      rows.map(({ actor, source, action }) => `${actor} ${source} ${action}`),
      ["key:1 192.0.2.1 created", "key:1 192.0.2.1 changed"],
    );
  });

  test("what a command does not mention is left alone", async () => {
    await save({ slug: "shop", voice: { attempts: 2 } });
    const { organization_id: organizationId } = await database.db
      .selectFrom("projects")
      .select("organization_id")
      .executeTakeFirstOrThrow();
    const shop = await projects.findProject(database.db, organizationId, "shop");
    assert.deepEqual([shop?.name, shop?.voice.attempts], ["The shop", 2]);
    assert.deepEqual(await projects.numbersOf(database.db, shop!.id), ["+15550001111"]);
  });

  const keyOf = (values: object): Command => ({ kind: "save API key", organization: "acme", values: values as never });
  const projectOf = (values: object): Command => ({ kind: "save project", organization: "acme", values: values as never });
  const cards = (live: object) => projectOf({ slug: "shop", gateways: { webhook: { live } } });
  const FAULTS: readonly (readonly [what: string, command: Command, path: string, message: RegExp])[] = [
    ["a slug that is none", projectOf({ slug: "no slug" }), "slug", /^Slug: must be 1 to 63 letters/],
    [
      "an unknown field",
      projectOf({ slug: "shop", voice: { colour: "red" } }),
      "voice.colour",
      /^Unknown key "colour" in voice; there are collect, attempts, .*\.$/,
    ],
    ...["10.0.0", "010.0.0.1", "10.0.0.0/33", "10.0.0.0/08", "fe80::1%eth0", "trunk.example"].map(
      (range) =>
        [
          `the trunk "${range}"`,
          projectOf({ slug: "shop", voice: { trunks: ["::/0", range] } }),
          "voice.trunks.1",
          /203\.0\.113\.0/,
        ] as const,
    ),
    ["an unknown scope", keyOf({ name: "x", mode: "test", scopes: ["fly"] }), "scopes.0", /there is no scope "fly"/],
    ["a key of the other mode", keyOf({ name: "x", mode: "live", key: `svc_test_${"a".repeat(32)}` }), "key", /not of mode live/],
    ["a missing credential", cards({ signing_secret: SECRET }), "gateways.webhook.live", /^Webhook needs url\.$/],
    ["a number of another project", projectOf({ slug: "else", phone_numbers: ["+15550001111"] }), "phone_numbers.0", /another project/],
    [
      "a signing secret that is the status webhook's too",
      projectOf({
        slug: "shop",
        status_webhook: { url: "https://x.example", secret: SECRET },
        gateways: { webhook: { live: { url: "https://merchant.example/cards", signing_secret: SECRET } } },
      }),
      "gateways.webhook.live.signing_secret",
      /must not be a secret of status_webhook/,
    ],
    [
      "an organization that is none",
      { ...(projectOf({ slug: "x" }) as object), organization: "nobody" } as Command,
      "organization",
      /there are acme/,
    ],
  ];
  for (const [what, command, path, message] of FAULTS) {
    test(`${what} is a fault that names its path, and nothing is changed`, async () => {
      const count = async () => (await database.db.selectFrom("audit_log").select("id").execute()).length;
      const before = await count();
      await assert.rejects(projects.change(BY, command), (fault: unknown) => {
        assert.ok(fault instanceof CommandFault);
        assert.equal(fault.path.map(String).join("."), path);
        assert.match(fault.message, message);
        return true;
      });
      assert.equal(await count(), before);
      assert.equal((await database.db.selectFrom("projects").select("id").where("slug", "=", "else").execute()).length, 0);
    });
  }
});
