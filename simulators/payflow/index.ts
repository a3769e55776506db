import { header, isAccepted } from "../kit/auth.ts";
import { brandOf, defineSimulator, isCardNumber, isExpired, majorOf, mask, minorOf, pairs, plain, Refusal, textOf } from "../kit/index.ts";
import type { Answer, Call, Incoming, Issuer, Rule, Rules, Transaction } from "../kit/index.ts";
import { amountText, coded, country2, digits, ipv4, matching, mmyy, oneOf, required, requiredIf } from "../kit/rules.ts";

/**
 * PayPal's Payflow Pro over name-value pairs: one path, always status 200, RESULT alone counts. A request id is replayed whatever
 * comes with it, errors as well. Where the sheet names no result for a field, a wrong one is RESULT 7.
 */

interface Details {
  result: string;
  message: string;
  custRef: string;
  orderId: string;
  expiry: string;
  /** Members of the answer that a duplicate repeats. */
  members: Record<string, string | undefined>;
  isHeld: boolean;
}

type PayflowCall = Call<object, Details>;
type Payment = Transaction<Details>;

/** RESULT, RESPMSG, and what a processor says more at high verbosity. */
type No = readonly [result: string, message: string, processor?: string];
const ISSUER: Issuer<No> = {
  declines: {
    card_declined: ["12", "Declined"],
    insufficient_funds: ["50", "Insufficient funds available"],
    expired_card: ["12", "Declined", "EXPIRED CARD"],
    incorrect_cvc: ["114", "Card Security Code (CSC) Mismatch"],
    processing_error: ["99", "General error"],
    lost_or_stolen: ["12", "Declined", "LOST CARD"],
  },
};
/** RESULT that whole amounts of 1001 to 2000 bring about; any other amount there is declined. */
const BY_AMOUNT: ReadonlyMap<number, string> = new Map([
  [1, "User authentication failed"],
  [4, "Invalid amount"],
  [5, "Invalid merchant information"],
  [12, "Declined"],
  [13, "Referral"],
  [23, "Invalid account number"],
  [24, "Invalid expiration date"],
  [50, "Insufficient funds available"],
  [51, "Exceeds per transaction limit"],
  [104, "Timeout waiting for processor response"],
  [112, "Failed AVS check"],
  [114, "Card Security Code (CSC) Mismatch"],
  [125, "Declined by Fraud Service"],
  [126, "Under review by Fraud Service"],
  [1000, "Generic host error"],
]);

/** Printable ASCII: a double quote is not allowed even under a length tag. */
const text = (longest: number): Rule => matching(/^[\x20-\x21\x23-\x7e]+$/, "printable ASCII without double quotes", longest);
const texts = (names: string): Rules =>
  Object.fromEntries(
    names
      .split(" ")
      .map((entry) => entry.split(":"))
      .map(([name = "", longest]) => [name, text(Number(longest))]),
  );
const COMMON: Rules = {
  ...texts("PARTNER:64 VENDOR:64 USER:64 PWD:32"),
  TRXTYPE: required(coded("3", oneOf("S", "A", "D", "C", "V", "I", "L", "U"))),
  TENDER: required(coded("2", oneOf("C"))),
  VERBOSITY: oneOf("HIGH", "MEDIUM", "LOW"),
  ...texts("COMMENT1:128 COMMENT2:128"),
};
const ORIGINAL = matching(/^[A-Za-z0-9]{12}$/, "a PNREF");
const AMOUNT = coded("4", amountText(9_999_999_999.99, /^[0-9]{1,10}\.[0-9]{2}$/));
const REFERENCES: Rules = {
  CUSTREF: matching(/^[A-Za-z0-9]{1,12}$/, "at most 12 letters and digits"),
  INVNUM: matching(/^[A-Za-z0-9.]{1,20}$/, "at most 20 letters, digits and points"),
  ORDERID: text(50),
};
const CARD: Rules = {
  ACCT: requiredIf(coded("23", digits(12, 19)), (fields) => !fields.has("ORIGID")),
  EXPDATE: requiredIf(coded("24", mmyy), (fields) => !fields.has("ORIGID")),
  CVV2: digits(3, 4),
  ...texts("BILLTOFIRSTNAME:30 BILLTOLASTNAME:30 BILLTOSTREET:30 STREET:30 BILLTOCITY:45"),
  BILLTOSTATE: matching(/^[A-Z]{2}$/, "a state of two letters"),
  BILLTOZIP: matching(/^[A-Za-z0-9]{1,9}$/, "at most 9 letters and digits"),
  ZIP: matching(/^[A-Za-z0-9]{1,9}$/, "at most 9 letters and digits"),
  BILLTOCOUNTRY: { check: (value) => (/^[0-9]{3}$/.test(String(value)) ? null : country2.check(value)) },
  CARDONFILE: oneOf("CITI", "CITR", "CITU", "MITR", "MITU"),
};
const PAYMENT: Rules = {
  ...COMMON,
  ...REFERENCES,
  ...CARD,
  AMT: required(AMOUNT),
  CURRENCY: coded(
    "6",
    oneOf("USD", "AUD", "CAD", "CZK", "DKK", "EUR", "HKD", "HUF", "JPY", "NZD", "NOK", "PLN", "GBP", "SGD", "SEK", "CHF"),
  ),
  CUSTIP: ipv4,
  ORIGID: ORIGINAL,
  ORDERDESC: text(127),
};
const FOLLOWING: Rules = { ...COMMON, ...REFERENCES, ORIGID: required(ORIGINAL), AMT: AMOUNT, CURRENCY: text(3) };
const TIME = digits(14);

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
  endpoints: {
    "POST / S": { rules: PAYMENT, run: pay },
    "POST / A": { rules: PAYMENT, run: pay },
    "POST / L": { rules: { ...COMMON, ...REFERENCES, ...CARD }, run: upload },
    "POST / D": {
      rules: FOLLOWING,
      run: (call) => follow(call, "111", "Capture error", (one, amount) => call.transactions.capture(one, amount)),
    },
    "POST / V": { rules: FOLLOWING, run: (call) => follow(call, "108", "Void error", (one) => call.transactions.void(one)) },
    "POST / C": {
      rules: FOLLOWING,
      run: (call) =>
        follow(
          call,
          "105",
          "Credit error",
          (one, amountMinor) =>
            call.transactions.refund(one, { id: newPnref(call), ...(amountMinor !== undefined && { amountMinor }) }) === null,
        ),
    },
    "POST / U": { rules: { ...FOLLOWING, UPDATEACTION: required(oneOf("RMS_APPROVE", "RMS_MERCHANT_DECLINE")) }, run: review },
    "POST / I": {
      rules: { ...COMMON, CUSTREF: REFERENCES["CUSTREF"] as Rule, ORIGID: ORIGINAL, STARTTIME: TIME, ENDTIME: TIME },
      run: inquire,
    },
  },
  refuse: {
    malformed: (request) => refusal(request, "7", "Field format error"),
    path: (request, isKnown) =>
      isKnown && request.method === "POST"
        ? refusal(request, "3", "Invalid transaction type")
        : new Refusal(plain(isKnown ? 405 : 404, "<html><body>Not found</body></html>", "text/html"), "no such page"),
    field: ({ field, code, kind }, request) =>
      refusal(request, code ?? "7", `${MESSAGES[code ?? ""] ?? "Field format error"}: ${field}${kind === "missing" ? " is missing" : ""}`),
  },
  finish: (answer) => ({ ...answer, headers: { ...answer.headers, server: "VPS-3.033.00" } }),
});

const MESSAGES: Readonly<Record<string, string>> = {
  "2": "Invalid tender type",
  "3": "Invalid transaction type",
  "4": "Invalid amount",
  "6": "Invalid or unsupported currency code",
  "23": "Invalid account number",
  "24": "Invalid expiration date",
};

const nameValue = (values: Record<string, string | undefined>): Answer => plain(200, pairs(values), "text/namevalue");
const pnrefOf = ({ tools }: { tools: Incoming["tools"] }): string => `A${tools.id("", 11).toUpperCase()}`;
const newPnref = (call: PayflowCall): string => pnrefOf(call);

function refusal(request: Incoming, result: string, message: string): Refusal {
  // Who is not known gets no PNREF.
  const PNREF = ["1", "26"].includes(result) ? undefined : pnrefOf(request);
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

interface Card {
  number: string;
  expiry: string;
}

/** The card of the request or, of a reference transaction, that of an earlier one. */
function cardIn(call: PayflowCall): Card {
  const [number, expiry] = [call.text("ACCT"), call.text("EXPDATE")];
  if (call.has("ORIGID")) {
    const original = call.transactions.get(call.text("ORIGID"));
    if (original?.details.result !== "0") return refuse(call, "19", "Original transaction ID not found");
    return { number: original.card, expiry: expiry || original.details.expiry };
  }
  if (!isCardNumber(number) || brandOf(number) === "unknown") refuse(call, "23", "Invalid account number");
  if (isExpired(Number(expiry.slice(0, 2)), Number(expiry.slice(2)), call.tools.now()))
    refuse(call, "24", `Invalid expiration date: ${expiry}`);
  return { number, expiry };
}

/** What the amount says, which goes before the issuer. */
function byAmount(amount: number): No | null {
  if (amount <= 1000) return null;
  const message = amount <= 2000 && Number.isInteger(amount) ? BY_AMOUNT.get(amount - 1000) : undefined;
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
  const [type, amount, orderId] = [call.text("TRXTYPE"), call.text("AMT"), call.text("ORDERID")];
  const earlier = orderId === "" ? undefined : transactions.all().find(({ details }) => details.orderId === orderId);
  if (earlier) return nameValue({ ...earlier.details.members, DUPLICATE: "2" });
  const isCheck = Number(amount) === 0;
  if (isCheck && type === "S") refuse(call, "4", "Invalid amount");
  const card = cardIn(call);
  const no = byAmount(Number(amount)) ?? call.decide(ISSUER, card.number);
  const [RESULT, RESPMSG, processor] = no ?? ["0", isCheck ? "Verified" : "Approved"];
  const isHeld = RESULT === "126";
  const isHigh = call.text("VERBOSITY") === "HIGH";
  const PNREF = newPnref(call);
  const members = {
    RESULT,
    PNREF,
    RESPMSG,
    ...(no === null && { AUTHCODE: isCheck ? undefined : `${tools.digits(3)}PNI` }),
    ...checksOf(call),
    ...(RESULT === "114" && { CVV2MATCH: "N" }),
    ...(isHeld && { PREFPSMSG: "Review: More than one rule was triggered for Review", POSTFPSMSG: "No Rules Triggered" }),
    ...(isHigh && {
      HOSTCODE: no === null ? "A" : "D",
      RESPTEXT: processor,
      TRANSTIME: timeOf(tools.now()),
      AMT: amount,
      ACCT: card.number.slice(-4),
    }),
    ...(isHigh && { EXPDATE: card.expiry, CARDTYPE: String(TYPES.indexOf(brandOf(card.number))), IAVS: "N" }),
  };
  const currency = call.maybe("CURRENCY") ?? "USD";
  transactions.add({
    id: PNREF,
    reference: call.maybe("CUSTREF"),
    kind: isCheck ? "token" : type === "S" && !isHeld ? "charge" : "authorization",
    isApproved: no === null || isHeld,
    amountMinor: minorOf(amount, currency),
    currency,
    card: card.number,
    details: { result: RESULT, message: RESPMSG, custRef: call.text("CUSTREF"), orderId, expiry: card.expiry, members, isHeld },
  });
  return nameValue(members);
}

/** 2026-02-10 18:34:58 */
function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** Keeps a card without asking the bank. */
function upload(call: PayflowCall): Answer {
  const card = cardIn(call);
  const members = { RESULT: "0", PNREF: newPnref(call), RESPMSG: "Approved", TRANSTIME: timeOf(call.tools.now()) };
  const details = {
    result: "0",
    message: "Approved",
    custRef: call.text("CUSTREF"),
    orderId: "",
    expiry: card.expiry,
    members,
    isHeld: false,
  };
  call.transactions.add({
    id: members.PNREF,
    reference: call.maybe("CUSTREF"),
    kind: "token",
    isApproved: true,
    card: card.number,
    details,
  });
  return nameValue(members);
}

/** Capture, void and credit of an earlier transaction. */
function follow(call: PayflowCall, result: string, message: string, change: (one: Payment, amountMinor?: number) => boolean): Answer {
  const one = call.transactions.get(call.text("ORIGID"));
  if (one === undefined) return refuse(call, "19", "Original transaction ID not found");
  const amount = call.maybe("AMT");
  if (!change(one, amount === undefined ? undefined : minorOf(amount, one.currency))) refuse(call, result, message);
  return nameValue({ RESULT: "0", PNREF: newPnref(call), RESPMSG: "Approved", TRANSTIME: timeOf(call.tools.now()) });
}

/** The merchant's word on a payment that the fraud service holds. */
function review(call: PayflowCall): Answer {
  return follow(call, "172", "Transaction is in no state for this", (one) => {
    if (!one.details.isHeld || one.state !== "authorized") return false;
    one.details.isHeld = false;
    return call.text("UPDATEACTION") === "RMS_APPROVE" ? call.transactions.capture(one) : call.transactions.void(one);
  });
}

const STATES: Readonly<Record<Payment["state"], string>> = {
  declined: "1",
  authorized: "3",
  captured: "6",
  settled: "8",
  refunded: "8",
  voided: "14",
  verified: "8",
};

/** The latest with that reference, within 30 days; ORIGRESULT is what became of it. */
function inquire(call: PayflowCall): Answer {
  const [custRef, id] = [call.maybe("CUSTREF"), call.maybe("ORIGID")];
  if (custRef === undefined && id === undefined) refuse(call, "7", "Field format error: ORIGID is missing");
  const [from, to] = [call.text("STARTTIME"), call.text("ENDTIME") || "9"];
  const [found] = call.lookUp(custRef ?? null, (one) => {
    const at = timeOf(one.at).replace(/\D/g, "");
    return (id ?? one.id) === one.id && (custRef ?? one.details.custRef) === one.details.custRef && at >= from && at <= to;
  });
  if (found === undefined)
    throw new Refusal(nameValue({ RESULT: "19", PNREF: newPnref(call), RESPMSG: "Original transaction ID not found" }), "19", {
      isRecorded: false,
    });
  const { result, message, members } = found.details;
  const { AUTHCODE, AVSADDR, AVSZIP, CVV2MATCH } = members;
  const amounts = {
    AMT: majorOf(found.amountMinor, found.currency || "USD"),
    ACCT: mask(found.card).slice(-4),
    TRANSTIME: timeOf(found.at),
  };
  const origin = { ORIGRESULT: result, ORIGPNREF: found.id, TRANSSTATE: STATES[found.state], RESPMSG: message };
  return nameValue({
    RESULT: "0",
    PNREF: newPnref(call),
    ...origin,
    AUTHCODE,
    AVSADDR,
    AVSZIP,
    CVV2MATCH,
    CUSTREF: found.details.custRef || undefined,
    ...amounts,
  });
}
