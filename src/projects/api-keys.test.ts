import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import type { Projects } from "./index.ts";
import { testProjects } from "./testing.ts";

const FILE = "organizations:\n  - { slug: acme, name: Acme }\n  - { slug: beta, name: Beta }\n";
const PLAIN = { organization: "acme", mode: "test", scopes: null, expiresAt: null } as const;

describe("the operator's keys", () => {
  let database: Database;
  let projects: Projects;
  before(async () => {
    database = await testDatabase();
    projects = testProjects(database);
    await projects.applyFile(FILE, {});
  });
  after(() => database.close());

  const audited = async (object: string) =>
    (
      await database.db.selectFrom("audit_log").select(["actor", "action", "details"]).where("object", "=", object).orderBy("id").execute()
    ).map(({ actor, action }) => `${actor} ${action}`);

  test("a key is answered once, works, and is afterwards shown by its beginning and its last four alone (R-058)", async () => {
    const { key, shown } = await projects.createKey({ ...PLAIN, name: "web", scopes: ["sessions:read"] });
    assert.deepEqual((await projects.authenticate(database.db, key))?.scopes, ["sessions:read"]);
    assert.deepEqual([shown.prefix, shown.last4, shown.state], [key.slice(0, 13), key.slice(-4), "active"]);
    const everything = await Promise.all([
      projects.listKeys(database.db, null),
      database.db.selectFrom("api_keys").selectAll().execute(),
      database.db.selectFrom("audit_log").selectAll().execute(),
    ]);
    assert.ok(!JSON.stringify(everything).includes(key.slice(13, 37)));
  });

  test("a lost key is revoked and replaced, and the audit log tells both (R-415, R-042)", async () => {
    const { key } = await projects.createKey({ ...PLAIN, name: "lost" });
    const { already, shown } = await projects.revokeKey(key);
    assert.deepEqual([already, shown.name, shown.state], [false, "lost", "revoked"]);
    assert.equal(await projects.authenticate(database.db, key), null);
    const { key: successor } = await projects.createKey({ ...PLAIN, name: "found" });
    assert.ok(await projects.authenticate(database.db, successor));
    assert.deepEqual(await audited("api key acme/lost"), ["operator api_key.created", "operator api_key.revoked"]);
    assert.deepEqual(await audited("api key acme/found"), ["operator api_key.created"]);
    assert.equal((await projects.revokeKey("acme/lost")).already, true);
    assert.equal((await audited("api key acme/lost")).length, 2);
  });

  test("what means several keys revokes none and names them; what means none says so; no answer repeats a key", async () => {
    const one = await projects.createKey({ ...PLAIN, name: "both" });
    const two = await projects.createKey({ ...PLAIN, organization: "beta", name: "both" });
    await assert.rejects(projects.revokeKey("both"), /means 2 API keys: .*acme\/both.*beta\/both/);
    await assert.rejects(projects.revokeKey("svc_test_"), /No API key is meant/);
    const unknown = `svc_test_${"a".repeat(32)}`;
    await assert.rejects(
      projects.revokeKey(unknown),
      (error: Error) => /No API key/.test(error.message) && !error.message.includes("aaaa"),
    );
    assert.ok(await projects.authenticate(database.db, one.key));
    assert.equal((await projects.revokeKey(`${two.shown.prefix}…${two.shown.last4}`)).shown.organization, "beta");
    assert.equal((await projects.revokeKey("both")).shown.organization, "acme", "of the two only one is left");
  });

  test("a beginning revokes the one key that has it", async () => {
    const { key } = await projects.createKey({ ...PLAIN, name: "begins" });
    assert.equal((await projects.revokeKey(key.slice(0, 13))).shown.name, "begins");
  });

  test("a name, an organization, a scope or a length that cannot be is refused in one sentence", async () => {
    await projects.createKey({ ...PLAIN, name: "taken" });
    await assert.rejects(projects.createKey({ ...PLAIN, name: "taken" }), /has a key named "taken" already/);
    await assert.rejects(
      projects.createKey({ ...PLAIN, organization: "nobody", name: "x" }),
      /no organization "nobody"; there are acme, beta/,
    );
    await assert.rejects(projects.createKey({ ...PLAIN, name: "x", scopes: ["sessions:fly"] }), /no scope "sessions:fly"/);
    await assert.rejects(projects.createKey({ ...PLAIN, name: "" }), /1 to 100 characters/);
  });

  test("a live key is made on PostgreSQL and refused on the embedded database, with the reason", async () => {
    const making = projects.createKey({ ...PLAIN, mode: "live", name: "live" });
    if (database.kind === "pglite") await assert.rejects(making, /need PostgreSQL .* power cut/);
    else assert.match((await making).key, /^svc_live_/);
  });

  test("the list tells what is expired by the database's clock", async () => {
    await projects.createKey({ ...PLAIN, organization: "beta", name: "old", expiresAt: new Date(Date.now() + 60_000) });
    await database.db
      .updateTable("api_keys")
      .set({ expires_at: sql<Date>`clock_timestamp()` })
      .where("name", "=", "old")
      .execute();
    const keys = await projects.listKeys(database.db, "beta");
    assert.equal(keys.find(({ name }) => name === "old")?.state, "expired");
    assert.ok(keys.every(({ organization }) => organization === "beta"));
  });
});

describe("what is set up", () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
    await testProjects(database).applyFile(
      `organizations:
  - slug: acme
    name: Acme
    projects:
      - slug: shop
        name: Shop
        phone_numbers: ["+15550001111"]
        status_webhook: { url: "https://shop.example/hook" }
        gateways: { stripe: { test: { credentials: { secret_key: sk_test_x } } } }
        integrations: { alpha: { secret: open sesame } }
      - { slug: bare, name: Bare }
`,
      {},
    );
  });
  after(() => database.close());

  test("the overview names each project's gateways and webhook", async () => {
    const overview = await testProjects(database).overview(database.db);
    for (const { id, organizationId } of overview) for (const uuid of [id, organizationId]) assert.match(uuid, /^[0-9a-f-]{36}$/);
    assert.deepEqual(
      overview.map(({ id: _id, organizationId: _organizationId, ...rest }) => rest),
      [
        { organization: "acme", project: "bare", currency: "USD", archived: false, gateways: [], webhooks: [], numbers: [], trunks: [] },
        {
          organization: "acme",
          project: "shop",
          currency: "USD",
          archived: false,
          gateways: [{ gateway: "stripe", environment: "test" }],
          webhooks: [{ scope: "both", state: "on", https: true, host: "shop.example" }],
          numbers: ["+15550001111"],
          trunks: [],
        },
      ],
    );
  });

  test("everything sealed is tried: with the right master key all opens, and a broken row is named", async () => {
    const projects = testProjects(database);
    assert.deepEqual(await projects.unopenedSecrets(database.db), { opened: 3, failed: [] });
    await database.db
      .updateTable("webhook_endpoints")
      .set({ secrets: sql<Uint8Array>`'\\x00'::bytea` })
      .execute();
    assert.deepEqual(await projects.unopenedSecrets(database.db), { opened: 2, failed: ["status webhook of shop"] });
  });
});
