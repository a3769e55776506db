import type { Declined, GatewayAnswer, Unknown } from "../contract.ts";
import { codeOfStatus } from "./code-table.ts";
import { type JsonObject, readJson } from "./json.ts";
import { declined, unknown } from "./outcomes.ts";

/** An answer that arrived. */
export type Answered = Extract<GatewayAnswer, { kind: "answered" }>;

/** What the request may have done by the time its answer is lost: nothing that matters, or taken money or stored a card. */
export type Effect = "nothing" | "money";

export interface AnswerRule<Body> {
  effect: Effect;
  /** Reads a body; null when it is none of the vendor's. */
  read: (body: Uint8Array) => Body | null;
  /** Statuses whose body says what became of the request. Below 500, but for 408, 409, 425 and 429, when absent. */
  readable?: (status: number) => boolean;
  /**
   * Whether the body of a refusal (4xx) is in the vendor's words. One that is not was said by something on the way there, or on the way
   * back, and is as good as none.
   */
  isVendors?: (body: Body) => boolean;
  /** Whether a body says that the request was granted. Beside a status that is no success it is neither a yes nor a no. */
  approves?: (body: Body) => boolean;
  /** Where the vendor does not say that nothing ran: its 429 is looked up. */
  flood?: "unclear";
  /** What a status says by itself, whatever else the body holds; undefined where the body says it. */
  refused?: (status: number) => Declined | undefined;
}

/** Statuses of a caller who may not ask: told before anything runs. */
export const shutOut = (status: number): Declined | undefined =>
  status === 401 || status === 403 ? declined("gateway_credentials_invalid") : undefined;

export interface Read<Body> {
  status: number;
  headers: Answered["headers"];
  body: Body;
}

/**
 * The body of an answer, or what it means that there is none:
 *
 * | | the request can do nothing | it can take money |
 * |---|---|---|
 * | not sent | gateway_unavailable | gateway_unavailable |
 * | lost | gateway_unavailable | unknown |
 * | 429 | gateway_unavailable | gateway_unavailable (nothing ran), or unknown by `flood` |
 * | 5xx, 408, 409, 425 | gateway_unavailable | unknown |
 * | 401, 403, body unreadable | by the status | by the status (who may not ask is told before anything runs) |
 * | other 4xx, body unreadable or not the vendor's | by the status | unknown |
 * | other, body unreadable | processing_error | unknown |
 * | not 2xx, body approves | | unknown |
 * | `refused` | as it says | as it says |
 */
export function triage<Body>(
  answer: GatewayAnswer,
  rule: AnswerRule<Body> & { effect: "nothing"; approves?: never },
): Read<Body> | Declined;
export function triage<Body>(answer: GatewayAnswer, rule: AnswerRule<Body>): Read<Body> | Declined | Unknown;
export function triage<Body>(
  answer: GatewayAnswer,
  { effect, read, readable = saysOutcome, isVendors, approves, flood, refused }: AnswerRule<Body>,
): Read<Body> | Declined | Unknown {
  if (answer.kind === "not sent") return declined("gateway_unavailable");
  if (answer.kind === "lost") return effect === "money" ? unknown("the vendor's answer was lost") : declined("gateway_unavailable");
  const { status, headers } = answer;
  if (status === 429 && effect === "money" && flood === "unclear") return unknown("status 429");
  const anyBody = read(answer.body);
  const body = readable(status) && !isForeign(status, anyBody, isVendors) ? anyBody : null;
  const isContradiction = anyBody !== null && (status < 200 || status > 299) && (approves?.(anyBody) ?? false);
  if (isContradiction) return unknown(`an approval with status ${status}`);
  const told = refused?.(status);
  if (told !== undefined) return told;
  if (body !== null) return { status, headers, body };
  if (status === 429) return declined("gateway_unavailable");
  if (effect === "money" && status !== 401 && status !== 403) return unknown(`status ${status} with a body that says nothing`);
  if (status >= 500 || !saysOutcome(status)) return declined("gateway_unavailable");
  return declined(codeOfStatus(status) ?? "processing_error");
}

/** The body of an answer to a look-up; null when the vendor did not say: never "there is no such payment". */
export function lookUpBody<Body>(
  answer: GatewayAnswer,
  read: (body: Uint8Array) => Body | null,
  statuses: readonly number[] = [200],
): Body | null {
  return answer.kind === "answered" && statuses.includes(answer.status) ? read(answer.body) : null;
}

/**
 * Whether a refusal (4xx) is in none of the vendor's words, and so says nothing of what became of the request. Of those who may not ask
 * (401, 403) nothing was done, whoever says so; a flood (429) has a rule of its own.
 */
export function isForeign<Body>(status: number, body: Body | null, isVendors: ((body: Body) => boolean) | undefined): boolean {
  const isRefusal = status >= 400 && status < 500 && ![401, 403, 429].includes(status);
  return isRefusal && body !== null && isVendors?.(body) === false;
}

/** Whether an answer is no JSON object, or a refusal in none of the vendor's words. */
export function isUnclear({ status, body }: Answered, isVendors: (body: JsonObject) => boolean): boolean {
  const read = readJson(body);
  return read === null || isForeign(status, read, isVendors);
}

function saysOutcome(status: number): boolean {
  return status < 500 && ![408, 409, 425, 429].includes(status);
}
