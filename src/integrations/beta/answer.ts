import type { ToolAnswer } from "../types.ts";

/**
 * The answer to the second platform: always a 200, for anything else is sent again, and flat, for its variables are taken from
 * it by name.
 */
export function betaAnswer(answer: ToolAnswer): object {
  if (answer.kind === "answer") return answer.fields;
  const { code, message, say, next } = answer;
  return { status: "error", error: { code, message }, say, next };
}
