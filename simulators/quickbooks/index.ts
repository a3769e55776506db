import { amountText, basicUser, bearer, brandNames, byState, defineSimulator, header, isAccepted, isoSeconds } from "../kit/index.ts";
import { issuer, json, majorOf, mask, minorOf, oneOf, refused, refuseWith, rules } from "../kit/index.ts";
import type { Answer, Call, Kept, Refusal, Transaction } from "../kit/index.ts";

/**
 * QuickBooks Payments: charges and stored cards in JSON under OAuth 2.0 tokens, with the token endpoint of Intuit's other host
 * beside them. A decline is a charge with status 201, or an errors object; the Request-Id is the idempotency key.
 */

const ACCESS_SECONDS = 3600;
const REFRESH_SECONDS = 8_726_400;
/** A refresh token that was replaced goes on for a day. */
const REFRESH_GRACE_MS = 24 * 3_600_000;
/** A capture may exceed its authorization by half. */
const CAPTURE_SHARE = 1.5;

interface Card {
  number: string;
  expMonth: string;
  expYear: string;
  name: string;
  address: Record<string, string>;
}

type Details = { card: Card; code: string; isEcommerce: boolean };

/** Cards by their customer's id, which is their reference. */
type QuickbooksCall = Call<object, Details, Card>;
type Stored = Kept<Card>;
type Charge = Transaction<Details>;

/** A code of the vendor's, with words, by the card or by its holder's name; `DECLINED` is a charge of that status. */
type No = readonly [code: string, type: string, message: string, detail?: string];
const ISSUER = issuer<No>(`
  card_declined/lost_or_stolen/emulate=10401 DECLINED||
  insufficient_funds PMT-5000|transaction_declined|The request to process this transaction has been declined: insufficient funds.
  expired_card PMT-5000|transaction_declined|The request to process this transaction has been declined: expired card.
  incorrect_cvc PMT-2000|fraud_warning|The card security code does not match; the transaction was voided.
  processing_error/emulate=10201 PMT-6000|system_error|A temporary Issue prevented this request from being processed.
  emulate=10301 PMT-4000|invalid_request|card.number is invalid.|card.number
`);

/** Of names `emulate=...` alone decide. */
const byHolder = (name: string) => (name.startsWith("emulate=") ? ISSUER(name) : null);

const yesOrNo = oneOf(true, false, "true", "false");
const AMOUNT = amountText(99_999.99);
const CARD = rules`
  number! digits 12-19, expMonth! month, expYear! year4, cvc digits 3-4, name/commercialCardCode 64
  address: streetAddress/city/region 255, postalCode 32, country country2
`;
const CONTEXT = rules`
  context: mobile/isEcommerce/recurring ${yesOrNo}, tax 32, clientTransID 64
  context.deviceInfo: id/type/macAddress/ipAddress 64, longitude/latitude/phoneNumber 32
`;
const CHARGE = rules`
  amount! ${AMOUNT}, currency! is USD, capture ${yesOrNo}, description 4000, cardOnFile/token 64, ${CONTEXT}
  card?: ${CARD}
`;
const TOKEN = rules`card: ${CARD}`;
const GRANT = rules`grant_type! is refresh_token, refresh_token! 512`;

export const simulator = defineSimulator<object, Details, Card>({
  body: "json",
  authenticate(request) {
    const account = request.tokens.accountOf(bearer(request), request.tools.now());
    if (account !== null) return account;
    const flat = { code: "AuthenticationFailed", type: "INPUT", message: null, detail: null, moreInfo: null };
    throw refused(flat.code, 401, flat, { "www-authenticate": 'Bearer realm="Intuit", error="invalid_token"' });
  },
  idempotency: {
    keyOf(request) {
      const id = request.method === "POST" ? header(request, "request-id") : "";
      if (request.method === "POST" && (id === "" || id.length > 50))
        throw refusal("PMT-4000", "invalid_request", "Request-Id is invalid.", "Request-Id");
      return id;
    },
    mismatch: () => refusal("PMT-4000", "invalid_request", "Request-Id was used for another request.", "Request-Id"),
  },
  responseHeaders: ({ tools }) => ({ intuit_tid: tools.id("1-", 30) }),
  recorded: ["context.isEcommerce", "cardOnFile"],
  endpoints: {
    "POST /oauth2/v1/tokens/bearer": {
      body: "form",
      isIdempotent: false,
      rules: GRANT,
      authenticate: (request) => basicUser(request) ?? refuseWith(refused("invalid_client", 401, { error: "invalid_client" })),
      run: refresh,
    },
    "POST /quickbooks/v4/payments/charges": { rules: CHARGE, run: charge },
    "GET /quickbooks/v4/payments/charges/:id": { run: readCharge },
    "POST /quickbooks/v4/payments/charges/:id/capture": { rules: rules`amount! ${AMOUNT}, ${CONTEXT}`, run: capture },
    "POST /quickbooks/v4/payments/charges/:id/refunds": {
      rules: rules`amount! ${AMOUNT}, description 4000, ${CONTEXT}`,
      run: (call) => reverse(call, known(call), minorOf(call.text("amount"), "USD")),
    },
    "POST /quickbooks/v4/payments/txn-requests/:requestId/void": { rules: CONTEXT, run: voidRequest },
    "POST /quickbooks/v4/payments/tokens": { rules: TOKEN, authenticate: () => "anybody", run: newToken },
    "POST /quickbooks/v4/customers/:customerId/cards": { rules: CARD, run: (call) => store(call, cardIn(call, "")) },
    "POST /quickbooks/v4/customers/:customerId/cards/createFromToken": {
      rules: rules`value! 64`,
      run: (call) => store(call, usedToken(call, call.text("value"), "value")),
    },
    "GET /quickbooks/v4/customers/:customerId/cards": { run: (call) => json(200, call.vault.all(isOf(call)).map(shownCard)) },
    "GET /quickbooks/v4/customers/:customerId/cards/:id": { run: (call) => json(200, shownCard(storedIn(call))) },
    "DELETE /quickbooks/v4/customers/:customerId/cards/:id": { run: remove },
  },
  refuse: {
    malformed: () => refusal("PMT-4000", "invalid_request", "The request body is invalid."),
    path: (_request, isKnown) => refusal("PMT-4002", "invalid_request", "No such resource.", undefined, isKnown ? 405 : 404),
    field: ({ field, kind }, { path }) =>
      path === "/oauth2/v1/tokens/bearer"
        ? refused(field, 400, { error: field === "grant_type" ? "unsupported_grant_type" : "invalid_request" })
        : refusal("PMT-4000", "invalid_request", `${field} is ${kind === "missing" ? "required" : "invalid"}.`, field),
  },
});

function refusal(code: string, type: string, message: string, detail?: string, status = 400): Refusal {
  const infoLink = `https://developer.intuit.com/v2/docs?redirectID=PayErrors#${code}`;
  return refused(code, status, { errors: [{ code, type, message, ...(detail && { detail }), infoLink }] });
}

function refuse(message: string, detail: string): never {
  throw refusal("PMT-4000", "invalid_request", message, detail);
}

/** A new access token; the refresh token is replaced each time. */
function refresh(call: QuickbooksCall): Answer {
  const { tools, request } = call;
  const given = call.text("refresh_token");
  const [access_token, refresh_token] = [tools.id("eyJ", 60), tools.id("RT1-", 40)];
  const isGood = isAccepted(given) && request.tokens.rotate(given, refresh_token, REFRESH_GRACE_MS, tools.now());
  if (!isGood) throw refused("invalid_grant", 400, { error: "invalid_grant", error_description: "Token invalid" });
  request.tokens.issue(access_token, call.accountName, ACCESS_SECONDS, tools.now());
  const times = { expires_in: ACCESS_SECONDS, refresh_token, x_refresh_token_expires_in: REFRESH_SECONDS };
  return json(200, { token_type: "bearer", access_token, ...times });
}

/** The card below `path`, as the gateway checks it before it asks anybody. */
function cardIn(call: QuickbooksCall, path: "" | "card."): Card {
  const places = { number: `${path}number`, month: `${path}expMonth`, year: `${path}expYear` };
  const faultAt = { number: `${path}number`, expiry: `${path}expYear`, code: `${path}cvc` };
  const invalid = (field: string) => refusal("PMT-4000", "invalid_request", `${field} is invalid.`, field);
  const { number, month, year } = call.card(places, (fault) => invalid(faultAt[fault]));
  return { number, expMonth: month, expYear: year, name: call.text(`${path}name`), address: call.under(`${path}address.`) };
}

/** The card to charge: exactly one of a card, a stored one and a single-use token. */
function chosen(call: QuickbooksCall): Card {
  const hasCard = call.has("card.number");
  const [cardOnFile, token] = [call.maybe("cardOnFile"), call.maybe("token")];
  if ([hasCard, cardOnFile !== undefined, token !== undefined].filter(Boolean).length !== 1)
    refuse("Exactly one of card, cardOnFile and token is needed.", "card");
  if (hasCard) return cardIn(call, "card.");
  if (cardOnFile !== undefined) return call.vault.get(cardOnFile) ?? refuse("cardOnFile is invalid.", "cardOnFile");
  return usedToken(call, token ?? "", "token");
}

/** A single-use token's card; tokens are made without credentials, so they belong to no account. */
function usedToken({ request: { shared } }: QuickbooksCall, token: string, field: string): Card {
  const card = shared.get(token) as Card | undefined;
  if (card === undefined) return refuse(`${field} is invalid.`, field);
  shared.delete(token);
  return card;
}

function newToken(call: QuickbooksCall): Answer {
  const value = call.tools.id("", 32);
  call.request.shared.set(value, cardIn(call, "card."));
  return json(201, { value });
}

function charge(call: QuickbooksCall): Answer {
  const { tools } = call;
  if (![...call.fields.keys()].some((name) => name.startsWith("context."))) refuse("context is required.", "context");
  const amountMinor = minorOf(call.text("amount"), "USD");
  if (amountMinor <= 0) refuse("amount is invalid.", "amount");
  const card = chosen(call);
  const no = byHolder(card.name) ?? call.decide(ISSUER, card.number);
  const id = tools.id("E", 11).toUpperCase();
  // A fault of the system and a wrong field leave no charge behind.
  if (no?.[0] === "PMT-6000" || no?.[0] === "PMT-4000") throw refusal(...no);
  const details = { card, code: no === null ? tools.digits(6) : "", isEcommerce: call.text("context.isEcommerce") === "true" };
  const reference = header(call.request, "request-id");
  const kind = call.text("capture") === "false" ? "authorization" : "charge";
  const transaction = call.take({ id, reference, kind, no, amountMinor, currency: "USD", card: card.number, details });
  const hasCode = call.has("card.cvc");
  return no === null || no[0] === "DECLINED" ? json(201, shown(transaction, hasCode)) : refusal(...no).answer;
}

const STATUSES = byState(
  "declined DECLINED, authorized AUTHORIZED, captured/verified CAPTURED, settled SETTLED, refunded REFUNDED, voided CANCELLED",
);

function shown({ id, state, at, amountMinor, capturedMinor, details }: Charge, hasCode = false): object {
  const { card, code, isEcommerce } = details;
  const { number, ...rest } = card;
  return {
    created: isoSeconds(at),
    status: STATUSES[state],
    amount: majorOf(capturedMinor || amountMinor, "USD"),
    currency: "USD",
    card: { number: mask(number, "x"), ...rest, cardType: typeOf(number), ...(hasCode && { cvc: "xxx" }) },
    capture: state !== "authorized",
    avsStreet: card.address["streetAddress"] === undefined ? "NotAvailable" : "Pass",
    avsZip: card.address["postalCode"] === undefined ? "NotAvailable" : "Pass",
    cardSecurityCodeMatch: hasCode ? "Pass" : "NotAvailable",
    id,
    context: { mobile: false, deviceInfo: {}, recurring: false, isEcommerce },
    ...(code !== "" && { authCode: code }),
  };
}

const typeOf = brandNames("visa Visa, mastercard MC, amex AMEX, discover DISC, diners DINERS, jcb JCB", "Visa");
const notFound = (): Refusal => refusal("PMT-10305", "invalid_request", "No records found.", undefined, 404).unrecorded();

const known = (call: QuickbooksCall): Charge => call.transactions.get(call.param("id")) ?? refuseWith(notFound());

function readCharge(call: QuickbooksCall): Answer {
  return json(200, shown(call.lookUpById(call.param("id")) ?? refuseWith(notFound())));
}

function capture(call: QuickbooksCall): Answer {
  const held = known(call);
  const amountMinor = minorOf(call.text("amount"), "USD");
  if (!call.transactions.capture(held, amountMinor, Math.floor(held.amountMinor * CAPTURE_SHARE))) refuse("amount is invalid.", "amount");
  return json(201, shown(held));
}

/** Intuit itself decides whether a refund becomes a void. */
function reverse(call: QuickbooksCall, charge: Charge, amountMinor: number): Answer {
  const { transactions, tools } = call;
  const id = tools.id("R", 11).toUpperCase();
  const isVoid = charge.state === "captured" && amountMinor === charge.capturedMinor;
  const isEmulated = header(call.request, "emulation") === "emulate=10401";
  const against =
    isEmulated || (isVoid && transactions.void(charge))
      ? null
      : transactions.refund(charge, { id, amountMinor, from: ["captured", "settled"] });
  if (against !== null) refuse(against === "amount" ? "amount is invalid." : "The charge cannot be refunded.", "amount");
  const created = isoSeconds(tools.now());
  const told = { status: isEmulated ? "DECLINED" : "ISSUED", amount: call.text("amount"), description: call.text("description") };
  return json(201, { id, created, ...told, type: isVoid ? "VOID" : "REFUND", context: {} });
}

/** By the Request-Id of the charge, before settlement. */
function voidRequest(call: QuickbooksCall): Answer {
  const charge = call.transactions.find(({ reference }) => reference === call.param("requestId")) ?? refuseWith(notFound());
  if (!call.transactions.void(charge)) refuse("The transaction cannot be voided.", "request");
  const id = call.tools.id("V", 11).toUpperCase();
  return json(201, { id, status: "ISSUED", type: "VOID", amount: majorOf(charge.amountMinor, "USD") });
}

const isOf =
  ({ params }: QuickbooksCall) =>
  ({ reference }: Stored): boolean =>
    reference === params["customerId"];

function store(call: QuickbooksCall, card: Card): Answer {
  const no = byHolder(card.name) ?? call.decide(ISSUER, card.number);
  const [reference, isHis] = [call.param("customerId"), isOf(call)];
  if (call.vault.find((one) => isHis(one) && one.number === card.number)) refuse("The card is stored already.", "number");
  if (no === null) return json(201, shownCard(call.vault.store(call.tools.digits(13), card, reference)));
  call.tools.record({ kind: "token", id: null, reference, outcome: "declined", card: mask(card.number) });
  return refusal(...(no[0] === "DECLINED" ? (["PMT-5000", "transaction_declined", "The card was declined."] as const) : no)).answer;
}

function shownCard({ id, number, reference: entityId, at: _at, ...card }: Stored): object {
  const flags = { default: false, isBusiness: false, isLevel3Eligible: false };
  const entity = { entityVersion: "1", entityId, entityType: "USER", status: "ACTIVE" };
  return { id, number: mask(number, "x"), ...card, ...entity, ...flags, cardType: typeOf(number).toUpperCase() };
}

function storedIn(call: QuickbooksCall): Stored {
  const isHis = isOf(call);
  return call.vault.find((one) => isHis(one) && one.id === call.param("id")) ?? refuseWith(notFound());
}

function remove(call: QuickbooksCall): Answer {
  call.vault.remove(storedIn(call).id);
  return { status: 204, body: "" };
}
