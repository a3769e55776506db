import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import {
  createKeyring,
  type Database,
  type InstallationKeys,
  type Keyring,
  openInstallationKeys,
  sealRows,
  startLease,
  silentLog,
  verifyChain,
} from "#src/platform/index.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { createProjects } from "./index.ts";
import { cardWorks, forwarding } from "./testing.ts";

const KEY = "svc_test_0123456789abcdefghijABCDEFGHIJ01";
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PROJECTS = ["shop", "second", "third"];
const FILE = JSON.stringify({
  organizations: [
    {
      slug: "acme",
      api_keys: [{ name: "ci", mode: "test", key: KEY }],
      projects: PROJECTS.map((slug) => ({
        slug,
        status_webhook: { url: `https://${slug}.example/hook`, secret: SECRET },
        gateways: {
          stripe: { test: { credentials: { secret_key: "sk_test_x" } }, live: { credentials: { secret_key: "sk_live_x" } } },
          webhook: { test: { url: "https://merchant.example/cards", signing_secret: ["newer", "older"] } },
        },
        integrations: { alpha: { secret: "alpha secret" } },
      })),
    },
  ],
});
/** Three keys of the installation; five sealed values a project. */
const VALUES = 3 + 5 * PROJECTS.length;

const bytes = (fill: number) => new Uint8Array(32).fill(fill);

let database: Database;

const projectsWith = (keys: InstallationKeys) =>
  createProjects({ database, keys, random: systemRandom, gateways: { stripe: cardWorks, webhook: forwarding }, simulatorsUrl: () => null });

/** What a process with these keys does all day. Throws when anything does not open. */
async function useEverything(keyring: Keyring): Promise<void> {
  const keys = await openInstallationKeys(database, keyring);
  const projects = projectsWith(keys);
  const identity = await projects.authenticate(database.db, KEY);
  assert.equal(identity?.name, "ci");
  for (const { id } of await projects.list(database.db, identity.organizationId)) {
    assert.equal((await projects.webhookEndpoint(database.db, id, "test"))?.secrets[0]?.reveal(), SECRET);
    assert.equal((await projects.gatewaySettings(database.db, id, "stripe", "live"))?.credentials["secret_key"]?.reveal(), "sk_live_x");
    assert.equal((await projects.gatewaySettings(database.db, id, "webhook", "test"))?.credentials["signing_secret"]?.reveal(), "newer");
    assert.equal((await projects.integrationSecrets(database.db, id)).alpha?.reveal(), "alpha secret");
  }
  await sealRows(database, keys.audit);
  assert.equal((await verifyChain(database.db, keys.audit)).fault, null);
}

const rotate = async (keyring: Keyring, reencrypt = false) =>
  await projectsWith(await openInstallationKeys(database, keyring)).rotateMasterKey({ reencrypt });

describe("a new master key", () => {
  let installed: Keyring;
  before(async () => {
    database = await testDatabase();
    installed = createKeyring([bytes(1)]);
    await projectsWith(await openInstallationKeys(database, installed)).applyFile(FILE, {});
  });
  after(() => database.close());
  /** The number of the key in force; each test rotates to the next. */
  let current = 1;
  beforeEach(() => useEverything(createKeyring([bytes(current)])));

  test("everything sealed gets under it, opens with it alone, and no version counts up (S-31)", async () => {
    const versions = () =>
      database.db.selectFrom("gateway_settings").select(["project_id", "gateway", "version", "updated_at"]).orderBy("project_id").execute();
    const before = await versions();
    const report = await rotate(createKeyring([bytes(2), bytes(1)]));
    current = 2;
    assert.deepEqual([report.moved, report.stuck, report.older.length], [VALUES, [], 1]);
    await useEverything(createKeyring([bytes(2)]));
    await assert.rejects(useEverything(createKeyring([bytes(1)])), {
      name: "OperatorError",
      message: /not the one that this database is sealed under/,
    });
    assert.deepEqual(await versions(), before);
    assert.equal((await rotate(createKeyring([bytes(2), bytes(1)]))).moved, 0);
  });

  test("API keys, the demo project's key and the audit log's chain are what they were (S-16, S-30)", async () => {
    const before = await openInstallationKeys(database, createKeyring([bytes(current)]));
    await rotate(createKeyring([bytes(current + 1), bytes(current)]));
    current++;
    const { keyring: _ring, ...keys } = await openInstallationKeys(database, createKeyring([bytes(current)]));
    const { keyring: _before, ...same } = before;
    assert.deepEqual(keys, same);
  });

  test("it can be replaced while everything is used and changed: nothing fails (S-31)", async () => {
    // Both processes know both keys; one still seals with the old one, as in the middle of a rolling restart.
    const [old, next] = [bytes(current), bytes(current + 1)];
    const rings = [createKeyring([next, old]), createKeyring([old, next])];
    const over = new AbortController();
    const uses = [0, 0];
    const using = rings.map(async (ring, index) => {
      while (!over.signal.aborted) {
        await useEverything(ring);
        uses[index]!++;
      }
    });
    const changing = (async () => {
      const projects = projectsWith(await openInstallationKeys(database, rings[0]!));
      const stripe = { live: { credentials: { secret_key: "sk_live_x" } } };
      for (let round = 0; !over.signal.aborted; round++) {
        const webhook = { test: { url: `https://merchant.example/${round}`, signing_secret: ["newer", "older"] } };
        const changed = { slug: "shop", gateways: { stripe, webhook } };
        await projects.applyFile(JSON.stringify({ organizations: [{ slug: "acme", projects: [changed] }] }), {});
      }
    })();
    const report = await rotate(createKeyring([next, old]));
    while (uses.some((count) => count < 2)) await new Promise(setImmediate);
    over.abort();
    await Promise.all([...using, changing]);
    assert.deepEqual(report.stuck, []);
    current++;
  });

  test("it is not used while a living process cannot open with it (S-31)", async () => {
    const [old, next] = [createKeyring([bytes(current)]), createKeyring([bytes(current + 1), bytes(current)])];
    const lease = (owner: string, ring: Keyring) =>
      startLease({ database, clock: systemClock, owner, roles: "api", masterKeys: () => ring.ids, log: silentLog });
    const ends = [await lease("behind-1", old), await lease("ready-1", next)];
    await assert.rejects(rotate(next), { name: "OperatorError", message: /^Nothing was changed: behind-1 cannot open/ });
    await useEverything(old);
    await ends[0]!();
    assert.equal((await rotate(next)).moved, VALUES);
    await ends[1]!();
    current++;
  });

  test("a value that no key opens is named, holds the old key back and keeps nothing else waiting", async () => {
    const shop = await database.db.selectFrom("projects").select("id").where("slug", "=", "third").executeTakeFirstOrThrow();
    const column = () =>
      database.db.selectFrom("webhook_endpoints").select("secrets").where("project_id", "=", shop.id).executeTakeFirstOrThrow();
    const { secrets: good } = await column();
    const set = (secrets: Uint8Array) =>
      database.db.updateTable("webhook_endpoints").set({ secrets }).where("project_id", "=", shop.id).execute();
    const bad = Uint8Array.from(good);
    bad[bad.length - 1]! ^= 1;
    await set(bad);
    const ring = createKeyring([bytes(current + 1), bytes(current)]);
    const report = await rotate(ring);
    assert.deepEqual([report.stuck, report.moved], [["status webhook of third"], VALUES - 1]);
    await set(good);
    assert.deepEqual((await rotate(ring)).moved, 1);
    current++;
  });

  test("a value copied to another row or organisation keeps its old wrapping and is named (S-31)", async () => {
    const rows = await database.db.selectFrom("webhook_endpoints").select(["project_id", "secrets"]).orderBy("project_id").execute();
    const [one, two] = rows as [(typeof rows)[0], (typeof rows)[0]];
    const set = (id: string, secrets: Uint8Array) =>
      database.db.updateTable("webhook_endpoints").set({ secrets }).where("project_id", "=", id).execute();
    await set(one.project_id, two.secrets);
    const ring = createKeyring([bytes(current + 1), bytes(current)]);
    assert.equal((await rotate(ring)).stuck.length, 1);
    await set(one.project_id, one.secrets);
    await rotate(ring);
    current++;
  });

  test("reencrypt changes the data keys as well, under the same master key (S-31)", async () => {
    const column = async () =>
      (await database.db.selectFrom("webhook_endpoints").select("secrets").orderBy("project_id").execute()).map(({ secrets }) =>
        Buffer.from(secrets),
      );
    const before = await column();
    const report = await rotate(createKeyring([bytes(current)]), true);
    assert.equal(report.moved, VALUES - 3);
    for (const [index, sealed] of (await column()).entries()) assert.notDeepEqual(sealed.subarray(69), before[index]!.subarray(69));
  });
});

describe("a master key that the installation keeps itself", () => {
  /** What the key file holds; `fail` ends the process, so to speak, before or after the write with that number. */
  function storeOf(start: Uint8Array, fail: { at: number; after: boolean } | null) {
    let writes = 0;
    const file: { keys: readonly Uint8Array[] } = { keys: [start] };
    const store = {
      write(keys: readonly Uint8Array[]) {
        const isDue = ++writes === fail?.at;
        if (isDue && !fail?.after) throw new Error("killed");
        file.keys = keys;
        if (isDue) throw new Error("killed");
      },
    };
    const load = () => createKeyring(file.keys as [Uint8Array], store);
    return { file, load };
  }

  let key: Uint8Array = bytes(1);
  before(async () => {
    database = await testDatabase();
    await projectsWith(await openInstallationKeys(database, createKeyring([key]))).applyFile(FILE, {});
  });
  after(() => database.close());
  beforeEach(() => useEverything(createKeyring([key])));

  for (const fail of [null, { at: 1, after: false }, { at: 1, after: true }, { at: 2, after: false }, { at: 2, after: true }]) {
    const when = fail === null ? "nowhere" : `${fail.after ? "after" : "before"} key write ${fail.at}`;
    test(`a rotation that is killed ${when} leaves an installation that opens and ends with one new key (S-31)`, async () => {
      const { file, load } = storeOf(key, fail);
      await rotate(load()).catch((error: unknown) => assert.equal((error as Error).message, "killed"));
      await useEverything(load());
      if (file.keys.length > 1) await rotate(load());
      await useEverything(load());
      assert.equal(file.keys.length, 1);
      assert.equal(Buffer.from(file.keys[0]!).equals(key), fail?.at === 1 && !fail.after);
      key = file.keys[0]!;
    });
  }

  test("a rotation that is killed between two rows opens with both keys, and is gone on with", async () => {
    const { file, load } = storeOf(key, null);
    const real = database;
    let transactions = 0;
    database = {
      ...real,
      transaction: (work) => {
        if (++transactions === 6) throw new Error("killed");
        return real.transaction(work);
      },
    };
    await assert.rejects(rotate(load()), /killed/);
    database = real;
    assert.equal(file.keys.length, 2);
    await useEverything(load());
    const [next] = file.keys;
    const report = await rotate(load());
    assert.ok(report.moved > 0 && report.moved < VALUES, `${report.moved}`);
    assert.deepEqual(file.keys, [next]);
    await useEverything(load());
    key = file.keys[0]!;
  });
});
