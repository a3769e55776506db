import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const ACCOUNT = [/^[0-9]{1,20}$/, "an account's number"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api.test.paysafe.com", live: "https://api.paysafe.com" },
  credentials: {
    username: kit.plainText("user of the API key, Settings > API Key in the merchant back office", {
      form: [/^[!-9;-~]{1,120}$/, "an API key's user: it has no blank and no colon"],
    }),
    password: kit.secret("password of the API key; not the back office's", { form: [/^[!-~]{1,250}$/, "a password: it has no blanks"] }),
    account_id: kit.plainText("number of the account that takes the payment", { wholeNumber: true, form: ACCOUNT }),
    moto_account_id: kit.plainText("number of a second account, which is set up for telephone orders: voice payments then go to it", {
      optional: true,
      wholeNumber: true,
      form: ACCOUNT,
    }),
    currency: kit.plainText("currency of the accounts, three letters: a request names none", {
      form: [/^[A-Z]{3}$/, "a currency of three letters such as USD"],
    }),
    country: kit.plainText("country of the payers, two letters: sent with the ZIP code, which alone is not kept with a stored card", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a country of two letters"],
    }),
  },
  options: {
    send_entry_mode_moto: kit.flag(false, "mark telephone payments with entryMode MOTO: only where Paysafe told the merchant to"),
    stored_credential_type: kit.oneOf(
      ["ADHOC", "RECURRING", "TOPUP"],
      "what stored cards are for; RECURRING and TOPUP where the merchant charges them without the card holder",
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const TIMEOUT_MS = 60_000;
const VAULT = "/customervault/v1/profiles";
/** Characters that the vendor refuses in any value. */
const FORBIDDEN = /[";^*</[\]\\]/g;
const clean = (text: string, limit: number): string => kit.unicodeText(text.replace(FORBIDDEN, " ").replace(/\s+/gu, " "), limit);

const authorization = ({ credentials }: Settings) => ({ Authorization: kit.basicAuth(credentials.username, credentials.password) });

function write(settings: Settings, method: "POST" | "PUT", path: string, body: kit.JsonBody): GatewayRequest {
  const headers = { ...authorization(settings), "Content-Type": "application/json; charset=utf-8" };
  return { ...kit.postJson(settings.endpoint + path, body, headers, TIMEOUT_MS), method };
}

const read = (settings: Settings, path: string, method: "GET" | "DELETE" = "GET"): GatewayRequest => ({
  ...kit.get(settings.endpoint + path, authorization(settings), TIMEOUT_MS),
  method,
});

const cardPath = (account: string, rest: string): string => `/cardpayments/v1/accounts/${account}/${rest}`;

/** The account that the order's channel goes to. */
export const accountOf = ({ channel }: Order, { credentials }: Settings): string =>
  ((channel === "voice" ? credentials.moto_account_id : undefined) ?? credentials.account_id).reveal();

/** The vendor rounds a third decimal: such an amount is refused here. */
export const fits = (sum: Pick<Order, "amountMinor" | "currency">): boolean => kit.decimalAmount(sum, 2) !== null;

const cardOf = ({ card }: Order) => ({
  cardNum: card.number,
  cardExpiry: { month: new kit.NumberOf(card.expMonth), year: new kit.NumberOf(card.expYear) },
});

/** Parts of the name, and the ZIP code with its country. Undefined where nothing is known. */
function payer(order: Order, { credentials }: Settings) {
  const { firstName, lastName, name, zip } = kit.holderOf(order, clean, { firstName: 80, lastName: 80, name: 160, zip: 10 });
  return {
    name,
    profile: firstName === undefined && lastName === undefined ? undefined : { firstName, lastName },
    address: zip === undefined ? undefined : { zip, country: credentials.country?.reveal() },
  };
}

export type Kind = "auths" | "verifications";

/** What a sale and a verification have alike. The reference counts for 90 days: a second card has another. */
function withCard(order: Order, settings: Settings, kind: Kind, reference: string, more: { [name: string]: kit.JsonBody | undefined }) {
  const { profile, address } = payer(order, settings);
  return write(settings, "POST", cardPath(accountOf(order, settings), kind), {
    merchantRefNum: reference,
    ...more,
    dupCheck: true,
    card: { ...cardOf(order), cvv: kit.securityCode(order.card) },
    profile,
    billingDetails: address,
    description: kit.optionalText(clean, order.description, 255),
  });
}

/** Authorizes and settles in one step. */
export const sale = (order: Order, settings: Settings): GatewayRequest =>
  withCard(order, settings, "auths", order.reference, {
    amount: order.amountMinor,
    settleWithAuth: true,
    customerIp: order.customerIp ?? undefined,
    entryMode: order.channel === "voice" && settings.options.send_entry_mode_moto ? "MOTO" : undefined,
  });

/** What the verification of a card is called; a lost one is made again under the next number. */
export const verificationRef = ({ reference }: Pick<Subject, "reference">, round: number): string =>
  `${reference}-v${round === 1 ? "" : round}`;

/** Asks the issuer about the card, without an amount. A first stored use demands the security code. */
export const verify = (order: Order, settings: Settings, round: number): GatewayRequest =>
  withCard(order, settings, "verifications", verificationRef(order, round), {
    storedCredential: kit.securityCode(order.card) && { type: settings.options.stored_credential_type, occurrence: "INITIAL" },
  });

/** Stores the card with a profile of its own, named by the attempt. An address counts only with its country. */
export function createProfile(order: Order, settings: Settings, withAddress: boolean): GatewayRequest {
  const { name = "Cardholder", profile, address } = payer(order, settings);
  return write(settings, "POST", VAULT, {
    merchantCustomerId: order.reference,
    locale: "en_US",
    ...profile,
    card: { ...cardOf(order), holderName: name, ...(withAddress && address?.country !== undefined && { billingAddress: address }) },
  });
}

/** Payments or verifications under a reference. */
export const search = (settings: Settings, account: string, kind: Kind, reference: string): GatewayRequest =>
  read(settings, cardPath(account, `${kind}?merchantRefNum=${encodeURIComponent(reference)}&limit=10`));

export const readAuth = (settings: Settings, account: string, id: string): GatewayRequest =>
  read(settings, cardPath(account, `auths/${id}`));

/** Ends a payment that waits for a risk decision (`auths`), or takes a settlement out of the batch. */
export const cancel = (settings: Settings, account: string, kind: "auths" | "settlements", id: string): GatewayRequest =>
  write(settings, "PUT", cardPath(account, `${kind}/${id}`), { status: "CANCELLED" });

/** Releases the hold of a payment whose settlement was cancelled. */
export const voidAuth = ({ reference, amountMinor: amount }: Subject, settings: Settings, account: string, id: string): GatewayRequest =>
  write(settings, "POST", cardPath(account, `auths/${id}/voidauths`), { merchantRefNum: `${reference}-void`, amount });

/** Gives a settled payment back. */
export function refund(subject: Subject, settings: Settings, account: string, id: string, keyEnd: string): GatewayRequest {
  const { reference, amountMinor: amount } = subject;
  const body = { merchantRefNum: `${reference}-refund${keyEnd}`, amount, dupCheck: true };
  return write(settings, "POST", cardPath(account, `settlements/${id}/refunds`), body);
}

/** The profile that was made for the attempt. */
export const findProfile = ({ reference }: Subject, settings: Settings): GatewayRequest =>
  read(settings, `${VAULT}?merchantCustomerId=${encodeURIComponent(reference)}`);

export const readProfile = (settings: Settings, id: string): GatewayRequest => read(settings, `${VAULT}/${id}?fields=addresses,cards`);

/** Removes a profile and the card that is stored with it. */
export const deleteProfile = (settings: Settings, id: string): GatewayRequest => read(settings, `${VAULT}/${id}`, "DELETE");
