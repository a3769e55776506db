import { brandOf, byState, checkCredential, defineSimulator, digitTime, element, htmlNotFound, issuer, mask } from "../kit/index.ts";
import { minorOf, pairs, plain, Refusal, rules, state2, textOf, UNIFORM_CARDS } from "../kit/index.ts";
import type { Answer, Call, Card, Incoming, Transaction } from "../kit/index.ts";

/**
 * NMI's Payment API and Query API: form in, form or XML out, always status 200. The vendor ignores fields that it does not
 * know; here one that is not in its table is a mistake of the sender and refused.
 */

const DEFAULT_DUPLICATE_SECONDS = 1200;

interface Details {
  type: string;
  /** As the answer has them. */
  checks: { authcode: string; avsresponse: string; cvvresponse: string };
  actions: { type: string; amount: string; isSuccess: boolean; text: string; code: string; at: number }[];
}

type NmiCall = Call<object, Details>;
type Payment = Transaction<Details>;

const [ID, ORDER_ID] = ["[A-Za-z0-9_-] 1-64", "[A-Za-z0-9_-] 1-32"];
const FLAGS = Array.from({ length: 20 }, (_none, index) => `merchant_defined_field_${index + 1}`).join("/");
const KEY = rules`security_key/username/password 64`;
const CARD = rules`
  ccnumber 32, ccexp mmyy, cvv digits 3-4, zip/phone 32, state [A-Za-z] 2, country country2, email email
  first_name/last_name/firstname/lastname/company/address1/address2/city 255
`;
const ORDER = rules`
  orderid ${ORDER_ID}, order_description/orderdescription [\x20-\x7e] 1-255, customer_id/${FLAGS} 255
  customer_vault is add_customer, customer_vault_id ${ID}
`;
const PAYMENT = rules`
  ${KEY}, ${CARD}, ${ORDER}, type! is sale|auth|validate, payment is creditcard, amount amount, currency currency, ipaddress ipv4
  dup_seconds wholeText 0-7862400, industry is ecommerce|moto|retail, processor_id is ccprocessora|ccprocessorb
  descriptor 25, descriptor_phone 32, test_mode is enabled, billing_method is recurring|installment
  initiated_by is customer|merchant, stored_credential_indicator is stored|used, initial_transaction_id ${ID}
`;
const FOLLOWING = rules`${KEY}, type! 16, transactionid! ${ID}, amount amount, orderid ${ORDER_ID}`;
const REPORT = rules`
  ${KEY}, order_id/transaction_id 255, report_type is transaction|customer_vault, customer_vault_id ${ID}
  start_date/end_date digits 8-14
`;

/** Response code and text of each refusal; 400 leaves it open what the processor did. */
const ISSUER = issuer<readonly [code: string, text: string]>(`
  card_declined 200|DECLINE, insufficient_funds 202|Insufficient funds, expired_card 223|Expired card
  incorrect_cvc 225|Invalid card security code, lost_or_stolen 251|Lost card, processing_error 400|Transaction error returned by processor
`);

export const simulator = defineSimulator<object, Details>({
  body: "form",
  authenticate,
  operationOf: (fields) => {
    const type = textOf(fields, "type");
    if (type === "void" || type === "refund" || type === "capture") return type;
    if (fields.get("customer_vault") === "delete_customer") return "delete_customer";
    return type === "" && fields.get("customer_vault") === "add_customer" ? "add_customer" : "pay";
  },
  recorded: ["industry"],
  endpoints: {
    "POST /api/transact.php pay": { rules: PAYMENT, run: pay },
    "POST /api/transact.php capture": { rules: FOLLOWING, run: (call) => follow(call, "capture") },
    "POST /api/transact.php void": { rules: FOLLOWING, run: (call) => follow(call, "void") },
    "POST /api/transact.php refund": { rules: FOLLOWING, run: (call) => follow(call, "refund") },
    "POST /api/transact.php add_customer": { rules: rules`${KEY}, ${CARD}, ${ORDER}`, run: addRecord },
    "POST /api/transact.php delete_customer": { rules: rules`${KEY}, customer_vault! 32, customer_vault_id! ${ID}`, run: deleteRecord },
    "POST /api/query.php": { rules: REPORT, run: report },
  },
  refuse: {
    malformed: (request) => refusal(request, "Authentication Failed"),
    path: (_request, isKnown) => htmlNotFound(isKnown),
    field({ kind, field, words }, request) {
      const name = field === "ccexp" ? "expiration (ccexp)" : field;
      return refusal(request, kind === "unknown" ? `unknown parameter: ${field}` : `Invalid ${name}: ${words}`);
    },
  },
});

/** `response=3`, or an `error_response` from the Query API. */
function refusal({ path, fields, tools }: Incoming, words: string): Refusal {
  const told = `${words} REFID:${tools.digits(10)}`;
  if (path.endsWith("query.php")) return new Refusal(xml(element("error_response", told)), "300");
  return new Refusal(form(["3", told, "300"], textOf(fields, "type"), { orderid: textOf(fields, "orderid") }), "300");
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
  const { tools } = call;
  const [type, amount, isStored] = [call.text("type"), call.maybe("amount") ?? "0.00", call.has("customer_vault")];
  checkAddress(call);
  if (type === "validate" && Number(amount) !== 0) refuse(call, "Invalid amount for validate");
  if (type !== "validate" && Number(amount) <= 0) refuse(call, "Invalid amount");
  const card = isStored ? newCard(call) : chosenCard(call);
  if (isStored) refuseUsedId(call);
  refuseDuplicate(call, type, card.number, amount);
  const isSmall = type !== "validate" && Number(amount) < 1;
  const no = call.decide(ISSUER, card.number) ?? (isSmall ? ISSUER("card_declined") : null);
  const [code, words] = no ?? ["100", "SUCCESS"];
  const id = tools.digits(10);
  const vaultId = no === null && isStored ? vaultIdOf(call) : undefined;
  if (vaultId !== undefined) call.vault.keep(vaultId, card, vaultId);
  const currency = call.maybe("currency") ?? "USD";
  const kind = type === "sale" ? "charge" : type === "auth" ? "authorization" : "token";
  const details = {
    type,
    checks: {
      authcode: no === null && type !== "validate" ? tools.digits(6) : "",
      avsresponse: avsOf(call),
      cvvresponse: call.has("cvv") ? (call.text("cvv") === "999" ? "M" : "N") : "",
    },
    actions: [{ type, amount, isSuccess: no === null, text: words, code, at: tools.now() }],
  };
  const reference = call.maybe("orderid") ?? id;
  const taken = { id, reference, kind, no, amountMinor: minorOf(amount, currency), currency, card: card.number } as const;
  const transaction = call.take({ ...taken, details, ledger: { customer_vault_id: vaultId ?? null } });
  const response = no === null ? "1" : code.startsWith("4") ? "3" : "2";
  return form([response, words, code], type, { orderid: call.text("orderid"), transaction, vaultId });
}

function checkAddress(call: NmiCall): void {
  const [country = "US", state] = [call.maybe("country"), call.maybe("state")];
  if (["US", "CA"].includes(country) && call.has("state") && state2.check(state?.toUpperCase()) !== null) refuse(call, "Invalid state");
  if (call.text("country") === "US" && call.has("zip") && !/^[0-9]{5}(-?[0-9]{4})?$/.test(call.text("zip"))) refuse(call, "Invalid zip");
  if (call.has("customer_id") && call.has("customer_vault_id") && call.text("customer_id") !== call.text("customer_vault_id"))
    refuse(call, "customer_id and customer_vault_id differ");
}

/** The card of the request, as the gateway checks it before it asks anybody. */
function newCard(call: NmiCall): Card {
  return call.card({ number: "ccnumber", expiry: "ccexp" }, (fault) => {
    if (fault === "number") return refusal(call.request, "Invalid Credit Card Number");
    return refusal(call.request, `The expiration date ${call.has("ccexp") ? "has expired" : "is missing"}`);
  });
}

function chosenCard(call: NmiCall): Card {
  if (!call.has("customer_vault_id")) return newCard(call);
  const record = call.vault.get(call.text("customer_vault_id")) ?? refuse(call, "Invalid Customer Vault Id");
  if (call.has("ccnumber")) refuse(call, "A card and a Customer Vault Id were given");
  if (!call.has("stored_credential_indicator")) refuse(call, "stored_credential_indicator is missing");
  return record;
}

/** Same card and amount inside the window, whatever the order; a uniform card is a duplicate only with its own order again. */
function refuseDuplicate(call: NmiCall, type: string, number: string, amount: string): void {
  const isTwin = ({ reference, details }: Payment): boolean =>
    details.type === type && details.actions[0]?.amount === amount && (!UNIFORM_CARDS.has(number) || reference === call.maybe("orderid"));
  const twin = call.transactions.twin(number, (call.maybeNumber("dup_seconds") ?? DEFAULT_DUPLICATE_SECONDS) * 1000, isTwin);
  if (twin !== undefined) refuse(call, "Duplicate transaction");
}

function avsOf(call: NmiCall): string {
  const [street, zip] = [call.text("address1") === "888", call.text("zip") === "77777"];
  return street && zip ? "Y" : street ? "A" : zip ? "Z" : "N";
}

/** The id asked for, else digits of the vault's own. */
const vaultIdOf = (call: NmiCall): string => call.maybe("customer_vault_id") ?? call.tools.digits(9);

function refuseUsedId(call: NmiCall): void {
  if (call.vault.get(call.text("customer_vault_id"))) refuse(call, "Duplicate Customer Vault Id");
}

/** The vault alone: nobody is asked about the card. */
function addRecord(call: NmiCall): Answer {
  checkAddress(call);
  const card = newCard(call);
  refuseUsedId(call);
  const vaultId = vaultIdOf(call);
  call.vault.store(vaultId, card, call.maybe("orderid") ?? vaultId);
  return form(["1", "Customer Added", "100"], "", { orderid: call.text("orderid"), vaultId });
}

function deleteRecord(call: NmiCall): Answer {
  const { id: vaultId } = call.vault.remove(call.text("customer_vault_id")) ?? refuse(call, "Invalid Customer Vault Id");
  return form(["1", "Customer Deleted", "100"], "", { orderid: "", vaultId });
}

/** What follows a payment: the words of success, and of what is against it by its state and by the amount. */
const FOLLOWS = {
  capture: ["SUCCESS", "The specified amount of or transaction itself cannot be captured"],
  void: ["Transaction Void Successful", "Only transactions pending settlement can be voided"],
  refund: ["SUCCESS", "Only settled transactions can be refunded", "Refund amount may not exceed the transaction balance"],
} as const;

function follow(call: NmiCall, type: keyof typeof FOLLOWS): Answer {
  const transaction = call.transactions.get(call.text("transactionid")) ?? refuse(call, "Transaction was not found");
  const { currency: unit, details } = transaction;
  const [words, ofState, ofAmount = ofState] = FOLLOWS[type];
  const against = call.transactions.change(type, transaction, { amountMinor: call.minor("amount", unit) });
  if (against !== null) refuse(call, against === "state" ? ofState : ofAmount);
  const amount = call.maybe("amount") ?? details.actions[0]?.amount ?? "0.00";
  const signed = type === "refund" ? `-${amount}` : amount;
  details.actions.push({ type, amount: signed, isSuccess: true, text: words, code: "100", at: call.tools.now() });
  return form(["1", words, "100"], type, { orderid: call.text("orderid"), transaction });
}

function report(call: NmiCall): Answer {
  const [orderId, ids, vaultId] = [call.maybe("order_id"), call.maybe("transaction_id")?.split(","), call.maybe("customer_vault_id")];
  const isMeant = ({ id, reference }: Payment) => (ids?.includes(id) ?? true) && (orderId ?? reference) === reference;
  if (call.text("report_type") !== "customer_vault")
    return xml(
      call
        .lookUp(orderId ?? null, isMeant)
        .map(transactionElement)
        .join(""),
    );
  const shown = call
    .lookUpCards(vaultId ?? null, ({ id }) => (vaultId ?? id) === id)
    .map(({ id, number, month, year }) => {
      const members = { cc_number: mask(number, "x", 1), cc_exp: month + year, customer_vault_id: id };
      return element("customer", members).replace("<customer>", `<customer id="${id}">`);
    });
  return xml(shown.length === 0 ? "" : element("customer_vault", shown));
}

const CONDITIONS = byState(
  "declined failed, authorized pending, captured pendingsettlement, settled/refunded/verified complete, voided canceled",
);

function transactionElement({ id, state, reference, card, currency, details: { checks, actions } }: Payment): string {
  const members = {
    transaction_id: id,
    transaction_type: "cc",
    condition: CONDITIONS[state],
    order_id: reference ?? id,
    authorization_code: checks.authcode,
    cc_number: mask(card, "x", 1),
    cc_type: brandOf(card),
    avs_response: checks.avsresponse,
    csc_response: checks.cvvresponse,
    currency,
  };
  const [first, ...later] = actions;
  const isSettled = first !== undefined && (state === "settled" || state === "refunded");
  const done = isSettled ? [first, { ...first, type: "settle", text: "ACCEPTED", code: "100" }, ...later] : actions;
  const shown = done.map(({ type: action_type, amount, isSuccess, text: response_text, code: response_code, at }) => {
    const told = { action_type, date: digitTime(at), success: isSuccess ? "1" : "0", response_text, response_code };
    return element("action", { amount, ...told });
  });
  return element("transaction", [...Object.entries(members).map(([name, value]) => element(name, value)), ...shown]);
}

const xml = (inside: string): Answer =>
  plain(200, `<?xml version="1.0" encoding="UTF-8"?>\n<nm_response>${inside}</nm_response>\n`, "text/xml;charset=UTF-8");

const NO_CHECKS = { authcode: "", avsresponse: "", cvvresponse: "" };
type Told = { orderid: string; transaction?: Payment; vaultId?: string | undefined };

/** The answer's fields, values as they are: blanks are not escaped. */
function form([response, words, code]: readonly [string, string, string], type: string, { orderid, transaction, vaultId }: Told): Answer {
  const values = {
    response,
    responsetext: words,
    transactionid: transaction?.id ?? "",
    ...(transaction?.details.checks ?? NO_CHECKS),
    orderid: orderid || (transaction?.reference ?? ""),
    type,
    response_code: code,
    customer_vault_id: vaultId,
  };
  return plain(200, pairs(values), "text/html;charset=UTF-8");
}
