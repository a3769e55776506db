import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://sandbox.nmi.com", live: "https://secure.nmi.com" },
  credentials: {
    security_key: kit.secret("private security key with API permission, Settings > Security Keys; not the public tokenization key", {
      // A blank around the key is refused as "Specified API key not found"; it is taken off before it is sent.
      form: [/^\s*[\x21-\x7e]+\s*$/, "a security key: it has no blanks and is not empty"],
    }),
    processor_id: kit.plainText("which of several merchant ids takes the payment, as named under Settings > Processors", {
      optional: true,
    }),
    base_url: kit.BASE_URL,
  },
  options: {
    industry: kit.flag(true, "tell the processor that a payment came by telephone or over the web; some processors ignore it"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** The vendor names no time-out; a sale may wait for a slow processor. */
const PAYMENT_TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 20_000;
/**
 * The vendor's only guard against the same payment twice knows card and amount, not the order: long enough for a request
 * that arrives twice, short enough for a second honest payment. Without it the account's own window counts, up to 20 minutes.
 */
const DUPLICATE_SECONDS = 300;
const LONGEST_DESCRIPTION = 255;

/** The attempt's name at the vendor: its order id, and the id of the vault record it makes. */
export const orderId = ({ reference }: Pick<Subject, "reference">) => kit.shortReference(reference, 24);

function post({ endpoint, credentials }: Settings, path: string, fields: kit.FormTree, timeoutMs: number): GatewayRequest {
  const type = { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" };
  return kit.postForm(endpoint + path, { security_key: credentials.security_key.reveal().trim(), ...fields }, type, timeoutMs);
}

const transact = (settings: Settings, fields: kit.FormTree) => post(settings, "/api/transact.php", fields, PAYMENT_TIMEOUT_MS);
const query = (settings: Settings, fields: kit.FormTree) => post(settings, "/api/query.php", fields, QUERY_TIMEOUT_MS);

function cardFields({ card }: Order): kit.FormTree {
  const { first, last } = kit.splitName(card.cardholderName ?? "");
  const name = { first_name: first || null, last_name: last || null };
  return { ccnumber: card.number, ccexp: kit.expiry(card, "MMYY"), cvv: kit.securityCode(card), ...name, zip: card.postalCode };
}

const described = (order: Order) => ({
  orderid: orderId(order),
  order_description: kit.optionalText(kit.asciiText, order.description, LONGEST_DESCRIPTION),
});

const orderFields = (order: Order, { credentials, options }: Settings) => ({
  ...described(order),
  ipaddress: kit.ipv4Of(order),
  processor_id: credentials.processor_id,
  // No field of the vendor's table: some processors honour it, the others ignore it (the merchant id's own setting decides).
  industry: options.industry ? (order.channel === "voice" ? "moto" : "ecommerce") : null,
  dup_seconds: DUPLICATE_SECONDS,
});

/** Takes the money at once. */
export const sale = (order: Order, settings: Settings) =>
  transact(settings, {
    type: "sale",
    payment: "creditcard",
    amount: kit.unrefused(kit.twoPlaces(order)),
    currency: order.currency,
    ...cardFields(order),
    ...orderFields(order, settings),
  });

/** Asks the issuer about the card for no money, and puts it into the vault when the issuer says yes. */
export const validateAndStore = (order: Order, settings: Settings) =>
  transact(settings, {
    type: "validate",
    payment: "creditcard",
    amount: "0.00",
    ...cardFields(order),
    customer_vault: "add_customer",
    customer_vault_id: orderId(order),
    ...orderFields(order, settings),
    initiated_by: "customer",
    stored_credential_indicator: "stored",
  });

/** Puts the card into the vault unasked: for processors that cannot validate. The vault keeps no security code. */
export const store = (order: Order, settings: Settings) =>
  transact(settings, {
    customer_vault: "add_customer",
    customer_vault_id: orderId(order),
    ...cardFields(order),
    cvv: null,
    ...described(order),
  });

/** Every transaction of the attempt (here the field is `order_id`, not `orderid`). */
export const findTransactions = (subject: Subject, settings: Settings) => query(settings, { order_id: orderId(subject) });

export const findRecord = (subject: Subject, settings: Settings) =>
  query(settings, { report_type: "customer_vault", customer_vault_id: orderId(subject) });

/** Releases a sale that is not settled yet. */
export const voidSale = (settings: Settings, transactionid: string) => transact(settings, { type: "void", transactionid });

/** Sends back a settled one. */
export const refund = (settings: Settings, transactionid: string, subject: Subject) =>
  transact(settings, { type: "refund", transactionid, amount: kit.twoPlaces(subject) ?? "" });

export const deleteRecord = (subject: Subject, settings: Settings) =>
  transact(settings, { customer_vault: "delete_customer", customer_vault_id: orderId(subject) });
