import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { ULAW_SILENCE } from "#src/kernel/g711.ts";
import { createSynthesiser } from "./synthesiser.ts";

async function voiceIn(context: TestContext, cacheDir: string | null) {
  const voice = createSynthesiser({ cacheDir });
  context.after(() => voice.stop());
  return voice;
}

async function folder(context: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "voice-"));
  context.after(() => rm(path, { recursive: true }));
  return path;
}

test("the same text is rendered to the same bytes, by another voice in another process too", async (context) => {
  const [first, second] = await Promise.all([voiceIn(context, null), voiceIn(context, null)]);
  const [a, b] = await Promise.all([first.render("Thank you."), second.render("Thank you.", { isAhead: true })]);
  assert.ok(a.length > 2_000 && a.length < 12_000, `${a.length} samples`);
  assert.deepEqual(a, b);
});

test("a text that is on disk is read from there", async (context) => {
  const cacheDir = join(await folder(context), "prompts");
  const voice = await voiceIn(context, cacheDir);
  await voice.render("Cleared.");
  const [name = ""] = await readdir(cacheDir);
  await writeFile(join(cacheDir, name), Buffer.from([1, 2, 3]));
  assert.deepEqual([...(await voice.render("Cleared."))], [1, 2, 3]);
});

test("whoever waits for renderings is told of a text that is not on disk, and of no other", async (context) => {
  const cacheDir = await folder(context);
  let missing = 0;
  const voice = createSynthesiser({ cacheDir, onMissing: () => missing++ });
  context.after(() => voice.stop());
  await voice.render("Cleared.");
  await voice.render("Cleared.");
  assert.equal(missing, 1);
});

test("a text that is not to be kept leaves nothing on disk", async (context) => {
  const cacheDir = await folder(context);
  const voice = await voiceIn(context, cacheDir);
  assert.ok((await voice.render("forty nine dollars", { keep: false })).length > 1_000);
  assert.deepEqual(await readdir(cacheDir), []);
});

test("a cache folder that cannot be written does not stop the voice", async (context) => {
  const file = join(await folder(context), "file");
  await writeFile(file, "");
  const voice = await voiceIn(context, file);
  assert.ok((await voice.render("yes")).length > 1_000);
});

test("signs and accents the engine cannot read are spoken around", async (context) => {
  const voice = await voiceIn(context, null);
  assert.deepEqual(await voice.render("Caf\u00e9 \u{1f600}"), await voice.render("Cafe"));
});

test("text that leaves nothing to say is a short silence, not an error", async (context) => {
  const voice = await voiceIn(context, null);
  assert.ok((await voice.render("\u3042")).every((code) => code === ULAW_SILENCE));
});

test("renderings under way are refused when the voice is stopped, later ones too", async () => {
  const voice = createSynthesiser({ cacheDir: null });
  const underWay = assert.rejects(voice.render("One moment, please."), /stopped|ended/);
  await voice.stop();
  await underWay;
  await assert.rejects(voice.render("yes"), /stopped/);
});

test(
  "the process that renders ahead may be killed: what it rendered is refused, the next text is rendered by another",
  { skip: !existsSync("/proc/self/task") },
  async (context) => {
    const voice = await voiceIn(context, null);
    const underWay = assert.rejects(voice.render("One moment, please.", { isAhead: true }), /ended/);
    const [pid = 0] = readdirSync("/proc/self/task").flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    process.kill(pid, "SIGKILL");
    await underWay;
    assert.ok((await voice.render("yes", { isAhead: true })).length > 1_000);
  },
);

test("an idle voice keeps no process alive, one that renders ahead neither", async () => {
  const code = `import { createSynthesiser } from ${JSON.stringify(new URL("./synthesiser.ts", import.meta.url).href)};
    const { length } = await createSynthesiser({ cacheDir: null }).render("yes", { isAhead: true });
    console.log(length > 1000);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  assert.deepEqual([status, said], [0, "true\n"]);
});
