import type { Session } from "#src/sessions/index.ts";
import type { ToolAnswer, ToolCall } from "../types.ts";

/**
 * Answers to the first platform: always a 200, for it reads nothing else, and results that are text in one line, for it shows
 * nothing else to the model.
 */

/** The answer to an event that needs none. */
export const ACKNOWLEDGED = {};

/** One entry for each call, in their order. */
export function toolResults(calls: readonly ToolCall[], answers: readonly ToolAnswer[]): object {
  return {
    results: calls.map(({ id, name }, index) => {
      const answer = answers[index]!;
      const entry = { ...(id !== null && { toolCallId: id }), name };
      return answer.kind === "answer" ? { ...entry, result: textOf(answer) } : { ...entry, error: textOf(answer) };
    }),
  };
}

/** The answer to the event that came before tools. */
export function legacyResult(answer: ToolAnswer): object {
  return { result: textOf(answer) };
}

/** The answer to a request for a destination that there is none for. */
export function noDestination(answer: ToolAnswer): object {
  return { error: textOf(answer) };
}

function textOf(answer: ToolAnswer): string {
  return oneLine(answer.kind === "answer" ? JSON.stringify(answer.fields) : `${answer.message}. ${answer.next}`);
}

/** JSON escapes line feeds in its texts; what else ends a line is taken out too. */
function oneLine(text: string): string {
  return text.replace(/[\s\u0085]+/g, " ").trim();
}

/**
 * Where the call goes: the session's SIP address, which names the session by itself, and headers that say the same where they survive.
 * `dial`: the platform places the call; a REFER fails on legs that are not SIP.
 */
export function transferDestination({ id, caller }: Pick<Session, "id" | "caller">, sipUri: string): object {
  return {
    type: "sip",
    sipUri,
    sipHeaders: { "X-Session-Id": id, ...(caller !== null && { "X-Caller": caller }) },
    message: "",
    transferPlan: { mode: "blind-transfer", sipVerb: "dial" },
  };
}
