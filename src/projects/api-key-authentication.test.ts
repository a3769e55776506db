import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type { CompiledQuery } from "kysely";
import { systemRandom } from "#src/kernel/random.ts";
import { SCOPES } from "#src/kernel/scopes.ts";
import type { Database, Db } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { authenticate, createKeyDigest, newApiKey, visibleParts } from "./api-key-authentication.ts";

const digestOf = createKeyDigest(new Uint8Array(32).fill(5));
let database: Database;
const keys = { valid: newApiKey(systemRandom, "test"), expired: newApiKey(systemRandom, "test"), revoked: newApiKey(systemRandom, "live") };
before(async () => {
  database = await testDatabase();
  const organizationId = randomUUID();
  await database.db.insertInto("organizations").values({ id: organizationId, slug: "acme", name: "Acme" }).execute();
  for (const [name, key] of Object.entries(keys)) {
    const mode = key.slice(4, 8) as "test" | "live";
    await database.db
      .insertInto("api_keys")
      .values({
        id: randomUUID(),
        organization_id: organizationId,
        name,
        mode,
        digest: digestOf(key),
        ...visibleParts(key),
        scopes: [...SCOPES],
        expires_at: name === "expired" ? new Date(0) : null,
        revoked_at: name === "revoked" ? new Date(0) : null,
      })
      .execute();
  }
});
after(() => database.close());

/** What is done for one key: the digests made, and the statements with their parameters. */
async function stepsFor(token: string) {
  const digests: Buffer[] = [];
  const statements: { text: string; parameters: readonly unknown[] }[] = [];
  const executeQuery = async (query: CompiledQuery) => {
    statements.push({ text: query.sql, parameters: query.parameters });
    return await database.db.executeQuery(query);
  };
  const db = Object.create(database.db, { executeQuery: { value: executeQuery } }) as Db;
  const digest = (key: string) => {
    const made = digestOf(key);
    digests.push(made);
    return made;
  };
  const found = await authenticate(db, token, digest);
  return { found, digests, statements };
}

const changedAt = (key: string, index: number) => key.slice(0, index) + (key[index] === "a" ? "b" : "a") + key.slice(index + 1);

test("every well-formed key goes the same steps: one digest, one look-up by it, and nothing of the key itself reaches the database (R-050)", async () => {
  const right = await stepsFor(keys.valid);
  assert.equal(right.found?.name, "valid");
  const wrong = {
    "unknown, another prefix": newApiKey(systemRandom, "test"),
    "unknown, the prefix of a real one": changedAt(keys.valid, 40),
    "unknown, the ending of a real one": changedAt(keys.valid, 9),
    "of the other mode": keys.valid.replace("test", "live"),
    expired: keys.expired,
    revoked: keys.revoked,
  };
  for (const [name, token] of Object.entries(wrong)) {
    const { found, digests, statements } = await stepsFor(token);
    assert.equal(found, null, name);
    assert.deepEqual([digests.length, statements.length], [1, 1], name);
    assert.equal(statements[0]!.text, right.statements[0]!.text, name);
    assert.deepEqual(statements[0]!.parameters.slice(0, 1), [digestOf(token)], name);
    const sent = JSON.stringify(statements[0]!.parameters);
    assert.ok(!sent.includes(token.slice(0, 13)) && !sent.includes(token.slice(-4)), name);
    assert.equal(digests[0]!.length, 32, name);
  }
});

test("what is no key is refused before a digest is made or the database asked (R-046, R-050)", async () => {
  for (const token of [
    "",
    "svc_prod_" + "a".repeat(32),
    keys.valid + "a",
    keys.valid.slice(0, -1),
    `${keys.valid.slice(0, -1)}\0`,
    "x".repeat(10_000),
  ]) {
    const { found, digests, statements } = await stepsFor(token);
    assert.deepEqual([found, digests.length, statements.length], [null, 0, 0]);
  }
});
