import { basicUser, brandOf, byState, CURRENCY_BY_NUMBER, decimal, decimalsOf, defineSimulator, forbiddenIf } from "../kit/index.ts";
import { isCardNumber, isExpired, issuer, json, majorOf, minorOf, Refusal, refuseWith, rule, rules, table } from "../kit/index.ts";
import type { Answer, Call, Card, Fields, Incoming, Rule, Rules, Transaction } from "../kit/index.ts";

/**
 * Qualpay's Payment Gateway API (`/pg`) and the reports of its Platform API: JSON under HTTP Basic with an empty password. A decline
 * is status 402, its rcode `0` and the issuer's two characters. Whether unknown fields are ignored is not known: here they are refused.
 * A wrong field for which the sheet names no code is 100, one that is too long 109.
 */

/** Keys with these in them: no permission for payments; none for reports; duplicates are told by the card alone; verify answers 085. */
const [NO_PAYMENTS, NO_REPORTS, CARD_ALONE, RAW_VERIFY] = [/nopayments/i, /noreports/i, /cardalone/i, /rawverify/i];
const SINGLE_USE_MS = 10 * 60_000;
const MESSAGES = table(
  "100 Bad Request, 101 Invalid id or key, 102 Invalid PG Identifier, 103 Missing cardholder data, 104 Invalid amount, " +
    "106 Invalid AVS data, 107 Invalid expiry, 108 Invalid card number, 109 Field length, 110 Dynamic DBA not allowed, " +
    "401 Void Failed, 402 Refund Failed, 403 Capture Failed",
);

/** What the issuer answers: rcode and words. */
type No = readonly [rcode: string, rmsg: string];
const ISSUER = issuer<No>(`
  card_declined 039|No credit account, insufficient_funds 051|Insufficient funds, expired_card 054|Expired card
  incorrect_cvc 0N7|CVV2 mismatch, processing_error 096|System error, lost_or_stolen 041|Lost card
`);

/** `endsAt`: null for a permanent one. */
type Stored = Card & { endsAt: number | null };
type Details = { pg_id: string; request_type: string; purchase_id: string; rcode: string };
type QualpayCall = Call<object, Details, Stored>;
type Payment = Transaction<Details>;

const jsonList: Rule = rule((value) => {
  try {
    return typeof value === "string" && Array.isArray(JSON.parse(value)) ? null : ["value", "must hold a JSON list"];
  } catch {
    return ["value", "must hold a JSON list"];
  }
});
const unit: Rule = rule((value) =>
  Number.isInteger(value) && CURRENCY_BY_NUMBER.has(String(value).padStart(3, "0")) ? null : ["value", "must be an ISO 4217 number"],
);
/** Only for merchants who may name themselves; none here may. */
const never: Rule = rule(() => ["value", "is not allowed"]);
const byNumber = (fields: Fields): boolean => fields.has("card_number");
const hasAddress = (fields: Fields): boolean => fields.has("avs_address");
const AMOUNT = decimal(2, 0.01, 9_999_999_999.99);
const MERCHANT = rules`
  merchant_id! whole 1-999999999999, developer_id 32, loc_id digits 1-4, profile_id digits 20, echo_fields/report_data ${jsonList}
`;
const CARD = rules`
  card_number digits 12-19 @108, exp_date!${byNumber} mmyy @107, cvv2 digits 3-4, cardholder_name 64, avs_address 20
  avs_zip!${hasAddress} [A-Za-z0-9] 1-9 @106
`;
const PAYER = rules`
  customer: customer_first_name/customer_last_name 32, customer_firm_name 64, customer_phone 16, customer_email email 64
  customer: billing_addr1/billing_addr2 128, billing_city 50, billing_state 2, billing_zip 10, billing_country 64
  customer: billing_country_code digits 3
`;
/** What a verification and a payment have in common. */
const CHECKED = rules`
  ${MERCHANT}, ${CARD}, card_id/customer_id 32, moto_ecomm_ind is 0|1|2|3|5|6|7, merch_ref_num 128, customer_code 17
  client_ip ipv4, tokenize bool
`;
const PAYMENT: Rules = {
  ...rules`
    ${CHECKED}, amt_tran! ${AMOUNT} @104, tran_currency ${unit}, purchase_id 25, email_address[*] email, email_receipt bool
    duplicate_seconds whole 0-99999, partial_auth bool, dba_name ${never} @110
  `,
  ...Object.fromEntries(Object.entries(PAYER).map(([name, one]) => [name, forbiddenIf(one, (fields) => !fields.has("customer_id"))])),
};
const TOKENIZATION = rules`${MERCHANT}, ${CARD}, card_number! digits 12-19 @108, single_use bool`;
/** Where a card is stored or verified, a ZIP code has digits alone. */
const NUMERIC = rules`avs_zip!${hasAddress} digits 1-9 @106`;
const CHANGE = rules`${MERCHANT}, amt_tran! ${AMOUNT} @104`;
const PAGE = rules`count countText 1-100, page digits 1-6, order_on 64, order_by is asc|desc, filter /[a-z_]+,[A-Z_]+,.*/`;

export const simulator = defineSimulator<object, Details, Stored>({
  body: "json",
  authenticate,
  reference: "merch_ref_num",
  recorded: ["moto_ecomm_ind", "purchase_id"],
  endpoints: {
    "POST /pg/sale": { rules: PAYMENT, run: pay },
    "POST /pg/auth": { rules: PAYMENT, run: pay },
    "POST /pg/verify": { rules: { ...CHECKED, ...NUMERIC }, run: verify },
    "POST /pg/tokenize": { rules: { ...TOKENIZATION, ...NUMERIC }, run: tokenize },
    "POST /pg/expireToken": { rules: rules`${MERCHANT}, card_id! 32`, run: expireToken },
    "POST /pg/capture/:pg_id": { rules: CHANGE, run: (call) => follow(call, "capture", ["403", "Capture request accepted"]) },
    "POST /pg/void/:pg_id": { rules: MERCHANT, run: (call) => follow(call, "void", ["401", "Transaction voided"]) },
    "POST /pg/refund/:pg_id": { rules: CHANGE, run: (call) => follow(call, "refund", ["402", "Refund accepted"]) },
    "GET /platform/reporting/transaction-requests": { rules: PAGE, run: report },
    "GET /platform/reporting/transactions/bypgid/:pg_id": { run: byId },
  },
  refuse: {
    malformed: (request) => refusal(request, 400, "100"),
    path: (request, isKnown) => refusal(request, isKnown ? 405 : 404, "100"),
    field: ({ kind, field, words, code }, request) => {
      const isOfCode = code !== undefined && kind !== "type";
      return refusal(request, 400, isOfCode ? code : kind === "length" ? "109" : "100", `${field} ${words}`);
    },
  },
});

const isReport = ({ path }: Incoming): boolean => path.startsWith("/platform/");

/** In the gateway's form, or in the reports' own. */
function refusal(request: Incoming, status: number, rcode: string, words = ""): Refusal {
  const rmsg = `${MESSAGES.get(rcode) ?? "Error"}${words && `: ${words}`}`;
  const body = isReport(request) ? { code: status, message: rmsg } : { rcode, rmsg, pg_id: request.tools.id("", 32) };
  return new Refusal(json(status, body), rcode);
}

function authenticate(request: Incoming): string {
  const user = basicUser(request, { user: /^[A-Za-z0-9]{8,64}$/, password: /^$/ }) ?? refuseWith(refusal(request, 401, "101"));
  const isForbidden = (isReport(request) ? NO_REPORTS : NO_PAYMENTS).test(user);
  return isForbidden ? refuseWith(new Refusal(json(403, { code: 403, message: "Not permitted" }), "403")) : user;
}

const refusalOf = (call: QualpayCall, rcode: string, words = "", status = 400): Refusal => refusal(call.request, status, rcode, words);

/** The card of the request, typed or kept. */
function cardOf(call: QualpayCall): Card {
  const id = call.maybe("card_id");
  if (call.has("card_number")) {
    const [, month = "", year = ""] = /^(..)(..)$/.exec(call.text("exp_date")) ?? [];
    const number = call.text("card_number");
    if (!isCardNumber(number) || brandOf(number) === "unknown") throw refusalOf(call, "108");
    return { number, month, year };
  }
  if (id === undefined) throw refusalOf(call, "103");
  const { number, month, year, endsAt } = storedCard(call, id);
  if (endsAt !== null) call.vault.use(id);
  const given = call.text("exp_date");
  return given === "" ? { number, month, year } : { number, month: given.slice(0, 2), year: given.slice(2) };
}

function storedCard(call: QualpayCall, id: string): Stored {
  const stored = call.vault.get(id);
  return stored && (stored.endsAt ?? Infinity) >= call.tools.now() ? stored : refuseWith(refusalOf(call, "103", "card_id"));
}

function decide(call: QualpayCall, { number, month, year }: Card): No | null {
  const isOver = isExpired(Number(month), Number(year), call.tools.now());
  return call.decide(ISSUER, number) ?? (isOver ? ISSUER("expired_card") : null);
}

/** The same card has one permanent entry, whose expiry is brought up to date. */
function keep(call: QualpayCall, card: Card): { id: string } {
  const isSingleUse = call.text("single_use") === "true";
  const same = isSingleUse ? undefined : call.vault.find((one) => one.number === card.number && one.endsAt === null);
  return call.vault.keep(same?.id ?? call.tools.id("", 32), { ...card, endsAt: isSingleUse ? call.tools.now() + SINGLE_USE_MS : null });
}

const masked = (number: string): string => `${number.slice(0, 4)}xxxxxx${number.slice(-6)}`;

/** Results of the address and code checks, where there was something to check. */
function checksOf(call: QualpayCall, no: No | null): object {
  const avs = call.has("avs_address") ? "Y" : call.has("avs_zip") ? "Z" : undefined;
  return { auth_avs_result: avs, ...(call.has("cvv2") && { auth_cvv2_result: no?.[0] === "0N7" ? "N" : "M" }) };
}

/** The earlier payment of which this one is a duplicate: approved with the same card in the window, told by our own numbers too. */
function twinOf(call: QualpayCall, number: string): Payment | undefined {
  const isSame = ({ amountMinor, state, details, reference }: Payment): boolean => {
    const isTold = details.purchase_id === call.text("purchase_id") && (reference ?? "") === call.text("merch_ref_num");
    return amountMinor > 0 && state !== "voided" && (CARD_ALONE.test(call.accountName) || isTold);
  };
  return call.transactions.twin(number, call.number("duplicate_seconds") * 1000, isSame);
}

function pay(call: QualpayCall): Answer {
  const isSale = call.request.path === "/pg/sale";
  const currency = CURRENCY_BY_NUMBER.get((call.maybe("tran_currency") ?? "840").padStart(3, "0")) ?? "USD";
  const amountMinor = minorOf(call.text("amt_tran"), currency);
  if (Math.abs(amountMinor - call.number("amt_tran") * 10 ** decimalsOf(currency)) > 1e-6) throw refusalOf(call, "104");
  const card = cardOf(call);
  const twin = call.has("duplicate_seconds") ? twinOf(call, card.number) : undefined;
  if (twin !== undefined) return json(402, { rcode: "094", rmsg: "Duplicate transaction", pg_id: call.tools.id("", 32) });
  const no = decide(call, card);
  const kept = no === null && call.text("tokenize") === "true" ? keep(call, card) : undefined;
  const pg_id = call.tools.id("", 32);
  const details = { pg_id, request_type: isSale ? "sale" : "auth", purchase_id: call.text("purchase_id"), rcode: no?.[0] ?? "000" };
  call.take({ id: pg_id, kind: isSale ? "charge" : "authorization", no, amountMinor, currency, card: card.number, details });
  return said(call, pg_id, no, "Approved", { card_id: kept?.id });
}

function said(call: QualpayCall, pg_id: string, no: No | null, words: string, more: object): Answer {
  if (no !== null) return json(402, { rcode: no[0], rmsg: no[1], pg_id, ...checksOf(call, no) });
  const auth_code = `T${call.tools.digits(5)}`;
  return json(200, { rcode: "000", rmsg: `${words} ${auth_code}`, pg_id, auth_code, ...checksOf(call, null), ...more });
}

/** Asks the issuer for nothing, and stores the card where that is wanted. */
function verify(call: QualpayCall): Answer {
  const card = cardOf(call);
  const no = decide(call, card);
  const kept = no === null && call.text("tokenize") === "true" ? keep(call, card) : undefined;
  const pg_id = call.tools.id("", 32);
  const rcode = no?.[0] ?? (RAW_VERIFY.test(call.accountName) ? "085" : "000");
  addToken(call, { id: kept?.id ?? pg_id, pg_id, card: card.number, isApproved: no === null, request_type: "verify", rcode });
  const answer = { card_id: kept?.id, card_number: masked(card.number) };
  return said(call, pg_id, no, "No reason to decline", rcode === "085" ? { ...answer, rcode } : answer);
}

/** Checks the form alone: the issuer is not asked. */
function tokenize(call: QualpayCall): Answer {
  const card = cardOf(call);
  call.decide(ISSUER, card.number);
  const [{ id }, pg_id] = [keep(call, card), call.tools.id("", 32)];
  addToken(call, { id, pg_id, card: card.number, isApproved: true, request_type: "tokenize", rcode: "000" });
  return json(200, { rcode: "000", rmsg: "Token request complete", pg_id, card_id: id, card_number: masked(card.number) });
}

type Listed = { id: string; card: string; isApproved: boolean } & Omit<Details, "purchase_id">;

/** Reports list what was verified and stored as well. */
function addToken(call: QualpayCall, { id, card, isApproved, ...details }: Listed): void {
  const reference = call.maybe("merch_ref_num");
  call.transactions.add({ id, reference, kind: "token", isApproved, card, details: { ...details, purchase_id: "" } });
}

function expireToken(call: QualpayCall): Answer {
  const id = call.text("card_id");
  storedCard(call, id);
  call.vault.use(id);
  call.transactions.forget(id);
  return json(200, { rcode: "000", rmsg: "Token expired", pg_id: call.tools.id("", 32), card_id: id });
}

/** Capture, void and refund: the rcode of failure, the words of success. */
function follow(call: QualpayCall, kind: "capture" | "void" | "refund", [rcode, words]: readonly [string, string]): Answer {
  const one = call.transactions.get(call.param("pg_id")) ?? refuseWith(refusalOf(call, "102"));
  const id = kind === "refund" ? call.tools.id("", 32) : one.id;
  const against = call.transactions.change(kind, one, { id, amountMinor: call.minor("amt_tran", one.currency) });
  if (against === "amount" && kind === "refund") throw refusalOf(call, "104");
  if (against !== null) throw refusalOf(call, rcode, "", 409);
  return json(200, { rcode: "000", rmsg: words, pg_id: id });
}

/** A payment's tran_status; one that was refunded stays settled. */
const STATUS = byState("declined D, authorized/verified A, captured C, settled/refunded S, voided V");
/** `2026-11-22 09:24:16`, by the clocks of California. */
const pacific = new Intl.DateTimeFormat("sv-SE", { timeZone: "America/Los_Angeles", dateStyle: "short", timeStyle: "medium" });

const row = ({ details, reference, amountMinor, refundedMinor, currency, state, card, at }: Payment): Record<string, unknown> => ({
  pg_id: details.pg_id,
  merch_ref_num: reference ?? undefined,
  purchase_id: details.purchase_id || undefined,
  amt_tran: currency === "" ? 0 : Number(majorOf(amountMinor, currency)),
  amt_refunded: currency === "" ? 0 : Number(majorOf(refundedMinor, currency)),
  request_type: details.request_type,
  tran_status: STATUS[state],
  rcode: details.rcode,
  card_number: masked(card),
  tran_time: pacific.format(at),
});

function report(call: QualpayCall): Answer {
  const filters = call.request.query.getAll("filter").map((filter) => filter.split(","));
  const [count, page] = [call.number("count") || 10, call.number("page")];
  const found = call.lookUp(null, () => true).map(row);
  const meant = found.filter((one) => filters.every(([field = "", operator, value]) => operator === "IS" && one[field] === value));
  const ordered = call.text("order_by") === "asc" ? meant.toReversed() : meant;
  const data = ordered.slice(page * count, (page + 1) * count);
  const totals = { totalPages: Math.ceil(ordered.length / count), totalRecords: ordered.length };
  return json(200, { code: 0, message: "Success", data, ...totals });
}

function byId(call: QualpayCall): Answer {
  const [one] = call.lookUp(null, ({ details }) => details.pg_id === call.param("pg_id"));
  const data = row(one ?? refuseWith(refusal(call.request, 404, "102").unrecorded()));
  return json(200, { code: 0, message: "Success", data });
}
