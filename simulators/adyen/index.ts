import { brandOf, codeLength, country2, defineSimulator, header, ipv4, isAccepted, isCardNumber, isExpired, issuer } from "../kit/index.ts";
import { json, matching, plain, Refusal, refuseWith, rule, rules, table, text } from "../kit/index.ts";
import type { Answer, Call, Endpoint, Fields, Incoming, Kept, Transaction } from "../kit/index.ts";

/**
 * Adyen's Checkout API: JSON under X-API-Key, a refusal by the issuer is status 200, unknown members are refused at every level.
 * What follows a payment (capture, cancel, reversal) is only received: its result would come by webhook. A wrong field for which
 * the sheet names no code is error 702.
 */

const VERSIONS = ["v71", "v72"];
/** Keys with these in them: the merchant sees no additional data; he may not send raw cards; UnionPay is not switched on for him. */
const [QUIET, NO_CARDS, NO_UNIONPAY] = [/quiet/i, /nocards/i, /nounionpay/i];
const KEPT_MS = 7 * 24 * 3_600_000;
const MESSAGES = table(
  "101 Invalid card number, 103 CVC is not the right length, 104 Billing address problem, " +
    "102 Unable to determine variant, 129 Expiry date invalid, 130 Reference missing or too long, " +
    "140 Expiry month or year missing, 167 Original pspReference required for this operation, 177 Metadata size exceeds limit, " +
    "14_030 Return URL is missing.",
);
/** The refusal's reason by its code. */
const REASONS = table(
  "0 Unknown,2 Refused,3 Referral,4 Acquirer Error,5 Blocked Card,6 Expired Card,7 Invalid Amount,8 Invalid Card Number,9 Issuer Unavailable,10 Not supported,11 3D Not Authenticated,12 Not enough balance,14 Acquirer Fraud,15 Cancelled,16 Shopper Cancelled,17 Invalid Pin,18 Pin tries exceeded,20 FRAUD,22 FRAUD-CANCELLED,23 Transaction Not Permitted,24 CVC Declined,25 Restricted Card,26 Revocation of Auth,27 Declined Non Generic,28 Withdrawal amount exceeded,29 Withdrawal count exceeded,31 Issuer Suspected Fraud,32 AVS Declined,38 Authentication required,42 3DS error",
);
/** What a holder's name orders in the test environment. */
const ORDERED = table(
  "APPROVED 1,DECLINED 2,REFERRAL 3,ERROR 4,BLOCK_CARD 5,CARD_EXPIRED 6,INVALID_AMOUNT 7,INVALID_CARD 8,ISSUER_UNAVAILABLE 9,NOT_SUPPORTED 10,NOT_3D_AUTHENTICATED 11,NOT_ENOUGH_BALANCE 12,ACQUIRER_FRAUD 14,INVALID_PIN 17,PIN_TRIES_EXCEEDED 18,TRANSACTION_NOT_PERMITTED 23,CVC_DECLINED 24,RESTRICTED_CARD 25,REVOCATION_OF_AUTH 26,DECLINED_NON_GENERIC 27,WITHDRAWAL_AMOUNT_EXCEEDED 28,WITHDRAWAL_COUNT_EXCEEDED 29,ISSUER_SUSPECTED_FRAUD 31,AVS_DECLINED 32,UNKNOWN 0",
);
/** Result codes other than Refused. */
const RESULTS = table("4 Error, 9 Error, 15 Cancelled, 16 Cancelled");
const brandIn = (number: string): string => BRANDS.get(brandOf(number)) ?? brandOf(number);
const BRANDS = table("mastercard mc, unionpay cup");

/** Reason code and the issuer's own words. */
type No = readonly [code: string, raw: string];
const ISSUER = issuer<No>(`
  card_declined 2|DECLINED, insufficient_funds 12|51 : Insufficient funds, expired_card 6|54 : Expired card
  incorrect_cvc 24|N7 : CVV2 failure, processing_error 4|96 : System malfunction, lost_or_stolen 5|41 : Lost card
`);

interface Card {
  number: string;
  expiryMonth: string;
  expiryYear: string;
  holderName: string | undefined;
}
/** A card of one shopper at one merchant account. */
type Owned = Card & { merchantAccount: string; shopperReference: string };
type Stored = Kept<Owned>;
type Details = { pspReference: string };
type AdyenCall = Call<object, Details, Owned>;

const isByToken = (fields: Fields): boolean => fields.has("paymentMethod.storedPaymentMethodId");
const isTyped = (fields: Fields): boolean => !isByToken(fields);
const isStored = (fields: Fields): boolean => fields.get("storePaymentMethod") === true || isByToken(fields);
const isAmerican = (fields: Fields): boolean => ["US", "CA"].includes(String(fields.get("billingAddress.country")));
const ACCOUNT = matching(/^(?!.*wrong)[\w-]{1,80}$/i, "a merchant account");
const SHOPPER = text(256, 3);
const COUNTRY = rule((value) => (value === "ZZ" ? null : country2.check(value)));
const IP = rule((value) => (typeof value === "string" && value.includes(":") && value.length <= 50 ? null : ipv4.check(value)));
const MERCHANT = rules`merchantAccount! ${ACCOUNT} @901`;
const HIS = rules`${MERCHANT}, shopperReference! ${SHOPPER}`;
const AMOUNT = rules`amount: value! whole 0-1000000000000, currency! currency`;
const CARD = rules`
  type! is scheme, number=${isTyped} digits 12-19 @101, expiryMonth!${isTyped} month @129, expiryYear!${isTyped} year4 @129, cvc digits 3-4 @103
  holderName 15000, brand 32
`;
const MODEL = "is CardOnFile|Subscription|UnscheduledCardOnFile";
const PAYMENT = rules`
  ${MERCHANT}, ${AMOUNT}, reference! 80 @130, returnUrl! 1024 @14_030, shopperInteraction is Ecommerce|ContAuth|Moto|POS
  paymentMethod: ${CARD}, storedPaymentMethodId 64
  captureDelayHours whole 0-672, metadata.* 0-80 @177, channel is iOS|Android|Web, merchantOrderReference 1000
  additionalData: manualCapture is true|false, RequestedTestAcquirerResponseCode digits 1-2
  shopperIP ${IP}, shopperEmail email 256, shopperStatement [A-Za-z0-9\x20.\x2c'_?+*/-] 1-22
  billingAddress?: city/houseNumberOrName/street! 3000 @104, postalCode! 10 @104, country! ${COUNTRY} @104
  billingAddress: stateOrProvince!${isAmerican} 3 @104
  shopperName?: firstName/lastName! 80
  authenticationData.attemptAuthentication is always|never, storePaymentMethod~${isByToken} bool
  shopperReference!${isStored} ${SHOPPER}, recurringProcessingModel!${isByToken} ${MODEL}
`;
const FOLLOWING = rules`${MERCHANT}, reference 80 @130`;
const STORED = rules`
  ${HIS}, recurringProcessingModel! ${MODEL}
  paymentMethod: ${CARD}
`;

const ENDPOINTS: Readonly<Record<string, Endpoint<object, Details, Owned>>> = {
  "POST /payments": { rules: PAYMENT, run: pay },
  "POST /payments/:psp/captures": { rules: rules`${FOLLOWING}, ${AMOUNT}`, run: (call) => follow(call, capture) },
  "POST /payments/:psp/reversals": { rules: FOLLOWING, run: (call) => follow(call, reverse) },
  "POST /cancels": { rules: rules`${FOLLOWING}, paymentReference! 80`, run: cancel },
  "GET /storedPaymentMethods": { rules: HIS, run: list },
  "POST /storedPaymentMethods": { rules: STORED, run: storeUnchecked },
  "DELETE /storedPaymentMethods/:id": { rules: HIS, run: remove },
};

export const simulator = defineSimulator<object, Details, Owned>({
  body: "json",
  authenticate(request) {
    const key = header(request, "x-api-key");
    if (!isAccepted(key, /^AQ[A-Za-z0-9+/=.-]+$/)) throw refusal(401, "000", "HTTP Status Response - Unauthorized", "security");
    return key;
  },
  idempotency: { keyOf, mismatch: () => inProgress(), running: () => inProgress(), windowMs: KEPT_MS },
  reference: "reference",
  recorded: ["shopperInteraction", "merchantAccount", "shopperReference"],
  endpoints: Object.fromEntries(
    VERSIONS.flatMap((version) => Object.entries(ENDPOINTS).map(([name, endpoint]) => [name.replace("/", `/${version}/`), endpoint])),
  ),
  refuse: {
    malformed: () => refusal(400, "702", "The request body is not valid JSON"),
    path: (_request, isKnown) => refusal(isKnown ? 405 : 404, "000", "HTTP Status Response - Not Found"),
    field({ kind, field, words, code }) {
      if (kind === "unknown") return unknownField(field);
      if (code === "901") return refusal(403, "901", "Invalid Merchant Account", "security");
      const said = kind === "missing" && code === "129" ? "140" : code;
      return said === undefined ? refusal(422, "702", `Field '${field}' ${words}`) : invalid(said);
    },
  },
  responseHeaders(request) {
    const key = header(request, "idempotency-key");
    return key === "" ? {} : { "idempotency-key": key };
  },
});

function refusal(status: number, errorCode: string, message: string, errorType = "validation", headers = {}): Refusal {
  return new Refusal(json(status, { status, errorCode, message, errorType }, headers), errorCode);
}

const invalid = (code: string): Refusal => refusal(422, code, MESSAGES.get(code) ?? "Invalid request");
const inProgress = (): Refusal =>
  refusal(422, "704", "request already processed or in progress", "validation", { "transient-error": "true" });

function unknownField(field: string): Refusal {
  const [, parent = "", name = field] = /^(?:(.*)\.)?([^.]+)$/.exec(field) ?? [];
  const structure = parent === "" ? "PaymentRequest" : parent === "paymentMethod" ? "CardDetails" : parent;
  return refusal(400, "702", `Structure of ${structure} contains the following unknown fields: [${name}]`);
}

function keyOf(request: Incoming): string {
  const key = header(request, "idempotency-key");
  if (key.length > 64) throw refusal(400, "702", "Idempotency-Key has more than 64 characters");
  return request.method === "POST" ? key : "";
}

/** 16 capitals and digits; never a run of digits that could be a card number. */
const newId = ({ tools }: AdyenCall): string => tools.id("", 12).toUpperCase() + tools.digits(4);

/** The card as typed, once its form is right. */
function typedCard(call: AdyenCall): Card {
  const { number = "", expiryMonth = "", expiryYear = "", cvc = "" } = call.under("paymentMethod.");
  if (NO_CARDS.test(call.accountName)) throw refusal(403, "010", "Not allowed", "security");
  if (!isCardNumber(number)) throw invalid("101");
  if (brandOf(number) === "unknown") throw invalid("102");
  if (NO_UNIONPAY.test(call.accountName) && brandOf(number) === "unionpay")
    throw refusal(500, "905", "Payment details are not supported", "configuration");
  if (cvc !== "" && cvc.length !== codeLength(number)) throw invalid("103");
  return { number, expiryMonth, expiryYear, holderName: call.maybe("paymentMethod.holderName") };
}

/** Whether a card is kept for the shopper and the merchant account of the request. */
const isHis = (call: AdyenCall) => (one: Stored | undefined) =>
  one?.merchantAccount === call.text("merchantAccount") && one.shopperReference === call.text("shopperReference");

/** The card kept under that id for this shopper of this merchant account. */
function storedCard(call: AdyenCall, id: string): Stored {
  const stored = call.vault.get(id);
  return stored && isHis(call)(stored) ? stored : refuseWith(refusal(422, "702", "No such stored payment method for this shopper"));
}

/** Keeps a card for the shopper: the same number again is the same one. */
function store(call: AdyenCall, card: Card, how: "keep" | "store" = "keep"): { stored: Stored; operationType: string } {
  const same = call.vault.find((one) => one.number === card.number && isHis(call)(one));
  const isUnchanged = same?.expiryMonth === card.expiryMonth && same.expiryYear === card.expiryYear;
  const [merchantAccount, shopperReference] = call.texts("merchantAccount", "shopperReference");
  const reference = call.maybe("reference") ?? shopperReference;
  const stored = call.vault[how](same?.id ?? newId(call), { merchantAccount, shopperReference, ...card }, reference);
  return { stored, operationType: same === undefined ? "created" : isUnchanged ? "alreadyExisting" : "updated" };
}

/** What the issuer says: what the request orders, else what the card stands for. */
function decide(call: AdyenCall, { number, expiryMonth, expiryYear }: Card): No | null {
  const no = call.decide(ISSUER, number);
  const holder = call.text("paymentMethod.holderName");
  const ordered = call.maybe("additionalData.RequestedTestAcquirerResponseCode") ?? ORDERED.get(holder);
  if (ordered !== undefined) return ordered === "1" ? null : [ordered, `${ordered} : ${REASONS.get(ordered) ?? "Unknown"}`];
  return no ?? (isExpired(Number(expiryMonth), Number(expiryYear), call.tools.now()) ? ISSUER("expired_card") : null);
}

function avsOf(call: AdyenCall): string {
  const [street, number] = [call.text("billingAddress.street"), call.text("billingAddress.houseNumberOrName")];
  if (street === "") return "5 No AVS data provided";
  if (street === "Test AVS result") return `${number} Ordered AVS result`;
  return street === "N/A" ? "6 Postal code matches, but the address does not match" : "7 Both postal code and address match";
}

function cvcOf(call: AdyenCall, no: No | null): string {
  if (!call.has("paymentMethod.cvc")) return "6 No CVC/CVV provided";
  return no === null ? "1 Matches" : no[0] === "24" ? "2 Doesn't match" : "0 Unknown";
}

function pay(call: AdyenCall): Answer {
  const metadata = Object.keys(call.under("metadata."));
  if (metadata.length > 20 || metadata.some((name) => name.length > 20)) throw invalid("177");
  if (isAmerican(call.fields) && call.text("billingAddress.country") === "US" && call.text("billingAddress.postalCode").length > 5)
    throw invalid("104");
  const [value, isStoring, pspReference] = [call.number("amount.value"), call.text("storePaymentMethod") === "true", newId(call)];
  const token = call.maybe("paymentMethod.storedPaymentMethodId");
  const card = token === undefined ? typedCard(call) : storedCard(call, token);
  const no = decide(call, card);
  const kept = isStoring && no === null ? store(call, card) : null;
  const isCaptured = call.text("captureDelayHours") === "0" && call.text("additionalData.manualCapture") !== "true";
  const kind = value === 0 ? (isStoring ? "token" : "authorization") : isCaptured ? "charge" : "authorization";
  const id = kind === "token" && kept !== null ? kept.stored.id : pspReference;
  const currency = call.text("amount.currency");
  call.take({ id, kind, no, amountMinor: value, currency, card: card.number, details: { pspReference } });
  const additionalData = {
    cvcResult: cvcOf(call, no),
    avsResult: avsOf(call),
    refusalReasonRaw: no?.[1] ?? "AUTHORISED",
    cardSummary: card.number.slice(-4),
    paymentMethod: brandIn(card.number),
    ...(no === null && { authCode: call.tools.digits(6) }),
    ...(kept && tokenData(call, kept)),
  };
  return json(200, {
    ...(!QUIET.test(call.accountName) && { additionalData }),
    ...(no !== null && {
      fraudResult: { accountScore: 0, results: [] },
      refusalReason: REASONS.get(no[0]) ?? "Unknown",
      refusalReasonCode: no[0],
    }),
    pspReference,
    resultCode: no === null ? "Authorised" : (RESULTS.get(no[0]) ?? "Refused"),
    merchantReference: call.text("reference"),
  });
}

/** Version 71 has the token under its older name. */
function tokenData(call: AdyenCall, { stored, operationType }: ReturnType<typeof store>): object {
  return call.request.path.startsWith("/v71/")
    ? { "recurring.recurringDetailReference": stored.id, "recurring.shopperReference": stored.shopperReference }
    : {
        "tokenization.storedPaymentMethodId": stored.id,
        "tokenization.shopperReference": stored.shopperReference,
        "tokenization.store.operationType": operationType,
      };
}

const shown = ({ id, number, merchantAccount: _account, reference: _reference, at: _at, ...stored }: Stored): object => ({
  id,
  lastFour: number.slice(-4),
  type: "scheme",
  brand: brandIn(number),
  ...stored,
});

/** A capture or reversal is received, whatever becomes of it. */
function follow(call: AdyenCall, act: typeof reverse): Answer {
  const paymentPspReference = call.param("psp");
  const one = call.transactions.find(({ details }) => details.pspReference === paymentPspReference);
  if (one === undefined) throw invalid("167");
  const id = newId(call);
  act(call, one, id);
  return received(call, id, { paymentPspReference });
}

const capture = (call: AdyenCall, one: Transaction<Details>): boolean => call.transactions.capture(one, call.number("amount.value"));

function received(call: AdyenCall, pspReference: string, more: object): Answer {
  const [merchantAccount, reference] = [call.text("merchantAccount"), call.maybe("reference")];
  return json(201, { merchantAccount, ...more, pspReference, reference, status: "received" });
}

/** Cancels what is merely authorized, else gives the money back. */
function reverse({ transactions }: AdyenCall, one: Transaction<Details>, id: string): void {
  if (!transactions.void(one, ["authorized"])) transactions.refund(one, { id, from: ["captured", "settled"] });
}

/** By the merchant's own reference; what is captured stays so. */
function cancel(call: AdyenCall): Answer {
  const paymentReference = call.text("paymentReference");
  const one = call.transactions.find(({ reference, state }) => reference === paymentReference && state === "authorized");
  if (one !== undefined) call.transactions.void(one, ["authorized"]);
  return received(call, newId(call), { paymentReference });
}

function list(call: AdyenCall): Answer {
  const [merchantAccount, shopperReference] = [call.text("merchantAccount"), call.text("shopperReference")];
  return json(200, { merchantAccount, shopperReference, storedPaymentMethods: call.lookUpCards(shopperReference, isHis(call)).map(shown) });
}

function storeUnchecked(call: AdyenCall): Answer {
  const card = typedCard(call);
  call.decide(ISSUER, card.number);
  return json(201, shown(store(call, card, "store").stored));
}

function remove(call: AdyenCall): Answer {
  call.vault.remove(storedCard(call, call.param("id")).id);
  return plain(204, "");
}
