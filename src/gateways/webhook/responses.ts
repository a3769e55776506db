import { JsonNumber } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import type { DeclineCode, Mode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, ProcessorFields } from "../contract.ts";
import { readJsonObject, textAt } from "../kit/json.ts";
import type { JsonObject } from "../kit/json.ts";
import { words } from "../kit/scrub.ts";

/**
 * What the merchant's endpoint decided. There is no unknown here: an answer that is lost, late or no valid JSON fails the
 * session with `webhook_gateway_error`.
 */
export function readDecision(answer: GatewayAnswer, mode: Mode): Approved | Declined {
  if (answer.kind === "not sent") return noDecision("the card could not be sent");
  if (answer.kind === "lost") return noDecision("the card was sent and no whole answer came: the endpoint may have acted on it");
  if (answer.status < 200 || answer.status > 299) return noDecision(`the endpoint answered with status ${answer.status}`);
  if ((answer.headers["content-encoding"] ?? "identity") !== "identity") return noDecision("the endpoint's answer is compressed");
  const body = readJsonObject(answer.body, "text");
  if (body === null) return noDecision("the endpoint's answer is not one valid JSON object");
  if (body["success"] === true) return { outcome: "approved", capture: "captured", processor: idsOf(body, mode) };
  if (body["success"] === false) return refused(body);
  return noDecision("the endpoint's answer has no boolean success");
}

export function noDecision(reason: string): Declined {
  return { outcome: "declined", code: "webhook_gateway_error", message: null, processor: {}, reason };
}

function idsOf(body: JsonObject, mode: Mode): ProcessorFields {
  const transaction = idFrom(body["transaction_id"]);
  const token = mode === "tokenize" ? idFrom(body["token"]) : undefined;
  return { ...(transaction && { webhook_transaction_id: transaction }), ...(token && { webhook_token: token }) };
}

/** A string of at most 255 characters, or an integer in its own digits; anything else is ignored. */
function idFrom(value: JsonValue | undefined): string | undefined {
  const text = value instanceof JsonNumber && /^-?[0-9]+$/.test(value.text) ? value.text : value;
  return typeof text === "string" && text.length <= 255 ? text : undefined;
}

/** The merchant's own code and words, cut to a safe form; `card_declined` when there is no code. */
function refused(body: JsonObject): Declined {
  const given = (textAt(body, "error_code") ?? "")
    .replace(/[^A-Za-z0-9_.-]+/g, "")
    .replace(/[0-9]{12,}/g, "")
    .slice(0, 64);
  const ours = Object.hasOwn(DECLINES, given) ? (given as DeclineCode) : "card_declined";
  return {
    outcome: "declined",
    code: ours,
    ...(given !== "" && given !== ours && { publicCode: given }),
    message: words(textAt(body, "error_message")),
    processor: {},
  };
}
