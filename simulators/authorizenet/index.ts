import { checkCredential, defineSimulator, flatten, plain, Refusal, textOf } from "../kit/index.ts";
import type { Incoming, Rule, Rules } from "../kit/index.ts";
import { ipv4, matching, oneOf, required, requiredWith, rule, under } from "../kit/rules.ts";
import { addPaymentProfile, createCustomerProfile, deleteCustomerProfile, getCustomerProfile } from "./profiles.ts";
import { getDetails, listBatch, listBatches, listUnsettled } from "./reports.ts";
import { answer, OK, refusal } from "./replies.ts";
import { createTransaction } from "./transactions.ts";
import type { Details, State } from "./transactions.ts";

/**
 * Authorize.Net API as the sheet describes it: one path, the method is the body's only member, the order of AnetApiSchema.xsd
 * counts, numbers are taken for text, everything is answered with status 200 and a byte order mark.
 */

const NAMESPACE = "AnetApi/xml/v1/schema/AnetApiSchema.xsd";

const text = (longest: number, shortest = 0): Rule =>
  rule((value) => {
    const isText = typeof value === "string" && value.isWellFormed() && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(value);
    const length = isText ? Array.from(value).length : -1;
    return length >= shortest && length <= longest ? null : ["length", `The actual length is not between ${shortest} and ${longest}.`];
  });
const texts = (names: string): Rules =>
  Object.fromEntries(
    names
      .split(", ")
      .map((entry) => entry.split(" "))
      .map(([name = "", longest]) => [name, text(Number(longest))]),
  );
const numeric = matching(/^[0-9]+$/, "numeric");
const flag = oneOf("true", "false");
const decimal = matching(/^[0-9]+(\.[0-9]{1,4})?$/, "a decimal");
const dateTime = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?$/, "a date and time");

const payment = (path: string): Rules => ({
  [`${path}.cardNumber`]: requiredWith(path, matching(/^[0-9X]{4,16}$/, "a card number")),
  [`${path}.expirationDate`]: requiredWith(path, text(7, 4)),
  [`${path}.cardCode`]: matching(/^[0-9]{3,4}$/, "a card code"),
});
const ADDRESS = texts(
  "firstName 50, lastName 50, company 50, address 60, city 40, state 40, zip 20, country 60, phoneNumber 25, faxNumber 25, email 255",
);
const EXTENDED_AMOUNT: Rules = { amount: decimal, name: text(31), description: text(255) };
const SETTING_NAMES =
  "emailCustomer merchantEmail allowPartialAuth headerEmailReceipt footerEmailReceipt recurringBilling duplicateWindow testRequest";
const TRANSACTION = under("transactionRequest", {
  transactionType: required(
    oneOf("authCaptureTransaction", "authOnlyTransaction", "priorAuthCaptureTransaction", "voidTransaction", "refundTransaction"),
  ),
  amount: decimal,
  currencyCode: text(3),
  ...payment("payment.creditCard"),
  "profile.customerProfileId": requiredWith("profile", numeric),
  "profile.paymentProfile.paymentProfileId": requiredWith("profile", numeric),
  ...under("solution", texts("id 50, name 255, vendorName 255")),
  ...texts("callId 255, terminalNumber 10"),
  ...texts("authCode 6, refTransId 20, splitTenderId 6"),
  ...under("order", texts("invoiceNumber 20, description 255")),
  ...under("lineItems.lineItem[*]", {
    itemId: text(31, 1),
    name: text(31, 1),
    description: text(255),
    quantity: decimal,
    unitPrice: decimal,
    taxable: flag,
  }),
  ...under("tax", EXTENDED_AMOUNT),
  ...under("duty", EXTENDED_AMOUNT),
  ...under("shipping", EXTENDED_AMOUNT),
  taxExempt: flag,
  poNumber: text(25),
  ...under("customer", { type: oneOf("individual", "business"), id: text(20), email: text(255) }),
  ...under("billTo", ADDRESS),
  ...under("shipTo", ADDRESS),
  customerIP: ipv4,
  "cardholderAuthentication.*": text(255),
  ...under("retail", texts("marketType 1, deviceType 2")),
  employeeId: text(4),
  ...under("transactionSettings.setting[*]", {
    settingName: required(oneOf(...SETTING_NAMES.split(" "))),
    settingValue: required(text(255)),
  }),
  ...under("userFields.userField[*]", texts("name 255, value 255")),
  ...texts("surcharge.* 255, merchantDescriptor 255, subMerchant.* 255, tip.* 255"),
  "processingOptions.*": flag,
  ...texts("subsequentAuthInformation.* 255, otherTax.* 255, shipFrom.* 255, authorizationIndicatorType.* 255"),
});
const paymentProfile = (path: string): Rules =>
  under(path, {
    customerType: oneOf("individual", "business"),
    ...under("billTo", ADDRESS),
    "payment.creditCard.cardNumber": required(matching(/^[0-9X]{4,16}$/, "a card number")),
    "payment.creditCard.expirationDate": required(text(7, 4)),
    "payment.creditCard.cardCode": matching(/^[0-9]{3,4}$/, "a card code"),
    defaultPaymentProfile: flag,
  });
const validationMode = oneOf("none", "testMode", "liveMode");
const LISTING: Rules = {
  "sorting.orderBy": requiredWith("sorting", oneOf("id", "submitTimeUTC")),
  "sorting.orderDescending": requiredWith("sorting", flag),
  "paging.limit": requiredWith("paging", matching(/^([1-9]\d{0,2}|1000)$/, "1 to 1000")),
  "paging.offset": requiredWith("paging", matching(/^[1-9]\d{0,5}$/, "1 to 100000")),
};
const AUTHENTICATION: Rules = {
  "merchantAuthentication.name": required(text(25)),
  "merchantAuthentication.transactionKey": required(text(16)),
  refId: text(20),
};

/** Members that are lists and may stand alone. */
const LISTS = ["setting", "paymentProfiles", "shipToList", "lineItem", "userField"];

export const simulator = defineSimulator<State, Details>({
  body: {
    types: ["application/json", "text/json"],
    read(bytes) {
      try {
        const body = JSON.parse(bytes.toString().replace(/^\ufeff/, ""), (name, value: unknown) => {
          if (typeof value === "number" || typeof value === "boolean") return String(value);
          return LISTS.includes(name) && typeof value === "object" && !Array.isArray(value) ? [value] : value;
        }) as unknown;
        const [member, ...more] = typeof body === "object" && body !== null && !Array.isArray(body) ? Object.values(body) : [];
        return typeof member === "object" && member !== null && more.length === 0 ? flatten(member) : null;
      } catch {
        return null;
      }
    },
  },
  isOrdered: true,
  operationOf: (_fields, { body }) => /^\ufeff?\s*\{\s*"([^"]*)"/.exec(body.toString())?.[1],
  authenticate,
  state: () => ({ profiles: new Map() }),
  endpoints: Object.fromEntries(
    (
      [
        ["authenticateTestRequest", {}, () => answer(OK)],
        ["createTransactionRequest", TRANSACTION, createTransaction],
        [
          "createCustomerProfileRequest",
          {
            ...under("profile", texts("merchantCustomerId 20, description 255, email 255")),
            ...paymentProfile("profile.paymentProfiles[*]"),
            ...under("profile.shipToList[*]", ADDRESS),
            validationMode,
          },
          createCustomerProfile,
        ],
        [
          "createCustomerPaymentProfileRequest",
          { customerProfileId: required(numeric), ...paymentProfile("paymentProfile"), validationMode },
          addPaymentProfile,
        ],
        ["getCustomerProfileRequest", { customerProfileId: numeric, merchantCustomerId: text(20), email: text(255) }, getCustomerProfile],
        ["deleteCustomerProfileRequest", { customerProfileId: required(numeric) }, deleteCustomerProfile],
        ["getTransactionDetailsRequest", { transId: required(numeric) }, getDetails],
        ["getUnsettledTransactionListRequest", { status: oneOf("any", "pendingApproval"), ...LISTING }, listUnsettled],
        [
          "getSettledBatchListRequest",
          { includeStatistics: flag, firstSettlementDate: dateTime, lastSettlementDate: dateTime },
          listBatches,
        ],
        ["getTransactionListRequest", { batchId: required(numeric), ...LISTING }, listBatch],
      ] as const
    ).map(([method, rules, run]) => [`POST /xml/v1/request.api ${method}`, { rules: { ...AUTHENTICATION, ...rules }, run }]),
  ),
  finish: ({ body, ...rest }, { fields }) => {
    if (typeof body === "string") return { ...rest, body };
    const refId = fields.has("refId") ? { refId: textOf(fields, "refId") } : {};
    const headers = { "content-type": "application/json; charset=utf-8" };
    return { ...rest, headers, body: `\ufeff${JSON.stringify({ ...refId, ...body })}` };
  },
  refuse: {
    malformed: (request) =>
      /json/.test(request.headers["content-type"] ?? "")
        ? refusal("E00003", "Root element is missing.")
        : refusal("E00002", "The content-type specified is not supported."),
    path: ({ operation, method }, isKnown) =>
      isKnown && method === "POST"
        ? refusal(
            "E00003",
            operation === undefined ? "Root element is missing." : `The '${NAMESPACE}:${operation}' element is not declared.`,
          )
        : new Refusal(plain(isKnown ? 405 : 404, "<h1>Server Error</h1>", "text/html"), "no such page"),
    field: ({ kind, field, words }, { operation = "" }) => {
      const names = [operation, ...field.replaceAll(/\[\d+\]/g, "").split(".")];
      const [parent = "", name = ""] = names.slice(-2);
      const place = `The element '${parent}' in namespace '${NAMESPACE}' has`;
      if (kind === "missing") return refusal("E00003", `${place} incomplete content. List of possible elements expected: '${name}'`);
      if (kind === "unknown" || kind === "order")
        return refusal("E00003", `${place} invalid child element '${name}' in namespace '${NAMESPACE}'.`);
      return refusal(
        "E00003",
        `The '${NAMESPACE}:${name}' element is invalid - The value XXX is invalid according to its datatype - ${words}`,
      );
    },
  },
});

function authenticate({ fields }: Incoming): string {
  const [name, key] = ["name", "transactionKey"].map((member) => textOf(fields, `merchantAuthentication.${member}`));
  const form = /^[A-Za-z0-9_-]+$/;
  const standings = [name, key].map((credential) => checkCredential(credential || "absent", form));
  if (standings.includes("wrong")) throw refusal("E00007", "User authentication failed due to invalid authentication values.");
  if (standings.includes("expired"))
    throw refusal("E00008", "User authentication failed. The payment gateway account or user is inactive.");
  return name ?? "";
}
