import { bearer, brandOf, cardFaults, currency, defineSimulator, hash, header, isAccepted, isSame, issuer, json } from "../kit/index.ts";
import { mask, refused, refuseWith, rule, rules, table, textOf, uuidOf } from "../kit/index.ts";
import type { Answer, Call, Card, Refusal, Transaction } from "../kit/index.ts";

/**
 * Global Payments' GP-API: JSON under access tokens, a decline is a transaction with status 200, a repeated idempotency key is
 * answered 409 with the id of the first transaction rather than replayed.
 */

const VERSION = "2021-03-22";
/** The key of every app here: that of the sheet's worked example. */
const APP_KEY = "ExampleAppKey0001";
const KEY_WINDOW_MS = 24 * 3_600_000;
const ACCOUNTS = { transactions: ["transaction_processing", "TRA_"], tokens: ["tokenization", "TKA_"] } as const;

type Details = { body: Record<string, unknown> };
type GpCall = Call<object, Details>;

/** Result and message of a decline; three digits as the European acquirers have them. */
type No = readonly [result: string, message: string];
const ISSUER = issuer<No>(`
  card_declined/4000120000001154/5114610000004778/376525000000010/36256000000998 101|[ test system ] DECLINED
  4000130000001724/5114630000009791/375425000000907/36256000000634/6011000000001028/3566000000001024 102|REFERRAL B
  lost_or_stolen/4000160000004147/5121220000006921/343452000000306/38865000000705 103|CARD LOST OR STOLEN
  6011000000001036/3566000000001032 103|CARD LOST OR STOLEN, insufficient_funds 51|INSUFFICIENT FUNDS, expired_card 54|EXPIRED CARD
  4242420000000091/5100000000000131/374205502001004 111|STRONG CUSTOMER AUTHENTICATION REQUIRED
  4009830000001985/5135020000005871/372349000000852 50013|Declined by downstream system
  30450000000985/6011000000002000/3566000000002006 50013|Declined by downstream system
  incorrect_cvc 82|CVV ERROR, processing_error 508|PROCESSING ERROR, 4259917010910078/6011000000001010/3566000000001016 101|[ test system ] DECLINED
`);
const UNBOARDED_CURRENCY = "XXX";
/** Security code, postal code and address of the cards that do not match in all: M, N or U. */
const CHECKS = table(
  "5167304376624205 MNN, 5167305286858551 MNM, 5167308114614170 MUU, 5167300747736579 NNM, 5167308925965308 NMN, 5167308304373025 NNN",
);
const LETTERS = table("M MATCHED, N NOT_MATCHED, U NOT_CHECKED");

const UNIT = rule((value) => (value === UNBOARDED_CURRENCY ? null : currency().check(value)));
const CARD = rules`
  number! digits 12-19 @40090, expiry_month! month @40090, expiry_year! digits 2 @40090, cvv digits 3-4 @40085
  cvv_indicator is PRESENT|NOT_PRESENT|ILLEGIBLE|NOT_ON_CARD, avs_address/avs_postal_code 50
`;
const CHECKED = rules`
  account_name/account_id 64, description 50, channel! is CNP|CP, country! country2, currency! ${UNIT}, reference! 8-50
  order.reference 50, ip_address ipv4, initiator is PAYER|MERCHANT
  stored_credential: model is UNSCHEDULED|RECURRING|INSTALLMENT|SUBSCRIPTION, sequence is FIRST|SUBSEQUENT, reason 32
  payment_method: entry_mode! is PHONE|MOTO|MAIL|ECOM|IN_APP, name/first_name/last_name/narrative 50, id /PMT_[0-9a-f-]{36}/
  payment_method: storage_mode is ON_SUCCESS|ALWAYS|OFF
  payment_method.card?: ${CARD}
`;
const SALE = rules`
  ${CHECKED}, type! is SALE|REFUND, amount! digits 1-12, capture_mode is AUTO|LATER|MULTIPLE, check_for_duplicate is YES|NO
`;
const FOLLOWING = rules`amount digits 1-12`;
const STORED = rules`
  account_name/account_id 64, name 100, reference! 8-50, usage_mode is SINGLE|MULTIPLE, fingerprint_mode is ALWAYS|ON_SUCCESS
  card: ${CARD}
`;
const REPORT = rules`
  reference/id 100, account_name/account_id 64, status/order_by 32, currency 3, country 2, order 4
  from_time_created/to_time_created /\d{4}-\d\d-\d\d/, page countText 1-999999, page_size countText 1-999
`;
const TOKEN = rules`
  app_id! 64, nonce! 256, secret! /[0-9a-f]{128}/, grant_type! is client_credentials, seconds_to_expire whole 60-604800, permissions[*] 64
  interval_to_expire is 5_MINUTES|10_MINUTES|30_MINUTES|1_HOUR|3_HOURS|6_HOURS|12_HOURS|DAY|WEEK
`;

export const simulator = defineSimulator<object, Details>({
  body: "json",
  headers: rules`x-gp-version! is ${VERSION}`,
  authenticate({ tokens, tools, headers }) {
    const account = tokens.accountOf(bearer({ headers }), tools.now());
    if (account === null) throw refusal(401, "NOT_AUTHENTICATED", "40001", "Invalid access token");
    return account;
  },
  idempotency: {
    keyOf(request) {
      const key = header(request, "x-gp-idempotency");
      if (key.length > 50) throw unexpected("x-gp-idempotency");
      return key;
    },
    windowMs: KEY_WINDOW_MS,
    replay(first) {
      const { id, status } = JSON.parse(first.body as string) as { id: string; status: string };
      return refusal(409, "DUPLICATE_ACTION", "40039", `Idempotency Key seen before: id=${id}, status=${status}`).answer;
    },
  },
  reference: "reference",
  recorded: ["payment_method.entry_mode"],
  endpoints: {
    "POST /ucp/accesstoken": {
      isIdempotent: false,
      rules: TOKEN,
      authenticate: ({ fields }) => textOf(fields, "app_id"),
      run: newToken,
    },
    "POST /ucp/transactions": { rules: SALE, run: sell },
    "GET /ucp/transactions": { rules: REPORT, run: report },
    "GET /ucp/transactions/:id": { run: read },
    "POST /ucp/transactions/:id/capture": { rules: FOLLOWING, run: (call) => follow(call, "CAPTURED") },
    "POST /ucp/transactions/:id/reversal": {
      rules: rules`${FOLLOWING}, reversal_reason is TIMEOUT|FRAUD`,
      run: (call) => follow(call, "REVERSED"),
    },
    "POST /ucp/transactions/:id/refund": { rules: rules`${FOLLOWING}, reference 8-50`, run: (call) => follow(call, "REFUNDED") },
    "POST /ucp/verifications": { rules: CHECKED, run: verify },
    "POST /ucp/payment-methods": { rules: STORED, run: store },
  },
  refuse: {
    malformed: (_request, isOtherType) =>
      refusal(
        isOtherType ? 415 : 400,
        "INVALID_REQUEST_DATA",
        "40006",
        isOtherType ? "Unsupported media type" : "Request body is not valid JSON",
      ),
    path: (_request, isKnown) => refusal(isKnown ? 405 : 404, "RESOURCE_NOT_FOUND", "40008", "The endpoint does not exist"),
    field({ kind, field, code }) {
      const name = field.replace(/^header /, "").replace("payment_method.", "");
      if (kind === "missing") return missing(name.split(".").at(-1) ?? "");
      return code === undefined ? unexpected(field.replace(/^header /, "")) : invalid(name, code);
    },
  },
});

const refusal = (status: number, error_code: string, detailed_error_code: string, detailed_error_description: string): Refusal =>
  refused(detailed_error_code, status, { error_code, detailed_error_code, detailed_error_description });

const missing = (names: string): Refusal =>
  refusal(400, "MANDATORY_DATA_MISSING", "40005", `Request expects the following fields : ${names}`);
const invalid = (field: string, code = "40090"): Refusal => {
  const words = `${field} value is invalid. Please check the format and data provided is correct.`;
  return refusal(400, "INVALID_REQUEST_DATA", code, words);
};
const unpermitted = (): Refusal => refusal(403, "ACTION_NOT_AUTHORIZED", "40212", "Permission not enabled to execute action");
const unexpected = (field: string): Refusal => refusal(400, "INVALID_REQUEST_DATA", "40213", `${field} contains unexpected data`);

function notFound(call: GpCall): never {
  throw refusal(404, "RESOURCE_NOT_FOUND", "40008", `Transaction ${call.param("id")} not found at this location.`).unrecorded();
}

function newToken(call: GpCall): Answer {
  const { tools, request } = call;
  const [appId, seconds] = [call.text("app_id"), call.maybeNumber("seconds_to_expire") ?? 86_400];
  const isKnown =
    isAccepted(appId, /^[A-Za-z0-9]{32}([A-Za-z0-9]{16})?$/) && isSame(hash("sha512", call.text("nonce") + APP_KEY), call.text("secret"));
  if (!isKnown) throw refusal(403, "ACTION_NOT_AUTHORIZED", "40004", "Credentials not recognized to create access token.");
  const token = tools.id("", 28);
  request.tokens.issue(token, appId, seconds, tools.now());
  const accounts = Object.values(ACCOUNTS).map(([name, prefix]) => ({ id: accountId(appId, prefix), name, permissions: [] }));
  const scope = { merchant_id: `MER_${hash("md5", appId)}`, merchant_name: "Sandbox_merchant", accounts };
  const times = { time_created: timeOf(call), seconds_to_expire: seconds - 1 };
  return json(200, { token, type: "Bearer", app_id: appId, app_name: "simulator", ...times, scope });
}

const accountId = (appId: string, prefix: string): string => prefix + hash("md5", prefix + appId);
const timeOf = ({ tools }: GpCall): string => new Date(tools.now()).toISOString();

/** The account must be named, and be one for this. */
function checkAccount(call: GpCall, [name, prefix]: (typeof ACCOUNTS)[keyof typeof ACCOUNTS]): void {
  const [givenName, givenId] = [call.maybe("account_name"), call.maybe("account_id")];
  const wanted = "Request expects the following conditionally mandatory fields account_id, account_name.";
  if (givenName === undefined && givenId === undefined) throw refusal(400, "MANDATORY_DATA_MISSING", "40007", wanted);
  const id = accountId(call.accountName, prefix);
  if ((givenName ?? name) !== name || (givenId ?? id) !== id) throw unpermitted();
}

const faultOf = cardFaults<readonly [name: string, code?: string]>("number number, expiry expiry_year, code cvv|40085");

/** The card below `path`, or the stored one that is named. */
function cardIn(call: GpCall, path: string): Card {
  const id = call.maybe("payment_method.id");
  const [number, code] = [`${path}.number`, `${path}.cvv`];
  if (id !== undefined) {
    if (call.text(number) !== "") throw unexpected("payment_method.card");
    const unknown = () => refusal(404, "RESOURCE_NOT_FOUND", "40116", `payment_method ${id} not found at this location.`);
    return call.vault.get(id) ?? refuseWith(unknown());
  }
  if (call.text(number) === "") throw missing("number");
  const card = call.card({ number, month: `${path}.expiry_month`, year: `${path}.expiry_year`, code }, (fault) => {
    const [name, error] = faultOf(fault);
    return invalid(`card.${name}`, error);
  });
  const isTold = call.has(`${path}.cvv_indicator`);
  if (isTold && (call.text(`${path}.cvv_indicator`) === "PRESENT") !== (call.text(code) !== ""))
    throw invalid("card.cvv_indicator", "40213");
  return card;
}

function actionOf(call: GpCall, type: string, result_code: string): object {
  const { tools, accountName } = call;
  return { id: `ACT_${tools.id("", 30)}`, type, time_created: timeOf(call), result_code, app_id: accountName, app_name: "simulator" };
}

/** Members of a transaction or verification that say how the card fared. */
function shownMethod(call: GpCall, { number }: Card, no: No | null): object {
  const isSent = (name: string) => call.has(`payment_method.card.${name}`);
  const [code = "M", zip = "M", line = "M"] = no?.[0] === "82" ? ["N"] : (CHECKS.get(number) ?? "MMM");
  const letters = {
    cvv: isSent("cvv") ? code : "U",
    avs_postal_code: isSent("avs_postal_code") ? zip : "U",
    avs_address: isSent("avs_address") ? line : "U",
  };
  const results = Object.entries(letters).map(([name, letter]) => [`${name}_result`, LETTERS.get(letter)] as const);
  const provider = Object.fromEntries(Object.entries(letters).map(([name, letter]) => [`${name}_result`, letter]));
  return {
    result: no?.[0] ?? "00",
    message: no?.[1] ?? "[ test system ] AUTHORISED",
    entry_mode: call.text("payment_method.entry_mode"),
    fingerprint: "",
    card: {
      funding: "CREDIT",
      brand: brandOf(number).toUpperCase(),
      masked_number_last4: mask(number, "X"),
      authcode: no === null ? call.tools.digits(5) : "",
      brand_reference: call.tools.id("", 16),
      ...Object.fromEntries(results),
      provider: { result: no?.[0] ?? "00", ...provider },
    },
  };
}

const shownAccount = (call: GpCall, [name, prefix]: (typeof ACCOUNTS)[keyof typeof ACCOUNTS]) => ({
  merchant_id: `MER_${hash("md5", call.accountName)}`,
  merchant_name: "Sandbox_merchant",
  account_id: accountId(call.accountName, prefix),
  account_name: name,
  reference: call.text("reference"),
});

/** The issuer's word; some cards make the system behind the gateway fail, which leaves nothing behind. */
function decided(call: GpCall, { number }: Card): No | null {
  const no = call.decide(ISSUER, number);
  if (no?.[0] !== "50013") return no;
  const code = call.text("currency") === UNBOARDED_CURRENCY ? "50024" : no[0];
  throw refusal(502, "SYSTEM_ERROR_DOWNSTREAM", code, no[1]);
}

function sell(call: GpCall): Answer {
  checkAccount(call, ACCOUNTS.transactions);
  if (call.text("type") === "REFUND") throw unpermitted();
  const card = cardIn(call, "payment_method.card");
  const [amount, unit, reference] = [call.text("amount"), call.text("currency"), call.text("reference")];
  if (Number(amount) === 0) throw unexpected("amount");
  const isTwin = (one: Transaction<Details>) =>
    one.reference === reference && one.amountMinor === Number(amount) && one.card === card.number;
  const isTold = call.text("check_for_duplicate") === "YES";
  if (isTold && call.transactions.find(isTwin)) throw refusal(400, "DUPLICATE_TRANSACTION", "40038", "Duplicate transaction");
  const no = decided(call, card);
  if (unit === UNBOARDED_CURRENCY)
    throw refusal(400, "INVALID_REQUEST_DATA", "40041", "Merchant configuration does not exist for the following combination");
  const isHeld = ["LATER", "MULTIPLE"].includes(call.text("capture_mode"));
  const id = `TRN_${call.tools.id("", 30)}`;
  const stored =
    no === null && ["ON_SUCCESS", "ALWAYS"].includes(call.text("payment_method.storage_mode"))
      ? call.vault.keep(newMethodId(call), card)
      : undefined;
  const method = { ...shownMethod(call, card, no), ...(stored && { id: stored.id }) };
  const body = {
    id,
    time_created: timeOf(call),
    type: "SALE",
    status: no !== null ? "DECLINED" : isHeld ? "PREAUTHORIZED" : "CAPTURED",
    channel: call.text("channel"),
    capture_mode: call.maybe("capture_mode") ?? "AUTO",
    amount,
    currency: unit,
    country: call.text("country"),
    ...shownAccount(call, ACCOUNTS.transactions),
    payment_method: method,
    batch_id: no === null && !isHeld ? `BAT_${call.tools.digits(6)}` : "",
    action: actionOf(call, "AUTHORIZE", no === null ? "SUCCESS" : "DECLINED"),
  };
  const kind = isHeld ? "authorization" : "charge";
  call.take({ id, kind, no, amountMinor: Number(amount), currency: unit, card: card.number, details: { body } });
  return json(200, body);
}

/** A zero-value check; a lost answer is that of the payment or of the stored card, not of this. */
function verify(call: GpCall): Answer {
  checkAccount(call, ACCOUNTS.transactions);
  const card = cardIn(call, "payment_method.card");
  const no = decided(call, card);
  call.isLost = false;
  const id = `VER_${call.tools.id("", 30)}`;
  const [reference, result] = [call.text("reference"), no === null ? "SUCCESS" : "NOT_VERIFIED"];
  const outcome = no === null ? "approved" : "declined";
  call.tools.record({ kind: "authorization", id, reference, outcome, amountMinor: 0, card: mask(card.number) });
  const status = no === null ? "VERIFIED" : "NOT_VERIFIED";
  return json(200, {
    id,
    time_created: timeOf(call),
    status,
    ...call.given("channel", "currency", "country"),
    ...shownAccount(call, ACCOUNTS.transactions),
    payment_method: shownMethod(call, card, no),
    action: actionOf(call, "VERIFY", result),
  });
}

const newMethodId = ({ tools }: GpCall): string => `PMT_${uuidOf(tools.id(""))}`;

/** Stores a card without asking the issuer. */
function store(call: GpCall): Answer {
  checkAccount(call, ACCOUNTS.tokens);
  const card = cardIn(call, "card");
  call.decide(ISSUER, card.number);
  const { id, number, month, year } = call.vault.store(newMethodId(call), card, call.text("reference"));
  const [last4, brand] = [mask(number, "X"), brandOf(number).toUpperCase()];
  return json(200, {
    id,
    time_created: timeOf(call),
    status: "ACTIVE",
    usage_mode: call.maybe("usage_mode") ?? "MULTIPLE",
    name: call.text("name"),
    ...shownAccount(call, ACCOUNTS.tokens),
    card: { number: last4, masked_number_last4: last4, brand, expiry_month: month, expiry_year: year },
    action: actionOf(call, "PAYMENT_METHOD_CREATE", "SUCCESS"),
  });
}

function read(call: GpCall): Answer {
  const { details } = call.lookUpById(call.param("id")) ?? notFound(call);
  return json(200, details.body);
}

/** Capture, reversal before settlement, refund after. */
const FOLLOWS = { CAPTURED: ["capture", "CAPTURE"], REVERSED: ["void", "REVERSE"], REFUNDED: ["refund", "REFUND"] } as const;

function follow(call: GpCall, status: keyof typeof FOLLOWS): Answer {
  const { transactions, tools } = call;
  const one = transactions.get(call.param("id")) ?? notFound(call);
  const [amountMinor, state] = [call.maybeNumber("amount"), one.state];
  const [kind, done] = FOLLOWS[status];
  const id = kind === "refund" ? `TRN_${tools.id("", 30)}` : one.id;
  const isPart = kind === "void" && amountMinor !== undefined && amountMinor !== one.amountMinor;
  const against = isPart ? "amount" : transactions.change(kind, one, { id, amountMinor });
  if (against === "amount") throw refusal(400, "INVALID_REQUEST_DATA", "40214", "The amount does not fit the transaction");
  if (against === "state") throw refusal(400, "INVALID_TRANSACTION_ACTION", "40044", `${status} is not permitted on ${state} transactions`);
  const action = actionOf(call, done, "SUCCESS");
  if (kind !== "refund") return json(200, Object.assign(one.details.body, { status, action }));
  const amount = String(amountMinor ?? one.amountMinor);
  return json(200, { ...one.details.body, id, type: "REFUND", status: "CAPTURED", amount, action });
}

function report(call: GpCall): Answer {
  const [reference, from, to] = [call.maybe("reference"), call.text("from_time_created"), call.text("to_time_created") || "9"];
  const found = call.lookUp(reference ?? null, (one) => {
    const day = new Date(one.at).toISOString().slice(0, 10);
    const isNamed = ["id", "status", "currency", "country"].every((name) => !call.has(name) || one.details.body[name] === call.text(name));
    return isNamed && (reference ?? one.reference) === one.reference && day >= from && day <= to;
  });
  const [page, size] = [call.number("page") || 1, call.number("page_size") || 5];
  const transactions = found.slice((page - 1) * size, page * size).map(({ details }) => details.body);
  const counts = { total_record_count: found.length, current_page_size: transactions.length };
  return json(200, { ...counts, transactions, paging: { page, page_size: size } });
}
