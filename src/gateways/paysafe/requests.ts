import type { AttemptTrace, GatewayRequest, Order } from "../contract.ts";
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
export type Settings = kit.SettingsOf<typeof SETTINGS>;

const TIMEOUT_MS = 60_000;

/** Which attempt a request belongs to: an order, or what is left of one. */
export type Subject = Pick<AttemptTrace, "reference" | "mode" | "currency" | "amountMinor">;

/** Characters that the vendor refuses in any value. */
const FORBIDDEN = /[";^*</[\]\\]/g;
const clean = (text: string, limit: number): string => kit.unicodeText(text.replace(FORBIDDEN, " ").replace(/\s+/gu, " "), limit);

function headersOf({ credentials }: Settings) {
  return { Authorization: kit.basicAuth(credentials.username, credentials.password), Accept: "application/json" };
}

function send(settings: Settings, method: "POST" | "PUT", path: string, body: kit.JsonBody): GatewayRequest {
  const headers = { ...headersOf(settings), "Content-Type": "application/json; charset=utf-8" };
  return { ...kit.postJson(settings.endpoint + path, body, headers, TIMEOUT_MS), method };
}

function read(settings: Settings, method: "GET" | "DELETE", path: string): GatewayRequest {
  return { ...kit.get(settings.endpoint + path, headersOf(settings), TIMEOUT_MS), method };
}

/** The account that the order's channel goes to. */
export function accountOf({ channel }: Order, { credentials }: Settings): string {
  return ((channel === "voice" ? credentials.moto_account_id : undefined) ?? credentials.account_id).reveal();
}

const cardPath = (account: string, rest: string): string => `/cardpayments/v1/accounts/${account}/${rest}`;
const VAULT = "/customervault/v1/profiles";

/** The vendor rounds a third decimal: such an amount is refused here. */
export function fits(order: Order): boolean {
  return kit.decimalAmount(order, 2) !== null;
}

function cardOf({ card }: Order): { [name: string]: kit.JsonBody | undefined } {
  return {
    cardNum: card.number,
    cardExpiry: { month: new kit.NumberOf(card.expMonth), year: new kit.NumberOf(card.expYear) },
  };
}

/** Parts of the name, and the ZIP code with its country. Undefined where nothing is known. */
function payer(order: Order, { credentials }: Settings) {
  const { firstName, lastName, name, zip } = kit.holderOf(order, clean, { firstName: 80, lastName: 80, name: 160, zip: 10 });
  return {
    name,
    profile: firstName === undefined && lastName === undefined ? undefined : { firstName, lastName },
    address: zip === undefined ? undefined : { zip, country: credentials.country?.reveal() },
  };
}

/** Authorizes and settles in one step. The reference counts for 90 days: a second card has another. */
export function sale(order: Order, settings: Settings): GatewayRequest {
  const { profile, address } = payer(order, settings);
  return send(settings, "POST", cardPath(accountOf(order, settings), "auths"), {
    merchantRefNum: order.reference,
    amount: order.amountMinor,
    settleWithAuth: true,
    dupCheck: true,
    card: { ...cardOf(order), cvv: kit.securityCode(order.card) },
    profile,
    billingDetails: address,
    customerIp: order.customerIp ?? undefined,
    ...(order.channel === "voice" && settings.options.send_entry_mode_moto && { entryMode: "MOTO" }),
    description: kit.optionalText(clean, order.description, 255),
  });
}

/** What the verification of a card is called; a lost one is made again under the next number. */
export const verificationRef = ({ reference }: Pick<Subject, "reference">, round: number): string =>
  `${reference}-v${round === 1 ? "" : round}`;

/** Asks the issuer about the card, without an amount. A first stored use demands the security code. */
export function verify(order: Order, settings: Settings, round: number): GatewayRequest {
  const { profile, address } = payer(order, settings);
  const cvv = kit.securityCode(order.card);
  return send(settings, "POST", cardPath(accountOf(order, settings), "verifications"), {
    merchantRefNum: verificationRef(order, round),
    dupCheck: true,
    card: { ...cardOf(order), cvv },
    profile,
    billingDetails: address,
    ...(cvv && { storedCredential: { type: settings.options.stored_credential_type, occurrence: "INITIAL" } }),
    description: kit.optionalText(clean, order.description, 255),
  });
}

/** Stores the card with a profile of its own, named by the attempt. An address counts only with its country. */
export function createProfile(order: Order, settings: Settings, withAddress: boolean): GatewayRequest {
  const { name = "Cardholder", profile, address } = payer(order, settings);
  return send(settings, "POST", VAULT, {
    merchantCustomerId: order.reference,
    locale: "en_US",
    ...profile,
    card: { ...cardOf(order), holderName: name, ...(withAddress && address?.country !== undefined && { billingAddress: address }) },
  });
}

/** Payments or verifications under a reference. */
export function search(settings: Settings, account: string, kind: "auths" | "verifications", reference: string): GatewayRequest {
  return read(settings, "GET", cardPath(account, `${kind}?merchantRefNum=${encodeURIComponent(reference)}&limit=10`));
}

export function readAuth(settings: Settings, account: string, id: string): GatewayRequest {
  return read(settings, "GET", cardPath(account, `auths/${id}`));
}

/** Ends a payment that waits for a risk decision. */
export function cancelHeld(settings: Settings, account: string, id: string): GatewayRequest {
  return send(settings, "PUT", cardPath(account, `auths/${id}`), { status: "CANCELLED" });
}

/** Takes a settlement out of the batch. */
export function cancelSettlement(settings: Settings, account: string, id: string): GatewayRequest {
  return send(settings, "PUT", cardPath(account, `settlements/${id}`), { status: "CANCELLED" });
}

/** Releases the hold of a payment whose settlement was cancelled. */
export function voidAuth(subject: Subject, settings: Settings, account: string, id: string): GatewayRequest {
  const body = { merchantRefNum: `${subject.reference}-void`, amount: subject.amountMinor };
  return send(settings, "POST", cardPath(account, `auths/${id}/voidauths`), body);
}

/** Gives a settled payment back. */
export function refund(subject: Subject, settings: Settings, account: string, id: string): GatewayRequest {
  const body = { merchantRefNum: `${subject.reference}-refund`, amount: subject.amountMinor, dupCheck: true };
  return send(settings, "POST", cardPath(account, `settlements/${id}/refunds`), body);
}

/** The profile that was made for the attempt. */
export function findProfile({ reference }: Subject, settings: Settings): GatewayRequest {
  return read(settings, "GET", `${VAULT}?merchantCustomerId=${encodeURIComponent(reference)}`);
}

export function readProfile(settings: Settings, id: string): GatewayRequest {
  return read(settings, "GET", `${VAULT}/${id}?fields=addresses,cards`);
}

/** Removes a profile and the card that is stored with it. */
export function deleteProfile(settings: Settings, id: string): GatewayRequest {
  return read(settings, "DELETE", `${VAULT}/${id}`);
}
