import type { JsonValue } from "#src/kernel/json.ts";
import { readCaller } from "../caller.ts";
import { argumentsOf, memberOf, objectIn, textIn } from "../json.ts";
import type { Json, PlatformCall, ToolCall } from "../types.ts";

/** What the second platform sends: a function call, whole or its arguments alone. */
export type BetaRequest =
  | { kind: "tool call"; call: PlatformCall; tool: ToolCall }
  /** An account's webhook that was pointed here. */
  | { kind: "other"; type: string };

/** Events of an account's webhook. */
const KNOWN: ReadonlySet<string> = new Set([
  "call_started",
  "call_ended",
  "call_analyzed",
  "transcript_updated",
  "transfer_started",
  "transfer_bridged",
  "transfer_cancelled",
  "transfer_ended",
]);
/** Beside arguments that are the body itself. */
const NOT_ARGUMENTS: ReadonlySet<string> = new Set(["name", "call", "chat"]);
/** Words that the agent speaks meanwhile: no argument of ours, and not the same each time. */
const SPOKEN = "execution_message";

/** `tool`: what is meant where the body does not say; `country`: the project's, for numbers without their plus. */
export function readBetaRequest(body: Json, tool: string, country: string | null): BetaRequest {
  const name = textIn(body, "name");
  const event = textIn(body, "event");
  const args = memberOf(body, "args");
  if (name === null && event !== null && args === undefined && memberOf(body, "amount") === undefined) {
    return { kind: "other", type: KNOWN.has(event) ? event : "unknown" };
  }
  const given = args === undefined ? without(body, NOT_ARGUMENTS) : argumentsOf(args);
  return {
    kind: "tool call",
    call: callOf(objectIn(body, "call"), country),
    tool: { id: null, name: name ?? tool, args: given && without(given, new Set([SPOKEN])) },
  };
}

function without(object: Json, names: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name))) as Record<string, JsonValue>;
}

/** The customer is at the other end of the agent's own call: who called, or who was called. */
function callOf(call: Json, country: string | null): PlatformCall {
  const number = textIn(call, textIn(call, "direction") === "outbound" ? "to_number" : "from_number");
  const caller = number === null ? null : readCaller(number, country);
  return { id: textIn(call, "call_id"), isWeb: textIn(call, "call_type") === "web_call", caller, controlUrl: null };
}
