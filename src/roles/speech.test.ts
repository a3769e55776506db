import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "#src/config/index.ts";
import { startRecogniserServer } from "../../test/recogniser-server.ts";
import { missingFile, speechEngine, speechFault, speechLeavesTo } from "./speech.ts";

const settings = (env: Record<string, string>) => readConfig(env, false);
const SHERPA = {
  SPEECH: "sherpa",
  SHERPA_ENCODER: "/e.onnx",
  SHERPA_DECODER: "/d.onnx",
  SHERPA_JOINER: "/j.onnx",
  SHERPA_TOKENS: "/t.txt",
};

test("what recognises is what SPEECH says", () => {
  assert.equal(speechEngine(settings({ SPEECH: "off" })), null);
  assert.deepEqual(speechEngine(settings({})), { kind: "embedded" });
  const server = { SPEECH: "wss://asr.example", SPEECH_KEY: "hunter2" };
  assert.deepEqual(speechEngine(settings(server)), { kind: "websocket", url: "wss://asr.example", key: "hunter2" });
  const files = { encoder: "/e.onnx", decoder: "/d.onnx", joiner: "/j.onnx", tokens: "/t.txt" };
  assert.deepEqual(speechEngine(settings(SHERPA)), { kind: "sherpa", files });
});

test("only an address elsewhere has speech leave this machine", () => {
  for (const speech of ["embedded", "off", "ws://127.0.0.1:2700", "ws://localhost:2700", "wss://[::1]/"])
    assert.equal(speechLeavesTo(settings({ SPEECH: speech })), null, speech);
  assert.equal(speechLeavesTo(settings({ SPEECH: "wss://asr.example:2700/en" })), "asr.example");
});

test("sherpa without its package is told in one sentence that says how to install it", async () => {
  const fault = await speechFault(settings(SHERPA));
  assert.match(
    fault ?? "",
    /^SPEECH: sherpa needs the package sherpa-onnx-node, which is not installed: npm install --no-save sherpa-onnx-node@\S+ in /,
  );
});

test("each of sherpa's files that cannot be read is named with its setting", async () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-sherpa-"));
  const config = settings(
    Object.fromEntries(Object.entries(SHERPA).map(([name, path]) => [name, name === "SPEECH" ? path : folder + path])),
  );
  for (const [name, file] of Object.entries(SHERPA).slice(1)) {
    assert.equal(await missingFile(config), `${name}: the file ${JSON.stringify(folder + file)} cannot be read.`);
    writeFileSync(folder + file, "");
  }
  assert.equal(await missingFile(config), null);
  rmSync(folder, { recursive: true });
});

test("a recogniser that is not there is told with its address", async () => {
  const server = await startRecogniserServer({ known: [] });
  assert.equal(await speechFault(settings({ SPEECH: server.url })), null);
  await server.close();
  const { host } = new URL(server.url);
  assert.equal(await speechFault(settings({ SPEECH: server.url })), `SPEECH: the recogniser cannot be reached, asked at ${host}.`);
});
