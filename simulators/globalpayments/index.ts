import { bearer, hash, header, isAccepted, isSame } from "../kit/auth.ts";
import { brandOf, codeLength, defineSimulator, isCardNumber, isExpired, json, mask, Refusal, textOf } from "../kit/index.ts";
import type { Answer, Call, Issuer, Rule, Rules, Transaction } from "../kit/index.ts";
import {
  coded,
  country2,
  currency,
  digits,
  ipv4,
  matching,
  oneOf,
  required,
  requiredWith,
  text,
  texts,
  under,
  whole,
} from "../kit/rules.ts";

/**
 * Global Payments' GP-API: JSON under access tokens, a decline is a transaction with status 200, a repeated idempotency key is
 * answered 409 with the id of the first transaction rather than replayed.
 */

const VERSION = "2021-03-22";
/** The key of every app here: that of the sheet's worked example. */
const APP_KEY = "ExampleAppKey0001";
const KEY_WINDOW_MS = 24 * 3_600_000;
const ACCOUNTS = { transactions: ["transaction_processing", "TRA_"], tokens: ["tokenization", "TKA_"] } as const;

interface Details {
  body: Record<string, unknown>;
}

interface Stored {
  id: string;
  number: string;
  month: string;
  year: string;
}

type GpCall = Call<{ methods: Map<string, Stored> }, Details>;

/** Result and message of a decline; three digits as the European acquirers have them. */
type No = readonly [result: string, message: string];
const DECLINED: No = ["101", "[ test system ] DECLINED"];
const LOST: No = ["103", "CARD LOST OR STOLEN"];
const SYSTEM: No = ["50013", "Declined by downstream system"];
const cardsOf = (numbers: string, no: No) => Object.fromEntries(numbers.split(" ").map((number) => [number, no]));
const ISSUER: Issuer<No> = {
  declines: {
    card_declined: DECLINED,
    insufficient_funds: ["51", "INSUFFICIENT FUNDS"],
    expired_card: ["54", "EXPIRED CARD"],
    incorrect_cvc: ["82", "CVV ERROR"],
    lost_or_stolen: LOST,
    processing_error: ["508", "PROCESSING ERROR"],
  },
  vendorCards: {
    ...cardsOf("4000120000001154 5114610000004778 376525000000010 36256000000998 6011000000001010 3566000000001016", DECLINED),
    ...cardsOf("4000130000001724 5114630000009791 375425000000907 36256000000634 6011000000001028 3566000000001024", ["102", "REFERRAL B"]),
    ...cardsOf("4000160000004147 5121220000006921 343452000000306 38865000000705 6011000000001036 3566000000001032", LOST),
    ...cardsOf("4242420000000091 5100000000000131 374205502001004", ["111", "STRONG CUSTOMER AUTHENTICATION REQUIRED"]),
    ...cardsOf("4009830000001985 5135020000005871 372349000000852 30450000000985 6011000000002000 3566000000002006", SYSTEM),
    ...cardsOf("4259917010910078", DECLINED),
  },
};
const UNBOARDED_CURRENCY = "XXX";
/** Security code, postal code and address of the cards that do not match in all: M, N or U. */
const CHECKS: ReadonlyMap<string, string> = new Map(
  "5167304376624205 MNN, 5167305286858551 MNM, 5167308114614170 MUU, 5167300747736579 NNM, 5167308925965308 NMN, 5167308304373025 NNN"
    .split(", ")
    .map((pair) => pair.split(" ") as [string, string]),
);
const LETTERS: Readonly<Record<string, string>> = { M: "MATCHED", N: "NOT_MATCHED", U: "NOT_CHECKED" };

const CARD: Rules = {
  number: coded("40090", digits(12, 19)),
  expiry_month: coded("40090", matching(/^(0[1-9]|1[0-2])$/, "two digits")),
  expiry_year: coded("40090", digits(2)),
  cvv: coded("40085", digits(3, 4)),
  cvv_indicator: oneOf("PRESENT", "NOT_PRESENT", "ILLEGIBLE", "NOT_ON_CARD"),
  ...texts("avs_address 50, avs_postal_code 50"),
};
const NEEDED: Rules = Object.fromEntries(
  ["number", "expiry_month", "expiry_year"].map((name) => [name, requiredWith("card", CARD[name] as Rule)]),
);
const SALE: Rules = {
  ...texts("account_name 64, account_id 64, description 50"),
  channel: required(oneOf("CNP", "CP")),
  country: required(country2),
  currency: required({ check: (value) => (value === UNBOARDED_CURRENCY ? null : currency().check(value)) }),
  reference: required(text(50, 8)),
  "order.reference": text(50),
  ip_address: ipv4,
  initiator: oneOf("PAYER", "MERCHANT"),
  ...under("stored_credential", {
    model: oneOf("UNSCHEDULED", "RECURRING", "INSTALLMENT", "SUBSCRIPTION"),
    sequence: oneOf("FIRST", "SUBSEQUENT"),
    reason: text(32),
  }),
  ...under("payment_method", {
    entry_mode: required(oneOf("PHONE", "MOTO", "MAIL", "ECOM", "IN_APP")),
    ...texts("name 50, first_name 50, last_name 50, narrative 50"),
    id: matching(/^PMT_[0-9a-f-]{36}$/, "a payment method's id"),
    storage_mode: oneOf("ON_SUCCESS", "ALWAYS", "OFF"),
    ...under("card", { ...CARD, ...NEEDED }),
  }),
};
const AMOUNT: Rule = matching(/^[0-9]{1,12}$/, "an amount in minor units");
const REPORT: Rules = {
  ...texts("reference 100, id 100, account_name 64, account_id 64, status 32, currency 3, country 2, order_by 32, order 4"),
  from_time_created: matching(/^\d{4}-\d\d-\d\d$/, "YYYY-MM-DD"),
  to_time_created: matching(/^\d{4}-\d\d-\d\d$/, "YYYY-MM-DD"),
  page: matching(/^[1-9]\d{0,5}$/, "a page"),
  page_size: matching(/^[1-9]\d{0,2}$/, "1 to 999"),
};

export const simulator = defineSimulator<{ methods: Map<string, Stored> }, Details>({
  body: "json",
  state: () => ({ methods: new Map() }),
  headers: { "x-gp-version": required(oneOf(VERSION)) },
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
  endpoints: {
    "POST /ucp/accesstoken": {
      isIdempotent: false,
      rules: {
        app_id: required(text(64)),
        nonce: required(text(256)),
        secret: required(matching(/^[0-9a-f]{128}$/, "SHA-512 in lower-case hexadecimal digits")),
        grant_type: required(oneOf("client_credentials")),
        seconds_to_expire: whole(60, 604_800),
        interval_to_expire: oneOf("5_MINUTES", "10_MINUTES", "30_MINUTES", "1_HOUR", "3_HOURS", "6_HOURS", "12_HOURS", "DAY", "WEEK"),
        "permissions[*]": text(64),
      },
      authenticate: ({ fields }) => textOf(fields, "app_id"),
      run: newToken,
    },
    "POST /ucp/transactions": {
      rules: {
        ...SALE,
        type: required(oneOf("SALE", "REFUND")),
        amount: required(AMOUNT),
        capture_mode: oneOf("AUTO", "LATER", "MULTIPLE"),
        check_for_duplicate: oneOf("YES", "NO"),
      },
      run: sell,
    },
    "GET /ucp/transactions": { rules: REPORT, run: report },
    "GET /ucp/transactions/:id": {
      rules: {},
      run: (call) => json(200, call.lookUp(null, ({ id }) => id === call.params["id"])[0]?.details.body ?? notFound(call)),
    },
    "POST /ucp/transactions/:id/capture": { rules: { amount: AMOUNT }, run: (call) => follow(call, "CAPTURED") },
    "POST /ucp/transactions/:id/reversal": {
      rules: { amount: AMOUNT, reversal_reason: oneOf("TIMEOUT", "FRAUD") },
      run: (call) => follow(call, "REVERSED"),
    },
    "POST /ucp/transactions/:id/refund": { rules: { amount: AMOUNT, reference: text(50, 8) }, run: (call) => follow(call, "REFUNDED") },
    "POST /ucp/verifications": { rules: SALE, run: verify },
    "POST /ucp/payment-methods": {
      rules: {
        ...texts("account_name 64, account_id 64, name 100"),
        reference: required(text(50, 8)),
        usage_mode: oneOf("SINGLE", "MULTIPLE"),
        fingerprint_mode: oneOf("ALWAYS", "ON_SUCCESS"),
        ...under("card", { ...CARD, ...Object.fromEntries(Object.keys(NEEDED).map((name) => [name, required(CARD[name] as Rule)])) }),
      },
      run: store,
    },
  },
  refuse: {
    malformed: (request) =>
      header(request, "content-type").startsWith("application/json")
        ? refusal(400, "INVALID_REQUEST_DATA", "40006", "Request body is not valid JSON")
        : refusal(415, "INVALID_REQUEST_DATA", "40006", "Unsupported media type"),
    path: (_request, isKnown) => refusal(isKnown ? 405 : 404, "RESOURCE_NOT_FOUND", "40008", "The endpoint does not exist"),
    field: ({ kind, field, code }) => {
      const name = field.replace(/^header /, "");
      if (kind === "missing")
        return refusal(400, "MANDATORY_DATA_MISSING", "40005", `Request expects the following fields : ${name.split(".").at(-1)}`);
      return code === undefined
        ? unexpected(name)
        : refusal(
            400,
            "INVALID_REQUEST_DATA",
            code,
            `${name.replace("payment_method.", "")} value is invalid. Please check the format and data provided is correct.`,
          );
    },
  },
});

function refusal(status: number, error_code: string, detailed_error_code: string, detailed_error_description: string): Refusal {
  return new Refusal(json(status, { error_code, detailed_error_code, detailed_error_description }), detailed_error_code);
}

const unexpected = (field: string): Refusal => refusal(400, "INVALID_REQUEST_DATA", "40213", `${field} contains unexpected data`);

function notFound(call: GpCall): never {
  const words = `Transaction ${call.params["id"] ?? ""} not found at this location.`;
  throw new Refusal(refusal(404, "RESOURCE_NOT_FOUND", "40008", words).answer, "40008", { isRecorded: false });
}

function newToken(call: GpCall): Answer {
  const { tools, request } = call;
  const [appId, seconds] = [call.text("app_id"), call.has("seconds_to_expire") ? call.number("seconds_to_expire") : 86_400];
  const isKnown =
    isAccepted(appId, /^[A-Za-z0-9]{32}([A-Za-z0-9]{16})?$/) && isSame(hash("sha512", call.text("nonce") + APP_KEY), call.text("secret"));
  if (!isKnown) throw refusal(403, "ACTION_NOT_AUTHORIZED", "40004", "Credentials not recognized to create access token.");
  const token = tools.id("", 28);
  request.tokens.issue(token, appId, seconds, tools.now());
  const accounts = Object.values(ACCOUNTS).map(([name, prefix]) => ({ id: accountId(appId, prefix), name, permissions: [] }));
  const scope = { merchant_id: `MER_${hash("md5", appId)}`, merchant_name: "Sandbox_merchant", accounts };
  return json(200, {
    token,
    type: "Bearer",
    app_id: appId,
    app_name: "simulator",
    time_created: timeOf(call),
    seconds_to_expire: seconds - 1,
    scope,
  });
}

const accountId = (appId: string, prefix: string): string => prefix + hash("md5", prefix + appId);
const timeOf = ({ tools }: GpCall): string => new Date(tools.now()).toISOString();

/** The account must be named, and be one for this. */
function checkAccount(call: GpCall, [name, prefix]: (typeof ACCOUNTS)[keyof typeof ACCOUNTS]): void {
  const [givenName, givenId] = [call.maybe("account_name"), call.maybe("account_id")];
  if (givenName === undefined && givenId === undefined)
    throw refusal(
      400,
      "MANDATORY_DATA_MISSING",
      "40007",
      "Request expects the following conditionally mandatory fields account_id, account_name.",
    );
  if ((givenName ?? name) !== name || (givenId ?? accountId(call.accountName, prefix)) !== accountId(call.accountName, prefix))
    throw refusal(403, "ACTION_NOT_AUTHORIZED", "40212", "Permission not enabled to execute action");
}

interface Card {
  number: string;
  month: string;
  year: string;
}

/** The card below `path`, or the stored one that is named. */
function cardIn(call: GpCall, path: string): Card {
  const id = call.maybe("payment_method.id");
  const [number, month, year, cvv] = ["number", "expiry_month", "expiry_year", "cvv"].map((name) => call.text(`${path}.${name}`)) as [
    string,
    string,
    string,
    string,
  ];
  if (id !== undefined) {
    if (number !== "") throw unexpected("payment_method.card");
    const stored = call.state.methods.get(id);
    if (stored === undefined) throw refusal(404, "RESOURCE_NOT_FOUND", "40116", `payment_method ${id} not found at this location.`);
    return stored;
  }
  const invalid = (name: string, code = "40090") =>
    refusal(400, "INVALID_REQUEST_DATA", code, `card.${name} value is invalid. Please check the format and data provided is correct.`);
  if (number === "") throw refusal(400, "MANDATORY_DATA_MISSING", "40005", "Request expects the following fields : number");
  if (!isCardNumber(number)) throw invalid("number");
  if (isExpired(Number(month), Number(year), call.tools.now())) throw invalid("expiry_year");
  if (cvv !== "" && cvv.length !== codeLength(number)) throw invalid("cvv", "40085");
  if ((call.text(`${path}.cvv_indicator`) === "PRESENT") !== (cvv !== "") && call.has(`${path}.cvv_indicator`))
    throw invalid("cvv_indicator", "40213");
  return { number, month, year };
}

function actionOf(call: GpCall, type: string, result_code: string): object {
  const { tools, accountName } = call;
  return { id: `ACT_${tools.id("", 30)}`, type, time_created: timeOf(call), result_code, app_id: accountName, app_name: "simulator" };
}

const masked = (number: string): string => number.slice(-4).padStart(number.length, "X");

/** Members of a transaction or verification that say how the card fared. */
function shownMethod(call: GpCall, { number }: Card, no: No | null): object {
  const isSent = (name: string) => call.has(`payment_method.card.${name}`);
  const [code = "M", zip = "M", line = "M"] = no?.[0] === "82" ? ["N"] : (CHECKS.get(number) ?? "MMM");
  const letters = {
    cvv: isSent("cvv") ? code : "U",
    avs_postal_code: isSent("avs_postal_code") ? zip : "U",
    avs_address: isSent("avs_address") ? line : "U",
  };
  const results = Object.entries(letters).map(([name, letter]) => [`${name}_result`, LETTERS[letter]] as const);
  const provider = Object.fromEntries(Object.entries(letters).map(([name, letter]) => [`${name}_result`, letter]));
  return {
    result: no?.[0] ?? "00",
    message: no?.[1] ?? "[ test system ] AUTHORISED",
    entry_mode: call.text("payment_method.entry_mode"),
    fingerprint: "",
    card: {
      funding: "CREDIT",
      brand: brandOf(number).toUpperCase(),
      masked_number_last4: masked(number),
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
  if (no !== SYSTEM) return no;
  const code = call.text("currency") === UNBOARDED_CURRENCY ? "50024" : SYSTEM[0];
  throw refusal(502, "SYSTEM_ERROR_DOWNSTREAM", code, SYSTEM[1]);
}

function sell(call: GpCall): Answer {
  checkAccount(call, ACCOUNTS.transactions);
  if (call.text("type") === "REFUND") throw refusal(403, "ACTION_NOT_AUTHORIZED", "40212", "Permission not enabled to execute action");
  const card = cardIn(call, "payment_method.card");
  const [amount, unit, reference] = [call.text("amount"), call.text("currency"), call.text("reference")];
  if (Number(amount) === 0) throw unexpected("amount");
  const isTwin = (one: Transaction<Details>) =>
    one.reference === reference && one.amountMinor === Number(amount) && one.card === card.number;
  const isTold = call.text("check_for_duplicate") === "YES";
  if (isTold && call.transactions.all().some(isTwin)) throw refusal(400, "DUPLICATE_TRANSACTION", "40038", "Duplicate transaction");
  const no = decided(call, card);
  if (unit === UNBOARDED_CURRENCY)
    throw refusal(400, "INVALID_REQUEST_DATA", "40041", "Merchant configuration does not exist for the following combination");
  const isHeld = ["LATER", "MULTIPLE"].includes(call.text("capture_mode"));
  const id = `TRN_${call.tools.id("", 30)}`;
  const stored = no === null && ["ON_SUCCESS", "ALWAYS"].includes(call.text("payment_method.storage_mode")) ? keep(call, card) : undefined;
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
  const ledger = { entry_mode: call.text("payment_method.entry_mode") };
  call.transactions.add({
    id,
    reference,
    kind: isHeld ? "authorization" : "charge",
    isApproved: no === null,
    amountMinor: Number(amount),
    currency: unit,
    card: card.number,
    details: { body },
    ledger,
  });
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
  call.tools.record({
    kind: "authorization",
    id,
    reference,
    outcome: no === null ? "approved" : "declined",
    amountMinor: 0,
    card: mask(card.number),
  });
  const shown = {
    ...shownAccount(call, ACCOUNTS.transactions),
    payment_method: shownMethod(call, card, no),
    action: actionOf(call, "VERIFY", result),
  };
  return json(200, {
    id,
    time_created: timeOf(call),
    status: no === null ? "VERIFIED" : "NOT_VERIFIED",
    channel: call.text("channel"),
    currency: call.text("currency"),
    country: call.text("country"),
    ...shown,
  });
}

function keep(call: GpCall, card: Card): Stored {
  const hex = hash("md5", call.tools.id(""));
  const id = `PMT_${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")}`;
  const { number, month, year } = card;
  const stored = { id, number, month, year };
  call.state.methods.set(id, stored);
  return stored;
}

/** Stores a card without asking the issuer. */
function store(call: GpCall): Answer {
  checkAccount(call, ACCOUNTS.tokens);
  const card = cardIn(call, "card");
  call.decide(ISSUER, card.number);
  const { id, number, month, year } = keep(call, card);
  call.tools.record({ kind: "token", id, reference: call.text("reference"), outcome: "approved", card: mask(number) });
  const shown = {
    number: masked(number),
    masked_number_last4: masked(number),
    brand: brandOf(number).toUpperCase(),
    expiry_month: month,
    expiry_year: year,
  };
  const usage_mode = call.maybe("usage_mode") ?? "MULTIPLE";
  return json(200, {
    id,
    time_created: timeOf(call),
    status: "ACTIVE",
    usage_mode,
    name: call.text("name"),
    ...shownAccount(call, ACCOUNTS.tokens),
    card: shown,
    action: actionOf(call, "PAYMENT_METHOD_CREATE", "SUCCESS"),
  });
}

/** Capture, reversal before settlement, refund after. */
function follow(call: GpCall, status: "CAPTURED" | "REVERSED" | "REFUNDED"): Answer {
  const { transactions, tools } = call;
  const one = transactions.get(call.params["id"] ?? "") ?? notFound(call);
  const amountMinor = call.has("amount") ? call.number("amount") : undefined;
  const wrongState = () => refusal(400, "INVALID_TRANSACTION_ACTION", "40044", `${status} is not permitted on ${one.state} transactions`);
  const wrongAmount = () => refusal(400, "INVALID_REQUEST_DATA", "40214", "The amount does not fit the transaction");
  if (status === "REVERSED" && amountMinor !== undefined && amountMinor !== one.amountMinor) throw wrongAmount();
  if (status === "CAPTURED" && !transactions.capture(one, amountMinor)) throw one.state === "authorized" ? wrongAmount() : wrongState();
  if (status === "REVERSED" && !transactions.void(one)) throw wrongState();
  const id = status === "REFUNDED" ? `TRN_${tools.id("", 30)}` : one.id;
  if (status === "REFUNDED") {
    const against = transactions.refund(one, { id, ...(amountMinor !== undefined && { amountMinor }) });
    if (against !== null) throw against === "amount" ? wrongAmount() : wrongState();
    return json(200, {
      ...one.details.body,
      id,
      type: "REFUND",
      status: "CAPTURED",
      amount: String(amountMinor ?? one.amountMinor),
      action: actionOf(call, "REFUND", "SUCCESS"),
    });
  }
  Object.assign(one.details.body, { status, action: actionOf(call, status === "CAPTURED" ? "CAPTURE" : "REVERSE", "SUCCESS") });
  return json(200, one.details.body);
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
  return json(200, {
    total_record_count: found.length,
    current_page_size: transactions.length,
    transactions,
    paging: { page, page_size: size },
  });
}
