import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

type Members = Record<string, unknown>;
let orders = 0;
const orderId = () => `3f6c0a5e-9b1d-4c7a-8e21-${++orders}`;

/** A document with one transaction, its elements in the order of `members`. */
export const request = (type: string, members: Members, head: Members = {}): Sent => ({
  at: "POST /gateway2/servlet/MpgRequest",
  format: "xml",
  body: { request: { store_id: "store5", api_token: "yesguy", ...head, [type]: structuredClone(members) } },
});
const CARD = { pan: "4242424242424242", expdate: "6005", crypt_type: "1" };
const CHECKS = {
  avs_info: { avs_street_number: "201", avs_street_name: "Michigan Ave", avs_zipcode: "M1M1M1" },
  cvd_info: { cvd_indicator: "1", cvd_value: "198" },
};
/** The sheet's worked example. */
export const purchaseOf = (more: Members = {}): Members => ({
  order_id: orderId(),
  cust_id: "5b0c5b2e",
  amount: "12.50",
  ...CARD,
  dynamic_descriptor: "Order 1234",
  ...CHECKS,
  ...more,
});
export const purchase = (more: Members = {}): Sent => request("purchase", purchaseOf(more));
const verification = (): Sent =>
  request("card_verification", {
    order_id: orderId(),
    cust_id: "0a3c7c0e",
    ...CARD,
    ...CHECKS,
    cof_info: { issuer_id: "", payment_indicator: "C", payment_information: "0" },
  });
export const store = (more: Members = {}): Sent =>
  request("res_add_cc", {
    cust_id: "0a3c7c0e",
    phone: "",
    email: "",
    note: "session 0a3c7c0e",
    ...CARD,
    crypt_type: "7",
    avs_info: { avs_street_number: "", avs_street_name: "", avs_zipcode: "M1M1M1" },
    cof_info: { issuer_id: "355689484440192" },
    ...more,
  });
/** An element of an answer, "" when it is absent. */
export const valueOf = ({ text }: ReceivedAnswer, name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? "";
export const storedPurchase = (data_key: string): Sent =>
  request("res_purchase_cc", {
    data_key,
    order_id: orderId(),
    cust_id: "c1",
    amount: "12.50",
    crypt_type: "7",
    cof_info: { issuer_id: "355689484440192", payment_indicator: "U", payment_information: "2" },
  });
/** What follows a payment: its order and TransID. */
export const followUp = (type: string, first: ReceivedAnswer, more: Members = {}): Sent =>
  request(type, { order_id: valueOf(first, "ReceiptId"), ...more, txn_number: valueOf(first, "TransID"), crypt_type: "7" });
const DUPLICATE = "The transaction was not sent to the host because of a duplicate order id";
const newKey = async (send: Send): Promise<string> => valueOf(await send(store()), "DataKey");

export const wrongRequests: WrongRequests = {
  // Every answer has status 200: the host's no is its code, a refusal before it its words.
  codeOf: (answer) => {
    if (answer.status !== 200) return String(answer.status);
    if (valueOf(answer, "Complete") !== "true") return valueOf(answer, "StatusMessage") || valueOf(answer, "Message");
    return Number(valueOf(answer, "ResponseCode")) < 50 ? null : valueOf(answer, "ResponseCode");
  },
  requests: {
    "a purchase": () => purchase(),
    "a purchase of a known app": () => request("purchase", purchaseOf(), { app_version: "1.0" }),
    "a pre-authorization": () => request("preauth", purchaseOf()),
    "a verification": verification,
    "a store": () => store(),
    "a purchase with a stored card": async (send) => storedPurchase(await newKey(send)),
    "a deletion": async (send) => request("res_delete", { data_key: await newKey(send) }),
    "a correction": async (send) => followUp("purchasecorrection", await send(purchase())),
    "a refund": async (send) => followUp("refund", await send(purchase()), { amount: "12.50" }),
    "a completion": async (send) => followUp("completion", await send(request("preauth", purchaseOf())), { comp_amount: "12.50" }),
    "a status check": async (send) => {
      const members = purchaseOf();
      await send(request("purchase", members));
      return request("purchase", members, { status_check: "true" });
    },
  },
  cases: [
    ["a purchase", { path: "/gateway2/servlet" }, "404"],
    ["a purchase", { method: "PUT" }, "405"],
    ["a purchase", { body: "<request><store_id>store5</store_id>" }, "The document is not well-formed XML."],
    ["a purchase", { "header:content-type": "application/json" }, "The document is not well-formed XML."],
    ["a purchase", { "request.store_id": undefined }, "Invalid store id"],
    ["a purchase", { "request.store_id": "wrongstore" }, "Invalid store id"],
    ["a purchase", { "request.api_token": undefined }, "API token mismatch"],
    ["a purchase", { "request.api_token": "wrongtoken" }, "API token mismatch"],
    ["a purchase", { "request.purchase": undefined }, "Invalid transaction type"],
    ["a purchase", { "request.purchase": undefined, "request.sale": { order_id: "x" } }, "Invalid transaction type"],
    ["a purchase", { "request.purchase": "" }, "Cancelled: purchase must be an object or a list"],
    ["a purchase", { "request.app_version": "1.0" }, "Cancelled: app_version stands in the wrong place"],
    ["a purchase", { "request.purchase.order_id": undefined }, "Cancelled: order_id is required"],
    ["a purchase", { "request.purchase.order_id": "a/b" }, /^Cancelled: order_id must be/],
    ["a purchase", { "request.purchase.order_id": "x".repeat(51) }, /^Cancelled: order_id must be/],
    ["a purchase", { "request.purchase.cust_id": "a=b" }, /^Cancelled: cust_id must be/],
    ["a purchase", { "request.purchase.amount": "12.5" }, "Cancelled: amount must be an amount"],
    ["a purchase", { "request.purchase.amount": "1250" }, "Cancelled: amount must be an amount"],
    ["a purchase", { "request.purchase.amount": "1,250.00" }, "Cancelled: amount must be an amount"],
    ["a purchase", { "request.purchase.amount": "10000000.00" }, "Cancelled: amount must be an amount"],
    ["a purchase", { "request.purchase.amount": undefined }, "Cancelled: amount is required"],
    ["a purchase", { "request.purchase.currency": "CAD" }, "Cancelled: currency is unknown"],
    ["a purchase", { "request.purchase.pan": "4242 4242 4242 4242" }, "Cancelled: pan must be digits"],
    ["a purchase", { "request.purchase.pan": "4242424242424241" }, "200"],
    ["a purchase", { "request.purchase.expdate": "0560" }, "Cancelled: expdate must be YYMM"],
    ["a purchase", { "request.purchase.expdate": "05/60" }, "Cancelled: expdate must be YYMM"],
    ["a purchase", { "request.purchase.expdate": "2001" }, "482"],
    ["a purchase", { "request.purchase.crypt_type": "9" }, /^Cancelled: crypt_type must be one of/],
    ["a purchase", { "request.purchase.crypt_type": undefined }, "Cancelled: crypt_type is required"],
    ["a purchase", { "request.purchase.dynamic_descriptor": "x".repeat(21) }, /^Cancelled: dynamic_descriptor must have/],
    ["a purchase", { "request.purchase.avs_info.avs_zipcode": "M1M 1M1" }, /^Cancelled: avs_zipcode must be/],
    ["a purchase", { "request.purchase.avs_info.avs_street_name": "Michigan Avenue W" }, /^Cancelled: avs_street_name and/],
    ["a purchase", { "request.purchase.cvd_info.cvd_value": "12" }, "Cancelled: cvd_value must be 3 or 4 digits"],
    ["a purchase", { "request.purchase.cvd_info.cvd_value": undefined }, "Cancelled: cvd_value is required"],
    ["a purchase", { "request.purchase.cvd_info.cvd_indicator": "3" }, /^Cancelled: cvd_indicator must be one of/],
    ["a purchase", { "request.purchase.cof_info": { payment_indicator: "X" } }, /^Cancelled: payment_indicator must be one of/],
    ["a purchase", { "request.purchase.cust_id": undefined, "request.purchase.note": "x" }, "Cancelled: note is unknown"],
    ["a purchase of a known app", { "request.status_check": "yes" }, /^Cancelled: status_check must be one of/],
    ["a pre-authorization", { "request.preauth.pan": "4000000000000002" }, "481"],
    ["a verification", { "request.card_verification.amount": "0.00" }, "Cancelled: amount is unknown"],
    ["a verification", { "request.card_verification.pan": "4000000000000127" }, "487"],
    ["a store", { "request.res_add_cc.cvd_info": { cvd_indicator: "1", cvd_value: "198" } }, "Cancelled: cvd_indicator is unknown"],
    ["a store", { "request.res_add_cc.pan": "4242424242424241" }, "Cancelled: Invalid pan"],
    ["a store", { "request.res_add_cc.order_id": "x" }, "Cancelled: order_id is unknown"],
    ["a store", { "request.res_add_cc.data_key_format": "5" }, /^Cancelled: data_key_format/],
    ["a purchase with a stored card", { "request.res_purchase_cc.data_key": "x".repeat(25) }, "Cancelled: Invalid data key"],
    ["a purchase with a stored card", { "request.res_purchase_cc.expdate": "6005" }, "Cancelled: expdate is unknown"],
    ["a deletion", { "request.res_delete.data_key": "x".repeat(25) }, "Cancelled: Invalid data key"],
    ["a correction", { "request.purchasecorrection.order_id": "other" }, /^No Purchase corresponds/],
    ["a correction", { "request.purchasecorrection.txn_number": undefined }, "Cancelled: txn_number is required"],
    ["a correction", { "request.purchasecorrection.amount": "12.50" }, "Cancelled: amount is unknown"],
    ["a refund", { "request.refund.amount": "12.51" }, /^Cancelled: the Purchase does not allow a refund/],
    ["a completion", { "request.completion.txn_number": "1-0_98" }, /^No Pre-auth corresponds/],
    ["a completion", { "request.completion.comp_amount": "12.51" }, /^Cancelled: the Pre-auth does not allow/],
    ["a status check", { "request.status_check": undefined }, DUPLICATE],
    ["a status check", { "request.purchase.order_id": "never-sent" }, "Not Found"],
    ["a status check", { "request.purchase.pan": undefined }, "Cancelled: pan is required"],
    ["a status check", { "request.purchase": undefined, "request.res_delete": { data_key: "x" } }, /^Cancelled: status_check is not for/],
  ],
};
