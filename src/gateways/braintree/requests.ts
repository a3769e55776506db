import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://payments.sandbox.braintree-api.com", live: "https://payments.braintree-api.com" },
  credentials: {
    merchant_id: kit.plainText("merchant id, Settings > API; not sent, kept for support"),
    public_key: kit.plainText("public key, Settings > API"),
    private_key: kit.secret("private key, Settings > API; not a client token or tokenization key"),
    merchant_account_id: kit.plainText(
      "merchant account that takes the payment; it decides the currency. Needed where it is not the default account's",
      { optional: true },
    ),
  },
  options: {
    moto: kit.flag(true, "mark telephone payments as MOTO (paymentInitiator)"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** Behaviour changes by date; the one that the vendor's guides are written for. */
const VERSION = "2019-01-01";
const TIMEOUT_MS = 60_000;

/** One GraphQL operation on the vendor's one address. */
function graphql({ endpoint, credentials }: Settings, query: string, variables: kit.JsonBody): GatewayRequest {
  const headers = {
    Authorization: kit.basicAuth(credentials.public_key, credentials.private_key),
    "Braintree-Version": VERSION,
    "Content-Type": "application/json",
    Accept: "application/json",
  };
  return kit.request("POST", `${endpoint}/graphql`, headers, kit.jsonBody({ query, variables }), TIMEOUT_MS);
}

const PROCESSOR = "processorResponse { legacyCode message cvvResponse avsPostalCodeResponse avsStreetAddressResponse }";
/** All that decides what became of a payment. */
const TRANSACTION =
  "id legacyId status orderId amount { value currencyCode } refunds { status amount { value } } statusHistory { __typename status " +
  `... on AuthorizedEvent { ${PROCESSOR} } ... on ProcessorDeclinedEvent { ${PROCESSOR} } ` +
  `... on GatewayRejectedEvent { gatewayRejectionReason ${PROCESSOR} duplicateOf { id legacyId orderId } } ` +
  "... on FailedEvent { processorResponse { legacyCode message } } }";
const STORED = "id legacyId customer { id legacyId }";

const TOKENIZE = "mutation T($input: TokenizeCreditCardInput!) { tokenizeCreditCard(input: $input) { paymentMethod { id usage } } }";
const CHARGE = `mutation C($input: ChargeCreditCardInput!) { chargeCreditCard(input: $input) { transaction { ${TRANSACTION} } } }`;
const CUSTOMER = "mutation K($input: CreateCustomerInput) { createCustomer(input: $input) { customer { id legacyId } } }";
const VAULT =
  `mutation V($input: VaultCreditCardInput!) { vaultCreditCard(input: $input) { paymentMethod { ${STORED} } ` +
  `verification { status gatewayRejectionReason ${PROCESSOR} } } }`;
const READ = `query N($id: ID!) { node(id: $id) { ... on Transaction { ${TRANSACTION} } } }`;
const SEARCH =
  "query S($input: TransactionSearchInput!) { search { transactions(input: $input, first: 10) { edges { node " +
  `{ ${TRANSACTION} } } } } }`;
const CARDS_OF = `query P($id: ID!) { node(id: $id) { ... on Customer { id legacyId paymentMethods(first: 10) { edges { node { ${STORED} } } } } } }`;
const REVERSE =
  "mutation R($input: ReverseTransactionInput!) { reverseTransaction(input: $input) { reversal { __typename " +
  "... on Transaction { id legacyId status } ... on Refund { id legacyId status } } } }";
const DELETE_CUSTOMER = "mutation D($input: DeleteCustomerInput!) { deleteCustomer(input: $input) { clientMutationId } }";

/** Major units with the currency's own places: "49.95", "500"; the vendor takes none, two or three. */
const braintreeAmount = (subject: Pick<Subject, "amountMinor" | "currency">): string => kit.decimalAmount(subject) ?? "";

/** The card becomes an id that pays or is stored once. No money moves and no issuer is asked. */
export function tokenizeCard(order: Order, settings: Settings): GatewayRequest {
  const { number, expMonth, expYear, cardholderName } = order.card;
  const { zip, firstName, lastName } = kit.holderOf(order, kit.unicodeText, { zip: 12, firstName: 255, lastName: 255 });
  // At most nine letters and digits; blanks and hyphens between them do not count.
  const address = { postalCode: zip?.replace(/[^A-Za-z0-9 -]/g, "") || undefined, firstName, lastName };
  return graphql(settings, TOKENIZE, {
    input: {
      creditCard: {
        number,
        expirationMonth: expMonth,
        expirationYear: expYear,
        cvv: kit.securityCode(order.card),
        cardholderName: kit.optionalText(kit.unicodeText, cardholderName, 175),
        ...(Object.values(address).some(Boolean) && { billingAddress: address }),
      },
      options: { validate: true },
    },
  });
}

const account = ({ credentials: { merchant_account_id: id } }: Settings) => (id ? { merchantAccountId: id.reveal() } : {});

/** Takes the money at once. The request names no currency: the merchant account has one. */
export const charge = (order: Order, settings: Settings, paymentMethodId: string): GatewayRequest =>
  graphql(settings, CHARGE, {
    input: {
      paymentMethodId,
      transaction: {
        amount: braintreeAmount(order),
        orderId: order.reference,
        ...account(settings),
        ...(kit.isMoto(order, settings) && { paymentInitiator: "MOTO" }),
        ...(order.customerIp !== null && { riskData: { customerIp: order.customerIp } }),
      },
    },
  });

export function createCustomer(order: Order, settings: Settings): GatewayRequest {
  const { first, last } = kit.splitName(kit.unicodeText(order.card.cardholderName ?? "", 255));
  return graphql(settings, CUSTOMER, { input: { customer: { firstName: first || undefined, lastName: last || undefined } } });
}

/** Verifies the card with its issuer and stores it; a card that fails is not stored. */
export const vault = (order: Order, settings: Settings, paymentMethodId: string, customerId: string): GatewayRequest =>
  graphql(settings, VAULT, {
    input: { clientMutationId: order.reference, paymentMethodId, customerId, verification: { ...account(settings), skip: false } },
  });

export const readTransaction = (settings: Settings, id: string): GatewayRequest => graphql(settings, READ, { id });

export const searchByOrder = (subject: Subject, settings: Settings): GatewayRequest =>
  graphql(settings, SEARCH, { input: { orderId: { is: subject.reference } } });

export const cardsOfCustomer = (settings: Settings, customerId: string): GatewayRequest => graphql(settings, CARDS_OF, { id: customerId });

/** Voids before settlement, refunds after. */
export const reverse = (settings: Settings, transactionId: string): GatewayRequest =>
  graphql(settings, REVERSE, { input: { transactionId } });

/** Removes a customer with every card of it. */
export const deleteCustomer = (settings: Settings, customerId: string): GatewayRequest =>
  graphql(settings, DELETE_CUSTOMER, { input: { customerId } });

/** What is wrong with the settings, or null. */
export function settingsFault({ credentials }: Settings): string | null {
  if (!/^[0-9A-Za-z]{1,64}$/.test(credentials.public_key.reveal())) return "public_key has other characters than letters and digits";
  const key = credentials.private_key.reveal();
  if (/^(sandbox|production)_/.test(key)) return "private_key holds a tokenization key, which may only tokenize";
  return /^[0-9A-Za-z]{1,64}$/.test(key) ? null : "private_key is not a private key: a client token may only tokenize";
}
