import { basicUser, brandNames, defineSimulator, header, issuer, json, matching, pageBetween, refused, refuseWith } from "../kit/index.ts";
import { rules, table, unixSeconds } from "../kit/index.ts";
import type { Answer, Call, Fields, Kept, Refusal, Transaction } from "../kit/index.ts";

/**
 * Shift4's API of dev.shift4.com: JSON under HTTP Basic, a decline is status 402 with the id of the failed charge. Storing a card
 * checks its form alone, so that a card which every charge declines is stored all the same.
 */

const LARGEST = 999_999_999;
const MESSAGES = {
  invalid_number: "The card number is not a valid credit card number.",
  invalid_expiry_month: "The card's expiration month is invalid.",
  invalid_expiry_year: "The card's expiration year is invalid.",
  invalid_cvc: "The card's security code is invalid.",
  expired_card: "The card has expired.",
  incorrect_cvc: "The card's security code is incorrect.",
  incorrect_zip: "The card's zip code failed verification.",
  incorrect_address: "The card's address failed verification.",
  insufficient_funds: "The card has insufficient funds to complete the charge.",
  lost_or_stolen: "The card is lost or stolen.",
  card_declined: "The card was declined.",
  processing_error: "An error occurred while processing the card.",
} as const;
type CardError = keyof typeof MESSAGES;

/** What the issuer says: its code as Shift4 words it, and the network's where the issuer gave one. */
type No = readonly [code: CardError, network?: string];
const ISSUER = issuer<No>(`
  card_declined card_declined, insufficient_funds/4024007118468684 insufficient_funds|51, expired_card expired_card|54
  incorrect_cvc/4024007134364842 incorrect_cvc, processing_error/4024007114166316 processing_error
  lost_or_stolen/4024007114621187 lost_or_stolen|41, 4929225021529113 incorrect_zip, 4242000000000323 incorrect_address
  4916018475814056 card_declined|05
`);
/** Cards that are refused for their form wherever they are sent, before any issuer is asked. */
const MISSHAPEN = table(`
  4024007102349866 invalid_number, 4024007189368227 invalid_cvc, 4532873294814636 invalid_expiry_month
  4532582477951947 invalid_expiry_year, 4916487051294548 expired_card
`);
const brandIn = brandNames(
  "visa Visa, mastercard MasterCard, maestro Maestro, amex American Express, discover Discover, jcb JCB, diners Diners Club",
  "Unknown",
);

/** A stored one has its customer's id. */
interface Card {
  customerId: string | null;
  number: string;
  expMonth: string;
  expYear: string;
  cardholderName: string | undefined;
}

interface Customer {
  id: string;
  created: number;
  email: string;
  description: string | undefined;
  defaultCardId: string | null;
  metadata: Record<string, string>;
}

type State = { customers: Map<string, Customer> };
/** Members of a charge that never change, and what was sent back of it. */
type Details = { no: No | null; members: Record<string, unknown>; refunds: object[] };

type Shift4Call = Call<State, Details, Card>;
type Charge = Transaction<Details>;

const isTyped = (fields: Fields): boolean => [...fields.keys()].some((name) => name.startsWith("card."));
const TIME = matching(/^\d{1,12}$/, "Unix seconds");
const CARD_OPTIONS = rules`
  cvc digits 3-4 @invalid_cvc, cardholderName/addressLine1/addressLine2/addressCity/addressState/addressZip 255, addressCountry country2
  fraudCheckData.* 255
`;
const STORED_CARD = rules`
  number! digits 12-19 @invalid_number, expMonth! /0?[1-9]|1[0-2]/ @invalid_expiry_month, expYear! year4 @invalid_expiry_year, ${CARD_OPTIONS}
`;
/** A card below `card`, or the id of one. */
const CARD = rules`
  card /(card|tok)_[A-Za-z0-9]+/
  card: number!${isTyped} digits 12-19 @invalid_number, expMonth!${isTyped} /0?[1-9]|1[0-2]/ @invalid_expiry_month
  card: expYear!${isTyped} year4 @invalid_expiry_year, ${CARD_OPTIONS}
`;
const ADDRESS = rules`
  name/vat/phone 255, email email
  address: line1/line2/city/state/zip 255, country country2
`;
const CHARGE = rules`
  amount! whole 0-, currency! currency, ${CARD}, description 255, customerId 64, captured bool, metadata.* 0-1000
  type is customer_initiated|first_recurring|subsequent_recurring|merchant_initiated
  billing: ${ADDRESS}
  shipping: ${ADDRESS}
  threeDSecure.* any, merchantAccountId /ma_[A-Za-z0-9]+/
`;
const LIST = rules`
  limit countText 1-100, startingAfterId/endingBeforeId/customerId 64, created[gt]/created[gte]/created[lt]/created[lte] ${TIME}
`;
const AMOUNT = rules`amount whole 1-${LARGEST}`;
const REFUND = rules`${AMOUNT}, reason is fraudulent|duplicate|requested_by_customer`;
const NEW_CUSTOMER = rules`email! email, description 255, ${CARD}, metadata.* 0-1000`;

export const simulator = defineSimulator<State, Details, Card>({
  body: "json",
  state: () => ({ customers: new Map() }),
  authenticate: (request) =>
    basicUser(request, { user: /^(sk|pr)_test_[A-Za-z0-9_]+$/, password: /^$/ }) ?? refuseWith(refusal("Provided API key is invalid", 401)),
  idempotency: {
    keyOf: (request) => (request.method === "POST" ? header(request, "idempotency-key") : ""),
    mismatch: () => refusal("Idempotent key used for request with different parameters."),
    running: () => refusal("A request with this idempotent key is being processed.", 409),
    keepsRefusals: true,
  },
  reference: "metadata.sessionId",
  recorded: ["type", "merchantAccountId"],
  endpoints: {
    "POST /charges": { rules: CHARGE, run: charge },
    "GET /charges": { rules: LIST, run: list },
    "GET /charges/:id": { run: readCharge },
    "POST /charges/:id/capture": { rules: AMOUNT, run: capture },
    "POST /charges/:id/refund": { rules: REFUND, run: (call) => json(200, shown(refund(call, call.param("id")).one)) },
    "POST /refunds": {
      rules: rules`${REFUND}, chargeId! 64, metadata.* 0-1000`,
      run: (call) => json(200, refund(call, call.text("chargeId")).refund),
    },
    "POST /customers": { rules: NEW_CUSTOMER, run: createCustomer },
    "GET /customers/:id": { run: (call) => json(200, shownCustomer(call, customerOf(call, call.param("id")))) },
    "DELETE /customers/:id": { run: deleteCustomer },
    "POST /customers/:id/cards": { rules: STORED_CARD, run: storeCard },
  },
  refuse: {
    malformed: () => refusal("Request body is not valid JSON"),
    path: (_request, isKnown) => refusal(isKnown ? "Method not allowed" : "Unknown URL", isKnown ? 405 : 404),
    field: ({ kind, field, words, code }) =>
      code !== undefined && kind !== "missing" && kind !== "type" ? cardError(code as CardError) : refusal(`${field} ${words}`),
  },
});

/** Validation, credentials and objects that are not there. */
const refusal = (message: string, status = 400, code?: string): Refusal =>
  refused(code ?? "invalid_request", status, { error: { type: "invalid_request", ...(code && { code }), message } });

const cardError = (code: CardError): Refusal => refused(code, 402, { error: { type: "card_error", code, message: MESSAGES[code] } });

function missing(name: string, id: string): never {
  throw refusal(`${name} '${id}' does not exist`, 404).unrecorded();
}

/** The card as typed below `path`, with what its form alone can have against it. */
function cardIn(call: Shift4Call, path: "card." | ""): Card {
  const misshapen = MISSHAPEN.get(call.text(`${path}number`));
  if (misshapen !== undefined) throw cardError(misshapen as CardError);
  const places = { number: `${path}number`, month: `${path}expMonth`, year: `${path}expYear`, code: `${path}cvc` };
  const errors = { number: "invalid_number", expiry: "expired_card", code: "invalid_cvc" } as const;
  const { number, month, year: expYear } = call.card(places, (fault) => cardError(errors[fault]));
  const cardholderName = call.maybe(`${path}cardholderName`);
  return { customerId: null, number, expMonth: String(Number(month)), expYear, cardholderName };
}

function storeCard(call: Shift4Call): Answer {
  const customer = customerOf(call, call.param("id"));
  return json(200, shownCard(store(call, cardIn(call, ""), customer)));
}

const customerOf = ({ state }: Shift4Call, id: string): Customer => state.customers.get(id) ?? missing("Customer", id);

const shownCard = ({ number, at: _at, reference: _reference, ...card }: Kept<Card>): object => ({
  ...card,
  objectType: "card",
  first6: number.slice(0, 6),
  last4: number.slice(-4),
  brand: brandIn(number),
  type: "Credit Card",
  customerId: card.customerId ?? undefined,
});

/** Keeps a card with its customer; the issuer is not asked. */
function store(call: Shift4Call, card: Card, customer: Customer): Kept<Card> {
  call.decide(ISSUER, card.number);
  const reference = call.maybe("metadata.sessionId") ?? customer.metadata["sessionId"];
  const stored = call.vault.store(call.tools.id("card_"), { ...card, customerId: customer.id }, reference);
  customer.defaultCardId ??= stored.id;
  return stored;
}

function createCustomer(call: Shift4Call): Answer {
  const { tools, state } = call;
  if (call.has("card")) expiredToken(call.text("card"));
  const card = call.has("card.number") ? cardIn(call, "card.") : null;
  const customer: Customer = {
    id: tools.id("cust_"),
    created: unixSeconds(tools.now()),
    email: call.text("email"),
    description: call.maybe("description"),
    defaultCardId: null,
    metadata: call.under("metadata."),
  };
  if (card !== null) store(call, card, customer);
  state.customers.set(customer.id, customer);
  return json(200, shownCustomer(call, customer));
}

function shownCustomer({ vault }: Shift4Call, { defaultCardId, ...customer }: Customer): object {
  const cards = vault.all(({ customerId }) => customerId === customer.id).map(shownCard);
  return { ...customer, objectType: "customer", ...(defaultCardId !== null && { defaultCardId }), cards };
}

function deleteCustomer(call: Shift4Call): Answer {
  const { id } = customerOf(call, call.param("id"));
  call.state.customers.delete(id);
  for (const card of call.vault.all(({ customerId }) => customerId === id)) call.vault.remove(card.id);
  return json(200, { id, deleted: true });
}

/** Tokens of the vendor's browser script are made elsewhere, so none is known here. */
function expiredToken(id: string): never {
  throw id.startsWith("tok_") ? refusal("Token has expired or was used.", 400, "expired_token") : refusal("card needs its customerId");
}

/** The card to charge: typed, and then kept with the customer that is named, or one of a customer's. */
function cardToCharge(call: Shift4Call): { card: Card; keepFor: Customer | null } {
  const customerId = call.maybe("customerId");
  const customer = customerId === undefined ? null : customerOf(call, customerId);
  if (call.has("card.number")) return { card: cardIn(call, "card."), keepFor: customer };
  const id = call.maybe("card") ?? customer?.defaultCardId ?? undefined;
  if (id === undefined) throw refusal("card or customerId is required");
  if (customer === null || id.startsWith("tok_")) expiredToken(id);
  const card = call.vault.get(id);
  return { card: card?.customerId === customer.id ? card : missing("Card", id), keepFor: null };
}

function avsOf(call: Shift4Call): string {
  const given = ["card.addressLine1", "card.addressZip"].filter((name) => call.has(name)).length;
  return ["not_provided", "partial_match", "full_match"][given] ?? "unavailable";
}

function charge(call: Shift4Call): Answer {
  const { tools } = call;
  const [amountMinor, unit, isHeld] = [call.number("amount"), call.text("currency"), call.text("captured") === "false"];
  if (amountMinor > LARGEST) throw refusal("amount is too high", 400, "amount_too_high");
  if (amountMinor === 0 && !isHeld) throw refusal("amount is too low", 400, "amount_too_low");
  const { card, keepFor } = cardToCharge(call);
  const no = call.decide(ISSUER, card.number);
  const typed = { id: tools.id("card_"), at: 0, reference: null, ...card };
  const kept = keepFor !== null && no === null ? store(call, card, keepFor) : typed;
  const id = tools.id("char_");
  const members = {
    ...call.given("customerId", "description", "type"),
    card: shownCard(kept),
    avsCheck: { result: avsOf(call) },
    fraudDetails: { status: "safe" },
    metadata: call.under("metadata."),
    clientObjectId: tools.id("client_char_"),
    merchantAccountId: call.maybe("merchantAccountId") ?? "ma_2kqjYZmhRXgMRPqxuKnGPmEj",
  };
  const kind = isHeld ? "authorization" : "charge";
  const made = call.take({ id, kind, no, amountMinor, currency: unit, card: card.number, details: { no, members, refunds: [] } });
  if (no === null) return json(200, shown(made));
  const [code, issuerDeclineCode] = no;
  return json(402, { error: { type: "card_error", code, message: MESSAGES[code], chargeId: id, issuerDeclineCode } });
}

/** Refunds lessen the amount, and one in part makes it refunded too. */
function shown({ id, at, state, amountMinor, capturedMinor, refundedMinor, currency: unit, details }: Charge): object {
  const { no, members, refunds } = details;
  const sentBack = state === "voided" ? amountMinor : refundedMinor;
  return {
    id,
    created: unixSeconds(at),
    objectType: "charge",
    amount: (capturedMinor || amountMinor) - sentBack,
    amountRefunded: sentBack,
    currency: unit,
    status: no === null ? "successful" : "failed",
    ...members,
    captured: capturedMinor > 0,
    refunded: sentBack > 0,
    ...(refunds.length > 0 && { refunds }),
    disputed: false,
    ...(no !== null && { failureCode: no[0], failureMessage: MESSAGES[no[0]], failureIssuerDeclineCode: no[1] }),
  };
}

function readCharge(call: Shift4Call): Answer {
  return json(200, shown(call.lookUpById(call.param("id")) ?? missing("Charge", call.param("id"))));
}

function list(call: Shift4Call): Answer {
  const customerId = call.maybe("customerId");
  const isMeant = ({ at, details: { members } }: Charge): boolean =>
    call.isWithin("created", unixSeconds(at)) && (customerId === undefined || members["customerId"] === customerId);
  const bounds = { after: call.maybe("startingAfterId"), before: call.maybe("endingBeforeId"), limit: call.number("limit") || 10 };
  const { page, hasMore } = pageBetween(call.lookUp(null, isMeant), bounds, (id) => missing("Charge", id));
  return json(200, { list: page.map(shown), hasMore });
}

const chargeOf = (call: Shift4Call, id: string): Charge => call.transactions.get(id) ?? missing("Charge", id);

function capture(call: Shift4Call): Answer {
  const one = chargeOf(call, call.param("id"));
  if (!call.transactions.capture(one, call.maybeNumber("amount")))
    throw refusal(one.state === "authorized" ? "amount is greater than the charge amount" : "Charge cannot be captured");
  return json(200, shown(one));
}

/** Gives back what was captured, in parts or whole; a hold is released as a whole. */
function refund(call: Shift4Call, chargeId: string): { one: Charge; refund: object } {
  const [one, id] = [chargeOf(call, chargeId), call.tools.id("re_")];
  const amount = call.maybeNumber("amount");
  const left = one.state === "authorized" ? one.amountMinor : one.capturedMinor - one.refundedMinor;
  if (one.state === "authorized" && amount !== undefined && amount !== left) throw refusal("An uncaptured charge is refunded as a whole");
  if (!call.transactions.void(one, ["authorized"])) {
    const against = call.transactions.refund(one, { id, from: ["captured", "settled"], amountMinor: amount });
    if (against !== null) throw refusal("Invalid Refund data");
  }
  const members = { amount: amount ?? left, currency: one.currency, charge: one.id, reason: call.maybe("reason"), status: "successful" };
  const made = { id, created: unixSeconds(call.tools.now()), objectType: "refund", ...members };
  one.details.refunds.push(made);
  return { one, refund: made };
}
