import { isIP } from "node:net";
import { bearer, brandOf, cardFaults, checkCredential, defineSimulator, hash, header, issuer, json, pageBetween } from "../kit/index.ts";
import { refused, refuseWith, rules, table } from "../kit/index.ts";
import type { Answer, Call, Card, Fields, Incoming, Refusal, Rules, Transaction } from "../kit/index.ts";

/**
 * Clover's Ecommerce API: the tokenization host and the payment host behind one address, each with its own key. A card becomes a
 * single-use token without any issuer, the token a charge or a customer; storing a card asks no issuer either.
 */

const LARGEST = 99_999_999;
const PUBLIC_KEY = /^[0-9a-f]{32}$/i;
const PRIVATE_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const STATUS = table(
  "400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, 404 Not Found, 405 Method Not Allowed, 409 Conflict",
);
const told = (status: number): string => `${status} ${STATUS.get(String(status))}`;

/** Code, words and the issuer's own code of a refused card. An approval in part is a decline in this API. */
type No = readonly [code: string, message: string, declineCode?: string];
const ISSUER = issuer<No>(`
  card_declined/4264281511117771/5424180273333333/375987654000004 card_declined|DECLINED: Declined|issuer_declined
  insufficient_funds card_declined|DECLINED: Insufficient funds|issuer_declined, expired_card expired_card|The card has expired.
  incorrect_cvc incorrect_cvc|The card's security code is incorrect.
  processing_error processing_error|An error occurred while processing the card.
  lost_or_stolen card_declined|DECLINED: Lost card, pick up|issuer_declined
  4005571702222222 card_declined|DECLINED: 500, 4005578003333335 card_declined|DECLINED: Partial approval
`);

type Source = Card & { token: string; zip: string | undefined };
interface Customer {
  id: string;
  /** By the source's id. */
  sources: Map<string, Source>;
  shown: Record<string, unknown>;
}
type State = { customers: Map<string, Customer> };
type Details = { no: No | null; card: Source; members: Record<string, unknown> };
type CloverCall = Call<State, Details>;
type Charge = Transaction<Details>;

const isOpen = (fields: Fields): boolean => !fields.has("card.encrypted_pan");
const hasNumber = (fields: Fields): boolean => fields.has("card.number");
const TOKEN = rules`
  card: number!${isOpen} digits 12-19 @invalid_number, encrypted_pan~${hasNumber} 1024, cvv! digits 3-4 @invalid_cvc, first6 digits 6, last4 digits 4
  card: exp_month! /0?[1-9]|1[0-2]/ @invalid_expiry_month, exp_year! /(20)?[0-9]{2}/ @invalid_expiry_year, address_country/country country2
  card: brand is VISA|MASTERCARD|MC|AMEX|DISCOVER|DINERS_CLUB|JCB @invalid_card_type
  card: name/address_line1/address_line2/address_city/address_state 255, address_zip 16
`;
/** All members and their values together have at most so many characters. */
const METADATA_LENGTH = 500;
const CHARGE = rules`
  amount! whole 1- @invalid_charge_amount, currency! is usd|cad, source! /clv_[A-Za-z0-9]+|[A-Z0-9]{13}/
  ecomind is ecom|moto|retail, capture/partial_redemption bool, description/external_customer_reference 255, metadata.* 0-500
  external_reference_id [A-Za-z0-9\x20] 1-12, receipt_email email @email_invalid, tax_amount/tip_amount whole 0-${LARGEST}
  stored_credentials: sequence is FIRST|SUBSEQUENT, is_scheduled bool, initiator is CARDHOLDER|MERCHANT
  soft_descriptor.*/level2.*/level3.*/threeds.* any
`;
const AMOUNT = rules`amount whole 1-${LARGEST}`;
const REFUND = rules`
  charge! 13, amount whole 1-${LARGEST} @invalid_charge_amount, reason is requested_by_customer|duplicate|fraudulent
`;
const CUSTOMER = rules`
  ecomind is ecom|moto, firstName/lastName/name 255, phone 32, email email @email_invalid, source /clv_[A-Za-z0-9]+/
`;
const NEW_CUSTOMER: Rules = rules`${CUSTOMER}, email! email @email_invalid, source! /clv_[A-Za-z0-9]+/`;
/** Milliseconds of a range, whose names have a dot. */
const LIST = rules`
  limit countText 1-100, customer/starting_after/ending_before 13, expand 255
  created.gt/created.gte/created.lt/created.lte digits 13
`;

export const simulator = defineSimulator<State, Details>({
  body: "json",
  state: () => ({ customers: new Map() }),
  authenticate: (request) => authenticated(bearer(request), PRIVATE_KEY, PUBLIC_KEY),
  idempotency: {
    keyOf: (request) => (request.path === "/v1/tokens" ? "" : header(request, "idempotency-key")),
    mismatch: () => refusal(400, "idempotency_error", "The key was used for another request.", "idempotency_error"),
  },
  reference: "external_reference_id",
  recorded: ["ecomind", "stored_credentials.sequence"],
  endpoints: {
    "POST /v1/tokens": {
      authenticate(request) {
        const account = authenticated(header(request, "apikey"), PUBLIC_KEY, PRIVATE_KEY);
        if (header(request, "user-agent") === "") throw refusal(400, "invalid_request", "User-Agent is required");
        return account;
      },
      rules: TOKEN,
      run: newToken,
    },
    "GET /pakms/apikey": { run: ({ accountName }) => json(200, { apiAccessKey: publicKeyOf(accountName), active: true }) },
    "POST /v1/charges": { rules: CHARGE, run: charge },
    "GET /v1/charges": { rules: LIST, run: list },
    "GET /v1/charges/:id": { run: readCharge },
    "POST /v1/charges/:id/capture": { rules: AMOUNT, run: capture },
    "POST /v1/refunds": { rules: REFUND, run: refund },
    "POST /v1/customers": { rules: NEW_CUSTOMER, run: createCustomer },
    "PUT /v1/customers/:id": { rules: CUSTOMER, run: changeCustomer },
    "DELETE /v1/customers/:id/sources/:source": { run: removeSource },
  },
  refuse: {
    malformed: () => refusal(400, "invalid_request", "The body is not valid JSON"),
    path: (_request, isKnown) => plainRefusal(isKnown ? 405 : 404, "path"),
    field: ({ field, words, code, kind }) =>
      refusal(400, code !== undefined && kind !== "missing" ? code : "invalid_request", `${field} ${words}`),
  },
});

/** The error envelope of everything but a decline. */
const refusal = (status: number, code: string, message: string, type = "invalid_request_error"): Refusal =>
  refused(code, status, { message: told(status), error: { type, code, message } });
const plainRefusal = (status: number, code = String(status)): Refusal => refused(code, status, { message: told(status) });

const publicKeyOf = (accountName: string): string => hash("md5", accountName);

/** 403 for the key of the other kind. The key stands for its account. */
function authenticated(key: string, form: RegExp, other: RegExp): string {
  const checked = checkCredential(key, form);
  if (checked === "expired") throw refusal(401, "api_key_expired", "The key has expired.", "authentication_error");
  if (checked === "accepted") return key;
  throw plainRefusal(other.test(key) ? 403 : 401);
}

const missing = (what: string): Refusal => refusal(404, "resource_missing", `No such ${what}`).unrecorded();
const brand = (number: string): string => brandOf(number).toUpperCase().replace("DINERS", "DINERS_CLUB");
const cardMembers = ({ number, month, year, zip }: Source) => ({
  exp_month: month,
  exp_year: year,
  first6: number.slice(0, 6),
  last4: number.slice(-4),
  brand: brand(number),
  address_zip: zip,
});

const faultOf = cardFaults<readonly [code: string, message: string]>(`
  number invalid_number|The card number is not valid., expiry expired_card|The card has expired.
  code invalid_cvc|The card's security code is invalid.
`);

/** The card's form alone is looked at. The two keys are of one merchant, so that a token belongs to no key. */
function newToken(call: CloverCall): Answer {
  const places = { number: "card.number", month: "card.exp_month", year: "card.exp_year", code: "card.cvv" };
  const { number, month, year } = call.card(places, (fault) => refusal(400, ...faultOf(fault)));
  const token = call.tools.id("clv_1TST");
  const card: Source = { token, number, month: month.padStart(2, "0"), year: year.padStart(4, "20"), zip: call.maybe("card.address_zip") };
  call.request.shared.set(token, card);
  return json(200, { id: token, object: "token", card: cardMembers(card) });
}

/** The card behind an unused token; `spend` uses it up. */
function unused({ request: { shared } }: CloverCall, token: string): Source {
  const card = shared.get(token) as Source | "used" | undefined;
  if (card === "used") throw refusal(400, "token_already_used", "The token has already been used.");
  if (card === undefined) throw missing("token");
  return card;
}
const spend = ({ request }: CloverCall, { token }: Source): void => void request.shared.set(token, "used");

/** Demanded of what moves money since autumn 2023. */
function checkClientAddress(request: Incoming): void {
  const message = "400 Bad Request: x-forwarded-for header is required";
  if (isIP(header(request, "x-forwarded-for")) === 0) throw refused("x-forwarded-for", 400, { message });
}

function charge(call: CloverCall): Answer {
  checkClientAddress(call.request);
  const { tools } = call;
  const amount = call.number("amount") + (call.number("tip_amount") || 0);
  if (amount > LARGEST) throw refusal(400, "amount_too_large", "The amount is too large.");
  const metadata = call.under("metadata.");
  if (Object.entries(metadata).flat().join("").length > METADATA_LENGTH) throw refusal(400, "invalid_request", "metadata is too long");
  const source = call.text("source");
  const stored = source.startsWith("clv_") ? null : customerOf(call, source);
  const [kept] = stored?.sources.values() ?? [];
  if (stored !== null && kept === undefined) throw refusal(400, "card_on_file_missing", "The customer has no card.");
  const card = kept ?? unused(call, source);
  const no = call.decide(ISSUER, card.number);
  if (stored === null) spend(call, card);
  const members = {
    ref_num: no === null ? tools.digits(9) : undefined,
    auth_code: no === null ? tools.digits(6) : undefined,
    ecomind: call.maybe("ecomind") ?? "ecom",
    ...call.given("description", "external_reference_id", "external_customer_reference"),
    metadata,
    customer: stored?.id,
    order: tools.id("", 13).toUpperCase(),
  };
  const kind = call.text("capture") === "false" ? "authorization" : "charge";
  const [id, currency] = [tools.id("", 13).toUpperCase(), call.text("currency").toUpperCase()];
  const made = call.take({ id, kind, no, amountMinor: amount, currency, card: card.number, details: { no, card, members } });
  if (no === null) return json(200, shown(made));
  const [code, message, decline_code] = no;
  return json(402, { message: "402 Payment Required", error: { type: "card_error", code, message, charge: made.id, decline_code } });
}

function shown({ id, at, state, amountMinor, capturedMinor, refundedMinor, currency, details: { no, card, members } }: Charge): object {
  const checks = {
    address_zip_check: card.zip === undefined ? "unchecked" : "pass",
    cvc_check: no?.[0] === "incorrect_cvc" ? "failed" : "pass",
  };
  return {
    id,
    object: "charge",
    amount: capturedMinor || amountMinor,
    amount_refunded: state === "voided" ? amountMinor : refundedMinor,
    currency: currency.toLowerCase(),
    created: at,
    captured: capturedMinor > 0,
    paid: no === null,
    status: no === null ? "succeeded" : "failed",
    ...members,
    outcome:
      no === null
        ? { network_status: "approved_by_network", type: "authorized" }
        : { network_status: "declined_by_network", type: "issuer_declined" },
    source: { id: card.token, object: "card", ...cardMembers(card), ...checks },
    ...(no !== null && { failure_code: no[0], failure_message: no[1] }),
  };
}

const chargeOf = (call: CloverCall, id: string): Charge => call.transactions.get(id) ?? refuseWith(missing("charge"));

function readCharge(call: CloverCall): Answer {
  return json(200, shown(call.lookUpById(call.param("id")) ?? refuseWith(missing("charge"))));
}

function list(call: CloverCall): Answer {
  const customer = call.maybe("customer");
  const isMeant = ({ at, details }: Charge): boolean =>
    call.isWithin("created", at, (bound) => `created.${bound}`) && (customer === undefined || details.members["customer"] === customer);
  const bounds = { after: call.maybe("starting_after"), before: call.maybe("ending_before"), limit: call.number("limit") || 10 };
  const { page, hasMore } = pageBetween(call.lookUp(null, isMeant), bounds, () => missing("charge"));
  return json(200, { object: "list", url: "/v1/charges", data: page.map(shown), has_more: hasMore });
}

function capture(call: CloverCall): Answer {
  checkClientAddress(call.request);
  const one = chargeOf(call, call.param("id"));
  if (!call.transactions.capture(one, call.maybeNumber("amount")))
    throw refusal(400, "invalid_charge_amount", "The charge cannot be captured.");
  return json(200, shown(one));
}

/** The whole of an unsettled charge is voided, anything else given back. */
function refund(call: CloverCall): Answer {
  const one = chargeOf(call, call.text("charge"));
  const id = call.tools.id("", 13).toUpperCase();
  const amountMinor = call.maybeNumber("amount");
  const amount = amountMinor ?? one.amountMinor;
  const isWhole = one.refundedMinor === 0 && amount === (one.capturedMinor || one.amountMinor);
  const isVoided = isWhole && call.transactions.void(one);
  const against = isVoided ? null : call.transactions.refund(one, { id, from: ["captured", "settled"], amountMinor });
  if (against !== null)
    throw refusal(400, against === "amount" ? "invalid_charge_amount" : "invalid_request", "The charge cannot be refunded.");
  return json(200, { id, object: "refund", amount, charge: one.id, created: call.tools.now(), status: "succeeded" });
}

const customerOf = ({ state }: CloverCall, id: string): Customer => state.customers.get(id) ?? refuseWith(missing("customer"));

/** The token's card is kept with the customer: its name in the ledger is what stands before the @ of the address. */
function keep(call: CloverCall, customer: Customer): void {
  const card = unused(call, call.text("source"));
  if ([...customer.sources.values()].some(({ number }) => number === card.number)) throw plainRefusal(409);
  call.decide(ISSUER, card.number);
  spend(call, card);
  customer.sources.set(call.tools.id("", 13).toUpperCase(), card);
  call.recordStored(customer.id, referenceOf(customer), card.number);
}

const referenceOf = ({ shown }: Customer): string | null => String(shown["email"]).split("@")[0] ?? null;
const shownCustomer = ({ id, shown, sources }: Customer): Answer =>
  json(200, { id, object: "customer", ...shown, sources: { object: "list", data: [...sources.keys()] } });
const given = (call: CloverCall): object => call.given("email", "phone", "name", "firstName", "lastName");

function createCustomer(call: CloverCall): Answer {
  const id = call.tools.id("", 13).toUpperCase();
  const customer: Customer = { id, sources: new Map(), shown: { created: call.tools.now(), currency: "USD", ...given(call) } };
  keep(call, customer);
  call.state.customers.set(id, customer);
  return shownCustomer(customer);
}

function changeCustomer(call: CloverCall): Answer {
  const customer = customerOf(call, call.param("id"));
  if (call.has("source")) keep(call, customer);
  Object.assign(customer.shown, given(call));
  return shownCustomer(customer);
}

function removeSource(call: CloverCall): Answer {
  const customer = customerOf(call, call.param("id"));
  if (!customer.sources.delete(call.param("source"))) throw missing("source");
  call.recordRemoved(customer.id, referenceOf(customer));
  return json(200, { id: call.param("source"), deleted: true });
}
