import { isIPv4 } from "node:net";
import { formatAmount } from "#src/kernel/money.ts";
import type { AttemptTrace, Gateway, GatewayRequest, GatewaySettings, Order } from "../contract.ts";
import { baseOf, baseUrlFault } from "../kit/base-url.ts";
import { Joined, PartOf, formBody } from "../kit/body.ts";
import type { FormFields } from "../kit/body.ts";
import { asciiText, shortReference, splitName } from "../kit/text.ts";

export const HOSTS: Gateway["hosts"] = { test: "https://sandbox.nmi.com", live: "https://secure.nmi.com" };

/** The vendor names no time-out; a sale may wait for a slow processor. */
const PAYMENT_TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 20_000;
/**
 * The vendor's only guard against the same payment twice knows card and amount, not the order: long enough for a request
 * that arrives twice, short enough for a second honest payment.
 */
const DUPLICATE_SECONDS = 300;
const LONGEST_DESCRIPTION = 255;

/** Which attempt a request belongs to: an order, or what is left of one. */
export type Subject = Pick<AttemptTrace, "reference" | "mode" | "amountMinor" | "currency">;

/** The attempt's name at the vendor: its order id, and the id of the vault record it makes. */
export function orderId({ reference }: Pick<Subject, "reference">): string {
  return shortReference(reference, 24);
}

/** A decimal with two places, as the vendor wants every amount; null when the currency's third place is in use. */
export function nmiAmount({ amountMinor, currency }: Pick<Subject, "amountMinor" | "currency">): string | null {
  const text = formatAmount(amountMinor, currency);
  const [whole = "", places = ""] = text.split(".");
  if (places.length > 2 && !places.endsWith("0")) return null;
  return `${whole}.${places.slice(0, 2).padEnd(2, "0")}`;
}

function post(settings: GatewaySettings, path: string, fields: FormFields, timeoutMs: number): GatewayRequest {
  // A blank around the key is refused as "Specified API key not found".
  const key = settings.credentials["security_key"]?.reveal().trim();
  return {
    method: "POST",
    url: `${baseOf(HOSTS, settings)}${path}`,
    headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" },
    body: formBody([["security_key", key], ...fields]),
    timeoutMs,
  };
}

const transact = (settings: GatewaySettings, fields: FormFields) => post(settings, "/api/transact.php", fields, PAYMENT_TIMEOUT_MS);
const query = (settings: GatewaySettings, fields: FormFields) => post(settings, "/api/query.php", fields, QUERY_TIMEOUT_MS);

function cardFields({ card }: Order): FormFields {
  const { first, last } = splitName(card.cardholderName ?? "");
  return [
    ["ccnumber", card.number],
    ["ccexp", new Joined(card.expMonth, new PartOf(card.expYear, 2))],
    ["cvv", card.cvv.length > 0 ? card.cvv : null],
    ["first_name", first || null],
    ["last_name", last || null],
    ["zip", card.postalCode],
  ];
}

function orderFields(order: Order, settings: GatewaySettings): FormFields {
  const { description, customerIp, channel } = order;
  return [
    ["orderid", orderId(order)],
    ["order_description", (description !== null && asciiText(description, LONGEST_DESCRIPTION)) || null],
    ["ipaddress", customerIp !== null && isIPv4(customerIp) ? customerIp : null],
    ["processor_id", settings.credentials["processor_id"]],
    // No field of the vendor's table: some processors honour it, the others ignore it (the merchant id's own setting decides).
    ["industry", settings.options["industry"] === false ? null : channel === "voice" ? "moto" : "ecommerce"],
  ];
}

/** Takes the money at once. */
export function sale(order: Order, settings: GatewaySettings, amount: string): GatewayRequest {
  return transact(settings, [
    ["type", "sale"],
    ["payment", "creditcard"],
    ["amount", amount],
    ["currency", order.currency],
    ...cardFields(order),
    ...orderFields(order, settings),
    ["dup_seconds", DUPLICATE_SECONDS],
  ]);
}

/** Asks the issuer about the card for no money, and puts it into the vault when the issuer says yes. */
export function validateAndStore(order: Order, settings: GatewaySettings): GatewayRequest {
  return transact(settings, [
    ["type", "validate"],
    ["payment", "creditcard"],
    ["amount", "0.00"],
    ...cardFields(order),
    ["customer_vault", "add_customer"],
    ["customer_vault_id", orderId(order)],
    ...orderFields(order, settings),
    ["initiated_by", "customer"],
    ["stored_credential_indicator", "stored"],
  ]);
}

/** Puts the card into the vault unasked: for processors that cannot validate. The vault keeps no security code. */
export function store(order: Order, settings: GatewaySettings): GatewayRequest {
  return transact(settings, [
    ["customer_vault", "add_customer"],
    ["customer_vault_id", orderId(order)],
    ...cardFields(order).filter(([name]) => name !== "cvv"),
    ...orderFields(order, settings).filter(([name]) => name === "orderid" || name === "order_description"),
  ]);
}

/** Every transaction of the attempt (here the field is `order_id`, not `orderid`). */
export function findTransactions(subject: Subject, settings: GatewaySettings): GatewayRequest {
  return query(settings, [["order_id", orderId(subject)]]);
}

export function findRecord(subject: Subject, settings: GatewaySettings): GatewayRequest {
  return query(settings, [
    ["report_type", "customer_vault"],
    ["customer_vault_id", orderId(subject)],
  ]);
}

/** Undoes a sale that is not settled yet. */
export function voidSale(settings: GatewaySettings, transactionId: string): GatewayRequest {
  return transact(settings, [
    ["type", "void"],
    ["transactionid", transactionId],
  ]);
}

/** Gives back a settled one. */
export function refund(settings: GatewaySettings, transactionId: string, amount: string): GatewayRequest {
  return transact(settings, [
    ["type", "refund"],
    ["transactionid", transactionId],
    ["amount", amount],
  ]);
}

export function deleteRecord(subject: Subject, settings: GatewaySettings): GatewayRequest {
  return transact(settings, [
    ["customer_vault", "delete_customer"],
    ["customer_vault_id", orderId(subject)],
  ]);
}

/** What is wrong with a project's settings, or null. */
export function settingsFault(settings: GatewaySettings): string | null {
  const key = settings.credentials["security_key"]?.reveal().trim() ?? "";
  if (!/^[\x21-\x7e]+$/.test(key)) return "security_key is not a security key: it has no blanks and is not empty";
  return baseUrlFault(settings);
}
