import { JsonNumber } from "#src/kernel/json.ts";
import { isDeclineCode } from "#src/kernel/payment.ts";
import type { Mode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** Longest message of a merchant's that is kept. */
const LONGEST_MESSAGE = 500;

/**
 * What the merchant's endpoint decided. There is no unknown here: an answer that is lost, late or no valid JSON fails the
 * session with `webhook_gateway_error`.
 */
export function readDecision(answer: GatewayAnswer, mode: Mode): Approved | Declined {
  if (answer.kind === "not sent") return noDecision("the card could not be sent");
  if (answer.kind === "lost") return noDecision("the card was sent and no whole answer came: the endpoint may have acted on it");
  if (answer.status < 200 || answer.status > 299) return noDecision(`the endpoint answered with status ${answer.status}`);
  // What follows the head of such an answer is nothing (RFC 9110, sections 15.3.5 and 15.3.6), whatever it looks like.
  if (answer.status === 204 || answer.status === 205)
    return noDecision(`the endpoint answered with status ${answer.status}, which has no body`);
  if (!/^identity$/i.test(answer.headers["content-encoding"] ?? "identity")) return noDecision("the endpoint's answer is compressed");
  const body = kit.readJson(answer.body);
  if (body === null) return noDecision("the endpoint's answer is not one valid JSON object");
  if (body["success"] === false) return refused(body);
  if (body["success"] !== true) return noDecision("the endpoint's answer has no boolean success");
  const token = mode === "tokenize" ? idFrom(body, "token") : undefined;
  return kit.approved({ webhook_transaction_id: idFrom(body, "transaction_id"), webhook_token: token });
}

export const noDecision = (reason: string): Declined => kit.declined("webhook_gateway_error", { reason });

/** A string, or an integer in its own digits; anything else is ignored. */
function idFrom(body: kit.JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value instanceof JsonNumber) return /^-?[0-9]+$/.test(value.text) ? value.text : undefined;
  return typeof value === "string" ? value : undefined;
}

/** The merchant's own code and words, cut to a safe form; `card_declined` when there is no code. */
function refused(body: kit.JsonObject): Declined {
  const given = (kit.words(kit.textAt(body, "error_code")) ?? "")
    .replace(/[^A-Za-z0-9_.-]+/g, "")
    .replace(/[0-9]{12,}/g, "")
    .slice(0, 64);
  const ours = isDeclineCode(given) ? given : "card_declined";
  const own = kit.words(kit.textAt(body, "error_message"), LONGEST_MESSAGE);
  return {
    ...kit.declined(ours),
    ...(given !== "" && given !== ours && { publicCode: given }),
    ...(own !== null && { publicMessage: own }),
  };
}
