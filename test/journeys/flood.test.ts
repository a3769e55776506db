import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { PROMPT_CACHE } from "./installation.ts";
import { keyedPayment } from "./paying.ts";
import { chargesOf, shared, startService } from "./service.ts";

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService({ env: { SIP_TRUNKS: "127.0.0.1/32" } }));

const BATCH = 20;
const EVERY_MS = 10;

/** Sends INVITEs for this user from an address that is no trunk's, until it is stopped; resolves with how many, and the answers. */
async function flood(user: string) {
  const socket = createSocket("udp4").bind(0, "127.0.0.2");
  await once(socket, "listening");
  const answers: string[] = [];
  socket.on("message", (message) => answers.push(message.toString().split("\r\n")[0] ?? ""));
  const own = `127.0.0.2:${socket.address().port}`;
  let sent = 0;
  const invite = () => {
    const id = `flood-${++sent}`;
    const lines = [
      `INVITE sip:${user}@127.0.0.1:${service.sip.port} SIP/2.0`,
      `Via: SIP/2.0/UDP ${own};branch=z9hG4bK${id}`,
      `From: <sip:unknown@${own}>;tag=${id}`,
      `To: <sip:${user}@127.0.0.1>`,
      `Call-ID: ${id}`,
      "CSeq: 1 INVITE",
      "Max-Forwards: 70",
      `Contact: <sip:${own}>`,
      "Content-Length: 0",
    ];
    socket.send(`${lines.join("\r\n")}\r\n\r\n`, service.sip.port, "127.0.0.1");
  };
  const sending = setInterval(() => {
    for (let n = 0; n < BATCH; n++) invite();
  }, EVERY_MS);
  return {
    stop() {
      clearInterval(sending);
      socket.close();
      return { sent, answers };
    },
  };
}

test("INVITEs from unknown peers without end disturb none of ten paying calls, and reach none of their sessions (S-83)", async (t) => {
  const sessions = await Promise.all(Array.from({ length: 10 }, () => service.create()));
  const unpaid = await service.create();
  const flooding = await flood(unpaid.session_id);
  const reports = await Promise.all(sessions.map(({ sip_uri }) => telephone.call({ target: sip_uri, turns: keyedPayment() })));
  const { sent, answers } = flooding.stop();
  t.diagnostic(`${sent} INVITEs sent, ${answers.length} answered: ${[...new Set(answers)].join()}`);
  for (const [index, { session_id }] of sessions.entries()) {
    assert.equal((await service.session(session_id))["status"], "payment-success");
    assert.equal((await chargesOf(service.simulatorsUrl, session_id)).length, 1);
    assert.ok(reports[index]!.prompts.includes("Thank you. Your payment was approved."));
  }
  assert.equal((await service.session(unpaid.session_id))["status"], "PENDING");
  assert.ok(answers.every((line) => !line.includes(" 200 ")));
});
