import { hash } from "node:crypto";
import type { RequestName } from "#src/sessions/index.ts";
import type { Delivery, ToolCall } from "./types.ts";

/**
 * By what a repeated delivery is known: the platform's ids, and where it gives none of its own to a tool call, what was asked. Names are
 * digests: what platforms call their calls is no business of the database. They belong to the organisation, whichever of its keys is used.
 */

/** The telephone call's: all that was asked for in it has this `apiKeyId` and `path`. */
export function callName({
  platform,
  requester,
  call,
}: Pick<Delivery, "platform" | "requester" | "call">): Pick<RequestName, "apiKeyId" | "path"> {
  const name = call.id === null ? "" : `/${digest(call.id)}`;
  return { apiKeyId: requester.organizationId, path: `/integrations/${platform}/webhook#${requester.environment}${name}` };
}

export function toolCallName(tool: ToolCall, body: object, delivery: Delivery): RequestName {
  const key = tool.id === null ? digest(JSON.stringify([tool.name, body])) : digest(tool.id);
  return { ...callName(delivery), key };
}

/** The name of the same request once the session that it made before is over. */
export function nextName(name: RequestName, sessionId: string): RequestName {
  return { ...name, key: digest(`${name.key} ${sessionId}`) };
}

function digest(text: string): string {
  return hash("sha256", text, "base64url");
}
