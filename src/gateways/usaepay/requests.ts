import { currencyNumber } from "#src/kernel/money.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://sandbox.usaepay.com", live: "https://usaepay.com" },
  credentials: {
    api_key: kit.secret("API key (source key), Settings > API Keys, with the commands sale, authonly, cc:save, void and refund allowed", {
      form: [/^[A-Za-z0-9_]{16,64}$/, "an API key: letters, digits and underscores, 32 as a rule"],
    }),
    api_pin: kit.secret("PIN of that key: requests are signed with it, and keys without one are refused", {
      form: [/^[\x21-\x7e]{1,64}$/, "a PIN: it has a blank, or characters other than ASCII"],
    }),
    endpoint_key: kit.plainText("the integrator's endpoint key in place of v2, which has 45 calls a minute", {
      optional: true,
      form: [/^[A-Za-z0-9_-]{1,64}$/, "an endpoint key"],
    }),
  },
  options: {
    verify: kit.flag(true, "before a card is stored, hold 0.00 on it and release it: storing alone asks no issuer"),
  },
});
type Signer = Pick<kit.Io<typeof SETTINGS>, "settings" | "random">;

/** The gateway may wait 120 s for some processors; the vendor's own examples wait 60. */
const TIMEOUT_MS = 60_000;

/** What the vendor lists for multi-currency merchants, of today's currencies and under their own numbers. */
const LISTED =
  "AED ARS AUD AWG AZN BAM BBD BDT BOB BRL BSD CAD CHF CLP CNY COP CRC CZK DKK DOP EGP ERN EUR GBP GEL GIP GTQ HKD HNL HUF IDR ILS INR ISK JMD JPY KES KHR KPW KRW KWD KYD LBP LKR MGA MKD " +
  "MOP MUR MXN MYR NGN NIO NOK NPR NZD OMR PEN PHP PKR PYG QAR RON RUB SAR SCR SEK SGD SRD THB TRY TTD TWD TZS UAH UGX USD UYU UZS VND XCD ZAR";

export const isTaken = ({ currency }: Pick<Subject, "currency">): boolean => LISTED.split(" ").includes(currency);

/** In whole units (error 70). */
export const LARGEST = 99_999;

/** Basic authentication whose password is a hash over key, seed and PIN: another one with each request. */
function authorization({ settings: { credentials }, random }: Signer) {
  const { api_key, api_pin } = credentials;
  const seed = random.uuid().replaceAll("-", "").slice(0, 16);
  return { Authorization: kit.basicAuth(api_key, `s2/${seed}/${kit.hash("sha256", [api_key, seed, api_pin], "hex")}`) };
}

const base = ({ settings: { endpoint, credentials } }: Signer) => `${endpoint}/api/${credentials.endpoint_key?.reveal() ?? "v2"}`;

const command = (by: Signer, body: kit.JsonBody) => kit.postJson(`${base(by)}/transactions`, body, authorization(by), TIMEOUT_MS);

const clean = (text: string | null, limit: number) => kit.optionalText(kit.asciiText, text, limit);

const creditcard = ({ card }: Order) => ({
  number: card.number,
  expiration: kit.expiry(card, "MMYY"),
  cardholder: clean(card.cardholderName, 64),
  cvc: kit.securityCode(card),
  avs_zip: clean(card.postalCode, 16),
});

/** Ten characters, as the classic processors keep them: a look-up knows the attempt by it where the order id was cut. */
export const invoiceOf = ({ reference }: Pick<Subject, "reference">) => kit.shortReference(reference, 10);

const payment = (order: Order) => ({
  // Dollars need none, and a card is stored whatever the currency.
  currency: order.currency === "USD" || !isTaken(order) ? undefined : currencyNumber(order.currency),
  invoice: invoiceOf(order),
  orderid: order.reference,
  description: clean(order.description, 255),
  creditcard: creditcard(order),
  clientip: kit.ipv4Of(order),
});

/** Takes the money at once; nothing is said about duplicates, so that the key's own guard stays on. */
export const sale = (order: Order, by: Signer) =>
  command(by, { command: "sale", amount: kit.unrefused(kit.twoPlaces(order)), ...payment(order) });

/** Stores the card. Its form is checked, no issuer is asked, and no money can move. */
export const save = (order: Order, by: Signer) => command(by, { command: "cc:save", creditcard: creditcard(order) });

/** Has the issuer verify the card by a hold of nothing, and stores it when he says yes. */
export const verifyAndSave = (order: Order, by: Signer) =>
  command(by, { command: "authonly", amount: "0.00", ...payment(order), save_card: true });

/** `void` until the batch closes, `refund` afterwards, `cc:void:release` for a hold. */
export const reverse = (by: Signer, how: "void" | "refund" | "cc:void:release", refnum: string) => command(by, { command: how, refnum });

/** A page of the newest transactions: there is no search by order id. */
export const listTransactions = (by: Signer, offset: number): GatewayRequest =>
  kit.listed(kit.get(`${base(by)}/transactions?limit=100&offset=${offset}`, authorization(by)));
