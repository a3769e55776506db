import { isIPv4 } from "node:net";
import { formatAmount } from "#src/kernel/money.ts";
import type { AttemptTrace, GatewayRequest, Order } from "../contract.ts";
import { Joined, describeSettings, jsonBody, shortReference, splitName } from "../kit/index.ts";
import type { JsonBody, SettingsOf } from "../kit/index.ts";

export const SETTINGS = describeSettings({
  hosts: { test: "https://apitest.authorize.net", live: "https://api.authorize.net" },
  credentials: {
    api_login_id: {
      secret: true,
      meaning: "API Login ID, Account > Settings > API Credentials & Keys; sandbox and live accounts have different ones",
    },
    transaction_key: {
      secret: true,
      meaning:
        "Transaction Key (16 characters), same page; a lost answer is looked up with the Transaction Details API, which must be enabled",
    },
    signature_key: { secret: true, optional: true, meaning: "Signature Key (128 hex digits), same page; not needed to charge" },
  },
  options: {
    capture: {
      values: ["auto", "authorize_only"],
      default: "auto",
      meaning: "auto takes the money at once; authorize_only holds it for a later capture by the merchant (payment-authorized)",
    },
    moto: {
      values: [true, false],
      default: true,
      meaning: "mark telephone payments as MOTO; false for accounts that are boarded for e-commerce alone",
    },
    validation: {
      values: ["liveMode", "testMode"],
      default: "liveMode",
      meaning: "how a card is checked before it is stored: liveMode asks the issuer, testMode checks the form alone",
    },
  },
});
export type Settings = SettingsOf<typeof SETTINGS>;

/** One path for everything: the method is the name of the body's only member. */
const PATH = "/xml/v1/request.api";
/** The gateway gives up on the card processor sooner than this and says so. */
const CHARGE_TIMEOUT_MS = 60_000;
const REPORT_TIMEOUT_MS = 20_000;
const REPORT_BYTES = 2 * 1024 * 1024;
/** Most that a page of a report can hold. */
export const PAGE = 1000;

/** What a request belongs to: an order, or what is left of one. */
export type Subject = Pick<AttemptTrace, "reference" | "mode" | "amountMinor" | "currency">;

/** The attempt's name at the vendor: `refId`, invoice number and customer id, none of which takes more than 20 characters. */
export function nameOf({ reference }: Pick<Subject, "reference">): string {
  return shortReference(reference, 20);
}

/**
 * A call in the schema's order of members: JSON is turned into XML and validated against the XSD, so a key out of order is
 * an error. `refId` comes back in the answer.
 */
function call(settings: Settings, subject: Subject, method: string, members: Readonly<Record<string, JsonBody | undefined>>) {
  const { api_login_id: name, transaction_key: transactionKey } = settings.credentials;
  return {
    method: "POST",
    url: `${settings.endpoint}${PATH}`,
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: jsonBody({ [method]: { merchantAuthentication: { name, transactionKey }, refId: nameOf(subject), ...members } }),
    timeoutMs: REPORT_TIMEOUT_MS,
  } satisfies GatewayRequest;
}

/** Text as XML 1.0 can carry it, cut on a code point; undefined when nothing is left. */
function text(value: string | null | undefined, longest: number): string | undefined {
  const clean = (value ?? "")
    .toWellFormed()
    .replace(/[\p{Cc}\uFFFE\uFFFF]+/gu, " ")
    .trim();
  return Array.from(clean).slice(0, longest).join("").trimEnd() || undefined;
}

/** The session's address, its names filled in with the collected one; without an address the caller's ZIP alone. */
function billTo({ billingAddress: address, card }: Order): JsonBody | undefined {
  const { first, last } = splitName(card.cardholderName ?? "");
  const fields = {
    firstName: text(address?.first_name, 50) ?? text(first, 50),
    lastName: text(address?.last_name, 50) ?? text(last, 50),
    address: text(address?.street, 60),
    city: text(address?.city, 40),
    state: text(address?.state, 40),
    zip: text(address?.zip, 20) ?? text(card.postalCode, 20),
    country: text(address?.country, 60),
  };
  return Object.values(fields).some((field) => field !== undefined) ? fields : undefined;
}

function payment({ card }: Order): JsonBody {
  return {
    creditCard: {
      cardNumber: card.number,
      expirationDate: new Joined(card.expYear, "-", card.expMonth),
      cardCode: card.cvv.length > 0 ? card.cvv : undefined,
    },
  };
}

const TRANSACTION_SETTINGS = {
  setting: [
    { settingName: "allowPartialAuth", settingValue: "false" },
    // Seconds in which the same card, amount and invoice number are refused as a duplicate instead of charged twice.
    { settingName: "duplicateWindow", settingValue: "120" },
    { settingName: "emailCustomer", settingValue: "false" },
  ],
};

/** True when the project holds money instead of taking it (docs/interface.md, States and transitions). */
export function authorizesOnly(settings: Settings): boolean {
  return settings.options.capture === "authorize_only";
}

/** Takes or holds the money. Telephone payments say so, unless the account is boarded for e-commerce alone. */
export function createTransaction(order: Order, settings: Settings): GatewayRequest {
  const request = call(settings, order, "createTransactionRequest", {
    transactionRequest: {
      transactionType: authorizesOnly(settings) ? "authOnlyTransaction" : "authCaptureTransaction",
      amount: formatAmount(order.amountMinor, order.currency),
      currencyCode: order.currency,
      payment: payment(order),
      order: { invoiceNumber: nameOf(order), description: text(order.description, 255) },
      billTo: billTo(order),
      customerIP: order.customerIp !== null && isIPv4(order.customerIp) ? order.customerIp : undefined,
      retail: order.channel === "voice" && settings.options.moto ? { marketType: "1" } : undefined,
      transactionSettings: TRANSACTION_SETTINGS,
    },
  });
  return { ...request, timeoutMs: CHARGE_TIMEOUT_MS };
}

/** Customer and payment profile in one call; with `liveMode` the issuer is asked first, and a refused card leaves nothing behind. */
export function createCustomerProfile(order: Order, settings: Settings): GatewayRequest {
  const request = call(settings, order, "createCustomerProfileRequest", {
    profile: {
      merchantCustomerId: nameOf(order),
      description: text(order.description, 255),
      paymentProfiles: [{ customerType: "individual", billTo: billTo(order), payment: payment(order) }],
    },
    validationMode: settings.options.validation === "testMode" ? "testMode" : "liveMode",
  });
  return { ...request, timeoutMs: CHARGE_TIMEOUT_MS };
}

export function getCustomerProfile(subject: Subject, settings: Settings): GatewayRequest {
  return call(settings, subject, "getCustomerProfileRequest", { merchantCustomerId: nameOf(subject) });
}

/** Removes the customer and with it the stored card. */
export function deleteCustomerProfile(subject: Subject, settings: Settings, customerProfileId: string): GatewayRequest {
  return call(settings, subject, "deleteCustomerProfileRequest", { customerProfileId });
}

/** Gives money back that is not settled yet. A second void of the same transaction is answered as the first. */
export function voidTransaction(subject: Subject, settings: Settings, transId: string): GatewayRequest {
  return call(settings, subject, "createTransactionRequest", {
    transactionRequest: { transactionType: "voidTransaction", refTransId: transId },
  });
}

export function getTransactionDetails(subject: Subject, settings: Settings, transId: string): GatewayRequest {
  return call(settings, subject, "getTransactionDetailsRequest", { transId });
}

function list(method: string, subject: Subject, settings: Settings, page: number, members: Record<string, string> = {}) {
  const request = call(settings, subject, method, {
    ...members,
    sorting: { orderBy: "submitTimeUTC", orderDescending: true },
    paging: { limit: String(PAGE), offset: String(page) },
  });
  return { ...request, maxBytes: REPORT_BYTES };
}

/** One page, from 1, newest first, of what is not settled; refused payments are among them. */
export function listUnsettled(subject: Subject, settings: Settings, page: number): GatewayRequest {
  return list("getUnsettledTransactionListRequest", subject, settings, page);
}

/** One page of a settled batch, newest first. */
export function listBatch(subject: Subject, settings: Settings, batchId: string, page: number): GatewayRequest {
  return list("getTransactionListRequest", subject, settings, page, { batchId });
}

/** Batches that were settled between two moments, ms since the epoch. */
export function listBatches(subject: Subject, settings: Settings, fromMs: number, toMs: number): GatewayRequest {
  const time = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
  const request = call(settings, subject, "getSettledBatchListRequest", {
    firstSettlementDate: time(fromMs),
    lastSettlementDate: time(toMs),
  });
  return { ...request, maxBytes: REPORT_BYTES };
}

/** What is wrong with the credentials by the schema's own lengths, or null. */
export function credentialFault({ credentials }: Settings): string | null {
  const fits = (name: "api_login_id" | "transaction_key", longest: number) => {
    const value = credentials[name].reveal();
    return value.length <= longest && /^[!-~]+$/.test(value);
  };
  if (!fits("api_login_id", 25)) return "api_login_id is not an API Login ID (at most 25 letters and digits)";
  return fits("transaction_key", 16) ? null : "transaction_key is not a Transaction Key (16 letters and digits)";
}
