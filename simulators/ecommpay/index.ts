import { createHmac, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { UNIFORM_CARDS, brandOf, mask, passesLuhn } from "../kit/cards.ts";
import type { CardOutcome } from "../kit/cards.ts";
import type { Simulator, SimulatorAnswer, SimulatorRequest, SimulatorTools } from "../kit/simulator.ts";

/**
 * ecommpay's Gate API: requests are signed and queued, answers to status requests are signed too. A payment is unknown to
 * the first poll, at work at the second and settled from the third on.
 */

/** The key of every project here: the one of the vendor sheet's worked examples. */
const SECRET_KEY = "demo-secret-key";
/** A project without automatic tokens: its verified cards are kept by `/v2/customer/card/tokenize` only. */
const KEEPS_NO_CARDS = 99999;

type Members = Record<string, unknown>;

interface Card {
  number: string;
  month: number;
  year: number;
  holder: string;
}

interface Operation {
  id: string;
  type: "sale" | "account verification" | "refund" | "cancel";
  status: "success" | "decline" | "awaiting 3ds result";
  code: string;
  message: string;
  amount: number;
  at: string;
}

interface Payment {
  project: number;
  id: string;
  /** Its state once it is settled. */
  state: string;
  amount: number;
  currency: string;
  customer: string;
  card: Card;
  token: string | null;
  avs: string;
  operations: Operation[];
  polls: number;
}

interface State {
  payments: Map<string, Payment>;
  tokens: Map<string, { card: Card; customer: string; debitDeclines: boolean }>;
}

interface Call {
  tools: SimulatorTools;
  state: State;
  leaves: ReadonlyMap<string, Leaf>;
  project: number;
}

class Refused extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

interface Rule {
  required: boolean;
  readonly holds: (value: unknown) => boolean;
}

const may = (holds: Rule["holds"]): Rule => ({ required: false, holds });
const must = (holds: Rule["holds"]): Rule => ({ required: true, holds });
const text = (longest: number) => (value: unknown) => typeof value === "string" && value !== "" && value.length <= longest;
const like = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value);
const whole = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

type Rules = Readonly<Record<string, Rule>>;
const PROJECT = must(whole(1, 1e15));
const SIGNATURE = must(like(/^[A-Za-z0-9+/]{86}==$/));
const GENERAL: Rules = {
  "general:project_id": PROJECT,
  "general:payment_id": must(like(/^[A-Za-z0-9_-]{1,64}$/)),
  "general:signature": SIGNATURE,
};
const CUSTOMER: Rules = {
  "customer:id": must(text(255)),
  "customer:ip_address": must((value) => typeof value === "string" && isIP(value) > 0),
  "customer:email": may(text(255)),
  "customer:first_name": may(text(255)),
  "customer:last_name": may(text(255)),
};
const CARD: Rules = {
  "card:pan": must(like(/^[0-9]{12,19}$/)),
  "card:year": must(whole(2000, 2999)),
  "card:month": must(whole(0, 99)),
  "card:card_holder": must(text(255)),
};
const CURRENCY = must(like(/^[A-Z]{3}$/));
const PAYMENT: Rules = {
  ...GENERAL,
  ...CUSTOMER,
  "general:merchant_callback_url": may(text(255)),
  "payment:amount": must(whole(0, 1e12)),
  "payment:currency": CURRENCY,
  "payment:description": may(text(100)),
  "payment:moto_type": may(whole(1, 2)),
  "avs_data:avs_post_code": may(text(32)),
  "avs_data:avs_street_address": may(text(255)),
};
const WITH_CARD: Rules = {
  ...PAYMENT,
  ...CARD,
  "card:cvv": may(like(/^[0-9]{3,4}$/)),
  "card:save": may((value) => typeof value === "boolean"),
};

type Answered = Exclude<SimulatorAnswer, "reset">;

const ENDPOINTS: Readonly<Record<string, { rules: Rules; run(call: Call): SimulatorAnswer }>> = {
  "/v2/payment/card/sale": { rules: WITH_CARD, run: (call) => pay(call, "sale") },
  "/v2/payment/card/account_verification": { rules: WITH_CARD, run: (call) => pay(call, "account verification") },
  "/v2/payment/card/sale/token": { rules: { ...PAYMENT, token: must(like(/^[a-z]{64}$/)) }, run: payByToken },
  "/v2/payment/card/refund": {
    rules: {
      ...GENERAL,
      "payment:amount": must(whole(1, 1e12)),
      "payment:currency": CURRENCY,
      "payment:description": must(text(100)),
    },
    run: refund,
  },
  "/v2/payment/status": { rules: GENERAL, run: status },
  "/v2/customer/card/tokenize": {
    rules: { ...CUSTOMER, ...CARD, "customer:project_id": PROJECT, "customer:signature": SIGNATURE },
    run: makeToken,
  },
};

/** Code and words of each uniform card that is refused. */
const REFUSALS: Readonly<Partial<Record<CardOutcome, readonly [code: string, message: string]>>> = {
  card_declined: ["10000", "General decline"],
  insufficient_funds: ["10105", "Insufficient funds on card"],
  expired_card: ["10106", "Expired card"],
  incorrect_cvc: ["10103", "Invalid CVV"],
  lost_or_stolen: ["10203", "Lost or stolen card"],
  processing_error: ["10501", "Processing error"],
};
/** The vendor's own cards; any other well-formed number is approved. */
const VENDOR_REFUSALS: Readonly<Record<string, readonly [code: string, message: string]>> = {
  "4111111111111111": ["10000", "General decline"],
  "4539121411168251": ["10202", "Issuer is not available"],
};
const DEBIT_DECLINES_LATER = "4000000000000135";
const PARTIAL = ["5126160000356675", "4010571676223548"];
const PARTIAL_ABOVE = 12_000;
/** Cards with a 3-D Secure challenge, which an order by telephone does not meet. */
const CHALLENGED = ["4314220000000056", "5413330000000019", "5544330000000045"];

export function simulator(tools: SimulatorTools): Simulator {
  const state: State = { payments: new Map(), tokens: new Map() };
  return {
    handle: async (request) => {
      try {
        return await answer(request, tools, state);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const { status, code, message } = error;
        if (code !== "3061") tools.record({ kind: "refused", id: null, reference: null, outcome: null, details: { status, code } });
        return json(status, { status: "error", code, message, request_id: tools.id("", 40) });
      }
    },
  };
}

async function answer(request: SimulatorRequest, tools: SimulatorTools, state: State): Promise<SimulatorAnswer> {
  const { method, path, headers, body } = request;
  const endpoint = ENDPOINTS[path];
  if (endpoint === undefined || method !== "POST") throw new Refused("702", "Unknown request", 404);
  if (!/^application\/json(;|$)/.test(headers["content-type"] ?? "")) throw new Refused("2003", "The body is not JSON", 422);
  const members = parse(body);
  const leaves = new Map(leavesOf(members, ""));
  const signature = leaves.get("general:signature") ?? leaves.get("customer:signature");
  if (typeof signature !== "string") throw new Refused("3262", "Signature not provided");
  for (const [name, rule] of Object.entries(endpoint.rules)) {
    const value = leaves.get(name);
    if (value === undefined ? rule.required : !rule.holds(value))
      throw new Refused("2004", `Required field not provided or wrong: ${name}`);
  }
  const unknown = [...leaves.keys()].find((name) => endpoint.rules[name] === undefined);
  if (unknown !== undefined) throw new Refused("2004", `Unknown field: ${unknown}`);
  if (!equal(signature, signatureOf(members))) throw new Refused("3261", "Signature is wrong");
  await request.work();
  const project = Number(leaves.get("general:project_id") ?? leaves.get("customer:project_id"));
  return endpoint.run({ tools, state, leaves, project });
}

function parse(body: Buffer): Members {
  try {
    const value = JSON.parse(body.toString()) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  } catch {
    // Told below.
  }
  throw new Refused("2003", "The body is not JSON", 422);
}

type Leaf = string | number | boolean | null;

function leavesOf(value: unknown, path: string): (readonly [path: string, value: Leaf])[] {
  if (typeof value !== "object" || value === null) return [[path, value as Leaf]];
  const prefix = path === "" ? "" : `${path}:`;
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, prefix + name.replaceAll(":", "::")));
}

/** The vendor's SDK: flattened, without the signature itself, in natural order, HMAC-SHA512 in Base64. */
function signatureOf(members: Members): string {
  // A run of digits counts as a number: padded, it sorts as one.
  const key = (path: string) => path.replace(/\d+/g, (digits) => digits.padStart(15, "0"));
  const lines = leavesOf(members, "")
    .filter(([path]) => !/(^|:)signature$/.test(path))
    .toSorted(([one], [other]) => (key(one) < key(other) ? -1 : 1))
    .map(([path, value]) => `${path}:${String(typeof value === "boolean" ? Number(value) : (value ?? ""))}`);
  return createHmac("sha512", SECRET_KEY).update(lines.join(";")).digest("base64");
}

function equal(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

function json(statusCode: number, body: object): Answered {
  const headers = { "content-type": "application/json" };
  return { status: statusCode, headers, body: JSON.stringify(body).replaceAll("/", "\\/") };
}

function signed(body: Members): Answered {
  return json(200, { ...body, signature: signatureOf(body) });
}

function accepted({ tools, project, leaves }: Call): Answered {
  const payment = leaves.get("general:payment_id");
  return json(200, { status: "success", request_id: tools.id("", 40), project_id: project, payment_id: payment });
}

const keyOf = ({ project, leaves }: Call) => `${project} ${String(leaves.get("general:payment_id"))}`;

function refuseUsed(call: Call): void {
  if (call.state.payments.has(keyOf(call))) throw new Refused("3041", "Payment with this id exists");
}

/** The card as it stands in the request, checked before anybody is asked. */
function cardIn({ leaves, tools }: Call): Card {
  const [number, month, year] = [String(leaves.get("card:pan")), Number(leaves.get("card:month")), Number(leaves.get("card:year"))];
  if (month < 1 || month > 12) throw new Refused("3020", "Card expiry is wrong");
  const now = new Date(tools.now());
  if (year * 12 + month - 1 < now.getUTCFullYear() * 12 + now.getUTCMonth()) throw new Refused("3021", "Card is expired");
  return { number, month, year, holder: String(leaves.get("card:card_holder")) };
}

function pay(call: Call, type: "sale" | "account verification"): SimulatorAnswer {
  const { leaves } = call;
  refuseUsed(call);
  const card = cardIn(call);
  const moto = leaves.get("payment:moto_type") as number | undefined;
  const mayOmit = moto === 1 ? ["visa", "mastercard", "amex"] : moto === 2 ? ["mastercard", "amex"] : [];
  if (!leaves.has("card:cvv") && !mayOmit.includes(brandOf(card.number))) throw new Refused("3141", "CVV is wrong");
  const amount = Number(leaves.get("payment:amount"));
  if (type === "sale" ? amount === 0 : amount !== 0) throw new Refused("2004", "payment.amount is wrong");
  return settle(call, type, card, { keeps: leaves.get("card:save") === true, debitDeclines: false });
}

function payByToken(call: Call): SimulatorAnswer {
  refuseUsed(call);
  const kept = call.state.tokens.get(String(call.leaves.get("token")));
  if (kept === undefined || kept.customer !== call.leaves.get("customer:id")) throw new Refused("3181", "Token is not usable");
  return settle(call, "sale", kept.card, { keeps: false, debitDeclines: kept.debitDeclines });
}

/** The issuer's word, known to the vendor at once and to the merchant only by polling. */
function settle(
  call: Call,
  type: "sale" | "account verification",
  card: Card,
  { keeps, debitDeclines }: { keeps: boolean; debitDeclines: boolean },
): SimulatorAnswer {
  const { tools, state, leaves, project } = call;
  const uniform = UNIFORM_CARDS.get(card.number);
  if (uniform === "reset") return "reset";
  const refusal =
    (uniform === undefined ? VENDOR_REFUSALS[card.number] : REFUSALS[uniform]) ??
    (passesLuhn(card.number) ? undefined : (["10102", "Invalid card number"] as const)) ??
    (debitDeclines ? (["10105", "Insufficient funds on card"] as const) : undefined);
  const challenged = refusal === undefined && CHALLENGED.includes(card.number) && !leaves.has("payment:moto_type");
  const asked = Number(leaves.get("payment:amount"));
  const amount = PARTIAL.includes(card.number) && asked > PARTIAL_ABOVE ? PARTIAL_ABOVE : asked;
  const outcome = refusal ? "decline" : challenged ? "awaiting 3ds result" : "success";
  const [code, message] = refusal ?? (challenged ? ["9999", "Awaiting processing"] : ["0", "Success"]);
  const customer = String(leaves.get("customer:id"));
  const token = keeps && outcome === "success" && project !== KEEPS_NO_CARDS ? keep(call, card, customer) : null;
  const postCode = leaves.has("avs_data:avs_post_code");
  const payment: Payment = {
    project,
    id: String(leaves.get("general:payment_id")),
    state: outcome,
    amount,
    currency: String(leaves.get("payment:currency")),
    customer,
    card,
    token,
    avs: leaves.has("avs_data:avs_street_address") ? "Y" : postCode ? "Z" : "U",
    operations: [{ id: tools.digits(16), type, status: outcome, code, message, amount, at: timeOf(tools) }],
    polls: 0,
  };
  state.payments.set(keyOf(call), payment);
  tools.record({
    kind: type === "sale" ? "charge" : "token",
    id: payment.operations[0]?.id ?? null,
    reference: payment.id,
    outcome: outcome === "success" ? "approved" : "declined",
    amountMinor: amount,
    currency: payment.currency,
    card: mask(card.number),
    details: { code, moto: leaves.has("payment:moto_type") },
  });
  return uniform === "lost answer" ? { ...accepted(call), lost: true } : accepted(call);
}

function keep({ tools, state }: Call, card: Card, customer: string): string {
  const token = tools.id("", 64);
  state.tokens.set(token, { card, customer, debitDeclines: card.number === DEBIT_DECLINES_LATER });
  return token;
}

function makeToken(call: Call): SimulatorAnswer {
  const customer = String(call.leaves.get("customer:id"));
  const card = cardIn(call);
  const token = keep(call, card, customer);
  call.tools.record({ kind: "token", id: null, reference: customer, outcome: "approved", card: mask(card.number) });
  return json(200, { status: "success", project_id: call.project, customer_id: customer, token, token_created_at: timeOf(call.tools) });
}

/** Asynchronous as well: the payment is at work for one poll. */
function refund(call: Call): SimulatorAnswer {
  const { leaves, tools } = call;
  const payment = known(call);
  const amount = Number(leaves.get("payment:amount"));
  if (payment.state !== "success" || payment.currency !== leaves.get("payment:currency"))
    throw new Refused("3023", "Refund is not possible");
  if (amount > payment.amount) throw new Refused("3024", "Refund amount is too large");
  payment.amount -= amount;
  payment.state = payment.amount === 0 ? "refunded" : "partially refunded";
  payment.polls = 1;
  const operation: Operation = {
    id: tools.digits(16),
    type: "refund",
    status: "success",
    code: "0",
    message: "Success",
    amount,
    at: timeOf(tools),
  };
  payment.operations.push(operation);
  tools.record({ kind: "refund", id: operation.id, reference: payment.id, outcome: "approved", amountMinor: amount });
  return accepted(call);
}

function known(call: Call): Payment {
  const payment = call.state.payments.get(keyOf(call));
  if (payment === undefined) throw new Refused("3061", "Payment not found");
  return payment;
}

function status(call: Call): SimulatorAnswer {
  const payment = known(call);
  call.tools.record({ kind: "look-up", id: null, reference: payment.id, outcome: null });
  payment.polls++;
  if (payment.polls === 1) throw new Refused("3061", "Payment not found");
  const atWork = payment.polls === 2;
  const { project, id, state, currency, card, token, customer, avs, operations } = payment;
  const shown = atWork ? operations.slice(-1) : operations;
  return signed({
    project_id: project,
    payment: {
      id,
      type: "purchase",
      status: atWork ? "processing" : state,
      date: operations.at(-1)?.at,
      method: "card",
      sum: { amount: operations[0]?.amount, currency },
      description: "",
    },
    account: {
      number: `${card.number.slice(0, 6)}******${card.number.slice(-4)}`,
      type: brandOf(card.number),
      card_holder: card.holder,
      expiry_month: String(card.month).padStart(2, "0"),
      expiry_year: String(card.year),
      ...(token !== null && { token }),
    },
    customer: { id: customer },
    operations: shown.map((operation) => shownOperation(operation, currency, atWork)),
    avs_result: avs,
    ...(!atWork && state === "awaiting 3ds result" && { acs: { acs_url: "https://acs.example/", pa_req: "", md: "", term_url: "" } }),
  });
}

function shownOperation({ id, type, status, code, message, amount, at }: Operation, currency: string, atWork: boolean): Members {
  const success = status === "success" && !atWork;
  return {
    // Sixteen digits: within what a double can hold, so that it can be written as a number.
    id: Number(id),
    type,
    status: atWork ? "processing" : status,
    date: at,
    created_date: at,
    request_id: "",
    sum_initial: { amount, currency },
    sum_converted: { amount, currency },
    code: atWork ? "9999" : code,
    message: atWork ? "Awaiting processing" : message,
    eci: "07",
    provider: { id: 6, payment_id: "", date: at, auth_code: success ? id.slice(-6) : "", endpoint_id: 6 },
  };
}

/** 2026-11-20T21:00:03+0000 */
function timeOf(tools: SimulatorTools): string {
  return `${new Date(tools.now()).toISOString().slice(0, 19)}+0000`;
}
