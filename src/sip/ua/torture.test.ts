import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { rawTcp, rawTls, rawUdp, type RawPeer, requestText, testAgent, type TestAgent } from "./testing.ts";
import { TORTURE, type TortureCase } from "../../../test/torture-messages.ts";

// The clock stands still: nothing is retransmitted, no 100 comes in between, and time runs out when the test says so.
const clock = new ManualClock();
let target: TestAgent;
const own = createIdentity(["127.0.0.1"]);
const STREAMS = [
  ["TCP", () => rawTcp(target.port)],
  ["TLS", () => rawTls(target.tlsPort)],
] as const;

before(async () => {
  target = await testAgent({
    clock,
    tls: { port: 0, certificate: { cert: own.cert, key: own.key, clientCa: null } },
    onInvite: (call) => call.reject(404),
  });
});
after(() => target.agent.stop());

const SENTINEL = "sentinel@test";

function fill(text: string, { protocol, port }: RawPeer): string {
  const via = `SIP/2.0/${protocol} 127.0.0.1:${port};rport`;
  return text.replaceAll("{via}", via).replaceAll("{transport}", protocol).replaceAll("{port}", String(port));
}

/** Responses as octets, those that came before the one to an OPTIONS sent behind: on one flow nothing overtakes. */
async function answers(peer: RawPeer, text: string): Promise<string[]> {
  peer.send(fill(text, peer));
  peer.send(requestText(peer, { headers: { "Call-ID": SENTINEL } }));
  let received = "";
  while (!received.includes(SENTINEL)) received += await peer.octets.next();
  return split(received).filter((response) => !response.includes(SENTINEL));
}

/** Responses as octets, those that came before the connection was closed. */
async function lastAnswers(peer: RawPeer, text: string): Promise<string[]> {
  peer.send(fill(text, peer));
  await peer.closed;
  return split(peer.octets.waiting.join(""));
}

function split(received: string): string[] {
  return received.split(/(?=SIP\/2\.0 [1-6][0-9][0-9] )/).filter((response) => response !== "");
}

function check({ text }: TortureCase, expected: readonly number[], isSequence: boolean, got: readonly string[]): void {
  const statuses = got.map((response) => Number(response.slice(8, 11)));
  if (isSequence || expected.length === 0) assert.deepEqual(statuses, expected);
  else assert.ok(statuses.length === 1 && expected.includes(statuses[0] ?? 0), `${statuses.join()} is none of ${expected.join()}`);
  for (const response of got) isComplete(text, response);
}

/** What every answer owes to its request (RFC 3261 section 8.2.6): what can be echoed is, octet for octet. */
function isComplete(text: string, response: string): void {
  const [, cseq] = /^cseq *: *([0-9]+)/im.exec(text) ?? [];
  assert.match(response, new RegExp(`^CSeq: ${cseq}\\b`, "m"));
  if (/^to *:/im.test(text)) assert.match(response, /^To: .*;[ \t]*tag[ \t]*=/m);
  assert.match(response, /^Via: .*127\.0\.0\.1/m);
  const owed: Readonly<Record<string, RegExp>> = {
    405: /^Allow: /m,
    501: /^Allow: /m,
    415: /^Accept: /m,
    420: /^Unsupported: nothingSupportsThis, nothingSupportsThisEither\r$/m,
  };
  assert.match(response, owed[response.slice(8, 11)] ?? /^SIP\/2\.0 /);
}

const words = (expected: readonly number[], joint: string) =>
  expected.length === 0 ? "left unanswered" : `answered ${expected.join(joint)}`;

for (const entry of TORTURE) {
  test(`RFC 4475 ${entry.section} ${entry.name} over UDP is ${words(entry.udp, " or ")}`, async () => {
    const peer = await rawUdp(target.port);
    check(entry, entry.udp, false, await answers(peer, entry.text));
    await peer.close();
  });

  for (const [name, open] of STREAMS) {
    if (entry.tcp === "waits") {
      test(`RFC 4475 ${entry.section} ${entry.name} over ${name} is waited for, and closed when its time is up`, async () => {
        const [peer, other] = await Promise.all([open(), open()]);
        peer.send(fill(entry.text, peer));
        await answers(other, "");
        clock.advance(10_000);
        assert.deepEqual(await lastAnswers(peer, ""), []);
        await other.close();
      });
      continue;
    }
    const expected = entry.tcp ?? entry.udp;
    test(`RFC 4475 ${entry.section} ${entry.name} over ${name} is ${words(expected, entry.tcp ? " and " : " or ")}${entry.closes ? ", and closed" : ""}`, async () => {
      const peer = await open();
      const hear = entry.closes ? lastAnswers : answers;
      check(entry, expected, entry.tcp !== undefined, await hear(peer, entry.text));
      await peer.close();
    });
  }
}
