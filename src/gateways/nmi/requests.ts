import type { AttemptTrace, GatewayRequest, Order } from "../contract.ts";
import {
  BASE_URL,
  asciiText,
  decimalAmount,
  describeSettings,
  expiry,
  formBody,
  ipv4Of,
  optionalText,
  securityCode,
  shortReference,
  splitName,
} from "../kit/index.ts";
import type { FormFields, SettingsOf } from "../kit/index.ts";

export const SETTINGS = describeSettings({
  hosts: { test: "https://sandbox.nmi.com", live: "https://secure.nmi.com" },
  credentials: {
    security_key: {
      secret: true,
      meaning: "private security key with API permission, Settings > Security Keys; not the public tokenization key",
    },
    processor_id: {
      secret: false,
      optional: true,
      meaning: "which of several merchant ids takes the payment, as named under Settings > Processors",
    },
    base_url: BASE_URL,
  },
  options: {
    industry: {
      values: [true, false],
      default: true,
      meaning: "tell the processor that a payment came by telephone or over the web; some processors ignore it",
    },
  },
});
type Settings = SettingsOf<typeof SETTINGS>;

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

/** The vendor wants two places in every currency; null when the third is in use. */
export function nmiAmount(subject: Pick<Subject, "amountMinor" | "currency">): string | null {
  return decimalAmount(subject, 2);
}

function post(settings: Settings, path: string, fields: FormFields, timeoutMs: number): GatewayRequest {
  // A blank around the key is refused as "Specified API key not found".
  const key = settings.credentials.security_key.reveal().trim();
  return {
    method: "POST",
    url: `${settings.endpoint}${path}`,
    headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" },
    body: formBody([["security_key", key], ...fields]),
    timeoutMs,
  };
}

const transact = (settings: Settings, fields: FormFields) => post(settings, "/api/transact.php", fields, PAYMENT_TIMEOUT_MS);
const query = (settings: Settings, fields: FormFields) => post(settings, "/api/query.php", fields, QUERY_TIMEOUT_MS);

function cardFields({ card }: Order): FormFields {
  const { first, last } = splitName(card.cardholderName ?? "");
  return [
    ["ccnumber", card.number],
    ["ccexp", expiry(card, "MMYY")],
    ["cvv", securityCode(card)],
    ["first_name", first || null],
    ["last_name", last || null],
    ["zip", card.postalCode],
  ];
}

function orderFields(order: Order, settings: Settings): FormFields {
  return [
    ["orderid", orderId(order)],
    ["order_description", optionalText(asciiText, order.description, LONGEST_DESCRIPTION)],
    ["ipaddress", ipv4Of(order)],
    ["processor_id", settings.credentials.processor_id],
    // No field of the vendor's table: some processors honour it, the others ignore it (the merchant id's own setting decides).
    ["industry", settings.options.industry ? (order.channel === "voice" ? "moto" : "ecommerce") : null],
  ];
}

/** Takes the money at once. */
export function sale(order: Order, settings: Settings, amount: string): GatewayRequest {
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
export function validateAndStore(order: Order, settings: Settings): GatewayRequest {
  return transact(settings, [
    ["type", "validate"],
    ["payment", "creditcard"],
    ["amount", "0.00"],
    ...cardFields(order),
    ["customer_vault", "add_customer"],
    ["customer_vault_id", orderId(order)],
    ...orderFields(order, settings),
    ["dup_seconds", DUPLICATE_SECONDS],
    ["initiated_by", "customer"],
    ["stored_credential_indicator", "stored"],
  ]);
}

/** Puts the card into the vault unasked: for processors that cannot validate. The vault keeps no security code. */
export function store(order: Order, settings: Settings): GatewayRequest {
  return transact(settings, [
    ["customer_vault", "add_customer"],
    ["customer_vault_id", orderId(order)],
    ...cardFields(order).filter(([name]) => name !== "cvv"),
    ...orderFields(order, settings).filter(([name]) => name === "orderid" || name === "order_description"),
  ]);
}

/** Every transaction of the attempt (here the field is `order_id`, not `orderid`). */
export function findTransactions(subject: Subject, settings: Settings): GatewayRequest {
  return query(settings, [["order_id", orderId(subject)]]);
}

export function findRecord(subject: Subject, settings: Settings): GatewayRequest {
  return query(settings, [
    ["report_type", "customer_vault"],
    ["customer_vault_id", orderId(subject)],
  ]);
}

/** Releases a sale that is not settled yet. */
export function voidSale(settings: Settings, transactionId: string): GatewayRequest {
  return transact(settings, [
    ["type", "void"],
    ["transactionid", transactionId],
  ]);
}

/** Sends back a settled one. */
export function refund(settings: Settings, transactionId: string, amount: string): GatewayRequest {
  return transact(settings, [
    ["type", "refund"],
    ["transactionid", transactionId],
    ["amount", amount],
  ]);
}

export function deleteRecord(subject: Subject, settings: Settings): GatewayRequest {
  return transact(settings, [
    ["customer_vault", "delete_customer"],
    ["customer_vault_id", orderId(subject)],
  ]);
}

/** What is wrong with the key, or null. */
export function keyFault({ credentials }: Settings): string | null {
  const isKey = /^[\x21-\x7e]+$/.test(credentials.security_key.reveal().trim());
  return isKey ? null : "security_key is not a security key: it has no blanks and is not empty";
}
