import { defineSimulator, Refusal, textOf } from "../kit/index.ts";
import { element, pairs, plain } from "../kit/answers.ts";
import { checkCredential } from "../kit/auth.ts";
import { brandOf, isCardNumber, isExpired, mask, minorOf, UNIFORM_CARDS } from "../kit/cards.ts";
import {
  amountText,
  country2,
  currency,
  digits,
  email,
  ipv4,
  matching,
  mmyy,
  oneOf,
  required,
  state2,
  text,
  texts,
  wholeText,
} from "../kit/rules.ts";
import type { Answer, Call, Incoming, Issuer, Rule, Rules, Transaction } from "../kit/index.ts";

/**
 * NMI's Payment API and Query API: form in, form or XML out, always status 200. The vendor ignores fields that it does not
 * know; here one that is not in its table is a mistake of the sender and refused.
 */

const DEFAULT_DUPLICATE_SECONDS = 1200;
/** The merchant's own ids of his account's processors. */
const PROCESSORS = ["ccprocessora", "ccprocessorb"];

interface Details {
  type: string;
  authCode: string;
  avs: string;
  cvv: string;
  actions: { type: string; amount: string; isSuccess: boolean; text: string; code: string; at: number }[];
}

/** Payment details as the vault keeps them: no security code. */
type Vault = { records: Map<string, { number: string; expiry: string; at: number }> };
type NmiCall = Call<Vault, Details>;
type Payment = Transaction<Details>;

const ID = matching(/^[A-Za-z0-9_-]{1,64}$/, "letters, digits, - and _");
const KEY = texts("security_key 64, username 64, password 64");
const CARD: Rules = {
  ccnumber: text(32),
  ccexp: mmyy,
  cvv: digits(3, 4),
  ...texts(
    "first_name 255, last_name 255, firstname 255, lastname 255, company 255, address1 255, address2 255, city 255, zip 32, phone 32",
  ),
  state: matching(/^[A-Za-z]{2}$/, "a state of two letters"),
  country: country2,
  email: email(),
};
const ORDER: Rules = {
  orderid: matching(/^[A-Za-z0-9_-]{1,32}$/, "at most 32 letters, digits, - and _"),
  order_description: matching(/^[\x20-\x7e]{1,255}$/, "printable ASCII of at most 255 characters"),
  orderdescription: matching(/^[\x20-\x7e]{1,255}$/, "printable ASCII of at most 255 characters"),
  customer_id: text(255),
  customer_vault: oneOf("add_customer"),
  customer_vault_id: ID,
  ...Object.fromEntries(Array.from({ length: 20 }, (_none, index) => [`merchant_defined_field_${index + 1}`, text(255)])),
};
const PAYMENT: Rules = {
  ...KEY,
  ...CARD,
  ...ORDER,
  type: required(oneOf("sale", "auth", "validate")),
  payment: oneOf("creditcard"),
  amount: amountText(),
  currency: currency(),
  ipaddress: ipv4,
  dup_seconds: wholeText(0, 7_862_400),
  industry: oneOf("ecommerce", "moto", "retail"),
  processor_id: oneOf(...PROCESSORS),
  descriptor: text(25),
  descriptor_phone: text(32),
  test_mode: oneOf("enabled"),
  billing_method: oneOf("recurring", "installment"),
  initiated_by: oneOf("customer", "merchant"),
  stored_credential_indicator: oneOf("stored", "used"),
  initial_transaction_id: ID,
};
const FOLLOWING: Rules = {
  ...KEY,
  type: required(text(16)),
  transactionid: required(ID),
  amount: amountText(),
  orderid: ORDER["orderid"] as Rule,
};

/** Response code and text of each refusal; 400 leaves it open what the processor did. */
const ISSUER: Issuer<readonly [code: string, text: string]> = {
  declines: {
    card_declined: ["200", "DECLINE"],
    insufficient_funds: ["202", "Insufficient funds"],
    expired_card: ["223", "Expired card"],
    incorrect_cvc: ["225", "Invalid card security code"],
    lost_or_stolen: ["251", "Lost card"],
    processing_error: ["400", "Transaction error returned by processor"],
  },
};

export const simulator = defineSimulator<Vault, Details>({
  body: "form",
  state: () => ({ records: new Map() }),
  authenticate,
  operationOf: (fields) => {
    const type = textOf(fields, "type");
    if (type === "void" || type === "refund" || type === "capture") return type;
    if (fields.get("customer_vault") === "delete_customer") return "delete_customer";
    return type === "" && fields.get("customer_vault") === "add_customer" ? "add_customer" : "pay";
  },
  endpoints: {
    "POST /api/transact.php pay": { rules: PAYMENT, run: pay },
    "POST /api/transact.php capture": { rules: FOLLOWING, run: follow },
    "POST /api/transact.php void": { rules: FOLLOWING, run: follow },
    "POST /api/transact.php refund": { rules: FOLLOWING, run: follow },
    "POST /api/transact.php add_customer": { rules: { ...KEY, ...CARD, ...ORDER }, run: addRecord },
    "POST /api/transact.php delete_customer": {
      rules: { ...KEY, customer_vault: required(text(32)), customer_vault_id: required(ID) },
      run: deleteRecord,
    },
    "POST /api/query.php": {
      rules: {
        ...KEY,
        order_id: text(255),
        transaction_id: text(255),
        report_type: oneOf("transaction", "customer_vault"),
        customer_vault_id: ID,
        start_date: digits(8, 14),
        end_date: digits(8, 14),
      },
      run: report,
    },
  },
  refuse: {
    malformed: (request) => refusal(request, "Authentication Failed"),
    path: (_request, isKnown) =>
      new Refusal(plain(isKnown ? 405 : 404, "<html><body>Not found</body></html>", "text/html"), "no such page"),
    field: ({ kind, field, words }, request) =>
      refusal(
        request,
        kind === "unknown" ? `unknown parameter: ${field}` : `Invalid ${field === "ccexp" ? "expiration (ccexp)" : field}: ${words}`,
      ),
  },
});

/** `response=3`, or an `error_response` from the Query API. */
function refusal({ path, fields, tools }: Incoming, words: string, code = "300"): Refusal {
  const told = `${words} REFID:${tools.digits(10)}`;
  const orderid = textOf(fields, "orderid");
  const type = textOf(fields, "type");
  return new Refusal(
    path.endsWith("query.php") ? xml(element("error_response", told)) : form({ response: "3", text: told, code, orderid, type }),
    code,
  );
}

function refuse(call: NmiCall, words: string): never {
  throw refusal(call.request, words);
}

function authenticate(request: Incoming): string {
  const [key, user, password] = ["security_key", "username", "password"].map((name) => textOf(request.fields, name));
  if (key === "" && user !== "" && checkCredential(`${user}${password}`) !== "accepted")
    throw refusal(request, "Authenticated user is invalid");
  if (key === "" && user === "") throw refusal(request, "Authentication Failed");
  if (key !== "" && checkCredential(key ?? "", /^[A-Za-z0-9_-]+$/) !== "accepted") throw refusal(request, "Specified API key not found");
  return key || `user ${user}`;
}

/** sale, auth and validate, with the card itself or one from the vault. */
function pay(call: NmiCall): Answer {
  const { tools, state } = call;
  const [type, amount, isStored] = [call.text("type"), call.maybe("amount") ?? "0.00", call.has("customer_vault")];
  checkAddress(call);
  if (type === "validate" ? Number(amount) !== 0 : Number(amount) <= 0)
    refuse(call, `Invalid amount${type === "validate" ? " for validate" : ""}`);
  const card = isStored ? newCard(call) : chosenCard(call);
  if (isStored && state.records.has(call.text("customer_vault_id"))) refuse(call, "Duplicate Customer Vault Id");
  refuseDuplicate(call, type, card.number, amount);
  const isSmall = type !== "validate" && Number(amount) < 1;
  const no = call.decide(ISSUER, card.number) ?? (isSmall ? (["200", "DECLINE"] as const) : null);
  const [code, words] = no ?? ["100", "SUCCESS"];
  const id = tools.digits(10);
  const vaultId = no === null && isStored ? keep(call, card) : undefined;
  const unit = call.maybe("currency") ?? "USD";
  const transaction = call.transactions.add({
    id,
    reference: call.maybe("orderid") ?? id,
    isApproved: no === null,
    kind: type === "sale" ? "charge" : type === "auth" ? "authorization" : "token",
    amountMinor: minorOf(amount, unit),
    currency: unit,
    card: card.number,
    details: {
      type,
      authCode: no === null && type !== "validate" ? tools.digits(6) : "",
      avs: avsOf(call),
      cvv: call.has("cvv") ? (call.text("cvv") === "999" ? "M" : "N") : "",
      actions: [{ type, amount, isSuccess: no === null, text: words, code, at: tools.now() }],
    },
    ledger: { industry: call.maybe("industry") ?? null, ...(vaultId !== undefined && { customer_vault_id: vaultId }) },
  });
  const response = no === null ? "1" : code.startsWith("4") ? "3" : "2";
  return form({ response, text: words, code, orderid: call.text("orderid"), type, transaction, vaultId });
}

function checkAddress(call: NmiCall): void {
  const country = call.maybe("country");
  const isNear = country === undefined || country === "US" || country === "CA";
  if (isNear && call.has("state") && state2.check(call.text("state").toUpperCase()) !== null) refuse(call, "Invalid state");
  if (country === "US" && call.has("zip") && !/^[0-9]{5}(-?[0-9]{4})?$/.test(call.text("zip"))) refuse(call, "Invalid zip");
  if (call.has("customer_id") && call.has("customer_vault_id") && call.text("customer_id") !== call.text("customer_vault_id"))
    refuse(call, "customer_id and customer_vault_id differ");
}

type Card = { number: string; expiry: string };

/** The card of the request, as the gateway checks it before it asks anybody. */
function newCard(call: NmiCall): Card {
  const [number, expiry] = [call.text("ccnumber"), call.maybe("ccexp")];
  if (!isCardNumber(number)) refuse(call, "Invalid Credit Card Number");
  if (expiry === undefined) return refuse(call, "The expiration date is missing");
  if (isExpired(Number(expiry.slice(0, 2)), Number(expiry.slice(2)), call.tools.now())) refuse(call, "The expiration date has expired");
  return { number, expiry };
}

function chosenCard(call: NmiCall): Card {
  if (!call.has("customer_vault_id")) return newCard(call);
  const record = call.state.records.get(call.text("customer_vault_id")) ?? refuse(call, "Invalid Customer Vault Id");
  if (call.has("ccnumber")) refuse(call, "A card and a Customer Vault Id were given");
  if (!call.has("stored_credential_indicator")) refuse(call, "stored_credential_indicator is missing");
  return record;
}

/** Same card and amount inside the window, whatever the order; a uniform card is a duplicate only with its own order again. */
function refuseDuplicate(call: NmiCall, type: string, number: string, amount: string): void {
  const since = call.tools.now() - (call.has("dup_seconds") ? call.number("dup_seconds") : DEFAULT_DUPLICATE_SECONDS) * 1000;
  const isTwin = ({ card, at, reference, state, details: { type: other, actions } }: Payment) =>
    card === number &&
    at > since &&
    state !== "declined" &&
    other === type &&
    actions[0]?.amount === amount &&
    (!UNIFORM_CARDS.has(number) || reference === call.maybe("orderid"));
  if (call.transactions.all().some(isTwin)) refuse(call, "Duplicate transaction");
}

function avsOf(call: NmiCall): string {
  const [street, zip] = [call.text("address1") === "888", call.text("zip") === "77777"];
  return street && zip ? "Y" : street ? "A" : zip ? "Z" : "N";
}

/** Puts the card into the vault under the id asked for, else under digits of its own; returns the id. */
function keep(call: NmiCall, { number, expiry }: Card): string {
  const id = call.maybe("customer_vault_id") ?? call.tools.digits(9);
  call.state.records.set(id, { number, expiry, at: call.tools.now() });
  return id;
}

/** The vault alone: nobody is asked about the card. */
function addRecord(call: NmiCall): Answer {
  checkAddress(call);
  const card = newCard(call);
  if (call.state.records.has(call.text("customer_vault_id"))) refuse(call, "Duplicate Customer Vault Id");
  const vaultId = keep(call, card);
  call.tools.record({ kind: "token", id: vaultId, reference: call.maybe("orderid") ?? null, outcome: "approved", card: mask(card.number) });
  return form({ response: "1", text: "Customer Added", code: "100", orderid: call.text("orderid"), type: "", vaultId });
}

function deleteRecord(call: NmiCall): Answer {
  const vaultId = call.text("customer_vault_id");
  if (!call.state.records.delete(vaultId)) refuse(call, "Invalid Customer Vault Id");
  call.tools.record({ kind: "void", id: vaultId, reference: vaultId, outcome: "approved" });
  return form({ response: "1", text: "Customer Deleted", code: "100", orderid: "", type: "", vaultId });
}

/** capture, void and refund of a transaction by its id. */
function follow(call: NmiCall): Answer {
  const { transactions, tools } = call;
  const [type, transaction] = [
    call.text("type"),
    transactions.get(call.text("transactionid")) ?? refuse(call, "Transaction was not found"),
  ];
  const { currency: unit, details, amountMinor } = transaction;
  const asked = call.has("amount") ? minorOf(call.text("amount"), unit) : undefined;
  if (type === "capture" && !transactions.capture(transaction, asked ?? amountMinor))
    refuse(call, "The specified amount of or transaction itself cannot be captured");
  if (type === "void" && !transactions.void(transaction)) refuse(call, "Only transactions pending settlement can be voided");
  if (type === "refund") {
    const against = transactions.refund(transaction, {
      id: transaction.id,
      ...(asked !== undefined && { amountMinor: asked }),
      from: ["settled"],
    });
    if (against !== null)
      refuse(
        call,
        against === "state" ? "Only settled transactions can be refunded" : "Refund amount may not exceed the transaction balance",
      );
  }
  const words = { capture: "SUCCESS", void: "Transaction Void Successful", refund: "SUCCESS" }[type] ?? "";
  const amount = call.maybe("amount") ?? details.actions[0]?.amount ?? "0.00";
  details.actions.push({
    type,
    amount: type === "refund" ? `-${amount}` : amount,
    isSuccess: true,
    text: words,
    code: "100",
    at: tools.now(),
  });
  return form({ response: "1", text: words, code: "100", orderid: call.text("orderid"), type, transaction });
}

function report(call: NmiCall): Answer {
  const [orderId, ids, vaultId] = [call.maybe("order_id"), call.maybe("transaction_id")?.split(","), call.maybe("customer_vault_id")];
  const found = call.lookUp(
    orderId ?? vaultId ?? null,
    ({ id, reference }) => (ids?.includes(id) ?? true) && (orderId ?? reference) === reference,
  );
  if (call.text("report_type") !== "customer_vault") return xml(found.map(transactionElement).join(""));
  const seenUntil = call.tools.now() - call.request.lookUpLag();
  const records = [...call.state.records].filter(([id, { at }]) => (vaultId ?? id) === id && at <= seenUntil);
  const shown = records.map(([id, { number, expiry }]) => {
    const members = { cc_number: shownCard(number), cc_exp: expiry, customer_vault_id: id };
    return element("customer", members).replace("<customer>", `<customer id="${id}">`);
  });
  return xml(shown.length === 0 ? "" : element("customer_vault", shown));
}

const CONDITIONS: Readonly<Record<Payment["state"], string>> = {
  declined: "failed",
  authorized: "pending",
  captured: "pendingsettlement",
  settled: "complete",
  refunded: "complete",
  voided: "canceled",
  verified: "complete",
};

function transactionElement({ id, state, reference, card, currency: unit, details: { authCode, avs, cvv, actions } }: Payment): string {
  const members = {
    transaction_id: id,
    transaction_type: "cc",
    condition: CONDITIONS[state],
    order_id: reference ?? id,
    authorization_code: authCode,
    cc_number: shownCard(card),
    cc_type: brandOf(card),
    avs_response: avs,
    csc_response: cvv,
    currency: unit,
  };
  const settled = { ...(actions[0] as Details["actions"][number]), type: "settle", text: "ACCEPTED", code: "100" };
  const done = state === "settled" || state === "refunded" ? [...actions.slice(0, 1), settled, ...actions.slice(1)] : actions;
  const shown = done.map(({ type, amount, isSuccess, text: words, code, at }) => {
    const date = new Date(at).toISOString().replace(/\D/g, "").slice(0, 14);
    return element("action", {
      amount,
      action_type: type,
      date,
      success: isSuccess ? "1" : "0",
      response_text: words,
      response_code: code,
    });
  });
  return element("transaction", [...Object.entries(members).map(([name, value]) => element(name, value)), ...shown]);
}

function shownCard(number: string): string {
  return `${number[0]}${"x".repeat(number.length - 5)}${number.slice(-4)}`;
}

const xml = (inside: string): Answer =>
  plain(200, `<?xml version="1.0" encoding="UTF-8"?>\n<nm_response>${inside}</nm_response>\n`, "text/xml;charset=UTF-8");

/** The answer's fields in the vendor's order, values as they are: blanks are not escaped. */
function form(answer: {
  response: string;
  text: string;
  code: string;
  orderid: string;
  type: string;
  transaction?: Payment;
  vaultId?: string | undefined;
}): Answer {
  const { response, text: responsetext, code, orderid, type, transaction, vaultId } = answer;
  const { authCode = "", avs = "", cvv = "" } = transaction?.details ?? {};
  const id = {
    transactionid: transaction?.id ?? "",
    avsresponse: avs,
    cvvresponse: cvv,
    orderid: orderid || (transaction?.reference ?? ""),
  };
  const values = { response, responsetext, authcode: authCode, ...id, type, response_code: code, customer_vault_id: vaultId };
  return plain(200, pairs(values), "text/html;charset=UTF-8");
}
