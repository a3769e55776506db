import assert from "node:assert/strict";
import { test } from "node:test";
import { allSentences, ownSentences, type Sentence, sentence } from "#src/conversation/index.ts";
import { createPrompts } from "./prompts.ts";

const noRecording = () => Promise.reject(new Error("there is none"));

/** One sentence, fixed unless it says an amount. */
const says = (...texts: string[]): Sentence => ({
  id: "greeting",
  values: {},
  language: "en-US",
  pieces: texts.map((text) => ({ text, isFixed: !text.includes("dollars") })),
});

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
  return { prompts: createPrompts({ voice, endpoint: null, recording: noRecording, media }), rendered, loaded };
}

test("a text is rendered once, however many ask for it, and given at once afterwards, with a pause between sentences", async () => {
  const { prompts, rendered } = rig();
  const [first, second] = await Promise.all([prompts.clips([says("yes"), says("no")]), prompts.clips([says("no", "yes")])]);
  assert.deepEqual(first, ["en-US yes", "pause", "en-US no"]);
  assert.deepEqual([second, prompts.clips([says("no")])], [["en-US no", "en-US yes"], ["en-US no"]]);
  assert.deepEqual(rendered.map(({ text }) => text).toSorted(), ["no", "yes"]);
});

test("amounts without end are kept neither in memory nor on disk: the least recently spoken is forgotten", async () => {
  const { prompts, rendered, loaded } = rig();
  await prompts.preload([says("Your card ends in", "one"), says("Thank you."), says("0 dollars")]);
  assert.deepEqual(
    rendered.map(({ text }) => text),
    ["Your card ends in", "one", "Thank you."],
  );
  for (let amount = 0; amount < 2_000; amount++) {
    await prompts.clips([says(`${amount} dollars`), says("Thank you.")]);
    await prompts.clips([says("0 dollars")]);
  }
  assert.ok(loaded.size <= 210, `${loaded.size} clips`);
  for (const text of ["pause", "en-US one", "en-US Thank you.", "en-US 0 dollars", "en-US 1999 dollars"]) assert.ok(loaded.has(text), text);
  assert.equal(rendered.filter(({ text }) => text === "0 dollars").length, 1);
  assert.deepEqual(
    rendered.filter(({ keep }) => keep).map(({ text }) => text),
    ["Your card ends in", "one", "Thank you."],
  );
});

test("what a call wants is rendered at once while prompts are rendered ahead, of which no more than one is under way", async () => {
  const asked: { text: string; isAhead: boolean; done: () => void }[] = [];
  const voice = {
    render: (text: string, { isAhead }: { isAhead: boolean }) =>
      new Promise<Uint8Array>((resolve) => asked.push({ text, isAhead, done: () => resolve(new Uint8Array(1)) })),
  };
  const prompts = createPrompts({ voice, endpoint: null, recording: noRecording, media: { loadClip() {}, unloadClip() {} } });
  const ahead = prompts.preload([says("one"), says("two"), says("three")]);
  const wanted = prompts.clips([says("three")]);
  const texts = () => asked.map(({ text, isAhead }) => `${text}${isAhead ? " ahead" : ""}`);
  assert.deepEqual(texts(), ["one ahead", "three"]);
  asked[1]?.done();
  assert.deepEqual(await wanted, ["en-US three"]);
  asked[0]?.done();
  while (asked.length < 3) await new Promise((resolve) => setImmediate(resolve));
  asked[2]?.done();
  await ahead;
  assert.deepEqual(texts(), ["one ahead", "three", "two ahead"]);
});

test("a text that was forgotten is rendered again", async () => {
  const { prompts, rendered } = rig();
  for (let amount = 0; amount < 1_000; amount++) await prompts.clips([says(`${amount} dollars`)]);
  assert.deepEqual(await prompts.clips([says("0 dollars")]), ["en-US 0 dollars"]);
  assert.equal(rendered.filter(({ text }) => text === "0 dollars").length, 2);
});

test("a text that could not be rendered is tried again by the next call", async () => {
  let isBroken = true;
  const render = async () => {
    if (isBroken) throw new Error("no voice");
    return new Uint8Array(1);
  };
  const prompts = createPrompts({ voice: { render }, endpoint: null, recording: noRecording, media: { loadClip() {}, unloadClip() {} } });
  await assert.rejects(async () => await prompts.clips([says("yes")]), /no voice/);
  isBroken = false;
  assert.deepEqual(await prompts.clips([says("yes")]), ["en-US yes"]);
});

/** An endpoint that has on disk what it rendered ahead, beside the embedded voice. */
function twoVoices() {
  const asked: string[] = [];
  const onDisk = new Set<string>();
  const endpoint = {
    isAway: false,
    render: async (text: string, { keep = true, isAhead = false }: { keep?: boolean; isAhead?: boolean }) => {
      if (keep && !isAhead && onDisk.has(text)) return new Uint8Array(1);
      if (keep && !isAhead) throw new Error("not rendered yet");
      asked.push(text);
      if (endpoint.isAway) throw new Error("away");
      onDisk.add(text);
      return new Uint8Array(1);
    },
  };
  const { media, voice } = { media: { loadClip() {}, unloadClip() {} }, voice: { render: async () => new Uint8Array(1) } };
  return { asked, endpoint, prompts: createPrompts({ voice, endpoint, recording: noRecording, media }) };
}

const AMOUNT = { amount: { minor: 4995, currency: "USD" } };

test("an endpoint speaks a language once all its words are rendered; before that, and when it is away, English is spoken by the embedded voice", async () => {
  const { prompts, endpoint, asked } = twoVoices();
  const [greeting, pay] = [sentence("es-US", "greeting"), sentence("es-US", "you_pay", AMOUNT)];
  assert.deepEqual(await prompts.clips([greeting]), ["en-US This is the secure payment line."]);
  assert.deepEqual(asked, []);
  await prompts.preload(allSentences("es-US"));
  assert.deepEqual(prompts.clips([greeting]), ["endpoint es-US Esta es la línea segura de pagos."]);
  endpoint.isAway = true;
  assert.deepEqual(await prompts.clips([greeting, pay]), [
    "endpoint es-US Esta es la línea segura de pagos.",
    "pause",
    "en-US You're paying forty nine dollars and ninety five cents.",
  ]);
  endpoint.isAway = false;
  assert.match(String(await prompts.clips([pay])), /^endpoint es-US Va a pagar cuarenta y nueve dólares con noventa y cinco centavos\.$/);
});

test("no request of a call tells the endpoint a digit or the date of a card: those words come from the disk or from the embedded voice", async () => {
  const { prompts, asked } = twoVoices();
  const card = sentence("es-US", "card_ends_in", { brand: "visa", last4: [4, 2, 4, 2] });
  const past = sentence("es-US", "expiry_past", { date: { month: 3, year: 2020 } });
  assert.match(String(await prompts.clips([card])), /^en-US Your Visa card ends in,en-US four,en-US two,/);
  assert.match(String(await prompts.clips([past])), /^en-US march twenty twenty has passed/);
  assert.deepEqual(asked, []);
  await prompts.preload(allSentences("es-US"));
  const ahead = asked.length;
  assert.equal(new Set(asked).size, ahead);
  assert.match(String(await prompts.clips([card])), /^endpoint es-US Su tarjeta Visa termina en,endpoint es-US cuatro,endpoint es-US dos,/);
  assert.deepEqual(prompts.clips([past]), ["endpoint es-US Esa fecha de vencimiento no es válida."]);
  assert.equal(asked.length, ahead);
});

test("a project's own words and name are rendered before its first caller, with nothing that varies, and once", async () => {
  const { prompts, asked } = twoVoices();
  const own = ownSentences({
    language: "es-US",
    merchant: "Flores Acme",
    acceptedBrands: [],
    wordings: [
      { sentence: "one_moment", text: "Espere." },
      { sentence: "you_pay", text: "Son {amount}." },
    ],
  });
  await prompts.prepare(own);
  await prompts.prepare(own);
  assert.deepEqual(asked, [
    "Esta es la línea segura de pagos de Flores Acme.",
    "Le comunico de nuevo con Flores Acme. No cuelgue, por favor.",
    "Espere.",
  ]);
  assert.deepEqual(await prompts.clips(own.slice(2, 3)), ["endpoint es-US Espere."]);
});

test("an endpoint that is away is asked for a few texts, not for all, and words that it refuses stand in nobody's way", async () => {
  const { prompts, endpoint, asked } = twoVoices();
  endpoint.isAway = true;
  await prompts.preload(allSentences("fr-CA"));
  assert.equal(asked.length, 3);
  await prompts.preload(allSentences("fr-CA"));
  assert.equal(new Set(asked).size, 6);
});

test("a recording is played instead of the voice, and the voice instead of a recording that is gone", async () => {
  const sound = new Map([["d1", new Uint8Array(7)]]);
  const loaded = new Map<string, number>();
  const recording = async (digest: string) => sound.get(digest) ?? (await noRecording());
  const media = { loadClip: (name: string, ulaw: Uint8Array) => void loaded.set(name, ulaw.length), unloadClip() {} };
  const prompts = createPrompts({ voice: { render: async () => new Uint8Array(1) }, endpoint: null, recording, media });
  const [first, gone] = [says("Hello."), says("Bye.")];
  const said = await prompts.clips([
    { ...first, recording: "d1" },
    { ...gone, recording: "d2" },
  ]);
  assert.deepEqual(said, ["recording d1", "pause", "en-US Bye."]);
  assert.equal(loaded.get("recording d1"), 7);
});
