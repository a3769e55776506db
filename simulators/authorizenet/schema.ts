/** The part of AnetApiSchema.xsd that this simulator speaks: order, lengths and values of every element. */

const NAMESPACE = "AnetApi/xml/v1/schema/AnetApiSchema.xsd";

export type Shape =
  | { kind: "value"; holds: (text: string) => boolean; why: string }
  | { kind: "sequence"; members: readonly Member[] }
  | { kind: "list"; item: Shape };
type Member = readonly [name: string, shape: Shape, required?: "required"];

const value = (why: string, holds: (text: string) => boolean): Shape => ({ kind: "value", holds, why });
const text = (longest: number, shortest = 0): Shape =>
  value(`The actual length is not between ${shortest} and ${longest}.`, (given) => {
    const { length } = Array.from(given);
    return length >= shortest && length <= longest && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(given) && given.isWellFormed();
  });
const pattern = (expression: RegExp): Shape => value("The Pattern constraint failed.", (given) => expression.test(given));
const oneOf = (...words: string[]): Shape => value("The Enumeration constraint failed.", (given) => words.includes(given));
const sequence = (...members: Member[]): Shape => ({ kind: "sequence", members });
const list = (item: Shape): Shape => ({ kind: "list", item });

const numeric = pattern(/^[0-9]+$/);
const trueOrFalse = oneOf("true", "false");
const decimal = pattern(/^[0-9]+(\.[0-9]{1,4})?$/);
const dateTime = pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?$/);

const creditCard = sequence(
  ["cardNumber", pattern(/^[0-9X]{4,16}$/), "required"],
  ["expirationDate", text(7, 4), "required"],
  ["cardCode", pattern(/^[0-9]{3,4}$/)],
);
const payment = sequence(["creditCard", creditCard, "required"]);
const address = sequence(
  ["firstName", text(50)],
  ["lastName", text(50)],
  ["company", text(50)],
  ["address", text(60)],
  ["city", text(40)],
  ["state", text(40)],
  ["zip", text(20)],
  ["country", text(60)],
  ["phoneNumber", text(25)],
  ["faxNumber", text(25)],
  ["email", text(255)],
);
const setting = sequence(
  [
    "settingName",
    oneOf(
      "emailCustomer",
      "merchantEmail",
      "allowPartialAuth",
      "headerEmailReceipt",
      "footerEmailReceipt",
      "recurringBilling",
      "duplicateWindow",
      "testRequest",
    ),
    "required",
  ],
  ["settingValue", text(255), "required"],
);
const transactionRequest = sequence(
  ["transactionType", text(64), "required"],
  ["amount", decimal],
  ["currencyCode", text(3)],
  ["payment", payment],
  [
    "profile",
    sequence(
      ["customerProfileId", numeric, "required"],
      ["paymentProfile", sequence(["paymentProfileId", numeric, "required"]), "required"],
    ),
  ],
  ["authCode", text(6)],
  ["refTransId", text(20)],
  ["order", sequence(["invoiceNumber", text(20)], ["description", text(255)])],
  ["poNumber", text(25)],
  ["customer", sequence(["type", oneOf("individual", "business")], ["id", text(20)], ["email", text(255)])],
  ["billTo", address],
  ["shipTo", address],
  ["customerIP", pattern(/^(\d{1,3}\.){3}\d{1,3}$/)],
  ["retail", sequence(["marketType", text(1)], ["deviceType", text(2)])],
  ["employeeId", text(4)],
  ["transactionSettings", sequence(["setting", list(setting)])],
);
const paymentProfile = sequence(
  ["customerType", oneOf("individual", "business")],
  ["billTo", address],
  ["payment", payment, "required"],
  ["defaultPaymentProfile", trueOrFalse],
);
const sorting: Member = [
  "sorting",
  sequence(["orderBy", oneOf("id", "submitTimeUTC"), "required"], ["orderDescending", trueOrFalse, "required"]),
];
const paging: Member = [
  "paging",
  sequence(["limit", pattern(/^([1-9]\d{0,2}|1000)$/), "required"], ["offset", pattern(/^[1-9]\d{0,5}$/), "required"]),
];

const method = (...members: Member[]): Shape =>
  sequence(
    ["merchantAuthentication", sequence(["name", text(25), "required"], ["transactionKey", text(16), "required"]), "required"],
    ["refId", text(20)],
    ...members,
  );

/** Every method by the name of its request. */
export const REQUESTS: Readonly<Record<string, Shape>> = {
  authenticateTestRequest: method(),
  createTransactionRequest: method(["transactionRequest", transactionRequest, "required"]),
  createCustomerProfileRequest: method(
    [
      "profile",
      sequence(
        ["merchantCustomerId", text(20)],
        ["description", text(255)],
        ["email", text(255)],
        ["paymentProfiles", list(paymentProfile)],
        ["shipToList", list(address)],
      ),
      "required",
    ],
    ["validationMode", oneOf("none", "testMode", "liveMode")],
  ),
  getCustomerProfileRequest: method(["customerProfileId", numeric], ["merchantCustomerId", text(20)], ["email", text(255)]),
  deleteCustomerProfileRequest: method(["customerProfileId", numeric, "required"]),
  getTransactionDetailsRequest: method(["transId", numeric, "required"]),
  getUnsettledTransactionListRequest: method(["status", oneOf("any", "pendingApproval")], sorting, paging),
  getSettledBatchListRequest: method(
    ["includeStatistics", trueOrFalse],
    ["firstSettlementDate", dateTime],
    ["lastSettlementDate", dateTime],
  ),
  getTransactionListRequest: method(["batchId", numeric], sorting, paging),
};

/** What the XSD validator says about a value, or null. */
export function faultIn(given: unknown, shape: Shape, name: string): string | null {
  if (shape.kind === "value") {
    const holds = typeof given === "string" && shape.holds(given);
    const prefix = `The '${NAMESPACE}:${name}' element is invalid - The value XXX is invalid according to its datatype`;
    return holds ? null : `${prefix} - ${shape.why}`;
  }
  if (shape.kind === "list") {
    const items: unknown[] = Array.isArray(given) ? given : [given];
    return items.map((item) => faultIn(item, shape.item, name)).find((fault) => fault !== null) ?? null;
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) return `The element '${name}' cannot contain text.`;
  const members = Object.entries(given);
  let next = 0;
  for (const [child, content] of members) {
    const at = shape.members.findIndex(([known], index) => index >= next && known === child);
    const skipped = shape.members.slice(next, at < 0 ? undefined : at).find(([, , required]) => required);
    if (at < 0 || skipped !== undefined) return invalidChild(name, child, shape.members.slice(next));
    const fault = faultIn(content, shape.members[at]![1], child);
    if (fault !== null) return fault;
    next = at + 1;
  }
  const missing = shape.members.slice(next).find(([, , required]) => required);
  return missing
    ? `The element '${name}' in namespace '${NAMESPACE}' has incomplete content. List of possible elements expected: '${missing[0]}'`
    : null;
}

function invalidChild(parent: string, child: string, expected: readonly Member[]): string {
  const names = expected.map(([known]) => known).join(", ");
  return `The element '${parent}' in namespace '${NAMESPACE}' has invalid child element '${child}' in namespace '${NAMESPACE}'. List of possible elements expected: '${names}' in namespace '${NAMESPACE}'.`;
}
