import { setTimeout as delay } from "node:timers/promises";
import { basic, brandNames, byState, country2, country3, defineSimulator, hash, isAccepted, isCardNumber } from "../kit/index.ts";
import { isExpired, isSame, issuer, json, majorOf, mask, matching, minorOf, refused, rule, rules, spacedTime } from "../kit/index.ts";
import { table, textOf } from "../kit/index.ts";
import type { Answer, Call, Endpoint, Incoming, Kept, Refusal, Transaction } from "../kit/index.ts";

/**
 * USAePay REST API v2: JSON, the body's `command` says what is wanted; approvals, declines and most errors have status 200.
 * A wrong field for which the sheet names no code is error 20001.
 */

/** The PIN of every key here: that of the sheet's worked example. */
const PIN = "864213";
/** Keys with this in them fold duplicates, an option of the key at the vendor. */
const FOLDS = /fold/i;
const FOLD_MS = 20 * 60_000;
const LARGEST = 99_999;

type Details = { key: string; orderid: string; invoice: string; body: Record<string, unknown>; expiration: string };
type Card = { number: string; expiration: string };
type UsaepayCall = Call<object, Details, Card>;
type Payment = Transaction<Details>;

/** Result code (declined or error), code and words; an approval in part is `P` with its share. */
type No = readonly [result: "D" | "E" | "P", code: string, words: string];
const ISSUER = issuer<No>(`
  card_declined/4000300011112220/371122223332241 D|10127|Card Declined, expired_card D|10280|Expired card
  insufficient_funds/4000300611112224 D|10251|Insufficient funds (F51), incorrect_cvc/4000301311112225 D|10297|CVV verification failed
  lost_or_stolen/4000300001112222 D|10204|Pick up card, processing_error E|10128|Transaction error
  4000300211112228 D|10205|Do not honor, 4000300311112227 D|12|Invalid transaction, 4000300411112226 D|15|Invalid issuer
  4000300511112225 D|25|No record, 4000300811112222 D|10257|Not permitted, 4000300911112221 D|10262|Restricted card
  4000301011112228 D|65|Withdrawal count exceeded, 4000300111112229 D|43|Call issuer
  4000301411112224 E|10139|Transaction held for review, 4000301511112223 E|10139|Transaction rejected by the fraud profiler
  4000000011112275 P|50|Partial Approval, 4000000011112283 P|75|Partial Approval
`);
const AVS_BY_CARD = table(
  "4000100011112224 YYY, 4000100111112223 YYX, 4000100211112222 NYZ, 4000100311112221 NYW, 4000100411112220 YNA, 4000100511112229 NNN, 4000100611112228 XXW, 4000100711112227 XXU, 4000100811112226 XXR, 4000100911112225 XXS, 4000101011112222 XXE, 4000101111112221 XXG",
);
const CVC_BY_CARD = table(
  "4000200111112221 N, 4000200211112220 P, 4000200311112229 S, 4000200411112228 U, 4000200511112227 X, 5555444433332234 N, 6011222233332232 N",
);
const SECONDS_BY_CARD = table("4000000011112226 5, 4000000011112234 15, 4000000011112242 30, 4000000011112259 45, 4000000011112267 60");

const NUMBER = matching(/^([0-9]{12,19}|[a-z0-9]{4}-?[a-z0-9]{4}-?[a-z0-9]{4}-?[a-z0-9]{4})$/, "a card number or a token");
const COUNTRY = rule((value) => (country3.check(value) === null ? null : country2.check(value)));
const CARD = rules`creditcard: number! ${NUMBER} @11, expiration mmyy @16, cvc digits 3-4 @10116, cardholder/avs_street 255, avs_zip 20`;
const ADDRESS = rules`
  company/firstname/lastname/street/street2/city/state 64, postalcode 20, phone/fax 32, country ${COUNTRY}
`;
const SALE = rules`
  command! 32, amount! amount ${LARGEST} @70, currency currencyNumber, invoice [A-Za-z0-9-] 1-11, orderid/ponum 64
  description/comments/software 255, ${CARD}, email email, clientip ipv4, ignore_duplicate/save_card bool
  billing_address: ${ADDRESS}
  shipping_address: ${ADDRESS}
  amount_detail: subtotal/tax/tip/discount/shipping/duty amount, enable_partialauth bool
  traits: is_debt/is_bill_pay/is_recurring/is_healthcare/is_cash_advance bool
  traits: stored_credential is recurring|installment|ucof|customer_intitiated
`;
const SAVE = rules`
  command! 32, ${CARD}
  billing_address: ${ADDRESS}
`;
const FOLLOWING = rules`
  command! 32, refnum digits 1-20, trankey 20, amount amount ${LARGEST} @70, orderid 64, description/software 255
`;
const LIST = rules`limit countText 1-1000, offset digits 1-6`;
const commands = (endpoint: Endpoint<object, Details, Card>, ...names: string[]): Record<string, typeof endpoint> =>
  Object.fromEntries(names.map((name) => [`POST /api/:endpoint/transactions ${name}`, endpoint]));

export const simulator = defineSimulator<object, Details, Card>({
  body: "json",
  operationOf: (fields) => textOf(fields, "command") || undefined,
  authenticate,
  endpoints: {
    ...commands({ rules: SALE, run: pay }, "sale", "cc:sale", "authonly", "cc:authonly"),
    ...commands({ rules: SAVE, run: save }, "cc:save"),
    ...commands({ rules: FOLLOWING, run: (call) => follow(call, "capture") }, "cc:capture"),
    ...commands({ rules: FOLLOWING, run: (call) => follow(call, "void") }, "void", "cc:void", "cc:void:release"),
    ...commands({ rules: FOLLOWING, run: (call) => follow(call, "refund") }, "refund", "cc:refund"),
    "GET /api/:endpoint/transactions": { rules: LIST, run: (call) => list(call, () => true) },
    "GET /api/:endpoint/batches/current/transactions": { rules: LIST, run: (call) => list(call, ({ state }) => state === "captured") },
    "GET /api/:endpoint/transactions/:key": { run: read },
    "POST /api/:endpoint/tokens": { rules: rules`trankey! 20`, run: newToken },
  },
  refuse: {
    malformed: () => problem(400, "Invalid JSON in the request", 20_001),
    path: ({ path, method }, isKnown) =>
      isKnown && method === "POST" && path.endsWith("/transactions") ? commandUnknown() : problem(isKnown ? 405 : 404, "Not found", 20_001),
    field: ({ field, words, code }, { path }) =>
      path.endsWith("/transactions")
        ? failed(code ?? "20001", `Invalid ${field}: ${words}`)
        : problem(400, `Invalid ${field}: ${words}`, 20_001),
  },
  responseHeaders: () => ({ "x-rate-limit": "1 of 45/min; 1 of 5000/day" }),
});

/** An error of the request as a whole, by the name that all paths but the transactions' use. */
const problem = (status: number, error: string, errorcode: number): Refusal => refused(String(errorcode), status, { error, errorcode });

const commandUnknown = (): Refusal => refused("20019", 200, { error: "Unknown command", error_code: 20_019 });

/** An error of a transaction: nothing was charged. */
const failed = (error_code: string, error: string): Refusal =>
  refused(error_code, 200, { type: "transaction", result_code: "E", result: "Error", error, error_code });

function missing(): never {
  throw problem(404, "Invalid record locator key", 47).unrecorded();
}

function authenticate(request: Incoming): string {
  const endpoint = request.params["endpoint"] ?? "";
  if (endpoint === "RATELIMT") throw problem(429, "API Rate Limit Exceed", 155);
  if (endpoint === "IPACCESS") throw problem(401, "Access Denied", 156);
  const { user = "", password = "" } = basic(request) ?? {};
  const [version, seed = "", sent = "", ...more] = password.split("/");
  if (user === "" || version !== "s2" || seed === "" || more.length > 0) throw problem(401, "API authentication failed", 21_002);
  if (!isAccepted(user, /^[A-Za-z0-9_]{16,64}$/)) throw problem(401, "Specified source key not found.", 23);
  if (isSame(sent, hash("sha256", user + seed))) throw problem(401, "This source key requires a PIN.", 20_010);
  if (!isSame(sent, hash("sha256", user + seed + PIN))) throw problem(401, "Source PIN does not match.", 20_008);
  return user;
}

/** The card of the request, or the saved one whose token stands in the number's place. */
function cardIn(call: UsaepayCall): Card {
  const [number, expiration] = [call.text("creditcard.number"), call.maybe("creditcard.expiration")];
  if (!/^[0-9]+$/.test(number)) return call.vault.get(savedId(number)) ?? failNow("14", "Invalid card number or token.");
  if (!isCardNumber(number) || number.length > 16) failNow("12", "Card Number was not between 13 and 16 digits or failed the check digit.");
  if (expiration === undefined) return failNow("15", "Expiration date is missing.");
  if (isExpired(Number(expiration.slice(0, 2)), Number(expiration.slice(2)), call.tools.now())) failNow("17", "Credit card has expired.");
  return { number, expiration };
}

function failNow(code: string, words: string): never {
  throw failed(code, words);
}

const typeOf = brandNames("mastercard M, amex A, discover DS", "V");
const nameOf = brandNames("mastercard MasterCard, amex AMEX, discover Discover", "Visa");
const masked = (number: string): string => mask(number, "x", 4);
/** Four groups of four, whose hyphens a request may leave out. */
const savedId = (key: string): string => key.replaceAll("-", "").replace(/(.{4})(?=.)/g, "$1-");

function checksOf(call: UsaepayCall, number: string): object {
  const [street, zip] = [call.has("creditcard.avs_street"), call.has("creditcard.avs_zip")];
  const avs = AVS_BY_CARD.get(number) ?? (street && zip ? "YYY" : street ? "YNA" : zip ? "NYZ" : "XXU");
  const cvc = call.has("creditcard.cvc") ? (CVC_BY_CARD.get(number) ?? "M") : "";
  return {
    avs: { result_code: avs, result: avs === "YYY" ? "Address: Match & 5 Digit Zip: Match" : avs },
    cvc: { result_code: cvc, result: cvc === "M" ? "Match" : cvc },
  };
}

async function pay(call: UsaepayCall): Promise<Answer> {
  const { tools, transactions, accountName } = call;
  if ((call.maybe("currency") ?? "840") !== "840") failNow("59001", "Currency conversion is not enabled for this merchant.");
  const amount = call.text("amount");
  const isSale = call.text("command").endsWith("sale");
  if (isSale && Number(amount) === 0) failNow("70", "Amount must be more than 0.");
  const parts = ["subtotal", "tax", "tip", "shipping", "duty"].map((name) => call.number(`amount_detail.${name}`));
  const sum = parts.reduce((total, part) => total + part, -call.number("amount_detail.discount"));
  if (call.has("amount_detail.subtotal") && sum.toFixed(2) !== amount) failNow("71", "The amount does not equal the sum of its parts.");
  const card = cardIn(call);
  const [orderid, invoice] = [call.text("orderid"), call.text("invoice")];
  const amountMinor = minorOf(amount, "USD");
  const isTwin = ({ amountMinor: other, details }: Payment): boolean =>
    other === amountMinor && details.orderid === orderid && details.invoice === invoice;
  const folds = FOLDS.test(accountName) && call.text("ignore_duplicate") !== "true";
  const twin = folds ? transactions.find((one) => one.card === card.number && one.at > tools.now() - FOLD_MS && isTwin(one)) : undefined;
  if (twin) return json(200, { ...twin.details.body, is_duplicate: "Y" });
  const slow = SECONDS_BY_CARD.get(card.number);
  if (slow !== undefined) await delay(Number(slow) * 1000, undefined, { ref: false });
  const said = call.decide(ISSUER, card.number);
  const isPart = said?.[0] === "P" && call.text("amount_detail.enable_partialauth") === "true";
  const no = said?.[0] === "P" ? (isPart ? null : ISSUER("insufficient_funds")) : said;
  if (no?.[0] === "E") throw failed(no[1], no[2]);
  const taken = isPart ? Math.floor((amountMinor * Number(said?.[1])) / 100) : amountMinor;
  const [key, refnum] = [tools.id("", 15), tools.digits(10)];
  const saved = no === null && call.text("save_card") === "true" ? call.vault.keep(savedId(tools.id("", 16)), card) : undefined;
  const body = {
    type: "transaction",
    key,
    refnum,
    is_duplicate: "N",
    result_code: no !== null ? "D" : isPart ? "P" : "A",
    result: no !== null ? "Declined" : isPart ? "Partial Approval" : "Approved",
    authcode: no === null ? tools.digits(6) : "000000",
    creditcard: {
      type: typeOf(card.number),
      number: masked(card.number),
      category_code: "A",
      entry_mode: "Card Not Present, Manually Keyed",
    },
    ...(invoice !== "" && { invoice }),
    ...checksOf(call, card.number),
    ...(no === null && {
      batch: { type: "batch", key: "ct1batch", batchrefnum: 542_814, sequence: "279" },
      auth_amount: majorOf(taken, "USD"),
    }),
    ...(saved && { savedcard: shownCard(saved) }),
    trantype: isSale ? "Credit Card Sale" : "Auth Only",
    ...(no !== null && { error: no[2], error_code: no[1] }),
  };
  const details = { key, orderid, invoice, body, expiration: card.expiration };
  const kind = isSale ? "charge" : amountMinor === 0 && saved ? "token" : "authorization";
  const reference = orderid || invoice || null;
  call.take({ id: refnum, reference, kind, no, amountMinor: taken, currency: "USD", card: card.number, details });
  return json(200, body);
}

const shownCard = ({ id: key, number, expiration }: Kept<Card>): object => ({
  type: nameOf(number),
  key,
  cardnumber: masked(number),
  expiration,
});

/** Checks the form alone: neither the issuer nor a transaction has a part in it. */
function save(call: UsaepayCall): Answer {
  const card = cardIn(call);
  call.decide(ISSUER, card.number);
  const saved = call.vault.store(savedId(call.tools.id("", 16)), card);
  const creditcard = { number: masked(card.number), cardholder: call.text("creditcard.cardholder") };
  const said = { type: "transaction", key: "", refnum: "", is_duplicate: "N", result_code: "A", result: "Approved", authcode: "" };
  return json(200, { ...said, creditcard, savedcard: shownCard(saved) });
}

/** Capture, void and refund, by the reference number or the key of a transaction. */
function follow(call: UsaepayCall, kind: "capture" | "void" | "refund"): Answer {
  const { transactions, tools } = call;
  const [refnum, trankey] = [call.maybe("refnum"), call.maybe("trankey")];
  const one = refnum === undefined ? transactions.find(({ details }) => details.key === trankey) : transactions.get(refnum);
  if (one === undefined) return failNow("47", "Unable to locate the original transaction.");
  const id = tools.digits(10);
  const command = call.text("command").replace(/^cc:/, "");
  // A verification holds nothing; its saved card stays.
  const isRelease = kind === "void" && one.state === "verified";
  if (isRelease) one.state = "voided";
  else if (transactions.change(kind, one, { id, amountMinor: call.minor("amount", "USD") }) !== null)
    failNow("10128", `The transaction is in no state for ${command}, or not with this amount.`);
  const said = { type: "transaction", key: one.details.key, refnum: kind === "refund" ? id : one.id, is_duplicate: "N" };
  return json(200, { ...said, result_code: "A", result: "Approved", authcode: String(one.details.body["authcode"]) });
}

const STATUSES = byState(
  "declined D Declined, authorized/verified N Queued, captured P Authorized (Pending Settlement), settled/refunded S Settled, voided V Voided",
);

function shown({ details, state, at, amountMinor }: Payment): object {
  const { orderid, body } = details;
  const status = { status_code: STATUSES[state].slice(0, 1), status: STATUSES[state].slice(2) };
  const batch = "batch" in body ? { batch: { ...(body["batch"] as object), batchrefnum: "542814" } } : {};
  return { ...body, created: spacedTime(at), ...status, orderid, amount: majorOf(amountMinor, "USD"), ...batch };
}

function read(call: UsaepayCall): Answer {
  const [found] = call.lookUp(null, ({ details }) => details.key === call.param("key"));
  return json(200, shown(found ?? missing()));
}

/** Newest first. */
function list(call: UsaepayCall, isListed: (one: Payment) => boolean): Answer {
  const [limit, offset] = [call.number("limit") || 20, call.number("offset")];
  const found = call.lookUp(null, isListed);
  return json(200, { type: "list", limit, offset, data: found.slice(offset, offset + limit).map(shown), total: String(found.length) });
}

/** A token of the card of an earlier transaction. */
function newToken(call: UsaepayCall): Answer {
  const one = call.transactions.find(({ details }) => details.key === call.text("trankey")) ?? missing();
  const card = { number: one.card, expiration: one.details.expiration };
  const { id: cardref } = call.vault.store(savedId(call.tools.id("", 16)), card, one.reference);
  return json(200, { token: { cardref, masked_card_number: mask(one.card, "X"), card_type: nameOf(one.card) } });
}
