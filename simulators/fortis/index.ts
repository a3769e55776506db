import { brandNames, codeLength, defineSimulator, faultIn, header, isAccepted, isCardNumber, isExpired, issuer } from "../kit/index.ts";
import { json, matching, READERS, refused, refuseWith, rules, textOf, unixSeconds } from "../kit/index.ts";
import type { Answer, Call, Kept, Refusal, Transaction } from "../kit/index.ts";

/**
 * Fortis's API v1: a decline is a created transaction with status_code 301, a refused field is 412 in Joi's words. No second request is
 * refused for its transaction_api_id; only a product whose id ends in 1801 declines a second equal charge. Tokens' api ids are
 * unique. A product takes US dollars.
 */

const LARGEST = 999_999_999;
/** Status codes of transactions. */
const STATUS = { sale: 101, hold: 102, refund: 111, verified: 121, voided: 201, declined: 301 } as const;
const [APPROVED, PARTIAL, VOIDED, EXPIRED, BAD_CVV, DUPLICATE] = [1000, 1201, 1200, 1622, 1656, 1801];
const ISSUER = issuer(
  "card_declined 1601, insufficient_funds 1616, expired_card 1622, incorrect_cvc 1656, processing_error 1603, lost_or_stolen 1604",
  Number,
);
/** In the sandbox 6.01 is declined as 1601, 6.22 as 1622; so are the others of that range for which a reason is known. */
const CENTS = "1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 18 19 20 21 22 23 24 25 26 27 28 31 50 52 53 54 55 56 57 59";
const REASONS_BY_AMOUNT: ReadonlySet<number> = new Set(CENTS.split(" ").map((cents) => 600 + Number(cents)));
/** An amount that is approved in part, unless the request forbids it. */
const PARTIAL_AMOUNT = 1201;
const accountTypeOf = brandNames("visa visa, mastercard mc, amex amex, discover disc, jcb jcb, diners diners", "debit");

interface Card {
  number: string;
  expiry: string;
  holder: string | null;
  postalCode: string | null;
}
/** Kept under the vendor's id; the reference in the ledger is its own, or that of the transaction that it was made of. */
type Token = Card & { apiId: string | null; location: string };
type Details = { card: Card; body: Record<string, unknown> };
type FortisCall = Call<object, Details, Token>;
type Payment = Transaction<Details>;

const ID_FORM = /^(([0-9a-fA-F-]{24,36})|([0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}))$/;
const ID = matching(ID_FORM, "an id");
const CARD = rules`
  account_number! digits 13-19, exp_date! mmyy, account_holder_name 32
  billing_address: postal_code [a-zA-Z0-9\s-] 3-10, street [\w#,.'&\s/-] 1-32, city [\w#,.'&\s/-] 1-36, state 24, country country3, phone digits 10
`;
const ORDER = rules`
  location_id! ${ID}, product_transaction_id ${ID}, transaction_api_id/description 64, order_number 32, notification_email_address email
  allow_partial_authorization_override/card_present/cardholder_present bool
`;
const TYPED = rules`${ORDER}, ${CARD}, cvv digits 3-4`;
const BY_TOKEN = rules`${ORDER}, token_id ${ID}, token_api_id 64, cvv digits 3-4, transaction_amount! whole 1-${LARGEST}`;
const AMOUNT = rules`transaction_amount whole 1-${LARGEST}`;
const TOKEN = rules`title 16, token_api_id 64, contact_id ${ID}, location_id! ${ID}`;
const PREVIOUS = rules`${TOKEN}, previous_transaction_id! ${ID}, account_holder_name 32`;
const FILTER = rules`
  filter_by[*][key]! is transaction_api_id|id|order_number|transaction_amount|last_four|status_code
  filter_by[*][operator]! is =|>=|<=, filter_by[*][value]! 255
`;

export const simulator = defineSimulator<object, Details, Token>({
  body: "json",
  authenticate(request) {
    const [user, key, developer] = [header(request, "user-id"), header(request, "user-api-key"), header(request, "developer-id")];
    if (isAccepted(user, /^[0-9a-fA-F]{24}$/) && isAccepted(key, /^\S{24,64}$/) && isAccepted(developer, /^\w{8}$/)) return user;
    throw refusal(request.tools, 401, "Unauthorized", "Unauthorized");
  },
  headers: { accept: matching(/json|\*\/\*/, "JSON") },
  reference: "transaction_api_id",
  recorded: ["product_transaction_id"],
  endpoints: {
    "POST /v1/transactions/cc/sale/keyed": {
      rules: rules`${TYPED}, transaction_amount! whole 1-${LARGEST}`,
      run: (call) => pay(call, "sale"),
    },
    "POST /v1/transactions/cc/auth-only/keyed": {
      rules: rules`${TYPED}, transaction_amount! whole 0-${LARGEST}`,
      run: (call) => pay(call, "hold"),
    },
    "POST /v1/transactions/cc/avs-only/keyed": { rules: rules`${TYPED}, transaction_amount whole 0`, run: (call) => pay(call, "verified") },
    "POST /v1/transactions/cc/sale/token": { rules: BY_TOKEN, run: (call) => pay(call, "sale") },
    "GET /v1/transactions": { rules: rules`${FILTER}, filter_by 4000`, run: list },
    "GET /v1/transactions/:id": { run: (call) => transactionAnswer(200, found(call).details.body) },
    "PUT /v1/transactions/:id/void": { run: voidPayment },
    "PATCH /v1/transactions/:id/void": { run: voidPayment },
    "PATCH /v1/transactions/:id/auth-complete": { rules: AMOUNT, run: complete },
    "PATCH /v1/transactions/:id/refund": { rules: AMOUNT, run: refund },
    "POST /v1/tokens/cc": { rules: rules`${CARD}, ${TOKEN}, run_avs bool`, run: storeCard },
    "POST /v1/tokens/previous-transaction": { rules: PREVIOUS, run: storePrevious },
    "GET /v1/tokens/:id": { run: (call) => tokenAnswer(200, tokenOf(call)) },
    "DELETE /v1/tokens/:id": { run: deleteToken },
  },
  refuse: {
    malformed: ({ tools }) => refusal(tools, 400, "Bad Request", "Invalid request payload JSON format"),
    path: ({ tools }, isKnown) =>
      isKnown ? refusal(tools, 405, "Method Not Allowed", "Method Not Allowed") : refusal(tools, 404, "Not Found", "Not Found"),
    field: ({ kind, field, words }, { tools }) => invalid(tools, field, JOI[kind]?.[0] ?? words, JOI[kind]?.[1] ?? "any.only"),
  },
});

/** Words and type of Joi's messages where the kind of fault decides them. */
const JOI: Readonly<Record<string, readonly [words: string, type: string]>> = {
  missing: ["is required", "any.required"],
  unknown: ["is not allowed", "object.unknown"],
};

function refusal({ id: idOf }: Pick<FortisCall["tools"], "id">, statusCode: number, title: string, detail: string, meta?: object): Refusal {
  return refused(`${statusCode} ${detail}`, statusCode, { type: "Error", id: idOf("clj", 22), statusCode, title, detail, meta });
}

/** Our data was refused; nothing was charged. */
function invalid(tools: FortisCall["tools"], field: string, words: string, type: string): Refusal {
  const [message, key] = [`"${field}" ${words}`, field.split(".").at(-1)];
  const details = [{ message, path: field.split("."), type, context: { key, label: field } }];
  return refusal(tools, 412, "Precondition Failed", message, { details });
}

const missing = ({ tools }: FortisCall): Refusal => refusal(tools, 404, "Not Found", "Not Found").unrecorded();
/** 412 for what the transaction or the card does not allow. */
const precondition = ({ tools }: FortisCall, message: string): Refusal => refusal(tools, 412, "Precondition Failed", message, { message });

/** 24 hexadecimal digits, with letters among them so that no scanner takes them for a card number. */
const idOf = ({ tools }: FortisCall): string => `31ef${tools.digits(6)}c${tools.digits(6)}d${tools.digits(6)}`;

function pathId(call: FortisCall, name: "transaction_id" | "token_id"): string {
  const value = call.param("id");
  if (!ID_FORM.test(value))
    throw invalid(call.tools, name, `with value "${value}" fails to match the Fortis id pattern`, "string.pattern.name");
  return value;
}

function checkedCard(call: FortisCall): Card {
  const number = call.text("account_number");
  if (!isCardNumber(number)) throw invalid(call.tools, "account_number", "must be a credit card", "string.creditCard");
  const [holder, postalCode] = ["account_holder_name", "billing_address.postal_code"].map((name) => call.maybe(name) ?? null);
  return { number, expiry: call.text("exp_date"), holder: holder ?? null, postalCode: postalCode ?? null };
}

/** The stored card that the request names by the vendor's id or by ours. */
function storedCard(call: FortisCall): Card {
  const [token, api] = [call.maybe("token_id"), call.maybe("token_api_id")];
  const kept = token !== undefined ? call.vault.get(token) : call.vault.find(({ apiId }) => apiId !== null && apiId === api);
  return kept ?? refuseWith(invalid(call.tools, token === undefined ? "token_api_id" : "token_id", "is not found", "any.invalid"));
}

const isOver = ({ expiry }: Card, now: number): boolean => isExpired(Number(expiry.slice(0, 2)), Number(expiry.slice(2)), now);

/** A second equal charge of the batch, for a product that checks. */
function isDuplicate(call: FortisCall, card: Card, amountMinor: number): boolean {
  const isEqual = (one: Payment) => one.state === "captured" && one.card === card.number && one.amountMinor === amountMinor;
  return call.text("product_transaction_id").endsWith("1801") && call.transactions.all().some(isEqual);
}

/** The reason of what becomes of a card; the issuer is asked last. */
function reasonOf(call: FortisCall, card: Card, amountMinor: number): number {
  const cvv = call.maybe("cvv");
  if (isOver(card, call.tools.now())) return EXPIRED;
  if (cvv !== undefined && cvv.length !== codeLength(card.number)) return BAD_CVV;
  if (isDuplicate(call, card, amountMinor)) return DUPLICATE;
  const no = call.decide(ISSUER, card.number);
  if (no !== null) return no;
  if (REASONS_BY_AMOUNT.has(amountMinor)) return amountMinor + 1000;
  return amountMinor === PARTIAL_AMOUNT && call.text("allow_partial_authorization_override") !== "false" ? PARTIAL : APPROVED;
}

/** AVS by what was sent of the address. */
function avsOf(call: FortisCall): readonly [string | null, string | null] {
  const [zip, line] = [call.has("billing_address.postal_code"), call.has("billing_address.street")];
  return zip && line ? ["GOOD", "Y"] : zip ? ["ZIP", "Z"] : line ? ["STREET", "A"] : [null, null];
}

/** Members that are the same of every transaction, or the same unless the request has another value. */
const FIXED = {
  payment_method: "cc",
  response_message: null,
  entry_mode_id: "K",
  trx_source_code: 12,
  currency: "USD",
  currency_code: 840,
};
const UNSAID = { order_number: null, description: null, token_id: null, par: null, product_transaction_id: "11ef69fdc6debc2cb1af505c" };

function pay(call: FortisCall, type: "sale" | "hold" | "verified"): Answer {
  const { tools } = call;
  const card = call.has("account_number") ? checkedCard(call) : storedCard(call);
  const amountMinor = call.number("transaction_amount");
  const reason = reasonOf(call, card, amountMinor);
  const isApproved = reason === APPROVED || reason === PARTIAL;
  const [transactionId, apiId, now] = [idOf(call), call.maybe("transaction_api_id") ?? null, unixSeconds(tools.now())];
  const taken = reason === PARTIAL ? Math.floor(amountMinor / 2) : isApproved ? amountMinor : 0;
  const [avs, enhanced] = avsOf(call);
  const body = {
    id: transactionId,
    ...FIXED,
    ...UNSAID,
    first_six: card.number.slice(0, 6),
    last_four: card.number.slice(-4),
    account_holder_name: card.holder,
    transaction_amount: amountMinor,
    auth_amount: taken,
    auth_code: isApproved ? `a${tools.digits(5)}` : null,
    verbiage: `Test ${tools.digits(4)}`,
    type_id: type === "verified" ? 21 : 20,
    status_code: isApproved ? STATUS[type] : STATUS.declined,
    reason_code_id: reason,
    avs: isApproved ? avs : null,
    avs_enhanced: isApproved ? enhanced : null,
    cvv_response: call.has("cvv") ? (reason === BAD_CVV ? "N" : isApproved ? "M" : "P") : null,
    account_type: accountTypeOf(card.number),
    ...call.given("order_number", "description", "token_id", "product_transaction_id", "location_id"),
    transaction_api_id: apiId,
    is_token: !call.has("account_number"),
    created_ts: now,
    modified_ts: now,
  };
  const kind = type === "sale" ? "charge" : "authorization";
  const amount = { amountMinor: taken || amountMinor, currency: "USD" };
  call.take({
    id: transactionId,
    kind,
    isApproved,
    ...amount,
    card: card.number,
    details: { card, body },
    ledger: { reason_code_id: reason },
  });
  return transactionAnswer(201, body);
}

const transactionAnswer = (status: number, data: Details["body"]): Answer => json(status, { type: "Transaction", data });

const found = (call: FortisCall): Payment => call.lookUpById(pathId(call, "transaction_id")) ?? refuseWith(missing(call));

/** Filters as they stand in the query, or in one parameter that is a list in JSON. */
function filtersOf(call: FortisCall): { key: string; operator: string; value: string }[] {
  const written = call.maybe("filter_by");
  const read = written === undefined ? call.fields : (READERS.json.read(Buffer.from(written)) ?? new Map([["filter_by", written]]));
  const filters = new Map([...read].map(([name, value]) => [name.replace(/^(\[[0-9]+\])\.(\w+)$/, "filter_by$1[$2]"), value]));
  const fault = faultIn(filters, FILTER);
  if (fault !== null) throw invalid(call.tools, "filter_by", `${fault.field} ${fault.words}`, "any.only");
  const member = (place: string, name: string) => textOf(filters, `${place}[${name}]`);
  const places = new Set([...filters.keys()].map((name) => name.replace(/\[[a-z]+\]$/, "")));
  return [...places].map((place) => ({ key: member(place, "key"), operator: member(place, "operator"), value: member(place, "value") }));
}

const COMPARE: Readonly<Record<string, (own: string, value: string) => boolean>> = {
  "=": (own, value) => own === value,
  ">=": (own, value) => Number(own) >= Number(value),
  "<=": (own, value) => Number(own) <= Number(value),
};

function list(call: FortisCall): Answer {
  const filters = filtersOf(call);
  const passes = ({ details }: Payment) =>
    filters.every(({ key, operator, value }) => COMPARE[operator]?.(textOf(new Map(Object.entries(details.body)), key), value));
  const reference = filters.find(({ key }) => key === "transaction_api_id")?.value ?? null;
  const rows = call.lookUp(reference, passes).map(({ details }) => details.body);
  const pagination = { type: "Pagination", total_count: rows.length, page_count: 1, page_number: 1, page_size: 50 };
  return json(200, { type: "TransactionsCollection", list: rows.slice(0, 50), pagination });
}

/** The payment that is changed; its record is new. */
function changed(call: FortisCall, kind: "capture" | "void" | "refund", id?: string): Payment {
  const one = call.transactions.get(pathId(call, "transaction_id")) ?? refuseWith(missing(call));
  const against = call.transactions.change(kind, one, { id: id ?? one.id, amountMinor: call.maybeNumber("transaction_amount") });
  if (against !== null) throw precondition(call, "Transaction is in the wrong state");
  Object.assign(one.details.body, { modified_ts: unixSeconds(call.tools.now()) });
  return one;
}

function voidPayment(call: FortisCall): Answer {
  const { body } = changed(call, "void").details;
  return transactionAnswer(200, Object.assign(body, { status_code: STATUS.voided, reason_code_id: VOIDED }));
}

function complete(call: FortisCall): Answer {
  const { capturedMinor, details } = changed(call, "capture");
  return transactionAnswer(200, Object.assign(details.body, { status_code: STATUS.sale, transaction_amount: capturedMinor }));
}

/** A refund is a transaction of its own, whose record alone is shown. */
function refund(call: FortisCall): Answer {
  const id = idOf(call);
  const { body } = changed(call, "refund", id).details;
  const transaction_amount = call.maybeNumber("transaction_amount") ?? body["transaction_amount"];
  return transactionAnswer(200, { ...body, id, status_code: STATUS.refund, reason_code_id: APPROVED, transaction_amount });
}

function keep(call: FortisCall, card: Card, reference: string | null): Answer {
  const [apiId, location] = [call.maybe("token_api_id") ?? null, call.text("location_id")];
  if (apiId !== null && call.vault.find((one) => one.apiId === apiId && one.location === location))
    throw invalid(call.tools, "token_api_id", "already exists", "any.unique");
  const { number, expiry, postalCode } = card;
  const token = { number, expiry, postalCode, apiId, location, holder: call.maybe("account_holder_name") ?? card.holder };
  return tokenAnswer(201, call.vault.store(idOf(call), token, reference), call.maybe("title") ?? null);
}

function tokenAnswer(status: number, token: Kept<Token>, title: string | null = null): Answer {
  const data = {
    id: token.id,
    active: true,
    payment_method: "cc",
    account_type: accountTypeOf(token.number),
    first_six: token.number.slice(0, 6),
    last_four: token.number.slice(-4),
    exp_date: token.expiry,
    account_holder_name: token.holder,
    location_id: token.location,
    token_api_id: token.apiId,
    title,
    billing_address: { postal_code: token.postalCode },
    created_ts: unixSeconds(token.at),
  };
  return json(status, { type: "Token", data });
}

/** Stores a card; the issuer is asked only for `run_avs`, and never about a security code. */
function storeCard(call: FortisCall): Answer {
  const card = checkedCard(call);
  if (isOver(card, call.tools.now())) throw invalid(call.tools, "exp_date", "must be a future date", "date.future");
  const no = call.decide(ISSUER, card.number);
  if (call.text("run_avs") === "true" && no !== null && no !== BAD_CVV) throw precondition(call, "Account verification failed");
  return keep(call, card, call.maybe("token_api_id") ?? null);
}

function storePrevious(call: FortisCall): Answer {
  const one = call.transactions.get(call.text("previous_transaction_id"));
  if (one === undefined || one.state === "declined") throw invalid(call.tools, "previous_transaction_id", "is invalid", "any.invalid");
  return keep(call, one.details.card, call.maybe("token_api_id") ?? one.reference);
}

const tokenOf = (call: FortisCall): Kept<Token> => call.vault.get(pathId(call, "token_id")) ?? refuseWith(missing(call));

function deleteToken(call: FortisCall): Answer {
  call.vault.remove(tokenOf(call).id);
  return { status: 204, body: "" };
}
