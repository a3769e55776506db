import { brandOf, codeLength, currency, CURRENCY_BY_NUMBER, decimalsOf, defineSimulator, header, hmac, isAccepted } from "../kit/index.ts";
import { isCardNumber, isExpired, isSame, issuer, json, matching, minorOf, refused, rule, rules, textOf } from "../kit/index.ts";
import { unixSeconds, uuid } from "../kit/index.ts";
import type { Answer, Call, Card, Endpoint, Incoming, Refusal, Rule, Transaction } from "../kit/index.ts";

/**
 * Fiserv's Payment Gateway API v2 (IPG): signed JSON, an issuer's refusal is status 422, the gateway's own 409. Nothing is replayed:
 * a repeated Client-Request-Id and a used orderId are both refused. One contract in both regions, under two paths.
 */

const BASES = ["/gateway/v2", "/sandbox/ipp/payments-gateway/v2", "/ipp/payments-gateway/v2"];
/** The key and secret of the sheet's worked example. */
const API_KEY = /^EXAMPLEapiKEY0001$/;
const SECRET = "EXAMPLEsecret42";
const NONCE_MS = 5 * 60_000;
const SIGNED = ["api-key", "client-request-id", "timestamp", "message-signature"];

interface Details {
  orderId: string;
  body: Record<string, unknown>;
  /** As the order shows them. */
  returns?: object[];
}

type FiservCall = Call<object, Details>;
type Payment = Transaction<Details>;

/** Code and words of a refusal: the issuer's, or with a leading minus the gateway's. */
type No = readonly [code: string, words: string];
const ISSUER = issuer<No>(`
  card_declined 01|Refer to card issuer, insufficient_funds 51|Insufficient funds, expired_card 54|Expired card
  incorrect_cvc 82|CVV validation failed, processing_error 96|System malfunction, lost_or_stolen 41|Lost card
`);

const NUMBER = matching(/^[0-9]{13,19}$/, '"^[0-9]{13,19}$"');
const MONTH = matching(/^(0[1-9]|1[0-2])$/, '"^(0[1-9]|1[0-2])$"');
const YEAR = matching(/^([0-9]{2})$/, '"^([0-9]{2})$"');
const IP: Rule = matching(/^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$/, "an IP address");
const letters = currency();
const UNIT: Rule = rule((value) => (CURRENCY_BY_NUMBER.has(String(value)) ? null : letters.check(value)));
const TOTAL: Rule = rule((value) =>
  /^(string|number)$/.test(typeof value) && /^[0-9]{1,12}(\.[0-9]{1,3})?$/.test(String(value)) ? null : ["value", "must be an amount"],
);
const CARD = rules`
  number! ${NUMBER}, expiryDate.month! ${MONTH}, expiryDate.year! ${YEAR}, securityCode digits 3-4, cardholderName 96
`;
const ADDRESS = rules`company/address1/address2/city/region 96, postalCode 24, country 32`;
const PERSON = rules`
  name 96, contact.email email 254, contact.phone 32
  address: ${ADDRESS}
`;
const COMMON = rules`requestType! 64, storeId digits 1-20, merchantTransactionId 40`;
const PRIMARY = rules`
  ${COMMON}, transactionOrigin is ECOM|MOTO|MAIL|PHONE|RETAIL
  transactionAmount: total! ${TOTAL}, currency! ${UNIT}
  order: orderId 100, ip ${IP}, softDescriptor.dynamicMerchantName 100
  order.billing: ${PERSON}
  order.shipping: ${PERSON}
  order.additionalDetails: comments 1024, invoiceNumber 48, purchaseOrderNumber 128
  storedCredentials: sequence is FIRST|SUBSEQUENT, scheduled bool, initiator is MERCHANT|CARDHOLDER
  storedCredentials: referencedSchemeTransactionId 50, indicatorSubcategory 64
`;
const CREATE_TOKEN = rules`createToken: value 128, reusable/declineDuplicates bool`;
const BY_CARD = rules`
  ${PRIMARY}, ${CREATE_TOKEN}
  paymentMethod.paymentCard: ${CARD}
`;
const BY_TOKEN = rules`
  ${PRIMARY}
  paymentMethod.paymentToken: value! 128, securityCode digits 3-4, expiryDate.month ${MONTH}, expiryDate.year ${YEAR}
`;
const FOLLOWING = rules`
  ${COMMON}, comments 1024
  transactionAmount: total ${TOTAL}, currency ${UNIT}
`;
const FOLLOWING_WITH_AMOUNT = rules`
  ${FOLLOWING}
  transactionAmount: total! ${TOTAL}, currency! ${UNIT}
`;
const TOKENIZATION = rules`
  ${COMMON}, ${CREATE_TOKEN}, accountVerification bool
  paymentCard: ${CARD}
  billingAddress: ${ADDRESS}
`;
const STORE = rules`storeId digits 1-20`;

const endpointsAt = (base: string): Record<string, Endpoint<object, Details>> => ({
  [`POST ${base}/payments PaymentCardSaleTransaction`]: { rules: BY_CARD, run: pay },
  [`POST ${base}/payments PaymentCardPreAuthTransaction`]: { rules: BY_CARD, run: pay },
  [`POST ${base}/payments PaymentTokenSaleTransaction`]: { rules: BY_TOKEN, run: pay },
  [`POST ${base}/payments PaymentTokenPreAuthTransaction`]: { rules: BY_TOKEN, run: pay },
  [`POST ${base}/payments/:id PostAuthTransaction`]: { rules: FOLLOWING_WITH_AMOUNT, run: follow },
  [`POST ${base}/payments/:id VoidTransaction`]: { rules: FOLLOWING, run: follow },
  [`POST ${base}/payments/:id VoidPreAuthTransactions`]: { rules: FOLLOWING, run: follow },
  [`POST ${base}/payments/:id ReturnTransaction`]: { rules: FOLLOWING_WITH_AMOUNT, run: follow },
  [`GET ${base}/payments/:id`]: { rules: STORE, run: lookUp },
  [`GET ${base}/orders/:order`]: { rules: STORE, run: lookUpOrder },
  [`POST ${base}/payment-tokens PaymentCardPaymentTokenizationRequest`]: { rules: TOKENIZATION, run: tokenize },
  [`GET ${base}/payment-tokens/:value`]: { rules: STORE, run: readToken },
  [`DELETE ${base}/payment-tokens/:value`]: { rules: STORE, run: readToken },
});

export const simulator = defineSimulator<object, Details>({
  body: "json",
  operationOf: (fields) => textOf(fields, "requestType") || undefined,
  authenticate,
  reference: "merchantTransactionId",
  recorded: ["transactionOrigin", "requestType"],
  endpoints: Object.assign({}, ...BASES.map(endpointsAt)) as ReturnType<typeof endpointsAt>,
  refuse: {
    malformed: (request, isOtherType) =>
      isOtherType
        ? refusal(request, 415, "UnsupportedMediaType", "415", "Unsupported media type")
        : refusal(request, 400, "BadRequest", "403", "Request body is not valid JSON"),
    path: (request, isKnown) =>
      isKnown && request.method === "POST"
        ? invalid(request, "requestType", "is unknown")
        : refusal(request, 404, "NotFound", "404", "Resource not found"),
    field: ({ field, words }, request) => invalid(request, field, words),
  },
});

const idsOf = (request: Incoming): object => ({
  clientRequestId: header(request, "client-request-id"),
  apiTraceId: request.tools.id("rrt-", 20),
});

/** Nothing was processed. */
function refusal(request: Incoming, status: number, responseType: string, code: string, message: string, details?: object[]): Refusal {
  return refused(code, status, { ...idsOf(request), responseType, error: { code, message, details } });
}

function invalid(request: Incoming, field: string, message: string): Refusal {
  return refusal(request, 400, "BadRequest", "403", "Request Validation Failed", [{ field, message }]);
}

/** Refused by the gateway's own rules; nothing was taken. */
function gatewayRefusal({ request }: FiservCall, code: string, words: string, more: object = {}): Refusal {
  const result = { transactionStatus: "VALIDATION_FAILED", transactionResult: "FAILED", approvalCode: `N:-${code}:${words}` };
  return refused(code, 409, { ...idsOf(request), responseType: "GatewayDeclined", ...more, ...result, error: { code, message: words } });
}

function missing({ request }: FiservCall): never {
  throw refusal(request, 404, "NotFound", "404", "Transaction not found").unrecorded();
}

/** Key, signature over the very bytes in either of the two encodings, time and nonce. */
function authenticate(request: Incoming): string {
  const [key = "", id = "", time = "", sent = ""] = SIGNED.map((name) => header(request, name));
  const denied = (words: string) => refusal(request, 401, "Unauthenticated", "401", words);
  if (!isAccepted(key, API_KEY)) throw denied("Invalid ApiKey");
  if (uuid.check(id) !== null) throw invalid(request, "header Client-Request-Id", "must be a UUID");
  const now = request.tools.now();
  if (!/^[0-9]{13}$/.test(time) || Math.abs(now - Number(time)) > NONCE_MS) throw denied("Invalid Timestamp");
  const message = Buffer.concat([Buffer.from(key + id + time), request.body]);
  const hex = Buffer.from(hmac("sha256", SECRET, message));
  const signatures = [hmac("sha256", SECRET, message, "base64"), hex.toString("base64"), hex.toString("base64url")];
  if (!signatures.some((signature) => isSame(signature, sent))) throw denied("Invalid Message-Signature");
  const name = `nonce ${key} ${id}`;
  const usedAt = request.shared.get(name);
  if (typeof usedAt === "number" && now - usedAt <= NONCE_MS) throw denied("Client-Request-Id was used before");
  request.shared.set(name, now);
  return key;
}

/** What the form alone has against a card. */
function checkCard(call: FiservCall, card: Card, cvc: string | undefined, field: string): Card {
  if (!isCardNumber(card.number)) throw gatewayRefusal(call, "2303", "Invalid credit card number");
  if (isExpired(Number(card.month), Number(card.year), call.tools.now())) throw gatewayRefusal(call, "2304", "Card is expired");
  if (cvc !== undefined && cvc.length !== codeLength(card.number))
    throw invalid(call.request, `${field}.securityCode`, "has the wrong length");
  return card;
}

function typedCard(call: FiservCall, path: string): Card {
  const [number, month, year] = call.texts(`${path}.number`, `${path}.expiryDate.month`, `${path}.expiryDate.year`);
  return checkCard(call, { number, month, year }, call.maybe(`${path}.securityCode`), path);
}

function cardIn(call: FiservCall): Card {
  if (call.has("paymentMethod.paymentCard.number")) return typedCard(call, "paymentMethod.paymentCard");
  const path = "paymentMethod.paymentToken";
  const kept = call.vault.get(call.text(`${path}.value`));
  if (kept === undefined) throw gatewayRefusal(call, "5433", "The token does not exist.");
  const { number } = kept;
  const card = {
    number,
    month: call.maybe(`${path}.expiryDate.month`) ?? kept.month,
    year: call.maybe(`${path}.expiryDate.year`) ?? kept.year,
  };
  return checkCard(call, card, call.maybe(`${path}.securityCode`), path);
}

const brand = (number: string): string => brandOf(number).replace("diners", "dinersclub").toUpperCase();
const shownCard = ({ number, month, year }: Card): object => ({
  expiryDate: { month, year: `20${year}` },
  bin: number.slice(0, 6),
  last4: number.slice(-4),
  brand: brand(number),
});

/** Letters of the currency, and the amount in its minor units; refused where it has more decimals than the currency. */
function amountOf(call: FiservCall): { unit: string; total: number; amountMinor: number } {
  const [given, total] = [call.text("transactionAmount.currency"), call.text("transactionAmount.total")];
  const unit = CURRENCY_BY_NUMBER.get(given) ?? given;
  const [, decimals = ""] = total.split(".");
  if (/[1-9]/.test(decimals.slice(decimalsOf(unit))) || Number(total) === 0)
    throw invalid(call.request, "transactionAmount.total", "is invalid");
  return { unit, total: Number(total), amountMinor: minorOf(total, unit) };
}

function processorOf(call: FiservCall, no: No | null, address: string, cvc: string | undefined): object {
  const { tools } = call;
  const checked = (name: string) => (call.has(`${address}.${name}`) ? "Y" : "NO_INPUT_DATA");
  const avsResponse = { streetMatch: checked("address1"), postalCodeMatch: checked("postalCode"), associationAvsResponse: "Y" };
  const securityCodeResponse =
    cvc === undefined ? "NOT_PRESENT" : no?.[0] === "82" ? "NOT_MATCHED" : no === null ? "MATCHED" : "NOT_CHECKED";
  const answer = { avsResponse, securityCodeResponse };
  if (no !== null) return { responseCode: no[0], responseMessage: no[1], ...answer };
  const said = { responseCode: "00", associationResponseCode: "000", responseMessage: "Function performed error-free" };
  return { referenceNumber: tools.digits(12), authorizationCode: `OK${tools.digits(4)}`, ...said, ...answer };
}

/** A primary transaction. Its order's id must be new, whatever became of the one that used it. */
function pay(call: FiservCall): Answer {
  const { tools, request, transactions } = call;
  const { unit, total, amountMinor } = amountOf(call);
  const card = cardIn(call);
  const orderId = call.maybe("order.orderId") ?? tools.id("R-", 32);
  if (transactions.find(({ details }) => details.orderId === orderId))
    throw gatewayRefusal(call, "5003", "The order already exists in the database.", { orderId });
  const no = call.decide(ISSUER, card.number);
  const isHeld = call.text("requestType").includes("PreAuth");
  const [ipgTransactionId, reference] = [tools.digits(11), call.maybe("merchantTransactionId")];
  const path = call.has("paymentMethod.paymentCard.number") ? "paymentMethod.paymentCard" : "paymentMethod.paymentToken";
  const processor = processorOf(call, no, "order.billing.address", call.maybe(`${path}.securityCode`));
  const token = no === null && call.has("createToken.reusable") ? keep(call, card) : undefined;
  const amount = { total, currency: unit };
  const status = no === null ? "APPROVED" : "DECLINED";
  const body = {
    ipgTransactionId,
    orderId,
    transactionType: isHeld ? "PREAUTH" : "SALE",
    transactionOrigin: call.maybe("transactionOrigin") ?? "ECOM",
    paymentMethodDetails: {
      [path.slice(14)]: shownCard(card),
      paymentMethodType: path.endsWith("Card") ? "PAYMENT_CARD" : "PAYMENT_TOKEN",
    },
    terminalId: "1588390",
    merchantId: "939650001886",
    merchantTransactionId: reference,
    transactionTime: unixSeconds(tools.now()),
    ...(no === null && { approvedAmount: { ...amount, components: { subtotal: total } } }),
    transactionAmount: amount,
    transactionStatus: status,
    transactionResult: status,
    approvalCode: no === null ? `Y:OK${tools.digits(4)}:${tools.digits(10)}:PPXM:${tools.digits(12)}` : `N:${no[0]}:${no[1]}`,
    transactionState: no !== null ? "DECLINED" : isHeld ? "AUTHORIZED" : "CAPTURED",
    schemeTransactionId: no === null ? tools.digits(15) : undefined,
    processor,
    ...(token !== undefined && { paymentToken: token }),
  };
  const kind = isHeld ? "authorization" : "charge";
  call.take({ id: ipgTransactionId, kind, no, amountMinor, currency: unit, card: card.number, details: { orderId, body } });
  if (no === null) return json(200, { ...idsOf(request), ...body });
  return json(422, { ...idsOf(request), responseType: "EndpointDeclined", ...body, error: { code: no[0], message: no[1] } });
}

function keep(call: FiservCall, card: Card): object {
  const value = call.maybe("createToken.value") ?? call.tools.id("", 24);
  call.vault.keep(value, card, call.maybe("merchantTransactionId"));
  return { value, reusable: true, declineDuplicates: false, last4: card.number.slice(-4), brand: brand(card.number), type: "PAYMENT_CARD" };
}

/** Stores a card; the issuer is asked only for `accountVerification`. */
function tokenize(call: FiservCall): Answer {
  const { tools, request } = call;
  const card = typedCard(call, "paymentCard");
  if (!call.fields.keys().some((name) => name.startsWith("createToken"))) throw invalid(request, "createToken", "is required");
  const isVerified = call.text("accountVerification") === "true";
  const said = call.decide(ISSUER, card.number);
  const no = isVerified ? said : null;
  const [ipgTransactionId, orderId] = [tools.digits(12), tools.id("R-", 32)];
  const processor = isVerified ? processorOf(call, no, "billingAddress", call.maybe("paymentCard.securityCode")) : undefined;
  const shared = { requestTime: tools.now(), brand: brand(card.number), country: "USA", paymentCard: shownCard(card), processor };
  const body = { ...shared, orderId, ipgTransactionId };
  const paymentToken = no === null ? { ...keep(call, card), accountVerification: isVerified } : undefined;
  const ledger = { accountVerification: isVerified };
  call.take({ id: ipgTransactionId, kind: "token", no, card: card.number, details: { orderId, body }, ledger });
  if (no === null) return json(200, { ...idsOf(request), requestStatus: "SUCCESS", ...body, paymentToken });
  const error = { code: no[0], message: no[1] };
  return json(422, { ...idsOf(request), responseType: "EndpointDeclined", requestStatus: "DECLINED", ...body, error });
}

function readToken(call: FiservCall): Answer {
  const value = call.param("value");
  const card = call.vault.get(value) ?? missing(call);
  if (call.request.method === "DELETE") call.vault.remove(value);
  const paymentToken = { value, reusable: true, last4: card.number.slice(-4), brand: brand(card.number) };
  return json(200, { ...idsOf(call.request), requestStatus: "SUCCESS", paymentToken, paymentCard: shownCard(card) });
}

/** As look-ups show it: the older of the two results is in the first answer alone. */
const shownNow = ({ details }: Payment): object => ({ ...details.body, transactionStatus: undefined });
const isPayment = ({ details }: Payment): boolean => "transactionType" in details.body;

/** By the gateway's id or the merchant's; of several with one id the newest. */
function lookUp(call: FiservCall): Answer {
  const id = call.param("id");
  const [found] = call.lookUp(id, (one) => isPayment(one) && (one.id === id || one.reference === id));
  return json(200, { ...idsOf(call.request), ...shownNow(found ?? missing(call)) });
}

function lookUpOrder(call: FiservCall): Answer {
  const orderId = call.param("order");
  const found = call.lookUp(orderId, (one) => isPayment(one) && one.details.orderId === orderId);
  if (found.length === 0) missing(call);
  const transactions = found.flatMap((one) => [shownNow(one), ...(one.details.returns ?? [])]);
  return json(200, { ...idsOf(call.request), orderId, transactions });
}

/** Capture of a hold, void before the batch closes, return after: what each does to what, and how it is shown. */
const FOLLOWS = {
  PostAuthTransaction: ["capture", ["authorized"], "POSTAUTH", "CAPTURED"],
  VoidTransaction: ["void", ["captured"], "VOID", "VOIDED"],
  VoidPreAuthTransactions: ["void", ["authorized"], "VOID", "VOIDED"],
  ReturnTransaction: ["refund", ["captured", "settled"], "RETURN", "CAPTURED"],
} as const;

function follow(call: FiservCall): Answer {
  const { transactions, tools } = call;
  const given = call.param("id");
  const one = transactions.get(given) ?? transactions.find(({ reference }) => reference === given) ?? missing(call);
  if (!isPayment(one)) missing(call);
  const type = call.text("requestType");
  const [kind, from, transactionType, state] = FOLLOWS[type as keyof typeof FOLLOWS];
  const [id, asked] = [tools.digits(11), call.has("transactionAmount.total") ? amountOf(call) : null];
  if (asked !== null && asked.unit !== one.currency) throw gatewayRefusal(call, "10503", "The currency differs from the order's.");
  if (transactions.change(kind, one, { id, from, amountMinor: asked?.amountMinor }) !== null)
    throw gatewayRefusal(call, "5008", `${type} is not possible for this order.`, { orderId: one.details.orderId });
  if (kind !== "refund") one.details.body["transactionState"] = state;
  const transactionAmount = asked === null ? one.details.body["transactionAmount"] : { total: asked.total, currency: one.currency };
  const changes = { ipgTransactionId: id, transactionType, transactionState: state, transactionAmount, approvedAmount: transactionAmount };
  const body = { ...one.details.body, ...changes };
  if (kind === "refund") (one.details.returns ??= []).push(body);
  return json(200, { ...idsOf(call.request), ...body });
}
