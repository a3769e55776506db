import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { openTelephone } from "#softphone/caller.ts";
import type { Turn } from "#softphone/script.ts";
import { findCards } from "../../prove/kill/scan.ts";
import { startRecogniserServer } from "../recogniser-server.ts";
import { openInstallation, PROMPT_CACHE, run } from "./installation.ts";
import { CARD } from "./paying.ts";
import { searchable } from "./searchable.ts";
import { chargesOf, shared, startService } from "./service.ts";

/** A recogniser of the operator's own behind `SPEECH`: a server beside the service, which knows what the caller says by its sound. */

const SAID: Readonly<Record<string, string>> = {
  "card number": "four two four two, four two four two, four two four two, four two four two",
  "expiry date": "december twenty thirty",
  "security code": "one two three",
  "zip code": "nine four one oh five",
  "is that right": "yes, that's right",
};

const voice = createSynthesiser({ cacheDir: null, voice: "kal16", isAnnouncer: false });
await shared(Promise.resolve({ close: () => voice.stop() }));
const known = await Promise.all(
  Object.values(SAID).map(async (text) => ({ text: text.replaceAll(",", ""), samples: decodeUlaw(await voice.render(text)) })),
);
let isBroken = false;
const server = await shared(startRecogniserServer({ known, breaks: () => isBroken }));
const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService({ env: { SPEECH: server.url, SPEECH_READY: "1" } }));

const asked = ([question, text]: [string, string]): Turn => ({
  do: "answer",
  question,
  ways: Array.from({ length: 3 }, () => ({ say: text })),
});

/** All that the service wrote while cards were spoken: no digit of them, neither as digits nor in words. */
async function assertNothingSaidIsWritten(): Promise<void> {
  const places = await searchable(service);
  assert.deepEqual(findCards(places, [CARD], [CARD]), []);
  for (const { text } of known)
    for (const [where, bytes] of places) assert.ok(!bytes.toString("latin1").toLowerCase().includes(text), `what was said is in ${where}`);
  assert.doesNotMatch(service.output(), /\b(?:zero|one|two|three|four|five|nine)\b/);
}

test("a card is paid by voice through a recogniser of the operator's own, and nothing that was said is written (R-229, R-441)", async () => {
  const { session_id, sip_uri } = await service.create();
  await telephone.call({ target: sip_uri, turns: Object.entries(SAID).map(asked) });
  assert.equal((await service.session(session_id))["status"], "payment-success");
  assert.equal((await chargesOf(service.simulatorsUrl, session_id)).length, 1);
  assert.ok(server.connections.filter(({ samples }) => samples > 0).length >= known.length);
  await assertNothingSaidIsWritten();
});

test("a recogniser that dies in a call leaves the caller the keypad, a line in the log and a count", async () => {
  isBroken = true;
  const { session_id, sip_uri } = await service.create();
  const { prompts } = await telephone.call({
    target: sip_uri,
    turns: [
      { do: "wait for", text: "card number" },
      { do: "say", text: SAID["card number"] ?? "" },
      { do: "wait for", text: "Please use your keypad" },
      { do: "dtmf", digits: `${CARD}#1230#123#94105#1` },
    ],
  });
  assert.equal((await service.session(session_id))["status"], "payment-success", prompts.join("\n"));
  assert.ok(
    prompts.some((text) => text.includes("I can't listen just now")),
    prompts.join("\n"),
  );
  const lines = service
    .output()
    .split("\n")
    .filter((line) => line.includes("speech_recogniser_failed"));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /the recogniser (?:broke|closed) the connection/);
  assert.match(await (await fetch(`${service.baseUrl}/metrics`)).text(), /^voicetill_speech_faults_total 1$/m);
  await assertNothingSaidIsWritten();
});

test("a service that cannot load its recogniser does not start, and says why in one sentence", async () => {
  const files = Object.fromEntries(["ENCODER", "DECODER", "JOINER", "TOKENS"].map((name) => [`SHERPA_${name}`, `/none/${name}`]));
  const other = await openInstallation({ SPEECH: "sherpa", ...files }, { embedded: true });
  const { status, stderr } = await run(["serve"], other.env);
  await other.close();
  assert.equal(status, 1);
  assert.match(
    stderr,
    /SPEECH: sherpa needs the package sherpa-onnx-node, which is not installed: npm install --no-save sherpa-onnx-node@/,
  );
});
