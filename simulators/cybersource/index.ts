import { brandOf, codeLength, decimalsOf, defineSimulator, hash, isCardNumber, isExpired, isoSeconds, issuer, json } from "../kit/index.ts";
import { majorOf, mask, matching, minorOf, oneOf, passesLuhn, refused, refuseWith, rules, table, textOf, uuid } from "../kit/index.ts";
import type { Answer, Call, Fields, Incoming, Refusal, Transaction } from "../kit/index.ts";
import { authenticate } from "./authentication.ts";

/**
 * Cybersource's REST payments: signed by HTTP Signature or by a JWT with the same secret. Approvals and refusals are both 201, nothing is
 * ever replayed, and duplicates are refused only for merchants whose id has `vpc` in it (an account with that protection). The
 * account has relaxed address requirements unless its merchant id has `address` in it. A status or reason of OUTCOMES as the
 * comments brings that answer about.
 */

const IDENTICAL_MS = 15 * 60_000;
const TRANSACTION_ID_MS = 60 * 24 * 3_600_000;
const TYPES = table("visa 001, mastercard 002, amex 003, discover 004, diners 005, jcb 007, maestro 042, unionpay 062");

interface Details {
  transactionId: string | undefined;
  said: Said;
  type: string;
  fingerprint: string;
}
/** The vault has instrument identifiers: one for each card number. */
type CyberCall = Call<object, Details, { number: string }>;
type Payment = Transaction<Details>;

/** What the processor or the risk rules say; `stands`: the issuer has approved all the same, and a hold is left behind. */
interface Said {
  status: string;
  reason?: string;
  message?: string;
  responseCode: string;
  /** Of the search's applications. */
  rFlag: string;
  reasonCode: string;
  stands: boolean;
}
const YES: Said = { status: "AUTHORIZED", responseCode: "100", rFlag: "SOK", reasonCode: "100", stands: true };
const no = (reason = "", words = "", responseCode = "", reasonCode = "", rFlag = "DCARDREFUSED"): Said => ({
  status: "DECLINED",
  reason,
  message: `Decline - ${words}`,
  responseCode,
  reasonCode,
  rFlag,
  stands: false,
});
const GENERAL = "General decline of the card. No other information provided by the issuing bank.";
const EXPIRED = no("EXPIRED_CARD", "Expired card.", "54", "202", "DCARDEXPIRED");
const INVALID_ACCOUNT = no("INVALID_ACCOUNT", "Invalid account number", "14", "231", "DINVALIDCARD");
/** By card, and by amounts on which a test account of the FDC Compass kind refuses. */
const ISSUER = issuer<Said>(
  `
    card_declined/1500.00/2229.00/2230.00 PROCESSOR_DECLINED|${GENERAL}|59|203
    insufficient_funds INSUFFICIENT_FUND|Insufficient funds in the account.|51|204
    expired_card EXPIRED_CARD|Expired card.|54|202|DCARDEXPIRED, lost_or_stolen STOLEN_LOST_CARD|Stolen or lost card.|43|205
    incorrect_cvc CVN_NOT_MATCH|The card verification number does not match.|N7|211
    processing_error PROCESSOR_ERROR|The payment processor reported an error.|96|150|ESYSTEM
    401.00 CONTACT_PROCESSOR|Call the issuing bank.|01|201|DCALL, 2201.00 INVALID_ACCOUNT|Invalid account number|14|231|DINVALIDCARD
  `,
  no,
);
const held = (status: string, reason: string, words: string): Said => ({
  ...no(reason, words, "100", "480", "DREVIEW"),
  status,
  stands: true,
});
/** Answers that no card brings about, by the word that the comments hold. */
const OUTCOMES: Readonly<Record<string, Said>> = {
  DO_NOT_HONOR: no("PROCESSOR_DECLINED", GENERAL, "05", "203"),
  PARTIAL_AUTHORIZED: { ...YES, status: "PARTIAL_AUTHORIZED" },
  AUTHORIZED_PENDING_REVIEW: held("AUTHORIZED_PENDING_REVIEW", "DECISION_PROFILE_REVIEW", "The order is held for review."),
  AUTHORIZED_RISK_DECLINED: held("AUTHORIZED_RISK_DECLINED", "DECISION_PROFILE_REJECT", "The order is rejected by Decision Manager."),
  AVS_FAILED: held("DECLINED", "AVS_FAILED", "Soft Decline - The address did not pass the address verification."),
  CV_FAILED: held("DECLINED", "CV_FAILED", "Soft Decline - The card verification number did not match."),
  PENDING_AUTHENTICATION: {
    ...no("CONSUMER_AUTHENTICATION_REQUIRED", "The cardholder must be authenticated.", "65", "475", "DAUTHENTICATE"),
    status: "PENDING_AUTHENTICATION",
  },
};
const SYSTEM_ERROR_AMOUNT = "2000.00";
const SYSTEM_ERROR = { status: "SERVER_ERROR", reason: "SYSTEM_ERROR", message: "Error - General system failure." };

const isIn = (country: string) => (fields: Fields) => textOf(fields, "orderInformation.billTo.country") === country;
const POSTAL = { US: /^[0-9]{5}(-[0-9]{4})?$/, CA: /^[A-Z][0-9][A-Z] [0-9][A-Z][0-9]$/ };
const IDENTIFIER = "paymentInformation.instrumentIdentifier.id";
const isTyped = (fields: Fields): boolean => !fields.has(IDENTIFIER);
const ZONE = oneOf("UTC", "GMT", ...Intl.supportedValuesOf("timeZone"));
const MONEY = rules`totalAmount! /[0-9]{1,15}(\.[0-9]{1,3})?/, currency! currency`;
const PAYMENT = rules`
  clientReferenceInformation: code! 50, transactionId 30, comments [\x20-\x7e] 0-255
  processingInformation: capture bool, commerceIndicator is moto|internet|recurring|install, actionList[*] is TOKEN_CREATE
  processingInformation: actionTokenTypes[*] is instrumentIdentifier|paymentInstrument|customer|shippingAddress
  processingInformation.authorizationOptions.initiator: type is customer|merchant, credentialStoredOnFile/storedCredentialUsed bool
  processingInformation.authorizationOptions.initiator.merchantInitiatedTransaction: previousTransactionId 36, reason digits 1-2
  paymentInformation.card: number!${isTyped} digits 12-19, expirationMonth! month, expirationYear! year4, securityCode digits 3-4
  paymentInformation.card: securityCodeIndicator is 0|1|9, type is ${[...TYPES.values(), "036", "054"].join("|")}
  ${IDENTIFIER} digits 16-32
  orderInformation.amountDetails: ${MONEY}
  orderInformation.billTo: firstName/lastName/address1/address2/company 60, locality 50, administrativeArea 20, phoneNumber 15
  orderInformation.billTo: postalCode [A-Za-z0-9\x20-] 1-10, country country2, email email
  deviceInformation.ipAddress [0-9a-fA-F.:] 7-45
`;
const CODE = rules`clientReferenceInformation.code! 50`;
const CHANGE = rules`
  ${CODE}
  orderInformation.amountDetails: ${MONEY}
`;
const REVERSAL = rules`
  reversalInformation: reason 255
  reversalInformation.amountDetails: ${MONEY}
`;
const BY_OUR_ID = rules`clientReferenceInformation: code 50, transactionId! 30`;
const SEARCH = rules`
  save bool, name 255, timezone ${ZONE}, query! 1024, offset whole, limit whole 1-2500, sort /\w+:(asc|desc)(,\w+:(asc|desc))*/
`;
/** What an account without relaxed requirements wants of an address. */
const ADDRESS = ["firstName", "lastName", "address1", "locality", "country", "email"];

export const simulator = defineSimulator<object, Details, { number: string }>({
  body: "json",
  authenticate,
  headers: { accept: matching(/json|\*\/\*/, "JSON"), "profile-id": uuid },
  reference: "clientReferenceInformation.code",
  recorded: ["processingInformation.commerceIndicator"],
  endpoints: {
    "POST /pts/v2/payments": { rules: PAYMENT, run: pay },
    "POST /pts/v2/payments/:id/captures": { rules: CHANGE, run: (call) => follow(call, "captures") },
    "POST /pts/v2/payments/:id/refunds": { rules: CHANGE, run: (call) => follow(call, "refunds") },
    "POST /pts/v2/payments/:id/voids": { rules: CODE, run: (call) => follow(call, "voids") },
    "POST /pts/v2/payments/:id/reversals": { rules: rules`${CODE}, ${REVERSAL}`, run: (call) => follow(call, "reversals") },
    "POST /pts/v2/voids": { rules: BY_OUR_ID, run: (call) => follow(call, "voids") },
    "POST /pts/v2/reversals": { rules: rules`${BY_OUR_ID}, ${REVERSAL}`, run: (call) => follow(call, "reversals") },
    "POST /tms/v1/instrumentidentifiers": { rules: rules`card.number! digits 12-19`, run: storeNumber },
    "GET /tms/v1/instrumentidentifiers/:id": { run: readIdentifier },
    "DELETE /tms/v1/instrumentidentifiers/:id": { run: readIdentifier },
    "POST /tss/v2/searches": { rules: SEARCH, run: search },
    "GET /tss/v2/transactions/:id": { run: lookUp },
  },
  refuse: {
    malformed: (request, isOtherType) =>
      isOtherType ? said(415, "Content type is not supported", "415") : invalid(request, "INVALID_DATA"),
    path: (_request, isKnown) => (isKnown ? said(405, "Method Not Allowed", "405") : said(404, "Resource not found", "404")),
    field: ({ kind, field, code }, request) =>
      field === "header accept"
        ? said(406, "Not Acceptable", "406")
        : invalid(request, code ?? (kind === "missing" ? "MISSING_FIELD" : "INVALID_DATA"), field),
  },
  responseHeaders: ({ tools }) => ({ "v-c-correlation-id": tools.id("", 24) }),
});

const said = (status: number, rmsg: string, code: string): Refusal => refused(code, status, { response: { rmsg } });
const submitted = ({ tools }: { tools: Incoming["tools"] }): string => isoSeconds(tools.now());

/** Nothing was processed. */
function invalid(request: { tools: Incoming["tools"] }, reason: string, field?: string): Refusal {
  const message =
    reason === "MISSING_FIELD"
      ? "Declined - The request is missing one or more fields"
      : reason === "DUPLICATE_REQUEST"
        ? "Declined - The transaction identifier has already been used in the last 60 days"
        : "Declined - One or more fields in the request contains invalid data";
  const details = field === undefined ? {} : { details: [{ field, reason: reason === "MISSING_FIELD" ? reason : "INVALID_DATA" }] };
  return refused(reason, 400, { submitTimeUtc: submitted(request), status: "INVALID_REQUEST", reason, message, ...details });
}

/** 22 digits that no scanner takes for a card number. */
function paymentId({ tools }: CyberCall): string {
  for (;;) {
    const id = tools.digits(22);
    if (!passesLuhn(id.slice(0, 19))) return id;
  }
}

/** The amount in minor units; it has at most the currency's decimals. */
function amountOf(call: CyberCall, path: string): { unit: string; amountMinor: number } {
  const [amount, unit] = [call.text(`${path}.totalAmount`), call.text(`${path}.currency`)];
  if ((amount.split(".")[1] ?? "").length > decimalsOf(unit)) throw invalid(call, "INVALID_DATA", `${path}.totalAmount`);
  return { unit, amountMinor: minorOf(amount, unit) };
}

/** The number that is charged: typed, or kept under an instrument identifier; with what its form has against it. */
function cardIn(call: CyberCall): { number: string; type: string } {
  const path = "paymentInformation.card";
  const kept = call.vault.get(call.text(IDENTIFIER))?.number;
  if (call.has(IDENTIFIER) && kept === undefined) throw invalid(call, "INVALID_DATA", IDENTIFIER);
  const number = kept ?? call.text(`${path}.number`);
  const type = TYPES.get(brandOf(number)) ?? "";
  const code = call.maybe(`${path}.securityCode`);
  if (code !== undefined && code.length !== codeLength(number)) throw invalid(call, "INVALID_DATA", `${path}.securityCode`);
  if (call.has(`${path}.type`) && type !== "" && !["036", "054", type].includes(call.text(`${path}.type`)))
    throw invalid(call, "CARD_TYPE_NOT_ACCEPTED", `${path}.type`);
  return { number, type };
}

function checkAddress(call: CyberCall): void {
  const path = "orderInformation.billTo";
  const isLocal = isIn("US")(call.fields) || isIn("CA")(call.fields);
  const wanted = [...ADDRESS, ...(isLocal ? ["administrativeArea", "postalCode"] : [])];
  const missing = /address/i.test(call.accountName) ? wanted.find((name) => !call.has(`${path}.${name}`)) : undefined;
  if (missing !== undefined) throw invalid(call, "MISSING_FIELD", `${path}.${missing}`);
  const form = Object.entries(POSTAL).find(([country]) => isIn(country)(call.fields))?.[1];
  if (form !== undefined && call.has(`${path}.postalCode`) && !form.test(call.text(`${path}.postalCode`)))
    throw invalid(call, "INVALID_DATA", `${path}.postalCode`);
  if (isLocal && call.has(`${path}.administrativeArea`) && !/^[A-Z]{2}$/.test(call.text(`${path}.administrativeArea`)))
    throw invalid(call, "INVALID_DATA", `${path}.administrativeArea`);
}

/** Only where the account has the protection: the same request, or the same transaction identifier. */
function checkDuplicate(call: CyberCall, fingerprint: string): void {
  const [now, id] = [call.tools.now(), call.maybe("clientReferenceInformation.transactionId")];
  const isSecond = ({ at, details }: Payment) =>
    (details.fingerprint === fingerprint && now - at <= IDENTICAL_MS) ||
    (id !== undefined && details.transactionId === id && now - at <= TRANSACTION_ID_MS);
  if (/vpc/i.test(call.accountName) && call.transactions.find(isSecond)) throw invalid(call, "DUPLICATE_REQUEST");
}

function resultOf(call: CyberCall, number: string): Said {
  const path = "paymentInformation.card";
  if (!isCardNumber(number)) return INVALID_ACCOUNT;
  if (isExpired(call.number(`${path}.expirationMonth`), call.number(`${path}.expirationYear`), call.tools.now())) return EXPIRED;
  const byWord = Object.entries(OUTCOMES).find(([word]) => word === call.text("clientReferenceInformation.comments"))?.[1];
  return call.decide(ISSUER, number) ?? byWord ?? ISSUER(call.text("orderInformation.amountDetails.totalAmount")) ?? YES;
}

function pay(call: CyberCall): Answer {
  const { tools, request } = call;
  const path = "orderInformation.amountDetails";
  const { unit, amountMinor } = amountOf(call, path);
  const isSale = call.text("processingInformation.capture") === "true";
  if (amountMinor === 0 && isSale) throw invalid(call, "INVALID_AMOUNT", `${path}.totalAmount`);
  checkAddress(call);
  const { number, type } = cardIn(call);
  const fingerprint = hash("sha256", request.body);
  checkDuplicate(call, fingerprint);
  if (call.text(`${path}.totalAmount`) === SYSTEM_ERROR_AMOUNT)
    throw refused("SYSTEM_ERROR", 502, { submitTimeUtc: submitted(call), ...SYSTEM_ERROR });
  const result = resultOf(call, number);
  const { status, reason, message, responseCode, stands } = result;
  const [id, code, isYes] = [paymentId(call), call.text("clientReferenceInformation.code"), result === YES];
  const stores = call.under("processingInformation.actionList[", "]")["0"] === "TOKEN_CREATE";
  const kind = isYes && isSale ? "charge" : amountMinor === 0 && stores ? "token" : "authorization";
  const details = { transactionId: call.maybe("clientReferenceInformation.transactionId"), said: result, type, fingerprint };
  call.take({ id, kind, isApproved: stands, amountMinor, currency: unit, card: number, details, ledger: { status } });
  const part = status === "PARTIAL_AUTHORIZED" ? Math.floor(amountMinor / 2) : amountMinor;
  const token = isYes && stores ? identify(call, number) : undefined;
  const network = tools.digits(15);
  return json(201, {
    id,
    status,
    submitTimeUtc: submitted(call),
    clientReferenceInformation: { code },
    ...(stands && { orderInformation: { amountDetails: { authorizedAmount: majorOf(part, unit), currency: unit } } }),
    paymentInformation: { tokenizedCard: { type }, card: { type } },
    processorInformation: {
      ...(stands && { approvalCode: tools.digits(6), networkTransactionId: network, transactionId: network }),
      responseCode,
      avs: { code: call.has("orderInformation.billTo.postalCode") ? "Z" : "U", codeRaw: "I1" },
      ...(call.has("paymentInformation.card.securityCode") && { cardVerification: { resultCode: isYes ? "M" : "N" } }),
    },
    ...(stands && { reconciliationId: tools.id("", 16).toUpperCase() }),
    ...(reason !== undefined && { errorInformation: { reason, message } }),
    ...(token && { tokenInformation: { instrumentidentifierNew: token.isNew, instrumentIdentifier: { id: token.id, state: "ACTIVE" } } }),
  });
}

/** The same card has the same identifier. */
function identify({ vault, tools }: CyberCall, number: string, how: "keep" | "store" = "keep"): { id: string; isNew: boolean } {
  const kept = vault.find((one) => one.number === number)?.id;
  let id = kept;
  while (id === undefined || passesLuhn(id)) id = `70${tools.digits(13)}${number.slice(-4)}`;
  if (kept === undefined) vault[how](id, { number });
  return { id, isNew: kept === undefined };
}

const shownIdentifier = (id: string, number: string): object => ({
  id,
  object: "instrumentIdentifier",
  state: "ACTIVE",
  card: { number: mask(number, "X", 6) },
});

/** Keeps a number; the issuer is not asked. */
function storeNumber(call: CyberCall): Answer {
  const number = call.text("card.number");
  if (!isCardNumber(number)) throw invalid(call, "INVALID_DATA", "card.number");
  call.decide(ISSUER, number);
  const { id, isNew } = identify(call, number, "store");
  return json(isNew ? 201 : 200, shownIdentifier(id, number));
}

function readIdentifier(call: CyberCall): Answer {
  const { id, number } = call.vault.get(call.param("id")) ?? refuseWith(said(404, "Token not found", "404"));
  if (call.request.method === "GET") return json(200, shownIdentifier(id, number));
  call.vault.remove(id);
  return { status: 204, body: "" };
}

/** Sale: void before settlement, refund after. Authorization: capture or reversal. By the payment's id, or by our transaction identifier. */
const FOLLOWING = {
  captures: { status: "PENDING", amount: "orderInformation.amountDetails", against: "NOT_CAPTURABLE" },
  refunds: { status: "PENDING", amount: "orderInformation.amountDetails", against: "INVALID_DATA" },
  voids: { status: "VOIDED", amount: "", against: "NOT_VOIDABLE" },
  reversals: { status: "REVERSED", amount: "reversalInformation.amountDetails", against: "AUTH_ALREADY_REVERSED" },
} as const;

function follow(call: CyberCall, verb: keyof typeof FOLLOWING): Answer {
  const { transactions, params } = call;
  const ours = call.maybe("clientReferenceInformation.transactionId");
  const one = params["id"] === undefined ? transactions.find(isOf(ours)) : transactions.get(params["id"]);
  if (one === undefined) throw invalid(call, "INVALID_PAYMENT_ID");
  const { status, amount, against } = FOLLOWING[verb];
  const asked = amount === "" ? { unit: one.currency, amountMinor: one.amountMinor } : amountOf(call, amount);
  if (asked.unit !== one.currency) throw invalid(call, "INVALID_DATA", `${amount}.currency`);
  const [id, { amountMinor }, isVoided] = [paymentId(call), asked, one.state === "voided"];
  const isDone = {
    captures: () => transactions.capture(one, amountMinor),
    refunds: () => transactions.refund(one, { id, amountMinor, from: ["captured", "settled"] }) === null,
    voids: () => transactions.void(one, ["captured"]),
    reversals: () => amountMinor === one.amountMinor && transactions.void(one, ["authorized"]),
  }[verb]();
  if (!isDone) throw invalid(call, verb === "refunds" && isVoided ? "CAPTURE_ALREADY_VOIDED" : against);
  const clientReferenceInformation = { code: call.maybe("clientReferenceInformation.code") ?? one.reference };
  return json(201, { id, status, submitTimeUtc: submitted(call), clientReferenceInformation });
}

const isOf =
  (ours: string | undefined) =>
  ({ details }: Payment): boolean =>
    ours !== undefined && details.transactionId === ours;

function shown(one: Payment): object {
  const { rFlag, reasonCode, stands } = one.details.said;
  const outcome = { reasonCode, rCode: stands ? "1" : "0", rFlag };
  const names = one.capturedMinor > 0 ? ["ics_auth", "ics_bill"] : ["ics_auth"];
  const reversed = one.state === "voided" ? [{ name: one.capturedMinor > 0 ? "ics_void" : "ics_auth_reversal", ...YES_FLAGS }] : [];
  return {
    id: one.id,
    submitTimeUtc: isoSeconds(one.at),
    clientReferenceInformation: { code: one.reference },
    applicationInformation: { ...outcome, applications: [...names.map((name) => ({ name, ...outcome })), ...reversed] },
    orderInformation: { amountDetails: { totalAmount: majorOf(one.amountMinor, one.currency), currency: one.currency } },
    paymentInformation: { card: { suffix: one.card.slice(-4), prefix: one.card.slice(0, 6), type: one.details.type } },
  };
}
const YES_FLAGS = { reasonCode: "100", rCode: "1", rFlag: "SOK" };

function lookUp(call: CyberCall): Answer {
  const [found] = call.lookUp(null, ({ id }) => id === call.param("id"));
  return json(200, shown(found ?? refuseWith(said(404, "Transaction not found", "404").unrecorded())));
}

/** Ms of a search's date: ISO 8601, or NOW with rounding and steps. */
function momentOf(words: string, now: number): number {
  const [, unit, steps = ""] = /^NOW(\/DAY|\/HOUR)?((?:[+-][0-9]+(?:DAY|HOUR|MINUTE)S?)*)$/.exec(words) ?? [];
  if (!words.startsWith("NOW")) return Date.parse(words);
  const span = { DAY: 86_400_000, HOUR: 3_600_000, MINUTE: 60_000 };
  const start = unit === undefined ? now : now - (now % span[unit.slice(1) as "DAY"]);
  return [...steps.matchAll(/([+-][0-9]+)(DAY|HOUR|MINUTE)/g)].reduce((at, [, by, each]) => at + Number(by) * span[each as "DAY"], start);
}

/** What a query asks for, term by term; null when it is not written as the vendor's. */
function termOf(term: string, now: number): ((one: Payment) => boolean) | null {
  const [, field, plain, quoted] = /^([\w.]+):(?:([^\s:"[\]{}]+)|"([^"]*)")$/.exec(term) ?? [];
  const value = plain ?? quoted;
  if (field === "clientReferenceInformation.code") return ({ reference }) => reference === value;
  if (field === "id") return ({ id }) => id === value;
  const [, from = "", to = "", end] = /^submitTimeUtc:\[(\S+) TO (\S+)([\]}])$/.exec(term) ?? [];
  const [first, last] = [momentOf(from, now), momentOf(to, now)];
  if (Number.isNaN(first) || Number.isNaN(last)) return null;
  return ({ at }) => at >= first && (end === "]" ? at <= last : at < last);
}

function search(call: CyberCall): Answer {
  const terms = call
    .text("query")
    .split(" AND ")
    .map((term) => termOf(term, call.tools.now()));
  if (terms.includes(null)) throw invalid(call, "INVALID_DATA", "query");
  const code = /clientReferenceInformation\.code:"?([^\s"]+)/.exec(call.text("query"))?.[1] ?? null;
  const found = call.lookUp(code, (one) => terms.every((term) => term?.(one)));
  const offset = call.number("offset");
  const page = found.toReversed().slice(offset, offset + (call.number("limit") || 20));
  return json(201, {
    searchId: call.tools.id("", 32),
    save: false,
    query: call.text("query"),
    offset,
    count: page.length,
    totalCount: found.length,
    submitTimeUtc: submitted(call),
    ...(page.length > 0 && { _embedded: { transactionSummaries: page.map(shown) } }),
  });
}
