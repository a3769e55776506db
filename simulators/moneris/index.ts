import { amountText, brandNames, defineSimulator, element, faultIn, htmlNotFound, isAccepted, isCardNumber } from "../kit/index.ts";
import { isExpired, isoSeconds, issuer, matching, minorOf, parseXml, plain, READERS, Refusal, refuseWith, rules } from "../kit/index.ts";
import { table, textOf, under, UNIFORM_CARDS } from "../kit/index.ts";
import type { Answer, Call, Endpoint, FieldFault, Fields, Incoming, Rules } from "../kit/index.ts";

/**
 * Moneris' Gateway API of Canada: an XML document in, one receipt out, always status 200. What was refused before the host was asked
 * is a receipt full of the text `null`; the host's own no has a response code of 50 or more.
 */

const PATH = "/gateway2/servlet/MpgRequest";
/** Response code, the issuer's code, words. */
type No = readonly [code: string, iso: string, words?: string];
const ISSUER = issuer<No>(`
  card_declined 481|05, insufficient_funds 481|51, expired_card 482|54|EXPIRED CARD, incorrect_cvc 487|05|CVD INVALID
  lost_or_stolen 421|41|HOLD CARD, processing_error 476|19|RE-ENTER
`);
const NO_SUCH_CARD: No = ["200", "14", "INVALID ACCOUNT"];
/** Cents of totals below 10.00, with the response and issuer's code that they bring. */
const BY_CENTS = table(
  "1 483 02,2 484 02,3 476 03,4 421 04,5 481 05,6 050 06,7 421 07,9 078 09,12 421 12,13 476 13,14 421 14,15 421 15,19 476 19,24 476 91,41 421 41,43 421 43,46 421 46,51 481 51,54 482 54,57 421 57",
);
const cardTypeOf = brandNames("visa V,mastercard M ,amex AX,discover NO,diners DC,jcb C1,unionpay UP", "null");

type Receipt = Readonly<Record<string, string>>;
/** `steps`: the receipts of what followed the payment, by their types. */
type Details = { type: string; receipt: Receipt; steps: Map<string, Receipt> };
type Card = { number: string; expdate: string };
type MonerisCall = Call<object, Details, Card>;

const ORDER_ID = matching(/^[A-Za-z0-9_\-:.@ ]{1,50}$/, "1 to 50 letters, digits, blanks and _ - : . @");
const CUST_ID = matching(/^[^<>$%=?^{}[\]\\]{0,50}$/, "at most 50 characters without < > $ % = ? ^ { } [ ] \\");
const AMOUNT = amountText(9_999_999.99, /^[0-9]{1,7}\.[0-9]{2}$/);
const EXPDATE = matching(/^[0-9]{2}(0[1-9]|1[0-2])$/, "YYMM");
const CVD_VALUE = matching(/^([0-9]{3,4})?$/, "3 or 4 digits");
const hasCode = (fields: Fields): boolean => [...fields].some(([name, value]) => name.endsWith("cvd_info.cvd_indicator") && value === "1");
const CRYPT_TYPE = rules`crypt_type! is 1|2|3|4|5|6|7|8`;
const CARD = rules`pan! digits 1-20, expdate! ${EXPDATE}, ${CRYPT_TYPE}`;
const AVS = rules`
  avs_info: avs_street_number/avs_street_name 0-19, avs_zipcode [A-Za-z0-9] 0-9, avs_email/avs_hostname/avs_browser 0-60
  avs_info: avs_shiptocountry 0-3, avs_shipmethod 0-1, avs_merchprodsku 0-15, avs_custip 0-19, avs_custphone 0-10
`;
const COF = rules`cof_info: issuer_id [A-Za-z0-9] 0-15, payment_indicator is C|R|U|V|Z, payment_information is 0|2|3`;
const CHECKS = rules`
  ${AVS}
  cvd_info?: cvd_indicator! is 0|1|2|9, cvd_value!${hasCode} ${CVD_VALUE}
  ${COF}
`;
const DESCRIPTOR = rules`dynamic_descriptor 0-20`;
const ORDER = rules`order_id! ${ORDER_ID}, cust_id ${CUST_ID}`;
const PURCHASE = rules`${ORDER}, amount! ${AMOUNT}, ${CARD}, ${DESCRIPTOR}, ${CHECKS}`;
const BY_KEY = rules`data_key! [A-Za-z0-9] 25-28, ${ORDER}, amount! ${AMOUNT}, ${CRYPT_TYPE}, ${DESCRIPTOR}, ${CHECKS}`;
const FOLLOWING = rules`txn_number! /\d+-\d+_\d+/, ${CRYPT_TYPE}, cust_id ${CUST_ID}, ${DESCRIPTOR}`;
const STORED = rules`cust_id ${CUST_ID}, phone/email/note 0-30, ${CARD}, data_key_format is 0|0U, ${AVS}, ${COF}`;

/** Transaction types: their elements in the order in which they must stand, and what they do. */
const TYPES: Readonly<Record<string, readonly [rules: Rules, run: (call: MonerisCall, transType: string) => Answer, transType: string]>> = {
  purchase: [PURCHASE, pay, "00"],
  preauth: [PURCHASE, pay, "01"],
  card_verification: [rules`${ORDER}, ${CARD}, ${CHECKS}`, pay, "06"],
  res_purchase_cc: [BY_KEY, pay, "00"],
  completion: [rules`order_id! ${ORDER_ID}, comp_amount! ${AMOUNT}, ${FOLLOWING}`, follow, "02"],
  purchasecorrection: [rules`order_id! ${ORDER_ID}, ${FOLLOWING}`, follow, "11"],
  refund: [rules`order_id! ${ORDER_ID}, amount! ${AMOUNT}, ${FOLLOWING}`, follow, "04"],
  res_add_cc: [STORED, store, "null"],
  res_delete: [rules`data_key! [A-Za-z0-9] 25-28`, remove, "null"],
};
const HEAD = rules`request: store_id! 10, api_token! 20, app_version 0-50, status_check is true|false`;
const rulesOf = (type: string): Rules => ({ ...HEAD, ...under(`request.${type}`, TYPES[type]?.[0] ?? {}) });

const endpoints = Object.entries(TYPES).map(([type, [, run, transType]]): [string, Endpoint<object, Details, Card>] => {
  const ordered = (call: MonerisCall): Answer => {
    checkOrder(call.request, type);
    return run(call, transType);
  };
  return [`POST ${PATH} ${type}`, { rules: rulesOf(type), run: ordered }];
});

export const simulator = defineSimulator<object, Details, Card>({
  // The vendor takes the document under any type.
  body: { types: ["text/xml", "application/xml", "application/x-www-form-urlencoded", "text/plain", ""], read: readDocument },
  authenticate(request) {
    if (!request.isReadable) throw refusal("The document is not well-formed XML.");
    const [storeId, token] = ["request.store_id", "request.api_token"].map((name) => textOf(request.fields, name));
    if (!isAccepted(storeId ?? "", /^[A-Za-z0-9]{3,10}$/)) throw refusal("Invalid store id");
    if (!isAccepted(token ?? "", /^[A-Za-z0-9]{6,20}$/)) throw refusal("API token mismatch");
    return storeId ?? "";
  },
  operationOf: (fields) => (fields.get("request.status_check") === "true" ? "status_check" : typeOf(fields)),
  endpoints: {
    ...Object.fromEntries(endpoints),
    [`POST ${PATH} status_check`]: { isOpen: true, run: checkStatus },
  },
  refuse: {
    malformed: () => refusal("The document is not well-formed XML."),
    path: ({ path, method }, isKnown) => (path === PATH && method === "POST" ? refusal("Invalid transaction type") : htmlNotFound(isKnown)),
    field: wrongField,
  },
});

/** Null for what is not well-formed, and for a document with more than one transaction. */
function readDocument(bytes: Buffer): Fields | null {
  const root = parseXml(bytes.toString());
  return root === null || root.children.filter(({ name }) => name in TYPES).length > 1 ? null : READERS.xml.read(bytes);
}

/** The element beside those that every request has. */
function typeOf(fields: Fields): string | undefined {
  return [...fields.keys()].map((name) => name.split(".")[1] ?? "").find((name) => Object.hasOwn(TYPES, name));
}

function wrongField({ field, words }: Pick<FieldFault, "field" | "words">): Refusal {
  return refusal(`Cancelled: ${field.split(".").at(-1)} ${words}`);
}

/** The children of the request and of its transaction stand as the rules name them; what is inside those is free. */
function checkOrder({ fields }: Incoming, type: string): void {
  for (const depth of [1, 2]) {
    const [sent = [], known = []] = [fields.keys(), Object.keys(rulesOf(type))].map((names) => [
      ...new Set([...names].flatMap((name) => name.split(".")[depth] ?? [])),
    ]);
    const places = sent.map((name) => known.indexOf(name));
    const wrong = places.findIndex((place, index) => place < (places[index - 1] ?? -1));
    if (wrong >= 0) throw wrongField({ field: sent[wrong] ?? "", words: "stands in the wrong place" });
  }
}

const EMPTY: Receipt = Object.fromEntries(
  "ReceiptId ReferenceNum ResponseCode ISO AuthCode TransTime TransDate TransType Complete Message TransAmount CardType TransID TimedOut BankTotals Ticket CorporateCard AvsResultCode ITDResponse CvdResultCode IsVisaDebit"
    .split(" ")
    .map((name) => [name, "null"]),
);

/** Absent values are the text `null`. */
function answer(members: Receipt, inside: readonly string[] = []): Answer {
  const shown = Object.entries(members).map(([name, value]) => element(name, value));
  const receipt = element("response", [element("receipt", [...shown, ...inside])]);
  return plain(200, `<?xml version="1.0" standalone="yes"?>${receipt}`, "text/html");
}

/** Refused before the host was asked. */
function refusal(Message: string): Refusal {
  return new Refusal(answer({ ...EMPTY, Complete: "false", TimedOut: "false", Message }), Message);
}

const valueIn = (call: MonerisCall) => (name: string) => call.text(`request.${call.request.operation}.${name}`);
const padded = (words: string): string => `${words.padEnd(19)}*${" ".repeat(20)}=`;
/** Requests name no currency: a store settles in dollars of the United States, as the sandbox's does, unless its name says CAD. */
const unitOf = ({ accountName }: MonerisCall): string => (/cad/i.test(accountName) ? "CAD" : "USD");

function timeOf({ tools }: MonerisCall): Receipt {
  const [TransDate = "", TransTime = ""] = isoSeconds(tools.now()).replace("Z", "").split("T");
  return { TransTime, TransDate };
}

/** The host's answer to a transaction of this order. */
function receiptOf(call: MonerisCall, transType: string, amount: string, no: No | null): Receipt {
  const { tools } = call;
  return {
    ...EMPTY,
    ReceiptId: valueIn(call)("order_id"),
    ReferenceNum: tools.digits(18),
    ResponseCode: no?.[0] ?? "027",
    ISO: no?.[1] ?? "01",
    AuthCode: no === null ? tools.digits(6) : "000000",
    ...timeOf(call),
    TransType: transType,
    Complete: "true",
    Message: padded(no === null ? "APPROVED" : (no[2] ?? "DECLINED")),
    TransAmount: amount,
    TransID: `${tools.digits(8)}-0_98`,
    TimedOut: "false",
    CorporateCard: "false",
    IsVisaDebit: "false",
  };
}

/** The card of the request, or the stored one. */
function cardOf(call: MonerisCall): Card {
  const value = valueIn(call);
  if (call.request.operation !== "res_purchase_cc") return { number: value("pan"), expdate: value("expdate") };
  return call.vault.get(value("data_key")) ?? refuseWith(refusal("Cancelled: Invalid data key"));
}

/** The vendor's amounts decide, unless the card does. */
function byAmount(pan: string, minor: number): No | null {
  if (UNIFORM_CARDS.has(pan)) return null;
  const [code, iso = ""] = BY_CENTS.get(String(minor % 100))?.split(" ") ?? [];
  if (minor < 1_000) return code === undefined ? null : [code, iso];
  if (minor >= 5_100 && minor <= 6_000) return ["421", "41"];
  return minor >= 12_000 && minor <= 13_000 ? ["482", "54"] : null;
}

function hostSays(call: MonerisCall, { number, expdate }: Card, minor: number): No | null {
  if (!isCardNumber(number)) return NO_SUCH_CARD;
  const isOver = isExpired(Number(expdate.slice(2)), Number(expdate.slice(0, 2)), call.tools.now());
  return call.decide(ISSUER, number) ?? (isOver ? ISSUER("expired_card") : byAmount(number, minor));
}

/** purchase, preauth and card_verification, and a stored card's purchase. */
function pay(call: MonerisCall, transType: string): Answer {
  const [value, type] = [valueIn(call), call.request.operation ?? ""];
  const [orderId, amount, card] = [value("order_id"), value("amount") || "0.00", cardOf(call)];
  if (value("avs_info.avs_street_number").length + value("avs_info.avs_street_name").length > 19)
    throw wrongField({ field: "avs_street_name", words: "and avs_street_number have at most 19 characters" });
  if (call.transactions.find(({ reference }) => reference === orderId))
    throw refusal("The transaction was not sent to the host because of a duplicate order id");
  const amountMinor = minorOf(amount, unitOf(call));
  const no = hostSays(call, card, amountMinor);
  const [street, zip] = [value("avs_info.avs_street_name"), value("avs_info.avs_zipcode")];
  const isTold = value("cvd_info.cvd_indicator") === "1";
  const receipt: Receipt = {
    ...receiptOf(call, transType, amount, no),
    CardType: cardTypeOf(card.number),
    AvsResultCode: zip === "" ? "null" : street === "" ? "Z" : "Y",
    CvdResultCode: !isTold ? "null" : no?.[0] === "487" ? "1N" : "1M",
    IssuerId: no === null && call.has(`request.${type}.cof_info.issuer_id`) ? call.tools.digits(15) : "null",
  };
  // A verification stores nothing and holds no amount.
  const kind = type === "preauth" || type === "card_verification" ? "authorization" : "charge";
  const taken = { id: receipt["TransID"] ?? "", reference: orderId, amountMinor, currency: unitOf(call), card: card.number };
  call.take({ ...taken, kind, no, details: { type, receipt, steps: new Map() }, ledger: { type, crypt_type: value("crypt_type") } });
  return answer(receipt);
}

/** completion, purchasecorrection and refund, by order and TransID: neither is enough. */
function follow(call: MonerisCall, transType: string): Answer {
  const [value, type, { transactions }] = [valueIn(call), call.request.operation, call];
  const [orderId, given] = [value("order_id"), value("comp_amount") || value("amount")];
  const payment = transactions.get(value("txn_number"));
  const name = type === "completion" ? "Pre-auth" : "Purchase";
  if (payment?.reference !== orderId) throw refusal(`No ${name} corresponds to the completion, correction or refund received`);
  const amountMinor = given === "" ? payment.amountMinor : minorOf(given, payment.currency);
  const receipt = receiptOf(call, transType, given || (payment.details.receipt["TransAmount"] ?? ""), null);
  const isDone = (): boolean => {
    if (type === "completion") return payment.details.type === "preauth" && transactions.capture(payment, amountMinor);
    if (type === "purchasecorrection") return transactions.void(payment, ["captured"]);
    return transactions.refund(payment, { id: receipt["TransID"] ?? "", amountMinor, from: ["captured", "settled"] }) === null;
  };
  if (!isDone()) throw refusal(`Cancelled: the ${name} does not allow a ${type} of this amount`);
  const told = { ...receipt, CardType: payment.details.receipt["CardType"] ?? "null" };
  payment.details.steps.set(type ?? "", told);
  return answer(told);
}

/** The vault asks nobody about a card, and keeps one as often as it is sent. */
function store(call: MonerisCall): Answer {
  const value = valueIn(call);
  const [number, expdate] = [value("pan"), value("expdate")];
  if (!isCardNumber(number)) throw refusal("Cancelled: Invalid pan");
  call.decide(ISSUER, number);
  const { id } = call.vault.store(call.tools.id("", 25), { number, expdate }, value("cust_id") || null);
  const told = Object.fromEntries(["cust_id", "phone", "email", "note", "crypt_type"].map((name) => [name, value(name)]));
  const masked_pan = `${number.slice(0, 4)}***${number.slice(-4)}`;
  return vaultAnswer(call, id, "Successfully registered CC details.", { ...told, masked_pan, expdate });
}

function remove(call: MonerisCall): Answer {
  const { id } = call.vault.remove(valueIn(call)("data_key")) ?? refuseWith(refusal("Cancelled: Invalid data key"));
  return vaultAnswer(call, id, "Successfully deleted CC details.", {});
}

function vaultAnswer(call: MonerisCall, DataKey: string, Message: string, resolved: Receipt): Answer {
  const { TransTime = "", TransDate = "" } = timeOf(call);
  const said = { ResponseCode: "001", Message, TransTime, TransDate, Complete: "true", TimedOut: "false" };
  const vault = { ResSuccess: "true", PaymentType: "cc", IsVisaDebit: "null" };
  return answer({ DataKey, ...EMPTY, ...said, ...vault }, [element("ResolveData", resolved)]);
}

/** The same transaction again, of any kind but the vault's, finds the receipt of its order, and does nothing. */
function checkStatus(call: MonerisCall): Answer {
  const type = typeOf(call.fields) ?? "";
  if (["res_add_cc", "res_delete"].includes(type)) throw refusal("Cancelled: status_check is not for this transaction type");
  const fault = faultIn(call.fields, rulesOf(type));
  if (fault !== null) throw wrongField(fault);
  checkOrder(call.request, type);
  const orderId = call.text(`request.${type}.order_id`);
  const receiptIn = ({ details }: { details: Details }) => (details.type === type ? details.receipt : details.steps.get(type));
  const [found] = call.lookUp(orderId, (one) => one.reference === orderId && receiptIn(one) !== undefined);
  if (found === undefined) return answer({ ...EMPTY, Complete: "false", TimedOut: "false", StatusCode: "999", StatusMessage: "Not Found" });
  return answer({ ...receiptIn(found), StatusCode: "000", StatusMessage: "Found" });
}
