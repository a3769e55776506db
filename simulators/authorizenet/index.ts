import { checkCredential, defineSimulator, flatten, plain, Refusal, rule, rules, textOf } from "../kit/index.ts";
import type { Answer, Call, Incoming, Rule, Rules } from "../kit/index.ts";
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
const SETTING_NAMES =
  "emailCustomer|merchantEmail|allowPartialAuth|headerEmailReceipt|footerEmailReceipt|recurringBilling|duplicateWindow|testRequest";
const NUMERIC = "digits 1-99";
const FLAG = "is true|false";
const DECIMAL = String.raw`/[0-9]+(\.[0-9]{1,4})?/`;
const CARD = rules`cardNumber! [0-9X] 4-16, expirationDate! ${text(7, 4)}, cardCode digits 3-4`;
const ADDRESS = rules`
  firstName/lastName/company ${text(50)}, address ${text(60)}, city/state ${text(40)}, zip ${text(20)}, country ${text(60)}
  phoneNumber/faxNumber ${text(25)}, email ${text(255)}
`;
const EXTENDED_AMOUNT = rules`amount ${DECIMAL}, name ${text(31)}, description ${text(255)}`;
/** The members of a transaction in the schema's order. */
const MEMBERS = rules`
  transactionType! is authCaptureTransaction|authOnlyTransaction|priorAuthCaptureTransaction|voidTransaction|refundTransaction
  amount ${DECIMAL}, currencyCode ${text(3)}
  payment.creditCard?: ${CARD}
  profile?: customerProfileId/paymentProfile.paymentProfileId! ${NUMERIC}
  solution: id ${text(50)}, name/vendorName ${text(255)}
  callId ${text(255)}, terminalNumber ${text(10)}, authCode ${text(6)}, refTransId ${text(20)}, splitTenderId ${text(6)}
  order: invoiceNumber ${text(20)}, description ${text(255)}
  lineItems.lineItem[*]: itemId/name ${text(31, 1)}, description ${text(255)}, quantity/unitPrice ${DECIMAL}, taxable ${FLAG}
  tax: ${EXTENDED_AMOUNT}
  duty: ${EXTENDED_AMOUNT}
  shipping: ${EXTENDED_AMOUNT}
  taxExempt ${FLAG}, poNumber ${text(25)}
  customer: type is individual|business, id ${text(20)}, email ${text(255)}
  billTo: ${ADDRESS}
  shipTo: ${ADDRESS}
  customerIP ipv4, cardholderAuthentication.* ${text(255)}
  retail: marketType ${text(1)}, deviceType ${text(2)}
  employeeId ${text(4)}
  transactionSettings.setting[*]: settingName! is ${SETTING_NAMES}, settingValue! ${text(255)}
  userFields.userField[*]: name/value ${text(255)}
  surcharge.*/merchantDescriptor/subMerchant.*/tip.* ${text(255)}, processingOptions.* ${FLAG}
  subsequentAuthInformation.*/otherTax.*/shipFrom.*/authorizationIndicatorType.* ${text(255)}
`;
const TRANSACTION = rules`transactionRequest: ${MEMBERS}`;
const PAYMENT_PROFILE = rules`
  customerType is individual|business
  billTo: ${ADDRESS}
  payment.creditCard: ${CARD}
  defaultPaymentProfile ${FLAG}
`;
const MODE = "is none|testMode|liveMode";
const CUSTOMER_PROFILE = rules`
  profile: merchantCustomerId ${text(20)}, description/email ${text(255)}
  profile.paymentProfiles[*]: ${PAYMENT_PROFILE}
  profile.shipToList[*]: ${ADDRESS}
  validationMode ${MODE}
`;
const ADDED_PROFILE = rules`
  customerProfileId! ${NUMERIC}
  paymentProfile: ${PAYMENT_PROFILE}
  validationMode ${MODE}
`;
const FOUND_PROFILE = rules`customerProfileId ${NUMERIC}, merchantCustomerId ${text(20)}, email ${text(255)}`;
const LISTING = rules`
  sorting?: orderBy! is id|submitTimeUTC, orderDescending! ${FLAG}
  paging?: limit! countText 1-1000, offset! countText 1-100000
`;
const UNSETTLED = rules`status is any|pendingApproval, ${LISTING}`;
const BATCHES = rules`includeStatistics ${FLAG}, firstSettlementDate/lastSettlementDate /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?/`;
const AUTHENTICATION = rules`
  merchantAuthentication: name! ${text(25)}, transactionKey! ${text(16)}
  refId ${text(20)}
`;
const endpoint = (method: string, table: Rules, run: (call: Call<State, Details>) => Answer) =>
  [`POST /xml/v1/request.api ${method}`, { rules: rules`${AUTHENTICATION}, ${table}`, run }] as const;

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
  endpoints: Object.fromEntries([
    endpoint("authenticateTestRequest", {}, () => answer(OK)),
    endpoint("createTransactionRequest", TRANSACTION, createTransaction),
    endpoint("createCustomerProfileRequest", CUSTOMER_PROFILE, createCustomerProfile),
    endpoint("createCustomerPaymentProfileRequest", ADDED_PROFILE, addPaymentProfile),
    endpoint("getCustomerProfileRequest", FOUND_PROFILE, getCustomerProfile),
    endpoint("deleteCustomerProfileRequest", rules`customerProfileId! ${NUMERIC}`, deleteCustomerProfile),
    endpoint("getTransactionDetailsRequest", rules`transId! ${NUMERIC}`, getDetails),
    endpoint("getUnsettledTransactionListRequest", UNSETTLED, listUnsettled),
    endpoint("getSettledBatchListRequest", BATCHES, listBatches),
    endpoint("getTransactionListRequest", rules`batchId! ${NUMERIC}, ${LISTING}`, listBatch),
  ]),
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
