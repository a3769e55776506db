import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { silentLog } from "#src/platform/index.ts";
import { checkDataFolder, requestRunning, openControl, socketOf } from "./control.ts";

const folder = mkdtempSync(join(tmpdir(), "voicetill-control-"));
after(() => rmSync(folder, { recursive: true }));

/** So long a path that its socket stands in the temporary folder, which is everybody's. */
const longFolder = join(folder, "x".repeat(90));
mkdirSync(longFolder);
const NOBODY = 65_534;

test("the control socket is open to its owner alone, in the data folder and in the temporary one", async () => {
  for (const dataDir of [folder, longFolder]) {
    const control = await openControl(dataDir, async (_name, input) => ({ output: input }), silentLog);
    assert.equal(statSync(socketOf(dataDir)).mode & 0o077, 0);
    assert.deepEqual(await requestRunning(dataDir, "echo", { a: 1 }), { output: { a: 1 } });
    await control.close();
  }
});

test("a data folder that is none is told as that; one that is not there yet is not", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  for (const path of [file, join(file, "data")])
    await assert.rejects(requestRunning(path, "keys list", {}), {
      name: "OperatorError",
      message: `DATA_DIR: ${path} is a file, or inside of one.`,
    });
  assert.equal(await requestRunning(join(folder, "none"), "keys list", {}), null);
});

test("another user of the machine is told to be the service's, not that nothing is there", { skip: process.getuid?.() !== 0 }, async () => {
  const closed = mkdtempSync(join(folder, "closed-"));
  const control = await openControl(closed, async () => null, silentLog);
  const asNobody = (act: () => unknown) => {
    process.seteuid!(NOBODY);
    try {
      return act();
    } finally {
      process.seteuid!(0);
    }
  };
  try {
    const refusal = { name: "OperatorError", message: /give the command as the user that the service runs as/ };
    chmodSync(folder, 0o755);
    assert.throws(() => asNobody(() => checkDataFolder(closed)), refusal);
    assert.doesNotThrow(() => checkDataFolder(closed));
  } finally {
    await control.close();
  }
});

test("a command sends nothing to a socket that another user put in its place", { skip: process.getuid?.() !== 0 }, async () => {
  const path = socketOf(longFolder);
  let asked = 0;
  const imposter = createServer((_incoming, response) => {
    asked++;
    response.end('{"output":1}');
  }).listen(path);
  await once(imposter, "listening");
  chownSync(path, NOBODY, NOBODY);
  const refusal = { name: "OperatorError", message: /belongs to another user of this machine/ };
  after(() => void imposter.close());
  await assert.rejects(requestRunning(longFolder, "apply", { text: "secret" }), refusal);
  await assert.rejects(
    openControl(longFolder, async () => null, silentLog),
    refusal,
  );
  assert.equal(asked, 0);
});
