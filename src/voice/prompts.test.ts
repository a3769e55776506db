import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrompts } from "./prompts.ts";

/** A voice and a media engine that say what they were asked for. */
function rig() {
  const rendered: { text: string; keep: boolean }[] = [];
  const loaded = new Set<string>();
  const voice = {
    render: async (text: string, { keep }: { keep: boolean }) => {
      rendered.push({ text, keep });
      return new Uint8Array(1);
    },
  };
  const media = { loadClip: (name: string) => void loaded.add(name), unloadClip: (name: string) => void loaded.delete(name) };
  return { prompts: createPrompts({ voice, media }), rendered, loaded };
}

test("a text is rendered once, however many ask for it, and given at once afterwards", async () => {
  const { prompts, rendered } = rig();
  const [first, second] = await Promise.all([prompts.clips(["yes", "no"]), prompts.clips(["no", "yes"])]);
  assert.deepEqual([first, second, prompts.clips(["no"])], [["yes", "no"], ["no", "yes"], ["no"]]);
  assert.deepEqual(rendered.map(({ text }) => text).toSorted(), ["no", "yes"]);
});

test("amounts without end are kept neither in memory nor on disk: the least recently spoken is forgotten", async () => {
  const { prompts, rendered, loaded } = rig();
  await prompts.preload(["Your payment is", "Thank you."]);
  for (let amount = 0; amount < 2_000; amount++) {
    await prompts.clips(["Your payment is", `${amount} dollars`]);
    await prompts.clips(["0 dollars"]);
  }
  assert.ok(loaded.size <= 210, `${loaded.size} clips`);
  for (const text of ["Your payment is", "Thank you.", "0 dollars", "1999 dollars"]) assert.ok(loaded.has(text), text);
  assert.equal(rendered.filter(({ text }) => text === "0 dollars").length, 1);
  assert.deepEqual(
    rendered.filter(({ keep }) => keep).map(({ text }) => text),
    ["Your payment is", "Thank you."],
  );
});

test("a text that was forgotten is rendered again", async () => {
  const { prompts, rendered } = rig();
  for (let amount = 0; amount < 1_000; amount++) await prompts.clips([`${amount} dollars`]);
  assert.deepEqual(await prompts.clips(["0 dollars"]), ["0 dollars"]);
  assert.equal(rendered.filter(({ text }) => text === "0 dollars").length, 2);
});

test("a text that could not be rendered is tried again by the next call", async () => {
  let isBroken = true;
  const render = async () => {
    if (isBroken) throw new Error("no voice");
    return new Uint8Array(1);
  };
  const prompts = createPrompts({ voice: { render }, media: { loadClip() {}, unloadClip() {} } });
  await assert.rejects(async () => await prompts.clips(["yes"]), /no voice/);
  isBroken = false;
  assert.deepEqual(await prompts.clips(["yes"]), ["yes"]);
});
