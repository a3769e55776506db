import type { JsonValue } from "#src/kernel/json.ts";
import { readCaller } from "../caller.ts";
import { argumentsOf, isObject, memberOf, objectIn, textIn } from "../json.ts";
import type { Json, PlatformCall, ToolCall } from "../types.ts";

/** What the first platform sends: `{"message": {"type": ..., ...}}`. */
export type AlphaEvent =
  /** `legacy`: the event that came before tools, one call without an id, answered in a form of its own. */
  | { kind: "tool calls"; legacy: boolean; call: PlatformCall; calls: ToolCall[] }
  /** Where is the call to be transferred? `args`: those of the transfer tool. */
  | { kind: "transfer destination"; call: PlatformCall; args: Json | null }
  /** A call has come to the platform's number, and who is to answer it? */
  | { kind: "assistant request"; call: PlatformCall }
  /** `type` is one that is known, or "unknown". */
  | { kind: "other"; type: string };

/** Events that need no answer. What is not here is answered alike; its name is not logged, for anybody may have written it. */
const KNOWN: ReadonlySet<string> = new Set([
  "assistant.speechStarted",
  "assistant.started",
  "call.deleted",
  "call.endpointing.request",
  "chat.created",
  "chat.deleted",
  "conversation-update",
  "end-of-call-report",
  "handoff-destination-request",
  "hang",
  "knowledge-base-request",
  "language-change-detected",
  "model-output",
  "phone-call-control",
  "session.created",
  "session.deleted",
  "session.updated",
  "speech-update",
  "status-update",
  "transcript",
  'transcript[transcriptType="final"]',
  "transfer-update",
  "user-interrupted",
  "voice-input",
  "voice-request",
  "workflow.node.started",
]);

/** The same call stands in up to three lists; the first that has any is read. */
const LISTS = ["toolCallList", "toolCalls", "toolWithToolCallList"] as const;

/** `country`: the project's, for numbers without their plus. */
export function readAlphaEvent(body: Json, country: string | null): AlphaEvent {
  const message = objectIn(body, "message");
  const type = textIn(message, "type") ?? "";
  const call = callOf(message, country);
  if (type === "tool-calls") return { kind: "tool calls", legacy: false, call, calls: toolCallsOf(message) };
  if (type === "function-call") return { kind: "tool calls", legacy: true, call, calls: [legacyCallOf(message)] };
  if (type === "transfer-destination-request") return { kind: "transfer destination", call, args: legacyCallOf(message).args };
  if (type === "assistant-request") return { kind: "assistant request", call };
  return { kind: "other", type: KNOWN.has(type) ? type : "unknown" };
}

function toolCallsOf(message: Json): ToolCall[] {
  for (const list of LISTS) {
    const value = memberOf(message, list);
    // A list of one, without its brackets.
    const items = isObject(value) ? [value] : value;
    if (!Array.isArray(items) || items.length === 0) continue;
    const calls = items.flatMap((item) => (isObject(item) ? [toolCallOf(item, list === "toolWithToolCallList")] : []));
    const seen = new Set<string>();
    return calls.filter(({ id }) => id === null || (!seen.has(id) && seen.add(id)));
  }
  return [];
}

/**
 * One call in any of its spellings: `{id, function: {name, arguments}}`, `{id, name, arguments}`, `{id, name, parameters}`, and each of them as
 * `toolCall` of the tool. `function.parameters` of a tool is the schema of its arguments; only in a call it is the arguments.
 */
function toolCallOf(item: Json, isTool: boolean): ToolCall {
  const inner = memberOf(item, "toolCall");
  const call: Json = isObject(inner) ? inner : item;
  const named = objectIn(call, "function");
  const isCall = isObject(inner) || !isTool;
  const candidates: (JsonValue | undefined)[] = [
    memberOf(named, "arguments"),
    memberOf(call, "arguments"),
    isCall ? memberOf(named, "parameters") : undefined,
    isCall ? memberOf(call, "parameters") : undefined,
  ];
  return {
    id: textIn(call, "id") ?? textIn(item, "id"),
    name: textIn(named, "name") ?? textIn(call, "name") ?? textIn(item, "name") ?? textIn(objectIn(item, "function"), "name") ?? "",
    args: argumentsOf(candidates.find((value) => value !== undefined && value !== null)),
  };
}

function legacyCallOf(message: Json): ToolCall {
  const call = objectIn(message, "functionCall");
  return {
    id: textIn(call, "id"),
    name: textIn(call, "name") ?? "",
    args: argumentsOf(memberOf(call, "parameters") ?? memberOf(call, "arguments")),
  };
}

function callOf(message: Json, country: string | null): PlatformCall {
  const call = objectIn(message, "call");
  const customers = [objectIn(call, "customer"), objectIn(message, "customer")];
  const numbers = [...customers.map((customer) => textIn(customer, "number")), ...customers.map((customer) => textIn(customer, "sipUri"))];
  return {
    id: textIn(call, "id"),
    isWeb: textIn(call, "type") === "webCall",
    caller: numbers.map((number) => (number === null ? null : readCaller(number, country))).find((number) => number !== null) ?? null,
    controlUrl: textIn(objectIn(call, "monitor"), "controlUrl"),
  };
}
