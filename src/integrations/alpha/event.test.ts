import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "#src/kernel/json.ts";
import { ALPHA_CALL, ALPHA_CALL_ID, ALPHA_LEGACY, ALPHA_OTHERS, ALPHA_SPELLINGS, alphaMessage, CALLER } from "../testing.ts";
import type { Json } from "../types.ts";
import { type AlphaEvent, readAlphaEvent } from "./event.ts";

const sent = (body: object) => parseJson(JSON.stringify(body), { numbers: "text" }) as Json;
const read = (body: object) => readAlphaEvent(sent(body), "US");
const toolCalls = (event: AlphaEvent) =>
  event.kind === "tool calls" ? event.calls.map(({ id, name, args }) => [id, name, JSON.stringify(args)]) : event.kind;
const ARGS = JSON.stringify(sent({ amount: 42.5, description: "Deposit order 118" }));

for (const [spelling, body] of Object.entries(ALPHA_SPELLINGS)) {
  test(`a tool call of the first platform is read from its spelling "${spelling}" (R-380, R-384)`, () => {
    const event = read(body());
    assert.deepEqual(toolCalls(event), [["call_syn_A1", "collect_payment", ARGS]]);
    assert.partialDeepStrictEqual(event, { legacy: false, call: { id: ALPHA_CALL_ID, caller: CALLER } });
  });
}

for (const [spelling, body] of Object.entries(ALPHA_LEGACY)) {
  test(`the event that came before tools is read with its ${spelling} (R-380, R-384)`, () => {
    const event = read(body());
    assert.deepEqual(toolCalls(event), [[null, "collect_payment", ARGS]]);
    assert.equal(event.kind === "tool calls" && event.legacy, true);
  });
}

test("several calls of one message keep their order, and one that is there twice is one (R-380)", () => {
  const call = (id: string) => ({ id, function: { name: "collect_payment", arguments: {} } });
  const event = read(alphaMessage("tool-calls", { toolCallList: [call("b"), call("a"), call("b"), "no call", null] }));
  assert.deepEqual(event.kind === "tool calls" && event.calls.map(({ id }) => id), ["b", "a"]);
});

test("a list of one that came without its brackets is one call (R-380)", () => {
  const toolCallList = { id: "a", function: { name: "collect_payment", arguments: { amount: 1 } } };
  assert.deepEqual(toolCalls(read(alphaMessage("tool-calls", { toolCallList }))), [
    ["a", "collect_payment", JSON.stringify(sent({ amount: 1 }))],
  ]);
});

test("arguments that are no object are told from none at all (R-384)", () => {
  const argsOf = (args: unknown) => {
    const event = read(ALPHA_SPELLINGS["toolCalls alone"]!({ args }));
    return event.kind === "tool calls" ? JSON.stringify(event.calls[0]!.args) : "";
  };
  for (const none of ["", "  ", "{}", {}]) assert.equal(argsOf(none), "{}");
  for (const wrong of ["{", "[1]", "42", [1], 42, true]) assert.equal(argsOf(wrong), "null", JSON.stringify(wrong));
});

test("a tool's schema is never taken for a call's arguments (R-384)", () => {
  const schema = { type: "object", properties: { amount: { type: "number" } } };
  const event = read(
    alphaMessage("tool-calls", {
      toolWithToolCallList: [{ function: { name: "collect_payment", parameters: schema }, toolCall: { id: "x" } }],
    }),
  );
  assert.deepEqual(toolCalls(event), [["x", "collect_payment", "{}"]]);
});

test("the caller is the customer of the call, of the message, or of the SIP address, and in a browser there is none (R-385)", () => {
  const callerOf = (customer: object | undefined, ofMessage?: object) =>
    read(alphaMessage("tool-calls", { ...(ofMessage && { customer: ofMessage }) }, { ...ALPHA_CALL, customer })) as {
      call: { caller: string | null };
    };
  assert.equal(callerOf({ number: "+1 (415) 555-0123" }).call.caller, CALLER);
  assert.equal(callerOf(undefined, { number: CALLER }).call.caller, CALLER);
  assert.equal(callerOf({ sipUri: `sip:${CALLER}@pbx.example;transport=tcp` }).call.caller, CALLER);
  assert.equal(callerOf({ sipUri: "sip:ada@pbx.example" }).call.caller, null);
  assert.equal(callerOf({ number: "anonymous" }).call.caller, null);
  assert.equal(callerOf(undefined).call.caller, null);
});

test("what is no tool call is an event, named only where the platform has such a one (R-380)", () => {
  for (const body of ALPHA_OTHERS) assert.equal(read(body).kind, "other", JSON.stringify(body));
  assert.deepEqual(read(alphaMessage("status-update", {})), { kind: "other", type: "status-update" });
  assert.deepEqual(read(alphaMessage("4242 4242 4242 4242", {})), { kind: "other", type: "unknown" });
  assert.deepEqual(read({ message: { type: "constructor", constructor: {} } }), { kind: "other", type: "unknown" });
});
