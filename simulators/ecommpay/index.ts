import { brandOf, codeLength, defineSimulator, hmac, isCardNumber, isExpired, isoSeconds, isSame, issuer, json } from "../kit/index.ts";
import { passesLuhn, Refusal, rule, rules, textOf } from "../kit/index.ts";
import type { Answer, Call, Incoming, SimulatorTools, Transaction } from "../kit/index.ts";

/**
 * ecommpay's Gate API: requests are signed and queued, answers to status requests are signed too. A payment is unknown to
 * the first poll, at work at the second and settled from the third on.
 */

/** The key of every project here: the one of the vendor sheet's worked examples. */
const SECRET_KEY = "demo-secret-key";
/** A project without automatic tokens: its verified cards are kept by `/v2/customer/card/tokenize` only. */
const KEEPS_NO_CARDS = "99999";
const PROJECTS = ["12345", KEEPS_NO_CARDS];

interface Card {
  number: string;
  month: number;
  year: number;
  holder: string;
}

interface Operation {
  id: string;
  type: "sale" | "auth" | "account verification" | "capture" | "refund" | "cancel";
  status: "success" | "decline" | "awaiting 3ds result";
  code: string;
  message: string;
  amount: number;
  at: string;
}

interface Details {
  card: Card;
  customer: string;
  token: string | null;
  accountId: number | null;
  avs: string;
  operations: Operation[];
  polls: number;
}

/** Under its token; what a payment has saved has an account's id as well. */
type Stored = Card & { customer: string; accountId: number | null };

type Payment = Transaction<Details>;
type EcommpayCall = Call<object, Details, Stored>;

const numberOrText = (pattern: RegExp) => rule((value) => (pattern.test(String(value)) ? null : ["value", "is wrong"]));
const PROJECT = "whole 1-1000000000000000";
const GENERAL = rules`
  general: project_id! ${PROJECT}, payment_id! [A-Za-z0-9_-] 1-64, signature! 255, merchant_callback_url/terminal_callback_url 255
`;
const CUSTOMER = rules`
  customer: id! 255, ip_address! ip, email email, phone digits 4-24, country country2 @2610
  customer: first_name/middle_name/last_name/city/state/street/building/day_of_birth 255
`;
const CARD = rules`
  card: pan! digits 12-19, year! ${numberOrText(/^2[0-9]{3}$/)}, month! ${numberOrText(/^[0-9]{1,2}$/)}, card_holder! 255
`;
const PAYMENT = rules`
  ${GENERAL}, ${CUSTOMER}
  payment: amount! whole 0-1000000000000, currency! currency @3023, description 100, moto_type whole 1-2
  avs_data: avs_post_code 32, avs_street_address 255
  return_url.*/acs_return_url.* 255, interface_type.id whole
`;
const BY_CARD = rules`${PAYMENT}, ${CARD}, card.cvv digits 3-4, card.save bool`;
const BY_TOKEN = rules`${PAYMENT}, token! [a-z] 64`;
const BY_ACCOUNT = rules`${PAYMENT}, account.id! whole, card.cvv digits 3-4`;
const FOLLOWING = rules`
  ${GENERAL}
  payment: amount whole 1-1000000000000, currency currency @3023, description 100
`;
const REFUND = rules`
  ${GENERAL}
  payment: amount! whole 1-1000000000000, currency! currency @3023, description! 100
`;
const TOKENIZATION = rules`${CUSTOMER}, ${CARD}, customer.project_id! ${PROJECT}, customer.signature! 255`;

/** Code and words of each refusal. */
const ISSUER = issuer<readonly [code: string, message: string]>(`
  card_declined/4111111111111111 10000|General decline, insufficient_funds 10105|Insufficient funds on card
  expired_card 10106|Expired card, incorrect_cvc 10103|Invalid CVV, lost_or_stolen 10203|Lost or stolen card
  processing_error 10501|Processing error, 4539121411168251 10202|Issuer is not available
`);
const DEBIT_DECLINES_LATER = "4000000000000135";
const PARTIAL = ["5126160000356675", "4010571676223548"];
const PARTIAL_ABOVE = 12_000;
/** Cards with a 3-D Secure challenge, which an order by telephone does not meet. */
const CHALLENGED = ["4314220000000056", "5413330000000019", "5544330000000045"];

export const simulator = defineSimulator<object, Details, Stored>({
  body: "json",
  authenticate,
  reference: "general.payment_id",
  endpoints: {
    "POST /v2/payment/card/sale": { rules: BY_CARD, run: (call) => pay(call, "sale") },
    "POST /v2/payment/card/auth": { rules: BY_CARD, run: (call) => pay(call, "auth") },
    "POST /v2/payment/card/account_verification": { rules: BY_CARD, run: (call) => pay(call, "account verification") },
    "POST /v2/payment/card/sale/token": { rules: BY_TOKEN, run: payByKept },
    "POST /v2/payment/card/sale/saved": { rules: BY_ACCOUNT, run: payByKept },
    "POST /v2/payment/card/capture": { rules: FOLLOWING, run: (call) => follow(call, "capture") },
    "POST /v2/payment/card/cancel": { rules: FOLLOWING, run: (call) => follow(call, "cancel") },
    "POST /v2/payment/card/refund": { rules: REFUND, run: (call) => follow(call, "refund") },
    "POST /v2/payment/status": { rules: GENERAL, run: status },
    "POST /v2/payment/status/request": { rules: rules`project_id! whole, request_id/signature! 255`, run: requestStatus },
    "POST /v2/customer/card/tokenize": { rules: TOKENIZATION, run: makeToken },
  },
  refuse: {
    malformed: (request) => refusal(request, "2003", "The body is not JSON", 422),
    path: (request) => refusal(request, "702", "Unknown request", 404),
    field: ({ kind, field, words, code }, request) =>
      field === "card.card_holder"
        ? refusal(request, kind === "missing" ? "3162" : "3161", `Card holder ${words}`)
        : refusal(request, code ?? "2004", `Required field not provided or wrong: ${field} ${words}`),
  },
});

/** The id of a request; what was said to it is kept for `/v2/payment/status/request`. */
function newRequestId({ tools, shared }: Incoming, code: string, message: string): string {
  const id = tools.id("", 40);
  shared.set(id, { code, message });
  return id;
}

function refusal(request: Incoming, code: string, message: string, statusCode = 400): Refusal {
  const body = { status: "error", code, message, request_id: newRequestId(request, code, message) };
  return new Refusal(escaped(statusCode, body), code, { isRecorded: code !== "3061" });
}

function authenticate(request: Incoming): string {
  if (!request.isReadable) throw refusal(request, "2003", "The body is not JSON", 422);
  const part = ["general.", "customer.", ""].find((part) => request.fields.has(`${part}signature`));
  if (part === undefined) throw refusal(request, "3262", "Signature not provided");
  const project = textOf(request.fields, `${part}project_id`);
  if (/^[0-9]+$/.test(project) && !PROJECTS.includes(project)) throw refusal(request, "2442", "Project not found");
  const expected = signatureOf(JSON.parse(request.body.toString()));
  if (!isSame(textOf(request.fields, `${part}signature`), expected)) throw refusal(request, "3261", "Signature is wrong");
  return project;
}

/** The vendor's SDK: flattened, without the signature itself, in natural order, HMAC-SHA512 in Base64. */
function signatureOf(body: unknown): string {
  // A run of digits counts as a number: padded, it sorts as one.
  const key = (path: string) => path.replace(/\d+/g, (digits) => digits.padStart(15, "0"));
  const lines = leavesOf(body, "")
    .filter(([path]) => !/(^|:)signature$/.test(path))
    .toSorted(([one], [other]) => (key(one) < key(other) ? -1 : 1))
    .map(([path, value]) => `${path}:${typeof value === "boolean" ? Number(value) : (value ?? "")}`);
  return hmac("sha512", SECRET_KEY, lines.join(";"), "base64");
}

function leavesOf(value: unknown, path: string): (readonly [path: string, value: string | number | boolean | null])[] {
  if (typeof value !== "object" || value === null) return [[path, value as string | number | boolean | null]];
  const prefix = path === "" ? "" : `${path}:`;
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, prefix + name.replaceAll(":", "::")));
}

function escaped(statusCode: number, body: object): Answer {
  return { ...json(statusCode, {}), body: JSON.stringify(body).replaceAll("/", "\\/") };
}

function accepted({ request, accountName, fields }: EcommpayCall): Answer {
  const ids = { project_id: Number(accountName), payment_id: textOf(fields, "general.payment_id") };
  return escaped(200, { status: "success", request_id: newRequestId(request, "0", "Success"), ...ids });
}

function refuse(call: EcommpayCall, code: string, message: string): never {
  throw refusal(call.request, code, message);
}

function known(call: EcommpayCall): Payment {
  const payment = call.transactions.find(({ reference }) => reference === call.text("general.payment_id"));
  return payment ?? refuse(call, "3061", "Payment not found");
}

function checkPayment(call: EcommpayCall): void {
  const id = call.text("general.payment_id");
  if (call.transactions.find(({ reference }) => reference === id)) refuse(call, "3041", "Payment with this id exists");
  const numbers = call.text("payment.description").match(/\d(?:[ -]?\d){11,18}/g) ?? [];
  if (numbers.some((number) => passesLuhn(number.replace(/\D/g, "")))) refuse(call, "2004", "payment.description holds card data");
}

/** The card as it stands in the request, checked before anybody is asked. */
function cardIn(call: EcommpayCall): Card {
  const [number, month, year] = [call.text("card.pan"), call.number("card.month"), call.number("card.year")];
  if (month < 1 || month > 12) refuse(call, "3020", "Card expiry is wrong");
  if (isExpired(month, year, call.tools.now())) refuse(call, "3021", "Card is expired");
  return { number, month, year, holder: call.text("card.card_holder") };
}

function pay(call: EcommpayCall, type: "sale" | "auth" | "account verification"): Answer {
  checkPayment(call);
  const card = cardIn(call);
  const mayOmit = [[], ["visa", "mastercard", "amex"], ["mastercard", "amex"]][call.number("payment.moto_type")] ?? [];
  const isCode = call.has("card.cvv") ? call.text("card.cvv").length === codeLength(card.number) : mayOmit.includes(brandOf(card.number));
  if (!isCode) refuse(call, "3141", "CVV is wrong");
  if ((type === "account verification") !== (call.number("payment.amount") === 0)) refuse(call, "2004", "payment.amount is wrong");
  return settle(call, type, card, false);
}

function payByKept(call: EcommpayCall): Answer {
  checkPayment(call);
  const [token, account] = [call.maybe("token"), call.maybeNumber("account.id")];
  const kept = token === undefined ? call.vault.find(({ accountId }) => accountId === account) : call.vault.get(token);
  if (kept?.customer !== call.text("customer.id")) return refuse(call, token === undefined ? "3101" : "3181", "Card is not usable");
  if (call.number("payment.amount") === 0) refuse(call, "2004", "payment.amount is wrong");
  return settle(call, "sale", kept, true);
}

/** The issuer's word, known to the vendor at once and to the merchant only by polling. */
function settle(call: EcommpayCall, type: Operation["type"], card: Card, isKept: boolean): Answer {
  const { tools } = call;
  const invalid = isCardNumber(card.number) ? null : (["10102", "Invalid card number"] as const);
  const later = isKept && card.number === DEBIT_DECLINES_LATER ? (["10105", "Insufficient funds on card"] as const) : null;
  const no = call.decide(ISSUER, card.number) ?? invalid ?? later;
  const isChallenged = no === null && CHALLENGED.includes(card.number) && !call.has("payment.moto_type");
  const asked = call.number("payment.amount");
  const amount = PARTIAL.includes(card.number) ? Math.min(asked, PARTIAL_ABOVE) : asked;
  const outcome = no ? "decline" : isChallenged ? "awaiting 3ds result" : "success";
  const [code, message] = no ?? (isChallenged ? ["9999", "Awaiting processing"] : ["0", "Success"]);
  const customer = call.text("customer.id");
  const isSaved = call.text("card.save") === "true" && outcome === "success" && call.accountName !== KEEPS_NO_CARDS;
  const accountId = isSaved ? Number(tools.digits(9)) : null;
  const token = isSaved ? keep(call, card, accountId) : null;
  const operation: Operation = { id: tools.digits(16), type, status: outcome, code, message, amount, at: timeOf(tools) };
  const avs = call.has("avs_data.avs_street_address") ? "Y" : call.has("avs_data.avs_post_code") ? "Z" : "U";
  const kind = type === "sale" ? "charge" : type === "auth" ? "authorization" : "token";
  const taken = { id: operation.id, amountMinor: amount, currency: call.text("payment.currency"), card: card.number };
  const details = { card, customer, token, accountId, avs, operations: [operation], polls: 0 };
  call.take({ ...taken, kind, isApproved: outcome === "success", details, ledger: { code, moto: call.has("payment.moto_type") } });
  return accepted(call);
}

function keep(call: EcommpayCall, card: Card, accountId: number | null): string {
  return call.vault.keep(call.tools.id("", 64), { ...card, customer: call.text("customer.id"), accountId }).id;
}

function makeToken(call: EcommpayCall): Answer {
  const customer = call.text("customer.id");
  const card = cardIn(call);
  call.recordStored(null, customer, card.number);
  const token = keep(call, card, null);
  const ids = { project_id: Number(call.accountName), customer_id: customer };
  return escaped(200, { status: "success", ...ids, token, token_created_at: timeOf(call.tools) });
}

/** What each does to what, and how it is refused. */
const FOLLOWS = {
  capture: ["capture", ["authorized"], "3024", "Capture is not possible"],
  cancel: ["void", ["authorized"], "3023", "Cancel is not possible"],
  refund: ["refund", ["captured", "settled"], "3024", "Refund is not possible"],
} as const;

/** capture, cancel and refund: asynchronous as well, the payment is at work for one poll. */
function follow(call: EcommpayCall, type: "capture" | "cancel" | "refund"): Answer {
  const { transactions, tools } = call;
  const payment = known(call);
  const amount = call.maybeNumber("payment.amount") ?? payment.amountMinor;
  if (call.has("payment.currency") && call.text("payment.currency") !== payment.currency) refuse(call, "3023", "Currency is wrong");
  const id = tools.digits(16);
  const [kind, from, code, words] = FOLLOWS[type];
  const against = transactions.change(kind, payment, { id, amountMinor: amount, from });
  if (against !== null)
    refuse(call, type === "refund" && against === "state" ? "3023" : code, type === "refund" ? `${words}: ${against}` : words);
  payment.details.polls = 1;
  payment.details.operations.push({ id, type, status: "success", code: "0", message: "Success", amount, at: timeOf(tools) });
  return accepted(call);
}

function statusOf({ state, refundedMinor, details: { operations } }: Payment): string {
  if (state === "declined") return operations[0]?.status ?? "decline";
  if (state === "refunded" || state === "authorized" || state === "voided")
    return { refunded: "refunded", authorized: "awaiting capture", voided: "cancelled" }[state];
  return refundedMinor > 0 ? "partially refunded" : "success";
}

function status(call: EcommpayCall): Answer {
  const payment = known(call);
  const { details, currency: unit, reference: id } = payment;
  const isSeen = call.lookUp(id, ({ id }) => id === payment.id).length > 0;
  if (isSeen) details.polls++;
  if (details.polls <= 1) refuse(call, "3061", "Payment not found");
  const isAtWork = details.polls === 2;
  const { card, token, accountId, customer, avs, operations } = details;
  const body = {
    project_id: Number(call.accountName),
    payment: {
      id,
      type: "purchase",
      status: isAtWork ? "processing" : statusOf(payment),
      date: operations.at(-1)?.at,
      method: "card",
      sum: { amount: operations[0]?.amount, currency: unit },
      description: "",
    },
    account: {
      number: `${card.number.slice(0, 6)}******${card.number.slice(-4)}`,
      type: brandOf(card.number),
      card_holder: card.holder,
      expiry_month: String(card.month).padStart(2, "0"),
      expiry_year: String(card.year),
      ...(token !== null && { token }),
      ...(accountId !== null && { id: accountId }),
    },
    customer: { id: customer },
    operations: (isAtWork ? operations.slice(-1) : operations).map((operation) => shownOperation(operation, unit, isAtWork)),
    avs_result: avs,
    ...(statusOf(payment) === "awaiting 3ds result" && { acs: { acs_url: "https://acs.example/", pa_req: "", md: "", term_url: "" } }),
  };
  return escaped(200, { ...body, signature: signatureOf(body) });
}

function shownOperation({ id, type, status, code, message, amount, at }: Operation, unit: string, isAtWork: boolean): object {
  const sum = { amount, currency: unit };
  return {
    // Sixteen digits: within what a double can hold, so that it can be written as a number.
    id: Number(id),
    type,
    status: isAtWork ? "processing" : status,
    date: at,
    created_date: at,
    request_id: "",
    sum_initial: sum,
    sum_converted: sum,
    code: isAtWork ? "9999" : code,
    message: isAtWork ? "Awaiting processing" : message,
    eci: "07",
    provider: { id: 6, payment_id: "", date: at, auth_code: status === "success" && !isAtWork ? id.slice(-6) : "", endpoint_id: 6 },
  };
}

function requestStatus(call: EcommpayCall): Answer {
  const told = call.request.shared.get(call.text("request_id")) as { code: string; message: string } | undefined;
  if (told === undefined) return refuse(call, "3061", "Request not found");
  const ids = { project_id: Number(call.accountName), request_id: call.text("request_id") };
  const body = { ...ids, status: told.code === "0" ? "success" : "error", ...told };
  return escaped(200, { ...body, signature: signatureOf(body) });
}

/** 2026-11-20T21:00:03+0000 */
const timeOf = (tools: SimulatorTools): string => isoSeconds(tools.now()).replace("Z", "+0000");
