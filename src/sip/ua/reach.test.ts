import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Resolver } from "../transport/locate.ts";
import type { SipLogFields } from "./agent.ts";
import { InviteFailed } from "./errors.ts";
import { ANSWER, Inbox, OFFER, rawUdp, testAgent } from "./testing.ts";
import type { InviteOptions } from "./outgoing-call.ts";
import type { UserAgentOptions } from "./user-agent.ts";

/** A callback's host is chosen by a merchant, and what it leads to by whoever answers for that name (S-50). */

const open: { stop(): Promise<void> }[] = [];
after(() => Promise.all(open.map((agent) => agent.stop())));

async function agent(options: Partial<UserAgentOptions> = {}) {
  const made = await testAgent(options);
  open.push(made.agent);
  return made;
}

/** A caller that may reach one address, and what it refused to send. */
async function cautious(allowed: string, options: Partial<UserAgentOptions> = {}) {
  const refusals = new Inbox<SipLogFields | undefined>();
  const log = {
    debug: () => {},
    warn: (event: string, fields?: SipLogFields) => void (event === "sip_address_not_allowed" && refusals.put(fields)),
  };
  const made = await agent({ trunks: [], mayReach: async (address, port) => address === allowed && port > 1023, log, ...options });
  const invite = (target: string, more: Partial<InviteOptions> = {}) =>
    made.agent.invite({ target, from: "sip:pay@till.example", offer: OFFER, ringTimeoutMs: 20_000, ...more });
  return { invite, refusals };
}

const unreachable = (error: unknown) => error instanceof InviteFailed && error.status === 503;

test("an address that may not be reached is sent nothing, written as it is or found by name or service record (S-50)", async () => {
  const internal = await rawUdp(9);
  const resolver: Resolver = {
    addresses: async (name) => (name === "rebound.example" || name === "inside.example" ? ["127.0.0.1"] : []),
    services: async (name) =>
      name === "_sip._udp.services.example" ? [{ name: "inside.example", port: internal.port, priority: 1, weight: 1 }] : [],
  };
  const { invite, refusals } = await cautious("192.0.2.1", { resolver });
  for (const host of [`127.0.0.1:${internal.port}`, `rebound.example:${internal.port}`, "services.example"]) {
    await assert.rejects(invite(`sip:agent@${host}`).answered, unreachable, host);
    assert.deepEqual(await refusals.next(), { method: "INVITE", host: "127.0.0.1", port: internal.port });
  }
  assert.deepEqual(internal.octets.waiting, []);
  await internal.close();
});

test("a port that may not be reached is sent nothing, written as it is or found by service record (S-50)", async () => {
  const resolver: Resolver = {
    addresses: async () => ["127.0.0.1"],
    services: async () => [{ name: "inside.example", port: 25, priority: 1, weight: 1 }],
  };
  const { invite, refusals } = await cautious("127.0.0.1", { resolver });
  for (const [target, port] of [
    ["sip:agent@127.0.0.1:22", 22],
    ["sip:agent@127.0.0.1:1023;transport=tcp", 1023],
    ["sip:agent@services.example", 25],
  ] as const) {
    await assert.rejects(invite(target).answered, unreachable, target);
    assert.deepEqual(await refusals.next(), { method: "INVITE", host: "127.0.0.1", port });
  }
});

test("one call can be kept from addresses that others may reach, a trunk's among them (R-330)", async () => {
  const trunk = await rawUdp(9);
  const { invite, refusals } = await cautious("192.0.2.1", { trunks: ["127.0.0.1"] });
  const { answered } = invite(`sip:+19005551234@localhost:${trunk.port}`, { mayReach: async (address) => address !== "127.0.0.1" });
  await assert.rejects(answered, unreachable);
  assert.deepEqual((await refusals.next())?.host, "127.0.0.1");
  assert.deepEqual(trunk.octets.waiting, []);
  await trunk.close();
});

test("a trunk may be reached whatever else may not", async () => {
  const callee = await agent();
  const { invite } = await cautious("192.0.2.1", { trunks: ["127.0.0.1"] });
  const { answered } = invite(`sip:agent@127.0.0.1:${callee.port}`);
  const [{ dialog }] = await Promise.all([answered, callee.calls.next().then((incoming) => incoming.answer(ANSWER))]);
  await dialog.bye();
});

test("an answer's Contact leads to no address that may not be reached (S-50)", async () => {
  const callee = await agent({ publicHost: "127.0.0.2" });
  const { invite, refusals } = await cautious("127.0.0.1");
  const { answered } = invite(`sip:agent@127.0.0.1:${callee.port}`);
  const incoming = await callee.calls.next();
  void incoming.answer(ANSWER).catch(() => {});
  await answered;
  assert.deepEqual(await refusals.next(), { method: "ACK", host: "127.0.0.2", port: callee.port });
});
