import { createHmac, timingSafeEqual } from "node:crypto";
import { UNIFORM_CARDS, brandOf, mask, passesLuhn } from "../kit/cards.ts";
import type { CardOutcome } from "../kit/cards.ts";
import type { Simulator, SimulatorAnswer, SimulatorRequest, SimulatorTools } from "../kit/simulator.ts";

/** The signing secret of `signing_secret` in card-forwarding settings that point at this receiver. */
const SIGNING_SECRET = "whsec_c2ltdWxhdG9yIHNlY3JldCBvZiBjYXJkIGZvcndhcmRpbmc=";
const TOLERANCE_SECONDS = 300;

interface Forwarded {
  type: string;
  session_id: string;
  environment: string;
  mode: string;
  amount: number;
  currency: string;
  description: string | null;
  caller: string | null;
  card: Record<string, string | null>;
}

const FIELDS = "amount,caller,card,currency,description,environment,mode,session_id,type";
const CARD_FIELDS = "brand,cardholder_name,cvv,exp_month,exp_year,last4,number,postal_code";

/** A merchant's card-forwarding endpoint: verifies the signature, decides by the uniform cards (docs/interface.md, Card forwarding). */
export function simulator(tools: SimulatorTools): Simulator {
  const decided = new Map<string, Exclude<SimulatorAnswer, "reset">>();

  const handle = async (request: SimulatorRequest): Promise<SimulatorAnswer> => {
    const fault = faultOf(request, tools.now());
    const body = fault === null ? read(request.body) : fault[1];
    if (typeof body === "string") {
      const status = fault?.[0] ?? 400;
      tools.record({ kind: "refused", id: null, reference: null, outcome: null, details: { status, why: body } });
      return { status, body: { error: body } };
    }
    await request.work();
    // The session's id is the idempotency key: a repeat gets the first decision and charges nothing.
    const first = decided.get(body.session_id);
    if (first !== undefined) return first;
    const outcome = UNIFORM_CARDS.get(body.card["number"] ?? "") ?? "approved";
    if (outcome === "reset") return "reset";
    const decision = decide(body, outcome, tools);
    decided.set(body.session_id, decision);
    return { ...decision, lost: outcome === "lost answer" };
  };
  return { handle };
}

/** Status and words of what is wrong with the request itself, or null. */
function faultOf({ method, headers, body, secure }: SimulatorRequest, nowMs: number): readonly [number, string] | null {
  if (method !== "POST") return [405, "only POST is taken"];
  if (!secure) return [403, "card data came over plain HTTP"];
  if (headers["content-type"] !== "application/json") return [415, "the content type is not application/json"];
  const parts = String(headers["x-signature"] ?? "")
    .split(",")
    .map((part) => part.split("="));
  const valuesOf = (name: string) => parts.filter((part) => part[0] === name).map((part) => part[1] ?? "");
  const [time = ""] = valuesOf("t");
  const expected = createHmac("sha256", SIGNING_SECRET).update(`${time}.`).update(body).digest("hex");
  const equal = (given: string) => given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
  if (!valuesOf("v1").some(equal)) return [401, "the signature does not fit"];
  return Math.abs(nowMs / 1000 - Number(time)) > TOLERANCE_SECONDS ? [401, "the signature is too old"] : null;
}

/** The body, field by field as the interface promises it, or what is wrong with it. */
function read(bytes: Buffer): Forwarded | string {
  let body: Forwarded;
  try {
    body = JSON.parse(bytes.toString()) as Forwarded;
  } catch {
    return "the body is not JSON";
  }
  const keys = (value: unknown) => (typeof value === "object" && value !== null ? Object.keys(value).sort().join() : "");
  if (keys(body) !== FIELDS) return `the body has not exactly the fields ${FIELDS}`;
  if (keys(body.card) !== CARD_FIELDS) return `card has not exactly the fields ${CARD_FIELDS}`;
  const { card } = body;
  const rules: readonly (readonly [boolean, string])[] = [
    [body.type === "payment_method.collected", "type is not payment_method.collected"],
    [/^[0-9a-f-]{36}$/.test(body.session_id), "session_id is no UUID"],
    [["test", "live"].includes(body.environment), "environment is neither test nor live"],
    [["charge", "tokenize"].includes(body.mode), "mode is neither charge nor tokenize"],
    [Number.isInteger(body.amount) && body.amount >= 0, "amount is no whole number"],
    [/^[A-Z]{3}$/.test(body.currency), "currency is no ISO code"],
    [body.caller === null || /^\+[0-9]{7,15}$/.test(body.caller), "caller is not E.164"],
    [passesLuhn(card["number"] ?? ""), "card.number is no card number"],
    [/^(0[1-9]|1[0-2])$/.test(card["exp_month"] ?? ""), "card.exp_month has not two digits"],
    [/^20[0-9]{2}$/.test(card["exp_year"] ?? ""), "card.exp_year has not four digits"],
    [card["cvv"] === null || /^[0-9]{3,4}$/.test(card["cvv"] ?? ""), "card.cvv has not 3 or 4 digits"],
    [card["last4"] === card["number"]?.slice(-4), "card.last4 does not fit card.number"],
    [
      typeof card["brand"] === "string" && [brandOf(card["number"] ?? ""), "unknown"].includes(card["brand"]),
      "card.brand does not fit card.number",
    ],
  ];
  return rules.find(([holds]) => !holds)?.[1] ?? body;
}

function decide(body: Forwarded, outcome: CardOutcome, tools: SimulatorTools): Exclude<SimulatorAnswer, "reset"> {
  const approved = outcome === "approved" || outcome === "lost answer";
  const id = approved ? tools.id("sim_", 16) : null;
  tools.record({
    kind: body.mode === "charge" ? "charge" : "token",
    id,
    reference: body.session_id,
    outcome: approved ? "approved" : "declined",
    amountMinor: body.amount,
    currency: body.currency,
    card: mask(body.card["number"] ?? ""),
    details: { environment: body.environment },
  });
  const words = `The card was declined: ${outcome.replaceAll("_", " ")}.`;
  if (!approved) return { status: 200, body: { success: false, error_code: outcome, error_message: words } };
  return { status: 200, body: { success: true, transaction_id: id, ...(body.mode === "tokenize" && { token: tools.id("tok_", 16) }) } };
}
