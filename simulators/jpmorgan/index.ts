import { createPublicKey, createVerify } from "node:crypto";
import { basicUser, bearer, brandOf, defineSimulator, header, isAccepted, issuer, json, mask, matching, oneOf } from "../kit/index.ts";
import { READERS, refused, refuseWith, rules, table, textOf, uuid } from "../kit/index.ts";
import type { Answer, Call, Fields, Refusal, Transaction } from "../kit/index.ts";

/**
 * J.P. Morgan Online Payments API v2: JSON under OAuth access tokens that a signed assertion asks for. Approvals and declines
 * are both 200; a request is found again by its own request-id, and nothing is ever replayed.
 */

const TOKEN_URL = "https://idag2.jpmorganchase.com/adfs/oauth2/token";
const TOKEN_SECONDS = 3_600;
/** The public half of the one client's key. */
const CLIENT_KEY = createPublicKey(`-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuPp6akDgyA9MkbiJwmxw
HR6RIsw1okLJ+AYWHCD1B0HQMnGPF0WMNTdXsMD4u5Wgw8JZeSnFdxNQI/WJnKfT
tCDl5dteH/OiZGoW2Jr2c/r3x7MdKmC9RJ7u0RrKJDCYllvYlpD+BhDr7CJ4hHIY
9TNj4My4bAWIWZ/cn9AGXXcUHnezY+UBxfuNchFKEiwfX+OMMDDfXp58ZV9CPF2s
2bxyoV2UgQ02kQBQvffvJHN+hg2+pPvPZEh1WbKLDB7sqSC2lQjdjn868tEczPJU
Wik0wjgXIVlczcXetyRnj9IjBAurxstZzgiwDTslkJ6fbD2krGYh2QP+vNMWiLmr
rwIDAQAB
-----END PUBLIC KEY-----
`);
const THUMBPRINT = "0A1B2C3D4E5F60718293A4B5C6D7E8F901234567";

interface Details {
  requestId: string;
  resource: "payments" | "verifications";
  body: Record<string, unknown>;
}

type State = { requestIds: Set<string>; assertions: Set<string> };
/** Consumer profiles: the card's number and the id of its payment method. */
type Profile = { number: string; methodId: string };
type JpmCall = Call<State, Details, Profile>;

/** Response code, message and the network's own code of a decline; by cards, and by amounts in minor units. */
type No = readonly [code: string, message: string, network: string, cvv?: string];
const ISSUER = issuer<No>(`
  card_declined DECLINED|Declined|05, insufficient_funds INSUFFICIENT_FUNDS|Insufficient funds|51, expired_card EXPIRED_CARD|Expired card|54
  incorrect_cvc DECLINED|Declined|N7|NO_MATCH, lost_or_stolen DECLINED|Pick up card|41
  processing_error ISSUER_UNAVAILABLE|Issuer unavailable|91
  52100 INSUFFICIENT_FUNDS|Insufficient funds|51, 53000 DO_NOT_HONOR|Do not honor|05
`);

const POSTAL_CODE = matching(
  /^(?=.{3,12}$)[A-Za-z0-9]+[- ]?[A-Za-z0-9]+$/,
  "3 to 12 letters and digits with one hyphen or blank at the most",
);
const MERCHANT = rules`
  merchant.merchantSoftware: companyName/productName! 100, version 32
  merchant.softMerchant: merchantPurchaseDescription 100
`;
const CARD = rules`
  card: accountNumber digits 8-19, expiry.month whole 1-12, expiry.year whole 2000-2099, cvv digits 3-4, isBillPayment bool
  card: accountNumberType is PAN|NETWORK_TOKEN|DEVICE_TOKEN|SAFETECH_TOKEN|SAFETECH_PAGE_ENCRYPTION
`;
const HOLDER = rules`
  accountHolder: fullName /.{4,70}/, firstName/lastName 70, email 254, referenceId 25, ipAddress 45
  accountHolder.phone: countryCode whole 1-999, phoneNumber 20
  accountHolder.billingAddress: line1/line2/city 40, state 3, postalCode ${POSTAL_CODE}, countryCode country3
  accountHolder.consumerProfileInfo: consumerProfileRequestType is CREATE
`;
const INITIATION = rules`currency! currency, initiatorType is CARDHOLDER|MERCHANT, accountOnFile is NOT_STORED|TO_BE_STORED|STORED`;
const PAYMENT = rules`
  ${MERCHANT}, ${INITIATION}, ${HOLDER}, captureMethod is NOW|DELAYED|MANUAL, amount! whole 1-999999999999, isAmountFinal bool
  paymentMethodType: ${CARD}, consumerProfile.consumerProfileId/consumerProfile.paymentMethodId 64
  paymentMethodType.card: merchantSalesChannelName is MAIL_ORDER_TELEPHONE_ORDER|INTERNET|INTERACTIVE_VOICE_RESPONSE
  merchantOrderNumber [A-Za-z0-9] 1-22, partialAuthorizationSupport is SUPPORTED|NOT_SUPPORTED
  statementDescriptor /.{3}\*.{1,18}|.{7}\*.{1,14}|.{12}\*.{1,9}/
`;
const VERIFICATION = rules`
  ${MERCHANT}, ${INITIATION}, ${HOLDER}
  paymentMethodType: ${CARD}
`;
const REFUND = rules`
  ${MERCHANT}, amount! whole 1-, currency! currency, paymentMethodType.transactionReference.transactionReferenceId! 64
`;
const FIND = rules`requestIdentifier! 64`;
const ASSERTION = rules`
  grant_type! is client_credentials, client_id! 100, client_assertion! 4096
  resource! /JPMC:URI:RS-\d+-\d+-HelixAPIEntitlements(CAT-)?(-?PROD)?/
  client_assertion_type! is urn:ietf:params:oauth:client-assertion-type:jwt-bearer
`;
const GRANT = rules`grant_type! is client_credentials, scope! is jpm:payments:sandbox`;

export const simulator = defineSimulator<State, Details, Profile>({
  body: "json",
  state: () => ({ requestIds: new Set(), assertions: new Set() }),
  authenticate({ tokens, tools, headers }) {
    const account = tokens.accountOf(bearer({ headers }), tools.now());
    if (account === null) throw refusal(401, "UNAUTHORIZED", "Invalid access token");
    if (!isAccepted(header({ headers }, "merchant-id"), /^[0-9]{8,12}$/)) throw refusal(403, "UNAUTHORIZED", "Invalid merchant-id");
    if (uuid.check(header({ headers }, "request-id")) !== null) throw invalid("request-id");
    return account;
  },
  reference: "merchantOrderNumber",
  endpoints: {
    "POST /adfs/oauth2/token": { body: "form", rules: ASSERTION, authenticate: () => "clients", run: assertedToken },
    "POST /am/oauth2/alpha/access_token": { body: "form", rules: GRANT, authenticate: () => "clients", run: mockToken },
    "POST /api/v2/payments": { rules: PAYMENT, run: pay },
    "GET /api/v2/payments": { rules: FIND, run: (call) => find(call, "payments") },
    "GET /api/v2/payments/:id": { run: (call) => json(200, existing(call, call.param("id")).details.body) },
    "POST /api/v2/payments/:id/captures": { rules: rules`captureMethod is NOW, amount whole 1-`, run: capture },
    "PATCH /api/v2/payments/:id": { rules: rules`isVoid! ${oneOf(true)}`, run: voidHeld },
    "POST /api/v2/verifications": { rules: VERIFICATION, run: verify },
    "GET /api/v2/verifications": { rules: FIND, run: (call) => find(call, "verifications") },
    "POST /api/v2/refunds": { rules: REFUND, run: refund },
  },
  refuse: {
    malformed: () => refusal(400, "VALIDATION_ERROR", "Malformed request"),
    path: (_request, isKnown) => refusal(isKnown ? 405 : 404, "NOT_FOUND", "Not found"),
    field: ({ field }, { path }) =>
      path.endsWith("token") ? denied(400, "invalid_request", `MSIS9600: ${field}`) : invalid(field.replace(/^header /, "")),
  },
});

const refusal = (status: number, responseCode: string, responseMessage: string, more: object = {}): Refusal =>
  refused(responseCode, status, { responseStatus: "ERROR", responseCode, responseMessage, ...more });

/** A field at fault, by its path. */
const invalid = (entity: string): Refusal =>
  refusal(400, "VALIDATION_ERROR", "Input validation error", { validationErrors: [{ code: "INVALID", message: "Invalid value", entity }] });

/** What the token endpoint says, in OAuth's form (RFC 6749 section 5.2). */
const denied = (status: number, error: string, error_description: string): Refusal => refused(error, status, { error, error_description });

/** A JWT that the uploaded certificate's key has signed, for this client, this audience and now; each once. */
function assertedToken(call: JpmCall): Answer {
  const client = call.text("client_id");
  const [head = "", claims = "", signature = ""] = call.text("client_assertion").split(".");
  const wrong = (words: string) => denied(400, "invalid_grant", `MSIS9622: ${words}`);
  const [header_, told] = [partOf(head), partOf(claims)];
  if (header_?.get("alg") !== "RS256" || header_.get("typ") !== "JWT" || header_.get("kid") !== THUMBPRINT) throw wrong("kid or algorithm");
  if (!createVerify("sha256").update(`${head}.${claims}`).verify(CLIENT_KEY, signature, "base64url")) throw wrong("signature");
  if (told?.get("iss") !== client || told.get("sub") !== client || told.get("aud") !== TOKEN_URL)
    throw wrong("issuer, subject or audience");
  const now = call.tools.now() / 1000;
  if (!(Number(told.get("exp")) > now && Number(told.get("iat")) <= now + 300)) throw wrong("expired");
  const id = textOf(told, "jti");
  if (uuid.check(id) !== null || call.state.assertions.has(id)) throw wrong("jti");
  call.state.assertions.add(id);
  if (!isAccepted(client)) throw denied(401, "invalid_client", "unknown client");
  return issued(call, client);
}

function mockToken(call: JpmCall): Answer {
  return issued(call, basicUser(call.request) ?? refuseWith(denied(401, "invalid_client", "unknown client")));
}

function issued(call: JpmCall, client: string): Answer {
  const token = call.tools.id("ey", 40);
  call.request.tokens.issue(token, client, TOKEN_SECONDS, call.tools.now());
  return json(200, { access_token: token, token_type: "bearer", expires_in: TOKEN_SECONDS });
}

const partOf = (part: string): Fields | null => READERS.json.read(Buffer.from(part, "base64url"));

/** The card that is sent, or the stored one that is named. */
function cardIn(call: JpmCall): string {
  const path = "paymentMethodType.card";
  const profileId = call.maybe("paymentMethodType.consumerProfile.consumerProfileId");
  if (profileId !== undefined) {
    const profile = call.vault.get(profileId);
    if (profile?.methodId !== call.text("paymentMethodType.consumerProfile.paymentMethodId"))
      throw invalid("paymentMethodType.consumerProfile");
    return profile.number;
  }
  const [month, year] = [`${path}.expiry.month`, `${path}.expiry.year`];
  const entities = { number: `${path}.accountNumber`, expiry: `${path}.expiry`, code: `${path}.cvv` };
  const { number } = call.card({ number: entities.number, month, year, code: entities.code }, (fault) => invalid(entities[fault]));
  if (!call.has(month) || !call.has(year)) throw invalid(entities.expiry);
  return number;
}

/** Every request's id is its own: the key that a lost one is found by. */
function takeRequestId(call: JpmCall): string {
  const id = header(call.request, "request-id").toLowerCase();
  if (call.state.requestIds.has(id)) throw refusal(409, "DUPLICATE", "Duplicate transaction");
  call.state.requestIds.add(id);
  return id;
}

const BRANDS = table("amex AMERICAN_EXPRESS, diners DINERS_CLUB, unionpay CHINA_UNION_PAY");

function answered(call: JpmCall, number: string, no: No | null, requestId: string) {
  const hasCode = call.has("paymentMethodType.card.cvv");
  const brand = brandOf(number);
  return {
    transactionId: call.tools.id("", 8) + "-5e7d-4d1c-9d0e-7f1d5d0f8b33",
    requestId,
    responseStatus: no === null ? "SUCCESS" : "DENIED",
    responseCode: no?.[0] ?? "APPROVED",
    responseMessage: no?.[1] ?? "Transaction approved by Issuer",
    paymentMethodType: {
      card: {
        cardTypeName: BRANDS.get(brand) ?? brand.toUpperCase(),
        maskedAccountNumber: mask(number, "X", 6),
        networkResponse: {
          addressVerificationResult: call.has("accountHolder.billingAddress.postalCode") ? "POSTALCODE_MATCH" : "NOT_REQUESTED",
          cardVerificationResult: no?.[3] ?? (hasCode ? "MATCH" : "NOT_PRESENT"),
          networkResponseCode: no?.[2] ?? "00",
        },
        // The merchant is enrolled for stored cards; a payment has an entry that says otherwise, as real ones do.
        paymentTokens: [
          call.text("accountOnFile") === "TO_BE_STORED" && no === null
            ? { tokenProvider: "SAFETECH", tokenNumber: call.tools.digits(16), responseStatus: "SUCCESS" }
            : { tokenProvider: "SAFETECH", responseStatus: "ERROR", responseMessage: "merchant not enabled" },
        ],
      },
    },
    initiatorType: call.text("initiatorType") || "CARDHOLDER",
    accountOnFile: call.text("accountOnFile") || "NOT_STORED",
    ...(no === null && { approvalCode: `tst${call.tools.digits(3)}`, hostMessage: "Approved" }),
    merchant: { merchantId: header(call.request, "merchant-id") },
  };
}

function pay(call: JpmCall): Answer {
  const number = cardIn(call);
  const requestId = takeRequestId(call);
  const amount = call.number("amount");
  const no = ISSUER(String(amount)) ?? call.decide(ISSUER, number);
  const isHeld = call.text("captureMethod") === "MANUAL";
  const body = {
    ...answered(call, number, no, requestId),
    transactionState: no !== null ? "DECLINED" : isHeld ? "AUTHORIZED" : "CLOSED",
    captureMethod: call.text("captureMethod") || "NOW",
    isVoid: false,
    amount,
    currency: call.text("currency"),
    ...(no === null && { remainingRefundableAmount: isHeld ? 0 : amount }),
  };
  const [kind, id] = [isHeld ? "authorization" : "charge", body.transactionId] as const;
  const details: Details = { requestId, resource: "payments", body };
  call.take({ id, kind, no, amountMinor: amount, currency: call.text("currency"), card: number, details });
  return json(200, body);
}

/** A good verification makes the profile that it is asked for; a profile needs both names. */
function verify(call: JpmCall): Answer {
  const number = cardIn(call);
  const wantsProfile = call.has("accountHolder.consumerProfileInfo.consumerProfileRequestType");
  for (const name of wantsProfile ? ["firstName", "lastName"] : [])
    if (!call.has(`accountHolder.${name}`)) throw invalid(`accountHolder.${name}`);
  const requestId = takeRequestId(call);
  const no = call.decide(ISSUER, number);
  const profile = {
    consumerProfileRequestType: "CREATE",
    consumerProfileId: call.tools.id("", 6).toUpperCase(),
    paymentMethodId: `7d3f0a51-${call.tools.id("", 12)}`,
  };
  const body = {
    ...answered(call, number, no, requestId),
    ...(no === null && wantsProfile && { accountHolder: { consumerProfileInfo: profile } }),
  };
  if (no === null && wantsProfile) call.vault.keep(profile.consumerProfileId, { number, methodId: profile.paymentMethodId });
  const reference = call.maybe("accountHolder.referenceId") ?? requestId;
  const details: Details = { requestId, resource: "verifications", body };
  call.take({ id: body.transactionId, reference, kind: "token", no, card: number, details });
  return json(200, body);
}

function find(call: JpmCall, resource: Details["resource"]): Answer {
  const asked = call.text("requestIdentifier").toLowerCase();
  const [found] = call.lookUp(asked, ({ details }) => details.resource === resource && details.requestId === asked);
  return json(200, (found ?? refuseWith(notFound().unrecorded())).details.body);
}

const notFound = (): Refusal => refusal(404, "NOT_FOUND", "No transaction");
const existing = (call: JpmCall, id: string): Transaction<Details> => call.transactions.get(id) ?? refuseWith(notFound());

function capture(call: JpmCall): Answer {
  const payment = existing(call, call.param("id"));
  if (!call.transactions.capture(payment, call.maybeNumber("amount"))) throw refusal(412, "INVALID_DATA", "Not capturable");
  Object.assign(payment.details.body, { transactionState: "CLOSED" });
  return json(200, payment.details.body);
}

/** What was captured at once cannot be voided. */
function voidHeld(call: JpmCall): Answer {
  const payment = existing(call, call.param("id"));
  if (!call.transactions.void(payment, ["authorized"])) throw refusal(412, "INVALID_DATA", "Not voidable");
  Object.assign(payment.details.body, { transactionState: "VOIDED", isVoid: true });
  return json(200, payment.details.body);
}

function refund(call: JpmCall): Answer {
  const payment = existing(call, call.text("paymentMethodType.transactionReference.transactionReferenceId"));
  if (call.text("currency") !== payment.currency) throw invalid("currency");
  takeRequestId(call);
  const id = call.tools.id("", 12);
  const against = call.transactions.refund(payment, { id, amountMinor: call.number("amount"), from: ["captured", "settled"] });
  if (against !== null) throw refusal(412, "INVALID_DATA", "Not refundable");
  Object.assign(payment.details.body, { remainingRefundableAmount: payment.capturedMinor - payment.refundedMinor });
  const said = { transactionState: "CLOSED", responseStatus: "SUCCESS", responseCode: "APPROVED", amount: call.number("amount") };
  return json(200, { transactionId: id, ...said });
}
