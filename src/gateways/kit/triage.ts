import type { Declined, GatewayAnswer, Unknown } from "../contract.ts";
import { codeOfStatus } from "./code-table.ts";
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
}

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
 * | 429 | gateway_unavailable | gateway_unavailable (nothing ran) |
 * | 5xx, 408, 409, 425 | gateway_unavailable | unknown |
 * | 401, 403, body unreadable | by the status | by the status (who may not ask is told before anything runs) |
 * | other 4xx, body unreadable | by the status | unknown |
 * | other, body unreadable | processing_error | unknown |
 */
export function triage<Body>(answer: GatewayAnswer, rule: AnswerRule<Body> & { effect: "nothing" }): Read<Body> | Declined;
export function triage<Body>(answer: GatewayAnswer, rule: AnswerRule<Body>): Read<Body> | Declined | Unknown;
export function triage<Body>(
  answer: GatewayAnswer,
  { effect, read, readable = saysOutcome }: AnswerRule<Body>,
): Read<Body> | Declined | Unknown {
  if (answer.kind === "not sent") return declined("gateway_unavailable");
  if (answer.kind === "lost") return effect === "money" ? unknown("the vendor's answer was lost") : declined("gateway_unavailable");
  const { status, headers } = answer;
  const body = readable(status) ? read(answer.body) : null;
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

function saysOutcome(status: number): boolean {
  return status < 500 && ![408, 409, 425, 429].includes(status);
}
