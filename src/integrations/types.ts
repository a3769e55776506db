import type { Requester } from "#src/checkout/index.ts";
import type { JsonValue } from "#src/kernel/json.ts";

/** The voice platforms, by the names that the interface has for them (docs/interface.md, Platform webhooks). */
export type Platform = "alpha" | "beta";

export type Json = { readonly [key: string]: JsonValue };

/** One call of a tool, as the agent's model made it. */
export interface ToolCall {
  /** The platform's; null where it gives none. */
  id: string | null;
  name: string;
  /** Null: what was sent is not a JSON object. */
  args: Json | null;
}

/** The telephone call in which the agent speaks. */
export interface PlatformCall {
  id: string | null;
  /** From a browser: it has no number, and cannot be transferred. */
  isWeb: boolean;
  /** E.164: whoever the agent speaks with. Null: none was told, as in a call from a browser. */
  caller: string | null;
  /** Where the platform takes commands for this call. */
  controlUrl: string | null;
}

/** What the merchant has fixed in the tool's address. It wins over what the model says: the model is not to be trusted with it. */
export interface Terms {
  project?: string | undefined;
  mode?: string | undefined;
  gateway?: string | undefined;
  amount?: string | undefined;
  /** Only where neither arguments nor event name one. */
  caller?: string | undefined;
  description?: string | undefined;
  callback?: string | undefined;
  stripe_account?: string | undefined;
  /** `control`: this service has the platform transfer the call, where the platform can be told to. */
  transfer?: string | undefined;
  /** The tool that is meant where the request does not say. */
  tool?: string | undefined;
}

/** A tool call with what is known of where it came from. */
export interface Delivery {
  platform: Platform;
  requester: Requester;
  /** The project of the tool's address, whose secret the request has shown; null: there is none of that name. Other projects' payments are not told of. */
  projectId: string | null;
  /** The project's, for telephone numbers without their plus. */
  country: string | null;
  terms: Terms;
  /** The first parameter of the tool's address that is none, or whose value cannot be; null: there is none. */
  wrongParameter: string | null;
  call: PlatformCall;
}

/** What a tool tells the agent. Flat, so that platforms can take variables from it. */
export type ToolAnswer =
  | { kind: "answer"; fields: Readonly<Record<string, string | number>> }
  /** `message` says what is wrong, `say` what the caller may be told, `next` what the agent should do. */
  | { kind: "error"; code: string; message: string; say: string; next: string };
