import assert from "node:assert/strict";
import { test } from "node:test";
import { ANSWER, OFFER, testAgent } from "./testing.ts";

test("a call is made and ended over IPv6, its addresses in brackets wherever a port may follow (RFC 3261 section 25.1)", async () => {
  const options = { host: "::1", publicHost: "::1", trunks: ["::1/128"] };
  const [caller, callee] = [await testAgent(options), await testAgent(options)];
  for (const transport of ["udp", "tcp"] as const) {
    const { answered } = caller.agent.invite({
      target: `sip:pay@[::1]:${callee.port};transport=${transport}`,
      from: "sip:a@[::1]",
      offer: OFFER,
      ringTimeoutMs: 20_000,
    });
    const incoming = await callee.calls.next();
    assert.match(incoming.request.header("Via") ?? "", new RegExp(`^SIP/2\\.0/${transport.toUpperCase()} \\[::1\\]:${caller.port};`));
    assert.match(incoming.request.header("Contact") ?? "", new RegExp(`^<sip:a?@?\\[::1\\]:${caller.port}`));
    assert.equal(incoming.source.address, "::1");
    const [theirs] = await Promise.all([incoming.answer(ANSWER), answered]);
    const { dialog } = await answered;
    const ended = new Promise((resolve) => (theirs.onBye = resolve));
    await dialog.bye();
    assert.equal(await ended, "bye");
  }
  await Promise.all([caller.agent.stop(), callee.agent.stop()]);
});

test("an IPv6 address may be spelled in any way: whoever answers from it is who was asked", async () => {
  const LONG = "[0:0:0:0:0:0:0:1]";
  const callee = await testAgent({ host: "::1", publicHost: "::1", trunks: ["::1"] });
  const caller = await testAgent({ host: "::1", publicHost: "::1", trunks: [] });
  for (const transport of ["udp", "tcp"] as const) {
    const target = `sip:pay@${LONG}:${callee.port};transport=${transport}`;
    const { answered } = caller.agent.invite({ target, from: `sip:a@${LONG}`, offer: OFFER, ringTimeoutMs: 20_000 });
    const [theirs] = await Promise.all([(await callee.calls.next()).answer(ANSWER), answered]);
    await theirs.bye();
    assert.equal(await caller.agent.options(target), 200);
  }
  await Promise.all([caller.agent.stop(), callee.agent.stop()]);
});

test("a listener on :: takes calls of both families, and answers an IPv4 peer by its IPv4 address", async () => {
  const callee = await testAgent({ host: "::", publicHost: "127.0.0.1", trunks: ["::1/128", "127.0.0.1"] });
  const caller = await testAgent();
  for (const transport of ["udp", "tcp"] as const) {
    const { answered } = caller.agent.invite({
      target: `sip:pay@127.0.0.1:${callee.port};transport=${transport}`,
      from: "sip:a@127.0.0.1",
      offer: OFFER,
      ringTimeoutMs: 20_000,
    });
    const incoming = await callee.calls.next();
    assert.equal(incoming.source.address, "127.0.0.1");
    const [theirs, ours] = await Promise.all([incoming.answer(ANSWER), answered]);
    const ended = new Promise((resolve) => (ours.dialog.onBye = resolve));
    await theirs.bye();
    assert.equal(await ended, "bye");
  }
  await Promise.all([caller.agent.stop(), callee.agent.stop()]);
});
