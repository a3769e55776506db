import { isIP } from "node:net";
import { bearer, brandNames, brandOf, byState, cardFaults, decimalsOf, defineSimulator, email, header, isAccepted } from "../kit/index.ts";
import { issuer, json, matching, orNull, Refusal, refused, refuseWith, rule, rules, table, text, textOf, whole } from "../kit/index.ts";
import type { Answer, Call, Fields, Incoming, Rule, Transaction } from "../kit/index.ts";

/**
 * Checkout.com's Unified Payments API: JSON under a bearer key, payments and declines alike are status 201, mistakes 422 with a list of
 * codes. A key that was seen repeats the first answer of the 200s for a day, a decline too. A payment of nothing verifies the card.
 */

const DAY_MS = 24 * 60 * 60 * 1000;
const TOKEN_SECONDS = 3600;
const CARD_TOKEN_MS = 15 * 60 * 1000;

type No = readonly [code: string, summary: string];
/** The issuer's words by card, or by the last digits of an amount in currencies with two decimals. */
const ISSUER = issuer<No>(`
  card_declined 20046|Bank Decline, insufficient_funds/51 20051|Insufficient Funds, expired_card/54 20054|Expired Card
  incorrect_cvc 200N7|Decline for CVV2 Failure, processing_error 20096|System Malfunction, lost_or_stolen 30043|Stolen Card - Pick Up
  4024007181869214/05 20005|Declined - Do Not Honour, 12 20012|Invalid Transaction, 14 20014|Invalid Card Number
  62 20062|Restricted Card, 63 20063|Security Violation, 87 20087|Bad Track Data (Invalid CVV and/or Expiry Date)
`);
const schemeOf = brandNames(
  "visa Visa, mastercard Mastercard, maestro Maestro, amex American Express, discover Discover, diners Diners Club International, jcb JCB",
  "Unknown",
);

interface Details {
  no: No | null;
  actionId: string;
  /** Captures, voids and refunds that were asked for, the last one first. */
  following: object[];
  /** Members that never change. */
  members: Record<string, unknown>;
}
/** With the payment of nothing that has made it, if one did. */
type Source = { number: string; expiry: object; paymentId: string | null };
type State = { tokens: Map<string, { source: Source; endsAt: number }> };
type CheckoutCall = Call<State, Details, Source>;
type Payment = Transaction<Details>;

const isCard = (fields: Fields): boolean => textOf(fields, "source.type") === "card";
const isStored = (fields: Fields): boolean => textOf(fields, "source.type") === "id";
const isFollowing = (fields: Fields): boolean => textOf(fields, "merchant_initiated") === "true";
/** A number, or its digits as text. */
const numberOrText = (least: number, most: number): Rule =>
  rule((value) => {
    const isDigits = typeof value === "string" && /^[0-9]{1,4}$/.test(value);
    return whole(least, most).check(isDigits ? Number(value) : value);
  });
const ip = (version: 4 | 6): Rule =>
  rule((value) => (typeof value === "string" && isIP(value) === version ? null : ["value", `must be an IPv${version} address`]));
const [MONTH, YEAR] = [numberOrText(1, 12), numberOrText(1000, 9999)];
const DESCRIPTION = matching(/^[\P{C}]+$/u, "printable", 100);
const ADDRESS = rules`address_line1/address_line2 200, city/state/zip 50, country country2`;
const PAYMENT = rules`
  source: type! is card|id, number=${isCard} digits 8-19, expiry_month=${isCard} ${MONTH}, id=${isStored} /src_[a-z0-9]{26}/
  source: expiry_year=${isCard} ${YEAR}, cvv digits 3-4, name 0-100, first_name/last_name 0-50, store_for_future_use bool
  source.billing_address: ${ADDRESS}
  amount! whole 0-9999999999, currency! currency, payment_type is Regular|MOTO|Recurring|Installment|Unscheduled
  merchant_initiated/capture bool, previous_payment_id!${isFollowing} 64, reference 50, description ${DESCRIPTION}
  processing_channel_id! /pc_[a-z0-9]{26}/, 3ds.enabled/risk.enabled bool, metadata.* 500, payment_ip 45
  customer: email ${orNull(email())}, name ${orNull(text(100, 0))}, id 64
  risk.device.network: ipv4 ${ip(4)}, ipv6 ${ip(6)}
  billing_descriptor: name 25, city 13
`;
const FOLLOW = rules`amount whole 1-9999999999, reference 50, metadata.* 500`;
const TOKENIZATION = rules`
  type! is card, number! digits 8-19, expiry_month! ${MONTH}, expiry_year! ${YEAR}, cvv digits 3-4, name 0-100
  billing_address: ${ADDRESS}
`;
const GRANT = rules`grant_type! is client_credentials, client_id/scope 100, client_secret 500`;

export const simulator = defineSimulator<State, Details, Source>({
  body: "json",
  state: () => ({ tokens: new Map() }),
  authenticate(request) {
    const key = bearer(request);
    const granted = request.tokens.accountOf(key, request.tools.now());
    if (granted !== null) return granted;
    if (!isAccepted(key, /^sk_sbox_[A-Za-z0-9]{26}[A-Za-z0-9*#$=]$/)) throw bare(401);
    return "merchant";
  },
  idempotency: {
    keyOf: (request) => header(request, "cko-idempotency-key"),
    keeps: ({ status }) => status < 300,
    windowMs: DAY_MS,
  },
  reference: "reference",
  recorded: ["payment_type"],
  endpoints: {
    "POST /payments": { rules: PAYMENT, run: pay },
    "GET /payments": { rules: rules`reference! 80, limit countText 1-100, skip digits 1-6`, run: list },
    "GET /payments/:id": { run: readPayment },
    "GET /payments/:id/actions": { run: listActions },
    "POST /payments/:id/captures": { rules: rules`${FOLLOW}, capture_type is Final|NonFinal`, run: (call) => follow(call, "capture") },
    "POST /payments/:id/voids": { rules: FOLLOW, run: (call) => follow(call, "void") },
    "POST /payments/:id/refunds": { rules: FOLLOW, run: (call) => follow(call, "refund") },
    "POST /payments/:id/reversals": { rules: FOLLOW, run: reverse },
    "POST /tokens": { rules: TOKENIZATION, authenticate: publicKey, isIdempotent: false, run: tokenizeCard },
    "POST /instruments": { rules: rules`type! is token, token! /tok_[a-z0-9]{26}/`, isIdempotent: false, run: createInstrument },
    "DELETE /instruments/:id": { run: deleteInstrument },
    "POST /connect/token": { body: "form", rules: GRANT, authenticate: () => "merchant", isIdempotent: false, run: grant },
  },
  refuse: {
    malformed: (_request, isOtherType) => (isOtherType ? bare(415) : invalid()),
    path: (_request, isKnown) => bare(isKnown ? 405 : 404),
    field: ({ kind, field }) =>
      kind === "unknown" || kind === "forbidden" ? invalid() : invalid(`${codeStem(field)}_${kind === "missing" ? "required" : "invalid"}`),
  },
  responseHeaders: ({ tools }) => ({ "cko-request-id": tools.id("", 26), "cko-version": "1.0.0" }),
});

function publicKey(request: Incoming): string {
  const key = header(request, "authorization").replace(/^bearer /i, "");
  if (!isAccepted(key, /^pk_sbox_[A-Za-z0-9]{26}[A-Za-z0-9*#$=]$/)) throw bare(401);
  return "merchant";
}

/** Some errors are a status alone. */
const bare = (status: number): Refusal => new Refusal({ status, body: "" }, String(status));

/** What is wrong with a request; where the vendor names no code, none. */
function invalid(code?: string, type = "request_invalid"): Refusal {
  const body = { request_id: "0HL80RJLS76I7", error_type: type, ...(code !== undefined && { error_codes: [code] }) };
  return refused(code ?? type, 422, body);
}

const STEMS = table(
  "number card_number, expiry_month card_expiry_month, expiry_year card_expiry_year, type payment_source, " +
    "country address_country, zip address_zip, email customer_email",
);
function codeStem(field: string): string {
  const last = field.slice(field.lastIndexOf(".") + 1);
  return STEMS.get(last) ?? last;
}

function missing(): never {
  throw bare(404).unrecorded();
}

/** The card typed below `path`, with what its form alone has against it. */
function typedCard(call: CheckoutCall, path: "source." | ""): Source {
  const places = { number: `${path}number`, month: `${path}expiry_month`, year: `${path}expiry_year`, code: `${path}cvv` };
  const { number, month, year } = call.card(places, (fault) => invalid(...faultOf(fault)));
  return { number, expiry: { expiry_month: Number(month), expiry_year: Number(year) }, paymentId: null };
}

const faultOf = cardFaults<readonly [code: string, type?: string]>(
  "number card_number_invalid, expiry card_expired|processing_error, code cvv_invalid",
);

function avsOf(call: CheckoutCall): string {
  const [line, zip] = [call.text("source.billing_address.address_line1"), call.text("source.billing_address.zip")];
  const [, letter] = /^Test_([A-Z])$/.exec(line) ?? [];
  return letter ?? (zip === "" ? "U" : line === "" ? "Z" : "Y");
}

function pay(call: CheckoutCall): Answer {
  const { tools } = call;
  const [amount, unit] = [call.number("amount"), call.text("currency")];
  if (!isAccepted(call.text("processing_channel_id"))) throw invalid("processing_channel_id_invalid");
  if ((unit === "CLP" && amount % 100 !== 0) || (decimalsOf(unit) === 3 && amount % 10 !== 0)) throw invalid("amount_invalid");
  const storedId = call.maybe("source.id");
  const source =
    storedId === undefined ? typedCard(call, "source.") : (call.vault.get(storedId) ?? refuseWith(invalid("source_id_invalid")));
  if (brandOf(source.number) === "amex" && call.text("reference").length > 30) throw invalid("reference_invalid");
  const id = tools.id("pay_", 26);
  if (call.text("3ds.enabled") === "true") {
    const redirect = { href: `https://3ds2-sandbox.ckotech.co/interceptor/${id}` };
    return json(202, { id, status: "Pending", reference: call.maybe("reference"), "3ds": { enrolled: "Y" }, _links: { redirect } });
  }
  const byAmount = decimalsOf(unit) === 2 ? ISSUER(String(amount).slice(-2)) : null;
  const no = (String(amount).length > 2 ? byAmount : null) ?? call.decide(ISSUER, source.number);
  const isKept = no === null && call.text("source.store_for_future_use") !== "false";
  const sourceId = storedId ?? (isKept ? tools.id("src_", 26) : undefined);
  if (isKept && storedId === undefined) call.vault.keep(sourceId ?? "", { ...source, paymentId: amount === 0 ? id : null });
  const isVerification = amount === 0;
  const shownSource = {
    ...(no === null && { id: sourceId }),
    type: "card",
    ...source.expiry,
    scheme: schemeOf(source.number),
    last4: source.number.slice(-4),
    bin: source.number.slice(0, 6),
    card_type: "CREDIT",
    avs_check: avsOf(call),
    cvv_check: call.has("source.cvv") ? "Y" : "X",
  };
  const payment_type = call.maybe("payment_type") ?? "Regular";
  const members = {
    amount,
    currency: unit,
    payment_type,
    ...call.given("reference", "description"),
    risk: { flagged: false },
    source: shownSource,
    customer: { id: tools.id("cus_", 26) },
    metadata: call.under("metadata."),
    scheme_id: tools.digits(15),
  };
  const kind = isVerification ? "token" : call.text("capture") === "false" ? "authorization" : "charge";
  const taken = isVerification ? {} : { amountMinor: amount, currency: unit };
  const details = { no, actionId: tools.id("act_", 26), following: [], members };
  const made = call.take({ id, kind, no, ...taken, card: source.number, details });
  const { response_code, response_summary, auth_code } = actionOf(made, true);
  // A sale is captured by itself, some seconds after this answer.
  const status = no !== null ? "Declined" : isVerification ? "Card Verified" : "Authorized";
  return json(201, { ...shown(made), action_id: made.details.actionId, status, auth_code, response_code, response_summary });
}

const STATUSES = byState(
  "authorized Authorized, captured/settled Captured, voided Voided, refunded Refunded, verified Card Verified, declined Declined",
);

/** A payment as look-ups show it: the issuer's code stands in its actions alone. */
function shown({ id, at, state, amountMinor, capturedMinor, refundedMinor, details: { no, members } }: Payment): object {
  // What becomes of the stored card changes nothing of the verification that made it.
  const now = members["amount"] === 0 && no === null ? STATUSES.verified : STATUSES[state];
  const status = refundedMinor > 0 && state !== "refunded" ? "Partially Refunded" : now;
  const balances = {
    total_authorized: no === null ? amountMinor : 0,
    total_voided: state === "voided" ? amountMinor : 0,
    available_to_void: state === "authorized" ? amountMinor : 0,
    total_captured: capturedMinor,
    available_to_capture: state === "authorized" ? amountMinor : 0,
    total_refunded: refundedMinor,
    available_to_refund: capturedMinor - refundedMinor,
  };
  const processed_on = new Date(at).toISOString();
  const requested_on = processed_on;
  const self = { href: `https://api.sandbox.checkout.com/payments/${id}` };
  return { id, requested_on, processed_on, approved: no === null, status, balances, ...members, _links: { self } };
}

/** What the issuer was asked and said; a payment's own look-up shows less of it. */
function actionOf({ at, details: { no, actionId, members } }: Payment, isWhole: boolean) {
  const [response_code, response_summary] = no ?? ["10000", "Approved"];
  const type = members["amount"] === 0 ? "Card Verification" : "Authorization";
  const rest = { processed_on: new Date(at).toISOString(), amount: members["amount"], approved: no === null };
  const auth_code = no === null ? "655071" : "000000";
  return { id: actionId, type, response_code, response_summary, ...(isWhole && { ...rest, auth_code }) };
}

function list(call: CheckoutCall): Answer {
  const reference = call.text("reference");
  const found = call.lookUp(reference, (one) => one.reference === reference);
  const [skip, limit] = [call.number("skip") || 0, call.number("limit") || 10];
  return json(200, { total_count: found.length, skip, limit, data: found.slice(skip, skip + limit).map(shown) });
}

function readPayment(call: CheckoutCall): Answer {
  const payment = read(call);
  return json(200, { ...shown(payment), actions: [actionOf(payment, false)] });
}

function read(call: CheckoutCall): Payment {
  const id = call.param("id");
  if (!id.startsWith("pay_")) missing();
  return call.lookUpById(id) ?? missing();
}

/** What was done with a payment, the last thing first. */
function listActions(call: CheckoutCall): Answer {
  const payment = read(call);
  return json(200, [...payment.details.following, actionOf(payment, true)]);
}

const paymentOf = (call: CheckoutCall): Payment => call.transactions.get(call.param("id")) ?? missing();
const TYPES = { capture: "Capture", void: "Void", refund: "Refund" } as const;

/** A void is possible before the capture alone, a refund before settlement as well. */
function follow(call: CheckoutCall, kind: "capture" | "void" | "refund"): Answer {
  const [payment, id, amountMinor] = [paymentOf(call), call.tools.id("act_", 26), call.maybeNumber("amount")];
  const from = kind === "refund" ? (["captured", "settled"] as const) : (["authorized"] as const);
  const against = call.transactions.change(kind, payment, { id, amountMinor, from });
  if (against !== null) throw invalid(against === "amount" ? "amount_exceeds_balance" : undefined);
  const said = { approved: true, response_code: "10000", response_summary: "Approved" };
  const processed_on = new Date(call.tools.now()).toISOString();
  payment.details.following.unshift({ id, type: TYPES[kind], processed_on, amount: amountMinor ?? payment.amountMinor, ...said });
  return json(202, { action_id: id, reference: call.maybe("reference"), _links: {} });
}

/** Voids what is not captured, refunds what is; 204 when either was done before. */
function reverse(call: CheckoutCall): Answer {
  const { state } = paymentOf(call);
  if (state === "voided" || state === "refunded") return { status: 204, body: "" };
  return follow(call, state === "authorized" ? "void" : "refund");
}

function tokenizeCard(call: CheckoutCall): Answer {
  const source = typedCard(call, "");
  const [token, endsAt] = [call.tools.id("tok_", 26), call.tools.now() + CARD_TOKEN_MS];
  call.state.tokens.set(token, { source, endsAt });
  return json(201, { type: "card", token, expires_on: new Date(endsAt).toISOString(), ...source.expiry, last4: source.number.slice(-4) });
}

/** Stores a card without asking its issuer; its token is then used up. */
function createInstrument(call: CheckoutCall): Answer {
  const token = call.text("token");
  const held = call.state.tokens.get(token);
  call.state.tokens.delete(token);
  if (held === undefined || held.endsAt < call.tools.now()) throw invalid("token_invalid");
  const { number, expiry } = held.source;
  call.decide(ISSUER, number);
  const { id } = call.vault.store(call.tools.id("src_", 26), held.source);
  return json(201, { id, type: "card", fingerprint: call.tools.id("", 26), ...expiry, last4: number.slice(-4), bin: number.slice(0, 6) });
}

function deleteInstrument(call: CheckoutCall): Answer {
  const { id, paymentId } = call.vault.get(call.param("id")) ?? missing();
  call.vault[paymentId === null ? "remove" : "use"](id);
  call.transactions.forget(paymentId);
  return { status: 204, body: "" };
}

/** OAuth: an access token for those who have no secret key. */
function grant(call: CheckoutCall): Answer {
  const isKnown = isAccepted(call.text("client_id"), /^ack_[a-z0-9]+$/) && isAccepted(call.text("client_secret"));
  const scope = call.maybe("scope") ?? "gateway";
  if (!isKnown) throw refused("invalid_client", 400, { error: "invalid_client" });
  const access_token = call.tools.id("eyJ", 60);
  call.request.tokens.issue(access_token, "merchant", TOKEN_SECONDS, call.tools.now());
  return json(200, { access_token, expires_in: TOKEN_SECONDS, token_type: "Bearer", scope });
}
