import assert from "node:assert/strict";
import { test } from "node:test";
import type { GatewaySettings } from "#src/gateways/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { OutboundAnswer } from "#src/platform/index.ts";
import { AccessTokens } from "./access-tokens.ts";
import { type IoScope, withGatewayIo } from "./gateway-io.ts";

const clock = new ManualClock();
const deps = {
  outbound: { send: (): Promise<OutboundAnswer> => Promise.reject(new Error("nothing is sent here")) },
  clock,
  random: systemRandom,
  tokens: new AccessTokens(clock),
  gateways: {},
  projects: { rotateCredentials: () => Promise.reject(new Error("none")) },
  log: { warn: (_event: string, _fields?: object) => {} },
};
const scope: IoScope = {
  sessionId: "s",
  projectId: "p",
  gateway: "stripe",
  settings: { environment: "test" } as GatewaySettings,
  deadlineMs: 1000,
  note: () => Promise.resolve(),
};

test("a gateway that was not reached and an answer that was lost are in the log with the reason, an answer is not (E1)", async () => {
  const answers: OutboundAnswer[] = [
    { kind: "not sent", reason: "address not allowed" },
    { kind: "lost", reason: "connection reset" },
    { kind: "answered", status: 200, headers: {}, body: Buffer.from("{}") },
  ];
  const lines: object[] = [];
  const request = { method: "POST", url: "https://gateway.example/", headers: {}, body: Buffer.from("4242424242424242") } as const;
  await withGatewayIo(
    {
      ...deps,
      outbound: { send: () => Promise.resolve(answers.shift()!) },
      log: { warn: (event, fields) => void lines.push({ event, ...fields }) },
    },
    scope,
    async (io) => {
      while (answers.length > 0) await io.send(request);
    },
  );
  assert.deepEqual(lines, [
    { event: "gateway_not_reached", session: "s", gateway: "stripe", reason: "address not allowed" },
    { event: "gateway_answer_lost", session: "s", gateway: "stripe", reason: "connection reset" },
  ]);
});

/** What pg says of a connection that the server ended, and of a text that it does not take. */
const BROKEN = Object.assign(new Error("terminating connection due to administrator command"), { code: "57P01" });
const REFUSED = Object.assign(new Error("unsupported Unicode escape sequence"), { code: "22P05" });

/** Notes with `note` as an adapter does, while time passes; rejects as the note does. */
async function noteThrough(note: IoScope["note"]): Promise<void> {
  let isOver = false;
  const noting = withGatewayIo(deps, { ...scope, note }, (io) => io.note({ payment: "1" })).finally(() => (isOver = true));
  const passing = async () => {
    while (!isOver) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all([noting, passing()]);
}

test("what is noted while the database's connection breaks is written over the next one, before the gateway is asked further (R-286)", async () => {
  const faults = [BROKEN, BROKEN];
  const written: object[] = [];
  await noteThrough((notes) => (faults.length > 0 ? Promise.reject(faults.shift()!) : Promise.resolve(void written.push(notes))));
  assert.deepEqual([written, faults], [[{ payment: "1" }], []]);
});

test("a note is tried no longer than the attempt may take, and one that the database refuses is not tried again", async () => {
  let tries = 0;
  const failing = (error: Error) => () => (tries++, Promise.reject(error));
  await assert.rejects(noteThrough(failing(REFUSED)), REFUSED);
  assert.equal(tries, 1);

  const began = clock.monotonic();
  await assert.rejects(noteThrough(failing(BROKEN)), BROKEN);
  assert.ok(tries > 5, `${tries} tries`);
  assert.ok(clock.monotonic() - began <= scope.deadlineMs + 100);
});
