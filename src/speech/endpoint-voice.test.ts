import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { type Log, type OutboundAnswer, type OutboundRequest, silentLog } from "#src/platform/index.ts";
import { createEndpointVoice, type EndpointVoiceOptions } from "./endpoint-voice.ts";
import { createSynthesiser } from "./synthesiser.ts";
import { wavOf } from "./testing.ts";

const TONE = Int16Array.from({ length: 12_000 }, (_, at) => Math.round(8_000 * Math.sin((2 * Math.PI * 440 * at) / 24_000)));
const answered = (body: Uint8Array, status = 200): OutboundAnswer => ({ kind: "answered", status, headers: {}, body });

async function rig(context: TestContext, answer: () => OutboundAnswer, more: Partial<EndpointVoiceOptions> = {}) {
  const cacheDir = await mkdtemp(join(tmpdir(), "voice-"));
  const synthesiser = createSynthesiser({ cacheDir: null });
  context.after(async () => {
    await synthesiser.stop();
    await rm(cacheDir, { recursive: true });
  });
  const requests: (Omit<OutboundRequest, "body"> & { body: unknown })[] = [];
  const told: string[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void told.push(`${event} ${String(fields?.reason)}`) };
  let now = 0;
  const voice = createEndpointVoice({
    url: "http://127.0.0.1:8880/v1/audio/speech",
    model: "tts-1",
    voices: { all: "nova", of: { "es-US": "lola" } },
    key: new Secret("geheim"),
    format: "wav",
    outbound: {
      send: async (request) => {
        requests.push({ ...request, body: JSON.parse(Buffer.from(request.body ?? []).toString()) });
        return answer();
      },
    },
    cacheDir,
    convert: (wav, options) => synthesiser.convert(wav, options),
    clock: { now: () => now, monotonic: () => now, after: () => () => {} },
    log,
    signal: new AbortController().signal,
    ...more,
  });
  return { voice, requests, told, passes: (ms: number) => void (now += ms) };
}

test("a text is asked for once, in the common form, with the key and the language's voice, and kept at the telephone's rate", async (context) => {
  const { voice, requests } = await rig(context, () => answered(wavOf(TONE, 24_000)));
  const ulaw = await voice.render("Un momento, por favor.", { language: "es-US", isAhead: true });
  assert.ok(Math.abs(ulaw.length - 4_000) < 200, `${ulaw.length} samples`);
  assert.deepEqual([...(await voice.render("Un momento, por favor.", { language: "es-US" }))], [...ulaw]);
  await voice.render("One moment, please.", { language: "en-US", isAhead: true });
  assert.deepEqual(
    requests.map(({ method, url, headers, body }) => [method, url, headers["authorization"], body]),
    [
      ["lola", "Un momento, por favor."],
      ["nova", "One moment, please."],
    ].map(([name, input]) => [
      "POST",
      "http://127.0.0.1:8880/v1/audio/speech",
      "Bearer geheim",
      { model: "tts-1", voice: name, input, response_format: "wav" },
    ]),
  );
});

test("a call is never served by the endpoint with words that are kept, only with what varies, and that within its time", async (context) => {
  const { voice, requests } = await rig(context, () => answered(wavOf(TONE, 24_000)));
  await assert.rejects(voice.render("cuatro", { language: "es-US" }), /not rendered yet/);
  assert.equal(requests.length, 0);
  await voice.render("Va a pagar un dólar.", { language: "es-US", keep: false });
  assert.ok((requests[0]?.timeoutMs ?? Infinity) < 2_000);
});

test("raw samples are read at 24 kHz", async (context) => {
  const { voice } = await rig(context, () => answered(new Uint8Array(TONE.buffer)), { format: "pcm" });
  assert.ok(Math.abs((await voice.render("Hola.", { language: "es-US", isAhead: true })).length - 4_000) < 200);
});

const WRONG: readonly [string, OutboundAnswer, RegExp][] = [
  ["nobody answers in time", { kind: "lost", reason: "deadline passed" }, /deadline passed/],
  ["it is not there", { kind: "not sent", reason: "connection refused" }, /connection refused/],
  ["it refuses", answered(Buffer.from("{}"), 401), /status 401/],
  ["it answers with words", answered(Buffer.from("speech, honestly")), /no speech in the answer/],
  ["it answers with silence", answered(wavOf(new Int16Array(24_000), 24_000)), /no speech in the answer/],
];
for (const [what, answer, reason] of WRONG)
  test(`when ${what} the rendering is refused, the log has one line, and calls ask no more for a moment`, async (context) => {
    const { voice, requests, told, passes } = await rig(context, () => answer);
    const pay = () => voice.render("Va a pagar un dólar.", { language: "es-US", keep: false });
    await assert.rejects(pay, reason);
    await assert.rejects(pay, /a moment ago/);
    await assert.rejects(voice.render("Hola.", { language: "es-US", isAhead: true }), reason);
    assert.equal(requests.length, 2);
    passes(31_000);
    await assert.rejects(pay, reason);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", new RegExp(`^voice_endpoint_failed ${reason.source}$`));
  });
