import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { readConfig } from "#src/config/index.ts";
import { gatherFromHost } from "./host-facts.ts";

test("the data folder is written to, or what is to hold it, and nothing of that stays", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-doctor-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const look = async (path: string) => (await gatherFromHost(readConfig({ DATA_DIR: path }), { ports: true })).dataDirFault;
  assert.deepEqual([await look(folder), await look(join(folder, "data/deep"))], [null, null]);
  assert.deepEqual(readdirSync(folder), []);
  writeFileSync(join(folder, "file"), "");
  assert.equal(await look(join(folder, "file")), "ENOTDIR");
  assert.ok(await look("/proc/none"));
});

test("the certificate for SIP is looked at as it lies in its files", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-doctor-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string) => join(folder, name);
  const [own, other] = [createIdentity(["127.0.0.1", "localhost"]), createIdentity(["other.example"])];
  for (const [name, text] of Object.entries({ cert: own.cert, key: own.key, other: other.cert, text: "none" }))
    writeFileSync(file(name), text);

  const look = async (host: string, certificate: string, key: string) => {
    const env = { SIP_PUBLIC_HOST: host, SIP_TLS_PORT: "5061", SIP_TLS_CERT: file(certificate), SIP_TLS_KEY: file(key) };
    return (await gatherFromHost(readConfig(env), { ports: false })).sipCertificate;
  };
  for (const [host, isForHost] of [
    ["127.0.0.1", true],
    ["localhost", true],
    ["127.0.0.2", false],
  ] as const)
    assert.partialDeepStrictEqual(await look(host, "cert", "key"), { isForHost });
  for (const [certificate, key, fault] of [
    ["missing", "key", /^SIP_TLS_CERT: the file .* cannot be read$/],
    ["other", "key", /is not the key of/],
    ["text", "key", /no certificate and key in PEM/],
  ] as const) {
    const found = await look("127.0.0.1", certificate, key);
    assert.ok(found && "fault" in found);
    assert.match(found.fault, fault);
  }
  assert.equal((await gatherFromHost(readConfig({}), { ports: false })).sipCertificate, null);
});
