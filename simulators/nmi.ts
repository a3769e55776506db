import { UNIFORM_CARDS, brandOf, mask, passesLuhn } from "./cards.ts";
import type { CardOutcome } from "./cards.ts";
import { anyText, faultIn, matching, oneOf, parseForm, required } from "./form.ts";
import type { Fields, Rules } from "./form.ts";
import { verdictOn } from "./simulator.ts";
import type { Simulator, SimulatorAnswer, SimulatorRequest, SimulatorTools } from "./simulator.ts";

/**
 * NMI's Payment API and Query API: form in, form or XML out, always status 200. The vendor ignores fields that it does not
 * know; here one that is not in its table is a mistake of the sender and refused.
 */

const DEFAULT_DUPLICATE_SECONDS = 1200;
const LONGEST_DUPLICATE_SECONDS = 7_862_400;

interface Action {
  type: string;
  amount: string;
  success: boolean;
  text: string;
  code: string;
  at: number;
}

interface Transaction {
  id: string;
  condition: "pendingsettlement" | "complete" | "failed" | "canceled";
  orderId: string;
  card: string;
  currency: string;
  authCode: string;
  avs: string;
  cvv: string;
  actions: Action[];
}

/** Payment details as the vault keeps them: no security code. */
interface VaultRecord {
  id: string;
  card: string;
  expiry: string;
}

interface Account {
  transactions: Transaction[];
  vault: Map<string, VaultRecord>;
}

interface Call {
  tools: SimulatorTools;
  account: Account;
  fields: Fields;
}

/** Code and text of `response=3`. */
class Refused extends Error {
  readonly code: string;

  constructor(message: string, code = "300") {
    super(message);
    this.code = code;
  }
}

const ID = matching(/^[A-Za-z0-9_-]{1,36}$/, "letters, digits, - and _");
const AMOUNT = matching(/^[0-9]{1,9}\.[0-9]{2}$/, "an amount with two decimal places");
const KEY: Rules = { security_key: required(anyText(64)) };
const CARD: Rules = {
  ccnumber: anyText(32),
  ccexp: matching(/^(0[1-9]|1[0-2])[0-9]{2}$/, "MMYY (expiration)"),
  cvv: matching(/^[0-9]{3,4}$/, "3 or 4 digits"),
  first_name: anyText(255),
  last_name: anyText(255),
  company: anyText(255),
  address1: anyText(255),
  address2: anyText(255),
  city: anyText(255),
  state: anyText(255),
  zip: anyText(32),
  country: matching(/^[A-Z]{2}$/, "a two-letter country"),
  phone: anyText(32),
  email: anyText(255),
};
const ORDER: Rules = {
  orderid: matching(/^[A-Za-z0-9_-]{1,32}$/, "at most 32 letters, digits, - and _"),
  order_description: matching(/^[\x20-\x7e]{1,255}$/, "printable ASCII of at most 255 characters"),
  customer_vault: oneOf("add_customer"),
  customer_vault_id: ID,
};
const PAYMENT: Rules = {
  ...KEY,
  ...CARD,
  ...ORDER,
  type: required(oneOf("sale", "auth", "validate")),
  payment: oneOf("creditcard"),
  amount: AMOUNT,
  currency: matching(/^[A-Z]{3}$/, "a currency"),
  ipaddress: matching(/^([0-9]{1,3}\.){3}[0-9]{1,3}$/, "a dotted IPv4 address"),
  dup_seconds: matching(/^[0-9]{1,7}$/, "a number of seconds"),
  industry: oneOf("ecommerce", "moto", "retail"),
  processor_id: anyText(64),
  initiated_by: oneOf("customer", "merchant"),
  stored_credential_indicator: oneOf("stored", "used"),
  initial_transaction_id: ID,
};
const UNDOING: Rules = { ...KEY, type: required(oneOf("void", "refund")), transactionid: required(ID), amount: AMOUNT };
const ADD: Rules = { ...KEY, ...CARD, ...ORDER };
const DELETE: Rules = { ...KEY, customer_vault: required(oneOf("delete_customer")), customer_vault_id: required(ID) };
const QUERY: Rules = {
  ...KEY,
  order_id: anyText(32),
  transaction_id: anyText(255),
  report_type: oneOf("transaction", "customer_vault"),
  customer_vault_id: ID,
};

/** Response code and text of each uniform card that is refused; 400 leaves it open what the processor did. */
const REFUSALS: Readonly<Partial<Record<CardOutcome, readonly [code: string, text: string]>>> = {
  card_declined: ["200", "DECLINE"],
  insufficient_funds: ["202", "Insufficient funds"],
  expired_card: ["223", "Expired card"],
  incorrect_cvc: ["225", "Invalid card security code"],
  lost_or_stolen: ["251", "Lost card"],
  processing_error: ["400", "Transaction error returned by processor"],
};

export function nmi(tools: SimulatorTools): Simulator {
  const accounts = new Map<string, Account>();
  return {
    name: "nmi",
    handle: async (request) => {
      if (!["/api/transact.php", "/api/query.php"].includes(request.path)) return page(404);
      if (request.method !== "POST") return page(405);
      const isForm = /^application\/x-www-form-urlencoded(;|$)/.test(request.headers["content-type"] ?? "");
      const fields = (isForm && parseForm(request.body.toString())) || new Map<string, string>();
      const query = request.path.endsWith("query.php");
      try {
        return await answer(request, query, { tools, fields, account: accountOf(accounts, fields) });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const orderId = fields.get("orderid") ?? null;
        tools.record({ kind: "refused", id: null, reference: orderId, outcome: null, details: { code: error.code } });
        const text = `${error.message} REFID:${tools.digits(10)}`;
        return query ? xml(element("error_response", text)) : form({ response: "3", text, code: error.code, fields });
      }
    },
  };
}

function page(status: number): SimulatorAnswer {
  return { status, headers: { "content-type": "text/html" }, body: "<html><body>Not found</body></html>" };
}

function accountOf(accounts: Map<string, Account>, fields: Fields): Account {
  const key = fields.get("security_key") ?? "";
  if (key === "") throw new Refused("Authentication Failed");
  if (verdictOn(key) !== "accepted" || !/^[A-Za-z0-9_-]+$/.test(key)) throw new Refused("Specified API key not found");
  const account = accounts.get(key) ?? { transactions: [], vault: new Map<string, VaultRecord>() };
  accounts.set(key, account);
  return account;
}

async function answer(request: SimulatorRequest, query: boolean, call: Call): Promise<SimulatorAnswer> {
  const { fields } = call;
  const action = fields.get("customer_vault");
  const type = fields.get("type");
  const [rules, run] = query
    ? ([QUERY, report] as const)
    : type === "void" || type === "refund"
      ? ([UNDOING, undo] as const)
      : action === "delete_customer"
        ? ([DELETE, deleteRecord] as const)
        : type === undefined && action === "add_customer"
          ? ([ADD, addRecord] as const)
          : ([PAYMENT, pay] as const);
  const fault = faultIn(fields, rules);
  if (fault !== null) throw new Refused(fault.message);
  await request.work();
  return run(call);
}

/** sale, auth and validate, with the card itself or one from the vault. */
function pay(call: Call): SimulatorAnswer {
  const { fields, account, tools } = call;
  const type = fields.get("type") ?? "";
  const amount = fields.get("amount") ?? "0.00";
  const stores = fields.has("customer_vault");
  if (type === "validate" && amount !== "0.00") throw new Refused("Invalid amount for validate");
  if (type !== "validate" && Number(amount) <= 0) throw new Refused("Invalid amount");
  if (fields.has("dup_seconds") && Number(fields.get("dup_seconds")) > LONGEST_DUPLICATE_SECONDS) throw new Refused("Invalid dup_seconds");
  const card = stores ? newCard(call) : chosenCard(call);
  if (stores && account.vault.has(fields.get("customer_vault_id") ?? "")) throw new Refused("Duplicate Customer Vault Id");
  refuseDuplicate(call, type, card, amount);
  const uniform = UNIFORM_CARDS.get(card.number) ?? "approved";
  if (uniform === "reset") return "reset";
  const [code, text] = REFUSALS[uniform] ?? (type !== "validate" && Number(amount) < 1 ? ["200", "DECLINE"] : ["100", "SUCCESS"]);
  const success = code === "100";
  const currency = fields.get("currency") ?? "USD";
  const transaction: Transaction = {
    id: tools.digits(10),
    condition: !success ? "failed" : type === "validate" ? "complete" : "pendingsettlement",
    orderId: "",
    card: card.number,
    currency,
    authCode: success && type !== "validate" ? tools.digits(6) : "",
    avs: avsOf(fields),
    cvv: fields.has("cvv") ? (fields.get("cvv") === "999" ? "M" : "N") : "",
    actions: [{ type, amount, success, text, code, at: tools.now() }],
  };
  transaction.orderId = fields.get("orderid") ?? transaction.id;
  account.transactions.push(transaction);
  const record = success && stores ? keep(call, card) : null;
  tools.record({
    kind: type === "sale" ? "charge" : type === "auth" ? "authorization" : "token",
    id: record ?? transaction.id,
    reference: transaction.orderId,
    outcome: success ? "approved" : "declined",
    amountMinor: minorOf(amount, currency),
    currency,
    card: mask(card.number),
    details: { industry: fields.get("industry") ?? null },
  });
  const response = success ? "1" : code.startsWith("4") ? "3" : "2";
  const sent = form({ response, text, code, fields, transaction, ...(record !== null && { vaultId: record }) });
  return uniform === "lost answer" ? { ...sent, lost: true } : sent;
}

type Card = { number: string; expiry: string };

/** The card of the request, as the gateway checks it before it asks anybody. */
function newCard({ fields, tools }: Call): Card {
  const number = fields.get("ccnumber") ?? "";
  const expiry = fields.get("ccexp");
  if (!/^[0-9]{12,19}$/.test(number) || !passesLuhn(number)) throw new Refused("Invalid Credit Card Number");
  if (expiry === undefined) throw new Refused("The expiration date is missing");
  const now = new Date(tools.now());
  const month = Number(expiry.slice(2)) * 12 + Number(expiry.slice(0, 2)) - 1;
  if (month < (now.getUTCFullYear() % 100) * 12 + now.getUTCMonth()) throw new Refused("The expiration date has expired");
  return { number, expiry };
}

function chosenCard(call: Call): Card {
  const id = call.fields.get("customer_vault_id");
  if (id === undefined) return newCard(call);
  const record = call.account.vault.get(id);
  if (record === undefined) throw new Refused("Invalid Customer Vault Id");
  if (call.fields.has("ccnumber")) throw new Refused("A card and a Customer Vault Id were given");
  if (!call.fields.has("stored_credential_indicator")) throw new Refused("stored_credential_indicator is missing");
  return { number: record.card, expiry: record.expiry };
}

/**
 * Same card and amount inside the window, whatever the order. A uniform card means the same every time (docs/operations.md, Simulators):
 * with it only the same order again is a duplicate.
 */
function refuseDuplicate({ fields, account, tools }: Call, type: string, card: Card, amount: string): void {
  const window = Number(fields.get("dup_seconds") ?? DEFAULT_DUPLICATE_SECONDS) * 1000;
  const uniform = UNIFORM_CARDS.has(card.number);
  const twin = account.transactions.some(({ card: number, orderId, actions: [first] }) => {
    const same = first?.success === true && first.type === type && first.amount === amount && number === card.number;
    return same && first.at > tools.now() - window && (!uniform || orderId === fields.get("orderid"));
  });
  if (twin) throw new Refused("Duplicate transaction");
}

function avsOf(fields: Fields): string {
  const street = fields.get("address1") === "888";
  const zip = fields.get("zip") === "77777";
  return street && zip ? "Y" : street ? "A" : zip ? "Z" : "N";
}

/** Puts the card into the vault under the id asked for, else under digits of its own; answers the id. */
function keep({ fields, account, tools }: Call, card: Card): string {
  const id = fields.get("customer_vault_id") ?? tools.digits(9);
  account.vault.set(id, { id, card: card.number, expiry: card.expiry });
  return id;
}

/** The vault alone: nobody is asked about the card. */
function addRecord(call: Call): SimulatorAnswer {
  const { fields, account, tools } = call;
  const card = newCard(call);
  if (account.vault.has(fields.get("customer_vault_id") ?? "")) throw new Refused("Duplicate Customer Vault Id");
  const id = keep(call, card);
  const reference = fields.get("orderid") ?? null;
  tools.record({ kind: "token", id, reference, outcome: "approved", card: mask(card.number) });
  return form({ response: "1", text: "Customer Added", code: "100", fields, vaultId: id });
}

function deleteRecord({ fields, account, tools }: Call): SimulatorAnswer {
  const id = fields.get("customer_vault_id") ?? "";
  if (!account.vault.delete(id)) throw new Refused("Invalid Customer Vault Id");
  tools.record({ kind: "void", id, reference: id, outcome: "approved" });
  return form({ response: "1", text: "Customer Deleted", code: "100", fields, vaultId: id });
}

/** Nothing settles here, so a void is always possible once and a refund never is. */
function undo({ fields, account, tools }: Call): SimulatorAnswer {
  const transaction = account.transactions.find(({ id }) => id === fields.get("transactionid"));
  if (transaction === undefined) throw new Refused("Transaction was not found");
  if (fields.get("type") === "refund") throw new Refused("Only settled transactions can be refunded");
  if (transaction.condition !== "pendingsettlement") throw new Refused("Only transactions pending settlement can be voided");
  transaction.condition = "canceled";
  const [first] = transaction.actions;
  const text = "Transaction Void Successful";
  transaction.actions.push({ type: "void", amount: first?.amount ?? "0.00", success: true, text, code: "100", at: tools.now() });
  tools.record({ kind: "void", id: transaction.id, reference: transaction.orderId, outcome: "approved" });
  return form({ response: "1", text, code: "100", fields, transaction });
}

function report({ fields, account, tools }: Call): SimulatorAnswer {
  const reference = fields.get("order_id") ?? fields.get("customer_vault_id") ?? null;
  tools.record({ kind: "look-up", id: null, reference, outcome: null });
  if (fields.get("report_type") === "customer_vault") {
    const id = fields.get("customer_vault_id");
    const records = [...account.vault.values()].filter((record) => id === undefined || record.id === id).map(recordElement);
    return xml(records.length === 0 ? "" : `<customer_vault>${records.join("")}</customer_vault>`);
  }
  const ids = fields.get("transaction_id")?.split(",");
  const found = account.transactions.filter(({ id, orderId }) => {
    return (ids?.includes(id) ?? true) && (fields.get("order_id") ?? orderId) === orderId;
  });
  return xml(found.map(transactionElement).join(""));
}

function recordElement({ id, card, expiry }: VaultRecord): string {
  const parts = [
    ["cc_number", shownCard(card)],
    ["cc_exp", expiry],
    ["customer_vault_id", id],
  ] as const;
  return `<customer id="${id}">${parts.map(([name, value]) => element(name, value)).join("")}</customer>`;
}

function transactionElement(transaction: Transaction): string {
  const { id, condition, orderId, authCode, card, currency, avs, cvv, actions } = transaction;
  const parts = [
    ["transaction_id", id],
    ["transaction_type", "cc"],
    ["condition", condition],
    ["order_id", orderId],
    ["authorization_code", authCode],
    ["cc_number", shownCard(card)],
    ["cc_type", brandOf(card)],
    ["avs_response", avs],
    ["csc_response", cvv],
    ["currency", currency],
  ] as const;
  const shown = actions.map(({ type, amount, success, text, code, at }) => {
    const date = new Date(at).toISOString().replace(/\D/g, "").slice(0, 14);
    const members = { amount, action_type: type, date, success: success ? "1" : "0", response_text: text, response_code: code };
    const inside = Object.entries(members).map(([name, value]) => element(name, value));
    return `<action>${inside.join("")}</action>`;
  });
  return `<transaction>${parts.map(([name, value]) => element(name, value)).join("")}${shown.join("")}</transaction>`;
}

function shownCard(number: string): string {
  return `${number[0]}${"x".repeat(number.length - 5)}${number.slice(-4)}`;
}

function element(name: string, text: string): string {
  return `<${name}>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</${name}>`;
}

function xml(inside: string): Exclude<SimulatorAnswer, "reset"> {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<nm_response>${inside}</nm_response>\n`;
  return { status: 200, headers: { "content-type": "text/xml;charset=UTF-8" }, body };
}

/** The answer's fields in the vendor's order, values as they are: blanks are not escaped. */
function form(answer: {
  response: string;
  text: string;
  code: string;
  fields: Fields;
  transaction?: Transaction;
  vaultId?: string;
}): Exclude<SimulatorAnswer, "reset"> {
  const { response, text, code, fields, transaction, vaultId } = answer;
  const pairs = [
    ["response", response],
    ["responsetext", text],
    ["authcode", transaction?.authCode ?? ""],
    ["transactionid", transaction?.id ?? ""],
    ["avsresponse", transaction?.avs ?? ""],
    ["cvvresponse", transaction?.cvv ?? ""],
    ["orderid", fields.get("orderid") ?? transaction?.orderId ?? ""],
    ["type", fields.get("type") ?? ""],
    ["response_code", code],
    ...(vaultId === undefined ? [] : [["customer_vault_id", vaultId]]),
  ];
  return { status: 200, headers: { "content-type": "text/html;charset=UTF-8" }, body: pairs.map((pair) => pair.join("=")).join("&") };
}

function minorOf(amount: string, currency: string): number {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
  return Math.round(Number(amount) * 10 ** maximumFractionDigits);
}
