import type { Approved, GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://apitest.authorize.net", live: "https://api.authorize.net" },
  credentials: {
    api_login_id: kit.secret("API Login ID, Account > Settings > API Credentials & Keys; sandbox and live accounts have different ones", {
      form: [/^[!-~]{1,25}$/, "an API Login ID (at most 25 letters and digits)"],
    }),
    transaction_key: kit.secret(
      "Transaction Key (16 characters), same page; a lost answer is looked up with the Transaction Details API, which must be enabled",
      { form: [/^[!-~]{1,16}$/, "a Transaction Key (16 letters and digits)"] },
    ),
    signature_key: kit.secret("Signature Key (128 hex digits), same page; not needed to charge", { optional: true }),
  },
  options: {
    capture: kit.oneOf(
      ["auto", "authorize_only"],
      "auto takes the money at once; authorize_only holds it for a later capture by the merchant (payment-authorized)",
    ),
    moto: kit.flag(true, "mark telephone payments as MOTO; false for accounts that are boarded for e-commerce alone"),
    validation: kit.oneOf(
      ["liveMode", "testMode"],
      "how a card is checked before it is stored: liveMode asks the issuer, testMode checks the form alone",
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** One path for everything: the method is the name of the body's only member. */
const PATH = "/xml/v1/request.api";
/** The gateway gives up on the card processor sooner than this and says so. */
const CHARGE_TIMEOUT_MS = 60_000;
const REPORT_TIMEOUT_MS = 20_000;
const REPORT_BYTES = 2 * 1024 * 1024;
/** Most that a page of a report can hold. */
export const PAGE = 1000;

/** The attempt's name at the vendor: `refId`, invoice number and customer id, none of which takes more than 20 characters. */
export const nameOf = ({ reference }: Pick<Subject, "reference">) => kit.shortReference(reference, 20);

/**
 * A call in the schema's order of members: JSON is turned into XML and validated against the XSD, so a key out of order is
 * an error. `refId` comes back in the answer.
 */
function call(
  settings: Settings,
  subject: Subject,
  method: string,
  members: Readonly<Record<string, kit.JsonBody | undefined>>,
  timeoutMs = REPORT_TIMEOUT_MS,
): GatewayRequest {
  const { api_login_id: name, transaction_key: transactionKey } = settings.credentials;
  const body = { [method]: { merchantAuthentication: { name, transactionKey }, refId: nameOf(subject), ...members } };
  return kit.postJson(settings.endpoint + PATH, body, {}, timeoutMs);
}

const text = (value: string | null, longest: number) => kit.optionalText(kit.unicodeText, value, longest);

/** The session's address, its names filled in with the collected one; without an address the caller's ZIP alone. */
function billTo(order: Order): kit.JsonBody | undefined {
  const limits = { firstName: 50, lastName: 50, street: 60, city: 40, state: 40, zip: 20, country: 60 };
  const { firstName, lastName, street: address, city, state, zip, country } = kit.holderOf(order, kit.unicodeText, limits);
  const fields = { firstName, lastName, address, city, state, zip, country };
  return Object.values(fields).some((field) => field !== undefined) ? fields : undefined;
}

const payment = ({ card }: Order): kit.JsonBody => ({
  creditCard: { cardNumber: card.number, expirationDate: kit.expiry(card, "YYYY-MM"), cardCode: kit.securityCode(card) },
});

const TRANSACTION_SETTINGS = {
  setting: [
    { settingName: "allowPartialAuth", settingValue: "false" },
    // Seconds in which the same card, amount and invoice number are refused as a duplicate instead of charged twice.
    { settingName: "duplicateWindow", settingValue: "120" },
    { settingName: "emailCustomer", settingValue: "false" },
  ],
};

/** Whether the project takes money or holds it (docs/interface.md, States and transitions). */
export const captureOf = ({ options }: Settings): Approved["capture"] => (options.capture === "authorize_only" ? "authorized" : "captured");

/** Takes or holds the money. Telephone payments say so, unless the account is boarded for e-commerce alone. */
export function createTransaction(order: Order, settings: Settings): GatewayRequest {
  const transactionRequest = {
    transactionType: captureOf(settings) === "authorized" ? "authOnlyTransaction" : "authCaptureTransaction",
    amount: kit.unrefused(kit.twoPlaces(order)),
    currencyCode: order.currency,
    payment: payment(order),
    order: { invoiceNumber: nameOf(order), description: text(order.description, 255) },
    billTo: billTo(order),
    customerIP: kit.ipv4Of(order),
    retail: kit.isMoto(order, settings) ? { marketType: "1" } : undefined,
    transactionSettings: TRANSACTION_SETTINGS,
  };
  return call(settings, order, "createTransactionRequest", { transactionRequest }, CHARGE_TIMEOUT_MS);
}

/** Customer and payment profile in one call; with `liveMode` the issuer is asked first, and a refused card leaves nothing behind. */
export function createCustomerProfile(order: Order, settings: Settings): GatewayRequest {
  const profile = {
    merchantCustomerId: nameOf(order),
    description: text(order.description, 255),
    paymentProfiles: [{ customerType: "individual", billTo: billTo(order), payment: payment(order) }],
  };
  const members = { profile, validationMode: settings.options.validation };
  return call(settings, order, "createCustomerProfileRequest", members, CHARGE_TIMEOUT_MS);
}

export const getCustomerProfile = (subject: Subject, settings: Settings) =>
  call(settings, subject, "getCustomerProfileRequest", { merchantCustomerId: nameOf(subject) });

/** Removes the customer and with it the stored card. */
export const deleteCustomerProfile = (subject: Subject, settings: Settings, customerProfileId: string) =>
  call(settings, subject, "deleteCustomerProfileRequest", { customerProfileId });

/** Releases money that is not settled yet. A second void of the same transaction is answered as the first. */
export const voidTransaction = (subject: Subject, settings: Settings, refTransId: string) =>
  call(settings, subject, "createTransactionRequest", { transactionRequest: { transactionType: "voidTransaction", refTransId } });

/** Gives back the whole of what is settled; `lastFour` are the digits that reports show of the card. */
export const refundTransaction = (subject: Subject, settings: Settings, refTransId: string, lastFour: string) =>
  call(settings, subject, "createTransactionRequest", {
    transactionRequest: {
      transactionType: "refundTransaction",
      amount: kit.unrefused(kit.twoPlaces(subject)),
      payment: { creditCard: { cardNumber: lastFour, expirationDate: "XXXX" } },
      refTransId,
    },
  });

export const getTransactionDetails = (subject: Subject, settings: Settings, transId: string) =>
  call(settings, subject, "getTransactionDetailsRequest", { transId });

const report = (request: GatewayRequest): GatewayRequest => ({ ...request, maxBytes: REPORT_BYTES });

/** One page, from 1, newest first, of a settled batch, or of what is not settled; refused payments are among them. */
export function listTransactions(subject: Subject, settings: Settings, page: number, batchId?: string): GatewayRequest {
  const method = batchId === undefined ? "getUnsettledTransactionListRequest" : "getTransactionListRequest";
  const sorting = { orderBy: "submitTimeUTC", orderDescending: true };
  return report(call(settings, subject, method, { batchId, sorting, paging: { limit: String(PAGE), offset: String(page) } }));
}

/** Batches that were settled between two moments, ms since the epoch; without these of the last 24 hours by the vendor's own clock. */
export function listBatches(subject: Subject, settings: Settings, ...between: number[]): GatewayRequest {
  const [firstSettlementDate, lastSettlementDate] = between.map((ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z"));
  return report(call(settings, subject, "getSettledBatchListRequest", { firstSettlementDate, lastSettlementDate }));
}
