import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { loadKeyring } from "./master-keys.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "voicetill-seal-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const load = (masterKey: string | null = null, previous: string | null = null) =>
  loadKeyring({
    masterKey: masterKey === null ? null : new Secret(masterKey),
    masterKeyPrevious: previous === null ? null : new Secret(previous),
    dataDir: folder,
  });
const [one, two] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];

test("the master key is made once in the data folder, for its owner's eyes only", () => {
  const made = load().current;
  assert.equal(made.bytes.length, 32);
  assert.deepEqual(load().current.bytes, made.bytes);
  const file = join(folder, "master.key");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, "utf8"), `${Buffer.from(made.bytes).toString("base64")}\n`);
  assert.deepEqual(readdirSync(folder), ["master.key"]);

  chmodSync(file, 0o644);
  assert.throws(() => load(), { name: "OperatorError", message: /can be read by others/ });
  chmodSync(file, 0o600);
  writeFileSync(file, "damaged");
  assert.throws(() => load(), { name: "OperatorError", message: /is not 32 bytes in base64/ });
});

test("a master key that is missing beside a database sealed under it is told, and no other is made in its place", () => {
  const missing = {
    name: "OperatorError",
    message: /master\.key is missing, under which its database is sealed: restore it from the back-up/,
  };
  assert.throws(() => loadKeyring({ masterKey: null, masterKeyPrevious: null, dataDir: folder, isSealed: true }), missing);
  assert.deepEqual(readdirSync(folder), []);
});

test("a first start that was cut short while it wrote the key is begun anew", () => {
  writeFileSync(join(folder, "master.key.new"), "AAAA", { mode: 0o644 });
  const made = load();
  assert.deepEqual(load().ids, made.ids);
  assert.equal(statSync(join(folder, "master.key")).mode & 0o777, 0o600);
});

test("the store keeps two keys while one is replaced, the current one first", () => {
  const ring = load();
  const next = randomBytes(32);
  ring.store!.write([next, ring.current.bytes]);
  const both = load();
  assert.deepEqual(Buffer.from(both.current.bytes), next);
  assert.deepEqual(both.ids.slice(1), ring.ids);
  ring.store!.write([next]);
  assert.deepEqual(load().ids, both.ids.slice(0, 1));
});

test("MASTER_KEY goes before the file, and MASTER_KEY_PREVIOUS opens beside it", () => {
  const ring = load(one, two);
  assert.equal(Buffer.from(ring.current.bytes).toString("base64"), one);
  assert.deepEqual(ring.ids, [...load(one).ids, ...load(two).ids]);
  assert.equal(ring.store, null);
  assert.deepEqual(readdirSync(folder), []);
  assert.throws(() => load(null, two), { name: "OperatorError", message: /MASTER_KEY_PREVIOUS: it goes with MASTER_KEY/ });
});
