import { brandOf, codeLength, isCardNumber, isExpired, issuer, json, mask, pageBetween, refused, refuseWith } from "../kit/index.ts";
import { unixSeconds, wordsBy } from "../kit/index.ts";
import type { Answer, Call, Refusal } from "../kit/index.ts";

/** What a Stripe account holds and what can be done with it: PaymentMethods, PaymentIntents, Customers, SetupIntents, Refunds. */

type Item = Record<string, unknown> & { id: string; object: string; created: number };
type StripeCall = Call<Account, object>;

/** A PaymentMethod besides what is shown of it. */
interface Kept {
  number: string;
  customer: string | null;
  isUsed: boolean;
}

/** One account's objects, each kind in the order of creation. Connected accounts see nothing of each other. */
export interface Account {
  methods: Map<string, Item>;
  kept: Map<string, Kept>;
  customers: Map<string, Item>;
  payments: Map<string, Item>;
  setups: Map<string, Item>;
  charges: Map<string, Item>;
}
type Kind = Exclude<keyof Account, "kept">;

export const emptyAccount = (): Account => ({
  methods: new Map(),
  kept: new Map(),
  customers: new Map(),
  payments: new Map(),
  setups: new Map(),
  charges: new Map(),
});

const NAMES = {
  methods: "payment_method",
  customers: "customer",
  payments: "payment_intent",
  setups: "setup_intent",
  charges: "charge",
} as const;
const PREFIXES = { methods: "pm_", customers: "cus_", payments: "pi_", setups: "seti_", charges: "ch_" } as const;

/** The issuer's no: Stripe's error code, with the decline code where that is card_declined; or that it wants the holder authenticated. */
interface No {
  code: string;
  declineCode: string;
  isBlocked?: boolean;
}
const AUTHENTICATION: No = { code: "authentication_required", declineCode: "authentication_required" };
const ISSUER = issuer<No>(
  `
    card_declined generic_decline, insufficient_funds insufficient_funds, lost_or_stolen lost_card, expired_card expired_card|expired_card
    incorrect_cvc incorrect_cvc|incorrect_cvc, processing_error processing_error|processing_error, 4000000000009979 stolen_card
    4000000000006975 card_velocity_exceeded, 4100000000000019 fraudulent|card_declined|blocked
    4000002760003184 authentication_required|authentication_required
  `,
  (declineCode = "", code = "card_declined", blocked = "") => ({ code, declineCode, isBlocked: blocked !== "" }),
);
const ELEVATED_RISK = "4000000000009235";
const DECLINES_LATER = "4000000000000341";
const AUTHENTICATES_UNLESS_MOTO = "4000002500003155";
const WRONG_CODE_APPROVED = "4000000000000101";
/** Line and ZIP checks that differ from a pass. */
const addressChecks = wordsBy<readonly [line: string, zip: string]>(`
  4000000000000010 fail|fail, 4000000000000028 fail|pass, 4000000000000036 pass|fail, 4000000000000044 unavailable|unavailable
`);
const LAST_DIGIT_ZERO = "bhd jod kwd omr tnd".split(" ");
const WHOLE_ONLY = ["isk", "ugx"];

export function invalid(message: string, code?: string, param?: string, status = 400): Refusal {
  const error = { type: "invalid_request_error", message, ...(code && { code }), ...(param && { param }) };
  return refused(code ?? error.type, status, { error });
}

export function refuse(...why: Parameters<typeof invalid>): never {
  throw invalid(...why);
}

const noSuch = (kind: Kind, id: string, status: number): Refusal =>
  invalid(`No such ${NAMES[kind]}: '${id}'`, "resource_missing", NAMES[kind], status);

function known(call: StripeCall, kind: Kind, id: string, status = 400): Item {
  return call.state[kind].get(id) ?? refuseWith(noSuch(kind, id, status));
}

function make(call: StripeCall, kind: Kind, members: Record<string, unknown>): Item {
  const { tools, state } = call;
  const metadata = call.under("metadata[", "]");
  if (Object.keys(metadata).length > 50) refuse("You can only specify up to 50 keys of metadata.", "metadata_too_many_keys", "metadata");
  const long = Object.keys(metadata).find((key) => key.length > 40);
  if (long !== undefined) refuse("Metadata keys must be at most 40 characters.", "metadata_key_too_long", `metadata[${long}]`);
  const created = unixSeconds(tools.now());
  const item: Item = { id: tools.id(PREFIXES[kind]), object: NAMES[kind], created, livemode: false, metadata, ...members };
  state[kind].set(item.id, item);
  return item;
}

/** Our reference: the session and which of its attempts. */
function referenceOf(item: Item): string | null {
  const { session_id: session, attempt } = item["metadata"] as Record<string, string>;
  return session === undefined ? null : attempt === undefined ? session : `${session}-${attempt}`;
}

/** An object as it goes out: its charge as an id, unless it was asked for in full. */
function shown(call: StripeCall, item: Item): Answer {
  return json(200, expanded(call, item));
}

function expanded(call: StripeCall, item: Item): Item {
  const isExpanded = [...call.fields].some(([name, value]) => name.startsWith("expand[") && String(value).endsWith("latest_charge"));
  const charge = call.state.charges.get(String(item["latest_charge"]));
  return charge && isExpanded ? { ...item, latest_charge: charge } : item;
}

export const lookedAt = (kind: Kind) => (call: StripeCall) => {
  const item = known(call, kind, call.params["id"] ?? "", 404);
  call.tools.record({ kind: "look-up", id: item.id, reference: referenceOf(item), outcome: null });
  return shown(call, item);
};

/** Newest first. */
export const listOf = (kind: "payments" | "setups") => (call: StripeCall) => {
  const seenUntil = call.tools.now() - call.request.lookUpLag();
  const found = [...call.state[kind].values()]
    .toReversed()
    .filter((item) => item.created * 1000 <= seenUntil && (!call.has("customer") || item["customer"] === call.text("customer")))
    .filter(({ created }) => call.isWithin("created", created) && (!call.has("created") || created === call.number("created")));
  const bounds = { after: call.maybe("starting_after"), before: call.maybe("ending_before"), limit: call.maybeNumber("limit") ?? 10 };
  const { page, hasMore } = pageBetween(found, bounds, (id) => noSuch(kind, id, 400));
  call.tools.record({ kind: "look-up", id: null, reference: null, outcome: null, details: { found: found.length } });
  return json(200, { object: "list", url: call.request.path, has_more: hasMore, data: page.map((item) => expanded(call, item)) });
};

export function createPaymentMethod(call: StripeCall): Answer {
  const number = call.text("card[number]");
  const [month, year, cvc] = [call.number("card[exp_month]"), call.number("card[exp_year]"), call.maybe("card[cvc]")];
  const fault = cardFault(number, month, year < 100 ? 2000 + year : year, cvc, call.tools.now());
  if (fault !== null)
    return json(402, { error: { type: "card_error", code: fault[0], param: fault[1], message: "Your card is invalid." } });
  const [line = "pass", zip = "pass"] = addressChecks(number) ?? [];
  const checks = {
    address_line1_check: call.has("billing_details[address][line1]") ? line : null,
    address_postal_code_check: call.has("billing_details[address][postal_code]") ? zip : null,
    cvc_check: cvc === undefined ? null : number === WRONG_CODE_APPROVED ? "fail" : "pass",
  };
  const card = { brand: brandOf(number), last4: number.slice(-4), exp_month: month, exp_year: year < 100 ? 2000 + year : year, checks };
  const item = make(call, "methods", { type: "card", card, customer: null });
  call.state.kept.set(item.id, { number, customer: null, isUsed: false });
  return shown(call, item);
}

/** Code and parameter of what cannot be right in a card as typed, which Stripe says when the PaymentMethod is made. */
function cardFault(number: string, month: number, year: number, cvc: string | undefined, nowMs: number): readonly [string, string] | null {
  const thisYear = new Date(nowMs).getUTCFullYear();
  if (!/^[0-9]{12,19}$/.test(number)) return ["invalid_number", "number"];
  if (!isCardNumber(number)) return ["incorrect_number", "number"];
  if (month < 1 || month > 12) return ["invalid_expiry_month", "exp_month"];
  if (year < thisYear || year > thisYear + 50) return ["invalid_expiry_year", "exp_year"];
  if (isExpired(month, year, nowMs)) return ["invalid_expiry_month", "exp_month"];
  const isCode = cvc === undefined || /^[0-9]{3}$/.test(cvc) || (codeLength(number) === 4 && /^[0-9]{4}$/.test(cvc));
  return isCode ? null : ["invalid_cvc", "cvc"];
}

/** The PaymentMethod to confirm with, by Stripe's rules on attachment and single use. */
function usableMethod(call: StripeCall): { item: Item; kept: Kept } {
  const id = call.maybe("payment_method") ?? refuse("You cannot confirm without a payment method.", "parameter_missing", "payment_method");
  const item = known(call, "methods", id);
  const kept = call.state.kept.get(id) as Kept;
  const customer = call.maybe("customer") ?? null;
  if (customer !== null) known(call, "customers", customer);
  if (kept.customer !== null && kept.customer !== customer) {
    refuse("The PaymentMethod belongs to a Customer. Please include the Customer in the `customer` parameter.");
  }
  if (kept.customer === null && kept.isUsed) {
    refuse("The provided PaymentMethod was previously used without Customer attachment and may not be used again.");
  }
  return { item, kept };
}

/** The issuer's word on a confirmed intent; null when `confirm` was not asked for. */
function confirmed(call: StripeCall, use: "pay" | "store"): { item: Item; kept: Kept; no: No | null } | null {
  const moto = call.text("payment_method_options[card][moto]") === "true";
  if (call.text("confirm") !== "true") {
    if (moto) refuse("`moto` can only be passed when confirming.", "parameter_unknown", "payment_method_options[card][moto]");
    for (const name of ["error_on_requires_action", "off_session", "return_url"])
      if (call.has(name)) refuse(`\`${name}\` needs \`confirm\`.`, "parameter_invalid", name);
    return null;
  }
  const method = usableMethod(call);
  const { number } = method.kept;
  if (number === DECLINES_LATER) return { ...method, no: use === "pay" ? ISSUER("card_declined") : null };
  if (number === AUTHENTICATES_UNLESS_MOTO) return { ...method, no: moto ? null : AUTHENTICATION };
  return { ...method, no: call.decide(ISSUER, number) };
}

function checkAmount(amount: number, currency: string): void {
  if (amount > 99_999_999) refuse("Amount must be no more than 99999999.", "amount_too_large", "amount");
  if (amount < (LAST_DIGIT_ZERO.includes(currency) ? 100 : 50))
    refuse("Amount must convert to at least 50 cents.", "amount_too_small", "amount");
  if (amount % (LAST_DIGIT_ZERO.includes(currency) ? 10 : WHOLE_ONLY.includes(currency) ? 100 : 1) !== 0)
    refuse(`Invalid amount for ${currency}.`, "parameter_invalid_integer", "amount");
}

const intentMembers = (call: StripeCall) => ({
  customer: call.maybe("customer") ?? null,
  description: call.maybe("description") ?? null,
  next_action: null,
  payment_method: call.maybe("payment_method") ?? null,
  payment_method_types: ["card"],
  status: call.has("payment_method") ? "requires_confirmation" : "requires_payment_method",
});

export function createPaymentIntent(call: StripeCall): Answer {
  const [amount, currency] = [call.number("amount"), call.text("currency")];
  checkAmount(amount, currency);
  const step = confirmed(call, "pay");
  const capture_method = call.maybe("capture_method") ?? "automatic";
  const amounts = { amount, amount_received: 0, amount_capturable: 0, capture_method, currency };
  const intent = make(call, "payments", { ...amounts, ...intentMembers(call), last_payment_error: null, latest_charge: null });
  if (step === null) return shown(call, intent);
  step.kept.isUsed = true;
  if (step.no?.code === AUTHENTICATION.code) return demandAuthentication(call, intent);
  const charge = makeCharge(call, intent, step);
  intent["latest_charge"] = charge.id;
  if (step.no !== null) return declinedBy(intent, "payment_intent", step.no, { charge: charge.id }, step.item);
  const isHeld = capture_method === "manual";
  Object.assign(
    intent,
    isHeld ? { status: "requires_capture", amount_capturable: amount } : { status: "succeeded", amount_received: amount },
  );
  return shown(call, intent);
}

function makeCharge(call: StripeCall, intent: Item, { item, kept, no }: { item: Item; kept: Kept; no: No | null }): Item {
  const captured = no === null && intent["capture_method"] !== "manual";
  const isElevated = kept.number === ELEVATED_RISK;
  const approval = { network_status: "approved_by_network", type: isElevated ? "manual_review" : "authorized" };
  const refusal = no?.isBlocked
    ? { network_status: "not_sent_to_network", type: "blocked" }
    : { network_status: "declined_by_network", type: "issuer_declined" };
  const charge = make(call, "charges", {
    amount: intent["amount"],
    amount_refunded: 0,
    captured,
    currency: intent["currency"],
    failure_code: no?.code ?? null,
    outcome: no === null ? { ...approval, risk_level: isElevated ? "elevated" : "normal" } : refusal,
    paid: no === null,
    payment_intent: intent.id,
    payment_method: item.id,
    payment_method_details: { type: "card", card: item["card"] },
    receipt_url: no === null ? `https://pay.stripe.com/receipts/payment/${call.tools.id("", 40)}` : null,
    status: no === null ? "succeeded" : "failed",
  });
  call.tools.record({
    kind: captured || no !== null ? "charge" : "authorization",
    id: charge.id,
    reference: referenceOf(intent),
    outcome: no === null ? "approved" : "declined",
    amountMinor: Number(intent["amount"]),
    currency: String(intent["currency"]).toUpperCase(),
    card: mask(kept.number),
    details: { payment_intent: intent.id, customer: kept.customer, account: call.accountName },
  });
  return charge;
}

function declinedBy(intent: Item, kind: "payment_intent" | "setup_intent", { code, declineCode }: No, ids: object, method: Item): Answer {
  const message = `Your card was declined: ${declineCode.replaceAll("_", " ")}.`;
  const error = { type: "card_error", code, decline_code: declineCode, message, ...ids };
  Object.assign(intent, { status: "requires_payment_method", payment_method: null });
  intent[kind === "payment_intent" ? "last_payment_error" : "last_setup_error"] = error;
  return json(402, { error: { ...error, [kind]: intent, payment_method: method } });
}

function demandAuthentication(call: StripeCall, intent: Item): Answer {
  if (call.text("error_on_requires_action") !== "true")
    return shown(call, Object.assign(intent, { status: "requires_action", next_action: { type: "use_stripe_sdk" } }));
  const message = "This payment required an authentication action to complete, but `error_on_requires_action` was set.";
  const error = { type: "card_error", code: "authentication_required", message };
  Object.assign(intent, { status: "requires_payment_method", payment_method: null, last_payment_error: error });
  return json(402, { error: { ...error, payment_intent: intent } });
}

const OPEN = ["requires_payment_method", "requires_capture", "requires_confirmation", "requires_action", "processing"];

export const cancel = (kind: "payments" | "setups") => (call: StripeCall) => {
  const intent = known(call, kind, call.params["id"] ?? "", 404);
  const status = String(intent["status"]);
  if (!OPEN.includes(status))
    refuse(`You cannot cancel this ${intent.object} because it has a status of ${status}.`, `${intent.object}_unexpected_state`);
  Object.assign(intent, { status: "canceled", next_action: null, ...(kind === "payments" && { amount_capturable: 0 }) });
  call.tools.record({ kind: "void", id: intent.id, reference: referenceOf(intent), outcome: "approved" });
  return shown(call, intent);
};

export function capture(call: StripeCall): Answer {
  const intent = known(call, "payments", call.params["id"] ?? "", 404);
  if (intent["status"] !== "requires_capture") refuse("This PaymentIntent could not be captured.", "payment_intent_unexpected_state");
  const amount = call.has("amount_to_capture") ? call.number("amount_to_capture") : Number(intent["amount"]);
  if (amount < 1 || amount > Number(intent["amount"])) refuse("The amount could not be captured.", "amount_too_large", "amount_to_capture");
  Object.assign(intent, { status: "succeeded", amount_capturable: 0, amount_received: amount });
  known(call, "charges", String(intent["latest_charge"]))["captured"] = true;
  call.tools.record({ kind: "capture", id: intent.id, reference: referenceOf(intent), outcome: "approved", amountMinor: amount });
  return shown(call, intent);
}

export function createCustomer(call: StripeCall): Answer {
  const members = { name: call.maybe("name") ?? null, description: call.maybe("description") ?? null, email: call.maybe("email") ?? null };
  return shown(call, make(call, "customers", members));
}

export function deleteCustomer(call: StripeCall): Answer {
  const customer = known(call, "customers", call.params["id"] ?? "", 404);
  call.state.customers.delete(customer.id);
  for (const [id, { customer: owner }] of call.state.kept) if (owner === customer.id) call.state.methods.delete(id);
  call.tools.record({ kind: "void", id: customer.id, reference: referenceOf(customer), outcome: "approved" });
  return json(200, { id: customer.id, object: "customer", deleted: true });
}

export function createSetupIntent(call: StripeCall): Answer {
  const step = confirmed(call, "store");
  const attempt = { latest_attempt: step ? call.tools.id("setatt_") : null, last_setup_error: null };
  const intent = make(call, "setups", { ...intentMembers(call), ...attempt, usage: call.maybe("usage") ?? "off_session" });
  if (step === null) return shown(call, intent);
  const { item, kept, no } = step;
  if (no?.code === AUTHENTICATION.code)
    return shown(call, Object.assign(intent, { status: "requires_action", next_action: { type: "use_stripe_sdk" } }));
  call.tools.record({
    kind: "token",
    id: item.id,
    reference: referenceOf(intent),
    outcome: no === null ? "approved" : "declined",
    card: mask(kept.number),
    details: { setup_intent: intent.id, customer: call.maybe("customer") ?? null, account: call.accountName },
  });
  if (no !== null) return declinedBy(intent, "setup_intent", no, {}, item);
  kept.customer = call.maybe("customer") ?? null;
  item["customer"] = kept.customer;
  intent["status"] = "succeeded";
  return shown(call, intent);
}

export function refund(call: StripeCall): Answer {
  if (call.has("charge") === call.has("payment_intent")) refuse("One of `charge` and `payment_intent` must be given.", "parameter_missing");
  const charged = call.has("charge") ? String(known(call, "charges", call.text("charge"))["payment_intent"]) : call.text("payment_intent");
  const intent = known(call, "payments", charged);
  if (intent["status"] !== "succeeded")
    refuse("This PaymentIntent does not have a successful charge to refund.", "payment_intent_unexpected_state");
  const paid = known(call, "charges", String(intent["latest_charge"]));
  const left = Number(intent["amount_received"]) - Number(paid["amount_refunded"]);
  const amount = call.has("amount") ? call.number("amount") : left;
  if (left <= 0) refuse(`Charge ${paid.id} has already been refunded.`, "charge_already_refunded");
  if (amount < 1 || amount > left) refuse("Refund amount is greater than unrefunded amount on charge.", "amount_too_large", "amount");
  paid["amount_refunded"] = Number(paid["amount_refunded"]) + amount;
  const id = call.tools.id("re_");
  call.tools.record({
    kind: "refund",
    id,
    reference: referenceOf(intent),
    outcome: "approved",
    amountMinor: amount,
    details: { charge: paid.id },
  });
  return json(200, { id, object: "refund", amount, charge: paid.id, payment_intent: intent.id, status: "succeeded" });
}
