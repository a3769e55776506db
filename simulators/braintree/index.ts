import { amountText, basicUser, brandOf, cardFaults, defineSimulator, header, issuer, json, Refusal, refused } from "../kit/index.ts";
import { rules, table, textOf } from "../kit/index.ts";
import type { Answer, Call, Incoming, Kept, Rules, Transaction } from "../kit/index.ts";

/**
 * Braintree's GraphQL API: one address, status 200 for whatever the engine says, declines without errors, errors by class. A card becomes
 * a single-use id, which pays or is stored once.
 */

const DATE = "2019-01-01";
const DEFAULT_ACCOUNT = "exampleshop_usd";
/** Merchant accounts and their currencies. */
const ACCOUNTS = table(`${DEFAULT_ACCOUNT} USD, exampleshop_eur EUR, exampleshop_jpy JPY`);
const DUPLICATE_MS = 30_000;

type Details = { globalId: string; status: string; event: Record<string, unknown>; value: string };
/** A stored card, under its global id. */
type Vaulted = { number: string; legacyId: string; customerId: string };
interface State {
  singles: Map<string, { number: string; isUsed: boolean }>;
  /** Their legacy ids. */
  customers: Map<string, string>;
}
type BraintreeCall = Call<State, Details, Vaulted>;

/** A processor's code and words, or a rule of the merchant's gateway. */
type No = { code: string; message: string; status?: "FAILED" } | { rejected: string };
const ISSUER = issuer<No>(
  `
    card_declined 2046|Declined, insufficient_funds 2001|Insufficient Funds, expired_card 2004|Expired Card
    incorrect_cvc 2010|Card Issuer Declined CVV, lost_or_stolen 2012|Processor Declined - Possible Lost Card
    processing_error 3000|Processor Network Unavailable - Try Again|FAILED, 4000111111111115 2000|Do Not Honor
    4000111111111511 rejected|FRAUD
  `,
  (code = "", message = "", status) =>
    code === "rejected" ? { rejected: message } : { code, message, ...(status === "FAILED" && { status }) },
);

const INPUT = "variables.input";
const ID = "[A-Za-z0-9+/=_-] 1-255";
const AMOUNT = amountText(99_999_999.99, /^\d{1,8}(\.\d{2,3})?$/);
const ADDRESS = rules`
  company/addressLine1/addressLine2/adminArea1/adminArea2/firstName/lastName 255, postalCode [A-Za-z0-9\x20-] 1-12, countryCode 3
  streetAddress/extendedAddress/locality/region 255
`;
const QUERY = rules`query! 8000, operationName 100`;
const NODE = rules`${QUERY}, variables.id! ${ID}`;
const operation = (input: Rules): Rules => rules`
  ${QUERY}
  ${INPUT}: clientMutationId 255, ${input}
`;
const TOKENIZE = operation(rules`
  creditCard: number! digits 12-19, expirationMonth! /0?[1-9]|1[0-2]/, expirationYear! /(20)?\d\d/, cvv digits 3-4, cardholderName 175
  creditCard.billingAddress: ${ADDRESS}
  options.validate bool
`);
const CHARGE = operation(rules`
  paymentMethodId! ${ID}
  transaction: amount! ${AMOUNT}, orderId 255, merchantAccountId 64
  transaction: paymentInitiator is MOTO|RECURRING_FIRST|RECURRING|UNSCHEDULED|INSTALLMENT_FIRST|INSTALLMENT|ESTIMATED
  transaction.riskData: customerIp 45, customerBrowser 255, deviceData 4000
  options.billingAddress: ${ADDRESS}
`);
const VAULT = operation(rules`
  paymentMethodId! ${ID}, customerId ${ID}
  verification: merchantAccountId 64, skip bool, amount amount
`);

/** Names of the vendor's schema that documents for these operations are made of; one with another name is refused as a whole. */
const NAMES: ReadonlySet<string> = new Set(
  `
ping input first on id ID legacyId __typename clientMutationId node search transactions edges usage createdAt timestamp
tokenizeCreditCard chargeCreditCard createCustomer vaultCreditCard deleteCustomer reverseTransaction
TokenizeCreditCardInput ChargeCreditCardInput CreateCustomerInput VaultCreditCardInput DeleteCustomerInput ReverseTransactionInput
TransactionSearchInput Transaction Refund Customer CreditCardDetails AuthorizedEvent ProcessorDeclinedEvent GatewayRejectedEvent FailedEvent
transaction status orderId amount value currencyCode merchantAccountId refunds statusHistory duplicateOf reversal gatewayRejectionReason
declineType processorResponse networkResponse legacyCode code message additionalInformation authorizationId
cvvResponse avsPostalCodeResponse avsStreetAddressResponse
customer paymentMethod paymentMethods paymentMethodSnapshot verification details brandCode last4 bin expirationMonth expirationYear
`
    .trim()
    .split(/\s+/),
);

export const simulator = defineSimulator<State, Details, Vaulted>({
  body: "json",
  state: () => ({ singles: new Map(), customers: new Map() }),
  authenticate(request) {
    const key = basicUser(request, { user: /^[a-z0-9]{1,64}$/, password: /^[a-z0-9]{1,64}$/ });
    if (key === null) throw problem("AUTHENTICATION", "Authentication credentials are invalid or missing.");
    if (header(request, "braintree-version") !== DATE)
      throw problem("UNSUPPORTED_CLIENT", "Braintree-Version header is missing or invalid.");
    return key;
  },
  operationOf: (fields) => {
    const query = textOf(fields, "query");
    const [, body = query] = /^\s*(?:mutation|query)\b\s*\w*([^]*)$/.exec(query) ?? [];
    if (!(body.match(/\$?[A-Za-z_]\w*/g) ?? []).every((name) => name.startsWith("$") || NAMES.has(name))) return undefined;
    if (/^\s*(query\s*)?\{\s*ping\s*\}/.test(query)) return "ping";
    const root = /^\s*(?:mutation|query)\b[^{]*\{\s*(\w+)/.exec(query)?.[1];
    return root === "node" && /\bon Customer\b/.test(query) ? "customer" : root;
  },
  reference: `${INPUT}.transaction.orderId`,
  endpoints: {
    "POST /graphql ping": { rules: QUERY, run: () => json(200, { data: { ping: "pong" } }) },
    "POST /graphql tokenizeCreditCard": { rules: TOKENIZE, run: tokenize },
    "POST /graphql chargeCreditCard": { rules: CHARGE, run: charge },
    "POST /graphql createCustomer": { rules: operation(rules`customer: firstName/lastName/email/company 255`), run: createCustomer },
    "POST /graphql vaultCreditCard": { rules: VAULT, run: vault },
    "POST /graphql deleteCustomer": { rules: operation(rules`customerId! ${ID}`), run: deleteCustomer },
    "POST /graphql reverseTransaction": { rules: operation(rules`transactionId! ${ID}`), run: reverse },
    "POST /graphql search": { rules: operation(rules`orderId: is/startsWith 255`), run: search },
    "POST /graphql node": { rules: NODE, run: readTransaction },
    "POST /graphql customer": { rules: NODE, run: readCustomer },
  },
  refuse: {
    malformed: () => badDocument("Request body is not valid JSON."),
    path: ({ path }) =>
      path === "/graphql" ? badDocument("Validation error: unknown operation") : new Refusal({ status: 404, body: "Not found" }, "404"),
    field: ({ field, kind }, request) => fieldRefusal(field, kind, request),
  },
  finish: (answer, { tools, operation: name }) => {
    if (typeof answer.body !== "string" || !answer.body.startsWith("{")) return answer;
    const body = placed(JSON.parse(answer.body) as Said, name === "customer" ? "node" : name);
    return { ...answer, body: JSON.stringify({ ...body, extensions: { requestId: tools.id("", 12) } }) };
  },
});

interface Said {
  data: object | null;
  errors?: readonly { extensions?: { errorClass?: string } }[];
}

/** An error of the operation itself, as opposed to one of the keys or the document, names its place, which is then null. */
function placed(said: Said, name: string | undefined): Said {
  const isPlaced = ["VALIDATION", "NOT_FOUND"].includes(said.errors?.[0]?.extensions?.errorClass ?? "");
  if (!isPlaced || name === undefined) return said;
  return { data: { [name]: null }, errors: said.errors?.map((error) => ({ ...error, path: [name] })) ?? [] };
}

const badDocument = (message: string): Refusal => refused("MALFORMED", 200, { data: null, errors: [{ message }] });

/** What the engine says of a request that it understands: `legacyCode` where a field is at fault. */
function problem(errorClass: string, message: string, legacyCode?: string, inputPath?: string[]): Refusal {
  const errorType = errorClass === "VALIDATION" ? "user_error" : "developer_error";
  const extensions = { errorType, errorClass, ...(legacyCode && { legacyCode }), ...(inputPath && { inputPath }) };
  return refused(legacyCode ?? errorClass, 200, { data: null, errors: [{ message, extensions }] });
}

/** Numbers of the validations that the vendor names; a member that the schema does not have is no valid document. */
const VALIDATIONS: readonly (readonly [field: string, code: string, words: string])[] = [
  ["number", "81716", "Credit card number must be 12-19 digits."],
  ["expirationMonth", "81712", "Expiration month is invalid."],
  ["expirationYear", "81713", "Expiration year is invalid."],
  ["cvv", "81707", "CVV must be 4 digits for American Express and 3 digits for other card types."],
  ["cardholderName", "81723", "Cardholder name is too long."],
  ["postalCode", "81813", "Postal code can only contain letters, numbers, spaces, and hyphens."],
  ["amount", "81531", "Amount is an invalid format."],
];

function fieldRefusal(field: string, kind: string, { operation: name }: Incoming): Refusal {
  const known = kind === "missing" && !field.endsWith(".number") ? undefined : VALIDATIONS.find(([suffix]) => field.endsWith(`.${suffix}`));
  if (kind === "missing" && known !== undefined)
    return problem("VALIDATION", "Credit card number is required.", "81714", field.split(".").slice(1));
  if (kind !== "unknown" && known !== undefined) return problem("VALIDATION", known[2], known[1], field.split(".").slice(1));
  return badDocument(`Variable "$input" of ${name ?? "?"}: ${field} (${kind})`);
}

const field = (call: BraintreeCall, name: string): string => call.text(`${INPUT}.${name}`);
const globalOf = (kind: string, id: string): string => Buffer.from(`${kind}_${id}`).toString("base64");
const shownCard = (number: string) => ({
  brandCode: brandOf(number) === "amex" ? "AMERICAN_EXPRESS" : brandOf(number).toUpperCase(),
  last4: number.slice(-4),
  bin: number.slice(0, 6),
});

/** What a validation has against a card: the field, the code and the words. */
const faultOf = cardFaults<readonly [name: string, code: string, words: string]>(`
  number number|81715|Credit card number is invalid., expiry expirationYear|81709|Expiration date is required to be in the future.
  code cvv|81707|CVV must be 4 digits for American Express and 3 digits for other card types.
`);

function tokenize(call: BraintreeCall): Answer {
  const path = `${INPUT}.creditCard`;
  const number = call.text(`${path}.number`);
  const places = { number: `${path}.number`, month: `${path}.expirationMonth`, year: `${path}.expirationYear`, code: `${path}.cvv` };
  if (field(call, "options.validate") === "true")
    call.card(places, (fault) => {
      const [name, code, words] = faultOf(fault);
      return problem("VALIDATION", words, code, ["input", "creditCard", name]);
    });
  const id = call.tools.id("tokencc_bh_", 20);
  call.state.singles.set(id, { number, isUsed: false });
  return json(200, { data: { tokenizeCreditCard: { paymentMethod: { id, usage: "SINGLE_USE", details: shownCard(number) } } } });
}

/** The card of a single-use id, which is used up by it, or of a stored one. */
function cardOf(call: BraintreeCall): string {
  const id = field(call, "paymentMethodId");
  const stored = call.vault.get(id);
  if (stored !== undefined) return stored.number;
  const single = call.state.singles.get(id);
  if (single === undefined) throw problem("VALIDATION", "Unknown payment method.", "91565", ["input", "paymentMethodId"]);
  if (single.isUsed)
    throw problem("VALIDATION", "Cannot use a single-use payment method more than once.", "91564", ["input", "paymentMethodId"]);
  single.isUsed = true;
  return single.number;
}

function accountOf(call: BraintreeCall, path: string): string {
  const id = field(call, path) || DEFAULT_ACCOUNT;
  const currency = ACCOUNTS.get(id);
  if (currency === undefined) throw problem("VALIDATION", "Merchant account ID is invalid.", "91513", ["input", ...path.split(".")]);
  return currency;
}

/** Amounts that decide in the vendor's sandbox: 2xxx is the processor's code, 3000 its absence, 5001 a rule. */
function byAmount(value: string): No | null {
  const amount = Number(value);
  if (amount >= 2000 && amount < 3000) return { code: String(Math.floor(amount)), message: "Processor Declined" };
  if (amount >= 3000 && amount < 3001) return ISSUER("processing_error");
  return amount >= 5001 && amount < 5002 ? { rejected: "APPLICATION_INCOMPLETE" } : null;
}

const APPROVED = {
  legacyCode: "1000",
  message: "Approved",
  cvvResponse: "MATCHES",
  avsPostalCodeResponse: "MATCHES",
  avsStreetAddressResponse: "NOT_PROVIDED",
};

function judged(no: No | null): { status: string; event: Record<string, unknown> } {
  if (no === null)
    return {
      status: "SUBMITTED_FOR_SETTLEMENT",
      event: { __typename: "AuthorizedEvent", status: "AUTHORIZED", processorResponse: APPROVED },
    };
  if ("rejected" in no)
    return {
      status: "GATEWAY_REJECTED",
      event: { __typename: "GatewayRejectedEvent", status: "GATEWAY_REJECTED", gatewayRejectionReason: no.rejected },
    };
  const status = no.status ?? "PROCESSOR_DECLINED";
  const __typename = status === "FAILED" ? "FailedEvent" : "ProcessorDeclinedEvent";
  return { status, event: { __typename, status, processorResponse: { ...APPROVED, legacyCode: no.code, message: no.message } } };
}

function charge(call: BraintreeCall): Answer {
  const [value, orderId] = [field(call, "transaction.amount"), field(call, "transaction.orderId")];
  if (!(Number(value) > 0)) throw problem("VALIDATION", "Amount must be greater than zero.", "81531", ["input", "transaction", "amount"]);
  const currency = accountOf(call, "transaction.merchantAccountId");
  const number = cardOf(call);
  const isTwin = ({ reference, details }: Transaction<Details>) => reference === orderId && details.value === value;
  const twin = call.transactions.twin(number, DUPLICATE_MS, isTwin);
  const no = twin ? { rejected: "DUPLICATE" } : (byAmount(value) ?? call.decide(ISSUER, number));
  const { status, event } = judged(no);
  const legacyId = call.tools.id("", 8);
  const globalId = globalOf("transaction", legacyId);
  if (twin) event["duplicateOf"] = { id: twin.details.globalId, legacyId: twin.id, orderId };
  const amountMinor = Math.round(Number(value) * (currency === "JPY" ? 1 : 100));
  const details = { globalId, status, event, value };
  const transaction = call.take({ id: legacyId, kind: "charge", no, amountMinor, currency, card: number, details });
  return json(200, { data: { chargeCreditCard: { transaction: shown(transaction) } } });
}

function shown({ id, reference, card, currency, state, details }: Transaction<Details>): object {
  const status = { voided: "VOIDED", settled: "SETTLED", refunded: "SETTLED" }[state as string] ?? details.status;
  return {
    id: details.globalId,
    legacyId: id,
    status,
    orderId: reference,
    amount: { value: details.value, currencyCode: currency },
    refunds: state === "refunded" ? [{ status: "SUBMITTED_FOR_SETTLEMENT", amount: { value: details.value } }] : [],
    paymentMethodSnapshot: shownCard(card),
    statusHistory: [{ __typename: "StatusEvent", status }, details.event].filter(
      (one, at) => at === 1 || status !== details.event["status"],
    ),
  };
}

function createCustomer(call: BraintreeCall): Answer {
  const legacyId = call.tools.digits(9);
  const id = globalOf("customer", legacyId);
  call.state.customers.set(id, legacyId);
  return json(200, { data: { createCustomer: { customer: { id, legacyId } } } });
}

const customerOf = (call: BraintreeCall, id: string) => call.state.customers.get(id) ?? notFound();

function notFound(): never {
  throw problem("NOT_FOUND", "An object with this ID was not found.");
}

/** A verification that fails stores nothing. */
function vault(call: BraintreeCall): Answer {
  const customerId = field(call, "customerId");
  if (customerId === "") throw problem("VALIDATION", "A customer is required here.", "91704", ["input", "customerId"]);
  customerOf(call, customerId);
  accountOf(call, "verification.merchantAccountId");
  const number = cardOf(call);
  const no = field(call, "verification.skip") === "true" ? null : call.decide(ISSUER, number);
  const { status, event } = judged(no);
  const legacyId = call.tools.id("", 7);
  const globalId = globalOf("paymentmethod_cc", legacyId);
  const card = no === null ? call.vault.keep(globalId, { number, legacyId, customerId }) : undefined;
  // The vault names no order: the ledger has what the sender wants echoed.
  const reference = call.maybe(`${INPUT}.clientMutationId`) ?? customerId;
  call.take({ id: legacyId, reference, kind: "token", no, card: number, details: { globalId, status, event, value: "0.00" } });
  const verification = {
    status: no === null ? "VERIFIED" : status,
    gatewayRejectionReason: event["gatewayRejectionReason"] ?? null,
    processorResponse: event["processorResponse"] ?? null,
  };
  const paymentMethod = card ? shownStored(call, card) : null;
  return json(200, { data: { vaultCreditCard: { paymentMethod, verification } } });
}

const shownStored = ({ state }: BraintreeCall, { id, legacyId, number, customerId }: Kept<Vaulted>) => ({
  id,
  legacyId,
  usage: "MULTI_USE",
  details: shownCard(number),
  customer: { id: customerId, legacyId: state.customers.get(customerId) },
});

function deleteCustomer(call: BraintreeCall): Answer {
  const id = field(call, "customerId");
  customerOf(call, id);
  for (const card of call.vault.all(({ customerId }) => customerId === id)) {
    call.vault.use(card.id);
    call.transactions.forget(card.legacyId);
  }
  call.state.customers.delete(id);
  return json(200, { data: { deleteCustomer: { clientMutationId: call.maybe(`${INPUT}.clientMutationId`) ?? null } } });
}

/** Voids before settlement, refunds after. */
function reverse(call: BraintreeCall): Answer {
  const id = field(call, "transactionId");
  const transaction = call.transactions.find(({ details }) => details.globalId === id) ?? notFound();
  const refundId = call.tools.id("", 8);
  if (call.transactions.void(transaction)) {
    const reversal = { __typename: "Transaction", id, legacyId: transaction.id, status: "VOIDED" };
    return json(200, { data: { reverseTransaction: { reversal } } });
  }
  const against = call.transactions.refund(transaction, { id: refundId });
  if (against !== null) throw problem("VALIDATION", "Transaction can not be reversed.", "91504", ["input", "transactionId"]);
  const reversal = { __typename: "Refund", id: globalOf("refund", refundId), legacyId: refundId, status: "SUBMITTED_FOR_SETTLEMENT" };
  return json(200, { data: { reverseTransaction: { reversal } } });
}

function search(call: BraintreeCall): Answer {
  const [is, start] = [call.maybe(`${INPUT}.orderId.is`), call.maybe(`${INPUT}.orderId.startsWith`)];
  const isMeant = ({ reference, details }: Transaction<Details>) =>
    details.value !== "0.00" && (is === undefined || reference === is) && (start === undefined || (reference ?? "").startsWith(start));
  const edges = call
    .lookUp(is ?? start ?? null, isMeant)
    .slice(0, 10)
    .map((transaction) => ({ node: shown(transaction) }));
  return json(200, { data: { search: { transactions: { edges } } } });
}

function readTransaction(call: BraintreeCall): Answer {
  const id = call.text("variables.id");
  const [found] = call.lookUp(null, ({ details }) => details.globalId === id);
  return json(200, { data: { node: found ? shown(found) : notFound() } });
}

function readCustomer(call: BraintreeCall): Answer {
  const id = call.text("variables.id");
  const cards = call.lookUpCards(id, ({ customerId }) => customerId === id);
  const edges = cards.map((card) => ({ node: shownStored(call, card) }));
  return json(200, { data: { node: { id, legacyId: customerOf(call, id), paymentMethods: { edges } } } });
}
