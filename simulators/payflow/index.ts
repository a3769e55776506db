import { amountText, brandOf, byState, coded, country2, defineSimulator, digitTime, header, htmlNotFound } from "../kit/index.ts";
import { isAccepted, issuer, majorOf, matching, minorOf, pairs, plain, Refusal, rules, spacedTime, table, textOf } from "../kit/index.ts";
import type { Answer, Call, Card, Fields, Incoming, Rule, Transaction } from "../kit/index.ts";

/**
 * PayPal's Payflow Pro over name-value pairs: one path, always status 200, RESULT alone counts. A request id is replayed whatever
 * comes with it, errors as well. Where the sheet names no result for a field, a wrong one is RESULT 7.
 */

type Members = { RESULT: string; PNREF: string; RESPMSG: string } & Record<string, string | undefined>;
interface Details {
  orderId: string;
  expiry: string;
  /** Members of the answer that a duplicate repeats. */
  members: Members;
  isHeld: boolean;
}

type PayflowCall = Call<object, Details>;
type Payment = Transaction<Details>;

/** RESULT, RESPMSG, and what a processor says more at high verbosity. */
type No = readonly [result: string, message: string, processor?: string];
const ISSUER = issuer<No>(`
  card_declined 12|Declined, insufficient_funds 50|Insufficient funds available, expired_card 12|Declined|EXPIRED CARD
  incorrect_cvc 114|Card Security Code (CSC) Mismatch, processing_error 99|General error, lost_or_stolen 12|Declined|LOST CARD
`);
/** RESULT that whole amounts of 1001 to 2000 bring about; any other amount there is declined. */
const BY_AMOUNT = table(
  "1 User authentication failed, 4 Invalid amount, 5 Invalid merchant information, 12 Declined, 13 Referral, " +
    "23 Invalid account number, 24 Invalid expiration date, 50 Insufficient funds available, 51 Exceeds per transaction limit, " +
    "104 Timeout waiting for processor response, 112 Failed AVS check, 114 Card Security Code (CSC) Mismatch, " +
    "125 Declined by Fraud Service, 126 Under review by Fraud Service, 1000 Generic host error",
);

/** Printable ASCII: a double quote is not allowed even under a length tag. */
const text = (longest: number): Rule => matching(/^[\x20-\x21\x23-\x7e]+$/, "printable ASCII without double quotes", longest);
const CREDENTIALS = rules`PARTNER/VENDOR/USER ${text(64)}, PWD ${text(32)}`;
const COMMON = rules`
  ${CREDENTIALS}, TRXTYPE! is S|A|D|C|V|I|L|U @3, TENDER! is C @2, VERBOSITY is HIGH|MEDIUM|LOW, COMMENT1/COMMENT2 ${text(128)}
`;
const ORIGINAL = "[A-Za-z0-9] 12";
const AMOUNT = coded("4", amountText(9_999_999_999.99, /^[0-9]{1,10}\.[0-9]{2}$/));
const COUNTRY: Rule = { check: (value) => (/^[0-9]{3}$/.test(String(value)) ? null : country2.check(value)) };
const isNew = (fields: Fields): boolean => !fields.has("ORIGID");
const REFERENCES = rules`CUSTREF [A-Za-z0-9] 1-12, INVNUM [A-Za-z0-9.] 1-20, ORDERID ${text(50)}`;
const CARD = rules`
  ACCT!${isNew} digits 12-19 @23, EXPDATE!${isNew} mmyy @24, CVV2 digits 3-4, BILLTOZIP/ZIP [A-Za-z0-9] 1-9, BILLTOSTATE [A-Z] 2
  BILLTOFIRSTNAME/BILLTOLASTNAME/BILLTOSTREET/STREET ${text(30)}, BILLTOCITY ${text(45)}, BILLTOCOUNTRY ${COUNTRY}
  CARDONFILE is CITI|CITR|CITU|MITR|MITU
`;
const PAYMENT = rules`
  ${COMMON}, ${REFERENCES}, ${CARD}, AMT! ${AMOUNT}, CUSTIP ipv4, ORIGID ${ORIGINAL}, ORDERDESC ${text(127)}
  CURRENCY is USD|AUD|CAD|CZK|DKK|EUR|HKD|HUF|JPY|NZD|NOK|PLN|GBP|SGD|SEK|CHF @6
`;
const FOLLOWING = rules`${COMMON}, ${REFERENCES}, ORIGID! ${ORIGINAL}, AMT ${AMOUNT}, CURRENCY ${text(3)}`;
const REVIEW = rules`${FOLLOWING}, UPDATEACTION! is RMS_APPROVE|RMS_MERCHANT_DECLINE`;
const INQUIRY = rules`${COMMON}, CUSTREF [A-Za-z0-9] 1-12, ORIGID ${ORIGINAL}, STARTTIME/ENDTIME digits 14`;

export const simulator = defineSimulator<object, Details>({
  body: "nameValue",
  operationOf: (fields) => textOf(fields, "TRXTYPE") || undefined,
  authenticate,
  idempotency: {
    keyOf(request) {
      const id = header(request, "x-vps-request-id");
      if (!/^[\x21-\x7e]{1,32}$/.test(id)) throw refusal(request, "7", "Field format error: X-VPS-REQUEST-ID");
      return id;
    },
    keepsRefusals: true,
    replay: (first) => ({ ...first, body: `${first.body as string}&DUPLICATE=1` }),
  },
  reference: "CUSTREF",
  endpoints: {
    "POST / S": { rules: PAYMENT, run: pay },
    "POST / A": { rules: PAYMENT, run: pay },
    "POST / L": { rules: rules`${COMMON}, ${REFERENCES}, ${CARD}`, run: upload },
    "POST / D": { rules: FOLLOWING, run: (call) => follow(call, "capture", ["111", "Capture error"]) },
    "POST / V": { rules: FOLLOWING, run: (call) => follow(call, "void", ["108", "Void error"]) },
    "POST / C": { rules: FOLLOWING, run: (call) => follow(call, "refund", ["105", "Credit error"]) },
    "POST / U": { rules: REVIEW, run: review },
    "POST / I": { rules: INQUIRY, run: inquire },
  },
  refuse: {
    malformed: (request) => refusal(request, "7", "Field format error"),
    path: (request, isKnown) =>
      isKnown && request.method === "POST" ? refusal(request, "3", "Invalid transaction type") : htmlNotFound(isKnown),
    field({ field, code = "7", kind }, request) {
      return refusal(request, code, `${MESSAGES.get(code) ?? "Field format error"}: ${field}${kind === "missing" ? " is missing" : ""}`);
    },
  },
  responseHeaders: () => ({ server: "VPS-3.033.00" }),
});

const MESSAGES = table(
  "2 Invalid tender type, 3 Invalid transaction type, 4 Invalid amount, 6 Invalid or unsupported currency code, " +
    "23 Invalid account number, 24 Invalid expiration date",
);

const nameValue = (values: Record<string, string | undefined>): Answer => plain(200, pairs(values), "text/namevalue");
const newPnref = ({ tools }: { tools: Incoming["tools"] }): string => `A${tools.id("", 11).toUpperCase()}`;

function refusal(request: Incoming, result: string, message: string): Refusal {
  // Who is not known gets no PNREF.
  const PNREF = ["1", "26"].includes(result) ? undefined : newPnref(request);
  return new Refusal(nameValue({ RESULT: result, PNREF, RESPMSG: message }), result);
}

function refuse(call: PayflowCall, result: string, message: string): never {
  throw refusal(call.request, result, message);
}

function authenticate(request: Incoming): string {
  const [partner, vendor, user, password] = ["PARTNER", "VENDOR", "USER", "PWD"].map((name) => textOf(request.fields, name));
  if (!request.isReadable) throw refusal(request, "7", "Field format error");
  if (header(request, "paypal-nvp") !== "") throw refusal(request, "7", "Field format error: PAYPAL-NVP");
  if (!vendor || !user) throw refusal(request, "26", "Invalid vendor account");
  const isKnown = [partner, vendor, user, password].every((credential) => isAccepted(credential || "wrong"));
  if (!isKnown || (password?.length ?? 0) < 6) throw refusal(request, "1", "User authentication failed");
  return vendor;
}

/** The card of the request or, of a reference transaction, that of an earlier one. */
function cardIn(call: PayflowCall): Card {
  if (!call.has("ORIGID")) {
    if (brandOf(call.text("ACCT")) === "unknown") refuse(call, "23", "Invalid account number");
    return call.card({ number: "ACCT", expiry: "EXPDATE" }, (fault) =>
      fault === "number"
        ? refusal(call.request, "23", "Invalid account number")
        : refusal(call.request, "24", `Invalid expiration date: ${call.text("EXPDATE")}`),
    );
  }
  const original = call.transactions.get(call.text("ORIGID"));
  if (original?.details.members.RESULT !== "0") return refuse(call, "19", "Original transaction ID not found");
  const expiry = call.maybe("EXPDATE") ?? original.details.expiry;
  return { number: original.card, month: expiry.slice(0, 2), year: expiry.slice(2) };
}

/** What the amount says, which goes before the issuer. */
function byAmount(amount: number): No | null {
  if (amount <= 1000) return null;
  const message = amount <= 2000 ? BY_AMOUNT.get(String(amount - 1000)) : undefined;
  return message === undefined ? ["12", "Declined"] : [String(amount - 1000), message];
}

const TYPES = ["visa", "mastercard", "discover", "amex", "diners", "jcb", "maestro"];

/** Address and security code, by the vendor's triggers; X is not available. */
function checksOf(call: PayflowCall): Record<string, string | undefined> {
  const [street, zip, code] = [
    call.text("BILLTOSTREET") || call.text("STREET"),
    call.text("BILLTOZIP") || call.text("ZIP"),
    call.number("CVV2"),
  ];
  const start = /^[0-9]{3}/.exec(street)?.[0];
  const AVSADDR = street === "" ? "X" : start === undefined || Number(start) > 666 ? "X" : Number(start) <= 333 ? "Y" : "N";
  const AVSZIP = zip === "" || (street !== "" && AVSADDR === "X") ? "X" : Number(zip.slice(0, 5)) <= 50_000 ? "Y" : "N";
  const CVV2MATCH = !call.has("CVV2") || code === 0 ? undefined : code <= 300 ? "Y" : code <= 600 ? "N" : "X";
  return { AVSADDR, AVSZIP, CVV2MATCH };
}

function pay(call: PayflowCall): Answer {
  const { tools, transactions } = call;
  const [type, AMT, orderId] = call.texts("TRXTYPE", "AMT", "ORDERID");
  const earlier = orderId === "" ? undefined : transactions.find(({ details }) => details.orderId === orderId);
  if (earlier) return nameValue({ ...earlier.details.members, DUPLICATE: "2" });
  const isCheck = Number(AMT) === 0;
  if (isCheck && type === "S") refuse(call, "4", "Invalid amount");
  const { number, month, year } = cardIn(call);
  const noToAmount = byAmount(Number(AMT));
  const no = noToAmount ?? call.decide(ISSUER, number);
  const [RESULT, RESPMSG, RESPTEXT] = no ?? ["0", isCheck ? "Verified" : "Approved"];
  const isHeld = RESULT === "126";
  const PNREF = newPnref(call);
  const processor = { HOSTCODE: no === null ? "A" : "D", RESPTEXT, TRANSTIME: spacedTime(tools.now()), AMT, ACCT: number.slice(-4) };
  const card = { EXPDATE: month + year, CARDTYPE: String(TYPES.indexOf(brandOf(number))), IAVS: "N" };
  const members = {
    RESULT,
    PNREF,
    RESPMSG,
    ...(no === null && { AUTHCODE: isCheck ? undefined : `${tools.digits(3)}PNI` }),
    ...checksOf(call),
    // A test card is refused for what it stands for, whatever the code: a 12 with N would be a refusal of the code.
    ...(no !== null && noToAmount === null && call.has("CVV2") && { CVV2MATCH: "Y" }),
    ...(RESULT === "114" && { CVV2MATCH: "N" }),
    ...(isHeld && { PREFPSMSG: "Review: More than one rule was triggered for Review", POSTFPSMSG: "No Rules Triggered" }),
    ...(call.text("VERBOSITY") === "HIGH" && { ...processor, ...card }),
  };
  const currency = call.maybe("CURRENCY") ?? "USD";
  const kind = isCheck ? "token" : type === "S" && !isHeld ? "charge" : "authorization";
  const details = { orderId, expiry: month + year, members, isHeld };
  call.take({ id: PNREF, kind, isApproved: no === null || isHeld, amountMinor: minorOf(AMT, currency), currency, card: number, details });
  return nameValue(members);
}

function approved(call: PayflowCall): Members {
  return { RESULT: "0", PNREF: newPnref(call), RESPMSG: "Approved", TRANSTIME: spacedTime(call.tools.now()) };
}

/** Keeps a card without asking the bank. */
function upload(call: PayflowCall): Answer {
  const { number, month, year } = cardIn(call);
  const members = approved(call);
  const details = { orderId: "", expiry: month + year, members, isHeld: false };
  call.take({ id: members.PNREF, kind: "token", card: number, details });
  return nameValue(members);
}

function originalOf(call: PayflowCall): Payment {
  return call.transactions.get(call.text("ORIGID")) ?? refuse(call, "19", "Original transaction ID not found");
}

/** Capture, void and credit of an earlier transaction. */
function follow(call: PayflowCall, kind: "capture" | "void" | "refund", [result, message]: No): Answer {
  const one = originalOf(call);
  const members = approved(call);
  const against = call.transactions.change(kind, one, { id: members.PNREF, amountMinor: call.minor("AMT", one.currency) });
  return against === null ? nameValue(members) : refuse(call, result, message);
}

/** The merchant's word on a payment that the fraud service holds. */
function review(call: PayflowCall): Answer {
  const one = originalOf(call);
  const kind = call.text("UPDATEACTION") === "RMS_APPROVE" ? "capture" : "void";
  if (!one.details.isHeld || one.state !== "authorized") return refuse(call, "172", "Transaction is in no state for this");
  one.details.isHeld = false;
  call.transactions.change(kind, one);
  return nameValue(approved(call));
}

const STATES = byState("declined 1, authorized 3, captured 6, settled/refunded 8, verified 0, voided 1006");

/** The latest with that reference, within 30 days; ORIGRESULT is what became of it. */
function inquire(call: PayflowCall): Answer {
  const [custRef, id] = [call.maybe("CUSTREF"), call.maybe("ORIGID")];
  if (custRef === undefined && id === undefined) refuse(call, "7", "Field format error: ORIGID is missing");
  const [from, to] = [call.text("STARTTIME"), call.text("ENDTIME") || "9"];
  const [found] = call.lookUp(custRef ?? null, (one) => {
    const at = digitTime(one.at);
    return (id ?? one.id) === one.id && (custRef ?? one.reference) === one.reference && at >= from && at <= to;
  });
  if (found === undefined) throw refusal(call.request, "19", "Original transaction ID not found").unrecorded();
  const { RESULT: ORIGRESULT, RESPMSG, AUTHCODE, AVSADDR, AVSZIP, CVV2MATCH } = found.details.members;
  const origin = { ORIGRESULT, ORIGPNREF: found.id, TRANSSTATE: STATES[found.state], RESPMSG };
  const checks = { AUTHCODE, AVSADDR, AVSZIP, CVV2MATCH, CUSTREF: found.reference ?? undefined };
  const amount = { AMT: majorOf(found.amountMinor, found.currency || "USD"), ACCT: found.card.slice(-4), TRANSTIME: spacedTime(found.at) };
  return nameValue({ RESULT: "0", PNREF: newPnref(call), ...origin, ...checks, ...amount });
}
