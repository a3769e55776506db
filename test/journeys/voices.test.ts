import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import type { AddressInfo } from "node:net";
import { fixedPrompts } from "#src/conversation/index.ts";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { wavOf } from "#src/speech/testing.ts";
import { type CallReport, openTelephone } from "#softphone/caller.ts";
import { PROMPT_CACHE } from "./installation.ts";
import { CARD } from "./paying.ts";
import { chargesOf, shared, startService } from "./service.ts";

/** A voice of the operator's own behind an endpoint: it says every text with the same tone, which no telephone key has. */

const TONE_HZ = 1_800;
const SPEECH = wavOf(
  Int16Array.from({ length: 12_000 }, (_, at) => Math.round(8_000 * Math.sin((2 * Math.PI * TONE_HZ * at) / 24_000))),
  24_000,
);
const SPANISH = fixedPrompts("es-US");

/** What it was asked for, from when it has rendered everything that is said ahead of the calls. */
async function startVoice() {
  const asked: { key: string | undefined; input: string }[] = [];
  const missing = new Set(SPANISH);
  const ready = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { input } = JSON.parse(body) as { input: string };
      asked.push({ key: request.headers.authorization, input });
      response.end(SPEECH);
      missing.delete(input);
      if (missing.size === 0) ready.resolve();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/audio/speech`,
    asked,
    ready: ready.promise,
    close: () => new Promise((resolve) => void server.close(resolve)),
  };
}

/** Seconds of a call in which the tone is heard (Goertzel's algorithm, 20 ms at a time). */
function toneSeconds({ audio }: CallReport): number {
  const samples = decodeUlaw(audio);
  const factor = 2 * Math.cos((2 * Math.PI * TONE_HZ) / 8_000);
  let seconds = 0;
  for (let at = 0; at + 160 <= samples.length; at += 160) {
    let [last, before, energy] = [0, 0, 0];
    for (const sample of samples.subarray(at, at + 160)) {
      [last, before] = [sample + factor * last - before, last];
      energy += sample * sample;
    }
    const power = last * last + before * before - factor * last * before;
    if (energy > 160 * 500 ** 2 && power > 0.8 * 80 * energy) seconds += 0.02;
  }
  return seconds;
}

const voice = await shared(startVoice());
const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(
  startService({ env: { VOICE: voice.url, VOICE_KEY: "geheim" }, project: { language: "es-US", voice: { name: "Flores Acme" } } }),
);

/** The caller listens to what he is about to pay, for these seconds. */
const pay = (target: string, listensFor: string, seconds: number) =>
  telephone.call({
    target,
    turns: [
      { do: "wait", seconds },
      { do: "dtmf", digits: `${CARD}#1230#123#94105#1` },
    ],
    listensFor,
  });

test("a Spanish project is paid by keypad in the endpoint's voice, which learns nothing of the card; when it goes away English is spoken", async () => {
  // As the next start finds it: the project was applied after the first.
  await service.end();
  await service.restart();
  await voice.ready;
  const ahead = voice.asked.length;
  const first = await service.create();
  const spanish = await pay(first.sip_uri, "You're paying forty nine dollars and ninety five cents.", 6);
  assert.equal((await service.session(first.session_id))["status"], "payment-success");
  assert.equal((await chargesOf(service.simulatorsUrl, first.session_id)).length, 1);
  assert.ok(toneSeconds(spanish) > 1, `${toneSeconds(spanish)} s`);
  assert.deepEqual([spanish.heardSentence, spanish.prompts], [false, []]);

  const duringCalls = voice.asked.slice(ahead).map(({ input }) => input);
  // What the project alone says is rendered after the rest, perhaps in the call.
  assert.deepEqual(
    duringCalls.filter((input) => !input.includes("Flores Acme")),
    ["Va a pagar cuarenta y nueve dólares con noventa y cinco centavos."],
  );
  for (const { input, key } of voice.asked) {
    assert.doesNotMatch(input, /[0-9]/);
    assert.equal(key, "Bearer geheim");
  }

  await voice.close();
  const second = await service.create({ amount: "51.05" });
  // The sentence is rendered in the call, which takes a busy machine seconds.
  const mixed = await pay(second.sip_uri, "You're paying fifty one dollars and five cents.", 12);
  assert.equal((await service.session(second.session_id))["status"], "payment-success");
  assert.equal(mixed.heardSentence, true);
  assert.ok(toneSeconds(mixed) > 1, "what was rendered before is still Spanish");
  assert.equal(service.output().match(/voice_endpoint_failed/g)?.length, 1);
});
