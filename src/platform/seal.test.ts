import assert from "node:assert/strict";
import { createCipheriv, randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { loadMasterKey, open, seal } from "./seal.ts";

const folder = mkdtempSync(join(tmpdir(), "voicetill-seal-"));
after(() => rmSync(folder, { recursive: true }));

const key = randomBytes(32);
const PLACE = "gateway_settings|row|org|test";
const plaintext = Buffer.from(`{"secret_key":"sk_test_é"}`);

test("what was sealed opens with the same key and place, and is different each time (S-31)", () => {
  const first = seal(key, PLACE, plaintext);
  const second = seal(key, PLACE, plaintext);
  assert.deepEqual(Buffer.from(open(key, PLACE, first)), plaintext);
  assert.notDeepEqual(first, second);
  assert.equal(Buffer.from(first).includes("sk_test"), false);
  assert.equal(open(key, PLACE, seal(key, PLACE, new Uint8Array())).length, 0);
});

test("a sealed value opens in no other row, organisation or mode, and under no other key (S-31)", () => {
  const sealed = seal(key, PLACE, plaintext);
  for (const place of ["gateway_settings|row2|org|test", "gateway_settings|row|org2|test", "gateway_settings|row|org|live", ""]) {
    assert.throws(() => open(key, place, sealed));
  }
  assert.throws(() => open(randomBytes(32), PLACE, sealed));
});

test("a sealed value with any byte changed, cut or added does not open", () => {
  const sealed = seal(key, PLACE, plaintext);
  for (let index = 0; index < sealed.length; index++) {
    const changed = Uint8Array.from(sealed);
    changed[index]! ^= 1;
    assert.throws(() => open(key, PLACE, changed), `byte ${index}`);
  }
  for (let length = 0; length < sealed.length; length++)
    assert.throws(() => open(key, PLACE, sealed.subarray(0, length)), `length ${length}`);
  assert.throws(() => open(key, PLACE, Buffer.concat([sealed, Buffer.of(0)])));
});

test("a value made byte by byte after the written layout opens", () => {
  const part = (sealingKey: Buffer, data: Buffer) => {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", sealingKey, iv).setAAD(Buffer.from(`voicetill|1|${PLACE}`));
    return Buffer.concat([iv, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  };
  const dataKey = randomBytes(32);
  const sealed = Buffer.concat([Buffer.of(1), part(key, dataKey), part(dataKey, plaintext)]);
  assert.deepEqual(Buffer.from(open(key, PLACE, sealed)), plaintext);
});

test("the master key is made once in the data folder, for its owner's eyes only", () => {
  const made = loadMasterKey(null, folder);
  assert.equal(made.length, 32);
  assert.deepEqual(loadMasterKey(null, folder), made);
  const file = join(folder, "master.key");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, "utf8"), `${Buffer.from(made).toString("base64")}\n`);

  chmodSync(file, 0o644);
  assert.throws(() => loadMasterKey(null, folder), { name: "OperatorError", message: /can be read by others/ });
  chmodSync(file, 0o600);
  writeFileSync(file, "damaged");
  assert.throws(() => loadMasterKey(null, folder), { name: "OperatorError", message: /is not 32 bytes in base64/ });
});

test("MASTER_KEY goes before the file", () => {
  assert.deepEqual(Buffer.from(loadMasterKey(new Secret(key.toString("base64")), folder)), key);
});
