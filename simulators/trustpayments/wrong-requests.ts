import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const ALIAS = "webservices@merchant.com";
const SITE = "test_site12345";

/** The sheet's worked example of a sale. */
export const SALE = {
  sitereference: SITE,
  accounttypedescription: "MOTO",
  currencyiso3a: "GBP",
  baseamount: "2500",
  orderreference: "ps4f0c6f0e8d3b4d2a9c1e5a",
  requestreference: "A4f0c6f0e",
  pan: "4111111111111111",
  expirydate: "09/2060",
  securitycode: "123",
  billingfirstname: "Jane",
  billinglastname: "Smith",
  billingpostcode: "TR45 6ST",
  settlestatus: "0",
  credentialsonfile: "0",
};
const { settlestatus: _, requestreference: __, ...CHECKED } = SALE;

export const post = (type: string, request: object): Sent => ({
  at: "POST /json/",
  headers: { Authorization: basicOf(ALIAS, "Passw0rd1^"), "Content-Type": "application/json;charset=utf-8" },
  body: structuredClone({ alias: ALIAS, version: "1.00", request: [{ requesttypedescriptions: [type], ...request }] }),
});
export const sale = (more: object = {}): Sent => post("AUTH", { ...SALE, ...more });
export const check = (more: object = {}): Sent => post("ACCOUNTCHECK", { ...CHECKED, baseamount: "0", credentialsonfile: "1", ...more });
export const later = (parenttransactionreference: string, more: object = {}): Sent => {
  const { sitereference, currencyiso3a, baseamount } = SALE;
  return post("AUTH", {
    sitereference,
    accounttypedescription: "ECOM",
    currencyiso3a,
    baseamount,
    credentialsonfile: "2",
    parenttransactionreference,
    ...more,
  });
};
export const referenceOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.response[0].transactionreference;
const isValue = (value: string) => [{ value }];
export const query = (orderreference: string): Sent =>
  post("TRANSACTIONQUERY", { filter: { sitereference: isValue(SITE), orderreference: isValue(orderreference) } });
export const update = (reference: string, settlestatus: string): Sent =>
  post("TRANSACTIONUPDATE", {
    filter: { sitereference: isValue(SITE), transactionreference: isValue(reference) },
    updates: { settlestatus },
  });
const IN = "request[0]";

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => {
    if (status !== 200) return String(status);
    const { errorcode, errordata } = json.response[0];
    return errorcode === "0" ? null : [errorcode, ...(errordata ?? [])].join(" ");
  },
  requests: {
    "a sale": () => sale(),
    "a sale in the widget": () => sale({ accounttypedescription: "ECOM", customerip: "203.0.113.7" }),
    "a sale with month and year": () => sale({ expirydate: undefined, expirymonth: "09", expiryyear: "2060" }),
    "a check": () => check(),
    "a later sale": async (send) => later(await referenceOf(send, check())),
    "a later sale of a subscription": async (send) =>
      later(await referenceOf(send, check()), { accounttypedescription: "RECUR", subscriptiontype: "RECURRING", subscriptionnumber: "2" }),
    "a query": () => query(SALE.orderreference),
    "a cancellation": async (send) => update(await referenceOf(send, sale()), "3"),
    "a release": async (send) => update(await referenceOf(send, sale({ settlestatus: "2" })), "0"),
    "a refund": async (send) =>
      post("REFUND", { sitereference: SITE, parenttransactionreference: await referenceOf(send, sale()), baseamount: "2500" }),
    "a reversal": async (send) => {
      const reference = await referenceOf(send, sale());
      await send(update(reference, "3"));
      return post("REVERSAL", { sitereference: SITE, parenttransactionreference: reference });
    },
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401"],
    ["a sale", { "header:Authorization": basicOf(ALIAS, "wrong-password") }, "401"],
    ["a sale", { "header:Authorization": basicOf(ALIAS, "short") }, "401"],
    ["a sale", { "header:Authorization": basicOf("other@merchant.com", "Passw0rd1^") }, "30008 alias"],
    ["a sale", { alias: "other@merchant.com" }, "30008 alias"],
    ["a sale", { alias: undefined }, "30000 alias"],
    ["a sale", { version: "1.0" }, "30000 version"],
    ["a sale", { version: undefined }, "30000 version"],
    ["a sale", { "header:Content-Type": "text/plain" }, "400"],
    ["a sale", { body: "{" }, "10205"],
    ["a sale", { path: "/json" }, "404"],
    ["a sale", { method: "PUT" }, "60018 BADREQUEST"],
    ["a sale", { [`${IN}.requesttypedescriptions[0]`]: "SALE" }, "60018 BADREQUEST"],
    ["a sale", { [`${IN}.requesttypedescriptions`]: undefined }, "60018 BADREQUEST"],
    ["a sale", { [`${IN}.requesttypedescription`]: "AUTH" }, "60040 requesttypedescription"],
    ["a sale", { [`${IN}.sitereference`]: undefined }, "30000 sitereference"],
    ["a sale", { [`${IN}.sitereference`]: "test-site" }, "30000 sitereference"],
    ["a sale", { [`${IN}.sitereference`]: "test_wrong" }, "30001 sitereference"],
    ["a sale", { [`${IN}.sitereference`]: "test_site_ecom" }, "60028 accounttypedescription"],
    ["a sale", { [`${IN}.sitereference`]: "site12345" }, "70000"],
    ["a sale", { [`${IN}.accounttypedescription`]: undefined }, "30000 accounttypedescription"],
    ["a sale", { [`${IN}.accounttypedescription`]: "moto" }, "30000 accounttypedescription"],
    ["a sale", { [`${IN}.accounttypedescription`]: "RECUR" }, "30000 subscriptiontype"],
    ["a sale", { [`${IN}.currencyiso3a`]: "GBX" }, "30000 currencyiso3a"],
    ["a sale", { [`${IN}.currencyiso3a`]: undefined }, "30000 currencyiso3a"],
    ["a sale", { [`${IN}.baseamount`]: 2500 }, "30000 baseamount"],
    ["a sale", { [`${IN}.baseamount`]: "25.00" }, "30000 baseamount"],
    ["a sale", { [`${IN}.baseamount`]: "12345678901234" }, "30000 baseamount"],
    ["a sale", { [`${IN}.baseamount`]: "0" }, "30000 baseamount"],
    ["a sale", { [`${IN}.baseamount`]: undefined }, "30000 baseamount"],
    ["a sale", { [`${IN}.baseamount`]: "60010" }, "60010"],
    ["a sale", { [`${IN}.baseamount`]: "70000" }, "70000"],
    ["a sale", { [`${IN}.orderreference`]: "x".repeat(26) }, "30000 orderreference"],
    ["a sale", { [`${IN}.pan`]: undefined }, "30000 pan"],
    ["a sale", { [`${IN}.pan`]: "4111 1111 1111 1111" }, "30000 pan"],
    ["a sale", { [`${IN}.pan`]: "4111111111111112" }, "30000 pan"],
    ["a sale", { [`${IN}.pan`]: "4000000000000812" }, "70000"],
    ["a sale", { [`${IN}.pan`]: "4000000000000119" }, "79001"],
    ["a sale", { [`${IN}.expirydate`]: undefined }, "30000 expirydate"],
    ["a sale", { [`${IN}.expirydate`]: "09/60" }, "30000 expirydate"],
    ["a sale", { [`${IN}.expirydate`]: "13/2060" }, "30000 expirydate"],
    ["a sale", { [`${IN}.expirydate`]: "09/2020" }, "30000 expirydate"],
    ["a sale", { [`${IN}.securitycode`]: 123 }, "30000 securitycode"],
    ["a sale", { [`${IN}.securitycode`]: "1234" }, "30000 securitycode"],
    ["a sale", { [`${IN}.securitycode`]: "" }, "30000 securitycode"],
    ["a sale", { [`${IN}.paymenttypedescription`]: "visa" }, "10103 paymenttypedescription"],
    ["a sale", { [`${IN}.paymenttypedescription`]: "AMEX" }, "31007 paymenttypedescription"],
    ["a sale", { [`${IN}.billingcountryiso2a`]: "GBR" }, "30000 billingcountryiso2a"],
    ["a sale", { [`${IN}.billingcountryiso2a`]: "US", [`${IN}.billingcounty`]: "Texas" }, "30000 billingcounty"],
    ["a sale", { [`${IN}.billingpostcode`]: "" }, "30000 billingpostcode"],
    ["a sale", { [`${IN}.billingemail`]: "jane" }, "30000 billingemail"],
    ["a sale", { [`${IN}.settlestatus`]: "3" }, "30000 settlestatus"],
    ["a sale", { [`${IN}.credentialsonfile`]: true }, "30000 credentialsonfile"],
    ["a sale", { [`${IN}.description`]: "Order 1234" }, "30000 description"],
    ["a sale", { [`${IN}.parenttransactionreference`]: "57-9-123456" }, /^30000 (pan|expirydate|securitycode)$/],
    ["a sale in the widget", { [`${IN}.customerip`]: "203.0.113" }, "30000 customerip"],
    ["a sale in the widget", { [`${IN}.pan`]: "6759649826438453" }, "30004"],
    ["a sale with month and year", { [`${IN}.expiryyear`]: undefined }, "30000 expiryyear"],
    ["a sale with month and year", { [`${IN}.expirymonth`]: "9" }, "30000 expirymonth"],
    ["a check", { [`${IN}.pan`]: "4000000000009995" }, "70000"],
    ["a check", { [`${IN}.expirydate`]: "9/2060" }, "30000 expirydate"],
    ["a later sale", { [`${IN}.parenttransactionreference`]: "57-9-000000" }, "30000 parenttransactionreference"],
    ["a later sale", { [`${IN}.parenttransactionreference`]: "123457" }, "30000 parenttransactionreference"],
    ["a later sale", { [`${IN}.credentialsonfile`]: "1" }, "30000 credentialsonfile"],
    ["a later sale", { [`${IN}.credentialsonfile`]: undefined }, "30000 credentialsonfile"],
    ["a later sale", { [`${IN}.pan`]: "4111111111111111" }, "30000 pan"],
    ["a later sale", { [`${IN}.sitereference`]: "test_other" }, "30000 parenttransactionreference"],
    ["a later sale of a subscription", { [`${IN}.subscriptionnumber`]: undefined }, "30000 subscriptionnumber"],
    ["a query", { [`${IN}.filter`]: undefined }, "60019"],
    ["a query", { [`${IN}.filter.sitereference`]: undefined }, "60019"],
    ["a query", { [`${IN}.filter.orderreference`]: SALE.orderreference }, "30000 filter.orderreference"],
    ["a query", { [`${IN}.filter.pan`]: [{ value: "4111111111111111" }] }, "30000 filter.pan[0].value"],
    ["a cancellation", { [`${IN}.updates.settlestatus`]: "4" }, "30000 updates.settlestatus"],
    ["a cancellation", { [`${IN}.updates`]: undefined }, "30000 updates.settlestatus"],
    ["a cancellation", { [`${IN}.filter.transactionreference`]: undefined }, "60019"],
    ["a cancellation", { [`${IN}.filter.transactionreference[0].value`]: "57-9-000000" }, "30000 transactionreference"],
    ["a release", { [`${IN}.filter.sitereference[0].value`]: "test_other" }, "30000 transactionreference"],
    ["a refund", { [`${IN}.baseamount`]: "2501" }, "30000 baseamount"],
    ["a refund", { [`${IN}.parenttransactionreference`]: undefined }, "30000 parenttransactionreference"],
    ["a refund", { [`${IN}.requesttypedescriptions[0]`]: "REVERSAL" }, "30000 baseamount"],
    ["a refund", { [`${IN}.requesttypedescriptions[0]`]: "REVERSAL", [`${IN}.baseamount`]: undefined }, "20013"],
    ["a reversal", { [`${IN}.requesttypedescriptions[0]`]: "REFUND" }, "20005"],
  ],
};
