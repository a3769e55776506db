import assert from "node:assert/strict";
import { test } from "node:test";
import type { GatewaySettings } from "#src/gateways/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { OutboundAnswer } from "#src/platform/index.ts";
import { AccessTokens } from "./access-tokens.ts";
import { withGatewayIo } from "./gateway-io.ts";

test("a gateway that was not reached and an answer that was lost are in the log with the reason, an answer is not (E1)", async () => {
  const answers: OutboundAnswer[] = [
    { kind: "not sent", reason: "address not allowed" },
    { kind: "lost", reason: "connection reset" },
    { kind: "answered", status: 200, headers: {}, body: Buffer.from("{}") },
  ];
  const lines: object[] = [];
  const clock = new ManualClock();
  const request = { method: "POST", url: "https://gateway.example/", headers: {}, body: Buffer.from("4242424242424242") } as const;
  await withGatewayIo(
    {
      outbound: { send: () => Promise.resolve(answers.shift()!) },
      clock,
      random: systemRandom,
      tokens: new AccessTokens(clock),
      gateways: {},
      projects: { rotateCredentials: () => Promise.reject(new Error("none")) },
      log: { warn: (event, fields) => void lines.push({ event, ...fields }) },
    },
    {
      sessionId: "s",
      projectId: "p",
      gateway: "stripe",
      settings: { environment: "test" } as GatewaySettings,
      deadlineMs: 1000,
      note: () => Promise.resolve(),
    },
    async (io) => {
      while (answers.length > 0) await io.send(request);
    },
  );
  assert.deepEqual(lines, [
    { event: "gateway_not_reached", session: "s", gateway: "stripe", reason: "address not allowed" },
    { event: "gateway_answer_lost", session: "s", gateway: "stripe", reason: "connection reset" },
  ]);
});
