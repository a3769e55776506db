import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { type Log, type OutboundAnswer, type OutboundRequest, silentLog } from "#src/platform/index.ts";
import { controlAddress, createCallControl } from "./control.ts";

const URL = "https://phone-call.aws-us-west-2.vapi.ai/1f3c/control";

test("commands go to the platform's own hosts over https, and nowhere else (S-50)", () => {
  assert.equal(controlAddress(URL), URL);
  for (const wrong of [
    "http://phone-call.vapi.ai/control",
    "https://vapi.ai.attacker.example/control",
    "https://attacker.example/.vapi.ai",
    "https://notvapi.ai/control",
    "https://169.254.169.254/latest",
    "https://phone-call.vapi.ai:8443/control",
    "https://user:word@phone-call.vapi.ai/control",
    "https://phone-call.vapi.ai@attacker.example/",
    "https://phone-call.vapi.ai/control#x",
    "https://attacker.example\\.vapi.ai/",
    "no address",
    "",
  ])
    assert.equal(controlAddress(wrong), null, wrong);
});

/** What was sent and logged, with an outside that answers as said. */
function rig(answer: OutboundAnswer) {
  const sent: { request: OutboundRequest; body: unknown }[] = [];
  const events: string[] = [];
  const clock = new ManualClock();
  const note = (event: string) => void events.push(event);
  const log: Log = { ...silentLog, info: note, warn: note };
  const outbound = {
    send: async (request: OutboundRequest) => {
      sent.push({ request, body: JSON.parse(Buffer.from(request.body ?? []).toString()) });
      return answer;
    },
  };
  return { sent, events, clock, control: createCallControl({ outbound, clock, log }) };
}
const OK: OutboundAnswer = { kind: "answered", status: 200, headers: {}, body: new Uint8Array() };
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a call is transferred a second after the tool's answer, once for a session", async () => {
  const { sent, events, clock, control } = rig(OK);
  for (let n = 0; n < 3; n++) control.transferSoon("a", URL, async () => ({ type: "sip", sipUri: "sip:a@till.example" }));
  clock.advance(999);
  await settled();
  assert.equal(sent.length, 0);
  clock.advance(1);
  await settled();
  assert.deepEqual(
    sent.map(({ body }) => body),
    [{ type: "transfer", destination: { type: "sip", sipUri: "sip:a@till.example" } }],
  );
  assert.partialDeepStrictEqual(sent[0]!.request, { method: "POST", url: URL, httpsOnly: true });
  assert.deepEqual(events, ["platform_transfer"]);
});

test("a session that waits no more, another host and a closed service send nothing", async () => {
  const { sent, events, clock, control } = rig(OK);
  control.transferSoon("a", URL, async () => null);
  control.transferSoon("b", "https://attacker.example/control", async () => ({}));
  clock.advance(1000);
  await settled();
  control.transferSoon("c", URL, async () => ({}));
  control.close();
  clock.advance(1000);
  await settled();
  assert.deepEqual([sent, events], [[], ["platform_transfer_failed"]]);
});

test("what the platform refuses or does not hear is logged, and changes nothing else", async () => {
  for (const answer of [
    { ...OK, status: 404 },
    { kind: "lost", reason: "deadline passed" },
  ] as const) {
    const { events, clock, control } = rig(answer);
    control.transferSoon("a", URL, async () => ({}));
    clock.advance(1000);
    await settled();
    assert.deepEqual(events, ["platform_transfer_failed"]);
  }
});
