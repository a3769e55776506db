import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { newApiKey } from "./api-key-authentication.ts";
import { SETTINGS_CHANNEL } from "./gateway-settings.ts";
import { testProjects } from "./testing.ts";

const KEY = "svc_test_0123456789abcdefghijABCDEFGHIJ01";
const FILE = `
organizations:
  - slug: acme
    api_keys:
      - { name: ci, mode: test, key: ${KEY}, scopes: [sessions:read] }
    projects:
      - slug: shop
        name: Shop
        phone_numbers: ["+1 555 000 1111"]
        gateways:
          stripe:
            test: { credentials: { secret_key: sk_test_x }, endpoint: "http://127.0.0.1:8090/stripe/" }
            live: { credentials: { secret_key: sk_live_y }, platform: true }
      - { slug: old, archived: true }
  - slug: other
    projects:
      - { slug: shop }
`;

describe("projects and keys", () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
    await testProjects(database).applyFile(FILE, {});
  });
  after(() => database.close());

  const idOf = async (slug: string) =>
    (await database.db.selectFrom("organizations").select("id").where("slug", "=", slug).executeTakeFirstOrThrow()).id;

  test("a key is known by its digest only: neither the database nor the list of keys holds it (R-058)", async () => {
    const rows = await database.db.selectFrom("api_keys").selectAll().execute();
    const row = rows[0];
    assert.ok(row);
    assert.equal(row.prefix, "svc_test_0123");
    assert.equal(row.last4, "IJ01");
    assert.equal(row.digest.length, 32);
    assert.ok(!JSON.stringify(rows).includes(KEY.slice(13, 37)));
    const audit = await database.db.selectFrom("audit_log").selectAll().execute();
    assert.ok(audit.some((entry) => entry.object === "api key acme/ci" && entry.action === "created"));
    assert.ok(!JSON.stringify(audit).includes(KEY.slice(13, 37)));
  });

  test("a valid key names its organisation, mode and scopes", async () => {
    const identity = await testProjects(database).authenticate(database.db, KEY);
    assert.deepEqual(identity, {
      keyId: identity?.keyId,
      digest: identity?.digest,
      organizationId: await idOf("acme"),
      mode: "test",
      scopes: ["sessions:read"],
      name: "ci",
    });
  });

  test("an unknown key of the right form is nobody (R-041)", async () => {
    assert.equal(await testProjects(database).authenticate(database.db, newApiKey(systemRandom, "test")), null);
  });

  test("a malformed key is refused without asking the database (R-046)", async () => {
    const broken = new Proxy(database.db, {
      get() {
        throw new Error("the database was asked");
      },
    });
    const body = KEY.slice(9);
    const malformed = [
      `svc_prod_${body}`,
      KEY.slice(0, -1),
      `${KEY}0`,
      `${KEY}\n`,
      `${KEY.slice(0, -1)}\0`,
      `svc_test_${" ".repeat(32)}`,
      "x".repeat(10_240),
      "",
    ];
    for (const token of malformed) assert.equal(await testProjects(database).authenticate(broken, token), null);
  });

  test("a revoked key and an expired key are nobody (R-042)", async () => {
    const projects = testProjects(database);
    const set = (values: { revoked_at?: Date | null; expires_at?: Date | null }) =>
      database.db.updateTable("api_keys").set(values).where("name", "=", "ci").execute();
    await set({ revoked_at: new Date() });
    assert.equal(await projects.authenticate(database.db, KEY), null);
    await set({ revoked_at: null, expires_at: new Date(Date.now() - 1000) });
    assert.equal(await projects.authenticate(database.db, KEY), null);
    await set({ expires_at: new Date(Date.now() + 60_000) });
    assert.ok(await projects.authenticate(database.db, KEY));
    await set({ expires_at: null });
  });

  test("a project is found by slug and by UUID of any case, inside its organisation only (R-053, R-090)", async () => {
    const projects = testProjects(database);
    const acme = await idOf("acme");
    const shop = await projects.findProject(database.db, acme, "shop");
    assert.ok(shop);
    assert.equal(shop.currency, "USD");
    assert.equal(shop.country, "US");
    assert.partialDeepStrictEqual(shop.voice, {
      collect: ["number", "expiry", "cvv", "zip"],
      attempts: 3,
      tries: 3,
      name: null,
      readBack: true,
      timeouts: { firstDigitMs: 10_000, betweenDigitsMs: null },
      transfer: { mode: "bridge", allow: [] },
      trunks: [],
      testWord: true,
      payUrl: false,
      shortCode: false,
    });
    assert.equal((await projects.findProject(database.db, acme, shop.id.toUpperCase()))?.id, shop.id);
    assert.equal((await projects.findProject(database.db, acme, "Shop"))?.id, undefined);
    assert.equal(await projects.findProject(database.db, await idOf("other"), shop.id), null);
    assert.notEqual((await projects.findProject(database.db, await idOf("other"), "shop"))?.id, shop.id);
  });

  test("an archived project is as good as unknown (R-093)", async () => {
    const projects = testProjects(database);
    const acme = await idOf("acme");
    assert.equal(await projects.findProject(database.db, acme, "old"), null);
    assert.deepEqual(
      (await projects.list(database.db, acme)).map((project) => project.slug),
      ["shop"],
    );
  });

  test("a service number belongs to its project", async () => {
    const projects = testProjects(database);
    const found = await projects.projectOfCall(database.db, ["+15550002222", "+15550001111"], "192.0.2.1");
    const project = found?.project;
    assert.equal(found?.number, "+15550001111");
    assert.equal(project?.slug, "shop");
    assert.deepEqual(await projects.numbersOf(database.db, project?.id ?? ""), ["+15550001111"]);
    assert.equal(await projects.projectOfCall(database.db, ["+15550002222"], "192.0.2.1"), null);
    assert.deepEqual(await projects.countries(database.db, 5), ["US"]);
  });

  describe("gateway settings", () => {
    let shop = "";
    let bare = "";
    before(async () => {
      const projects = testProjects(database);
      shop = (await projects.findProject(database.db, await idOf("acme"), "shop"))?.id ?? "";
      bare = (await projects.findProject(database.db, await idOf("other"), "shop"))?.id ?? "";
    });

    test("test and live credentials never cross (R-051)", async () => {
      const projects = testProjects(database, { simulatorsUrl: "http://127.0.0.1:8090" });
      const ofTest = await projects.gatewaySettings(database.db, shop, "stripe", "test");
      assert.equal(ofTest?.credentials["secret_key"]?.reveal(), "sk_test_x");
      assert.equal(ofTest?.endpoint, "http://127.0.0.1:8090/stripe");
      assert.deepEqual(ofTest?.options, { platform: false });
      const ofLive = await projects.gatewaySettings(database.db, shop, "stripe", "live");
      assert.equal(ofLive?.credentials["secret_key"]?.reveal(), "sk_live_y");
      assert.equal(ofLive?.endpoint, "https://live.example");
      assert.deepEqual(ofLive?.options, { platform: true });
    });

    test("without credentials a test key uses the simulator, a live key nothing", async () => {
      const simulated = testProjects(database, { simulatorsUrl: "http://127.0.0.1:8090" });
      const settings = await simulated.gatewaySettings(database.db, bare, "stripe", "test");
      assert.equal(settings?.endpoint, "http://127.0.0.1:8090/stripe");
      assert.equal(settings?.credentials["secret_key"]?.reveal(), "sk_test_simulator");
      assert.equal(await simulated.gatewaySettings(database.db, bare, "stripe", "live"), null);
      assert.equal(await simulated.gatewaySettings(database.db, bare, "clover", "test"), null);
      assert.equal(await testProjects(database).gatewaySettings(database.db, bare, "stripe", "test"), null);
    });

    test("the list of configured gateways says the same", async () => {
      const off = await testProjects(database).configuredGateways(database.db, [shop, bare], "test");
      assert.deepEqual([...off.values()], [["stripe"], []]);
      const on = await testProjects(database, { simulatorsUrl: "http://s" }).configuredGateways(database.db, [bare], "test");
      assert.deepEqual(on.get(bare), ["stripe", "webhook"]);
      const live = await testProjects(database, { simulatorsUrl: "http://s" }).configuredGateways(database.db, [bare], "live");
      assert.deepEqual(live.get(bare), []);
    });

    test("credentials are sealed to their row: copied to another they do not open", async () => {
      const row = await database.db
        .selectFrom("gateway_settings")
        .selectAll()
        .where("project_id", "=", shop)
        .where("environment", "=", "test")
        .executeTakeFirstOrThrow();
      assert.ok(!Buffer.from(row.credentials).includes("sk_test_x"));
      await database.db
        .insertInto("gateway_settings")
        .values({ project_id: bare, gateway: "stripe", environment: "test", credentials: row.credentials })
        .execute();
      await assert.rejects(testProjects(database).gatewaySettings(database.db, bare, "stripe", "test"));
      await database.db.deleteFrom("gateway_settings").where("project_id", "=", bare).execute();
    });

    test("rotated credentials are kept, survive the next apply of the same file and count as the same account's", async () => {
      const projects = testProjects(database);
      const before = await projects.gatewaySettings(database.db, shop, "stripe", "test");
      await projects.rotateCredentials(shop, "stripe", "test", async (current) => ({ ...current, refresh_token: new Secret("second") }));
      const report = await projects.applyFile(FILE, {});
      assert.deepEqual(report.changes, []);
      const after = await projects.gatewaySettings(database.db, shop, "stripe", "test");
      assert.equal(after?.credentials["refresh_token"]?.reveal(), "second");
      assert.ok(before && after?.version === before.version);
    });

    test("settings that are saved are told to whoever waits for the gateway", async () => {
      const told = Promise.withResolvers<string>();
      const stop = await database.listen(SETTINGS_CHANNEL, told.resolve);
      for (const secret of ["sk_test_other", "sk_test_x"]) await testProjects(database).applyFile(FILE.replace("sk_test_x", secret), {});
      assert.equal(await told.promise, "stripe");
      await stop();
    });

    test("rotating credentials that were neither renewed nor saved for 30 days are named; a renewal takes them off, archived projects have none", async () => {
      const projects = testProjects(database);
      const unrenewed = async () =>
        (await projects.unrenewedCredentials(database.db, 30)).map((one) => [one.projectId, one.gateway, one.environment, one.currency]);
      const age = (days: number) =>
        database.db
          .updateTable("gateway_settings")
          .set({ updated_at: sql<Date>`clock_timestamp() - ${days} * interval '1 day'` })
          .where("project_id", "=", shop)
          .execute();
      const archive = (archived: boolean) => database.db.updateTable("projects").set({ archived }).where("id", "=", shop).execute();
      await age(29);
      assert.deepEqual(await unrenewed(), []);
      await age(31);
      const environments = async () =>
        (await unrenewed()).map(([, , environment]) => environment).toSorted((one, other) => String(one).localeCompare(String(other)));
      assert.deepEqual(await environments(), ["live", "test"]);
      assert.deepEqual((await unrenewed())[0]?.toSpliced(2, 1), [shop, "stripe", "USD"]);
      await archive(true);
      assert.deepEqual(await unrenewed(), []);
      await archive(false);
      await projects.rotateCredentials(shop, "stripe", "test", async (current) => ({ ...current, refresh_token: new Secret("newer") }));
      assert.deepEqual(await environments(), ["live"]);
      await age(0);
    });

    test("two rotations at once see each other's result", async () => {
      const projects = testProjects(database);
      const append = (mark: string) =>
        projects.rotateCredentials(shop, "stripe", "test", async (current) => ({
          ...current,
          refresh_token: new Secret(`${current["refresh_token"]?.reveal()}${mark}`),
        }));
      await projects.rotateCredentials(shop, "stripe", "test", async (current) => ({ ...current, refresh_token: new Secret("") }));
      await Promise.all([append("a"), append("b"), append("c")]);
      const settings = await projects.gatewaySettings(database.db, shop, "stripe", "test");
      assert.deepEqual(settings?.credentials["refresh_token"]?.reveal().split("").sort(), ["a", "b", "c"]);
    });
  });
});

describe("the starter of an embedded installation", () => {
  let database: Database;
  beforeEach(async () => {
    database = await testDatabase();
  });
  afterEach(() => database.close());

  test("each start answers the same working test key until it is revoked", async () => {
    const projects = testProjects(database);
    const first = await projects.ensureStarter();
    const second = await testProjects(database).ensureStarter();
    assert.equal(first.projectSlug, "demo");
    assert.equal(first.apiKey?.reveal(), second.apiKey?.reveal());
    const identity = await projects.authenticate(database.db, first.apiKey?.reveal() ?? "");
    assert.ok(identity);
    assert.ok(await projects.findProject(database.db, identity.organizationId, "demo"));
    await database.db.updateTable("api_keys").set({ revoked_at: new Date() }).execute();
    assert.equal((await projects.ensureStarter()).apiKey, null);
  });
});
