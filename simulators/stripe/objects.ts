import { brandOf, mask } from "../cards.ts";
import type { Fields } from "../form.ts";
import type { SimulatorAnswer, SimulatorTools } from "../simulator.ts";
import { checksOf, faultOf, verdictOn } from "./cards.ts";
import type { StripeCard, Verdict } from "./cards.ts";

/** What an account holds and what can be done with it: PaymentMethods, PaymentIntents, Customers, SetupIntents, Refunds. */

const ZERO_DECIMAL = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" ");
const LAST_DIGIT_ZERO = "bhd jod kwd omr tnd".split(" ");
const WHOLE_ONLY = ["isk", "ugx"];

export type Item = Record<string, unknown> & { id: string; object: string; created: number };
type PaymentMethod = { item: Item; card: StripeCard; customer: string | null; used: boolean };
export type Saved = { fingerprint: string; answer: SimulatorAnswer | null };

/** One account's objects, each kind in the order of creation. Connected accounts see nothing of each other. */
export class Account {
  readonly methods = new Map<string, PaymentMethod>();
  readonly customers = new Map<string, Item>();
  readonly payments = new Map<string, Item>();
  readonly setups = new Map<string, Item>();
  readonly charges = new Map<string, Item>();
  readonly refunds = new Map<string, Item>();
  readonly keys = new Map<string, Saved>();
}

/** An answer that is an error object, thrown by whatever finds the fault. */
export class StripeError extends Error {
  readonly status: number;
  readonly error: Record<string, unknown>;

  constructor(status: number, error: Record<string, unknown>) {
    super("refused");
    this.status = status;
    this.error = error;
  }
}

export function refuse(message: string, code?: string, param?: string, status = 400): never {
  throw new StripeError(status, { type: "invalid_request_error", message, ...(code && { code }), ...(param && { param }) });
}

export interface List {
  object: "list";
  url: string;
  has_more: boolean;
  data: Item[];
}

export const isList = (result: Item | List): result is List => result.object === "list";

/** An object that was made, but whose answer is never sent. */
export class Lost {
  readonly item: Item;

  constructor(item: Item) {
    this.item = item;
  }
}

export interface Call {
  tools: SimulatorTools;
  account: Account;
  accountName: string;
  fields: Fields;
  /** Parts of the path that the endpoint's pattern captures. */
  id: string;
}

function make(call: Call, object: string, prefix: string, members: Record<string, unknown>): Item {
  const created = Math.floor(call.tools.now() / 1000);
  return { id: call.tools.id(`${prefix}_`), object, created, livemode: false, ...members };
}

function metadataOf(fields: Fields): Record<string, string> {
  const pairs = [...fields].filter(([name]) => name.startsWith("metadata["));
  return Object.fromEntries(pairs.map(([name, value]) => [name.slice(9, -1), value]));
}

/** Our reference as the metadata carry it. */
function referenceOf(item: Item): string | null {
  const { session_id: session, attempt } = item["metadata"] as Record<string, string>;
  return session === undefined ? null : attempt === undefined ? session : `${session}-${attempt}`;
}

function known<T>(found: T | undefined, what: string, wanted: string, status: number): T {
  return found ?? refuse(`No such ${what}: '${wanted}'`, "resource_missing", what, status);
}

export const methodOf = (call: Call, wanted: string, status = 400) =>
  known(call.account.methods.get(wanted), "payment_method", wanted, status);
export const customerOf = (call: Call, wanted: string, status = 400) =>
  known(call.account.customers.get(wanted), "customer", wanted, status);
export const paymentOf = (call: Call, wanted: string, status = 400) =>
  known(call.account.payments.get(wanted), "payment_intent", wanted, status);
export const setupOf = (call: Call, wanted: string) => known(call.account.setups.get(wanted), "setup_intent", wanted, 404);

export function looked(call: Call, item: Item): Item {
  call.tools.record({ kind: "look-up", id: item.id, reference: referenceOf(item), outcome: null });
  return item;
}

export function listOf(call: Call, items: ReadonlyMap<string, Item>, url: string): List {
  const { fields } = call;
  const passes = (item: Item) => {
    const bounds: readonly (readonly [string, (value: number) => boolean])[] = [
      ["gt", (value) => item.created > value],
      ["gte", (value) => item.created >= value],
      ["lt", (value) => item.created < value],
      ["lte", (value) => item.created <= value],
    ];
    const customer = fields.get("customer");
    return (
      (customer === undefined || item["customer"] === customer) &&
      bounds.every(([name, holds]) => !fields.has(`created[${name}]`) || holds(Number(fields.get(`created[${name}]`))))
    );
  };
  const newestFirst = [...items.values()].toReversed();
  const after = fields.get("starting_after");
  const start = after === undefined ? 0 : newestFirst.findIndex((item) => item.id === after) + 1;
  if (after !== undefined && start === 0) refuse(`No such object: '${after}'`, "resource_missing", "starting_after");
  const found = newestFirst.slice(start).filter(passes);
  const data = found.slice(0, Number(fields.get("limit") ?? 10));
  call.tools.record({ kind: "look-up", id: null, reference: null, outcome: null, details: { found: found.length } });
  return { object: "list", url, has_more: found.length > data.length, data };
}

export function createPaymentMethod(call: Call): Item {
  const { fields } = call;
  const year = Number(fields.get("card[exp_year]"));
  const card: StripeCard = {
    number: fields.get("card[number]") ?? "",
    month: Number(fields.get("card[exp_month]")),
    year: year < 100 ? 2000 + year : year,
    cvc: fields.get("card[cvc]") ?? null,
    zip: fields.get("billing_details[address][postal_code]") ?? null,
  };
  const fault = faultOf(card, new Date(call.tools.now()));
  if (fault !== null) {
    const [code, param, message] = fault;
    throw new StripeError(402, { type: "card_error", code, param, message });
  }
  const shownCard = {
    brand: brandOf(card.number),
    last4: card.number.slice(-4),
    exp_month: card.month,
    exp_year: card.year,
    checks: checksOf(card),
  };
  const item = make(call, "payment_method", "pm", { type: "card", card: shownCard, customer: null, metadata: metadataOf(fields) });
  call.account.methods.set(item.id, { item, card, customer: null, used: false });
  return item;
}

/** The PaymentMethod to confirm with, by Stripe's rules on attachment and single use. */
function usableMethod(call: Call): PaymentMethod {
  const { fields } = call;
  const wanted =
    fields.get("payment_method") ?? refuse("You cannot confirm without a payment method.", "parameter_missing", "payment_method");
  const method = methodOf(call, wanted);
  const customer = fields.get("customer");
  if (customer !== undefined) customerOf(call, customer);
  if (method.customer !== null && method.customer !== customer) {
    refuse(
      `The PaymentMethod ${wanted} belongs to the Customer ${method.customer}. Please include the Customer in the \`customer\` parameter.`,
    );
  }
  if (method.customer === null && method.used) {
    refuse("The provided PaymentMethod was previously used without Customer attachment and may not be used again.");
  }
  return method;
}

/** The issuer's verdict on a confirmed intent; null when `confirm` was not asked for. */
function confirmed(call: Call, use: "pay" | "store"): { method: PaymentMethod; verdict: Verdict } | null {
  const moto = call.fields.get("payment_method_options[card][moto]") === "true";
  if (call.fields.get("confirm") !== "true") {
    if (moto) refuse("`moto` can only be passed when confirming.", "parameter_unknown", "payment_method_options[card][moto]");
    if (call.fields.has("error_on_requires_action")) refuse("`error_on_requires_action` needs `confirm`.", "parameter_invalid");
    return null;
  }
  const method = usableMethod(call);
  return { method, verdict: verdictOn(method.card, use, moto) };
}

function checkAmount(amount: number, unit: string): void {
  if (amount > 99_999_999) refuse("Amount must be no more than 99999999.", "amount_too_large", "amount");
  const least = ZERO_DECIMAL.includes(unit) ? 50 : LAST_DIGIT_ZERO.includes(unit) ? 100 : 50;
  if (amount < least) refuse("Amount must convert to at least 50 cents.", "amount_too_small", "amount");
  if ((LAST_DIGIT_ZERO.includes(unit) && amount % 10 !== 0) || (WHOLE_ONLY.includes(unit) && amount % 100 !== 0)) {
    refuse(`Invalid amount for ${unit}.`, "parameter_invalid_integer", "amount");
  }
  if (!Intl.supportedValuesOf("currency").includes(unit.toUpperCase()))
    refuse(`Invalid currency: ${unit}.`, "parameter_invalid", "currency");
}

export function createPaymentIntent(call: Call): Item | Lost | "reset" {
  const { fields, account } = call;
  const amount = Number(fields.get("amount"));
  const unit = fields.get("currency") ?? "";
  checkAmount(amount, unit);
  const step = confirmed(call, "pay");
  if (step?.verdict.kind === "reset") return "reset";
  const intent = make(call, "payment_intent", "pi", {
    amount,
    amount_received: 0,
    amount_capturable: 0,
    capture_method: fields.get("capture_method") ?? "automatic",
    currency: unit,
    customer: fields.get("customer") ?? null,
    description: fields.get("description") ?? null,
    last_payment_error: null,
    latest_charge: null,
    metadata: metadataOf(fields),
    next_action: null,
    payment_method: fields.get("payment_method") ?? null,
    payment_method_types: ["card"],
    status: fields.has("payment_method") ? "requires_confirmation" : "requires_payment_method",
  });
  account.payments.set(intent.id, intent);
  if (step === null) return intent;
  step.method.used = true;
  if (step.verdict.kind === "authentication") return demandAuthentication(call, intent);
  const charge = makeCharge(call, intent, step.method, step.verdict);
  intent["latest_charge"] = charge.id;
  if (step.verdict.kind === "declined") return declinedBy(intent, "payment_intent", step.verdict, { charge: charge.id }, step.method);
  const held = intent["capture_method"] === "manual";
  Object.assign(
    intent,
    held ? { status: "requires_capture", amount_capturable: amount } : { status: "succeeded", amount_received: amount },
  );
  return step.verdict.kind === "approved" && step.verdict.answer === "lost" ? new Lost(intent) : intent;
}

function makeCharge(
  call: Call,
  intent: Item,
  method: PaymentMethod,
  verdict: Exclude<Verdict, { kind: "reset" | "authentication" }>,
): Item {
  const approved = verdict.kind === "approved";
  const captured = approved && intent["capture_method"] !== "manual";
  const charge = make(call, "charge", "ch", {
    amount: intent["amount"],
    amount_refunded: 0,
    captured,
    currency: intent["currency"],
    failure_code: approved ? null : verdict.code,
    outcome: approved
      ? {
          network_status: "approved_by_network",
          type: verdict.riskLevel === "elevated" ? "manual_review" : "authorized",
          risk_level: verdict.riskLevel,
        }
      : {
          network_status: verdict.blocked ? "not_sent_to_network" : "declined_by_network",
          type: verdict.blocked ? "blocked" : "issuer_declined",
        },
    paid: approved,
    payment_intent: intent.id,
    payment_method: method.item.id,
    payment_method_details: { type: "card", card: method.item["card"] },
    receipt_url: approved ? `https://pay.stripe.com/receipts/payment/${call.tools.id("", 40)}` : null,
    status: approved ? "succeeded" : "failed",
  });
  call.account.charges.set(charge.id, charge);
  call.tools.record({
    kind: captured || !approved ? "charge" : "authorization",
    id: charge.id,
    reference: referenceOf(intent),
    outcome: approved ? "approved" : "declined",
    amountMinor: Number(intent["amount"]),
    currency: String(intent["currency"]).toUpperCase(),
    card: mask(method.card.number),
    details: { payment_intent: intent.id, customer: method.customer, account: call.accountName },
  });
  return charge;
}

function declinedBy(
  intent: Item,
  kind: "payment_intent" | "setup_intent",
  { code, declineCode }: Extract<Verdict, { kind: "declined" }>,
  ids: Record<string, string>,
  method: PaymentMethod,
): never {
  const error = {
    type: "card_error",
    code,
    decline_code: declineCode,
    message: `Your card was declined: ${declineCode.replaceAll("_", " ")}.`,
    ...ids,
  };
  intent["status"] = "requires_payment_method";
  intent["payment_method"] = null;
  intent[kind === "payment_intent" ? "last_payment_error" : "last_setup_error"] = error;
  throw new StripeError(402, { ...error, [kind]: { ...intent }, payment_method: method.item });
}

function demandAuthentication(call: Call, intent: Item): Item {
  if (call.fields.get("error_on_requires_action") !== "true") {
    intent["status"] = "requires_action";
    intent["next_action"] = { type: "use_stripe_sdk" };
    return intent;
  }
  const message = "This payment required an authentication action to complete, but `error_on_requires_action` was set.";
  const error = { type: "card_error", code: "authentication_required", message };
  Object.assign(intent, { status: "requires_payment_method", payment_method: null, last_payment_error: error });
  throw new StripeError(402, { ...error, payment_intent: { ...intent } });
}

export function cancel(call: Call): Item {
  const intent = call.account.payments.get(call.id) ?? setupOf(call, call.id);
  const status = String(intent["status"]);
  if (!["requires_payment_method", "requires_capture", "requires_confirmation", "requires_action", "processing"].includes(status)) {
    refuse(`You cannot cancel this ${intent.object} because it has a status of ${status}.`, `${intent.object}_unexpected_state`);
  }
  Object.assign(intent, { status: "canceled", amount_capturable: 0, next_action: null });
  call.tools.record({ kind: "void", id: intent.id, reference: referenceOf(intent), outcome: "approved" });
  return intent;
}

export function capture(call: Call): Item {
  const intent = paymentOf(call, call.id, 404);
  if (intent["status"] !== "requires_capture") refuse("This PaymentIntent could not be captured.", "payment_intent_unexpected_state");
  const amount = Number(call.fields.get("amount_to_capture") ?? intent["amount"]);
  if (amount < 1 || amount > Number(intent["amount"])) refuse("The amount could not be captured.", "amount_too_large", "amount_to_capture");
  Object.assign(intent, { status: "succeeded", amount_capturable: 0, amount_received: amount });
  Object.assign(known(call.account.charges.get(String(intent["latest_charge"])), "charge", "", 400), { captured: true });
  call.tools.record({ kind: "capture", id: intent.id, reference: referenceOf(intent), outcome: "approved", amountMinor: amount });
  return intent;
}

export function createCustomer(call: Call): Item {
  const { fields } = call;
  const customer = make(call, "customer", "cus", {
    name: fields.get("name") ?? null,
    description: fields.get("description") ?? null,
    metadata: metadataOf(fields),
  });
  call.account.customers.set(customer.id, customer);
  return customer;
}

export function deleteCustomer(call: Call): Item {
  const customer = customerOf(call, call.id, 404);
  call.account.customers.delete(customer.id);
  for (const [name, method] of call.account.methods) if (method.customer === customer.id) call.account.methods.delete(name);
  call.tools.record({ kind: "void", id: customer.id, reference: referenceOf(customer), outcome: "approved" });
  return { id: customer.id, object: "customer", created: customer.created, deleted: true };
}

export function createSetupIntent(call: Call): Item | Lost | "reset" {
  const { fields, account } = call;
  const step = confirmed(call, "store");
  if (step?.verdict.kind === "reset") return "reset";
  const intent = make(call, "setup_intent", "seti", {
    customer: fields.get("customer") ?? null,
    last_setup_error: null,
    latest_attempt: step ? call.tools.id("setatt_") : null,
    metadata: metadataOf(fields),
    payment_method: fields.get("payment_method") ?? null,
    status: fields.has("payment_method") ? "requires_confirmation" : "requires_payment_method",
    usage: fields.get("usage") ?? "off_session",
  });
  account.setups.set(intent.id, intent);
  if (step === null) return intent;
  const { method, verdict } = step;
  if (verdict.kind === "authentication")
    return Object.assign(intent, { status: "requires_action", next_action: { type: "use_stripe_sdk" } });
  const approved = verdict.kind === "approved";
  call.tools.record({
    kind: "token",
    id: method.item.id,
    reference: referenceOf(intent),
    outcome: approved ? "approved" : "declined",
    card: mask(method.card.number),
    details: { setup_intent: intent.id, customer: fields.get("customer") ?? null, account: call.accountName },
  });
  if (verdict.kind === "declined") return declinedBy(intent, "setup_intent", verdict, {}, method);
  method.customer = fields.get("customer") ?? null;
  method.item["customer"] = method.customer;
  intent["status"] = "succeeded";
  return approved && verdict.answer === "lost" ? new Lost(intent) : intent;
}

export function refund(call: Call): Item {
  const { fields, account } = call;
  const charge = account.charges.get(fields.get("charge") ?? "");
  const intent = paymentOf(call, fields.get("payment_intent") ?? (charge?.["payment_intent"] as string | undefined) ?? "");
  if (intent["status"] !== "succeeded")
    refuse("This PaymentIntent does not have a successful charge to refund.", "payment_intent_unexpected_state");
  const paid = known(account.charges.get(String(intent["latest_charge"])), "charge", "", 400);
  const left = Number(intent["amount_received"]) - Number(paid["amount_refunded"]);
  const amount = Number(fields.get("amount") ?? left);
  if (left <= 0) refuse(`Charge ${paid.id} has already been refunded.`, "charge_already_refunded");
  if (amount < 1 || amount > left) refuse("Refund amount is greater than unrefunded amount on charge.", "amount_too_large", "amount");
  paid["amount_refunded"] = Number(paid["amount_refunded"]) + amount;
  const item = make(call, "refund", "re", {
    amount,
    charge: paid.id,
    payment_intent: intent.id,
    metadata: metadataOf(fields),
    status: "succeeded",
  });
  account.refunds.set(item.id, item);
  call.tools.record({
    kind: "refund",
    id: item.id,
    reference: referenceOf(intent),
    outcome: "approved",
    amountMinor: amount,
    details: { charge: paid.id },
  });
  return item;
}
